"""An attacker at the host's console: in the network, on another web site, with a secret of another kind."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import trio

from getstep_server.config.contest import HostPage, load_contest
from getstep_server.config.host_key import bearer_key, new_link
from getstep_server.limits import TEAM_SESSION_SECONDS
from getstep_server.storage.contest_state import tournament_of
from getstep_server.web import host
from getstep_server.web.app import App
from getstep_server.web.host_access import COOKIE
from getstep_server.web.http import HostCheck, HttpServer
from tests.support.console import PAUSE, Host, Program
from tests.support.site import Site

POSTS = [path.removeprefix("/host/") for path in host._POST]
READS = ["/host", "/host/changes", "/host/slip/1", "/host/files/backup.zip", "/host/files/records.jsonl"]


def unchanged(site: Site, folder: Path) -> bool:
    whole = tournament_of(load_contest(folder))
    return not whole.decisions and not whole.messages.sent and site.app.rehearsal.state == "none"


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:9999"},
        {"origin": "http://[", "sec-fetch-site": "same-origin"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
async def test_a_form_of_another_site_does_nothing(site: Site, folder: Path, headers: dict[str, str]) -> None:
    browser = Host(site)
    await browser.open(new_link(folder))
    form = {"word": browser.word, "do": "start", "text": "Go home", "decision": "pause", "why": "x"}
    for what in POSTS:
        assert (await browser.ask("POST", f"/host/{what}", form, **headers)).status == 403
    assert unchanged(site, folder)


async def test_a_form_needs_the_word_of_its_session_and_the_method_post(site: Site, folder: Path) -> None:
    browser, other = Host(site), Host(site)
    await browser.open(new_link(folder))
    await other.open(new_link(folder))
    form = {"do": "start", "text": "Go home", "decision": "pause", "why": "x"}
    for what in POSTS:
        for word in ({}, {"word": ""}, {"word": other.word}, {"word": browser.word[:-1]}, {"word": "é"}):
            assert (await browser.ask("POST", f"/host/{what}", {**form, **word})).status == 403
        for method in ("GET", "HEAD"):
            assert (await browser.ask(method, f"/host/{what}?word={browser.word}")).status == 404
    assert unchanged(site, folder)


@pytest.mark.parametrize(
    "name", ["evil.example:8080", "127.0.0.1.evil.example:8080", "127.0.0.2:8080", "0.0.0.0:8080"]
)
async def test_a_rebound_name_opens_nothing_in_the_host_s_browser(site: Site, folder: Path, name: str) -> None:
    browser = Host(site)
    await browser.open(new_link(folder))
    browser.name = name  # a browser would not send the cookie; a name that resolves to 127.0.0.1 is not enough
    for path in READS:
        assert (await browser.ask("GET", path)).status == 403
    for what in POSTS:
        assert (await browser.send(what, do="start", text="Go home")).status == 403
    assert unchanged(site, folder)


async def test_a_cookie_that_was_read_in_the_network_opens_nothing_elsewhere(site: Site, folder: Path) -> None:
    there = Site(App(site.app.feed, site.app.tables, host_page="lan"))
    phone = Host(there, "192.0.2.8", "192.0.2.7:8080")
    assert await phone.open(new_link(folder)) == 303
    thief = Host(there, "192.0.2.9", "192.0.2.7:8080")
    thief.cookie, thief.page = phone.cookie, phone.page
    for path in READS:
        assert (await thief.ask("GET", path)).status == 401
    assert (await thief.send("announce", text="Go home")).status == 401
    assert (await phone.ask("GET", "/host")).status == 200
    assert unchanged(site, folder)
    here = Host(there, "127.0.0.1", "localhost:8080")
    await here.open(new_link(folder))
    here.address = "::/64"  # `localhost` is ::1 now
    assert (await here.ask("GET", "/host")).status == 200


async def test_an_old_cookie_opens_nothing(site: Site, folder: Path, autojump_clock: Any) -> None:
    browser = Host(site)
    await browser.open(new_link(folder))
    restarted = Host(Site(App(site.app.feed, site.app.tables)))
    restarted.cookie = browser.cookie
    assert (await restarted.ask("GET", "/host")).status == 401
    assert (await browser.ask("GET", "/host")).status == 200
    await trio.sleep(TEAM_SESSION_SECONDS + 1)
    for path in READS:
        assert (await browser.ask("GET", path)).status == 401
    assert (await browser.send("announce", text="Go home")).status == 401


async def test_a_secret_counts_in_its_own_place_only(site: Site, folder: Path, autojump_clock: Any) -> None:
    key, link = bearer_key(folder), new_link(folder)
    tokens = [team.token for team in load_contest(folder).teams.values()]
    for secret in (key, *tokens):
        browser = Host(site)
        assert await browser.open(secret) == 403
        for cookie in (secret, link):
            browser.cookie = cookie
            assert (await browser.ask("GET", "/host")).status == 401
        assert (await browser.ask("GET", "/host", authorization=f"Bearer {secret}")).status == 401
    assert (await Host(site).ask("HEAD", f"/host?key={link}")).status == 401  # only a look: the link is not spent
    browser = Host(site)
    assert await browser.open(link) == 303
    program = Program(site, "")
    program.headers["cookie"] = f"{COOKIE}={browser.cookie}"
    for query in (None, {"key": key}, {"access_token": key}):
        assert (await program.ask("decide", PAUSE, query)).status in (400, 401)
    for wrong in (browser.cookie, browser.word, link, *tokens):
        assert (await Program(site, wrong).ask("decide", PAUSE)).status == 401
    assert unchanged(site, folder)


async def test_a_program_s_key_is_worthless_where_the_console_is_closed(site: Site, folder: Path) -> None:
    key = bearer_key(folder)
    places: Mapping[HostPage, list[tuple[str, str]]] = {
        "off": [("127.0.0.1", "127.0.0.1:8080")],
        "loopback": [("192.0.2.8", "192.0.2.7:8080"), ("192.0.2.8", "127.0.0.1:8080")],
        "lan": [("192.0.2.8", "evil.example:8080")],
    }
    for where, closed in places.items():
        there = Site(App(site.app.feed, site.app.tables, host_page=where))
        for address, name in closed:
            assert (await Program(there, key, address, name).ask("decide", PAUSE)).status == 403
            browser = Host(there, address, name)
            for path in READS:
                assert (await browser.ask("GET", path)).status == 403
    assert unchanged(site, folder)


# --- over a socket ----------------------------------------------------------------------------------------------

TEN_MB = 10_000_000


async def over_a_socket(site: Site, text: bytes, body_bytes: int = 0) -> tuple[bytes, int]:
    """Send a request and a body; return all that comes back, and how much of the body could be sent."""
    server = HttpServer(site.app, HostCheck(), site.app.own.body_limit)
    sent = 0
    async with trio.open_nursery() as nursery:
        (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
        nursery.start_soon(server.serve, listener)
        stream = await trio.open_tcp_stream(*listener.socket.getsockname()[:2])
        answer = bytearray()
        async with stream:
            stream.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 14)
            try:
                await stream.send_all(text)
                while sent < body_bytes:
                    await stream.send_all(b"a" * 10_000)
                    sent += 10_000
                await stream.send_eof()
            except trio.BrokenResourceError:
                pass  # refused before its end
            try:
                async for part in stream:
                    answer += part
            except trio.BrokenResourceError:
                pass
        nursery.cancel_scope.cancel()
    return bytes(answer), sent


@pytest.mark.parametrize("path", ["/host/decide", "/host/announce", "/api/v1/host/decide"])
async def test_a_body_of_ten_megabytes_is_not_read(site: Site, folder: Path, path: str) -> None:
    bearer_key(folder)
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {TEN_MB}\r\n\r\n".encode()
    answer, sent = await over_a_socket(site, head, TEN_MB)
    assert not answer or answer.startswith(b"HTTP/1.1 413 ")  # a reset may overtake the answer
    assert sent < TEN_MB
    assert unchanged(site, folder)


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (b"DELETE /host HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", b"405"),
        (b"PUT /host/decide HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", b"405"),
        (b"CONNECT 127.0.0.1:22 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", b"405"),
        (b"TRACE /host HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", b"405"),
        (b"POST /host HTTP/1.1\r\nHost: 127.0.0.1\r\nX-HTTP-Method-Override: GET\r\n\r\n", b"401"),
        (b"GET /host HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil.example\r\n\r\n", b"400"),
        (b"GET http://evil.example/host HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", b"404"),
        (b"GET //host HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", b"404"),
        (b"GET /x/../host HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", b"404"),
        (b"GET /%68ost HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", b"401"),
        (b"GET /host/files/..%2fhost.key HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", b"401"),
        (b"GET /host HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Forwarded-Host: 127.0.0.1\r\nHost : a\r\n\r\n", b"400"),
        (
            b"POST /host/decide HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 4\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /host HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
            b"400",
        ),
        (
            b"POST /host/decide HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
            b"400",
        ),
    ],
)
async def test_odd_requests_are_refused_once(site: Site, request_: bytes, status: bytes) -> None:
    answer, _ = await over_a_socket(site, request_)
    assert answer.startswith(b"HTTP/1.1 " + status + b" ")
    assert answer.count(b"HTTP/1.1 ") == 1


async def test_no_file_but_those_of_the_list_is_sent_to_a_host(site: Site, folder: Path) -> None:
    new_link(folder)
    browser = Host(site)
    await browser.open(new_link(folder))
    for name in (
        "host.key",
        "teams.toml",
        "..",
        "../host.key",
        "..%2fhost.key",
        "host.key\x00.csv",
        "contest.toml",
    ):
        assert (await browser.ask("GET", f"/host/files/{name}")).status == 404
