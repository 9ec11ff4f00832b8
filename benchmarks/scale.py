"""The cost of contests with the most teams allowed, without the matches: pairings, tables, ratings, the report.

``python -m benchmarks.scale`` simulates the results of a Swiss contest, a ladder and a single round robin of 1,024
teams, and prints processor times: the total, and the slowest round. It takes three minutes; ``--teams 256`` takes
half a minute. Of these steps, the event loop only adds pairings and queues their matches.

The report is made whole, after a ruling on the last match, and again without a change. What the latter two take is
also printed as a part of the whole: that hardly depends on the machine and on what else runs on it. Most of what a
new result costs is the ratings of its event: see also ``--teams 256 --events 5``.

The round robin has no report: its ratings take as long as in the other formats, and the records of half a million
matches would take gigabytes of memory.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from random import Random
from time import process_time
from typing import Any, TypeVar

from benchmarks._players import Players
from getstep_server.config.contest import Contest, ContestFile, Team
from getstep_server.formats.round_robin import RoundRobin
from getstep_server.limits import MAX_TEAMS
from getstep_server.records.decision import Decision, record_of_decision
from getstep_server.records.game import GameRecord, game_header, record_of_game, validate_game
from getstep_server.records.match import Match
from getstep_server.records.pairings import record_of_pairings
from getstep_server.records.reasons import DecisionKind
from getstep_server.records.record import parse
from getstep_server.records.result import Result
from getstep_server.reports.crosstable import crosstable_table
from getstep_server.reports.kept_parts import KeptParts
from getstep_server.reports.report import ReportData, as_html
from getstep_server.text import utc_time
from getstep_server.tournament.crosstable import crosstable_of
from getstep_server.tournament.match_queue import MatchQueue
from getstep_server.tournament.ratings import ratings_of
from getstep_server.tournament.tournament import Tournament
from getstep_server.validation import validated

T = TypeVar("T")

STARTED = 1.7e9
GAMES = ("hop", "linkage", "longest_path", "chain_reaction", "pseudo_tonga")
WHOLE, RULED, UNCHANGED = "report", "report, after a ruling", "report, without a change"

EVENTS: Mapping[str, Mapping[str, Any]] = {
    "Swiss, 10 rounds of 2": {"format": "swiss", "settings": {"rounds": 10, "legs": 2}},
    "ladder, 5 rounds": {"format": "ladder", "settings": {"rounds": 5, "games": 10}},
    "single round robin": {"format": "round_robin", "settings": {"legs": 1}},
}


class Stopwatch:
    """The processor times by step."""

    def __init__(self) -> None:
        self._taken: dict[str, list[float]] = {}

    def __call__(self, what: str, do: Callable[[], T]) -> T:
        started = process_time()
        done = do()
        self._taken.setdefault(what, []).append(process_time() - started)
        return done

    def part(self, what: str, of: str) -> float:
        """Return the time of a step as a part of another one's."""
        return sum(self._taken[what]) / sum(self._taken[of])

    def lines(self) -> Iterator[str]:
        for what, seconds in self._taken.items():
            slowest = f"{max(seconds) * 1e3:>9.0f}" if len(seconds) > 1 else ""
            yield f"  {what:<40}{sum(seconds) * 1e3:>9.0f}{slowest}"


def made_up(event: Mapping[str, Any], teams: int, events: int = 1) -> Contest:
    """Return a contest of so many such events, each of another game."""
    each = [{"game": game, **event} for game in GAMES[:events]]
    file = validated(ContestFile, {"contest": {"name": "Scale", "seed": 1}, "event": each})
    roster = {n: Team(id=n, name=f"Team {n}", token=f"token of {n:05}") for n in range(1, teams + 1)}
    return Contest(Path("nowhere"), file, roster)


def result(match: Match, players: Players, dice: Random) -> Result:
    """Return a simulated result of a match."""
    winner = players.play(match.first - 1, match.second - 1, dice)
    scores = (6, 6) if winner is None else (7, 5) if winner == 0 else (5, 7)
    return Result(match, winner, "finished", "", scores, 60, (0.5, 0.25), (0, 0), STARTED, 1.0)


def play(contest: Contest, stopwatch: Stopwatch) -> tuple[Tournament, list[GameRecord]]:
    """Play the contest, each event round by round."""
    dice = Random(1)
    players = Players(tuple(dice.gauss(0, 200) for _ in contest.teams), 30, 0.1)
    tournament, games = Tournament(contest), list[GameRecord]()
    for event in contest.events:
        pair = partial(tournament.next_pairings, event)
        while (fields := stopwatch("pair, by round", pair)) is not None:
            stopwatch("make the record", partial(record_of_pairings, fields))
            matches = stopwatch("take it in", partial(tournament.apply_pairings, fields))
            stopwatch("queue the matches", partial(MatchQueue, matches))
            for match in matches:
                played = result(match, players, dice)
                if event.format.name != RoundRobin.name:
                    head = game_header(contest, match, played.attempt, played.started)
                    games.append(validate_game({**parse(record_of_game(head, played).header), "turns": []}))
                tournament.apply_result(played)
    return tournament, games


def measure(contest: Contest, stopwatch: Stopwatch) -> str:
    """Play a contest, compute all its tables, and return the report; "" for a round robin."""
    tournament, games = play(contest, stopwatch)
    event = contest.events[0]
    stopwatch("standings", tournament.tables)
    live = stopwatch("ratings, live", lambda: ratings_of(tournament, event, 0))
    stopwatch("who is stronger than the next", lambda: live.leads)
    stopwatch("crosstable", lambda: crosstable_table(contest, crosstable_of(tournament, event)))
    if not games:
        return ""
    data = ReportData(contest, tournament, len(games), "", games, ())
    kept = KeptParts()
    stopwatch(WHOLE, lambda: as_html(data, kept=kept))
    ruling = Decision(
        kind=DecisionKind.ADJUDICATE,
        by="host",
        at=utc_time(STARTED),
        why="seen",
        match=games[-1].match,
        winner=None,
    )
    tournament.apply(record_of_decision(contest, ruling).fields)
    for what in (RULED, UNCHANGED):
        kept = KeptParts(kept.parts)
        page = stopwatch(what, partial(as_html, data, kept=kept))
    if page != as_html(data):
        raise SystemExit("the report of kept parts is not the one that is made whole")
    return page


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__)
    parser.add_argument("--teams", type=int, default=MAX_TEAMS, metavar="N", help=f"in each contest ({MAX_TEAMS})")
    parser.add_argument("--events", type=int, default=1, metavar="N", help="in each contest, 1 to 5 (1)")
    arguments = parser.parse_args()
    print(f"{arguments.teams} teams: processor time in ms, and of the slowest round")
    for name, event in EVENTS.items():
        stopwatch = Stopwatch()
        page = measure(made_up(event, arguments.teams, arguments.events), stopwatch)
        size = f"; the report has {len(page.encode()) / 1e6:.1f} MB" if page else ""
        print(f"{name}{size}", *stopwatch.lines(), sep="\n", flush=True)
        if page:
            parts = f"{stopwatch.part(RULED, WHOLE):.2f} and {stopwatch.part(UNCHANGED, WHOLE):.2f}"
            print(f"  the latter two as parts of the whole: {parts}")


if __name__ == "__main__":
    main()
