"""A person who plays a friendly match against the bot of a team, in a real browser."""

from __future__ import annotations

import re
import shlex
import sys
from typing import TYPE_CHECKING

import pytest

from tests.support.browser import PHONE, Visitor, barriers, expect_text, no_sideways_scrolling, play_on
from tests.support.contests import make_contest, token_of
from tests.support.paced_contest import BOT, Stage

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.processes import Programs

EVENT = {"game": "pseudo_tonga", "options": {"size": 6}, "settings": {"legs": 1}}


@pytest.mark.long
def test_a_person_plays_a_friendly_match_to_the_end_and_the_contest_does_not_notice(
    programs: Programs, tmp_path: Path, visitor: Visitor
) -> None:
    folder = make_contest(tmp_path / "contest", 2, EVENT, on_disk=True, patient=True).folder
    stage = Stage(programs, folder, 1, moves=0)
    stage.server.expect("Team 1")
    page = visitor.open(f"{stage.url}play", PHONE)
    expect_text(page, "section[aria-labelledby=friendly-title]", "No bot is here for friendly matches now")
    gate = tmp_path / "gate"
    gate.write_text("1000")
    bot = tmp_path / "my_bot.py"
    bot.write_text(BOT.format(gate=str(gate)))
    command = shlex.split(page.locator("section[aria-labelledby=friendly-title] code").inner_text())
    assert command[:4] == ["getstep", "play", "my_bot.py", "--friendly"]
    who = ["--team", "1", "--token", token_of(1)]
    friend = programs.start(sys.executable, "-m", *command, *who, cwd=tmp_path)
    friend.expect("People can play friendly matches")
    page.reload()
    form = page.locator("form[action='/play/friendly']")
    assert no_sideways_scrolling(page)
    assert barriers(page) == []
    form.locator("[name=team]").select_option("1")
    form.get_by_role("button", name="Play").click()
    page.wait_for_selector(".square.can")
    expect_text(page, "#title", "Friendly match, .*You against Team 1")
    play_on(page, 1)
    expect_text(page, "#notes", "You: ")
    said = play_on(page)
    assert re.match("^(You won|You lost|A draw): ", said), said
    friend.expect("Friendly match 1: pseudo_tonga .* It counts nowhere")
    friend.expect("Match 1: (won|lost|a draw)")
    assert stage.bots[0].running
    assert "Match 1" not in stage.bots[0].output
    assert "replaced" not in stage.bots[0].output
    friend.end()
    page.goto(f"{stage.url}play")
    expect_text(page, "section[aria-labelledby=friendly-title]", "To offer your team's bot, type")
