"""Messages in a real browser: a team asks, the host answers and announces, everybody sees what is for them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from getstep_server.decisions import messages
from tests.old_contests.contests import unpack
from tests.support.browser import SCREENS, Visitor, barriers, expect_text, no_sideways_scrolling
from tests.support.processes import Program

LONG = "Lunch" * 60


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    unpack("0.1.0-before-settings/finished", tmp_path / "contest")
    return tmp_path / "contest"


@pytest.fixture
def url(folder: Path) -> Iterator[str]:
    command = [sys.executable, "-m", "getstep_server", "web", str(folder), "--host", "127.0.0.1", "--port", "0"]
    program = Program(command)
    yield program.expect(r"^Live page .*: (http://\S+)/$")[1]
    program.end()


@pytest.mark.long
def test_a_question_an_answer_and_announcements(url: str, folder: Path, visitor: Visitor) -> None:
    own, first = visitor.open(f"{url}/own"), visitor.open(url)
    wall = visitor.open(f"{url}/wall")
    texts = [visitor.open(f"{url}/{path}") for path in ("start", "rules", "play")]
    own.get_by_label("Team id").fill("3")
    own.get_by_label("Token").fill("sdku-u26c-4kp4")
    own.get_by_role("button", name="Log in").click()
    own.get_by_label("Ask the host").fill("May we <b>move</b> to the window?")
    own.get_by_role("button", name="Ask", exact=True).click()
    expect_text(own, "#questions li", "<b>move</b> to the window.*No answer yet")
    expect_text(own, "#questions .note", "ask again in")
    messages.answer(folder, 1, "You may", "Grace", to_all=False)
    expect_text(own, "#questions li", "The host: You may")
    messages.announce(folder, "Hop goes on <i>at 13:00</i>", "Grace")
    for page in (own, first, wall, *texts):
        expect_text(page, "#notices", "Hop goes on <i>at 13:00</i>")
    assert "window" not in first.content() + wall.content() + "".join(page.content() for page in texts)
    messages.announce(folder, LONG, "Grace")
    for page in (own, first):
        expect_text(page, "#notices", LONG)
        expect_text(page, "#notices summary", "Earlier messages")


@pytest.mark.long
@pytest.mark.parametrize("screen", list(SCREENS))
def test_a_long_message_fits_on_each_screen(screen: str, url: str, folder: Path, visitor: Visitor) -> None:
    size, scheme = SCREENS[screen]
    messages.announce(folder, LONG, "Grace")
    messages.announce(folder, "Short", "Grace")
    messages.announce(folder, LONG, "Grace")
    for path in ("/", "/start", "/match/1", "/team/1", "/event/1"):
        page = visitor.open(url + path, size, color_scheme=scheme)
        expect_text(page, "#notices", LONG)
        assert no_sideways_scrolling(page)
        assert barriers(page) == []
        page.close()
