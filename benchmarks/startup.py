"""What a command costs before it does anything: its CPU time, as a multiple of ``python -c pass``.

    python -m benchmarks.startup FOLDER

FOLDER is a contest that was played. Each command runs 20 times, in turn with the others, and the
medians are compared: other processes on the machine slow all of them alike. Run it with bytecode caches, as a host
does (``PYTHONDONTWRITEBYTECODE`` unset); without them, compiling the modules takes longer than all else.

Measured on one core of a shared two-core machine with Python 3.11; before, pydantic checked records and files, and
rich wrote every table:

    command      CPU ms  x pass   before
    pass           18.0     1.0      1.0
    --help         65.1     3.6      3.6
    standings     168.1     9.3     24.2
    crosstable    205.6    11.4     21.2
    ratings       444.6    24.7     36.6

What is left of standings is spread over many modules. The largest parts are the tournament with its records, and
the five games, which are all imported.
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
