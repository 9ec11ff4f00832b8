"""What every format is: pairings given out, what became of them, and which come next."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import ClassVar, Generic, Literal, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict

TieBreak: TypeAlias = Literal["won", "difference", "direct", "buchholz"]
"""What can separate teams with equal points; `getstep_server.standings` says what each is."""

DIGITS = 6
"""Decimals to which points are told apart: sums of roots that are equal by rights may differ in later ones."""


@dataclass(frozen=True, slots=True)
class Pairing:
    """One game to be played, or a bye.

    Args:
        round: from 1.
        pairing: the number of this meeting of two teams within the event, from 1. No other meeting has it.
        leg: the game's number within the meeting, from 1.
        first: the first player's team id.
        second: the second player's; None for a bye: ``first`` has no opponent, and nothing is played.
    """

    round: int
    pairing: int
    leg: int
    first: int
    second: int | None

    @property
    def is_bye(self) -> bool:
        return self.second is None

    @property
    def teams(self) -> tuple[int, ...]:
        """The first player's team and the second's; of a bye, the one team."""
        return (self.first,) if self.second is None else (self.first, self.second)


@dataclass(frozen=True, slots=True)
class Played:
    """A pairing given out earlier, and what is known of it.

    Args:
        pairing: as it was given out.
        points: the first player's and the second's by the event's scoring; None as long as it is not over. Who
            has more has won; equal points are a draw (or a loss for both). An adjudicated or forfeited game has
            points like any other; a game that is to be played again has none. A bye has what it is worth, and 0.
        cancelled: it will not be played (because a team withdrew, say) or was annulled: it counts for nothing and
            nobody waits for it. Points are then ignored.
    """

    pairing: Pairing
    points: tuple[float, float] | None = None
    cancelled: bool = False

    @property
    def open(self) -> bool:
        """It is still to be played."""
        return self.points is None and not self.cancelled and not self.pairing.is_bye

    @property
    def counts(self) -> bool:
        """It is over and both teams were in it."""
        return self.points is not None and not self.cancelled and not self.pairing.is_bye

    def points_of(self, team: int) -> float:
        """What ``team``, one of its teams, has from it; 0 unless it is over."""
        if self.points is None or self.cancelled:
            return 0.0
        return self.points[self.pairing.teams.index(team)]

    def won_by(self, team: int) -> bool:
        """Whether ``team``, one of its teams, has won it."""
        return self.counts and 2 * self.points_of(team) > sum(self.points or ())


class FormatOptions(BaseModel):
    """A format's settings, as they are read from contest.toml.

    Each has a description, for people, and one without a default an example.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


O = TypeVar("O", bound=FormatOptions)  # noqa: E741 - there is no zero near it


class Format(ABC, Generic[O]):
    """Says which pairings come next.

    What was given out is a fact: it is never changed, taken back or given out again, whatever results are corrected
    and whichever teams come and go later on. Who calls keeps it, byes included, and hands it back as ``games``.

    Args:
        options: of the class ``Options``.
        seed: of all that is left to chance.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    Options: ClassVar[type[FormatOptions]]
    tie_breaks: ClassVar[tuple[TieBreak, ...]] = ("won", "difference", "direct")
    """What separates teams with equal points, in this order; then a lot."""
    byes_count: ClassVar[bool] = False
    """Whether a bye counts in the table, for each leg."""
    by_result: ClassVar[bool] = False
    """Whether pairings may follow on one result while others are still missing."""
    slow: ClassVar[bool] = False
    """Whether finding the next pairings of a few teams already may take longer than a clock can wait."""

    def __init__(self, options: O, seed: int) -> None:
        self.options = options
        self.seed = seed

    @abstractmethod
    def next_pairings(self, teams: Sequence[int], games: Sequence[Played]) -> list[Pairing]:
        """The games that can be given out now and were not before.

        A pure function: the same for the same arguments.

        Args:
            teams: the ids of those that take part now, none twice, in the order of their seeding; those that came
                late are last, those that withdrew or were disqualified are missing.
            games: everything given out so far, in that order, with what became of it.

        Returns:
            In playing order; none as long as results have to be waited for, and when the event is over.
        """

    @abstractmethod
    def most(self, teams: int) -> int:
        """How many pairings an event of so many teams has at most, byes included, if none of them comes or goes.

        Told without making them: settings may ask for more than anybody could hold.
        """

    def is_over(self, teams: Sequence[int], games: Sequence[Played]) -> bool:
        """Nothing is being played, and nothing is to come for these teams."""
        return not any(game.open for game in games) and not self.next_pairings(teams, games)

    def to_come(self, teams: Sequence[int], games: Sequence[Played]) -> int:  # noqa: ARG002
        """How many games are going to be given out later, as far as can be told; byes are none.

        0 where all that comes is given out at once, and where nothing can be told.
        """
        return 0

    def byes(self, games: Sequence[Played]) -> Mapping[int, int]:
        """How many byes each team has that count in the table; teams without one may be missing."""
        counted = (game for game in games if self.byes_count and game.pairing.is_bye and not game.cancelled)
        return Counter(game.pairing.first for game in counted)

    def places(self, teams: Sequence[int], games: Sequence[Played]) -> Mapping[int, int]:  # noqa: ARG002
        """Each team's place, from 1, where the format itself ranks; empty where points do."""
        return {}

    def drawn(self, *purpose: int) -> Callable[[], float]:
        """Chance for one purpose: numbers from 0 to 1, the same ones for the same seed and purpose.

        They are the same on every machine and in later versions of Python (which the random module promises of this
        method alone), because a contest is verified by making its pairings again.
        """
        return Random(f"{self.name} {self.seed} {purpose}").random

    def in_drawn_order(self, teams: Iterable[int]) -> list[int]:
        """The teams in an order that depends on the seed, and not on the order that they came in."""
        chance = self.drawn()
        return sorted(sorted(teams), key=lambda _: chance())


def last_round(games: Iterable[Played]) -> int:
    """The latest round that was given out; 0 if none was."""
    return max((game.pairing.round for game in games), default=0)
