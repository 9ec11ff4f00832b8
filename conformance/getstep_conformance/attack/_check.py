"""The comparison of what a server did with what a case expects: goodbye, the connection, the match."""

from __future__ import annotations

import trio

from ._case import Case, Clock, Expected
from ._connection import ClassicConnection, RawConnection
from ._errors import NotAsExpected
from ._player import Sender, play_on
from ._times import Times


async def compare(sender: Sender, case: Case, times: Times, began: float) -> None:
    """Wait for the effects that ``case`` expects.

    Args:
        sender: of the case.
        case: that was sent.
        times: the server's time limits.
        began: when the case was sent, on trio's clock.

    Raises:
        NotAsExpected: the server did something else.
        trio.TooSlowError: the server did nothing in time.
    """
    expected = case.expected
    clock = _seconds(expected.clock, sender, times)
    with trio.fail_after(clock + times.slack):
        await _compare_connection(sender.connection, expected)
        if case.sender.needs_match:
            await _compare_match(sender, expected)
    early = began + 0.9 * clock - trio.current_time()
    if early > 0:
        raise NotAsExpected(f"the server acted {early:.1f} s too early")


def _seconds(clock: Clock, sender: Sender, times: Times) -> float:
    if clock == "limit":
        return sender.limit
    return {"": 0.0, "login": times.login, "frame": times.frame, "refusal": times.refusal}[clock]


async def _compare_connection(connection: RawConnection, expected: Expected) -> None:
    if expected.goodbye is not None:
        goodbye = connection.goodbye or await connection.wait_for("goodbye")
        actual, wanted = (goodbye["reason"], goodbye["retry_ms"]), (expected.goodbye, expected.retry_ms)
        if actual != wanted:
            raise NotAsExpected(f"goodbye {actual}, expected {wanted}")
    if expected.closes:
        await connection.wait_closed()
    if expected.goodbye is None and connection.goodbye is not None:
        raise NotAsExpected(f"goodbye {connection.goodbye['reason']!r}, expected none")
    if connection.closed and not expected.closes:
        raise NotAsExpected(f"closed, expected it to stay open; received {connection.summary()}")


async def _compare_match(sender: Sender, expected: Expected) -> None:
    if expected.match == "lost":
        end = sender.other.end or await sender.other.wait_for("end")
        if (end["result"], end["reason"]) != ("win", "hostile"):
            raise NotAsExpected(f"the opponent received {end['result']} ({end['reason']}), expected win (hostile)")
    elif expected.match == "continues":
        await play_on(sender)
    else:
        await _turn_is_lost(sender, expected.match)


async def _turn_is_lost(sender: Sender, code: str) -> None:
    """Check the penalty of a fault: in hop it is then the opponent's turn; in other games the match is over."""
    sender.me.question = None
    if not isinstance(sender.connection, ClassicConnection):
        penalty = await sender.me.wait_for("penalty")
        if penalty["reason"] != code:
            raise NotAsExpected(f"penalty {penalty['reason']}, expected {code}")
    reply = await sender.other.wait_for("get_step", "end")
    if reply["type"] == "end" and reply["reason"] != code:
        raise NotAsExpected(f"end {reply['reason']}, expected {code}")
