"""What a standby host asks of the page: a copy of the contest, and that this host stops after a take-over.

It answers computers of the network, although the host's console may not: each request is sealed with the host's key
(`standby.sealed`), which no request carries. A wrong key is delayed as a wrong login is.
"""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

import msgspec
import trio

from getstep_server.config.host_key import host_key
from getstep_server.errors import ConfigError
from getstep_server.limits import MAX_STANDBYS
from getstep_server.login_limits import LoginLimiter
from getstep_server.standby.follower import ADDRESS, HEADER
from getstep_server.standby.marks import (
    Mark,
    copied_place,
    note_copied,
    own_fence,
    read_mark,
    was_followed,
    write_mark,
)
from getstep_server.standby.messages import (
    Ack,
    Begin,
    FromCopy,
    FromHost,
    Have,
    Standbys,
    TakenOver,
    Tick,
    decode_from_copy,
    encode,
)
from getstep_server.standby.sealed import Sealer, SealError
from getstep_server.standby.source import OtherChainError, Source
from getstep_server.storage.database import DatabaseError, StoreError
from getstep_server.storage.opening import database_exists
from getstep_server.storage.run_status import STATUS_FILE
from getstep_server.storage.store import Store

from .api_routes import refusal
from .feed import Feed
from .http import BINARY, JSON, AnyResponse, EventStream, Request, Response, Send
from .own import Nonces
from .topics import encode as encode_json

ROUND_SECONDS = 0.1
"""The rest between two rounds: a copy is behind by so much, and by the time of the network."""

TICK_SECONDS = 1.0
"""The longest time without a frame, so that a copy notices a lost host."""

HANG_SECONDS = 12.0
"""A status that is older than that is one of a server that does nothing: it is written every 5.5 s, in a thread."""

STOP_SECONDS = 5.0
"""The time in which the server has to stop after a take-over; then it is ended. One that hangs has none."""

_NONCES = re.compile(r"([0-9a-f]{32})\.[0-9a-f]{32}")


class StandbyFeed:
    """Answers the requests of standby hosts.

    Args:
        feed: the contest.
    """

    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self._nonces = Nonces()
        self._limiter = LoginLimiter()
        self._gives_way = False
        self._checked_fence = 0
        """The fencing number on record that was last compared with the own one."""
        self._copies: dict[str, tuple[Sealer, Source]] = {}
        """Of each copy that follows, what opens its further frames, and what it was sent; by its nonces."""
        self._ranks: list[tuple[str, str]] = []
        """Of each rank, the name and the address of the copy that has it."""

    async def __call__(self, request: Request) -> AnyResponse:
        if request.method == "GET" and request.path == ADDRESS:
            return Response(encode_json({"nonce": self._nonces.new()}), JSON)
        found = _NONCES.fullmatch(request.headers.get(HEADER.lower(), ""))
        key = await trio.to_thread.run_sync(host_key, self._feed.folder)
        if request.method != "POST" or found is None:
            return refusal(404, "expected a request of a standby host")
        if key is None:
            return refusal(401, "this host has no key yet; getstep-server host-key FOLDER --key makes one")
        nonces = request.headers[HEADER.lower()]
        known = self._copies.get(nonces)
        opener = Sealer(key.key, nonces, "copy") if known is None else known[0]
        try:
            if known is None and not self._nonces.is_fresh(found[1]):
                return refusal(400, "this connection is over")
            message = decode_from_copy(opener.open_whole(request.body))
        except (SealError, msgspec.DecodeError):
            await trio.sleep(self._limiter.record_failure(request.address))
            return refusal(401, "this key is not the host's; getstep-server host-key FOLDER --key prints it")
        if known is None:
            self._nonces.spend(found[1])
        return await self._answer(request, message, nonces, opener, key.key)

    async def _answer(
        self, request: Request, message: FromCopy, nonces: str, opener: Sealer, key: str
    ) -> AnyResponse:
        match message:
            case Ack(place=place) if nonces in self._copies:
                sent = self._copies[nonces][1].place
                with suppress(OSError):  # the folder of the journal is not there, or the disk is full: the next one
                    await trio.to_thread.run_sync(self._note, min(place, sent))
                return Response(b"", BINARY)
            case Ack():
                return refusal(400, "this connection is over")
            case TakenOver(fence=fence):
                return await trio.to_thread.run_sync(self._give_way, fence, request.address)
            case Have(name=name):
                if len(self._copies) >= MAX_STANDBYS:
                    return refusal(503, f"{MAX_STANDBYS} standby hosts follow already")
                self._rank(name, request.address.partition("/")[0])
                return await self._follow(message, nonces, opener, key)

    def _rank(self, name: str, address: str) -> None:
        """Give a copy a rank, which it keeps while it is away, unless another copy needs it."""
        names = [known for known, _ in self._ranks]
        if name in names:
            self._ranks[names.index(name)] = name, address
        elif len(names) < MAX_STANDBYS:
            self._ranks.append((name, address))
        else:
            follow = {source.name for _, source in self._copies.values()}
            self._ranks[next(rank for rank, known in enumerate(names) if known not in follow)] = name, address

    def _standbys(self, name: str) -> Standbys:
        """Return what a copy has to know of the others."""
        rank = next((rank for rank, (known, _) in enumerate(self._ranks) if known == name), MAX_STANDBYS - 1)
        return Standbys(rank, tuple(address for known, address in self._ranks if known != name))

    def _note(self, place: int) -> None:
        """Note what a copy has on its disk: of several copies, that which has the most counts."""
        running = self._feed.contest.running
        if not was_followed(running) or place > copied_place(running):
            note_copied(running, place)

    async def end_server(self, server: int) -> None:
        """Kill the server once another host has taken over and it does not stop: this runs until cancelled.

        Args:
            server: its process, which has started this one.
        """
        while not (self._gives_way or await self._is_taken_over()):
            await trio.sleep(ROUND_SECONDS)
        if not self._server_hangs():
            await trio.sleep(STOP_SECONDS)
        if os.getppid() == server:
            os.kill(server, getattr(signal, "SIGKILL", signal.SIGTERM))

    async def _is_taken_over(self) -> bool:
        """Return True if the records, which hosts share with PostgreSQL, have the take-over of another host."""
        fence = self._feed.whole.fence
        if fence == self._checked_fence:
            return False
        try:
            own = await trio.to_thread.run_sync(own_fence, self._feed.contest, fence)
        except ConfigError:  # it is being written: the next round
            return False
        self._checked_fence = fence
        return fence > own

    def _give_way(self, fence: int, address: str) -> AnyResponse:
        """Mark the folder: another host has taken over, and the server of this one stops when it reads that."""
        try:
            own = own_fence(self._feed.contest, self._feed.whole.fence)
            if fence <= own:
                return refusal(409, f"this host has fencing number {own}, and that one {fence}")
            mark = read_mark(self._feed.folder)
            if mark is None or mark.role != "lost" or mark.fence < fence:
                host = address.partition("/")[0]
                write_mark(self._feed.folder, Mark(role="lost", host=host, port=0, fence=fence))
        except ConfigError as error:
            return refusal(503, str(error))
        self._gives_way = True
        return Response(b"", BINARY)

    async def _follow(self, have: Have, nonces: str, opener: Sealer, key: str) -> AnyResponse:
        contest, whole = self._feed.contest, self._feed.whole
        source = Source(contest, have)
        try:
            mark = await trio.to_thread.run_sync(read_mark, self._feed.folder)
            if mark is not None and mark.role == "lost":
                return refusal(409, f"the host at {mark.host} has taken over this contest; follow that one")
            store = await trio.to_thread.run_sync(self._open)
            if store is not None:
                try:
                    await trio.to_thread.run_sync(source.check, store)
                finally:
                    await trio.to_thread.run_sync(store.close)
            elif have.place:
                return refusal(409, "the contest has no records yet, and the copy has")
        except OtherChainError as error:
            return refusal(409, str(error))
        except (ConfigError, StoreError, DatabaseError, OSError) as error:
            return refusal(503, str(error))
        begin = Begin(contest.name, whole.fence, whole.place)
        return EventStream(partial(self._send, source, nonces, opener, Sealer(key, nonces, "host"), begin), BINARY)

    def _server_hangs(self) -> bool:
        """Return True if the server lives and does nothing: it writes its status every few seconds."""
        try:
            written = (self._feed.contest.running / STATUS_FILE).stat().st_mtime
        except OSError:
            return False  # it has just begun
        return self._feed.server_runs and time.time() - written > HANG_SECONDS

    def _open(self) -> Store | None:
        """Return the open database; None if there is none yet."""
        address = self._feed.contest.database
        if not database_exists(address) or (isinstance(address, Path) and not address.stat().st_size):
            return None
        return Store(address, reading=True).__enter__()

    async def _send(
        self, source: Source, nonces: str, opener: Sealer, sealer: Sealer, begin: Begin, send: Send
    ) -> None:
        """Send rounds until the copy has left, or the contest cannot be read: then the copy connects again."""
        store: Store | None = None
        self._copies[nonces] = opener, source  # only now: a copy that has left before this takes no place
        try:
            await send(sealer.seal(encode(begin)))
            told, due = False, trio.current_time()
            standbys: Standbys | None = None
            while store is None or await store.is_current():
                if store is None:
                    store = await trio.to_thread.run_sync(self._open)
                if (now := self._standbys(source.name)) != standbys:
                    standbys = now
                    await send(sealer.seal(encode(now)))
                frames = source.round(store)
                while (frame := await trio.to_thread.run_sync(_next, frames)) is not None:
                    is_tick = isinstance(frame, Tick)
                    if is_tick and self._server_hangs():
                        continue  # to the copy, the host is lost
                    if is_tick and told and trio.current_time() < due:
                        continue  # nothing was added
                    told, due = is_tick, trio.current_time() + TICK_SECONDS
                    await send(await trio.to_thread.run_sync(sealer.seal, encode(frame)))
                await trio.sleep(ROUND_SECONDS)
        except (StoreError, DatabaseError, OSError):
            return
        finally:
            self._copies.pop(nonces, None)
            if store is not None:
                with trio.CancelScope(shield=True):  # it waits for the database's thread
                    await trio.to_thread.run_sync(store.close)


def _next(frames: Iterator[FromHost]) -> FromHost | None:
    return next(frames, None)
