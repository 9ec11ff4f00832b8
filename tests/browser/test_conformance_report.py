"""The report of the conformance suite in a browser: it can be read on every screen."""

from __future__ import annotations

from pathlib import Path

import pytest

from getstep_conformance.client import Outcome, Verdict
from getstep_conformance.client.report import as_html
from tests.support.browser import SCREENS, Visitor, barriers, expect_text, no_sideways_scrolling

LINE = "  0.191  C  join (version 1, team 7, mac '" + "87dba753b0453a4d" * 8 + "')"
OUTCOMES = [
    Outcome("1.1", Verdict.PASS, "", 0.12, (LINE, LINE), "Connected.\n"),
    Outcome("2.1", Verdict.FAIL, "it has ended, with exit code 1", 1.5, (LINE,), "\x1b[31m<b>bold</b>" + "x" * 300),
    Outcome("8.2", Verdict.NON_STRICT, "it " + "waited and " * 20, 10.0, (LINE,)),
    Outcome("9.1", Verdict.INFORMATIONAL, "the client does not use GETSTEP_TIME_SCALE", 4.0),
]


@pytest.mark.long
@pytest.mark.parametrize("screen", SCREENS)
def test_it_can_be_read(visitor: Visitor, tmp_path: Path, screen: str) -> None:
    size, scheme = SCREENS[screen]
    (tmp_path / "report.html").write_text(as_html(["./client", "<arg>"], OUTCOMES, 12.3), encoding="utf-8")
    page = visitor.open((tmp_path / "report.html").as_uri(), size, color_scheme=scheme)
    expect_text(page, "#case-2\\.1 pre", "join")  # a case that failed is open
    assert page.locator("details[open]").count() == 1
    page.click("#case-1\\.1 summary")
    expect_text(page, "#case-1\\.1 .inside", "Connected")
    assert page.locator("b").count() == 0
    assert no_sideways_scrolling(page)
    assert barriers(page) == []
