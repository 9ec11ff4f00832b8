"""A server resumes where the last one stopped: matches in progress with their clocks, or not at all."""

from __future__ import annotations

import shutil
import signal
import stat
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.interrupted_contest import CRASH_SERVER, Hosted, wait_until
from tests.support.ledger import on_record
from tests.support.processes import free_port

if TYPE_CHECKING:
    from tests.support.contests import MakeContest
    from tests.support.processes import Programs

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="kills with SIGKILL")


# --- stopped in the middle --------------------------------------------------------------------------------------


CTRL_C = pytest.param(signal.SIGINT, marks=pytest.mark.long)  # as SIGTERM; a quick test of test_run sends it


@pytest.mark.parametrize("stop", [CTRL_C, signal.SIGTERM], ids=lambda stop: stop.name)
def test_a_match_that_was_stopped_is_resumed(
    programs: Programs, make_contest: MakeContest, stop: signal.Signals
) -> None:
    hosted = Hosted(programs, make_contest(4, event={"game": "linkage"}, server={"port": free_port()}), 4)
    server = hosted.start()
    hosted.in_the_middle(1, 2)
    server.signal(stop)
    assert server.wait() == 130
    played = {match: len(hosted.turns(match)) for match in (1, 2)}
    output = hosted.play_on()
    assert all(f"resumes after turn {turns}." in output for turns in played.values())
    assert hosted.complaints() == []
    resumed = {game["match"]: game["resumed"] for game in on_record(hosted.folder).games if game["resumed"]}
    assert resumed == {match: [turns] for match, turns in played.items()}


@pytest.mark.long
def test_matches_that_are_played_go_on_from_a_backup(
    programs: Programs, make_contest: MakeContest, tmp_path: Path
) -> None:
    hosted = Hosted(programs, make_contest(4, event={"game": "linkage"}, server={"port": free_port()}), 4)
    server, copied = hosted.start(), tmp_path / "copied"
    hosted.in_the_middle(1, 2, turns=8)  # the bots answer no further question
    (hosted.folder / "programs" / "3").mkdir(parents=True)
    (hosted.folder / "programs" / "3" / "a.zip").write_bytes(b"x")
    command = (sys.executable, "-m", "getstep_server", "backup", str(hosted.folder), "--to", str(copied))
    written = programs.start(*command)
    assert written.wait() == 0
    assert f"to {copied}. The last hash is " in written.output
    files = ["contest.db", "contest.toml", "programs", "running", "teams.toml"]
    assert sorted(path.name for path in copied.iterdir()) == files
    assert stat.S_IMODE(copied.stat().st_mode) == 0o700
    assert (copied / "programs" / "3" / "a.zip").read_bytes() == b"x"
    shutil.rmtree(copied / "programs")  # no version of a program
    server.signal(signal.SIGKILL)
    assert server.wait() == -signal.SIGKILL
    hosted.folder = copied
    assert hosted.play_on().count("resumes after turn 8.") == 2
    assert hosted.complaints() == []


@pytest.mark.long
def test_a_torn_last_line_is_cut_off_and_reported(programs: Programs, make_contest: MakeContest) -> None:
    folder = make_contest(2, event={"game": "longest_path"}, server={"port": free_port()})
    hosted = Hosted(programs, folder, 2)
    hosted.go_on()
    server = hosted.start(CRASH_SERVER, "turn-torn", "10")
    assert server.wait() == -signal.SIGKILL
    torn = hosted.segment
    assert not torn.read_bytes().endswith(b"\n")
    output = hosted.play_on()
    assert f"! {torn}: line 11 was incomplete after a crash; that turn is played again" in output
    assert "resumes after turn 9." in output
    assert hosted.complaints() == []


@pytest.mark.long
def test_a_damaged_journal_stops_the_start_and_nothing_is_touched(
    programs: Programs, make_contest: MakeContest
) -> None:
    hosted = Hosted(programs, make_contest(4, event={"game": "linkage"}, server={"port": free_port()}), 4)
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
    assert "resumes after turn" not in hosted.play_on()
    for match in (1, 2):
        assert turns[match] >= 6
        assert hosted.asked(match)[asked[match]]["move_number"] == 1
    assert {complaint.split()[0] for complaint in hosted.complaints()} == {"asked"}  # all over again
    again = [game for game in on_record(hosted.folder).games if game["match"] in (1, 2)]
    assert [(game["attempt"], game["resumed"]) for game in again] == [(1, []), (1, [])]


# --- clocks -------------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_time_that_was_used_stays_used(programs: Programs, make_contest: MakeContest) -> None:
    """A turn takes a second before the server dies; after it, the bot never answers."""
    budget_ms = 5000.0
    event = {"game": "pseudo_tonga", "budget_seconds": budget_ms / 1000, "settings": {"legs": 1}}
    folder = make_contest(2, event=event, server={"port": free_port()})
    hosted = Hosted(programs, folder, 2, until=3, legs=1)  # the next match would wait for a bot that has hung
    hosted.start(CRASH_SERVER, "turn-written", "4")
    wait_until(lambda: len(hosted.asked(1)) == 3)
    time.sleep(1.0)  # so much of the third turn's time is used at least
    hosted.go_on()
    assert hosted.servers[-1].wait() == -signal.SIGKILL
    hosted.hold()
    turns, asked = hosted.turns(1), len(hosted.asked(1))
    assert len(turns) == 4
    used = sum(turn["ms"] for turn in turns if turn["player"] == 0)
    assert used > 1000
    server = hosted.start()
    server.expect(r"^\[1/1\] .* \(missed_limit: ")
    hosted.go_on()
    assert server.wait() == 0

    again = hosted.asked(1)[asked]
    assert again["move_number"] == len(turns) + 1
    assert again["time_left_ms"] == round(budget_ms - used)
    game = on_record(folder).games[0]
    assert (game["reason"], game["resumed"]) == ("missed_limit", [len(turns)])
    assert game["thought_ms"][0] == budget_ms
    assert hosted.complaints() == []


# --- one at a time, and the last word -----------------------------------------------------------------------------


@pytest.mark.long
def test_a_second_run_names_the_server_that_holds_the_contest_and_changes_nothing(
    programs: Programs, make_contest: MakeContest
) -> None:
    folder = make_contest(2, event={"game": "longest_path"})
    hosted = Hosted(programs, folder, 2)
    first = hosted.start()
    hosted.in_the_middle(1)
    second = programs.serve(folder, "--port", "0")
    assert second.wait() == 2
    assert f"in use by process {first._process.pid} on " in second.output
    assert "Listening" not in second.output
    hosted.go_on()
    assert first.wait() == 0
    assert first.complaints == []
    assert hosted.complaints() == []


@pytest.mark.long
def test_a_bot_that_was_disconnected_at_the_end_gets_its_goodbye(
    programs: Programs, make_contest: MakeContest
) -> None:
    hosted = Hosted(programs, make_contest(2, event={"game": "linkage"}, server={"port": free_port()}), 2)
    hosted.go_on()
    assert hosted.start(CRASH_SERVER, "after-announcing", "2").wait() == -signal.SIGKILL
    output = hosted.play_on()
    assert "The contest is over: all 2 matches are played." in output
    assert hosted.complaints() == []
