"""Arena: pairs all connected teams again and again, with teams of about the same rating."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence, Set
from itertools import count
from math import log
from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Meta, field

from getstep.samples import LEVELS
from getstep_server.validation import Mistake, wrong

from ._format import Format, FormatOptions, Pairing, Played, Rating, last_round

START_RATING = 1500  # the usual start of a rating in chess
_START = 100 * START_RATING  # integers, so that all machines rate alike

SURE_AFTER = 30
"""Matches after which a rating changes by half as much for each result, as FIDE does for new players."""

K_NEW, K_SURE = 40, 20  # FIDE's values for new and for other players

UNKNOWN_SD = 300
"""The standard deviation of the ratings of teams that have not played."""

RESULT_VARIANCE = 0.1
"""The variance of a result, from 0 to 1, by which the margin of a rating shrinks.

It is less than the 0.25 between equal teams, because many results are expected, and only surprises move a
rating."""

LEAST_MARGIN = 100
"""A rating keeps moving by 10 points after each match, so it never becomes more exact than this."""

RECENT = 6
"""The latest matches of a team in which an opponent counts as a repeat."""

REPEAT_COST, HOUSE_COST = 150, 300
"""The cost of a repeat, and of a house bot as an opponent, in rating points of difference."""

HouseBot: TypeAlias = Literal[
    "random", "hesitant", "greedy", "mcts", "search_100", "search_1000", "search_10000", "search_100000"
]

HOUSE_TEAMS: Mapping[HouseBot, int] = {
    "random": 2_000_000_001,
    "hesitant": 2_000_000_002,
    "greedy": 2_000_000_003,
    "mcts": 2_000_000_004,
    "search_100": 2_000_000_009,
    "search_1000": 2_000_000_005,
    "search_10000": 2_000_000_007,
    "search_100000": 2_000_000_010,
}
"""The team id of each sample bot that the server can start as a house bot.

They stand in the records, so they never change; those with 6 and 8 at the end belonged to bots that are gone. They
are near the largest id that the wire can carry: a host may use the students' numbers as ids, which are shorter.
"""

_UPPER = (
    *(3, 10, 17, 25, 32, 39, 46, 53, 61, 68, 76, 83, 91, 98, 106, 113, 121, 129, 137, 145, 153, 162, 170, 179, 188),
    *(197, 206, 215, 225, 235, 245, 256, 267, 278, 290, 302, 315, 328, 344, 357, 374, 391, 411, 432, 456, 484, 517),
    *(559, 619, 735),
)
"""The largest differences of ratings at which the better team is expected to score 50, 51, ... 99 %.

FIDE's table (Rating Regulations, 8.1.2). Whole numbers give the same pairings on every machine; powers do not.
"""


class ArenaOptions(FormatOptions, frozen=True, kw_only=True):
    matches: Annotated[
        int, Meta(ge=1, le=100_000, description="the arena ends after so many matches, cancelled ones included")
    ] = 20_000
    pause_seconds: Annotated[
        int, Meta(ge=0, le=86_400, description="seconds between two pairings: more to choose from, fewer matches")
    ] = 10
    until: Annotated[
        str | None,
        Meta(
            description="no match is paired after this local time",
            examples=["2030-12-01 18:00"],
        ),
    ] = None
    house: Annotated[
        list[int] | None,
        Meta(
            description="ids of teams whose bots the host starts, which fill in for missing opponents",
            examples=[[1]],
        ),
    ] = None
    house_bots: Annotated[
        list[HouseBot],
        Meta(description=f"sample bots that the server starts: {', '.join(HOUSE_TEAMS)}; [] for none"),
    ] = field(default_factory=lambda: ["random", "greedy"])
    bosses: Annotated[
        list[Annotated[int, Meta(ge=1, le=len(LEVELS))]],
        Meta(
            description=f"levels, 1 to {len(LEVELS)}, of sample bots that the server starts: a team that is surely"
            " stronger than one of them is a league higher; [] for no leagues"
        ),
    ] = field(default_factory=list)

    @classmethod
    def mistakes(cls, fields: Mapping[str, Any]) -> Iterator[Mistake]:
        until = fields.get("until")
        if until is not None and not _is_time(until):
            yield wrong(("until",), until, "a local time such as 2030-12-01 18:00")
        bots = fields.get("house_bots", ())
        if len(set(bots)) < len(bots):
            yield wrong(("house_bots",), list(bots), "each of them once")
        bosses = fields.get("bosses", ())
        if len(set(bosses)) < len(bosses):
            yield wrong(("bosses",), list(bosses), "each level once")

    @property
    def bots(self) -> set[str]:
        """The sample bots that the server starts, the bosses among them."""
        return {*self.house_bots, *(LEVELS[level - 1] for level in self.bosses)}


def _is_time(text: str) -> bool:
    """Return True for a date and a time that exist, as in "2030-12-01 18:00".

    Without `datetime`, which can read a clock: formats import nothing that does.
    """
    date, _, clock = text.partition(" ")
    parts = [*date.split("-"), *clock.split(":")]
    # `int` alone would also take "+1", " 1" and digits of other scripts
    if [len(part) for part in parts] != [4, 2, 2, 2, 2] or not (text.isascii() and "".join(parts).isdecimal()):
        return False
    year, month, day, hour, minute = map(int, parts)
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)  # the Gregorian rule
    days = (31, 29 if leap else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
    return year >= 1971 and 1 <= month <= 12 and 1 <= day <= days[month - 1] and hour < 24 and minute < 60


class Arena(Format[ArenaOptions]):
    """Every team that is present and idle is paired: near in rating, with few repeats, colours balanced.

    - ``teams`` are those that are present: with a bot connected, or in a match. Any other team has no further
      matches, and those that it has not begun are cancelled. It loses nothing.
    - The team that has waited longest is paired first. Its opponent is the one with the least difference in rating.
      Each of the latest `RECENT` matches against the same opponent counts as `REPEAT_COST` points of difference.
    - Two teams that have just played each other wait while others play, because those will be free.
    - House bots play contestants only, and cost `HOUSE_COST` points. A boss costs none: it meets teams that
      have about its rating.
    - Subtract a team's games as second player from its games as first. The team with the lower number moves
      first.
    - A rating starts at `START_RATING`, and changes after each match as an Elo rating. Places are by rating.
    - The league of a team is the number of bosses that it is above. After a match, a team rises above a boss whose
      rating is lower by more than the larger of both margins. It falls below one whose rating is higher.
    """

    name = "arena"
    title = "arena"
    late_team = "is paired as soon as a bot of it is connected"
    Options = ArenaOptions
    pair_in_thread = True
    pairs_present = True
    rates = True

    def next_pairings(self, teams: Sequence[int], games: Sequence[Played]) -> list[Pairing]:
        busy = {team for game in games if game.open for team in game.pairing.teams}
        idle = [team for team in teams if team not in busy]
        if len(idle) < 2:
            return []
        known = _Known(games)
        found = _pairs(idle, self.house, known, others=busy - self.house, bosses=self.bosses.keys())
        pairs = found[: self.options.matches - len(games)]
        round_, number = last_round(games) + 1, max((game.pairing.pairing for game in games), default=0)
        return [
            Pairing(round_, number + place, 1, *sorted(pair, key=known.colour_key))
            for place, pair in enumerate(pairs, start=1)
        ]

    def max_matches(self, teams: int) -> int:  # noqa: ARG002 - it does not depend on them
        return self.options.matches

    @property
    def house(self) -> frozenset[int]:
        started = (number for bot, number in HOUSE_TEAMS.items() if bot in self.options.bots)
        return frozenset([*(self.options.house or ()), *started])

    @property
    def bosses(self) -> Mapping[int, int]:
        started = {LEVELS[level - 1]: level for level in self.options.bosses}
        return {number: started[bot] for bot, number in HOUSE_TEAMS.items() if bot in started}

    @property
    def pause_seconds(self) -> float:
        return self.options.pause_seconds

    @property
    def closes_at(self) -> str | None:
        return self.options.until

    def ratings(self, games: Sequence[Played]) -> Mapping[int, Rating]:
        found = _Ratings(games)
        return {team: Rating(value / 100, margin(found.played[team])) for team, value in found.values.items()}

    def leagues(self, games: Sequence[Played]) -> Mapping[int, int]:
        if not self.bosses:
            return {}
        found = _Ratings(games, tuple(self.bosses))
        return {team: len(found.above.get(team, ())) for team in found.values if team not in self.house}

    def places(self, teams: Sequence[int], games: Sequence[Played]) -> Mapping[int, int]:
        """Return the places by rating; teams that have not played are last."""
        ratings = rate(games)
        order = sorted(teams, key=lambda team: (team not in ratings, -ratings.get(team, 0), team))
        return {team: place for place, team in enumerate(order, start=1)}


def rate(games: Sequence[Played]) -> dict[int, int]:
    """Return the rating of each team that has played, in hundredths of a point.

    Results count in the order in which their matches were issued.
    """
    return _Ratings(games).values


def margin(played: int) -> int:
    """Return half of the interval that contains a team's true rating after so many matches in 95 of 100 cases.

    Simulated arenas of 12 teams, whose strengths have a standard deviation of 200 points, are within it in 95 % or
    more of all cases after 5 to 300 matches of each team. With 300 points, they are in 91 %.
    """
    return _MARGINS[min(played, len(_MARGINS) - 1)]


def _margins() -> Iterator[int]:
    """Yield the margin after 0, 1, 2, ... matches, down to `LEAST_MARGIN`."""
    variance = float(UNKNOWN_SD**2)
    for played in count():
        # 95 % of a normal distribution are within 1.96 deviations
        yield (half := max(LEAST_MARGIN, round(1.96 * variance**0.5)))
        if half == LEAST_MARGIN:
            return
        k = K_NEW if played < SURE_AFTER else K_SURE
        pull = k * RESULT_VARIANCE * log(10) / 400  # the slope of the expected score
        variance = (1 - pull) ** 2 * variance + k * k * RESULT_VARIANCE + pull**2 * variance


class _Ratings:
    """The ratings after these games, and which bosses each team is above.

    ``values`` has the ratings of teams that have played, in hundredths of a point, and ``played`` how many of their
    matches count. ``above`` has the bosses that each team is above.
    """

    def __init__(self, games: Sequence[Played], bosses: Sequence[int] = ()) -> None:
        self.values: dict[int, int] = {}
        self.played: dict[int, int] = {}
        self.above: dict[int, set[int]] = {}
        ratings, played = self.values, self.played
        for game in games:  # about 1 µs each: an arena of weeks has 100,000
            points, second = game.points, game.pairing.second
            if points is None or second is None or game.cancelled:
                continue
            first = game.pairing.first
            one, other = ratings.get(first, _START), ratings.get(second, _START)
            # in percent: integers, as all of this
            score = 100 if points[0] > points[1] else 0 if points[0] < points[1] else 50
            surplus = score - _expected(one - other)
            before = played.get(first, 0), played.get(second, 0)
            ratings[first] = one + surplus * (K_NEW if before[0] < SURE_AFTER else K_SURE)
            ratings[second] = other - surplus * (K_NEW if before[1] < SURE_AFTER else K_SURE)
            played[first], played[second] = before[0] + 1, before[1] + 1
            for boss in bosses:
                self._compare(first, boss)
                self._compare(second, boss)

    def _compare(self, team: int, boss: int) -> None:
        """Let a team that has just played rise above a boss, or fall below it.

        Between the two bounds it stays where it is. So it does not rise and fall with each result.
        """
        if boss not in self.played:
            return
        lead = self.values[team] - self.values[boss]
        if lead > 100 * margin(min(self.played[team], self.played[boss])):
            self.above.setdefault(team, set()).add(boss)
        elif lead < 0:
            self.above.get(team, set()).discard(boss)


_MARGINS = tuple(_margins())


def _expected(difference: int) -> int:
    """Return the expected score in percent of a team that is ``difference`` hundredths of a point better."""
    # the table ends at 735 points: from there on it is 99 %
    better = 50 + bisect_left(_UPPER, abs(difference) // 100)
    return better if difference >= 0 else 100 - better


class _Known:
    """The input of the pairing: ratings, latest opponents, colours and when each team was paired last."""

    def __init__(self, games: Sequence[Played]) -> None:
        self.ratings = rate(games)
        self.opponents: dict[int, list[int]] = {}
        self.paired_at: dict[int, int] = {}
        self._colours: dict[int, int] = {}
        self._was_first: dict[int, bool] = {}
        opponents, paired_at, colours, was_first = self.opponents, self.paired_at, self._colours, self._was_first
        for place, game in enumerate(games):
            first, second = game.pairing.first, game.pairing.second
            if game.cancelled or second is None:
                continue
            opponents.setdefault(first, []).append(second)
            opponents.setdefault(second, []).append(first)
            paired_at[first] = paired_at[second] = place
            colours[first] = colours.get(first, 0) + 1
            colours[second] = colours.get(second, 0) - 1
            was_first[first], was_first[second] = True, False

    def colour_key(self, team: int) -> tuple[int, bool, int]:
        """Return a key by which the first player comes first."""
        return self._colours.get(team, 0), self._was_first.get(team, False), team

    def repeats(self, team: int, other: int) -> int:
        """Return how many of the latest matches of ``team`` were against ``other``."""
        return self.opponents.get(team, [])[-RECENT:].count(other)

    def just_played(self, team: int, other: int) -> bool:
        """Return True if the latest match of both teams was against each other."""
        latest = (self.opponents.get(team, [None])[-1], self.opponents.get(other, [None])[-1])
        return latest == (other, team)

    def cost(self, team: int, other: int) -> int:
        """Return the difference in rating, in points, with the cost of repeats."""
        # in whole points, as REPEAT_COST and HOUSE_COST are
        gap = abs(self.ratings.get(team, _START) - self.ratings.get(other, _START)) // 100
        return gap + REPEAT_COST * self.repeats(team, other)


def _pairs(
    idle: Sequence[int], house: Set[int], known: _Known, others: Set[int], bosses: Set[int]
) -> list[tuple[int, int]]:
    """Return pairs of idle teams. ``others`` are contestants that are playing, ``bosses`` are some of the house."""
    waiting = sorted(idle, key=lambda team: (team in house, known.paired_at.get(team, -1), team))
    free, pairs = dict.fromkeys(waiting), []
    for team in waiting:
        if team in house or team not in free:
            continue
        del free[team]
        found = [
            (known.cost(team, other) + HOUSE_COST * (other in house and other not in bosses), place, other)
            for place, other in enumerate(free)
            if not (others and other not in house and known.just_played(team, other))
        ]
        if found:
            *_, opponent = min(found)
            del free[opponent]
            pairs.append((team, opponent))
    return pairs
