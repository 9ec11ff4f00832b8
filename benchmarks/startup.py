"""The cost of a command before it does anything: its CPU time, as a multiple of ``python -c pass``.

    python -m benchmarks.startup FOLDER

FOLDER is a contest that was played. Each command runs 20 times, in turn with the others, and the
medians are compared: other processes on the machine slow all of them alike. Run it with bytecode caches, as a host
does (``PYTHONDONTWRITEBYTECODE`` unset); without them, compiling the modules takes longer than all else.

Measured on one core of a shared two-core machine with Python 3.11; before, the garbage collector searched all that
imports made, every game was imported, and every command had a parser:

    command      CPU ms  x pass   before
    pass           10.8     1.0      1.0
    --help         36.4     3.4      3.5
    standings      95.3     8.8     11.6
    crosstable     98.3     9.1     11.5
    ratings       177.4    16.4     20.2
    incidents     104.5     9.6     12.5

What is left of standings is spread over many modules. msgspec, orjson, sqlite3, hashlib, tomllib and the modules of
the standard library that they and argparse import take half of it, and making 37 dataclasses a sixth.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from statistics import median

RUNS = 20
COMMANDS = ("--help", "standings", "crosstable", "ratings", "incidents")


def cpu_seconds(*arguments: str) -> float:
    """Return the CPU time of one run of Python."""
    process = subprocess.Popen([sys.executable, *arguments], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{arguments}: exit code {process.returncode}")
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", help="a contest that was played")
    folder = parser.parse_args().folder
    runs = {"pass": ["-c", "pass"]}
    for command in COMMANDS:
        runs[command] = ["-m", "getstep_server", command, *([] if command == "--help" else [folder])]
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(RUNS + 1):  # the first run writes the bytecode
        for name, arguments in runs.items():
            seconds[name].append(cpu_seconds(*arguments))
    least = median(seconds["pass"][1:])
    print(f"{'command':<12}{'CPU ms':>7}{'x pass':>8}")
    for name, found in seconds.items():
        print(f"{name:<12}{1000 * median(found[1:]):7.1f}{median(found[1:]) / least:8.1f}")


if __name__ == "__main__":
    main()
