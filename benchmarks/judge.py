"""The accuracy of the judge's clocks, and the memory of an idle connection.

``python -m benchmarks.judge`` prints both. `benchmarks.slices` measures the cost of a judged move with the programs
of this module: the judge, and as a floor a trio server that only encodes and decodes the same messages. Bots are
separate processes; only loopback is used.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import msgpack
import trio

from benchmarks._bots import HEADER, frame, token_of
from getstep_server.config.contest import Contest, ContestFile, Team
from getstep_server.events import (
    Bus,
    Event,
    Listening,
    MatchEnded,
    MovePlayed,
    ServerLate,
    TurnFaulted,
)
from getstep_server.net import connection, wire_connection
from getstep_server.net import listener as listening
from getstep_server.net.registry import ConnectionRegistry
from getstep_server.play.scoresheet import Scoresheet
from getstep_server.runtime.run import run_contest
from getstep_server.runtime.start import StartCondition
from getstep_server.storage.journal import Journal, WriteResult
from getstep_server.validation import validated

THINK_MS = 50.0
TURNS = 400  # of a hop game in which no player reaches its target region


@contextmanager
def bots(*arguments: object, **options: Any) -> Iterator[subprocess.Popen[str]]:
    """Run a process of bots."""
    command = [sys.executable, "-m", "benchmarks._bots", *map(str, arguments)]
    with subprocess.Popen(command, text=True, **options) as process:
        try:
            yield process
        finally:
            process.kill()


# --- the floor ----------------------------------------------------------------------------------------------


async def ping_pong(clients: int, round_trips: int, *, limit: bool) -> None:
    """Exchange questions and answers without rules, clocks or records; with or without a time ``limit``."""
    listeners = await trio.open_tcp_listeners(0, host="127.0.0.1", backlog=clients)
    question = {
        "type": "get_step",
        "id": 1,
        "move_number": 1,
        "board": [[1, 0, 0, 0, 0, 0, 0, 2]] * 8,
        "is_black": True,
        "time_left_ms": 5000,
        "last_move": [[0, 0], [0, 1]],
    }

    async def serve(stream: trio.SocketStream) -> None:
        for _ in range(round_trips):
            with trio.fail_after(5) if limit else nullcontext():
                await stream.send_all(frame(question))
                buffer = await stream.receive_some(4096)
                while len(buffer) < HEADER + int.from_bytes(buffer[:HEADER], "big"):
                    buffer += await stream.receive_some(4096)
                msgpack.unpackb(buffer[HEADER:])
        await stream.send_all(frame({"type": "goodbye"}))

    port = listeners[0].socket.getsockname()[1]
    with bots("fast", port, 1, clients):
        streams = [await listeners[0].accept() for _ in range(clients)]
        async with trio.open_nursery() as nursery:
            for stream in streams:
                nursery.start_soon(serve, stream)
    for stream in streams:
        await stream.aclose()
    await listeners[0].aclose()


# --- the judge ------------------------------------------------------------------------------------------------


class Measurement:
    """A consumer of events that measures: from the contest's start to its last result."""

    def __init__(self, thinker: int) -> None:
        self.listening = trio.Event()
        self.over = trio.Event()
        self.port = 0
        self.faults = self.late = 0
        self.thoughts_ms: list[float] = []
        self._thinker = thinker

    def __call__(self, event: Event) -> None:
        match event:
            case MovePlayed():  # first, to add as little as possible to the measured time
                self._moved(event)
            case Listening():
                self.port = event.port
                self.listening.set()
            case TurnFaulted():
                self.faults += 1
            case ServerLate():
                self.late += 1
            case MatchEnded(done=done, total=total) if done == total:
                self.over.set()

    def _moved(self, event: MovePlayed) -> None:
        if event.match.teams[event.player] == self._thinker:
            self.thoughts_ms.append(event.thought * 1000)


def make_contest(folder: Path, repeats: Sequence[int]) -> Contest:
    """Return a hop contest on a free port: team 1 against 2, 3 against 4 and so on, with ``repeats`` per pair."""
    teams = 2 * len(repeats)
    events = [
        {"game": "hop", "name": f"{pair}", "teams": [2 * pair - 1, 2 * pair], "settings": {"legs": legs}}
        for pair, legs in enumerate(repeats, start=1)
    ]
    file = validated(
        ContestFile, {"contest": {"name": "benchmark"}, "event": events, "server": {"host": "127.0.0.1", "port": 0}}
    )
    return Contest(folder, file, {n: Team(id=n, name=f"bot {n}", token=token_of(n)) for n in range(1, teams + 1)})


async def judged(matches: int, repeats: int, *, with_thinker: bool) -> tuple[Measurement, list[float]]:
    """Run ``matches`` matches at once, ``repeats`` of each; the last team may be the one that thinks 50 ms.

    The server is complete: rules, timestamps, database, log, and counts of incidents.
    """
    teams = 2 * (matches + with_thinker)
    run, bus = Measurement(teams), Bus()
    bus.subscribe(run)
    with tempfile.TemporaryDirectory(prefix="getstep-benchmark-") as folder:
        contest = make_contest(Path(folder), [repeats] * matches + [1] * with_thinker)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(run_contest, contest, bus, StartCondition())
            await run.listening.wait()
            last_fast = teams - 1 if with_thinker else teams
            with (
                bots("fast", run.port, 1, last_fast),
                thinker(run.port, teams, with_thinker) as exact,
            ):
                await run.over.wait()
                told = None if exact is None else await trio.to_thread.run_sync(exact.communicate)
    return run, [float(line) for line in told[0].split()] if told else []


@contextmanager
def thinker(port: int, team: int, wanted: bool) -> Iterator[subprocess.Popen[str] | None]:
    """Run the bot that thinks exactly 50 ms, if wanted; its priority gives it a processor at once."""
    if not wanted:
        yield None
        return
    with bots("exact", port, team, THINK_MS, stdout=subprocess.PIPE) as process:
        if os.geteuid() == 0:
            os.setpriority(os.PRIO_PROCESS, process.pid, -15)
        yield process


# --- idle connections -------------------------------------------------------------------------------------------


async def idle(count: int) -> float:
    """Return the KiB of resident memory of the server for each of ``count`` idle connections."""
    contest = make_contest(Path(), [1])
    registry = ConnectionRegistry(contest, {}, lambda _: None)
    with listening.open_listener("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        async with registry.poller.open(), trio.open_nursery() as nursery:
            nursery.start_soon(
                listening.accept_forever, listener, wire_connection.WireConnection, registry, nursery
            )
            await trio.sleep(0.1)
            before = _resident_kib()
            with bots("idle", port, count, stdin=subprocess.PIPE):
                while len(registry.connections) < count:
                    await trio.sleep(0.05)
                await trio.sleep(0.5)
                after = _resident_kib()
            nursery.cancel_scope.cancel()
    return (after - before) / count


def _resident_kib() -> int:
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0])


# --- the table ----------------------------------------------------------------------------------------------------


def _raise_limits(connections: int) -> None:
    """Raise the limits for the benchmark's connections, which come from one address and may log in slowly."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    for name in ("MAX_CONNECTIONS", "MAX_CONNECTIONS_PER_ADDRESS", "LOGIN_SECONDS"):
        setattr(connection, name, connections + 1000)


def _run(function: Callable[..., Awaitable[Any]], *arguments: Any, **named: Any) -> Any:
    async def main() -> Any:
        return await function(*arguments, **named)

    return trio.run(main)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--matches", type=int, default=128, help="matches at once (default: 128)")
    parser.add_argument("--repeats", type=int, default=4, help="games of each pair (default: 4)")
    parser.add_argument("--idle", type=int, default=10_000, help="idle connections (default: 10000)")
    parser.add_argument("--only", choices=["clock", "idle"], help="measure nothing else")
    args = parser.parse_args()
    _raise_limits(args.idle)
    cores = os.cpu_count()
    python = sys.version.split()[0]
    print(f"{args.matches} matches at once, hop, {TURNS} turns a game; Python {python}, {cores} cores")
    if args.only in (None, "clock"):
        _report_clock(args.matches, args.repeats)
    if args.only in (None, "idle"):
        print(f"{args.idle} idle connections: {_run(idle, args.idle):.1f} KiB each")


@contextmanager
def unrecorded() -> Iterator[None]:
    """Replace the scoresheet's write, so that the server records only the result of a match."""

    def write(self: Scoresheet, turn: Mapping[str, Any]) -> WriteResult:  # noqa: ARG001 - as the real one
        batching = isinstance(self._journal, Journal) and self._journal._batching
        return WriteResult.PENDING if batching else WriteResult.WRITTEN  # as with records

    real, Scoresheet.write = Scoresheet.write, write  # type: ignore[method-assign]  # the method of every scoresheet of this process
    try:
        yield
    finally:
        Scoresheet.write = real  # type: ignore[method-assign]  # the method of every scoresheet of this process


def _report_clock(matches: int, repeats: int) -> None:
    run, true_ms = _run(judged, matches, repeats, with_thinker=True)
    errors = sorted(abs(told - true) for told, true in zip(run.thoughts_ms, true_ms, strict=True))
    p99 = errors[int(0.99 * (len(errors) - 1))]
    print(
        f"a bot that thinks {THINK_MS:g} ms among them, {len(errors)} moves: error of its recorded time"
        f" median {statistics.median(errors):.3f} ms, p99 {p99:.3f} ms, worst {errors[-1]:.3f} ms;"
        f" faults {run.faults}, server late {run.late}"
    )


if __name__ == "__main__":
    main()
