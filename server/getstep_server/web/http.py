"""An HTTP/1.1 server for spectators, on trio, with h11 as its parser.

Theory of operation
-------------------

*Why not Starlette on hypercorn.* Its trio worker sends inside a shielded cancel scope (hypercorn 0.18,
``trio/tcp_server.py``). So an application cannot drop a reader that stopped reading, and 50 of those would hold
their tasks until TCP gives up. It has no time limit for a request either. uvicorn needs asyncio, and closes a slow
connection only after its buffer has been read. h11 is a parser without I/O, as `getstep.wire` is: 37 kB instead of
ten packages. This module adds the loop around it and the limits.

*Limits.* Everything is bounded by a named constant of `limits`: connections in all and from one address, and the
head and the body of a request. So are the time for each, and the time in which a client must take what is sent to
it. If there are too many connections, the one that has waited longest for a request is closed. If none waits, the
new one is refused. `SO_SNDBUF` bounds what the kernel keeps for a client that does not read.

*Long bodies.* A form is short, and an uploaded program is not. ``body_limit`` is asked as soon as the head is
there, so a long body is read only for a client that is logged in. Few are read at a time, because each is kept in
memory, and one of each team.

*Host.* A page that checks no ``Host`` can be read by any web site through DNS rebinding: the site's own name then
resolves to this server's address. An attack of that kind needs a name, so literal addresses are always accepted,
and names only if they are this machine's or configured.

*TLS.* With a certificate, a client's first byte says whether it speaks TLS. The time of a handshake is bounded, and
so is the number of handshakes. A client without TLS is sent to the same address with https. A handshake takes 1 ms
of processor time in this process, which no match waits for.

*Proxies.* What a reverse proxy says of the client is believed only if contest.toml names the proxy's address
(`proxies`). Those connections may come without TLS, and each request on them counts as its client's.
"""

from __future__ import annotations

import contextlib
import ipaddress
import math
import os
import re
import socket
import ssl
import sys
import traceback
import zlib
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from http import HTTPStatus
from typing import Literal, TypeAlias
from urllib.parse import parse_qsl, unquote, urlsplit

import h11
import trio
from msgspec import to_builtins

from getstep_server import json_text
from getstep_server.addresses import source_of
from getstep_server.api.answers import Problem
from getstep_server.config.contest import QuotasTable
from getstep_server.limits import (
    MAX_PAGE_CONNECTIONS,
    MAX_PAGE_HANDSHAKES,
    MAX_PAGE_UPLOADS,
    PAGE_BODY_BYTES,
    PAGE_BURST_SECONDS,
    PAGE_HANDSHAKE_SECONDS,
    PAGE_HEAD_BYTES,
    PAGE_IDLE_SECONDS,
    PAGE_REQUEST_SECONDS,
    PAGE_SEND_BUFFER,
    PAGE_SEND_SECONDS,
    PAGE_UPLOAD_SECONDS,
)
from getstep_server.login_limits import Rate

from .proxies import NO_PROXIES, BadProxyHeader, Proxies

NO_QUOTAS = QuotasTable()
"""The quotas of a contest that sets none."""

Send: TypeAlias = Callable[[bytes], Awaitable[None]]
"""Sends bytes to the client within PAGE_SEND_SECONDS, or ends its task."""

Scheme: TypeAlias = Literal["http", "https"]

HTML = "text/html; charset=utf-8"
JSON = "application/json"
PROBLEM = "application/problem+json"
TEXT = "text/plain; charset=utf-8"
BINARY = "application/octet-stream"
EVENTS = "text/event-stream"
SECURITY_HEADERS = (
    (
        "Content-Security-Policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self';"
        " form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    ),
    ("X-Content-Type-Options", "nosniff"),
    ("Referrer-Policy", "same-origin"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
)
_GZIP = re.compile(r"\bgzip\b(?!\s*;\s*q=0(?:\.0*)?(?:,|$))")
_METHODS = ("GET", "HEAD", "POST")
_HOST = re.compile(r"(?:\[(?P<ipv6>[0-9A-Fa-f:.]+)\]|(?P<name>[A-Za-z0-9._-]+))(?::(?P<port>[0-9]{1,5}))?")
"""A ``Host`` header. The page repeats it in commands to copy, so nothing else may be in it: no user, no path."""


@dataclass(frozen=True, slots=True)
class Request:
    """A request whose target and host are checked. Names of headers are in lower case.

    ``address`` is the client's as limits count it; see `addresses.source_of`. ``scheme`` is what the browser
    speaks. ``user`` is the name that a trusted proxy has checked; "" if there is none. ``by_proxy``: it came from a
    trusted proxy, so even a loopback address says nothing about where the browser is.
    """

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes
    address: str
    scheme: Scheme = "http"
    user: str = ""
    by_proxy: bool = False

    @property
    def is_own(self) -> bool:
        """True unless the browser says that another site sent the request."""
        origin, site = self.headers.get("origin"), self.headers.get("sec-fetch-site", "same-origin")
        try:
            fits = origin is None or urlsplit(origin).netloc == self.headers.get("host")
        except ValueError:  # an address that no browser sends
            return False
        return fits and site in ("same-origin", "none")

    @property
    def is_local(self) -> bool:
        """True if a program of this machine has sent the request itself."""
        return is_loopback(self.address) and not self.by_proxy

    @property
    def page(self) -> str:
        """The address of this page as the client has typed it, such as ``https://contest.example.org``."""
        return f"{self.scheme}://{self.headers['host']}"

    @property
    def typed_host(self) -> str:
        """The name or address of this machine as the client has typed it."""
        return urlsplit(f"//{self.headers['host']}").hostname or "localhost"

    @property
    def port(self) -> int:
        """The port of this page as the client has typed it, or the usual one of the scheme."""
        return urlsplit(self.page).port or {"http": 80, "https": 443}[self.scheme]

    def cookie(self, name: str) -> str:
        """Return the value of a cookie that holds a random key; "" if there is none."""
        found = re.search(rf"(?:^|;\s*){name}=([A-Za-z0-9_-]{{16,64}})(?:;|$)", self.headers.get("cookie", ""))
        return found[1] if found else ""

    def set_cookie(self, name: str, value: str, path: str = "/", *more: str) -> tuple[str, str]:
        """Return the header that gives the browser a cookie, which it sends back over TLS only if it came so."""
        secure = ["Secure"] if self.scheme == "https" else []
        return "Set-Cookie", "; ".join(
            [f"{name}={value}", f"Path={path}", "HttpOnly", "SameSite=Strict", *secure, *more]
        )

    @property
    def takes_gzip(self) -> bool:
        """True if the client says that it reads compressed answers."""
        return _GZIP.search(self.headers.get("accept-encoding", "")) is not None

    def form(self) -> dict[str, str]:
        """Return the fields of a submitted form; the last of several values counts."""
        # a form of ours has fewer fields: each more costs memory
        return dict(parse_qsl(self.body.decode("utf-8", "replace"), max_num_fields=16))


@dataclass(frozen=True, slots=True)
class Response:
    body: bytes = b""
    content_type: str = HTML
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class EventStream:
    """A response that goes on: ``follow`` sends events until cancelled, each through `packed` if ``is_packed``."""

    follow: Callable[[Send], Awaitable[None]]
    content_type: str = EVENTS
    headers: tuple[tuple[str, str], ...] = ()
    is_packed: bool = False


@lru_cache(maxsize=64)  # all readers get the same bytes, so each event is compressed once
def packed(data: bytes) -> bytes:
    """Return data as a part of a gzip stream that any other part may precede and follow.

    A new compressor refers to nothing before it, and a flush ends on a whole byte. Boards and tables become
    a fifth; level 1 takes 0.2 ms for 20 kB.
    """
    compressor = zlib.compressobj(1, wbits=-zlib.MAX_WBITS)
    return compressor.compress(data) + compressor.flush(zlib.Z_SYNC_FLUSH)


_GZIP_HEAD = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
"""The head of a gzip stream (RFC 1952) without time and name. Its end never comes: the connection ends before."""


@dataclass(frozen=True, slots=True)
class Download:
    """A file that is made while it is sent, so that a long one takes no memory.

    If making it fails, the connection ends inside a chunk, and the browser says that the file is not whole.
    """

    name: str
    content_type: str
    pieces: Callable[[], AsyncGenerator[bytes, None]]


PageStream: TypeAlias = "trio.SocketStream | trio.SSLStream[trio.SocketStream]"
AnyResponse: TypeAlias = Response | EventStream | Download
Handler: TypeAlias = Callable[[Request], Awaitable[AnyResponse]]


@dataclass(frozen=True, slots=True)
class Upload:
    """A long body that may come: the size that it may have, and the team that sends it, one at a time."""

    limit: int
    team: int


BodyLimit: TypeAlias = Callable[[Request], "int | Upload | Response"]
"""Called with a request whose body is not read yet: returns the size that it may have, or the refusal."""


def redirect(address: str, *headers: tuple[str, str]) -> Response:
    """Return a redirection, which a browser follows with GET."""
    return Response(b"", status=303, headers=(("Location", address), *headers))


def attachment(name: str) -> tuple[str, str]:
    """Return the header that makes a browser save a file instead of showing it."""
    return "Content-Disposition", f'attachment; filename="{name}"'


def problem(status: int, text: str, path: str = "") -> Response:
    """Return a response for a request that cannot be fulfilled: for an address of the API as RFC 9457 has it."""
    if path.startswith("/api/"):
        answer = Problem(title=HTTPStatus(status).phrase, status=status, detail=text)
        return Response(json_text.encode(to_builtins(answer)), PROBLEM, status)
    return Response(f"{status} {HTTPStatus(status).phrase}: {text}\n".encode(), TEXT, status)


def _to_https(method: str, host: str, target: str) -> Response:
    """Return the answer to a request without TLS: browsers go to the same address with https."""
    text = f"this page speaks https: https://{host}/"
    if method == "POST" or not target.startswith("/"):  # what it brings has been read on the way already
        return problem(403, text, target)
    return replace(problem(308, text, target), headers=(("Location", f"https://{host}{target}"),))


def retry_later(text: str, seconds: float, path: str = "") -> Response:
    """Return a refusal of what is asked too often, with the time after which it is accepted."""
    found = problem(429, f"{text}; try again in {in_words(seconds)}", path)
    return replace(found, headers=(*found.headers, retry_after(seconds)))


def retry_after(seconds: float) -> tuple[str, str]:
    """Return the header that says when something is accepted again."""
    return "Retry-After", str(math.ceil(seconds))


def in_words(seconds: float) -> str:
    """Return a time to wait, rounded up: 40 s, 12 min, 24 h."""
    units = ((3600, "h"), (60, "min"), (1, "s"))
    unit, name = next(one for one in units if seconds > one[0] or one[0] == 1)
    return f"{math.ceil(seconds / unit)} {name}"


def is_loopback(address: str) -> bool:
    """Return True if a client's address, as limits count it, is of this machine."""
    # limits count IPv6 by its first 64 bits: of those of ::1, no other address is used
    return address == "::/64" or ipaddress.ip_network(address).is_loopback


def page_names(address: str | None) -> list[str]:
    """Return the name in the address of a page, which is this server's as those of ``web_names`` are."""
    name = urlsplit(address or "").hostname
    return [] if name is None else [name]


class HostCheck:
    """Decides which ``Host`` headers are this server's: literal addresses, this machine's names, and ``names``."""

    def __init__(self, names: Collection[str] = ()) -> None:
        own = socket.gethostname().lower()
        self._names = {"localhost", own, own.partition(".")[0], f"{own.partition('.')[0]}.local"}
        self._names |= {name.lower() for name in names}

    def allows(self, host: str) -> bool:
        """Return True if a ``Host`` header, which may name a port, is this server's."""
        found = _HOST.fullmatch(host)
        # the pattern takes any number of five digits
        if found is None or (found["port"] is not None and not 1 <= int(found["port"]) <= 65535):
            return False
        try:
            if found["ipv6"] is not None:
                ipaddress.IPv6Address(found["ipv6"])
            elif found["name"].lower() not in self._names:
                ipaddress.IPv4Address(found["name"])
        except ValueError:
            return False
        return True


class _ClientTooSlow(Exception):  # noqa: N818 - it never leaves this module
    """Raised when a client did not take what was sent to it in time."""


@dataclass(eq=False)
class _BrowserConnection:
    """A connection; ``waiting`` while it has no request, ``streaming`` once it follows events.

    ``peer`` is the socket's address. ``address`` is as limits count it: on a trusted proxy's connection, that of
    the client of the latest request.
    """

    stream: PageStream
    peer: str
    address: str
    is_proxy: bool
    waiting: bool = True
    shaking_hands: bool = False
    streaming: bool = False
    scope: trio.CancelScope = field(default_factory=trio.CancelScope)


class HttpServer:
    """An HTTP server for a handful of pages.

    Args:
        handle: called with each request; an exception becomes status 500 and a traceback on standard error.
        hosts: decides which ``Host`` headers are accepted.
        body_limit: decides how long the body of a request may be.
        tls: returns how to accept TLS now; None: the page speaks plain HTTP.
        proxies: those that are trusted.
        quotas: what one address may have.
    """

    def __init__(
        self,
        handle: Handler,
        hosts: HostCheck,
        body_limit: BodyLimit = lambda _: PAGE_BODY_BYTES,
        *,
        tls: Callable[[], ssl.SSLContext] | None = None,
        proxies: Proxies = NO_PROXIES,
        quotas: QuotasTable = NO_QUOTAS,
    ) -> None:
        self._handle = handle
        self._hosts = hosts
        self._body_limit = body_limit
        self._tls = tls
        self._proxies = proxies
        self.answers: Counter[int] = Counter()
        """The answers that were sent, by status; an event stream counts when it begins."""
        self._most_per_address = quotas.page_connections_per_address
        rate = quotas.page_requests_per_second
        self._rate = Rate(rate, rate * PAGE_BURST_SECONDS)
        self._uploads: set[int] = set()  # the teams whose long bodies are read
        # a set in the order of arrival: `_make_room` closes the one that has waited longest
        self._connections: dict[_BrowserConnection, None] = {}
        self._by_address: Counter[str] = Counter()

    @property
    def connections(self) -> int:
        return len(self._connections)

    @property
    def answering(self) -> bool:
        """True while a response is made or sent; event streams do not count."""
        return any(not one.waiting and not one.streaming for one in self._connections)

    async def serve(self, listener: trio.SocketListener) -> None:
        """Serve until cancelled, then close ``listener``. The failure of one connection never reaches another."""
        # before the first client: accepted sockets inherit it
        listener.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, PAGE_SEND_BUFFER)
        async with listener, trio.open_nursery() as nursery:
            while True:
                try:
                    stream = await listener.accept()
                except OSError:  # out of file descriptors: some are closed soon
                    await trio.sleep(0.1)
                else:
                    nursery.start_soon(self._run, stream)

    async def _run(self, stream: trio.SocketStream) -> None:
        try:
            peer = str(stream.socket.getpeername()[0])
        except OSError:
            await trio.aclose_forcefully(stream)
            return
        connection = _BrowserConnection(stream, peer, source_of(peer), self._proxies.trusts(peer))
        if not self._make_room(connection.address, is_proxy=connection.is_proxy):
            await trio.aclose_forcefully(stream)
            return
        self._connections[connection] = None
        self._by_address[connection.address] += 1
        try:
            with connection.scope:
                if self._tls is None or await self._shake_hands(connection, stream, self._tls()):
                    await self._converse(connection)
            with trio.move_on_after(PAGE_SEND_SECONDS):  # TLS says goodbye, for which a client may have no room
                await connection.stream.aclose()
        # With *: what ends an event stream comes in the group of its nursery.
        except* (trio.BrokenResourceError, trio.ClosedResourceError, _ClientTooSlow, OSError):
            pass
        except* Exception:
            traceback.print_exc(file=sys.stderr)
        finally:
            del self._connections[connection]
            self._by_address[connection.address] -= 1
            await trio.aclose_forcefully(stream)  # without waiting for a client that does not read

    def _make_room(self, address: str, *, is_proxy: bool = False) -> bool:
        """Return True if another connection may be served, after closing the one that waited longest if need be."""
        # a trusted proxy brings all clients: its requests are counted one by one
        if not is_proxy and self._is_crowded(address):
            crowd = [one for one in self._connections if one.address == address]
        elif len(self._connections) >= MAX_PAGE_CONNECTIONS:
            crowd = list(self._connections)
        else:
            return True
        waiting = next((one for one in crowd if one.waiting and not one.scope.cancel_called), None)
        if waiting is not None:
            waiting.scope.cancel()
        return waiting is not None

    def _is_crowded(self, address: str) -> bool:
        return self._by_address[address] >= self._most_per_address

    async def _shake_hands(
        self, connection: _BrowserConnection, stream: trio.SocketStream, context: ssl.SSLContext
    ) -> bool:
        """Speak TLS from now on, if the client does; return False if it takes too long."""
        self._limit_handshakes()
        connection.shaking_hands = True
        with trio.move_on_after(PAGE_HANDSHAKE_SECONDS) as scope:
            if await stream.socket.recv(1, socket.MSG_PEEK) == _HANDSHAKE:
                secured = trio.SSLStream(stream, context, server_side=True)
                await secured.do_handshake()
                connection.stream = secured
        connection.shaking_hands = False
        return not scope.cancelled_caught

    def _limit_handshakes(self) -> None:
        """Close the oldest handshake of the address that has most of them, if there are too many."""
        shaking = [one for one in self._connections if one.shaking_hands and not one.scope.cancel_called]
        if len(shaking) >= MAX_PAGE_HANDSHAKES:
            ((largest, _),) = Counter(one.address for one in shaking).most_common(1)
            next(one for one in shaking if one.address == largest).scope.cancel()

    async def _converse(self, connection: _BrowserConnection) -> None:
        """Answer the requests of a connection in order."""
        parser = h11.Connection(h11.SERVER, max_incomplete_event_size=PAGE_HEAD_BYTES)
        seconds = PAGE_REQUEST_SECONDS
        while True:
            connection.waiting = True
            with trio.move_on_after(seconds) as scope:  # a request sent byte by byte may not hold a connection
                try:
                    request = await self._read(parser, connection, scope)
                except h11.RemoteProtocolError as error:
                    status = error.error_status_hint
                    await self._refuse(parser, connection, problem(status, "the request is not valid HTTP"))
                    return
            if scope.cancelled_caught or request is None:
                return
            connection.waiting = False
            answer = request if isinstance(request, Response) else await self._answer(request)
            wants_body = isinstance(request, Response) or request.method != "HEAD"
            if isinstance(answer, EventStream):
                connection.streaming = True
                await self._stream(connection, answer, body=wants_body)
                return
            if isinstance(answer, Download):
                await self._send_download(parser, connection, answer, body=wants_body)
            else:
                await self._send_response(parser, connection, answer, body=wants_body)
            if parser.our_state is not h11.DONE or parser.their_state is not h11.DONE:
                return  # the rest of a body that was refused would be read as the next request
            parser.start_next_cycle()
            seconds = PAGE_IDLE_SECONDS

    async def _read(
        self, parser: h11.Connection, connection: _BrowserConnection, scope: trio.CancelScope
    ) -> Request | Response | None:
        """Return the next request, or the response that refuses it; None if the client has closed."""
        while True:
            event = parser.next_event()
            if isinstance(event, h11.Request):
                break
            if event is not h11.NEED_DATA:
                return None
            await _receive(parser, connection)
        request = self._request(event, connection)
        if isinstance(request, Response):
            return request
        if request.address != connection.address and (refusal := self._recount(connection, request.address)):
            return refusal
        limit = self._body_limit(request)
        if isinstance(limit, Response):
            return limit
        if isinstance(limit, int):
            return await self._with_body(parser, connection, request, limit)
        if limit.team in self._uploads:  # slow bodies of one team would keep all others from sending theirs
            return problem(409, "your team is sending another file now; try again when it is there")
        if len(self._uploads) >= MAX_PAGE_UPLOADS:
            return problem(503, "several files are being sent to this page now; try again in a minute")
        self._uploads.add(limit.team)
        connection.waiting = False  # a new connection must not push out a program that is half sent
        scope.deadline = trio.current_time() + PAGE_UPLOAD_SECONDS
        try:
            return await self._with_body(parser, connection, request, limit.limit)
        finally:
            self._uploads.discard(limit.team)

    async def _with_body(
        self, parser: h11.Connection, connection: _BrowserConnection, request: Request, limit: int
    ) -> Request | Response | None:
        body = bytearray()
        while True:
            event = parser.next_event()
            if event is h11.NEED_DATA:
                await _receive(parser, connection)
            elif isinstance(event, h11.Data):
                body += event.data
                if len(body) > limit:
                    return problem(413, f"expected a body of at most {limit} bytes", request.path)
            elif isinstance(event, h11.EndOfMessage):
                return replace(request, body=bytes(body))
            else:
                return None

    def _recount(self, connection: _BrowserConnection, address: str) -> Response | None:
        """Count a proxy's connection as one of its client, or return the refusal."""
        if self._is_crowded(address):
            return problem(503, "too many connections come from your address; close some of its pages")
        self._by_address[connection.address] -= 1
        self._by_address[address] += 1
        connection.address = address
        return None

    def _request(self, head: h11.Request, connection: _BrowserConnection) -> Request | Response:
        lines = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in head.headers]
        try:
            said = self._proxies.said(lines, connection.peer if connection.is_proxy else None)
        except BadProxyHeader as error:
            return problem(400, str(error))
        headers = said.headers
        if "transfer-encoding" in headers and "content-length" in headers:
            # h11 follows the encoding. A proxy in front may follow the length, and take what comes after for a
            # body: a smuggled request. RFC 9112, section 6.3 requires to close the connection; `_converse` does so
            # after each refusal whose body was not read.
            text = "expected a Content-Length or a Transfer-Encoding, not both"
            return replace(problem(400, text), headers=(("Connection", "close"),))
        method = head.method.decode("latin-1")  # as h11 returns it: any byte is a character, so this never fails
        if not self._hosts.allows(headers.get("host", "")):
            return problem(421, "this name is not one of the server's; see web_names in contest.toml")
        if method not in _METHODS:
            return Response(b"", TEXT, 405, (("Allow", ", ".join(_METHODS)),))
        target = head.target.decode("latin-1")
        secured = isinstance(connection.stream, trio.SSLStream)
        if self._tls is not None and not secured and not connection.is_proxy:
            return _to_https(method, headers["host"], target)
        path, _, query = target.partition("?")
        try:
            fields = dict(parse_qsl(query, max_num_fields=16))  # no page has more; each field costs memory
        except ValueError:
            return problem(400, "expected at most 16 fields in the query", unquote(path))
        address = source_of(said.client or connection.peer)
        scheme = said.scheme or ("https" if secured else "http")
        by_proxy = connection.is_proxy
        return Request(method, unquote(path), fields, headers, b"", address, scheme, said.user, by_proxy)

    async def _answer(self, request: Request) -> AnyResponse:
        if not request.is_local and (wait := self._rate.take(request.address)):
            return retry_later("too many requests from your address", wait, request.path)
        try:
            return await self._handle(request)
        except Exception:  # an error of one page must not end the others
            traceback.print_exc(file=sys.stderr)
            return problem(500, "the page failed; its log has the reason")

    # --- sending ---

    async def _send_response(
        self, parser: h11.Connection, connection: _BrowserConnection, answer: Response, *, body: bool = True
    ) -> None:
        self.answers[answer.status] += 1
        own = {name for name, _ in answer.headers}
        headers = [*(one for one in SECURITY_HEADERS if one[0] not in own), *answer.headers]
        if answer.status != HTTPStatus.NO_CONTENT:  # which has no length (RFC 9110, section 8.6)
            headers += [("Content-Type", answer.content_type), ("Content-Length", str(len(answer.body)))]
        if not any(name == "Cache-Control" for name, _ in answer.headers):
            headers.append(("Cache-Control", "no-store"))
        head = h11.Response(status_code=answer.status, headers=headers, reason=HTTPStatus(answer.status).phrase)
        parts = [parser.send(head), parser.send(h11.Data(answer.body)) if body else b""]
        parts.append(parser.send(h11.EndOfMessage()))
        await _send(connection.stream, b"".join(part for part in parts if part))

    async def _send_download(
        self, parser: h11.Connection, connection: _BrowserConnection, answer: Download, *, body: bool
    ) -> None:
        headers = [("Content-Type", answer.content_type), attachment(answer.name), ("Cache-Control", "no-store")]
        head = h11.Response(status_code=200, headers=[*headers, *SECURITY_HEADERS], reason="OK")
        await _send(connection.stream, parser.send(head) or b"")
        if body:
            async with contextlib.aclosing(answer.pieces()) as pieces:
                async for piece in pieces:
                    await _send(connection.stream, parser.send(h11.Data(piece)) or b"")
        await _send(connection.stream, parser.send(h11.EndOfMessage()) or b"")

    async def _refuse(self, parser: h11.Connection, connection: _BrowserConnection, answer: Response) -> None:
        if parser.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            await self._send_response(parser, connection, answer)

    async def _stream(self, connection: _BrowserConnection, answer: EventStream, *, body: bool) -> None:
        """Send events until the client closes, or reads too slowly.

        The response has no length and ends with the connection, so that the bytes of an event are the same for all
        subscribers and need no framing for each.
        """
        self.answers[200] += 1
        stream = connection.stream
        head = [*_STREAM_HEAD, ("Content-Type", answer.content_type), *answer.headers]
        if answer.is_packed:
            head += [("Content-Encoding", "gzip"), ("Vary", "Accept-Encoding")]
        text = "".join(["HTTP/1.1 200 OK\r\n", *(f"{name}: {value}\r\n" for name, value in head), "\r\n"])
        await _send(stream, text.encode() + (_GZIP_HEAD if answer.is_packed and body else b""))
        if not body:
            return
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_cancel_at_end, stream, nursery.cancel_scope)
            await answer.follow(partial(_send_event, stream))
            nursery.cancel_scope.cancel()


_STREAM_HEAD = (("Cache-Control", "no-store"), ("Connection", "close"), *SECURITY_HEADERS)
_HANDSHAKE = b"\x16"
"""The first byte of a TLS connection: the type of a record with a handshake. No method of HTTP begins with it."""

_PIECE = 1 << 16
"""The part of a long body that a client must take within PAGE_SEND_SECONDS: 6.5 kB/s."""


async def _receive(parser: h11.Connection, connection: _BrowserConnection) -> None:
    parser.receive_data(bytes(await connection.stream.receive_some(PAGE_HEAD_BYTES)))


async def _send(stream: PageStream, data: bytes) -> None:
    for start in range(0, len(data), _PIECE):
        with trio.move_on_after(PAGE_SEND_SECONDS) as scope:  # for each piece: a slow line may load a long page
            await stream.send_all(data[start : start + _PIECE])
        if scope.cancelled_caught:
            raise _ClientTooSlow


async def _send_event(stream: PageStream, data: bytes) -> None:
    """Send an event: at once what the socket takes, which is all of it unless the client is slow.

    The page sends each event to hundreds of subscribers. A system call takes 6 us; with a deadline and a checkpoint
    around it, sending takes 24 us. The caller then waits for the next event, so it needs no checkpoint here.
    """
    sent = 0
    if isinstance(stream, trio.SocketStream) and hasattr(os, "writev"):  # where a socket is a file
        with contextlib.suppress(OSError):  # it takes nothing now, or it is closed, which `_send` reports
            sent = os.write(stream.socket.fileno(), data)
    if sent < len(data):
        await _send(stream, data[sent:])


async def _cancel_at_end(stream: PageStream, scope: trio.CancelScope) -> None:
    """Cancel ``scope`` when the client has closed, or sends anything: a subscriber has nothing to say."""
    with contextlib.suppress(trio.BrokenResourceError, trio.ClosedResourceError):  # the browser has left
        await stream.receive_some(1)
    scope.cancel()
