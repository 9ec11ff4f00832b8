"""A backup of a contest that runs is a contest that goes on."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import trio

from getstep_server.config.contest import load_contest
from getstep_server.storage import backup
from getstep_server.storage.journal import segments
from getstep_server.storage.recovery import left_running
from getstep_server.storage.store import Store, copy_records
from getstep_server.storage.verify import verify
from tests.support.contests import make_contest
from tests.support.interrupted_contest import wait_until
from tests.support.servers import running, seated

if TYPE_CHECKING:
    from tests.support.command import Command


async def test_a_match_that_ends_during_the_backup_is_in_it_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    short = {"game": "pseudo_tonga", "options": {"size": 6}}
    contest = make_contest(tmp_path / "contest", event=short, on_disk=True)
    target = tmp_path / "copied"
    journal_copied, over = threading.Event(), threading.Event()

    def later(*args: Any) -> tuple[int, str]:
        journal_copied.set()
        over.wait()
        return copy_records(*args)

    monkeypatch.setattr(backup, "copy_records", later)

    def write() -> None:
        with Store(contest.database, reading=True) as store:
            backup.write_backup(contest, store, target)

    async with running(contest) as run, seated(run.port, 1) as one, seated(run.port, 2) as two:
        async with trio.open_nursery() as nursery:

            async def play_to_the_end() -> None:
                await trio.to_thread.run_sync(journal_copied.wait)
                async with trio.open_nursery() as players:
                    players.start_soon(one.play)
                    players.start_soon(two.play)
                await run.finished()
                over.set()

            await trio.to_thread.run_sync(wait_until, lambda: segments(contest.running))
            nursery.start_soon(trio.to_thread.run_sync, write)
            nursery.start_soon(play_to_the_end)
    copied = load_contest(target)
    assert segments(contest.running) == []
    assert segments(copied.running) != []
    with Store(copied.database, reading=True) as store:
        headers = store.record_headers()
        assert verify(copied, store).records == len(headers)
    recorded = {(header["match"], header["attempt"]) for header in headers if header["type"] == "game"}
    assert len(recorded) == 2
    assert left_running(copied.running, recorded) == set()


def test_a_line_that_is_half_written_is_left_out(tmp_path: Path) -> None:
    contest = make_contest(tmp_path / "contest", on_disk=True)
    contest.running.mkdir()
    (contest.running / "segment-1.journal").write_bytes(b"one\ntwo\nthr")
    with Store(contest.database) as store:
        backup.write_backup(contest, store, tmp_path / "copied")
    assert (tmp_path / "copied" / "running" / "segment-1.journal").read_bytes() == b"one\ntwo\n"


def test_a_backup_that_fails_leaves_nothing(
    begun: Path, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "expected a new folder in one that exists" in command.complaint("backup", "autumn", "--to", "autumn")
    assert "expected a new folder in one that exists" in command.complaint("backup", "autumn", "--to", "a/b")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device", "contest.db")

    before = set(tmp_path.rglob("*"))
    with monkeypatch.context() as patched:
        patched.setattr(backup, "copy_records", full)
        assert "contest.db: No space left on device" in command.complaint("backup", "autumn", "--to", "copied")
    assert set(tmp_path.rglob("*")) == before
    assert command("backup", "autumn").code == 0
    (made,) = Path().glob("autumn-*")
    assert command("matches", "list", str(made)).out == command("matches", "list", "autumn").out
