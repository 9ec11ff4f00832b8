"""TLS on the port for bots, over real sockets: pins, authorities, and clients that do something else."""

from __future__ import annotations

import contextlib
import socket
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import trio

from getstep.client.connection import connect, log_in, read_hello
from getstep.client.settings import Address, Login
from getstep.client.tls import ROOTS, TlsError, parse_tls, pin_of
from getstep.wire import Goodbye, Hello, Start, Welcome
from getstep_server.config.certificate import Certificate
from getstep_server.config.contest import Contest, load_contest
from getstep_server.errors import ConfigError
from getstep_server.events import Listening, MatchEnded, TeamLeft
from getstep_server.incident import Incident
from getstep_server.limits import MAX_CONNECTIONS_PER_ADDRESS
from getstep_server.net import tls
from tests.support.certificates import EXPIRED, Files, needs_openssl, self_signed, signed
from tests.support.contests import make_contest, token_of
from tests.support.patience import PATIENCE_SECONDS
from tests.support.servers import Player, Running, connected, running

pytestmark = needs_openssl


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("certificates")


@pytest.fixture(scope="module")
def own(folder: Path) -> Files:
    """A self-signed certificate."""
    return self_signed(folder)


@pytest.fixture(scope="module")
def authority(folder: Path) -> Files:
    return self_signed(folder, "authority")


def contest_with(files: Files, folder: Path) -> Contest:
    return make_contest(folder, 2, patient=True, server=files.settings())


def address_of(server: Running, way: str, host: str = "127.0.0.1") -> Address:
    return Address(host, server.port, way)


@contextlib.contextmanager
def trusted(authority: Files, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let this system trust an authority in the block, and no other."""
    with monkeypatch.context() as patch:
        patch.setenv("SSL_CERT_FILE", str(authority.certificate))
        yield


def logged_in(address: Address, team: int = 1) -> Welcome | Goodbye:
    """Log in as the SDK does, without a seat."""
    with connect(address) as made:
        hello = read_hello(made)
        assert isinstance(hello, Hello)
        return log_in(made, hello, Login(team, token_of(team)), purpose="check", must_be_there=True)


async def in_thread(address: Address) -> Welcome | Goodbye:
    with trio.fail_after(PATIENCE_SECONDS):
        return await trio.to_thread.run_sync(logged_in, address)


async def secured(port: int) -> Player:
    """Connect with TLS, without a check of the certificate."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    stream = trio.SSLStream(await trio.open_tcp_stream("127.0.0.1", port), context, https_compatible=True)
    return Player(stream)  # type: ignore[arg-type]  # it has what a player uses


async def test_matches_are_played(own: Files, tmp_path: Path) -> None:
    async with running(contest_with(own, tmp_path)) as server, trio.open_nursery() as nursery:

        async def play(team: int) -> None:
            player = await secured(server.port)
            await player.login(team)
            await player.play()
            await player.close()

        for team in (1, 2):
            nursery.start_soon(play, team)
        result = (await server.recorder.wait_for(MatchEnded)).result
        assert result.reason == "finished"
        await server.finished()
    assert server.recorder.of(Incident) == []


async def test_a_pin_lets_in_its_own_server_only(own: Files, authority: Files, tmp_path: Path) -> None:
    pin = Certificate(own.certificate, own.key).pin
    async with running(contest_with(own, tmp_path)) as server:
        assert isinstance(await in_thread(address_of(server, pin)), Welcome)
        with pytest.raises(TlsError, match=f"another key than the pin says.*{pin}"):
            await in_thread(address_of(server, Certificate(authority.certificate, authority.key).pin))
        with pytest.raises(TlsError, match=r"not to be trusted: self.signed certificate.*--tls-pin"):
            await in_thread(address_of(server, ROOTS))
    told = [incident.detail for incident in server.recorder.of(Incident)]
    assert any("does not trust the certificate" in detail for detail in told), told


async def test_the_pin_is_the_hash_of_the_public_key(own: Files, folder: Path) -> None:
    """As openssl computes it."""
    public = subprocess.run(
        ["openssl", "x509", "-in", own.certificate, "-pubkey", "-noout"], check=True, capture_output=True
    ).stdout
    der = subprocess.run(
        ["openssl", "pkey", "-pubin", "-outform", "DER"], input=public, check=True, capture_output=True
    ).stdout
    digest = subprocess.run(["openssl", "dgst", "-sha256", "-r"], input=der, check=True, capture_output=True).stdout
    certificate = Certificate(own.certificate, own.key)
    assert certificate.pin == digest.split()[0].decode()
    assert certificate.self_signed


async def test_an_authority_of_the_system_is_trusted_for_the_name_only(
    folder: Path, authority: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = signed(folder, authority, "DNS:localhost")
    assert not Certificate(files.certificate, files.key).self_signed
    async with running(contest_with(files, tmp_path)) as server:
        with trusted(authority, monkeypatch):
            assert isinstance(await in_thread(address_of(server, ROOTS, "localhost")), Welcome)
            with pytest.raises(TlsError, match=r"127\.0\.0\.1.*not valid for '127\.0\.0\.1'"):
                await in_thread(address_of(server, ROOTS))


async def test_an_expired_certificate_is_refused_but_not_with_its_pin(
    folder: Path, authority: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = signed(folder, authority, "DNS:localhost,IP:127.0.0.1", EXPIRED)
    async with running(contest_with(files, tmp_path)) as server:
        with trusted(authority, monkeypatch), pytest.raises(TlsError, match="certificate has expired"):
            await in_thread(address_of(server, ROOTS))
        pin = Certificate(files.certificate, files.key).pin
        assert isinstance(await in_thread(address_of(server, pin)), Welcome)


async def test_a_client_without_tls_is_told_to_use_it(
    own: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tls, "SILENCE_SECONDS", 0.05)
    async with running(contest_with(own, tmp_path)) as server:
        async with connected(server.port) as silent:
            goodbye = await silent.expect(Goodbye)
            assert goodbye.reason == "tls_required"
            assert "--tls" in goodbye.detail
            assert goodbye.retry_ms is None
        assert server.recorder.of(Incident) == []


async def test_plain_bytes_on_the_tls_port_are_an_incident(own: Files, tmp_path: Path) -> None:
    async with running(contest_with(own, tmp_path)) as server:
        async with connected(server.port) as player:
            await player.say_bytes(b"GET / HTTP/1.1\r\n\r\n")
            assert (await player.expect(Goodbye)).reason == "tls_required"
        assert (await server.recorder.wait_for(Incident)).code == "tls_required"
        async with connected(server.port) as player:
            await player.say_bytes(b"\x16\x03\x01\x00\x05hello")  # a record of TLS with nonsense in it
        assert (await server.recorder.wait_for(Incident, 2)).code == "tls_handshake"


async def test_a_handshake_that_never_ends_is_cut_off(
    own: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(contest_with(own, tmp_path)) as server:
        half = ssl.MemoryBIO()
        client = ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), half, server_hostname="localhost")
        with pytest.raises(ssl.SSLWantReadError):
            client.do_handshake()
        hello = half.read()
        monkeypatch.setattr(tls, "LOGIN_SECONDS", 0.2)
        for sent in (hello[:1], hello):  # one byte, and all but the client's last word
            stream = await trio.open_tcp_stream("127.0.0.1", server.port)
            await stream.send_all(sent)
            with trio.fail_after(PATIENCE_SECONDS):
                while await stream.receive_some():
                    pass
            await stream.aclose()
        monkeypatch.undo()  # an honest login has its whole time, however busy the machine is
        pin = Certificate(own.certificate, own.key).pin
        assert isinstance(await in_thread(address_of(server, pin)), Welcome)


async def test_half_open_handshakes_do_not_keep_a_team_out(own: Files, tmp_path: Path) -> None:
    """From one address there are as many as connections before login; the oldest goes first."""
    half = ssl.MemoryBIO()
    client = ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), half, server_hostname="localhost")
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    hello = half.read()
    with contextlib.ExitStack() as stack:
        async with running(contest_with(own, tmp_path)) as server:
            for _ in range(MAX_CONNECTIONS_PER_ADDRESS + 20):
                sock = stack.enter_context(socket.create_connection(("127.0.0.1", server.port)))
                sock.sendall(hello)
            pin = Certificate(own.certificate, own.key).pin
            assert isinstance(await in_thread(address_of(server, pin)), Welcome)


async def test_programs_of_this_machine_connect_without_tls(own: Files, tmp_path: Path) -> None:
    async with running(contest_with(own, tmp_path)) as server:
        listening = server.recorder.of(Listening)[0]
        host, port = listening.local_address
        assert host == "127.0.0.1"
        assert port not in (0, server.port)
        async with connected(port) as player:
            await player.login(1)


async def test_a_changed_record_ends_the_connection_and_is_no_violation(own: Files, tmp_path: Path) -> None:
    """Somebody on the way may have changed it: the team loses no match for that."""
    async with running(contest_with(own, tmp_path)) as server:
        first, second, again = [await secured(server.port) for _ in range(3)]
        for team, player in enumerate((first, second), 1):
            await player.login(team)
        await first.until(Start)
        raw = first.stream.transport_stream  # type: ignore[attr-defined]  # see `secured`
        await raw.send_all(b"\x17\x03\x03\x00\x20" + bytes(32))
        left = await server.recorder.wait_for(TeamLeft)
        assert left.team == 1
        await again.login(1)
        await again.until(Start)
        assert server.recorder.of(MatchEnded) == []
        assert server.recorder.of(Incident) == []
        for player in (first, second, again):
            await trio.aclose_forcefully(player.stream)


def test_files_that_do_not_belong_together_are_refused(own: Files, authority: Files, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"own\.pem and .*authority\.key: key values mismatch"):
        Certificate(own.certificate, authority.key)
    with pytest.raises(ConfigError, match=r"none\.key: No such file.*contest\.toml names this file"):
        Certificate(own.certificate, tmp_path / "none.key")
    (tmp_path / "empty.pem").write_text("nothing")
    with pytest.raises(ConfigError, match=r"empty\.pem: there is no line -----BEGIN CERTIFICATE-----"):
        Certificate(tmp_path / "empty.pem", own.key)
    bad = "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n"
    (tmp_path / "bad.pem").write_text(bad)
    with pytest.raises(ConfigError, match=r"bad\.pem: no certificate"):
        Certificate(tmp_path / "bad.pem", own.key)


@pytest.mark.parametrize(
    ("server", "message"),
    [
        ({"tls_certificate": "host.pem"}, "tls_key as well"),
        ({"tls_key": "host.key"}, "tls_certificate as well"),
        ({"tls_certificate": "host.pem", "tls_key": "host.key", "judges": 2}, "1 with TLS"),
    ],
)
def test_settings_that_do_not_go_together(server: dict[str, object], message: str, tmp_path: Path) -> None:
    make_contest(tmp_path, 2, on_disk=True)
    text = (tmp_path / "contest.toml").read_text()
    lines = "\n".join(
        f'{key} = "{value}"' if isinstance(value, str) else f"{key} = {value}" for key, value in server.items()
    )
    (tmp_path / "contest.toml").write_text(text.replace("[server]\n", f"[server]\n{lines}\n"))
    with pytest.raises(ConfigError, match=message):
        load_contest(tmp_path)


def test_the_setting_of_a_client() -> None:
    pin = "0aB" + 61 * "0"
    assert parse_tls(pin) == pin.lower()
    assert parse_tls(True) == parse_tls("1") == parse_tls("roots") == ROOTS
    assert parse_tls(None) == parse_tls("") == parse_tls(False) == ""
    with pytest.raises(Exception, match="64 hexadecimal digits"):
        parse_tls(pin[1:])


@pytest.mark.parametrize(
    "data", [b"", b"\x30", b"\x30\x84\xff\xff\xff\xff", b"\x30\x80", b"\x30\x02\x30\x00", bytes(50)]
)
def test_what_is_no_certificate(data: bytes) -> None:
    with pytest.raises(ValueError, match="no certificate"):
        pin_of(data)
