"""The effect of the live page under load on the judge. ``python -m benchmarks.web``

One server judges 32 matches between bots that answer at once. In turns it runs without a page, and with the
page and its spectators: 300 that follow the overview, and 50 that open it and never read. ``--readers 300``
adds readers of the API's feed. All of them have lowest priority and some have another address, because in a
contest they are other machines. Two of the bots think exactly 50 ms. Reported are the judged moves a second,
the error of the thinking time that is on record for those two (median and 99th percentile), and the processor
time and memory of the page's process, the processor time that the judge takes for a move (the readers compete
with the bots for this machine's cores and so change the moves a second, but not this), and the time between two
updates of a spectator or a reader (median and 99th percentile). That time is between the page's own stamps in
the updates of each tenth of them: on a busy machine the readers' process stands still for a second, and would
measure itself. Also reported is the 99th percentile of how old an update is when it is read, which includes
that.
"""

from __future__ import annotations

import argparse
import math
import os
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import trio

from benchmarks._bots import token_of
from getstep_server.config.contest import load_contest, make_contest
from getstep_server.storage.journal_tail import JournalTail

MATCHES, SPECTATORS, SLOW = 32, 300, 50
THINK_MS = 50.0
REQUEST = (
    b"GET /api/v1/pages/overview HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n"
    b"Accept-Encoding: gzip\r\n\r\n"
)
FEED_REQUEST = b"GET /api/v1/feed HTTP/1.1\r\nHost: localhost\r\n\r\n"
TICKS = os.sysconf("SC_CLK_TCK")
SAMPLED = 10
"""One of so many spectators and readers looks at what it gets: to unpack it takes more time than to read it."""

_PAGE, _FEED = re.compile(rb'data: \{"now":(\d+)'), re.compile(rb'"token":"[^"]*","at":(\d+)')


class Measured(NamedTuple):
    """One run: moves a second, the judge's processor time for one, the error of the thinking time, the page's share
    of a core and its memory, time between updates, and their age."""

    moves: float
    judge_us: float
    error_ms: float
    error_p99_ms: float
    core: float
    megabytes: float
    update_s: float
    update_p99_s: float
    age_p99_s: float


def main() -> None:
    """Run the benchmark and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=8.0, help="of each run (default: 8)")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each kind, in turns (default: 3)")
    parser.add_argument("--readers", type=int, default=0, help="that follow the API's feed (default: 0)")
    parser.add_argument("--crowd", type=int, nargs=2, metavar=("PORT", "READERS"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.crowd:
        trio.run(crowd, *args.crowd)
        return
    runs: dict[bool, list[Measured]] = {False: [], True: []}
    for _ in range(args.rounds):
        for page in (False, True):
            runs[page].append(measured(args.seconds, args.readers, page=page))
            print(f"{'with' if page else 'without'} page: {runs[page][-1]}", flush=True)
    middle = {
        page: [statistics.median(column) for column in zip(*found, strict=True)] for page, found in runs.items()
    }
    print(
        f"{'':14}{'moves/s':>10}{'judge':>10}{'clock error':>14}{'p99':>11}{'page: core':>12}{'MB':>7}"
        f"{'update':>9}{'p99':>9}{'age p99':>9}"
    )
    for page, name in ((False, "without page"), (True, "with page")):
        moves, judge, error, p99, core, megabytes, update, late, age = middle[page]
        shares = f"{moves:10.0f}{judge:7.1f} µs{error:11.3f} ms{p99:8.3f} ms{100 * core:10.1f} %{megabytes:7.0f}"
        print(f"{name:14}{shares}{update:7.2f} s{late:7.2f} s{age:7.2f} s")
    moves, judge = (100 * middle[True][column] / middle[False][column] - 100 for column in (0, 1))
    print(f"with the page: {moves:+.1f} % moves/s, {judge:+.1f} % processor time of the judge for a move")


def measured(seconds: float, readers: int, *, page: bool) -> Measured:
    """Run a contest for some seconds."""
    folder = Path(tempfile.mkdtemp(prefix="getstep-web-"))
    try:
        return _measured(folder / "contest", seconds, readers, page=page)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _measured(folder: Path, seconds: float, readers: int, *, page: bool) -> Measured:
    event = {"game": "hop", "settings": {"legs": 50}}
    make_contest(
        folder, {"contest": {"name": "load"}, "event": [event], "server": {"host": "127.0.0.1", "port": 0}}
    )
    teams = "".join(
        f'[[team]]\nid = {number}\nname = "Team {number}"\ntoken = "{token_of(number)}"\n'
        for number in range(1, 2 * MATCHES + 1)
    )
    (folder / "teams.toml").write_text(teams, encoding="utf-8")
    command = [sys.executable, "-m", "getstep_server", "run", str(folder), "--plain"]
    command += ["--no-announce", *(["--web-port", "0"] if page else ["--no-web"])]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    others: list[subprocess.Popen[bytes]] = []
    sleepers: list[socket.socket] = []
    try:
        output = ""
        while not (listening := re.search(r"^Listening on \S+, port (\d+)", output, re.MULTILINE)):
            output += server.stdout.readline() if server.stdout is not None else ""
        others.append(_start("benchmarks._bots", "fast", listening[1], "3", str(2 * MATCHES)))
        others += [_start("benchmarks._bots", "exact", listening[1], team, str(THINK_MS)) for team in ("1", "2")]
        if page:
            found = re.search(r"http://[^:]+:(\d+)/", output)
            port = found[1] if found else "0"
            others.append(_start("benchmarks.web", "--crowd", port, str(readers)))
            sleepers = [_open(int(port)) for _ in range(SLOW)]
            _line(others[-1])  # all of them follow
        measured = _observe(folder, server.pid, seconds, page=page, begin=lambda: _say(others[-1]))
        return measured._replace(**_updates(others[-1])) if page else measured
    finally:
        for sock in sleepers:
            sock.close()
        server.kill()
        server.wait()
        for process in others:
            process.kill()
            process.wait()
        if server.stdout is not None:
            server.stdout.close()


def _start(*command: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-m", *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def _line(process: subprocess.Popen[bytes]) -> bytes:
    return b"" if process.stdout is None else process.stdout.readline()


def _say(process: subprocess.Popen[bytes]) -> None:
    if process.stdin is not None:
        process.stdin.write(b"\n")
        process.stdin.flush()


def _updates(watching: subprocess.Popen[bytes]) -> dict[str, float]:
    """Return the times between two updates since the measurement began, and their age."""
    _say(watching)
    line = _line(watching)
    return dict(zip(("update_s", "update_p99_s", "age_p99_s"), map(float, line.split()), strict=True))


class Stamps:
    """Finds the page's stamps in a stream: when each update was made, as Unix time in seconds.

    Args:
        is_packed: the body is a gzip stream.
        pattern: what is before the stamp in ms, and that, as a group.
    """

    def __init__(self, pattern: re.Pattern[bytes], *, is_packed: bool) -> None:
        self._pattern = pattern
        self._unpack = zlib.decompressobj(31).decompress if is_packed else bytes
        self._head, self._rest = b"", b""
        self._is_body = False

    def __call__(self, data: bytes) -> list[float]:
        """Return the stamps in what came now."""
        if not self._is_body:
            self._head += data
            _, end, data = self._head.partition(b"\r\n\r\n")
            if not end:
                return []
            self._is_body = True
        self._rest += self._unpack(data)
        found = list(self._pattern.finditer(self._rest))
        if found:
            self._rest = self._rest[found[-1].end() :]
        return [int(one[1]) / 1000 for one in found]


async def crowd(port: int, readers: int) -> None:
    """Follow the overview SPECTATORS times, and the feed so many times.

    Write an empty line when all follow. Measure from the first line of input to the second one, and then write the
    times between two updates, and how old updates are when they are read.
    """

    os.nice(19)
    gaps: list[float] = []
    ages: list[float] = []
    measured_from = math.inf
    waiting, all_follow = set(range(SPECTATORS + readers)), trio.Event()

    async def follow(number: int, request: bytes) -> None:
        address = f"127.0.0.{2 + number % 8}"  # one address has a limit
        stamps = Stamps(_FEED if request is FEED_REQUEST else _PAGE, is_packed=request is REQUEST)
        stream = await trio.open_tcp_stream("127.0.0.1", port, local_address=address)
        async with stream:
            await stream.send_all(request)
            latest = math.inf
            async for data in stream:
                waiting.discard(number)
                if not waiting:
                    all_follow.set()
                if number % SAMPLED:
                    continue
                for made in stamps(bytes(data)):
                    if measured_from <= latest < math.inf:
                        gaps.append(made - latest)
                        ages.append(time.time() - made)
                    latest = made

    async with trio.open_nursery() as nursery:
        for number, request in enumerate([REQUEST] * SPECTATORS + [FEED_REQUEST] * readers):
            nursery.start_soon(follow, number, request)
        await all_follow.wait()
        print(flush=True)
        await trio.to_thread.run_sync(sys.stdin.readline)
        measured_from = time.time()  # before, the matches begin
        await trio.to_thread.run_sync(sys.stdin.readline)
        gaps, ages = sorted(gaps) or [0.0], sorted(ages) or [0.0]
        late = int(0.99 * len(gaps))
        print(statistics.median(gaps), gaps[late], ages[late], flush=True)
        nursery.cancel_scope.cancel()


def _open(port: int) -> socket.socket:
    """Return a spectator that asks for the events and never reads them."""
    sock = socket.create_connection(("127.0.0.1", port))
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    sock.sendall(REQUEST)
    return sock


def _observe(folder: Path, server: int, seconds: float, *, page: bool, begin: Callable[[], None]) -> Measured:
    """Wait until matches are played, and then observe for some seconds."""
    tail = JournalTail(load_contest(folder).running)
    while len(tail.poll()) < 100:
        time.sleep(0.05)
    time.sleep(2)
    while tail.poll():
        pass
    child = _child(server) if page else 0
    if page:
        begin()
    before, judge, began, lines = _ticks(child), _ticks(server), time.monotonic(), 0
    errors: list[float] = []
    while time.monotonic() < began + seconds:
        time.sleep(0.1)
        for line in tail.poll():
            lines += 1
            found = re.search(rb'"ms":([0-9.]+)', line.entry)
            if found and THINK_MS / 2 < float(found[1]) < 1000:  # a turn of a bot that thinks
                errors.append(float(found[1]) - THINK_MS)
    took = time.monotonic() - began
    core = (_ticks(child) - before) / TICKS / took
    p99 = sorted(errors)[int(0.99 * len(errors))]
    judge_us = 1e6 * (_ticks(server) - judge) / TICKS / lines
    return Measured(lines / took, judge_us, statistics.median(errors), p99, core, _megabytes(child), 0.0, 0.0, 0.0)


def _child(pid: int) -> int:
    """Return the server's only child process, the page."""
    while True:
        for tasks in Path(f"/proc/{pid}/task").glob("*/children"):
            if found := tasks.read_text().split():
                return int(found[0])
        time.sleep(0.05)


def _ticks(pid: int) -> int:
    if not pid:
        return 0
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def _megabytes(pid: int) -> float:
    if not pid:
        return 0.0
    found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    return int(found[1]) / 1024 if found else 0.0


if __name__ == "__main__":
    main()
