"""Knockout: the loser of a pairing is out; the winners are paired again until one team is left.

The pairings of a bracket have numbers, and are computed from the issued matches.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, TypeAlias

from msgspec import Meta

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
        # the mean of the shortest and the longest pairing
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
        # teams that have not played are last
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


# --- the bracket ------------------------------------------------------------------------------------------------


Ends: TypeAlias = tuple[int | None, int | None]
"""The winner and the loser of a pairing; None where there is no team."""

Winner: TypeAlias = Callable[[Sequence[Played]], int | None]
"""Returns the winner of a pairing of two teams by its matches; None if they do not decide it yet."""


def draw(teams: Sequence[int]) -> list[Pairing]:
    """Return the first round of at least two teams, in the order of their seeding: matches and byes."""
    seeds, order = dict(enumerate(teams, start=1)), _seed_order(len(teams))
    return [
        _first_match(1, number, seeds.get(max(pair)), seeds[min(pair)])
        for number, pair in enumerate(zip(order[::2], order[1::2], strict=True), start=1)
    ]


def _seed_order(teams: int) -> list[int]:
    """Return the seeds from the top of the bracket down: the smallest power of two that is not below ``teams``."""
    order = [1]
    while len(order) < teams:
        order = [seed for better in order for seed in (better, 2 * len(order) + 1 - better)]
    return order


def _first_match(round_: int, number: int, worse: int | None, better: int) -> Pairing:
    """Return the first match of a pairing, or a bye. The worse seed is the first player."""
    if worse is None:
        return Pairing(round_, number, 1, better, None)
    return Pairing(round_, number, 1, worse, better)


@dataclass(frozen=True, slots=True)
class BracketPairing:
    """A pairing of a bracket as spectators see it; a team that is not known yet is None.

    ``wins`` are the matches that each of the two has won, ``winner`` the team that goes on.
    """

    number: int
    round: int
    teams: tuple[int | None, int | None]
    wins: tuple[int, int]
    winner: int | None
    third_place: bool
    bye: bool


class Bracket:
    """The pairings of a knockout by number, as far as they are known.

    In a bracket with room for ``size`` teams, the pairings 1 … size/2 are the first round's from the top down.
    Then come the second round's, and so on. Number size - 1 is the final, and number size the match for third
    place.

    Args:
        teams: those that still take part.
        games: everything issued until now, the whole first round at least.
        winner: decides a pairing.
        third_place: there is a match for third place, if there are semifinals.
    """

    def __init__(self, teams: Sequence[int], games: Sequence[Played], winner: Winner, *, third_place: bool) -> None:
        self._active, self._winner = set(teams), winner
        self._legs: dict[int, list[Played]] = {}
        for game in games:
            self._legs.setdefault(game.pairing.pairing, []).append(game)
        self._size = 2 * sum(legs[0].pairing.round == 1 for legs in self._legs.values())
        self._third = self._size if third_place and self._size > 2 else None
        self._ends: dict[int, Ends | None] = {}
        for number in self._numbers():  # the pairings that feed a pairing have smaller numbers
            self._ends[number] = self._end(number)

    def next_pairings(self) -> list[Pairing]:
        """Return the next match of every pairing that can begin or continue."""
        games = [self._next_game(number) for number in self._numbers() if self._ends[number] is None]
        return [game for game in games if game is not None]

    def issued_per_open_pairing(self) -> list[int]:
        """Return the number of issued and not cancelled matches of each pairing that has not ended."""
        not_ended = [number for number in self._numbers() if self._ends[number] is None]
        return [sum(not leg.cancelled for leg in self._legs.get(number, ())) for number in not_ended]

    def pairings(self) -> list[BracketPairing]:
        """Return all pairings of the bracket by number, those that cannot begin yet included."""
        return [self._pairing(number) for number in self._numbers()]

    def _pairing(self, number: int) -> BracketPairing:
        legs = self._legs.get(number, [])
        known = list(legs[0].pairing.teams) if legs else self._entrants(number) or []
        first, second = [*known, None, None][:2]
        wins = [
            0 if team is None else sum(leg.won_by(team) for leg in legs if leg.counts) for team in (first, second)
        ]
        ends = self._ends[number]
        return BracketPairing(
            number=number,
            round=self._round(number),
            teams=(first, second),
            wins=(wins[0], wins[1]),
            winner=ends[0] if ends else None,
            third_place=number == self._third,
            bye=bool(legs) and legs[0].pairing.is_bye,
        )

    def reached(self) -> dict[int, float]:
        """Return the round that each team is in or was beaten in.

        The winner of the match for third place has half a round more.
        """
        far: dict[int, float] = {}
        for number, ends in self._ends.items():
            round_ = self._round(number) - (number == self._third)
            for team in self._legs[number][0].pairing.teams if number in self._legs else ():
                far[team] = round_
            if ends and ends[0] is not None and not self._passed(number):
                far[ends[0]] = round_ + (0.5 if number == self._third else 1)
        return far

    def _numbers(self) -> range:
        return range(1, (self._third or self._size - 1) + 1)

    def _round(self, number: int) -> int:
        rounds = self._size.bit_length() - 1
        return min(rounds, rounds + 1 - (self._size - number).bit_length())

    # --- one pairing ---

    def _end(self, number: int) -> Ends | None:
        """Return how a pairing ended; None if it has not ended."""
        if number not in self._legs:
            return (None, None) if self._entrants(number) == [] else None
        legs = self._legs[number]
        if legs[0].pairing.is_bye:
            return legs[0].pairing.first, None
        if any(leg.open for leg in legs):
            return None
        winner = self._winner(legs)
        if winner is None:
            return self._walkover(legs[0].pairing.teams)
        return _ends(legs[0].pairing.teams, winner)

    def _walkover(self, teams: tuple[int, ...]) -> Ends | None:
        """Return the end of a pairing that its matches have not decided: a team that has left loses it."""
        left = [team for team in teams if team in self._active]
        if len(left) == 2:
            return None
        return _ends(teams, left[0]) if left else (None, None)

    def _next_game(self, number: int) -> Pairing | None:
        """Return the next match of a pairing that has not ended; None if it cannot be played now."""
        legs = self._legs.get(number)
        if not legs:
            return self._begin(number)
        if self._passed(number) or any(leg.open for leg in legs):
            return None
        # Only legs that count swap the colours: a cancelled one was not played.
        seats = legs[0].pairing.teams[:: -1 if sum(leg.counts for leg in legs) % 2 else 1]
        return Pairing(self._round(number), number, len(legs) + 1, *seats)

    def _begin(self, number: int) -> Pairing | None:
        entrants = self._entrants(number)
        if not entrants:
            return None
        better, *worse = sorted(entrants, key=self._seeds().__getitem__)
        return _first_match(self._round(number), number, worse[0] if worse else None, better)

    def _entrants(self, number: int) -> list[int] | None:
        """Return the teams of a pairing that still take part; None as long as they are not known."""
        if number == self._third:
            # the losers of the two semifinals, which are numbered just before the final
            feeders, place = (number - 3, number - 2), 1
        else:
            later = number - self._size // 2
            feeders, place = (2 * later - 1, 2 * later), 0
        ends = [self._ends[feeder] for feeder in feeders]
        if None in ends:
            return None
        return [team for end in ends if end and (team := end[place]) is not None and team in self._active]

    def _passed(self, number: int) -> bool:
        """Return True if the winner's next pairing was issued, so that this one's matches no longer matter."""
        return number < self._size - 1 and self._size // 2 + (number + 1) // 2 in self._legs

    def _seeds(self) -> dict[int, int]:
        """Return each team's seed, from 1, by its position in the first round."""
        order = _seed_order(self._size)
        seeds: dict[int, int] = {}
        for number in range(1, self._size // 2 + 1):
            pair = sorted(order[2 * number - 2 : 2 * number])
            # the first player of a first match is the worse seed
            seeds.update(zip(reversed(self._legs[number][0].pairing.teams), pair, strict=False))
        return seeds


def _ends(teams: tuple[int, ...], winner: int) -> Ends:
    return winner, next(team for team in teams if team != winner)
