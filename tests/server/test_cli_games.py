"""The list of matches: which number a host has to give, and what has become of each match."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from getstep_server.config.contest import load_contest, teams_path
from getstep_server.storage.contest_state import tournament_of
from tests.server.command_line import Command
from tests.server.decided_contests import WHY, leave_running, said

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
        2: "Ada wins (adjudicated)",
        3: "open",
        4: "draw (adjudicated)",
        5: "open",
        6: "open",
    }
    said(command, "teams", "withdraw", "autumn", "Ada", *WHY)
    assert states(command, "--team", "Ada") == {
        2: "Ada wins (adjudicated)",
        3: "cancelled",
        5: "cancelled",
        6: "cancelled",
    }
    assert states(command, "--open") == {1: "running"}
    said(command, "teams", "disqualify", "autumn", "1", *WHY)
    assert states(command, "--team", "1")[2] == "annulled"
    assert said(command, "matches", "list", "autumn", "--team", "Ada", "--open") == ["No match fits these options."]


def test_a_match_that_was_played(command: Command, played: Path) -> None:
    assert set(states(command).values()) == {"nobody came (never_arrived)"}


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


def test_a_long_name_is_whole(command: Command, autumn: Path) -> None:
    long = "Die außerordentlich lange Mannschaft aus dem letzten Winkel"
    command("teams", "add", "autumn", long)
    assert command("run", "autumn", "--now").code == 0
    lines = said(command, "matches", "list", "autumn", "--team", long)
    assert max(map(len, lines)) <= 80
    assert "außerordentlich" in " ".join(lines)


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
