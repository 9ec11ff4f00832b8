"""Decisions: the rulings of the host on a running contest, and their records.

A decision is about a team (may it take part?), about a match (what is its result?), about a pause (does it go on?),
about the freeze (what may spectators see?), or about the list of teams (who is new, and what is it called?). Two
kinds may be made by a rule and not by the host: a late team plays the matches that it forfeited, and a freeze
begins shortly before the end. This module holds the contents of a decision; the tournament derives its effects from
the records.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Annotated, Any, NamedTuple, TypeAlias

from msgspec import Meta, Struct

from getstep_engines import Game, Player
from getstep_server.config.contest import Contest
from getstep_server.config.fields import Name, check_unique
from getstep_server.limits import MAX_EVENTS, MAX_INVITATIONS, MAX_MATCHES, MAX_SEATS, MAX_TEAMS
from getstep_server.text import join_limited, pluralize
from getstep_server.validation import Check

from .match import Match
from .reasons import (
    FREEZE_KINDS,
    INVITATION_KINDS,
    PAUSE_KINDS,
    QUIET_KINDS,
    ROSTER_KINDS,
    TEAM_KINDS,
    DecisionKind,
    Reason,
)
from .record import SOFTWARE, Head, Record, RecordError, as_json, plain, read
from .result import Result
from .values import MAX_SCORE, TWO, BoundedLine, Number, PlayerScore, Sha256, TeamId, Time, Who

NO_SHOW_RULE = "the no-show rule"
"""The ``by`` in the record of a late arrival."""

FREEZE_RULE = "the freeze rule"
"""The ``by`` in the record of a freeze that no host has decided."""

PUBLICATION_RULE = "the publication rule"
"""The ``by`` in the record of a publication."""

_TEAM_EFFECTS = {
    DecisionKind.WITHDRAW: "has withdrawn",
    DecisionKind.DISQUALIFY: "is disqualified",
    DecisionKind.REINSTATE: "is reinstated",
}
_FREEZE_EFFECTS = {
    DecisionKind.FREEZE: "results are hidden from the page",
    DecisionKind.REVEAL: "the page shows all results",
}
_STANDBY_EFFECTS = {
    DecisionKind.STRICT: "nothing is announced before a standby host has it",
    DecisionKind.NOT_STRICT: "results are announced without a standby host",
}

NUMBERS_CELLS = 60
"""Terminal cells for the numbers of matches in a line: a late team may have hundreds of matches."""


class Decision(Struct, frozen=True):
    """A ruling of the host, or of a rule.

    Attributes:
        by: the name of the host.
        why: the reason, a sentence.
        at: the time in UTC, in the format of records.
        team: the id of the team that the decision is about.
        event: the number of the event in which the decision holds, or that is paused; None for all events.
        match: the number of the match that the decision is about.
        winner: of an adjudicated match: 0 or 1, or None for a draw.
        scores: of an adjudicated match: both players' scores, if the host gave any.
        matches: of a late arrival: the numbers of the matches that the team plays after all.
        name: of a team that joins or is renamed: its name from here on.
        seats: of a team that joins, or that may connect another number of bots: how many.
        fence: of a take-over: the fencing number of the host from here on.
        invitations: of links to sign up: their numbers.
        uses: of new links: how many teams may sign up with each.
        until: of new links: the time of their end, in the format of records.
        version: of a publication: the number of the version of the team's program, whose source has this sha256.
        sha256: of an archive: that of the file with the turns.
        through: of an archive: the place of the last record whose turns are in it.
        games: of an archive: how many games' records are in it.
        kept: of an archive: the SHA-256 of the hashes of the records that stay in their places.
    """

    kind: DecisionKind
    by: str
    why: str
    at: str
    team: int | None = None
    event: int | None = None
    match: int | None = None
    winner: Player | None = None
    scores: tuple[int, int] | None = None
    matches: tuple[int, ...] = ()
    version: int | None = None
    sha256: str | None = None
    at_once: bool = False
    """Of a pause: an open question stops now, and not only at the end of the turn."""
    name: str | None = None
    seats: int | None = None
    fence: int | None = None
    invitations: tuple[int, ...] = ()
    uses: int | None = None
    until: str | None = None
    through: int | None = None
    games: int | None = None
    kept: str | None = None

    @property
    def made_by_rule(self) -> bool:
        """Return True if no host made it."""
        return self.kind in (DecisionKind.LATE_ARRIVAL, DecisionKind.PUBLISH) or (
            self.kind == DecisionKind.FREEZE and self.by == FREEZE_RULE
        )

    @property
    def reopened(self) -> tuple[int, ...]:
        """The numbers of the matches that are played again because of this decision."""
        return (self.match,) if self.kind == DecisionKind.REPLAY and self.match is not None else self.matches

    def is_about(self, match: Match) -> bool:
        """Return True if the decision may call off a running attempt at ``match``."""
        if self.made_by_rule or self.kind in (*QUIET_KINDS, *ROSTER_KINDS):
            # a forfeited match has no running attempt, a pause ends nothing, and the others change no match
            return False
        if self.match is not None:
            return self.match == match.number
        return (
            self.kind != DecisionKind.REINSTATE and self.team in match.teams and self.event in (None, match.event)
        )

    def result(self, match: Match, attempt: int) -> Result:
        """Return the result of an adjudicated match; ``attempt`` is the latest attempt, 0 if there was none."""
        return Result(
            match=match,
            winner=self.winner,
            reason=Reason.ADJUDICATED,
            detail=self.why,
            scores=self.scores,
            turns=0,
            thought=(0.0, 0.0),
            faults=(0, 0),
            started=datetime.fromisoformat(self.at).timestamp(),
            seconds=0.0,
            attempt=attempt,
        )


# --- records ------------------------------------------------------------------------------------------------------


class _DecisionHead(Head, frozen=True, kw_only=True):
    type: str = "decision"
    decision: str


class TeamDecision(_DecisionHead, frozen=True, kw_only=True):
    """A record of a decision that a team takes part or not, in one event or in all."""

    team: TeamId
    event: Number | None
    by: Name
    why: BoundedLine
    at: Time
    software: BoundedLine


class Rematch(_DecisionHead, frozen=True, kw_only=True):
    """A record of a decision that a match is played again."""

    match: Number
    by: Name
    why: BoundedLine
    at: Time
    software: BoundedLine


class Adjudication(_DecisionHead, frozen=True, kw_only=True):
    """A record of a decision on the result of a match."""

    match: Number
    winner: Who | None
    scores: Annotated[list[PlayerScore], TWO] | None
    by: Name
    why: BoundedLine
    at: Time
    software: BoundedLine


def _check_by_rule(by: str) -> None:
    if by != NO_SHOW_RULE:
        raise ValueError(f"{NO_SHOW_RULE!r}: no host decides it")


def _check_by_publication_rule(by: str) -> None:
    if by != PUBLICATION_RULE:
        raise ValueError(f"{PUBLICATION_RULE!r}: no host decides it")


class LateArrival(_DecisionHead, frozen=True, kw_only=True):
    """A record of a late arrival: the team plays the matches that it forfeited."""

    team: TeamId
    matches: Annotated[list[Number], Check(check_unique, min_length=1, max_length=MAX_EVENTS * MAX_MATCHES)]
    by: Annotated[str, Check(_check_by_rule)]
    why: BoundedLine
    at: Time
    software: BoundedLine


class FreezeDecision(_DecisionHead, frozen=True, kw_only=True):
    """A record of a decision that later results are hidden from spectators, or that all are shown."""

    by: Name
    why: BoundedLine
    at: Time
    software: BoundedLine


class PauseDecision(_DecisionHead, frozen=True, kw_only=True):
    """A record of a decision that a match, an event or (both are None) the contest is paused, or goes on."""

    event: Number | None
    match: Number | None
    at_once: bool
    by: Name
    why: BoundedLine
    at: Time
    software: BoundedLine


class Publication(_DecisionHead, frozen=True, kw_only=True):
    """A record of a publication of a program that has led a ladder for long enough."""

    team: TeamId
    event: Number
    version: Number
    sha256: Sha256
    by: Annotated[str, Check(_check_by_publication_rule)]
    why: BoundedLine
    at: Time
    software: BoundedLine


Seats: TypeAlias = Annotated[int, Meta(ge=1, le=MAX_SEATS)]


class JoinDecision(_DecisionHead, frozen=True, kw_only=True):
    """A record of a team that takes part from here on. Its token stands in no record."""

    team: TeamId
    name: Name
    seats: Seats
    by: Name
    why: BoundedLine
    at: Time
    software: BoundedLine


class RenameDecision(_DecisionHead, frozen=True, kw_only=True):
    """A record of a team's new name."""

    team: TeamId
    name: Name
    by: Name
    why: BoundedLine
    at: Time
    software: BoundedLine


class TokenDecision(_DecisionHead, frozen=True, kw_only=True):
    """A record of the fact that a team has a new token."""

    team: TeamId
    by: Name
    why: BoundedLine
    at: Time
    software: BoundedLine


class SeatsDecision(_DecisionHead, frozen=True, kw_only=True):
    """A record of how many bots a team may connect."""

    team: TeamId
    seats: Seats
    by: Name
    why: BoundedLine
    at: Time
    software: BoundedLine


class TakeOverDecision(_DecisionHead, frozen=True, kw_only=True):
    """A record of the fact that another computer plays the contest from here on."""

    fence: Number
    by: Name
    why: BoundedLine
    at: Time
    software: BoundedLine


class StrictDecision(_DecisionHead, frozen=True, kw_only=True):
    """A record of a decision that results wait for a standby host, or that they do not."""

    by: Name
    why: BoundedLine
    at: Time
    software: BoundedLine


class ArchiveDecision(_DecisionHead, frozen=True, kw_only=True):
    """A record of the fact that the turns of old games are in a file, and no longer in their records."""

    through: Number
    games: Number
    kept: Sha256
    sha256: Sha256
    by: Name
    why: BoundedLine
    at: Time
    software: BoundedLine


Invitations: TypeAlias = Annotated[list[Number], Check(check_unique, min_length=1, max_length=MAX_INVITATIONS)]


class InviteDecision(_DecisionHead, frozen=True, kw_only=True):
    """A record of new links by which teams sign up. Their keys stand in no record."""

    invitations: Invitations
    uses: Annotated[int, Meta(ge=1, le=MAX_TEAMS)]
    until: Time
    by: Name
    why: BoundedLine
    at: Time
    software: BoundedLine


class RevokeDecision(_DecisionHead, frozen=True, kw_only=True):
    """A record of the end of such links."""

    invitations: Invitations
    by: Name
    why: BoundedLine
    at: Time
    software: BoundedLine


DecisionRecord: TypeAlias = (
    TeamDecision
    | Rematch
    | Adjudication
    | LateArrival
    | FreezeDecision
    | PauseDecision
    | Publication
    | JoinDecision
    | RenameDecision
    | TokenDecision
    | SeatsDecision
    | TakeOverDecision
    | StrictDecision
    | InviteDecision
    | RevokeDecision
    | ArchiveDecision
)

_RECORDS: dict[str, type[DecisionRecord]] = {
    **dict.fromkeys(TEAM_KINDS, TeamDecision),
    DecisionKind.ADJUDICATE: Adjudication,
    DecisionKind.REPLAY: Rematch,
    DecisionKind.LATE_ARRIVAL: LateArrival,
    **dict.fromkeys(FREEZE_KINDS, FreezeDecision),
    **dict.fromkeys(PAUSE_KINDS, PauseDecision),
    DecisionKind.PUBLISH: Publication,
    DecisionKind.JOIN: JoinDecision,
    DecisionKind.RENAME: RenameDecision,
    DecisionKind.TOKEN: TokenDecision,
    DecisionKind.SEATS: SeatsDecision,
    DecisionKind.TAKE_OVER: TakeOverDecision,
    DecisionKind.STRICT: StrictDecision,
    DecisionKind.NOT_STRICT: StrictDecision,
    DecisionKind.INVITE: InviteDecision,
    DecisionKind.REVOKE: RevokeDecision,
    DecisionKind.ARCHIVE: ArchiveDecision,
}
_ABOUT = (
    "team",
    "event",
    "match",
    "matches",
    "winner",
    "scores",
    "version",
    "sha256",
    "at_once",
    "name",
    "seats",
    "fence",
    "invitations",
    "uses",
    "until",
    "through",
    "games",
    "kept",
)
"""The fields of a decision that only some kinds have."""


def decision_fields(contest: Contest, decision: Decision) -> dict[str, Any]:
    """Return the fields of the record of a decision, which are not validated yet."""
    names = {*_ABOUT, "by", "why", "at"}.intersection(_RECORDS[decision.kind].__struct_fields__)
    return {
        "contest": contest.name,
        "seed": contest.file.contest.seed,
        "decision": str(decision.kind),
        **{name: getattr(decision, name) for name in names},
        "software": SOFTWARE,
    }


def record_of_decision(contest: Contest, decision: Decision) -> Record:
    """Return the record of a decision.

    Raises:
        RecordError: a field of the decision is invalid.
    """
    return Record(plain(validate_decision(decision_fields(contest, decision))))


def validate_decision(fields: Mapping[str, Any]) -> DecisionRecord:
    """Return a validated record of a decision.

    Raises:
        RecordError: a field is missing or invalid, or does not belong to a decision of this kind.
    """
    as_json(fields)
    kind = fields.get("decision")
    if not isinstance(kind, str) or kind not in _RECORDS:
        raise RecordError(f"decision is {kind!r:.80}, expected one of: {', '.join(map(str, _RECORDS))}")
    record = read(_RECORDS[kind], fields)
    for name in _ABOUT:
        # Unknown keys are allowed, for later versions; these are known, and would say something that nothing reads.
        if name in fields and name not in record.__struct_fields__:
            raise RecordError(f"{name} is {fields[name]!r:.80}, expected nothing in a decision to {kind}")
    return record


def decision_of(fields: Mapping[str, Any]) -> Decision:
    """Return the decision in a record.

    Raises:
        RecordError: a field is missing or invalid, or does not belong to a decision of this kind.
    """
    record = validate_decision(fields)
    values = {name: getattr(record, name) for name in (*_ABOUT, "by", "why", "at") if hasattr(record, name)}
    values |= {
        name: tuple(values[name]) for name in ("scores", "matches", "invitations") if values.get(name) is not None
    }
    return Decision(kind=DecisionKind(record.decision), **values)


class PublishedProgram(NamedTuple):
    """A program whose source is published: the event that it led, its team and version, and its SHA-256."""

    event: int | None
    team: int
    version: int
    sha256: str


def publications(decisions: Iterable[Decision]) -> list[PublishedProgram]:
    """Return what was published by these decisions, in their order."""
    return [
        PublishedProgram(one.event, one.team, one.version, one.sha256)
        for one in decisions
        if one.kind == DecisionKind.PUBLISH
        and one.team is not None
        and one.version is not None
        and one.sha256 is not None
    ]


def late_arrival(contest: Contest, team: int, matches: Iterable[int], at: str) -> Decision:
    """Return the decision by which ``team``, which has arrived, plays the ``matches`` that it forfeited."""
    why = f"{contest.team_name(team)} has arrived"
    return Decision(DecisionKind.LATE_ARRIVAL, NO_SHOW_RULE, why, at, team=team, matches=tuple(matches))


def freeze_by_rule(minutes: float, at: str) -> Decision:
    """Return the decision by which the results of the last ``minutes`` are hidden."""
    why = f"the contest is expected to end within {minutes:g} min"
    return Decision(DecisionKind.FREEZE, FREEZE_RULE, why, at)


def publication_by_rule(team: int, version: int, sha256: str, event: int, weeks: float, at: str) -> Decision:
    """Return the decision by which the source of a program is published that has led a ladder for ``weeks``."""
    why = f"it has led the ladder for {weeks:g} weeks"
    kind, by = DecisionKind.PUBLISH, PUBLICATION_RULE
    return Decision(kind, by, why, at, team=team, event=event, version=version, sha256=sha256)


def describe_decision(decision: Decision, contest: Contest, match: Match | None = None) -> str:
    """Return a decision in words, without its author and reason; ``match`` is its match, if any."""
    if decision.kind in FREEZE_KINDS:
        return _FREEZE_EFFECTS[decision.kind]
    if decision.kind in PAUSE_KINDS:
        return _describe_pause(decision, contest, match)
    if decision.kind in _STANDBY_EFFECTS:
        return _STANDBY_EFFECTS[decision.kind]
    if decision.kind == DecisionKind.TAKE_OVER:
        return f"another computer plays the contest from here on, with fencing number {decision.fence}"
    if decision.kind == DecisionKind.PUBLISH:
        name = contest.team_name(decision.team or 0)
        return f"the source of the program of {name}, version {decision.version}, is published"
    if decision.kind in INVITATION_KINDS:
        return _describe_invitations(decision)
    if decision.kind == DecisionKind.ARCHIVE:
        games = pluralize(decision.games or 0, "match")
        return f"the turns of {games}, up to the record at place {decision.through}, are in an archive"
    if decision.made_by_rule:
        numbers = join_limited(list(map(str, decision.matches)), ", ", NUMBERS_CELLS)
        after_all = f"{pluralize(len(decision.matches), 'match')} after all ({numbers})"
        return f"{contest.team_name(decision.team or 0)} plays {after_all}"
    if decision.kind in ROSTER_KINDS:
        return _describe_roster(decision, contest.team_name(decision.team or 0))
    if decision.team is not None:
        event = decision.event
        known = event is None or event > len(contest.events)
        where = "" if known or len(contest.events) == 1 else f" in {contest.event(event or 1).name}"
        return f"{contest.team_name(decision.team)} {_TEAM_EFFECTS[decision.kind]}{where}"
    names = [] if match is None else [contest.team_name(team) for team in match.teams]
    which = f"match {decision.match}" + (f" ({' – '.join(names)})" if names else "")
    if decision.kind == DecisionKind.REPLAY:
        return f"{which} is played again"
    first, second = _winners_first(decision)
    scores = "" if decision.scores is None else f" with {first} to {second}"
    if decision.winner is None:
        return f"{which} is a draw{scores}"
    return f"{which} is won by {names[decision.winner] if names else f'player {decision.winner}'}{scores}"


def _describe_pause(decision: Decision, contest: Contest, match: Match | None) -> str:
    event = decision.event
    if decision.match is not None:
        names = "" if match is None else f" ({' – '.join(map(contest.team_name, match.teams))})"
        what = f"match {decision.match}{names}"
    elif event is not None:
        # the host may have deleted it from contest.toml since
        what = contest.event(event).name if event <= len(contest.events) else f"event {event}"
    else:
        what = "the contest"
    if decision.kind == DecisionKind.RESUME:
        return f"{what} goes on"
    return f"{what} is paused {'at once' if decision.at_once else 'at the end of each turn'}"


def _describe_invitations(decision: Decision) -> str:
    numbers = join_limited(list(map(str, decision.invitations)), ", ", NUMBERS_CELLS)
    links = f"{'invitation' if len(decision.invitations) == 1 else 'invitations'} {numbers}"
    if decision.kind == DecisionKind.REVOKE:
        return f"no team signs up by {links} any more"
    each = pluralize(decision.uses or 1, "team") + (" each" if len(decision.invitations) > 1 else "")
    return f"{links} to sign up, for {each}, until {(decision.until or '')[:16].replace('T', ' ')} UTC"


def _describe_roster(decision: Decision, name: str) -> str:
    bots = f" with {decision.seats} seats" if (decision.seats or 1) > 1 else ""
    if decision.kind == DecisionKind.JOIN:
        return f"{decision.name} joins as team {decision.team}{bots}"
    if decision.kind == DecisionKind.RENAME:
        return f"team {decision.team} is called {decision.name}"
    if decision.kind == DecisionKind.TOKEN:
        return f"{name} has a new token"
    return f"{name} has {pluralize(decision.seats or 1, 'seat')}"


def was_frozen(decisions: Iterable[Decision]) -> bool:
    """Return True if there was a freeze, whether it has ended or not."""
    return any(decision.kind == DecisionKind.FREEZE for decision in decisions)


def freeze_objection(decision: Decision, *, is_frozen: bool) -> str | None:
    """Return why results cannot be hidden or shown now; None if they can."""
    if decision.kind == DecisionKind.FREEZE:
        return "results are hidden already, expected a page that shows them" if is_frozen else None
    return None if is_frozen else "no results are hidden, expected a freeze before a reveal"


def scores_objection(decision: Decision, game: Game) -> str | None:
    """Return the problem with the scores of an adjudicated match of ``game``; None if they are valid."""
    scores = decision.scores
    if scores is None:
        return None
    if not game.differs:
        return f"scores {scores!r:.80}, expected none: in {game.name} no difference of scores counts"
    if len(scores) != 2 or not all(type(score) is int and 0 <= score <= MAX_SCORE for score in scores):
        return f"scores {scores!r:.80}, expected two whole numbers from 0 to {MAX_SCORE}"
    first, second = scores
    if decision.winner != (None if first == second else int(second > first)):
        wanted = "equal ones for a draw" if decision.winner is None else "more for the winner"
        return f"scores {scores!r}, expected {wanted}"
    return None


def _winners_first(decision: Decision) -> tuple[int, ...]:
    scores = decision.scores or (0, 0)
    return scores[::-1] if decision.winner == 1 else scores
