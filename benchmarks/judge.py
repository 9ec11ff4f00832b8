"""How much a judged move costs, how exact the clocks are, and what an idle connection weighs.

``python -m benchmarks.judge`` prints a table. The cost is measured against a floor in the same run: a trio server
that only encodes and decodes the same messages. Bots are processes of their own; all of it stays on loopback.
"""

from __future__ import annotations

import argparse
import os
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgpack
import trio

from benchmarks._bots import HEADER, frame, token_of
from getstep.wire import Goodbye
from getstep_server import listening, session
from getstep_server.contest import Contest, ContestFile, Team
from getstep_server.director import Director
from getstep_server.events import Bus, Event, MovePlayed, ServerLate, TurnFaulted
from getstep_server.schedule import Match
from getstep_server.seats import Seat
from getstep_server.store import Store
from getstep_server.timekeeper import Timekeeper

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


async def ping_pong(clients: int, round_trips: int) -> Cost:
    """Question and answer with nothing in between: no rules, no clock, no record."""
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


@dataclass
class Heard:
    """What the events told."""

    contest: Contest
    thinker: int
    moves: int = 0
    faults: int = 0
    late: int = 0
    thoughts_ms: list[float] = field(default_factory=list)

    def __call__(self, event: Event) -> None:
        if isinstance(event, MovePlayed):
            self.moves += 1
            if event.match.teams[event.player] == self.thinker:
                self.thoughts_ms.append(event.thought * 1000)
        elif isinstance(event, TurnFaulted):
            self.faults += 1
        elif isinstance(event, ServerLate):
            self.late += 1


def make_contest(folder: Path, teams: int) -> Contest:
    """A hop contest of ``teams`` bots on a free port."""
    file = ContestFile.model_validate(
        {"contest": {"name": "benchmark", "game": "hop"}, "server": {"host": "127.0.0.1", "port": 0}}
    )
    return Contest(folder, file, {n: Team(id=n, name=f"bot {n}", token=token_of(n)) for n in range(1, teams + 1)})


def pairs(teams: int, repeats: int) -> list[Match]:
    """Team 1 against 2, 3 against 4 and so on, ``repeats`` times."""
    couples = [(n, n + 1) for _ in range(repeats) for n in range(1, teams, 2)]
    return [Match(i, 1, i, 1, first, second, "hop") for i, (first, second) in enumerate(couples, start=1)]


async def judged(matches: int, repeats: int, *, with_thinker: bool) -> tuple[Cost, Heard, list[float]]:
    """Play ``matches`` at once, ``repeats`` times over; the last team may be one that thinks exactly 50 ms."""
    fast_teams = 2 * matches
    teams = fast_teams + 2 if with_thinker else fast_teams
    with tempfile.TemporaryDirectory(prefix="getstep-benchmark-") as folder:
        contest = make_contest(Path(folder), teams)
        heard = Heard(contest, teams)
        schedule = pairs(fast_teams, repeats)
        if with_thinker:
            schedule.append(Match(len(schedule) + 1, 1, len(schedule) + 1, 1, teams - 1, teams, "hop"))
        with Store(contest.database) as store, listening.open_listener("127.0.0.1", 0) as listener:
            store.save_schedule(schedule, 0)
            port = listener.getsockname()[1]
            last_fast = teams - 1 if with_thinker else teams
            with bots("fast", port, 1, last_fast), thinker(port, teams, with_thinker) as exact:
                cost = await _play(contest, schedule, store, listener, heard)
                true_ms = [float(line) for line in exact.communicate(timeout=10)[0].split()] if exact else []
    return cost, heard, true_ms


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


async def _play(
    contest: Contest, schedule: list[Match], store: Store, listener: socket.socket, heard: Heard
) -> Cost:
    bus = Bus()
    bus.subscribe(heard)
    seats = {number: Seat(team, bus.publish) for number, team in contest.teams.items()}
    house = session.House(contest, seats, bus.publish)
    timekeeper = Timekeeper()
    director = Director(contest, schedule, [], seats, store, timekeeper, bus.publish)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(listening.accept_forever, listener, session.WireLink, house, nursery)
        nursery.start_soon(timekeeper.run)
        while not all(seat.connected for seat in seats.values()):
            await trio.sleep(0.05)
        with measured(len(schedule) * TURNS) as cost:
            await director.run()
        house.close_all(Goodbye("contest_over", "", None))
        await house.all_gone()
        nursery.cancel_scope.cancel()
    return cost


# --- idle connections -------------------------------------------------------------------------------------------


async def idle(count: int) -> float:
    """KiB of resident memory that each of ``count`` idle connections takes in the server."""
    contest = make_contest(Path(), 2)
    house = session.House(contest, {}, lambda _: None)
    with listening.open_listener("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        async with trio.open_nursery() as nursery:
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
    args = parser.parse_args()
    _raise_limits(args.idle)
    cores = os.cpu_count()
    python = sys.version.split()[0]
    print(f"{args.matches} matches at once, hop, {TURNS} turns a game; Python {python}, {cores} cores")
    floor: Cost = _run(ping_pong, 2 * args.matches, TURNS // 2)
    cost, heard, _ = _run(judged, args.matches, 1, with_thinker=False)
    _report_cost(floor, cost, heard)
    _, heard, true_ms = _run(judged, args.matches, args.repeats, with_thinker=True)
    _report_clock(heard, true_ms)
    print(f"{args.idle} idle connections: {_run(idle, args.idle):.1f} KiB each")


def _report_cost(floor: Cost, cost: Cost, heard: Heard) -> None:
    print(f"ping-pong:   {floor.cpu_us:.1f} µs CPU, {floor.a_second:,.0f} round trips/s")
    print(f"judged move: {cost.cpu_us:.1f} µs CPU, {cost.a_second:,.0f} moves/s, {1e6 / cost.cpu_us:,.0f}/s a core")
    print(f"ratio:           {cost.cpu_us / floor.cpu_us:.2f}; faults {heard.faults}, server late {heard.late}")


def _report_clock(heard: Heard, true_ms: list[float]) -> None:
    errors = sorted(abs(told - true) for told, true in zip(heard.thoughts_ms, true_ms, strict=True))
    p99 = errors[int(0.99 * (len(errors) - 1))]
    print(
        f"a bot that thinks {THINK_MS:g} ms among them, {len(errors)} moves: error of its recorded time"
        f" median {statistics.median(errors):.3f} ms, p99 {p99:.3f} ms, worst {errors[-1]:.3f} ms;"
        f" faults {heard.faults}, server late {heard.late}"
    )


if __name__ == "__main__":
    main()
