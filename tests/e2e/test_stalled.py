"""A student's bot in an endless loop: the host sees it, its client says where it is, and the contest continues."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import getstep_bots

if TYPE_CHECKING:
    from tests.support.contests import MakeContest
    from tests.support.processes import Programs

BOT = Path(str(getstep_bots.__file__)).with_name("random_bot.py")
LOOP = """\
def get_step(board, is_black):
    while True:
        board = board
"""


@pytest.mark.long
def test_a_bot_in_an_endless_loop(
    programs: Programs, make_contest: MakeContest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("getstep_server.runtime.presence.RECOVERY_SECONDS", 0.0)  # it is stalled in both matches
    loop = tmp_path / "loop.py"
    loop.write_text(LOOP, encoding="utf-8")
    server = programs.serve_in_thread(make_contest(2, event={"move_seconds": 0.3}))
    hung = programs.play(server, loop, 1)
    programs.play(server, BOT, 2)
    server.expect(
        r"^#1 Team 1 is stalled: 3 limits missed and nothing received; its turns are skipped until it answers$"
    )
    server.expect(
        r"^Team 1 does not answer: 3 limits missed in silence, now in #1\. Does its bot hang\? Its author"
    )
    hung.expect(
        r"get_step has taken .*, over the limit of 0\.3 s, and is still running\. It is at loop\.py line [23]$"
    )
    hung.expect(r"3 limits; your bot is stalled: .*\. It is at loop\.py line [23]$")
    assert server.wait() == 0
    server.expect(r"^\[2/2\] #2 ")
    assert server.complaints == []
