"""Judge processes as they are: processes that die, beside a server that dies."""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import trio

from getstep.wire import GetStep, Goodbye, Start, Step
from getstep_server.children import keeping, process
from getstep_server.events import JudgeEnded, MatchEnded, ServerFault
from getstep_server.records.record import parse
from getstep_server.runtime import judges as judges_venue
from getstep_server.storage.journal import segments
from getstep_server.storage.store import Store
from getstep_server.storage.verify import verify
from tests.support.contests import make_contest
from tests.support.crashes import Crashes, Figures, Plan
from tests.support.folder_files import unnamed_in
from tests.support.ledger import on_record
from tests.support.servers import Player, first_legal, running, seated

if TYPE_CHECKING:
    from tests.support.processes import Programs, Server

pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="judge processes need sockets that can be passed on"
)

PLAN = Plan("pseudo_tonga", 4, 0.012, {"server": {"judges": 2}})
"""It lasts some seconds, and longer if matches are played again."""

KILLS = 4
DELAYS = (0.0, 0.2)
"""The shortest and the longest time between a turn in a journal and a kill, or between two kills, in seconds."""


async def play_on(player: Player, start: Start | None, moves: int) -> Start:
    """Make some moves, or as many as there are until the server closes; return the start of the match."""
    while moves and (message := await player.next()) is not None:
        if isinstance(message, Start):
            start = message
        elif isinstance(message, GetStep):
            assert start is not None
            await player.say(Step(message.id, first_legal(start, message)))
            moves -= 1
    assert start is not None
    return start


async def keep_playing(port: int, team: int) -> None:
    async with seated(port, team) as player:
        await player.play()


async def test_a_judge_process_judges_and_may_die(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without it, the server judges the match again, because no other process is started so soon."""
    started: list[trio.Process] = []

    async def start(command: Sequence[str], *, files: Sequence[int]) -> trio.Process:
        started.append(await process.start(command, files=files))
        return started[-1]

    monkeypatch.setattr(judges_venue, "start", start)
    monkeypatch.setattr(keeping, "FIRST_PAUSE_SECONDS", 3600.0)
    short = {"game": "pseudo_tonga", "options": {"size": 6}}
    contest = make_contest(tmp_path, server={"judges": 2}, event=short)
    async with running(contest) as server:
        async with seated(server.port, 1) as one, seated(server.port, 2) as two, trio.open_nursery() as nursery:
            nursery.start_soon(play_on, two, None, 18 + 6)
            await play_on(one, None, 18 + 5)  # the second match is in its middle
            assert server.recorder.of(ServerFault) == []
            for judge in started:
                judge.send_signal(signal.SIGKILL)
            assert (await one.until(Goodbye)).reason == "shutting_down"
            nursery.cancel_scope.cancel()
        assert (await server.recorder.wait_for(JudgeEnded)).code == -signal.SIGKILL
        async with trio.open_nursery() as nursery:
            for team in contest.teams:
                nursery.start_soon(keep_playing, server.port, team)
            await server.finished()
    assert [event.result.turns for event in server.recorder.of(MatchEnded)] == [36, 36]
    with Store(contest.database, reading=True) as store:
        verify(contest, store)
        first, void, second = [game for line in store.lines() if (game := parse(line))["type"] == "game"]
    assert (void["match"], void["reason"], second["attempt"]) == (2, "server_fault", 2)
    moves = [[turn["move"] for turn in game["turns"]] for game in (void, second)]
    assert len(moves[0]) == void["turns_played"] >= 8  # the last answer may not have been read
    assert moves[1][: len(moves[0])] == moves[0]
    assert first["reason"] == second["reason"] == "finished"
    assert segments(contest.running) == []


@pytest.mark.long
def test_nothing_announced_is_lost_when_the_server_dies(programs: Programs, tmp_path: Path) -> None:
    """Its judge processes die with it, and the matches go on where they were."""
    figures, dice = Figures(), random.Random(17)
    undisturbed = Crashes(programs, tmp_path / "undisturbed", Plan("pseudo_tonga", 4, 0.0), figures)
    undisturbed.survive([])
    disturbed = Crashes(programs, tmp_path / "disturbed", PLAN, figures)
    kills = 0
    while kills < KILLS and _playing_judges(disturbed.folder, server := disturbed.running()):
        time.sleep(dice.uniform(*DELAYS))
        server.signal(signal.SIGKILL)
        kills += server.wait() == -signal.SIGKILL
        disturbed.check()
    disturbed.survive([])
    assert kills >= KILLS / 2
    assert on_record(disturbed.folder).played == on_record(undisturbed.folder).played
    assert disturbed.table == undisturbed.table
    assert any(game["resumed"] for game in on_record(disturbed.folder).games)
    assert _journals_of(disturbed.folder) == {}
    assert unnamed_in(disturbed.folder) == []


@pytest.mark.long
def test_no_result_is_lost_when_judge_processes_die(programs: Programs, tmp_path: Path) -> None:
    """Their matches are played again, and each has one record that counts."""
    figures, dice = Figures(), random.Random(18)
    undisturbed = Crashes(programs, tmp_path / "undisturbed", Plan("pseudo_tonga", 4, 0.0), figures)
    undisturbed.survive([])
    disturbed = Crashes(programs, tmp_path / "disturbed", PLAN, figures)
    server = disturbed.running()
    kills = 0
    while kills < KILLS and (judges := _playing_judges(disturbed.folder, server)):
        os.kill(dice.choice(judges), signal.SIGKILL)
        kills += 1
        time.sleep(dice.uniform(*DELAYS))
    assert server.wait() == 0
    assert kills >= KILLS / 2
    assert any(game["reason"] == "server_fault" for game in on_record(disturbed.folder).games)
    assert on_record(disturbed.folder).played == on_record(undisturbed.folder).played
    assert disturbed.table == undisturbed.table


def _playing_judges(folder: Path, server: Server) -> list[int]:
    """Wait for judge processes that write turns, and return their ids; none if the server ends before."""
    before = _journals_of(folder)
    while server.running:
        time.sleep(0.005)
        now = _journals_of(folder)
        if grown := [judge for judge, size in now.items() if before.get(judge, size) < size]:
            return grown
        before = now
    return []


def _journals_of(folder: Path) -> dict[int, int]:
    """Return the ids of the judge processes that have a journal in ``folder`` open, with its size in bytes."""
    found: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        try:
            if b"getstep_server.judges" in (entry / "cmdline").read_bytes():
                for file in [file.readlink() for file in (entry / "fd").iterdir()]:
                    if file.is_relative_to(folder):
                        found[int(entry.name)] = file.stat().st_size
        except OSError:  # it has ended
            continue
    return found
