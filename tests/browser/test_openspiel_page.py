"""A person plays a game of OpenSpiel on the page, in a real browser: moves are texts, and picked from a list."""

from __future__ import annotations

from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from tests.support.browser import PHONE, Visitor, barriers, begin, expect_text, no_sideways_scrolling
from tests.support.contests import make_contest
from tests.support.paced_contest import Stage
from tests.support.patience import PATIENCE_SECONDS
from tests.support.processes import Programs

pytest.importorskip("pyspiel", reason="the extra `open_spiel` is not installed")


PICK = """([move, turns]) => {
  const played = document.querySelectorAll("#notes li").length;
  const words = [...document.querySelectorAll("#words button")];
  if (played < turns - 1) words.find((one) => one.textContent === move).click();
  return played === turns;
}"""
"""Pick a word until it is played: the page ignores a click while it waits for an answer of the server."""


@pytest.mark.long
def test_a_person_picks_the_texts_of_moves(programs: Programs, tmp_path: Path, visitor: Visitor) -> None:
    event = {"game": "openspiel_connect_four", "settings": {"legs": 1}}
    folder = make_contest(tmp_path / "contest", 2, event, on_disk=True, patient=True).folder
    stage = Stage(programs, folder, 0)
    page = visitor.open(stage.url, PHONE)
    begin(page, stage.url, "openspiel_connect_four")
    expect_text(page, "#say", "^Your turn")
    for number, move in enumerate(("x3", "x2", "x3"), start=1):  # the same twice: it is not picked again alone
        page.wait_for_function(PICK, arg=[move, 2 * number], polling=200)
        expect_text(page, "#say", "^Your turn")
    assert [note for note in page.locator("#notes li").all_inner_texts() if note.startswith("You: ")] == [
        "You: x3",
        "You: x2",
        "You: x3",
    ]
    assert no_sideways_scrolling(page)
    assert barriers(page) == []
    for game, status in (
        ("openspiel_connect_four", 200),
        ("openspiel_chess", 404),
    ):  # only what is played is loaded
        try:
            found = urlopen(f"{stage.url}look/{game}.json", timeout=PATIENCE_SECONDS).status
        except HTTPError as error:
            found = error.code
        assert found == status
