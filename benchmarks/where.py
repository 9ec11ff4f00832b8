"""Where the processor time of a judged move goes: a sampled profile of the judge, in microseconds a move.

``python -m benchmarks.where`` runs ``getstep-server run`` with 8 and then with 64 matches at once, as
`benchmarks.slices` does. The kernel interrupts it after each tick of processor time, 1 to 10 ms. Python handles the
signal after the call of C that it was in, so a system call counts for the line that makes it. The table groups the
lines by module, and names the most expensive lines of each.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from benchmarks import _contender

INTERVAL_SECONDS = 0.001
"""The kernel rounds it up to its own tick."""

WARM_UP_SECONDS = 4.0

HERE = Path(__file__).parents[1]
LINES = 3
"""The lines that are shown of a module."""


@dataclass
class Profile:
    """Where the samples fell, and the moves meanwhile."""

    moves: int = 0
    samples: Counter[tuple[str, str, int]] = field(default_factory=Counter)

    def sample(self, _: int, frame: FrameType | None) -> None:
        """Count the line that runs."""
        if frame is not None:
            code = frame.f_code
            self.samples[code.co_filename, code.co_qualname, frame.f_lineno] += 1


def run_profiled(arguments: list[str]) -> int:
    """Run a command of the server; between the signals USR1 and USR2 it is profiled, into the file ``profile``."""
    from getstep_server.cli.main import run_command  # here: the other process does not need it

    profile = Profile()

    def stop(*_: object) -> None:
        signal.setitimer(signal.ITIMER_PROF, 0)
        found = [[*place, count] for place, count in profile.samples.items()]
        Path("profile.part").write_text(json.dumps(found))
        Path("profile.part").rename("profile")

    signal.signal(signal.SIGPROF, profile.sample)
    signal.signal(
        signal.SIGUSR1, lambda *_: signal.setitimer(signal.ITIMER_PROF, INTERVAL_SECONDS, INTERVAL_SECONDS)
    )
    signal.signal(signal.SIGUSR2, stop)
    return run_command(arguments)


def measure(program: Path, matches: int, seconds: float) -> tuple[Profile, float]:
    """Return the profile of ``seconds`` of play, and the processor time of the server in it, in seconds."""
    with _contender.judged(program, matches, module=["-m", "benchmarks.where", "--inside"]) as judge:
        time.sleep(WARM_UP_SECONDS)
        judge.judge.send_signal(signal.SIGUSR1)
        moves, spent = judge.moves, judge.cpu_seconds()
        time.sleep(seconds)
        judge.judge.send_signal(signal.SIGUSR2)
        profile, spent = Profile(judge.moves - moves), judge.cpu_seconds() - spent
        found = judge.folder / "profile"
        judge.wait_for("profile", lambda: found.exists() or None)
        for file, name, line, count in json.loads(found.read_text()):
            profile.samples[file, name, line] = count
    return profile, spent


def report(matches: int, profile: Profile, spent: float) -> None:
    """Print the time of a move by module, and the most expensive lines."""
    total = sum(profile.samples.values())
    if not total or not profile.moves:
        raise SystemExit("nothing was played")
    each = spent / profile.moves * 1e6
    print(f"\n{matches} matches at once: {each:.1f} µs of processor time a move, {total:,} samples")
    modules: Counter[str] = Counter()
    for (file, _, _), count in profile.samples.items():
        modules[file] += count
    for file, count in modules.most_common():
        if count < total / 100:
            break
        print(f"{count / total * each:6.1f} µs  {short(file)}")
        lines = Counter({key: number for key, number in profile.samples.items() if key[0] == file})
        for (_, function, line), number in lines.most_common(LINES):
            print(f"{'':12}{number / total * each:5.1f} µs  {function}, line {line}")


def short(file: str) -> str:
    """Return a path from the project's folder on, or from the library's name on."""
    path = Path(file)
    if path.is_relative_to(HERE) and "site-packages" not in path.parts:
        return str(path.relative_to(HERE))
    return str(Path(*path.parts[-2:]))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=20.0, help="of play for each number of matches (20)")
    parser.add_argument(
        "--matches", type=int, nargs="+", default=[8, 64], metavar="N", help="matches at once (default: 8 64)"
    )
    args = parser.parse_args()
    _contender.begin()
    print(f"Python {sys.version.split()[0]}, {os.cpu_count()} cores")
    with _contender.players_program() as program:
        for matches in args.matches:
            report(matches, *measure(program, matches, args.seconds))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--inside"]:
        sys.exit(run_profiled(sys.argv[2:]))
    main()
