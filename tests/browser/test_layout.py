"""What must be in view on each page, at the sizes of phones, tablets, laptops and projectors."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.browser import LAPTOP, PHONE, TABLET, WALL, Visitor, barriers, expect_text, no_sideways_scrolling
from tests.support.open_boards import OpenBoards, open_boards
from tests.support.processes import Program
from tests.support.random_results import make_up

LONG = "A team whose name has just as many letters as a name may have ..."[:64]
NAMES = ("Ada", LONG, "B", *(f"Team {n}" for n in range(4, 13)))
FIVE = [{"game": game} for game in ("longest_path", "chain_reaction", "pseudo_tonga", "hop", "linkage")]
SIZES = (PHONE, TABLET, LAPTOP, WALL)


@contextmanager
def shown(folder: Path, boards: int = 0, moves: int = 30) -> Iterator[tuple[str, OpenBoards]]:
    """Serve a contest with so many boards that are being played; yield its address and the boards."""
    with open_boards(folder, boards, moves) as found:
        command = [sys.executable, "-m", "getstep_server", "web", str(folder), "--host", "127.0.0.1", "--port", "0"]
        program = Program(command)
        yield program.expect(r"^Live page .*: (http://\S+)/$")[1], found
        program.end()


@pytest.fixture(scope="module")
def five_events(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Twelve teams in five events, of which eight matches are being played."""
    made = make_up(tmp_path_factory.mktemp("five") / "contest", FIVE, NAMES, most=140)
    with shown(made.folder, 8) as (url, _):
        yield url


def box(page: Any, selector: str, place: int = 0) -> dict[str, float]:
    """Return where an element is in the window: x, y, width and height."""
    found: dict[str, float] = page.locator(selector).nth(place).bounding_box()
    return found


def is_inside(page: Any, selector: str, place: int = 0) -> bool:
    """True if the whole element is in the window, without scrolling."""
    where, size = box(page, selector, place), page.viewport_size
    right, bottom = where["x"] + where["width"], where["y"] + where["height"]
    return where["x"] >= 0 and where["y"] >= 0 and right <= size["width"] and bottom <= size["height"]


def cut_columns(page: Any, selector: str) -> list[str]:
    """Return the headings of a table that are outside of its place, or not shown although they are needed."""
    found: list[str] = page.locator(selector).evaluate("""box => {
      const edge = box.getBoundingClientRect().right + 1;
      const heads = [...box.querySelectorAll("thead th")];
      const shown = heads.filter((head) => head.offsetWidth);
      const needed = heads.filter((head) => ["#", "team", "points", "total"].includes(head.textContent));
      return [...shown.filter((head) => head.getBoundingClientRect().right > edge),
              ...needed.filter((head) => !head.offsetWidth)].map((head) => head.textContent);
    }""")
    return found


def test_rank_team_and_total_are_in_view_at_each_width(five_events: str, visitor: Visitor) -> None:
    page = visitor.open(five_events, WALL)
    page.locator(".large svg").wait_for()
    assert box(page, ".large .board")["width"] > 500
    assert box(page, ".columns")["width"] > 0.95 * WALL[0]
    assert page.locator(".fit thead th:visible").all_inner_texts()[2:7] == [
        *("Longest Path", "Chain Reaction", "Pseudo-Tonga", "Hop", "Linkage"),
    ]
    for path in ("/", "/event/1"):
        page.goto(five_events + path)
        page.locator(".fit tbody tr").first.wait_for()
        for width, height in SIZES:
            page.set_viewport_size({"width": width, "height": height})
            assert cut_columns(page, ".fit") == [], (path, width)
            assert no_sideways_scrolling(page), (path, width)
    page.set_viewport_size(dict(zip(("width", "height"), PHONE, strict=True)))
    page.get_by_role("button", name="more columns").click()
    assert page.locator(".fit thead th:visible").count() == page.locator(".fit thead th").count()
    assert barriers(page) == []


def test_the_foremost_board_is_large_and_in_view(five_events: str, visitor: Visitor) -> None:
    page = visitor.open(five_events, LAPTOP, color_scheme="dark")
    page.locator(".large svg").wait_for()
    assert is_inside(page, ".large .plate", 0)
    assert is_inside(page, ".large .plate", 1)
    widths = [box(page, ".card .board", place)["width"] for place in range(8)]
    assert page.locator(".large").count() == 1
    assert box(page, ".large .board")["width"] > 1.8 * min(widths)
    expect_text(page, ".card-head .event", "Longest Path|Chain Reaction|Pseudo-Tonga|Hop|Linkage")
    assert barriers(page) == []
    page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
    assert box(page, ".fit")["y"] < 1.2 * PHONE[1]  # the boards do not push the table down
