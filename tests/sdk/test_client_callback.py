"""The client and ``get_step``: moves that cannot be sent, and exceptions."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import Any

import pytest

import getstep
from getstep.wire import CLOSED, MAX_TEXT, Raised, Resign, Step
from tests.support.fake_server import OVER, TEAM, TOKEN, FakeServer, Session, ask, end, play, start


def answer_to_one_question(get_step: Callable[..., Any]) -> Any:
    """Return the client's answer to the first of two questions; the second is answered like any other."""
    heard = []

    def script(session: Session) -> None:
        session.let_in(start(), ask(31))
        heard.append(session.hear())
        session.say(ask(32))
        assert isinstance(session.hear(), (Step, Raised))
        session.say(end(), OVER)
        assert session.hear() is CLOSED

    with FakeServer(script) as server:
        assert len(play(get_step, server)) == 1
    return heard[0]


def test_a_bot_of_one_game_gives_up_the_others_and_plays_on(capsys: pytest.CaptureFixture[str]) -> None:
    @getstep.plays("hop", "linkage")
    def get_step(board: Any, is_black: bool) -> Any:
        return "a move"

    heard: list[Any] = []

    def script(session: Session) -> None:
        for number, game in ((1, "longest_path"), (2, "hop")):
            opening = start(number, game=game)
            session.let_in(opening, ask(31)) if number == 1 else session.say(opening, ask(32))
            heard.append(session.hear())
            session.say(end(number))
        session.say(OVER)
        assert session.hear() is CLOSED

    with FakeServer(script) as server:
        first, second = play(get_step, server)
    assert heard == [Resign(id=31), Step(id=32, move="a move")]
    assert (first.moves, second.moves) == (0, 1)
    assert (
        "Match 1, move 2: this bot plays hop, linkage; the match is longest_path. It gives up this match, and"
        in (capsys.readouterr().err)
    )


@pytest.mark.parametrize("games", [(), (7,), (["hop"],)])
def test_plays_expects_names_of_games(games: Any) -> None:
    with pytest.raises(getstep.SetupError, match="expected the names of games"):
        getstep.plays(*games)


def test_a_move_of_none_is_sent_with_a_hint(capsys: pytest.CaptureFixture[str]) -> None:
    assert answer_to_one_question(lambda board, is_black: None) == Step(id=31, move=None)
    problems = capsys.readouterr().err
    assert "Match 12, move 2: get_step returned None: is a return missing?" in problems
    assert "Expected for hop: a list of squares" in problems


def test_a_move_that_cannot_be_sent_costs_a_turn_and_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    answer = answer_to_one_question(lambda board, is_black: {(1, 2)})
    assert isinstance(answer, Raised)
    assert answer.error.startswith("get_step returned {(1, 2)}, which cannot be sent")
    problems = capsys.readouterr().err
    assert "{(1, 2)}" in problems
    assert "Expected for hop: a list of squares" in problems


def test_a_list_that_holds_itself_is_refused_at_once() -> None:
    """With ten instead of five, looking at all of it would take minutes."""
    move: list[Any] = []
    move += [move] * 5
    answer = answer_to_one_question(lambda board, is_black: move)
    assert isinstance(answer, Raised)
    assert answer.error.endswith("cannot be sent: more than 4096 values, which no frame holds")


def test_the_text_of_an_exception_is_safe_to_print(capsys: pytest.CaptureFixture[str]) -> None:
    """It may have the opponent's name in it, and a terminal obeys control characters."""

    def get_step(board: list[list[int]], is_black: bool) -> Any:
        raise ValueError("none against \x1b[2J\u202e\nsecond\rline")

    assert isinstance(answer_to_one_question(get_step), Raised)
    problems = capsys.readouterr().err
    assert all(line.isprintable() for line in problems.split("\n"))
    assert r"ValueError: none against \x1b[2J\u202e" + "\n" + r"second\rline" in problems


def test_an_exception_costs_a_turn_and_shows_the_authors_own_frames(capsys: pytest.CaptureFixture[str]) -> None:
    def get_step(board: list[list[int]], is_black: bool) -> Any:
        return inner(board)

    def inner(board: list[list[int]]) -> Any:
        raise ValueError("no idea " + "x" * 1000)

    answer = answer_to_one_question(get_step)
    assert isinstance(answer, Raised)
    assert answer.error.startswith("ValueError: no idea xxx")
    assert len(answer.error) == MAX_TEXT
    problems = capsys.readouterr().err
    frames = re.findall(r'File "(.*?)", line \d+, in (\w+)', problems)
    assert frames == [(__file__, "get_step"), (__file__, "inner")]
    assert "raise ValueError" in problems


def recurse(board: list[list[int]], is_black: bool) -> Any:
    return recurse(board, is_black)


def leave(board: list[list[int]], is_black: bool) -> Any:
    sys.exit("I give up \ud800")


def exhaust(board: list[list[int]], is_black: bool) -> Any:
    raise MemoryError


class _Mute(Exception):  # noqa: N818 - a contestant's class may have any name
    def __str__(self) -> str:
        raise RuntimeError("not even this")


def mute(board: list[list[int]], is_black: bool) -> Any:
    raise _Mute


@pytest.mark.parametrize(
    ("get_step", "error"),
    [
        (recurse, "RecursionError: maximum recursion depth exceeded"),
        (leave, "SystemExit: I give up \\ud800"),
        (exhaust, "MemoryError"),
        (mute, "_Mute"),
    ],
)
def test_no_exception_of_a_bot_ends_the_connection(
    get_step: Callable[..., Any], error: str, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = answer_to_one_question(get_step)
    assert isinstance(answer, Raised)
    assert answer.error.startswith(error)
    assert error.split(":")[0] in capsys.readouterr().err


def test_ctrl_c_in_the_callback_stops(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def get_step(board: list[list[int]], is_black: bool) -> Any:
        raise KeyboardInterrupt

    def script(session: Session) -> None:
        session.let_in(start(), ask(31))
        event = session.hear()
        if event is not CLOSED:
            session.say(end(), OVER)  # or a client that continues would wait for ever
        assert event is CLOSED

    with FakeServer(script) as server:
        with pytest.raises(SystemExit) as caught:
            getstep.play(get_step, TEAM, TOKEN, "127.0.0.1", server.port)
        assert caught.value.code == 130
    assert capsys.readouterr().out.endswith("Stopped.\n")
