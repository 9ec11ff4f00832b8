"""A duel on a cluster: when it ends, and what counts. The workers are a function of this test."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio

from getstep.referee import EndCode
from getstep.sprt import DEFAULTS
from getstep_server.bot_runner.processes import Bot, Bots
from getstep_server.cli.duel import add_programs, duel_contest, find_program, outcome_lines, run_on_cluster
from getstep_server.cluster.order import check_lines
from getstep_server.config.contest import Contest
from getstep_server.errors import UsageError
from getstep_server.events import Bus, Event, MatchEnded, Publish
from getstep_server.net.seat import Seat
from getstep_server.play.scoresheet import Scoresheet
from getstep_server.records.game import Programs
from getstep_server.records.match import Match
from getstep_server.records.result import Result, unplayed
from getstep_server.runtime.attempt import Attempt
from getstep_server.runtime.hosted import HostedPrograms
from getstep_server.runtime.run import RunOutcome
from getstep_server.storage.contest_state import results_of
from getstep_server.tournament.tournament import Tournament
from tests.support.command import Command
from tests.support.patience import PATIENCE_SECONDS
from tests.support.submitted_programs import GET_STEP, add_program


class Workers:
    """A cluster in which the first team of the contest wins each match, as soon as ``may_end`` lets it end."""

    def __init__(self, may_end: Callable[[Match], trio.Event]) -> None:
        self.most = 50
        self._may_end = may_end
        self.fault_in = 0
        """The number of a match in which the other team is first, and loses by a fault."""

    def make(self, contest: Contest, _: Tournament, hosted: HostedPrograms, publish: Publish) -> Workers:
        self._contest, self._hosted = contest, hosted
        return self

    async def run(self, put_worker: Any, changed: Callable[[], None]) -> None:
        await trio.sleep_forever()

    def is_for(self, _: Match) -> bool:
        return True

    def takes(self, _: Attempt) -> bool:
        return True

    def seat(self, team: int) -> Seat:
        return Seat(self._contest.teams[team], lambda _: None)

    @asynccontextmanager
    async def prepare(self, running: Attempt, is_due: Callable[[], bool]) -> AsyncIterator[Programs | None]:
        versions = self._hosted.versions_for(running.match)
        assert versions is not None
        yield [self._hosted.entry(versions[player]) for player in (0, 1)]

    async def play(self, running: Attempt, sheet: Scoresheet) -> Result:
        match = running.match
        await self._may_end(match).wait()
        loser = 1 if match.first == min(match.teams) else 0
        turn = {"player": loser, "end": str(EndCode.HOSTILE), "detail": "", "ms": 0.0}  # on turn or not
        if match.number == self.fault_in:
            turn = {"player": 0, "fault": "raised", "detail": "ValueError: no", "ms": 1.0, "timed": "kernel"}
        await sheet.write_judged(list(check_lines(sheet.match_state, [json.dumps(turn)])))
        outcome = sheet.match_state.outcome
        assert outcome is not None
        result = unplayed(
            match, outcome.winner, outcome.reason, "", outcome.scores, started=1.7e9, attempt=sheet.attempt
        )
        return sheet.with_totals(result)


def duel(folder: Path, **settings: Any) -> Contest:
    event = {"game": "pseudo_tonga", "settings": {"pairs": 100, **settings}}
    pair = [Bot(folder / f"{name}.py") for name in ("one", "other")]
    contest, bots = duel_contest(folder / "duel", pair, event, {"sandbox": "none"}, at_once=2, seed=1)
    for team in bots:
        add_program(contest.folder, team, "getstep", GET_STEP)
    return contest


async def test_a_verdict_ends_the_duel_and_no_half_pair_counts(tmp_path: Path) -> None:
    """Two pairs at once: pair 6 brings the verdict while one match of pair 7 is over and the other is played."""
    contest = duel(tmp_path, **DEFAULTS | {"elo1": 300.0})
    free, half, never = trio.Event(), trio.Event(), trio.Event()
    free.set()
    held = {(6, 2): half, (7, 2): never}
    workers = Workers(lambda match: held.get((match.pairing, match.leg), free))

    def note(event: Event) -> None:
        if isinstance(event, MatchEnded) and (event.result.match.pairing, event.result.match.leg) == (7, 1):
            half.set()

    bus = Bus()
    bus.subscribe(note, [MatchEnded])
    with trio.fail_after(PATIENCE_SECONDS):
        assert await run_on_cluster(contest, bus, workers.make) is RunOutcome.FINISHED
    score, verdict, *_ = outcome_lines(contest)
    assert score.startswith("6 pairs: 12 won, 0 drawn, 0 lost (100.0%), ")
    assert verdict.startswith("H1 after 6 pairs: ")
    assert sorted(result.match.pairing for result in results_of(contest)) == [*sorted([*range(1, 7)] * 2), 7]


async def test_without_a_test_all_pairs_are_played_and_a_fault_is_told(tmp_path: Path) -> None:
    contest, free = duel(tmp_path, pairs=3), trio.Event()
    free.set()
    workers = Workers(lambda _: free)
    workers.fault_in = 4
    with trio.fail_after(PATIENCE_SECONDS):
        outcome = await run_on_cluster(contest, Bus(), workers.make)
    assert outcome is RunOutcome.FINISHED
    score, verdict, *_, fault, reason = outcome_lines(contest)
    assert score.startswith("3 pairs: 6 won, 0 drawn, 0 lost (100.0%), ")
    assert verdict == "3 of 3 pairs played."
    assert fault == "! other made 1 fault (see rules.md). The first one:"
    assert reason == "match 4, turn 1: raised: ValueError: no"


def test_a_program_is_a_file_a_folder_an_archive_or_a_sample_bot(tmp_path: Path) -> None:
    for name in ("folder", "bot.zip"):
        (tmp_path / name).mkdir()
        assert find_program(str(tmp_path / name)) == Bot(tmp_path / name)
    assert find_program("greedy").file.name == "greedy.py"
    with pytest.raises(UsageError, match="'nobody', expected a program or one of the sample bots: "):
        find_program("nobody")


def test_a_program_that_cannot_be_taken_is_named(tmp_path: Path) -> None:
    contest = duel(tmp_path)
    empty = tmp_path / "empty"
    empty.mkdir()
    bots: Bots = {max(contest.teams): Bot(empty)}
    told: list[str] = []
    with pytest.raises(UsageError, match=r"^other cannot be played with: "):
        add_programs(contest, bots, told.append)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("greedy mcts --dask nowhere", "--dask 'nowhere', expected tcp://HOST:PORT, local:N, "),
        ("greedy mcts --dask local:1 --at-once 1001", "--at-once 1001, expected 1 to 1000"),
        ("greedy mcts --dask local:1 --watch 500", "--watch shows matches that this machine plays; "),
        ("greedy mcts --no-sandbox", "--no-sandbox: without --dask the bots have no sandbox anyway; "),
        ("nobody mcts --dask local:1", "'nobody', expected a program or one of the sample bots: "),
        (
            "greedy house_pseudo_tonga --dask local:1 --game hop",
            "house_pseudo_tonga.py plays pseudo_tonga only; give --game pseudo_tonga",
        ),
    ],
)
def test_wrong_arguments(command: Command, arguments: str, message: str) -> None:
    assert command.complaint("duel", *arguments.split()).startswith(message)
