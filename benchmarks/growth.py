"""A duel of thousands of games between fast bots in C++, and the check of all its records.

``python -m benchmarks.growth`` plays 10,000 games of hop in one contest of the format `match`, 16 at once. Each
player is a process in C++ that answers at once. Reported are the moves a second of the whole duel, from its
first move to the end of the server, and of its first and last tenth: growing records must not slow it down. The
floor is the judge at its best, with as many games at once that nobody ends, measured before. Then ``getstep-
server verify`` replays all turns; the turns a second of the whole command are reported.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks import _contender
from benchmarks._bots import token_of
from getstep_server.config.contest import load_contest, make_contest
from getstep_server.storage.contest_state import tournament_of

SAMPLE_SECONDS = 0.5
AT_ONCE = 16
"""The games at the same time: as many seats as a team may have."""

FLOOR_SECONDS = 10.0


def duel(folder: Path, program: Path, games: int) -> tuple[float, float, float]:
    """Play the duel; return the moves a second of all of it, of its first tenth and of its last."""
    event = {"game": "hop", "format": "match", "settings": {"pairs": games // 2, "at_once": AT_ONCE // 2}}
    make_contest(
        folder, {"contest": {"name": "growth"}, "event": [event], "server": {"host": "127.0.0.1", "port": 0}}
    )
    (folder / "teams.toml").write_text(
        "".join(
            f'[[team]]\nid = {team}\nname = "bot {team}"\ntoken = "{token_of(team)}"\nseats = {AT_ONCE}\n'
            for team in (1, 2)
        ),
        encoding="utf-8",
    )
    command = [sys.executable, "-m", "getstep_server", "run", str(folder), "--no-web", "--no-announce", "--plain"]
    with _contender.started("duel", command, folder) as judge:
        port = judge.wait_for("start", lambda: _contender.port_in(judge.output))
        socks = [_contender.log_in(judge, port, 1 + number % 2, number) for number in range(2 * AT_ONCE)]
        with _contender.playing(judge, program, socks):
            samples = [(time.monotonic(), judge.moves)]
            while judge.judge.poll() is None:
                time.sleep(SAMPLE_SECONDS)
                samples.append((time.monotonic(), judge.moves))
        if judge.judge.returncode != 0:
            raise SystemExit(f"the server ended with code {judge.judge.returncode}:\n{judge.output[-2000:]}")
    tenth = max(1, len(samples) // 10)
    return rate(samples), rate(samples[: tenth + 1]), rate(samples[-tenth - 2 : -1])


def rate(samples: Sequence[tuple[float, int]]) -> float:
    """Return the moves a second between the first and the last sample: each is a time and the moves until then."""
    (began, before), (ended, after) = samples[0], samples[-1]
    return (after - before) / (ended - began)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", type=int, default=10_000, metavar="N", help="an even number (default: 10000)")
    args = parser.parse_args()
    _contender.begin()
    with _contender.players_program() as program, tempfile.TemporaryDirectory(prefix="getstep-growth-") as above:
        with _contender.judged(program, AT_ONCE) as judge:
            best = judge.sample(FLOOR_SECONDS)
        floor = best.moves / best.wall
        print(f"the judge at its best, {AT_ONCE} games that do not end: {floor:,.0f} moves/s", flush=True)
        folder = Path(above) / "contest"
        whole, first, last = duel(folder, program, args.games)
        turns = sum(result.turns for result in tournament_of(load_contest(folder)).results)
        print(
            f"{args.games:,} games, {turns:,} turns: {whole:,.0f} moves/s, {100 * whole / floor:.0f} % of the best"
        )
        print(f"the first tenth: {first:,.0f} moves/s; the last: {last:,.0f} moves/s", flush=True)
        began = time.monotonic()
        subprocess.run([sys.executable, "-m", "getstep_server", "verify", str(folder)], check=True)
        took = time.monotonic() - began
        print(f"verified in {took:.1f} s: {turns / took:,.0f} turns a second")


if __name__ == "__main__":
    main()
