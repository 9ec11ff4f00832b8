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
from .formats import Pairing, Played
from .game_record import RecordError, given_in, head_of_pairings, pairing_fields, result_of, void
from .results import Result
from .schedule import Match
from .standings import Scoring, Standing, standings

T = TypeVar("T")

FIXED = ("seed", "game", "options", "format")
"""What an event keeps from its first pairings on."""


@dataclass(slots=True)
class _Game:
    """A pairing that was given out. A bye has no match."""

    pairing: Pairing
    match: Match | None
    cancelled: bool = False


@dataclass(slots=True)
class _Given:
    """What was given out in one event; ``head`` is the latest record's."""

    head: Mapping[str, Any] = field(default_factory=dict)
    games: list[_Game] = field(default_factory=list)
    open: int = 0
    """How many matches are to be played."""
    version: int = 0
    """Changes with everything that is taken note of."""

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
        self._results: dict[int, Result] = {}
        self._cancelled: set[int] = set()
        self._kept: dict[tuple[int, Hashable], tuple[int, Any]] = {}
        for fields in records:
            self.take(fields)
        self.due = {event.number for event in contest.events}

    # --- what was ---

    @property
    def results(self) -> list[Result]:
        """Those that count, in the order in which their matches were first over."""
        return list(self._results.values())

    @property
    def done(self) -> int:
        """How many matches have a result."""
        return len(self._results)

    @property
    def total(self) -> int:
        """How many matches were given out and not cancelled."""
        return len(self.matches) - len(self._cancelled)

    def open(self) -> list[Match]:
        """The matches that are to be played."""
        gone = self._results.keys() | self._cancelled
        return [match for number, match in self.matches.items() if number not in gone]

    def take(self, fields: Mapping[str, Any]) -> None:
        """Take note of the next record.

        Raises:
            RecordError: it does not follow on those before it.
        """
        if fields.get("type") == "pairings":
            self.take_pairings(fields)
        else:
            self.take_result(result_of(fields))

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
        for game in self._withdrawn(given, given.teams):
            self._cancel(given, game)
        given.games += games
        given.open += len(matches)
        self.matches.update((match.number, match) for match in matches)
        given.version += 1
        return matches

    def _cancel(self, given: _Given, game: _Game) -> None:
        game.cancelled = True
        given.open -= 1
        if game.match is not None:
            self._cancelled.add(game.match.number)

    def take_result(self, result: Result) -> None:
        """Take note of how an attempt at a match has ended."""
        match = result.match
        if self.matches.get(match.number) != match:
            raise RecordError(f"match {match.number}, {match!r:.200}, expected one that was given out")
        if match.number in self._cancelled:
            raise RecordError(f"match {match.number} was cancelled, expected no game of it")
        self.attempts[match.number] = max(self.attempts[match.number], result.attempt)
        self.recorded.add((match.number, result.attempt))
        if void(result):
            return
        given = self._given[match.event]
        given.open -= match.number not in self._results
        self._results[match.number] = result
        given.version += 1
        if match.event <= len(self.contest.events):
            by_result = self.contest.event(match.event).format.by_result
            self.due.update([match.event] if by_result or not given.open else ())

    def _is_open(self, game: _Game) -> bool:
        return game.match is not None and not game.cancelled and game.match.number not in self._results

    def _withdrawn(self, given: _Given, teams: Collection[int]) -> list[_Game]:
        """What is open between teams of which one is no longer there."""
        here = set(teams)
        return [game for game in given.games if self._is_open(game) and not here.issuperset(game.pairing.teams)]

    # --- what comes next ---

    def next_pairings(self, event: ContestEvent) -> dict[str, Any] | None:
        """The record of an event's next pairings; None if there is nothing new. Changes nothing.

        A team that is no longer in the event has withdrawn: then there is a record, if only of that.
        """
        before = self._given.get(event.number, _Given()).teams
        teams = [team for team in before if team in event.teams]
        teams += [team for team in event.teams if team not in before]
        head = head_of_pairings(self.contest, event, teams)
        entries = self.pairings(head)
        return {**head, "matches": entries} if entries or teams != before else None

    def pairings(self, head: Mapping[str, Any]) -> list[dict[str, Any]]:
        """What a record of pairings that begins with ``head`` has to name, stored as the next one.

        Raises:
            RecordError: nothing can be made of it.
        """
        try:
            format_ = format_of(head["format"], head["settings"], head["seed"], head["event"])
            scoring = Scoring.model_validate(head["scoring"])
            games = self._played(self._given.get(head["event"], _Given()), scoring, head["teams"])
        except (KeyError, TypeError, ValueError) as error:
            raise RecordError(f"a record of pairings that cannot be read: {error!r:.300}") from error
        numbers = count(max(self.matches, default=0) + 1)
        return [
            pairing_fields(pairing, None if pairing.is_bye else next(numbers))
            for pairing in format_.next_pairings(head["teams"], games)
        ]

    def _played(self, given: _Given, scoring: Scoring, teams: Collection[int]) -> list[Played]:
        """What a format has to know of all that was given out."""
        gone = {id(game) for game in self._withdrawn(given, teams)}
        return [
            Played(game.pairing, self._points(game, scoring), game.cancelled or id(game) in gone)
            for game in list(given.games)
        ]

    def _points(self, game: _Game, scoring: Scoring) -> tuple[float, float] | None:
        if game.match is None:
            return (scoring.bye, 0.0)
        result = self._results.get(game.match.number)
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

    # --- tables ---

    def table(self, event: ContestEvent) -> list[Standing]:
        """An event's standings: of all that take part, or did."""
        return self.kept(event, "table", lambda: self._standings(event))

    def kept(self, event: ContestEvent, what: Hashable, make: Callable[[], T]) -> T:
        """What ``make`` makes of an event's records, made again only when there are new ones."""
        now = self._given[event.number].version if event.number in self._given else 0
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

    def _standings(self, event: ContestEvent) -> list[Standing]:
        given = self._given.get(event.number, _Given())
        known = [team for game in given.games for team in game.pairing.teams]
        teams = list(dict.fromkeys([*event.teams, *given.teams, *known]))
        games = self._played(given, event.scoring, event.teams)
        return standings(
            teams,
            self._results_of(given.games),
            scoring=event.scoring,
            tie_breaks=event.tie_breaks,
            seed=event.format.seed,
            byes=event.format.byes(games),
            places=event.format.places(self._ranked(given, event), games),
        )

    def _ranked(self, given: _Given, event: ContestEvent) -> Sequence[int]:
        """Who has a place by the format: those that take part, the late ones last."""
        here = [team for team in given.teams if team in event.teams]
        return here + [team for team in event.teams if team not in here]

    def _results_of(self, games: Iterable[_Game]) -> list[Result]:
        matches = (game.match for game in list(games) if game.match is not None)
        return [self._results[match.number] for match in matches if match.number in self._results]
