"""The state of one event: its issued pairings, which matches are open, and what each match is worth.

`EventState` is the part of `Tournament` that concerns a single event. The tournament passes each record to its
event, which updates what follows from it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from getstep.referee import FaultCode
from getstep_server.config.event import Scoring
from getstep_server.formats import Pairing, Played
from getstep_server.records.decision import Decision
from getstep_server.records.match import Match
from getstep_server.records.pairings import pairings_in
from getstep_server.records.reasons import TeamStatus
from getstep_server.records.result import Result

from .forfeits import Forfeits
from .missed_limit_rule import SETTING, WHOLE_ROUND, round_losses
from .opening_draw import OpeningDraw
from .points import bye_points, points_of


class TeamStatuses:
    """The host's decisions about teams: withdrawn or disqualified, in one event or in the whole contest."""

    def __init__(self) -> None:
        self._statuses: dict[tuple[int, int | None], str] = {}

    def __bool__(self) -> bool:
        """Return True if the host has ever decided about a team."""
        return bool(self._statuses)

    def of(self, team: int, event: int) -> str:
        """Return "", "withdrawn" or "disqualified". A decision about one event precedes one about the contest."""
        return self._statuses.get((team, event), self._statuses.get((team, None), ""))

    def set(self, team: int, event: int | None, status: str) -> None:
        """Record a decision. One about the whole contest (``event`` is None) replaces those about single events."""
        # A new dictionary, because another thread may be making tables from the old one.
        kept = {key: old for key, old in self._statuses.items() if event is not None or key[0] != team}
        self._statuses = {**kept, (team, event): status}


class IssuedPairing(Struct, gc=False):
    """A pairing from a record of pairings. A bye has no match."""

    pairing: Pairing
    match: Match | None
    withdrawn: bool = False
    """The match was open when a later record of pairings no longer listed one of its teams."""


class _History(NamedTuple):
    """The latest list of `EventState.history`, if no team leaves: for which scoring, and from which results."""

    scoring: Scoring | None
    rebuilt: int
    results: int
    games: list[Played]


def issued_in(fields: Mapping[str, Any]) -> list[IssuedPairing]:
    """Return the pairings of a record. Raises RecordError."""
    return [IssuedPairing(pairing, match) for pairing, match in pairings_in(fields)]


class EventState:
    """The issued pairings of one event, and what follows from all records about them.

    Args:
        number: the event's number.
        results: the results of all matches by number. The tournament adds to them; the event only reads them.
        statuses: the host's decisions about teams.
    """

    def __init__(self, number: int, results: Mapping[int, Result], statuses: TeamStatuses) -> None:
        self.number = number
        self.head: Mapping[str, Any] = {}
        """The latest record of pairings without its ``matches``."""
        self.programs: dict[int, tuple[int, str]] = {}
        """By team: the version of its program in the latest round of a ladder, and the SHA-256 of its source."""
        self.issued: list[IssuedPairing] = []
        self.open: set[int] = set()
        """The matches that are still to be played, running ones included."""
        self.cancelled: frozenset[int] = frozenset()
        """The matches that count for nothing: they will not be played, or were annulled."""
        self.round_losses: dict[int, Result] = {}
        """The results that the missed-limit rule puts in the place of played or missing ones."""
        self.forfeits = Forfeits()
        self.version = 0
        """Changes with each record that concerns the event."""
        self.openings = OpeningDraw()
        self._places: dict[int, int] = {}
        """The place of each match in ``issued``, by its number."""
        self._ended: list[int] = []
        """The places of all matches with a result, in the order of the results."""
        self._known = _History(None, 0, 0, [])
        self._rebuilt = 0
        """Changes when the points of a match may have changed without a result of it."""
        self._results = results
        self._statuses = statuses

    @property
    def teams(self) -> list[int]:
        """The teams that take part, in the order of seeding, by the latest record of pairings."""
        return list(self.head.get("teams", ()))

    @property
    def has_missed_limit_rule(self) -> bool:
        """Return True if a missed limit loses all matches of a round."""
        return bool(self.head) and self.head["settings"].get(SETTING) == WHOLE_ROUND

    # --- apply records ---

    def apply_pairings(self, head: Mapping[str, Any], issued: list[IssuedPairing]) -> None:
        """Apply a record of pairings: its ``head``, and its pairings, which are new.

        Raises:
            RecordError: a round is not a number.
        """
        had_rule, self.head = self.has_missed_limit_rule, head
        left_behind = self.open_without(self.teams)
        for old in left_behind:
            old.withdrawn = True
        if issued:
            self.programs = {
                entry["team"]: (entry["version"], entry["sha256"]) for entry in head.get("programs", ())
            }
        self._note_places(issued, len(self.issued))
        for new in issued:
            if new.match is not None and new.match.opening:
                self.openings.note(new.match.teams, new.match.opening)
        self.issued += issued
        self.forfeits.note_pairings(head, [new.pairing for new in issued])
        if self._statuses or had_rule or self.has_missed_limit_rule:
            self.recompute()
            return
        # Without these, only the new matches and those left behind change. To recompute all takes 40 ms after 10
        # rounds of a ladder of 1,024 teams (102,300 matches), in the event loop.
        gone = {old.match.number for old in left_behind if old.match is not None}
        self.open = (self.open - gone) | {new.match.number for new in issued if new.match is not None}
        self.cancelled |= gone
        self._rebuilt += bool(gone)
        self.version += 1

    def _note_places(self, issued: Sequence[IssuedPairing], begin: int) -> None:
        self._places |= {
            new.match.number: place for place, new in enumerate(issued, begin) if new.match is not None
        }

    def apply_result(self, result: Result) -> None:
        """Apply a result that is among the tournament's results already."""
        number = result.match.number
        self.forfeits.note_result(result)
        missed = result.reason == FaultCode.MISSED_LIMIT and self.has_missed_limit_rule
        if missed or number in self.round_losses:
            self.recompute()
        self.open.discard(number)
        self._ended.append(self._places[number])
        self.version += 1

    def apply_adjudication(self, number: int) -> None:
        """Apply a result of the host, which is among the tournament's results already."""
        self.forfeits.remove({number})
        self.recompute()

    def reopen(self, numbers: Collection[int]) -> None:
        """Open matches between teams that take part again; their results are no longer among the tournament's."""
        self.forfeits.remove(numbers)
        for number in numbers:
            self._entry(number).withdrawn = False
        if self.has_missed_limit_rule:  # the rule may decide them again
            self.recompute()
            return
        # Without the rule, only these matches change: hundreds of rematches would each look at all matches.
        self.cancelled, self.open = self.cancelled - set(numbers), self.open | set(numbers)
        self._rebuilt += 1
        self.version += 1

    def recompute(self) -> None:
        """Recompute which matches are open or cancelled, and which the missed-limit rule decides."""
        entries = {number: self.issued[place] for number, place in self._places.items()}
        self.cancelled = frozenset(number for number, entry in entries.items() if self.is_cancelled(entry))
        standing = [
            entry.match for entry in entries.values() if entry.match and entry.match.number not in self.cancelled
        ]
        self.round_losses = round_losses(standing, self._results) if self.has_missed_limit_rule else {}
        self.open = entries.keys() - self.cancelled - self._results.keys() - self.round_losses.keys()
        self._rebuilt += 1
        self.version += 1

    # --- answer questions ---

    def showing(
        self, head: Mapping[str, Any], issued: int, results: Mapping[int, Result], statuses: TeamStatuses
    ) -> EventState:
        """Return this event with only its first ``issued`` pairings, and with these results and statuses.

        Args:
            head: of the latest record of pairings that is shown.
            issued: how many of the issued pairings are shown, byes included.
            results: of the shown matches, by number.
            statuses: the host's decisions about teams.
        """
        shown = EventState(self.number, results, statuses)
        shown.head = head
        # Copies: a later record may mark the entries of this event as withdrawn.
        shown.issued = [replace(entry) for entry in self.issued[:issued]]
        shown._note_places(shown.issued, 0)
        shown.recompute()
        return shown

    def is_cancelled(self, entry: IssuedPairing) -> bool:
        """Return True if a pairing counts for nothing.

        A disqualified team annuls all its matches. A team that has withdrawn cancels those without a result.
        """
        over = entry.match is None or entry.match.number in self._results
        if not self._statuses:  # as in most contests: a round of a ladder of 1,024 teams has 10,230 matches
            return entry.withdrawn and not over
        statuses = {self._statuses.of(team, self.number) for team in entry.pairing.teams}
        if TeamStatus.DISQUALIFIED in statuses:
            return True
        return not over and (entry.withdrawn or TeamStatus.WITHDRAWN in statuses)

    def open_without(self, teams: Collection[int]) -> list[IssuedPairing]:
        """Return the pairings with open matches of which a team is not among ``teams``."""
        present = set(teams)
        # `sorted` copies the set at once: another thread may be applying a result.
        entries = map(self._entry, sorted(self.open))
        return [entry for entry in entries if not present.issuperset(entry.pairing.teams)]

    def _entry(self, number: int) -> IssuedPairing:
        return self.issued[self._places[number]]

    def seeding(self, teams: Collection[int]) -> list[int]:
        """Return those of ``teams`` that take part, in the order of seeding. Teams without pairings come last."""
        active = dict.fromkeys(team for team in teams if not self._statuses.of(team, self.number))
        return list(dict.fromkeys([*(team for team in self.teams if team in active), *active]))

    def final_result(self, number: int) -> Result | None:
        """Return the result of a match by all rules, whether it is annulled or not; None if it has none."""
        return self.round_losses.get(number) or self._results.get(number)

    def official_results(self) -> list[Result]:
        """Return the results that count in the tables, in the order in which the matches were issued."""
        # A copy of the list, because another thread may be applying a record of pairings.
        numbers = (entry.match.number for entry in list(self.issued) if entry.match is not None)
        results = (self.final_result(number) for number in numbers if number not in self.cancelled)
        return [result for result in results if result is not None]

    def publication_objection(self, decision: Decision) -> str | None:
        """Return why a program is not published; None if it is, because it plays the latest round."""
        version, sha256 = self.programs.get(-1 if decision.team is None else decision.team, (None, None))
        if version is None or version != decision.version:
            return f"version {decision.version} of team {decision.team}, expected one that plays the latest round"
        if sha256 != decision.sha256:
            return f"sha256 is {decision.sha256}, expected {sha256} by the pairings of the latest round"
        return None

    def history(self, scoring: Scoring, teams: Collection[int]) -> list[Played]:
        """Return all issued pairings as a format sees them, if ``teams`` take part in the next round.

        A format may ask after each result. So only what has changed since the last call is made anew: all of it
        takes 23 ms after 8,000 matches. Any thread may call this, while another one
        applies a record: what changes after the first line is noted as new, and made anew the next time.
        """
        rebuilt, results = self._rebuilt, len(self._ended)
        known = self._known
        if (known.scoring, known.rebuilt) == (scoring, rebuilt):
            games = known.games.copy()  # a copy: another thread may be reading the list in `_known`
            for place in self._ended[known.results : results]:
                if place < len(games):
                    games[place] = self._played(self.issued[place], scoring)
        else:
            games = []
        games += [self._played(entry, scoring) for entry in self.issued[len(games) :]]
        self._known = _History(scoring, rebuilt, results, games)
        # What is cancelled below depends on ``teams``, so it is not kept for the next call.
        games = games.copy()
        for entry in self.open_without(teams):
            place = len(games) if entry.match is None else self._places[entry.match.number]
            if place < len(games):
                games[place] = replace(games[place], cancelled=True)
        return games

    def _played(self, entry: IssuedPairing, scoring: Scoring) -> Played:
        return Played(entry.pairing, self._points(entry, scoring), self.is_cancelled(entry))

    def _points(self, entry: IssuedPairing, scoring: Scoring) -> tuple[float, float] | None:
        if entry.match is None:
            return (bye_points(scoring), 0.0)  # the second team of a bye is nobody
        result = self.final_result(entry.match.number)
        return None if result is None else points_of(scoring, result)
