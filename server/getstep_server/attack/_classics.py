"""The classic wire: numbers without lengths or types, and no secret."""

from __future__ import annotations

import trio

from getstep_server import limits
from getstep_server.classic import SIZE

from ._case import HARMLESS, VANISHES, Attack, Case, Expected, NotAsExpected, Who, costs_turn, hostile_classic
from ._floods import HELD
from ._line import ints, join_bytes, message
from ._match import Actor, answered

_LARGEST, _LEAST = 2**31 - 1, -(2**31)

# --- 10: strangers --------------------------------------------------------------------------------------------


def _opens(data: bytes) -> Attack:
    async def attack(actor: Actor) -> None:
        await actor.send(data)

    return attack


async def _many_refused(actor: Actor) -> None:
    """Clients of no team, each kept waiting for a while: the main port greets a newcomer from their address."""
    source = actor.stage.strange_source()
    for _ in range(HELD):
        await (await actor.stage.connect_classic(source)).send(ints(-1))
    with actor.stage.promptly("greeting a newcomer"):
        await (await actor.stage.connect(source)).until("hello")
    await actor.send(ints(-1))


_REFUSED = Expected(closes=True, recorded="classic_refused", clock="refusal")
_STRANGERS: list[tuple[str, Expected, Attack]] = [
    ("a team that does not exist", _REFUSED, _opens(ints(_LARGEST))),
    ("team -1", _REFUSED, _opens(ints(-1))),
    ("an HTTP request", _REFUSED, _opens(b"GET / HTTP/1.1\r\n\r\n")),
    ("a TLS hello", _REFUSED, _opens(b"\x16\x03\x01\x00\xc8\x01\x00\x00\xc4\x03\x03" + b"\x2a" * 200)),
    ("the main wire", _REFUSED, _opens(join_bytes(1, "0" * 64))),
    ("a thousand numbers at once", _REFUSED, _opens(ints(*[_LEAST] * 1000))),
    ("half a number, and then nothing", Expected(closes=True, clock="login"), _opens(b"\x01\0")),
    ("the end of its side at once", VANISHES, lambda actor: actor.line.half_close()),
    ("300 clients that are refused", _REFUSED, _many_refused),
]

# --- 11: players ----------------------------------------------------------------------------------------------


def _numbers(count: int, *numbers: int, change: int = 0) -> Attack:
    """An answer to the open question (``change``: to one before or after it) of any numbers."""

    async def attack(actor: Actor) -> None:
        await actor.send(ints(count, actor.question + change, *numbers))

    return attack


def _with_id(move_id: int) -> Attack:
    async def attack(actor: Actor) -> None:
        await actor.send(ints(0, move_id))

    return attack


async def _stale_once(actor: Actor) -> None:
    await actor.send(ints(0, actor.question - 1))


async def _stale_flood(actor: Actor) -> None:
    await actor.send(ints(0, actor.question - 1) * (limits.CLASSIC_STRAYS + 1))


async def _falling_ids(actor: Actor) -> None:
    await actor.send(b"".join(ints(0, actor.question - back) for back in range(1, 200)))


async def _two_at_once(actor: Actor) -> None:
    await actor.send(2 * actor.me.honest())


async def _answers_in_a_row(actor: Actor) -> None:
    await actor.send(1000 * actor.me.honest())


async def _half_a_number(actor: Actor) -> None:
    await actor.send(actor.me.honest()[:-3])


async def _half_and_gone(actor: Actor) -> None:
    await _half_a_number(actor)
    await actor.line.part()


async def _half_and_reset(actor: Actor) -> None:
    await _half_a_number(actor)
    actor.line.reset()


async def _dripped(actor: Actor) -> None:
    data, actor.me.question = actor.me.honest(), None
    for byte in data:
        await actor.send(bytes([byte]))
        await trio.sleep(0.002)


async def _second_connection(actor: Actor) -> None:
    """Comes a second time: the newer connection is asked the same question."""
    asked = actor.question
    line = await actor.stage.connect_classic()
    await line.send(ints(actor.me.team))
    newer = actor.stage.player(actor.me.team, line)
    if (await newer.until("get_step"))["id"] != asked:
        raise NotAsExpected("the newer connection is asked something else, expected the same question")
    actor.stage.take_place(newer)


async def _again_out_of_turn(actor: Actor) -> None:
    await actor.send(ints(0, await answered(actor)))


async def _main_wire(actor: Actor) -> None:
    await actor.send(message(type="step", id=actor.question, move=[[4, 2], [4, 3]]))


_FIELD = hostile_classic("bad_field")
_FOREIGN = hostile_classic("foreign_id")
_UNASKED = hostile_classic("out_of_turn")
_ILLEGAL = costs_turn("illegal_move")

_PLAYERS: list[tuple[str, Expected, Attack]] = [
    ("-1 squares", _FIELD, _numbers(-1)),
    ("101 squares", _FIELD, _numbers(101)),
    ("2³¹−1 squares", _FIELD, _numbers(_LARGEST)),
    ("-2³¹ squares", _FIELD, _numbers(_LEAST)),
    ("a row beside the board", _FIELD, _numbers(2, SIZE, 2, 4, 3)),
    ("a column of -1", _FIELD, _numbers(2, 4, -1, 4, 3)),
    ("a row of 2³¹−1", _FIELD, _numbers(2, _LARGEST, 2, 4, 3)),
    ("a move of the main wire", _FIELD, _main_wire),
    ("no square", _ILLEGAL, _numbers(0)),
    ("one square", _ILLEGAL, _numbers(1, 4, 2)),
    ("a hundred times the same square", _ILLEGAL, _numbers(100, *[4, 2] * 100)),
    ("an answer to the question to come", _FOREIGN, _numbers(0, change=1)),
    ("an answer to question 0", _FOREIGN, _with_id(0)),
    ("an answer to question -1", _FOREIGN, _with_id(-1)),
    ("a stale answer", HARMLESS, _stale_once),
    ("stale answers without end", _UNASKED, _stale_flood),
    ("answers to all earlier questions", _UNASKED, _falling_ids),
    ("two answers in one segment", _UNASKED, _two_at_once),
    ("a thousand answers in a row", _UNASKED, _answers_in_a_row),
    ("part of a number, and then nothing", hostile_classic("slow_frame", "frame"), _half_a_number),
    ("part of a number, and then the end", VANISHES, _half_and_gone),
    ("part of a number, and then a reset", VANISHES, _half_and_reset),
    ("a good answer a byte at a time", HARMLESS, _dripped),
    ("a second connection", VANISHES, _second_connection),
]

CLASSICS = [
    *(
        Case(f"10.{n}", title, Who.CLASSIC_STRANGER, what, attack)
        for n, (title, what, attack) in enumerate(_STRANGERS, start=1)
    ),
    *(
        Case(f"11.{n}", title, Who.CLASSIC, what, attack, game="hop")
        for n, (title, what, attack) in enumerate(_PLAYERS, start=1)
    ),
    Case("11.25", "its last answer once more", Who.CLASSIC_OUT_OF_TURN, _UNASKED, _again_out_of_turn, game="hop"),
]
