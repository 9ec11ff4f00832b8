"""The interface of all formats: from the issued pairings and their points, make the next pairings."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Generic, Literal, NamedTuple, TypeAlias, TypeVar

from msgspec import NODEFAULT, Struct
from msgspec.structs import FieldInfo, fields

from getstep.referee import Agreement
from getstep_server.validation import Model

TieBreak: TypeAlias = Literal["won", "difference", "direct", "buchholz"]
"""The tie-breaks between teams with equal points; `getstep_server.tournament.standings` defines each."""

Settles: TypeAlias = Literal["round", "teams"]
"""A later round of any teams, or one of the match's own teams; see `Format.settles`."""

DIGITS = 6
"""Decimals to which points are told apart: sums of roots that are equal by rights may differ in later ones."""


class Pairing(Struct, frozen=True, gc=False):
    """One match to be played, or a bye.

    Args:
        round: from 1.
        pairing: the number of this pairing of two teams within the event, from 1.
        leg: the number of the match within the pairing, from 1.
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


class Played(Struct, frozen=True, gc=False):
    """An issued pairing with its current points.

    Args:
        pairing: the issued pairing.
        points: the first player's and the second's by the event's scoring; None as long as the match is not over.
            The player with more has won; equal points are a draw (or a loss for both). An adjudicated or forfeited
            match has points like any other; a match that is to be played again has none. A bye has the points that
            it is worth, and 0.
        cancelled: the match will not be played (because a team withdrew, say) or was annulled: it counts for
            nothing and is not waited for. Points are then ignored.
    """

    pairing: Pairing
    points: tuple[float, float] | None = None
    cancelled: bool = False

    @property
    def open(self) -> bool:
        return self.points is None and not self.cancelled and not self.pairing.is_bye

    @property
    def counts(self) -> bool:
        """True if the match is over and counts for both teams."""
        return self.points is not None and not self.cancelled and not self.pairing.is_bye

    def points_of(self, team: int) -> float:
        """Return the points of ``team``, one of the two teams; 0 unless the match is over."""
        if self.points is None or self.cancelled:
            return 0.0
        return self.points[self.pairing.teams.index(team)]

    def won_by(self, team: int) -> bool:
        """Return True if ``team``, one of the two teams, has won the match."""
        return self.counts and 2 * self.points_of(team) > sum(self.points or ())


class Rating(NamedTuple):
    """A rating by a format: the truth is at most ``margin`` away from ``value`` in about 95 of 100 contests."""

    value: float
    margin: float


class FormatOptions(Model, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A format's settings, as they are read from contest.toml.

    Each has a description, for people, and one without a default an example.
    """

    @classmethod
    def described(cls) -> dict[str, DescribedOption]:
        """Return the settings by their names, for people."""
        return {
            field.name: DescribedOption(field.required, _default(field), *_meta(field.type))
            for field in fields(cls)
        }

    @property
    def agreement(self) -> Agreement | None:
        """When the estimates of both bots end a match; None if they decide nothing, as in nearly all formats."""
        return None


class DescribedOption(NamedTuple):
    """A setting of a format: its default (None if it has none, or is off), and what it means."""

    required: bool
    default: Any
    description: str
    example: Any


def _default(field: FieldInfo) -> Any:
    if field.default_factory is not NODEFAULT:
        return field.default_factory()
    return None if field.default is NODEFAULT else field.default


def _meta(kind: Any) -> tuple[str, Any]:
    """Return the description in a setting's type, and an example; None if it has none."""
    found = [meta for meta in kind.__metadata__ if meta.description]
    return found[0].description, (found[0].examples or [None])[0]


O = TypeVar("O", bound=FormatOptions)  # noqa: E741 - there is no zero near it


class Format(ABC, Generic[O]):
    """A format, which makes the next pairings of an event.

    Issued pairings are final. They are never changed, withdrawn or issued again, even if results are corrected or
    teams come and go later. The caller stores them, byes included, and passes them back as ``games``.

    Args:
        options: of the class ``Options``.
        seed: of all random choices.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    Options: ClassVar[type[FormatOptions]]
    tie_breaks: ClassVar[tuple[TieBreak, ...]] = ("won", "difference", "direct")
    """The tie-breaks between teams with equal points, in this order; drawing of lots comes last."""
    byes_count: ClassVar[bool] = False
    """True if a bye counts in the table, once for each leg."""
    late_team: ClassVar[str | None] = None
    """What a team does that joins when matches are issued, in words; None if it cannot play."""
    pairs_after_each_result: ClassVar[bool] = False
    """True if new pairings may follow from one result while other matches are still open."""
    gathers: ClassVar[bool] = False
    """True if days may pass between two rounds. The matches of a new round wait until all teams are present, and
    programs that the host runs are in all of them what they were when the round began."""
    settles: ClassVar[Settles | None] = None
    """The later rounds that depend on a match, so that its forfeit becomes final: any, or those of its teams."""
    pairs_present: ClassVar[bool] = False
    """True if each record of pairings lists only the teams that are present then, as the director sees them."""
    rates: ClassVar[bool] = False
    """True if the format itself rates the teams."""
    pair_in_thread: ClassVar[bool] = False
    """True if making the next pairings takes too long for the event loop even with few teams."""

    def __init__(self, options: O, seed: int) -> None:
        self.options = options
        self.seed = seed

    @property
    def house(self) -> frozenset[int]:
        """The ids of the house bots, which only fill in for missing opponents."""
        return frozenset()

    @property
    def bosses(self) -> Mapping[int, int]:
        """The levels of the house bots that separate the leagues, by team id; empty if there are none."""
        return {}

    @abstractmethod
    def next_pairings(self, teams: Sequence[int], games: Sequence[Played]) -> list[Pairing]:
        """Return the pairings that can be issued now and were not issued before.

        A pure function of its arguments.

        Args:
            teams: the ids of those that take part now, none twice, in the order of their seeding; those that came
                late are last, those that withdrew or were disqualified are missing.
            games: all issued pairings in that order, with their current points.

        Returns:
            Pairings in playing order; none while they depend on missing results, and when the event is over.
        """

    @abstractmethod
    def max_matches(self, teams: int) -> int:
        """Return the largest number of pairings with so many teams, byes included, if no team comes or goes.

        Computed without making them, because settings may ask for more than fit into memory.
        """

    def is_over(self, teams: Sequence[int], games: Sequence[Played]) -> bool:
        """Return True if no match is open and no pairings follow for these teams."""
        return not any(game.open for game in games) and not self.next_pairings(teams, games)

    def remaining_estimate(self, teams: Sequence[int], games: Sequence[Played]) -> int:  # noqa: ARG002 - formats that rate use them
        """Return an estimate of the matches that will be issued later, without byes.

        0 if all pairings are issued at once, and if no estimate is possible.
        """
        return 0

    def byes(self, games: Sequence[Played]) -> Mapping[int, int]:
        """Return the number of byes of each team that count in the table; teams without one may be missing."""
        counted = (game for game in games if self.byes_count and game.pairing.is_bye and not game.cancelled)
        return Counter(game.pairing.first for game in counted)

    def places(self, teams: Sequence[int], games: Sequence[Played]) -> Mapping[int, int]:  # noqa: ARG002 - formats that rate use them
        """Return each team's place, from 1, if the format itself ranks; else an empty mapping."""
        return {}

    @property
    def pause_seconds(self) -> float:
        """The shortest time between two records of pairings, if the format pairs those that are present."""
        return 0.0

    @property
    def closes_at(self) -> str | None:
        """The local time (as "2030-12-01 18:00") from which nothing is paired; None if there is no such time."""
        return None

    def ratings(self, games: Sequence[Played]) -> Mapping[int, Rating]:  # noqa: ARG002 - formats that rate use them
        """Return each team's rating, if the format itself rates; else an empty mapping."""
        return {}

    def leagues(self, games: Sequence[Played]) -> Mapping[int, int]:  # noqa: ARG002 - formats that rate use them
        """Return the number of bosses that each team is above that has played; empty without bosses."""
        return {}

    def drawn(self, *purpose: int) -> Callable[[], float]:
        """Return a generator of random numbers from 0 to 1, which depend only on the seed and the purpose.

        They are the same on every machine and in later versions of Python (which the random module promises of this
        method alone), because a contest is verified by making its pairings again.
        """
        from random import Random  # here: a table draws no lots, and it takes 1 ms to import

        return Random(f"{self.name} {self.seed} {purpose}").random

    def in_drawn_order(self, teams: Iterable[int]) -> list[int]:
        """Return the teams in an order that depends on the seed, and not on their own order."""
        chance = self.drawn()
        # Sorted by id first: each draw then belongs to the same team, whatever the order of teams.toml.
        return sorted(sorted(teams), key=lambda _: chance())


def last_round(games: Iterable[Played]) -> int:
    """Return the latest issued round; 0 if there is none."""
    return max((game.pairing.round for game in games), default=0)
