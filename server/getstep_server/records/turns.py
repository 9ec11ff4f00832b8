"""The turns of a game's record, one class for each kind.

The judge writes a turn as a dict with the same keys: a turn is written while a clock runs, and a class would take
0.5 µs more. Each turn that is read goes through these classes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Meta, UnsetType

from getstep.referee import EndCode, FaultCode
from getstep.wire import NOTE_KEYS, checked_notes
from getstep_server.limits import MAX_TRIED_BYTES
from getstep_server.validation import Check, Model

from .record import RecordError, read
from .values import BoundedText, Ms, True_, Who


class _TurnSchema(Model, frozen=True, kw_only=True):
    player: Who


class Passed(_TurnSchema, frozen=True, kw_only=True):
    """A pass: the player had no legal move and was not asked."""

    pass_: True_ = msgspec.field(name="pass")


class _Timed(_TurnSchema, frozen=True, kw_only=True):
    ms: Ms
    late_ms: Ms = 0.0
    paused_ms: Ms = 0.0


def _check_notes(notes: dict[str, Any]) -> None:
    known = {key: notes[key] for key in NOTE_KEYS if key in notes}
    if not notes or checked_notes(known) != known:  # other keys may be of a later version
        raise ValueError("notes of a move, as protocol.md describes them")


class _Answered(_Timed, frozen=True, kw_only=True):
    timed: Literal["kernel", "wake"]
    notes: Annotated[dict[str, Any], Check(_check_notes)] | UnsetType = UNSET
    """What the bot noted. It decides nothing, unless the game has an agreement."""


class Moved(_Answered, frozen=True, kw_only=True):
    move: Any


class Faulted(_Answered, frozen=True, kw_only=True):
    """An answer that got the game's penalty."""

    fault: str
    detail: BoundedText


class Illegal(Faulted, frozen=True, kw_only=True):
    """An answer that the rules do not allow."""

    tried: Any
    tried_bytes: Annotated[int, Meta(gt=MAX_TRIED_BYTES)] | UnsetType = UNSET
    """The length of the whole move in bytes, if it was cut."""


class Resigned(_Answered, frozen=True, kw_only=True):
    end: str
    detail: BoundedText


class _Unanswered(_Timed, frozen=True, kw_only=True):
    waited_ms: Ms
    detail: BoundedText


class Missed(_Unanswered, frozen=True, kw_only=True):
    fault: str
    away: bool
    heard: True_ | UnsetType = UNSET


class Stalled(_TurnSchema, frozen=True, kw_only=True):
    """A turn that was skipped without a question, because the player is stalled."""

    fault: str
    detail: BoundedText
    ms: Ms


class Absent(_Unanswered, frozen=True, kw_only=True):
    """A missed limit that lost the match."""

    end: str
    away: True_


class Broke(_Timed, frozen=True, kw_only=True):
    """A protocol violation of the player, on turn or not."""

    end: str
    detail: BoundedText


Turn: TypeAlias = Moved | Passed | Faulted | Missed | Stalled | Resigned | Absent | Broke

_FAULTS: dict[object, type[Turn]] = {
    FaultCode.ILLEGAL_MOVE: Illegal,
    FaultCode.MALFORMED_ANSWER: Faulted,
    FaultCode.RAISED: Faulted,
    FaultCode.MISSED_LIMIT: Missed,
    FaultCode.STALLED: Stalled,
}
_ENDS: dict[object, type[Turn]] = {EndCode.RESIGNED: Resigned, EndCode.ABSENT: Absent, EndCode.HOSTILE: Broke}
_KINDS = ("move", "pass", "fault", "end")
_KEYS = {
    "player",
    *_KINDS,
    "detail",
    "tried",
    "tried_bytes",
    "ms",
    "timed",
    "waited_ms",
    "away",
    "heard",
    "late_ms",
    "paused_ms",
    "notes",
}


def validate_turn(fields: Mapping[str, Any]) -> Turn:
    """Return a validated turn of a game's record.

    Raises:
        RecordError: a field is missing or invalid, or does not belong to a turn of this kind.
    """
    schema = _turn_schema(fields)
    turn = read(schema, fields)
    # Unknown keys are allowed, for later versions; a known key in the wrong kind of turn is a contradiction.
    misplaced = sorted((_KEYS & fields.keys()).difference(schema.__struct_encode_fields__))
    if misplaced:
        raise RecordError(f"{misplaced[0]} is {fields[misplaced[0]]!r:.80}, expected nothing in {fields!r:.200}")
    return turn


def _turn_schema(fields: Mapping[str, Any]) -> type[Turn]:
    kinds = [kind for kind in _KINDS if kind in fields]
    if len(kinds) != 1:
        raise RecordError(f"{fields!r:.200}, expected one of the keys {', '.join(_KINDS)}")
    (kind,) = kinds
    if kind in ("move", "pass"):
        return Moved if kind == "move" else Passed
    codes, code = _FAULTS if kind == "fault" else _ENDS, fields[kind]
    if not isinstance(code, str) or code not in codes:
        raise RecordError(f"{kind} is {code!r:.80}, expected one of: {', '.join(map(str, codes))}")
    return codes[code]
