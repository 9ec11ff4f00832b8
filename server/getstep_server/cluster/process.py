"""The host's process that talks to Dask: it passes orders to workers, and reports back.

It is a process of its own for two reasons. The event loop of `distributed`, and what that does to the interpreter,
must not disturb the judge. And it may fail: then all its workers are gone for the host, and it is started again. It
decides nothing. It ends when its channel does.

*Workers.* The scheduler's list of workers is read about once a second, and whenever the scheduler says that one has
come or gone. A worker is known by its address and its local directory: one that was started again at the same
address is another one. A new worker proves itself first.

*Orders.* Each order is a task for one worker. Dask does not know that a task has no other worker to go to, so it
would keep it indefinitely if that worker is lost. Then the task is cancelled here, and reported as lost.

*Scheduler.* If the connection to the scheduler is lost, all workers and orders are. A new client then connects
after a pause.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import queue
import socket
import sys
import threading
import uuid
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import dask.config
from distributed import Client, LocalCluster

from getstep_server.children.channel import BlockingChannel, ChannelError

from . import task
from .address import ClusterAddress
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
    described,
    framed,
    shortened,
)

CONNECT_SECONDS = 20.0
"""The time to connect to a scheduler."""

PROOF_SECONDS = 600.0
"""The time for a worker to prove itself: 10 s. A machine whose slots are all taken by others may take longer."""

LOOK_SECONDS = 1.0
"""The interval at which the list of workers is read. For 500 workers that takes 10 ms of processor time."""

END_SECONDS = 20.0
"""The time to end a worker that hangs."""

CLOSE_SECONDS = 4.0
"""The time to end the workers that this process has started. The host waits a bit longer, and kills it then."""

FIRST_PAUSE_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 15.0
"""The pause before the next attempt to connect, which doubles."""

QUIET = {"distributed.admin.tick.interval": "1s", "distributed.worker.profile.enabled": False}
"""Settings of Dask for its loops, which it checks 50 times a second, and for its profiler of workers.

Nobody looks at what they find, and they take 40 ms of processor time a second from the programs, in each process.
"""


class _SchedulerConnection:
    """A connection to a scheduler, until it is lost.

    Args:
        client: it is connected.
        send: the queue of framed messages to the host.
        files: the folder with packed programs, each named by its SHA-256.
    """

    def __init__(self, client: Client, send: queue.SimpleQueue[bytes], files: Path) -> None:
        self._client = client
        self._queue = send
        self._files = files
        self._run = uuid.uuid4().hex
        self._topic = f"getstep-{self._run}"
        self._workers: dict[str, str] = {}
        """The local directory of each worker that was found, by its address."""
        self._given_up: set[tuple[str, str]] = set()
        self._orders: dict[int, tuple[str, asyncio.Task[None]]] = {}
        """The worker and the task of each order."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._look = asyncio.Event()

    async def serve(self) -> None:
        """Follow the workers until the connection is lost."""
        self._client.subscribe_topic(self._topic, lambda event: self._take_progress(*event[1]))
        self._client.subscribe_topic("all", lambda _: self._look.set())
        while self._client.status == "running":
            self._look.clear()
            await self._find_workers()
            with contextlib.suppress(TimeoutError):  # look again in any case: an event may have been missed
                await asyncio.wait_for(self._look.wait(), LOOK_SECONDS)

    def _send(self, message: FromProcess) -> None:
        """Send a message to the host. Raises ChannelError: it is too long."""
        self._queue.put(framed(message))

    @property
    def _is_connected(self) -> bool:
        """False if the connection is lost, of which the host hears next: then all workers and orders are lost."""
        return bool(self._client.status == "running")

    def close(self) -> None:
        """Cancel all tasks. The host hears nothing of it: for the host all matches are lost."""
        for running in [*self._tasks, *(running for _, running in self._orders.values())]:
            running.cancel()

    def take(self, message: ToProcess) -> None:
        """Do what the host says."""
        if isinstance(message, Play):
            self._orders[message.id] = message.worker, asyncio.create_task(self._play(message))
        elif isinstance(message, Stop):
            if message.id in self._orders:
                self._orders.pop(message.id)[1].cancel()
        elif isinstance(message, GiveUp):
            directory = self._workers.get(message.worker)
            if directory is not None:
                self._given_up.add((message.worker, directory))
                self._forget(message.worker)
                self._begin(self._end_worker(message.worker))

    # --- workers ---

    async def _find_workers(self) -> None:
        try:
            found = (await asyncio.wait_for(self._client.scheduler.identity(), CONNECT_SECONDS))["workers"]
        except (OSError, TimeoutError):
            return  # the client's status says if the connection is lost
        here = {
            address: str(info["local_directory"])
            for address, info in found.items()
            if (address, str(info["local_directory"])) not in self._given_up
        }
        for address in [one for one, directory in self._workers.items() if here.get(one) != directory]:
            self._forget(address)
        for address in [one for one in here if one not in self._workers]:
            self._workers[address] = here[address]
            info = found[address]
            name = shortened(str(info["name"]))
            self._begin(self._prove(address, here[address], name, int(info["nthreads"])))

    def _forget(self, address: str) -> None:
        del self._workers[address]
        self._send(Left(address))
        for number in [number for number, (worker, _) in self._orders.items() if worker == address]:
            self._orders.pop(number)[1].cancel()

    async def _prove(self, address: str, directory: str, name: str, slots: int) -> None:
        future = self._submit(task.prove, address, f"proof-{uuid.uuid4().hex}")
        try:
            proof = await asyncio.wait_for(future.result(), PROOF_SECONDS)
            sent = framed(Joined(address, name, slots, _bytes(proof)))
        except TimeoutError:
            sent = framed(Unfit(name, f"it has not proved itself within {PROOF_SECONDS:g} s"))
        except Exception as error:  # whatever the worker has raised, such as an ImportError
            sent = framed(Unfit(name, described(error)))
        finally:
            future.release()
        if self._workers.get(address) == directory and self._is_connected:
            self._queue.put(sent)

    async def _end_worker(self, address: str) -> None:
        """End a worker that hangs. If it has a nanny, that starts it again."""
        with contextlib.suppress(Exception):  # it may hang so badly that it cannot be ended
            async with asyncio.timeout(END_SECONDS):
                await self._client.run(task.end_worker, workers=[address], wait=False, on_error="ignore")

    # --- orders ---

    async def _play(self, message: Play) -> None:
        future = None
        try:
            files = {name: await asyncio.to_thread((self._files / name).read_bytes) for name in message.files}
            name = f"match-{self._run}-{message.id}"
            future = self._submit(task.play, message.worker, name, message.id, message.order, files, self._topic)
            sent = framed(Reported(message.id, _bytes(await future.result())))
        except Exception as error:  # whatever the worker has raised, or a report that is too long
            sent = framed(Lost(message.id, described(error)))
        finally:
            if future is not None:
                # Dask may keep a task for a worker that is lost: cancel it if it is not over.
                if not future.done():
                    with contextlib.suppress(Exception):  # the connection may be lost
                        await asyncio.shield(
                            future.cancel(force=True, reason="the match is no longer to be played")
                        )
                future.release()
        if self._orders.pop(message.id, None) is not None and self._is_connected:
            self._queue.put(sent)

    def _take_progress(self, number: int, data: Any) -> None:
        """Pass on turns of a match. If the text is not a message, or is too long, the worker has failed."""
        if number not in self._orders:
            return
        try:
            self._send(TurnsPlayed(number, _bytes(data)))
        except (TypeError, ChannelError) as error:
            self._orders.pop(number)[1].cancel()
            self._send(Lost(number, described(error)))

    def _submit(self, function: Any, worker: str, name: str, *args: Any) -> Any:
        # A pure task with the arguments of another would get its result. No retries: the host decides where an
        # order that has failed is played.
        return self._client.submit(
            function, *args, key=name, workers=[worker], allow_other_workers=False, pure=False, retries=0
        )

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        running = asyncio.create_task(work)
        self._tasks.add(running)  # asyncio itself keeps no task alive
        running.add_done_callback(self._tasks.discard)


def _bytes(data: object) -> bytes:
    """Return what a worker has sent. Raises TypeError: it is not bytes, and the host would not understand it."""
    if not isinstance(data, bytes):
        raise TypeError(f"{data!r:.80}, expected bytes")
    return data


class _Process:
    """The process: it keeps a connection, and passes on what the host says.

    Args:
        address: where the workers are.
        files: the folder with packed programs.
        send: the queue of framed messages to the host.
    """

    def __init__(self, address: ClusterAddress, files: Path, send: queue.SimpleQueue[bytes]) -> None:
        self._address = address
        self._files = files
        self._queue = send
        self._connection: _SchedulerConnection | None = None
        self._cluster: Any = None
        self._keeping: asyncio.Task[None] | None = None
        """It submits jobs of SLURM again that have ended."""

    def take(self, message: ToProcess) -> None:
        """Do what the host says; without a connection all is lost already."""
        if self._connection is not None:
            self._connection.take(message)
        elif isinstance(message, Play):
            self._send(Lost(message.id, "there is no connection to the scheduler"))

    async def run(self) -> None:
        """Connect, and connect again, until cancelled."""
        dask.config.set(QUIET)  # the workers that this process starts take it over
        pause = FIRST_PAUSE_SECONDS
        while True:
            try:
                where = await self._own_cluster() or self._address.text
                # not Dask's default client, which its own functions would use silently
                client = await Client(where, asynchronous=True, timeout=CONNECT_SECONDS, set_as_default=False)
            except Exception as error:  # distributed raises many kinds, such as OSError, ValueError, RuntimeError
                self._send(Disconnected(f"{described(error)}; it is tried again"))
            else:
                pause = FIRST_PAUSE_SECONDS
                await self._serve(client)
                self._send(Disconnected("the connection to the scheduler was lost; it is tried again"))
            await asyncio.sleep(pause)  # as for a child that fails: see `children.keeping`
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)

    async def _own_cluster(self) -> Any:
        """Return the cluster that this process starts; None if a scheduler runs elsewhere.

        Raises:
            Exception: it cannot be started; distributed and dask-jobqueue raise many kinds.
        """
        if self._cluster is None and self._address.kind == "local":
            self._cluster = await LocalCluster(
                n_workers=int(self._address.text),
                threads_per_worker=1,
                asynchronous=True,
                dashboard_address=None,
                memory_limit=0,  # the programs have limits of their own
            )
        elif self._cluster is None and self._address.kind == "slurm":
            from .slurm import SlurmJobs  # dask-jobqueue is needed for nothing else

            jobs = await SlurmJobs.start(Path(self._address.text))
            self._cluster = jobs.cluster
            self._keeping = asyncio.create_task(jobs.keep(lambda why: self._send(NotSubmitted(why))))
        return self._cluster

    def _send(self, message: FromProcess) -> None:
        self._queue.put(framed(message))

    async def close(self) -> None:
        """End the workers that this process has started."""
        if self._keeping is not None:
            self._keeping.cancel()
        if self._cluster is not None:
            with contextlib.suppress(Exception):  # they also end without the scheduler
                await asyncio.wait_for(self._cluster.close(), CLOSE_SECONDS)

    async def _serve(self, client: Client) -> None:
        connection = _SchedulerConnection(client, self._queue, self._files)
        self._connection = connection
        self._send(Connected(str(client.scheduler.address)))
        try:
            await connection.serve()
        finally:
            self._connection = None
            connection.close()
            with contextlib.suppress(Exception):  # nothing of it is needed any more
                await asyncio.wait_for(client._close(fast=True), CONNECT_SECONDS)


def main() -> None:
    """Serve the host.

    The arguments are the kind and the text of a `ClusterAddress`, the folder of programs, and the descriptor of
    this end of the channel.
    """
    kind, text, files, descriptor = sys.argv[1:]
    channel = BlockingChannel[ToProcess](socket.socket(fileno=int(descriptor)), ToProcess)
    send: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    # a daemon: it may wait in a write to a host that is gone
    threading.Thread(target=_write, args=(channel, send), daemon=True).start()
    address = ClusterAddress(kind, text)  # type: ignore[arg-type]  # one of the three
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_serve_host(_Process(address, Path(files), send), channel))


async def _serve_host(process: _Process, channel: BlockingChannel[ToProcess]) -> None:
    loop, over = asyncio.get_running_loop(), asyncio.Event()
    # a daemon: its blocking read cannot be cancelled
    threading.Thread(target=_read, args=(channel, process, loop, over), daemon=True).start()
    running = asyncio.create_task(process.run())
    ended = asyncio.create_task(over.wait())
    await asyncio.wait([running, ended], return_when=asyncio.FIRST_COMPLETED)
    if running.done():
        running.result()  # it never returns, so this raises
    running.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await running
    await process.close()


def _read(
    channel: BlockingChannel[ToProcess], process: _Process, loop: asyncio.AbstractEventLoop, over: asyncio.Event
) -> None:
    try:
        for message in channel.receive():
            loop.call_soon_threadsafe(process.take, message)
    finally:  # also after something that is not a message: the host starts this process again
        loop.call_soon_threadsafe(over.set)


def _write(channel: BlockingChannel[ToProcess], send: queue.SimpleQueue[bytes]) -> None:
    while True:
        try:
            channel.send(send.get())
        except OSError:  # the host is gone
            os._exit(0)


if __name__ == "__main__":
    main()
