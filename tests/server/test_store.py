"""The store: what save has returned for is there after a kill, and nothing twice."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from getstep_server.config.database_address import DatabaseAddress
from getstep_server.records.game import MatchLog
from getstep_server.records.game import result_of as read_result
from getstep_server.records.pairings import record_of_pairings
from getstep_server.records.record import hash_of, parse, sealed
from getstep_server.records.result import Result
from getstep_server.storage.database import DatabaseError, StoreError
from getstep_server.storage.disk import more_room_helps
from getstep_server.storage.store import Conflict, Store
from tests.support.patience import PATIENCE_SECONDS
from tests.support.records import PAIRINGS, SCHEDULE, connection_of, record_of, result_of


def results_in(store: Store) -> list[Result]:
    return [read_result(fields) for fields in store.record_headers() if fields.get("type") == "game"]


async def test_everything_comes_back_as_it_went_in(address: DatabaseAddress) -> None:
    results = [result_of(SCHEDULE[3]), result_of(SCHEDULE[0], None), result_of(SCHEDULE[1], ((1, 0, 2), (4,)))]
    with Store(address) as store:
        assert store.record_headers() == []
        await store.save(record_of_pairings(PAIRINGS))
        for result in results:
            await store.save(record_of(result))
    with Store(address) as store:
        assert store.record_headers()[0] == PAIRINGS
        assert len(store.record_headers()) == 4
        assert results_in(store) == results


async def test_a_store_that_is_not_open_is_refused_at_once(tmp_path: Path) -> None:
    """Without its thread nothing would answer, and the caller would wait for ever."""
    store = Store(tmp_path / "contest.db")
    for _ in range(2):
        with pytest.raises(ValueError, match="use it in a with statement"):
            await store.save(record_of_pairings(PAIRINGS))
        with pytest.raises(ValueError, match="use it in a with statement"):
            store.chain()
        if store._thread.ident is None:
            with store:
                await store.save(record_of_pairings(PAIRINGS))


async def test_an_attempt_has_one_record(address: DatabaseAddress) -> None:
    with Store(address) as store:
        await store.save(record_of_pairings(PAIRINGS))
        await store.save(record_of(result_of(SCHEDULE[0])))
        with pytest.raises(DatabaseError):
            await store.save(record_of(result_of(SCHEDULE[0])))
        assert len(results_in(store)) == 1
        assert store.chain()[0] == len(list(store.lines())) == 2


async def test_several_records_are_stored_together_or_not_at_all(address: DatabaseAddress) -> None:
    one, other, third = (record_of(result_of(match)) for match in SCHEDULE[:3])
    with Store(address) as store:
        await store.save(record_of_pairings(PAIRINGS))
        chain = store.chain()
        with pytest.raises(DatabaseError):
            await store.save(one, other, one)
        assert store.chain() == chain
        await store.save(one, other, based_on=1)
        await store.save(third, based_on=3)
        assert [result.match.number for result in results_in(store)] == [1, 2, 3]
        assert store.chain()[0] == len(list(store.lines())) == 4
        with Store(address) as another:
            await store.save(record_of(result_of(SCHEDULE[3])))
            with pytest.raises(Conflict):
                await another.save(*(record_of(result_of(match)) for match in SCHEDULE[4:6]), based_on=4)
        assert store.chain()[0] == 5


async def test_a_full_disk_has_its_own_error_and_nothing_is_half_stored(tmp_path: Path) -> None:
    with Store(tmp_path / "contest.db") as store:
        await store.save(record_of_pairings(PAIRINGS))
        turns = [b'{"player":0,"move":"%b"}' % (b"x" * 100_000)]
        chain, record = store.chain(), record_of(result_of(SCHEDULE[0]), MatchLog(turns))
        limit_pages(store, 1)  # sets it to the current size
        for _ in range(2):
            with pytest.raises(DatabaseError) as caught:
                await store.save(record)
            assert more_room_helps(caught.value)
            assert store.chain() == chain
        limit_pages(store, 1000)
        await store.save(record)
        assert len(results_in(store)) == 1
        assert store.chain()[0] == len(list(store.lines())) == 2


async def test_a_record_that_was_built_on_stale_state_is_rejected(address: DatabaseAddress) -> None:
    """Two processes write, and one of them has not read all records."""
    with Store(address) as one, Store(address) as other:
        await one.save(record_of_pairings(PAIRINGS), based_on=0)
        assert await one.tail(1) == []
        with pytest.raises(Conflict, match="1 records, expected 0"):
            await other.save(record_of(result_of(SCHEDULE[0])), based_on=0)
        assert list(map(parse, await other.tail(0))) == [PAIRINGS]
        await other.save(record_of(result_of(SCHEDULE[0])), based_on=1)
        await other.save(record_of(result_of(SCHEDULE[1])), based_on=2)
        tail = list(map(parse, await one.tail(1)))
        assert [fields["match"] for fields in tail] == [1, 2]
        assert "turns" not in tail[0]
        await one.save(record_of(result_of(SCHEDULE[2])), based_on=3)
        assert [fields["place"] for fields in map(json.loads, one.lines())] == [1, 2, 3, 4]
        for based_on in (3, 5):
            with pytest.raises(Conflict, match=f"4 records, expected {based_on}"):
                await other.save(record_of(result_of(SCHEDULE[3])), based_on=based_on)
        assert len(results_in(one)) == 3


async def test_own_and_foreign_records_are_in_one_tail(address: DatabaseAddress) -> None:
    with Store(address) as one, Store(address) as other:
        for place, match in enumerate(SCHEDULE):
            await (one, other)[place % 2].save(record_of(result_of(match)), based_on=place)
        for place in range(len(SCHEDULE)):
            tail = list(map(parse, await one.tail(place)))
            assert [fields["match"] for fields in tail] == [match.number for match in SCHEDULE[place:]]


async def test_a_record_without_a_base_is_appended_to_any_chain(address: DatabaseAddress) -> None:
    with Store(address) as one, Store(address) as other:
        await one.save(record_of_pairings(PAIRINGS))
        await other.save(record_of(result_of(SCHEDULE[0])))
        await one.save(record_of(result_of(SCHEDULE[1])))
        assert len(one.record_headers()) == 3


def limit_pages(store: Store, most: int) -> None:
    """Make SQLite report a full disk when the database has this many pages."""
    store._run(lambda: connection_of(store).execute(f"PRAGMA max_page_count = {most}"))


async def test_the_records_are_a_chain(address: DatabaseAddress) -> None:
    with Store(address) as store:
        await store.save(record_of_pairings(PAIRINGS))
        turns = MatchLog(
            turns=[b'{"player":0,"move":[0,1],"ms":1.5,"timed":"kernel"}', b'{"player":1,"pass":true}']
        )
        for match in SCHEDULE:
            await store.save(record_of(result_of(match), turns))
        lines = list(store.lines())
        length, last = store.chain()
    records = [json.loads(line) for line in lines]
    assert [record["place"] for record in records] == list(range(1, length + 1))
    assert [record["previous"] for record in records] == ["0" * 64, *(record["hash"] for record in records[:-1])]
    assert [hash_of(line) for line in lines] == [record["hash"] for record in records]
    assert records[-1]["hash"] == last
    assert records[1]["turns"] == [json.loads(turn) for turn in turns.turns]
    assert sealed(b'{"a":1}', 1, "0" * 64)[1] != sealed(b'{"a":1}', 2, "0" * 64)[1]


async def test_a_record_that_cannot_be_stored_leaves_no_trace(
    address: DatabaseAddress, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store(address) as store:
        await store.save(record_of_pairings(PAIRINGS))
        before = store.chain()
        monkeypatch.setattr(Store, "_write_record", None)
        with pytest.raises(TypeError):
            await store.save(record_of(result_of(SCHEDULE[0])))
        assert store.record_headers() == [PAIRINGS]
        assert store.chain() == before


def test_saved_records_survive_a_kill(tmp_path: Path) -> None:
    program = f"""
import os, trio
from pathlib import Path
from getstep_server.records.pairings import record_of_pairings
from tests.support.records import PAIRINGS, SCHEDULE, record_of, result_of
from getstep_server.storage.store import Store

async def main():
    with Store(Path({str(tmp_path / "contest.db")!r})) as store:
        await store.save(record_of_pairings(PAIRINGS))
        await store.save(record_of(result_of(SCHEDULE[0])))
        os.kill(os.getpid(), 9)

trio.run(main)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=Path(__file__).parents[2], timeout=PATIENCE_SECONDS, check=False
    )
    assert done.returncode == -9
    assert (tmp_path / "contest.db-wal").stat().st_size > 0
    with Store(tmp_path / "contest.db") as store:
        assert results_in(store) == [result_of(SCHEDULE[0])]
    assert [path.name for path in tmp_path.iterdir()] == ["contest.db"]  # the last process merges the rest


@pytest.mark.parametrize("content", [b"not a database, not at all, but long enough to look at", b"\0" * 4096])
def test_another_file_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "contest.db"
    path.write_bytes(content)
    with pytest.raises(StoreError, match=r"contest\.db"):
        Store(path).__enter__()
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE chain SET length = length + 5",
        "UPDATE chain SET hash = 'f' || substr(hash, 2)",
        "DELETE FROM chain",
        "INSERT INTO chain SELECT * FROM chain",
        "DELETE FROM records WHERE place = 1",
        "DELETE FROM records WHERE place = 2",
        "DELETE FROM records",
        "UPDATE records SET place = 7 WHERE place = 2",
    ],
)
async def test_records_that_do_not_end_where_the_chain_does(tmp_path: Path, change: str) -> None:
    with Store(tmp_path / "contest.db") as store:
        store.check_end()
        await store.save(record_of_pairings(PAIRINGS))
        await store.save(record_of(result_of(SCHEDULE[0])))
        store.check_end()
    with contextlib.closing(sqlite3.connect(tmp_path / "contest.db", isolation_level=None)) as database:
        assert database.execute(change).rowcount
    with Store(tmp_path / "contest.db") as store, pytest.raises(StoreError, match=r"contest\.db: .*expected"):
        store.check_end()


@pytest.mark.parametrize("empty", [True, False])
def test_a_log_without_its_database_is_not_thrown_away(tmp_path: Path, *, empty: bool) -> None:
    path, log = tmp_path / "contest.db", tmp_path / "contest.db-wal"
    if empty:
        path.touch()
    log.write_bytes(b"what only the log knows")
    with pytest.raises(StoreError, match=r"contest\.db: empty or not there, and contest\.db-wal .* 23 bytes"):
        Store(path).__enter__()
    assert log.read_bytes() == b"what only the log knows"


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
