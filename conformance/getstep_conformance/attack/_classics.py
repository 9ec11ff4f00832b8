"""The classic wire, which has numbers without lengths or types, and no authentication."""

from __future__ import annotations

import trio

from getstep.wire.classic import SIZE

from ._case import (
    HARMLESS,
    VANISHES,
    Attack,
    Case,
    Expected,
    SenderKind,
    costs_turn,
    hostile_classic,
)
from ._connection import ints, join_bytes, message
from ._errors import NotAsExpected
from ._floods import HELD
from ._player import Sender, answered
from ._times import MAX_STALE_ANSWERS

_LARGEST, _LEAST = 2**31 - 1, -(2**31)

# --- 10: before login -----------------------------------------------------------------------------------------


def _opens(data: bytes) -> Attack:
    async def attack(sender: Sender) -> None:
        await sender.send(data)

    return attack


async def _many_refused(sender: Sender) -> None:
    """Send clients of no team, which the server keeps waiting: the main port still greets their address."""
    source = sender.server.new_source()
    for _ in range(HELD):
        await (await sender.server.connect_classic(source)).send(ints(-1))
    with sender.server.promptly("greeting a new client"):
        await (await sender.server.connect(source)).wait_for("hello")
    await sender.send(ints(-1))


_REFUSED = Expected(closes=True, recorded="classic_refused", clock="refusal")
_ROWS_BEFORE_LOGIN: list[tuple[str, Expected, Attack]] = [
    ("a team that does not exist", _REFUSED, _opens(ints(_LARGEST))),
    ("team -1", _REFUSED, _opens(ints(-1))),
    ("an HTTP request", _REFUSED, _opens(b"GET / HTTP/1.1\r\n\r\n")),
    ("a TLS hello", _REFUSED, _opens(b"\x16\x03\x01\x00\xc8\x01\x00\x00\xc4\x03\x03" + b"\x2a" * 200)),
    ("the main wire", _REFUSED, _opens(join_bytes(1, "0" * 64))),
    ("a thousand numbers at once", _REFUSED, _opens(ints(*[_LEAST] * 1000))),
    ("half a number, then nothing", Expected(closes=True, clock="login"), _opens(b"\x01\0")),
    ("the end of its sending side at once", VANISHES, lambda sender: sender.connection.half_close()),
    ("300 clients that are refused", _REFUSED, _many_refused),
]

# --- 11: players ----------------------------------------------------------------------------------------------


def _numbers(count: int, *numbers: int, change: int = 0) -> Attack:
    """Return an attack that answers the open question, or the one ``change`` after it, with any numbers."""

    async def attack(sender: Sender) -> None:
        await sender.send(ints(count, sender.question + change, *numbers))

    return attack


def _with_id(move_id: int) -> Attack:
    async def attack(sender: Sender) -> None:
        await sender.send(ints(0, move_id))

    return attack


async def _stale_once(sender: Sender) -> None:
    await sender.send(ints(0, sender.question - 1))


async def _stale_flood(sender: Sender) -> None:
    await sender.send(ints(0, sender.question - 1) * (MAX_STALE_ANSWERS + 1))


async def _falling_ids(sender: Sender) -> None:
    await sender.send(b"".join(ints(0, sender.question - reconnect) for reconnect in range(1, 200)))


async def _two_at_once(sender: Sender) -> None:
    await sender.send(2 * sender.me.legal_answer())


async def _answers_in_a_row(sender: Sender) -> None:
    await sender.send(1000 * sender.me.legal_answer())


async def _half_a_number(sender: Sender) -> None:
    await sender.send(sender.me.legal_answer()[:-3])


async def _half_and_gone(sender: Sender) -> None:
    await _half_a_number(sender)
    await sender.connection.close_gracefully()


async def _half_and_reset(sender: Sender) -> None:
    await _half_a_number(sender)
    sender.connection.reset()


async def _dripped(sender: Sender) -> None:
    data, sender.me.question = sender.me.legal_answer(), None
    for byte in data:
        await sender.send(bytes([byte]))
        await trio.sleep(0.002)


async def _second_connection(sender: Sender) -> None:
    """Connect a second time: the newer connection is asked the same question."""
    asked = sender.question
    connection = await sender.server.connect_classic()
    await connection.send(ints(sender.me.team))
    newer = sender.server.player(sender.me.team, connection)
    if (await newer.wait_for("get_step"))["id"] != asked:
        raise NotAsExpected("the newer connection is asked another question, expected the same")
    sender.server.adopt(newer)


async def _again_out_of_turn(sender: Sender) -> None:
    await sender.send(ints(0, await answered(sender)))


async def _main_wire(sender: Sender) -> None:
    await sender.send(message(type="step", id=sender.question, move=[[4, 2], [4, 3]]))


_FIELD = hostile_classic("bad_field")
_FOREIGN = hostile_classic("foreign_id")
_UNASKED = hostile_classic("out_of_turn")
_ILLEGAL = costs_turn("illegal_move")

_PLAYERS: list[tuple[str, Expected, Attack]] = [
    ("-1 squares", _FIELD, _numbers(-1)),
    ("101 squares", _FIELD, _numbers(101)),
    ("2³¹−1 squares", _FIELD, _numbers(_LARGEST)),
    ("-2³¹ squares", _FIELD, _numbers(_LEAST)),
    ("a row outside the board", _FIELD, _numbers(2, SIZE, 2, 4, 3)),
    ("a column of -1", _FIELD, _numbers(2, 4, -1, 4, 3)),
    ("a row of 2³¹−1", _FIELD, _numbers(2, _LARGEST, 2, 4, 3)),
    ("a move of the main wire", _FIELD, _main_wire),
    ("no square", _ILLEGAL, _numbers(0)),
    ("one square", _ILLEGAL, _numbers(1, 4, 2)),
    ("the same square a hundred times", _ILLEGAL, _numbers(100, *[4, 2] * 100)),
    ("an answer to the next question", _FOREIGN, _numbers(0, change=1)),
    ("an answer to question 0", _FOREIGN, _with_id(0)),
    ("an answer to question -1", _FOREIGN, _with_id(-1)),
    ("a stale answer", HARMLESS, _stale_once),
    ("stale answers without end", _UNASKED, _stale_flood),
    ("answers to all earlier questions", _UNASKED, _falling_ids),
    ("two answers in one segment", _UNASKED, _two_at_once),
    ("a thousand answers in a row", _UNASKED, _answers_in_a_row),
    ("part of a number, then nothing", hostile_classic("slow_frame", "frame"), _half_a_number),
    ("part of a number, then the end of the connection", VANISHES, _half_and_gone),
    ("part of a number, then a reset", VANISHES, _half_and_reset),
    ("a legal answer byte by byte", HARMLESS, _dripped),
    ("a second connection", VANISHES, _second_connection),
]

CLASSICS = [
    *(
        Case(f"10.{n}", title, SenderKind.CLASSIC_UNAUTHENTICATED, what, attack)
        for n, (title, what, attack) in enumerate(_ROWS_BEFORE_LOGIN, start=1)
    ),
    *(
        Case(f"11.{n}", title, SenderKind.CLASSIC, what, attack, game="hop")
        for n, (title, what, attack) in enumerate(_PLAYERS, start=1)
    ),
    Case(
        "11.25",
        "its last answer again",
        SenderKind.CLASSIC_OUT_OF_TURN,
        _UNASKED,
        _again_out_of_turn,
        game="hop",
    ),
]
