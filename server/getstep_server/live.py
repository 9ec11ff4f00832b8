"""What a live view shows of a tournament that is being played: tables with ratings, and when it will be over."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from math import ceil

from .combined import Tables
from .ratings import ratings_of
from .tournament import Tournament

REST = 9
"""For so many times as long as tables took to make, they stay as they are: clocks run on the same machine."""


class LiveTables:
    """The tables of the moment, made by who asks for them, and not too often.

    Of 256 teams who all have met, ratings alone take 50 ms.

    Args:
        tournament: any thread may take note of records in it meanwhile.
        clock: in seconds.
    """

    def __init__(self, tournament: Tournament, clock: Callable[[], float] = time.monotonic) -> None:
        self._tournament = tournament
        self._clock = clock
        self._made = Tables({})
        self._again_at = -float("inf")

    def __call__(self) -> Tables:
        began = self._clock()
        if began >= self._again_at:
            self._made = self._make()
            ended = self._clock()
            self._again_at = ended + REST * (ended - began)
        return self._made

    def _make(self) -> Tables:
        tournament, events = self._tournament, self._tournament.contest.events
        expected = tournament.total + sum(map(tournament.to_come, events))
        if len(events) > 1:
            return replace(tournament.tables(), expected=expected)
        ratings = ratings_of(tournament, events[0], replicates=0)
        elo = {rating.team: rating.elo.value for rating in ratings.table if rating.elo is not None}
        return replace(tournament.tables(), elo=elo, expected=expected)


def expected_end(seconds: float, now: datetime) -> str:
    """When it is over if it goes on for so long, such as "about 4 min left, until 15:42"."""
    end = now + timedelta(seconds=seconds)
    day = "" if end.date() == now.date() else f"{end:%a} "
    return f"about {_duration(seconds)} left, until {day}{end:%H:%M}"


def _duration(seconds: float) -> str:
    if seconds < 60:
        return f"{ceil(seconds)} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"
