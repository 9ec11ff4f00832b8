"""The page's HTTP server: what it answers, and that a spectator cannot take more of it than a share."""

from __future__ import annotations

import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from getstep_server.web.http import EventStream, Handler, HostCheck, HttpServer, Request, Response, Send, Upload
from tests.support.page_connections import HEAD, Connect, all_of, answer, status
from tests.support.patience import PATIENCE_SECONDS


async def echo(request: Request) -> Response:
    """Answers with what was asked."""
    return Response(f"{request.method} {request.path} {dict(request.query)} {request.form()}".encode())


@asynccontextmanager
async def serving(
    handle: Handler = echo, names: tuple[str, ...] = (), upload_bytes: int | None = None
) -> AsyncIterator[tuple[HttpServer, Connect]]:
    limit = [] if upload_bytes is None else [lambda request: Upload(upload_bytes, int(request.path[1:] or "0"))]
    server = HttpServer(handle, HostCheck(names), *limit)
    (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
    port = listener.socket.getsockname()[1]
    async with trio.open_nursery() as nursery:
        nursery.start_soon(server.serve, listener)
        yield server, lambda: trio.open_tcp_stream("127.0.0.1", port)
        nursery.cancel_scope.cancel()


async def test_requests_of_one_connection_are_answered_in_order() -> None:
    async with serving() as (_, connect):
        text = await answer(connect, HEAD + HEAD.replace(b"GET /", b"GET /a%20b?c=d"))
    assert text.count(b"HTTP/1.1 200") == 2
    assert text.endswith(b"GET /a b {'c': 'd'} {}")


async def test_every_answer_has_the_security_headers() -> None:
    async with serving() as (_, connect):
        text = await answer(connect, HEAD)
    assert b"default-src 'none'; script-src 'self'; style-src 'self'" in text
    assert b"unsafe" not in text
    assert b"X-Content-Type-Options: nosniff" in text


async def test_a_client_is_counted_by_the_address_that_it_cannot_choose() -> None:
    async def address(request: Request) -> Response:
        return Response(request.address.encode())

    server = HttpServer(address, HostCheck())
    try:
        (listener,) = await trio.open_tcp_listeners(0, host="::1")
    except OSError:
        pytest.skip("this machine has no IPv6")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(server.serve, listener)
        text = await answer(lambda: trio.open_tcp_stream("::1", listener.socket.getsockname()[1]), HEAD)
        nursery.cancel_scope.cancel()
    assert text.endswith(b"\r\n\r\n::/64")


async def test_a_head_request_gets_no_body() -> None:
    async with serving() as (_, connect):
        text = await answer(connect, HEAD.replace(b"GET", b"HEAD"))
    assert text.endswith(b"\r\n\r\n")
    assert status(text) == 200


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("localhost:8080", 200),
        ("127.0.0.1:8080", 200),
        ("[::1]:8080", 200),
        ("192.168.1.10", 200),
        ("Contest.School.example", 200),
        ("evil.example", 421),
        ("localhost.evil.example", 421),
        ("127.0.0.1.evil.example", 421),
        ("", 421),
        ("[", 421),
        ("evil.com@127.0.0.1", 421),
        ("127.0.0.1#`x`", 421),
        ('127.0.0.1?"><b>', 421),
        ("127.0.0.1/x", 421),
        ("127.0.0.1:abc", 421),
        ("127.0.0.1:0", 421),
        ("127.0.0.1:65536", 421),
        ("127.0.0.1:65535", 200),
        ("::1", 421),
        ("[127.0.0.1]", 421),
        ("[localhost]", 421),
    ],
)
async def test_only_own_names_are_accepted_as_host(host: str, expected: int) -> None:
    async with serving(names=("contest.school.example",)) as (_, connect):
        assert status(await answer(connect, HEAD.replace(b"localhost", host.encode()))) == expected


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (b"DELETE / HTTP/1.1\r\nHost: localhost\r\n\r\n", 405),
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (b"nonsense\r\n\r\n", 400),
        (b"GET /?" + b"&".join(b"a%d=1" % n for n in range(17)) + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400),
    ],
)
async def test_what_is_no_valid_request_is_refused(request_: bytes, expected: int) -> None:
    async with serving() as (_, connect):
        assert status(await answer(connect, request_)) == expected


@pytest.mark.parametrize(
    "lengths",
    [
        b"Content-Length: 6\r\nTransfer-Encoding: chunked\r\n",
        b"Transfer-Encoding: chunked\r\nContent-Length: 6\r\n",
        b"transfer-encoding: Chunked\r\ncontent-length: 0\r\n",
    ],
)
async def test_a_request_with_two_lengths_gets_no_second_answer(lengths: bytes) -> None:
    smuggled = b"POST / HTTP/1.1\r\nHost: localhost\r\n" + lengths + b"\r\n0\r\n\r\n" + HEAD
    async with serving() as (_, connect), await connect() as stream:
        await stream.send_all(smuggled)
        with trio.fail_after(PATIENCE_SECONDS):
            text = await all_of(stream)
    assert text.count(b"HTTP/1.1 ") == 1
    assert status(text) == 400
    assert b"connection: close\r\n" in text.lower()


async def test_a_head_has_at_most_16_kib() -> None:
    async with serving() as (_, connect):
        long = HEAD.replace(b"\r\n\r\n", b"\r\nX: " + b"x" * 60_000 + b"\r\n\r\n")
        assert status(await answer(connect, long)) == 431


async def test_a_body_has_at_most_4_kib() -> None:
    post = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n"
    async with serving() as (_, connect):
        assert status(await answer(connect, post % 4096 + b"a" * 4096)) == 200
        assert status(await answer(connect, post % 4097 + b"a" * 4097)) == 413


async def test_a_failure_of_a_page_is_answered_and_logged(capsys: pytest.CaptureFixture[str]) -> None:
    async def fail(_: Request) -> Response:
        raise ZeroDivisionError

    async with serving(fail) as (_, connect):
        assert status(await answer(connect, HEAD)) == 500
    assert "ZeroDivisionError" in capsys.readouterr().err


# --- limits -----------------------------------------------------------------------------------------------------


async def test_a_request_has_ten_seconds(autojump_clock: MockClock) -> None:
    async with serving() as (_, connect):
        async with await connect() as stream:
            began = trio.current_time()
            await stream.send_all(HEAD[:20])
            assert await all_of(stream) == b""
            assert 9 < trio.current_time() - began < 11


async def test_a_long_body_has_two_minutes(autojump_clock: MockClock) -> None:
    async with serving(upload_bytes=10_000) as (_, connect):
        async with await connect() as stream:
            began = trio.current_time()
            await stream.send_all(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9000\r\n\r\n")
            assert await all_of(stream) == b""
            assert 120 <= trio.current_time() - began < 121


async def test_four_long_bodies_are_read_at_a_time_and_one_of_each_team() -> None:
    """Each may be 10 MB in memory."""

    def post(team: int, sent: bytes) -> bytes:
        return b"POST /%d HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9000\r\n\r\n" % team + sent

    async with serving(upload_bytes=10_000) as (_, connect):
        streams = []
        for team in range(1, 5):
            streams.append(await connect())
            await streams[-1].send_all(post(team, b"x" * 5000))
            await wait_all_tasks_blocked(0.01)
            if team == 1:
                assert status(await answer(connect, post(1, b""))) == 409
                assert status(await answer(connect, post(2, b"x" * 9000))) == 200
        assert status(await answer(connect, post(5, b""))) == 503
        for stream in streams:
            await stream.aclose()
        await wait_all_tasks_blocked(0.01)
        assert status(await answer(connect, post(1, b"x" * 9000))) == 200


async def test_the_next_request_has_thirty_seconds(autojump_clock: MockClock) -> None:
    async with serving() as (_, connect):
        async with await connect() as stream:
            began = trio.current_time()
            await stream.send_all(HEAD)
            assert status(await all_of(stream)) == 200
            assert 29 < trio.current_time() - began < 31


async def test_a_client_that_does_not_read_is_dropped_after_ten_seconds(autojump_clock: MockClock) -> None:
    ended = trio.Event()

    async def flood(send: Send) -> None:
        try:
            while True:
                await send(b"x" * 65_536)
        finally:
            ended.set()

    async def stream_of(_: Request) -> EventStream:
        return EventStream(flood)

    async with serving(stream_of) as (server, connect):
        async with await connect() as stream:
            began = trio.current_time()
            await stream.send_all(HEAD)
            await ended.wait()
            assert 9 < trio.current_time() - began < 21
            with trio.fail_after(PATIENCE_SECONDS):
                while server.connections:
                    await trio.testing.wait_all_tasks_blocked()


async def test_the_kernel_keeps_little_for_a_client_that_does_not_read() -> None:
    handle = Waiting()
    async with serving(handle) as (server, connect):
        async with await connect() as stream:
            await stream.send_all(HEAD)
            while not handle.begun:
                await trio.sleep(0.01)
            (connection,) = server._connections
            kept = connection.stream.socket.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)
    assert kept <= 2 * 64 * 1024  # Linux reports twice what was asked for


async def test_a_stream_ends_with_its_client() -> None:
    ended = trio.Event()

    async def wait(send: Send) -> None:
        try:
            await send(b"data: {}\n\n")
            await trio.sleep_forever()
        finally:
            ended.set()

    async def stream_of(_: Request) -> EventStream:
        return EventStream(wait)

    async with serving(stream_of) as (_, connect):
        stream = await connect()
        await stream.send_all(HEAD)
        assert b"text/event-stream" in await stream.receive_some()
        await stream.aclose()
        await ended.wait()


@pytest.mark.parametrize("fails", [False, True])
async def test_a_spectator_who_leaves_is_no_failure(capfd: pytest.CaptureFixture[str], *, fails: bool) -> None:
    async def events(send: Send) -> None:
        try:
            while True:
                await send(b"data: {}\n\n" * 100_000)  # more than the kernel keeps: it waits for the client
        except trio.BrokenResourceError:
            if fails:
                raise ValueError("a real failure") from None
            raise

    async def stream_of(_: Request) -> EventStream:
        return EventStream(events)

    async with serving(stream_of) as (server, connect):
        stream = await connect()
        await stream.send_all(HEAD)
        assert b"text/event-stream" in await stream.receive_some()
        await wait_all_tasks_blocked()
        # It closes with RST, so that what is being sent fails.
        stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        await stream.aclose()
        with trio.fail_after(PATIENCE_SECONDS):
            while server.connections:
                await trio.sleep(0.01)
    printed = capfd.readouterr().err
    assert ("ValueError: a real failure" in printed) == fails
    assert fails or not printed


class Waiting:
    """Requests that are answered only at the end."""

    def __init__(self) -> None:
        self.begun = 0
        self.end = trio.Event()

    async def __call__(self, _: Request) -> Response:
        self.begun += 1
        await self.end.wait()
        return Response(b"late")


async def test_one_address_has_so_many_connections(autojump_clock: MockClock) -> None:
    handle = Waiting()
    async with serving(handle) as (server, connect):
        streams = [await connect() for _ in range(512)]
        for stream in streams:
            await stream.send_all(HEAD)
        while handle.begun < 512:
            await trio.sleep(0.01)
        async with await connect() as one_more:
            with suppress(trio.BrokenResourceError), trio.move_on_after(PATIENCE_SECONDS):
                await one_more.send_all(HEAD)
                assert await all_of(one_more) == b""
        assert handle.begun == server.connections == 512
        for stream in streams:
            await stream.aclose()


async def test_one_address_sends_so_many_requests(mock_clock: MockClock) -> None:
    server = HttpServer(echo, HostCheck())

    async def ask(address: str, path: str = "/", *, by_proxy: bool = False) -> Response:
        request = Request("GET", path, {}, {"host": "localhost"}, b"", address, by_proxy=by_proxy)
        found = await server._answer(request)
        assert isinstance(found, Response)
        return found

    assert {(await ask("192.0.2.8")).status for _ in range(5000)} == {200}
    refused = await ask("192.0.2.8", "/api/v1/contest")
    assert (refused.status, refused.content_type) == (429, "application/problem+json")
    assert dict(refused.headers)["Retry-After"] == "1"
    assert {(await ask(address)).status for address in ("192.0.2.9", "127.0.0.1")} == {200}
    mock_clock.jump(1.0)
    assert [(await ask("192.0.2.8")).status for _ in range(101)] == [*[200] * 100, 429]
    # a proxy of this computer that does not name its clients
    assert [(await ask("127.0.0.1", by_proxy=True)).status for _ in range(5001)] == [*[200] * 5000, 429]


async def test_this_computer_sends_as_many_as_it_likes() -> None:
    server = HttpServer(echo, HostCheck())
    request = Request("GET", "/", {}, {"host": "localhost"}, b"", "127.0.0.1")
    for _ in range(5001):
        found = await server._answer(request)
        assert isinstance(found, Response)
        assert found.status == 200


async def test_a_connection_without_a_request_makes_room(autojump_clock: MockClock) -> None:
    async with serving() as (server, connect):
        streams = [await connect() for _ in range(512)]
        while server.connections < 512:
            await trio.sleep(0.01)
        assert status(await answer(connect, HEAD)) == 200
        assert await all_of(streams[0]) == b""
        for stream in streams:
            await stream.aclose()


async def test_all_addresses_together_have_so_many_connections(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = HttpServer(echo, HostCheck())
    monkeypatch.setattr(server, "_connections", {object(): None for _ in range(1023)})
    assert server._make_room("10.0.0.1")
    crowd = [type("C", (), {"waiting": False, "address": f"10.0.{n}"})() for n in range(1024)]
    monkeypatch.setattr(server, "_connections", dict.fromkeys(crowd))
    assert not server._make_room("10.0.0.1")
