"""The crosstable on a terminal: 40 teams in 80 columns, each cell in its row and column."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import sys
import termios
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from getstep_server.config.contest import Contest
from getstep_server.records.result import Result
from getstep_server.reports.crosstable import crosstable_table
from getstep_server.tournament.crosstable import Crosstable
from getstep_server.tournament.standings import standings
from tests.support.command import Command
from tests.support.contests import make_contest
from tests.support.quick import quick
from tests.support.random_results import make_up
from tests.support.tables import NAMES, SCORINGS, played, shown, widest


def crosstable_of(contest: Contest, results: Sequence[Result]) -> Crosstable:
    (event,) = contest.events
    return Crosstable(event, standings(contest.teams, results, scoring=event.scoring), results)


def lines_of(contest: Contest, results: Sequence[Result], width: int = 80) -> list[str]:
    return shown(crosstable_table(contest, crosstable_of(contest, results), title="Test"), width=width)


def hop(names: Sequence[str], **scoring: Any) -> Contest:
    return make_contest(Path("test"), names, {"game": "hop", "scoring": scoring})


def grid(lines: Sequence[str], teams: int) -> list[str]:
    """Return the cells of a crosstable, one character each, as a line for each team."""
    found = [re.search(rf"  ([×.WDL\d]{{{teams}}})  ", line) for line in lines]
    return [match[1] for match in found if match and "×" in match[1]]


@pytest.mark.parametrize("legs", quick([1, 4], [1]))
@pytest.mark.parametrize("kind", SCORINGS)
def test_40_teams_fit_whatever_their_names(kind: str, legs: int) -> None:
    results = played(hop(NAMES["short"]), legs=legs)
    for names in NAMES.values():
        for width in (80, 60):
            assert widest(lines_of(hop(names, kind=kind), results, width)) <= width


def test_40_teams_fit_in_one_block() -> None:
    contest = hop(NAMES["long"])
    single, double = played(contest, legs=1), played(contest, legs=2)
    table = crosstable_of(contest, single)
    teams = [row.team for row in table.rows]
    letters = {"win": "W", "draw": "D", "loss": "L"}
    assert grid(lines_of(contest, single), 40) == [
        "".join("×" if one == other else letters[table.legs(one, other)[0]] for other in teams) for one in teams
    ]
    table = crosstable_of(contest, double)
    teams = [row.team for row in table.rows]
    lines = lines_of(contest, double)
    assert grid(lines, 40) == [
        "".join("×" if one == other else f"{table.points(one, other):g}" for other in teams) for one in teams
    ]
    assert lines[-1] == "Cells: the points against each; . not played."


def test_the_columns_are_numbered_from_the_top_down() -> None:
    contest = hop(NAMES["short"])
    tens, units = (line.rstrip() for line in lines_of(contest, played(contest, legs=1))[1:3])
    at = units.index("1")
    assert units[at : at + 40] == "1234567890" * 4
    assert tens[at:] == " " * 9 + "1" * 10 + "2" * 10 + "3" * 10 + "4"


def test_few_teams_have_a_letter_for_each_match() -> None:
    contest = hop(NAMES["short"][:3])
    results = played(contest, legs=2)[:5]
    table = crosstable_of(contest, results)
    letters = {"win": "W", "draw": "D", "loss": "L"}
    lines = lines_of(contest, results)
    assert lines[1].split() == ["#", "team", "1", "2", "3", "points"]
    for line, one in zip(lines[2:5], table.rows, strict=True):
        cells = [
            "×" if o is one else "".join(letters[leg] for leg in table.legs(one.team, o.team)) for o in table.rows
        ]
        assert line.split()[3:] == [*cells, f"{one.points:g}"]
    assert lines[5] == "Cells: a letter for each match: W won, D drawn, L lost; . not played."


def test_a_pairing_without_matches_is_a_dot() -> None:
    contest = hop(NAMES["short"])
    cells = grid(lines_of(contest, ()), 40)
    assert cells == ["." * n + "×" + "." * (39 - n) for n in range(40)]


@pytest.mark.parametrize("width", [80, 50])
def test_opponents_that_do_not_fit_are_split_into_blocks(width: int) -> None:
    """Together the blocks have every cell once; each block has the teams and their totals."""
    contest = make_contest(Path("test"), NAMES["wide"], {"game": "pseudo_tonga"})
    results = played(contest, legs=2)
    table = crosstable_of(contest, results)
    lines = lines_of(contest, results, width)
    heads = [n for n, line in enumerate(lines) if line.lstrip().startswith("#")]
    assert len(heads) > 2
    assert [int(number) for n in heads for number in lines[n].split()[2:-1]] == list(range(1, 41))
    for place, row in enumerate(table.rows, start=1):
        own = [lines[n + place].split() for n in heads]
        assert {words[0] for words in own} == {str(place)}
        assert {words[-1] for words in own} == {f"{row.points:.2f}"}
        expected = [
            "×" if other is row else str(round(table.points(row.team, other.team) or 0)) for other in table.rows
        ]
        assert [cell for words in own for cell in words[2:-1]] == expected
    assert " ".join("\n".join(lines).split()).endswith("Cells: the points against each, rounded; . not played.")


def test_256_teams_have_every_cell_once() -> None:
    contest = hop([f"Team {n}" for n in range(1, 257)])
    lines = lines_of(contest, ())
    assert widest(lines) <= 80
    assert sum(line.count("×") for line in lines) == 256
    assert sum(line.count(".") for line in lines) == 256 * 255 + 2


def test_the_crosstable_shows_the_first_256_teams() -> None:
    contest = hop([f"Team {n}" for n in range(1, 259)])
    lines = lines_of(contest, ())
    assert sum(line.count("×") for line in lines) == 256
    assert " ".join("\n".join(lines).split()).endswith(
        "not played. The first 256 teams; 2 more are in the export as csv or jsonl."
    )


# --- the command ----------------------------------------------------------------------------------------------


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """In a folder with a contest of two events and three teams, which nobody comes to."""
    monkeypatch.chdir(tmp_path)
    command = Command(capsys)
    command("init", "autumn", "--name", "Autumn contest", "--game", "hop", "--game", "linkage")
    command("teams", "add", "autumn", "Ada", "Blaise", "Charles")
    path = Path("autumn/contest.toml")
    text = path.read_text(encoding="utf-8").replace("absent_seconds = 60", "absent_seconds = 0.01")
    path.write_text(text.replace("port = 7777", "port = 0"), encoding="utf-8")
    return command


def test_the_command_shows_each_event(command: Command) -> None:
    assert command("run", "autumn", "--now").code == 0
    ran = command("crosstable", "autumn")
    assert (ran.code, ran.err) == (0, "")
    blocks = ran.out.split("Autumn contest, ")[1:]
    assert [block.split("\n")[0].rstrip() for block in blocks] == ["Hop", "Linkage"]
    for block in blocks:
        assert [line.split()[2:] for line in block.splitlines()[2:5]] == [
            ["×", "LL", "LL", "0"],
            ["LL", "×", "LL", "0"],
            ["LL", "LL", "×", "0"],
        ]
    only = command("crosstable", "autumn", "--event", "linkage").out
    assert only == "Autumn contest, " + blocks[1]
    complaint = command.complaint("crosstable", "autumn", "--event", "chess")
    assert complaint == "--event 'chess', expected one of: hop, linkage"


def test_before_any_match_the_command_shows_dots(command: Command) -> None:
    out = command("crosstable", "autumn", "--event", "hop").out
    assert [line.split()[2] for line in out.splitlines()[2:5]] == ["×..", ".×.", "..×"]


def test_in_a_pipe_the_command_fits_the_terminal_of_the_reader(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)  # of the tests themselves
    make_up(tmp_path / "large", [{"game": "hop"}], [f"Die Mannschaft {number}" for number in range(1, 25)])
    assert widest(command("crosstable", "large").out.splitlines()) > 100
    monkeypatch.setenv("COLUMNS", "80")
    assert widest(command("crosstable", "large").out.splitlines()) <= 80
    monkeypatch.delenv("COLUMNS")
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 60, 0, 0))
    with os.fdopen(theirs) as stdin:  # less and head leave it to the command
        monkeypatch.setattr(sys, "stdin", stdin)
        assert widest(command("crosstable", "large").out.splitlines()) <= 60
    os.close(ours)
