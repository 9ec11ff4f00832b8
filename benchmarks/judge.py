"""How much a judged move costs, how exact the clocks are, and what an idle connection weighs.

``python -m benchmarks.judge`` prints a table. The cost is measured against a floor in the same run: a trio server
that only encodes and decodes the same messages. Bots are processes of their own; all of it stays on loopback.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgpack
import trio

from benchmarks._bots import HEADER, frame, token_of
from getstep_server import listening, session
from getstep_server.contest import Contest, ContestFile, Team
from getstep_server.events import (
    Bus,
    ContestStarted,
    Event,
    Listening,
    MatchEnded,
    MovePlayed,
    ServerLate,
    TurnFaulted,
)
from getstep_server.run import StartWhen, run_contest
from getstep_server.scoresheet import Scoresheet

THINK_MS = 50.0
TURNS = 400  # of a hop game in which nobody arrives


@dataclass
class Cost:
    """What ``count`` round trips or moves took."""

    count: int
    cpu_seconds: float
    seconds: float

    @property
    def cpu_us(self) -> float:
        return self.cpu_seconds / self.count * 1e6

    @property
    def a_second(self) -> float:
        return self.count / self.seconds


@contextmanager
def measured(count: int) -> Iterator[Cost]:
    """Measure this process while the block runs."""
    cost = Cost(count, 0.0, 0.0)
    cpu, wall = time.process_time(), time.perf_counter()
    yield cost
    cost.cpu_seconds, cost.seconds = time.process_time() - cpu, time.perf_counter() - wall


@contextmanager
def bots(*arguments: object, **options: Any) -> Iterator[subprocess.Popen[str]]:
    """A process of bots."""
    command = [sys.executable, "-m", "benchmarks._bots", *map(str, arguments)]
    with subprocess.Popen(command, text=True, **options) as process:
        try:
            yield process
        finally:
            process.kill()


# --- the floor ----------------------------------------------------------------------------------------------


async def ping_pong(clients: int, round_trips: int, *, limit: bool) -> Cost:
    """Question and answer with nothing in between: no rules, no clock, no record; with or without a ``limit``."""
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
        with measured(clients * round_trips) as cost:
            async with trio.open_nursery() as nursery:
                for stream in streams:
                    nursery.start_soon(serve, stream)
    for stream in streams:
        await stream.aclose()
    await listeners[0].aclose()
    return cost


# --- the judge ------------------------------------------------------------------------------------------------


class Heard:
    """A consumer of events that measures: from the contest's start to its last result."""

    def __init__(self, thinker: int) -> None:
        self.listening = trio.Event()
        self.over = trio.Event()
        self.port = 0
        self.cost = Cost(0, 0.0, 0.0)
        self.faults = self.late = 0
        self.thoughts_ms: list[float] = []
        self._thinker = thinker

    def __call__(self, event: Event) -> None:
        match event:
            case MovePlayed():  # first, so as to weigh as little as possible in what is measured
                self._moved(event)
            case Listening():
                self.port = event.port
                self.listening.set()
            case ContestStarted():
                self._began = time.process_time(), time.perf_counter()
            case TurnFaulted():
                self.faults += 1
            case ServerLate():
                self.late += 1
            case MatchEnded(done=done, total=total) if done == total:
                cpu, wall = self._began
                self.cost.cpu_seconds = time.process_time() - cpu
                self.cost.seconds = time.perf_counter() - wall
                self.over.set()

    def _moved(self, event: MovePlayed) -> None:
        self.cost.count += 1
        if event.match.teams[event.player] == self._thinker:
            self.thoughts_ms.append(event.thought * 1000)


def make_contest(folder: Path, repeats: Sequence[int]) -> Contest:
    """A hop contest on a free port: team 1 against 2, 3 against 4 and so on, each pair so many times."""
    teams = 2 * len(repeats)
    events = [
        {"game": "hop", "name": f"{pair}", "teams": [2 * pair - 1, 2 * pair], "settings": {"legs": legs}}
        for pair, legs in enumerate(repeats, start=1)
    ]
    file = ContestFile.model_validate(
        {"contest": {"name": "benchmark"}, "event": events, "server": {"host": "127.0.0.1", "port": 0}}
    )
    return Contest(folder, file, {n: Team(id=n, name=f"bot {n}", token=token_of(n)) for n in range(1, teams + 1)})


async def judged(matches: int, repeats: int, *, with_thinker: bool) -> tuple[Heard, list[float]]:
    """Run a contest of ``matches`` at once, ``repeats`` times over; the last team may be one that thinks 50 ms.

    Everything is on: rules, timestamps, store, log, record of incidents.
    """
    teams = 2 * (matches + with_thinker)
    heard, bus = Heard(teams), Bus()
    bus.subscribe(heard)
    with tempfile.TemporaryDirectory(prefix="getstep-benchmark-") as folder:
        contest = make_contest(Path(folder), [repeats] * matches + [1] * with_thinker)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(run_contest, contest, bus, StartWhen())
            await heard.listening.wait()
            last_fast = teams - 1 if with_thinker else teams
            with bots("fast", heard.port, 1, last_fast), thinker(heard.port, teams, with_thinker) as exact:
                await heard.over.wait()
                told = None if exact is None else await trio.to_thread.run_sync(exact.communicate)
    return heard, [float(line) for line in told[0].split()] if told else []


@contextmanager
def thinker(port: int, team: int, wanted: bool) -> Iterator[subprocess.Popen[str] | None]:
    """The bot that thinks exactly 50 ms, if wanted; it gets a processor at once, as on a machine of its own."""
    if not wanted:
        yield None
        return
    with bots("exact", port, team, THINK_MS, stdout=subprocess.PIPE) as process:
        if os.geteuid() == 0:
            os.setpriority(os.PRIO_PROCESS, process.pid, -15)
        yield process


# --- idle connections -------------------------------------------------------------------------------------------


async def idle(count: int) -> float:
    """KiB of resident memory that each of ``count`` idle connections takes in the server."""
    contest = make_contest(Path(), [1])
    house = session.House(contest, {}, lambda _: None)
    with listening.open_listener("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        async with house.switchboard.open(), trio.open_nursery() as nursery:
            nursery.start_soon(listening.accept_forever, listener, session.WireLink, house, nursery)
            await trio.sleep(0.1)
            before = _resident_kib()
            with bots("idle", port, count, stdin=subprocess.PIPE):
                while len(house.links) < count:
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
    """Room for the benchmark's own connections, which all come from one address and log in at their leisure."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    for name in ("MAX_CONNECTIONS", "MAX_CONNECTIONS_PER_ADDRESS", "LOGIN_SECONDS"):
        setattr(session, name, connections + 1000)


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
    parser.add_argument("--only", choices=["cost", "recording", "clock", "idle"], help="measure nothing else")
    args = parser.parse_args()
    _raise_limits(args.idle)
    cores = os.cpu_count()
    python = sys.version.split()[0]
    print(f"{args.matches} matches at once, hop, {TURNS} turns a game; Python {python}, {cores} cores")
    if args.only in (None, "cost"):
        _report_cost(args.matches)
    if args.only in (None, "recording"):
        _report_recording(args.matches)
    if args.only in (None, "clock"):
        _report_clock(args.matches, args.repeats)
    if args.only in (None, "idle"):
        print(f"{args.idle} idle connections: {_run(idle, args.idle):.1f} KiB each")


def _report_cost(matches: int) -> None:
    bare: Cost = _run(ping_pong, 2 * matches, TURNS // 2, limit=False)
    floor: Cost = _run(ping_pong, 2 * matches, TURNS // 2, limit=True)
    heard, _ = _run(judged, matches, 1, with_thinker=False)
    cost = heard.cost
    for name, one in (("ping-pong", bare), ("with a time limit", floor), ("judged move", cost)):
        print(
            f"{name + ':':<19}{one.cpu_us:6.1f} µs CPU, {one.a_second:9,.0f}/s, {1e6 / one.cpu_us:9,.0f}/s a core"
        )
    print(
        f"a judged move is {cost.cpu_us / floor.cpu_us:.2f} of a ping-pong with a time limit,"
        f" {cost.cpu_us / bare.cpu_us:.2f} of one without; faults {heard.faults}, server late {heard.late}"
    )


def _report_recording(matches: int, rounds: int = 5) -> None:
    """What keeping records takes of the judged moves a second: whole contests with and without, in turn."""
    kept, unkept = [], []
    for _ in range(rounds):
        kept.append(_run(judged, matches, 1, with_thinker=False)[0].cost)
        with unrecorded():
            unkept.append(_run(judged, matches, 1, with_thinker=False)[0].cost)
    best, without = (min(cost.cpu_us for cost in costs) for costs in (kept, unkept))
    share = 100 * (1 - without / best)
    print(
        f"without records:   {without:6.1f} µs CPU; {best:.1f} with them: they take {share:.1f} % of the judged"
        f" moves a second (best of {rounds} runs each)"
    )


@contextmanager
def unrecorded() -> Iterator[None]:
    """A server that writes down nothing of a game but its result."""

    def write(self: Scoresheet, turn: Mapping[str, Any]) -> bool:  # noqa: ARG001 - as the real one
        return not self._journal._held  # matches go on together all the same

    real, Scoresheet.write = Scoresheet.write, write  # type: ignore[method-assign]
    try:
        yield
    finally:
        Scoresheet.write = real  # type: ignore[method-assign]


def _report_clock(matches: int, repeats: int) -> None:
    heard, true_ms = _run(judged, matches, repeats, with_thinker=True)
    errors = sorted(abs(told - true) for told, true in zip(heard.thoughts_ms, true_ms, strict=True))
    p99 = errors[int(0.99 * (len(errors) - 1))]
    print(
        f"a bot that thinks {THINK_MS:g} ms among them, {len(errors)} moves: error of its recorded time"
        f" median {statistics.median(errors):.3f} ms, p99 {p99:.3f} ms, worst {errors[-1]:.3f} ms;"
        f" faults {heard.faults}, server late {heard.late}"
    )


if __name__ == "__main__":
    main()
