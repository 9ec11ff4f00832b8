"""Announcements, questions and answers: the limits, the records, and what bots get."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from getstep.wire import Notice
from getstep_server.limits import MAX_OPEN_QUESTIONS
from getstep_server.records.message import Message, message_of, record_of_message
from getstep_server.records.record import RecordError, parse
from getstep_server.text import utc_time
from getstep_server.tournament.messages import MAX_HOST_MESSAGES, QUESTION_SECONDS, Messages
from tests.support.contests import make_contest
from tests.support.director import SMALL, DecidedStage

NOW = 1.7e9


def announcement(text: str, by: str = "Grace") -> Message:
    return Message(kind="announcement", text=text, at=0.0, by=by)


def question(team: int, text: str = "May we use two laptops?") -> Message:
    return Message(kind="question", text=text, at=0.0, team=team)


def answer(number: int, text: str = "Yes", *, to_all: bool = False) -> Message:
    return Message(kind="answer", text=text, at=0.0, question=number, to_all=to_all, by="Grace")


class Board:
    """Messages that are put on record one after the other."""

    def __init__(self, folder: Path) -> None:
        self.contest = make_contest(folder)
        self.messages = Messages()

    def put(self, message: Message, at: float = NOW) -> None:
        record = record_of_message(self.contest, message, utc_time(at))
        self.messages.apply(parse(record.header))

    def objection(self, team: int, now: float) -> str | None:
        return self.messages.question_objection(team, now, MAX_OPEN_QUESTIONS)


def test_who_reads_what(tmp_path: Path) -> None:
    board = Board(tmp_path)
    for message in (announcement("Lunch"), question(1), question(2), answer(1), answer(2, to_all=True)):
        board.put(message)
    messages = board.messages
    read = {team: [m.text for m in messages.sent if messages.is_for(m, team)] for team in (1, 2, 3)}
    assert read == {1: ["Lunch", "Yes", "Yes"], 2: ["Lunch", "Yes"], 3: ["Lunch", "Yes"]}
    assert [(m.kind, m.question) for m in messages.public()] == [("announcement", None), ("answer", 2)]
    assert messages.unanswered == 0
    board.put(question(1))
    assert messages.unanswered == 1
    assert [one.number for one in messages.open_questions] == [3]
    assert [one.number for one in messages.of(1)] == [1, 3]


def test_so_many_questions_of_a_team_wait(tmp_path: Path) -> None:
    board, asked = Board(tmp_path), 0
    for second in range(100_000):  # a day, a question in each second
        if board.objection(1, NOW + second) is None:
            board.put(question(1), NOW + second)
            asked += 1
    assert asked == 20
    later = NOW + 100_000
    assert "wait for an answer" in (board.objection(1, later) or "")
    assert board.objection(2, later) is None
    board.put(answer(1), later)
    assert board.objection(1, later) is None
    board.put(question(1), later)
    board.put(answer(2), later)
    assert "ask again in 1 s" in (board.objection(1, later + QUESTION_SECONDS - 1) or "")


def test_the_host_does_not_flood_the_terminals(tmp_path: Path) -> None:
    board = Board(tmp_path)
    for _ in range(MAX_HOST_MESSAGES):
        assert board.messages.host_objection(announcement("x"), NOW + 1) is None
        board.put(announcement("x"))
    assert "expected fewer" in (board.messages.host_objection(announcement("x"), NOW + 1) or "")
    assert board.messages.host_objection(announcement("x"), NOW + 61) is None
    assert "question 7, expected one of the 0" in (board.messages.host_objection(answer(7), NOW + 61) or "")


@pytest.mark.parametrize("text", ["", " x", "x" * 501, "two\nlines", "red \x1b[31m"])
def test_a_text_is_one_visible_line(text: str, tmp_path: Path) -> None:
    with pytest.raises(RecordError, match=r"^text is "):
        record_of_message(make_contest(tmp_path), announcement(text), utc_time(NOW))


@pytest.mark.parametrize("wrong", [{"team": 1}, {"by": None}, {"question": 1}, {"message": "shout"}])
def test_a_record_that_contradicts_its_kind(wrong: dict[str, Any], tmp_path: Path) -> None:
    record = record_of_message(make_contest(tmp_path), announcement("Lunch"), utc_time(NOW))
    with pytest.raises(RecordError):
        message_of({**parse(record.header), **wrong})


async def test_bots_get_what_is_for_them_and_late_ones_once(tmp_path: Path, autojump_clock: MockClock) -> None:
    contest = make_contest(tmp_path, teams=3, **SMALL)
    stage = DecidedStage(contest)

    def put(message: Message) -> None:
        stage.store.decide(record_of_message(contest, message, utc_time(NOW + trio.current_time())))

    async def host() -> None:
        await trio.sleep(3)
        put(announcement("Lunch"))
        put(question(1))
        put(answer(1))
        await trio.sleep(5)
        stage.come(3)
        await trio.sleep(2)
        stage.go(3)
        stage.come(3)

    await stage.play(1, 2, seconds={1: 1.0, 2: 1.0}, during=host)
    told = {team: [(one.kind, one.text) for one in stage.said(team, Notice)] for team in (1, 2, 3)}
    lunch = ("announcement", "Lunch")
    assert told == {1: [lunch, ("answer", "Yes")], 2: [lunch], 3: [lunch]}
    stage.check(tmp_path)
