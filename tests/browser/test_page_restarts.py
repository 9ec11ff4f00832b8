"""The process of the page dies while people play and are logged in: their browsers go on with the next one."""

from __future__ import annotations

import os
import re
import signal
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.browser import GONE, Visitor, begin, expect_text, log_in, play_on, squares
from tests.support.contests import make_contest
from tests.support.interrupted_contest import wait_until
from tests.support.paced_contest import Stage

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.processes import Programs

EVENT = {"game": "pseudo_tonga", "options": {"size": 6}, "settings": {"legs": 1}}


def kill_page(stage: Stage) -> None:
    """Kill the process of the page, and wait for the next one."""
    dead = stage.page_process()
    os.kill(dead, signal.SIGKILL)
    wait_until(lambda: stage.page_process() != dead)


@pytest.mark.long
def test_boards_and_logins_outlive_the_page(programs: Programs, tmp_path: Path, visitor: Visitor) -> None:
    """A person who plays for a team, and one against a sample bot: both boards come back, with their clocks."""
    visitor.tolerated = GONE
    folder = make_contest(tmp_path / "contest", 2, EVENT, on_disk=True, patient=True).folder
    stage = Stage(programs, folder, 1, moves=1000)
    player = visitor.open(f"{stage.url}own")
    log_in(player, 2)
    expect_text(player, "h1", "Team 2")
    player.goto(f"{stage.url}play")
    player.get_by_role("button", name="Play for your team").click()
    player.wait_for_selector(".square.can")
    play_on(player, 2)
    expect_text(player, "#say", "^Your turn")
    guest = visitor.open(stage.url)
    begin(guest, stage.url, "hop")
    play_on(guest, 4)
    expect_text(guest, "#say", "^Your turn")
    before = {page: (squares(page), last_number(page)) for page in (player, guest)}
    for page in (player, guest):
        page.evaluate("document.getElementById('say').textContent = 'before'")
    kill_page(stage)
    for page in (player, guest):
        expect_text(page, "#say", "^Your turn")
        assert squares(page) == before[page][0]
        expect_text(page, ".plate.turn .clock", r"\d")
    assert last_number(guest) == before[guest][1]
    for page in (player, guest):
        play_on(page, 1)
        assert squares(page) != before[page][0]
    area = player.context.new_page()
    area.goto(f"{stage.url}own")
    expect_text(area, "h1", "Team 2")
    said = play_on(player)
    assert re.match("^(You won|You lost|A draw): ", said), said
    guest.get_by_role("button", name="Leave the game").click()
    assert stage.server.wait() == 0


def last_number(page: Any) -> int:
    return int(page.locator("#notes li").first.evaluate("(one) => one.value"))
