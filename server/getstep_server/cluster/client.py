"""The host's side of a cluster: it places matches on workers, and follows them.

Theory of operation
-------------------

*One process.* `Cluster` runs `process`, which talks to Dask, and exchanges `messages` with it. If that process
ends, all workers and orders are lost, and it is started again after a pause.

*Workers.* A worker that joins proves itself. It gets no program if it runs another version of getstep, or if its
sandbox does not hold and the contest requires one. Otherwise the proof is put on record, and `Placement` gets its
slots.

*Orders.* An `Order` waits until `Placement` gives it to a worker. It *begins* with the first word of the match. A
worker that is lost before that, or fails, costs nothing: the order is placed again. Afterwards the turns are in
the journal, so this attempt at the match is lost, and the director begins another one.

*Silence.* A worker that says nothing of a match for longer than any turn of it can take hangs. It is ended, as far
as possible, and is no longer a worker.
"""

from __future__ import annotations

import socket
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Protocol

import trio

from getstep_server.children.channel import Channel, ChannelError
from getstep_server.children.keeping import keep_running
from getstep_server.children.log import ChildLog
from getstep_server.children.process import run, start
from getstep_server.events import ClusterChanged, ClusterConnected, ClusterTrouble, Publish, WorkersRefused
from getstep_server.limits import WORKER_FAILURES, WORKER_TRIES
from getstep_server.records.record import SOFTWARE
from getstep_server.text import escape_control_chars

from .messages import (
    Connected,
    Disconnected,
    FromProcess,
    GiveUp,
    Joined,
    Left,
    Lost,
    NotSubmitted,
    Play,
    Reported,
    Stop,
    ToProcess,
    TurnsPlayed,
    Unfit,
)
from .order import (
    MatchOrder,
    MatchReport,
    OrderError,
    WorkerProof,
    decode_progress,
    decode_proof,
    decode_report,
    encode,
)
from .placement import Job, Placement

PLACED_AT_ONCE = 16
"""The orders that are placed without a pause: up to 2 ms with 500 workers."""

LOOK_SECONDS = 1.0
"""The interval at which silent workers are looked for."""

GATHER_SECONDS = 1.0
"""The time for which changes of the workers are gathered before they are published: 500 may come at once."""

REST_SECONDS = 60.0
"""The time for which a worker gets nothing after it has failed WORKER_FAILURES times in a row."""

SILENCE_SECONDS = 90.0
"""The time to start a match and to pass on its turns, added to that of a turn and of the start of the programs."""

LARGE_REPORT_BYTES = 100_000
"""A larger report is decoded in a thread: 1 MB takes 10 ms."""


PROCESS_END_SECONDS = 6.0
"""The time for the process that talks to Dask to end its workers and itself: then it is killed."""

NAME_CHARS = 80
"""The length of a worker's name on the screen."""


@dataclass(frozen=True, slots=True)
class Worker:
    """A worker that plays: its number on record, its name, its slots and its proof."""

    number: int
    name: str
    slots: int
    proof: WorkerProof


@dataclass(eq=False, slots=True)
class Order:
    """A match on its way: it waits, is played by ``worker``, and ends with a report or is lost.

    ``lines`` are the turns that are known. ``lost`` says why there will be no report.
    """

    job: Job
    make: Callable[[Worker], MatchOrder]
    files: Sequence[str]
    silence_seconds: float
    lines: list[str] = field(default_factory=list)
    report: MatchReport | None = None
    lost: str = ""
    worker: Worker | None = None
    id: int = 0
    address: str = ""
    heard: float = 0.0
    tries: int = 0
    with_files: bool = False
    changed: trio.Event = field(default_factory=trio.Event)

    @property
    def has_begun(self) -> bool:
        """True if a word of the match has come, or none will come."""
        return bool(self.lines or self.report or self.lost)

    def wake(self) -> None:
        """Resume the tasks that wait for `changed`."""
        self.changed.set()
        self.changed = trio.Event()


class Link(Protocol):
    """A connection to the process that talks to Dask, see `ProcessLink`."""

    def tell(self, message: ToProcess) -> None:
        """Send a message; it is lost if the process ends."""

    async def run(self, receive: Callable[[FromProcess], None], lost: Callable[[str], None]) -> None:
        """Pass on messages until cancelled; call ``lost`` with the reason whenever the process has ended."""


class ProcessLink:
    """The connection to the process that talks to Dask, which is started again whenever it ends.

    Args:
        command: starts it; the descriptor of its end of the channel is the last argument.
        log: the file that gets what it prints.
    """

    def __init__(self, command: Sequence[str], log: Path) -> None:
        self._command = command
        self._log = log
        self._channel: Channel[FromProcess] | None = None
        self._why = ""

    def tell(self, message: ToProcess) -> None:
        """Send a message; it is lost if the process ends."""
        if self._channel is not None:
            self._channel.send(message)

    async def run(self, receive: Callable[[FromProcess], None], lost: Callable[[str], None]) -> None:
        """Keep the process until cancelled.

        Args:
            receive: called with each message.
            lost: called with the reason whenever the process has ended.
        """

        def ended(code: int, _: float) -> None:
            lost(self._why or f"the process that talks to Dask has ended with code {code}; see {self._log}")

        await keep_running(partial(self._live, receive), ended)

    async def _live(self, receive: Callable[[FromProcess], None]) -> int:
        """Run the process until it ends, and return its exit code. If this is cancelled, end it."""
        self._why = ""
        ours, theirs = socket.socketpair()
        channel = self._channel = Channel[FromProcess](ours, FromProcess)
        try:
            with theirs:
                process = await start([*self._command, str(theirs.fileno())], files=[theirs.fileno()])
        except OSError as error:
            channel.close()
            self._why = f"the process that talks to Dask cannot be started: {error}"
            return -1
        with ChildLog(self._log, append=True) as log:
            async with trio.open_nursery() as nursery:
                follow = partial(run, process, log, end_seconds=PROCESS_END_SECONDS, ask_to_end=channel.close)
                nursery.start_soon(follow)
                nursery.start_soon(channel.run)
                try:
                    async with aclosing(channel.receive()) as messages:
                        async for message in messages:
                            receive(message)
                except ChannelError as error:
                    self._why = f"the process that talks to Dask is out of step: {error}"
                nursery.cancel_scope.cancel()
        channel.close()
        return process.returncode or 0


Register = Callable[[WorkerProof, str, int], Awaitable[int]]
"""Puts a worker on record with its proof, name and slots; returns its number."""


class Cluster:
    """The workers of a cluster, and the orders.

    Args:
        link: to the process that talks to Dask.
        files: the folder with packed programs.
        publish: called with changes of the workers, and with trouble.
        sandbox: False if workers may play without a sandbox.
    """

    def __init__(self, link: Link, files: Path, publish: Publish, *, sandbox: bool = True) -> None:
        self._link = link
        self.files = files
        self._publish = publish
        self._sandbox = sandbox
        self._placement = Placement()
        self._workers: dict[str, Worker] = {}
        self._joining: dict[str, Joined] = {}
        """The workers that are being put on record, by address."""
        self._orders: dict[int, Order] = {}
        """The orders that a worker has, by id."""
        self._waiting: dict[int, Order] = {}
        """All orders, by the key of their job."""
        self._failures: Counter[str] = Counter()
        """How often each worker has failed since it last played a match."""
        self._spoke: dict[str, float] = {}
        """When each worker last sent a report. A match that was sent ahead waits until then for others."""
        self._resting: dict[str, float] = {}
        """When each worker that rests plays again."""
        self._refused: dict[str, list[str]] = {}
        """The workers that were refused, by the reason, and are not published yet."""
        self._trouble = ""
        self._last_id = 0
        self._work = trio.Event()
        self._changed = trio.Event()
        self._room: Callable[[], None] = lambda: None

    # --- for the venue ---

    @property
    def slots(self) -> int:
        """The number of matches that are played at once."""
        return self._placement.slots

    @property
    def bound(self) -> int:
        """The number of matches that wait for the worker of their pairing, whether others are free or not."""
        return self._placement.bound

    @property
    def workers(self) -> list[Worker]:
        """The workers that play."""
        return list(self._workers.values())

    def begin(self, order: Order) -> None:
        """Place a match as soon as a worker is free; `end` it in any case."""
        self._waiting[order.job.key] = order
        self._placement.add(order.job)
        self._work.set()

    def end(self, order: Order) -> None:
        """Forget a match: it is over, or nobody wants it any more."""
        del self._waiting[order.job.key]
        self._placement.discard(order.job.key)
        if order.report is not None and not order.lost:
            self._failures[order.address] = 0
        if self._orders.pop(order.id, None) is not None:
            self._link.tell(Stop(order.id))
        self._work.set()

    def failed(self, order: Order, why: str) -> None:
        """Note that the worker of a match has failed: what it says of the match is nonsense."""
        if self._orders.pop(order.id, None) is not None:  # it plays on, in a slot that is free from here on
            self._link.tell(Stop(order.id))
        self._lose(order, why, blame=True)

    # --- run ---

    async def run(self, register: Register, room: Callable[[], None]) -> None:
        """Run until cancelled; call ``room`` when there are more slots than before, or more matches are bound."""
        self._room = room
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._place)
            nursery.start_soon(self._watch)
            nursery.start_soon(self._publish_changes)
            await self._link.run(partial(self._receive, nursery, register), self._lose_process)

    def _receive(self, nursery: trio.Nursery, register: Register, message: FromProcess) -> None:
        if isinstance(message, Joined):
            nursery.start_soon(self._admit, message, register)
        elif isinstance(message, Reported) and len(message.data) > LARGE_REPORT_BYTES:
            nursery.start_soon(self._take_large, message)
        else:
            self._take(message)

    def _lose_process(self, why: str) -> None:
        self._lose_all("the connection to the cluster was lost")
        self._note_trouble(why)

    def _take(self, message: FromProcess) -> None:
        # A message about an order that is not here any more was on its way when the order was stopped.
        match message:
            case Connected(where):
                self._trouble = ""
                self._publish(ClusterConnected(where))
            case Disconnected(why):
                self._lose_all("the connection to the scheduler was lost")
                self._note_trouble(why)
            case NotSubmitted(why):
                self._note_trouble(why)
            case Unfit(name, why):
                self._refuse(name, why)
            case Left(address):
                self._remove(address, "its worker is gone")
            case TurnsPlayed(number, data):
                if number in self._orders:
                    self._take_progress(self._orders[number], data)
            case Reported(number, data):
                if number in self._orders:
                    self._take_report(self._orders.pop(number), data)
            case Lost(number, why):
                if number in self._orders:
                    self._lose(self._orders.pop(number), why, blame=True)

    # --- workers ---

    async def _admit(self, message: Joined, register: Register) -> None:
        """Put a worker on record and give it matches, unless it is refused."""
        address, name = message.worker, message.name
        self._joining[address] = message
        try:
            proof = decode_proof(message.proof)
            if why := self._refusal(proof):
                self._refuse(f"{name} on {proof.host}", why)
                return
            number = await register(proof, name, message.slots)
        except OrderError as error:
            self._refuse(name, str(error))
            return
        finally:
            # It may have left in the meantime; if it has joined again, that message is another one.
            still_here = self._joining.pop(address, None) is message
        if still_here:
            self._workers[address] = Worker(number, name, message.slots, proof)
            # speed is the inverse of the time of the calibration
            self._placement.add_worker(address, message.slots, 1000 / proof.calibration_ms)
            self._note_change()
            self._room()

    def _refusal(self, proof: WorkerProof) -> str:
        """Return why a worker gets no program; empty if it gets some."""
        if proof.software != SOFTWARE:
            return f"it runs {proof.software}, and the host {SOFTWARE}; install the same version on both"
        if self._sandbox and not proof.is_protected:
            failed = [f"{row.probe}: {row.detail}" for row in proof.sandbox if not row.held]
            return f"its sandbox does not work: {proof.sandbox_problem or '; '.join(failed)}"
        return ""

    def _remove(self, address: str, why: str) -> None:
        self._joining.pop(address, None)
        if self._workers.pop(address, None) is None:
            return
        for known in (self._failures, self._spoke, self._resting):
            known.pop(address, None)
        self._placement.remove_worker(address)
        for order in [order for order in self._orders.values() if order.address == address]:
            del self._orders[order.id]
            self._lose(order, why, blame=False)  # the worker failed, not the match: it does not count against it
        self._note_change()

    def _lose_all(self, why: str) -> None:
        self._joining.clear()
        for address in list(self._workers):
            self._remove(address, why)

    def _refuse(self, name: str, why: str) -> None:
        self._refused.setdefault(escape_control_chars(why), []).append(escape_control_chars(name)[:NAME_CHARS])
        self._changed.set()

    def _note_trouble(self, why: str) -> None:
        """Publish why there is no cluster; once, if every attempt fails alike."""
        if why != self._trouble:
            self._publish(ClusterTrouble(escape_control_chars(why)))
        self._trouble = why

    def _note_change(self) -> None:
        self._changed.set()
        self._work.set()

    async def _publish_changes(self) -> None:
        """Publish how many workers there are, and which were refused, some time after that has changed."""
        before: tuple[int, int] = (0, 0)
        while True:
            await self._changed.wait()
            # a cluster that starts refuses many workers at once, for one reason: tell it once
            await trio.sleep(GATHER_SECONDS)
            self._changed = trio.Event()
            now = len(self._workers), sum(worker.slots for worker in self._workers.values())
            if now != before:
                self._publish(ClusterChanged(*now))
            before = now
            refused, self._refused = self._refused, {}
            for why, names in refused.items():
                self._publish(WorkersRefused(tuple(names), why))

    # --- orders ---

    async def _place(self) -> None:
        while True:
            await self._work.wait()
            self._work = trio.Event()
            while placed := self._placement.place(PLACED_AT_ONCE):
                for job, address in placed:
                    order = self._waiting[job.key]
                    self._last_id += 1
                    order.id, order.address, order.worker = self._last_id, address, self._workers[address]
                    order.heard = trio.current_time()
                    order.with_files = False
                    self._orders[order.id] = order
                    self._order(order, [])
                await trio.lowlevel.checkpoint()  # hundreds of matches may be placed at once
            self._room()  # some of the matches may be bound now

    def _order(self, order: Order, files: list[str]) -> None:
        if order.worker is not None:
            self._link.tell(Play(order.id, order.address, encode(order.make(order.worker)), files))

    def _take_progress(self, order: Order, data: bytes) -> None:
        try:
            progress = decode_progress(data)
        except OrderError as error:
            self.failed(order, str(error))
            return
        if progress.start != len(order.lines):
            self.failed(order, f"its turns go on with line {progress.start}, expected {len(order.lines)}")
            return
        order.heard = trio.current_time()
        order.lines += progress.lines
        order.wake()

    async def _take_large(self, message: Reported) -> None:
        decoded: MatchReport | OrderError
        try:
            decoded = await trio.to_thread.run_sync(decode_report, message.data)
        except OrderError as error:
            decoded = error
        order = self._orders.pop(message.id, None)
        if order is None:
            return
        if isinstance(decoded, OrderError):
            self._lose(order, str(decoded), blame=True)
        else:
            self._take_decoded(order, decoded)

    def _take_report(self, order: Order, data: bytes) -> None:
        try:
            self._take_decoded(order, decode_report(data))
        except OrderError as error:
            self._lose(order, str(error), blame=True)

    def _take_decoded(self, order: Order, report: MatchReport) -> None:
        if report.missing and not order.with_files:
            self._orders[order.id] = order
            order.with_files = True
            order.heard = trio.current_time()
            self._order(order, [name for name in order.files if name in report.missing])
        elif report.played is None:
            self._lose(order, report.failure or "the programs that it was sent are missing", blame=True)
        elif report.lines[: len(order.lines)] != order.lines:
            self._lose(order, "the report contradicts the turns that came before", blame=True)
        else:
            self._spoke[order.address] = trio.current_time()
            self._placement.played(order.job.key)
            self._placement.note_programs(order.address, order.files)
            order.lines = report.lines
            order.report = report
            order.wake()
            self._work.set()

    def _lose(self, order: Order, why: str, *, blame: bool) -> None:
        """Place an order again, or tell the director that the attempt is lost if it has begun."""
        worker, address = order.worker, order.address
        self._placement.failed(order.job.key)
        order.tries += 1
        name = "" if worker is None else f"worker {worker.number} ({worker.name}): "
        if blame and address in self._workers:
            self._note_failure(address, f"match {order.job.key} failed with {name}{why}")
        if order.has_begun or order.tries >= WORKER_TRIES:
            order.lost = escape_control_chars(f"{name}{why}")
            order.wake()
        else:
            self._placement.add(order.job)
        self._work.set()

    def _note_failure(self, address: str, what: str) -> None:
        self._publish(ClusterTrouble(escape_control_chars(what)))
        self._failures[address] += 1
        if self._failures[address] >= WORKER_FAILURES:
            self._placement.rest(address)
            self._failures[address] = 0
            self._resting[address] = trio.current_time() + REST_SECONDS

    async def _watch(self) -> None:
        """End workers that are silent, and let those that rested play again."""
        while True:
            await trio.sleep(LOOK_SECONDS)  # silence causes no event
            now = trio.current_time()
            for order in list(self._orders.values()):
                heard = order.heard if order.lines else max(order.heard, self._spoke.get(order.address, 0))
                if now - heard > order.silence_seconds and order.id in self._orders:
                    self._link.tell(GiveUp(order.address))
                    why = f"it said nothing for {order.silence_seconds:.0f} s"
                    self._publish(ClusterTrouble(f"a worker is given up: {why}"))
                    self._remove(order.address, why)
            for address in [address for address, until in self._resting.items() if now > until]:
                del self._resting[address]
                self._placement.rest(address, resting=False)
                self._work.set()
