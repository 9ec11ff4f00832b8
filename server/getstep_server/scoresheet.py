"""The scoresheet of one match: its course and its journal, kept in step.

Nothing the judge decides is passed on before it stands here. After a crash the journals that are left become
scoresheets again, and their matches go on.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson
import trio

from getstep_engines import GAMES, Player, TimeControl

from .contest import Contest
from .course import Course, WrongTurn
from .disk import Disk
from .events import Incident, JournalCut
from .game_record import Happened, Record, RecordError, head_of_game, match_of, record_of_game
from .journal import Entries, Journal, JournalError, read
from .limits import GAME_INCIDENTS_KEPT, INCIDENT_DETAIL_CHARS
from .results import Result
from .schedule import Match


class Scoresheet:
    """A match's course, on its way to the disk turn by turn.

    Args:
        head: what its record begins with.
        course: the match so far.
        happened: the same as texts.
        journal: where further turns go.
        disk: for the case that it is full.
    """

    def __init__(
        self, head: Mapping[str, Any], course: Course, happened: Happened, journal: Journal, disk: Disk
    ) -> None:
        self.head = head
        self.course = course
        self.match = match_of(head)
        self.attempt: int = head["attempt"]
        self._happened = happened
        self._journal = journal
        self._disk = disk

    @classmethod
    def begin(cls, path: Path, head: Mapping[str, Any], disk: Disk) -> Scoresheet:
        """A new match's; makes its journal, so call it in a thread.

        Raises:
            OSError: the journal cannot be written; nothing is left of it.
        """
        journal = Journal(path, new=True)
        try:
            journal.append(orjson.dumps(head))
        except OSError:
            journal.remove()
            raise
        return cls(head, course_of(head), Happened(), journal, disk)

    @classmethod
    def resume(
        cls, path: Path, head: Mapping[str, Any], entries: Sequence[dict[str, Any]], disk: Disk
    ) -> Scoresheet:
        """One that an earlier run left behind, with what its journal holds after the head; `go_on` comes next.

        Raises:
            JournalError: an entry cannot follow on those before it.
            OSError: the journal cannot be opened.
        """
        course, happened = course_of(head), Happened()
        for line, entry in enumerate(entries, start=2):
            try:
                _take(entry, course, happened)
            except (WrongTurn, KeyError, TypeError) as error:
                raise JournalError(f"{path}, line {line}: {error}") from error
        return cls(head, course, happened, Journal(path, new=False), disk)

    def go_on(self) -> None:
        """Note that the match goes on, after the passes that the last run could not write any more.

        Raises:
            OSError: the journal cannot be written.
        """
        passes = [_pass(player) for player in self.course.passes_due]
        self._happened.turns += passes
        self._happened.resumed.append(self.course.turns)
        self._journal.append(*passes, b'{"resumed":%d}' % self.course.turns)

    async def write(self, turn: Mapping[str, Any]) -> None:
        """Write a turn that the course has taken, and the passes that followed; waits if the disk is full."""
        lines = [_line(turn)]
        course = self.course
        if course.state.passed and "end" not in turn:
            lines += map(_pass, course.state.passed)
        self._happened.turns += lines
        try:
            self._journal.append(*lines)
        except OSError:
            await self._disk.insist(self._flush)

    def incident(self, incident: Incident) -> None:
        """Note hostile or refused traffic of one of the teams; of many alike the first, and how many."""
        known = {"team": incident.team, "code": incident.code}
        for row in self._happened.incidents:
            if row["team"] == incident.team and row["code"] == incident.code:
                row["count"] += 1
                return
        if len(self._happened.incidents) < GAME_INCIDENTS_KEPT:
            detail = {"detail": incident.detail[:INCIDENT_DETAIL_CHARS], "address": incident.address}
            row = {**known, "after_turn": self.course.turns, **detail, "count": 1}
            self._happened.incidents.append(row)
            with contextlib.suppress(OSError):  # the next turn brings it to the disk
                self._journal.append(orjson.dumps({"incident": row}))

    def record(self, result: Result) -> Record:
        """The record of the match, now that it is over."""
        return record_of_game(self.head, result, self._happened)

    def close(self) -> None:
        """Leave the journal to a later run."""
        self._journal.close()

    def remove(self) -> None:
        """Delete the journal, the match being on record or void; in a thread, if others must not wait."""
        self._journal.remove()

    async def _flush(self) -> None:
        self._journal.flush()


def course_of(head: Mapping[str, Any]) -> Course:
    """The course of a match before its first turn, from the beginning of its record."""
    limit = head["time"]
    control = TimeControl(limit["kind"], limit["ms"] / 1000)
    return Course(GAMES[head["game"]], head["options"], control, limit["lag_ms"] / 1000)


def _line(turn: Mapping[str, Any]) -> bytes:
    """A turn as JSON to keep: a copy, because what orjson returns holds on to the 4 KB that it was written into."""
    return b"%b" % orjson.dumps(turn)


def _pass(player: Player) -> bytes:
    return b'{"player":%d,"pass":true}' % player


def _take(entry: dict[str, Any], course: Course, happened: Happened) -> None:
    if "incident" in entry:
        happened.incidents.append(entry["incident"])
    elif "resumed" in entry:
        happened.resumed.append(entry["resumed"])
    else:
        course.apply(entry)
        happened.turns.append(_line(entry))


class Scoresheets:
    """The scoresheets of a contest's running matches, in the folder ``running``.

    Args:
        contest: whose.
        disk: it is on.
    """

    def __init__(self, contest: Contest, disk: Disk) -> None:
        self._contest = contest
        self._disk = disk

    async def begin(self, match: Match, attempt: int) -> Scoresheet:
        """A scoresheet for a match that begins; waits if the disk is full."""
        path = self._path(match.number, attempt)
        head = head_of_game(self._contest, match, attempt, round(time.time(), 3))
        return await self._disk.insist(lambda: trio.to_thread.run_sync(Scoresheet.begin, path, head, self._disk))

    def unfinished(
        self, schedule: Sequence[Match], recorded: Collection[tuple[int, int]]
    ) -> tuple[list[Scoresheet], list[JournalCut]]:
        """What an earlier run has left behind: its running matches, and the torn lines that were cut off.

        Journals of matches that are on record (``recorded``: match and attempt) are deleted. Nothing is changed
        before everything is read.

        Raises:
            JournalError: one of them is damaged, or not of a match in ``schedule``.
            OSError: the folder cannot be used.
        """
        folder = self._contest.running
        folder.mkdir(exist_ok=True)
        matches = {match.number: match for match in schedule}
        journals = {path: read(path, mend=False) for path in sorted(folder.glob("*.journal"))}
        over = [path for path, found in journals.items() if _is_over(path, found, recorded)]
        sheets = [self._resumed(path, found, matches) for path, found in journals.items() if path not in over]
        for path, found in journals.items():
            if path in over:
                path.unlink()
            elif found.cut is not None:
                read(path, mend=True)
        cuts = [JournalCut(str(path), found.cut) for path, found in journals.items() if found.cut is not None]
        return list(_latest(sheets)), cuts

    def _resumed(self, path: Path, found: Entries, matches: Mapping[int, Match]) -> Scoresheet:
        head, *entries = found.entries
        _check_head(path, head, matches)
        return Scoresheet.resume(path, head, entries, self._disk)

    def _path(self, match: int, attempt: int) -> Path:
        return self._contest.running / f"match-{match}-{attempt}.journal"


def _is_over(path: Path, found: Entries, recorded: Collection[tuple[int, int]]) -> bool:
    """Whether a journal is of no use any more: its match is on record, or not even its first line was written."""
    return not found.entries or _identity(path, found.entries[0]) in recorded


def _identity(path: Path, head: Mapping[str, Any]) -> tuple[int, int]:
    number, attempt = head.get("match"), head.get("attempt")
    if type(number) is not int or type(attempt) is not int:
        raise JournalError(f"{path}, line 1: {head!r:.80}, expected the head of a game's record")
    return number, attempt


def _latest(sheets: Sequence[Scoresheet]) -> Iterator[Scoresheet]:
    """Of each match the last attempt, ready to go on; an earlier one was given up when the server failed in it."""
    last = {sheet.match.number: sheet for sheet in sorted(sheets, key=lambda sheet: sheet.attempt)}
    for sheet in sheets:
        if last[sheet.match.number] is sheet:
            sheet.go_on()
            yield sheet
        else:
            sheet.remove()


def _check_head(path: Path, head: Mapping[str, Any], matches: Mapping[int, Match]) -> None:
    try:
        match = match_of(head)
        course_of(head)
    except (RecordError, KeyError, TypeError, ValueError) as error:
        raise JournalError(f"{path}, line 1: {error}") from error
    if matches.get(match.number) != match:
        raise JournalError(f"{path}, line 1: match {match.number} is not one of this contest's schedule")
