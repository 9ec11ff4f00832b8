"""The time from a question to its answer, for the SDK of each language with a bot that answers at once.

``python -m benchmarks.clients`` prints a table, beside a floor: a bare socket and msgpack in Python, without an
SDK. ``python -m benchmarks.clients cpp java`` measures these languages only. A language whose compiler or runtime
is missing is left out. Only loopback is used. Two loads: questions back to back, and one question every few
milliseconds, as in a contest, where each question wakes a sleeping process.
"""

from __future__ import annotations

import argparse
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks._bots import token_of
from getstep.wire import (
    NEED_DATA,
    Connection,
    End,
    GetStep,
    Goodbye,
    Hello,
    Join,
    Message,
    Role,
    Start,
    Step,
    Welcome,
    new_nonce,
    prove_server,
)

ROOT = Path(__file__).parents[1]
SDK = ROOT / "sdk"
TEAM = 1
WARM_UP = 1000
"""Questions before the measurement: a virtual machine compiles what it runs often."""

APART_SECONDS = 0.005
BOARD = [[(row * column) % 3 for column in range(8)] for row in range(8)]
START_SECONDS = 60.0


@dataclass(frozen=True)
class Language:
    """A client in one language.

    Attributes:
        tools: the programs that have to be installed.
        build: the command that builds the bot, in a folder that replaces ``{out}``; none for an interpreter.
        run: the command that starts it.
        needs: a file of the repository.
    """

    tools: Sequence[str]
    build: Sequence[str]
    run: Sequence[str]
    needs: Path


def _bot(language: str, name: str) -> Path:
    return SDK / language / "bots" / name


LANGUAGES = {
    "bare": Language((), (), (sys.executable, "-m", "benchmarks._bots", "fast", "{port}", "1", "1"), ROOT),
    "python": Language((), (), (sys.executable, "-m", "benchmarks._echo_bot"), ROOT),
    "cpp": Language(
        ("g++",),
        (
            "g++",
            "-O2",
            "-std=c++17",
            "-pthread",
            f"-I{SDK / 'cpp'}",
            "-o",
            "{out}/bot",
            str(_bot("cpp", "echo_bot.cpp")),
        ),
        ("{out}/bot",),
        _bot("cpp", "echo_bot.cpp"),
    ),
    "java": Language(
        ("javac", "java"),
        ("javac", "-d", "{out}", str(SDK / "java" / "Getstep.java"), str(_bot("java", "EchoBot.java"))),
        ("java", "-cp", "{out}", "EchoBot"),
        _bot("java", "EchoBot.java"),
    ),
    "csharp": Language(
        ("mcs", "mono"),
        ("mcs", "-out:{out}/Bot.exe", str(SDK / "csharp" / "Getstep.cs"), str(_bot("csharp", "EchoBot.cs"))),
        ("mono", "{out}/Bot.exe"),
        _bot("csharp", "EchoBot.cs"),
    ),
    "javascript": Language(
        ("node",), (), ("node", str(_bot("javascript", "echo_bot.mjs"))), _bot("javascript", "echo_bot.mjs")
    ),
}
"""The clients by language; ``bare`` is the floor."""


@dataclass(frozen=True)
class Times:
    """The times of a client: from its start to its login in seconds, and of its answers in microseconds."""

    start_seconds: float
    back_to_back: Sequence[float]
    apart: Sequence[float]


class Server:
    """The server's end of one connection, blocking: it does nothing but ask."""

    def __init__(self, sock: socket.socket) -> None:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.settimeout(START_SECONDS)
        self._sock = sock
        self._conversation = Connection(Role.SERVER)
        self._asked = 0

    def log_in(self) -> None:
        """Bring the client into a match."""
        nonce, token = new_nonce(), token_of(TEAM)
        self._say(Hello(versions=[1], nonce=nonce, contest="Benchmark", server="benchmark"))
        join = self._hear()
        if not isinstance(join, Join):
            raise TypeError(f"{join!r}, expected a join")
        proof = prove_server(token, nonce, join.nonce) if join.nonce else None
        self._say(Welcome(TEAM, "Echo", 100, [], proof))
        self._say(Start(1, "pseudo_tonga", {}, True, "Benchmark", "move", 60_000, 100, False))

    def time_answer(self) -> float:
        """Ask, and return the time to the complete answer in microseconds."""
        self._asked += 1
        question = GetStep(self._asked, self._asked, BOARD, True, 60_000, [3, 4])
        data = self._conversation.send(question)
        began = time.perf_counter_ns()
        self._sock.sendall(data)
        answer = self._sock.recv(4096)
        ended = time.perf_counter_ns()
        self._conversation.receive_data(answer)
        while (event := self._conversation.next_event()) is NEED_DATA:
            answer = self._sock.recv(4096)
            ended = time.perf_counter_ns()
            self._conversation.receive_data(answer)
        if not isinstance(event, Step):
            raise TypeError(f"{event!r}, expected a step")
        return (ended - began) / 1000

    def end(self) -> None:
        """End the match and the contest."""
        self._say(End(1, "win", "finished", "", None))
        self._say(Goodbye("contest_over", "", None))

    def _say(self, message: Message) -> None:
        self._sock.sendall(self._conversation.send(message))

    def _hear(self) -> Any:
        while (event := self._conversation.next_event()) is NEED_DATA:
            self._conversation.receive_data(self._sock.recv(4096))
        return event


def missing(language: Language) -> str:
    """Return why a language cannot be measured here, or an empty text."""
    absent = [tool for tool in language.tools if shutil.which(tool) is None]
    if absent:
        return f"{', '.join(absent)} is not installed"
    return "" if language.needs.exists() else f"{language.needs.relative_to(ROOT)} does not exist"


def measure(language: Language, questions: int) -> Times:
    """Build and start a client, and measure its answers."""
    with tempfile.TemporaryDirectory() as out, socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(START_SECONDS)
        port = str(listener.getsockname()[1])
        if language.build:
            subprocess.run(_filled(language.build, out, port), check=True)
        with _running(_filled(language.run, out, port), port, Path(out)) as began:
            sock, _ = listener.accept()
            with sock:
                server = Server(sock)
                server.log_in()
                started = time.perf_counter() - began
                for _ in range(WARM_UP):
                    server.time_answer()
                fast = [server.time_answer() for _ in range(questions)]
                apart = []
                for _ in range(questions // 4):
                    time.sleep(APART_SECONDS)
                    apart.append(server.time_answer())
                server.end()
    return Times(started, fast, apart)


@contextmanager
def _running(command: Sequence[str], port: str, folder: Path) -> Iterator[float]:
    variables = {
        "GETSTEP_HOST": "127.0.0.1",
        "GETSTEP_PORT": port,
        "GETSTEP_TEAM": str(TEAM),
        "GETSTEP_TOKEN": token_of(TEAM),
        "GETSTEP_LOGIN_FILE": str(folder / "login.json"),
    }
    began = time.perf_counter()
    with subprocess.Popen(command, env={**os.environ, **variables}, stdout=subprocess.DEVNULL, cwd=ROOT) as process:
        try:
            yield began
            process.wait(START_SECONDS)
        finally:
            process.kill()


def _filled(words: Sequence[str], out: str, port: str) -> list[str]:
    return [word.replace("{out}", out).replace("{port}", port) for word in words]


def p99(times: Sequence[float]) -> float:
    """Return the 99th percentile."""
    return sorted(times)[int(0.99 * (len(times) - 1))]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "languages", nargs="*", metavar="LANGUAGE", help=f"of {', '.join(LANGUAGES)} (default: all)"
    )
    parser.add_argument(
        "--questions", type=int, default=4000, help="back to back; a quarter of it apart (default: 4000)"
    )
    args = parser.parse_args()
    if unknown := sorted(set(args.languages) - set(LANGUAGES)):
        parser.error(f"{', '.join(unknown)}: expected {', '.join(LANGUAGES)}")
    if args.questions < 100:
        parser.error(f"--questions {args.questions}, expected at least 100")
    print(f"µs from question to answer, 8×8 board, {args.questions} questions; {os.cpu_count()} cores")
    print(f"{'':12}{'back to back':>20}{f'one each {1000 * APART_SECONDS:g} ms':>22}{'start':>10}")
    print(f"{'':12}{'median':>12}{'p99':>8}{'median':>14}{'p99':>8}{'s':>10}")
    for name in args.languages or LANGUAGES:
        if why := missing(LANGUAGES[name]):
            print(f"{name:12}left out: {why}")
            continue
        times = measure(LANGUAGES[name], args.questions)
        fast, apart = times.back_to_back, times.apart
        print(
            f"{name:12}{statistics.median(fast):12.0f}{p99(fast):8.0f}"
            f"{statistics.median(apart):14.0f}{p99(apart):8.0f}{times.start_seconds:10.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
