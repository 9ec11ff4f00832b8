"""Messages between the host and the teams, and their records: announcements, questions and answers.

They change no result. A question has a number, from 1 in the order of the records; an answer names it.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from getstep_server.config.contest import Contest
from getstep_server.config.fields import Name

from .record import SOFTWARE, Head, Record, RecordError, as_json, plain, read
from .values import BoundedLine, Number, TeamId, Time

MESSAGE = "message"
"""The type of the record."""

MessageKind: TypeAlias = Literal["announcement", "question", "answer"]


class MessageRecord(Head, frozen=True, kw_only=True):
    """A record of a message.

    ``team`` asks a question, ``question`` is the number of the one that is answered, ``to_all`` says who may read
    the answer: all, or the team that has asked. ``by`` is the host who writes.
    """

    type: str = MESSAGE
    message: MessageKind
    team: TeamId | None
    question: Number | None
    to_all: bool
    text: BoundedLine
    by: Name | None
    at: Time
    software: BoundedLine


class Message(Struct, frozen=True, kw_only=True):
    """A message; ``at`` is its Unix time. The other fields are those of the record."""

    kind: MessageKind
    text: str
    at: float
    team: int | None = None
    question: int | None = None
    to_all: bool = False
    by: str | None = None


def record_of_message(contest: Contest, message: Message, at: str) -> Record:
    """Return the record of a message at the time ``at``, in the format of records.

    Raises:
        RecordError: the text is empty, too long, or has control characters.
    """
    fields = {
        "contest": contest.name,
        "seed": contest.file.contest.seed,
        "type": MESSAGE,
        "message": message.kind,
        "team": message.team,
        "question": message.question,
        "to_all": message.to_all,
        "text": message.text,
        "by": message.by,
        "at": at,
        "software": SOFTWARE,
    }
    return Record(plain(read(MessageRecord, fields)))


def message_of(fields: Mapping[str, Any]) -> Message:
    """Return the message in a record.

    Raises:
        RecordError: a field is missing or invalid, or contradicts the kind of the message.
    """
    as_json(fields)
    record = read(MessageRecord, fields)
    given = (record.team is not None, record.question is not None, record.by is not None)
    expected = {
        "announcement": (False, False, True),
        "question": (True, False, False),
        "answer": (False, True, True),
    }
    if given != expected[record.message]:
        raise RecordError(f"team, question and by do not fit a message of the kind {record.message}")
    return Message(
        kind=record.message,
        text=record.text,
        at=datetime.fromisoformat(record.at).timestamp(),
        team=record.team,
        question=record.question,
        to_all=record.to_all,
        by=record.by,
    )
