"""A contest in which every bot hangs once: an endless loop costs one match, and all others are played."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from tests.support.contests import MakeContest
from tests.support.hanging import GAME, SOURCES, build, play
from tests.support.processes import Programs

SAID = re.compile(
    r"^[gG]et_?[sS]tep has not returned, 1 s after its limit of 2 s \(match \d+, move \d+ of pseudo_tonga\)\."
    r" The client starts your (program|function) again; the contest goes on\.",
    re.MULTILINE,
)


@pytest.mark.long
def test_ten_bots_in_five_languages_that_all_hang_once(
    programs: Programs, make_contest: MakeContest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of 45 matches are played, and a bot loses by its hang at most the match in which it has hung.

    On a busy machine, where the server gives time back, a client may start its bot again before the limit ends.
    """
    # 12 s by default: here the clients start their bots again after 1 s, and not 10 s
    monkeypatch.setattr("getstep_server.runtime.presence.RECOVERY_SECONDS", 4.0)
    commands = {}
    for number, language in enumerate(SOURCES):
        folder = tmp_path / language
        folder.mkdir()
        commands[2 * number + 1] = commands[2 * number + 2] = build(language, folder)
    contest = make_contest(10, event={**GAME, "move_seconds": 2.0, "settings": {"legs": 1}})
    results, bots = play(programs, contest, commands, hang=list(commands), restart_after="1")
    assert {team: len(SAID.findall(bot.output)) for team, bot in bots.items()} == dict.fromkeys(commands, 1)
    assert len(results) == 45
    hung = [result for result in results if result.reason != "finished"]
    assert {result.reason for result in hung} <= {"missed_limit", "raised"}
    assert all(sum(result.faults) == 1 for result in hung)
    lost = Counter(result.match.teams[1 if result.winner == 0 else 0] for result in hung)
    assert set(lost.values()) <= {1}
