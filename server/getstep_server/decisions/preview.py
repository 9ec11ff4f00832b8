"""What a decision changes: in the matches, in the tables and in the pairings, as data and in words.

The same projection of the records that makes tables makes the preview: the tournament without the decision is
compared with the one after it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

from msgspec import Struct

from getstep_server.config.contest import Contest
from getstep_server.config.event import ContestEvent
from getstep_server.records.decision import Decision, describe_decision
from getstep_server.records.match import Match
from getstep_server.records.reasons import TEAM_KINDS, DecisionKind
from getstep_server.reports.tables import result_line
from getstep_server.text import pluralize, sentence
from getstep_server.tournament.tournament import Tournament

from .requests import Ruling

MOVES_SHOWN = 8
"""The lines about the table in a terminal: a disqualification moves everybody below."""


class TableMove(Struct, frozen=True):
    """A team whose rank or points change in the table of an event. A rank is None without one."""

    event: int
    team: int
    name: str
    rank: tuple[int | None, int | None]
    points: tuple[float | None, float | None]

    def __str__(self) -> str:
        points = [_number(value) for value in self.points]
        ranks = [_number(value) for value in self.rank]
        rank = f"rank {ranks[0]}" if ranks[0] == ranks[1] else f"rank {ranks[0]} -> {ranks[1]}"
        return f"{self.name}: {rank}, points {points[0]}{'' if points[0] == points[1] else f' -> {points[1]}'}"


class Preview(Struct, frozen=True):
    """What decisions change, or have changed.

    Attributes:
        place: of the last record that they were made on.
        decided: the decisions in words, without author and reason.
        before: the results up to now of the matches that they are about, in words.
        cancelled: the numbers of the matches that are open now and will not be played.
        annulled: those of the matches that no longer count.
        opened: those of the matches that are open again.
        counted: those of the matches that count again.
        aborted: those of the matches that are being played, and are not played to their end.
        moves: the changes of tables.
        pairings: how many matches are paired at once, by the number of the event.
        joins: True if teams join.
        unchanged: True if a decision about a team has changed no match.
        skipped: the matches that are left out, by number, each with the reason.
        notes: further things that the host should know.
    """

    place: int
    decided: tuple[str, ...]
    before: tuple[str, ...] = ()
    cancelled: tuple[int, ...] = ()
    annulled: tuple[int, ...] = ()
    opened: tuple[int, ...] = ()
    counted: tuple[int, ...] = ()
    aborted: tuple[int, ...] = ()
    moves: tuple[TableMove, ...] = ()
    pairings: dict[int, int] = {}
    joins: bool = False
    unchanged: bool = False
    skipped: dict[int, str] = {}
    notes: tuple[str, ...] = ()

    @property
    def headline(self) -> str:
        """The decisions in one line, without a full stop."""
        if len(self.decided) == 1:
            return self.decided[0]
        what, do = ("team", "join") if self.joins else ("match", "are played again")
        return f"{pluralize(len(self.decided), what)} {do}"

    def summary(self, what: str) -> str:
        """Return the decisions as a sentence: ``what`` is "On record" or "Would be on record"."""
        return sentence(f"{what}: {self.headline}")

    def match_lines(self) -> Iterator[str]:
        """Yield what changes in the matches, a line for each kind of change."""
        yield from (f"  before: {line}" for line in self.before)
        yield from (f"  {note}" for note in self.notes)
        changes = {
            "cancelled": self.cancelled,
            "annulled": self.annulled,
            "open again": self.opened,
            "counted again": self.counted,
        }
        yield from (f"  {what}: {_numbered(numbers)}" for what, numbers in changes.items() if numbers)
        if self.unchanged:
            yield "  no match has changed"

    def lines(self, contest: Contest) -> Iterator[str]:
        """Yield all that changes, for a terminal."""
        yield from self.match_lines()
        if self.aborted:
            yield f"  aborted while it is played: {_numbered(self.aborted)}"
        several = len(contest.events) > 1
        for event, count in self.pairings.items():
            where = f" in {contest.event(event).name}" if several else ""
            yield f"  new pairings{where}: {pluralize(count, 'match')}"
        for move in self.moves[:MOVES_SHOWN]:
            yield f"  table{f' of {contest.event(move.event).name}' if several else ''}: {move}"
        if len(self.moves) > MOVES_SHOWN:
            yield f"  table: and {pluralize(len(self.moves) - MOVES_SHOWN, 'team')} more"
        if not self.moves and (self.before or self.cancelled or self.annulled or self.opened or self.counted):
            yield "  table: no change"
        yield from (f"  left out: match {number}: {problem}" for number, problem in self.skipped.items())


def consequences(
    ruling: Ruling, before: Tournament, after: Tournament, running: Collection[int] = (), *, tables: bool = True
) -> Preview:
    """Return what a ruling changes.

    Args:
        ruling: the decisions.
        before: the tournament without them.
        after: the tournament with them.
        running: the numbers of the matches that are being played.
        tables: compare tables and pairings, too: some milliseconds for each thousand results.
    """
    contest, decisions = after.contest, ruling.decisions
    open_before, open_after = ({match.number for match in one.open()} for one in (before, after))
    done_before, done_after = ({result.match.number: result for result in one.results} for one in (before, after))
    decided = {decision.match for decision in decisions}
    names = contest.team_name
    changed = open_before != open_after or done_before.keys() != done_after.keys()
    return Preview(
        place=before.place,
        decided=tuple(describe_decision(one, contest, after.matches.get(one.match or 0)) for one in decisions),
        before=tuple(result_line(done_before[one.match], names) for one in decisions if one.match in done_before),
        cancelled=_sorted(open_before - open_after - done_after.keys()),
        annulled=_sorted(done_before.keys() - done_after.keys() - open_after),
        opened=_sorted(open_after - open_before),
        counted=_sorted(done_after.keys() - done_before.keys() - open_before - decided),
        aborted=_sorted(
            number
            for number in running
            if number in open_before and any(one.is_about(after.matches[number]) for one in decisions)
        ),
        moves=tuple(_moves(before, after)) if tables else (),
        pairings=_new_pairings(before, after) if tables else {},
        joins=any(one.kind == DecisionKind.JOIN for one in decisions),
        unchanged=not changed and any(one.kind in TEAM_KINDS for one in decisions),
        skipped=dict(ruling.skipped),
        notes=(*ruling.notes, *_notes(contest, decisions, after)),
    )


def _notes(contest: Contest, decisions: Sequence[Decision], after: Tournament) -> Iterator[str]:
    for one in decisions:
        unscored = one.kind == DecisionKind.ADJUDICATE and one.winner is not None and one.scores is None
        if unscored and _by_difference(contest, after.matches[one.match or 0]):
            yield "it is worth 0 to both teams: this event counts score differences; give them with --scores"


def _by_difference(contest: Contest, match: Match) -> bool:
    """Return True if the event's points depend on scores."""
    return contest.event(match.event).scoring.kind == "signed_roots"


def _moves(before: Tournament, after: Tournament) -> Iterator[TableMove]:
    """Yield the changes of all tables, each in the order of the new one."""
    name = after.contest.team_name
    for event in after.contest.events:
        old = {row.team: row for row in before.table(_same(before, event))}
        for row in after.table(event):
            was = old.get(row.team)
            ranks = (None if was is None else was.rank, row.rank)
            points = (None if was is None else was.points, row.points)
            if was is None or ranks[0] != ranks[1] or points[0] != points[1]:
                yield TableMove(event.number, row.team, name(row.team), ranks, points)


def _new_pairings(before: Tournament, after: Tournament) -> dict[int, int]:
    """Return how many matches the formats pair now because of the decisions, by event."""
    found = {}
    for event in after.contest.events:
        if event.format.pairs_present:
            continue  # an arena pairs those who are connected, which only the server knows
        counts = [_paired(before, _same(before, event)), _paired(after, event)]
        if counts[1] > counts[0]:
            found[event.number] = counts[1] - counts[0]
    return found


def _same(tournament: Tournament, event: ContestEvent) -> ContestEvent:
    """Return an event as another state of the tournament has it, with the teams of then."""
    return tournament.contest.event(event.number)


def _paired(tournament: Tournament, event: ContestEvent) -> int:
    record: dict[str, Any] | None = tournament.next_pairings(event)
    return 0 if record is None else sum(entry["number"] is not None for entry in record["matches"])


def _sorted(numbers: Iterable[int]) -> tuple[int, ...]:
    return tuple(sorted(numbers))


def _numbered(numbers: Sequence[int]) -> str:
    return f"match{'es' if len(numbers) > 1 else ''} {', '.join(map(str, numbers))}"


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:.6g}"
