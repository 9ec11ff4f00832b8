"""The pages of a contest, asked for without a browser and without a socket."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import trio

from getstep_server.web.app import App
from getstep_server.web.feed import Feed
from getstep_server.web.http import Request, Response
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
    """Return the pages of a contest, which follow its records until ``nursery`` is cancelled."""
    feed = Feed(folder)
    tables = TableMaker(feed)
    loaded = trio.Event()

    def ready() -> None:
        tables.reset()
        loaded.set()

    nursery.start_soon(feed.run, ready)
    await loaded.wait()
    return Site(App(feed, tables, None if reveal is None else reveal(feed)))
