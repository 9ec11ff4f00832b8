"""The tables of a live view: standings with ratings, and the expected number of matches."""

from __future__ import annotations

import time
from collections.abc import Callable

from msgspec.structs import replace

from getstep_server.tournament.combined import Tables
from getstep_server.tournament.ratings import ratings_of
from getstep_server.tournament.tournament import Tournament

RECOMPUTE_RATIO = 9
"""Tables stay as they are for so many times as long as it took to make them.

So a view takes at most a tenth of a processor, on a machine that also runs the clocks of matches.
"""


class LiveTables:
    """The current tables, made in the caller's thread and at most as often as `RECOMPUTE_RATIO` allows.

    If all teams have played each other, ratings alone take 50 ms for 256 teams, and 1 to 3 s for 1,024.

    Args:
        tournament: another thread may apply records to it concurrently.
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
            self._again_at = ended + RECOMPUTE_RATIO * (ended - began)
        return self._made

    def _make(self) -> Tables:
        tournament, events = self._tournament, self._tournament.contest.events
        expected = tournament.total + sum(map(tournament.remaining_estimate, events))
        remaining = tournament.open_by_team()
        if len(events) > 1 or events[0].format.rates:
            return replace(tournament.tables(), expected=expected, remaining=remaining)
        # without the bootstrap, which takes half a second for 40 teams
        ratings = ratings_of(tournament, events[0], replicates=0)
        elo = {rating.team: rating.elo for rating in ratings.table if rating.elo is not None}
        return replace(tournament.tables(), elo=elo, expected=expected, remaining=remaining)
