"""Judged moves: the cost of one as a ratio that can be quoted, and how many a second, in slices of half a second.

A shared machine is faster in one minute than in the next, so runs in sequence compare the minutes. Here all
programs are started once, and all processes of the others are stopped (SIGSTOP) while one runs. Each round of
neighbouring slices gives one ratio of CPU time per move. The median of the rounds is the result, and the quartiles
show how far to trust it.

``python -m benchmarks.slices`` compares the server, as ``getstep-server run`` starts it, with the floor: a bare
epoll loop that exchanges the same frames on the same number of connections. If fastchess is installed, its games of
chess are measured in the same rounds. ``--judges 1 2`` measures several numbers of judge processes, and as many
loops. ``--against CHECKOUT`` compares the server with that of another checkout, which has its own .venv.
"""

from __future__ import annotations

import argparse
import os
import signal
import statistics
import sys
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path

from benchmarks import _contender
from benchmarks._contender import Contender, Sample

SLICE_SECONDS = 0.5
WARM_UP_SECONDS = 3.0


def steal_seconds() -> float:
    """Return the seconds in which this machine's host gave its processors to others."""
    return int(Path("/proc/stat").read_text().split()[8]) / os.sysconf("SC_CLK_TCK")


def compare(contenders: Sequence[Contender], rounds: int) -> list[list[Sample]]:
    """Return the samples of each round, one of each contender; the order changes with each round."""
    samples = []
    for number in range(rounds):
        order = contenders if number % 2 else contenders[::-1]
        taken = {one.name: one.sample(SLICE_SECONDS) for one in order}
        samples.append([taken[one.name] for one in contenders])
    return samples


def with_moves(names: Sequence[str], rounds: Sequence[Sequence[Sample]]) -> list[Sequence[Sample]]:
    """Return the rounds with moves in all slices. When the machine stands still for a slice, it has none.

    Raises:
        SystemExit: fewer than two rounds are left, which have no quartiles.
    """
    found = [taken for taken in rounds if all(sample.moves for sample in taken)]
    if len(found) < 2:
        still = [
            name for name, column in zip(names, zip(*rounds, strict=True), strict=True) if not column[-1].moves
        ]
        who = f"; no moves at the end: {', '.join(still)}" if still else ""
        raise SystemExit(f"{len(rounds) - len(found)} of {len(rounds)} rounds have a slice without a move{who}")
    return found


def report(names: Sequence[str], samples: Sequence[Sequence[Sample]], steal: float) -> None:
    """Print the medians, the ratio of the first one's CPU time to that of each other one, and its quartiles."""
    rounds = with_moves(names, samples)
    for place, name in enumerate(names):
        column = [taken[place] for taken in rounds]
        cpu = statistics.median(sample.cpu_us for sample in column)
        rates = [sample.moves / sample.wall for sample in column]
        line = (
            f"{name:<24}{cpu:7.1f} µs CPU a move, {statistics.median(rates):9,.0f} moves/s (best {max(rates):,.0f})"
        )
        if place:
            ratios = [taken[0].cpu_us / taken[place].cpu_us for taken in rounds]
            low, middle, high = statistics.quantiles(ratios, n=4)
            line += f"; ratio {middle:.3f} (quartiles {low:.3f} to {high:.3f})"
        print(line, flush=True)
    share = 100 * steal / (len(samples) * len(names) * SLICE_SECONDS * (os.cpu_count() or 1))
    steals = f"steal time {steal:.2f} s ({share:.1f} %)"
    print(f"{len(rounds)} rounds of {SLICE_SECONDS:g} s; {os.cpu_count()} cores, {steals}")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", type=Path, metavar="CHECKOUT", help="compare with its server")
    parser.add_argument("--judges", type=int, nargs="+", default=[1], metavar="N", help="processes (default: 1)")
    parser.add_argument("--rounds", type=int, default=40, help="of slices (default: 40)")
    sizes = [8, 64, 256, 1000]
    parser.add_argument(
        "--matches", type=int, nargs="+", default=sizes, metavar="N", help="at once (default: 8 64 256 1000)"
    )
    args = parser.parse_args()
    _contender.begin()
    print(f"hop, Python {sys.version.split()[0]}")
    for matches in args.matches:
        print(f"{matches} matches at once", flush=True)
        measure(matches, args.judges, args.rounds, args.against and args.against.resolve())


def measure(matches: int, judges: Sequence[int], rounds: int, against: Path | None) -> None:
    """Compare this checkout's server with other programs, and print the result."""
    with ExitStack() as stack, _contender.players_program() as program:

        def server(
            number: int, checkout: Path = _contender.HERE, of: str = ""
        ) -> AbstractContextManager[Contender]:
            name = "judge" if number == 1 else f"{number} judges"
            return _contender.judged(program, matches, name=name + of, checkout=checkout, judges=number)

        starts: list[AbstractContextManager[Contender | None]] = [server(number) for number in judges]
        if against:
            starts += [server(number, against, f" of {against.name}") for number in judges]
        else:
            starts += [_contender.floor(program, matches, processes=number) for number in judges]
            starts.append(_contender.fastchess(program, matches))
        contenders: list[Contender] = []
        for start in starts:
            one = stack.enter_context(start)
            if one is not None:
                contenders.append(one)
                time.sleep(WARM_UP_SECONDS)
                one.signal(signal.SIGSTOP)
        before = steal_seconds()
        samples = compare(contenders, rounds)
        report([one.name for one in contenders], samples, steal_seconds() - before)
        if not against and len(contenders) == len(starts) - 1:
            print("fastchess is not installed, so it was not measured")


if __name__ == "__main__":
    main()
