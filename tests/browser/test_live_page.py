"""The live page of a real contest, in a real browser."""

from __future__ import annotations

import os
import re
import signal
import time
from typing import TYPE_CHECKING

import pytest

from getstep_server.config.contestants_package import NAME as CONTESTANTS_PACKAGE
from tests.support.browser import GONE, SCREENS, Visitor, barriers, expect_text, no_sideways_scrolling
from tests.support.contests import make_contest
from tests.support.interrupted_contest import wait_until
from tests.support.paced_contest import Stage, is_running

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.processes import Programs

NAME = "<img src=x onerror=alert(1)>"


@pytest.fixture
def stage(programs: Programs, tmp_path: Path) -> Stage:
    """Two teams, one with a hostile name, that play hop up to move 4, and one team that does not come."""
    folder = make_contest(
        tmp_path / "contest", 3, on_disk=True, patient=True, event={"settings": {"legs": 1}}
    ).folder
    teams = folder / "teams.toml"
    teams.write_text(teams.read_text().replace('"Team 2"', f"'{NAME}'"))
    return Stage(programs, folder, 2, moves=4)


@pytest.mark.long
def test_the_page_follows_a_contest(stage: Stage, visitor: Visitor) -> None:
    page = visitor.open(stage.url)
    expect_text(page, ".card .card-head", "move 4")
    expect_text(page, ".card .plate.turn .clock", r"\d")
    expect_text(page, ".people", "Missing: Team 3")
    expect_text(page, ".card", re.escape(NAME))
    assert page.locator("img").count() == 0
    page.wait_for_selector(".card .board svg")
    assert page.locator(".card .board svg").count() == 1
    match = page.locator(".card .card-head").first.get_attribute("href")
    back = visitor.open(f"{stage.url.rstrip('/')}{match}#move=3")
    expect_text(back, ".rp-count", "^3 / 4$")
    back.keyboard.press("ArrowLeft")
    expect_text(back, ".rp-count", "^2 / 4$")
    back.locator(".card").wait_for(state="hidden")
    stage.play_to(6)
    expect_text(page, ".card .card-head", "move 6")
    expect_text(back, ".rp-count", "^2 / 6$")  # the reader stays at the move
    expect_text(back, ".rp-result", "Not over")
    back.get_by_role("button", name="Back to the live board").click()
    back.locator(".card .board svg").wait_for()
    back.locator(".rp").wait_for(state="hidden")
    back.get_by_role("button", name="Step through the moves").click()
    expect_text(back, ".rp-count", "^2 / 6$")
    assert barriers(back) == []
    stage.play_to(1000)
    expect_text(page, ".results li", "[0½1]–[0½1]")
    expect_text(page, ".state", "1 of 3 matches")
    assert (stage.folder / CONTESTANTS_PACKAGE).exists()  # the slips name it, and nobody has to write slips
    expect_text(back, ".rp-result", "wins|draw")
    expect_text(back, ".rp-count", r"^2 / \d\d+$")
    back.get_by_role("button", name="Back to the live board").wait_for(state="hidden")

    # Who comes after the end gets the replay at once: the page's clock stands still, but for a tenth of a second.
    late = visitor.open(f"{stage.url.rstrip('/')}{match}", clock=True)
    late.clock.install()
    late.clock.pause_at(time.time() + 3600)
    late.reload()
    expect_text(late, ".verdict", "wins|draw")
    late.clock.run_for(100)
    expect_text(late, ".rp-result", "wins|draw")


@pytest.mark.long
def test_a_page_that_is_killed_comes_back(stage: Stage, visitor: Visitor) -> None:
    page = visitor.open(stage.url)
    visitor.tolerated = GONE
    expect_text(page, ".card .card-head", "move 4")
    killed = stage.page_process()
    os.kill(killed, signal.SIGKILL)
    stage.server.expect(r"^! The live page ended with code -9; it starts again in 1 s$")
    stage.play_to(8)
    expect_text(page, ".card .card-head", "move 8")
    assert stage.page_process() != killed
    assert not is_running(killed)


def test_the_page_ends_with_a_server_that_is_killed(stage: Stage) -> None:
    page = stage.page_process()
    stage.server.signal(signal.SIGKILL)
    wait_until(lambda: not is_running(page))


@pytest.mark.long
@pytest.mark.parametrize("seen", SCREENS)
def test_the_overview_keeps_nobody_out(stage: Stage, visitor: Visitor, seen: str) -> None:
    size, scheme = SCREENS[seen]
    page = visitor.open(stage.url, size, color_scheme=scheme)
    expect_text(page, ".card .card-head", "move 4")
    assert no_sideways_scrolling(page)
    assert barriers(page) == []
