"""Reading teams.toml: mistakes, seats and the order of teams."""

from __future__ import annotations

from pathlib import Path

import pytest

from getstep_server.config.contest import load_contest
from getstep_server.errors import ConfigError
from tests.support.contests import CONTEST, HOP, OTHER, TEAM, complaint, folder_with

TEAM_MISTAKES: dict[str, tuple[str, list[str]]] = {
    "no id": (
        '[[team]]\nname = "Ada"\ntoken = "12345678"\n' + OTHER,
        ["teams.toml:1: team.id is missing"],
    ),
    "no token in the second": (
        TEAM + '\n# [[team]]\n[[team]]\nid = 2\nname = "B"\n',
        ["teams.toml:7: team.token is missing"],
    ),
    "true for an id": (
        TEAM + OTHER.replace("2", "true", 1),
        ["teams.toml:6: team.id = True, expected a whole number"],
    ),
    "an id below 0": (
        TEAM.replace("1", "-1", 1) + OTHER,
        ["teams.toml:2: team.id = -1, expected at least 0"],
    ),
    "an id beyond the wire's": (
        TEAM.replace("id = 1", f"id = {2**31}"),
        [f"teams.toml:2: team.id = {2**31}, expected at most {2**31 - 1}"],
    ),
    "an id twice": (
        TEAM + OTHER.replace("id = 2", "id = 1"),
        ["teams.toml:6: team.id = 1, expected an id of its own; team 'Ada' has this one"],
    ),
    "a name twice": (
        TEAM + OTHER.replace("Blaise", "Ada"),
        ["teams.toml:7: team.name = 'Ada', expected a name of its own; team 1 has this one"],
    ),
    "all twice": (
        TEAM + OTHER + TEAM,
        [
            "teams.toml:10: team.id = 1, expected an id of its own; team 'Ada' has this one",
            "teams.toml:11: team.name = 'Ada', expected a name of its own; team 1 has this one",
        ],
    ),
    "a short token": (
        TEAM.replace("12345678", "1234567") + OTHER,
        ["teams.toml:4: team.token = '1234567', expected at least 8 characters"],
    ),
    "a long token": (
        TEAM.replace("12345678", "x" * 65),
        [f"teams.toml:4: team.token = '{'x' * 65}', expected at most 64 characters"],
    ),
    "a number for a token": (
        TEAM.replace('"12345678"', "12345678"),
        ["teams.toml:4: team.token = 12345678, expected text in quotes"],
    ),
    "a name with a line end": (
        TEAM.replace("Ada", "A\\nda"),
        ["teams.toml:3: team.name = 'A\\nda', expected visible characters, without spaces around them"],
    ),
    "a name of several lines": (
        TEAM.replace('"Ada"', '"""A\nda"""'),
        ["teams.toml:3: team.name = 'A\\nda', expected visible characters, without spaces around them"],
    ),
    "text for true": (
        TEAM + 'classic = "yes"\n',
        ["teams.toml:5: team.classic = 'yes', expected true or false"],
    ),
    "no seat": (TEAM + "seats = 0\n", ["teams.toml:5: team.seats = 0, expected at least 1"]),
    "too many seats": (TEAM + "seats = 17\n", ["teams.toml:5: team.seats = 17, expected at most 16"]),
    "a bad address": (
        TEAM + 'classic = true\nclassic_address = "192.168.1.256"\n',
        ["teams.toml:6: team.classic_address = '192.168.1.256', expected an IP address such as 192.168.1.20"],
    ),
    "an unknown setting": (
        TEAM + "clasic = true\n",
        [
            "teams.toml:5: team.clasic = True: no such setting, "
            "expected one of: id, name, token, seats, classic, classic_address"
        ],
    ),
    "an unknown table": (
        TEAM + "[[teams]]\nid = 2\n",
        ["teams.toml:5: teams = [{'id': 2}]: no such setting, expected one of: team"],
    ),
    "single brackets": (
        TEAM.replace("[[team]]", "[team]"),
        [
            "teams.toml:1: team = {'id': 1, 'name': 'Ada', 'token': '12345678'}, "
            "expected a table in double brackets for each"
        ],
    ),
    "an array over several lines": (
        'team = [\n  {id = 1, name = "A", token = "12345678"},\n  {id = 2, name = "B", token = "x"},\n]\n',
        ["teams.toml:3: team.token = 'x', expected at least 8 characters"],
    ),
    "a mistake in each": (
        TEAM.replace("id = 1", "id = '1'") + OTHER.replace("12345678", "x"),
        [
            "teams.toml:2: team.id = '1', expected a whole number",
            "teams.toml:8: team.token = 'x', expected at least 8 characters",
        ],
    ),
}


@pytest.mark.parametrize("case", TEAM_MISTAKES)
def test_a_mistake_in_teams_toml(tmp_path: Path, case: str) -> None:
    teams, messages = TEAM_MISTAKES[case]
    assert complaint(folder_with(tmp_path, teams=teams)) == messages


def test_too_many_teams(tmp_path: Path) -> None:
    teams = "".join(f'[[team]]\nid = {n}\nname = "Team {n}"\ntoken = "12345678"\n' for n in range(1025))
    (message,) = complaint(folder_with(tmp_path, teams=teams))
    assert message.startswith("teams.toml:1: team = [")
    assert message.endswith("expected at most 1024, not 1025")
    assert len(message) < 250


def test_teams_in_the_order_of_the_file(tmp_path: Path) -> None:
    contest = load_contest(folder_with(tmp_path, teams=OTHER + TEAM + 'classic_address = "::1"\nclassic = true\n'))
    assert list(contest.teams) == [2, 1]
    assert contest.teams[1].classic_address == "::1"
    assert contest.team_name(2) == "Blaise"


def test_a_team_has_one_seat_unless_it_is_given_more(tmp_path: Path) -> None:
    contest = load_contest(folder_with(tmp_path, teams=OTHER + TEAM + "seats = 16\n"))
    assert [(team.id, team.seats) for team in contest.teams.values()] == [(2, 1), (1, 16)]
    assert contest.team_name(3) == "team 3"  # results may know teams that have been taken out


def test_a_folder_without_a_contest(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no contest\.toml here; make a contest with: getstep-server init"):
        load_contest(tmp_path / "nowhere")
    (tmp_path / "contest.toml").write_text(CONTEST + HOP)
    assert complaint(tmp_path) == ["teams.toml: No such file or directory"]
