"""A person who plays for a team in a contest, in a real browser, against another team's bot."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.support.browser import PHONE, Visitor, barriers, expect_text, log_in, no_sideways_scrolling, play_on
from tests.support.contests import make_contest
from tests.support.paced_contest import Stage

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.processes import Programs

EVENT = {"game": "pseudo_tonga", "options": {"size": 6}, "settings": {"legs": 1}}


@pytest.mark.long
def test_a_person_plays_for_a_team_to_the_end(programs: Programs, tmp_path: Path, visitor: Visitor) -> None:
    folder = make_contest(tmp_path / "contest", 2, EVENT, on_disk=True, patient=True).folder
    stage = Stage(programs, folder, 1, moves=2)
    page = visitor.open(f"{stage.url}play", PHONE)
    page.get_by_role("link", name="Log in for your team").click()
    log_in(page, 2)
    page.get_by_role("link", name="Play for your team by hand").click()
    assert no_sideways_scrolling(page)
    assert barriers(page) == []
    page.get_by_role("button", name="Play for your team").click()
    page.wait_for_selector(".square.can")
    expect_text(page, "#title", "Team 1|Team 2")
    expect_text(page, ".plate.turn .clock", r"\d")
    play_on(page, 1)
    expect_text(page, "#say", "^Your turn")
    taken = page.locator(".square:not(.can)").first
    taken.click()
    expect_text(page, "#why", "is occupied")
    expect_text(page, "#say", "^Your turn")
    assert no_sideways_scrolling(page)
    assert barriers(page) == []
    stage.play_to(1000)
    said = play_on(page)
    assert re.match("^(You won|You lost|A draw): ", said), said
    assert stage.server.wait() == 0
    assert "Team 2" in stage.server.output


@pytest.mark.long
def test_a_bot_keeps_its_seat_unless_the_person_takes_it(
    programs: Programs, tmp_path: Path, visitor: Visitor
) -> None:
    folder = make_contest(tmp_path / "contest", 2, EVENT, on_disk=True, patient=True).folder
    stage = Stage(programs, folder, 1, moves=0)
    stage.server.expect("Team 1")
    page = visitor.open(f"{stage.url}own")
    log_in(page, 1)
    expect_text(page, "#view", "Connected with 1 bot")
    page.goto(f"{stage.url}play")
    page.get_by_label("Take its seat").check()
    page.get_by_role("button", name="Play for your team").click()
    stage.bots[0].expect("replaced|taken this seat")
    expect_text(page, "#say", "Waiting for the next match|is thinking|Your turn")
    page.get_by_role("button", name="Leave the game").click()
    expect_text(page, "h1", "^Play$")
