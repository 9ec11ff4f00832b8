"""The scoresheet of one match: its state and its lines in the journal, kept in step.

Nothing that the judge decides is passed on before it is written here. After a crash the journal's lines become
scoresheets again, and their matches are resumed.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from msgspec.structs import replace

from getstep.referee import WrongTurn
from getstep.wire import checked_notes
from getstep_engines import Player
from getstep_server.config.contest import Contest
from getstep_server.events import JournalCut
from getstep_server.incident import Incident
from getstep_server.json_text import decode, encode
from getstep_server.limits import GAME_INCIDENTS_KEPT, INCIDENT_DETAIL_CHARS, MATCH_NOTES_BYTES
from getstep_server.records.game import (
    IncidentEntry,
    MatchLog,
    Programs,
    game_header,
    match_of,
    match_state_of,
    record_of_game,
)
from getstep_server.records.match import Match
from getstep_server.records.record import Record, RecordError, plain
from getstep_server.records.result import Result
from getstep_server.storage.disk import Disk, more_room_helps
from getstep_server.storage.journal import Journal, JournalError, JournalLine, WriteResult, tag_of, writer_of
from getstep_server.storage.recovery import all_segments, by_game


class SheetJournal(Protocol):
    """The journal that a scoresheet writes to; see `Journal`."""

    def append(self, tag: bytes, *entries: bytes) -> WriteResult:
        """Write entries of one match."""

    def flush(self) -> None:
        """Write what the disk has not taken yet."""

    def finish(self, tag: bytes) -> None:
        """Forget a game; any thread may call this."""

    def on_commit(self, callback: Callable[[WriteResult], None]) -> None:
        """Call ``callback`` once at the end of the batch."""


class UnwrittenJournal:
    """The journal of a friendly match: nothing is written, and the match ends with the server."""

    def append(self, _: bytes, *__: bytes) -> WriteResult:
        return WriteResult.WRITTEN

    def flush(self) -> None:
        pass

    def finish(self, _: bytes) -> None:
        pass

    def on_commit(self, _: Callable[[WriteResult], None]) -> None:
        pass


class Totals(NamedTuple):
    """The number of turns that were played, and for each player its thinking time in seconds and its faults."""

    turns: int
    thought: tuple[float, float]
    faults: tuple[int, int]


class Scoresheet:
    """The turns of one match, written to the journal one by one.

    Args:
        head: the first fields of its record.
        journal: stores the turns.
        disk: waits if it is full.
        lines: the match's lines of an earlier run after its head; call `resume` next.

    Raises:
        JournalError: a line cannot follow on those before it.
    """

    def __init__(
        self, head: Mapping[str, Any], journal: SheetJournal, disk: Disk, lines: Sequence[JournalLine] = ()
    ) -> None:
        self.head = head
        self.match_state = match_state_of(head)
        self.match = match_of(head)
        self.attempt: int = head["attempt"]
        self._happened = MatchLog()
        self._tag = tag_of(self.match.number, self.attempt)
        self._journal = journal
        self._disk = disk
        self.on_commit = journal.on_commit
        """Calls a function once a pending turn is written or has failed; see `Journal.on_commit`."""
        self._notes_left = [MATCH_NOTES_BYTES, MATCH_NOTES_BYTES]
        """Per player: the bytes of notes that the record still takes."""
        self._over = False
        self._elsewhere: Callable[[Incident], None] | None = None
        """Where incidents are recorded while another process judges the match."""
        self._totals: Totals | None = None
        """The totals if another process has judged the match: `match_state` is older then."""
        self._kept = 0
        """The number of turns and passes at the start of the loan."""
        for line in lines:
            self._take(line)

    def _take(self, line: JournalLine) -> None:
        entry = line.entry
        try:
            if "incident" in entry:
                self._happened.incidents.append(entry["incident"])
            elif "resumed" in entry:
                self._happened.resumed.append(entry["resumed"])
            else:
                self.match_state.apply(entry)
                self._count_notes(entry)
                self._happened.turns.append(encode(entry))
        except (WrongTurn, KeyError, TypeError) as error:
            raise JournalError(f"{line.where}: {error}") from error

    async def begin(self) -> None:
        """Write the head; wait while the disk is full."""
        if self._append(encode(self.head)) is not WriteResult.WRITTEN:
            await self.retry_until_written()

    def resume(self) -> None:
        """Record that the match is resumed, after the passes that the last run did not write any more.

        Raises:
            OSError: the journal cannot be written, and more room on the disk would not help.
        """
        passes = [_pass(player) for player in self.match_state.passes_due]
        self._happened.turns += passes
        self._happened.resumed.append(self.match_state.turns)
        try:
            self._journal.append(self._tag, *passes, b'{"resumed":%d}' % self.match_state.turns)
        except OSError as error:  # the next turn writes it as well
            if not more_room_helps(error):
                raise

    def write(self, turn: Mapping[str, Any]) -> WriteResult:
        """Write a turn that the match state has taken, and the passes that followed.

        Returns:
            WRITTEN; or PENDING: `on_commit` tells the end of the batch; or FAILED: `retry_until_written` waits for
            the disk. Nobody may hear of the turn before it is written.
        """
        lines, passed = [encode(turn)], self.match_state.state.passed
        if passed and "end" not in turn:
            lines += [_pass(player) for player in passed]
        self._happened.turns += lines
        return self._append(*lines)

    def add_notes(self, turn: dict[str, Any], notes: Mapping[str, Any]) -> None:
        """Add what the player noted to its turn, unless its notes in this match would be too many."""
        turn["notes"] = notes
        if not self._count_notes(turn):
            del turn["notes"]

    def _count_notes(self, turn: Mapping[str, Any]) -> bool:
        """Count the notes of a turn; return False if there is no room for them."""
        notes = turn.get("notes")
        if notes is None:
            return True
        left = self._notes_left[turn["player"]] - len(encode(notes))
        if left < 0:
            return False
        self._notes_left[turn["player"]] = left
        return True

    async def write_judged(self, turns: Sequence[dict[str, Any]]) -> None:
        """Write turns and passes that were judged elsewhere, and that the match state has taken."""
        for turn in turns:
            if noted := checked_notes(turn.pop("notes", None)):
                self.add_notes(turn, noted)
        lines = [encode(turn) for turn in turns]
        self._happened.turns += lines
        if self._append(*lines) is not WriteResult.WRITTEN:
            await self.retry_until_written()

    def add_incidents(self, incidents: Iterable[IncidentEntry]) -> None:
        """Add incidents of a match that was judged elsewhere."""
        self._happened.incidents += [plain(incident) for incident in incidents]

    def turns_from(self, start: int) -> Sequence[bytes]:
        """Return the turns and passes from number ``start`` on, as on record. Any thread may call this."""
        return self._happened.turns[start:]

    def last_turn(self, player: int) -> int:
        """Return the number of the last turn that a player was asked in; 0 if there is none."""
        turns = [decode(line) for line in self._happened.turns]
        asked = (n for n, turn in enumerate(turns, 1) if turn["player"] == player and "pass" not in turn)
        return max(asked, default=0)

    async def retry_until_written(self) -> None:
        """Wait until the disk has taken what was appended.

        Raises:
            OSError: the disk cannot take it, and more room does not help.
        """
        # the flush keeps what it could not write, so calling it again loses nothing
        await self._disk.retry_until_written(self._flush)

    def _append(self, *lines: bytes) -> WriteResult:
        try:
            return self._journal.append(self._tag, *lines)
        except OSError:  # the journal keeps the lines, and `retry_until_written` writes them
            return WriteResult.FAILED

    def incident(self, incident: Incident) -> None:
        """Record hostile or refused traffic of one of the teams: the first of each kind, and how many."""
        if self._elsewhere is not None:
            self._elsewhere(incident)
            return
        known = {"team": incident.team, "code": incident.code}
        for row in self._happened.incidents:
            if row["team"] == incident.team and row["code"] == incident.code:
                row["count"] += 1
                return

        if len(self._happened.incidents) < GAME_INCIDENTS_KEPT:
            detail = {"detail": incident.detail[:INCIDENT_DETAIL_CHARS], "address": incident.address}
            row = {**known, "after_turn": self.match_state.turns, **detail, "count": 1}
            self._happened.incidents.append(row)
            if not self._over:
                with contextlib.suppress(OSError):  # the next turn writes it as well
                    self._journal.append(self._tag, encode({"incident": row}))

    def result(self, seconds: float) -> Result:
        """Return the result of a match that is over, and that took so many seconds."""
        state = self.match_state
        outcome = state.outcome
        if outcome is None:
            raise RuntimeError("the turns are over, and the match is not")
        return Result(
            match=self.match,
            winner=outcome.winner,
            reason=outcome.reason,
            detail=outcome.detail,
            scores=outcome.scores,
            turns=state.turns,
            thought=state.clocks.thought,
            faults=(state.faults[0], state.faults[1]),
            started=datetime.fromisoformat(self.head["started"]).timestamp(),
            seconds=seconds,
            attempt=self.attempt,
        )

    def with_totals(self, result: Result) -> Result:
        """Return ``result``, which was decided elsewhere, with the turns that were played until now."""
        turns, thought, faults = self.totals
        return replace(result, turns=turns, thought=thought, faults=faults)

    def record(self, result: Result) -> Record:
        """Return the record of the match, which is over: no further lines of it are written to the journal."""
        self._over = True
        return record_of_game(self.head, result, self._happened)

    def abandon(self) -> None:
        """Write that the match ends without a record; call `release` next."""
        with contextlib.suppress(OSError):  # the next line of any match writes it as well
            self._journal.append(self._tag, _DROPPED)

    def release(self) -> None:
        """Release the match's journal entries. Call from a worker thread: it may fsync and unlink.

        Raises:
            OSError: a segment that no match needs any more cannot be deleted.
        """
        self._over = True
        self._journal.finish(self._tag)

    # --- a match that another process judges ---

    @property
    def totals(self) -> Totals:
        """The totals of the turns until now."""
        state = self.match_state
        faults = (state.faults[0], state.faults[1])
        return self._totals or Totals(state.turns, state.clocks.thought, faults)

    @property
    def turns(self) -> int:
        """The number of turns until now; any thread may read it."""
        return self.match_state.turns if self._totals is None else self._totals.turns

    @property
    def log(self) -> MatchLog:
        """The turns, restarts and incidents until now."""
        return self._happened

    def lend(self, journal: SheetJournal, note: Callable[[Incident], None]) -> None:
        """Let another process write the sheet until `take_back`: its ``journal`` has all further lines.

        ``note`` records incidents there.
        """
        self._journal, self._elsewhere = journal, note
        self._kept = len(self._happened.turns)

    def follow(self, turns: Sequence[bytes], totals: Totals) -> None:
        """Add turns and passes that the other process has written."""
        self._happened.turns += turns
        self._totals = totals

    def take_back(self, incidents: Sequence[dict[str, Any]]) -> None:
        """End the loan; ``incidents`` are all those of the match."""
        self._happened.incidents = list(incidents)
        self._elsewhere = None

    def recover(self, lines: Sequence[JournalLine]) -> None:
        """End the loan to a process that has died and left these ``lines``.

        Raises:
            JournalError: a line cannot follow on those before it.
        """
        del self._happened.turns[self._kept :]
        self._totals = self._elsewhere = None
        for line in lines:
            self._take(line)

    def restore(self, log: MatchLog) -> None:
        """Begin where another process has stopped.

        Raises:
            WrongTurn: the turns do not follow on each other.
        """
        for line in log.turns:
            turn = decode(line)
            self.match_state.apply(turn)
            self._count_notes(turn)
        self._happened = log

    async def _flush(self) -> None:
        self._journal.flush()


_DROPPED = b'{"dropped":true}'


def _pass(player: Player) -> bytes:
    return b'{"player":%d,"pass":true}' % player


class ScoresheetStore:
    """The scoresheets of a contest's running matches; their journal is in its folder ``running``.

    Args:
        contest: the contest of the matches.
        disk: the disk of the journal.
    """

    def __init__(self, contest: Contest, disk: Disk) -> None:
        self._contest = contest
        self.disk = disk
        self._journal = Journal(contest.running)

    @property
    def journal(self) -> Journal:
        return self._journal

    async def begin(
        self,
        match: Match,
        attempt: int,
        programs: Programs = (),
        location: Mapping[str, Any] = MappingProxyType({}),
    ) -> Scoresheet:
        """Return a scoresheet for a match that begins; wait while the disk is full.

        ``location`` are the fields of the record about where it is played, see `game_header`.
        """
        head = game_header(self._contest, match, attempt, round(time.time(), 3), programs, **location)
        sheet = Scoresheet(head, self._journal, self.disk)
        await sheet.begin()
        return sheet

    def unfinished(
        self, schedule: Sequence[Match], recorded: Collection[tuple[int, int]]
    ) -> tuple[list[Scoresheet], list[JournalCut]]:
        """Return the matches that an earlier run left unfinished, and the torn lines that were cut off.

        Lines of matches that are on record (``recorded``: match and attempt) are not needed any more. Nothing is
        changed before everything is read. Call this before the first `begin`.

        Raises:
            JournalError: the journal is damaged, or names a match that is not in ``schedule``.
            OSError: the folder cannot be used.
        """
        folder = self._contest.running
        folder.mkdir(exist_ok=True)
        left = list(all_segments(folder, recorded))
        matches = {match.number: match for match in schedule}
        games = by_game(left)
        for lines in games.values():
            _check_numbers(lines)
        kept = {part.number: {line.tag for line in part.lines} & games.keys() for part in left}
        last = max((writer_of(part.number) for part in left), default=0)
        writer = last + 1 if last else 0  # after several writers, the lines of this run have to come last
        self._journal = Journal(folder, kept, {tag: lines[-1].number for tag, lines in games.items()}, writer)
        sheets = [self._resumed(tag, lines, matches) for tag, lines in games.items()]
        for part in left:  # after all checks: a refused start must leave the files as they were
            part.mend()
        self._journal.finish(b"")  # no game's tag: it only deletes the segments that nobody needs any more
        cuts = [JournalCut(str(part.path), part.cut) for part in left if part.cut is not None]
        return list(_latest(sheets)), cuts

    def batch(self) -> AbstractContextManager[None]:
        """Collect the turns of all matches in the block, and write them together; see `Journal.batch`."""
        return self._journal.batch()

    def close(self) -> None:
        """Close the journal; a later run resumes the matches that are not over."""
        self._journal.close()

    def _resumed(self, tag: bytes, lines: Sequence[JournalLine], matches: Mapping[int, Match]) -> Scoresheet:
        head, *rest = lines
        _check_head(tag, head, matches)
        return Scoresheet(head.entry, self._journal, self.disk, rest)


def _check_numbers(lines: Sequence[JournalLine]) -> None:
    """Raise JournalError if a line of a match is missing."""
    for expected, line in enumerate(lines, start=1):
        if line.number != expected:
            tag = line.tag.decode()
            raise JournalError(f"{line.where}: line {line.number} of {tag}, expected its line {expected}")


def _latest(sheets: Sequence[Scoresheet]) -> Iterator[Scoresheet]:
    """Yield the last attempt at each match, resumed. An earlier one was abandoned when the server failed in it."""
    last = {sheet.match.number: sheet for sheet in sorted(sheets, key=lambda sheet: sheet.attempt)}
    for sheet in sheets:
        if last[sheet.match.number] is sheet:
            sheet.resume()
            yield sheet
        else:
            sheet.abandon()
            sheet.release()


def _check_head(tag: bytes, line: JournalLine, matches: Mapping[int, Match]) -> None:
    """Raise JournalError if ``line`` cannot be the first of a match."""
    head = line.entry
    try:
        match = match_of(head)
        match_state_of(head)
        told = tag_of(match.number, head["attempt"])
    except (RecordError, KeyError, TypeError, ValueError) as error:
        raise JournalError(f"{line.where}: {head!r:.80}, expected the head of a game's record: {error}") from error
    if told != tag:
        raise JournalError(f"{line.where}: the head of {told.decode()}, expected that of {tag.decode()}")
    if matches.get(match.number) != match:
        raise JournalError(f"{line.where}: match {match.number} is not one of this contest's schedule")
