"""A freeze and its reveal in a real browser, with a restart of the page in between."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from getstep_server.config.contest import load_contest
from getstep_server.storage.contest_state import tournament_of
from tests.browser.pages import LAPTOP, PHONE, Visitor, barriers, expect_text, no_sideways_scrolling
from tests.e2e.programs import Program
from tests.server.made_up import make_up

NAMES = ("Ada", "Blaise", "Charles", "Dorothy", "Edsger", "A team whose name has as many letters as one has")
EVENT = {"game": "hop", "settings": {"legs": 1}}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Fifteen matches, of which the last four are hidden."""
    return make_up(tmp_path / "autumn", [EVENT], NAMES, freeze=11).folder


@pytest.fixture
def host(folder: Path) -> Iterator[Host]:
    one = Host(folder)
    yield one
    one.reveal.end()


class Host:
    """The host's terminal, in which the reveal runs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.start()

    def start(self) -> None:
        """Start the command, and read the addresses that it prints."""
        command = [sys.executable, "-m", "getstep_server", "reveal", str(self.folder)]
        self.reveal = Program([*command, "--host", "127.0.0.1", "--port", "0"])
        self.url = self.reveal.expect(r"^Live page .*: (http://\S+)/reveal$")[1]
        self.steering = self.reveal.expect(r"^(http://\S+/reveal#key=\S+)$")[1]

    def restart(self) -> None:
        """Kill the command, and start it again."""
        self.reveal.end()
        self.start()


def final_order(folder: Path) -> list[str]:
    tournament = tournament_of(load_contest(folder))
    return [tournament.contest.team_name(row.team) for row in tournament.tables().events[1]]


def test_the_hall_sees_the_results_one_by_one(host: Host, visitor: Visitor) -> None:
    phone = visitor.open(host.url, PHONE, color_scheme="dark")
    expect_text(phone, ".freeze", "4 results are hidden")
    expect_text(phone, ".results li", "the result is hidden")
    assert no_sideways_scrolling(phone)
    assert barriers(phone) == []

    projector = visitor.open(host.steering, LAPTOP)
    expect_text(projector, ".reveal-status", "4 results still hidden")
    assert "key" not in projector.url
    onlooker = visitor.open(f"{host.url}/reveal", PHONE)
    expect_text(onlooker, ".reveal-status", "4 results still hidden")
    assert onlooker.locator(".buttons button:visible").count() == 0
    onlooker.keyboard.press("Space")
    onlooker.keyboard.press("End")

    projector.keyboard.press("Space")
    for page in (projector, onlooker):
        expect_text(page, ".reveal-status", "3 results still hidden")
        assert page.locator(".reveal-latest p").count() == 1
        assert no_sideways_scrolling(page)
        assert barriers(page) == []
    projector.get_by_role("button", name="Next result").click()
    expect_text(projector, ".reveal-status", "2 results still hidden")
    expect_text(phone, ".freeze", "4 results are hidden")  # the other pages wait for the end


def test_it_goes_on_after_a_restart_and_ends_the_freeze(host: Host, visitor: Visitor) -> None:
    projector = visitor.open(host.steering, LAPTOP)
    expect_text(projector, ".reveal-status", "4 results still hidden")
    projector.keyboard.press("ArrowRight")
    expect_text(projector, ".reveal-status", "3 results still hidden")
    projector.close()
    host.restart()
    projector = visitor.open(host.steering, LAPTOP, reduced_motion="reduce")
    expect_text(projector, ".reveal-status", "3 results still hidden")
    projector.keyboard.press("End")
    order = final_order(host.folder)
    expect_text(projector, ".reveal-status", f"{order[0]} is first")
    assert projector.locator(".reveal-table tbody th").all_inner_texts() == order
    assert tournament_of(load_contest(host.folder)).frozen_at is None
    page = visitor.open(host.url, LAPTOP)
    page.wait_for_selector(".results li .won")
    assert page.locator(".freeze:visible").count() == 0


def test_an_old_key_steers_nothing(host: Host, visitor: Visitor) -> None:
    visitor.tolerated = ("error: Failed to load resource: the server responded with a status of 403",)
    page = visitor.open(f"{host.url}/reveal#key={'x' * 32}", LAPTOP)
    expect_text(page, ".reveal-status", "4 results still hidden")
    page.keyboard.press("End")
    expect_text(page, ".alert", "Only the host can do this")
    expect_text(page, ".reveal-status", "4 results still hidden")
