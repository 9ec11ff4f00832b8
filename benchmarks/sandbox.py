"""The cost of the sandbox: for the start of a program, for a turn over its pipes, and for suspending it.

``python -m benchmarks.sandbox`` prints a line for each measurement: the median without the sandbox, which is the
floor, the median in it, and the difference. The targets are 60 ms more for a start and 1 ms more for a turn.

A start is measured from the call to the end of a program that ends at once; Java is `java -version`. A turn is a
line to a Python program that answers it. With "suspended", the program is stopped before each turn and continued
for it, as programs are while the opponent is on turn.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from getstep_server.sandbox import PLAYING, Protections, SandboxedProcess, start

ECHO = "import sys\nfor line in sys.stdin: print(line, end='', flush=True)"
STARTS = {"true": ["true"], "Python": [sys.executable, "-c", "pass"], "Java": ["java", "-version"]}


def start_seconds(argv: list[str], folder: Path, protections: Protections) -> list[float]:
    """Return the time from the start to the end of a program."""
    begin = time.perf_counter()
    with start(argv, folder, PLAYING, None, protections) as program:
        program.wait()
        return [time.perf_counter() - begin]


def turns(folder: Path, count: int, suspended: bool, protections: Protections) -> list[float]:
    """Return the time of each turn with a program that answers at once."""
    with start([sys.executable, "-c", ECHO], folder, PLAYING, None, protections) as program:
        _turn(program)
        return [_timed(program, suspended=suspended) for _ in range(count)]


def _timed(program: SandboxedProcess, *, suspended: bool) -> float:
    if suspended:
        program.suspend()
    time.sleep(0.002)  # it has to wait for its input again, or to have stopped
    begin = time.perf_counter()
    if suspended:
        program.resume()
    _turn(program)
    return time.perf_counter() - begin


def _turn(program: SandboxedProcess) -> None:
    program.stdin.write(b"3 4\n")
    if program.stdout.readline() != b"3 4\n":
        raise RuntimeError(program.describe_end())


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--starts", type=int, default=20, help="the number of starts of each program")
    parser.add_argument("--turns", type=int, default=500, help="the number of turns")
    args = parser.parse_args()
    print(f"{'':24}{'bare ms':>10}{'sandbox ms':>12}{'more ms':>10}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for what, argv in STARTS.items():
            if shutil.which(argv[0]):
                _print(f"start of {what}", partial(start_seconds, argv, folder), args.starts)
        for suspended in (False, True):
            what = "turn, suspended" if suspended else "turn"
            _print(what, partial(turns, folder, args.turns, suspended), 1)


def _print(what: str, measure: Callable[[Protections], list[float]], times: int) -> None:
    found: dict[Protections, list[float]] = {Protections.NONE: [], Protections.ALL: []}
    for _ in range(times):  # in turn, so that other programs on the machine disturb both alike
        for kind, seconds in found.items():
            seconds += measure(kind)
    bare, inside = (1000 * statistics.median(seconds) for seconds in found.values())
    print(f"{what:24}{bare:10.3f}{inside:12.3f}{inside - bare:10.3f}")


if __name__ == "__main__":
    main()
