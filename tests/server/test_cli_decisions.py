"""The host's decisions as commands: what they say, what they refuse, and what they leave on record."""

from __future__ import annotations

import re
from math import sqrt
from pathlib import Path
from typing import Any

import pytest

from getstep_server.config.contest import contest_path, load_contest, teams_path
from getstep_server.decisions import making
from getstep_server.storage.contest_state import load_tournament, tournament_of
from getstep_server.storage.lock import ContestLock
from getstep_server.tournament.tournament import Tournament
from tests.support.command import Command
from tests.support.decisions import WHY, decisions, leave_running, said

pytestmark = pytest.mark.usefixtures("seeded")


def test_a_team_withdraws_and_comes_back(command: Command, begun: Path) -> None:
    assert said(command, "teams", "withdraw", "autumn", "Ada", *WHY) == [
        "On record: Ada has withdrawn.",
        "  cancelled: matches 2, 3, 5, 6",
        "Play the open matches with: getstep-server run autumn",
    ]
    assert "3 records, 0 of 6 matches played, 4 cancelled, 0 turns" in said(command, "verify", "autumn")[0]
    assert said(command, "teams", "reinstate", "autumn", "1", *WHY)[:2] == [
        "On record: Ada is reinstated.",
        "  open again: matches 2, 3, 5, 6",
    ]
    kinds = [(fields["decision"], fields["team"], fields["event"], fields["by"]) for fields in decisions(begun)]
    assert kinds == [("withdraw", 1, None, "Grace"), ("reinstate", 1, None, "Grace")]
    assert command("verify", "autumn").code == 0


def test_a_running_server_plays_the_open_matches(command: Command, begun: Path) -> None:
    with ContestLock(begun):
        lines = said(command, "teams", "withdraw", "autumn", "Ada", *WHY)
    assert lines[-1] == "The server that runs this contest plays the open matches."


def test_a_team_is_disqualified(command: Command, played: Path) -> None:
    assert said(command, "teams", "disqualify", "autumn", "Ada", *WHY, "--event", "hop") == [
        "On record: Ada is disqualified.",
        "  annulled: matches 2, 3, 5, 6",
    ]
    assert "Ada (disqualified)" in said(command, "standings", "autumn")[4]
    verified = said(command, "verify", "autumn")[0]
    assert "2 of 6 matches played, 4 annulled (further attempts: 4 overruled), 0 turns" in verified
    assert said(command, "teams", "reinstate", "autumn", "Ada", *WHY)[1] == "  counted again: matches 2, 3, 5, 6"
    assert command("verify", "autumn").code == 0


def test_a_match_is_adjudicated_and_played_again(command: Command, played: Path) -> None:
    decided, before = said(command, "matches", "adjudicate", "autumn", "2", "--winner", "Ada", *WHY)
    assert decided == "On record: match 2 (Ada – Charles) is won by Ada."
    assert before.startswith("  before: #2 Ada – Charles: nobody came (never_arrived: ")
    (line,) = [line for line in said(command, "standings", "autumn") if "Ada" in line]
    assert line.split()[2:5] == ["4", "1", "0"]  # played, won, drawn
    assert said(command, "matches", "adjudicate", "autumn", "2", "--winner", "draw", *WHY)[:2] == [
        "On record: match 2 (Ada – Charles) is a draw.",
        "  before: #2 Ada – Charles: Ada wins (adjudicated: it was agreed so; 0 turns, 0.0 s)",
    ]
    again = said(command, "matches", "rematch", "autumn", "2", *WHY)
    assert again[0] == "On record: match 2 (Ada – Charles) is played again."
    assert again[2:] == [
        "  open again: match 2",
        "Play the open matches with: getstep-server run autumn",
    ]
    assert command("run", "autumn", "--now").code == 0
    contest = load_contest(played)
    assert tournament_of(contest).attempts[2] == 2
    assert command("verify", "autumn").code == 0
    listed = said(command, "decisions", "autumn")
    assert all(re.match(r"20\d\d-\d\d-\d\d \d\d:\d\d  match", line) for line in listed)
    assert [line.partition("  ")[2] for line in listed] == [
        "match 2 (Ada – Charles) is won by Ada. Grace: it was agreed so",
        "match 2 (Ada – Charles) is a draw. Grace: it was agreed so",
        "match 2 (Ada – Charles) is played again. Grace: it was agreed so",
    ]


def nobody() -> str:
    raise KeyError("getpwuid(): uid not found: 4711")


def test_the_event_in_which_an_adjudicated_match_is_worth_nothing(command: Command, autumn: Path) -> None:
    path = contest_path(autumn)
    text = path.read_text(encoding="utf-8").replace('game = "hop"', 'game = "pseudo_tonga"', 1)
    path.write_text(text, encoding="utf-8")
    assert command("run", "autumn", "--now").code == 0
    adjudicate = ("matches", "adjudicate", "autumn", "2", "--winner", "Ada", *WHY)
    warning = "  it is worth 0 to both teams: this event counts score differences; give them with --scores"
    assert warning in said(command, *adjudicate)
    assert {row.points for row in tournament_of(load_contest(autumn)).table(load_contest(autumn).events[0])} == {0}
    match = tournament_of(load_contest(autumn)).matches[2]
    scores = ("170", "146") if match.first == 1 else ("146", "170")
    lines = said(command, *adjudicate, "--scores", *scores)
    assert lines[0] == "On record: match 2 (Ada – Charles) is won by Ada with 170 to 146."
    assert not any("worth 0" in line for line in lines)
    points = {
        row.team: row.points for row in tournament_of(load_contest(autumn)).table(load_contest(autumn).events[0])
    }
    assert points == {1: pytest.approx(sqrt(24)), 2: 0, 3: pytest.approx(-sqrt(24))}
    refused = command(*adjudicate, "--scores", *reversed(scores))
    assert refused.code == 2
    assert "expected more for the winner" in refused.err
    assert command("verify", "autumn").code == 0


def facts_of(command: Command, match: int, *more: str) -> dict[str, str]:
    """Return the facts that ``show`` prints beside the turns of a match; here each fits a line."""
    shown = said(command, "show", "autumn", str(match), *more)
    pairs = re.findall(r"(?m)^(\w+)  +(.*(?:\n {11}.*)*)$", "\n".join(shown))
    return {name: " ".join(value.split()) for name, value in pairs}


def test_show_says_what_counts(command: Command, played: Path) -> None:
    assert "does not count" not in "".join(said(command, "show", "autumn", "2"))
    said(command, "matches", "adjudicate", "autumn", "2", "--winner", "Ada", *WHY)
    facts = facts_of(command, 2)
    assert facts["result"] == "nobody came"
    assert re.fullmatch(r"adjudicated by Grace, 20\S+Z: it was agreed so", facts["corrected"])
    assert facts["official"] == "Ada wins (adjudicated)"
    said(command, "matches", "rematch", "autumn", "2", *WHY)
    facts = facts_of(command, 2)
    assert re.fullmatch(r"replayed by Grace, 20\S+Z: it was agreed so", facts["corrected"])
    assert facts["official"] == "no result yet: the match is open"
    assert command("run", "autumn", "--now").code == 0
    assert "official" not in facts_of(command, 2)
    facts = facts_of(command, 2, "--attempt", "1")
    assert facts["corrected"].startswith("replayed by Grace, ")
    assert facts["official"] == "attempt 2: nobody came (never_arrived)"
    said(command, "teams", "disqualify", "autumn", "Ada", *WHY)
    facts = facts_of(command, 2)
    assert facts["corrected"].startswith("annulled by Grace, ")
    assert facts["official"] == "no result: the match is annulled"
    text = said(command, "export", "autumn", "--games", "--format", "text")
    assert sum(line.startswith("corrected annulled by Grace, ") for line in text) == 5


def test_show_an_unplayed_match(command: Command, begun: Path) -> None:
    said(command, "matches", "adjudicate", "autumn", "2", "--winner", "draw", *WHY)
    assert said(command, "show", "autumn", "2") == [
        "Not played. Official result: #2 Ada – Charles: draw (adjudicated: it was agreed so; 0 turns, 0.0 s)"
    ]
    assert command("show", "autumn", "3").code == 1


@pytest.mark.parametrize("number", ["99", "0", "-1", "99999999999999999999", "-99999999999999999999"])
def test_show_a_match_that_there_is_not(command: Command, begun: Path, number: str) -> None:
    ran = command("show", "autumn", number)
    assert (ran.code, ran.out) == (1, "")
    listing = "see getstep-server matches list autumn"
    problem = "it is not over or does not exist"
    assert ran.err == f"getstep-server: match {number} is not on record; {problem}, {listing}\n"


def test_the_default_author_of_a_decision(command: Command, begun: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGNAME", "hopper")
    said(command, "teams", "withdraw", "autumn", "Ada", "--why", "her own wish")
    monkeypatch.setattr("getpass.getuser", nobody)
    said(command, "teams", "withdraw", "autumn", "Blaise", "--why", "his own wish")
    assert [fields["by"] for fields in decisions(begun)] == ["hopper", "the host"]


def test_no_decisions(command: Command, begun: Path) -> None:
    assert said(command, "decisions", "autumn") == ["No decisions: all results are as they were played."]


def test_a_stale_decision_is_made_again(command: Command, begun: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody else withdraws the same team at the same moment."""
    honest, calls = load_tournament, []

    def slow(*arguments: Any) -> Tournament:
        tournament = honest(*arguments)
        calls.append(tournament)
        if len(calls) == 1:
            monkeypatch.setattr(making, "load_tournament", honest)
            said(command, "teams", "withdraw", "autumn", "Ada", *WHY)
        return tournament

    monkeypatch.setattr(making, "load_tournament", slow)
    assert command.complaint("teams", "withdraw", "autumn", "Ada", *WHY) == "team 1 is withdrawn already"
    assert len(decisions(begun)) == 1


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (
            ("teams", "withdraw", "autumn", "Eve"),
            "TEAM 'Eve': no team has this name; see getstep-server teams list",
        ),
        (("teams", "withdraw", "autumn", "9"), "TEAM 9: no team has this id; see getstep-server teams list autumn"),
        (("teams", "reinstate", "autumn", "Ada"), "team 1 takes part, expected one that is out"),
        (("teams", "withdraw", "autumn", "Ada", "--event", "go"), "--event 'go', expected one of: hop"),
        (
            ("matches", "rematch", "autumn", "7"),
            "MATCH 7: no match has this number, expected 1 to 6; see getstep-server matches list autumn",
        ),
        (
            ("matches", "adjudicate", "autumn", "1", "--winner", "Ada"),
            "--winner 'Ada': Ada is not in match 1, expected Charles or Blaise, or draw",
        ),
        (("matches", "adjudicate", "autumn", "1", "--winner", "9"), "--winner '9': team 9 is not in match 1"),
        (
            ("teams", "withdraw", "autumn", "7" * 5000),
            f"TEAM '{'7' * 79}: no team has this name; see getstep-server",
        ),
        (
            ("matches", "adjudicate", "autumn", "1", "--winner", "7" * 5000),
            f"--winner '{'7' * 79}: no team has this name; see getstep-server",
        ),
    ],
)
def test_refused_commands(command: Command, begun: Path, arguments: tuple[str, ...], complaint: str) -> None:
    assert command.complaint(*arguments, *WHY).startswith(complaint)
    assert decisions(begun) == []


def test_a_name_that_is_the_id_of_another_team(command: Command, begun: Path) -> None:
    path = teams_path(begun)
    path.write_text(path.read_text(encoding="utf-8").replace('"Charles"', '"2"'), encoding="utf-8")
    assert command.complaint("teams", "withdraw", "autumn", "2", *WHY) == (
        "TEAM '2': 'Blaise' has this id, and team 3 has this name; expected 'Blaise' or 3;"
        " see getstep-server teams list autumn"
    )
    assert decisions(begun) == []
    said(command, "teams", "withdraw", "autumn", "3", *WHY)
    said(command, "teams", "withdraw", "autumn", "Blaise", *WHY)
    assert [decision["team"] for decision in decisions(begun)] == [3, 2]


def test_a_name_that_is_the_id_of_no_other_team(command: Command, begun: Path) -> None:
    path = teams_path(begun)
    path.write_text(path.read_text(encoding="utf-8").replace('"Charles"', '"9"'), encoding="utf-8")
    said(command, "teams", "withdraw", "autumn", "9", *WHY)
    assert [decision["team"] for decision in decisions(begun)] == [3]


@pytest.mark.parametrize(
    ("how", "complaint"),
    [
        (
            ("--why", ""),
            "this decision cannot be recorded: why is '', expected visible characters, without spaces around them",
        ),
        (
            ("--why", "a\x1b[2J"),
            r"this decision cannot be recorded: why is 'a\x1b[2J', expected visible",
        ),
        (("--why", "x" * 501), "this decision cannot be recorded: why is 'xxx"),
        (("--why", "\udcff"), "this decision cannot be recorded: something that cannot be written as JSON"),
        (("--why", "so", "--by", " "), "this decision cannot be recorded: by is ' ', expected visible characters"),
        (("--why", "so", "--by", "x" * 65), "this decision cannot be recorded: by is 'xxx"),
    ],
)
def test_a_reason_is_needed(command: Command, begun: Path, how: tuple[str, ...], complaint: str) -> None:
    assert command.complaint("matches", "adjudicate", "autumn", "1", "--winner", "draw", *how).startswith(complaint)
    assert decisions(begun) == []


def test_a_match_that_has_not_begun_is_not_played_again(command: Command, begun: Path) -> None:
    complaint = command.complaint("matches", "rematch", "autumn", "1", *WHY)
    assert complaint == "match 1 is open already; give a match that has started or is over"
    assert decisions(begun) == []
    leave_running(begun, 1)
    assert said(command, "matches", "rematch", "autumn", "1", *WHY)[0].endswith("is played again.")


def test_before_pairings_were_issued(command: Command, autumn: Path) -> None:
    complaint = command.complaint("teams", "withdraw", "autumn", "Ada", *WHY)
    assert complaint == "autumn/contest.db: no such file; the contest has not started, so edit its files instead"


def test_a_team_that_is_not_in_the_list(command: Command, begun: Path) -> None:
    path = teams_path(begun)
    ada, rest = path.read_text(encoding="utf-8").split("[[team]]", 2)[1:]
    path.write_text(f"[[team]]{rest}", encoding="utf-8")
    complaint = command.complaint("teams", "withdraw", "autumn", "1", *WHY)
    assert complaint == f"team 1 has withdrawn: it is not in {path}; put it back there first"
    assert command.complaint("matches", "rematch", "autumn", "2", *WHY).startswith(
        "team 1 of match 2 has withdrawn: it is not in"
    )
    assert "is disqualified" in said(command, "teams", "disqualify", "autumn", "1", *WHY)[0]
    assert "Ada" in ada
