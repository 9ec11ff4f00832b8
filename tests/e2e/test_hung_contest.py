"""Contests in which bots hang: an endless loop costs one match, and all others are played."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.contests import MakeContest
from tests.support.hanging import GAME, SOURCES, build, play
from tests.support.processes import Programs

pytestmark = pytest.mark.long

LIMIT = 2.0

SAID = re.compile(
    r"^[gG]et_?[sS]tep has not returned, 1 s after its limit of 2 s \(match \d+, move \d+ of pseudo_tonga\)\."
    r" The client starts your (program|function) again; the contest goes on\.",
    re.MULTILINE,
)


@pytest.fixture(autouse=True)
def _shorter_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait 4 s for a bot that hangs, and not 12 s: here the clients start it again after 1 s, and not 10 s."""
    monkeypatch.setattr("getstep_server.runtime.presence.RECOVERY_SECONDS", 4.0)


def test_of_twenty_matches_nineteen_are_played(
    programs: Programs, make_contest: MakeContest, tmp_path: Path
) -> None:
    bot = build("python", tmp_path)
    contest = make_contest(2, event={**GAME, "move_seconds": LIMIT, "settings": {"legs": 20}})
    results, bots = play(programs, contest, {1: bot, 2: bot}, hang=[1])
    assert [result.reason for result in results] == ["missed_limit"] + ["finished"] * 19
    assert len(SAID.findall(bots[1].output)) == 1
    assert "has not returned" not in bots[2].output


def test_ten_bots_in_five_languages_that_all_hang_once(
    programs: Programs, make_contest: MakeContest, tmp_path: Path
) -> None:
    """All of 45 matches are played, and only those are lost by a missed limit in which a bot has hung."""
    commands = {}
    for number, language in enumerate(SOURCES):
        folder = tmp_path / language
        folder.mkdir()
        commands[2 * number + 1] = commands[2 * number + 2] = build(language, folder)
    contest = make_contest(10, event={**GAME, "move_seconds": LIMIT, "settings": {"legs": 1}})
    results, bots = play(programs, contest, commands, hang=list(commands))
    assert len(results) == 45
    assert {team: len(SAID.findall(bot.output)) for team, bot in bots.items()} == dict.fromkeys(commands, 1)
    hung = [result for result in results if result.reason == "missed_limit"]
    lost = [
        team for result in hung for team in result.match.teams if team != result.match.teams[result.winner or 0]
    ]
    assert sorted(lost) == list(commands)
    assert {result.reason for result in results if result.reason != "missed_limit"} == {"finished"}
