"""Notes: right, wrong and too many ones, where there are none, and what the opponent gets of them.

Notes never decide anything. Whatever they are, the answer counts, unless the frame itself breaks the protocol.
"""

from __future__ import annotations

from typing import Any

from getstep.wire import MAX_ARRAY, MAX_CLIENT_FRAME, MAX_DRAWINGS, MAX_MAP, MAX_SAY, MAX_TEXT_BYTES

from ._case import HARMLESS, Attack, Case, Expected, SenderKind, costs_turn, hostile
from ._connection import frame, message
from ._errors import NotAsExpected
from ._logins import NASTY_NAME
from ._player import Player, Sender

_PRIVATE = "only for my team"
"""A text in notes that no message to the opponent may have."""

_DRAWING = ["mark", [2, 3], "7", "red"]
_LARGE = ["region", [2, 3] * 4, "12345678", "orange"]
_NOTES: dict[str, Any] = {"say": _PRIVATE, "estimate": 0.25, "draw": [_DRAWING], "tags": ["only-for-my-team"]}
FULL: dict[str, Any] = {"say": (_PRIVATE + "x" * MAX_SAY)[:MAX_SAY], "draw": [_LARGE] * MAX_DRAWINGS}
"""Right notes of about 3,000 bytes."""

_DEEPEST: Any = [[[[[[]]]]]]
"""With the message and the notes, 8 containers are inside each other."""

_MOVES_OF_A_FLOOD = 40
"""Times 4,100 bytes, that is more than the 131,072 bytes of notes that a server keeps of a player."""


def _wrong(**changes: Any) -> dict[str, Any]:
    return {**_NOTES, **changes}


def _texts(text: str, label: str) -> dict[str, Any]:
    return _wrong(say=text, tags=[text], draw=[_mark([0, 0], label)])


def _mark(squares: Any, label: str | None = None) -> list[Any]:
    return ["mark", squares, label, None]


HARMLESS_NOTES: list[tuple[str, Any]] = [
    ("right notes", _NOTES),
    ("notes that are text", _PRIVATE),
    ("notes that are a number", 7),
    ("notes that are an array", [_PRIVATE] * MAX_ARRAY),
    ("empty notes", {}),
    ("an estimate that is not a number", _wrong(estimate=float("nan"))),
    ("an infinite estimate", _wrong(estimate=float("-inf"))),
    ("an estimate of 2⁶⁴−1", _wrong(estimate=2**64 - 1)),
    ("an estimate that is true", _wrong(estimate=True)),
    ("a text that repaints a terminal", _texts(NASTY_NAME, "\x1b[2J")),
    ("a text that is markup", _texts("<script>alert(1)</script>", "<b>")),
    ("a text one character too long", _wrong(say="x" * (MAX_SAY + 1))),
    ("squares off every board", _wrong(draw=[_mark([-1, 0]), _mark([0, 128]), _mark([2**63, 0])])),
    ("squares of fractions, and half a square", _wrong(draw=[_mark([0.5, 1.5]), _mark([1])])),
    ("drawings in other forms", _wrong(draw=[None, [], _LARGE[:3], {"shape": "mark"}, ["circle", [0, 0], "", ""]])),
    ("twice as many drawings as allowed", _wrong(draw=[_DRAWING] * 2 * MAX_DRAWINGS)),
    ("as many tags as an array may have", _wrong(tags=[f"tag{number}" for number in range(MAX_ARRAY)])),
    ("every key of the wrong type", {"say": 7, "estimate": "1", "draw": "mark", "tags": {"a": 1}, "output": []}),
    ("as many unknown keys as a map may have", {str(number): _PRIVATE for number in range(MAX_MAP)}),
    ("notes as deep as allowed", _wrong(later=_DEEPEST)),
]  # fmt: skip


def _noting(notes: Any) -> Attack:
    """Return an attack that answers with a legal move and these notes."""

    async def attack(sender: Sender) -> None:
        await sender.me.answer(notes=notes)
        await _continued(sender.other)

    return attack


async def _continued(opponent: Player) -> None:
    """Wait until the opponent is asked, and check that it got nothing of the notes.

    Raises:
        NotAsExpected: the match does not continue, or a message has something of the notes.
    """
    if (await opponent.wait_for("get_step", "end"))["type"] == "end":
        raise NotAsExpected("the match has ended, expected it to continue")
    for received in opponent.connection.received:
        if "notes" in received or _PRIVATE in repr(received) or "only-for-my-team" in repr(received):
            raise NotAsExpected(f"the opponent received the notes, in {received['type']}")


def _filled(sender: Sender, size: int) -> bytes:
    """Return a legal answer whose frame has a body of ``size`` bytes, by its notes."""
    short = size + 4 - len(sender.me.legal_answer(notes={**FULL, "later": "x" * 300}))
    return sender.me.legal_answer(notes={**FULL, "later": "x" * (300 + short)})


async def _longest_frame(sender: Sender) -> None:
    """Answer with a frame that is as long as allowed."""
    data, sender.me.question = _filled(sender, MAX_CLIENT_FRAME), None
    await sender.send(data)
    await _continued(sender.other)


async def _oversize_frame(sender: Sender) -> None:
    await sender.send(_filled(sender, MAX_CLIENT_FRAME + 1))


def _sends(notes: Any) -> Attack:
    """Return an attack that answers with a legal move and notes that break the protocol."""

    async def attack(sender: Sender) -> None:
        await sender.send(sender.me.legal_answer(notes=notes))

    return attack


async def _flood(sender: Sender) -> None:
    """Play 40 turns with notes of 4,100 bytes as JSON."""
    for _ in range(_MOVES_OF_A_FLOOD):
        await sender.me.answer(notes=FULL)
        await _continued(sender.other)
        await sender.other.answer()
        await sender.me.wait_for("get_step")


def _raw(value: bytes) -> Attack:
    """Return an attack that answers with a legal move, and notes that are these bytes."""

    async def attack(sender: Sender) -> None:
        body = sender.me.legal_answer()[5:]  # without the header and the byte that says: a map of 3
        await sender.send(frame(b"\x84" + body + b"\xa5notes" + value))

    return attack


def _with_notes(**fields: Any) -> Attack:
    """Return an attack that answers the open question with these fields and right notes."""

    async def attack(sender: Sender) -> None:
        await sender.send(message(**{"id": sender.question, **fields, "notes": _NOTES}))

    return attack


async def _after_its_answer(sender: Sender) -> None:
    """Answer, and send the answer once more with notes."""
    data = sender.me.legal_answer()
    await sender.send(data + sender.me.legal_answer(notes=_NOTES))


async def _late(sender: Sender) -> None:
    """Answer after the time limit, with notes."""
    data, sender.me.question = sender.me.legal_answer(notes=_NOTES), None
    await sender.me.wait_for("penalty")
    await sender.send(data)
    if sender.other.question is None:
        await _continued(sender.other)


async def _in_join(sender: Sender) -> None:
    """Log in with notes in the message: an unknown key."""
    sender.server.adopt(await sender.server.login(sender.me.team, notes=_NOTES))


_ON, _OFF = SenderKind.ON_TURN, SenderKind.OUT_OF_TURN
_OTHERS: list[tuple[str, SenderKind, Expected, Attack]] = [
    ("as many bytes as a frame may have", _ON, HARMLESS, _longest_frame),
    ("one byte more than a frame may have", _ON, hostile("oversize_frame"), _oversize_frame),
    ("notes one container too deep", _ON, hostile("too_deep"), _sends({"later": [_DEEPEST]})),
    ("an array one over the limit", _ON, hostile("too_large"), _sends({"draw": [_DRAWING] * (MAX_ARRAY + 1)})),
    ("a text one byte over the limit", _ON, hostile("too_large"), _sends({"say": "x" * (MAX_TEXT_BYTES + 1)})),
    ("a key twice", _ON, hostile("duplicate_key"), _raw(b"\x82" + b"\xa3say\xa2ok" * 2)),
    ("a bin", _ON, hostile("bad_msgpack"), _raw(b"\x81\xa3say\xc4\x02ok")),
    ("half of a surrogate pair", _ON, hostile("bad_msgpack"), _raw(b"\x81\xa3say\xa3\xed\xa0\x80")),
    ("a text that claims 4 GiB", _ON, hostile("too_large"), _raw(b"\x81\xa3say\xdb\xff\xff\xff\xff")),
    ("right notes with an illegal move", _ON, costs_turn("illegal_move"), _with_notes(type="step", move=None)),
    ("right notes with an exception", _ON, costs_turn("raised"), _with_notes(type="raised", error="")),
    ("right notes without a move", _ON, costs_turn("malformed_answer"), _with_notes(type="step")),
    ("a message that is only notes", _ON, hostile("unknown_type"), _with_notes(type="notes")),
    ("notes after its answer", _ON, hostile("out_of_turn"), _after_its_answer),
    ("notes out of turn", _OFF, hostile("out_of_turn"), _with_notes(type="step", move=None)),
    ("a late answer with notes", _ON, HARMLESS, _late),
    ("notes in a join", _ON, Expected("replaced", closes=True), _in_join),
    ("more notes than a server keeps of a player", _ON, HARMLESS, _flood),
]  # fmt: skip

NOTES = [
    *(Case(f"12.{n}", title, _ON, HARMLESS, _noting(notes)) for n, (title, notes) in enumerate(HARMLESS_NOTES, 1)),
    *(
        Case(f"12.{n}", title, who, what, attack)
        for n, (title, who, what, attack) in enumerate(_OTHERS, start=len(HARMLESS_NOTES) + 1)
    ),
]
