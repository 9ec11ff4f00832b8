"""A contest's records in PostgreSQL: addresses, lost connections, two servers, copies."""

from __future__ import annotations

import contextlib
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
import trio

from getstep_server.config.contest import load_contest
from getstep_server.config.database_address import PostgresAddress, postgres_address
from getstep_server.errors import ConfigError, ContestInUse
from getstep_server.records.pairings import record_of_pairings
from getstep_server.standby.taking import is_free, share_database
from getstep_server.storage import postgres as postgres_module
from getstep_server.storage.contest_state import check_database
from getstep_server.storage.database import DatabaseError, DatabaseProblem, StoreError
from getstep_server.storage.opening import database_exists
from getstep_server.storage.postgres import PostgresDatabase
from getstep_server.storage.store import Conflict, Store
from tests.old_contests.contests import unpack
from tests.support.command import Command
from tests.support.contests import CONTEST, OTHER, TEAM
from tests.support.patience import PATIENCE_SECONDS
from tests.support.postgres import PostgresServer, needs_postgres
from tests.support.random_results import make_up
from tests.support.records import PAIRINGS, SCHEDULE, record_of, result_of

HOP = '[[event]]\ngame = "hop"\n'


# --- addresses --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("postgresql://host/contests#autumn", "postgresql://host/contests#autumn"),
        ("postgres://ada:secret@host:5433/contests#a_1", "postgres://ada:***@host:5433/contests#a_1"),
        ("postgresql://host/db?password=secret&x=y#a", "postgresql://host/db?password=***&x=y#a"),
        (
            "postgresql:///contests?host=/run/postgresql#autumn",
            "postgresql:///contests?host=/run/postgresql#autumn",
        ),
    ],
)
def test_an_address_is_shown_without_its_password(text: str, shown: str) -> None:
    assert str(postgres_address(text)) == shown


@pytest.mark.parametrize(
    "text",
    [
        "postgresql://host/contests",
        "postgresql://host/contests#",
        "postgresql://host/contests#Autumn",
        "postgresql://host/contests#autumn; drop table x",
        "postgresql://host/contests#" + "a" * 64,
        "mysql://host/contests#autumn",
        "autumn",
    ],
)
def test_another_text_is_no_address(tmp_path: Path, text: str) -> None:
    (tmp_path / "contest.toml").write_text(f'{CONTEST}{HOP}[server]\ndatabase = "{text}"\n')
    (tmp_path / "teams.toml").write_text(TEAM + OTHER)
    with pytest.raises(ConfigError, match=r"server\.database = .*expected a PostgreSQL database"):
        load_contest(tmp_path)


def test_a_contest_has_the_address_of_its_file(tmp_path: Path) -> None:
    (tmp_path / "contest.toml").write_text(f'{CONTEST}{HOP}[server]\ndatabase = "postgresql://h/c#autumn"\n')
    (tmp_path / "teams.toml").write_text(TEAM + OTHER)
    assert load_contest(tmp_path).database == PostgresAddress("postgresql://h/c", "autumn")


def test_a_server_that_is_not_there_is_named() -> None:
    address = PostgresAddress("postgresql://ada:secret@127.0.0.1:1/c", "autumn")
    for use in (lambda: Store(address).__enter__(), lambda: database_exists(address)):
        with pytest.raises(StoreError) as told:
            use()
        assert str(told.value).startswith("postgresql://ada:***@127.0.0.1:1/c#autumn: connection failed")
        assert "secret" not in str(told.value)


# --- a real server ----------------------------------------------------------------------------------------------

LONG = [pytest.mark.long, needs_postgres]


@pytest.fixture
def address(postgres: PostgresServer) -> PostgresAddress:
    return postgres.address()


def connection_of(store: Store) -> psycopg.Connection[object]:
    database = store._db
    assert isinstance(database, PostgresDatabase)
    return database._connection


_WAITING = "SELECT pid FROM pg_stat_activity WHERE %s = ANY(pg_blocking_pids(pid))"


class TestServer:
    """What needs a server."""

    pytestmark = LONG

    async def test_a_lost_connection_is_opened_again(self, address: PostgresAddress) -> None:
        with Store(address) as store:
            await store.save(record_of_pairings(PAIRINGS))
            store._run(lambda: connection_of(store).close())
            await store.save(record_of(result_of(SCHEDULE[0])))
            assert store.chain()[0] == 2

    async def test_a_connection_that_is_lost_in_a_transaction_stores_nothing(
        self, address: PostgresAddress, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A new connection in its place would commit the rest, a statement at a time."""
        records = [record_of(result_of(match)) for match in SCHEDULE[:2]]
        with Store(address) as store:
            await store.save(record_of_pairings(PAIRINGS))
            write = Store._chain

            def lose(self: Store) -> tuple[int, str]:
                connection_of(self).close()
                return write(self)

            monkeypatch.setattr(Store, "_chain", lose)
            with pytest.raises(DatabaseError) as lost:
                await store.save(*records)
            assert lost.value.problem is DatabaseProblem.AWAY
            monkeypatch.undo()
            assert store.chain()[0] == len(store.record_headers()) == 1
            await store.save(*records, based_on=1)
            store.check_end()

    def test_a_snapshot_is_not_continued_on_another_connection(self, address: PostgresAddress) -> None:
        with Store(address) as store:
            with store.snapshot():
                store._run(lambda: connection_of(store).close())
                with pytest.raises(DatabaseError, match="lost in a transaction"):
                    store.chain()
            assert store.chain()[0] == 0

    async def test_a_server_that_is_away_is_waited_for(self) -> None:
        with PostgresServer() as server, Store(server.address()) as store:
            await store.save(record_of_pairings(PAIRINGS))
            server.stop()
            for _ in range(2):
                with pytest.raises(DatabaseError) as away:
                    await store.save(record_of(result_of(SCHEDULE[0])))
                assert away.value.problem is DatabaseProblem.AWAY
            server.start()
            await store.save(record_of(result_of(SCHEDULE[0])))
            store.check_end()
            assert store.chain()[0] == 2

    @pytest.mark.parametrize("stored", [True, False])
    async def test_an_answer_that_is_lost_is_asked_for_again(
        self, address: PostgresAddress, monkeypatch: pytest.MonkeyPatch, *, stored: bool
    ) -> None:
        """The connection ends before or after the server has committed, and the client cannot know."""
        with Store(address) as store:
            await store.save(record_of_pairings(PAIRINGS))
            self._lose_next_commit(store, monkeypatch, stored=stored)
            if stored:
                await store.save(record_of(result_of(SCHEDULE[0])), based_on=1)
            else:
                with pytest.raises(DatabaseError):
                    await store.save(record_of(result_of(SCHEDULE[0])), based_on=1)
                await store.save(record_of(result_of(SCHEDULE[0])), based_on=1)
            store.check_end()
            assert store.chain()[0] == 2

    @staticmethod
    def _lose_next_commit(store: Store, monkeypatch: pytest.MonkeyPatch, *, stored: bool) -> None:
        connection = connection_of(store)
        execute = connection.execute

        def lossy(query: Any, *more: Any) -> object:
            if query != "COMMIT":
                return execute(query, *more)
            if stored:
                execute(query)
            connection.close()
            raise psycopg.OperationalError("server closed the connection unexpectedly")

        monkeypatch.setattr(connection, "execute", lossy)

    async def test_only_one_server_runs_a_contest(self, address: PostgresAddress) -> None:
        with Store(address) as one:
            one.claim()
            with Store(address) as other:  # a decision of the host
                await other.save(record_of_pairings(PAIRINGS))
                with pytest.raises(ContestInUse, match="in use by another server"):
                    other.claim()
        with Store(address) as other:
            other.claim()

    async def test_a_lock_that_is_not_released_yet_is_waited_for(
        self, address: PostgresAddress, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """After a cut of the network the server still holds it for the lost connection."""
        monkeypatch.setattr(postgres_module, "_CLAIM_SECONDS", 0.0)
        with Store(address) as store, psycopg.connect(address.url, autocommit=True) as lost:
            store.claim()
            store._run(lambda: connection_of(store).close())
            lost.execute("SELECT pg_advisory_lock(hashtext(%s), 2019)", (f"run {address.schema}",))
            for _ in range(2):  # a connection without the lock must not be used
                with pytest.raises(DatabaseError, match="still has the lock") as away:
                    await store.save(record_of_pairings(PAIRINGS))
                assert away.value.problem is DatabaseProblem.AWAY
            lost.close()
            while True:
                with contextlib.suppress(DatabaseError):
                    await store.save(record_of_pairings(PAIRINGS))
                    break
            assert store.chain()[0] == 1

    async def test_a_server_that_hangs_loses_the_lock_and_stores_nothing_behind_the_next_one(
        self, address: PostgresAddress, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(postgres_module, "LEASE_SECONDS", 1)
        monkeypatch.setattr(postgres_module, "_CLAIM_SECONDS", 0.0)
        with Store(address) as hung, Store(address) as other:
            hung.claim()
            monkeypatch.setattr(postgres_module, "LEASE_SECONDS", 3600)
            while True:
                with contextlib.suppress(ContestInUse):
                    other.claim()
                    break
            await other.save(record_of_pairings(PAIRINGS))
            while True:  # it finds first that its session is over
                with pytest.raises(DatabaseError) as away:
                    await hung.save(record_of_pairings(PAIRINGS), based_on=0)
                assert away.value.problem is DatabaseProblem.AWAY
                if "still has the lock" in str(away.value):
                    break
            assert len(await hung.tail(0)) == 1  # to read needs no lock
            other.close()
            while True:
                try:
                    await hung.save(record_of_pairings(PAIRINGS), based_on=0)
                except DatabaseError:
                    continue
                except Conflict:
                    break

    def test_the_server_notices_too_that_the_network_was_cut(self, address: PostgresAddress) -> None:
        with Store(address) as store:
            settings = {
                name: connection_of(store).execute(f"SHOW tcp_keepalives_{name}").fetchone()
                for name in ("idle", "interval", "count")
            }
        assert settings == {"idle": ("10",), "interval": ("5",), "count": ("3",)}

    async def test_a_commit_that_goes_on_without_its_client_is_waited_for(self, address: PostgresAddress) -> None:
        with Store(address) as store:
            await store.save(record_of_pairings(PAIRINGS))
            database = store._db
            assert isinstance(database, PostgresDatabase)
            with psycopg.connect(address.url) as lost, psycopg.connect(address.url, autocommit=True) as other:
                table = f"{address.schema}.records"
                lost.execute(f"SELECT FROM {address.schema}.chain FOR UPDATE")
                lost.execute(
                    f"INSERT INTO {table} SELECT 2, number, event, pairing, leg, 2, head, turns, previous, 'abc'"
                    f" FROM {table}"
                )
                found: list[bool] = []
                asking = threading.Thread(target=lambda: found.append(database._has_stored([(2, b"abc")])))
                asking.start()
                while asking.is_alive() and other.execute(_WAITING, (lost.info.backend_pid,)).fetchone() is None:
                    pass
                lost.commit()
                asking.join()
            assert found == [True]

    def test_two_processes_may_make_the_tables(self, address: PostgresAddress) -> None:
        failures: list[Exception] = []

        def make() -> None:
            try:
                with Store(address):
                    pass
            except Exception as error:
                failures.append(error)

        threads = [threading.Thread(target=make) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE_SECONDS)
        assert failures == []

    async def test_a_row_that_was_changed_is_found(self, address: PostgresAddress) -> None:
        with Store(address) as store:
            await store.save(record_of_pairings(PAIRINGS))
        check_database(address, lambda: False)
        with psycopg.connect(address.url, autocommit=True) as other:
            other.execute(f"UPDATE {address.schema}.records SET head = replace(head, '1', '2')")
        with pytest.raises(StoreError, match="damaged: the record at place 1 is not what was written"):
            check_database(address, lambda: False)

    def test_a_schema_of_another_version_is_refused(self, address: PostgresAddress) -> None:
        with Store(address):
            pass
        with psycopg.connect(address.url, autocommit=True) as other:
            other.execute(f"UPDATE {address.schema}.chain SET version = 99")
        with pytest.raises(StoreError, match="schema 99, expected 1"):
            Store(address).__enter__()

    def test_a_reader_stores_nothing(self, address: PostgresAddress) -> None:
        with pytest.raises(StoreError, match="no contest in it"):
            Store(address, reading=True).__enter__()
        assert not database_exists(address)
        with Store(address), Store(address, reading=True) as reader:
            assert database_exists(address)
            with pytest.raises(DatabaseError, match="read-only"):
                trio.run(reader.save, record_of_pairings(PAIRINGS))

    def test_a_contest_is_copied_there_and_back(
        self, address: PostgresAddress, tmp_path: Path, command: Command
    ) -> None:
        folder = make_up(tmp_path / "made", [{"game": "hop"}], ["Ada", "Blaise", "Charles"]).folder
        toml, file, old = folder / "contest.toml", folder / "contest.db", tmp_path / "old.db"
        shown = [["standings", str(folder)], ["verify", str(folder)], ["export", str(folder), "--matches"]]
        before = [command(*arguments) for arguments in shown]
        text, url = toml.read_text(), f"{address.url}#{address.schema}"
        copied = command("copy", str(folder), "--to", url)
        assert copied.err == ""
        assert (copied.code, f'[server]: database = "{url}"' in copied.out) == (0, True)
        toml.write_text(text.replace("[server]\n", f'[server]\ndatabase = "{url}"\n'))
        file.rename(old)
        assert [command(*arguments) for arguments in shown] == before
        assert command("copy", str(folder), "--to", str(file)).code == 0
        with Store(old) as one, Store(file) as other:
            assert list(one.lines()) == list(other.lines())
            assert one.incidents() == other.incidents()
        toml.write_text(text)
        again = command("copy", str(folder), "--to", url)
        assert (again.code, "it has records" in again.err) == (1, True)
        assert [command(*arguments) for arguments in shown] == before

    def test_a_copy_goes_on_with_the_records_of_its_host(
        self, address: PostgresAddress, tmp_path: Path, command: Command
    ) -> None:
        folder = unpack("0.1.0/killed", tmp_path / "contest")
        url = f"{address.url}#{address.schema}"
        shutil.copytree(folder, tmp_path / "copy")
        assert command("copy", str(folder), "--to", url).code == 0
        assert is_free(address)
        with Store(address) as host:
            host.claim()
            assert not is_free(address)
        share_database(tmp_path / "copy", address)
        assert load_contest(tmp_path / "copy").database == address
        share_database(tmp_path / "copy", address)  # it does so already

        other = make_up(tmp_path / "other", [{"game": "hop"}], ["Ada", "Blaise", "Charles"]).folder
        before = (other / "contest.toml").read_text()
        with pytest.raises(ConfigError, match="it is of another contest"):
            share_database(other, address)
        assert (other / "contest.toml").read_text() == before

    def test_turns_are_moved_into_a_file_and_back(
        self, address: PostgresAddress, tmp_path: Path, command: Command
    ) -> None:
        folder = unpack("0.1.0/arena", tmp_path / "contest")
        toml, url = folder / "contest.toml", f"{address.url}#{address.schema}"
        assert command("copy", str(folder), "--to", url).code == 0
        toml.write_text(toml.read_text().replace("[server]\n", f'[server]\ndatabase = "{url}"\n'))
        before, file = command("standings", str(folder)), str(tmp_path / "moved.jsonl")
        assert "Moved the turns of 8 matches" in command("archive", str(folder), "--days", "0", "--to", file).out
        assert command("standings", str(folder)) == before
        assert "8 matches could not be replayed" in command("verify", str(folder)).out
        assert "All of these matches" in command("verify", str(folder), "--archive", file).out
        assert command("archive", str(folder), "--restore", file).out == "8 matches have their turns again.\n"
        assert ", 288 turns replayed." in command("verify", str(folder)).out

    def test_a_match_that_was_interrupted_goes_on_with_the_copied_records(
        self, address: PostgresAddress, tmp_path: Path, command: Command
    ) -> None:
        folder = unpack("0.1.0/killed", tmp_path / "contest")
        toml, url = folder / "contest.toml", f"{address.url}#{address.schema}"
        before = command("matches", "list", str(folder))
        assert "running" in before.out
        assert command("copy", str(folder), "--to", url).code == 0
        toml.write_text(toml.read_text().replace("[server]\n", f'[server]\ndatabase = "{url}"\n'))
        assert load_contest(folder).database == address
        assert command("matches", "list", str(folder)) == before


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(capsys)


@pytest.mark.long
@needs_postgres
async def test_a_lost_answer_that_cannot_be_found_out_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([0.0, 1.0, 59.0, 61.0, 100.0])
    monkeypatch.setattr(postgres_module, "monotonic", lambda: next(times))
    monkeypatch.setattr(postgres_module, "_RETRY_SECONDS", 0)
    with PostgresServer() as server, Store(server.address()) as store:
        await store.save(record_of_pairings(PAIRINGS))
        connection = connection_of(store)
        execute = connection.execute

        def lossy(query: Any, *more: Any) -> object:
            if query == "COMMIT":
                server.stop()
            return execute(query, *more)

        monkeypatch.setattr(connection, "execute", lossy)
        with pytest.raises(StoreError, match="the connection was lost while record 2 was stored"):
            await store.save(record_of(result_of(SCHEDULE[0])))


@pytest.mark.long
@needs_postgres
def test_a_server_that_says_nothing_is_given_up() -> None:
    with PostgresServer() as server, Store(server.address()) as store:
        server.suspend()
        try:
            began = time.monotonic()
            with pytest.raises((DatabaseError, StoreError)):
                _within(30, lambda: Store(server.address()).__enter__())
            assert time.monotonic() - began < 20
        finally:
            server.resume()
        assert store.chain()[0] == 0


def _within(seconds: float, function: Callable[[], object]) -> None:
    """Call a function in a thread; raise TimeoutError if it takes longer."""
    raised: list[BaseException] = []

    def call() -> None:
        try:
            function()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        raise TimeoutError
    with contextlib.suppress(IndexError):
        raise raised[0]
