"""Judged moves a second with one and with several judge processes (`[server] judges`), on all cores together.

``python -m benchmarks.judges`` plays hop, 400 turns a match, with 8 and with 64 matches at once. Everything is on:
rules, clocks, timestamps, a line in the journal for each turn, records. The bots share the cores with the server.
So they are in C++ and cost as little as possible (_hop_bots.cpp; needs g++). The floor is as many Python processes
as there are judges. They send the same question and read the answer, and do nothing else: no decoding, no rules, no
records.

Other programs on the machine make all figures worse: the medians of the ``--repeats`` are shown, with the best.
"""

from __future__ import annotations

import argparse
import json
import os
import select
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import trio

from benchmarks._bots import HEADER, frame, token_of
from benchmarks.judge import make_contest
from getstep.wire import sign
from getstep_server.config.contest import Contest
from getstep_server.events import EXCEPT_MOVES, Bus, ContestStarted, Event, Listening, MatchEnded, TurnFaulted
from getstep_server.runtime.run import freeze_long_lived, run_contest
from getstep_server.runtime.start import StartCondition

SOURCE = Path(__file__).with_name("_hop_bots.cpp")
FASTCHESS = "for comparison, on a machine of this kind: fastchess (C++) judges 14,000 to 16,000 moves a second"
FLOOR_SECONDS = 3.0


# --- the bots -------------------------------------------------------------------------------------------------


def build(folder: Path) -> Path:
    """Return the bots' program, compiled."""
    program = folder / "hop_bots"
    subprocess.run(["g++", "-O2", "-o", program, SOURCE], check=True)
    return program


def log_in(port: int, team: int) -> socket.socket:
    """Return a connection of a team that is logged in; what the server says after that is not read."""
    sock = socket.create_connection(("127.0.0.1", port))
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    hello = _read(sock)
    mac = sign(token_of(team), hello["nonce"])
    sock.sendall(frame({"type": "join", "version": 1, "team": team, "mac": mac, "client": "benchmark"}))
    assert _read(sock)["type"] == "welcome"
    return sock


def _read(sock: socket.socket) -> dict[str, Any]:
    body: dict[str, Any] = msgspec.msgpack.decode(_exactly(sock, int.from_bytes(_exactly(sock, HEADER), "big")))
    return body


def _exactly(sock: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        data += sock.recv(count - len(data))
    return data


@contextmanager
def playing(program: Path, socks: Sequence[socket.socket]) -> Iterator[subprocess.Popen[bytes]]:
    """Let the bots play on these connections, until the block ends."""
    files = [sock.fileno() for sock in socks]
    with subprocess.Popen([program, *map(str, files)], pass_fds=files) as process:
        for sock in socks:
            sock.close()
        try:
            yield process
        finally:
            process.kill()


# --- one measurement, in a process of its own ---------------------------------------------------------------------


async def contest(program: Path, judges: int, matches: int, legs: int, bus: Bus) -> dict[str, float]:
    """Return moves, seconds and CPU seconds of a contest."""
    listening, over, port = trio.Event(), trio.Event(), 0
    turns = faults = 0
    began = ended = 0.0
    bots_cpu = server_cpu = 0.0

    def note(event: Event) -> None:
        nonlocal port, turns, faults, began, ended, server_cpu
        match event:
            case Listening():
                port = event.port
                listening.set()
            case ContestStarted():
                began, server_cpu = time.perf_counter(), -_server_cpu()
            case TurnFaulted():
                faults += 1
            case MatchEnded(result, done, total):
                turns += result.turns
                if done == total:
                    ended = time.perf_counter()
                    server_cpu += _server_cpu()
                    over.set()

    bus.subscribe(note, EXCEPT_MOVES)
    with tempfile.TemporaryDirectory(prefix="getstep-benchmark-") as folder:
        made = make_contest(Path(folder), [legs] * matches)
        server = msgspec.structs.replace(made.file.server, judges=judges)
        made = Contest(made.folder, msgspec.structs.replace(made.file, server=server), made.teams)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(run_contest, made, bus, StartCondition())
            await listening.wait()
            teams = range(1, 2 * matches + 1)
            socks = [await trio.to_thread.run_sync(log_in, port, team) for team in teams]
            with playing(program, socks) as process:
                await over.wait()
                bots_cpu = _cpu_of(process.pid)
            nursery.cancel_scope.cancel()  # not for SHUTDOWN_SECONDS: the bots do not come back
    assert not faults
    return {"moves": turns, "seconds": ended - began, "server": server_cpu, "bots": bots_cpu}


def _server_cpu() -> float:
    """Return the CPU seconds of this process and its judges until now; a thread may have started a judge."""
    children = [int(pid) for path in Path("/proc/self/task").glob("*/children") for pid in path.read_text().split()]
    judges = [pid for pid in children if b"getstep_server.judges" in Path(f"/proc/{pid}/cmdline").read_bytes()]
    return time.process_time() + sum(map(_cpu_of, judges))


def _cpu_of(pid: int) -> float:
    """Return the CPU seconds of a process until now."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def floor(program: Path, judges: int, matches: int) -> dict[str, float]:
    """Return moves and seconds of processes that only exchange questions and answers."""
    share = max(1, matches // judges)
    command = [sys.executable, "-m", "benchmarks.judges", "--exchange", str(program), str(share)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(judges)]
    told = [json.loads(process.communicate()[0]) for process in running]
    return {"moves": sum(moves for moves, _ in told), "seconds": statistics.mean(seconds for _, seconds in told)}


def exchange(program: Path, matches: int) -> tuple[int, float]:
    """Ask the bots for FLOOR_SECONDS in one epoll loop; return the number of answers, and the seconds."""
    question = frame(
        {
            "type": "get_step",
            "id": 1_000_000,
            "move_number": 1,
            "board": [[1, 0, 0, 0, 0, 0, 0, 2]] * 8,
            "is_black": True,
            "time_left_ms": 5000,
            "last_move": [[0, 0], [0, 1]],
        }
    )
    listener = socket.create_server(("127.0.0.1", 0))
    theirs = [socket.create_connection(listener.getsockname()) for _ in range(matches)]
    ours = {sock.fileno(): sock for sock in (listener.accept()[0] for _ in range(matches))}
    poller = select.epoll()
    for number, sock in ours.items():
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        poller.register(number, select.EPOLLIN)
    with playing(program, theirs):
        for sock in ours.values():
            sock.send(question)
        count, began = 0, time.perf_counter()
        while time.perf_counter() < began + FLOOR_SECONDS:
            for number, _ in poller.poll(1):
                ours[number].recv(4096)
                ours[number].send(question)
                count += 1
        return count, time.perf_counter() - began


# --- the table ------------------------------------------------------------------------------------------------


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--judges", type=int, nargs="+", default=[1, 2], help="numbers of judges (default: 1 2)")
    parser.add_argument("--matches", type=int, nargs="+", default=[8, 64], help="matches at once (default: 8 64)")
    parser.add_argument("--moves", type=int, default=100_000, help="moves of a measurement (default: 100000)")
    parser.add_argument("--repeats", type=int, default=5, help="measurements of each kind (default: 5)")
    parser.add_argument("--one", nargs=4, metavar=("PROGRAM", "JUDGES", "MATCHES", "LEGS"), help=argparse.SUPPRESS)
    parser.add_argument("--exchange", nargs=2, metavar=("PROGRAM", "MATCHES"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        program, *numbers = args.one
        judges, matches, legs = map(int, numbers)
        bus = Bus()
        bus.subscribe(freeze_long_lived, [ContestStarted])
        print(json.dumps(trio.run(contest, Path(program), judges, matches, legs, bus)))
    elif args.exchange:
        print(json.dumps(exchange(Path(args.exchange[0]), int(args.exchange[1]))))
    else:
        _table(args)


def _table(args: argparse.Namespace) -> None:
    print(f"hop, {os.cpu_count()} cores, Python {sys.version.split()[0]}; moves a second: median (best)")
    with tempfile.TemporaryDirectory() as folder:
        program = build(Path(folder))
        for matches in args.matches:
            legs = max(2, args.moves // (400 * matches))
            results: dict[int, list[dict[str, float]]] = {judges: [] for judges in args.judges}
            floors: dict[int, list[dict[str, float]]] = {judges: [] for judges in args.judges}
            for _ in range(args.repeats):  # in turn, because a shared machine is faster in one minute than the next
                for judges in args.judges:
                    numbers = map(str, (judges, matches, legs))
                    command = [sys.executable, "-m", "benchmarks.judges", "--one", str(program), *numbers]
                    out = subprocess.run(command, check=True, capture_output=True).stdout
                    results[judges].append(json.loads(out))
                    floors[judges].append(floor(program, judges, matches))
            for judges in args.judges:
                _print_line(matches, judges, results[judges], floors[judges])
    print(FASTCHESS)


def _print_line(
    matches: int, judges: int, results: Sequence[dict[str, float]], floors: Sequence[dict[str, float]]
) -> None:
    server, bots = (
        statistics.median(1e6 * result[who] / result["moves"] for result in results) for who in ("server", "bots")
    )
    print(
        f"{matches:3} matches, {judges} judges: {_rates(results)}; the floor {_rates(floors)};"
        f" CPU of a move: server {server:.0f} µs, bots {bots:.0f} µs"
    )


def _rates(results: Sequence[dict[str, float]]) -> str:
    rates = [result["moves"] / result["seconds"] for result in results]
    return f"{statistics.median(rates):,.0f} ({max(rates):,.0f})"


if __name__ == "__main__":
    main()
