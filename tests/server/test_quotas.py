"""``[quotas]`` of contest.toml: what one address and one team may have and do, as the host has set it."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path

import pytest
import trio

from getstep.wire import Goodbye, Hello
from getstep_server.web.http import Request
from getstep_server.web.listener import open_page_listener
from getstep_server.web.process import serve
from tests.old_contests.contests import unpack
from tests.support.contests import CONTEST, HOP, complaint, folder_with, make_contest
from tests.support.page_connections import answer, status
from tests.support.patience import PATIENCE_SECONDS
from tests.support.random_results import half_played
from tests.support.servers import connected, running, seated
from tests.support.site import STORED, TOKENS, Browser, following


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("bot_connections_per_address = 0", "at least 1"),
        ("bot_connections_per_address = 4097", "at most 4096"),
        ("page_connections_per_address = 1025", "at most 1024"),
        ("page_followers_per_address = 501", "at most 500"),
        ("page_requests_per_second = 10001", "at most 10000"),
        ("sign_ups_per_hour = 0", "at least 1"),
        ("questions_waiting = -1", "at least 0"),
        ("submissions_per_day = true", "a whole number"),
        ("analyses_per_day = 1001", "at most 1000"),
    ],
)
def test_a_quota_has_bounds(tmp_path: Path, line: str, wrong: str) -> None:
    (text,) = complaint(folder_with(tmp_path, f"{CONTEST}{HOP}[quotas]\n{line}\n"))
    name, value = line.split(" = ")
    shown = {"true": "True"}.get(value, value)
    assert text == f"contest.toml:6: quotas.{name} = {shown}, expected {wrong}"


async def test_one_address_has_as_many_bots_before_their_login_as_the_host_says(tmp_path: Path) -> None:
    contest = make_contest(tmp_path, quotas={"bot_connections_per_address": 2})
    async with running(contest) as server, seated(server.port, 1):
        async with connected(server.port) as first, connected(server.port) as second:
            for player in (first, second):
                await player.expect(Hello)
            async with connected(server.port) as third:
                await third.expect(Hello)
                goodbye = await first.expect(Goodbye)
                assert goodbye.reason == "too_many_connections"
                assert "Start fewer bots at once." in goodbye.detail


HEAD = "GET {path} HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: {client}\r\n{more}\r\n"
FOLLOW = "/api/v1/pages/overview"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = half_played(tmp_path / "half")
    path = folder / "contest.toml"
    quotas = "page_connections_per_address = 3\npage_followers_per_address = 2\npage_requests_per_second = 1\n"
    trusted = '[server]\ntrusted_proxies = ["127.0.0.1"]\n'
    path.write_text(path.read_text().replace("[server]\n", trusted) + f"\n[quotas]\n{quotas}")
    return folder


async def test_one_address_has_of_the_page_what_the_host_says(folder: Path) -> None:
    async with trio.open_nursery() as nursery, AsyncExitStack() as opened:
        listener = open_page_listener("127.0.0.1", 0)
        port = listener.getsockname()[1]
        nursery.start_soon(serve, folder, listener)

        async def connect() -> trio.SocketStream:
            return await trio.open_tcp_stream("127.0.0.1", port)

        def asked(client: str, path: str = "/static/icon.svg", more: str = "") -> bytes:
            return HEAD.format(path=path, client=client, more=more).encode()

        async def follow(client: str) -> bytes:
            stream = await opened.enter_async_context(await connect())
            await stream.send_all(asked(client, FOLLOW, "Accept: text/event-stream\r\n"))
            return bytes(await stream.receive_some())

        with trio.fail_after(PATIENCE_SECONDS):
            found = [status(await answer(connect, asked("203.0.113.9"))) for _ in range(55)]
            assert found[:50] == [200] * 50
            assert 429 in found[50:], "50 seconds at once, and then one a second"
            assert status(await answer(connect, asked("203.0.113.10"))) == 200
            assert [status(await follow("203.0.113.11")) for _ in range(2)] == [200, 200]
            refused = await follow("203.0.113.11")
            assert (status(refused), b"from your address; close some" in refused) == (503, True)
            crowded = await answer(connect, asked("203.0.113.11"))  # the three are open
            assert (status(crowded), b"close some of its pages" in crowded) == (503, True)
        nursery.cancel_scope.cancel()


async def test_a_team_does_as_much_as_the_host_says(tmp_path: Path) -> None:
    folder = tmp_path / "finished"
    unpack(STORED, folder)
    with (folder / "contest.toml").open("a") as file:
        quotas = "questions_waiting = 0\nsubmissions_per_day = 1\nanalyses_per_day = 0\n"
        file.write(f"\n[programs]\nsubmissions = true\n[quotas]\n{quotas}")
    async with trio.open_nursery() as nursery:
        app = (await following(folder, nursery)).app
        browser = Browser(app)
        await browser.log_in(1, TOKENS[1])
        asked = await browser.get("/own/question", {"text": "May we sit outside?"})
        assert (asked.status, b"takes no questions here; go to the host" in asked.body) == (429, True)
        match = next(one.match for one in app.feed.whole.results if 1 in one.match.teams)
        refused = await browser.get("/own/analysis", {"match": str(match.number)})
        assert (refused.status, b"may have 0 analyses in 24 hours" in refused.body) == (429, True)
        headers = {"host": "192.0.2.7:8080", "cookie": browser.cookie}
        sent = Request("POST", "/own/program", {"name": "bot.py"}, headers, b"x", "192.0.2.8")
        assert app.own.submissions.take(1, sent).status == 202
        app.own.submissions._latest.clear()  # it was tried
        refused = app.own.submissions.take(1, sent)
        assert (refused.status, b"has submitted 1 program in 24 hours" in refused.body) == (429, True)
        nursery.cancel_scope.cancel()
