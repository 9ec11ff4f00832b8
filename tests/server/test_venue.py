"""Where a match is played: the director asks the venues, and does all the rest itself."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from trio.testing import MockClock

from getstep.wire import End
from getstep_server.events import MatchStarted, Publish, ServerFault
from getstep_server.play.deadlines import DeadlineScheduler
from getstep_server.play.judge import play_match
from getstep_server.play.scoresheet import Scoresheet
from getstep_server.records.game import Programs
from getstep_server.records.result import Result
from getstep_server.runtime.attempt import Attempt
from tests.support.contests import make_contest
from tests.support.director import SMALL, Stage


class OddVenue:
    """A venue that takes matches with an odd number, and fails in the first attempts that it is told to."""

    def __init__(self, scheduler: DeadlineScheduler, publish: Publish, failures: int = 0) -> None:
        self._scheduler = scheduler
        self._publish = publish
        self._failures = failures
        self.log: list[tuple[str, int]] = []

    def takes(self, attempt: Attempt) -> bool:
        return attempt.match.number % 2 == 1

    @asynccontextmanager
    async def prepare(self, attempt: Attempt, is_due: Callable[[], bool]) -> AsyncIterator[Programs | None]:
        assert is_due()
        self.log.append(("prepared", attempt.match.number))
        try:
            yield ()
        finally:
            self.log.append(("left", attempt.match.number))

    async def play(self, attempt: Attempt, sheet: Scoresheet) -> Result:
        self.log.append(("played", sheet.match.number))
        if self._failures:
            self._failures -= 1
            raise RuntimeError("this venue has burnt down")
        return await play_match(sheet, attempt.seats, self._scheduler, self._publish)


def made_stage(folder: Path, failures: int = 0) -> tuple[Stage, OddVenue]:
    venues: list[OddVenue] = []

    def make(scheduler: DeadlineScheduler, publish: Publish) -> OddVenue:
        venues.append(OddVenue(scheduler, publish, failures))
        return venues[0]

    stage = Stage(make_contest(folder, 3, **SMALL), venue=make)
    return stage, venues[0]


async def test_a_venue_plays_the_matches_that_it_takes(tmp_path: Path, autojump_clock: MockClock) -> None:
    stage, venue = made_stage(tmp_path)
    await stage.play(1, 2, 3)
    for number in (1, 3, 5):
        assert [what for what, match in venue.log if match == number] == ["prepared", "played", "left"]
    assert {match for _, match in venue.log} == {1, 3, 5}
    assert sorted(result.match.number for result in stage.store.saved) == list(range(1, 7))
    assert len(stage.said(1, End)) == 4


async def test_a_match_whose_venue_fails_is_void_and_played_again(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    stage, venue = made_stage(tmp_path, failures=1)
    await stage.play(1, 2, 3)
    (fault,) = stage.of(ServerFault)
    assert "this venue has burnt down" in fault.trace
    failed = next(match for what, match in venue.log if what == "played")
    assert [event.match.number for event in stage.of(MatchStarted)].count(failed) == 2
    assert sorted(result.match.number for result in stage.store.saved) == list(range(1, 7))
    assert [result.attempt for result in stage.store.saved if result.match.number == failed] == [2]
