"""A server that dies again and again, at named points and at random moments: nothing that it announced is lost.

GETSTEP_CRASHES=300 kills it so often at random moments and 10 times at each point, in games of several kinds.
"""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Iterator
from dataclasses import replace
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.crashes import Crashes, Figures, Kill, Plan
from tests.support.ledger import on_record
from tests.support.scripts.crash_server import AT_START, POINTS

if TYPE_CHECKING:
    from tests.support.processes import Programs

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="kills with SIGKILL")

PLANS = [
    Plan("linkage", 8, 0.015),  # has passes
    Plan("chain_reaction", 6, 0.01),
    Plan("pseudo_tonga", 6, 0.01, {"event": {"budget_seconds": 600.0}}),  # one clock for a whole match
    Plan("hop", 5, 0.002),  # many turns, and faults that only cost one
]
USUAL = 10
CRASHES = int(os.environ.get("GETSTEP_CRASHES", USUAL))
PLAYED = PLANS if CRASHES > USUAL else PLANS[:1]
AT_RANDOM = ceil(CRASHES / len(PLAYED))
AT_EACH_POINT = ceil(CRASHES / 30 / len(PLAYED))


@pytest.fixture(scope="module")
def figures() -> Iterator[Figures]:
    """The figures of all tests here, printed at the end."""
    counted = Figures()
    yield counted
    print(counted)


def drawn_kills(dice: random.Random) -> list[Kill]:
    """Kills in any order; but there is something to resume only where a match was begun."""
    kills = [Kill(seconds=dice.uniform(0, 0.6), starting=n % 5 == 0) for n in range(AT_RANDOM)]
    for point in POINTS:
        if point not in AT_START:
            most = 40 if point.startswith("turn") else 1 if point.startswith("journal") else 2
            kills += [Kill(point, dice.randint(1, most)) for _ in range(AT_EACH_POINT)]
    dice.shuffle(kills)
    for kill in [kill for kill in kills if kill.point == "turn-written"]:
        kills.insert(kills.index(kill) + 1, Kill("journal-resumed"))
    return kills


@pytest.mark.parametrize("plan", PLAYED, ids=lambda plan: plan.game)
@pytest.mark.long
def test_nothing_announced_is_lost(programs: Programs, tmp_path: Path, figures: Figures, plan: Plan) -> None:
    undisturbed = Crashes(programs, tmp_path / "undisturbed", replace(plan, think_seconds=0.0), figures)
    undisturbed.survive([])
    expected = on_record(undisturbed.folder).played
    assert len(expected) == plan.teams * (plan.teams - 1)

    kills = drawn_kills(random.Random(plan.game))
    contests = 0
    while kills:
        contests += 1
        disturbed = Crashes(programs, tmp_path / f"disturbed-{contests}", plan, figures)
        left = len(kills)
        disturbed.survive(kills)
        assert len(kills) < left
        assert on_record(disturbed.folder).played == expected
        assert disturbed.table == undisturbed.table
        assert any(game["resumed"] for game in on_record(disturbed.folder).games)


@pytest.mark.parametrize("point", [pytest.param("pairings-written", marks=pytest.mark.long), "pairings-stored"])
def test_pairings_are_stored_as_a_whole_or_not_at_all(
    programs: Programs, tmp_path: Path, figures: Figures, point: str
) -> None:
    for n in range(AT_EACH_POINT * len(PLAYED)):
        contest = Crashes(programs, tmp_path / f"contest-{n}", Plan("linkage", 2, 0.0), figures)
        kills = [Kill(point)]
        contest.survive(kills)
        assert not kills
        assert sorted(on_record(contest.folder).played) == [1, 2]
