"""The cost of floods from unauthenticated clients for the teams that play.

``python -m benchmarks.floods`` prints a line for each kind of flood.

Each kind has its own server process, on which pairs of bots play hop and think 25 ms about each move. Their turns
are counted without the flood and then with it; both numbers and their ratio are printed. The error of the clocks
is the difference between the thinking time that a bot measured and the time on record, without and with the flood.

Everything stays on the loopback interface. Where there are two processors or more, the server and the bots share
the first, and the attackers use only the second. So a flood affects the bots only through the server. The kernel's
work on the attackers' packets is mostly done on their own processor. Without a flood the second processor is kept
equally busy, so that a flood alone does not move other programs to the first processor. If the benchmark runs as
root, the server and the bots have priority over other programs.

A ratio near 1 means that the flood has no effect; the target is 0.8 or more. "server" is the share of a processor
that the server uses, without and with the flood: the difference is the cost of the flood. "attempts" is the
attackers' own count, which includes attempts that the kernel queued or refused. Other programs on the machine
lower both numbers of turns; run it again if the numbers without a flood differ from line to line.

During the flood, two teams a second log in from the address of the bots, and two from addresses that the server has
never seen (`benchmarks._logins`). "logins" is the longest time of each kind; the targets are 1 s and 5 s. With
``--addresses 200`` the flood comes from as many computers.
"""

from __future__ import annotations

import argparse
import heapq
import json
import os
import re
import selectors
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import IO, Any

from benchmarks._bots import Bot, answer, token_of
from benchmarks._flood import KINDS
from benchmarks._logins import PATIENCE_SECONDS
from getstep_server.config.contest import load_contest
from getstep_server.net import timestamps
from getstep_server.storage.journal import read, segments
from getstep_server.storage.store import Store

THINK_SECONDS = 0.025
WARM_UP_SECONDS = 1.0
STAMPED = 35  # SO_TIMESTAMPNS

Turn = tuple[int, bool]
"""The match, and True if the player is Black."""


@dataclass
class Pinned:
    """The processors of the two sides; empty sets where processes cannot be pinned."""

    honest: set[int] = field(default_factory=set)
    attackers: set[int] = field(default_factory=set)

    def start(
        self, processors: set[int], module: str, *arguments: object, output: int | IO[str] = subprocess.PIPE
    ) -> subprocess.Popen[str]:
        """Start a Python module on ``processors``."""

        def pin() -> None:
            if processors:
                os.sched_setaffinity(0, processors)
            if processors == self.honest and os.geteuid() == 0:
                os.setpriority(os.PRIO_PROCESS, 0, -15)

        command = [sys.executable, "-m", module, *map(str, arguments)]
        return subprocess.Popen(command, text=True, stdout=output, preexec_fn=pin)


def sides() -> Pinned:
    """Return one processor for the server and the bots and another for the attackers, if there are two."""
    here = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    return Pinned({here[0]}, {here[1]}) if len(here) > 1 else Pinned()


# --- the server -----------------------------------------------------------------------------------------------


def make_contest(folder: Path, pairs: int) -> Path:
    """Create a contest in which team 1 plays 2, 3 plays 4 and so on, longer than any benchmark runs."""
    events = "".join(
        f'[[event]]\ngame = "hop"\nname = "{team}"\nteams = [{team}, {team + 1}]\nsettings = {{legs = 1000}}\n'
        for team in range(1, 2 * pairs, 2)
    )
    folder.mkdir()
    server = '[server]\nhost = "127.0.0.1"\nport = 0\n'
    (folder / "contest.toml").write_text(f'[contest]\nname = "floods"\n{events}{server}')
    teams = range(1, 2 * pairs + 1)
    (folder / "teams.toml").write_text(
        "".join(f'[[team]]\nid = {n}\nname = "bot {n}"\ntoken = "{token_of(n)}"\n' for n in teams)
    )
    return folder


@contextmanager
def serving(folder: Path, pinned: Pinned) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """Run a server of the contest in ``folder``; yield it and its port, and stop it with SIGINT."""
    screen = folder / "screen"  # a file: without a reader, a full pipe would block the server
    with (
        screen.open("w") as output,
        pinned.start(
            pinned.honest, "getstep_server", "run", folder, "--plain", "--no-web", "--no-announce", output=output
        ) as process,
    ):
        try:
            yield process, _port(process, screen)
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(timeout=30)


def _port(process: subprocess.Popen[str], screen: Path) -> int:
    while process.poll() is None:
        if found := re.search(r"^Listening on \S+, port (\d+)", screen.read_text(), re.MULTILINE):
            return int(found[1])
        time.sleep(0.05)
    raise SystemExit(f"the server ended before it listened: {screen.read_text()}")


def cpu_seconds(process: subprocess.Popen[str]) -> float:
    """Return the processor time used by a process; 0 if the system does not report it."""
    with suppress(OSError):
        fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return 0.0


def recorded_ms(folder: Path) -> dict[Turn, list[float]]:
    """Return each player's thinking times in each match, as the server recorded them."""
    contest = load_contest(folder)
    found: dict[Turn, list[float]] = defaultdict(list)

    def note(match: int, turns: Sequence[Any]) -> None:
        for turn in turns:
            if "move" in turn:
                found[match, turn["player"] == 0].append(turn["ms"])

    with Store(contest.database) as store:
        for sealed in store.lines():
            record = json.loads(sealed)
            if "turns" in record:
                note(record["match"], record["turns"])
        over = {match for match, _ in found}
    for path in segments(contest.running):
        for line in read(path).lines:
            match = int(line.tag.partition(b"-")[0])
            if match not in over:
                note(match, [line.entry])
    return found


# --- the bots -------------------------------------------------------------------------------------------------


@dataclass
class Answered:
    """One answer: the time it was sent, its match and player, and the bot's real thinking time."""

    at: float
    turn: Turn
    ms: float


class Thinker(Bot):
    """A bot that answers THINK_SECONDS after the kernel received its question."""

    def __init__(self, port: int, team: int) -> None:
        super().__init__(port, team)
        self.sock.setsockopt(socket.SOL_SOCKET, STAMPED, 1)
        self.match = 0


def play(port: int, teams: int) -> None:
    """Play until the server closes the connections; then print each answer as JSON."""
    log: list[Answered] = []
    due: list[tuple[int, int, Thinker, dict[str, Any], int]] = []
    bots = [Thinker(port, team) for team in range(1, teams + 1)]
    with selectors.DefaultSelector() as selector:
        for bot in bots:
            selector.register(bot.sock, selectors.EVENT_READ, bot)
        print("here", flush=True)
        while not any(bot.over for bot in bots):
            wait = max(0.0, (due[0][0] - time.time_ns()) / 1e9) if due else None
            for key, _ in selector.select(wait):
                _receive(key.data, due)
            while due and due[0][0] <= time.time_ns():
                _, _, bot, question, asked = heapq.heappop(due)
                bot.sock.sendall(answer(question))
                ms = (time.time_ns() - asked) / 1e6
                log.append(Answered(time.monotonic(), (bot.match, question["is_black"]), ms))
    for one in log:
        print(json.dumps([one.at, *one.turn, one.ms]))


def _receive(bot: Thinker, due: list[tuple[int, int, Thinker, dict[str, Any], int]]) -> None:
    data, stamp = timestamps.receive(bot.sock)
    asked = stamp or time.time_ns()
    bot.over |= not data
    for message in bot.messages(data):
        if message["type"] == "get_step":
            heapq.heappush(due, (asked + round(THINK_SECONDS * 1e9), bot.team, bot, message, asked))
            continue
        if message["type"] == "start":
            bot.match = message["match"]
        if reply := bot.reply_to(message):
            bot.sock.sendall(reply)


def answers_of(bots: subprocess.Popen[str]) -> list[Answered]:
    """Return the answers that the bots print after the server has stopped."""
    lines, _ = bots.communicate(timeout=30)
    return [Answered(at, (match, is_black), ms) for at, match, is_black, ms in map(json.loads, lines.splitlines())]


# --- one kind of flood ----------------------------------------------------------------------------------------


@dataclass
class Window:
    """The turns, clock errors and processor time in an interval."""

    since: float
    until: float
    cpu: float
    turns: int = 0
    logins: list[tuple[bool, float | None]] = field(default_factory=list)
    errors_ms: list[float] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        return self.until - self.since

    def slowest_login(self, *, known: bool) -> float:
        """Return the seconds of the slowest login from a known or from new addresses; infinite if one failed."""
        return max(
            (inf if took is None else took for was, took in self.logins if was is known), default=float("nan")
        )

    def error(self, share: float) -> float:
        """Return the quantile ``share`` of the errors of the clocks."""
        errors = sorted(self.errors_ms)
        return errors[int(share * (len(errors) - 1))] if errors else float("nan")


def measure_window(server: subprocess.Popen[str], seconds: float) -> Window:
    """Wait ``seconds``; return the interval and the server's processor time in it."""
    cpu, since = cpu_seconds(server), time.monotonic()
    time.sleep(seconds)
    return Window(since, time.monotonic(), cpu_seconds(server) - cpu)


def measured(
    folder: Path, kind: str, pairs: int, seconds: float, pinned: Pinned, addresses: int
) -> tuple[Window, Window, float]:
    """Measure one kind: the intervals without and with the flood, and the attackers' attempts a second."""
    with serving(make_contest(folder, pairs), pinned) as (server, port):
        bots = pinned.start(pinned.honest, "benchmarks.floods", "--play", port, 2 * pairs)
        assert bots.stdout is not None
        assert bots.stdout.readline() == "here\n"
        quiet, _ = under_attack(server, "nothing", port, 2 * pairs, seconds, pinned, addresses)
        flooded, attempts = under_attack(server, kind, port, 2 * pairs, seconds, pinned, addresses)
    for one in _with_errors(answers_of(bots), recorded_ms(folder)):
        for window in (quiet, flooded):
            if window.since <= one[0].at < window.until:
                window.turns += 1
                window.errors_ms += one[1]
    return quiet, flooded, attempts


def under_attack(
    server: subprocess.Popen[str], kind: str, port: int, teams: int, seconds: float, pinned: Pinned, addresses: int
) -> tuple[Window, float]:
    """Measure an interval with a flood; return it and the attackers' attempts a second.

    The flood goes on until the last login has its answer, or has given up.
    """
    most = WARM_UP_SECONDS + seconds + PATIENCE_SECONDS + 10
    with (
        pinned.start(pinned.attackers, "benchmarks._flood", kind, port, addresses, most) as flood,
        pinned.start(pinned.honest, "benchmarks._logins", port, teams, WARM_UP_SECONDS + seconds) as logins,
    ):
        time.sleep(WARM_UP_SECONDS)
        window = measure_window(server, seconds)
        told, _ = logins.communicate()
        flood.kill()
        printed, _ = flood.communicate()
    window.logins = [(known, took) for known, took in json.loads(told)]
    counts = [0, *map(int, printed.split())]
    return window, counts[-1] / max(1, len(counts) - 1)


def _with_errors(log: list[Answered], recorded: dict[Turn, list[float]]) -> Iterator[tuple[Answered, list[float]]]:
    """Yield each answer with the error of the server's clock. The last answers may not be on record: no error."""
    seen: dict[Turn, int] = defaultdict(int)
    for one in log:
        times, place = recorded.get(one.turn, []), seen[one.turn]
        seen[one.turn] += 1
        yield one, [abs(times[place] - one.ms)] if place < len(times) else []


def report(kind: str, quiet: Window, flooded: Window, attempts: float) -> str:
    """Return a line of the table."""
    ratio = (flooded.turns / flooded.seconds) / (quiet.turns / quiet.seconds) if quiet.turns else float("nan")
    cells = [f"{kind:<8} {attempts:>10,.0f}"]
    cells += [f"{window.turns / window.seconds:>7.0f}" for window in (quiet, flooded)]
    cells += [f"{ratio:>5.2f}"]
    cells += [f"{100 * window.cpu / window.seconds:>4.0f} %" for window in (quiet, flooded)]
    cells += [f"{flooded.slowest_login(known=known):>5.2f} s" for known in (True, False)]
    cells += [
        f"{statistics.median(window.errors_ms or [float('nan')]):>6.2f}  {window.error(0.99):>6.2f}"
        for window in (quiet, flooded)
    ]
    return "  ".join(cells)


HEADING = """\
                    turns a second           server          slowest login   errors of clocks, ms
flood    attempts/s    without   with  ratio  without, with  known     new   without: median, p99; with: the same"""


def main() -> None:
    """Measure and print."""
    if sys.argv[1:2] == ["--play"]:
        play(*map(int, sys.argv[2:]))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=4, help="matches at once (default: 4)")
    parser.add_argument("--seconds", type=float, default=6.0, help="length of each interval (default: 6)")
    parser.add_argument("--only", choices=[*KINDS], help="one kind of flood")
    parser.add_argument("--addresses", type=int, default=1, help="of the attackers (default: 1)")
    args = parser.parse_args()
    pinned = sides()
    where = "server and bots on one processor, attackers on another" if pinned.honest else "not pinned"
    print(
        f"{args.pairs} pairs of bots that think {1000 * THINK_SECONDS:g} ms; {where}; load {os.getloadavg()[0]:.1f}"
    )
    print(HEADING)
    with tempfile.TemporaryDirectory(prefix="getstep-floods-") as folder:
        for kind in [args.only] if args.only else KINDS:
            found = measured(Path(folder) / kind, kind, args.pairs, args.seconds, pinned, args.addresses)
            print(report(kind, *found), flush=True)


if __name__ == "__main__":
    main()
