"""Knockout: who loses a meeting is out; the winners meet until one is left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

from pydantic import Field

from ._bracket import Bracket, draw
from ._format import DIGITS, Format, FormatOptions, Pairing, Played


class KnockoutOptions(FormatOptions):
    """Of a meeting, and of the event."""

    best_of: Annotated[
        int, Field(ge=1, le=1000, description="games of a meeting, fewer if it is decided before")
    ] = 3
    extra_pairs: Annotated[int, Field(ge=0, le=100, description="pairs of further games that a tie gets")] = 1
    third_place: Annotated[bool, Field(description="whether the losers of the semifinals meet")] = True


class Knockout(Format[KnockoutOptions]):
    """Winners go on until one is left. The best two by seeding can only meet in the final.

    A meeting's games are given out one by one, colours swapped each time, and the worse seed is first in the first
    one: in a meeting a team's colours differ by one at most. Who has won more games than the other can still reach
    wins it. After ``best_of`` games, more points decide between teams that won equally many; then up to
    ``extra_pairs`` times two further games, one with each colour, are played; then the better seed goes on.

    - Where the number of teams is no power of two, the best seeds have byes in the first round. They count for
      nothing in the table.
    - A late team does not play: the bracket stands once it is drawn. It is last in the table.
    - A team that withdraws loses the meeting it is in, or if that was decided, its next opponent has a bye. The
      games given out are the caller's to cancel or to forfeit. A team that was beaten stays out.
    - A cancelled game is replaced by another one, as long as both teams are there. A result that is corrected once
      the winner's next meeting has been given out does not change who is in that.
    """

    name = "knockout"
    title = "knockout"
    Options = KnockoutOptions
    by_result = True

    def next_pairings(self, teams: Sequence[int], games: Sequence[Played]) -> list[Pairing]:
        found: list[Pairing] = []
        while new := self._step(teams, [*games, *map(Played, found)]):
            found += new  # a bye is over at once
        return found

    def most(self, teams: int) -> int:
        """Each meeting as long as it can be, and a bye for each team."""
        meetings = max(0, teams - 1 + self.options.third_place)
        return meetings * (self.options.best_of + 2 * self.options.extra_pairs) + teams

    def to_come(self, teams: Sequence[int], games: Sequence[Played]) -> int:
        """Of every meeting half way between the fewest games that decide it and ``best_of``."""
        usual = (self.options.best_of // 2 + 1 + self.options.best_of) / 2
        if not games:
            third = self.options.third_place and len(teams) > 3
            return round(usual * max(0, len(teams) - 1 + third))
        return round(sum(max(0.0, usual - given) for given in self._bracket(teams, games).going_on()))

    def places(self, teams: Sequence[int], games: Sequence[Played]) -> Mapping[int, int]:
        """Teams that got equally far share a place; the match for third place separates third from fourth."""
        if not games:
            return {}
        far = dict.fromkeys(teams, 0.0) | self._bracket(teams, games).reached()
        return {team: 1 + sum(other > reached for other in far.values()) for team, reached in far.items()}

    def _step(self, teams: Sequence[int], games: Sequence[Played]) -> list[Pairing]:
        if not games:
            return draw(teams) if len(teams) > 1 else []
        return self._bracket(teams, games).next_pairings()

    def _bracket(self, teams: Sequence[int], games: Sequence[Played]) -> Bracket:
        return Bracket(teams, games, self._winner, third_place=self.options.third_place)

    def _winner(self, legs: Sequence[Played]) -> int | None:
        """Who goes on, as far as the games of a meeting say; None if there has to be another one."""
        counted = [leg for leg in legs if leg.counts]
        worse, better = legs[0].pairing.teams
        lead = sum(leg.won_by(better) - leg.won_by(worse) for leg in counted)
        further = len(counted) - self.options.best_of
        to_come = further % 2 if further > 0 else -further  # of the pair, or of the meeting
        if abs(lead) > to_come:
            return better if lead > 0 else worse
        if to_come:
            return None
        margin = round(sum(leg.points_of(better) - leg.points_of(worse) for leg in counted), DIGITS)
        if margin or further >= 2 * self.options.extra_pairs:
            return better if margin >= 0 else worse
        return None
