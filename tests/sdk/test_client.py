"""Playing, against a server that follows a script over real sockets."""

from __future__ import annotations

import math
import os
import re
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import getstep
from getstep import Refused, Result, Turn, Unreachable, _client
from getstep._client import Client
from getstep._match import Match
from getstep._position import position_text
from getstep._server_connection import ServerConnection, connect
from getstep._settings import Address, Login
from getstep._text import Console
from getstep._turn import Callback
from getstep.wire import CLOSED, MAX_TEXT, GetStep, Goodbye, Hello, LateAnswer, Penalty, Raised, Step, Welcome
from tests.patience import PATIENCE_SECONDS
from tests.sdk.fake_server import (
    BOARD,
    OVER,
    TEAM,
    TOKEN,
    FakeServer,
    Session,
    ask,
    end,
    missed,
    right_proof,
    start,
    until_closed,
)

MOVE = [(0, 2), (0, 1)]
WIRE_MOVE = [[0, 2], [0, 1]]


def play(get_step: Callable[..., Any], server: FakeServer, *, quiet: bool = False) -> list[Result]:
    address, login = Address("127.0.0.1", server.port), Login(TEAM, TOKEN)
    return Client(Callback(get_step), address, login, Console(quiet=quiet), sleep=server.pause).run()


def always(board: list[list[int]], is_black: bool) -> list[tuple[int, int]]:
    return MOVE


def one_question(session: Session) -> None:
    """Play a match with one question, answered with MOVE."""
    session.let_in(start(), ask(31))
    assert session.hear() == Step(id=31, move=WIRE_MOVE)
    session.say(end(), OVER)
    assert session.hear() is CLOSED


def only_over(session: Session) -> None:
    session.let_in(OVER)
    assert session.hear() is CLOSED


# --- a contest ---------------------------------------------------------------------------------------------


def test_a_match_from_login_to_goodbye(capsys: pytest.CaptureFixture[str]) -> None:
    asked = []

    def get_step(board: list[list[int]], is_black: bool) -> list[tuple[int, int]]:
        asked.append((board, is_black))
        return MOVE

    with FakeServer(one_question) as server:
        [result] = play(get_step, server)
    assert asked == [(BOARD, False)]
    assert (result.match, result.game, result.opponent, result.is_black) == (12, "hop", "Grashüpfer", False)
    assert (result.result, result.reason, result.scores, result.moves) == ("loss", "finished", (7, 2), 1)
    assert 0 < result.longest_ms <= result.total_ms
    shown, problems = capsys.readouterr()
    assert not problems
    connecting, connected, begins, ends, goodbye = shown.splitlines()
    assert connecting == f"Connecting to 127.0.0.1:{server.port} as team 7 ..."
    assert connected == "Connected to Autumn as The Hoppers (team 7)."
    assert begins == (
        "Match 12: hop against Grashüpfer, you are the second player (is_black=False);"
        " 5 s a move, plus 0.1 s for network delay"
    )
    assert ends.startswith(
        "Match 12: lost (finished): Black has 7 home, White 2. Score: you 2, they 7. Your moves: 1,"
    )
    assert goodbye == "Thank you for playing."


@pytest.mark.parametrize("by_bytes", [False, True])
def test_frames_arrive_in_any_pieces(by_bytes: bool) -> None:
    def script(session: Session) -> None:
        session.let_in()
        for number in (1, 2):
            session.say(start(match=number), ask(number), by_bytes=by_bytes)
            assert session.hear() == Step(id=number, move=WIRE_MOVE)
            session.say(end(match=number, result="win"), by_bytes=by_bytes)
        session.say(OVER, by_bytes=by_bytes)

    with FakeServer(script) as server:
        results = play(always, server)
    assert [(result.match, result.result) for result in results] == [(1, "win"), (2, "win")]


def test_the_client_names_itself_and_plays() -> None:
    def script(session: Session) -> None:
        session.let_in(OVER)
        assert session.join is not None
        assert session.join.client == f"getstep {getstep.__version__}"
        assert session.join.purpose == "play"

    with FakeServer(script) as server:
        assert play(always, server) == []


def test_a_bot_may_change_its_board() -> None:
    seen = []

    def get_step(board: list[list[int]], is_black: bool) -> list[tuple[int, int]]:
        seen.append([list(row) for row in board])
        board[0][0] = 99
        return MOVE

    def lose_first(session: Session) -> None:
        session.let_in(start(), ask(31))
        session.hear()

    def repeat(session: Session) -> None:
        session.let_in(start(resumed=True), ask(31), lag_ms=0)
        assert session.hear() == Step(id=31, move=WIRE_MOVE)
        session.say(ask(32))
        assert session.hear() == Step(id=32, move=WIRE_MOVE)
        session.say(end(), OVER)

    with FakeServer(lose_first, repeat) as server:
        play(get_step, server)
    assert seen == [BOARD, BOARD]


def test_the_third_parameter() -> None:
    turns = []

    def get_step(board: list[list[int]], is_black: bool, turn: Turn) -> list[tuple[int, int]]:
        turns.append(turn)
        return MOVE

    def script(session: Session) -> None:
        session.let_in(start(game="pseudo_tonga", options={"size": 6}))
        for number, last in enumerate([None, [3, 4], [[2, 2], [2, 4]], ["R", [0, 0], [0, 1]]], start=1):
            session.say(ask(number, last_move=last, move_number=2 * number, time_left_ms=1000 * number))
            session.hear()
        session.say(end(), OVER)

    with FakeServer(script) as server:
        play(get_step, server)
    last_moves = [None, (3, 4), [(2, 2), (2, 4)], ("R", (0, 0), (0, 1))]
    assert turns == [
        Turn("pseudo_tonga", 12, 2 * n, "Grashüpfer", last, 1000 * n, {"size": 6})
        for n, last in enumerate(last_moves, start=1)
    ]


def test_quiet_keeps_problems(capsys: pytest.CaptureFixture[str]) -> None:
    def script(session: Session) -> None:
        session.let_in(start(), ask(31))
        session.hear()
        session.say(Penalty(id=31, reason="illegal_move", detail="(0, 2) is empty"), end(), OVER)

    with FakeServer(script) as server:
        play(always, server, quiet=True)
    shown, problems = capsys.readouterr()
    assert shown == ""
    line, *board = problems.splitlines()
    assert line == "Match 12, move 2: penalty for illegal_move: (0, 2) is empty (you returned [[0, 2], [0, 1]])"
    assert board == [
        "         0  1  2",
        "     0   B !:!!W!",
        "     1   :  :  .",
        "    ! ! the squares that you returned, B black piece, W white piece,"
        " : Black's target region or White's target region",
    ]


def test_the_board_is_drawn_for_the_first_faults_of_a_match_only(capsys: pytest.CaptureFixture[str]) -> None:
    reasons = ["missed_limit", "stalled", "illegal_move", "raised", "malformed_answer", "illegal_move"]

    def script(session: Session) -> None:
        session.let_in(start())
        for number, reason in enumerate(reasons, 31):
            session.say(ask(number))
            session.hear()
            session.say(Penalty(id=number, reason=reason, detail="no"))
        session.say(end(), OVER)

    with FakeServer(script) as server:
        play(always, server, quiet=True)
    problems = capsys.readouterr().err
    parts = re.split(r"^Match 12, move \d+: penalty for ", problems, flags=re.MULTILINE)[1:]
    assert [part.split(":")[0] for part in parts] == reasons
    assert ["the squares that you returned" in part for part in parts] == [False, False, True, True, True, False]


@pytest.mark.parametrize(
    ("game", "board", "expected"),
    [
        ("chain_reaction", [[0] * 8 for _ in range(8)], " 0   .  !. !"),
        ("a-newer-game", [[0, 1], [2, 7]], " 0   .  !1 !"),
        ("hop", [[0] * 128 for _ in range(128)], " 127 "),
        ("hop", [[0] * 129], ""),
        ("hop", [[0], [0, 0]], ""),
        ("hop", [], ""),
        ("linkage", [[2**60, -(2**60)]], " 0   11 !-1!"),
    ],
)
def test_any_board_is_drawn_or_left_out(game: str, board: list[list[int]], expected: str) -> None:
    shown = position_text(game, board, True, [(0, 1), (99, 99), None])
    assert expected in shown
    assert bool(shown.strip()) == bool(expected)


def test_text_of_the_server_cannot_control_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    evil = "\x1b[2J\r\u202eevil\n\x07"

    def script(session: Session) -> None:
        session.greet(contest=evil, server=evil)
        session.say(
            Welcome(team=TEAM, name=evil, lag_ms=0, games=[], proof=right_proof(session)),
            start(game=evil, options={evil: 1}, opponent=evil),
            ask(31),
        )
        session.hear()
        session.say(
            Penalty(id=31, reason=evil, detail=evil),
            end(reason=evil, detail=evil, scores=[evil, evil]),
            Goodbye(reason=evil, detail=evil, retry_ms=None),
        )

    with FakeServer(script) as server:
        [result] = play(always, server)
    said = "".join(capsys.readouterr())
    assert said.count("evil") >= 12
    assert "".join(c for c in said if not c.isprintable()) == "\n" * 6
    assert f"{result.opponent}{result.reason}{result.detail}{result.game}".isprintable()


# --- what the callback does -----------------------------------------------------------------------------


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


# --- late ------------------------------------------------------------------------------------------------


class SlowBot:
    """A callback that thinks, when asked for the first time, until the server has closed the question."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.thinking = threading.Event()
        self.calls = 0
        self._links: list[ServerConnection] = []
        monkeypatch.setattr(_client, "connect", self._connect)

    def _connect(self, address: Address) -> ServerConnection:
        self._links.append(connect(address))
        return self._links[-1]

    def __call__(self, board: list[list[int]], is_black: bool) -> Any:
        self.calls += 1
        if self.calls == 1:
            self.thinking.set()
            assert select.select([self._links[-1]._socket], [], [], PATIENCE_SECONDS)[0]  # until it has arrived
        return MOVE

    def ask_and_wait(self, session: Session, question: GetStep) -> None:
        session.let_in(start(lag_ms=60_000), question)  # so much that it is not called late
        assert self.thinking.wait(PATIENCE_SECONDS)


def test_get_step_is_reported_late_while_it_still_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seen: list[str] = []
    called = threading.Event()

    def note(console: Console, text: str) -> None:
        seen.append(text)
        called.set()

    monkeypatch.setattr(Console, "warn", note)

    def get_step(board: list[list[int]], is_black: bool) -> Any:
        assert called.wait(PATIENCE_SECONDS)
        return MOVE

    def script(session: Session) -> None:
        session.let_in(start(lag_ms=200), ask(31, time_left_ms=600))
        assert session.hear() == Step(id=31, move=WIRE_MOVE)
        session.say(missed(31), end(), OVER)
        assert session.hear() is CLOSED

    with FakeServer(script) as server:
        play(get_step, server)
    line = get_step.__code__.co_firstlineno + 1
    assert seen[0] == (
        "Match 12, move 2: get_step has taken 0.8 s, over the limit of 0.6 s, and is still running. "
        f"It is at test_client.py line {line}"
    )
    assert seen[1].startswith("Match 12, move 2: penalty for missed_limit")
    assert re.fullmatch(r"Match 12, move 2: get_step took .+ over the limit of 0\.6 s; the answer .*late", seen[2])
    assert len(seen) == 3


def test_ctrl_c_in_an_endless_get_step_reports_the_lost_turn(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bot = SlowBot(monkeypatch)

    def get_step(board: list[list[int]], is_black: bool) -> Any:
        bot(board, is_black)
        raise KeyboardInterrupt

    def script(session: Session) -> None:
        bot.ask_and_wait(session, ask(31))
        session.say(end(reason="missed_limit", detail="White made a fault"))
        assert session.hear() is CLOSED

    with FakeServer(script) as server, pytest.raises(KeyboardInterrupt):
        play(get_step, server)
    assert "Match 12: lost (missed_limit): White made a fault." in capsys.readouterr().out


def lines_while_it_hangs(
    monkeypatch: pytest.MonkeyPatch, lines: int, *said: Any, limit: dict[str, Any]
) -> tuple[list[str], int]:
    """Return the lines about a get_step that returns after this many lines, and the line where it waits."""
    seen: list[str] = []
    all_told = threading.Event()

    def note(console: Console, text: str) -> None:
        seen.append(text)
        if len(seen) == lines:
            all_told.set()

    monkeypatch.setattr(Console, "warn", note)

    def get_step(board: list[list[int]], is_black: bool) -> Any:
        assert all_told.wait(PATIENCE_SECONDS)
        return MOVE

    def script(session: Session) -> None:
        session.let_in(start(lag_ms=200, **limit), ask(31, time_left_ms=600))
        assert session.hear() == Step(id=31, move=WIRE_MOVE)
        session.say(*said, end(), OVER)
        assert session.hear() is CLOSED

    with FakeServer(script) as server:
        play(get_step, server)
    return seen, get_step.__code__.co_firstlineno + 1


def test_after_three_limits_the_author_is_warned_of_skipped_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    stalled = Penalty(id=31, reason="stalled", detail="nothing heard: 18 turns are skipped")
    (late, skipped, penalty, lateness), line = lines_while_it_hangs(monkeypatch, 2, stalled, limit={"time_ms": 800})
    assert "is still running. It is at" in late
    # 0.6 s were left of the first limit, and two more have 0.8 s each; 0.2 s are added to every one
    assert skipped == (
        "Match 12, move 2: get_step has taken 2.8 s, 3 limits; your bot is stalled: unless the match is over, the"
        f" server skips its turns until get_step returns. It is at test_client.py line {line}"
    )
    assert penalty.endswith("penalty for stalled: nothing heard: 18 turns are skipped")
    assert lateness.endswith("; the answer arrived too late")


def test_a_budget_has_no_three_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    seen, _ = lines_while_it_hangs(monkeypatch, 1, limit={"time_kind": "budget", "time_ms": 800})
    assert len(seen) == 1
    assert Match(start(time_kind="budget")).stalled_after_ms(ask(31)) == math.inf


def test_a_question_that_was_closed_is_answered_late(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bot = SlowBot(monkeypatch)

    def script(session: Session) -> None:
        bot.ask_and_wait(session, ask(31, time_left_ms=0))
        session.say(missed(31), ask(32))
        assert session.hear() == LateAnswer(31)  # a sign of life, no move
        assert session.hear() == Step(id=32, move=WIRE_MOVE)
        session.say(end(), OVER)
        assert session.hear() is CLOSED

    with FakeServer(script) as server:
        [result] = play(bot, server)
    assert (bot.calls, result.moves) == (2, 1)
    penalty, late = capsys.readouterr().err.splitlines()
    assert penalty == "Match 12, move 2: penalty for missed_limit: no answer within 5 s; your turn is skipped"
    assert re.fullmatch(
        r"Match 12, move 2: get_step took (.+), \1 over the limit of 0 s; "
        "the turn was already over, so the answer changes nothing",
        late,
    )


def test_only_the_newest_of_many_questions_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    bot = SlowBot(monkeypatch)

    def script(session: Session) -> None:
        bot.ask_and_wait(session, ask(31))
        session.say(missed(31), ask(32), missed(32), ask(33), missed(33), ask(34))
        assert session.hear() == LateAnswer(31)
        assert session.hear() == Step(id=34, move=WIRE_MOVE)
        session.say(end(), OVER)
        assert session.hear() is CLOSED

    with FakeServer(script) as server:
        play(bot, server)
    assert bot.calls == 2


@pytest.mark.parametrize("last", [[end()], [end(), OVER], [end(), start(match=13)]])
def test_a_match_that_is_over_is_not_answered(
    last: list[Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bot = SlowBot(monkeypatch)

    def script(session: Session) -> None:
        bot.ask_and_wait(session, ask(31))
        session.say(*last)
        if OVER not in last:
            session.say(OVER)
        assert session.hear() is CLOSED

    with FakeServer(script) as server:
        [result] = play(bot, server)
    assert (bot.calls, result.moves) == (1, 0)
    assert "the match was already over, so the answer was not sent" in capsys.readouterr().err


def test_an_answer_that_crosses_the_penalty_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    def script(session: Session) -> None:
        session.let_in(start(), ask(31, time_left_ms=0))
        session.sock.recv(1, socket.MSG_PEEK)  # the answer is on its way
        session.say(missed(31), ask(32))
        assert session.hear() == LateAnswer(31)
        assert session.hear() == Step(id=32, move=WIRE_MOVE)
        session.say(end(), OVER)

    with FakeServer(script) as server:
        play(always, server)
    assert re.search(
        r"move 2: get_step took .* over the limit of 0 s; the answer arrived too late", capsys.readouterr().err
    )


# --- connections that end ----------------------------------------------------------------------------------


def _goes(session: Session) -> None:
    """Close the connection without a goodbye."""


def _resets(session: Session) -> None:
    session.reset()


def _breaks_off(session: Session) -> None:
    session.sock.sendall(b"\0\0")


def _talks_nonsense(session: Session) -> None:
    session.sock.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    until_closed(session)


def _is_full(session: Session) -> None:
    session.say(Goodbye(reason="too_many_connections", detail="4096 are enough", retry_ms=5000))


ENDINGS = [_goes, _resets, _breaks_off, _talks_nonsense, _is_full]


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_match_is_resumed_after_a_lost_connection(
    ending: Callable[[Session], None], capsys: pytest.CaptureFixture[str]
) -> None:
    def first(session: Session) -> None:
        session.let_in(start(), ask(31))
        assert session.hear() == Step(id=31, move=WIRE_MOVE)
        ending(session)

    def second(session: Session) -> None:
        session.let_in(start(resumed=True), ask(32))
        assert session.hear() == Step(id=32, move=WIRE_MOVE)
        session.say(end(), OVER)
        assert session.hear() is CLOSED

    with FakeServer(first, second) as server:
        [result] = play(always, server)
    assert result.moves == 2
    assert len(server.pauses) == 1
    out, problems = capsys.readouterr()
    assert len(problems.splitlines()) == 1
    assert "Reconnected.\nMatch 12 continues.\n" in out


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_first_connection_that_fails_is_tried_again(
    ending: Callable[[Session], None], capsys: pytest.CaptureFixture[str]
) -> None:
    with FakeServer(ending, ending, one_question) as server:
        assert len(play(always, server)) == 1
    assert len(server.pauses) == 2
    # A reset may also be seen while connecting, and is another trouble then.
    assert len(capsys.readouterr().err.splitlines()) in ((1, 2) if ending is _resets else (1,))


def test_a_silent_server_is_left(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("getstep._server_connection.HELLO_SECONDS", 0.05)
    with FakeServer(until_closed, one_question) as server:
        assert len(play(always, server)) == 1
    assert "no getstep server: it sends nothing; the port may be wrong" in capsys.readouterr().err


def test_a_bot_may_be_started_before_the_host(capsys: pytest.CaptureFixture[str]) -> None:
    with FakeServer(one_question, opens_at_pause=8) as server:
        assert len(play(always, server)) == 1
    expected = [0.2, 0.4, 0.8, 1.6, 3.2, 5, 5, 5]
    assert all(0.9 * most <= pause <= most for pause, most in zip(server.pauses, expected, strict=True))
    assert capsys.readouterr().err == (
        f"No connection to 127.0.0.1:{server.port}: nothing listens there; the server is not running yet, "
        "or the port is wrong. Trying again until it works; Ctrl-C stops the bot.\n"
    )


def test_a_welcome_makes_the_pauses_short_again() -> None:
    with FakeServer(_goes, _goes, _goes, lambda s: s.let_in(), _goes, only_over) as server:
        play(always, server)
    assert all(
        0.9 * most <= pause <= most for pause, most in zip(server.pauses, [0.2, 0.4, 0.8, 0.2, 0.4], strict=True)
    )


def test_each_outage_is_reported_once(capsys: pytest.CaptureFixture[str]) -> None:
    with FakeServer(lambda s: s.let_in(), _goes, _goes, lambda s: s.let_in(), _goes, _goes, only_over) as server:
        play(always, server)
    problems = capsys.readouterr().err.splitlines()
    assert [line.split(" ")[:2] for line in problems] == [["Connection", "lost:"], ["No", "connection"]] * 2


def test_goodbye_says_when_to_come_back(capsys: pytest.CaptureFixture[str]) -> None:
    def stop(session: Session) -> None:
        session.let_in(Goodbye(reason="shutting_down", detail="The host stopped the server.", retry_ms=2000))
        assert session.hear() is CLOSED

    with FakeServer(stop, only_over) as server:
        play(always, server)
    assert len(server.pauses) == 1
    assert 2.0 <= server.pauses[0] <= 2.2
    assert capsys.readouterr().err == "shutting_down: The host stopped the server. Connecting again.\n"


def test_an_unsent_answer_is_kept_for_the_same_question(monkeypatch: pytest.MonkeyPatch) -> None:
    bot = SlowBot(monkeypatch)

    def lost(session: Session) -> None:
        bot.ask_and_wait(session, ask(31))

    def repeats(session: Session) -> None:
        session.let_in(start(resumed=True), ask(31, time_left_ms=3000))
        assert session.hear() == Step(id=31, move=WIRE_MOVE)
        session.say(end(), OVER)

    with FakeServer(lost, repeats) as server:
        [result] = play(bot, server)
    assert (bot.calls, result.moves) == (1, 1)


def test_another_question_with_the_same_id_calls_get_step_again(monkeypatch: pytest.MonkeyPatch) -> None:
    bot = SlowBot(monkeypatch)

    def lost(session: Session) -> None:
        bot.ask_and_wait(session, ask(31))

    def asks_again(session: Session) -> None:
        session.let_in(start(resumed=True), ask(31, board=[[0, 0, 2]]))
        assert session.hear() == Step(id=31, move=WIRE_MOVE)
        session.say(end(), OVER)

    with FakeServer(lost, asks_again) as server:
        play(bot, server)
    assert bot.calls == 2


def test_a_match_that_ended_while_away(capsys: pytest.CaptureFixture[str]) -> None:
    def first(session: Session) -> None:
        session.let_in(start())

    def second(session: Session) -> None:
        session.let_in(start(match=13), end(match=13, result="void", scores=None), OVER)

    with FakeServer(first, second) as server:
        [result] = play(always, server)
    assert (result.match, result.result, result.scores) == (13, "void", None)
    out, problems = capsys.readouterr()
    assert "Match 12 ended while this bot was not connected; ask the host how." in problems
    assert "Match 13: void (finished):" in out


def test_a_match_that_another_run_of_the_bot_began(capsys: pytest.CaptureFixture[str]) -> None:
    def script(session: Session) -> None:
        session.let_in(start(resumed=True), end(), OVER)

    with FakeServer(script) as server:
        assert len(play(always, server)) == 1
    assert "Match 12 continues: hop against Grashüpfer" in capsys.readouterr().out


def test_an_increment_is_printed_and_given_to_get_step(capsys: pytest.CaptureFixture[str]) -> None:
    told: list[int] = []

    def get_step(board: list[list[int]], is_black: bool, turn: Turn) -> Any:
        told.append(turn.increment_ms)
        return MOVE

    def script(session: Session) -> None:
        session.let_in(start(time_kind="budget", time_ms=60_000, increment_ms=500), ask(31))
        assert isinstance(session.hear(), Step)
        session.say(end(), start(13), ask(32))
        assert isinstance(session.hear(), Step)
        session.say(end(13), OVER)

    with FakeServer(script) as server:
        assert len(play(get_step, server)) == 2
    assert told == [500, 0]
    out = capsys.readouterr().out
    assert (
        "; 60 s for all your moves together and 0.5 s more after each answer, plus 0.1 s for network delay\n" in out
    )
    assert "; 5 s a move, plus 0.1 s for network delay\n" in out


def test_goodbye_right_after_hello() -> None:
    full = Goodbye(reason="too_many_connections", detail="4096 are enough", retry_ms=5000)

    def script(session: Session) -> None:
        session.say(Hello(versions=[1], nonce="0" * 32, contest="Autumn", server="fake 1"), full)
        assert session.hear() is CLOSED

    with FakeServer(script, only_over) as server:
        assert play(always, server) == []
    assert len(server.pauses) == 1


def test_nonsense_right_after_hello() -> None:
    def script(session: Session) -> None:
        hello = Hello(versions=[1], nonce="0" * 32, contest="Autumn", server="fake 1")
        session.sock.sendall(session.conversation.send(hello) + b"\0\0\0\0")
        assert until_closed(session) == b""

    with FakeServer(script, only_over) as server:
        play(always, server)
    assert len(server.pauses) == 1


# --- refused -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reason", "advice"),
    [
        ("bad_token", "Copy the token again"),
        ("unknown_team", "Ask the host for your team's id"),
        ("unsupported_version", "Update getstep"),
        ("some_new_code", "some_new_code"),
    ],
)
def test_a_refused_login_stops_at_once(reason: str, advice: str) -> None:
    def script(session: Session) -> None:
        session.greet()
        session.say(Goodbye(reason=reason, detail="Not you.", retry_ms=None))

    with FakeServer(script) as server:
        with pytest.raises(Refused, match=advice) as caught:
            play(always, server)
        assert caught.value.reason == reason
        assert "Not you" in str(caught.value)
    assert server.pauses == []


def test_a_server_of_another_version() -> None:
    def script(session: Session) -> None:
        assert session.greet(versions=[2, 3]) is CLOSED

    with FakeServer(script) as server:
        with pytest.raises(Refused, match=r"speaks version 2, 3 .*speaks 1\.\nUpdate getstep") as caught:
            play(always, server)
        assert caught.value.reason == "unsupported_version"


def test_a_server_of_several_versions() -> None:
    def script(session: Session) -> None:
        session.let_in(OVER, versions=[2, 1])
        assert session.join is not None
        assert session.join.version == 1

    with FakeServer(script) as server:
        assert play(always, server) == []


def test_replaced_during_a_match(monkeypatch: pytest.MonkeyPatch) -> None:
    bot = SlowBot(monkeypatch)

    def script(session: Session) -> None:
        bot.ask_and_wait(session, ask(31))
        session.say(Goodbye(reason="replaced", detail="A newer login has the seat.", retry_ms=None))
        assert session.hear() is CLOSED

    with FakeServer(script) as server, pytest.raises(Refused, match="second copy") as caught:
        play(bot, server)
    assert caught.value.reason == "replaced"


def never(seconds: float) -> None:
    raise AssertionError("there is no point in trying again")


@pytest.mark.parametrize("host", ["no-such-host.invalid", "a..b", "x" * 300])
def test_a_name_that_does_not_resolve_stops_at_once(host: str) -> None:
    client = Client(Callback(always), Address(host, 7777), Login(TEAM, TOKEN), Console(), sleep=never)
    with pytest.raises(Unreachable, match="No computer is called"):
        client.run()


def test_a_name_that_no_longer_resolves_is_tried_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    real, lookups = socket.getaddrinfo, []

    def getaddrinfo(*arguments: Any, **more: Any) -> Any:
        lookups.append(arguments)
        if len(lookups) == 2:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return real(*arguments, **more)

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    with FakeServer(lambda session: session.let_in(), only_over) as server:
        play(always, server)
    assert len(server.pauses) == 2
    assert "No computer is called '127.0.0.1'" in capsys.readouterr().err


# --- around it ---------------------------------------------------------------------------------------------


def test_the_socket_sends_at_once_and_keeps_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []

    def watched(address: Address) -> ServerConnection:
        opened = connect(address)
        sock = opened._socket
        found.append(sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        found.append(sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE))
        return opened

    monkeypatch.setattr(_client, "connect", watched)
    with FakeServer(only_over) as server:
        play(always, server)
    assert all(found)
    assert len(found) == 2


def test_importing_getstep_imports_neither_trio_nor_numpy() -> None:
    code = "import sys, getstep, getstep.cli; print({'trio', 'numpy'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


@pytest.mark.skipif(sys.platform == "win32", reason="sends a POSIX signal")
@pytest.mark.parametrize("as_script", [True, False])
def test_ctrl_c_while_waiting(tmp_path: Path, as_script: bool) -> None:
    bot = tmp_path / "my_bot.py"
    bot.write_text(
        "import getstep\ndef get_step(board, is_black): pass\nif __name__ == '__main__': getstep.play(get_step)\n"
    )
    words = [str(bot)] if as_script else ["-m", "getstep", "play", str(bot)]
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
    waiting, stopped = threading.Event(), threading.Event()

    def script(session: Session) -> None:
        session.let_in()
        waiting.set()
        assert session.hear() is CLOSED
        stopped.set()

    with FakeServer(script) as server:
        environment = {
            **os.environ,
            "GETSTEP_TEAM": str(TEAM),
            "GETSTEP_TOKEN": TOKEN,
            "GETSTEP_PORT": str(server.port),
        }
        command = [sys.executable, *words]
        with subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as process:
            assert process.stdout is not None
            watchdog = threading.Timer(PATIENCE_SECONDS, process.kill)
            watchdog.start()
            lines = iter(process.stdout.readline, "")
            assert any(line.startswith("Connected to") for line in lines)  # at once, although this is a pipe
            assert waiting.wait(PATIENCE_SECONDS)
            process.send_signal(signal.SIGINT)
            assert list(lines) == ["Stopped.\n"]
            watchdog.cancel()
        assert process.returncode == 130
        assert stopped.wait(PATIENCE_SECONDS)
