"""A host that is lost, one that takes over, and the first one that comes back: bots stay, and results stand."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from getstep.languages import LANGUAGES
from getstep_server.config.host_key import bearer_key
from getstep_server.standby.marks import read_mark, write_mark
from tests.support.contests import make_contest, token_of
from tests.support.folder_files import unnamed_in
from tests.support.interrupted_contest import wait_until
from tests.support.languages import of_sdk
from tests.support.ledger import audit, on_record, read_ledger
from tests.support.mdns import announced, packet
from tests.support.postgres import PostgresServer, needs_postgres
from tests.support.processes import free_port
from tests.support.scripts import TEST_BOT

if TYPE_CHECKING:
    from tests.support.processes import Program, Programs

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="stops processes, and needs 127.0.0.2")

FIRST, SECOND, THIRD = "127.0.0.1", "127.0.0.2", "127.0.0.3"
TEAMS = 4

LOOK_SECONDS = 0.2
"""How often `Announcing` looks whether it is to end."""


class Hosts:
    """Hosts at different addresses of this machine, and bots that find all of them."""

    def __init__(
        self, programs: Programs, tmp_path: Path, think_seconds: float, database: str | None = None
    ) -> None:
        self.first, self.second = tmp_path / "first", tmp_path / "second"
        self.ledger = tmp_path / "ledger"
        self._programs = programs
        self._page, port = free_port(), free_port()
        make_contest(
            self.first,
            TEAMS,
            on_disk=True,
            patient=True,
            event={"game": "linkage", "move_seconds": 60.0},
            server={
                "port": port,
                "web_port": self._page,
                "friendly_port": 0,
                **({} if database is None else {"database": database}),
            },
            start={"absent_seconds": 600.0},
        )
        self.key = bearer_key(self.first)
        self.server = self.run(self.first, FIRST)
        self.server.expect("^Listening on")
        arguments = [str(port), str(self.ledger), str(TEAMS), str(think_seconds), FIRST, SECOND, THIRD]
        self.bots = programs.start(sys.executable, "-m", "tests.support.scripts.standby_bots", *arguments)

    def run(self, folder: Path, host: str, *command: str) -> Program:
        words = command or ("run", str(folder))
        options = ("--host", host, "--plain", "--no-announce")
        return self._programs.start(sys.executable, "-m", "getstep_server", *words, *options)

    def follow(self, folder: Path, *more: str) -> Program:
        os.environ["GETSTEP_HOST_KEY"] = self.key
        where = f"{FIRST}:{self._page}"
        return self._programs.start(sys.executable, "-m", "getstep_server", "follow", where, str(folder), *more)

    def told(self) -> set[int]:
        return {line["match"] for line in read_ledger(self.ledger) if "told" in line}


@pytest.fixture
def in_root(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GETSTEP_HOST_KEY", "")
    monkeypatch.setenv("GETSTEP_LOGIN_FILE", str(tmp_path / "no-login.json"))


@pytest.mark.long
@pytest.mark.usefixtures("in_root")
def test_another_host_takes_over_and_the_first_one_stops(programs: Programs, tmp_path: Path) -> None:
    hosts = Hosts(programs, tmp_path, 0.1)
    follower = hosts.follow(hosts.second)
    follower.expect("^The copy is complete")
    wait_until(lambda: len(hosts.told()) >= 2)

    # the whole computer is lost: no process of it is scheduled, and its connections do not end
    stopped = [hosts.server.pid, *_children(hosts.server.pid)]
    for process in stopped:
        os.kill(process, signal.SIGSTOP)
    follower.expect("the copy has .* behind; tries again")
    follower.signal(signal.SIGINT)
    assert follower.wait() == 130
    refused = programs.start(sys.executable, "-m", "getstep_server", "run", str(hosts.second))
    assert refused.wait() == 2
    assert "a copy of the contest that the host at 127.0.0.1 plays" in refused.output
    second = hosts.run(hosts.second, SECOND, "take-over", str(hosts.second))
    second.expect("^On record: this computer plays the contest from here on, with fencing number 4")
    second.expect("^Listening on")
    began = time.monotonic()

    # the first one comes back: it is told, and stops; its bots go to the second one
    for process in stopped:
        os.kill(process, signal.SIGCONT)
    assert hosts.server.wait() == 1
    assert "has taken over this contest, with fencing number 4" in hosts.server.output
    second.expect(r"^\[\d+/12\] ")
    assert time.monotonic() - began < 30
    again = hosts.run(hosts.first, FIRST)
    assert again.wait() == 2
    assert "do not count" in again.output

    assert second.wait() == 0
    assert hosts.bots.wait() == 0
    record = on_record(hosts.second)
    assert len(record.results) == TEAMS * (TEAMS - 1)
    assert [unnamed_in(folder) for folder in (hosts.first, hosts.second)] == [[], []]


@pytest.mark.long
@pytest.mark.usefixtures("in_root")
def test_a_follower_takes_over_by_itself_and_bots_stop_a_host_at_another_address(
    programs: Programs, tmp_path: Path
) -> None:
    hosts = Hosts(programs, tmp_path, 0.1)
    follower = hosts.follow(hosts.second, "--take-over-after", "5")
    follower.expect("^The copy is complete")
    wait_until(lambda: len(hosts.told()) >= 2)
    hosts.server.signal(signal.SIGKILL)
    began = time.monotonic()
    follower.expect("^The host at .* has not answered for 5 s: this computer takes over")
    follower.expect(r"^\[\d+/12\] ")
    assert time.monotonic() - began < 30
    assert follower.wait() == 0
    assert hosts.bots.wait() == 0
    assert len(on_record(hosts.second).results) == TEAMS * (TEAMS - 1)


class Announcing:
    """Answers each search for contests with the same server, at several addresses of this machine."""

    def __init__(self, port: int, addresses: tuple[str, ...]) -> None:
        self._records = announced(port=port, addresses=addresses, contest=b"Test")
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 0))
        self.place = "{}:{}".format(*self._socket.getsockname())
        self._socket.settimeout(LOOK_SECONDS)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while not self._over.is_set():
            try:
                question, client = self._socket.recvfrom(9000)
            except TimeoutError:
                continue
            self._socket.sendto(packet(int.from_bytes(question[:2], "big"), *self._records), client)

    def close(self) -> None:
        self._over.set()
        self._thread.join()
        self._socket.close()


@pytest.mark.long
@pytest.mark.usefixtures("in_root")
def test_of_two_copies_that_take_over_at_once_one_stops(programs: Programs, tmp_path: Path) -> None:
    hosts = Hosts(programs, tmp_path, 0.1)
    copies = {SECOND: hosts.second, THIRD: tmp_path / "third"}
    followers = []
    for folder in copies.values():
        followers.append(hosts.follow(folder))
        followers[-1].expect("^The copy is complete")
    wait_until(lambda: len(hosts.told()) >= 2)
    hosts.server.signal(signal.SIGKILL)
    for follower in followers:
        follower.expect("the copy has .* behind; tries again")
        follower.signal(signal.SIGINT)
        assert follower.wait() == 130
    hosts.bots.end()
    for host, folder in copies.items():  # the first host has seen all of them at the same address
        mark = read_mark(folder)
        assert mark is not None
        assert mark.others == (FIRST,)
        write_mark(folder, replace(mark, others=tuple({SECOND, THIRD} - {host})))
    servers = [hosts.run(folder, host, "take-over", str(folder)) for host, folder in copies.items()]
    assert servers[1].wait() in (1, 2)  # 2: the other one was there before
    assert "has taken over this contest" in servers[1].output
    servers[0].expect("^Listening on")
    servers[0].signal(signal.SIGINT)
    assert servers[0].wait() == 130
    assert "with fencing number 4" in servers[0].output


@pytest.mark.long
@needs_postgres
@pytest.mark.usefixtures("in_root")
def test_with_postgresql_another_host_waits_for_the_lock_and_no_announced_result_is_lost(
    programs: Programs, tmp_path: Path
) -> None:
    with PostgresServer() as postgres:
        address = postgres.address()
        database = f"{address.url}#{address.schema}"
        hosts = Hosts(programs, tmp_path, 0.2, database)
        second = hosts.follow(hosts.second, "--take-over-after", "5", "--database", database)
        second.expect("^The copy is complete")
        wait_until(lambda: len(hosts.told()) >= 2)
        hosts.server.signal(signal.SIGKILL)
        second.expect("^On record: this computer plays the contest from here on, with fencing number 1")

        # the first computer is the standby of the second one
        first = hosts.run(hosts.first, SECOND, "take-over", str(hosts.first))
        first.expect("^Another host plays the contest. This computer takes over once that one is lost")
        told = len(hosts.told())
        wait_until(lambda: len(hosts.told()) > told)
        second.signal(signal.SIGSTOP)
        first.expect("^On record: this computer plays the contest from here on, with fencing number 2")
        second.signal(signal.SIGCONT)
        assert second.wait() == 1
        assert "another host has taken over this contest, with fencing number 2" in second.output

        assert first.wait() == 0
        assert hosts.bots.wait() == 0
        again = hosts.run(hosts.second, FIRST)
        assert again.wait() == 2
        assert "fencing number 2. Each result that was announced is in postgresql://" in again.output
        record = on_record(hosts.first)
        assert len(record.results) == TEAMS * (TEAMS - 1)
        found = audit(record, read_ledger(hosts.ledger), hosts.server.output + second.output + first.output)
        assert (found.lost, found.double) == ([], [])


@pytest.mark.long
@pytest.mark.usefixtures("in_root")
def test_a_bot_in_each_language_plays_on_at_the_new_host(
    programs: Programs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands = {"python": TEST_BOT, **{name: of_sdk(name, "conformance_bot") for name in LANGUAGES}}
    first, second, port, page = tmp_path / "first", tmp_path / "second", free_port(), free_port()
    make_contest(
        first,
        [
            f"sleep {100 + number}" for number in range(len(commands))
        ],  # the test bot does what its opponent's name says
        on_disk=True,
        patient=True,
        event={"game": "linkage", "move_seconds": 60.0},
        server={"port": port, "web_port": page, "friendly_port": 0},
        start={"absent_seconds": 600.0},
    )
    announcing = Announcing(port, (FIRST, SECOND))
    try:
        options = ("--host", FIRST, "--plain", "--no-announce")
        server = programs.start(sys.executable, "-m", "getstep_server", "run", str(first), *options)
        server.expect("^Listening on")
        monkeypatch.setenv("GETSTEP_DISCOVERY", announcing.place)
        bots = {}
        for team, (name, command) in enumerate(commands.items(), start=1):
            saved = tmp_path / f"{name}.json"
            seen = {"contest": "Test", "at": 1.7e9, "over": False}
            login = {"host": FIRST, "port": port, "team": team, "token": token_of(team), "seen": seen}
            saved.write_text(json.dumps(login), encoding="utf-8")
            monkeypatch.setenv("GETSTEP_LOGIN_FILE", str(saved))
            bots[name] = programs.start(*command)
        monkeypatch.setenv("GETSTEP_HOST_KEY", bearer_key(first))
        follower = programs.start(sys.executable, "-m", "getstep_server", "follow", f"{FIRST}:{page}", str(second))
        follower.expect("^The copy is complete")
        server.expect(r"^\[2/20\] ")
        server.signal(signal.SIGKILL)
        lost = time.monotonic()
        follower.expect("the copy has .* behind; tries again")
        follower.signal(signal.SIGINT)
        assert follower.wait() == 130
        options = ("--host", SECOND, "--plain", "--no-announce")
        other = programs.start(sys.executable, "-m", "getstep_server", "take-over", str(second), *options)
        seconds: dict[str, float] = {}

        def all_are_back() -> bool:
            back = [name for name, bot in bots.items() if "Reconnected." in bot.output]
            seconds.update({name: time.monotonic() - lost for name in back if name not in seconds})
            return len(seconds) == len(bots)

        wait_until(all_are_back)
        assert max(seconds.values()) < 30, seconds
        print({name: f"{value:.1f} s" for name, value in seconds.items()})
        assert other.wait() == 0
        assert {name: bot.wait() for name, bot in bots.items()} == dict.fromkeys(bots, 0)
        assert len(on_record(second).results) == 20
    finally:
        announcing.close()


def _children(pid: int) -> list[int]:
    """Return the processes that a process has started, and those that they have."""
    listed = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [one for child in map(int, listed) for one in (child, *_children(child))]
