"""The process that talks to Dask, with a client in memory: what it tells the host of what it cannot pass on."""

from __future__ import annotations

import asyncio
import queue
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import dask.config
import msgspec
import pytest

from getstep_server.cluster import process
from getstep_server.cluster.address import ClusterAddress
from getstep_server.cluster.messages import (
    MAX_MESSAGE_BYTES,
    FromProcess,
    Joined,
    Lost,
    Play,
    Reported,
    TurnsPlayed,
    Unfit,
)
from getstep_server.cluster.process import _SchedulerConnection
from tests.support.patience import PATIENCE_SECONDS

TOO_LONG = b" " * (MAX_MESSAGE_BYTES + 1)


class Future:
    """A task in memory."""

    def __init__(self) -> None:
        self.answer = asyncio.get_running_loop().create_future()
        self.released = asyncio.Event()
        self.cancelled = False

    async def result(self) -> Any:
        return await asyncio.shield(self.answer)

    def done(self) -> bool:
        return self.answer.done()

    async def cancel(self, **_: Any) -> None:
        self.cancelled = True

    def release(self) -> None:
        self.released.set()


class Client:
    """A client without Dask: a worker with two slots, and what it was asked to do."""

    def __init__(self) -> None:
        self.status = "running"
        self.scheduler = self
        self.futures: list[Future] = []
        self.handlers: dict[str, Callable[[Any], Any]] = {}
        self.asked = asyncio.Event()

    async def identity(self) -> Any:
        return {"workers": {"tcp://lab:1": {"local_directory": "/lab", "name": "lab-1", "nthreads": 2}}}

    def submit(self, *_: Any, **__: Any) -> Future:
        self.futures.append(Future())
        self.asked.set()
        return self.futures[-1]

    def subscribe_topic(self, topic: str, handler: Callable[[Any], Any]) -> None:
        self.handlers[topic] = handler


def heard(sent: queue.SimpleQueue[bytes]) -> list[FromProcess]:
    """Return what the host reads."""
    return [msgspec.msgpack.decode(sent.get_nowait()[4:], type=FromProcess) for _ in range(sent.qsize())]


async def asked(client: Client) -> Future:
    """Return the next task."""
    await asyncio.wait_for(client.asked.wait(), PATIENCE_SECONDS)
    client.asked.clear()
    return client.futures[-1]


async def ended(future: Future) -> None:
    """Wait until all is done with a task."""
    await asyncio.wait_for(future.released.wait(), PATIENCE_SECONDS)
    await asyncio.sleep(0)


def during(talk: Callable[[Client, _SchedulerConnection], Any]) -> list[FromProcess]:
    """Return what the host hears while the worker proves itself, and while it talks.

    In a thread: a browser that an earlier test has used keeps an event loop in the main one.
    """
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(lambda: asyncio.run(_during(talk))).result()


async def _during(talk: Callable[[Client, _SchedulerConnection], Any]) -> list[FromProcess]:
    client = Client()
    sent = queue.SimpleQueue[bytes]()
    connection = _SchedulerConnection(client, sent, Path())
    serving = asyncio.create_task(connection.serve())
    try:
        await talk(client, connection)
    finally:
        connection.close()
        serving.cancel()
    return heard(sent)


@pytest.mark.parametrize("data", [TOO_LONG, "text"], ids=["too long", "no bytes"])
def test_turns_that_cannot_be_passed_on_lose_the_match_and_no_other(data: Any) -> None:
    """They ended the thread that writes to the host, or the host took the process for one that is out of step."""

    async def talk(client: Client, connection: _SchedulerConnection) -> None:
        await asked(client)  # its proof
        for number in (1, 2):
            connection.take(Play(number, "tcp://lab:1", b"order", []))
            await asked(client)
        topic = next(name for name in client.handlers if name.startswith("getstep-"))
        client.handlers[topic]((0.0, (1, data)))
        client.handlers[topic]((0.0, (1, b"more of it")))
        client.handlers[topic]((0.0, (2, b"turns")))
        _, first, second = client.futures
        await ended(first)
        assert first.cancelled
        second.answer.set_result(b"report")
        await ended(second)

    lost, *others = during(talk)
    assert isinstance(lost, Lost)
    assert lost.id == 1
    assert "expected" in lost.why
    assert others == [TurnsPlayed(2, b"turns"), Reported(2, b"report")]


@pytest.mark.parametrize("data", [TOO_LONG, "text"], ids=["too long", "no bytes"])
def test_a_report_that_cannot_be_passed_on_loses_the_match(data: Any) -> None:
    async def talk(client: Client, connection: _SchedulerConnection) -> None:
        await asked(client)
        connection.take(Play(1, "tcp://lab:1", b"order", []))
        future = await asked(client)
        future.answer.set_result(data)
        await ended(future)

    (lost,) = during(talk)
    assert isinstance(lost, Lost)
    assert "expected" in lost.why


@pytest.mark.parametrize("data", [b"proof", TOO_LONG, "text"], ids=["good", "too long", "no bytes"])
def test_a_worker_joins_if_its_proof_can_be_passed_on(data: Any) -> None:
    async def talk(client: Client, _: _SchedulerConnection) -> None:
        future = await asked(client)
        future.answer.set_result(data)
        await ended(future)

    (said,) = during(talk)
    if data == b"proof":
        assert said == Joined("tcp://lab:1", "lab-1", 2, b"proof")
    else:
        assert isinstance(said, Unfit)
        assert "expected" in said.why


def test_dask_takes_little_time_from_the_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its settings are there before the workers of this machine start, which take them over."""
    found: list[object] = []

    def made(**_: object) -> None:
        found.extend(
            map(dask.config.get, ("distributed.admin.tick.interval", "distributed.worker.profile.enabled"))
        )
        raise asyncio.CancelledError

    monkeypatch.setattr(process, "LocalCluster", made)
    started = process._Process(ClusterAddress("local", "2"), Path(), queue.SimpleQueue[bytes]())
    loud = {"distributed.admin.tick.interval": "20ms", "distributed.worker.profile.enabled": True}
    with dask.config.set(loud), ThreadPoolExecutor(1) as pool:
        with pytest.raises(asyncio.CancelledError):
            pool.submit(lambda: asyncio.run(started.run())).result()
    assert found == ["1s", False]
