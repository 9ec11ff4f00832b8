"""Looks at what came of a case: goodbye, the connection, the match."""

from __future__ import annotations

import trio

from ._case import Case, Clock, Expected, NotAsExpected, Times
from ._line import ClassicLine, Line
from ._match import Actor, go_on


async def compare(actor: Actor, case: Case, times: Times, began: float) -> None:
    """Wait for what ``case`` expects.

    Args:
        actor: who sent it, at ``began`` on trio's clock.
        times: how long the server waits for what.

    Raises:
        NotAsExpected: something else came of it.
        trio.TooSlowError: nothing did.
    """
    expected = case.expected
    clock = _seconds(expected.clock, actor, times)
    with trio.fail_after(clock + times.slack):
        await _compare_connection(actor.line, expected)
        if case.who.plays:
            await _compare_match(actor, expected)
    early = began + 0.9 * clock - trio.current_time()
    if early > 0:
        raise NotAsExpected(f"it came {early:.1f} s too early")


def _seconds(clock: Clock, actor: Actor, times: Times) -> float:
    if clock == "limit":
        return actor.limit
    return {"": 0.0, "login": times.login, "frame": times.frame, "refusal": times.refusal}[clock]


async def _compare_connection(line: Line, expected: Expected) -> None:
    if expected.goodbye is not None:
        goodbye = line.goodbye or await line.until("goodbye")
        heard, told = (goodbye["reason"], goodbye["retry_ms"]), (expected.goodbye, expected.retry_ms)
        if heard != told:
            raise NotAsExpected(f"goodbye {heard}, expected {told}")
    if expected.closes:
        await line.until_closed()
    if expected.goodbye is None and line.goodbye is not None:
        raise NotAsExpected(f"goodbye {line.goodbye['reason']!r}, expected none")
    if line.closed and not expected.closes:
        raise NotAsExpected(f"closed, expected it to stay; heard {line.summary()}")


async def _compare_match(actor: Actor, expected: Expected) -> None:
    if expected.match == "lost":
        end = actor.other.end or await actor.other.until("end")
        if (end["result"], end["reason"]) != ("win", "hostile"):
            raise NotAsExpected(f"the opponent heard {end['result']} ({end['reason']}), expected win (hostile)")
    elif expected.match == "goes on":
        await go_on(actor)
    else:
        await _turn_is_lost(actor, expected.match)


async def _turn_is_lost(actor: Actor, code: str) -> None:
    """In hop it is the opponent's turn; in the other games the match is over."""
    actor.me.question = None
    if not isinstance(actor.line, ClassicLine):
        penalty = await actor.me.until("penalty")
        if penalty["reason"] != code:
            raise NotAsExpected(f"penalty {penalty['reason']}, expected {code}")
    said = await actor.other.until("get_step", "end")
    if said["type"] == "end" and said["reason"] != code:
        raise NotAsExpected(f"end {said['reason']}, expected {code}")
