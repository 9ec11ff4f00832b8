"""The store: what save has returned for is there after a kill, and nothing twice."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
import trio

from getstep_server.results import Result
from getstep_server.schedule import Match, double_round_robin
from getstep_server.store import Store, StoreError

SCHEDULE = double_round_robin([1, 2, 3], 7, "pseudo_tonga", {"size": 8})


def result_of(match: Match, scores: object = (3, 2)) -> Result:
    return Result(
        match=match,
        winner=0,
        reason="finished",
        detail="Black ‘wins’",
        scores=scores,  # type: ignore[arg-type]
        turns=9,
        thought=(0.25, 1.5),
        faults=(0, 2),
        started=1.7e9,
        seconds=3.5,
    )


async def test_everything_comes_back_as_it_went_in(tmp_path: Path) -> None:
    results = [result_of(SCHEDULE[3]), result_of(SCHEDULE[0], None), result_of(SCHEDULE[1], ((1, 0, 2), (4,)))]
    with Store(tmp_path / "contest.db") as store:
        assert store.schedule() == []
        assert store.seed() is None
        store.save_schedule(SCHEDULE, 7)
        for result in results:
            await store.save(result)
    with Store(tmp_path / "contest.db") as store:
        assert store.schedule() == SCHEDULE
        assert store.seed() == 7
        assert store.results() == results


async def test_a_match_has_one_result(tmp_path: Path) -> None:
    with Store(tmp_path / "contest.db") as store:
        store.save_schedule(SCHEDULE, 7)
        await store.save(result_of(SCHEDULE[0]))
        with pytest.raises(sqlite3.IntegrityError):
            await store.save(result_of(SCHEDULE[0]))
        assert len(store.results()) == 1


def test_a_schedule_is_stored_whole_or_not_at_all(tmp_path: Path) -> None:
    with Store(tmp_path / "contest.db") as store:
        with pytest.raises(sqlite3.IntegrityError):
            store.save_schedule([*SCHEDULE, SCHEDULE[0]], 7)
        assert store.schedule() == []
        assert store.seed() is None


def test_what_was_saved_survives_a_kill(tmp_path: Path) -> None:
    program = f"""
import os, trio
from pathlib import Path
from tests.server.test_store import SCHEDULE, result_of
from getstep_server.store import Store

async def main():
    with Store(Path({str(tmp_path / "contest.db")!r})) as store:
        store.save_schedule(SCHEDULE, 7)
        await store.save(result_of(SCHEDULE[0]))
        os.kill(os.getpid(), 9)

trio.run(main)
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=Path(__file__).parents[2], timeout=30, check=False)
    assert done.returncode == -9
    with Store(tmp_path / "contest.db") as store:
        assert store.results() == [result_of(SCHEDULE[0])]


@pytest.mark.parametrize("content", [b"not a database, not at all, but long enough to look at", b"\0" * 4096])
def test_another_file_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "contest.db"
    path.write_bytes(content)
    with pytest.raises(StoreError, match=r"contest\.db"):
        Store(path).__enter__()
    assert path.read_bytes() == content


def test_another_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "contest.db"
    database = sqlite3.connect(path)
    database.execute("PRAGMA user_version = 99")
    database.close()
    with pytest.raises(StoreError, match="schema 99, expected 1"):
        Store(path).__enter__()


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="unable to open"):
        Store(tmp_path / "nowhere" / "contest.db").__enter__()


def test_a_schedule_is_replaced_only_while_nothing_is_played(tmp_path: Path) -> None:
    other = double_round_robin([1, 2, 3, 4], 8, "hop", {})
    with Store(tmp_path / "contest.db") as store:
        store.save_schedule(SCHEDULE, 7)
        store.save_schedule(other, 8)
        assert store.schedule() == other
        assert store.seed() == 8
        trio.run(store.save, result_of(other[0]))
        with pytest.raises(sqlite3.IntegrityError):
            store.save_schedule(SCHEDULE, 7)
        assert store.schedule() == other
