"""Announcing a contest: the process that does it, its end, changing networks, and machines without multicast."""

from __future__ import annotations

import re
import socket
import sys
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import ifaddr
import pytest
import trio
import zeroconf

from getstep.client.discovery import search
from getstep.client.discovery.network import interfaces
from getstep_server.cli import run as run_command
from getstep_server.cli._helper_processes import COMMAND, Announcer
from getstep_server.cli.main import run_command as run_main
from getstep_server.config.contest import load_contest
from getstep_server.events import Announced, AnnouncedAsAnother, Bus, Event, Listening, NotAnnounced
from getstep_server.net import announcer
from getstep_server.net.announcer import announce, own_addresses, service_label
from tests.support.contests import make_contest
from tests.support.patience import PATIENCE_SECONDS

# --- the names and the addresses --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("Autumn Cup", "Autumn Cup"),
        ("Version 2.0", "Version 2 0"),
        ("...", "getstep"),
        ("x" * 64, "x" * 50),
        ("ä" * 64, "ä" * 25),
        ("😀" * 64, "😀" * 12),
    ],
)
def test_the_label_of_a_service(name: str, label: str) -> None:
    assert service_label(name) == label
    zeroconf.ServiceInfo(announcer.SERVICE, f"{label}-9999.{announcer.SERVICE}", port=1)


@pytest.mark.parametrize(
    ("host", "here", "addresses"),
    [
        ("0.0.0.0", ["127.0.0.1", "192.168.1.10", "10.0.0.7"], ["10.0.0.7", "192.168.1.10"]),
        ("::", ["127.0.0.1", "192.168.1.10"], ["192.168.1.10"]),
        ("0.0.0.0", ["127.0.0.1"], ["127.0.0.1"]),
        ("192.168.1.10", ["127.0.0.1", "10.0.0.7", "192.168.1.10"], ["192.168.1.10"]),
        ("fe80::1", ["192.168.1.10"], []),
    ],
)
def test_the_addresses_at_which_a_server_is(
    host: str, here: list[str], addresses: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ips = [SimpleNamespace(ip=ip) for ip in here] + [SimpleNamespace(ip=("fe80::2", 0, 2))]
    monkeypatch.setattr(ifaddr, "get_adapters", lambda: [SimpleNamespace(ips=ips)])
    assert own_addresses(host) == addresses


# --- the announcement, with a double of the library -------------------------------------------------------------


class Library:
    """Stands in for zeroconf's responder, and notes what is asked of it.

    Args:
        failures: the errors of the first responders.
        taken: the name that another computer announces.
    """

    def __init__(self, *failures: Exception, taken: str = "") -> None:
        self.failures = list(failures)
        self.taken = taken
        self.notes: list[Any] = []

    def responder(self, interfaces: list[str], **_: Any) -> Library:
        if self.failures:
            raise self.failures.pop(0)
        self.notes.append(interfaces)
        return self

    def register_service(self, info: zeroconf.ServiceInfo, *, allow_name_change: bool) -> None:
        if info.name == f"{self.taken}.{announcer.SERVICE}":
            assert not allow_name_change
            raise zeroconf.NonUniqueNameException
        assert (info.host_ttl, info.other_ttl) == (120, 120), "forgotten soon after a power cut"
        self.notes.append(info)

    def get_service_info(self, service: str, name: str, timeout: int) -> zeroconf.ServiceInfo:
        assert timeout <= 1000
        return zeroconf.ServiceInfo(
            service, name, port=7777, addresses=[bytes([10, 0, 0, n]) for n in range(66, 99)]
        )

    def close(self) -> None:
        self.notes.append("closed")


def announced(
    library: Library, monkeypatch: pytest.MonkeyPatch, *networks: list[str], states: int = 1
) -> list[dict[str, str]]:
    """Return the first states of an announcement whose machine has these addresses, one list after the other."""
    left, over, told = list(networks), threading.Event(), []
    here = left[0]

    def addresses(_: str) -> list[str]:
        nonlocal here
        here = left.pop(0) if left else here
        return here

    def tell(state: dict[str, str]) -> None:
        told.append(state)
        if len(told) == states:
            over.set()

    monkeypatch.setattr(announcer, "own_addresses", addresses)
    monkeypatch.setattr(zeroconf, "Zeroconf", library.responder)
    announce("0.0.0.0", 7777, "Autumn", over, tell, check_seconds=1e-3)
    return told


def test_an_announcement_has_the_name_the_port_and_the_version(monkeypatch: pytest.MonkeyPatch) -> None:
    library = Library()
    assert announced(library, monkeypatch, ["10.0.0.7"]) == [{"announced": "Autumn"}]
    interfaces, info, closed = library.notes
    assert (interfaces, closed) == (["10.0.0.7"], "closed")
    assert (info.port, info.parsed_addresses()) == (7777, ["10.0.0.7"])
    computer = socket.gethostname().partition(".")[0]
    assert info.decoded_properties == {"txtvers": "1", "contest": "Autumn", "versions": "1", "host": computer}


def test_a_taken_name_gets_this_computers_behind_it_and_the_host_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: "ada.example.org")
    library = Library(taken="Autumn")
    (state,) = announced(library, monkeypatch, ["10.0.0.7"])
    assert state == {
        "announced": "Autumn (ada)",
        "taken_by": "10.0.0.66, 10.0.0.67, 10.0.0.68, 10.0.0.69",
    }
    assert library.notes[1].decoded_properties["contest"] == "Autumn"


def test_a_label_with_a_computers_name_has_its_place() -> None:
    label = service_label("ä" * 64, "x" * 64)
    assert label == "ä" * 13 + f" ({'x' * 20})"
    zeroconf.ServiceInfo(announcer.SERVICE, f"{label}-9999.{announcer.SERVICE}", port=1)


def test_another_network_gets_the_announcement_too(monkeypatch: pytest.MonkeyPatch) -> None:
    library = Library(zeroconf.NonUniqueNameException())
    told = announced(library, monkeypatch, ["10.0.0.7"], ["10.0.0.7"], ["192.168.1.10"], states=2)
    assert told[1] == {"announced": "Autumn"}
    assert [note for note in library.notes if isinstance(note, list)][-1] == ["192.168.1.10"]


@pytest.mark.parametrize(
    ("library", "addresses", "says"),
    [
        (Library(), [], "no IPv4 address"),
        (Library(*[OSError("Network is unreachable")] * 3), ["10.0.0.7"], "no network with multicast"),
        (Library(*[zeroconf.NotRunningException()] * 3), ["10.0.0.7"], "NotRunning"),
    ],
    ids=["no address", "no multicast", "the library"],
)
def test_a_machine_without_multicast_says_so_once_and_tries_again(
    library: Library, addresses: list[str], says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    networks = [addresses] * 3 if addresses else [[], [], [], ["10.0.0.7"]]
    problem, good = announced(library, monkeypatch, *networks, states=2)
    assert says in problem["problem"]
    assert good == {"announced": "Autumn"}


# --- the process ------------------------------------------------------------------------------------------------


@pytest.fixture
def contest(tmp_path: Path) -> Path:
    return make_contest(tmp_path / "autumn", on_disk=True, patient=True).folder


async def listening(
    folder: Path, command: tuple[str, ...], count: int, then: Callable[[], None] = lambda: None
) -> list[Event]:
    """Run an announcer until ``count`` events were told; call ``then`` in a thread, and return the events."""
    bus, told, enough = Bus(), [], trio.Event()

    def note(event: Event) -> None:
        told.append(event)
        if len(told) == count:
            enough.set()

    bus.subscribe(note, [Announced, AnnouncedAsAnother, NotAnnounced])
    with trio.fail_after(PATIENCE_SECONDS):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(Announcer(load_contest(folder), bus, command).run)
            bus.publish(Listening("127.0.0.1", 7777, None, stamped=True, fence=2))
            await enough.wait()
            await trio.to_thread.run_sync(then)
            nursery.cancel_scope.cancel()
    return told


def script(code: str) -> tuple[str, ...]:
    return sys.executable, "-c", code


async def test_what_the_process_tells_is_published(contest: Path) -> None:
    code = """\
import json, sys
print(json.dumps({"announced": " ".join(sys.argv[1:])}))
print(json.dumps({"announced": "Test (ada)", "taken_by": "10.0.0.66"}))
print("no json")
print(json.dumps({"problem": "a\\nb"}), flush=True)
sys.stdin.read()
"""
    told = await listening(contest, script(code), 3)
    assert told == [
        Announced("127.0.0.1 7777 Test 2"),
        AnnouncedAsAnother("Test (ada)", "10.0.0.66"),
        NotAnnounced("a\\u000ab"),
    ]


async def test_a_process_that_ends_is_told(contest: Path) -> None:
    told = await listening(contest, script("raise SystemExit(3)"), 1)
    log = contest / "announcer.log"
    assert told == [NotAnnounced(f"the process that announces it ended with code 3; see {log}")]


async def test_a_program_that_cannot_start_is_told(contest: Path) -> None:
    assert await listening(contest, ("/nowhere/python",), 1)


@pytest.mark.long
async def test_a_contest_is_found_while_it_is_announced(contest: Path) -> None:
    """The real library, on the loopback interface; the announcement is taken back at the end."""
    name = f"Autumn {uuid.uuid4()}"  # other tests may announce theirs at the same time
    text = (contest / "contest.toml").read_text()
    (contest / "contest.toml").write_text(text.replace('name = "Test"', f'name = "{name}"'))
    own = [interface for interface in interfaces() if interface.is_own]

    def found() -> bool:
        return any(server.contest == name for server in search(networks=own).servers)

    def find() -> None:
        end = time.monotonic() + PATIENCE_SECONDS
        while not found():
            assert time.monotonic() < end

    told = await listening(contest, COMMAND, 1, find)
    assert [type(event) for event in told] == [Announced]
    assert not found()


# --- the command ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("arguments", "started"), [([], 1), (["--no-announce"], 0)])
def test_no_announce_switches_it_off(
    arguments: list[str], started: int, contest: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    starts = []

    class Noting(Announcer):
        async def run(self) -> None:
            starts.append(self)

    monkeypatch.setattr(run_command, "Announcer", Noting)
    text = re.sub("absent_seconds = .*", "absent_seconds = 0.01", (contest / "contest.toml").read_text())
    (contest / "contest.toml").write_text(text)
    assert run_main(["run", str(contest), "--now", "--plain", "--no-web", *arguments]) == 0
    assert len(starts) == started
