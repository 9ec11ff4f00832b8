"""Reverse proxies: what trusted ones say of their clients, and what everybody else claims."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlencode

import pytest
import trio

from getstep_server.config.class_list import kept_path
from getstep_server.config.contest import ServerTable
from getstep_server.decisions.making import decide
from getstep_server.decisions.requests import Invite
from getstep_server.limits import MAX_PAGE_CONNECTIONS_PER_ADDRESS
from getstep_server.validation import ValidationError, validated
from getstep_server.web.app import App
from getstep_server.web.http import Handler, HostCheck, HttpServer, Request, Response
from getstep_server.web.proxies import Proxies
from getstep_server.web.sign_up import join_path
from tests.support.contests import Table, make_contest
from tests.support.decisions import import_teams
from tests.support.page_connections import HEAD, Connect, all_of, answer, status
from tests.support.site import following

PROXY = Proxies(["127.0.0.0/8", "10.0.0.7"], "X-Remote-User")
ELSEWHERE = Proxies(["192.0.2.1"], "X-Remote-User")


async def told(request: Request) -> Response:
    """Answers with what the page knows of the client."""
    known = sorted(name for name in request.headers if name not in ("host", "x-other"))
    text = f"{request.address} {request.page} {request.user!r} {request.is_local} {known}"
    return Response(text.encode())


@asynccontextmanager
async def serving(proxies: Proxies, handle: Handler = told) -> AsyncIterator[tuple[HttpServer, Connect]]:
    server = HttpServer(handle, HostCheck(["contest.example.org"]), proxies=proxies)
    (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
    port = listener.socket.getsockname()[1]
    async with trio.open_nursery() as nursery:
        nursery.start_soon(server.serve, listener)
        yield server, lambda: trio.open_tcp_stream("127.0.0.1", port)
        nursery.cancel_scope.cancel()


def asked(*headers: str, path: str = "/", method: str = "GET") -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", *headers]
    return "".join(f"{line}\r\n" for line in [*lines, ""]).encode()


ALL = (
    "X-Forwarded-For: 203.0.113.9",
    "X-Forwarded-Proto: https",
    "X-Forwarded-Host: contest.example.org",
    "X-Remote-User: ada@example.org",
)


async def test_a_trusted_proxy_says_who_its_client_is() -> None:
    async with serving(PROXY) as (_, connect):
        text = await answer(connect, asked(*ALL))
    assert text.endswith(b"\r\n\r\n203.0.113.9 https://contest.example.org 'ada@example.org' False []")


async def test_nobody_else_is_believed() -> None:
    async with serving(ELSEWHERE) as (_, connect):
        text = await answer(connect, asked(*ALL))
    assert text.endswith(b"\r\n\r\n127.0.0.1 http://localhost '' True []")


async def test_what_comes_by_a_proxy_of_this_machine_is_not_from_this_machine() -> None:
    """A proxy that is not set up, or a client that writes the header itself, gets no rights of this machine."""
    async with serving(PROXY) as (_, connect):
        for claimed in ([], ["X-Forwarded-For: 127.0.0.1"], ["X-Forwarded-For: ::1"]):
            assert b" False []" in await answer(connect, asked(*claimed))


@pytest.mark.parametrize(
    ("said", "client"),
    [
        (["203.0.113.9"], "203.0.113.9"),
        (["198.51.100.1, 203.0.113.9"], "203.0.113.9"),
        (["203.0.113.9, 10.0.0.7"], "203.0.113.9"),
        (["203.0.113.9", "127.0.0.5"], "203.0.113.9"),
        (["198.51.100.1,203.0.113.9 ,10.0.0.7, 127.0.0.1"], "203.0.113.9"),
        (["[2001:db8::1]"], "2001:db8::/64"),
        (["::ffff:203.0.113.9"], "203.0.113.9"),
        (["garbage, 203.0.113.9"], "203.0.113.9"),
        (["10.0.0.7"], "10.0.0.7"),
        ([", ".join(["198.51.100.1"] * 15 + ["203.0.113.9"])], "203.0.113.9"),
    ],
)
async def test_the_client_is_the_last_address_that_is_no_trusted_proxy(said: list[str], client: str) -> None:
    async with serving(PROXY) as (_, connect):
        text = await answer(connect, asked(*(f"X-Forwarded-For: {one}" for one in said)))
    assert text.split(b"\r\n\r\n")[1].split()[0] == client.encode()


@pytest.mark.parametrize(
    "headers",
    [
        ["X-Forwarded-For: unknown"],
        ["X-Forwarded-For: 203.0.113.9:4711"],
        ["X-Forwarded-For: 203.0.113.9,"],
        ["X-Forwarded-For: 203.0.113.999"],
        ["X-Forwarded-Proto: ftp"],
        ["X-Forwarded-Proto: https, http"],
        ["X-Forwarded-Proto: https", "X-Forwarded-Proto: https"],
        ["X-Forwarded-Host: localhost", "x-forwarded-host: localhost"],
        ["X-Remote-User: ada", "X-Remote-User: blaise"],
        ["X-Remote-User: " + "a" * 255],
        ["X-Remote-User: ada\u202e".encode().decode("latin-1")],
    ],
)
async def test_a_trusted_proxy_that_says_something_else_is_refused(headers: list[str]) -> None:
    request = asked(*headers).decode().encode("latin-1")
    async with serving(PROXY) as (_, connect):
        assert status(await answer(connect, request)) == 400
    async with serving(ELSEWHERE) as (_, connect):
        assert status(await answer(connect, request)) == 200


async def test_a_list_of_addresses_has_at_most_sixteen() -> None:
    async with serving(PROXY) as (_, connect):
        said = ", ".join(["198.51.100.1"] * 17)
        assert status(await answer(connect, asked(f"X-Forwarded-For: {said}"))) == 400


async def test_a_name_of_another_web_site_is_refused_behind_a_proxy_too() -> None:
    async with serving(PROXY) as (_, connect):
        for name in ("evil.example", "contest.example.org@evil.example", "contest.example.org, evil.example"):
            assert status(await answer(connect, asked(f"X-Forwarded-Host: {name}"))) == 421
        assert status(await answer(connect, HEAD.replace(b"localhost", b"evil.example"))) == 421


async def test_limits_count_the_client_and_not_the_proxy() -> None:
    full = {"203.0.113.9": MAX_PAGE_CONNECTIONS_PER_ADDRESS, "127.0.0.1": MAX_PAGE_CONNECTIONS_PER_ADDRESS}
    async with serving(PROXY) as (server, connect):
        server._by_address.update(full)
        text = await answer(connect, asked("X-Forwarded-For: 203.0.113.9"))
        assert status(text) == 503
        assert b"too many connections come from your address" in text
        assert status(await answer(connect, asked("X-Forwarded-For: 203.0.113.10"))) == 200
        while server.connections:
            await trio.sleep(0.01)
        assert +server._by_address == full


async def test_each_request_of_a_proxys_connection_is_its_own_clients() -> None:
    requests = [asked("X-Forwarded-For: 203.0.113.9"), asked("X-Forwarded-For: 203.0.113.10"), asked()]
    async with serving(PROXY) as (_, connect), await connect() as stream:
        await stream.send_all(b"".join(requests))
        await stream.send_eof()
        text = await all_of(stream)
    assert [part.split()[0] for part in text.split(b"\r\n\r\n")[1:]] == [
        b"203.0.113.9", b"203.0.113.10", b"127.0.0.1"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"trusted_proxies": ["127.0.0.1/4"]}, "an IP address or a network"),
        ({"trusted_proxies": ["proxy.example"]}, "an IP address or a network"),
        ({"trusted_proxies": ["127.0.0.1"], "trusted_user_header": "Cookie"}, "a header that only the proxy sends"),
        ({"trusted_proxies": ["127.0.0.1"], "trusted_user_header": "X Y"}, "a header that only the proxy sends"),
        ({"trusted_user_header": "X-Remote-User"}, "trusted_proxies as well"),
        ({"trusted_user_column": "email"}, "trusted_user_header as well"),
        ({"page_address": "contest.example.org"}, "the address of the page without a path"),
        ({"page_address": "https://contest.example.org/"}, "the address of the page without a path"),
        ({"page_address": "https://a@contest.example.org"}, "the address of the page without a path"),
        ({"page_address": "https://contest.example.org:99999"}, "the address of the page without a path"),
    ],
)
def test_mistakes_in_the_settings(settings: Table, message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        validated(ServerTable, settings)


# --- users of a proxy -------------------------------------------------------------------------------------------


def contest_with(folder: Path, column: str = "") -> Path:
    """Return the folder of a contest whose proxy logs people in."""
    server: dict[str, object] = {"trusted_proxies": ["127.0.0.1"], "trusted_user_header": "X-Remote-User"}
    if column:
        server["trusted_user_column"] = column
    make_contest(folder, ["Ada", "Blaise", "Carl"], on_disk=True, server=server)
    return folder


@asynccontextmanager
async def page_of(folder: Path, proxies: Proxies) -> AsyncIterator[tuple[App, Connect]]:
    async with trio.open_nursery() as nursery:
        app = (await following(folder, nursery)).app
        app.own.users.refresh()
        async with serving(proxies, app) as (_, connect):
            yield app, connect
        nursery.cancel_scope.cancel()


def by(user: str, path: str = "/own", *more: str, method: str = "GET") -> bytes:
    return asked(f"X-Remote-User: {user}", "X-Forwarded-For: 203.0.113.9", *more, path=path, method=method)


async def test_a_user_gets_the_area_of_the_team_with_this_id(tmp_path: Path) -> None:
    folder = contest_with(tmp_path / "c")
    async with page_of(folder, PROXY) as (_, connect):
        text = await answer(connect, by("2"))
        assert status(text) == 200
        assert b"<bdi>Blaise</bdi>" in text
        assert b"You are <bdi>2</bdi>" in text
        assert b"/own/logout" not in text
        assert status(await answer(connect, by("2", "/own/state.json"))) == 200
        assert b"logged in for <bdi>Blaise</bdi>" in await answer(connect, by("2", "/play"))
        for nobody in ("99", "", "2x", "-2", "0002 ", "٢"):
            assert b'id="token"' in await answer(connect, by(nobody.encode().decode("latin-1")))


async def test_the_header_logs_in_nobody_who_comes_from_elsewhere(tmp_path: Path) -> None:
    async with page_of(contest_with(tmp_path / "c"), ELSEWHERE) as (_, connect):
        for name in ("X-Remote-User", "x-remote-user", "X_Remote_User", "X-REMOTE-USER"):
            spoofed = asked(f"{name}: 2", "X-Forwarded-For: 127.0.0.1", path="/own")
            assert b'id="token"' in await answer(connect, spoofed)
            for path in ("/own/state.json", "/own/matches.jsonl", "/own/match/1.jsonl"):
                assert status(await answer(connect, asked(f"{name}: 2", path=path))) == 401
            assert b"Blaise" not in await answer(connect, asked(f"{name}: 2", path="/play"))


async def test_a_form_of_another_site_does_nothing_in_the_name_of_a_user(tmp_path: Path) -> None:
    async with page_of(contest_with(tmp_path / "c"), PROXY) as (_, connect):
        for path in ("/own/question", "/own/challenge", "/play/team"):
            evil = by("2", path, "Origin: https://evil.example", "Content-Length: 0", method="POST")
            assert status(await answer(connect, evil)) == 403


async def test_a_user_opens_no_console_and_no_metrics(tmp_path: Path) -> None:
    async with page_of(contest_with(tmp_path / "c"), PROXY) as (_, connect):
        assert status(await answer(connect, by("2", "/host"))) == 403
        assert status(await answer(connect, asked(path="/host"))) == 403
        assert status(await answer(connect, by("2", "/metrics"))) == 403


async def test_a_class_list_names_the_users_of_a_team(tmp_path: Path) -> None:
    folder = contest_with(tmp_path / "c", "E-mail")
    roster = tmp_path / "class.csv"
    roster.write_text(
        "name,team,e-mail\nEve,Foxes,eve@example.org\nDan,Foxes,dan@example.org;d2@example.org\n"
        "Gil,Hares,gil@example.org\nBoth,Foxes,both@example.org\nBoth2,Hares,both@example.org\n"
    )
    import_teams(folder, roster)
    async with page_of(folder, PROXY) as (app, connect):
        for user in ("eve@example.org", "EVE@Example.org", "dan@example.org", "d2@example.org"):
            assert b"<bdi>Foxes</bdi>" in await answer(connect, by(user))
        assert b"<bdi>Hares</bdi>" in await answer(connect, by("gil@example.org"))
        for user in ("both@example.org", "nobody@example.org", "1", "2"):
            assert b'id="token"' in await answer(connect, by(user))
        kept_path(folder).write_text("[")
        app.own.users.refresh()  # says why in the page's log; nobody is logged in by it
        assert b'id="token"' in await answer(connect, by("eve@example.org"))


async def test_a_team_signs_up_through_a_proxy(tmp_path: Path) -> None:
    """Its pages have the address that the browser has typed, and limits count the client that the proxy names."""
    folder = make_contest(tmp_path, 2, on_disk=True, quotas={"sign_ups_per_hour": 1}).folder
    links = await trio.to_thread.run_sync(decide, folder, Invite(uses=3, by="Grace"))
    (path,) = map(join_path, links.keys.values())
    async with trio.open_nursery() as nursery:
        site = await following(folder, nursery)
        async with serving(PROXY, site.app) as (_, connect):

            async def post(client: str, team: str, *more: str) -> str:
                body = urlencode({"word": 32 * team, "name": team, **dict.fromkeys(more, "1")})
                proxied = [f"X-Forwarded-For: {client}", *ALL[1:3], f"Content-Length: {len(body)}"]
                return (await answer(connect, asked(*proxied, path=path, method="POST") + body.encode())).decode()

            joined = await post("203.0.113.9", "a")
            assert status(joined.encode()) == 200
            assert "SameSite=Strict; Secure" in joined
            assert "https://contest.example.org/wheels/" in joined
            slip = await post("203.0.113.9", "a", "slip")
            assert '<td colspan="3">https://contest.example.org/</td>' in slip
            assert status((await post("203.0.113.9", "b")).encode()) == 429
            assert status((await post("203.0.113.10", "b")).encode()) == 200
        nursery.cancel_scope.cancel()
