"""The search for the best of several bots: who remains, and what the matches have shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from getstep.sprt import PairOutcomes, Selection, elo_of_counts, elo_text
from getstep_server.formats.best import BestOptions
from getstep_server.records.result import PLAYERS, Result
from getstep_server.text import pluralize

Two = tuple[int, int]


class BestScore:
    """The search among ``teams``, updated result by result.

    Args:
        options: the event's options.
        teams: the names by the ids of at least two teams.
    """

    def __init__(self, options: BestOptions, teams: Mapping[int, str]) -> None:
        self.options = options
        self.teams = teams
        self.faults: Counter[int] = Counter()
        """The number of turns of each team that got the game's penalty."""
        self._rounds: dict[int, dict[Two, dict[int, str]]] = {}
        self._search = Selection(sorted(teams), options.elo, options.alpha)

    @property
    def is_decided(self) -> bool:
        """True if one bot is left, or none can be the best."""
        return not self._search.couples

    @property
    def most(self) -> str:
        """The most that may be played, in words."""
        return f"at most {pluralize(self.options.pairs, 'pair')} of every two"

    def take(self, result: Result) -> bool:
        """Count a result, and return True if it completes a round."""
        match = result.match
        for player in PLAYERS:
            self.faults[match.teams[player]] += result.faults[player]
        two = min(match.teams), max(match.teams)
        won = None if result.winner is None else match.teams[result.winner]
        legs = self._rounds.setdefault(match.round, {}).setdefault(two, {})
        legs[match.leg] = "draw" if won is None else "win" if won == two[0] else "loss"
        before = self._search.rounds
        if match.round <= before:  # it was played again
            self._search = Selection(sorted(self.teams), self.options.elo, self.options.alpha)
        while (over := self._over(self._search.rounds + 1)) is not None:
            self._search.add_round(over)
        return self._search.rounds != before

    def _over(self, number: int) -> dict[Two, PairOutcomes] | None:
        """Return the outcomes of a round; None if the search has ended before it, or it is not over."""
        played = {two: legs for two, legs in self._rounds.get(number, {}).items() if len(legs) > 1}
        couples = self._search.couples
        if not couples or not played.keys() >= {*couples}:
            return None
        return {two: (legs[1], legs[2]) for two, legs in played.items()}

    def line(self) -> str:
        search, pairs = self._search, sum(map(len, self._rounds.values()))
        names = ", ".join(self.teams[team] for team in search.remaining)
        left = f"{len(search.remaining)} of {len(self.teams)} left: {names}"
        return f"{pluralize(search.rounds, 'round')}, {pluralize(pairs, 'pair')}: {left}"

    def verdict(self) -> str:
        """Return the conclusion from the matches, in sentences."""
        search = self._search
        after = f"after {pluralize(search.rounds, 'round')}"
        if search.in_circle:
            names = ", ".join(self.teams[team] for team in search.remaining)
            return f"No best bot {after}: each of {names} is weaker than another of them."
        if search.couples:
            return f"Not decided {after}: {len(search.remaining)} bots are left."
        best = self.teams[search.remaining[0]]
        error = f"{self.options.alpha:.2g}"
        return (
            f"{best} is the best of {len(self.teams)} {after}. A bot that is {self.options.elo:g} Elo stronger than"
            f" each other one is eliminated with a probability of at most {error}."
        )

    def differences(self) -> list[str]:
        """Return a line for each bot but the first one that is left: how it ended, and its Elo.

        The difference in Elo to that first one has a 95 % interval, from the pairs that the two have played.
        """
        search = self._search
        first, *others = search.remaining
        out = sorted(search.eliminated.items(), key=lambda item: -item[1])
        return [
            *(f"{self.teams[team]} is left{self._difference(team, first)}." for team in others),
            *(
                f"{self.teams[team]} was eliminated after {pluralize(round_, 'round')}"
                f"{self._difference(team, first)}."
                for team, round_ in out
            ),
        ]

    def _difference(self, team: int, other: int) -> str:
        test = self._search.tests.get((min(team, other), max(team, other)))
        if test is None:
            return ""
        counts = test.counts if team < other else test.counts[::-1]
        elo = elo_text(elo_of_counts(counts))
        return f": {elo} against {self.teams[other]} in {pluralize(sum(counts), 'pair')}"
