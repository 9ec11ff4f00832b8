"""A rehearsal from the host's console: a child process that plays a copy of a contest that has not begun."""

from __future__ import annotations

import html
import re
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
import trio

from getstep_server.children.log import LINE_CHARS
from getstep_server.config.host_key import new_link
from getstep_server.web import rehearsal
from getstep_server.web.host_access import COOKIE
from getstep_server.web.http import EventStream, Request
from tests.support.console import Host, refresh
from tests.support.contests import make_contest
from tests.support.patience import PATIENCE_SECONDS
from tests.support.random_results import half_played
from tests.support.site import Site, without_status


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_contest(tmp_path / "autumn", on_disk=True, event={"game": "hop", "settings": {"legs": 1}}).folder


@pytest.fixture
async def site(folder: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Site]:
    async with without_status(folder, monkeypatch) as site:
        yield site


class Follower:
    """The part `rehearsal` of the console, as a browser that follows the page has it."""

    def __init__(self, browser: Host) -> None:
        self._browser = browser
        self.part = ""
        self._news = trio.lowlevel.ParkingLot()

    async def run(self) -> None:
        browser = self._browser
        head = {"host": browser.name, "cookie": f"{COOKIE}={browser.cookie}"}
        stream = await browser.site.app(Request("GET", "/host/changes", {}, head, b"", "127.0.0.1"))
        assert isinstance(stream, EventStream)
        await stream.follow(self._take)

    async def _take(self, data: bytes) -> None:
        if data.startswith(b"data: "):
            self.part = msgspec.json.decode(data.removeprefix(b"data: ")).get("rehearsal", self.part)
            self._news.unpark_all()

    async def until(self, told: Callable[[str], Any]) -> list[str]:
        """Wait until the part's text is such, and return the lines of the output in it."""
        while not told(html.unescape(self.part)):
            await self._news.park()
        shown = re.search("<pre [^>]*>(.*)</pre>", self.part)
        return html.unescape(shown[1]).splitlines() if shown is not None else []


async def test_one_at_a_time_and_from_this_page_only(site: Site, folder: Path) -> None:
    browser = Host(site)
    await browser.open(new_link(folder))
    assert 'action="/host/rehearse"' in browser.page
    assert (await browser.ask("POST", "/host/rehearse", {"word": "", "do": "start"})).status == 403
    assert b"no rehearsal is running" in (await browser.send("rehearse", do="stop")).body
    assert (await browser.send("rehearse", do="dance")).status == 409
    assert site.app.rehearsal.state == "none"
    assert (await browser.send("rehearse", do="start")).status == 303
    second = await browser.send("rehearse", do="start")
    assert second.status == 409
    assert b"a rehearsal is running; wait for its end, or stop it" in second.body


@pytest.fixture
def begun(tmp_path: Path) -> Path:
    return half_played(tmp_path / "half")


async def test_a_contest_that_has_begun_has_no_rehearsal(begun: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with without_status(begun, monkeypatch) as site:
        browser = Host(site)
        await browser.open(new_link(begun))
        assert "/host/rehearse" not in browser.page
        refused = await browser.send("rehearse", do="start")
    assert refused.status == 409
    assert b"the contest has begun" in refused.body
    assert site.app.rehearsal.state == "none"


def program(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """Let a rehearsal be this program."""
    monkeypatch.setattr(rehearsal, "COMMAND", [sys.executable, "-u", "-c", text])


async def test_the_end_of_the_output_is_shown(site: Site, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(monkeypatch, "for n in range(999): print(f'{n}  <b>', '\\x1b' * 999)\nexit(3)")
    browser = Host(site)
    await browser.open(new_link(folder))
    follower = Follower(browser)
    with trio.fail_after(PATIENCE_SECONDS):
        async with trio.open_nursery() as nursery:
            for task in (site.app.rehearsal.run, follower.run):
                nursery.start_soon(task)
            nursery.start_soon(refresh, site)
            await browser.send("rehearse", do="start")
            lines = await follower.until(lambda part: "has failed" in part)
            nursery.cancel_scope.cancel()
    assert len(lines) == rehearsal.LINES
    assert lines[-1].startswith("998  <b> ")
    assert lines[-1].endswith(" more characters]")
    assert "<b>" not in follower.part
    assert "\x1b" not in follower.part
    assert all(len(line) < 10 * LINE_CHARS for line in lines)  # a control character is shown as its code


@pytest.mark.parametrize("how", ["the contest begins", "the page ends"])
async def test_it_ends_when_matches_need_the_processor_and_with_the_page(
    site: Site, folder: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    # it ends with its input, and says so
    program(monkeypatch, "import sys; print('began'); sys.stdin.read(); print('its input has ended'); exit(3)")
    child = site.app.rehearsal
    begun = False
    child.has_begun = lambda: begun
    with trio.fail_after(PATIENCE_SECONDS):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(child.run)
            child.start()
            while list(child.lines) != ["began"]:
                await trio.sleep(0.01)
            if how == "the contest begins":
                begun = True
                while child.state == "running":
                    await trio.sleep(0.01)
                assert child.state == "stopped"
            nursery.cancel_scope.cancel()
    assert list(child.lines) == ["began", "its input has ended"]


def files_in(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.long
@pytest.mark.parametrize(
    ("form", "settings", "button", "end"),
    [("round_robin", {"legs": 1}, "", "has passed"), ("arena", {"pause_seconds": 1}, "stop", "was stopped")],
)
async def test_a_copy_is_played_until_its_end_or_a_stop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str, settings: dict[str, int], button: str, end: str
) -> None:
    copies = tmp_path / "copies"
    copies.mkdir()
    monkeypatch.setenv("TMPDIR", str(copies))
    event = {"game": "hop", "format": form, "settings": settings}
    folder = make_contest(tmp_path / "spring", on_disk=True, event=event).folder
    async with without_status(folder, monkeypatch) as site, trio.open_nursery() as nursery:
        browser = Host(site)
        await browser.open(new_link(folder))
        before = files_in(folder)
        follower = Follower(browser)
        for task in (site.app.rehearsal.run, follower.run):
            nursery.start_soon(task)
        nursery.start_soon(refresh, site)
        with trio.fail_after(PATIENCE_SECONDS):
            await browser.send("rehearse", do="start")
            await follower.until(lambda part: "Stop it" in part)
            if button:
                await follower.until(lambda part: "#2 " in part)  # an arena has no end
                assert list(copies.iterdir()) != []
                await browser.send("rehearse", do=button)
            lines = await follower.until(lambda part: "Stop it" not in part)
        nursery.cancel_scope.cancel()
    assert end in follower.part, lines
    assert any(re.match("The rehearsal: [0-9]+ match", line) for line in lines), lines
    assert any(re.match("Standings after [0-9]+ match", line) for line in lines), lines
    assert files_in(folder) == before
    assert list(copies.iterdir()) == []
