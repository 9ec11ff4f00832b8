"""The client when ``get_step`` is late: reports, and questions that are over."""

from __future__ import annotations

import math
import re
import socket
import threading
from typing import Any

import pytest

from getstep.client.match import Match
from getstep.text import Console
from getstep.wire import CLOSED, LateAnswer, Penalty, Step
from tests.support.fake_server import (
    MOVE,
    OVER,
    WIRE_MOVE,
    FakeServer,
    Session,
    SlowBot,
    always,
    ask,
    end,
    missed,
    play,
    start,
)
from tests.support.patience import PATIENCE_SECONDS


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
        f"It is at test_client_late.py line {line}"
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
        f" server skips its turns until get_step returns. It is at test_client_late.py line {line}"
        "\nStop it with Ctrl-C, correct it and start it again: it goes on with this match."
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
