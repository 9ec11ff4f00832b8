"""What the host writes to the teams, put on record: announcements, and answers to questions.

They are no decisions: nothing follows from them. But they go the same way, checked against the state that they are
made on. All functions here block: a page calls them in a thread.
"""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path

import trio

from getstep_server.config.contest import Contest, load_contest
from getstep_server.errors import UsageError
from getstep_server.records.message import Message, record_of_message
from getstep_server.records.record import Record, RecordError
from getstep_server.storage.contest_state import complete_tournament, load_tournament
from getstep_server.storage.database import not_there
from getstep_server.storage.lost_records import has_database
from getstep_server.storage.store import Conflict, Store
from getstep_server.text import utc_time
from getstep_server.tournament.tournament import Tournament


def announce(folder: Path, text: str, by: str) -> Tournament:
    """Say something to all teams and spectators; return the tournament after it.

    Raises:
        UsageError: the text cannot be recorded, there were too many messages, or the contest has not begun.
        ConfigError, StoreError, RecordError: the contest cannot be read.
    """
    return _put(folder, Message(kind="announcement", text=text, at=0.0, by=by))


def answer(folder: Path, question: int, text: str, by: str, *, to_all: bool) -> Tournament:
    """Answer a question, to the team that has asked it or to all. Raises as `announce`."""
    return _put(folder, Message(kind="answer", text=text, at=0.0, question=question, to_all=to_all, by=by))


def _put(folder: Path, message: Message) -> Tournament:
    contest = load_contest(folder)
    if not has_database(contest):
        raise UsageError(f"{not_there(contest.database)}; no bot can read it before the contest has started")
    complete_tournament(contest, quick=True)
    with Store(contest.database) as store:
        while True:
            tournament = load_tournament(contest, store)
            if objection := tournament.messages.host_objection(message, time.time()):
                raise UsageError(objection)
            record = _record(contest, message)
            try:
                trio.run(partial(store.save, record, based_on=tournament.place))
            except Conflict:  # as with decisions: the server may add a record at any moment
                continue
            return load_tournament(contest, store)


def _record(contest: Contest, message: Message) -> Record:
    try:
        return record_of_message(contest, message, utc_time(time.time()))
    except RecordError as error:
        raise UsageError(f"this text cannot be recorded: {error}") from error
