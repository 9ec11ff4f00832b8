"""The list of matches: which number a host has to give, and what has become of each match."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from msgspec.structs import replace
from msgspec.structs import replace as replace_fields
from rich.console import Console

from getstep_server.cli.games import match_table
from getstep_server.config.contest import load_contest, teams_path
from getstep_server.storage.contest_state import tournament_of
from getstep_server.text import cell_len
from tests.support.command import Command
from tests.support.contests import make_contest
from tests.support.decisions import WHY, leave_running, said
from tests.support.tournament_host import Host

pytestmark = pytest.mark.usefixtures("seeded")


def listed(command: Command, *arguments: str) -> list[list[str]]:
    """Return the lines of the list as cells; the state, which is the last one, may have blanks."""
    heading, *lines = said(command, "matches", "list", "autumn", *arguments)
    assert heading.split() == ["#", "round", "first", "second", "state"]
    assert max(map(len, [heading, *lines])) <= 80
    return [line.split(maxsplit=4) for line in lines]


def states(command: Command, *arguments: str) -> dict[int, str]:
    return {int(row[0]): row[4].strip() for row in listed(command, *arguments)}


def test_every_match_with_its_number(command: Command, begun: Path) -> None:
    rows = listed(command)
    assert [row[0] for row in rows] == ["1", "2", "3", "4", "5", "6"]
    assert {row[4].strip() for row in rows} == {"open"}
    matches = tournament_of(load_contest(begun)).matches
    names = {1: "Ada", 2: "Blaise", 3: "Charles"}
    for row in rows:
        match = matches[int(row[0])]
        assert row[1:4] == [str(match.round), names[match.first], names[match.second]]


def test_the_outcome_of_each_attempt(command: Command, begun: Path) -> None:
    said(command, "matches", "adjudicate", "autumn", "2", "--winner", "Ada", *WHY)
    said(command, "matches", "adjudicate", "autumn", "4", "--winner", "draw", *WHY)
    leave_running(begun, 1)
    assert states(command) == {
        1: "running",
        2: "1–0 (adjudicated)",
        3: "open",
        4: "½–½ (adjudicated)",
        5: "open",
        6: "open",
    }
    said(command, "teams", "withdraw", "autumn", "Ada", *WHY)
    assert states(command, "--team", "Ada") == {
        2: "1–0 (adjudicated)",
        3: "cancelled",
        5: "cancelled",
        6: "cancelled",
    }
    assert states(command, "--open") == {1: "running"}
    said(command, "teams", "disqualify", "autumn", "1", *WHY)
    assert states(command, "--team", "1")[2] == "annulled"
    assert said(command, "matches", "list", "autumn", "--team", "Ada", "--open") == ["No match fits these options."]


def test_a_match_that_was_played(command: Command, played: Path) -> None:
    assert set(states(command).values()) == {"0–0 (never_arrived)"}


def test_before_the_first_run(command: Command, autumn: Path) -> None:
    (line,) = said(command, "matches", "list", "autumn")
    assert line.startswith("There are no matches yet")


def test_several_events(command: Command, autumn: Path) -> None:
    path = autumn / "contest.toml"
    path.write_text(path.read_text() + '\n[[event]]\ngame = "linkage"\nname = "a very long name of an event"\n')
    assert command("run", "autumn", "--now").code == 0
    heading, *lines = said(command, "matches", "list", "autumn")
    assert heading.split() == ["#", "event", "round", "first", "second", "state"]
    assert max(map(len, lines)) <= 80
    of_one = said(command, "matches", "list", "autumn", "--event", "hop")[1:]
    assert [line.split()[:2] for line in of_one] == [[str(number), "hop"] for number in range(1, 7)]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--event", "go"), "--event 'go', expected one of: hop"),
        (("--team", "Eve"), "--team 'Eve': no team has this name; see getstep-server teams list autumn"),
        (("--team", "9"), "--team 9: no team has this id; see getstep-server teams list autumn"),
    ],
)
def test_unknown_names(command: Command, begun: Path, arguments: tuple[str, str], complaint: str) -> None:
    assert command.complaint("matches", "list", "autumn", *arguments) == complaint


LONG = "Die außerordentlich lange Mannschaft aus dem letzten Winkel"


def test_a_long_name_is_whole_in_a_pipe(command: Command, autumn: Path) -> None:
    command("teams", "add", "autumn", LONG)
    assert command("run", "autumn", "--now").code == 0
    heading, *lines = said(command, "matches", "list", "autumn", "--team", LONG)
    assert heading.split() == ["#", "round", "first", "second", "state"]
    assert all(LONG in line and line.endswith("0–0 (never_arrived)") for line in lines)


@pytest.mark.parametrize("width", [72, 80, 132])
def test_a_terminal_shows_each_match_in_one_line_with_its_whole_state(tmp_path: Path, width: int) -> None:
    contest = make_contest(tmp_path, 3, {"game": "hop"}, {"game": "chain_reaction"})
    names = {1: "Ada", 2: LONG, 3: "東京大学人工知能研究会代表選抜チーム第一期生有志一同と仲間たち"}
    teams = {number: replace_fields(contest.teams[number], name=name) for number, name in names.items()}
    matches = Host(replace(contest, teams=teams)).issue_pairings()
    screen = Console(file=io.StringIO(), width=width, record=True)
    state = "1–0 (connection_lost)"
    screen.print(match_table(replace(contest, teams=teams), [(match, state) for match in matches]))
    heading, *lines = screen.export_text().splitlines()
    assert len(lines) == len(matches)
    assert max(map(cell_len, [heading, *lines])) <= width
    assert all(line.rstrip().endswith(state) for line in lines)
    assert sum("Ada " in line for line in lines) == sum(1 in match.teams for match in matches)


def test_a_removed_team_keeps_its_name(command: Command, played: Path) -> None:
    """It is on record with what the team has played."""
    path = teams_path(played)
    head, *teams = re.split(r"(?m)^(?=\[\[team\]\])", path.read_text(encoding="utf-8"))
    path.write_text(head + "".join(teams[1:]), encoding="utf-8")
    assert command("run", "autumn", "--now").code == 0
    assert any("Ada (withdrawn)" in line for line in said(command, "standings", "autumn"))
    assert "Ada" in {row[2] for row in listed(command, "--team", "Ada")}
    exported = said(command, "export", "autumn", "--standings", "--format", "csv")
    assert [row.split(",")[2] for row in exported if row.split(",")[1] == "1"] == ["Ada"]
    assert command("report", "autumn").code == 0
    assert "Ada (withdrawn)" in (played / "report.html").read_text(encoding="utf-8")
    complaint = command.complaint("teams", "reinstate", "autumn", "Ada", *WHY)
    assert complaint.startswith("team 1 has withdrawn: it is not in autumn/teams.toml")
