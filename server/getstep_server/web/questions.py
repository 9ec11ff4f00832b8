"""Questions: a team writes to the host in its own area, and reads the answers there.

Theory of operation. As with challenges, the page decides if a team may ask, by the records, and stores the question
as a record; the server applies it, and the host answers from the console or with `getstep-server answer`.

A refusal costs no disk. One question of a team is worked on at a time, until its record is read back: so the limits
of `tournament.messages` hold however many requests come at once. This process alone writes questions.
"""

from __future__ import annotations

import time
from functools import partial

import trio

from getstep.wire import MAX_TEXT
from getstep_server.api.answers import QuestionsAnswer
from getstep_server.api.build import question_answer
from getstep_server.api.visibility import visible_questions
from getstep_server.records.message import Message, record_of_message
from getstep_server.records.record import Record, RecordError
from getstep_server.storage.database import DatabaseError, StoreError
from getstep_server.storage.store import Store
from getstep_server.text import utc_time

from .feed import POLL_SECONDS, Feed
from .http import JSON, Request, Response, problem
from .parts import notices_answer
from .topics import encode

SHOWN = 50
"""The latest questions that a team's area shows."""

READ_BACK_SECONDS = 10.0
"""The longest wait for a record that was stored: the page reads new ones three times a second."""


class QuestionForm:
    """Takes the questions of all teams, and shows each team its own.

    Args:
        feed: the contest.
    """

    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self._busy: set[int] = set()
        """The teams of which a question is being stored."""
        self._writing = trio.CapacityLimiter(1)

    async def take(self, team: int, request: Request) -> Response:
        """Answer a team that asks the question in the field ``text``.

        Raises:
            ValueError: the form has too many fields.
        """
        text = request.form().get("text", "").strip()
        feed, now = self._feed, time.time()  # the wall clock, as in the records
        if (closed := self._closed(team)) is not None:
            return problem(429, closed)
        if team in self._busy:
            return problem(429, "another question of your team is being stored; try again in a second")
        try:
            record = record_of_message(
                feed.contest, Message(kind="question", text=text, at=now, team=team), utc_time(now)
            )
        except RecordError as error:
            return problem(400, f"this question cannot be recorded: {error}")
        self._busy.add(team)
        try:
            before = len(feed.whole.messages.of(team))
            await trio.to_thread.run_sync(partial(_store, feed, record), limiter=self._writing)
            with trio.move_on_after(READ_BACK_SECONDS):
                while len(feed.whole.messages.of(team)) == before:
                    await trio.sleep(POLL_SECONDS)  # the feed has no event for a new record
        except (StoreError, DatabaseError) as error:
            return problem(503, f"the question cannot be stored now ({error}); try again")
        finally:
            self._busy.discard(team)
        return Response(encode({}), JSON, 202)

    def _closed(self, team: int) -> str | None:
        """Return why the team cannot ask now; None if it can."""
        if self._feed.store is None:
            return "the contest has not begun; ask the host in the room"
        most = self._feed.contest.file.quotas.questions_waiting
        return self._feed.whole.messages.question_objection(team, time.time(), most)

    def state(self, team: int) -> QuestionsAnswer:
        """Return what a team's area shows: its latest questions with the answers, and what the host announces."""
        whole = self._feed.whole
        return QuestionsAnswer(
            closed=self._closed(team),
            longest=MAX_TEXT,
            questions=[question_answer(whole, one) for one in visible_questions(whole, team)[: -SHOWN - 1 : -1]],
            notices=notices_answer(self._feed),
        )


def _store(feed: Feed, record: Record) -> None:
    """Append a record to the chain; any thread may call this.

    Raises:
        StoreError, DatabaseError: the database cannot be written.
    """
    with Store(feed.contest.database) as store:
        trio.run(store.save, record)
