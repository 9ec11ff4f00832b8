"""The cost of a command before it does anything: its CPU time, as a multiple of ``python -c pass``.

    python -m benchmarks.startup FOLDER

FOLDER is a contest that was played. Each command runs 20 times, in turn with the others, and the
medians are compared: other processes on the machine slow all of them alike. Run it with bytecode caches, as a host
does (``PYTHONDONTWRITEBYTECODE`` unset); without them, compiling the modules takes longer than all else.

Measure an installation from wheels, as a host has it: the finders of an editable one take longer.

Measured on one core of a shared two-core machine with Python 3.11. Before, the classes of the tables were
dataclasses (0.4 ms to define each; a msgspec struct takes 10 µs), and standings imported orjson, hashlib, shutil
and inspect:

    command      CPU ms  x pass   before
    pass           10.5     1.0      1.0
    --help         34.4     3.3      3.4
    standings      61.1     5.8      9.4
    crosstable     70.4     6.7      9.1
    ratings       186.7    17.8     16.4
    incidents      78.6     7.5      9.6

In the preview, with pydantic and rich, standings took 24.2 times ``pass``.

Of the 50 ms that standings takes beside an empty run, argparse takes 7, msgspec 7 (it imports uuid, platform and
decimal), pathlib, tomllib and typing 3 each, sqlite3, threading and datetime 1 each, and 60 modules of ours 12. In
the rest, files and records are read.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path
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
    script = str(Path(sys.executable).with_name("getstep-server"))
    runs = {"pass": ["-c", "pass"]}
    for command in COMMANDS:
        runs[command] = [script, command, *([] if command == "--help" else [folder])]
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
