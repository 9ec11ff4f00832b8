"""Challenges: friendly matches that a team of an arena asks for. Their records, and the match that follows.

A challenge is one record; its match, once it is over, is another, of the type ``friendly`` and otherwise like that
of a game. The number of both is the place of the challenge in the chain: nothing counts them, none is used twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from msgspec import Struct

from getstep_server.config.contest import Contest
from getstep_server.formats import Pairing

from .match import Match
from .pairings import pairing_fields, pairings_header, pairings_in
from .record import SOFTWARE, Head, Record, as_json, plain, read
from .values import BoundedLine, Number, TeamId, Time

CHALLENGE, FRIENDLY = "challenge", "friendly"
"""The types of the two records."""


class ChallengeRecord(Head, frozen=True, kw_only=True):
    """A record of a challenge: ``team`` wants to play ``opponent`` once, at the games of ``event``."""

    type: str = CHALLENGE
    team: TeamId
    opponent: TeamId
    event: Number
    at: Time
    software: BoundedLine


class Challenge(Struct, frozen=True):
    """A challenge on record: ``number`` is its place in the chain, ``at`` the Unix time of the wish."""

    number: int
    team: int
    opponent: int
    event: int
    at: float

    @property
    def teams(self) -> tuple[int, int]:
        return self.team, self.opponent


def record_of_challenge(contest: Contest, team: int, opponent: int, event: int, at: str) -> Record:
    """Return the record of a challenge at the time ``at``, in the format of records."""
    own = ChallengeRecord(
        contest=contest.name,
        seed=contest.file.contest.seed,
        team=team,
        opponent=opponent,
        event=event,
        at=at,
        software=SOFTWARE,
    )
    return Record(plain(own))


def challenge_of(fields: Mapping[str, Any], place: int) -> Challenge:
    """Return the challenge whose record is at ``place``.

    Raises:
        RecordError: a field is missing or invalid.
    """
    as_json(fields)
    record = read(ChallengeRecord, fields)
    at = datetime.fromisoformat(record.at).timestamp()
    return Challenge(place, record.team, record.opponent, record.event, at)


def friendly_match(contest: Contest, challenge: Challenge) -> Match:
    """Return the match of a challenge. Each second challenge gives the first move to the challenger."""
    number, (first, second) = challenge.number, challenge.teams[:: 1 if challenge.number % 2 else -1]
    head = pairings_header(contest, contest.event(challenge.event), [first, second])
    # as any pairing: a range of options is drawn by its number
    entry = pairing_fields(Pairing(1, number, 1, first, second), number, head)
    ((_, match),) = pairings_in({**head, "matches": [entry]})
    if match is None:
        raise RuntimeError("a challenge without a second team")
    return match


def friendly_record(record: Record) -> Record:
    """Return the record of a game as that of a friendly match, which no table and no list of games contains."""
    return Record({**record.fields, "type": FRIENDLY}, record.turns)
