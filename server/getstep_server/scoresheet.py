"""The scoresheet of one match: its course and its lines in the journal, kept in step.

Nothing the judge decides is passed on before it stands here. After a crash the lines that are left become
scoresheets again, and their matches go on.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson

from getstep_engines import GAMES, Player, TimeControl

from .contest import Contest
from .course import Course, WrongTurn
from .disk import Disk, more_room_helps
from .events import Incident, JournalCut
from .game_record import Happened, Record, RecordError, head_of_game, match_of, record_of_game
from .journal import Journal, JournalError, Line, Segment, read, segments, tag_of
from .limits import GAME_INCIDENTS_KEPT, INCIDENT_DETAIL_CHARS
from .results import Result
from .schedule import Match


class Scoresheet:
    """A match's course, on its way to the disk turn by turn.

    Args:
        head: what its record begins with.
        journal: where turns go.
        disk: for the case that it is full.
        lines: what an earlier run has left of the match after its head; `go_on` comes next.

    Raises:
        JournalError: a line cannot follow on those before it.
    """

    def __init__(self, head: Mapping[str, Any], journal: Journal, disk: Disk, lines: Sequence[Line] = ()) -> None:
        self.head = head
        self.course = course_of(head)
        self.match = match_of(head)
        self.attempt: int = head["attempt"]
        self._happened = Happened()
        self._tag = tag_of(self.match.number, self.attempt)
        self._journal = journal
        self._disk = disk
        self._over = False
        for line in lines:
            self._take(line)

    def _take(self, line: Line) -> None:
        entry = line.entry
        try:
            if "incident" in entry:
                self._happened.incidents.append(entry["incident"])
            elif "resumed" in entry:
                self._happened.resumed.append(entry["resumed"])
            else:
                self.course.apply(entry)
                self._happened.turns.append(_line(entry))
        except (WrongTurn, KeyError, TypeError) as error:
            raise JournalError(f"{line.where}: {error}") from error

    async def begin(self) -> None:
        """Write the head down; waits if the disk is full."""
        if not self._append(orjson.dumps(self.head)):
            await self.insist()

    def go_on(self) -> None:
        """Note that the match goes on, after the passes that the last run could not write any more.

        Raises:
            OSError: the journal cannot be written, and more room on the disk would not help.
        """
        passes = [_pass(player) for player in self.course.passes_due]
        self._happened.turns += passes
        self._happened.resumed.append(self.course.turns)
        try:
            self._journal.append(self._tag, *passes, b'{"resumed":%d}' % self.course.turns)
        except OSError as error:  # the next turn brings it to the disk
            if not more_room_helps(error):
                raise

    def write(self, turn: Mapping[str, Any]) -> bool:
        """Write a turn that the course has taken, and the passes that followed.

        Returns:
            Whether the disk has taken it. If not, nobody may hear of it before it has: `until_commit` says when it
            was written with others, and if it was not, `insist` returns when it is.
        """
        line, passed = _line(turn), self.course.state.passed
        self._happened.turns.append(line)
        if not passed or "end" in turn:
            return self._append(line)
        passes = [_pass(player) for player in passed]
        self._happened.turns += passes
        return self._append(line, *passes)

    def until_commit(self, go_on: Callable[[bool], None]) -> bool:
        """Have ``go_on`` called when what was written together with others is on the disk; see `Journal`."""
        return self._journal.until_commit(go_on)

    async def insist(self) -> None:
        """Wait until the disk has taken what was written.

        Raises:
            OSError: it never will: more room does not help.
        """
        await self._disk.insist(self._flush)

    def _append(self, *lines: bytes) -> bool:
        try:
            return self._journal.append(self._tag, *lines)
        except OSError:
            return False

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
            if not self._over:
                with contextlib.suppress(OSError):  # the next turn brings it to the disk
                    self._journal.append(self._tag, orjson.dumps({"incident": row}))

    def so_far(self, result: Result) -> Result:
        """``result``, which nobody has played for, with what was played until now."""
        course = self.course
        faults = (course.faults[0], course.faults[1])
        return replace(result, turns=course.turns, thought=course.clocks.thought, faults=faults)

    def record(self, result: Result) -> Record:
        """The record of the match, now that it is over: the journal gets no more of it."""
        self._over = True
        return record_of_game(self.head, result, self._happened)

    def drop(self) -> None:
        """Note that the match is given up without a record; `remove` comes next."""
        with contextlib.suppress(OSError):  # the next line of any match brings it to the disk
            self._journal.append(self._tag, _DROPPED)

    def remove(self) -> None:
        """Have the journal forget the match, which is on record or void; in a thread, so that nobody waits.

        Raises:
            OSError: a segment that nobody needs any more cannot be deleted.
        """
        self._over = True
        self._journal.finish(self._tag)

    async def _flush(self) -> None:
        self._journal.flush()


def course_of(head: Mapping[str, Any]) -> Course:
    """The course of a match before its first turn, from the beginning of its record."""
    limit = head["time"]
    control = TimeControl(limit["kind"], limit["ms"] / 1000)
    return Course(GAMES[head["game"]], head["options"], control, limit["lag_ms"] / 1000)


_DROPPED = b'{"dropped":true}'


def _line(turn: Mapping[str, Any]) -> bytes:
    """A turn as JSON to keep: a copy, because what orjson returns holds on to the 4 KB that it was written into."""
    return b"%b" % orjson.dumps(turn)


def _pass(player: Player) -> bytes:
    return b'{"player":%d,"pass":true}' % player


class Scoresheets:
    """The scoresheets of a contest's running matches; their journal is in the folder ``running``.

    Args:
        contest: whose.
        disk: it is on.
    """

    def __init__(self, contest: Contest, disk: Disk) -> None:
        self._contest = contest
        self.disk = disk
        self._journal = Journal(contest.running)

    async def begin(self, match: Match, attempt: int) -> Scoresheet:
        """A scoresheet for a match that begins; waits if the disk is full."""
        head = head_of_game(self._contest, match, attempt, round(time.time(), 3))
        sheet = Scoresheet(head, self._journal, self.disk)
        await sheet.begin()
        return sheet

    def unfinished(
        self, schedule: Sequence[Match], recorded: Collection[tuple[int, int]]
    ) -> tuple[list[Scoresheet], list[JournalCut]]:
        """What an earlier run has left behind: its running matches, and the torn line that was cut off.

        Lines of matches that are on record (``recorded``: match and attempt) are of no use any more. Nothing is
        changed before everything is read. Call it before the first `begin`.

        Raises:
            JournalError: the journal is damaged, or tells of a match that is not in ``schedule``.
            OSError: the folder cannot be used.
        """
        folder = self._contest.running
        folder.mkdir(exist_ok=True)
        left = list(_read_all(folder, recorded))
        matches = {match.number: match for match in schedule}
        games = _by_game(left)
        for lines in games.values():
            _check_numbers(lines)
        kept = {part.number: {line.tag for line in part.lines} & games.keys() for part in left}
        self._journal = Journal(folder, kept, {tag: lines[-1].number for tag, lines in games.items()})
        sheets = [self._resumed(tag, lines, matches) for tag, lines in games.items()]
        for part in left:
            part.mend()
        self._journal.finish(b"")
        cuts = [JournalCut(str(part.path), part.cut) for part in left if part.cut is not None]
        return list(_latest(sheets)), cuts

    def hold(self) -> None:
        """Until `commit`, collect the turns of all matches."""
        self._journal.hold()

    def commit(self) -> None:
        """Write what was collected at once, and have the matches go on."""
        self._journal.commit()

    def close(self) -> None:
        """Leave what is not over to a later run."""
        self._journal.close()

    def _resumed(self, tag: bytes, lines: Sequence[Line], matches: Mapping[int, Match]) -> Scoresheet:
        head, *rest = lines
        _check_head(tag, head, matches)
        return Scoresheet(head.entry, self._journal, self.disk, rest)


def left_running(folder: Path, recorded: Collection[tuple[int, int]]) -> set[int]:
    """The numbers of the matches that the journal in ``folder`` knows and that are not on record.

    Raises:
        JournalError: it is damaged.
        OSError: it cannot be read.
    """
    left = list(_read_all(folder, recorded))
    return {int(tag.partition(b"-")[0]) for tag in _by_game(left)}


def _read_all(folder: Path, recorded: Collection[tuple[int, int]]) -> Iterator[Segment]:
    """All segments, without the lines of games on record; only the last line of all can be torn."""
    over = {tag_of(*attempt) for attempt in recorded}
    paths = segments(folder)
    for path in paths:
        with contextlib.suppress(FileNotFoundError):  # while another server runs the contest
            part = read(path, over)
            if part.cut is not None and path is not paths[-1]:
                raise JournalError(f"{path}, line {part.cut}: torn, expected that in {paths[-1].name} only")
            yield part


def _by_game(left: Sequence[Segment]) -> dict[bytes, list[Line]]:
    """The lines of each game that was not given up without a record; its line 1 begins it anew."""
    games: dict[bytes, list[Line]] = {}
    for line in (line for part in left for line in part.lines):
        if line.number == 1:
            games[line.tag] = []
        games.setdefault(line.tag, []).append(line)
        if "dropped" in line.entry:
            del games[line.tag]
    return games


def _check_numbers(lines: Sequence[Line]) -> None:
    """That none of a game's lines is missing."""
    for expected, line in enumerate(lines, start=1):
        if line.number != expected:
            tag = line.tag.decode()
            raise JournalError(f"{line.where}: line {line.number} of {tag}, expected its line {expected}")


def _latest(sheets: Sequence[Scoresheet]) -> Iterator[Scoresheet]:
    """Of each match the last attempt, ready to go on; an earlier one was given up when the server failed in it."""
    last = {sheet.match.number: sheet for sheet in sorted(sheets, key=lambda sheet: sheet.attempt)}
    for sheet in sheets:
        if last[sheet.match.number] is sheet:
            sheet.go_on()
            yield sheet
        else:
            sheet.drop()
            sheet.remove()


def _check_head(tag: bytes, line: Line, matches: Mapping[int, Match]) -> None:
    """Whether ``line`` can be the first of a game."""
    head = line.entry
    try:
        match = match_of(head)
        course_of(head)
        told = tag_of(match.number, head["attempt"])
    except (RecordError, KeyError, TypeError, ValueError) as error:
        raise JournalError(f"{line.where}: {head!r:.80}, expected the head of a game's record: {error}") from error
    if told != tag:
        raise JournalError(f"{line.where}: the head of {told.decode()}, expected that of {tag.decode()}")
    if matches.get(match.number) != match:
        raise JournalError(f"{line.where}: match {match.number} is not one of this contest's schedule")
