"""A freeze and its reveal in a real browser, with a restart of the page in between."""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from getstep_server.config.contest import load_contest
from getstep_server.storage.contest_state import tournament_of
from tests.support.browser import GONE, LAPTOP, PHONE, Visitor, barriers, expect_text, no_sideways_scrolling
from tests.support.contests import make_contest
from tests.support.paced_contest import Stage
from tests.support.processes import Program
from tests.support.random_results import make_up

if TYPE_CHECKING:
    from tests.support.processes import Programs

NAMES = ("Ada", "Blaise", "Charles", "Dorothy", "Edsger", "A team whose name has as many letters as one has")
EVENT = {"game": "hop", "settings": {"legs": 1}}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Fifteen matches, of which the last four are hidden."""
    return make_up(tmp_path / "autumn", [EVENT], NAMES, freeze=11, moves=20).folder


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


@pytest.mark.long
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

    expect_text(projector, ".reveal-board", "The final board of each match will be here")
    following = projector.locator(".reveal-next .pair").inner_text()
    look = projector.evaluate("performance.getEntriesByType('resource').map((one) => one.name)")
    assert [name for name in look if name.endswith("/look/hop.json")]  # before it is needed
    table = projector.locator(".reveal-table").bounding_box()
    order = projector.locator(".reveal-table tbody th a").all_inner_texts()
    projector.keyboard.press("Space")
    for page in (projector, onlooker):
        expect_text(page, ".reveal-status", "3 results still hidden")
        assert page.locator(".reveal-latest p").count() == 1
        page.locator(".reveal-board svg.gs-board").first.wait_for()
        assert page.locator(".reveal-board .gs-piece").count() > 18  # all pieces, and both parts of the score's bar
        expect_text(page, ".reveal-board .card-head", "move 20")
        said = page.locator(".reveal-latest .pair").inner_text()
        assert re.sub("[0½1]–[0½1]", "?–?", said) == following
        assert no_sideways_scrolling(page)
        assert barriers(page) == []
    assert projector.locator(".reveal-latest .why").count() == 1
    assert projector.locator(".reveal-table").bounding_box() == table  # nothing jumps
    moves = {name: place for place, name in enumerate(order)}
    for row in projector.locator(".reveal-table tbody tr").all():
        place, name = row.evaluate("row => row.sectionRowIndex"), row.locator("th a").inner_text()
        arrow = row.locator(".up, .down")
        assert arrow.count() == (moves[name] != place)
        if moves[name] != place:
            direction = "▲" if place < moves[name] else "▼"
            assert arrow.inner_text().split() == [direction, str(abs(place - moves[name]))]
    projector.get_by_role("button", name="Next result").click()
    expect_text(projector, ".reveal-status", "2 results still hidden")
    expect_text(phone, ".freeze", "4 results are hidden")  # the other pages wait for the end


@pytest.mark.long
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
    assert projector.locator(".reveal-table tbody th a").all_inner_texts() == order
    assert tournament_of(load_contest(host.folder)).frozen_at is None
    page = visitor.open(host.url, LAPTOP)
    page.wait_for_selector(".results li .won")
    assert page.locator(".freeze:visible").count() == 0


@pytest.mark.long
def test_an_old_key_steers_nothing(host: Host, visitor: Visitor) -> None:
    visitor.tolerated = ("error: Failed to load resource: the server responded with a status of 403",)
    page = visitor.open(f"{host.url}/reveal#key={'x' * 32}", LAPTOP)
    expect_text(page, ".reveal-status", "4 results still hidden")
    page.keyboard.press("End")
    expect_text(page, ".alert", "Only the host can do this")
    expect_text(page, ".reveal-status", "4 results still hidden")


# --- a contest that is played ----------------------------------------------------------------------------------


@pytest.fixture
def stage(programs: Programs, tmp_path: Path) -> Stage:
    """Two teams that play two matches of hop, up to move 4."""
    return Stage(programs, make_contest(tmp_path / "played", on_disk=True, patient=True).folder, 2, moves=4)


@pytest.mark.long
def test_a_contest_that_is_played_is_frozen_and_stays_so(stage: Stage, visitor: Visitor) -> None:
    visitor.tolerated = GONE
    page = visitor.open(stage.url)
    expect_text(page, ".card .card-head", "move 4")
    freeze = Program([sys.executable, "-m", "getstep_server", "freeze", str(stage.folder)])
    freeze.expect("^On record: results are hidden from the page")
    freeze.end()
    expect_text(page, ".freeze", "The table is as it was at the freeze")
    expect_text(page, ".main .note", "Being played now: Team")
    assert page.locator(".card:visible").count() == 0
    match = page.locator(".main .note a").first.get_attribute("href")
    one = visitor.open(f"{stage.url.rstrip('/')}{match}")
    expect_text(one, ".verdict", "Being played now; the freeze hides its board")
    assert one.locator(".card:visible, .moves:visible, button:visible").count() == 0
    os.kill(stage.page_process(), signal.SIGKILL)
    again = visitor.open(stage.url)  # it waits until there is a page again
    expect_text(again, ".freeze", "The table is as it was at the freeze")
    assert again.locator(".card:visible").count() == 0
    stage.play_to(1000)
    stage.server.wait()
    host = Host(stage.folder)
    try:
        projector = visitor.open(host.steering, LAPTOP)
        expect_text(projector, ".reveal-status", "still hidden")
        projector.keyboard.press("End")
        expect_text(projector, ".reveal-status", "is first")
        assert projector.locator(".reveal-table tbody th a").all_inner_texts() == final_order(stage.folder)
    finally:
        host.reveal.end()
