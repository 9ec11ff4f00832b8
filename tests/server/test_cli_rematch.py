"""Rematches as a command: which matches it takes, all or none of them, and by its former names."""

from __future__ import annotations

from pathlib import Path

import pytest

from getstep_server.config.contest import load_contest
from getstep_server.storage.contest_state import tournament_of
from tests.support.command import Command
from tests.support.decisions import WHY, decisions, said

pytestmark = pytest.mark.usefixtures("seeded")

REMATCH = ("matches", "rematch", "autumn")


def numbers(folder: Path) -> list[int]:
    """Return the matches of the decisions on record."""
    assert {decision["decision"] for decision in decisions(folder)} <= {"replay"}
    return [decision["match"] for decision in decisions(folder)]


def of_team(folder: Path, team: int) -> list[int]:
    matches = tournament_of(load_contest(folder)).matches.values()
    return [match.number for match in matches if team in match.teams]


def test_several_at_once(command: Command, played: Path) -> None:
    lines = said(command, *REMATCH, "5", "1", "3", *WHY)
    assert lines[0] == "On record: 3 matches are played again."
    assert [line.split(":")[0] + line.split(":")[1].split(" ")[1] for line in lines[1:4]] == [
        "  before#5",
        "  before#1",
        "  before#3",
    ]
    assert lines[4:] == [
        "  open again: matches 1, 3, 5",
        "Play the open matches with: getstep-server run autumn",
    ]
    assert numbers(played) == [5, 1, 3]
    assert {decision["why"] for decision in decisions(played)} == {"it was agreed so"}
    assert command("verify", "autumn").code == 0


def test_numbers_may_stand_behind_the_reason(command: Command, played: Path) -> None:
    said(command, *REMATCH, *WHY, "5", "1")
    assert numbers(played) == [5, 1]


def test_all_or_none(command: Command, played: Path) -> None:
    assert command.complaint(*REMATCH, "5", "1", "7", *WHY).startswith("MATCH 7: no match has this number")
    said(command, *REMATCH, "2", *WHY)
    complaint = command.complaint(*REMATCH, "5", "1", "2", *WHY)
    assert complaint == "match 2 is open already; give a match that has started or is over"
    said(command, "teams", "disqualify", "autumn", "Ada", *WHY)
    assert "team 1 of match" in command.complaint(*REMATCH, *map(str, of_team(played, 3)[:2]), *WHY)
    kinds = [(decision["decision"], decision.get("match")) for decision in decisions(played)]
    assert kinds == [("replay", 2), ("disqualify", None)]


def test_a_number_twice_is_one_rematch(command: Command, played: Path) -> None:
    said(command, *REMATCH, "5", "5", *WHY)
    assert numbers(played) == [5]


def test_the_no_shows_of_a_team(command: Command, played: Path) -> None:
    """One of its matches was adjudicated: that is no no-show any more."""
    ada = of_team(played, 1)
    said(command, "matches", "adjudicate", "autumn", str(ada[0]), "--winner", "Ada", *WHY)
    lines = said(command, *REMATCH, "--team", "Ada", "--no-shows", *WHY)
    assert lines[0] == "On record: 3 matches are played again."
    again = [decision["match"] for decision in decisions(played) if decision["decision"] == "replay"]
    assert again == ada[1:]


def test_all_no_shows(command: Command, played: Path) -> None:
    assert said(command, *REMATCH, "--no-shows", *WHY)[0] == "On record: 6 matches are played again."
    assert numbers(played) == [1, 2, 3, 4, 5, 6]
    assert tournament_of(load_contest(played)).done == 0
    assert command("run", "autumn", "--now").code == 0
    assert "6 of 6 matches played (further attempts: 6 overruled)" in said(command, "verify", "autumn")[0]


def test_all_matches_of_a_team_that_are_over(command: Command, played: Path) -> None:
    ada = of_team(played, 1)
    said(command, "matches", "adjudicate", "autumn", str(ada[0]), "--winner", "Ada", *WHY)
    said(command, *REMATCH, "--team", "1", *WHY)
    again = [decision["match"] for decision in decisions(played) if decision["decision"] == "replay"]
    assert again == ada


def test_matches_that_cannot_be_played_again_are_reported(command: Command, played: Path) -> None:
    said(command, "teams", "withdraw", "autumn", "Blaise", *WHY)
    lines = said(command, *REMATCH, "--team", "Ada", "--no-shows", *WHY)
    assert lines[0] == "On record: 2 matches are played again."
    left = [line for line in lines if line.startswith("Not played again: match ")]
    assert len(left) == 2
    assert left[0].endswith(": team 2 of match 3 is withdrawn, expected it to take part; reinstate it first")


def test_a_dry_run_puts_nothing_on_record(command: Command, played: Path) -> None:
    lines = said(command, *REMATCH, "--team", "Ada", "--no-shows", "--dry-run", *WHY)
    assert lines[0] == "Would be on record: 4 matches are played again."
    assert [line for line in lines if line.startswith("  before: ")] == lines[1:5]
    assert lines[5:] == ["  open again: matches 2, 3, 5, 6", "  table: no change"]
    assert decisions(played) == []


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((), "rematch: no match given; give either numbers of matches, or --team or --no-shows"),
        (
            ("1", "--no-shows"),
            "rematch: numbers and a choice given; give either numbers of matches, or --team or --no-shows",
        ),
        (("--team", "Eve"), "--team 'Eve': no team has this name; see getstep-server teams list autumn"),
        (("--no-shows",), "rematch: no match fits these options; see getstep-server matches list autumn"),
    ],
)
def test_refused_commands(command: Command, begun: Path, arguments: tuple[str, ...], complaint: str) -> None:
    assert command.complaint(*REMATCH, *arguments, *WHY) == complaint
    assert decisions(begun) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (("games", "list", "autumn"), "matches list"),
        (("games", "adjudicate", "autumn", "1", "--winner", "draw", *WHY), "matches adjudicate"),
        (("games", "rematch", "autumn", "1", "2", *WHY), "matches rematch"),
        (("games", "replay", "autumn", "1", *WHY), "matches rematch"),
        (("games", "replay", "autumn", *WHY, "1"), "matches rematch"),
        (("matches", "replay", "autumn", "1", *WHY), "matches rematch"),
    ],
)
def test_former_names_work_and_name_the_new_ones(
    command: Command, played: Path, old: tuple[str, ...], new: str
) -> None:
    ran = command(*old)
    assert (ran.code, ran.err) == (0, f"getstep-server: this command was renamed; type: getstep-server {new}\n")
    assert ran.out


def test_former_names_are_not_listed(command: Command) -> None:
    assert "\n    games" not in command("--help").out
    assert "\n    matches" in command("--help").out
    listed = command("matches", "--help").out
    assert "rematch" in listed
    assert "replay" not in listed
