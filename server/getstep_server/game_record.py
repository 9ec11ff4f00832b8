"""Records: what a contest leaves behind, a line of JSON each, chained by their hashes. records.md is their manual.

A record is put together from texts that are encoded once: its head (everything but the turns), its turns as they
went into the journal, and its seal, which is written when the record gets its place in the order of commits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from typing import Any

import orjson

from . import __version__
from ._text import utc_time
from .contest import Contest
from .contest_event import ContestEvent
from .formats import Pairing
from .results import Result
from .schedule import Match

RECORD_VERSION = 1
SOFTWARE = f"getstep-server {__version__}"
FIRST = "0" * 64
"""What the first record names as the hash of the one before it."""

VOID = "server_fault"
"""The reason of an attempt that does not count: the server failed, and the match is played again."""

CALLED_OFF = "called_off"
"""The reason of another: while it was played the host has decided about the match, or about one of its teams."""

VOIDS = (VOID, CALLED_OFF)

_SEAL = b',"hash":"'
_SEAL_BYTES = len(_SEAL) + 64 + len(b'"}')


class RecordError(Exception):
    """A text is no record of this version, or not the one that was written; the message says what is wrong."""


@dataclass(frozen=True)
class Record:
    """A record before it has its place.

    ``head`` is a JSON object without the turns, ``turns`` the turns' objects. ``match`` is None, and ``attempt`` 0,
    unless the record is a game's.
    """

    head: bytes
    turns: Sequence[bytes] = ()
    match: Match | None = None
    attempt: int = 0

    def content(self) -> bytes:
        """All but the seal."""
        return content_of(self.head, b",".join(self.turns), game=self.match is not None)


def content_of(head: bytes, turns: bytes, *, game: bool) -> bytes:
    """A record's text without its seal, from the parts that are stored."""
    return b'%b,"turns":[%b]}' % (head[:-1], turns) if game else head


def sealed(content: bytes, place: int, previous: str) -> tuple[bytes, str]:
    """The whole line (without its end) of the record at ``place``, and its hash."""
    body = b'%b,"place":%d,"previous":"%b"}' % (content[:-1], place, previous.encode())
    digest = sha256(body).hexdigest()
    return b'%b%b%b"}' % (body[:-1], _SEAL, digest.encode()), digest


def hash_of(line: bytes) -> str:
    """The hash that the record in ``line`` should carry, whatever it says."""
    return sha256(line[:-_SEAL_BYTES] + b"}").hexdigest()


def parse(line: bytes) -> dict[str, Any]:
    """A record's fields.

    Raises:
        RecordError: this is no record.
    """
    try:
        fields = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise RecordError(f"{line[:60]!r} is not JSON: {error}") from error
    if not isinstance(fields, dict) or fields.get("record") != RECORD_VERSION:
        raise RecordError(f"{line[:60]!r}, expected a record of version {RECORD_VERSION}")
    return fields


# --- the pairings ------------------------------------------------------------------------------------------------


def head_of_pairings(contest: Contest, event: ContestEvent, teams: Sequence[int]) -> dict[str, Any]:
    """What a record of pairings says beside them: all that they are made from.

    Args:
        contest: whose.
        event: whose pairings.
        teams: those that take part, in the order of their seeding.
    """
    return {
        "record": RECORD_VERSION,
        "type": "pairings",
        "contest": contest.name,
        "seed": contest.file.contest.seed,
        "event": event.number,
        "name": event.name,
        "game": event.game.name,
        "options": event.options,
        "format": event.format.name,
        "settings": event.format.options.model_dump(),
        "scoring": event.scoring.model_dump(),
        "teams": list(teams),
        "software": SOFTWARE,
    }


def record_of_pairings(fields: Mapping[str, Any]) -> Record:
    """The record that says which matches there are: its head, and the key ``matches``."""
    return Record(orjson.dumps(fields))


def given_in(fields: Mapping[str, Any]) -> list[tuple[Pairing, Match | None]]:
    """The pairings that a record names, byes included, and the match in which each is played.

    Raises:
        RecordError: it is none.
    """
    try:
        hash((fields["event"], *fields["teams"]))
        return [_pairing_of(entry, fields) for entry in fields["matches"]]
    except (KeyError, TypeError) as error:
        raise RecordError(f"a record of pairings that cannot be read: {error!r}") from error


def _pairing_of(entry: Mapping[str, Any], fields: Mapping[str, Any]) -> tuple[Pairing, Match | None]:
    places = {name: entry[name] for name in ("round", "pairing", "leg", "first", "second")}
    pairing = Pairing(**places)
    if pairing.is_bye:
        return pairing, None
    played = {name: fields[name] for name in ("game", "options", "event")}
    return pairing, Match(number=entry["number"], **places, **played)


def pairing_fields(pairing: Pairing, number: int | None) -> dict[str, Any]:
    """A pairing as an entry of ``matches``; without a number if it is a bye."""
    return {"number": number, **{name: getattr(pairing, name) for name in Pairing.__slots__}}


# --- games -------------------------------------------------------------------------------------------------------


@dataclass
class Happened:
    """What a game's record says beside its result: its turns as JSON objects, and what went on around them."""

    turns: list[bytes] = field(default_factory=list)
    resumed: list[int] = field(default_factory=list)
    """After how many turns it went on in a new run of the server."""
    incidents: list[dict[str, Any]] = field(default_factory=list)


def head_of_game(contest: Contest, match: Match, attempt: int, started: float) -> dict[str, Any]:
    """What is known of a game before its first turn; its journal begins with it."""
    control = contest.event(match.event).time_control
    return {
        "record": RECORD_VERSION,
        "type": "game",
        "contest": contest.name,
        "seed": contest.file.contest.seed,
        "match": match.number,
        "event": match.event,
        "round": match.round,
        "pairing": match.pairing,
        "leg": match.leg,
        "attempt": attempt,
        "game": match.game,
        "options": match.options,
        "teams": [{"id": team, "name": contest.team_name(team)} for team in match.teams],
        "time": {"kind": control.kind, "ms": _ms(control.seconds), "lag_ms": _ms(contest.lag)},
        "started": utc_time(started),
        "software": SOFTWARE,
    }


def record_of_game(head: Mapping[str, Any], result: Result, happened: Happened | None = None) -> Record:
    """The record of a game that is over.

    Args:
        head: from `head_of_game`.
        result: how it ended.
        happened: its course; None if nobody played.
    """
    happened = happened or Happened()
    end = {
        "seconds": result.seconds,
        "winner": result.winner,
        "scores": result.scores,
        "reason": result.reason,
        "detail": result.detail,
        "turns_played": result.turns,
        "thought_ms": [_ms(seconds) for seconds in result.thought],
        "faults": result.faults,
        "resumed": happened.resumed,
        "incidents": happened.incidents,
    }
    return Record(orjson.dumps({**head, **end}), happened.turns, result.match, result.attempt)


def match_of(fields: Mapping[str, Any]) -> Match:
    """The match that a game's record, or its journal's first line, is about.

    Raises:
        RecordError: it is none.
    """
    try:
        first, second = (team["id"] for team in fields["teams"])
        places = {name: fields[name] for name in ("event", "round", "pairing", "leg", "game", "options")}
        return Match(number=fields["match"], first=first, second=second, **places)
    except (KeyError, TypeError, ValueError) as error:
        raise RecordError(f"a game's record that cannot be read: {error!r}") from error


def result_of(fields: Mapping[str, Any]) -> Result:
    """The result in a game's record.

    Raises:
        RecordError: there is none.
    """
    match = match_of(fields)
    try:
        return Result(
            match=match,
            winner=fields["winner"],
            reason=fields["reason"],
            detail=fields["detail"],
            scores=None if fields["scores"] is None else _as_scores(fields["scores"]),
            turns=fields["turns_played"],
            thought=_pair([ms / 1000 for ms in fields["thought_ms"]]),
            faults=_pair(fields["faults"]),
            started=datetime.fromisoformat(fields["started"]).timestamp(),
            seconds=fields["seconds"],
            attempt=fields["attempt"],
        )
    except (KeyError, TypeError, ValueError) as error:
        raise RecordError(f"a game's record that cannot be read: {error!r}") from error


def void(result: Result) -> bool:
    """Whether this attempt does not count, whatever came of it."""
    return result.reason in VOIDS


def _ms(seconds: float) -> float:
    """Milliseconds with three decimals, as all times of a record are."""
    return round(seconds * 1000, 3)


def _pair(values: Sequence[Any]) -> tuple[Any, Any]:
    first, second = values
    return (first, second)


def _as_scores(scores: Sequence[Any]) -> tuple[Any, Any]:
    return _pair([tuple(score) if isinstance(score, list) else score for score in scores])
