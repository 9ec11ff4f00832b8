"""Tables and exports of ratings: order, intervals, and pairs that are not separable or not comparable."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace
from msgspec.structs import replace as replace_fields

from getstep_server.config.event import ContestEvent
from getstep_server.limits import MAX_TEAMS
from getstep_server.reports.export import RATING_COLUMNS, WRITERS, RatingEstimates
from getstep_server.reports.ratings_table import ratings_table
from getstep_server.tournament.ratings import REPLICATES, UNSURE, rate, ratings_of, replicates_for, tally_of
from getstep_server.tournament.tournament import Tournament
from tests.support.command import Command
from tests.support.contests import make_contest
from tests.support.quick import quick
from tests.support.tables import NAMES, shown, widest
from tests.support.tournament_host import Host

RECORDS_MD = Path(__file__).parents[2] / "docs" / "records.md"

Played = tuple[Tournament, ContestEvent]


def played(folder: Path, names: Sequence[str], *, rounds: int = 1, step: float = 120, **event: Any) -> Played:
    """Return a contest after double round robins, in which each team is ``step`` Elo stronger than the next."""
    contest = make_contest(folder, len(names), {"game": "hop", "settings": {"legs": 2 * rounds}, **event})
    teams = {n: replace_fields(team, name=names[n - 1]) for n, team in contest.teams.items()}
    host, dice = Host(replace(contest, teams=teams)), Random(1)
    for match in host.issue_pairings():
        first, second = match.teams
        odds = 1 / (1 + 10 ** ((first - second) * step / 400))
        host.play(match, strong=first if dice.random() < odds else second)
    return host.tournament, host.contest.events[0]


def cells(lines: Sequence[str]) -> list[list[str]]:
    """Return the cells of a table with names of one word: rank, name, games, Elo, low, high, stronger, mark."""
    rows = [re.match(r" *(\d+) +(\S+) +(\d+) +(\S+) +(\S+) to (\S+) *(.*? %)? *(.*)", line) for line in lines]
    return [[cell or "" for cell in row.groups()] for row in rows if row]


def exported(form: str, tournament: Tournament, event: ContestEvent) -> str:
    return "".join(line.decode() + "\n" for line in WRITERS[form](RatingEstimates(tournament, event)))


# --- the table ------------------------------------------------------------------------------------------------


def test_the_table_says_what_the_ratings_say(tmp_path: Path) -> None:
    tournament, event = played(tmp_path, ["Ada", "Blaise", "Charles", "Dorothy", "Edsger"], rounds=3)
    ratings = ratings_of(tournament, event)
    lines = shown(ratings_table(tournament, event, title="Test, hop"))
    assert lines[0].rstrip() == "Test, hop"
    assert lines[1].split() == [
        "#",
        "team",
        "games",
        "Elo",
        "95",
        "%",
        "interval",
        "stronger",
        "than",
        "the",
        "next",
    ]
    rows = cells(lines)
    assert [row[0] for row in rows] == [*"12345"]
    for row, rating in zip(rows, ratings.table, strict=True):
        assert rating.elo
        numbers = [f"{round(value):+d}" for value in (rating.elo.value, rating.elo.low, rating.elo.high)]
        assert row[1:6] == [tournament.contest.team_name(rating.team), "24", *numbers]
    assert ratings.advantage
    assert ratings.draw
    assert lines[-2].startswith(
        f"First player's advantage: {round(ratings.advantage.value):+d} Elo, 95 % interval "
    )
    assert lines[-1].startswith(
        f"Probability of a draw between equal teams: {100 * ratings.draw.value:.1f} %, 95 % interval "
    )


def test_neighbours_are_separable_or_not(tmp_path: Path) -> None:
    """Few close games do not tell teams apart, many games between unequal teams do."""
    tournament, event = played(tmp_path, ["Ada", "Blaise", "Charles"], step=20)
    lines = shown(ratings_table(tournament, event))
    assert [row[-1] for row in cells(lines)] == ["not separable", "not separable", ""]
    explained = "Not separable: between 5 and 95 %, the matches do not show which is stronger."
    assert [line.rstrip() for line in lines].count(explained) == 1
    tournament, event = played(tmp_path, ["Ada", "Blaise", "Charles"], step=200, rounds=30)
    lines = shown(ratings_table(tournament, event))
    assert [row[-2:] for row in cells(lines)] == [["> 99 %", ""], ["> 99 %", ""], ["", ""]]
    assert explained not in lines
    assert all(lead is None or lead > UNSURE[1] for lead in ratings_of(tournament, event).leads)


def test_teams_that_no_chain_of_matches_connects_are_not_compared(tmp_path: Path) -> None:
    host = Host(make_contest(tmp_path, 5, {"game": "hop"}))
    for match in host.issue_pairings():
        if set(match.teams) in ({1, 2}, {3, 4}):
            host.play(match)
    (event,) = host.contest.events
    ratings = ratings_of(host.tournament, event)
    assert [rating.team for rating in ratings.table] == [1, 3, 2, 4, 5]
    assert ratings.leads == [None] * 5
    lines = shown(ratings_table(host.tournament, event))
    marks = [line.partition("  not ")[2].strip() for line in lines[1:6]]
    assert marks == ["comparable"] * 3 + [""] * 2
    assert lines[5].split() == ["5", "Team", "5", "0"]
    assert "Not comparable: no chain of matches connects the two teams." in lines


def test_before_the_first_match_there_are_no_ratings(tmp_path: Path) -> None:
    (event,) = (contest := make_contest(tmp_path, 2)).events
    lines = shown(ratings_table(Tournament(contest), event))
    assert [line.split() for line in lines[1:3]] == [["1", "Team", "1", "0"], ["2", "Team", "2", "0"]]
    assert lines[3:] == ["There are no ratings before the first match with a turn."]


@pytest.mark.parametrize("names", quick(NAMES, ["wide"]))
def test_40_teams_fit_80_columns(tmp_path: Path, names: str) -> None:
    tournament, event = played(tmp_path, NAMES[names])
    lines = shown(ratings_table(tournament, event))
    assert widest(lines) <= 80
    assert not any("…" in line for line in lines)
    assert len([line for line in lines if " to " in line]) == 40 + 2


def test_nothing_is_minus_zero(tmp_path: Path) -> None:
    host = Host(make_contest(tmp_path, 2, {"game": "hop", "settings": {"legs": 4}}))
    for match in host.issue_pairings():
        host.play(match, strong=match.first)  # the first player wins
    text = "\n".join(shown(ratings_table(host.tournament, host.contest.events[0])))
    assert "+0" in text
    assert not re.search(r"-0\b", text)


# --- large contests -------------------------------------------------------------------------------------------


def test_with_many_teams_there_are_fewer_replicates() -> None:
    numbers = [replicates_for(teams) for teams in range(257)]
    assert numbers == sorted(numbers, reverse=True)
    assert (numbers[0], numbers[64], numbers[100], numbers[256]) == (REPLICATES, REPLICATES, 409, 200)
    assert replicates_for(257) == replicates_for(MAX_TEAMS) == 0


@pytest.mark.parametrize(
    ("for_each", "said"),
    [
        (70, "210 replicates"),
        (0, "a normal approximation"),
    ],
)
def test_fewer_replicates_are_noted(
    for_each: int, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tournament, event = played(tmp_path, ["Ada", "Blaise", "Charles"])
    assert not any("replicates" in line for line in shown(ratings_table(tournament, event)))
    monkeypatch.setattr("getstep_server.tournament.ratings.replicates_for", lambda teams: for_each * teams)
    again, event = played(tmp_path, ["Ada", "Blaise", "Charles"])
    last = shown(ratings_table(again, event))[-1]
    assert last == f"3 teams: intervals from {said} instead of {REPLICATES} replicates."


@pytest.mark.skipif(sys.platform != "linux", reason="threads are counted in /proc")
def test_linear_algebra_uses_one_thread_and_child_processes_any_number() -> None:
    program = """
import os, threading
from getstep_server.tournament.ratings import rate, Tally
from numpy.linalg import solve
from numpy import eye, ones
before = os.listdir("/proc/self/task")
solve(eye(900), ones(900))
print(len(before), len(os.listdir("/proc/self/task")), os.environ.get("OPENBLAS_NUM_THREADS"))
"""
    environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    ran = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert ran.stdout == "1 1 None\n"


# --- export ---------------------------------------------------------------------------------------------------


def test_all_forms_say_the_same_with_the_contests_seed(tmp_path: Path) -> None:
    tournament, event = played(tmp_path, ["Ada", "=1+1", "Charles, and Co."])
    ratings = ratings_of(tournament, event)
    objects = [json.loads(line) for line in exported("jsonl", tournament, event).splitlines()]
    assert [tuple(row) for row in objects] == [RATING_COLUMNS] * 3
    for row, rating, lead in zip(objects, ratings.table, ratings.leads, strict=True):
        assert rating.elo
        assert (row["team"], row["games"], row["elo"]) == (rating.team, 4, round(rating.elo.value, 1))
        assert (row["elo_low"], row["elo_high"]) == (round(rating.elo.low, 1), round(rating.elo.high, 1))
        assert row["stronger"] == (None if lead is None else round(lead, 4))
        assert 0 < row["draw_low"] < row["draw"] < row["draw_high"] < 1
        assert row["advantage_low"] < row["advantage"] < row["advantage_high"]
    table = list(csv.DictReader(io.StringIO(exported("csv", tournament, event))))
    plain = [{name: "" if value is None else str(value) for name, value in row.items()} for row in objects]
    assert [{**row, "name": row["name"].removeprefix("'")} for row in table] == plain
    seed = tournament.contest.file.contest.seed
    lines = exported("text", tournament, event).splitlines()
    assert lines == [line.rstrip() for line in shown(ratings_table(tournament, event), width=200)]
    assert seed == 1
    tally = tally_of([1, 2, 3], tournament.results)
    assert rate(tally, seed=seed).table == ratings.table
    assert rate(tally, seed=seed + 1).table != ratings.table


def test_the_columns_are_in_the_manual() -> None:
    section = RECORDS_MD.read_text(encoding="utf-8").partition("The ratings have")[2].partition("\n\n")[0]
    assert re.findall(r"`(\w+)`", section) == list(RATING_COLUMNS)


# --- the command ----------------------------------------------------------------------------------------------


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """In a folder with a contest of two events and two teams."""
    monkeypatch.chdir(tmp_path)
    command = Command(capsys)
    command("init", "autumn", "--name", "Autumn contest", "--game", "hop", "--game", "linkage")
    command("teams", "add", "autumn", "Ada", "Blaise")
    return command


def test_the_command_shows_each_event(command: Command) -> None:
    ran = command("ratings", "autumn")
    assert (ran.code, ran.err) == (0, "")
    titles = [line.rstrip() for line in ran.out.splitlines() if line.startswith("Autumn")]
    assert titles == ["Autumn contest, Hop", "Autumn contest, Linkage"]
    only = command("ratings", "autumn", "--event", "linkage").out
    assert only == ran.out[ran.out.index("Autumn contest, Linkage") :]
    complaint = command.complaint("ratings", "autumn", "--event", "chess")
    assert complaint == "--event 'chess', expected one of: hop, linkage"
