"""The store: what save has returned for is there after a kill, and nothing twice."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import trio

from getstep_server._text import utc_time
from getstep_server.disk import more_room_helps
from getstep_server.game_record import Happened, Record, hash_of, record_of_game, record_of_pairings, sealed
from getstep_server.game_record import result_of as read_result
from getstep_server.results import Result
from getstep_server.schedule import Match
from getstep_server.store import Overtaken, Store, StoreError
from tests.server.players import round_robin

SCHEDULE = round_robin([1, 2, 3], "pseudo_tonga", size=8)
PAIRINGS = {"record": 1, "type": "pairings", "matches": [{"number": match.number} for match in SCHEDULE]}


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


def record_of(result: Result, happened: Happened | None = None) -> Record:
    match = result.match
    head = {
        "record": 1,
        "type": "game",
        "match": match.number,
        "attempt": result.attempt,
        **{name: getattr(match, name) for name in ("event", "round", "pairing", "leg", "game", "options")},
        "teams": [{"id": team, "name": f"Team {team}"} for team in match.teams],
        "started": utc_time(result.started),
    }
    return record_of_game(head, result, happened)


def results_in(store: Store) -> list[Result]:
    return [read_result(fields) for fields in store.heads() if fields.get("type") == "game"]


async def test_everything_comes_back_as_it_went_in(tmp_path: Path) -> None:
    results = [result_of(SCHEDULE[3]), result_of(SCHEDULE[0], None), result_of(SCHEDULE[1], ((1, 0, 2), (4,)))]
    with Store(tmp_path / "contest.db") as store:
        assert store.heads() == []
        await store.save(record_of_pairings(PAIRINGS))
        for result in results:
            await store.save(record_of(result))
    with Store(tmp_path / "contest.db") as store:
        assert store.heads()[0] == PAIRINGS
        assert len(store.heads()) == 4
        assert results_in(store) == results


async def test_an_attempt_has_one_record(tmp_path: Path) -> None:
    with Store(tmp_path / "contest.db") as store:
        await store.save(record_of_pairings(PAIRINGS))
        await store.save(record_of(result_of(SCHEDULE[0])))
        with pytest.raises(sqlite3.IntegrityError):
            await store.save(record_of(result_of(SCHEDULE[0])))
        assert len(results_in(store)) == 1
        assert store.chain()[0] == len(list(store.lines())) == 2


async def test_a_full_disk_is_told_as_one_and_nothing_is_half_stored(tmp_path: Path) -> None:
    with Store(tmp_path / "contest.db") as store:
        await store.save(record_of_pairings(PAIRINGS))
        chain, record = store.chain(), record_of(replace(result_of(SCHEDULE[0]), detail="x" * 100_000))
        limit_pages(store, 1)  # sets it to what is there
        for _ in range(2):
            with pytest.raises(sqlite3.OperationalError) as caught:
                await store.save(record)
            assert more_room_helps(caught.value)
            assert store.chain() == chain
        limit_pages(store, 1000)
        await store.save(record)
        assert len(results_in(store)) == 1
        assert store.chain()[0] == len(list(store.lines())) == 2


async def test_who_is_overtaken_stores_nothing_before_it_knows(tmp_path: Path) -> None:
    """Two processes that go by what they have read."""
    path = tmp_path / "contest.db"
    with Store(path) as one, Store(path) as other:
        assert one.heads() == other.heads() == []
        await one.save(record_of_pairings(PAIRINGS))
        assert await one.news() == []
        with pytest.raises(Overtaken, match="1 records, expected 0"):
            await other.save(record_of(result_of(SCHEDULE[0])))
        assert await other.news() == [PAIRINGS]
        assert await other.news() == []
        await other.save(record_of(result_of(SCHEDULE[0])))
        await other.save(record_of(result_of(SCHEDULE[1])))
        news = await one.news()
        assert [fields["match"] for fields in news] == [1, 2]
        assert "turns" not in news[0]
        await one.save(record_of(result_of(SCHEDULE[2])))
        assert [fields["place"] for fields in map(json.loads, one.lines())] == [1, 2, 3, 4]
        with pytest.raises(Overtaken):
            await other.save(record_of(result_of(SCHEDULE[3])))


async def test_a_record_that_was_made_before_the_news(tmp_path: Path) -> None:
    """They came while it was on its way to the disk."""
    with Store(tmp_path / "contest.db") as one, Store(tmp_path / "contest.db") as other:
        assert one.heads() == other.heads() == []
        seen = one.seen
        await other.save(record_of_pairings(PAIRINGS))
        assert await one.news() == [PAIRINGS]
        with pytest.raises(Overtaken):
            await one.save(record_of(result_of(SCHEDULE[0])), seen=seen)
        await one.save(record_of(result_of(SCHEDULE[0])), seen=one.seen)
        assert len(results_in(one)) == 1


async def test_news_are_handed_out_once_and_after_what_was_saved_before(tmp_path: Path) -> None:
    """Many who save and many who ask, at the same time as another process."""
    order: list[tuple[str, int]] = []
    with Store(tmp_path / "contest.db") as one, Store(tmp_path / "contest.db") as other:
        assert one.heads() == other.heads() == []

        async def save(match: Match) -> None:
            with contextlib.suppress(Overtaken):
                await one.save(record_of(result_of(match)))
                order.append(("saved", match.number))

        async def ask() -> None:
            order.extend(("news", fields["match"]) for fields in await one.news())

        async def save_other() -> None:
            try:
                await other.save(record_of(result_of(SCHEDULE[5])))
            except Overtaken:
                await other.news()
                await save_other()

        for _ in range(20):
            async with trio.open_nursery() as nursery:
                for match in SCHEDULE[:3]:
                    nursery.start_soon(save, match)
                for task in (ask, save_other, ask):
                    nursery.start_soon(task)
            await other.news()
            one._run(lambda: one._db.execute("UPDATE records SET attempt = place + 1000"))  # each may come again
        await ask()
        stored = [fields["match"] for fields in map(json.loads, one.lines())]
    news = [number for kind, number in order if kind == "news"]
    assert len(news) == stored.count(6) > 0
    assert len(order) == len(stored)
    assert places(order) == places([("news" if number == 6 else "saved", number) for number in stored])


def places(order: list[tuple[str, int]]) -> list[int]:
    """How many others had been stored, or were known to be, when each of the news was."""
    return [place for place, (kind, _) in enumerate(order) if kind == "news"]


async def test_who_has_read_nothing_is_not_overtaken(tmp_path: Path) -> None:
    with Store(tmp_path / "contest.db") as one, Store(tmp_path / "contest.db") as other:
        await one.save(record_of_pairings(PAIRINGS))
        await other.save(record_of(result_of(SCHEDULE[0])))
        assert await one.news() == []
        assert len(one.heads()) == 2


def limit_pages(store: Store, most: int) -> None:
    """Have SQLite take the disk for full when the database has so many pages."""
    store._run(lambda: store._db.execute(f"PRAGMA max_page_count = {most}"))


async def test_the_records_are_a_chain(tmp_path: Path) -> None:
    with Store(tmp_path / "contest.db") as store:
        await store.save(record_of_pairings(PAIRINGS))
        turns = Happened(
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
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store(tmp_path / "contest.db") as store:
        await store.save(record_of_pairings(PAIRINGS))
        before = store.chain()
        monkeypatch.setattr(Store, "_write_record", None)
        with pytest.raises(TypeError):
            await store.save(record_of(result_of(SCHEDULE[0])))
        assert store.heads() == [PAIRINGS]
        assert store.chain() == before


def test_what_was_saved_survives_a_kill(tmp_path: Path) -> None:
    program = f"""
import os, trio
from pathlib import Path
from tests.server.test_store import PAIRINGS, SCHEDULE, record_of, record_of_pairings, result_of
from getstep_server.store import Store

async def main():
    with Store(Path({str(tmp_path / "contest.db")!r})) as store:
        await store.save(record_of_pairings(PAIRINGS))
        await store.save(record_of(result_of(SCHEDULE[0])))
        os.kill(os.getpid(), 9)

trio.run(main)
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=Path(__file__).parents[2], timeout=30, check=False)
    assert done.returncode == -9
    assert (tmp_path / "contest.db-wal").stat().st_size > 0
    with Store(tmp_path / "contest.db") as store:
        assert results_in(store) == [result_of(SCHEDULE[0])]
    assert [path.name for path in tmp_path.iterdir()] == ["contest.db"]  # who ends last merges what was left


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
