"""The benchmark in slices: its figures, slices in which the machine stood still, and whole measurements."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from benchmarks import _contender, slices
from benchmarks._contender import Sample
from benchmarks.slices import report
from tests.support.interrupted_contest import wait_until
from tests.support.languages import need
from tests.support.patience import PATIENCE_SECONDS

BUSY = (Sample(100, 0.02, 0.4), Sample(100, 0.01, 0.4))
IDLE = (Sample(0, 0.0, 0.4), Sample(100, 0.01, 0.4))


def test_a_slice_without_moves_is_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    report(("judge", "floor"), [BUSY, IDLE, BUSY], 0.0)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:7] == ["judge", "200.0", "µs", "CPU", "a", "move,", "250"]
    assert lines[1].endswith("; ratio 2.000 (quartiles 2.000 to 2.000)")


def test_too_few_slices_with_moves_are_no_result() -> None:
    wrong = "2 of 3 rounds have a slice without a move; no moves at the end: judge"
    with pytest.raises(SystemExit, match=wrong):
        report(("judge", "floor"), [BUSY, IDLE, IDLE], 0.0)


def test_steal_time_is_shown_with_its_share(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    report(("judge", "floor"), [BUSY, BUSY], 0.04)  # of 2 s on 2 cores
    assert capsys.readouterr().out.splitlines()[-1] == "2 rounds of 0.5 s; 2 cores, steal time 0.04 s (1.0 %)"


# --- whole measurements -------------------------------------------------------------------------------------------

linux = pytest.mark.skipif(sys.platform != "linux", reason="it reads /proc")

FASTCHESS = f"""\
#!{sys.executable}
import subprocess, sys
told = dict(part.split("=", 1) for part in sys.argv if "=" in part)
engine = subprocess.Popen([told["cmd"], *told["args"].split()], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
moves = []
while True:
    engine.stdin.write(b"position startpos moves %s\\ngo\\n" % b" ".join(moves))
    engine.stdin.flush()
    moves = [*moves[-100:], engine.stdout.readline().split()[1]]
"""
"""A stand-in for it: it asks one engine, without end."""


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder for temporary files, which has to be empty again."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return folder


@linux
@pytest.mark.long  # five programs are started and warm up in turn
def test_all_programs_are_measured_and_leave_nothing(
    temporary: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    need("g++")
    stand_in = tmp_path / "fastchess"
    stand_in.write_text(FASTCHESS)
    stand_in.chmod(stand_in.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(slices, "WARM_UP_SECONDS", 0.1)
    monkeypatch.setattr(slices, "SLICE_SECONDS", 0.3)
    slices.measure(2, [1, 2], 3, None)
    lines = capsys.readouterr().out.splitlines()
    names = [line.partition("  ")[0] for line in lines[:-1]]
    assert names == ["judge", "2 judges", "floor", "floor, 2 processes", "fastchess"]
    assert not list(temporary.iterdir())
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert str(temporary) not in listed


@linux
def test_a_refused_connection_is_named(temporary: Path) -> None:
    with _contender.server("judge", 1) as (judge, port):
        with pytest.raises(SystemExit, match=r"judge: connection 8, of team 99, was refused: .*unknown_team"):
            _contender.log_in(judge, port, 99, 7)


@linux
def test_a_server_that_does_not_start_is_named(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_contender, "GAMES", 10**6)
    with pytest.raises(SystemExit, match=r"judge: start: the program ended with 2;[^\n]*\n.*settings\.legs"):
        with _contender.server("judge", 1):
            pass
    assert not list(temporary.iterdir())


@linux
def test_a_benchmark_that_is_ended_leaves_nothing(temporary: Path) -> None:
    command = [sys.executable, "-m", "benchmarks.judge", "--only", "idle", "--idle", "15000"]
    benchmark = subprocess.Popen(command, cwd=_contender.HERE, stdout=subprocess.DEVNULL)
    wait_until(lambda: any("Listening" in path.read_text() for path in temporary.glob("*/judge.txt")))
    benchmark.send_signal(signal.SIGTERM)
    assert benchmark.wait(PATIENCE_SECONDS) == 128 + signal.SIGTERM
    assert not list(temporary.iterdir())
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert str(temporary) not in listed
