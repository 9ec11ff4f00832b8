"""What a worker of a cluster does: it keeps programs, plays the match of an order, and reports."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest
import trio

from getstep_server.bot_runner import program_seats
from getstep_server.bot_runner.hosted_process import HostedJob
from getstep_server.cluster import machine, program_files, worker
from getstep_server.cluster.machine import FOLDER_VARIABLE, calibrate, own_core, shared_folder
from getstep_server.cluster.order import (
    MatchProgress,
    MatchReport,
    check_lines,
    decode_order,
    decode_progress,
    decode_proof,
    encode,
)
from getstep_server.cluster.order import decode_report as decoded
from getstep_server.cluster.program_files import PackedFilesError, ProgramCache, name_of, pack, unpack
from getstep_server.cluster.worker import play_order, prove_worker
from getstep_server.records.game import match_state_of
from getstep_server.sandbox.check import Finding
from getstep_server.sandbox.probes import PROBES
from tests.support.cluster import NEVER, order_of, packed
from tests.support.patience import PATIENCE_SECONDS
from tests.support.submitted_programs import GET_STEP, needs_sandbox

Order = tuple[bytes, dict[str, bytes]]


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "worker"))


def check(order: bytes, report: MatchReport) -> list[dict[str, Any]]:
    """Return the turns of a report, after they were replayed to the result that it tells."""
    assert report.failure == ""
    assert report.played is not None
    state = match_state_of(decode_order(order).head)
    turns = list(check_lines(state, report.lines))
    assert state.outcome is not None
    assert (state.outcome.winner, str(state.outcome.reason)) == (report.played.winner, report.played.reason)
    assert state.turns == report.played.turns
    return turns


# --- matches ----------------------------------------------------------------------------------------------------

WAITS = """\
import time
from pathlib import Path

def get_step(board, is_black):
    while sum(map(any, board)) and not Path({gate!r}).exists():
        time.sleep(0.001)
    return next((r, c) for r, row in enumerate(board) for c, cell in enumerate(row) if not cell)
"""
"""A program that plays its second turn once the gate is open. It has no sandbox, so it sees the gate."""


def test_a_match_is_played_and_its_turns_are_passed_on_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = tmp_path / "gate"
    told: list[str] = []

    def progress(message: bytes) -> None:
        part = decode_progress(message)
        assert part.start == len(told)
        told.extend(part.lines)
        gate.touch()
        raise OSError("spectators miss something, and the match goes on")

    monkeypatch.setattr(worker, "PROGRESS_SECONDS", 0.001)
    order, files = order_of(tmp_path, WAITS.format(gate=str(gate)), GET_STEP, sandbox="none")
    report = decoded(play_order(order, files, progress))
    assert [turn["player"] for turn in check(order, report)] == [0, 1] * 60 + [0]
    assert told
    assert told == report.lines[: len(told)]
    assert report.incidents == []
    assert list((tmp_path / "worker" / "matches").iterdir()) == []


@pytest.mark.long
@needs_sandbox
def test_what_a_program_does_wrong_costs_its_turn(tmp_path: Path) -> None:
    order, files = order_of(tmp_path, GET_STEP, "raise SystemExit(3)")
    turns = check(order, decoded(play_order(order, files)))
    assert {turn.get("fault") for turn in turns if turn["player"] == 1} == {"raised"}
    assert {turn.get("fault") for turn in turns if turn["player"] == 0} == {None}


@pytest.mark.long
@needs_sandbox
def test_several_matches_at_once_share_the_programs_and_the_cores(tmp_path: Path) -> None:
    order, files = order_of(tmp_path)
    reports: list[MatchReport] = []
    threads = [threading.Thread(target=lambda: reports.append(decoded(play_order(order, files)))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [len(check(order, report)) for report in reports] == [121] * 3


FIRST_ORDERS = """\
import sys
import threading
from pathlib import Path
from getstep_server.cluster.order import decode_order
order = Path(sys.argv[1]).read_bytes()
sys.setswitchinterval(1e-7)
gate = threading.Barrier(4)
threads = [threading.Thread(target=lambda: (gate.wait(), decode_order(order))) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


@pytest.mark.long
def test_the_first_orders_of_a_worker_come_at_the_same_time(tmp_path: Path) -> None:
    """msgspec builds what it knows of a model at its first use; two threads that do so crash 2 of 5 processes."""
    (tmp_path / "order").write_bytes(order_of(tmp_path)[0])
    for _ in range(12):
        subprocess.run([sys.executable, "-c", FIRST_ORDERS, str(tmp_path / "order")], check=True)


def test_a_program_that_the_worker_has_not_got_is_named(tmp_path: Path) -> None:
    order, files = order_of(tmp_path, GET_STEP, NEVER)
    first, second = files
    assert set(decoded(play_order(order, {})).missing) == {first, second}
    assert decoded(play_order(order, {second: files[second]})).missing == (first,)


@pytest.mark.parametrize(
    ("order", "files", "reason"),
    [
        (b"{}", {}, "head is missing"),
        (None, {"a" * 64: b"\x90"}, "expected " + "a" * 64),
        (None, {"../../outside": b"\x90"}, "expected ../../outside"),
    ],
)
def test_a_wrong_order_is_a_failure_with_its_reason(
    order: bytes | None, files: dict[str, bytes], reason: str, tmp_path: Path
) -> None:
    sent = order_of(tmp_path)[0] if order is None else order
    assert reason in decoded(play_order(sent, files)).failure


async def waits(*_: object) -> int:
    """Stand in for the process of a hosted program that does not log in."""
    await trio.sleep_forever()
    return 0


@pytest.mark.parametrize("seconds", [0.1, 1e-9])  # the second one is over before the match begins
def test_a_match_ends_at_its_deadline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    monkeypatch.setattr(program_seats, "run_hosted_program", waits)
    order, files = order_of(tmp_path, deadline=seconds)
    assert f"not over after {seconds:g} s" in decoded(play_order(order, files)).failure


def test_a_match_that_the_host_does_not_need_any_more_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program_seats, "run_hosted_program", waits)
    monkeypatch.setattr(worker, "PROGRESS_SECONDS", 0.001)
    stop = threading.Event()
    stop.set()
    order, files = order_of(tmp_path)
    assert "stopped" in decoded(play_order(order, files, stop=stop)).failure


def test_a_match_that_waits_for_a_core_says_so_until_it_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "PROGRESS_SECONDS", 0.001)
    monkeypatch.setattr("getstep_server.cluster.machine.available_cores", lambda: [0])
    stop, told = threading.Event(), list[MatchProgress]()

    def progress(message: bytes) -> None:
        told.append(decode_progress(message))
        stop.set()

    order, files = order_of(tmp_path)
    with own_core(shared_folder(), 0):
        assert "stopped" in decoded(play_order(order, files, progress, stop)).failure
    assert told == [MatchProgress(start=0, lines=[])]


@pytest.mark.parametrize(
    ("lines", "most"),
    [([b'"' * 32_768] * 9, 3), (["\U0001f642".encode() * 32_768] * 2, 1), ([b"{}"] * 5, 5)],
    ids=["quotes", "4 bytes for each character", "few"],
)
def test_as_many_turns_are_passed_on_at_once_as_the_host_takes(lines: list[bytes], most: int) -> None:
    told = [line.decode() for line in worker._first_of(lines)]
    assert len(told) == most
    message = MatchProgress(start=10**18, lines=told)
    assert decode_progress(encode(message)) == message


def test_a_process_that_fails_is_a_failure_of_the_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fails(_: HostedJob, log: Path) -> int:
        log.write_text("no memory")
        return 3

    monkeypatch.setattr(program_seats, "run_hosted_program", fails)
    order, files = order_of(tmp_path)
    failure = decoded(play_order(order, files)).failure
    assert "the program of Team" in failure
    assert "exited with code 3:\nno memory" in failure


def test_a_full_disk_is_a_failure_of_the_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("getstep_server.storage.journal.Journal.flush", full)
    order, files = order_of(tmp_path)
    assert "No space left on device" in decoded(play_order(order, files)).failure


CHILD = """\
import sys
from pathlib import Path
from getstep_server.cluster.worker import play_order
from tests.support.cluster import NEVER, order_of
play_order(*order_of(Path(sys.argv[1]), NEVER, NEVER))
"""


@pytest.mark.long
@needs_sandbox
def test_no_program_outlives_a_worker_that_is_killed(tmp_path: Path) -> None:
    (tmp_path / "contest").mkdir()
    mark = tmp_path / "worker"
    with subprocess.Popen([sys.executable, "-c", CHILD, str(tmp_path / "contest")], cwd=Path.cwd()) as process:
        while len(marked(mark)) < 3:  # the worker, and for each program the process that plays with it
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + PATIENCE_SECONDS
    while left := marked(mark):
        assert time.monotonic() < deadline, left
        time.sleep(0.01)


def marked(folder: Path) -> list[int]:
    """Return the processes whose environment has the folder of the worker, beside this one."""
    wanted, found = f"{FOLDER_VARIABLE}={folder}".encode(), []
    for home in Path("/proc").glob("[0-9]*"):
        try:
            if wanted in (home / "environ").read_bytes() and int(home.name) != os.getpid():
                found.append(int(home.name))
        except OSError:
            continue
    return found


# --- files ------------------------------------------------------------------------------------------------------


def test_files_travel_unchanged(tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "empty").mkdir(parents=True)
    (source / "inner" / "deep").mkdir(parents=True)
    (source / "inner" / "deep" / "data").write_bytes(bytes(range(256)))
    (source / "run").write_bytes(b"#!/bin/sh")
    (source / "run").chmod(0o700)
    (source / "link").symlink_to("/etc/passwd")
    (source / os.fsdecode(b"\xff")).write_bytes(b"a name that is no UTF-8")
    target = tmp_path / "target"
    target.mkdir()
    unpack(pack(source), target)
    assert pack(target) == pack(source)
    assert (target / "empty").is_dir()
    assert (target / "inner" / "deep" / "data").read_bytes() == bytes(range(256))
    assert (target / "run").stat().st_mode & 0o777 == 0o755
    assert not (target / "link").exists()


@pytest.mark.parametrize(
    "path", [b"../out", b"/out", b"", b".", b"..", b"a/../b", b"none/out", b"a\0b", b"file/out", b"x" * 1001]
)
def test_a_path_that_leaves_the_folder_is_refused(path: bytes, tmp_path: Path) -> None:
    data = msgspec.msgpack.encode([[b"a", None, False], [b"file", b"", False], [path, b"", False]])
    with pytest.raises(PackedFilesError, match="below the folder"):
        unpack(data, tmp_path)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xc1",
        b"\x91" * 10_000,
        msgspec.msgpack.encode({}),
        msgspec.msgpack.encode([[b"a"]]),
        msgspec.msgpack.encode([[b"%d" % number, None, False] for number in range(5001)]),
    ],
)
def test_what_are_no_packed_files_is_refused(data: bytes, tmp_path: Path) -> None:
    with pytest.raises(PackedFilesError):
        unpack(data, tmp_path)


def test_packed_files_have_a_bounded_length(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program_files, "_MOST_BYTES", 1)
    with pytest.raises(PackedFilesError, match="at most 1"):
        unpack(b"\x90 ", tmp_path)


def test_a_program_is_unpacked_once(tmp_path: Path) -> None:
    cache, data = ProgramCache(tmp_path / "cache"), packed(tmp_path, GET_STEP)
    assert cache.find(name_of(data)) is None
    folder = cache.add(name_of(data), data)
    assert cache.find(name_of(data)) == folder
    assert pack(folder) == data
    assert cache.add(name_of(data), data) == folder  # by another worker, which was a little slower
    assert [path.name for path in (tmp_path / "cache").iterdir()] == [name_of(data)]


def test_files_with_another_hash_are_refused(tmp_path: Path) -> None:
    cache = ProgramCache(tmp_path / "cache")
    with pytest.raises(PackedFilesError, match="SHA-256"):
        cache.add("a" * 64, packed(tmp_path, GET_STEP))
    assert not (tmp_path / "cache").exists()


def test_files_that_cannot_be_unpacked_leave_nothing_behind(tmp_path: Path) -> None:
    cache, data = ProgramCache(tmp_path / "cache"), msgspec.msgpack.encode([[b"..", b"", False]])
    with pytest.raises(PackedFilesError):
        cache.add(name_of(data), data)
    assert list((tmp_path / "cache").iterdir()) == []


def test_programs_that_were_not_needed_for_long_are_deleted(tmp_path: Path) -> None:
    """The limits: those of the last hour stay, and so many that there are 1000."""
    folder, now = tmp_path / "cache", time.time()
    ages = {f"{number:064}": 3700 + number for number in range(1001)}
    for name, age in {**ages, ".new-killed": 3700, ".new-alive": 3500, "a" * 64: 3500}.items():
        (folder / name).mkdir(parents=True)
        os.utime(folder / name, (now - age, now - age))
    cache = ProgramCache(folder)
    assert cache.find(f"{1000:064}") is not None  # from now on it has been needed
    data = packed(tmp_path, GET_STEP)
    cache.add(name_of(data), data)
    left = {path.name for path in folder.iterdir()}
    assert {f"{0:064}", f"{1000:064}", ".new-alive", "a" * 64, name_of(data)} <= left
    assert not {f"{999:064}", ".new-killed"} & left


# --- the machine ------------------------------------------------------------------------------------------------


def test_each_match_has_a_core_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("getstep_server.cluster.machine.available_cores", lambda: [4, 6])
    with own_core(tmp_path, 0) as first:
        with own_core(tmp_path, 0) as second:
            assert (first, second) == (6, 4)
            with pytest.raises(TimeoutError), own_core(tmp_path, 0):
                pass
        with own_core(tmp_path, 0) as third:
            assert third == 4


def test_a_match_waits_for_a_core(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("getstep_server.cluster.machine.available_cores", lambda: [None])
    held, over = threading.Event(), threading.Event()

    def hold() -> None:
        with own_core(tmp_path, 0):
            held.set()
            over.wait(PATIENCE_SECONDS)

    thread = threading.Thread(target=hold)
    thread.start()
    assert held.wait(PATIENCE_SECONDS)
    threading.Timer(0.05, over.set).start()
    with own_core(tmp_path, time.monotonic() + PATIENCE_SECONDS) as core:
        assert core is None
        assert over.is_set()
    thread.join()


def test_the_folder_of_the_workers_is_theirs_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert shared_folder().stat().st_mode & 0o777 == 0o700
    (tmp_path / "worker").chmod(0o777)
    with pytest.raises(PermissionError, match="others may write"):
        shared_folder()
    assert "others may write" in decoded(play_order(*order_of(tmp_path))).failure
    (tmp_path / "worker").rmdir()
    (tmp_path / "worker").symlink_to(tmp_path)
    with pytest.raises(NotADirectoryError):
        shared_folder()


# --- the proof --------------------------------------------------------------------------------------------------


def proofs(monkeypatch: pytest.MonkeyPatch, *held: bool) -> list[int]:
    """Let the sandbox's trials end so; return a list with an entry for each trial."""
    trials: list[int] = []

    def tried() -> list[Finding]:
        trials.append(len(trials))
        return [Finding(PROBES[0], held[len(trials) - 1], "\x1b[31m")]

    monkeypatch.setattr(machine, "missing", lambda: None)
    monkeypatch.setattr(machine, "try_protections", tried)
    monkeypatch.setattr(machine, "calibrate", lambda: 50.0)
    return trials


def test_a_proof_has_the_table_of_the_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    trials = proofs(monkeypatch, True)
    first, second = (decode_proof(prove_worker()) for _ in range(2))
    assert first.is_protected
    assert first == second
    assert [(row.probe, row.detail) for row in first.sandbox] == [(PROBES[0].name, r"\u001b[31m")]
    assert (first.calibration_ms, first.cores) == (50.0, len(os.sched_getaffinity(0)))
    assert len(trials) == 1


def test_a_sandbox_that_does_not_hold_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    trials = proofs(monkeypatch, False, True)
    assert [decode_proof(prove_worker()).is_protected for _ in range(3)] == [False, True, True]
    assert len(trials) == 2


def test_without_a_sandbox_the_proof_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    proofs(monkeypatch)
    monkeypatch.setattr(machine, "missing", lambda: "install bubblewrap")
    found = decode_proof(prove_worker())
    assert (found.is_protected, found.sandbox, found.sandbox_problem) == (False, (), "install bubblewrap")


def test_the_calibration_is_a_time_of_the_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "_ROUNDS", 2000)
    few = calibrate()
    monkeypatch.setattr(machine, "_ROUNDS", 20_000)
    assert 0 < few < calibrate()


def test_the_folder_of_a_match_of_a_killed_worker_is_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    proofs(monkeypatch, True)
    matches = shared_folder() / "matches"
    for name in ("old", "new"):
        (matches / name).mkdir(parents=True)
    os.utime(matches / "old", (0, 0))
    prove_worker()
    assert [path.name for path in matches.iterdir()] == ["new"]
