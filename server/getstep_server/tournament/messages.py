"""The messages of a contest, as its records say: announcements, questions, answers; and who may write now.

They count nowhere: nothing else of the tournament reads them. The limits hold for what is written next, by the
times on record: nothing that is on record is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from getstep_server.records.message import Message, message_of
from getstep_server.records.record import RecordError

QUESTION_SECONDS = 30.0
"""A team asks one question in so long: a host reads them beside everything else."""

HOST_SECONDS, MAX_HOST_MESSAGES = 60.0, 10
"""The host writes so many announcements and answers in so many seconds: each goes to every bot and every page."""


class Question(Struct, frozen=True):
    """A question on record, with its answers."""

    number: int
    team: int
    text: str
    at: float
    answers: tuple[Message, ...] = ()


class Messages:
    """The messages on record."""

    def __init__(self) -> None:
        self.sent: list[Message] = []
        """What the host has written, in the order of the records: announcements and answers."""
        self.questions: dict[int, Question] = {}
        """The questions by their numbers, which are in the order of the records."""
        self._open: dict[int, set[int]] = {}
        """The numbers of the unanswered questions of each team."""
        self._asked: dict[int, float] = {}
        """The time of the latest question of each team."""

    @property
    def open_questions(self) -> list[Question]:
        """The unanswered questions, the oldest first."""
        return [one for one in list(self.questions.values()) if not one.answers]

    @property
    def unanswered(self) -> int:
        """The number of unanswered questions."""
        return sum(map(len, list(self._open.values())))

    def of(self, team: int) -> list[Question]:
        """Return the questions of a team, the oldest first."""
        return [one for one in list(self.questions.values()) if one.team == team]

    def public(self) -> list[Message]:
        """Return what everybody may read: announcements, and answers to all. The oldest is first."""
        return [one for one in list(self.sent) if one.kind == "announcement" or one.to_all]

    def is_for(self, message: Message, team: int) -> bool:
        """Return True if a team may read what the host has written."""
        if message.kind == "announcement" or message.to_all:
            return True
        return self.questions[message.question or 0].team == team

    def apply(self, fields: Mapping[str, Any]) -> None:
        """Add the message of the next record of one.

        Raises:
            RecordError: a field is missing or invalid, or the message answers a question that nobody has asked.
        """
        message = message_of(fields)
        if message.kind == "question":
            team, number = message.team or 0, len(self.questions) + 1
            self.questions[number] = Question(number, team, message.text, message.at)
            self._open.setdefault(team, set()).add(number)
            self._asked[team] = message.at
            return
        if message.kind == "answer":
            question = self.questions.get(message.question or 0)
            if question is None:
                raise RecordError(f"question is {message.question}, expected one of {len(self.questions)}")
            self.questions[question.number] = replace(question, answers=(*question.answers, message))
            self._open[question.team].discard(question.number)
        self.sent.append(message)

    def question_objection(self, team: int, now: float, most: int) -> str | None:
        """Return why a team cannot ask at the Unix time ``now``, in words for the team; None if it can.

        It may have at most ``most`` unanswered questions.
        """
        waiting = len(self._open.get(team, ()))
        if not most:
            return "the host takes no questions here; go to the host"
        if waiting >= most:
            return f"{waiting} questions of your team wait for an answer, which is the most; go to the host"
        left = self._asked.get(team, 0.0) + QUESTION_SECONDS - now
        # a clock that was put back must not close a team out for long
        if 0 < left <= QUESTION_SECONDS:
            return f"your team has just asked; ask again in {left:.0f} s"
        return None

    def host_objection(self, message: Message, now: float) -> str | None:
        """Return why the host cannot write at the Unix time ``now``; None if that is possible."""
        if message.kind == "answer" and message.question not in self.questions:
            return f"question {message.question}, expected one of the {len(self.questions)} that were asked"
        recent = sum(now - HOST_SECONDS < one.at <= now for one in self.sent[-MAX_HOST_MESSAGES:])
        if recent >= MAX_HOST_MESSAGES:
            return (
                f"{recent} messages in {HOST_SECONDS:g} s, expected fewer; wait a minute: each goes to every team"
            )
        return None
