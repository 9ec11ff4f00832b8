"""A person who practises on a board in the browser, without a contest."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from getstep.local_matches import series
from getstep.local_matches.browser import BrowserPlayer
from getstep.local_matches.results import Results
from getstep.local_matches.screen import Screen
from getstep.local_matches.series import Entrant, Plan
from getstep_engines import GAMES
from getstep_server.web.practice import PracticePage
from tests.support.browser import SCREENS, Visitor, barriers, expect_text, no_sideways_scrolling, play_on
from tests.support.patience import PATIENCE_SECONDS


def first_legal(board: Any, is_black: bool, turn: Any) -> Any:
    return next(iter(GAMES[turn.game].from_board(board, is_black).legal_moves()))


class Practice:
    """Games against a bot in a thread, on a page that a visitor may open."""

    def __init__(self, game: str, games: int) -> None:
        self.page = PracticePage()
        self.results: list[Results] = []
        self._thread = threading.Thread(target=self._run, args=(game, games), daemon=True)
        self._thread.start()

    def _run(self, game: str, games: int) -> None:
        person = Entrant("you", lambda _seed: BrowserPlayer(self.page))
        bot = Entrant("my_bot.py", series.entrant(first_legal).start)
        self.results.append(series.run(Plan(GAMES[game], games), bot, person, Screen(None, games)))

    def wait(self) -> Results:
        self._thread.join(PATIENCE_SECONDS)
        return self.results[0]


@pytest.fixture
def practice() -> Iterator[list[Practice]]:
    """The practice of a test; its page is closed, whatever happens."""
    started: list[Practice] = []
    yield started
    for one in started:
        one.page.close()


@pytest.mark.long
def test_two_games_are_played_and_the_board_stays(practice: list[Practice], visitor: Visitor) -> None:
    practice.append(one := Practice("linkage", 2))
    page = visitor.open(one.page.address)
    expect_text(page, "#title", ": my_bot.py against You$")
    assert page.locator("nav").count() == 0
    assert play_on(page).startswith(("You won", "You lost", "A draw"))
    page.get_by_role("button", name="Next game").click()
    expect_text(page, "#title", ": You against my_bot.py$")
    expect_text(page, "#say", "^Your turn")
    assert page.locator("#notes li").count() == 0
    said = play_on(page)
    expect_text(page, "#offline", "^Practice is over. The results are in the terminal")
    page.get_by_role("button", name="Leave the game").wait_for(state="hidden")
    results = one.wait()
    assert [match.result for match in results.matches].count("stopped") == 0
    assert not results.faults
    assert said.startswith({"won": "You lost", "lost": "You won", "drawn": "A draw"}[results.matches[1].result])


@pytest.mark.long
def test_leave_ends_practice(practice: list[Practice], visitor: Visitor) -> None:
    size, scheme = SCREENS["dark-phone"]
    practice.append(one := Practice("hop", 1))
    page = visitor.open(one.page.address, size, color_scheme=scheme)
    expect_text(page, "#say", "^Your turn")
    assert no_sideways_scrolling(page)
    assert barriers(page) == []
    page.get_by_role("button", name="Leave the game").click()
    expect_text(page, "#offline", "^Practice is over. The results are in the terminal.")
    assert one.wait().stopped
