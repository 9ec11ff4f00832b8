"""Saves what is left of a contest whose database is damaged, into a new database next to it.

Theory of operation
-------------------

*Reading.* `sqlite_pages` decodes each page that it can. A record proves itself: its hash is that of its text. So it
does not matter from which page, log or file it came. Records of an export or a backup fill the gaps likewise, but
not with another hash than their neighbours name.

*The gaps.* The records that are left keep their bytes, places and hashes. In the place of each lost one stands a
record that says so (`records.lost`), with the hash of the lost record if the next one names it. So the chain has no
hole: its next link is that hash. What can be computed is not lost: pairings follow from the records before them. If
the computed record has the very hash of the lost one, it is that record. If it only fits all later matches, it is
stored with the key ``instead_of``. If no record is left, the journal or `contest.log` must name the matches.

*What cannot stay.* A record may contradict what is left, such as a decision about a match of which nothing is left.
It is lost as well, and the report says so. The result is verified: what `verify` finds is left out in turn, so that
the new contest opens, resumes and verifies.

*Running matches.* The good lines of the journal are kept, those of an attempt up to the first one that is missing.
A run resumes these matches after their last turn.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

from getstep_server.config.contest import Contest, database_path, load_contest, running_path
from getstep_server.incident import IncidentRow
from getstep_server.json_text import JsonError, decode
from getstep_server.limits import SEGMENT_BYTES
from getstep_server.records.game import match_of
from getstep_server.records.headed_text import read_headed_text
from getstep_server.records.lost import INSTEAD_OF, link_of, record_of_lost
from getstep_server.records.match import Match
from getstep_server.records.pairings import pairings_header, pairings_in, record_of_pairings
from getstep_server.records.record import (
    FIRST,
    SOFTWARE,
    NewerRecordError,
    Record,
    RecordError,
    parse,
    sealed,
)
from getstep_server.tournament.tournament import Tournament

from .database import RecordRow, StoreError
from .exported import HASH_CHARS, exported_row, is_proved
from .journal import parse_line, segments, tag_of, writer_of_path
from .lost_records import logged_ends, set_evidence_aside
from .sqlite_pages import Row, read_rows
from .store import Store, incident_row
from .verify import VerifyError, verify

_NO_COLUMNS = (None,) * 5  # the key columns of records that are not a game's


@dataclass
class Journaled:
    """An attempt in the journal: its first entry, and its good lines as they were written."""

    head: Mapping[str, Any]
    lines: list[bytes]
    complete: bool = True
    """False if a line is missing; those behind it are left out."""


@dataclass
class Left:
    """Everything that could be read.

    Attributes:
        rows: by place, the records that prove themselves.
        sources: by place, where a record was found, if not in the database.
        games: by place, event, pairing, leg and attempt of a game, as the index has them. Its row may be damaged.
        length: the longest length of the chain that the database states; 0 if it states none.
        tip: the hash of the last record then.
        incidents: the counts of incidents.
        journal: the running attempts, by tag.
        bad_lines: the number of lines of the journal that are not what was written.
        logged: by match, the latest line of ``contest.log`` about its end; a void attempt has none.
    """

    rows: dict[int, RecordRow] = field(default_factory=dict)
    sources: dict[int, str] = field(default_factory=dict)
    games: dict[int, tuple[int, int, int, int]] = field(default_factory=dict)
    length: int = 0
    tip: str = ""
    incidents: list[IncidentRow] = field(default_factory=list)
    journal: dict[bytes, Journaled] = field(default_factory=dict)
    bad_lines: int = 0
    logged: dict[int, Mapping[str, Any]] = field(default_factory=dict)


@dataclass
class Rescue:
    """The new chain, and what is to be said about it.

    Attributes:
        rows: the records of the new chain.
        tournament: what follows from them.
        lost: by place, what was lost, and why; the match and the attempt if it was a game's.
        made: by place, what was made again.
        proved: by place, what was made again and has the hash of the lost record, so that nothing is lost.
        journal: the tags of the attempts that a run resumes.
        unfit: by place, why a record that proves itself was left out.
    """

    rows: list[RecordRow]
    tournament: Tournament
    lost: dict[int, tuple[str, tuple[int, int] | None]]
    made: dict[int, str]
    proved: dict[int, str]
    journal: list[bytes]
    unfit: dict[int, str]


# --- reading ------------------------------------------------------------------------------------------------------


def read_left(contest: Contest, backups: Sequence[Path]) -> Left:
    """Read everything that is left of a contest.

    Args:
        contest: the contest, whose database is in its folder.
        backups: files with further records: exported ones, or copies of the database.

    Raises:
        OSError: a file cannot be read.
    """
    left = Left()
    _read_database(database_path(contest.folder), left, "")
    for path in backups:
        if path.suffix == ".jsonl":
            with path.open("rb") as file:
                rows = [row for line in file if (row := exported_row(line.rstrip(b"\r\n"))) is not None]
            for row in rows:
                _keep(row, left, path.name)
        elif path.suffix == ".txt":
            with path.open("rb") as file:
                lines = [line for line in read_headed_text(file) if isinstance(line, bytes)]
            for row in filter(None, map(exported_row, lines)):
                _keep(row, left, path.name)
        else:
            _read_database(path, left, path.name)
    _read_journal(contest.running, left)
    for number, fields in logged_ends(contest.folder, sys.maxsize):
        left.logged[number] = fields
    return left


def _read_database(path: Path, left: Left, source: str) -> None:
    incidents: dict[int, IncidentRow] = {}
    for row in read_rows(path):
        if row.rowid is None:
            if not source:
                # An entry of the index of the games names the match of a record that is damaged.
                match row.columns:
                    case (int(event), int(pairing), int(leg), int(attempt), int(place)):
                        left.games.setdefault(place, (event, pairing, leg, attempt))
        elif (record := _record_row(row)) is not None:
            _keep(record, left, source)
        elif (counted := _chain_row(row)) is not None:
            left.length, left.tip = max((left.length, left.tip), counted)
        elif (incident := _incident(row)) is not None:
            incidents.setdefault(row.rowid, incident)
    if not source:
        left.incidents = [incidents[rowid] for rowid in sorted(incidents)]


def _record_row(row: Row) -> RecordRow | None:
    """Return a record that proves itself by its hash."""
    if len(row.columns) != 10:  # as in the table `records`
        return None
    numbers, texts = row.columns[1:6], row.columns[6:]
    if not all(number is None or type(number) is int for number in numbers):
        return None
    if not all(isinstance(text, bytes) for text in texts):
        return None
    record: Any = (row.rowid, *numbers, *texts)
    return record if is_proved(record) else None


def _chain_row(row: Row) -> tuple[int, str] | None:
    match row.columns:
        case (int(length), bytes(tip)) if length > 0 and len(tip) == HASH_CHARS:
            return length, tip.decode(errors="replace")
    return None


def _incident(row: Row) -> IncidentRow | None:
    types: list[Any] = [(int, type(None)), bytes, bytes, int, (int, float), (int, float), bytes, bytes]
    if len(row.columns) != len(types):
        return None
    if not all(isinstance(value, kind) for value, kind in zip(row.columns, types, strict=True)):
        return None
    values: Any = [value.decode() if isinstance(value, bytes) else value for value in row.columns]
    try:
        return incident_row(*values)
    except StoreError:
        return None


def _keep(row: RecordRow, left: Left, source: str) -> None:
    """Keep a record that proves itself, if there is none at its place, and its neighbours do not deny it."""
    place, previous, digest = row[0], row[8], row[9]  # the columns of the table `records`
    if place in left.rows or place < 1:
        return
    before, after = left.rows.get(place - 1), left.rows.get(place + 1)
    # A file of another contest has records that prove themselves, too: they must fit the chain of this one.
    if source and before is not None and link_of(before[6], before[9].decode()) != previous.decode():
        return
    if source and after is not None and link_of(row[6], digest.decode()) != after[8].decode():
        return
    left.rows[place] = row
    if source:
        left.sources[place] = source


def _read_journal(folder: Path, left: Left) -> None:
    """Read the good lines of the journal: those of a writer in their order, as `recovery` does."""
    for _, paths in groupby(segments(folder), writer_of_path):
        for path in paths:
            for raw in path.read_bytes().splitlines(keepends=True):
                _take_line(raw, left)


def _take_line(raw: bytes, left: Left) -> None:
    found = parse_line(raw)
    try:
        entry = None if found is None else decode(found[2])
    except JsonError:
        entry = None
    if found is None or not isinstance(entry, dict):
        left.bad_lines += 1
        return
    tag, number, _ = found
    game = left.journal.get(tag)
    if number == 1:
        left.journal[tag] = Journaled(entry, [raw])
    elif game is not None:
        game.complete = game.complete and number == len(game.lines) + 1
        if game.complete:
            game.lines.append(raw)
    if "dropped" in entry:
        left.journal.pop(tag, None)


# --- the new chain ------------------------------------------------------------------------------------------------


class _Chain:
    """The new chain, while it is made place by place."""

    def __init__(self, contest: Contest, left: Left, unfit: Mapping[int, str]) -> None:
        self.contest = contest
        self.left = left
        self.unfit = dict(unfit)
        self.tournament = Tournament(contest)
        self.rows: list[RecordRow] = []
        self.lost: dict[int, tuple[str, tuple[int, int] | None]] = {}
        self.made: dict[int, str] = {}
        self.proved: dict[int, str] = {}
        self._later = {place: row for place, row in left.rows.items() if place not in self.unfit}
        self._pairings = {place: numbers for place, row in self._later.items() if (numbers := _issued_in(row))}
        self._wanted = {place: _match_in(row) for place, row in self._later.items() if row[1] is not None}
        self._software = sorted({SOFTWARE, *map(_software_of, left.rows.values())})

    @property
    def previous(self) -> str:
        if not self.rows:
            return FIRST
        return link_of(self.rows[-1][6], self.rows[-1][9].decode())  # head and hash

    def run(self) -> Rescue:
        last = max([self.left.length, *self.left.rows], default=0)
        for place in range(1, last + 1):
            row = self._later.get(place)
            if row is None or not self._take(row):
                self._fill(place)
        if not last or not self.tournament.matches:  # nothing tells which matches there were, but the seed does
            self._begin_again()
        return Rescue(self.rows, self.tournament, self.lost, self.made, self.proved, self._journaled(), self.unfit)

    def _take(self, row: RecordRow) -> bool:
        """Take a record as it is; return False if it contradicts those before it."""
        try:
            self.tournament.apply(parse(row[6]))  # the head; a game's turns change no table
        except NewerRecordError:
            raise  # another version reads it: it is not lost
        except RecordError as error:
            self.tournament.place = row[0] - 1  # `apply` has counted the record that it refused
            self.unfit[row[0]] = str(error)
            self._later.pop(row[0])
            return False
        self.rows.append(row)
        return True

    # --- places whose record is lost ---

    def _fill(self, place: int) -> None:
        """Put a record in the place of a lost one: the same again, one that says the same, or one that says so."""
        following = self._later.get(place + 1)
        # the hash of this place, as the next record has it
        known = None if following is None else following[8].decode()
        game = self._lost_game(place)
        # The same pairings were recorded with the keys of some version: if the next record names its hash, it is
        # proved.
        for fields, what in self._candidates() if game is None else ():
            for record in self._versions(fields):
                if known is not None and sealed(record.content(), place, self.previous)[1] == known:
                    self._add(record, what, proved=True)
                    return
            if self._fits(fields):
                self._add(Record({**fields, INSTEAD_OF: known}), what)
                return
        if not self.rows and (settings := self.tournament.settings.due()) is not None:
            self._add(Record({**settings, INSTEAD_OF: known}), "settings, from contest.toml and teams.toml")
            return
        why = f"it contradicts what is left: {self.unfit[place]}" if place in self.unfit else "its page is damaged"
        self.lost[place] = why, game
        # records limit texts, and the reason may quote a long value
        self._add(record_of_lost(self.contest, why[:400], known, game))

    def _lost_game(self, place: int) -> tuple[int, int] | None:
        """Return match and attempt of the lost game at a place; None if it was another record, or is not known."""
        if (row := self.left.rows.get(place)) is not None:
            # a game, and its attempt; rows of other records have neither
            return None if row[1] is None else (row[1], row[5] or 1)
        if (keys := self.left.games.get(place)) is None:
            return None
        *unit, attempt = keys
        matches = self.tournament.matches.values()
        found = (match for match in matches if [match.event, match.pairing, match.leg] == unit)
        return next(((match.number, attempt) for match in found), None)

    def _candidates(self) -> Iterator[tuple[dict[str, Any], str]]:
        """Yield the records of pairings that may have been at a place."""
        if not self.rows and next(iter(sorted(self._later)), 1) - 1 > self._first_pairings():
            return  # the settings come first
        for event in self.tournament.contest.events:
            if (fields := self._computed(event.number, self.tournament)) is not None:
                yield fields, f"pairings of {event.heading}, computed again, as all later matches need them"
        if (fields := self._from_games()) is not None:
            yield fields, "pairings, from the later matches"

    def _first_pairings(self) -> int:
        """Return how many records of pairings a contest begins with, as far as later matches need them."""
        scratch = Tournament(self.contest)
        for event in self.contest.events:
            fields = self._computed(event.number, scratch)
            if fields is not None and self._fits(fields):
                scratch.apply(fields)
        return scratch.place

    def _computed(self, event: int, tournament: Tournament) -> dict[str, Any] | None:
        if tournament.contest.event(event).format.pairs_present:
            return None  # who was present is not known
        try:
            return tournament.next_pairings(tournament.contest.event(event))
        except RecordError:
            return None

    def _versions(self, fields: Mapping[str, Any]) -> Iterator[Record]:
        """Yield a record as each version that wrote in this contest would have written it."""
        for software in self._software:
            yield record_of_pairings({**fields, "software": software})
            old = {name: value for name, value in fields.items() if name != "no_show"}  # before 0.1.0
            yield record_of_pairings({**old, "software": software})

    def _fits(self, fields: Mapping[str, Any]) -> bool:
        """Return True if later games or the journal need these pairings, and none of them is another match.

        Pairings of which no match was played are needed if the next ones count on from them.
        """
        issued = {match.number: match for _, match in pairings_in(fields) if match is not None}
        wanted = [match for match in self._open_matches() if match.number in issued]
        counted_on = bool(issued) and max(issued) < min(self._issued_later(), default=0)
        return bool(wanted or counted_on) and all(issued[match.number] == match for match in wanted)

    def _issued_later(self) -> set[int]:
        """Return the numbers of the matches of later pairings that are left."""
        later = (numbers for place, numbers in self._pairings.items() if place > len(self.rows))
        return {number for numbers in later for number in numbers}

    def _open_matches(self) -> list[Match]:
        """Return the matches of later games and of the journal that no pairings have issued up to here."""
        found = [match for place, match in self._wanted.items() if place > len(self.rows)]
        found += [match for game in self.left.journal.values() if (match := _match_of(game.head)) is not None]
        return [match for match in found if match is not None and match.number not in self.tournament.matches]

    def _from_games(self) -> dict[str, Any] | None:
        """Return pairings of the matches of which only later games or the journal know; others are not known."""
        later = self._issued_later()
        unknown = {match.number: match for match in self._open_matches() if match.number not in later}
        first = next(iter(unknown.values()), None)
        contest = self.tournament.contest
        if first is None or first.event > len(contest.events):
            return None
        event = contest.event(first.event)
        matches = [match for _, match in sorted(unknown.items()) if match.event == first.event]
        return {**pairings_header(contest, event, event.teams), "matches": list(map(_entry_of, matches))}

    def _begin_again(self) -> None:
        """Put settings and first pairings on record again, if the journal or the log has matches of them."""
        if not self.left.journal and not self._log_confirms():
            if not self.rows:
                self.lost[1] = "all records of this contest are lost", None
                self._add(record_of_lost(self.contest, self.lost[1][0], None))
            return
        if self.tournament.settings.fields is None and (settings := self.tournament.settings.due()) is not None:
            self._add(Record({**settings, INSTEAD_OF: None}), "settings, from contest.toml and teams.toml")
        for event in self.tournament.contest.events:
            fields = self._computed(event.number, self.tournament)
            if fields is not None:
                self._add(Record({**fields, INSTEAD_OF: None}), f"pairings of {event.heading}, computed again")

    def _log_confirms(self) -> bool:
        """Return True if the first pairings, computed again, have matches of the log, and none that it denies."""
        scratch = Tournament(self.contest)
        for event in self.contest.events:
            if (fields := self._computed(event.number, scratch)) is not None:
                scratch.apply(fields)
        both = scratch.matches.keys() & self.left.logged.keys()
        return bool(both) and all(_is_logged(scratch.matches[number], self.left.logged[number]) for number in both)

    def _add(self, record: Record, made: str = "", *, proved: bool = False) -> None:
        place, previous = len(self.rows) + 1, self.previous
        digest = sealed(record.content(), place, previous)[1]
        if made:
            (self.proved if proved else self.made)[place] = made
            self.unfit.pop(place, None)
        self.rows.append((place, *_NO_COLUMNS, record.header, b"", previous.encode(), digest.encode()))
        self.tournament.apply(record.fields)

    def _journaled(self) -> list[bytes]:
        """Return the attempts in the journal that are not on record, and whose match is."""
        over = {tag_of(*attempt) for attempt in self.tournament.recorded}
        matches = self.tournament.matches
        return [
            tag
            for tag, game in self.left.journal.items()
            if tag not in over
            and (match := _match_of(game.head)) is not None
            and matches.get(match.number) == match
        ]


def _match_in(row: RecordRow) -> Match | None:
    try:
        return _match_of(parse(row[6]))  # the head
    except RecordError:
        return None


def _issued_in(row: RecordRow) -> set[int]:
    """Return the numbers of the matches in a record of pairings; none for another record."""
    if b'"type":"pairings"' not in row[6]:  # before parsing: most records are games
        return set()
    try:
        return {match.number for _, match in pairings_in(parse(row[6])) if match is not None}
    except RecordError:
        return set()


def _match_of(head: Mapping[str, Any]) -> Match | None:
    try:
        return match_of(head)
    except RecordError:
        return None


def _is_logged(match: Match, logged: Mapping[str, Any]) -> bool:
    names = ("event_number", "round", "game", "teams")
    return [logged.get(name) for name in names] == [match.event, match.round, match.game, list(match.teams)]


def _software_of(row: RecordRow) -> str:
    try:
        return str(parse(row[6]).get("software", SOFTWARE))  # the head
    except RecordError:
        return SOFTWARE


def _entry_of(match: Match) -> dict[str, Any]:
    names = ("number", "round", "pairing", "leg", "first", "second")
    return {name: getattr(match, name) for name in names}


# --- writing ------------------------------------------------------------------------------------------------------


def rescue(
    contest: Contest, left: Left, target: Path, progress: Callable[[int, int], None] = lambda *_: None
) -> Rescue:
    """Write what is left of a contest into a new folder; nothing in the old one is changed.

    Args:
        contest: the damaged contest.
        left: what could be read of it.
        target: the new folder, which does not exist.
        progress: see `verify.verify`.

    Raises:
        NewerRecordError: a newer version wrote the records; nothing is written.
        OSError: a file cannot be copied or written.
        StoreError: the new database cannot be written.
        VerifyError: what is left contradicts itself, and no record is to blame.
    """
    rescued = _Chain(load_contest(contest.folder), left, {}).run()
    _copy_other_files(contest.folder, target)
    new = load_contest(target)
    while True:
        unfit = dict(rescued.unfit)
        _write_database(rescued.rows, left.incidents, database_path(target))
        try:
            with Store(database_path(target), reading=True) as store:
                verify(new, store, progress=progress)
            break
        except VerifyError as error:
            place = error.place
            # Each round leaves out one more record, so this ends; a place that was left out already is not to
            # blame.
            if place is None or place in unfit or place not in left.rows:
                raise
            unfit[place] = error.what
            new = load_contest(target)
            rescued = _Chain(load_contest(contest.folder), left, unfit).run()
    _write_journal(left, rescued.journal, running_path(target))
    set_evidence_aside(new, rescued.tournament)  # a run of the new folder would miss what is lost with its place
    return rescued


def _copy_other_files(folder: Path, target: Path) -> None:
    own = database_path(folder).name
    left_out = {own, f"{own}-wal", f"{own}-shm", "run.lock", running_path(folder).name}

    def ignored(where: str, names: Sequence[str]) -> Iterable[str]:
        return left_out.intersection(names) if Path(where) == folder else ()

    shutil.copytree(folder, target, ignore=ignored)


def _write_database(rows: Sequence[RecordRow], incidents: Sequence[IncidentRow], path: Path) -> None:
    for name in (path.name, f"{path.name}-wal", f"{path.name}-shm"):
        path.with_name(name).unlink(missing_ok=True)  # of the attempt before, which `verify` has refused
    with Store(path) as store:
        store.fill([rows], incidents)


def _write_journal(left: Left, tags: Iterable[bytes], folder: Path) -> None:
    """Write the lines of the attempts that are resumed, an attempt after the other."""
    folder.mkdir()
    number, size, file = 0, SEGMENT_BYTES, -1  # full, so that the first line opens a segment
    try:
        for line in (line for tag in tags for line in left.journal[tag].lines):
            if size >= SEGMENT_BYTES:
                number, size = number + 1, 0
                if file >= 0:
                    os.close(file)
                # O_EXCL: the folder is new, and nothing in it may be written over
                file = os.open(folder / f"segment-{number}.journal", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
            size += os.write(file, line)
    finally:
        if file >= 0:
            os.fsync(file)  # the whole folder is new: a power cut must not leave half of an attempt
            os.close(file)
