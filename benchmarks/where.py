"""Where the processor time of a judged move goes: a sampled profile of the judge, in microseconds a move.

``python -m benchmarks.where`` runs the complete server with 8 and then with 64 matches at once, as
`benchmarks.slices` does. The kernel interrupts it after each tick of processor time, 1 to 10 ms. Python handles the
signal after the call of C that it was in, so a system call counts for the line that makes it. The table groups the
lines by module, and names the most expensive lines of each.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from collections import Counter
from pathlib import Path
from types import FrameType

import trio

from benchmarks import judge
from getstep_server.events import Bus, MovePlayed

INTERVAL_SECONDS = 0.001
"""The kernel rounds it up to its own tick."""

WARM_UP_SECONDS = 4.0
REPEATS = 400
"""Games of each pair: minutes of play."""

HERE = Path(__file__).parents[1]
LINES = 3
"""The lines that are shown of a module."""


class Profile:
    """Counts where samples fall, and the moves meanwhile."""

    def __init__(self) -> None:
        self.moves = 0
        self.samples: Counter[tuple[str, str, int]] = Counter()

    def count(self, event: object) -> None:
        """Count a move."""
        self.moves += type(event) is MovePlayed

    def sample(self, _: int, frame: FrameType | None) -> None:
        """Count the line that runs."""
        if frame is not None:
            code = frame.f_code
            self.samples[code.co_filename, code.co_qualname, frame.f_lineno] += 1


async def measure(matches: int, seconds: float) -> tuple[Profile, float]:
    """Return the profile of ``seconds`` of play, and the processor time of this process in it, in seconds."""
    profile = Profile()

    class CountingBus(Bus):
        """Counts the moves of the contest."""

        def __init__(self) -> None:
            super().__init__()
            self.subscribe(profile.count)

    judge.Bus = CountingBus  # type: ignore[attr-defined]  # the class that the benchmark imports
    async with trio.open_nursery() as nursery:
        nursery.start_soon(play, matches)
        await trio.sleep(WARM_UP_SECONDS)
        signal.signal(signal.SIGPROF, profile.sample)
        signal.setitimer(signal.ITIMER_PROF, INTERVAL_SECONDS, INTERVAL_SECONDS)
        profile.moves, began = 0, time.thread_time()
        await trio.sleep(seconds)
        signal.setitimer(signal.ITIMER_PROF, 0)
        spent = time.thread_time() - began
        nursery.cancel_scope.cancel()
    return profile, spent


async def play(matches: int) -> None:
    """Play until cancelled."""
    await judge.judged(matches, REPEATS, with_thinker=False)


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
    judge._raise_limits(1000)
    print(f"Python {sys.version.split()[0]}, {os.cpu_count()} cores")
    for matches in args.matches:
        report(matches, *trio.run(measure, matches, args.seconds))


if __name__ == "__main__":
    main()
