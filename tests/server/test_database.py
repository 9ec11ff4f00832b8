"""The database's file: damage is found before a contest is resumed, and reading writes nothing."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import trio

from getstep_server.config.contest import Contest, load_contest
from getstep_server.config.database_address import DatabaseAddress
from getstep_server.events import ContestStarted, DatabaseAway, DiskUsable, Event
from getstep_server.records.pairings import record_of_pairings
from getstep_server.runtime import run
from getstep_server.storage import sqlite
from getstep_server.storage.contest_state import check_database
from getstep_server.storage.database import DatabaseError, DatabaseProblem, ServerAwayError, StoreError
from getstep_server.storage.disk import Disk
from getstep_server.storage.store import Store
from tests.old_contests.contests import unpack
from tests.support.command import Command
from tests.support.patience import PATIENCE_SECONDS
from tests.support.records import PAIRINGS
from tests.support.servers import running
from tests.support.stored_contests import copied

ADVICE = (
    "put a copy of the contest's folder back. Without a copy, save what is left into a new folder with:"
    " getstep-server rescue finished"
)


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(capsys)


@pytest.fixture
def finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nobody_returns: None) -> Path:
    """A copy of a contest that is over."""
    copied("finished", tmp_path / "finished")
    monkeypatch.chdir(tmp_path)
    return Path("finished")


def damage(path: Path, where: float) -> None:
    """Overwrite 200 bytes, that part of the file from its beginning."""
    with path.open("r+b") as file:
        file.seek(int(where * path.stat().st_size))
        file.write(bytes(range(200)))


def unlock(contest: Path) -> Contest:
    return load_contest(contest).listening_on(host="127.0.0.1", port=0, classic_port=None)


# --- damage -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("percent", range(2, 100, 7))
def test_200_damaged_bytes_stop_the_start(finished: Path, command: Command, percent: int) -> None:
    """Or they are where nothing is."""
    path = finished / "contest.db"
    with Store(path, reading=True) as store:
        before = list(store.lines())
    damage(path, percent / 100)
    ran = command("run", "finished", "--now", "--host", "127.0.0.1", "--port", "0")
    if ran.code == 0:
        with Store(path, reading=True) as store:
            assert list(store.lines())[: len(before)] == before
        assert command("verify", "finished").code == 0
        return
    assert ran.code == 1
    assert "The contest begins" not in ran.out
    last = ran.err.splitlines()[-1]
    assert last.startswith("getstep-server: finished/contest.db: ")
    assert last.endswith(ADVICE)
    assert command("verify", "finished").code == 1


def test_most_damage_is_where_something_is(finished: Path) -> None:
    """The test above proves something: in most places the bytes belong to a record, an index or a table."""
    whole, found = (finished / "contest.db").read_bytes(), 0
    for percent in range(2, 100, 7):
        (finished / "contest.db").write_bytes(whole)
        damage(finished / "contest.db", percent / 100)
        try:
            check_database(load_contest(finished).database, lambda: False)
        except StoreError:
            found += 1
    assert found >= 8


def test_a_damaged_index_is_found_by_verify(finished: Path, command: Command) -> None:
    path = finished / "contest.db"
    with contextlib.closing(sqlite3.connect(path)) as file:
        (root,) = file.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'incident_kinds'").fetchone()
        (size,) = file.execute("PRAGMA page_size").fetchone()
    with path.open("r+b") as pages:
        pages.seek((root - 1) * size)
        pages.write(b"\xff" * 8)
    ran = command("verify", "finished")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("getstep-server: finished/contest.db: damaged: ")
    assert ran.err.endswith(f"; {ADVICE}\n")


async def test_the_contest_begins_when_the_check_is_through(
    finished: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is in a thread, so that the teams can arrive at the same time."""
    begun, go_on = threading.Event(), threading.Event()

    def slowly(contest: Contest, stop: object) -> None:
        begun.set()
        go_on.wait(PATIENCE_SECONDS)

    monkeypatch.setattr(run, "check_database", slowly)
    async with running(unlock(finished)) as server:
        await trio.to_thread.run_sync(begun.wait, PATIENCE_SECONDS)
        await trio.testing.wait_all_tasks_blocked()
        assert not server.recorder.of(ContestStarted)
        go_on.set()
        await server.finished()
    assert server.recorder.of(ContestStarted)


async def test_a_check_waits_for_the_database(
    finished: Path, monkeypatch: pytest.MonkeyPatch, autojump_clock: trio.testing.MockClock
) -> None:
    failures: list[Exception] = [
        DatabaseError("the connection was lost", DatabaseProblem.AWAY),
        ServerAwayError("connection refused"),
    ]
    told: list[type[Event]] = []

    def check(address: DatabaseAddress, stop: object) -> None:
        if failures:
            raise failures.pop()

    async def run_here(function: Callable[..., None], *arguments: object, **_: object) -> None:
        function(*arguments)

    monkeypatch.setattr(run, "check_database", check)
    monkeypatch.setattr(trio.to_thread, "run_sync", run_here)
    disk = Disk(finished, lambda event: told.append(type(event)))
    await run._check_database(load_contest(finished), disk)
    assert (failures, told) == ([], [DatabaseAway, DiskUsable])


async def test_a_check_is_given_up_when_the_contest_is_stopped(
    finished: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, over = threading.Event(), threading.Event()

    def endless(contest: Contest, stop: object) -> None:
        begun.set()
        assert callable(stop)
        while not stop():
            pass
        over.set()

    monkeypatch.setattr(run, "check_database", endless)
    async with running(unlock(finished)) as server:
        await trio.to_thread.run_sync(begun.wait, PATIENCE_SECONDS)
        server.over.set()
    await trio.to_thread.run_sync(over.wait, PATIENCE_SECONDS)
    assert over.is_set()


def test_a_check_that_is_given_up_says_nothing(finished: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "_STEPS", 1)
    damage(finished / "contest.db", 0.5)
    with pytest.raises(StoreError, match="damaged: "):
        check_database(load_contest(finished).database, lambda: False)
    check_database(load_contest(finished).database, lambda: True)


# --- reading ----------------------------------------------------------------------------------------------------

READING = [
    "standings {0}",
    "crosstable {0} --event hop",
    "ratings {0} --event hop",
    "matches list {0}",
    "decisions {0}",
    "incidents {0}",
    "show {0} 3 --moves",
    "export {0} --games",
    "export {0} --standings",
    "report {0} --output page.html",
    "verify {0}",
    "teams list {0}",
    "teams slips {0} --text",
]


def content(folder: Path) -> dict[str, bytes]:
    """Return all files of a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("words", READING)
def test_reading_leaves_the_folder_as_it_was(finished: Path, command: Command, words: str) -> None:
    before = content(finished)
    assert command(*words.format("finished").split()).code == 0
    assert content(finished) == before


@pytest.mark.parametrize(
    "words", ["standings autumn", "matches list autumn", "decisions autumn", "incidents autumn"]
)
def test_reading_makes_no_database(
    tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert command("init", "autumn").code == 0
    assert command("teams", "add", "autumn", "Ada", "Blaise").code == 0
    before = content(Path("autumn"))
    assert command(*words.split()).code == 0
    Path("autumn/contest.db").touch()  # a server was killed as it began
    assert command(*words.split()).code == 0
    assert content(Path("autumn")) == {**before, "contest.db": b""}


@pytest.fixture
def read_only(tmp_path: Path) -> Iterator[Path]:
    """Copies of the stored contests in a folder that nobody may write into."""
    for name in ("finished", "killed"):
        copied(name, tmp_path / "media" / name)
    paths = [tmp_path / "media", *(tmp_path / "media").rglob("*")]
    for path in paths:
        path.chmod(0o555 if path.is_dir() else 0o444)
    yield tmp_path / "media"
    for path in paths:
        path.chmod(0o755 if path.is_dir() else 0o644)


_MAY_WRITE_ANYTHING = 1  # CAP_DAC_OVERRIDE
_PR_CAPBSET_DROP = 24


def _as_anybody() -> None:
    """Give up what lets root write into a folder that is read-only."""
    if sys.platform == "linux" and os.geteuid() == 0:
        ctypes.CDLL(None).prctl(_PR_CAPBSET_DROP, _MAY_WRITE_ANYTHING, 0, 0, 0)


_SCRIPT = """
import sys
from getstep_server.cli.main import run_command
for words in sys.argv[1:]:
    print(f"--- {words}", flush=True)
    try:
        print(f"exit {run_command(words.split())}", flush=True)
    except OSError as error:
        print(f"OSError {error}")
"""


def on_media(tmp_path: Path, *commands: str) -> dict[str, str]:
    """Return the output of commands without the right to write; ``media`` holds the contests."""
    ran = subprocess.run(
        [sys.executable, "-c", _SCRIPT, *commands],
        preexec_fn=_as_anybody,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
        check=False,
        cwd=tmp_path,
    )
    parts = ran.stdout.split("--- ")[1:]
    return {words: said for words, _, said in (part.partition("\n") for part in parts)}


def test_a_contest_on_read_only_media_can_be_read(tmp_path: Path, read_only: Path) -> None:
    commands = [words.format("media/finished") for words in READING]
    said = on_media(tmp_path, *commands)
    assert list(said) == commands
    for words, text in said.items():
        assert text.endswith("exit 0\n"), (words, text)
    assert "Everything fits: 48 records" in said["verify media/finished"]
    unpacked = unpack("0.1.0-before-settings/finished", tmp_path / "unpacked")
    assert set(content(read_only / "finished")) == set(content(unpacked))


def test_commands_that_fail_on_read_only_media(tmp_path: Path, read_only: Path) -> None:
    said = on_media(
        tmp_path,
        "standings media/killed",
        "report media/finished",
        "teams slips media/finished",
        "run media/finished --now",
        "teams withdraw media/finished Ada --why x",
    )
    assert (
        "media/killed/contest.db: cannot be read here: the latest records are in contest.db-wal, and this disk"
        " cannot be written (unable to open database file); copy the whole folder to one that can, and read the"
        " copy"
    ) in said["standings media/killed"]
    assert (
        "report_matches: Permission denied; write it somewhere else with --output" in said["report media/finished"]
    )
    assert "slips.html: Permission denied" in said["teams slips media/finished"]
    assert "run.lock: Permission denied" in said["run media/finished --now"]
    for words, text in said.items():
        assert "Traceback" not in text, words
        assert not text.endswith("exit 0\n"), words


def test_a_reader_stores_nothing(finished: Path) -> None:
    with Store(finished / "contest.db", reading=True) as store:
        with pytest.raises(DatabaseError, match="attempt to write a readonly database"):
            trio.run(store.save, record_of_pairings(PAIRINGS))
