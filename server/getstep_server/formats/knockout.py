"""Knockout: the loser of a pairing is out; the winners are paired again until one team is left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

from msgspec import Meta

from ._bracket import Bracket, draw
from ._format import DIGITS, Format, FormatOptions, Pairing, Played


class KnockoutOptions(FormatOptions, frozen=True, kw_only=True):
    """The settings of a pairing and of the event."""

    best_of: Annotated[
        int, Meta(ge=1, le=1000, description="matches of a pairing; fewer if it is decided earlier")
    ] = 3
    extra_pairs: Annotated[int, Meta(ge=0, le=100, description="further pairs of matches after a tie")] = 1
    third_place: Annotated[bool, Meta(description="the losers of the semifinals play for third place")] = True


class Knockout(Format[KnockoutOptions]):
    """A bracket in which the winners go on. The best two by seeding can only meet in the final.

    The matches of a pairing are issued one by one, with colours swapped each time. The worse seed is the first
    player of the first one, so a team's colours differ by at most one in a pairing. A team wins the pairing once
    its opponent can no longer win as many matches. After ``best_of`` matches, more points decide between teams
    that won equally many. Then up to ``extra_pairs`` times two further matches are played, one with each colour.
    Then the better seed wins.

    - Where the number of teams is not a power of two, the best seeds have byes in the first round. Byes count for
      nothing in the table.
    - A late team does not play: the bracket does not change once it is drawn. The team is last in the table.
    - A team that withdraws loses its current pairing. If that was decided already, its next opponent has a bye.
      The caller cancels or forfeits the issued matches. A team that was beaten stays out.
    - A cancelled match is replaced by another one, as long as both teams take part. If a result is corrected after
      the winner's next pairing was issued, the teams of that pairing do not change.
    """

    name = "knockout"
    title = "knockout"
    Options = KnockoutOptions
    settles = "teams"
    pairs_after_each_result = True

    def next_pairings(self, teams: Sequence[int], games: Sequence[Played]) -> list[Pairing]:
        found: list[Pairing] = []
        while new := self._step(teams, [*games, *map(Played, found)]):
            found += new  # a bye is over at once
        return found

    def max_matches(self, teams: int) -> int:
        """Return the number of matches if each pairing lasts as long as it can, and a bye for each team."""
        pairings = max(0, teams - 1 + self.options.third_place)
        return pairings * (self.options.best_of + 2 * self.options.extra_pairs) + teams

    def remaining_estimate(self, teams: Sequence[int], games: Sequence[Played]) -> int:
        """Count each pairing with the mean of the fewest matches that decide it and ``best_of``."""
        usual = (self.options.best_of // 2 + 1 + self.options.best_of) / 2
        if not games:
            third = self.options.third_place and len(teams) > 3
            return round(usual * max(0, len(teams) - 1 + third))
        return round(
            sum(max(0.0, usual - issued) for issued in self.bracket(teams, games).issued_per_open_pairing())
        )

    def places(self, teams: Sequence[int], games: Sequence[Played]) -> Mapping[int, int]:
        """Return equal places for teams that got equally far.

        The match for third place separates third from fourth.
        """
        if not games:
            return {}
        far = dict.fromkeys(teams, 0.0) | self.bracket(teams, games).reached()
        return {team: 1 + sum(other > reached for other in far.values()) for team, reached in far.items()}

    def _step(self, teams: Sequence[int], games: Sequence[Played]) -> list[Pairing]:
        if not games:
            return draw(teams) if len(teams) > 1 else []
        return self.bracket(teams, games).next_pairings()

    def bracket(self, teams: Sequence[int], games: Sequence[Played]) -> Bracket:
        """Return the bracket of an event whose first round was issued."""
        return Bracket(teams, games, self._winner, third_place=self.options.third_place)

    def _winner(self, legs: Sequence[Played]) -> int | None:
        """Return the winner of a pairing; None if its matches do not decide it yet."""
        counted = [leg for leg in legs if leg.counts]
        worse, better = legs[0].pairing.teams
        lead = sum(leg.won_by(better) - leg.won_by(worse) for leg in counted)
        further = len(counted) - self.options.best_of
        games_left = further % 2 if further > 0 else -further  # of the extra pair, or of ``best_of``
        if abs(lead) > games_left:
            return better if lead > 0 else worse
        if games_left:
            return None
        margin = round(sum(leg.points_of(better) - leg.points_of(worse) for leg in counted), DIGITS)
        if margin or further >= 2 * self.options.extra_pairs:
            return better if margin >= 0 else worse
        return None
