"""Fixtures of the server's tests."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import trio

from getstep_server.config.contest import Contest, contest_path, database_path, load_contest
from getstep_server.config.database_address import DatabaseAddress
from getstep_server.net import registry
from getstep_server.play import deadlines
from getstep_server.records.pairings import record_of_pairings
from getstep_server.storage.store import Store
from getstep_server.tournament.settings_record import record_of_settings
from getstep_server.tournament.tournament import Tournament
from tests.support.command import Command
from tests.support.decisions import save
from tests.support.played_contests import play_scenes, scenes_of_hop
from tests.support.postgres import PostgresServer, needs_postgres
from tests.support.random_results import half_played
from tests.support.site import Site, without_status
from tests.support.tampering import Forged


@pytest.fixture(scope="session")
def hop_contest(tmp_path_factory: pytest.TempPathFactory) -> Contest:
    """A finished contest in which everything has happened. Tests only read it, or change a copy."""
    return play_scenes(tmp_path_factory.mktemp("played") / "hop", "hop", scenes_of_hop, teams=4)


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    monkeypatch.chdir(tmp_path)
    return Command(capsys)


@pytest.fixture
def jumping_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server for a clock that jumps to the next event: it has no threads, and seldom looks for stalls.

    The clock would jump ahead while all tasks wait for a thread. The event loop is checked for stalls once a
    second: at 50 times a second, as in a contest, that is most of the work of a test in which minutes pass.
    """

    async def run_here(function: Callable[..., Any], *arguments: Any, **_options: Any) -> Any:
        await trio.lowlevel.checkpoint()
        return function(*arguments)

    monkeypatch.setattr(trio.to_thread, "run_sync", run_here)
    monkeypatch.setattr(deadlines, "STALL_CHECK_SECONDS", 1.0)


@pytest.fixture
def nobody_returns(monkeypatch: pytest.MonkeyPatch) -> None:
    """A resumed contest that is over does not wait for its teams to come back for their goodbye: none will."""
    monkeypatch.setattr(registry, "SHUTDOWN_SECONDS", 0.01)


@pytest.fixture
def autumn(command: Command, nobody_returns: None) -> Path:
    """A contest of three teams that nobody plays for: its matches are forfeited after a hundredth of a second."""
    command("init", "autumn", "--name", "Autumn contest")
    command("teams", "add", "autumn", "Ada", "Blaise", "Charles")
    path = Path("autumn/contest.toml")
    text = path.read_text(encoding="utf-8").replace("absent_seconds = 60", "absent_seconds = 0.01")
    path.write_text(text.replace("port = 7777", "port = 0"), encoding="utf-8")
    return Path("autumn")


@pytest.fixture
def seeded(autumn: Path) -> None:
    """The same matches each time."""
    path = contest_path(autumn)
    path.write_text(re.sub(r"(?m)^seed = \d+", "seed = 5", path.read_text(encoding="utf-8")), encoding="utf-8")


@pytest.fixture
def played(command: Command, autumn: Path, seeded: None) -> Path:
    """All six matches of three teams were lost by both."""
    assert command("run", "autumn", "--now").code == 0
    return autumn


@pytest.fixture
def begun(autumn: Path, seeded: None) -> Path:
    """Three teams, six matches, and nothing played."""
    contest = load_contest(autumn)
    tournament = Tournament(contest)
    settings, fields = tournament.settings.due(), tournament.next_pairings(contest.events[0])
    assert settings is not None
    assert fields is not None
    with Store(contest.database) as store:
        save(store, record_of_settings(settings))
        save(store, record_of_pairings(fields))
    return autumn


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A contest of which two of three matches are over."""
    return half_played(tmp_path / "half")


@pytest.fixture
def typed(tmp_path: Path) -> Path:
    """The same contest, for commands."""
    return half_played(tmp_path / "typed")


@pytest.fixture
async def site(folder: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Site]:
    """Its pages, with no other status than the test gives it."""
    async with without_status(folder, monkeypatch) as site:
        yield site


@pytest.fixture
def forged(contest: Contest, tmp_path: Path) -> Iterator[Forged]:
    """A copy of the database of the module's contest, to be changed."""
    copy = Forged(database_path(contest.folder), tmp_path / "contest.db")
    yield copy
    copy.close()


@pytest.fixture
def on_a_lan(monkeypatch: pytest.MonkeyPatch) -> None:
    """The address of this machine on the LAN is 192.0.2.7."""
    monkeypatch.setattr("getstep_server.addresses._routed_address", lambda: "192.0.2.7")


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A PostgreSQL server of the tests' own. Each test takes an `address` in it."""
    with PostgresServer() as server:
        yield server


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=[pytest.mark.long, needs_postgres])])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> DatabaseAddress:
    """The address of an empty database of each kind."""
    if request.param == "sqlite":
        return tmp_path / "contest.db"
    server: PostgresServer = request.getfixturevalue("postgres")
    return server.address()
