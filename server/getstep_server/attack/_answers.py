"""Answers: moves that are none, answers that are malformed, stale, foreign, late, out of turn, or two at once."""

from __future__ import annotations

import struct
from typing import Any

import trio

from getstep.wire import MAX_TEXT

from ._case import HARMLESS, TRUNCATED, VANISHES, Attack, Case, Expected, Who, costs_turn, hostile
from ._line import join_bytes, message, step
from ._logins import NASTY_NAME
from ._match import Actor, answered

_ANYTHING = [0, 0]

# --- 6: moves that are none -----------------------------------------------------------------------------------


def _plays(move: Any) -> Attack:
    """The answer to the open question, with this move."""

    async def attack(actor: Actor) -> None:
        await actor.send(step(actor.question, move))

    return attack


_FULL: Any = [[[0] * 10 for _ in range(11)] for _ in range(30)]
_MOVES: list[tuple[str, Any]] = [
    ("nil", None),
    ("true", True),
    ("a number", 7),
    ("not a number", float("nan")),
    ("infinity", [float("inf"), float("-inf")]),
    ("squares of fractions", [[0.5, 0.5], [1.5, 0.5]]),
    ("squares of whole fractions", [[4.0, 2.0], [4.0, 3.0]]),
    ("squares of booleans", [[True, False], [True, True]]),
    ("the greatest number there is", [[2**64 - 1, 2**64 - 1], [2**64 - 1, 2**64 - 1]]),
    ("the least number there is", [[-(2**63), 0], [0, -(2**63)]]),
    ("squares beside the board", [[-1, -1], [-1, 0]]),
    ("an empty array", []),
    ("an empty map", {}),
    ("a map of squares", {"from": [4, 2], "to": [4, 3]}),
    ("text", "(4, 2) to (4, 3)"),
    ("text that repaints a terminal", NASTY_NAME),
    ("arrays inside each other, as deep as may be", [[[[[[[]]]]]]]),
    ("maps inside each other, as deep as may be", {"": {"": {"": {"": {"": {"": {}}}}}}}),
    ("a path as long as an array may be", [[0, 0]] * 128),
    ("four kilobytes of arrays", _FULL),
    ("a colour that is none", ["X", [0, 0], [0, 1]]),
    ("the whole board", [[0] * 8 for _ in range(8)]),
]

# --- 7: answers on turn ---------------------------------------------------------------------------------------


def _answers(**fields: Any) -> Attack:
    """An answer to the open question, whoever is asked, with these fields; ``id`` is right unless it is given."""

    async def attack(actor: Actor) -> None:
        await actor.send(message(**{"id": actor.question, **fields}))

    return attack


async def _no_id(actor: Actor) -> None:
    await actor.send(message(type="step", move=_ANYTHING))


def _with_id(change: int) -> Attack:
    """An answer to a question a little before or after the open one."""

    async def attack(actor: Actor) -> None:
        await actor.send(step(actor.question + change, _ANYTHING))

    return attack


async def _two_at_once(actor: Actor) -> None:
    await actor.send(2 * actor.me.honest())


async def _move_and_resignation(actor: Actor) -> None:
    await actor.send(actor.me.honest() + message(type="resign", id=actor.question))


async def _illegal_and_legal(actor: Actor) -> None:
    await actor.send(step(actor.question, None) + actor.me.honest())


async def _late_once(actor: Actor) -> None:
    """Answers when the time is up: it costs no more than that."""
    data, actor.me.question = actor.me.honest(), None
    await actor.me.until("penalty")
    await actor.send(data)


async def _late_twice(actor: Actor) -> None:
    await _late_once(actor)
    closed = next(said["id"] for said in actor.line.heard[::-1] if said["type"] == "penalty")
    await actor.send(step(closed, _ANYTHING))


async def _dripped_answer(actor: Actor) -> None:
    """A good answer a byte at a time, in time."""
    data, actor.me.question = actor.me.honest(), None
    for byte in data:
        await actor.send(bytes([byte]))
        await trio.sleep(0.002)


async def _half_an_answer(actor: Actor) -> None:
    await actor.send(actor.me.honest()[:-2])


async def _half_and_gone(actor: Actor) -> None:
    await _half_an_answer(actor)
    await actor.line.half_close()


async def _half_and_reset(actor: Actor) -> None:
    await _half_an_answer(actor)
    actor.line.reset()


async def _half_close(actor: Actor) -> None:
    await actor.line.half_close()


async def _urgent_and_answer(actor: Actor) -> None:
    await actor.line.stream.socket.send(b"!", trio.socket.MSG_OOB)
    await actor.me.answer()


_ON = Who.ON_TURN
_ON_TURN: list[tuple[str, Expected, Attack]] = [
    ("a step without a move", costs_turn("malformed_answer"), _answers(type="step")),
    ("a step without an id", costs_turn("malformed_answer"), _no_id),
    ("an id that is text", costs_turn("malformed_answer"), _answers(type="step", id="1", move=_ANYTHING)),
    ("an id that is true", costs_turn("malformed_answer"), _answers(type="step", id=True, move=_ANYTHING)),
    ("an id that is a fraction", costs_turn("malformed_answer"), _answers(type="step", id=1.5, move=_ANYTHING)),
    ("an exception without a text", costs_turn("malformed_answer"), _answers(type="raised")),
    ("an exception one character too long", costs_turn("malformed_answer"),
     _answers(type="raised", error="x" * (MAX_TEXT + 1))),
    ("an exception that repaints a terminal", costs_turn("raised"),
     _answers(type="raised", error=(NASTY_NAME * 20)[:MAX_TEXT])),
    ("an answer to the question before", hostile("foreign_id"), _with_id(-1)),
    ("an answer to the question to come", hostile("foreign_id"), _with_id(1)),
    ("an answer to question 2⁶⁴−1", hostile("foreign_id"), _answers(type="step", id=2**64 - 1, move=_ANYTHING)),
    ("an answer to question -1", hostile("foreign_id"), _answers(type="resign", id=-1)),
    ("two answers in one segment", hostile("out_of_turn"), _two_at_once),
    ("a move and then giving up", hostile("out_of_turn"), _move_and_resignation),
    ("an illegal move and then a legal one", hostile("out_of_turn"), _illegal_and_legal),
    ("a length of 0 instead of an answer", hostile("empty_frame"), lambda actor: actor.send(b"\0\0\0\0")),
    ("a late answer", HARMLESS, _late_once),
    ("a late answer, twice", hostile("out_of_turn"), _late_twice),
    ("a good answer a byte at a time", HARMLESS, _dripped_answer),
    ("half an answer, and then the end", TRUNCATED, _half_and_gone),
    ("half an answer, and then a reset", VANISHES, _half_and_reset),
    ("the end of its side, while it goes on reading", VANISHES, _half_close),
    ("urgent data before its answer", HARMLESS, _urgent_and_answer),
]  # fmt: skip

# --- 8: out of turn -------------------------------------------------------------------------------------------


async def _a_move_for_the_opponent(actor: Actor) -> None:
    await actor.send(actor.other.honest())


async def _join_as_the_opponent(actor: Actor) -> None:
    await actor.send(join_bytes(actor.other.team, "0" * 64))


async def _answer_again(actor: Actor) -> None:
    await actor.send(step(await answered(actor), _ANYTHING))


_OUT_OF_TURN: list[tuple[str, Expected, Attack]] = [
    ("a good move for the opponent", hostile("out_of_turn"), _a_move_for_the_opponent),
    ("giving up for the opponent", hostile("out_of_turn"), _answers(type="resign")),
    ("an exception for the opponent", hostile("out_of_turn"), _answers(type="raised", error="")),
    ("its last answer once more", hostile("out_of_turn"), _answer_again),
    ("a malformed answer", hostile("out_of_turn"), lambda actor: actor.send(message(type="step"))),
    ("a join as the opponent", hostile("out_of_order"), _join_as_the_opponent),
    ("a length over the limit", hostile("oversize_frame"), lambda actor: actor.send(struct.pack(">I", 5000))),
    ("the end of its connection", VANISHES, lambda actor: actor.line.part()),
]

ANSWERS = [
    *(
        Case(f"6.{n}", title, _ON, costs_turn("illegal_move"), _plays(move))
        for n, (title, move) in enumerate(_MOVES, 1)
    ),
    *(Case(f"7.{n}", title, _ON, what, attack) for n, (title, what, attack) in enumerate(_ON_TURN, start=1)),
    *(
        Case(f"8.{n}", title, Who.OUT_OF_TURN, what, attack)
        for n, (title, what, attack) in enumerate(_OUT_OF_TURN, start=1)
    ),
]
