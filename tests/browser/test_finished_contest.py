"""The pages of a contest that is over, in a real browser: they keep nobody out, on a phone and on a wall."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from tests.browser.pages import LAPTOP, PHONE, WALL, Visitor, barriers, expect_text, no_sideways_scrolling
from tests.e2e.programs import Program
from tests.old_contests.contests import unpack
from tests.quick import quick

PAGES = {
    "/": ".results li",
    "/event/1": ".crosstable",
    "/match/3": ".rp-moves li",
    "/team/1": ".stack tbody tr",
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
    command = [sys.executable, "-m", "getstep_server", "web", str(folder), "--host", "127.0.0.1", "--port", "0"]
    program = Program(command)
    yield program.expect(r"^Live page .*: (http://\S+)/$")[1]
    program.end()


@pytest.mark.parametrize("path", quick(PAGES, ["/"]))
def test_a_page_keeps_nobody_out(url: str, visitor: Visitor, path: str) -> None:
    for size, scheme in ((PHONE, "light"), (LAPTOP, "dark")):
        page = visitor.open(url + path, size, color_scheme=scheme)
        page.wait_for_selector(PAGES[path])
        assert no_sideways_scrolling(page), size
        assert barriers(page) == [], (size, scheme)


def test_the_wall_needs_no_scrolling(url: str, visitor: Visitor) -> None:
    page = visitor.open(f"{url}/wall", WALL)
    expect_text(page, ".wall-state", "The contest is over")
    assert page.locator(".wall-table tbody tr").count() == 5
    assert page.evaluate("document.documentElement.scrollHeight <= innerHeight")
    assert barriers(page) == []


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
