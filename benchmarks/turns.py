"""The speed and the memory of `export --parquet` and `--npz`.

    python -m benchmarks.turns [--matches 2000] [--form npz]

For each game it makes up a contest with so many matches of random moves. A process of its own exports their turns.
The table has turns a minute by the processor time of that process, with all threads of pyarrow; its largest
resident memory; and the bytes of the files for each turn. In hop, each hop is a row. More matches do not take
more memory, once several blocks are full.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from getstep_engines import GAMES
from getstep_server.config.contest import Contest
from tests.support.random_results import make_up

MATCHES = 2000
LONGEST = 1000
"""More turns than any game has: each is played to its end."""

_EXPORT = """
import resource, sys
from pathlib import Path
from time import process_time
from getstep_server.reports.training_data import write_turns
from getstep_server.storage.store import Store

began = process_time()
with Store(Path(sys.argv[1])) as store:
    rows = write_turns(store, Path(sys.argv[2]), sys.argv[3]).rows
print(rows, process_time() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def a_contest(folder: Path, game: str, matches: int) -> Contest:
    """Return a contest with this number of matches of one game."""
    names = [f"team {number}" for number in range(1, 12)]
    rounds = -(-matches // (11 * 10))
    event = {"game": game, "format": "round_robin", "settings": {"legs": 2 * rounds}}
    return make_up(folder, [event], names, most=matches, moves=LONGEST)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.turns", description=__doc__)
    parser.add_argument("--matches", type=int, default=MATCHES, help="matches of each game")
    parser.add_argument("--form", choices=("parquet", "npz"), default="parquet", help="the form of the files")
    parser.add_argument("--game", choices=list(GAMES), help="measure only this game")
    arguments = parser.parse_args()
    print(f"{'game':<16} {'turns':>9} {'turns a minute':>15} {'MB':>6} {'bytes a turn':>13}")
    for game in [arguments.game] if arguments.game else GAMES:
        with tempfile.TemporaryDirectory() as temporary:
            made, out = a_contest(Path(temporary) / "contest", game, arguments.matches), Path(temporary) / "out"
            command = [sys.executable, "-c", _EXPORT, str(made.database), str(out), arguments.form]
            printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
            rows, seconds, kilobytes = int(printed[0]), float(printed[1]), int(printed[2])
            size = sum(path.stat().st_size for path in out.iterdir())
        each = f"{60 * rows / seconds:>15,.0f} {kilobytes / 1024:>6.0f} {size / rows:>13.1f}"
        print(f"{game:<16} {rows:>9,} {each}", flush=True)


if __name__ == "__main__":
    main()
