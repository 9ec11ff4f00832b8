"""Finding servers: the question, hostile answers, the choice, and playing on a found server only with its proof."""

from __future__ import annotations

import contextlib
import io
import selectors
import socket
import struct
import sys
import time
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest
import zeroconf
from hypothesis import given
from hypothesis import strategies as st

from getstep import Refused
from getstep.cli import main
from getstep.client import saved_login
from getstep.client.client import Client
from getstep.client.discovery import (
    DnsError,
    Finder,
    FoundServer,
    NoneChosen,
    SearchResult,
    find_one,
    finder,
    parse_answer,
    question,
    search,
)
from getstep.client.discovery.finder import listing
from getstep.client.discovery.network import Interface, _Asking, _by_address, interfaces
from getstep.client.saved_login import SavedLogin, Seen
from getstep.client.settings import Address, Login
from getstep.text import Console
from getstep.turn import Callback
from getstep.wire import CLOSED, Goodbye, Join
from tests.support.fake_server import OVER, TEAM, TOKEN, FakeServer, Script, Session, no_proof, wrong_proof
from tests.support.mdns import (
    PTR,
    RESPONSE,
    SERVICE,
    SRV,
    TXT,
    A,
    Responder,
    announced,
    found,
    name,
    packet,
    record,
)
from tests.support.patience import PATIENCE_SECONDS

NUMBER = 4711
LOOPBACK = [Interface(0, "lo")]


# --- the packets -----------------------------------------------------------------------------------------------


def test_the_question_is_one_packet_for_the_service() -> None:
    assert question(NUMBER) == struct.pack(">6H", NUMBER, 0, 1, 0, 0, 0) + name(SERVICE) + b"\0\x0c\0\x01"


def test_an_answer_has_the_name_the_port_and_the_addresses() -> None:
    records = announced("Autumn", port=7001, addresses=("10.0.0.7", "192.168.1.10"), contest=b"Herbst 1")
    (server,) = parse_answer(packet(NUMBER, *records), NUMBER)
    assert (server.instance, server.contest, server.port, server.computer) == ("Autumn", "Herbst 1", 7001, "")
    assert server.addresses == ("10.0.0.7", "192.168.1.10")


def test_an_answer_has_the_name_of_the_computer() -> None:
    (server,) = parse_answer(packet(NUMBER, *announced(contest=b"Autumn", computer=b"ada\x1b")), NUMBER)
    assert server.computer == "ada\\x1b"


@pytest.mark.parametrize(
    ("text", "fence"), [(b"2", 2), (b"2147483647", 2**31 - 1), (b"2147483648", 0), (b"-1", 0), (b"x", 0), (b"", 0)]
)
def test_an_answer_may_have_the_fencing_number(text: bytes, fence: int) -> None:
    records = announced()
    words = [b"txtvers=1", b"fence=" + text]
    records[2] = record(name(f"Autumn.{SERVICE}"), TXT, b"".join(bytes([len(word)]) + word for word in words))
    (server,) = parse_answer(packet(NUMBER, *records), NUMBER)
    assert server.fence == fence


def test_the_highest_fencing_number_is_tried_first() -> None:
    hosts = [
        FoundServer("Autumn", (Address(f"10.0.0.{n}", 7777),), "", fence) for n, fence in ((1, 1), (2, 0), (3, 2))
    ]
    trying = finder.chosen((*hosts, FoundServer("Other", (Address("10.0.0.9", 7777),), "", 9)), "Autumn")
    assert [server.fence for server in trying] == [2, 1, 0]


def test_names_may_be_compressed_repeated_and_in_capitals() -> None:
    asked = name("_GETSTEP._tcp.Local") + b"\0\x0c\0\x01"
    service = b"\xc0\x0c"
    instance = b"\x06Autumn" + service
    records = [record(service, PTR, instance)]
    at = 12 + len(asked) + len(records[0]) - len(instance)
    own = struct.pack(">H", 0xC000 | at)
    records += [record(own, SRV, struct.pack(">3H", 0, 0, 7777) + name("Host.local")), record(own, TXT, b"\0")]
    records.append(record(name("hOST.LOCAL"), A, bytes([10, 0, 0, 7])))
    (server,) = parse_answer(packet(NUMBER, *records, questions=asked, count=1), NUMBER)
    assert (server.contest, server.port, server.addresses) == ("Autumn", 7777, ("10.0.0.7",))


@pytest.mark.parametrize(
    "records",
    [
        announced(port=0),
        announced(addresses=()),
        announced(service="_http._tcp.local"),
        announced()[1:],
        [announced()[0], *announced()[2:]],
        [record(name(SERVICE), PTR, name(SERVICE)), *announced()[1:]],
        [record(name(SERVICE), PTR, name(f"Autumn.{SERVICE}"), lifetime=0), *announced()[1:]],
        [record(name(SERVICE), PTR, name(f"Autumn.{SERVICE}"), network=3), *announced()[1:]],
        [*announced(addresses=()), record(name("host-7777.local"), A, bytes(16))],
    ],
    ids=["port 0", "no address", "another service", "no PTR", "no SRV", "no name", "over", "class", "long address"],
)
def test_an_incomplete_announcement_is_none(records: list[bytes]) -> None:
    assert parse_answer(packet(NUMBER, *records), NUMBER) == []


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (packet(NUMBER + 1, *announced()), "not an answer"),
        (packet(NUMBER, *announced(), flags=0), "not an answer"),
        (packet(NUMBER, *announced(), flags=RESPONSE | 3), "not an answer"),
        (packet(NUMBER, *announced())[:-1], "ends"),
        (packet(NUMBER, record(b"\xc0\x0c", PTR, b"")), "wrong pointer"),
        (packet(NUMBER, record(b"\xc0\xff", PTR, b"")), "wrong pointer"),
        (packet(NUMBER, record(b"\x40" + bytes(70), PTR, b"")), "wrong form"),
        (packet(NUMBER, record(b"\x3fshort\0", PTR, b"")), "wrong form"),
        (b"", "too early"),
    ],
)
def test_what_is_no_answer(data: bytes, says: str) -> None:
    with pytest.raises(DnsError, match=says):
        parse_answer(data, NUMBER)


@pytest.mark.parametrize(("records", "accepted"), [(64, True), (65, False)])
def test_a_packet_has_64_records(records: int, accepted: bool) -> None:
    data = packet(NUMBER, *announced(), *[record(b"\0", TXT, b"\0")] * (records - 4))
    assert _accepted(data) == accepted


@pytest.mark.parametrize(("count", "accepted"), [(4, True), (5, False)])
def test_an_answer_repeats_four_questions(count: int, accepted: bool) -> None:
    assert _accepted(packet(NUMBER, *announced(), questions=b"\0\0\x0c\0\x01" * count, count=count)) == accepted


@pytest.mark.parametrize(("labels", "accepted"), [(127, True), (128, False)])
def test_a_name_has_255_bytes(labels: int, accepted: bool) -> None:
    data = packet(NUMBER, *announced(), record(b"\x01a" * labels + b"\0", TXT, b"\0"))
    assert _accepted(data) == accepted


@pytest.mark.parametrize(("pointers", "accepted"), [(8, True), (9, False)])
def test_a_name_has_eight_pointers(pointers: int, accepted: bool) -> None:
    """Each points to the one before it, and the first to a name."""
    chain, at = b"\0", 12 + 10 + 1
    for _ in range(pointers - 1):
        chain += struct.pack(">H", 0xC000 | (at if len(chain) == 1 else at + len(chain) - 2))
    last = struct.pack(">H", 0xC000 | (at + len(chain) - (2 if pointers > 1 else 1)))
    data = packet(NUMBER, record(b"\0", TXT, chain), record(last, TXT, b"\0"), *announced())
    assert _accepted(data) == accepted


def _accepted(data: bytes) -> bool:
    try:
        return len(parse_answer(data, NUMBER)) == 1
    except DnsError:
        return False


def test_a_server_has_eight_addresses() -> None:
    many = tuple(f"10.0.0.{number}" for number in range(1, 20))
    (server,) = parse_answer(packet(NUMBER, *announced(addresses=many)), NUMBER)
    assert server.addresses == many[:8]


def test_a_name_is_short_and_safe_to_print() -> None:
    hostile = "\x1b[2J\u202e\n".encode() + b"\xff" + b"x" * 200
    (server,) = parse_answer(packet(NUMBER, *announced(contest=hostile)), NUMBER)
    assert server.contest == "\\x1b[2J\\u202e\\n\ufffd" + "x" * 57
    assert server.contest.isprintable()


@given(st.binary(max_size=600))
def test_any_bytes_are_an_answer_or_an_error(data: bytes) -> None:
    for sent in (data, struct.pack(">2H", NUMBER, RESPONSE) + data):
        with contextlib.suppress(DnsError):
            assert all(server.contest.isprintable() for server in parse_answer(sent, NUMBER))


@given(st.data())
def test_a_damaged_answer_is_an_answer_or_an_error(data: st.DataObject) -> None:
    good = bytearray(packet(NUMBER, *announced(contest=b"Autumn")))
    for _ in range(data.draw(st.integers(1, 5))):
        good[data.draw(st.integers(12, len(good) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(DnsError):
        parse_answer(bytes(good), NUMBER)


# --- a search --------------------------------------------------------------------------------------------------


def searched(*answers: list[bytes], own: bool = True, questions: int = 1, other_port: bool = False) -> SearchResult:
    """Return the result of a search that a responder on the loopback interface answers."""
    with Responder(*answers, questions=questions, other_port=other_port) as responder:
        return search(PATIENCE_SECONDS, [Interface(0, "lo" if own else "eth0")], responder.place)


def test_a_search_returns_each_server_once_sorted_by_name() -> None:
    spring, autumn = announced("Spring", port=7001), announced("Autumn", addresses=("10.0.0.7",))
    result = searched(spring, autumn, spring, announced("autumn", addresses=("10.0.0.8",)))
    assert [str(server) for server in result.servers] == [
        "'Autumn' at 10.0.0.7:7777, 10.0.0.8:7777",
        "'Spring' at 192.168.1.10:7001",
    ]
    assert result.servers[0].addresses == (Address("10.0.0.7", 7777), Address("10.0.0.8", 7777))


def test_the_address_that_has_answered_comes_first() -> None:
    (server,) = searched(announced(addresses=("172.17.0.1", "127.0.0.1"))).servers
    assert [address.host for address in server.addresses] == ["127.0.0.1", "172.17.0.1"]


@pytest.mark.parametrize("address", ["0.0.0.0", "224.0.0.251", "255.255.255.255", "127.0.0.1"])
def test_addresses_at_which_no_other_computer_can_be(address: str) -> None:
    assert searched(announced(addresses=(address,)), own=False).servers == ()


def test_a_server_on_many_networks_has_eight_addresses() -> None:
    many = [announced(addresses=(f"10.0.0.{number}",)) for number in range(1, 20)]
    (server,) = searched(*many).servers
    assert len(server.addresses) == 8


def test_a_search_reads_256_packets() -> None:
    began = time.monotonic()
    assert len(searched(announced()).servers) == 1
    assert time.monotonic() - began < PATIENCE_SECONDS, "it was not ended by its time"


def test_answers_from_another_port_are_not_read() -> None:
    assert searched(announced(), other_port=True) == SearchResult(())


def test_a_packet_has_9000_bytes() -> None:
    padding = [record(b"\0", TXT, bytes([255]) + bytes(255))] * 40
    assert searched([*announced(), *padding]) == SearchResult(())
    assert len(searched([*announced(), *padding[:30]]).servers) == 1


def test_a_computer_without_a_network_that_can_be_asked() -> None:
    assert search(PATIENCE_SECONDS, []) == SearchResult((), asked=False)


def test_where_an_interface_cannot_be_chosen_the_system_chooses() -> None:
    gone = [Interface(2**30, "gone"), Interface(2**30 + 1, "gone, too")]
    with Responder(announced(), questions=1) as responder:
        assert len(search(PATIENCE_SECONDS, gone, responder.place).servers) == 1


def test_when_all_networks_have_gone_nothing_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows refuses to wait for no socket."""

    class Windows(selectors.DefaultSelector):
        def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
            assert self.get_map(), "[WinError 10022] An invalid argument was supplied"
            return super().select(0)

    monkeypatch.setattr(selectors, "DefaultSelector", Windows)
    with ExitStack() as stack:
        asking = _Asking(NUMBER, ("0.0.0.0", 0), LOOPBACK, stack)  # to port 0 nothing can be sent
        assert asking.receive(0)
        asking.send()
        assert not asking.sockets
        assert not asking.receive(PATIENCE_SECONDS)


def test_a_search_asks_again_if_there_is_no_answer() -> None:
    assert len(searched(announced(), questions=2).servers) == 1


def test_a_search_ends_after_its_time() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.1", 0))
        assert search(0.01, LOOPBACK, silent.getsockname()) == SearchResult(())


def test_16_networks_are_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A computer with containers has an interface for each, and most of them have no address."""
    real = [(index, name) for index, name in socket.if_nameindex() if name == "lo"]
    listed = [(number, f"veth{number}") for number in range(1, 40)]
    monkeypatch.setattr(socket, "if_nameindex", lambda: [*listed, *real])
    asked = interfaces()
    assert len(asked) == 16
    assert Interface(*real[0]) == asked[0]


def test_windows_is_asked_by_address_not_by_interface() -> None:
    """It lists two dozen interfaces, and most of them are filters and tunnels."""
    listed = [Interface(number, f"ethernet_{number}") for number in range(1, 25)]
    chosen = _by_address(["192.168.1.10", "172.20.0.1"], listed)
    assert [interface.address for interface in chosen] == ["192.168.1.10", "172.20.0.1", "127.0.0.1"]
    assert [interface.is_own for interface in chosen] == [False, False, True]
    assert len(_by_address([f"10.0.0.{number}" for number in range(1, 40)], listed)) == 16
    # Where the computer's name tells no address, the first of the list are asked.
    assert _by_address(["127.0.0.1"], listed)[1:] == listed[:14]


def test_a_network_is_asked_by_its_address() -> None:
    with Responder(announced(addresses=("127.0.0.1",)), questions=1) as responder:
        assert len(search(PATIENCE_SECONDS, [Interface(0, "", "127.0.0.1")], responder.place).servers) == 1


def test_a_responder_of_zeroconf_is_found_on_the_loopback_interface() -> None:
    contest = f"Autumn {uuid.uuid4()}"  # other tests may announce theirs at the same time
    service = f"{SERVICE}."
    info = zeroconf.ServiceInfo(
        service,
        f"{contest}.{service}",
        port=7777,
        addresses=[bytes([127, 0, 0, 1])],
        properties={"contest": contest},
        server=f"{uuid.uuid4()}.local.",
    )
    # In a thread of its own: in this one, tests in a browser may have left an event loop, which zeroconf would use.
    with ThreadPoolExecutor(1) as thread:
        responder = thread.submit(zeroconf.Zeroconf, ["127.0.0.1"], ip_version=zeroconf.IPVersion.V4Only).result()
        try:
            thread.submit(responder.register_service, info, cooperating_responders=True).result()
            own = [interface for interface in interfaces() if interface.is_own]
            wanted, end = FoundServer(contest, (Address("127.0.0.1", 7777),)), time.monotonic() + PATIENCE_SECONDS
            while wanted not in search(networks=own).servers:
                assert time.monotonic() < end
        finally:
            thread.submit(responder.close).result()


# --- the choice ------------------------------------------------------------------------------------------------

OWN = Address("127.0.0.1", 7777)
HERE = Address("10.0.0.7", 7777)
SAVED = SavedLogin("127.0.0.1", 7777, TEAM, TOKEN, Seen("Autumn", 1e9))


def finding(
    *results: SearchResult, saved: SavedLogin | None = None, port: int | None = None
) -> tuple[Finder, list[int]]:
    """Return a finder whose searches have these results, the last one again and again, and what counts them."""
    searches: list[int] = []

    def find() -> SearchResult:
        searches.append(1)
        return results[min(len(searches), len(results)) - 1]

    return Finder(OWN, saved, port, Console(), find), searches


def test_the_only_server_is_tried_and_then_the_own_address_again(capsys: pytest.CaptureFixture[str]) -> None:
    tried, searches = finding(found(("Autumn", *_at(HERE))))
    assert tried.next(OWN) == HERE
    assert tried.is_found(HERE)
    assert tried.next(HERE) is None
    assert tried.next(OWN) == HERE
    assert len(searches) == 2
    assert capsys.readouterr().out == "Found 'Autumn' at 10.0.0.7:7777 on this network.\n", "told once"


def test_of_several_servers_the_contest_that_was_seen_before_is_tried() -> None:
    several = found(("Spring", "10.0.0.9", 7777), ("Autumn", *_at(HERE)))
    assert finding(several, saved=SAVED)[0].next(OWN) == HERE


def test_of_equal_names_each_is_tried_until_one_proves_itself(capsys: pytest.CaptureFixture[str]) -> None:
    """A false host that announces the same name cannot keep a bot from finding the real one."""
    fake = ("Autumn", "10.0.0.6", 7777)
    tried, _ = finding(found(fake, ("Spring", "10.0.0.9", 7777), ("Autumn", *_at(HERE))), saved=SAVED)
    assert tried.next(OWN) == Address("10.0.0.6", 7777)
    assert tried.next(Address("10.0.0.6", 7777)) == HERE
    assert tried.next(HERE) is None
    assert capsys.readouterr().out.count("Found 'Autumn' at 10.0.0.") == 2


def test_a_list_tells_equal_names_apart_and_warns(file: Path) -> None:
    places = [(Address("10.0.0.6", 7777),), (HERE, Address("192.168.1.10", 7777))]
    servers = tuple(
        FoundServer("Autumn", where, name) for where, name in zip(places, ("mallory", "ada"), strict=True)
    )
    saved_login.save(SavedLogin(HERE.host, HERE.port, TEAM, TOKEN, Seen("Summer", 1e9)))
    assert listing((*servers, FoundServer("Spring", (OWN,)))).splitlines() == [
        "3 contests were found on this network:",
        "   1  'Autumn' at 10.0.0.6:7777 on 'mallory'",
        "   2  'Autumn' at 10.0.0.7:7777, 192.168.1.10:7777 on 'ada', where your host was on 2001-09-09 ('Summer')",
        "   3  'Spring' at 127.0.0.1:7777",
        "Careful: 2 of them are called 'Autumn', and one may be false. Compare the address with your slip.",
    ]


def test_of_several_servers_a_port_chooses() -> None:
    several = found(("Spring", "10.0.0.9", 7001), ("Autumn", *_at(HERE)))
    assert finding(several, port=7777)[0].next(OWN) == HERE


def test_several_servers_are_listed_and_without_a_saved_login_the_user_has_to_choose() -> None:
    several = found(("Spring", "10.0.0.9", 7001), ("Winter", *_at(HERE)))
    with pytest.raises(NoneChosen) as error:
        finding(several)[0].next(OWN)
    assert str(error.value).splitlines() == [
        "2 contests were found on this network:",
        "   1  'Spring' at 10.0.0.9:7001",
        "   2  'Winter' at 10.0.0.7:7777",
        "Choose one with its address, for example --host 10.0.0.9 --port 7001",
    ]


def test_several_servers_do_not_end_a_bot_whose_host_is_known(capsys: pytest.CaptureFixture[str]) -> None:
    several = found(("Spring", "10.0.0.9", 7001), ("Winter", *_at(HERE)))
    waiting = finding(several, saved=SAVED)[0]
    playing = finding(several)[0]
    playing.settle(OWN)
    for tried in (waiting, playing):
        assert tried.next(OWN) is None
        assert "2 contests were found" in capsys.readouterr().out


@pytest.mark.parametrize(("asked", "says"), [(True, "No contest was found"), (False, "no multicast")])
def test_no_server(asked: bool, says: str, capsys: pytest.CaptureFixture[str]) -> None:
    tried, _ = finding(found(asked=asked))
    assert tried.next(OWN) is None
    assert tried.next(OWN) is None
    assert capsys.readouterr().out.count(says) == 1
    assert find_one(Console(), find=lambda: found(asked=asked)) is None
    assert says in capsys.readouterr().out


def test_a_list_has_20_servers() -> None:
    many = found(*(("Autumn", f"10.0.0.{number}", 7777) for number in range(1, 100))).servers
    lines = listing(many).splitlines()
    assert lines[0] == "99 contests were found on this network:"
    assert lines[-2] == "  and 79 more: somebody may want to hide the right one"
    assert lines[-1].startswith("Careful: 99 of them are called 'Autumn'")
    assert len(lines) == 23


def test_a_list_warns_of_three_names() -> None:
    twice = [(f"Contest {number}", f"10.0.{again}.{number}", 7777) for number in range(1, 9) for again in (1, 2)]
    assert listing(found(*twice).servers).count("Careful: 2 of them are called") == 3


def test_a_line_shows_three_addresses() -> None:
    places = tuple(Address(f"10.0.0.{number}", 7777) for number in range(1, 5))
    assert str(FoundServer("Autumn", places)) == "'Autumn' at 10.0.0.1:7777, 10.0.0.2:7777, 10.0.0.3:7777, ..."


def test_a_bot_tries_20_found_addresses(capsys: pytest.CaptureFixture[str]) -> None:
    """A computer that announces another server each time costs a bot so many attempts, and lines, and no more."""
    results = [found((f"Contest {number}", f"10.0.0.{number}", 7777)) for number in range(1, 100)]
    tried, searches = finding(*results)
    places = [place for place in (tried.next(OWN) for _ in range(60)) if place]
    assert len(places) == len(searches) == 20
    assert len(capsys.readouterr().out.splitlines()) == 20


def _at(address: Address) -> tuple[str, int]:
    return address.host, address.port


# --- play, login and check ---------------------------------------------------------------------------------------


@pytest.fixture
def file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    for variable in ("TEAM", "TOKEN", "TOKEN_FILE", "HOST", "PORT"):
        monkeypatch.delenv(f"GETSTEP_{variable}", raising=False)
    path = tmp_path / "login.json"
    monkeypatch.setenv("GETSTEP_LOGIN_FILE", str(path))
    monkeypatch.chdir(tmp_path)
    return path


@pytest.fixture
def nothing() -> Address:
    """An address where nothing listens."""
    with FakeServer() as server:
        return Address("127.0.0.1", server.port)


def played(
    server: FakeServer,
    own: Address,
    *,
    saved: SavedLogin | None = None,
    find: Callable[[], SearchResult] | None = None,
) -> None:
    """Run a client whose own address is ``own``, and that finds ``server``."""
    result = found(("Autumn", "127.0.0.1", server.port))
    finder = Finder(own, saved, None, Console(), find or (lambda: result))
    login = Login(TEAM, TOKEN)
    Client(Callback(lambda board, is_black: None), own, login, Console(), server.pause, finder).run()


def says(reason: str, retry_ms: int | None = None) -> Script:
    """Refuse the login."""

    def script(session: Session) -> None:
        assert isinstance(session.greet(), Join)
        session.say(Goodbye(reason=reason, detail="Not you.", retry_ms=retry_ms))

    return script


def test_a_bot_plays_on_the_server_that_was_found(nothing: Address, capsys: pytest.CaptureFixture[str]) -> None:
    with FakeServer(lambda session: session.let_in(OVER)) as server:
        played(server, nothing)
    out, err = capsys.readouterr()
    assert f"Found 'Autumn' at 127.0.0.1:{server.port} on this network." in out
    assert "Connected to Autumn" in out
    assert err == "", "a host that has moved is no problem to tell"


def test_a_proved_server_becomes_the_saved_one(
    file: Path, nothing: Address, capsys: pytest.CaptureFixture[str]
) -> None:
    saved = SavedLogin("127.0.0.1", nothing.port, TEAM, TOKEN, Seen("Autumn", 1e9))
    saved_login.save(saved)
    with FakeServer(lambda session: session.let_in(OVER)) as server:
        played(server, nothing, saved=saved)
    now = saved_login.load()
    assert now is not None
    assert (now.host, now.port, now.team, now.token) == ("127.0.0.1", server.port, TEAM, TOKEN)
    assert now.seen is not None
    assert (now.seen.contest, now.seen.over) == ("Autumn", True)
    assert f"The saved login has the new address now, 127.0.0.1:{server.port}." in capsys.readouterr().out


@pytest.mark.parametrize("proof", [no_proof, wrong_proof])
def test_a_found_server_without_the_proof_gets_no_move(
    proof: Callable[[Session], str | None], file: Path, nothing: Address, capsys: pytest.CaptureFixture[str]
) -> None:
    """It says that the contest is over, and is not believed; the next one that is found is the host."""
    saved = SavedLogin("127.0.0.1", nothing.port, TEAM, TOKEN)
    saved_login.save(saved)
    with FakeServer(
        lambda session: session.let_in(OVER, proof=proof), lambda session: session.let_in(OVER)
    ) as server:
        played(server, nothing, saved=saved)
    assert [pause > 0 for pause in server.pauses] == [False, True, False], "between the two a pause"
    err = capsys.readouterr().err
    assert f"No connection to 127.0.0.1:{server.port}: " in err
    assert "proof" in err or "not proved" in err
    assert f"No connection to {nothing}: nothing listens there" in err, "told after the found server has failed"


def signs_nothing(session: Session) -> None:
    """Pretend to be an older server, as a relay would."""
    assert session.greet(dialled=None) is CLOSED


@pytest.mark.parametrize("relay", [signs_nothing, says("wrong_address")])
def test_an_address_that_was_found_but_only_relays_is_never_saved(
    relay: Script, file: Path, nothing: Address, capsys: pytest.CaptureFixture[str]
) -> None:
    """The real server refuses a login for the relay's address. The bot goes on looking."""
    saved = SavedLogin("127.0.0.1", nothing.port, TEAM, TOKEN)
    saved_login.save(saved)
    seen_in_between = []

    def noted(session: Session) -> None:
        relay(session)
        seen_in_between.append(saved_login.load())

    with FakeServer(noted, lambda session: session.let_in(OVER)) as server:
        played(server, nothing, saved=saved)
        assert f"No connection to 127.0.0.1:{server.port}: " in capsys.readouterr().err
    assert seen_in_between == [saved]


@pytest.mark.parametrize("relay", [signs_nothing, says("wrong_address")])
def test_login_saves_no_address_that_only_relays(
    relay: Script, file: Path, network: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    with FakeServer(relay) as server:
        network(("Autumn", "127.0.0.1", server.port))
        assert main(["login", "--team", "7", "--token", TOKEN]) == 1
    err = capsys.readouterr().err
    assert err.startswith(f"getstep: 127.0.0.1:{server.port}: ")
    assert "Nothing was saved." in err
    assert saved_login.load() is None


@pytest.mark.parametrize("refusal", [says("bad_token"), says("shutting_down", 60_000)])
def test_a_found_server_cannot_end_a_bot_whose_token_is_known_to_be_right(
    refusal: Script, file: Path, nothing: Address
) -> None:
    saved = SavedLogin("127.0.0.1", nothing.port, TEAM, TOKEN, Seen("Autumn", 1e9))
    saved_login.save(saved)
    with FakeServer(refusal, lambda session: session.let_in(OVER)) as server:
        played(server, nothing, saved=saved)
    assert max(server.pauses) < 1, "nor hold it up for a minute"


def test_a_wrong_token_ends_a_new_bot(nothing: Address) -> None:
    with FakeServer(says("bad_token")) as server, pytest.raises(Refused):
        played(server, nothing)


def test_after_a_lost_connection_the_own_address_is_tried_first() -> None:
    """A server that is started again is back at its address; only after some attempts another one is looked for."""
    searches = []

    def find() -> SearchResult:
        searches.append(len(server.pauses))
        return found()

    with FakeServer(
        lambda session: session.let_in(), lambda session: session.let_in(OVER), opens_at_pause=0
    ) as server:
        played(server, Address("127.0.0.1", server.port), find=find)
    assert searches == []
    with FakeServer(lambda session: session.let_in(OVER), opens_at_pause=3) as server:
        played(server, Address("127.0.0.1", server.port), find=find)
    assert searches == [0, 1, 2], "before the first login each attempt looks"


@pytest.fixture
def network(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Let the commands find servers."""

    def finds(*servers: tuple[str, str, int]) -> None:
        monkeypatch.setattr(finder, "search", lambda: found(*servers))

    return finds


def checked(session: Session) -> None:
    session.let_in(Goodbye(reason="checked", detail="", retry_ms=None))


def test_login_uses_the_only_server(
    file: Path, network: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    with FakeServer(checked) as server:
        network(("Autumn", "127.0.0.1", server.port))
        assert main(["login", "--team", "7", "--token", TOKEN]) == 0
    saved = saved_login.load()
    assert saved is not None
    assert (saved.host, saved.port) == ("127.0.0.1", server.port)
    assert f"Found 'Autumn' at 127.0.0.1:{server.port} on this network." in capsys.readouterr().out


def test_login_asks_which_of_several_servers(
    file: Path, network: Callable[..., None], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("0\n2\n"))
    with FakeServer(checked) as server:
        network(("Autumn", "10.0.0.7", 7777), ("Spring", "127.0.0.1", server.port))
        assert main(["login", "--team", "7", "--token", TOKEN]) == 0
    saved = saved_login.load()
    assert saved is not None
    assert saved.port == server.port
    assert "2 contests were found on this network:" in capsys.readouterr().out


def test_login_without_a_choice_says_how_to_choose(
    file: Path, network: Callable[..., None], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("3\n" * 10))
    network(("Autumn", "10.0.0.7", 7777), ("Spring", "10.0.0.8", 7777))
    assert main(["login", "--team", "7", "--token", TOKEN]) == 2
    assert "Choose one with its address, for example --host 10.0.0.7 --port 7777" in capsys.readouterr().err


def test_login_asks_for_the_host_if_none_is_found(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("127.0.0.1\n"))
    with FakeServer(checked) as server:
        assert main(["login", "--port", str(server.port), "--team", "7", "--token", TOKEN]) == 0
    assert "no multicast" in capsys.readouterr().out


def test_login_saves_no_found_server_without_the_proof(
    file: Path, network: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    with FakeServer(lambda session: session.let_in(proof=no_proof)) as server:
        network(("Autumn", "127.0.0.1", server.port))
        assert main(["login", "--team", "7", "--token", TOKEN]) == 1
    assert "Nothing was saved. If it is the address on your slip, give it with --host." in capsys.readouterr().err
    assert saved_login.load() is None


def test_login_tries_all_addresses_of_a_server(
    file: Path, nothing: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    with FakeServer(checked) as server:
        both = FoundServer("Autumn", (nothing, Address("127.0.0.1", server.port)))
        monkeypatch.setattr(finder, "search", lambda: SearchResult((both,)))
        assert main(["login", "--team", "7", "--token", TOKEN]) == 0


@pytest.mark.parametrize(("proof", "code"), [(None, 0), (no_proof, 1)])
def test_check_finds_the_server_and_wants_its_proof(
    proof: Callable[[Session], str | None] | None,
    code: int,
    file: Path,
    network: Callable[..., None],
    nothing: Address,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    saved_login.save(SavedLogin("127.0.0.1", nothing.port, TEAM, TOKEN))

    def script(session: Session) -> None:
        session.let_in(Goodbye(reason="checked", detail="", retry_ms=None), proof=proof, lag_ms=0)

    with FakeServer(script) as server:
        network(("Autumn", "127.0.0.1", server.port))
        assert main(["check"]) == code
    out = capsys.readouterr().out
    assert f"port     127.0.0.1:{server.port} accepts connections" in out
    assert ("BAD proof" in out) == bool(code)
