"""People who play on the page: against sample bots, in a real browser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from getstep_engines import GAMES
from getstep_server.config.event import game_heading
from tests.support.browser import (
    LAPTOP,
    PHONE,
    SCREENS,
    TABLET,
    Visitor,
    barriers,
    begin,
    expect_text,
    no_sideways_scrolling,
    play_on,
    squares,
)
from tests.support.contests import make_contest
from tests.support.paced_contest import Stage
from tests.support.processes import Programs

OVER = re.compile("^(You won|You lost|A draw): ")


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """A contest whose teams do not come; its page is shared by all tests."""
    folder = make_contest(
        tmp_path_factory.mktemp("play") / "contest", 2, on_disk=True, patient=True, event={"settings": {"legs": 1}}
    ).folder
    with pytest.MonkeyPatch.context() as monkeypatch:
        programs = Programs(monkeypatch)
        yield Stage(programs, folder, 0)
        programs.end()


@pytest.fixture(autouse=True)
def leave_the_board(stage: Stage, visitor: Visitor) -> Iterator[None]:
    """End the games of a test: a computer has four at a time, and one that nobody sees makes room after 10 s."""
    yield
    visitor.post(f"{stage.url}play/leave")


@pytest.mark.long
@pytest.mark.parametrize("game", GAMES)
def test_a_person_plays_to_the_end(stage: Stage, visitor: Visitor, game: str) -> None:
    page = visitor.open(stage.url)
    begin(page, stage.url, game)
    assert OVER.match(play_on(page))


@pytest.mark.long
def test_an_illegal_click_is_explained_and_costs_nothing(stage: Stage, visitor: Visitor) -> None:
    page = visitor.open(stage.url)
    begin(page, stage.url, "hop")
    page.get_by_role("button", name="row 0, column 1: empty").click()
    expect_text(page, "#why", r"\(0, 1\) is not one of Black's pieces")
    expect_text(page, "#say", "^Your turn")
    assert page.locator("#notes li").count() == 0
    page.get_by_role("button", name="row 2, column 2: ").click()
    page.get_by_role("button", name=re.compile("row 2, column 3: .*, can be picked")).click()
    expect_text(page, "#notes", r"You: 2,2-2,3")


@pytest.mark.long
def test_a_hop_goes_square_by_square(stage: Stage, visitor: Visitor) -> None:
    """Back and forth over one's own piece: a hop may go on, so it is played by a button or on its last square."""
    page = visitor.open(stage.url)
    begin(page, stage.url, "hop")
    page.get_by_role("button", name="row 0, column 0: ").click()
    page.get_by_role("button", name=re.compile("row 0, column 1: .*, can be picked")).click()
    expect_text(page, "#notes", "You: 0,0-0,1")
    expect_text(page, "#say", "^Your turn")
    page.get_by_role("button", name=re.compile("row 0, column 1: .*")).click()
    page.get_by_role("button", name=re.compile("row 2, column 1: .*, can be picked")).click()
    page.get_by_role("button", name="Play this move").click()
    expect_text(page, "#notes", "You: 0,1-2,1")


@pytest.mark.long
def test_a_reload_in_mid_game_resumes(stage: Stage, visitor: Visitor) -> None:
    page = visitor.open(stage.url)
    begin(page, stage.url, "pseudo_tonga")
    play_on(page, 5)
    expect_text(page, "#say", "^Your turn")
    before = squares(page)
    page.reload()
    expect_text(page, "#say", "^Your turn")
    assert squares(page) == before
    play_on(page, 1)
    assert squares(page) != before


@pytest.mark.long
def test_the_clock_of_the_player_on_turn_is_seen(stage: Stage, visitor: Visitor) -> None:
    page = visitor.open(stage.url)
    begin(page, stage.url, "hop")
    expect_text(page, "#plate0.turn .clock", "1:5[0-9]")
    begin(page, stage.url, "hop", time="contest")
    expect_text(page, "#plate0 .clock", r"[0-5]\.[0-9] s")


@pytest.mark.long
def test_the_keyboard_is_enough(stage: Stage, visitor: Visitor) -> None:
    page = visitor.open(stage.url)
    begin(page, stage.url, "hop")
    page.locator(".square").first.focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowRight", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    expect_text(page, "#say", "Pick the next square")
    page.keyboard.press("Escape")
    expect_text(page, "#say", r"^Your turn: you are Black\.$")
    page.keyboard.press("Enter")
    expect_text(page, "#say", "Pick the next square")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect_text(page, "#notes", "You: 2,2-2,3")


@pytest.mark.long
def test_a_person_may_resign(stage: Stage, visitor: Visitor) -> None:
    page = visitor.open(stage.url)
    begin(page, stage.url, "linkage", me="1")
    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Resign").click()
    expect_text(page, "#say", "^You lost: Fewer resigned")
    page.get_by_role("button", name="Leave the game").click()
    expect_text(page, "h1", "^Play$")


@pytest.mark.long
@pytest.mark.parametrize("game", GAMES)
def test_all_that_one_needs_is_on_one_screen(stage: Stage, visitor: Visitor, game: str) -> None:
    page = visitor.open(stage.url, PHONE)
    begin(page, stage.url, game)
    expect_text(page, "#say", "^Your turn")
    expect_text(page, "h1", f"^{game_heading(GAMES[game])}: You against ")
    for width, height in (PHONE, TABLET, LAPTOP):
        page.set_viewport_size({"width": width, "height": height})
        for part in ("#plate0", "#board svg", "#plate1", "#say", "#words"):
            box = page.locator(part).bounding_box()
            assert box["y"] >= 0, (part, width)
            assert box["y"] + box["height"] <= height, (part, width)
            assert box["x"] + box["width"] <= width, (part, width)


@pytest.mark.long
def test_one_sits_at_the_bottom_and_plays_again_on_the_other_side(stage: Stage, visitor: Visitor) -> None:
    page = visitor.open(stage.url, reduced_motion="reduce")  # a piece on its way is above no button
    page.on("dialog", lambda dialog: dialog.accept())
    begin(page, stage.url, "hop", me="1")
    expect_text(page, "#say", "^Your turn")
    assert in_order(page, "#plate0", "#board svg", "#plate1")
    corner, opposite = (page.locator(f"[data-row='{n}'][data-column='{n}']").bounding_box() for n in (0, 7))
    assert (corner["x"], corner["y"]) > (opposite["x"], opposite["y"])
    play_on(page, 3)  # clicks on squares that light up: they are where the pieces are seen
    seen, buttons = page.evaluate(MIDDLES, [".gs-piece", ".square:not([aria-label*=empty])"])
    assert len(seen) == len(buttons)
    assert all(any(abs(x - u) + abs(y - v) < 8 for u, v in buttons) for x, y in seen)
    numbers = page.locator("#notes li").evaluate_all("all => all.map((one) => one.value)")
    assert numbers == list(range(len(numbers), 0, -1))
    expect_text(page, "#say", "^Your turn")
    page.get_by_role("button", name="Resign").click()
    page.get_by_role("button", name="Rematch, with the other side").click()
    expect_text(page, "#say", "^Your turn: you are Black")
    assert in_order(page, "#plate1", "#board svg", "#plate0")
    assert barriers(page) == []


MIDDLES = """
selectors => selectors.map((selector) => [...document.querySelectorAll(selector)]
  .map((one) => one.getBoundingClientRect()).map((box) => [box.x + box.width / 2, box.y + box.height / 2]))
"""
"""The middles of all elements of each selector, at one time: the bot may be about to answer."""


def in_order(page: Any, *parts: str) -> bool:
    """Return True if these parts are one below the other."""
    places = [page.locator(part).bounding_box()["y"] for part in parts]
    return places == sorted(places)


@pytest.mark.long
@pytest.mark.parametrize("seen", SCREENS)
def test_the_board_keeps_nobody_out(stage: Stage, visitor: Visitor, seen: str) -> None:
    size, scheme = SCREENS[seen]
    page = visitor.open(f"{stage.url}play", size, color_scheme=scheme)
    assert no_sideways_scrolling(page)
    assert barriers(page) == []
    begin(page, stage.url, "linkage")
    page.get_by_role("radio", name="R").click()
    page.locator(".square.can").first.click()
    expect_text(page, "#say", "Pick the next square")
    assert no_sideways_scrolling(page)
    assert barriers(page) == []
