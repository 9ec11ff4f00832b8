"""A knockout's bracket: who meets whom where, read from what was given out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from ._format import Pairing, Played

Ends: TypeAlias = tuple[int | None, int | None]
"""A meeting's winner and loser; None where there is nobody."""

Winner: TypeAlias = Callable[[Sequence[Played]], int | None]
"""Who has won a meeting of two teams, by its games so far; None if they do not say."""


def draw(teams: Sequence[int]) -> list[Pairing]:
    """The first round of at least two teams in the order of their seeding: the first games, and the byes."""
    seeds, order = dict(enumerate(teams, start=1)), _seed_order(len(teams))
    return [
        _meeting(1, number, seeds.get(max(pair)), seeds[min(pair)])
        for number, pair in enumerate(zip(order[::2], order[1::2], strict=True), start=1)
    ]


def _seed_order(teams: int) -> list[int]:
    """The seeds from the top of the bracket down: as many as the power of two that has room for ``teams``."""
    order = [1]
    while len(order) < teams:
        order = [seed for better in order for seed in (better, 2 * len(order) + 1 - better)]
    return order


def _meeting(round_: int, number: int, worse: int | None, better: int) -> Pairing:
    """The first game of a meeting, or a bye. The worse seed is first."""
    if worse is None:
        return Pairing(round_, number, 1, better, None)
    return Pairing(round_, number, 1, worse, better)


class Bracket:
    """The meetings by number, as far as they are known.

    In a bracket with room for ``size`` teams 1 … size/2 are the first round's from the top down, then come the
    second round's, and so on; size - 1 is the final, and size the match for third place.

    Args:
        teams: those that still take part.
        games: everything given out so far, the whole first round at least.
        winner: decides a meeting.
        third_place: there is a match for it, if there are semifinals.
    """

    def __init__(self, teams: Sequence[int], games: Sequence[Played], winner: Winner, *, third_place: bool) -> None:
        self._here, self._winner = set(teams), winner
        self._legs: dict[int, list[Played]] = {}
        for game in games:
            self._legs.setdefault(game.pairing.pairing, []).append(game)
        self._size = 2 * sum(legs[0].pairing.round == 1 for legs in self._legs.values())
        self._third = self._size if third_place and self._size > 2 else None
        self._ends: dict[int, Ends | None] = {}
        for number in self._numbers():  # a meeting's feeders have smaller numbers
            self._ends[number] = self._end(number)

    def next_pairings(self) -> list[Pairing]:
        """The next game of every meeting that can begin or go on."""
        games = [self._next_game(number) for number in self._numbers() if self._ends[number] is None]
        return [game for game in games if game is not None]

    def going_on(self) -> list[int]:
        """For each meeting that has not ended, how many games of it were given out and not cancelled."""
        going_on = [number for number in self._numbers() if self._ends[number] is None]
        return [sum(not leg.cancelled for leg in self._legs.get(number, ())) for number in going_on]

    def reached(self) -> dict[int, float]:
        """How far each team has come: to the round it is in or was beaten in; half a round more for third place."""
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

    # --- one meeting ---

    def _end(self, number: int) -> Ends | None:
        """How it ended; None as long as it has not."""
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
        """The end of a meeting that its games have not decided: who has left loses it."""
        left = [team for team in teams if team in self._here]
        if len(left) == 2:
            return None
        return _ends(teams, left[0]) if left else (None, None)

    def _next_game(self, number: int) -> Pairing | None:
        """Of a meeting that has not ended."""
        legs = self._legs.get(number)
        if not legs:
            return self._begin(number)
        if self._passed(number) or any(leg.open for leg in legs):
            return None
        seats = legs[0].pairing.teams[:: -1 if sum(leg.counts for leg in legs) % 2 else 1]
        return Pairing(self._round(number), number, len(legs) + 1, *seats)

    def _begin(self, number: int) -> Pairing | None:
        entrants = self._entrants(number)
        if not entrants:
            return None
        better, *worse = sorted(entrants, key=self._seeds().__getitem__)
        return _meeting(self._round(number), number, worse[0] if worse else None, better)

    def _entrants(self, number: int) -> list[int] | None:
        """Who of those still there is going to be in it; None as long as that is not known."""
        if number == self._third:
            feeders, place = (number - 3, number - 2), 1
        else:
            later = number - self._size // 2
            feeders, place = (2 * later - 1, 2 * later), 0
        ends = [self._ends[feeder] for feeder in feeders]
        if None in ends:
            return None
        return [team for end in ends if end and (team := end[place]) is not None and team in self._here]

    def _passed(self, number: int) -> bool:
        """Whether somebody has gone on from it, so that its games no longer matter."""
        return number < self._size - 1 and self._size // 2 + (number + 1) // 2 in self._legs

    def _seeds(self) -> dict[int, int]:
        """Each team's seed, from 1, by where it is in the first round."""
        order = _seed_order(self._size)
        seeds: dict[int, int] = {}
        for number in range(1, self._size // 2 + 1):
            pair = sorted(order[2 * number - 2 : 2 * number])
            seeds.update(zip(reversed(self._legs[number][0].pairing.teams), pair, strict=False))
        return seeds


def _ends(teams: tuple[int, ...], winner: int) -> Ends:
    return winner, next(team for team in teams if team != winner)
