"""The process of the page: reads the contest and serves it, at a lower priority than the server.

It ends when its standard input does. So it cannot outlive the server that started it, however that one dies.
"""

from __future__ import annotations

import gc
import os
import socket
import sys
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import msgspec
import trio

from getstep_server.addresses import is_any
from getstep_server.children.parent import until_parent_ends
from getstep_server.config.certificate import certificate_of
from getstep_server.config.contest import HostPage
from getstep_server.net.certificate_watch import keep_current
from getstep_server.text import utc_time

from .app import App
from .feed import Feed
from .http import HostCheck, HttpServer, page_names
from .kept import KEPT_FOLDER, Keeper
from .listener import open_page_listener
from .proxies import Proxies
from .reveal import Steering
from .tables import PageTables, page_tables

NICENESS = 10
"""Added to the process's niceness. If both want the same core, the server gets 90 % of it.

With 19 the server gets 98 %. But then, beside programs that compute all the time, the page gets so little that a
board stands still for seconds, and a person who plays on the page loses on time.
"""

TABLE_RATIO = 30
"""Tables rest for so many times as long as it took to make them: 3 % of a core while results keep coming."""

TICK_SECONDS = 0.05
"""The interval at which topics are checked for being due."""


class TableMaker:
    """The latest tables, made in a thread whenever there are new records.

    Args:
        feed: the contest.
    """

    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self._tables = PageTables()
        self._made: tuple[int, int] = (-1, 0)
        self._wanted: set[int] = set()
        """The events whose ratings are wanted."""

    def __call__(self) -> PageTables:
        """Return the tables that were made last."""
        return self._tables

    def reset(self) -> None:
        """Make the tables at once: all records were read again."""
        self._made = self._version()
        self._tables = self._make()()

    async def run(self) -> None:
        """Make tables until cancelled; rest for TABLE_RATIO times as long as they took."""
        while True:
            version, began = self._version(), trio.current_time()
            if version != self._made:
                self._tables = await trio.to_thread.run_sync(self._make())
                self._made = version
            # tables of a large contest take long, and may take only this share of a processor
            await trio.sleep(max(TICK_SECONDS, TABLE_RATIO * (trio.current_time() - began)))

    def _make(self) -> Callable[[], PageTables]:
        """Return a function that makes the tables in any thread."""
        feed = self._feed
        return partial(page_tables, feed.tournament, self._wanted, {match.number for match in feed.hidden})

    def _version(self) -> tuple[int, int]:
        return self._feed.version["records"], len(self._wanted)


async def serve(
    folder: Path,
    listener: socket.socket,
    *,
    until: Callable[[], Awaitable[object]] = trio.sleep_forever,
    reveal: Callable[[Feed], Steering] | None = None,
    keep: bool = False,
    host_page: HostPage | None = None,
) -> None:
    """Serve the page of a contest until ``until`` returns.

    Args:
        folder: of the contest.
        listener: a listening socket.
        until: waits for the end.
        reveal: makes the steps by which the host reveals the results of a freeze.
        keep: keep logins and games in files, and take up those of a page that has died.
        host_page: where the host's console answers; None: where contest.toml says.

    Raises:
        ConfigError, StoreError, RecordError: the contest cannot be read.
    """
    feed = Feed(folder)
    tables = TableMaker(feed)
    tables.reset()
    keeper = Keeper(feed.contest.running / KEPT_FOLDER) if keep else Keeper()
    certificate = await trio.to_thread.run_sync(certificate_of, feed.contest)
    app = App(feed, tables, None if reveal is None else reveal(feed), keeper, host_page, certificate)
    app.own.sessions.take_up()
    app.people.take_up()
    settings = feed.contest.file.server
    server = HttpServer(
        app,
        HostCheck([*settings.web_names, *page_names(settings.page_address)]),
        app.body_limit,
        tls=None if certificate is None else lambda: certificate.context,
        proxies=Proxies(settings.trusted_proxies, settings.trusted_user_header),
        quotas=feed.contest.file.quotas,
    )
    app.metrics.server = server
    app.listens_to_all = is_any(str(listener.getsockname()[0]))
    listener.setblocking(False)

    def loaded() -> None:
        if keep:  # this process has one contest, and frozen garbage is never freed
            gc.freeze()  # a search for garbage among all records stops all boards for 40 ms and more
        tables.reset()
        app.topics.clear()
        if app.steering is not None:
            nursery.start_soon(app.steering.prepare)

    async def answer() -> None:
        # Requests wait in the socket's queue until then. Answered before, the page of a match would not be found.
        await feed.opened.wait()
        await server.serve(trio.SocketListener(trio.socket.from_stdlib_socket(listener)))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(feed.run, loaded)
        nursery.start_soon(tables.run)
        nursery.start_soon(_refresh, app)
        nursery.start_soon(app.api.log.run)
        if certificate is not None:
            nursery.start_soon(keep_current, certificate, _say)
        nursery.start_soon(keeper.run)
        nursery.start_soon(app.people.run)
        nursery.start_soon(app.own.submissions.run)
        nursery.start_soon(app.own.analyses.run)
        nursery.start_soon(app.own.users.run)
        nursery.start_soon(app.rehearsal.run)
        if keep:  # the server has started this process
            nursery.start_soon(app.standby.end_server, os.getppid())
        if reveal is None:  # at a ceremony nobody plays
            port = feed.contest.file.server.friendly_port
            nursery.start_soon(app.friendly.run, str(listener.getsockname()[0]), port)
        nursery.start_soon(answer)
        await until()
        nursery.cancel_scope.cancel()


def _say(news: str) -> None:
    print(utc_time(time.time()), news, file=sys.stderr, flush=True)


async def _refresh(app: App) -> None:
    while True:
        app.topics.refresh(
            (app.feed.version.total(), id(app.tables()), app.wall.version)
        )  # new tables: a new object
        app.host.refresh()
        await trio.sleep(TICK_SECONDS)


async def _parent_ends() -> None:
    # the thread waits in a read, which nothing can interrupt
    await trio.to_thread.run_sync(until_parent_ends, abandon_on_cancel=True)


def main() -> None:
    """Serve the page of a contest.

    The arguments are its folder, where the host's console answers, and the descriptor of a listening socket. On
    Windows, which passes no descriptors, a host and a port follow instead of it.
    """
    folder, text, *where = sys.argv[1:]
    host_page: HostPage = msgspec.convert(text, HostPage)
    if hasattr(os, "nice"):
        os.nice(NICENESS)  # the matches come first
    if len(where) == 1:
        listener = socket.socket(fileno=int(where[0]))
    else:
        listener = open_page_listener(where[0], int(where[1]))
    trio.run(_main, Path(folder), listener, host_page)


async def _main(folder: Path, listener: socket.socket, host_page: HostPage) -> None:
    await serve(folder, listener, until=_parent_ends, keep=True, host_page=host_page)
