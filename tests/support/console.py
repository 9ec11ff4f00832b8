"""A browser of the host, and a program with the host's key, at pages without a socket."""

from __future__ import annotations

import html
import json
import re
from typing import Any
from urllib.parse import urlencode

import trio

from getstep_server.web.host_access import COOKIE
from getstep_server.web.http import Request, Response
from tests.support.site import Site

PAUSE = {"decision": "pause", "match": 3, "at_once": True, "by": "Ada", "why": "lunch"}
"""The body of a decision about match 3, which `half_played` leaves open."""


class Host:
    """A browser of the host."""

    def __init__(self, site: Site, address: str = "127.0.0.1", name: str = "127.0.0.1:8080") -> None:
        self.site, self.address, self.name = site, address, name
        self.cookie, self.page = "", ""

    async def ask(self, method: str, path: str, form: dict[str, str] | None = None, **headers: str) -> Response:
        path, _, query = path.partition("?")
        asked = dict([query.split("=", 1)]) if query else {}
        head = {"host": self.name, "cookie": f"{COOKIE}={self.cookie}", **headers}
        body = urlencode(form or {}).encode()
        answer = await self.site.app(Request(method, path, asked, head, body, self.address))
        assert isinstance(answer, Response)
        return answer

    async def open(self, link: str) -> int:
        answer = await self.ask("GET", f"/host?key={link}")
        if answer.status == 303:
            headers = dict(answer.headers)
            assert headers["Location"] == "/host"
            assert "HttpOnly; SameSite=Strict" in headers["Set-Cookie"]
            self.cookie = re.findall("=([^;]+)", headers["Set-Cookie"])[0]
            self.page = (await self.ask("GET", "/host")).body.decode()
        return answer.status

    @property
    def word(self) -> str:
        return str(re.findall('name="word" value="([^"]+)"', self.page)[0])

    async def send(self, what: str, **form: str) -> Response:
        return await self.ask("POST", f"/host/{what}", {"word": self.word, **form})

    async def decide(self, **form: str) -> Response:
        """Send a form, and confirm its preview with what that has."""
        shown = await self.send("preview", **form)
        assert shown.status == 200, shown.body
        self.page = shown.body.decode()
        hidden = {
            name: html.unescape(value) for name, value in re.findall(r'name="(\w+)" value="([^"]*)"', self.page)
        }
        return await self.then(await self.ask("POST", "/host/decide", hidden))

    async def then(self, answer: Response) -> Response:
        """Return the page that a browser shows after an answer."""
        return await self.ask("GET", "/host") if answer.status == 303 else answer


class Program:
    """A program of the host, or one that would like to be it."""

    def __init__(self, site: Site, key: str, address: str = "127.0.0.1", name: str = "127.0.0.1:8080") -> None:
        self.site, self.address = site, address
        self.headers = {"host": name, **({"authorization": f"Bearer {key}"} if key else {})}

    async def ask(self, what: str, body: Any = None, query: dict[str, str] | None = None) -> Response:
        text = body if isinstance(body, bytes) else json.dumps(body).encode()
        method = "GET" if what == "health" else "POST"
        request = Request(method, f"/api/v1/host/{what}", query or {}, self.headers, text, self.address)
        answer = await self.site.app(request)
        assert isinstance(answer, Response)
        return answer


async def refresh(site: Site) -> None:
    """Build what is followed, as the page's process does."""
    while True:
        site.app.host.refresh()
        await trio.sleep(0.01)
