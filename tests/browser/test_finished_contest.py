"""The pages of a contest that is over, in a real browser: they keep nobody out, on a phone and on a wall."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.old_contests.contests import unpack
from tests.support.browser import LAPTOP, PHONE, WALL, Visitor, barriers, expect_text, no_sideways_scrolling
from tests.support.processes import Program
from tests.support.random_results import make_up

PAGES = {
    "/": ".results li",
    "/event/1": ".crosstable",
    "/match/3": ".rp-moves li",
    "/team/1": ".stack tbody tr",
    "/team/1/against/2": ".stack tbody tr",
    "/start": "pre",
    "/rules": "h2",
    "/guide": "h2",
}
"""The pages, each with an element that is there once its data have come."""


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The pages of the stored contest, served by the command."""
    folder = tmp_path_factory.mktemp("finished") / "contest"
    unpack("0.1.0-before-settings/finished", folder)
    with served(folder) as found:
        yield found


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve the pages of a contest, and yield their address."""
    command = [sys.executable, "-m", "getstep_server", "web", str(folder), "--host", "127.0.0.1", "--port", "0"]
    program = Program(command)
    yield program.expect(r"^Live page .*: (http://\S+)/$")[1]
    program.end()


@pytest.mark.long
@pytest.mark.parametrize("path", PAGES)
def test_a_page_keeps_nobody_out(url: str, visitor: Visitor, path: str) -> None:
    for size, scheme in ((PHONE, "light"), (LAPTOP, "dark")):
        page = visitor.open(url + path, size, color_scheme=scheme)
        page.wait_for_selector(PAGES[path])
        assert no_sideways_scrolling(page), size
        assert barriers(page) == [], (size, scheme)


@pytest.mark.long
def test_the_page_of_an_event_links_the_orders_of_each_round(tmp_path: Path, visitor: Visitor) -> None:
    ladder = {"game": "linkage", "format": "ladder", "settings": {"rounds": 1, "games": 2}}
    with served(make_up(tmp_path / "ladder", [ladder], ["Ada", "Blaise"]).folder) as url:
        page = visitor.open(f"{url}/event/1", LAPTOP)
        address = page.get_by_role("link", name="Round 1: all orders").get_attribute("href")
        assert "Ada (M) - Blaise (F)" in page.request.get(f"{url}{address}").text()


@pytest.mark.long
def test_the_forfeits_of_absent_teams_are_one_line(tmp_path: Path, visitor: Visitor) -> None:
    """They hide no result, and no absent team is ranked before it has come."""
    names = [f"Team {number}" for number in range(1, 8)]
    folder = make_up(tmp_path / "absent", [{"game": "hop"}], names, most=24, absent=(5, 6, 7)).folder
    with served(folder) as url:
        page = visitor.open(url, LAPTOP)
        expect_text(page, ".absence", "^3 teams absent: [0-9]+ forfeits$")
        shown = page.locator(".results li").all_inner_texts()
        assert shown
        assert not any("never_arrived" in text or re.search("Team [567]", text) for text in shown)
        rows = page.locator("tbody tr").all_inner_texts()
        assert [row.split()[0] for row in rows] == ["1", "2", "3", "4", "-", "-", "-"]
        assert barriers(page) == []
        expect_text(visitor.open(f"{url}/wall", WALL), ".absence", "^3 teams absent")


@pytest.mark.long
def test_the_wall_needs_no_scrolling(url: str, visitor: Visitor) -> None:
    page = visitor.open(f"{url}/wall", WALL)
    expect_text(page, ".wall-state", "The contest is over")
    assert page.locator(".wall-table tbody tr").count() == 5
    assert page.evaluate("document.documentElement.scrollHeight <= innerHeight")
    assert barriers(page) == []


@pytest.mark.long
def test_a_replay_steps_through_a_match(url: str, visitor: Visitor) -> None:
    page = visitor.open(f"{url}/match/3#move=2")
    expect_text(page, ".rp-count", r"2 / \d+")
    page.keyboard.press("ArrowRight")
    expect_text(page, ".rp-count", r"3 / \d+")
    assert page.locator(".rp-board svg").count() == 1


def test_one_can_walk_through_the_contest(url: str, visitor: Visitor) -> None:
    page = visitor.open(url)
    page.locator("tbody th a").first.click()
    page.wait_for_selector(".facts")
    page.locator(".stack a").first.click()
    page.wait_for_selector(".verdict:not([hidden]), .rp")
    page.locator(".bar .home").click()
    expect_text(page, ".state", "The contest is over")
