"""The start that the host asks for from outside of the server: now, or at a time of day."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
import trio

from getstep_server.config.class_list import NewTeam
from getstep_server.config.contest import init_contest, load_contest
from getstep_server.config.roster import add_teams
from getstep_server.decisions.starting import start, time_of_day
from getstep_server.errors import ConfigError, UsageError
from getstep_server.events import ContestStarted, StartAsked, TeamArrived
from getstep_server.storage.run_status import RunStatus, read_status, write_status
from getstep_server.storage.start_request import StartRequest, ask_for_start, take_start_request
from tests.support.contests import make_contest
from tests.support.patience import PATIENCE_SECONDS
from tests.support.servers import running, seated

SOON = {"absent_seconds": 0.01}


async def test_a_contest_starts_when_the_host_asks_for_it(tmp_path: Path) -> None:
    folder = tmp_path / "autumn"
    init_contest(folder, name="Autumn", games=["hop"], seed=1)
    add_teams(folder, [NewTeam("Ada"), NewTeam("Blaise")])
    contest = load_contest(folder).listening_on(host="127.0.0.1", port=0)
    contest.running.mkdir(exist_ok=True)
    ask_for_start(contest.running, StartRequest("of an earlier run"))
    with pytest.raises(UsageError, match="no server runs the contest"):
        start(folder, "the host Ada")
    async with running(contest) as server:
        assert server.recorder.of(ContestStarted) == []
        await trio.to_thread.run_sync(start, folder, "the host Ada")
        await server.recorder.wait_for(ContestStarted)
        assert server.recorder.of(StartAsked) == [StartAsked("the host Ada", None)]
        with trio.fail_after(PATIENCE_SECONDS):
            while (status := read_status(contest.running)) is None or status.state == "gathering" or status.waiting:
                write_status(contest.running, RunStatus(state="playing"))  # as while matches are played
                await trio.sleep(0.02)
        with pytest.raises(UsageError, match="does not wait for the start"):
            await trio.to_thread.run_sync(start, folder, "the host")


async def test_a_contest_starts_at_the_time_that_the_host_sets(tmp_path: Path) -> None:
    """It waits for the time, even when all teams are there."""
    contest = make_contest(tmp_path, 2, start=SOON)
    async with running(contest) as server, seated(server.port, 1):
        await server.recorder.wait_for(TeamArrived)
        late = time.time() + 1000
        await trio.to_thread.run_sync(ask_for_start, contest.running, StartRequest("the host", late))
        await server.recorder.wait_for(StartAsked)
        with trio.fail_after(PATIENCE_SECONDS):
            while (status := read_status(contest.running)) is None or status.start_at != late:
                await trio.sleep(0.02)  # the file is written in a thread
        async with seated(server.port, 2):
            await server.recorder.wait_for(TeamArrived, 2)
            at = time.time() + 0.2
            await trio.to_thread.run_sync(ask_for_start, contest.running, StartRequest("the host", at))
            assert server.recorder.of(ContestStarted) == []
            await server.recorder.wait_for(ContestStarted)
            assert time.time() >= at


@pytest.mark.parametrize(
    "text", [b"", b"{}", b"[]", b'{"by": 1}', b'{"by": "a\\nb"}', b'{"by": "a", "at": 1e300}', b"x" * 2000]
)
def test_what_is_no_request_is_removed_and_ignored(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "start.json").write_bytes(text)
    assert take_start_request(tmp_path) is None
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_an_error_of_the_host(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"start\.json: cannot be written"):
        ask_for_start(tmp_path / "gone", StartRequest("the host"))
    for text in ("25:00", "now", ""):
        with pytest.raises(UsageError, match="expected a time of day"):
            time_of_day(text, "at")
