"""The contest that ``python -m benchmarks.contest`` plays: what its host makes, and does between two runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks.contest import EVENTS, make, next_round
from getstep_engines import GAMES
from getstep_server.config.contest import check_teams, load_contest


def ladder_rounds(folder: Path) -> Any:
    return next(table.settings["rounds"] for table in load_contest(folder).file.event if table.format == "ladder")


@pytest.mark.parametrize("teams", [6, 24])
def test_every_game_has_a_format_of_its_own_and_every_team_a_bot(tmp_path: Path, teams: int) -> None:
    bots = make(tmp_path / "contest", teams)
    contest = load_contest(tmp_path / "contest")
    check_teams(contest)
    assert {event.game.name for event in contest.events} == EVENTS.keys() == GAMES.keys()
    assert len({event.format.name for event in contest.events}) == len(GAMES)
    assert list(contest.teams) == list(range(1, teams + 1))
    assert list(bots) == [*contest.teams, teams + 1]
    assert ladder_rounds(tmp_path / "contest") == 1


def test_before_the_second_round_a_team_joins(tmp_path: Path) -> None:
    folder = tmp_path / "contest"
    bots = make(folder, 6)
    next_round(folder, 2, 6)
    contest = load_contest(folder)
    check_teams(contest)
    assert contest.teams.keys() == bots.keys()
    assert ladder_rounds(folder) == 2
