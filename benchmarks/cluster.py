"""The overhead of a worker of a cluster: the same short games played by the host itself, and by a worker.

``python -m benchmarks.cluster`` plays batches of a duel between two quick programs, in turn on the host (one match
at a time, on one core) and on a Dask worker of this machine with one slot. It prints for each pair of batches the
time from one result to the next and the processor time of all processes for a game, and the median of the
differences. The target is 10 ms more for a game.

Both ways start the same processes for each game, which takes most of its time. The first games of a batch do not
count: the worker still unpacks the programs. Run it on a machine that does nothing else: ``--rounds 5`` takes about
two minutes. On a busy one the processor time says more. ``--compiled`` plays with an example program in C++, which
starts in less time than Python: for thousands of games.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from hashlib import sha256
from pathlib import Path

import trio

from getstep_server.bot_runner.processes import Bot
from getstep_server.cli.clusters import cluster_maker
from getstep_server.cli.duel import add_programs, duel_contest
from getstep_server.config.contest import Contest
from getstep_server.events import Bus, Event, MatchEnded
from getstep_server.programs.store import ProgramStore
from getstep_server.programs.version import GETSTEP, Description
from getstep_server.runtime.run import run_contest
from getstep_server.runtime.start import StartCondition

WARM_UP = 4
COMPILED = Path(__file__).parents[1] / "bots" / "programs" / "topcoder" / "PseudoTonga.cpp"
PROGRAM = """\
def get_step(board, is_black):
    return next((r, c) for r, row in enumerate(board) for c, cell in enumerate(row) if not cell)
"""


def make_contest(
    folder: Path, games: int, sandbox: str, program: str | Path = PROGRAM, at_once: int = 2
) -> Contest:
    """Make a duel of a program with itself. Here one match is played at a time, on workers ``at_once``.

    Args:
        folder: the new folder of the contest.
        games: an even number.
        sandbox: ``"required"`` or ``"none"``.
        program: Python, which is stored as it is, or the file of a TopCoder class, which is compiled.
        at_once: the pairs that are played at the same time.
    """
    event = {"game": "pseudo_tonga", "options": {"size": 6}, "settings": {"pairs": (games + 1) // 2}}
    if isinstance(program, Path):
        bots = [Bot(program, convention="topcoder")] * 2
    else:
        bots = [Bot(folder / "one.py"), Bot(folder / "other.py")]
    contest, teams = duel_contest(folder, bots, event, {"sandbox": sandbox, "cores": 1}, at_once=at_once, seed=1)
    if isinstance(program, Path):
        add_programs(contest, teams, lambda _: None)
        return contest
    store = ProgramStore(contest.folder)
    for team in teams:
        with store.adding(team) as new:
            for name in ("source", "files"):
                (new / name).mkdir()
                (new / name / "program.py").write_text(program, encoding="utf-8")
            description = Description(
                team=team,
                number=1,
                sha256=sha256(program.encode()).hexdigest(),
                convention=GETSTEP,
                command=("python", "program.py"),
                language="Python",
                added="2026-11-23T03:30:00.000Z",
                added_by="benchmark",
            )
            store.store(team, new, description)
    return contest


def cpu_seconds() -> float:
    """Return the processor time of this process, of all that descend from it, and of those that have ended."""
    stats: dict[int, tuple[int, int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        stats[int(path.parent.name)] = int(fields[1]), sum(map(int, fields[11:15]))
    total, family = 0, {os.getpid()}
    for pid in sorted(stats):  # a parent is older, and numbers begin again only after 4 million
        if pid in family or stats[pid][0] in family:
            family.add(pid)
            total += stats[pid][1]
    return total / os.sysconf("SC_CLK_TCK")


def measure(games: int, sandbox: str, program: str | Path, where: str | None) -> tuple[float, float]:
    """Play a batch, and return the time from one result to the next and the processor time for a game, in ms."""
    ends: list[tuple[float, float]] = []
    count = 0

    def note(_: Event) -> None:
        nonlocal count
        count += 1
        if count in (WARM_UP, WARM_UP + games):
            ends.append((time.perf_counter(), cpu_seconds()))

    with tempfile.TemporaryDirectory() as folder:
        contest = make_contest(Path(folder) / "duel", games + WARM_UP, sandbox, program)
        bus = Bus()
        bus.subscribe(note, [MatchEnded])
        trio.run(run_contest, contest, bus, StartCondition(now=True), cluster_maker(where))
    first, last = ends
    return 1000 * (last[0] - first[0]) / games, 1000 * (last[1] - first[1]) / games


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="pairs of batches (default: 5)")
    parser.add_argument("--games", type=int, default=20, help="games of a batch, an even number (default: 20)")
    parser.add_argument("--no-sandbox", action="store_true", help="play without the sandbox")
    parser.add_argument("--compiled", action="store_true", help="play with a program in C++")
    args = parser.parse_args()
    program = COMPILED if args.compiled else PROGRAM
    sandbox = "none" if args.no_sandbox else "required"
    differences: list[tuple[float, float]] = []
    print(f"ms for a game, mean of {args.games}: time and processor time")
    print(f"{'host':>18} {'worker':>18} {'difference':>18}")
    for _ in range(args.rounds):
        host, worker = (measure(args.games, sandbox, program, where) for where in (None, "local:1"))
        differences.append((worker[0] - host[0], worker[1] - host[1]))
        print(*(f"{wall:+10.1f} {cpu:+7.1f}" for wall, cpu in (host, worker, differences[-1])), flush=True)
    wall, cpu = (statistics.median(column) for column in zip(*differences, strict=True))
    print(f"median of the differences: {wall:+.1f} ms, {cpu:+.1f} ms of processor time")


if __name__ == "__main__":
    main()
