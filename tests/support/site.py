"""The pages of a contest without a socket, and a browser that logs in to the area of a team."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
import trio

from getstep.wire import sign_page_login
from getstep_server.web.app import App
from getstep_server.web.feed import Feed
from getstep_server.web.http import AnyResponse, Request, Response
from getstep_server.web.process import TableMaker
from getstep_server.web.reveal import Steering


class Site:
    """The pages of a contest, asked for directly."""

    def __init__(self, app: App) -> None:
        self.app = app

    async def get(self, path: str, method: str = "GET", **headers: str) -> Response:
        return await self._ask(method, path, b"", headers)

    async def post(self, path: str, form: dict[str, str], **headers: str) -> Response:
        return await self._ask("POST", path, urlencode(form).encode(), headers)

    async def json(self, path: str) -> Any:
        answer = await self.get(path)
        assert answer.status == 200, (path, answer.body)
        return json.loads(answer.body)

    async def _ask(self, method: str, path: str, body: bytes, headers: dict[str, str]) -> Response:
        request = Request(method, path, {}, {"host": "192.0.2.7:8080", **headers}, body, "192.0.2.8")
        answer = await self.app(request)
        assert isinstance(answer, Response)
        return answer


async def following(folder: Path, nursery: trio.Nursery, reveal: Callable[[Feed], Steering] | None = None) -> Site:
    """Return the pages of a contest, which follow its records, if there are any, until ``nursery`` is cancelled."""
    feed = Feed(folder)
    tables = TableMaker(feed)
    tables.reset()
    nursery.start_soon(feed.run, tables.reset)
    await feed.opened.wait()
    return Site(App(feed, tables, None if reveal is None else reveal(feed)))


@asynccontextmanager
async def without_status(folder: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Site]:
    """The pages of a contest that follow its records, with no other status than the test gives it."""
    monkeypatch.setattr(Feed, "_poll_status", lambda _: None)
    async with trio.open_nursery() as nursery:
        yield await following(folder, nursery)
        nursery.cancel_scope.cancel()


# --- a browser that logs in to the area of a team of the stored contest, without a page that runs ---------------

STORED = "0.1.0-before-settings/finished"
"""The old contest of these tokens."""

TOKENS = {1: "t9pt-4qc2-gnde", 2: "gtta-vwsf-7gh6", 3: "sdku-u26c-4kp4"}


class Browser:
    """A browser at one address: it keeps its cookie."""

    def __init__(self, app: App, address: str = "192.0.2.8") -> None:
        self._app = app
        self._address = address
        self.cookie = ""
        self.token = ""
        """The latest token that the page has given its team."""

    async def ask(self, path: str, form: Any = None, **headers: str) -> AnyResponse:
        target, _, query = path.partition("?")
        fields = dict(one.split("=") for one in query.split("&") if one)
        found = {"host": "192.0.2.7:8080", "cookie": self.cookie, **headers}
        body = urlencode(form or {}).encode()
        method = "GET" if form is None else "POST"
        return await self._app(Request(method, target, fields, found, body, self._address))

    async def get(self, path: str, form: Any = None, **headers: str) -> Response:
        answer = await self.ask(path, form, **headers)
        assert isinstance(answer, Response)
        if cookie := dict(answer.headers).get("Set-Cookie"):
            self.cookie = cookie.partition(";")[0]
        return answer

    async def json(self, path: str) -> Any:
        answer = await self.get(path)
        assert answer.status == 200, answer.body
        return json.loads(answer.body)

    async def nonce(self) -> str:
        return str((await self.json("/own/nonce.json"))["nonce"])

    async def log_in(self, team: int | str, token: str, **changed: str) -> Response:
        nonce = await self.nonce()
        form = {"team": str(team), "nonce": nonce, "mac": sign_page_login(token, nonce)}
        return await self.get("/own/login", {**form, **changed})
