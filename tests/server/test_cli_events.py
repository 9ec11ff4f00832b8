"""The host's commands for a contest with several events."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from getstep_engines import GAMES
from getstep_server.config.contest import load_contest
from getstep_server.config.event import game_heading
from getstep_server.reports.slips import as_text
from getstep_server.reports.tables import EVENTS_SHOWN, all_tables
from getstep_server.storage.contest_state import tournament_of
from tests.support.command import Command
from tests.support.contests import make_contest
from tests.support.tournament_host import Host

TITLES = [game.title.partition(" (")[0] for game in GAMES.values()]


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    monkeypatch.chdir(tmp_path)
    return Command(capsys)


@pytest.fixture
def autumn(command: Command) -> Path:
    """Three teams and all games; nobody comes."""
    command("init", "autumn", "--name", "Autumn contest", "--game", "all")
    command("teams", "add", "autumn", "Ada", "Blaise", "Charles")
    path = Path("autumn/contest.toml")
    text = path.read_text(encoding="utf-8").replace("absent_seconds = 60", "absent_seconds = 0.01")
    path.write_text(text.replace("port = 7777", "port = 0"), encoding="utf-8")
    return Path("autumn")


def test_init_with_several_games(command: Command) -> None:
    command("init", "two", "--game", "hop", "--game", "linkage", "--game", "hop")
    assert [event.name for event in load_contest(Path("two")).events] == ["hop", "linkage"]
    command("init", "every", "--game", "all")
    assert [event.name for event in load_contest(Path("every")).events] == list(GAMES)


def test_a_contest_of_all_games(command: Command, autumn: Path) -> None:
    ran = command("run", "autumn", "--now")
    assert (ran.code, ran.err) == (0, "")
    lines = ran.out.splitlines()
    assert lines[0] == "Autumn contest: 3 teams"
    assert [line.split(",")[0].split(" (")[0].strip() for line in lines[1 : 1 + len(GAMES)]] == TITLES
    assert [line for line in lines if line.endswith(tuple(TITLES)) and line[1:3] == ". "] == [
        f"{number}. {title}" for number, title in enumerate(TITLES, start=1)
    ]
    assert "All events" in lines
    assert tournament_of(load_contest(autumn)).done == 6 * len(GAMES)
    assert command("verify", "autumn").code == 0


def test_standings_of_all_events_or_of_one(command: Command, autumn: Path) -> None:
    command("run", "autumn", "--now")
    shown = command("standings", "autumn").out
    assert shown.startswith(f"Autumn contest, {6 * len(GAMES)} matches played\n")
    assert shown.count(" Ada ") == len(GAMES) + 1
    one = command("standings", "autumn", "--event", "linkage").out
    assert one.startswith("Autumn contest, Linkage\n")
    assert one.count(" Ada ") == 1
    names = ", ".join(GAMES)
    assert command.complaint("standings", "autumn", "--event", "go") == f"--event 'go', expected one of: {names}"


def test_export_of_the_combined_table(command: Command, autumn: Path) -> None:
    command("run", "autumn", "--now")
    command("matches", "adjudicate", "autumn", "1", "--winner", "Ada", "--why", "so")
    contest = load_contest(autumn)
    expected = tournament_of(contest).tables().combined
    export = ("export", "autumn", "--standings", "--format")
    objects = [json.loads(line) for line in command(*export, "jsonl").out.splitlines()]
    names = ("rank", "team", "total", "firsts", "lot", "status")
    found = [tuple(row[name] for name in names) for row in objects]
    assert found == [tuple(getattr(row, name) for name in names) for row in expected]
    assert sum(sum(row["shares"].values()) for row in objects) == pytest.approx(sum(row.total for row in expected))
    table = list(csv.DictReader(io.StringIO(command(*export, "csv").out)))
    assert list(table[0]) == ["rank", "team", "name", *GAMES, "total", "firsts", "lot", "status"]
    for row, one in zip(table, objects, strict=True):
        assert {game: float(row[game]) for game in GAMES if row[game]} == one["shares"]
        assert (row["name"], float(row["total"])) == (one["name"], one["total"])
    heading, *lines = command(*export, "text").out.splitlines()
    assert " ".join(heading.split()).startswith(f"# team {' '.join(TITLES)} total")
    assert [line.split()[1] for line in lines[: len(expected)]] == [row["name"] for row in objects]
    assert command(*export, "markdown").out.startswith("| \\# | team | Longest Path |")
    one_event = command(*export, "jsonl", "--event", "hop").out.splitlines()
    assert "points" in json.loads(one_event[0])


def test_export_of_one_event(command: Command, autumn: Path) -> None:
    command("run", "autumn", "--now")
    names = ", ".join(GAMES)
    for what in ("--ratings", "--crosstable"):
        message = command.complaint("export", "autumn", what)
        assert message == f"--event is missing: the contest has several events; give one of: {names}"
    command("export", "autumn", "--crosstable", "--event", "hop", "--output", "hop.jsonl")
    rows = [json.loads(line) for line in Path("hop.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [len(one["legs"]) for row in rows for one in row["against"]] == [2] * 6


def test_slips_name_all_games(autumn: Path) -> None:
    page = as_text(load_contest(autumn), "192.0.2.7").split("\f")[0]
    assert page.splitlines()[1] == "Autumn contest"
    games = page.replace("\n", " ")
    assert all(f"{game_heading(game)}, {game.time_control}" in games for game in GAMES.values())
    assert "  getstep new my_bot.py --game all\n" in page


@pytest.mark.parametrize("events", [2, 5, EVENTS_SHOWN, EVENTS_SHOWN + 1])
def test_the_tables_fit_a_terminal(tmp_path: Path, events: int) -> None:
    """40 teams, 80 columns."""
    swiss = {"game": "hop", "format": "swiss", "settings": {"rounds": 2, "legs": 1}}
    ladder = {"game": "linkage", "format": "ladder", "settings": {"rounds": 1, "games": 2}}
    tables = [{**(ladder if number % 2 else swiss), "name": f"event {number}"} for number in range(events)]
    host = Host(make_contest(tmp_path, 40, *tables))
    host.play_all()
    console = Console(file=io.StringIO(), width=80, markup=False, highlight=False, emoji=False)
    with console.capture() as capture:
        for table in all_tables(host.contest, host.tournament.tables(), title="Test"):
            console.print(table)
    lines = capture.get().splitlines()
    assert max(map(len, lines)) <= 80
    assert len([line for line in lines if "Team" in line]) == 40 * (events + 1)  # a line each
    assert not any("…" in line for line in lines)
