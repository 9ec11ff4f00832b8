"""The area of a team in a real browser: the login, the penalties with their boards, on a phone and a laptop."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.old_contests.contests import unpack
from tests.support.browser import SCREENS, Visitor, barriers, expect_text, no_sideways_scrolling
from tests.support.processes import Program

TEAM, TOKEN = "3", "sdku-u26c-4kp4"
REFUSED = "error: Failed to load resource: the server responded with a status of 403"


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve the pages of the stored contest by the command; yield their address."""
    unpack("0.1.0-before-settings/finished", folder)
    with (folder / "contest.toml").open("a", encoding="utf-8") as file:
        file.write("\n[programs]\nsubmissions = true\n")
    command = [sys.executable, "-m", "getstep_server", "web", str(folder), "--host", "127.0.0.1", "--port", "0"]
    program = Program(command)
    try:
        yield program.expect(r"^Live page .*: (http://\S+)/$")[1]
    finally:
        program.end()


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The pages of a contest in which no test replaces a token."""
    with served(tmp_path_factory.mktemp("finished") / "contest") as url:
        yield url


@pytest.fixture
def own_url(tmp_path: Path) -> Iterator[str]:
    """The pages of a contest for one test, which replaces a token."""
    with served(tmp_path / "contest") as url:
        yield url


def log_in(page: Any, token: str = TOKEN) -> None:
    page.get_by_label("Team id").fill(TEAM)
    page.get_by_label("Token").fill(token)
    page.get_by_role("button", name="Log in").click()


@pytest.mark.long
def test_a_team_logs_in_and_sees_its_penalties(own_url: str, visitor: Visitor) -> None:
    visitor.tolerated = (REFUSED,)
    page = visitor.open(f"{own_url}/own")
    sent: list[str] = []
    page.on("request", lambda request: sent.append(f"{request.url} {request.post_data}"))
    log_in(page, "kq3m-x7fd-29pt")
    expect_text(page, "#problem", "The id or the token is wrong")
    log_in(page, "SDKU u26c4kp4")
    expect_text(page, "h1", "Charles, and Co.")
    expect_text(page, ".penalty .error", "ZeroDivisionError|is not|expected|no answer")
    page.get_by_text("earlier penalties").click()
    page.locator(".penalty svg").nth(10).wait_for()
    assert page.locator(".penalty").count() == 11
    expect_text(page, ".penalty h3", "^raised 2 times, last in turn 10$")
    assert page.get_by_text("What to do:").count() == 11
    assert page.locator(".penalty .gs-fault").count() == 4
    expect_text(page, ".times", "up to")
    text = " ".join(sent).lower()
    assert "u26c" not in text, "the token has left the browser"
    assert page.evaluate("localStorage.length + sessionStorage.length") == 0
    assert page.evaluate("document.cookie") == ""
    page.reload()
    expect_text(page, ".penalty h3", "in turn")
    with page.expect_download() as download:
        page.get_by_role("link", name="JSON Lines").first.click()
    assert download.value.suggested_filename == "matches.jsonl"
    page.get_by_text("Replace your team's token").click()
    page.get_by_label("The present token").fill(TOKEN)
    page.get_by_role("button", name="Replace it").click()
    expect_text(page, "#problem", "The new token, shown only now: [a-z0-9-]{14}")
    new = re.findall("[a-z0-9]{4}-[a-z0-9]{4}-[a-z0-9]{4}", page.locator("#problem").inner_text())[0]
    assert new not in " ".join(sent)
    page.reload()  # this browser stays logged in
    page.get_by_role("button", name="Log out").click()
    log_in(page)
    expect_text(page, "#problem", "The id or the token is wrong")
    log_in(page, new)
    expect_text(page, "h1", "Charles, and Co.")


@pytest.mark.long
@pytest.mark.parametrize("seen", SCREENS)
def test_the_area_keeps_nobody_out(url: str, visitor: Visitor, seen: str) -> None:
    size, scheme = SCREENS[seen]
    page = visitor.open(f"{url}/own", size, color_scheme=scheme)
    assert barriers(page) == []
    log_in(page)
    page.wait_for_selector(".penalty svg")
    assert no_sideways_scrolling(page)
    assert barriers(page) == []


@pytest.mark.long  # quick tests send programs without a browser
def test_a_team_submits_a_program_by_the_keyboard(url: str, visitor: Visitor) -> None:
    page = visitor.open(f"{url}/own")
    log_in(page)
    chooser = page.get_by_label("A file, or a zip or tar.gz archive:")
    for data, place, told in (
        (b"x" * 10_000_001, "#program [role=alert]", "bot.zip is larger than 10 MB."),
        (b"PK\x03\x04 and no more", "#program .error", "the zip file is not complete"),
    ):
        chooser.set_input_files({"name": "bot.zip", "mimeType": "application/zip", "buffer": data})
        chooser.focus()
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        expect_text(page, place, told)
    page.get_by_text("What cannot be found out").click()
    page.get_by_label("--as").select_option("csefest-file")
    page.get_by_label("--entry").fill("src/bot.cpp")
    chooser.set_input_files({"name": "bot.py", "mimeType": "text/plain", "buffer": b"pass"})
    with page.expect_request("**/own/program?*") as sent:
        page.get_by_role("button", name="Submit").click()
    assert sent.value.url.endswith("/own/program?name=bot.py&as=csefest-file&entry=src%2Fbot.cpp")
    expect_text(page, "#program [role=status]", "bot.py: Refused.")
    page.get_by_role("link", name="What a program reads and writes").click()
    expect_text(page, "h1", "Programs of the original contests")
