"""The host's console in a real browser: its link, a decision with its preview, on a phone and a laptop."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from getstep_server.config.contest import load_contest
from getstep_server.config.host_key import new_link
from getstep_server.storage.contest_state import tournament_of
from tests.support.browser import GONE, PHONE, SCREENS, Visitor, barriers, expect_text, no_sideways_scrolling
from tests.support.contests import make_contest
from tests.support.interrupted_contest import wait_until
from tests.support.processes import Program, free_port
from tests.support.random_results import make_up

if TYPE_CHECKING:
    from tests.support.processes import Programs


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    names, event = ["Ada", "Blaise", "Carl"], {"game": "hop", "settings": {"legs": 1}}
    folder = make_up(tmp_path / "half", [event], names, most=2).folder
    toml = folder / "contest.toml"
    toml.write_text(toml.read_text().replace("port = 0", "port = 7777", 1))  # slips name it
    return folder


@pytest.fixture
def url(folder: Path) -> Iterator[str]:
    command = [sys.executable, "-m", "getstep_server", "web", str(folder), "--host", "127.0.0.1", "--web-port", "0"]
    program = Program(command)
    yield program.expect(r"^Live page .*: (http://\S+)/$")[1]
    program.end()


@pytest.mark.long
def test_a_ruling_is_previewed_and_put_on_record(url: str, folder: Path, visitor: Visitor) -> None:
    page = visitor.open(f"{url}/host?key={new_link(folder)}")
    expect_text(page, "h1", "Host's console")
    assert page.url == f"{url}/host"
    page.get_by_text("Let a team lose a match", exact=True).click()
    form = page.locator("details[open] form")
    form.get_by_label("Match number").fill("1")
    form.get_by_label("Team: its name or its id").fill("Carl")
    form.get_by_label("Reason").fill("it used a phone")
    form.get_by_role("button", name="Preview").click()
    expect_text(page, "main", "Would be on record: match 1 .* is won by Blaise")
    expect_text(page, "main", "table: Blaise: rank")
    assert barriers(page) == []
    assert tournament_of(load_contest(folder)).decisions == []
    page.get_by_role("button", name="Put it on record").click()
    expect_text(page, "p.alert", "On record: match 1 .* is won by Blaise")
    assert [one.match for one in tournament_of(load_contest(folder)).decisions] == [1]
    page.reload()
    expect_text(page, "#part-log", "Carl forfeits: it used a phone")


@pytest.mark.long
@pytest.mark.parametrize("screen", SCREENS)
def test_it_fits_each_screen(url: str, folder: Path, visitor: Visitor, screen: str) -> None:
    size, scheme = SCREENS[screen]
    page = visitor.open(f"{url}/host?key={new_link(folder)}", size, color_scheme=scheme)
    expect_text(page, "h1", "Host's console")
    for one in page.locator("summary").all():
        one.click()
    assert barriers(page) == []
    assert no_sideways_scrolling(page)
    page.goto(f"{url}/host/slip/1")
    expect_text(page, "h1", "Ada")
    assert barriers(page) == []
    assert no_sideways_scrolling(page)
    other = visitor.open(f"{url}/start", size, color_scheme=scheme)
    visitor.tolerated = GONE
    other.goto(f"{url}/host")
    expect_text(other, "main", "Open the console by its link")
    assert barriers(other) == []


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="kills with SIGKILL")
def test_a_rehearsal_is_followed_stopped_and_ends_with_the_server(
    visitor: Visitor, programs: Programs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copies = tmp_path / "copies"
    copies.mkdir()
    monkeypatch.setenv("TMPDIR", str(copies))
    event = {"game": "hop", "settings": {"legs": 20}}  # it takes minutes
    folder = make_contest(tmp_path / "autumn", 12, event=event, on_disk=True).folder
    server = programs.serve(folder, "--web-port", str(free_port()))
    url = server.expect(r"^Live page.*: (http://\S+)/$")[1]
    link = server.expect(r"^Host's console, on this computer only: \S+\?key=(\S+)$")[1]
    page = visitor.open(f"{url}/host?key={link}", PHONE)
    other = visitor.open(f"{url}/host?key={new_link(folder)}")
    page.get_by_role("button", name="Rehearse").click()
    expect_text(page, "#part-rehearsal", "#2 ")
    expect_text(other, "#part-rehearsal", "#2 ")
    assert barriers(page) == []
    assert no_sideways_scrolling(page)
    assert len(list(copies.iterdir())) == 1
    other.get_by_role("button", name="Stop it").click()
    expect_text(page, "#part-rehearsal", "was stopped.*Standings after.*is unchanged")
    assert no_sideways_scrolling(page)
    assert list(copies.iterdir()) == []
    assert tournament_of(load_contest(folder)).place == 0

    page.get_by_role("button", name="Rehearse").click()
    expect_text(page, "#part-rehearsal", "#2 ")
    visitor.tolerated = GONE
    server.signal(signal.SIGKILL)
    wait_until(lambda: list(copies.iterdir()) == [])
