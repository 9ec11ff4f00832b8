"""The cost of a judged move as a ratio that can be quoted: two programs in alternating slices of half a second.

A shared machine is faster in one minute than in the next, so two runs in sequence compare the minutes. Here both
programs are started once, and all processes of one are stopped (SIGSTOP) while the other runs. Each pair of
neighbouring slices gives one ratio of CPU time per move. The median of the pairs is the result, and the quartiles
show how far to trust it.

``python -m benchmarks.slices`` compares a judged move with the floor, with 8 and with 64 matches at once: trio
exchanges the same messages, encoded and decoded by msgpack, without rules, clocks, checks or records.
``--floor limit`` gives each of its exchanges a time limit. ``--floor unrecorded`` is the judge without a journal:
the ratio is the cost of the records. ``--against CHECKOUT`` compares the judge with that of another checkout, which
has its own .venv.
"""

from __future__ import annotations

import argparse
import mmap
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parents[1]
PROGRAM = Path(__file__).with_name("_slice_program.py")
SLICE_SECONDS = 0.5
SETTLE_SECONDS = 0.1
"""After a program goes on: its bots' answers of the slice before are read in one large batch."""

WARM_UP_SECONDS = 6.0
COUNTER_BYTES = 8

FLOORS = {
    "ping-pong": "ping-pong without a limit",
    "limit": "ping-pong with a limit",
    "unrecorded": "judge without records",
}


@dataclass
class Sample:
    """One slice: moves, seconds of the server's CPU time, and seconds of wall-clock time."""

    moves: int
    cpu: float
    wall: float

    @property
    def cpu_us(self) -> float:
        return self.cpu / self.moves * 1e6


class Contender:
    """A server and its bots as a process group that can be stopped."""

    def __init__(self, process: subprocess.Popen[bytes], counter: mmap.mmap) -> None:
        self._process = process
        self._counter = counter

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the server and its bots."""
        os.killpg(self._process.pid, number)

    def sample(self, seconds: float) -> Sample:
        """Let the program run for a slice, and measure all but its beginning."""
        self.signal(signal.SIGCONT)
        time.sleep(SETTLE_SECONDS)
        began = self._now()
        time.sleep(seconds - SETTLE_SECONDS)
        ended = self._now()
        self.signal(signal.SIGSTOP)
        if self._process.poll() is not None:
            raise SystemExit(f"the program {self._process.args!r} has ended with {self._process.returncode}")
        moves, cpu, wall = (after - before for before, after in zip(began, ended, strict=True))
        return Sample(round(moves), cpu, wall)

    def _now(self) -> tuple[int, float, float]:
        cpu_ns = int(Path(f"/proc/{self._process.pid}/schedstat").read_text().split()[0])
        return int.from_bytes(self._counter[:COUNTER_BYTES], "little"), cpu_ns / 1e9, time.perf_counter()


@contextmanager
def contender(checkout: Path, kind: str, matches: int) -> Iterator[Contender]:
    """Start a program of a checkout, and end it with its bots."""
    with tempfile.NamedTemporaryFile(prefix="getstep-moves-") as file:
        file.write(bytes(COUNTER_BYTES))
        file.flush()
        python = checkout / ".venv" / "bin" / "python"
        command = [str(python if python.exists() else sys.executable), str(PROGRAM), kind, file.name, str(matches)]
        process = subprocess.Popen(
            command, cwd=checkout, env={**os.environ, "PYTHONPATH": str(checkout)}, start_new_session=True
        )
        try:
            yield Contender(process, mmap.mmap(file.fileno(), COUNTER_BYTES))
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def steal_seconds() -> float:
    """Return the seconds in which this machine's host gave its processors to others."""
    return int(Path("/proc/stat").read_text().split()[8]) / os.sysconf("SC_CLK_TCK")


def compare(first: Contender, second: Contender, pairs: int) -> list[tuple[Sample, Sample]]:
    """Return the samples of both programs, a pair of neighbouring slices each; the order changes with each pair."""
    samples = []
    for number in range(pairs):
        order = (first, second) if number % 2 else (second, first)
        taken = [one.sample(SLICE_SECONDS) for one in order]
        samples.append((taken[0], taken[1]) if number % 2 else (taken[1], taken[0]))
    return samples


def with_moves(samples: Sequence[tuple[Sample, Sample]]) -> list[tuple[Sample, Sample]]:
    """Return the pairs with moves in both slices. When the machine stands still for a slice, it has none.

    Raises:
        SystemExit: fewer than two pairs are left, which have no quartiles.
    """
    found = [pair for pair in samples if all(sample.moves for sample in pair)]
    if len(found) < 2:
        raise SystemExit(f"{len(samples) - len(found)} of {len(samples)} pairs have a slice without a move")
    return found


def report(names: Sequence[str], samples: Sequence[tuple[Sample, Sample]], steal: float) -> None:
    """Print the medians, the ratio of each pair's CPU times, and its quartiles."""
    samples = with_moves(samples)
    for name, column in zip(names, zip(*samples, strict=True), strict=True):
        cpu = statistics.median(sample.cpu_us for sample in column)
        rate = statistics.median(sample.moves / sample.wall for sample in column)
        print(f"{name:<28}{cpu:7.1f} µs CPU a move, {rate:9,.0f} moves/s")
    low, middle, high = statistics.quantiles((a.cpu_us / b.cpu_us for a, b in samples), n=4)
    print(f"ratio {middle:.3f} (quartiles {low:.3f} to {high:.3f}, {len(samples)} pairs of {SLICE_SECONDS:g} s)")
    share = 100 * steal / (2 * len(samples) * SLICE_SECONDS * (os.cpu_count() or 1))
    print(f"{os.cpu_count()} cores, steal time {steal:.2f} s ({share:.1f} %)")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", type=Path, metavar="CHECKOUT", help="compare with the judge of this checkout")
    parser.add_argument("--floor", choices=FLOORS, default="ping-pong", help="compare with this program")
    parser.add_argument("--pairs", type=int, default=40, help="pairs of slices (default: 40)")
    parser.add_argument(
        "--matches", type=int, nargs="+", default=[8, 64], metavar="N", help="matches at once (default: 8 64)"
    )
    args = parser.parse_args()
    for matches in args.matches:
        print(f"{matches} matches at once")
        if args.against:
            measure(args.against.resolve(), "judge", f"judge of {args.against.name}", matches, args.pairs)
        else:
            measure(HERE, args.floor, FLOORS[args.floor], matches, args.pairs)


def measure(checkout: Path, kind: str, name: str, matches: int, pairs: int) -> None:
    """Compare this checkout's judge with another program, and print the result."""
    with ExitStack() as stack:
        first = stack.enter_context(contender(HERE, "judge", matches))
        second = stack.enter_context(contender(checkout, kind, matches))
        time.sleep(WARM_UP_SECONDS)
        for one in (first, second):
            one.signal(signal.SIGSTOP)
        before = steal_seconds()
        samples = compare(first, second, pairs)
        after = steal_seconds()
    report(("judge", name), samples, after - before)


if __name__ == "__main__":
    main()
