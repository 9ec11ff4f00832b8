"""Answers: invalid moves, and answers that are malformed, stale, foreign, late, out of turn, or sent twice."""

from __future__ import annotations

import struct
from typing import Any

import trio

from getstep.wire import MAX_TEXT

from ._case import HARMLESS, TRUNCATED, VANISHES, Attack, Case, Expected, SenderKind, costs_turn, hostile
from ._connection import join_bytes, message, step
from ._logins import NASTY_NAME
from ._player import Sender, answered

_ANYTHING = [0, 0]

# --- 6: invalid moves -----------------------------------------------------------------------------------------


def _plays(move: Any) -> Attack:
    """Return an attack that answers the open question with this move."""

    async def attack(sender: Sender) -> None:
        await sender.send(step(sender.question, move))

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
    ("the greatest number of msgpack", [[2**64 - 1, 2**64 - 1], [2**64 - 1, 2**64 - 1]]),
    ("the least number of msgpack", [[-(2**63), 0], [0, -(2**63)]]),
    ("squares outside the board", [[-1, -1], [-1, 0]]),
    ("an empty array", []),
    ("an empty map", {}),
    ("a map of squares", {"from": [4, 2], "to": [4, 3]}),
    ("text", "(4, 2) to (4, 3)"),
    ("text that repaints a terminal", NASTY_NAME),
    ("nested arrays, as deep as allowed", [[[[[[[]]]]]]]),
    ("nested maps, as deep as allowed", {"": {"": {"": {"": {"": {"": {}}}}}}}),
    ("a path as long as an array may be", [[0, 0]] * 128),
    ("four kilobytes of arrays", _FULL),
    ("an unknown colour", ["X", [0, 0], [0, 1]]),
    ("the whole board", [[0] * 8 for _ in range(8)]),
]

# --- 7: answers on turn ---------------------------------------------------------------------------------------


def _answers(**fields: Any) -> Attack:
    """Return an attack that answers the open question, even the opponent's, with these fields.

    ``id`` is that of the question unless it is given.
    """

    async def attack(sender: Sender) -> None:
        await sender.send(message(**{"id": sender.question, **fields}))

    return attack


async def _no_id(sender: Sender) -> None:
    await sender.send(message(type="step", move=_ANYTHING))


def _with_id(change: int) -> Attack:
    """Return an attack that answers a question before or after the open one."""

    async def attack(sender: Sender) -> None:
        await sender.send(step(sender.question + change, _ANYTHING))

    return attack


async def _two_at_once(sender: Sender) -> None:
    await sender.send(2 * sender.me.legal_answer())


async def _move_and_resignation(sender: Sender) -> None:
    await sender.send(sender.me.legal_answer() + message(type="resign", id=sender.question))


async def _illegal_and_legal(sender: Sender) -> None:
    await sender.send(step(sender.question, None) + sender.me.legal_answer())


async def _late_once(sender: Sender) -> None:
    """Answer after the time limit: the turn is lost, and nothing more."""
    data, sender.me.question = sender.me.legal_answer(), None
    await sender.me.wait_for("penalty")
    await sender.send(data)


async def _late_twice(sender: Sender) -> None:
    await _late_once(sender)
    closed = next(reply["id"] for reply in sender.connection.received[::-1] if reply["type"] == "penalty")
    await sender.send(step(closed, _ANYTHING))


async def _dripped_answer(sender: Sender) -> None:
    """Send a legal answer byte by byte, within the time limit."""
    data, sender.me.question = sender.me.legal_answer(), None
    for byte in data:
        await sender.send(bytes([byte]))
        await trio.sleep(0.002)


async def _half_an_answer(sender: Sender) -> None:
    await sender.send(sender.me.legal_answer()[:-2])


async def _half_and_gone(sender: Sender) -> None:
    await _half_an_answer(sender)
    await sender.connection.half_close()


async def _half_and_reset(sender: Sender) -> None:
    await _half_an_answer(sender)
    sender.connection.reset()


async def _half_close(sender: Sender) -> None:
    await sender.connection.half_close()


async def _urgent_and_answer(sender: Sender) -> None:
    await sender.connection.stream.socket.send(b"!", trio.socket.MSG_OOB)
    await sender.me.answer()


_ON = SenderKind.ON_TURN
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
    ("an answer to the previous question", hostile("foreign_id"), _with_id(-1)),
    ("an answer to the next question", hostile("foreign_id"), _with_id(1)),
    ("an answer to question 2⁶⁴−1", hostile("foreign_id"), _answers(type="step", id=2**64 - 1, move=_ANYTHING)),
    ("an answer to question -1", hostile("foreign_id"), _answers(type="resign", id=-1)),
    ("two answers in one segment", hostile("out_of_turn"), _two_at_once),
    ("a move and then a resignation", hostile("out_of_turn"), _move_and_resignation),
    ("an illegal move and then a legal one", hostile("out_of_turn"), _illegal_and_legal),
    ("a length of 0 instead of an answer", hostile("empty_frame"), lambda sender: sender.send(b"\0\0\0\0")),
    ("a late answer", HARMLESS, _late_once),
    ("a late answer, twice", hostile("out_of_turn"), _late_twice),
    ("a legal answer byte by byte", HARMLESS, _dripped_answer),
    ("half an answer, then the end of the connection", TRUNCATED, _half_and_gone),
    ("half an answer, then a reset", VANISHES, _half_and_reset),
    ("the end of its sending side, while it still reads", VANISHES, _half_close),
    ("urgent data before its answer", HARMLESS, _urgent_and_answer),
]  # fmt: skip

# --- 8: out of turn -------------------------------------------------------------------------------------------


async def _a_move_for_the_opponent(sender: Sender) -> None:
    await sender.send(sender.other.legal_answer())


async def _join_as_the_opponent(sender: Sender) -> None:
    await sender.send(join_bytes(sender.other.team, "0" * 64))


async def _answer_again(sender: Sender) -> None:
    await sender.send(step(await answered(sender), _ANYTHING))


_OUT_OF_TURN: list[tuple[str, Expected, Attack]] = [
    ("a legal move for the opponent", hostile("out_of_turn"), _a_move_for_the_opponent),
    ("a resignation for the opponent", hostile("out_of_turn"), _answers(type="resign")),
    ("an exception for the opponent", hostile("out_of_turn"), _answers(type="raised", error="")),
    ("its last answer again", hostile("out_of_turn"), _answer_again),
    ("a malformed answer", hostile("out_of_turn"), lambda sender: sender.send(message(type="step"))),
    ("a join as the opponent", hostile("out_of_order"), _join_as_the_opponent),
    ("a length over the limit", hostile("oversize_frame"), lambda sender: sender.send(struct.pack(">I", 5000))),
    ("the end of its connection", VANISHES, lambda sender: sender.connection.close_gracefully()),
]

ANSWERS = [
    *(
        Case(f"6.{n}", title, _ON, costs_turn("illegal_move"), _plays(move))
        for n, (title, move) in enumerate(_MOVES, 1)
    ),
    *(Case(f"7.{n}", title, _ON, what, attack) for n, (title, what, attack) in enumerate(_ON_TURN, start=1)),
    *(
        Case(f"8.{n}", title, SenderKind.OUT_OF_TURN, what, attack)
        for n, (title, what, attack) in enumerate(_OUT_OF_TURN, start=1)
    ),
]
