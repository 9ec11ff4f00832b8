"""A ladder, a run of the server for each round: a team joins before the second one, one leaves before the third."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from getstep_server.bot_runner.sample_bots import sample_bots
from getstep_server.config.contest import load_contest
from getstep_server.storage.contest_state import results_of, tournament_of
from getstep_server.storage.store import Store
from getstep_server.storage.verify import verify
from tests.support.contests import token_of

if TYPE_CHECKING:
    from getstep_server.records.result import Result
    from tests.support.contests import MakeContest
    from tests.support.processes import Programs

LADDER = {"game": "linkage", "format": "ladder", "settings": {"games": 2, "rounds": 1}}
JOINS, LEAVES = 5, 2


def play(programs: Programs, folder: Path, teams: list[int]) -> str:
    """Run the server with all its bots to the contest's end, and return its output."""
    server = programs.serve(folder)
    bots = [programs.play(server, sample_bots()["random_bot"], team) for team in teams]
    assert server.wait() == 0
    assert [bot.wait() for bot in bots] == [0] * len(bots)
    assert server.complaints == []
    return server.output


def another_round(folder: Path) -> None:
    path = folder / "contest.toml"
    before = path.read_text()
    path.write_text(re.sub(r"rounds = (\d)", lambda found: f"rounds = {int(found[1]) + 1}", before))


def join(folder: Path, team: int) -> None:
    with (folder / "teams.toml").open("a") as file:
        file.write(f'[[team]]\nid = {team}\nname = "Team {team}"\ntoken = "{token_of(team)}"\n')


def leave(folder: Path, team: int) -> None:
    path = folder / "teams.toml"
    before, *teams = path.read_text().split("[[team]]\n")
    path.write_text("[[team]]\n".join([before, *(table for table in teams if f"id = {team}\n" not in table)]))


def climbed(order: list[int], played: list[Result]) -> list[int]:
    """Return the order after a round, by rules.md.

    Pairs from the top change places if the lower one has won more.
    """
    order = list(order)
    for place in range(len(order) - 1):
        upper, lower = order[place : place + 2]
        between = [result for result in played if set(result.match.teams) == {upper, lower}]
        won = [result.match.teams[result.winner] for result in between if result.winner is not None]
        if won.count(lower) > won.count(upper):
            order[place : place + 2] = [lower, upper]
    return order


@pytest.mark.long
def test_a_ladder_over_three_runs(programs: Programs, make_contest: MakeContest) -> None:
    folder = make_contest(4, LADDER)
    order = [1, 2, 3, 4]
    orders = []
    for round_ in (1, 2, 3):
        if round_ == 2:
            join(folder, JOINS)
            order.append(JOINS)
        elif round_ == 3:
            leave(folder, LEAVES)
            order.remove(LEAVES)
        output = play(programs, folder, sorted(order))
        played = [result for result in results_of(load_contest(folder)) if result.match.round == round_]
        assert [result.reason for result in played] == ["finished"] * 2 * (len(order) - 1)
        met = [(result.match.first, result.match.second) for result in played]
        assert sorted(met) == sorted(pair for a, b in pairwise(order) for pair in ((a, b), (b, a)))
        orders.append(order := climbed(order, played))
        table = re.split(r"^# .*\n", output, flags=re.MULTILINE)[-1].splitlines()
        assert [int(line.split()[2]) for line in table[: len(order)]] == order
        another_round(folder)
    assert orders[0] != [1, 2, 3, 4]  # somebody has climbed
    contest = load_contest(folder)
    assert tournament_of(contest).done == 6 + 8 + 6
    with Store(contest.database) as store:
        assert verify(contest, store).played == 20
