"""The board of a running match: which match it shows, at which turn, and the live view around it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from msgspec import structs
from msgspec.structs import replace as replace_fields

from getstep.drawing import draw_text
from getstep_engines import GAMES
from getstep_server.config.contest import Contest
from getstep_server.events import ContestStarted, Listening, MatchCalledOff, MatchStarted, TeamArrived
from getstep_server.records.game import game_header
from getstep_server.records.match import Match
from getstep_server.reports.event_lines import page_line
from getstep_server.reports.live_board import END_SECONDS, LiveBoard
from getstep_server.reports.progress import ProgressView
from getstep_server.reports.qr_code import qr_code
from getstep_server.tournament.combined import Combined, Tables
from getstep_server.tournament.standings import standings
from tests.support.contests import make_contest
from tests.support.golden import assert_golden
from tests.support.progress import LiveView, ended, result_of
from tests.support.records import compact
from tests.support.tables import WIDE, shown

NAMES = ["Die lange Mannschaft aus dem Winkel 1234", f"{WIDE}", "🦘🏆🚀 Kängurus", "Ada"]
TABLE = Tables(
    {},
    tuple(Combined(n, n, 500.0 - n, {str(event): 100.0 for event in range(1, 6)}, 5, n) for n in range(1, 5)),
    expected=6,
)


def contest_of_all_games(folder: Path) -> Contest:
    events = [{"game": game} for game in sorted(GAMES)]
    contest = make_contest(folder, len(NAMES), *events)
    teams = {n: replace_fields(team, name=NAMES[n - 1]) for n, team in contest.teams.items()}
    return structs.replace(contest, teams=teams)


class Game:
    """A match whose turns are on record one by one: each player makes the first legal move."""

    def __init__(self, contest: Contest, number: int = 1, game: str = "hop") -> None:
        self.match = Match(number, event_of(contest, game), 1, 1, 1, 2, game)
        self.head = game_header(contest, self.match, 1, 0.0)
        self.state = GAMES[game].start(**self.match.options)
        self.lines: list[bytes] = []

    @property
    def started(self) -> MatchStarted:
        return MatchStarted(self.match, head=self.head, turns_from=self.turns_from)

    def turns_from(self, start: int) -> Sequence[bytes]:
        return self.lines[start:]

    def move(self) -> None:
        move, player = next(iter(self.state.legal_moves())), self.state.to_move
        self.state.play(move)
        self.lines.append(compact({"player": player, "move": move, "ms": 1.0, "timed": "kernel"}))
        self.lines += [b'{"player":%d,"pass":true}' % passed for passed in self.state.passed]

    def fault(self) -> None:
        player = self.state.to_move
        self.state.fault()
        fault = {"player": player, "fault": "raised", "detail": "an exception", "ms": 1.0, "timed": "kernel"}
        self.lines.append(compact(fault))

    def play(self) -> None:
        while self.state.outcome is None:
            self.move()


def event_of(contest: Contest, game: str) -> int:
    return next(event.number for event in contest.events if event.game.name == game)


class Shown:
    """A board with a clock of its own."""

    def __init__(self, contest: Contest, move_seconds: float | None = None) -> None:
        self.now = 100.0
        self.board = LiveBoard(contest, draw_text, move_seconds=move_seconds, clock=lambda: self.now)

    def text(self, columns: int = 80, lines: int = 30) -> str:
        view = self.board.view(columns, lines)
        return "" if view is None else "\n".join(shown(view, width=columns))


@pytest.fixture(autouse=True)
def on_a_lan(monkeypatch: pytest.MonkeyPatch) -> None:
    """The address of this machine on the LAN is 192.0.2.7."""
    monkeypatch.setattr("getstep_server.addresses._routed_address", lambda: "192.0.2.7")


@pytest.fixture
def contest(tmp_path: Path) -> Contest:
    return contest_of_all_games(tmp_path)


def test_the_board_follows_a_match(contest: Contest) -> None:
    game, view = Game(contest), Shown(contest)
    assert view.text() == ""
    view.board.note(game.started)
    assert "#1 Hop, turn 0" in view.text()
    assert "the first position" in view.text()
    game.move()
    game.move()
    assert "#1 Hop, turn 2" in view.text()
    assert "[W]" in view.text()
    game.fault()
    assert re.search(r"Black: .*raised", view.text())


@pytest.mark.parametrize("game", sorted(GAMES))
def test_it_shows_every_game_to_its_end(contest: Contest, game: str) -> None:
    played, view = Game(contest, game=game), Shown(contest)
    played.play()
    view.board.note(played.started)
    for _ in range(100):
        text = view.text()
    assert played.state.outcome is not None
    assert " ".join(played.state.outcome.reason.split()[:2]) in text


def test_it_shows_the_newest_running_match_after_the_end_of_one(contest: Contest) -> None:
    first, second, third, fourth = (Game(contest, number) for number in (1, 2, 3, 4))
    view = Shown(contest)
    view.board.note(first.started)
    assert "#1 Hop" in view.text()
    for other in (second, third, fourth):
        view.board.note(other.started)
    assert "#1 Hop" in view.text()
    view.board.note(MatchCalledOff(fourth.match, "why"))
    view.board.note(ended(contest, result_of(contest, match=first.match)))
    assert "#1 Hop" in view.text()
    view.now += END_SECONDS
    assert "#3 Hop" in view.text()


def test_every_match_is_watched_turn_by_turn(contest: Contest) -> None:
    first, second = Game(contest, 1), Game(contest, 2)
    view = Shown(contest, move_seconds=2.0)
    view.board.note(first.started)
    view.board.note(second.started)
    for game in (first, second):
        for _ in range(2):
            game.move()
        view.board.note(ended(contest, result_of(contest, match=game.match)))
    seen = []
    for _ in range(20):
        found = re.search(r"#\d Hop, turn \d", view.text())
        assert found
        seen.append(found[0])
        view.now += 1.0
    assert list(dict.fromkeys(seen)) == [f"#{match} Hop, turn {turn}" for match in (1, 2) for turn in (0, 1, 2)]
    assert seen.count("#1 Hop, turn 1") == 2
    assert not view.board.all_shown.is_set()
    view.board.close()
    view.text()
    assert view.board.all_shown.is_set()


def test_a_board_without_room_says_what_it_needs(contest: Contest) -> None:
    game, view = Game(contest), Shown(contest)
    view.board.note(game.started)
    assert view.text(lines=5) == "(no room for the board: 4 more lines needed)"
    assert view.text(columns=20).startswith("(no room for")
    assert "#1 Hop" not in view.text(columns=40)  # the text beside it is left out first


@pytest.mark.parametrize(("width", "height"), [(80, 24), (60, 20), (120, 40)])
def test_the_live_view_with_a_board(contest: Contest, width: int, height: int) -> None:
    game = Game(contest)
    view = LiveView(contest, width=width, height=height, board=LiveBoard(contest, draw_text))
    for _ in range(5):
        game.move()
    with view.progress.shown():
        play_some(view.progress, contest, game)
        text = view.until(lambda text: "1/6 matches" in text and "turn 5" in text)
    assert_golden(f"live-view-{width}x{height}", re.sub("about .* left.*", "about TIME", text))
    assert view.screen.text == ""
    assert view.screen.unknown == []


def shows_only(lines: list[str], text: str) -> bool:
    """Return True if the screen has these lines only; the expected end depends on the clock."""
    screen = [re.sub("^1/6.*", "1/6", line.rstrip()) for line in text.splitlines()]
    return screen == [re.sub("^1/6.*", "1/6", line.rstrip()) for line in lines]


def play_some(progress: ProgressView, contest: Contest, game: Game) -> None:
    progress(Listening("0.0.0.0", 7777, None, stamped=True))
    for team in (1, 2):
        progress(TeamArrived(team, "10.0.0.1", "", False))
    progress(ContestStarted(0, 6))
    progress(game.started)
    detail = "all Black pieces are home: Black has 10 in its target region, White 9"
    result = result_of(contest, 2, detail=detail)
    progress(replace(ended(contest, result), done=1, tables=lambda: TABLE))


@pytest.mark.parametrize("steps", [[(60, 20), (120, 40), (80, 24)], [(40, 10), (80, 24)], [(200, 60), (30, 8)]])
def test_a_new_size_leaves_nothing_of_the_old_view(contest: Contest, steps: list[tuple[int, int]]) -> None:
    game = Game(contest)
    view = LiveView(contest, board=LiveBoard(contest, draw_text))
    view.progress.say("before")
    with view.progress.shown():
        play_some(view.progress, contest, game)
        view.until(lambda text: "1/6 matches" in text)
        for width, height in steps:
            view.resize(width, height)
            view.until(partial(shows_only, shown(view.progress._view(), width=width)[:height]))
    assert view.screen.text == "before"


# --- the page's address -----------------------------------------------------------------------------------------


def test_the_qr_code_is_there_until_the_contest_starts(contest: Contest) -> None:
    view = LiveView(contest, height=40)
    view.progress.say_page("http://192.0.2.7:8080/")
    with view.progress.shown():
        text = view.until(lambda text: "▀" in text)
        assert "Test | http://192.0.2.7:8080/" in text
        view.progress(ContestStarted(0, 6))
        result = result_of(contest, 2)
        view.progress(
            replace(ended(contest, result), tables=lambda: Tables({1: tuple(standings([1, 2], [result]))}))
        )
        view.until(lambda text: "1/6 matches" in text and "▀" not in text)


@pytest.mark.parametrize(
    ("address", "who"),
    [
        ("http://192.0.2.7:8080/", "for everybody in this network"),
        ("http://127.0.0.1:8080/", "on this computer only"),
        ("http://[::1]:8080/reveal", "on this computer only"),
    ],
)
def test_the_line_of_the_page_says_who_can_open_it(address: str, who: str) -> None:
    assert page_line(address) == f"Live page {who}: {address}"


def test_a_qr_code_has_the_address() -> None:
    import segno

    address = "http://192.0.2.7:8080/"
    rows = [list(row) for row in segno.make(address, micro=False, error="l").matrix_iter(border=2)]
    read: list[list[int]] = []
    for line in qr_code(address):
        read.append([char in "▀█" for char in line.plain])
        read.append([char in "▄█" for char in line.plain])
    assert read[: len(rows)] == [[bool(module) for module in row] for row in rows]
    assert not any(map(any, read[len(rows) :]))
    assert all(line.style == "black on bright_white" for line in qr_code(address))
