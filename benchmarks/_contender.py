"""What the benchmarks of the judge measure: the server as a host runs it, its floor, fastchess, and their players.

Each contender is a group of processes that can be stopped and continued, so that two of them are measured in turn.
The players are in C++, a process for each connection, as those of real contestants are. They count the turns.
"""

from __future__ import annotations

import json
import mmap
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from benchmarks._bots import HEADER, frame, token_of
from getstep.wire import sign

HERE = Path(__file__).parents[1]
SOURCE = Path(__file__).with_name("_hop_bots.cpp")

START_SECONDS = 120.0
"""2,000 logins take 10 s, and 2,000 processes start in 5 s."""

ANSWER_SECONDS = 20.0
SETTLE_SECONDS = 0.1
"""After a program goes on: the answers of the slice before are read in one large batch."""

COUNTER_BYTES = 8
PER_ADDRESS = 200
"""Connections from each loopback address: a server may take no more than 256 from one."""

MOST_EVENTS = 256
"""A contest has no more events, so more matches at once are played by teams with several seats each."""

SEATS = 8
GAMES = 1000
"""Of each pair, as many as a round robin may have: 400,000 moves, minutes of play."""

Found = TypeVar("Found")


@dataclass
class Sample:
    """One slice: moves, seconds of the judge's CPU time, and seconds of wall-clock time."""

    moves: int
    cpu: float
    wall: float

    @property
    def cpu_us(self) -> float:
        return self.cpu / self.moves * 1e6


class Contender:
    """A judge and its players.

    Args:
        name: for the table.
        folder: where the judge's output is, in `judge.txt`, and the counter of turns.
        judge: leads a process group.
        alone: the judge's CPU time is that of its first process; the others in its group are players.
    """

    def __init__(self, name: str, folder: Path, judge: subprocess.Popen[bytes], *, alone: bool = False) -> None:
        self.name = name
        self.judge = judge
        self.folder = folder
        self._alone = alone
        self._groups = [judge]
        with (folder / "counter").open("r+b") as file:
            self._counter = mmap.mmap(file.fileno(), COUNTER_BYTES)

    @property
    def moves(self) -> int:
        """The turns that were answered until now."""
        return int.from_bytes(self._counter[:COUNTER_BYTES], "little")

    @property
    def output(self) -> str:
        """What the judge has printed."""
        return (self.folder / "judge.txt").read_text(errors="replace")

    def add(self, players: subprocess.Popen[bytes]) -> None:
        """Let a process group of players belong to it, too."""
        self._groups.append(players)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to all its processes."""
        for leader in self._groups:
            with suppress(ProcessLookupError):
                os.killpg(leader.pid, number)

    def end(self) -> None:
        """Kill all its processes."""
        self.signal(signal.SIGKILL)
        for leader in self._groups:
            leader.wait()

    def wait_for(self, what: str, look: Callable[[], Found | None]) -> Found:
        """Wait until ``look`` finds something, and return it.

        Raises:
            SystemExit: the judge has ended, or it is not found within START_SECONDS; with the judge's last lines.
        """
        until = time.monotonic() + START_SECONDS
        while (found := look()) is None:
            ended = self.judge.poll()
            if ended is not None or time.monotonic() > until:
                why = f"took longer than {START_SECONDS:g} s" if ended is None else f"ended with {ended}"
                last = "\n".join(self.output.splitlines()[-8:])
                raise SystemExit(f"{self.name}: {what}: the program {why}; its last lines:\n{last}")
            time.sleep(0.02)
        return found

    def sample(self, seconds: float) -> Sample:
        """Let it run for a slice, and measure all but its beginning."""
        self.signal(signal.SIGCONT)
        time.sleep(SETTLE_SECONDS)
        began = self._now()
        time.sleep(seconds - SETTLE_SECONDS)
        ended = self._now()
        self.signal(signal.SIGSTOP)
        if (code := self.judge.poll()) is not None:
            raise SystemExit(f"{self.name}: the program has ended with {code}:\n{self.output}")
        moves, cpu, wall = (after - before for before, after in zip(began, ended, strict=True))
        return Sample(round(moves), cpu, wall)

    def _now(self) -> tuple[int, float, float]:
        return self.moves, self.cpu_seconds(), time.perf_counter()

    def cpu_seconds(self) -> float:
        """Return the CPU time of the judge until now, with that of its judge processes."""
        pids = [self.judge.pid] if self._alone else [self.judge.pid, *_below(self.judge.pid)]
        tasks = [path for pid in pids for path in Path(f"/proc/{pid}/task").glob("*/schedstat")]
        return sum(int(path.read_text().split()[0]) for path in tasks) / 1e9

    def resident_kib(self) -> int:
        """Return the resident memory of the judge's first process."""
        status = Path(f"/proc/{self.judge.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0])


def _below(pid: int) -> Iterator[int]:
    """Yield the processes below one."""
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, path.read_text().split()):
            yield child
            yield from _below(child)


# --- starting -----------------------------------------------------------------------------------------------------


@contextmanager
def players_program() -> Iterator[Path]:
    """Compile the players, and remove them at the end."""
    if shutil.which("g++") is None:
        raise SystemExit("the players of this benchmark are in C++: apt install g++")
    with tempfile.TemporaryDirectory(prefix="getstep-benchmark-") as folder:
        program = Path(folder) / "hop_bots"
        subprocess.run(["g++", "-O2", "-o", program, SOURCE], check=True)
        yield program


@contextmanager
def started(name: str, command: Sequence[str | Path], folder: Path, *, alone: bool = False) -> Iterator[Contender]:
    """Start a judge with its output and its counter in a folder, and end it with its players."""
    (folder / "counter").write_bytes(bytes(COUNTER_BYTES))
    environment = {**os.environ, "PYTHONUNBUFFERED": "1", "PYTHONPATH": str(HERE)}
    with (folder / "judge.txt").open("wb") as output:
        judge = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=environment,
            cwd=folder,
            start_new_session=True,
        )
    found = Contender(name, folder, judge, alone=alone)
    try:
        yield found
    finally:
        found.end()


@contextmanager
def server(
    name: str,
    matches: int,
    *,
    checkout: Path = HERE,
    judges: int = 1,
    module: Sequence[str] = ("-m", "getstep_server"),
    more_teams: int = 0,
    more_seats: int = 1,
) -> Iterator[tuple[Contender, int]]:
    """Run ``getstep-server run`` with a contest of hop that nobody ends; yield it with its port.

    Args:
        name: for the table.
        matches: at the same time.
        checkout: whose .venv has the server.
        judges: the processes that judge.
        module: what Python runs; the command's arguments follow.
        more_teams: teams of one further event, with one match of every two, which the caller logs in.
        more_seats: the seats of each of them.
    """
    python = checkout / ".venv" / "bin" / "python"
    with tempfile.TemporaryDirectory(prefix="getstep-benchmark-") as above:
        folder = Path(above)
        write_contest(folder, *pairs_of(matches), judges, [more_seats] * more_teams)
        run = ["run", str(folder), "--no-web", "--no-announce", "--plain"]
        command = [str(python) if python.exists() else sys.executable, *module, *run]
        with started(name, command, folder) as judge:
            yield judge, judge.wait_for("start", lambda: port_in(judge.output))


def port_in(output: str) -> int | None:
    """Return the port in the output of a server or a loop; None if it does not listen yet."""
    line = next((line for line in output.splitlines() if line.startswith("Listening on ")), None)
    return None if line is None else int(line.partition(", port ")[2].rstrip(".").partition(",")[0])


def pairs_of(matches: int) -> tuple[int, int]:
    """Return how many pairs of teams play so many matches at once, and with how many seats."""
    seats = 1 if matches < MOST_EVENTS else SEATS
    return -(-matches // seats), seats


def write_contest(folder: Path, pairs: int, seats: int, judges: int, more_seats: Sequence[int]) -> None:
    """Write a contest in which each pair of teams has an event of its own, with a match on each of its seats."""
    events = [([2 * pair + 1, 2 * pair + 2], GAMES) for pair in range(pairs)]
    if more_seats:
        events.append(([*range(2 * pairs + 1, 2 * pairs + 1 + len(more_seats))], 1))
    (folder / "contest.toml").write_text(
        '[contest]\nname = "benchmark"\nseed = 1\n'
        f'[server]\nhost = "127.0.0.1"\nport = 0\njudges = {judges}\n'
        "[start]\nabsent_seconds = 600\n"
        + "".join(
            f'[[event]]\ngame = "hop"\nname = "{number}"\nteams = {teams}\nsettings.legs = {legs}\n'
            for number, (teams, legs) in enumerate(events, start=1)
        )
    )
    (folder / "teams.toml").write_text(
        "".join(
            f'[[team]]\nid = {team}\nname = "bot {team}"\ntoken = "{token_of(team)}"\nseats = {own}\n'
            for team, own in enumerate([seats] * 2 * pairs + [*more_seats], start=1)
        )
    )


@contextmanager
def judged(
    program: Path, matches: int, *, name: str = "judge", checkout: Path = HERE, judges: int = 1, **more: Any
) -> Iterator[Contender]:
    """Run the server with players in so many matches; it plays when the block begins."""
    pairs, seats = pairs_of(matches)
    with server(name, matches, checkout=checkout, judges=judges, **more) as (judge, port):
        teams = [team for team in range(1, 2 * pairs + 1) for _ in range(seats)]
        socks = [log_in(judge, port, team, number) for number, team in enumerate(teams)]
        with playing(judge, program, socks):
            yield judge


@contextmanager
def floor(program: Path, matches: int, *, processes: int = 1) -> Iterator[Contender]:
    """Run one or more bare loops that only exchange the frames; they play when the block begins."""
    with tempfile.TemporaryDirectory(prefix="getstep-benchmark-") as above:
        command = [sys.executable, "-m", "benchmarks._floor", str(matches), str(processes)]
        name = "floor" if processes == 1 else f"floor, {processes} processes"
        with started(name, command, Path(above)) as loop:
            port = loop.wait_for("start", lambda: port_in(loop.output))
            socks = [connect(port, number) for number in range(2 * matches)]
            with playing(loop, program, socks):
                yield loop


@contextmanager
def fastchess(program: Path, matches: int) -> Iterator[Contender | None]:
    """Run fastchess with as many games at once; None if it is not installed."""
    installed = shutil.which("fastchess")
    if installed is None:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="getstep-benchmark-") as above:
        folder = Path(above)
        engine = f"cmd={program}"
        arguments = f"args={folder / 'counter'} uci"
        engines = [part for name in "AB" for part in ("-engine", engine, arguments, f"name={name}")]
        # -maxmoves ends each game as a draw at the end of the players' line, 100 moves of each side.
        rules = ["tc=100000", "-rounds", "1000000", "-games", "2", "-maxmoves", "100"]
        at_once = ["-force-concurrency", "-concurrency", str(matches)]
        with started("fastchess", [installed, *engines, "-each", *rules, *at_once], folder, alone=True) as chess:
            chess.wait_for("first move", lambda: chess.moves or None)
            yield chess


@contextmanager
def playing(judge: Contender, program: Path, socks: Sequence[socket.socket], notes: bytes = b"") -> Iterator[None]:
    """Let a process for each of these connections play, until the block ends; ``notes`` go with each answer."""
    files = [sock.fileno() for sock in socks]
    for sock in socks:
        sock.settimeout(None)  # with a time limit, Python's sockets do not block
    counter = str(judge.folder / "counter")
    noting: list[str | Path] = []
    if notes:
        (judge.folder / "notes").write_bytes(notes)
        noting = ["notes", judge.folder / "notes"]
    words = [program, counter, *noting, *map(str, files)]
    players = subprocess.Popen(words, pass_fds=files, start_new_session=True)
    judge.add(players)
    for sock in socks:
        sock.close()
    judge.wait_for("first move", lambda: judge.moves or None)
    yield


# --- connections --------------------------------------------------------------------------------------------------


def begin() -> None:
    """Let this process and its children open as many files as the machine allows, and clean up at SIGTERM, too."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)


def connect(port: int, number: int) -> socket.socket:
    """Return connection ``number``; the loopback addresses take turns."""
    source = f"127.0.0.{1 + number // PER_ADDRESS}"
    sock = socket.create_connection(("127.0.0.1", port), ANSWER_SECONDS, source_address=(source, 0))
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


def log_in(judge: Contender, port: int, team: int, number: int) -> socket.socket:
    """Return a connection that is logged in; what the server says after that is not read.

    Raises:
        SystemExit: the server refuses it, or does not answer.
    """
    who = f"{judge.name}: connection {number + 1}, of team {team}"
    with ExitStack() as refused:
        try:
            sock = refused.enter_context(connect(port, number))
            answer = _read(sock)
            if answer["type"] == "hello":
                mac = sign(token_of(team), answer["nonce"])
                sock.sendall(frame({"type": "join", "version": 1, "team": team, "mac": mac, "client": "benchmark"}))
                answer = _read(sock)
        except (OSError, EOFError) as error:
            raise SystemExit(f"{who}: {error}") from None
        if answer["type"] != "welcome":
            raise SystemExit(f"{who}, was refused: {json.dumps(answer)}")
        refused.pop_all()
    return sock


def _read(sock: socket.socket) -> dict[str, Any]:
    body: dict[str, Any] = msgspec.msgpack.decode(_exactly(sock, int.from_bytes(_exactly(sock, HEADER), "big")))
    return body


def _exactly(sock: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        part = sock.recv(count - len(data))
        if not part:
            raise EOFError("the server has closed the connection")
        data += part
    return data
