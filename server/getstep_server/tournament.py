"""The tournament: what was given out in each event, what became of it, and which pairings come next.

It is made of the records alone, in the order in which they were stored, and does nothing by itself. So a contest
that runs, one that goes on after a crash, its tables, and who verifies it a year later all see the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any, TypeVar

from .combined import Tables, combined
from .contest import Contest
from .contest_event import ContestEvent, format_of
from .course import MISSED
from .decisions import STATUS, Decision, decision_of, scores_objection
from .formats import Pairing, Played
from .game_record import (
    CALLED_OFF,
    RecordError,
    given_in,
    head_of_pairings,
    pairing_fields,
    result_of,
    void,
)
from .limits import MAX_MATCHES
from .results import ADJUDICATED, ROUND_LOST, Result
from .round_rule import SETTING, WHOLE_ROUND, round_losses
from .schedule import Match
from .standings import DISQUALIFIED, WITHDRAWN, Scoring, Standing, standings

T = TypeVar("T")

FIXED = ("seed", "game", "options", "format")
"""What an event keeps from its first pairings on."""


@dataclass(slots=True)
class _Game:
    """A pairing that was given out. A bye has no match."""

    pairing: Pairing
    match: Match | None
    struck: bool = False
    """It was open when a record of pairings had no more of one of its teams."""


@dataclass(slots=True)
class _Given:
    """What was given out in one event; ``head`` is the latest record's."""

    head: Mapping[str, Any] = field(default_factory=dict)
    games: list[_Game] = field(default_factory=list)
    open: set[int] = field(default_factory=set)
    """The matches that are to be played."""
    cancelled: frozenset[int] = frozenset()
    """The matches that count for nothing: what was not played, and what was annulled."""
    lost: dict[int, Result] = field(default_factory=dict)
    """What matches come to by the rule that a missed limit may lose a whole round."""
    version: int = 0
    """Changes with everything that is taken note of."""

    @property
    def rounds_are_lost(self) -> bool:
        """Whether that rule holds."""
        settings = self.head.get("settings")
        return isinstance(settings, dict) and settings.get(SETTING) == WHOLE_ROUND

    @property
    def teams(self) -> list[int]:
        return list(self.head.get("teams", ()))


class Tournament:
    """A contest as far as it has come.

    Args:
        contest: its events and teams, as they are now.
        records: what is on record so far, without the turns of games.

    Raises:
        RecordError: a record does not follow on those before it.
    """

    def __init__(self, contest: Contest, records: Iterable[Mapping[str, Any]] = ()) -> None:
        self.contest = contest
        self.attempts: Counter[int] = Counter()
        """The latest attempt at each match, by its number."""
        self.recorded: set[tuple[int, int]] = set()
        """Match and attempt of every game on record."""
        self.matches: dict[int, Match] = {}
        """All that were given out, by their numbers."""
        self.due = {event.number for event in contest.events}
        """The events in which pairings may come next."""
        self._given: dict[int, _Given] = {}
        self.decisions: list[Decision] = []
        """The host's, in the order in which they were made."""
        self.replays: Counter[int] = Counter()
        """How often the host has had a match played again, by its number."""
        self._results: dict[int, Result] = {}
        self._statuses: dict[tuple[int, int | None], str] = {}
        self._kept: dict[tuple[int, Hashable], tuple[int, Any]] = {}
        for fields in records:
            self.take(fields)
        self.due = {event.number for event in contest.events}

    # --- what was ---

    @property
    def results(self) -> list[Result]:
        """Those that count, in the order in which their matches were first over."""
        results, gone = dict(self._results), set[int]()
        for given in list(self._given.values()):
            results |= given.lost
            gone |= given.cancelled
        return [result for number, result in results.items() if number not in gone]

    @property
    def counting(self) -> set[tuple[int, int]]:
        """Match and attempt of every game that counts."""
        played = (result for result in self.results if result.reason not in (ADJUDICATED, ROUND_LOST))
        return {(result.match.number, result.attempt) for result in played}

    @property
    def done(self) -> int:
        """How many matches have a result that counts."""
        return self.total - sum(len(given.open) for given in self._given.values())

    @property
    def total(self) -> int:
        """How many matches were given out and not cancelled."""
        return len(self.matches) - sum(len(given.cancelled) for given in self._given.values())

    def open(self) -> list[Match]:
        """The matches that are to be played."""
        return [match for match in self.matches.values() if self.is_open(match)]

    def is_open(self, match: Match) -> bool:
        """Whether a match is to be played."""
        return match.number in self._given[match.event].open

    def awaits(self, match: Match) -> bool:
        """Whether an attempt at a match gives it a result if it ends now: it is open, or goes on though lost."""
        return not self.is_cancelled(match) and match.number not in self._results

    def is_cancelled(self, match: Match) -> bool:
        """Whether a match counts for nothing: it is not to be played, or was annulled."""
        return match.number in self._given[match.event].cancelled

    def comes_to(self, match: Match) -> Result | None:
        """What a match is worth in the tables, all rules considered; None if it is not over, or cancelled."""
        return None if self.is_cancelled(match) else self._final(match.number, self._given[match.event])

    def result(self, match: Match) -> Result | None:
        """What a match has come to by itself, or by the host; whether it was annulled or not."""
        return self._results.get(match.number)

    def status(self, team: int, event: int) -> str:
        """What the host has decided about a team in an event: "", "withdrawn" or "disqualified"."""
        return self._statuses.get((team, event), self._statuses.get((team, None), ""))

    def replayed_since(self, match: Match, when: str) -> bool:
        """Whether the host has had a match played again at a time (as records have it) or later."""
        return any(d.kind == "replay" and d.match == match.number and d.at >= when for d in self.decisions)

    def take(self, fields: Mapping[str, Any]) -> None:
        """Take note of the next record.

        Raises:
            RecordError: it does not follow on those before it.
        """
        kind = fields.get("type")
        if kind == "pairings":
            self.take_pairings(fields)
        elif kind == "decision":
            self.take_decision(decision_of(fields))
        else:
            self.take_result(result_of(fields))
            self.contest.note_names(fields["teams"])

    def take_pairings(self, fields: Mapping[str, Any]) -> list[Match]:
        """Take note of a record of pairings.

        Returns:
            The matches that are new in it.
        """
        games = [_Game(pairing, match) for pairing, match in given_in(fields)]
        matches = [game.match for game in games if game.match is not None]
        if known := [match.number for match in matches if match.number in self.matches]:
            raise RecordError(f"match {known[0]} is given out again, expected a new one")
        given = self._given.setdefault(fields["event"], _Given())
        given.head = {name: value for name, value in fields.items() if name != "matches"}
        for game in self._left_behind(given, given.teams):
            game.struck = True
        given.games += games
        self.matches.update((match.number, match) for match in matches)
        self._settle(given)
        return matches

    def take_result(self, result: Result) -> None:
        """Take note of how an attempt at a match has ended."""
        match = result.match
        if self.matches.get(match.number) != match:
            raise RecordError(f"match {match.number}, {match!r:.200}, expected one that was given out")
        given = self._given[match.event]
        if match.number in given.cancelled and result.reason != CALLED_OFF:
            raise RecordError(f"match {match.number} was cancelled, expected no game of it")
        self.attempts[match.number] = max(self.attempts[match.number], result.attempt)
        self.recorded.add((match.number, result.attempt))
        if void(result):
            return
        self._results[match.number] = result
        if result.reason == MISSED or match.number in given.lost:
            self._settle(given)
        given.open.discard(match.number)
        given.version += 1
        if match.event <= len(self.contest.events):
            by_result = self.contest.event(match.event).format.by_result
            self.due.update([match.event] if by_result or not given.open else ())

    def take_decision(self, decision: Decision) -> None:
        """Take note of what the host has decided.

        Raises:
            RecordError: it makes no sense as things are.
        """
        if wrong := self.objection(decision):
            raise RecordError(wrong)
        self.decisions.append(decision)
        if decision.match is not None:
            events = self._decide_match(decision, self.matches[decision.match])
        else:
            events = self._decide_team(decision, decision.team or 0)
        for event in events & self._given.keys():
            self._settle(self._given[event])
        self.due |= events & {event.number for event in self.contest.events}

    def _decide_team(self, decision: Decision, team: int) -> set[int]:
        """Returns the events in which something may have changed."""
        if decision.event is None:  # what was decided for one of them before is over
            self._statuses = {key: status for key, status in self._statuses.items() if key[0] != team}
        self._statuses[team, decision.event] = STATUS[decision.kind]
        return set(self._given) if decision.event is None else {decision.event}

    def _decide_match(self, decision: Decision, match: Match) -> set[int]:
        if decision.kind == "adjudicate":
            self._results[match.number] = decision.result(match, self.attempts[match.number])
        else:
            self._results.pop(match.number, None)
            self.replays[match.number] += 1
            for game in self._given[match.event].games:
                if game.match == match:
                    game.struck = False
        return {match.event}

    def _settle(self, given: _Given) -> None:
        """Which matches of an event are to be played, and which count for nothing."""
        matches = {game.match.number: game for game in given.games if game.match is not None}
        given.cancelled = frozenset(number for number, game in matches.items() if self._is_cancelled(game, given))
        standing = [game.match for number, game in matches.items() if game.match and number not in given.cancelled]
        given.lost = round_losses(standing, self._results) if given.rounds_are_lost else {}
        given.open = matches.keys() - given.cancelled - self._results.keys() - given.lost.keys()
        given.version += 1

    def _is_cancelled(self, game: _Game, given: _Given) -> bool:
        """Who is disqualified annuls all its games, who has withdrawn cancels those without a result."""
        statuses = {self.status(team, given.head["event"]) for team in game.pairing.teams}
        if DISQUALIFIED in statuses:
            return True
        over = game.match is None or game.match.number in self._results
        return not over and (game.struck or WITHDRAWN in statuses)

    def _left_behind(self, given: _Given, teams: Collection[int]) -> list[_Game]:
        """What is open between teams of which one is no longer there."""
        here = set(teams)
        return [
            game
            for game in given.games
            if game.match is not None
            and game.match.number in given.open
            and not here.issuperset(game.pairing.teams)
        ]

    # --- what the host may decide ---

    def objection(self, decision: Decision) -> str | None:
        """Why a decision makes no sense as things are, for the host; None if it does."""
        if not self._given:
            return "nothing has been given out yet, expected pairings before the first decision"
        return self._team_objection(decision) if decision.match is None else self._match_objection(decision)

    def _team_objection(self, decision: Decision) -> str | None:
        team, numbers = decision.team or 0, [event.number for event in self.contest.events]
        if decision.event not in (None, *numbers):
            return f"event {decision.event}, expected one of the {len(numbers)} in contest.toml"
        statuses = {self.status(team, number) for number in numbers if decision.event in (None, number)}
        wanted = STATUS[decision.kind]
        if statuses == {wanted}:
            return f"team {team} {f'is {wanted} already' if wanted else 'takes part, expected one that is out'}"
        if wanted == WITHDRAWN and DISQUALIFIED in statuses:
            return f"team {team} is disqualified, expected one that takes part; reinstate it first"
        return None

    def _match_objection(self, decision: Decision) -> str | None:
        match = self.matches.get(decision.match or 0)
        if match is None or match.event > len(self.contest.events):
            return f"match {decision.match}, expected one of the {len(self.matches)} that were given out"
        for team in match.teams:
            status = self.status(team, match.event)
            if status == DISQUALIFIED or (status and decision.kind == "replay"):
                return (
                    f"team {team} of match {match.number} is {status}, expected it to take part; reinstate it first"
                )
        return scores_objection(decision, self.contest.event(match.event).game)

    # --- what comes next ---

    def next_pairings(self, event: ContestEvent) -> dict[str, Any] | None:
        """The record of an event's next pairings; None if there is nothing new. Changes nothing.

        A team that is no longer in the event has withdrawn: then there is a record, if only of that.
        """
        given = self._given.get(event.number, _Given())
        here = [team for team in event.teams if not self.status(team, event.number)]
        teams = [team for team in given.teams if team in here]
        teams += [team for team in here if team not in given.teams]
        head = head_of_pairings(self.contest, event, teams)
        entries = self.pairings(head)
        if entries or teams != given.teams or self._left_behind(given, teams):
            return {**head, "matches": entries}
        return None

    def pairings(self, head: Mapping[str, Any]) -> list[dict[str, Any]]:
        """What a record of pairings that begins with ``head`` has to name, stored as the next one.

        Raises:
            RecordError: nothing can be made of it.
        """
        try:
            format_ = format_of(head["format"], head["settings"], head["seed"], head["event"])
            scoring = Scoring.model_validate(head["scoring"])
            games = self._played(self._given.get(head["event"], _Given()), scoring, head["teams"])
            out = [team for team in head["teams"] if self.status(team, head["event"])]
        except (KeyError, TypeError, ValueError) as error:
            raise RecordError(f"a record of pairings that cannot be read: {error!r:.300}") from error
        if out:
            status = self.status(out[0], head["event"])
            raise RecordError(f"team {out[0]} takes part, expected none that is {status} by the host")
        most = format_.most(len(head["teams"]))
        if most > MAX_MATCHES:
            raise RecordError(f"settings make up to {most} matches of these teams, expected at most {MAX_MATCHES}")
        numbers = count(max(self.matches, default=0) + 1)
        return [
            pairing_fields(pairing, None if pairing.is_bye else next(numbers))
            for pairing in format_.next_pairings(head["teams"], games)
        ]

    def _played(self, given: _Given, scoring: Scoring, teams: Collection[int]) -> list[Played]:
        """What a format has to know of all that was given out."""
        gone = {id(game) for game in self._left_behind(given, teams)}
        return [
            Played(
                game.pairing,
                self._points(game, scoring, given),
                id(game) in gone or self._is_cancelled(game, given),
            )
            for game in list(given.games)
        ]

    def _final(self, number: int, given: _Given) -> Result | None:
        """What a match comes to, all rules considered."""
        return given.lost.get(number) or self._results.get(number)

    def _points(self, game: _Game, scoring: Scoring, given: _Given) -> tuple[float, float] | None:
        if game.match is None:
            return (scoring.bye, 0.0)
        result = self._final(game.match.number, given)
        return None if result is None else scoring.points(result)

    def misfit(self) -> str | None:
        """Why this is not the contest that the records are of, for the host; None if it is."""
        for number, given in self._given.items():
            if number > len(self.contest.events):
                return f"{len(self.contest.events)} events, expected {number} or more: matches of it are on record"
            now = head_of_pairings(self.contest, self.contest.event(number), ())
            for name in FIXED:
                if now[name] != given.head.get(name):
                    where = name if name == "seed" else f"event {number}: {name}"
                    return f"{where} = {now[name]!r}, expected {given.head.get(name)!r} as in the pairings so far"
        return None

    def changes(self) -> list[str]:
        """What contest.toml says otherwise than it did at an event's latest pairings, and may; for the host."""
        changes = []
        for number, given in self._given.items():
            event = self.contest.event(number)
            now = head_of_pairings(self.contest, event, ())
            for name in ("settings", "scoring"):
                before = given.head.get(name, {})
                changes += [
                    f"{event.name}: {name}.{key} = {value!r}, before {before.get(key)!r}"
                    for key, value in now[name].items()
                    if value != before.get(key)
                ]
        return changes

    # --- tables ---

    def table(self, event: ContestEvent) -> list[Standing]:
        """An event's standings: of all that take part, or did."""
        return self.kept(event, "table", lambda: self._standings(event))

    def version(self, event: ContestEvent) -> int:
        """Changes with everything on record that an event's tables and pairings depend on."""
        return len(self.decisions) + (self._given[event.number].version if event.number in self._given else 0)

    def kept(self, event: ContestEvent, what: Hashable, make: Callable[[], T]) -> T:
        """What ``make`` makes of an event's records, made again only when there are new ones."""
        now = self.version(event)
        version, made = self._kept.get((event.number, what), (-1, None))
        if version != now:
            made = make()
            self._kept[event.number, what] = (now, made)
        known: T = made
        return known

    def tables(self) -> Tables:
        """The tables of all events, and the combined one if there are several.

        They take some milliseconds for each thousand results; another thread than the one that takes note of
        records may call this.
        """
        by_event = {event.number: tuple(self.table(event)) for event in self.contest.events}
        if len(by_event) == 1:
            return Tables(by_event, ())
        teams = dict.fromkeys([*self.contest.teams, *(row.team for rows in by_event.values() for row in rows)])
        rows = combined(teams, {str(n): rows for n, rows in by_event.items()}, seed=self.contest.file.contest.seed)
        return Tables(by_event, tuple(rows))

    def to_come(self, event: ContestEvent) -> int:
        """How many matches of an event are going to be given out later, as far as its format can tell."""
        given = self._given.get(event.number, _Given())
        return event.format.to_come(self._ranked(given, event), self._history(event))

    def _history(self, event: ContestEvent) -> list[Played]:
        given = self._given.get(event.number, _Given())
        return self.kept(event, "history", lambda: self._played(given, event.scoring, event.teams))

    def _standings(self, event: ContestEvent) -> list[Standing]:
        given = self._given.get(event.number, _Given())
        known = [team for game in given.games for team in game.pairing.teams]
        teams = list(dict.fromkeys([*event.teams, *given.teams, *known]))
        games = self._history(event)
        gone = dict.fromkeys((team for team in teams if team not in event.teams), WITHDRAWN)
        decided = {team: status for team in teams if (status := self.status(team, event.number))}
        return standings(
            teams,
            self._results_of(given),
            scoring=event.scoring,
            tie_breaks=event.tie_breaks,
            seed=event.format.seed,
            byes=event.format.byes(games),
            places=event.format.places(self._ranked(given, event), games),
            statuses=gone | decided,
        )

    def _ranked(self, given: _Given, event: ContestEvent) -> Sequence[int]:
        """Who has a place by the format: those that take part, the late ones last."""
        here = [team for team in event.teams if not self.status(team, event.number)]
        ranked = [team for team in given.teams if team in here]
        return ranked + [team for team in here if team not in ranked]

    def _results_of(self, given: _Given) -> list[Result]:
        numbers = (game.match.number for game in list(given.games) if game.match is not None)
        return [
            result for n in numbers if n not in given.cancelled and (result := self._final(n, given)) is not None
        ]
