"""TLS on the page, over real sockets, and a certificate that is replaced while a contest runs."""

from __future__ import annotations

import shutil
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from getstep._errors import NotGetstep
from getstep.client.own_area import OwnArea
from getstep.client.settings import Address
from getstep.client.tls import ROOTS
from getstep_server.cli.host_key import READABLE, console_lines
from getstep_server.config.certificate import DAY_SECONDS, Certificate
from getstep_server.config.contestants_package import NAME
from getstep_server.config.host_key import new_link
from getstep_server.events import CertificateNews
from getstep_server.net import certificate_watch
from getstep_server.reports.slips import commands, page_address_to_type
from getstep_server.standby.follower import FirstHost, HostLink
from getstep_server.web import http
from getstep_server.web.host_state import HostState
from getstep_server.web.http import JSON, EventStream, Handler, HostCheck, HttpServer, Request, Response, Send
from getstep_server.web.listener import open_page_listener, page_address
from getstep_server.web.proxies import NO_PROXIES, Proxies
from tests.support.certificates import Files, needs_openssl, self_signed
from tests.support.console import Host
from tests.support.contests import make_contest
from tests.support.page_connections import HEAD, Connect, all_of, answer, status
from tests.support.patience import PATIENCE_SECONDS
from tests.support.random_results import half_played
from tests.support.servers import running
from tests.support.site import without_status

pytestmark = needs_openssl


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """A self-signed certificate."""
    return self_signed(tmp_path_factory.mktemp("own"))


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """Another one."""
    return self_signed(tmp_path_factory.mktemp("other"))


async def described(request: Request) -> Response:
    return Response(f"{request.scheme} {request.page}".encode(), headers=(request.set_cookie("key", "a" * 16),))


@asynccontextmanager
async def serving(
    files: Files, handle: Handler = described, proxies: Proxies = NO_PROXIES
) -> AsyncIterator[tuple[HttpServer, Connect]]:
    certificate = Certificate(files.certificate, files.key)
    server = HttpServer(handle, HostCheck(), tls=lambda: certificate.context, proxies=proxies)
    (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
    port = listener.socket.getsockname()[1]
    async with trio.open_nursery() as nursery:
        nursery.start_soon(server.serve, listener)
        yield server, lambda: trio.open_tcp_stream("127.0.0.1", port)
        nursery.cancel_scope.cancel()


def secured(stream: trio.SocketStream, files: Files) -> trio.SSLStream[trio.SocketStream]:
    """Return TLS over a connection, which trusts one certificate alone."""
    context = ssl.create_default_context(cafile=str(files.certificate))
    return trio.SSLStream(stream, context, server_hostname="localhost")


async def test_the_page_answers_over_tls_with_secure_cookies(own: Files) -> None:
    async with serving(own) as (_, connect):
        stream = secured(await connect(), own)
        await stream.send_all(HEAD.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
        text = b"".join([part async for part in stream])  # it ends with the goodbye of TLS
        await stream.aclose()
    assert text.endswith(b"\r\n\r\nhttps https://localhost")
    assert b"Path=/; HttpOnly; SameSite=Strict; Secure\r\n" in text


async def test_a_request_without_tls_is_sent_to_https(own: Files) -> None:
    asked = HEAD.replace(b"GET /", b"GET /match/7?a=b").replace(b"localhost", b"localhost:8080")
    async with serving(own) as (_, connect):
        text = await answer(connect, asked)
        assert status(text) == 308
        assert b"Location: https://localhost:8080/match/7?a=b\r\n" in text
        assert b"Set-Cookie" not in text
        assert status(await answer(connect, HEAD.replace(b"localhost", b"evil.example"))) == 421
        text = await answer(connect, HEAD.replace(b"GET", b"POST"))
        assert status(text) == 403
        assert text.endswith(b"this page speaks https: https://localhost/\n")
        assert status(await answer(connect, HEAD.replace(b"GET /", b"GET http://evil.example/"))) == 403


async def test_a_trusted_proxy_may_come_without_tls(own: Files) -> None:
    async with serving(own, proxies=Proxies(["127.0.0.1"])) as (_, connect):
        text = await answer(connect, HEAD.replace(b"\r\n\r\n", b"\r\nX-Forwarded-Proto: https\r\n\r\n"))
        assert text.endswith(b"\r\n\r\nhttps https://localhost")
        assert (await answer(connect, HEAD)).endswith(b"\r\n\r\nhttp http://localhost")


async def test_events_come_over_tls_until_the_reader_leaves(own: Files) -> None:
    left = trio.Event()

    async def follow(send: Send) -> None:
        try:
            await send(b"data: 1\n\n")
            await trio.sleep_forever()
        finally:
            left.set()

    async def events(_: Request) -> EventStream:
        return EventStream(follow)

    async with serving(own, events) as (_, connect):
        stream, text = secured(await connect(), own), b""
        await stream.send_all(HEAD)
        with trio.fail_after(PATIENCE_SECONDS):
            while not text.endswith(b"data: 1\n\n"):
                text += await stream.receive_some()
            await stream.aclose()
            await left.wait()


@pytest.mark.parametrize("sent", [b"", b"\x16", b"\x16\x03\x01\x02\x00"])
async def test_a_handshake_has_ten_seconds(own: Files, sent: bytes, autojump_clock: MockClock) -> None:
    async with serving(own) as (_, connect):
        began = trio.current_time()
        async with await connect() as stream:
            if sent:
                await stream.send_all(sent)
            assert await all_of(stream) == b""
        assert 9.5 <= trio.current_time() - began <= 11


async def test_what_is_no_handshake_ends_its_connection_only(
    own: Files, capsys: pytest.CaptureFixture[str]
) -> None:
    async with serving(own) as (server, connect):
        async with await connect() as stream:
            await stream.send_all(b"\x16" + bytes(500))
            await all_of(stream)
        await reads(connect, own)
        assert server.answers[200] == 1
    assert capsys.readouterr().err == ""


async def reads(connect: Connect, files: Files) -> None:
    stream = secured(await connect(), files)
    await stream.send_all(HEAD)
    assert status(bytes(await stream.receive_some())) == 200
    await trio.aclose_forcefully(stream)


async def test_so_many_handshakes_happen_at_a_time(own: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest one of the address with most of them goes first."""
    monkeypatch.setattr(http, "PAGE_HANDSHAKE_SECONDS", 10 * PATIENCE_SECONDS)
    async with serving(own) as (server, connect):
        streams = [await connect() for _ in range(257)]
        with trio.fail_after(PATIENCE_SECONDS):
            assert await all_of(streams[0]) == b""
            await reads(connect, own)
        assert sum(one.shaking_hands for one in server._connections) <= 256
        for stream in streams:
            await stream.aclose()


# --- what connects to the page, and what is typed ---------------------------------------------------------------


async def a_nonce(_: Request) -> Response:
    return Response(b'{"nonce": "00"}', JSON)


async def test_commands_of_a_team_speak_tls_as_its_bots_do(own: Files) -> None:
    async with serving(own, a_nonce) as (_, connect):
        async with await connect() as stream:
            port = stream.socket.getpeername()[1]

        def asked(tls: str) -> object:
            return OwnArea(Address("127.0.0.1", port, tls), not_sent="", unsure="").get("/own/nonce.json")

        in_thread = trio.to_thread.run_sync
        assert await in_thread(asked, Certificate(own.certificate, own.key).pin) == {"nonce": "00"}
        with pytest.raises(NotGetstep, match=r"https://127.0.0.1:.* has another key than the pin"):
            await in_thread(asked, "0" * 64)
        with pytest.raises(NotGetstep, match="is not to be trusted"):
            await in_thread(asked, ROOTS)
        with pytest.raises(NotGetstep, match=r"speaks TLS\. Give getstep login the option --tls"):
            await in_thread(asked, "")


async def test_a_standby_follows_over_tls(own: Files) -> None:
    async with serving(own, a_nonce) as (server, connect):
        async with await connect() as stream:
            port = stream.socket.getpeername()[1]
        with closing(await trio.to_thread.run_sync(HostLink, FirstHost("127.0.0.1", port, "key"))):
            assert server.answers == {308: 1, 200: 1}


def test_slips_and_links_say_https(own: Files, tmp_path: Path) -> None:
    settings = {**own.settings(), "web_port": 8080, "host_page": "lan"}
    contest = make_contest(tmp_path, 2, on_disk=True, server=settings)
    assert page_address_to_type(contest, "192.0.2.7") == "https://192.0.2.7:8080/"
    install = commands(contest, contest.teams[1], "192.0.2.7", "0" * 64)["install"]
    assert f'pip install --trusted-host 192.0.2.7:8080 "https://192.0.2.7:8080/wheels/{NAME}#sha256=' in install
    with open_page_listener("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        assert page_address(contest, listener) == f"https://127.0.0.1:{port}/"
        (line,) = console_lines(contest, listener)  # and no warning
        assert f"from this network: https://127.0.0.1:{port}/host?key=" in line
        plain = make_contest(tmp_path, 2, server={"host_page": "lan"})
        line, warning = console_lines(plain, listener)
        assert f"from this network: http://127.0.0.1:{port}/host?key=" in line
        assert warning == READABLE


def test_slips_and_links_say_the_address_behind_a_proxy(tmp_path: Path) -> None:
    settings = {"page_address": "https://contest.example.org", "host_page": "lan", "trusted_proxies": ["127.0.0.1"]}
    contest = make_contest(tmp_path, 2, on_disk=True, server=settings)
    assert page_address_to_type(contest, "192.0.2.7") == "https://contest.example.org/"
    install = commands(contest, contest.teams[1], "192.0.2.7", "0" * 64)["install"]
    assert f'pip install "https://contest.example.org/wheels/{NAME}#sha256=' in install
    with open_page_listener("127.0.0.1", 0) as listener:
        assert page_address(contest, listener) == "https://contest.example.org/"
        (line,) = console_lines(contest, listener)
        assert "from this network: https://contest.example.org/host?key=" in line


# --- a certificate that is replaced -----------------------------------------------------------------------------


@pytest.fixture
def files(own: Files, tmp_path: Path) -> Files:
    """A copy of the first certificate, which may be replaced."""
    return replaced(own, Files(tmp_path / "host.pem", tmp_path / "host.key"))


def replaced(new: Files, files: Files) -> Files:
    shutil.copy(new.certificate, files.certificate)
    shutil.copy(new.key, files.key)
    return files


def test_a_new_pair_is_used_once_both_files_are_there(own: Files, other: Files, files: Files) -> None:
    known = Certificate(files.certificate, files.key)
    pin, context, now = known.pin, known.context, known.expires - 20 * DAY_SECONDS
    assert known.refresh(now) == []
    shutil.copy(other.certificate, files.certificate)
    assert known.refresh(now) == []  # its writer may be in the middle
    (said,) = known.refresh(now)
    assert "the one before it stays" in said
    assert "key values mismatch" in said
    assert (known.pin, known.context) == (pin, context)
    assert known.problem(now) == said
    assert known.refresh(now) == []  # said once
    shutil.copy(other.key, files.key)
    assert known.refresh(now) == []
    (said,) = known.refresh(now)
    assert "was replaced; the new one is valid until 20" in said
    assert f"need the pin {known.pin}." in said
    assert known.pin == Certificate(other.certificate, other.key).pin != pin
    assert known.context is not context
    assert known.problem(now) == ""


def test_files_that_are_gone_change_nothing(files: Files) -> None:
    known = Certificate(files.certificate, files.key)
    now, context = known.expires - 20 * DAY_SECONDS, known.context
    files.key.unlink()
    said = [known.refresh(now) for _ in range(3)]
    assert ["No such file" in one for news in said for one in news] == [True]
    assert known.context is context


def test_the_end_of_a_certificate_is_told_from_14_days_before_once_a_day(files: Files) -> None:
    known = Certificate(files.certificate, files.key)
    assert 29 * DAY_SECONDS < known.expires - files.certificate.stat().st_mtime <= 30 * DAY_SECONDS + 5
    assert known.refresh(known.expires - 14 * DAY_SECONDS) == []
    assert known.problem(known.expires - 14 * DAY_SECONDS) == ""
    (said,) = known.refresh(known.expires - 14 * DAY_SECONDS + 1)
    assert said.startswith("The TLS certificate expires on 20")
    assert known.problem(known.expires - 14 * DAY_SECONDS + 1) == said
    assert known.refresh(known.expires - 13 * DAY_SECONDS - 1) == []
    assert len(known.refresh(known.expires - 13 * DAY_SECONDS + 1)) == 1
    (said,) = known.refresh(known.expires + 1)
    assert "has expired on" in said


async def test_bots_and_browsers_get_the_new_certificate_without_a_restart(
    other: Files, files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(certificate_watch, "LOOK_SECONDS", 0.01)

    def shown(port: int) -> str:
        return ssl.get_server_certificate(("127.0.0.1", port))

    async with running(make_contest(tmp_path, 2, patient=True, server=files.settings())) as server:
        first = await trio.to_thread.run_sync(shown, server.port)
        replaced(other, files)
        while "was replaced" not in (await server.recorder.wait_for(CertificateNews)).why:
            server.recorder.events.clear()
        assert await trio.to_thread.run_sync(shown, server.port) == other.certificate.read_text() != first


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return half_played(tmp_path / "half")


async def test_the_console_shows_what_is_wrong_with_the_certificate(
    files: Files, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = Certificate(files.certificate, files.key)
    async with without_status(folder, monkeypatch) as site:
        assert HostState(site.app.feed, known).answer(0, 0).certificate_expires == round(1000 * known.expires)
        monkeypatch.setattr(site.app.host._state, "_certificate", known)
        browser = Host(site)
        await browser.open(new_link(folder))
        assert "Certificate" not in browser.page
        monkeypatch.setattr(known, "_refused", "It is refused.")
        assert "It is refused." in (await browser.ask("GET", "/host")).body.decode()
