"""What a record looks like: the tables of records.md as models, checked before anything is made of a record.

A file may hold anything. After this the rules, the clocks and the tables can rely on what they get.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal, TypeAlias, TypeVar

import orjson
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from getstep.wire import MAX_TEXT
from getstep_engines import GAMES

from ._model import Name, once_each, visible
from ._text import LATEST_TIME, utc_time
from .decisions import MAX_SCORE, TEAM_KINDS
from .game_record import RecordError
from .limits import MAX_TEAMS


class _Shape(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)


S = TypeVar("S", bound=_Shape)


MAX_SECONDS = 10.0**9
"""What a game may have taken, and each of its times: thirty years, so that adding them up stays a number."""

MAX_INCIDENTS = 10**12
"""Of one kind in one game: a million a second for ten days."""


def _time(text: str) -> str:
    try:
        seconds = datetime.fromisoformat(text).timestamp()
        written = utc_time(seconds) if 0 <= seconds < LATEST_TIME else ""
    except (ValueError, OverflowError, OSError):
        written = ""
    if text != written:
        raise ValueError("a time in UTC such as 2024-10-05T14:30:00.000Z, from 1970 on and before 3000")
    return text


def _true(value: bool) -> bool:
    if not value:
        raise ValueError("true, or nothing")
    return value


Number: TypeAlias = Annotated[int, Field(ge=1)]
Count: TypeAlias = Annotated[int, Field(ge=0)]
TeamId: TypeAlias = Annotated[int, Field(ge=0)]
Seconds: TypeAlias = Annotated[float, Field(ge=0, le=MAX_SECONDS)]
Ms: TypeAlias = Annotated[float, Field(ge=0, le=1000 * MAX_SECONDS)]
Score: TypeAlias = Annotated[int, Field(ge=0, le=MAX_SCORE)]
Who: TypeAlias = Annotated[int, Field(ge=0, le=1)]  # a Literal would take True for 1
Text: TypeAlias = Annotated[str, Field(max_length=MAX_TEXT)]
Line: TypeAlias = Annotated[Text, BeforeValidator(visible)]
True_: TypeAlias = Annotated[bool, AfterValidator(_true)]
_TWO = Field(min_length=2, max_length=2)


# --- the pairings -----------------------------------------------------------------------------------------------


class MatchShape(_Shape):
    """A match of the pairings, or a bye."""

    number: Number | None
    round: Number
    pairing: Number
    leg: Number
    first: TeamId
    second: TeamId | None


class PairingsShape(_Shape):
    """A record of pairings, but for its seal."""

    contest: Name
    seed: Count
    event: Number
    name: Name
    game: str
    options: dict[str, int]
    format: str
    settings: dict[str, Any]
    scoring: dict[str, Any]
    teams: Annotated[list[TeamId], Field(max_length=MAX_TEAMS), AfterValidator(once_each)]
    software: Line
    matches: list[MatchShape]


# --- games ------------------------------------------------------------------------------------------------------


class TeamShape(_Shape):
    """One of a game's two teams."""

    id: TeamId
    name: Name


class TimeShape(_Shape):
    """A game's time control."""

    kind: Literal["move", "budget"]
    ms: Annotated[float, Field(gt=0, le=1000 * MAX_SECONDS)]
    lag_ms: Ms


class IncidentShape(_Shape):
    """Hostile or refused traffic during a game."""

    team: TeamId
    code: str
    detail: str
    address: str
    after_turn: Count
    count: Annotated[int, Field(ge=1, le=MAX_INCIDENTS)]


class GameShape(_Shape):
    """A game's record, but for its seal; ``turns`` are to be looked at one by one."""

    contest: Name
    seed: Count
    match: Number
    event: Number
    round: Number
    pairing: Number
    leg: Number
    attempt: Number
    game: str
    options: dict[str, int]
    teams: Annotated[list[TeamShape], _TWO]
    time: TimeShape
    started: Annotated[str, AfterValidator(_time)]
    software: Line
    seconds: Seconds
    winner: Who | None
    scores: Annotated[list[Any], _TWO] | None
    reason: str
    detail: Text
    turns_played: Count
    thought_ms: Annotated[list[Ms], _TWO]
    faults: Annotated[list[Count], _TWO]
    resumed: list[Count]
    incidents: list[IncidentShape]
    turns: list[dict[str, Any]]


# --- decisions --------------------------------------------------------------------------------------------------


class _DecisionShape(_Shape):
    """A record of a decision, but for its seal."""

    contest: Name
    seed: Count
    decision: str
    by: Name
    why: Line
    at: Annotated[str, AfterValidator(_time)]
    software: Line


class TeamDecisionShape(_DecisionShape):
    """Whether a team may take part, in one event or in all."""

    team: TeamId
    event: Number | None


class ReplayShape(_DecisionShape):
    """A match is played again."""

    match: Number


class AdjudicationShape(ReplayShape):
    """A match has the result that the host says."""

    winner: Who | None
    scores: Annotated[list[Score], _TWO] | None


DecisionShape: TypeAlias = TeamDecisionShape | ReplayShape | AdjudicationShape

_DECISIONS: dict[object, type[DecisionShape]] = {
    **dict.fromkeys(TEAM_KINDS, TeamDecisionShape),
    "adjudicate": AdjudicationShape,
    "replay": ReplayShape,
}


# --- turns ------------------------------------------------------------------------------------------------------


class _TurnShape(_Shape):
    player: Who


class Passed(_TurnShape):
    """The player had no move and was not asked."""

    pass_: Annotated[True_, Field(alias="pass")]


class _Timed(_TurnShape):
    ms: Ms
    late_ms: Ms = 0.0


class _Answered(_Timed):
    timed: Literal["kernel", "wake"]


class Moved(_Answered):
    """A legal move."""

    move: Any


class Faulted(_Answered):
    """An answer that got the game's penalty."""

    fault: str
    detail: Text


class Illegal(Faulted):
    """An answer that the rules do not allow."""

    tried: Any


class Resigned(_Answered):
    """The player gave up."""

    end: str
    detail: Text


class _Unanswered(_Timed):
    waited_ms: Ms
    detail: Text


class Missed(_Unanswered):
    """A missed limit."""

    fault: str
    away: bool


class Absent(_Unanswered):
    """A missed limit that lost the match."""

    end: str
    away: True_


class Broke(_Timed):
    """The player broke the protocol, on turn or not."""

    end: str
    detail: Text


Turn: TypeAlias = Moved | Passed | Faulted | Missed | Resigned | Absent | Broke

_FAULTS: dict[object, type[Turn]] = {
    "illegal_move": Illegal,
    "malformed_answer": Faulted,
    "raised": Faulted,
    "missed_limit": Missed,
}
_ENDS: dict[object, type[Turn]] = {"resigned": Resigned, "absent": Absent, "hostile": Broke}
_KINDS = ("move", "pass", "fault", "end")
_KEYS = {"player", *_KINDS, "detail", "tried", "ms", "timed", "waited_ms", "away", "late_ms"}


def game_of(fields: Mapping[str, Any]) -> GameShape:
    """A game's record.

    Raises:
        RecordError: it does not look like one, or names a game or an option that there is not.
    """
    as_json(fields)
    game = _shaped(GameShape, fields)
    if game.game not in GAMES:
        raise RecordError(f"game is {game.game!r:.80}, expected one of: {', '.join(GAMES)}")
    try:
        GAMES[game.game].start(**game.options)
    except ValueError as error:
        raise RecordError(f"options are {game.options!r:.80}: {error}") from error
    return game


def pairings_of(fields: Mapping[str, Any]) -> PairingsShape:
    """A record of pairings.

    Raises:
        RecordError: it does not look like one.
    """
    as_json(fields)
    return _shaped(PairingsShape, fields)


def decision_shape(fields: Mapping[str, Any]) -> DecisionShape:
    """A record of a decision.

    Raises:
        RecordError: it does not look like one, or has a key that has no place in one of its kind.
    """
    as_json(fields)
    kind = fields.get("decision")
    if not isinstance(kind, str) or kind not in _DECISIONS:
        raise RecordError(f"decision is {kind!r:.80}, expected one of: {', '.join(map(str, _DECISIONS))}")
    shape = _shaped(_DECISIONS[kind], fields)
    for name in ("team", "event", "match", "winner", "scores"):
        if name in fields and name not in type(shape).model_fields:
            raise RecordError(f"{name} is {fields[name]!r:.80}, expected nothing in a decision to {kind}")
    return shape


def turn_of(fields: Mapping[str, Any]) -> Turn:
    """A turn of a game's record.

    Raises:
        RecordError: it does not look like one, or has a key that has no place in a turn of its kind.
    """
    shape = _shape_of(fields)
    turn = _shaped(shape, fields)
    known = {field.alias or name for name, field in shape.model_fields.items()}
    misplaced = sorted((_KEYS & fields.keys()) - known)
    if misplaced:
        raise RecordError(f"{misplaced[0]} is {fields[misplaced[0]]!r:.80}, expected nothing in {fields!r:.200}")
    return turn


def as_json(value: object) -> bytes:
    """``value`` as JSON text, in which 1 is neither 1.0 nor true.

    Raises:
        RecordError: there are containers inside containers beyond all reason (orjson's bound is 254).
    """
    try:
        return orjson.dumps(value)
    except orjson.JSONEncodeError as error:
        raise RecordError(f"something that cannot be written as JSON: {error}") from error


def _shape_of(fields: Mapping[str, Any]) -> type[Turn]:
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


def _shaped(shape: type[S], fields: Mapping[str, Any]) -> S:
    try:
        return shape.model_validate(fields)
    except ValidationError as error:
        mistake = error.errors(include_url=False)[0]
        where = ".".join(map(str, mistake["loc"]))
        if mistake["type"] == "missing":
            raise RecordError(f"{where} is missing") from error
        expected = mistake["msg"].removeprefix("Value error, ").removeprefix("Input should be ")
        raise RecordError(f"{where} is {mistake['input']!r:.80}, expected {expected}") from error
