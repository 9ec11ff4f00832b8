"""A server that goes on where the last one stopped: in the middle of matches, with their clocks, or not at all."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from getstep_server.journal import read, segments

from .conftest import SECONDS, free_port
from .ledger import audit, on_record, read_ledger

if TYPE_CHECKING:
    from .conftest import MakeContest, Program, Programs, Server

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="kills with SIGKILL")

CRASH_SERVER = str(Path(__file__).with_name("crash_server.py"))
BOTS = str(Path(__file__).with_name("crash_bots.py"))


class Hosted:
    """A contest with bots that stay when its servers die."""

    def __init__(self, programs: Programs, folder: Path, teams: int, *, think_seconds: float = 0.02) -> None:
        self.folder = folder
        self.servers: list[Server] = []
        self._programs = programs
        self._teams = teams
        self._think_seconds = think_seconds
        self._ledger = folder.with_name("ledger")
        self._bots: Program | None = None

    def start(self, *server: str) -> Server:
        """A server, and the bots unless they are there."""
        stand_in = {"server": server} if server else {}
        self.servers.append(self._programs.serve(self.folder, "--now", **stand_in))
        if self._bots is None:
            arguments = map(str, (self.servers[-1].port, self._ledger, self._teams, self._think_seconds, 0))
            self._bots = self._programs.start(sys.executable, BOTS, *arguments)
        return self.servers[-1]

    @property
    def segment(self) -> Path:
        """The newest segment of the journal."""
        return segments(self.folder / "running")[-1]

    def turns(self, match: int) -> list[dict[str, Any]]:
        """The turns of a running match in the journal."""
        lines = [line for path in segments(self.folder / "running") for line in read(path).lines]
        return [line.entry for line in lines if line.tag == b"%d-1" % match and "player" in line.entry]

    def in_the_middle(self, *matches: int, turns: int = 6) -> None:
        """Wait until so many turns of each of these matches are played."""
        wait_until(lambda: all(len(self.turns(match)) >= turns for match in matches))

    def kill_in_the_middle(self, *matches: int, turns: int = 6) -> None:
        """Kill the server when so many turns of each of these matches are played."""
        self.in_the_middle(*matches, turns=turns)
        self.servers[-1].signal(signal.SIGKILL)
        assert self.servers[-1].wait() == -signal.SIGKILL

    def asked(self, match: int) -> list[dict[str, Any]]:
        """The questions that the bots were asked in a match."""
        return [line for line in read_ledger(self._ledger) if "asked" in line and line["match"] == match]

    def play_on(self) -> str:
        """Start a server again and see the contest to its end; what that server says."""
        server = self.start()
        assert server.wait() == 0
        assert self._bots is not None
        assert self._bots.wait() == 0
        return server.output

    def complaints(self) -> list[str]:
        """What is wrong with what was announced, and how it was played."""
        record = on_record(self.folder)
        assert len(record.results) == self._teams * (self._teams - 1)
        printed = "".join(server.output for server in self.servers)
        assert "Traceback" not in printed
        return audit(record, read_ledger(self._ledger), printed).complaints


def wait_until(condition: Callable[[], bool]) -> None:
    """Look again and again; a file that grows wakes nobody."""
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


# --- stopped in the middle --------------------------------------------------------------------------------------


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM], ids=lambda stop: stop.name)
def test_a_match_that_was_stopped_goes_on_in_its_middle(
    programs: Programs, make_contest: MakeContest, stop: signal.Signals
) -> None:
    hosted = Hosted(programs, make_contest([""] * 4, game="linkage", port=free_port(), move_seconds=30.0), 4)
    server = hosted.start()
    hosted.in_the_middle(1, 2)
    server.signal(stop)
    assert server.wait() == 130
    played = {match: len(hosted.turns(match)) for match in (1, 2)}
    output = hosted.play_on()
    assert all(f"goes on after turn {turns}." in output for turns in played.values())
    assert hosted.complaints() == []
    resumed = {game["match"]: game["resumed"] for game in on_record(hosted.folder).games if game["resumed"]}
    assert resumed == {match: [turns] for match, turns in played.items()}


def test_a_torn_last_line_is_cut_off_and_told(programs: Programs, make_contest: MakeContest) -> None:
    folder = make_contest(["", ""], game="longest_path", port=free_port(), move_seconds=30.0)
    hosted = Hosted(programs, folder, 2, think_seconds=0.0)
    server = hosted.start(CRASH_SERVER, "turn-torn", "10")
    assert server.wait() == -signal.SIGKILL
    torn = hosted.segment
    assert not torn.read_bytes().endswith(b"\n")
    output = hosted.play_on()
    assert f"! {torn}: line 11 was torn when the server died; that turn is played again" in output
    assert "goes on after turn 9." in output
    assert hosted.complaints() == []


def test_a_damaged_journal_stops_the_start_and_nothing_is_touched(
    programs: Programs, make_contest: MakeContest
) -> None:
    hosted = Hosted(programs, make_contest([""] * 4, game="linkage", port=free_port(), move_seconds=30.0), 4)
    hosted.start()
    hosted.kill_in_the_middle(1, 2)
    damaged = hosted.segment
    whole = damaged.read_bytes()
    lines = whole.splitlines(keepends=True)
    lines[2] = lines[2].replace(b'"ms":', b'"ms":1')
    damaged.write_bytes(b"".join(lines))
    before = {path: path.read_bytes() for path in hosted.folder.glob("running/*")}
    records = on_record(hosted.folder).games

    for _ in range(2):
        refused = hosted.start()
        assert refused.wait() == 1
        assert f"getstep-server: {damaged}, line 3: " in refused.output
        assert {path: path.read_bytes() for path in hosted.folder.glob("running/*")} == before
        assert on_record(hosted.folder).games == records

    damaged.write_bytes(whole)
    asked = {match: len(hosted.asked(match)) for match in (1, 2)}
    turns = {match: len(hosted.turns(match)) for match in (1, 2)}
    damaged.unlink()
    assert "goes on after turn" not in hosted.play_on()
    for match in (1, 2):
        assert turns[match] >= 6
        assert hosted.asked(match)[asked[match]]["move_number"] == 1
    assert {complaint.split()[0] for complaint in hosted.complaints()} == {"asked"}  # all over again
    again = [game for game in on_record(hosted.folder).games if game["match"] in (1, 2)]
    assert [(game["attempt"], game["resumed"]) for game in again] == [(1, []), (1, [])]


# --- clocks -------------------------------------------------------------------------------------------------------


def test_time_that_was_used_stays_used(programs: Programs, make_contest: MakeContest) -> None:
    folder = make_contest(["", ""], game="pseudo_tonga", port=free_port(), budget_seconds=1.0)
    hosted = Hosted(programs, folder, 2, think_seconds=0.08)
    hosted.start()
    hosted.kill_in_the_middle(1, turns=14)
    turns, asked = hosted.turns(1), len(hosted.asked(1))
    player = len(turns) % 2
    used = sum(turn["ms"] for turn in turns if turn["player"] == player)
    assert used > 550
    hosted.play_on()

    again = hosted.asked(1)[asked]
    assert again["move_number"] == len(turns) + 1
    assert again["time_left_ms"] == round(1000 - used)
    game = on_record(folder).games[0]
    assert (game["reason"], game["resumed"]) == ("missed_limit", [len(turns)])
    assert 1000 <= max(game["thought_ms"]) <= 1000 + game["time"]["lag_ms"]
    assert (
        max(sum("move" in t for t in game["turns"] if t["player"] == side) for side in (0, 1)) <= (1.0 + 0.1) / 0.08
    )
    assert hosted.complaints() == []


# --- one at a time, and the last word -----------------------------------------------------------------------------


def test_a_second_run_says_who_has_the_contest_and_leaves_it_alone(
    programs: Programs, make_contest: MakeContest
) -> None:
    folder = make_contest(["", ""], game="longest_path", move_seconds=30.0)
    hosted = Hosted(programs, folder, 2, think_seconds=0.1)
    first = hosted.start()
    hosted.in_the_middle(1)
    second = programs.serve(folder, "--port", "0")
    assert second.wait() == 2
    assert f"in use by process {first._process.pid} on " in second.output
    assert "Listening" not in second.output
    hosted.in_the_middle(1, turns=len(hosted.turns(1)) + 3)
    first.signal(signal.SIGINT)
    assert first.wait() == 130
    assert first.complaints == []


def test_who_was_cut_off_at_the_very_end_hears_that_it_is_over(
    programs: Programs, make_contest: MakeContest
) -> None:
    hosted = Hosted(programs, make_contest(["", ""], game="linkage", port=free_port(), move_seconds=30.0), 2)
    assert hosted.start(CRASH_SERVER, "after-announcing", "2").wait() == -signal.SIGKILL
    output = hosted.play_on()
    assert "0 of 2 matches to play" in output
    assert hosted.complaints() == []
