"""Slips on paper: each team has one page, on A4 and on US Letter, also with the longest names."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from getstep.wire import MAX_NAME
from getstep_server.limits import MAX_SEATS
from getstep_server.reports.slips import PAPERS, as_html
from tests.support.contests import make_contest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

NAMES = ("Ada", "W" * MAX_NAME, "\u6f22" * MAX_NAME, "\N{DUCK}" * MAX_NAME, "\u05e9\u05dc\u05d5\u05dd & Co.")
HOST = "2001:db8:1234:5678:9abc:def0:1234:5678"
"""The longest address of IPv6."""

EVENTS = [{"name": f"event {n}", "game": "chain_reaction", "budget_seconds": 1000.5 + n} for n in range(9)]


def slips(paper: str | None) -> str:
    teams = [
        {"id": 9000 + n, "name": name, "token": "kq3m-x7fd-29pt", "seats": MAX_SEATS}
        for n, name in enumerate(NAMES)
    ]
    server = {"host": "0.0.0.0", "port": 65535, "web_port": 65534}
    contest = make_contest(Path("autumn"), teams, *EVENTS, contest={"name": "W" * MAX_NAME}, server=server)
    return as_html(contest, HOST, paper)


SIZES = {"a4": (595, 842), "letter": (612, 792)}
"""Width and height in points."""


def papers(pdf: bytes) -> list[str]:
    """Return the paper of each page of a PDF. Chromium rounds lengths to its pixels, of 0.75 points."""
    pages = re.findall(rb"/Type /Page\b.*?/MediaBox \[0 0 ([0-9.]+) ([0-9.]+)\]", pdf, re.DOTALL)
    return [paper_of(float(width), float(height)) for width, height in pages]


def paper_of(width: float, height: float) -> str:
    near = (name for name, (w, h) in SIZES.items() if abs(width - w) < 1 and abs(height - h) < 1)
    return next(near, f"{width} x {height}")


@pytest.mark.long
@pytest.mark.parametrize("paper", PAPERS)
def test_one_page_for_each_team(chromium: Browser, paper: str) -> None:
    page = chromium.new_page()
    try:
        page.set_content(slips(None))
        assert papers(page.pdf(format=paper)) == [paper] * len(NAMES)  # as the printer's own paper
        page.set_content(slips(paper))
        assert papers(page.pdf(prefer_css_page_size=True)) == [paper] * len(NAMES)
    finally:
        page.close()
