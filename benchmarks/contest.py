"""A complete contest of a class: all games, one format for each, with the server and the bots as real processes.

``python -m benchmarks.contest`` plays 24 teams: hop as a double round robin, longest_path as a knockout,
chain_reaction as a Swiss tournament, pseudo_tonga as a gauntlet, and linkage as a ladder over three rounds. Each
round of the ladder is a run of the server. A team joins before the second round, and another withdraws before the
third. Then the benchmark verifies all records, prints the tables and figures, and writes the HTML report.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomlkit
import trio

from getstep_engines import GAMES
from getstep_server.bot_runner.processes import Bots, run_bots
from getstep_server.cli.crash_demo import serving
from getstep_server.cli.run import lineup
from getstep_server.config.class_list import NewTeam
from getstep_server.config.contest import Contest, contest_path, load_contest, make_contest
from getstep_server.config.roster import add_teams
from getstep_server.storage.contest_state import tournament_of

EVENTS: dict[str, dict[str, Any]] = {
    "hop": {"format": "round_robin", "settings": {"legs": 2}},
    "longest_path": {"format": "knockout", "settings": {"best_of": 3}},
    "chain_reaction": {"format": "swiss", "settings": {"legs": 2}},
    "pseudo_tonga": {"format": "gauntlet", "settings": {"challengers": [1, 2], "legs": 2}},
    "linkage": {"format": "ladder", "settings": {"games": 10}},
}
LADDER = list(EVENTS).index("linkage")
ROUNDS = 3
PROGRESS_EVERY = 100
"""The number of matches between two lines of progress."""


@dataclass(frozen=True)
class Run:
    """The matches, turns and seconds of one run of the server."""

    matches: int
    turns: int
    seconds: float

    def line(self, what: str) -> str:
        rate = f"{self.matches / self.seconds:.1f} matches and {self.turns / self.seconds:.0f} turns a second"
        return f"{what}: {self.matches} matches, {self.turns} turns, {self.seconds:.0f} s: {rate}"


def make(folder: Path, teams: int) -> Bots:
    """Create the contest's folder; return the bots by team, including the team that joins late."""
    swiss_rounds = max(2, (teams - 1).bit_length())
    events = [{"game": game, **table} for game, table in EVENTS.items()]
    events = [
        {**event, "settings": {**event["settings"], "rounds": swiss_rounds if event["format"] == "swiss" else 1}}
        if event["format"] in ("swiss", "ladder")
        else event
        for event in events
    ]
    tables = {
        "contest": {"name": f"{teams} teams, {len(GAMES)} games", "seed": 2019},
        "event": events,
        "server": {"host": "127.0.0.1", "port": 0},
    }
    make_contest(folder, tables)
    players = lineup(teams)
    added = add_teams(folder, [NewTeam(name, "the benchmark") for name, _ in players])
    bots = {team.id: bot for team, (_, bot) in zip(added, players, strict=True)}
    return {**bots, max(bots) + 1: bots[2]}


def next_round(folder: Path, round_: int, teams: int) -> None:
    """Do the host's steps before a further round of the ladder: set the rounds, add or withdraw a team."""
    path = contest_path(folder)
    document: Any = tomlkit.parse(path.read_text(encoding="utf-8"))
    document["event"][LADDER]["settings"]["rounds"] = round_
    path.write_text(tomlkit.dumps(document), encoding="utf-8")
    if round_ == 2:
        add_teams(folder, [NewTeam("Latecomer", "the benchmark", teams + 1)])
    else:
        getstep_server("teams", "withdraw", str(folder), str(teams - 1), "--why", "its own wish")


async def play(contest: Contest, bots: Bots) -> Run:
    """Run the server with all bots until it ends."""
    before = sum(result.turns for result in tournament_of(contest).results), tournament_of(contest).done
    async with trio.open_nursery() as nursery, serving(contest, 0, say) as server:
        nursery.start_soon(run_bots, contest, server.port, bots)
        began = time.perf_counter()
        code = await server.process.wait()
        seconds = time.perf_counter() - began
    if code != 0:
        raise RuntimeError(f"the server ended with code {code}")
    tournament = tournament_of(contest)
    turns = sum(result.turns for result in tournament.results)
    return Run(tournament.done - before[1], turns - before[0], seconds)


def say(line: str) -> None:
    """Print every hundredth line of progress."""
    done = line.partition("/")[0].removeprefix("[")
    if done.isdecimal() and int(done) % PROGRESS_EVERY == 0:
        print(f"  {line}", flush=True)


def getstep_server(*arguments: str) -> None:
    """Run the command as the host does; its output goes to the screen.

    Raises:
        CalledProcessError: the command failed.
    """
    print(f"\n$ getstep-server {' '.join(arguments)}", flush=True)
    subprocess.run([sys.executable, "-m", "getstep_server", *arguments], check=True)


def whole_contest(folder: Path, teams: int) -> None:
    """Create the contest, play all its rounds, verify it and print the results."""
    bots = make(folder, teams)
    runs = []
    for round_ in range(1, ROUNDS + 1):
        if round_ > 1:
            next_round(folder, round_, teams)
        run = trio.run(play, load_contest(folder), bots)
        print(run.line(f"run {round_}"), flush=True)
        runs.append(run)
    began = time.perf_counter()
    getstep_server("verify", str(folder))
    verified = time.perf_counter() - began
    getstep_server("standings", str(folder))
    getstep_server("report", str(folder))
    whole = Run(*(sum(getattr(run, name) for run in runs) for name in ("matches", "turns", "seconds")))
    print(f"\n{whole.line('all')}; verified in {verified:.0f} s")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.contest", description=__doc__)
    parser.add_argument("--teams", type=int, default=24, metavar="N", help="6 or more (24)")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="make the contest here and keep it")
    arguments = parser.parse_args()
    temporary = tempfile.TemporaryDirectory(prefix="getstep-")
    with temporary if arguments.keep is None else nullcontext(str(arguments.keep)) as folder:
        whole_contest(Path(folder) / "contest", arguments.teams)


if __name__ == "__main__":
    main()
