"""Reads a contest from disk: its tournament, results and incidents. No server is needed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from getstep_server.config.contest import Contest, contest_path
from getstep_server.config.database_address import DatabaseAddress
from getstep_server.errors import ConfigError
from getstep_server.incident import IncidentRow
from getstep_server.json_text import decode
from getstep_server.records.lost import link_of
from getstep_server.records.record import FIRST, NewerRecordError, RecordError, hash_of, quick_hash_of
from getstep_server.records.result import Result
from getstep_server.tournament.tournament import Tournament

from .database import StoreError, advice, damaged
from .lost_records import check_nothing_lost, has_database, missing_results, set_evidence_aside, told_of
from .store import Store

END_RECORDS = 8
END_BYTES = 1 << 16
"""What a table checks at most: the SHA-256 of so much takes 0.4 ms there."""


def load_tournament(contest: Contest, store: Store) -> Tournament:
    """Return the tournament in its current state.

    Raises:
        ConfigError: contest.toml does not have the events of the records.
        StoreError: records are missing, or there are too many.
        RecordError: a record is damaged.
    """
    store.check_end()
    try:
        tournament = Tournament(contest, store.record_headers())
    except NewerRecordError as error:
        raise NewerRecordError(f"{store.path}: {error}") from error
    except RecordError as error:
        raise RecordError(f"{store.path}: {error}; {advice(store.path)}") from error
    if incompatibility := tournament.settings.incompatibility(contest):
        path = contest_path(contest.folder)
        raise ConfigError(f"{path}: {incompatibility}; put it back, or make a new contest folder")
    if not tournament.place:
        check_nothing_lost(contest)
    return tournament


def complete_tournament(contest: Contest, *, quick: bool = False) -> Tournament:
    """Return the tournament in its current state, before the database is opened to write.

    A writer that closes a database cuts off what SQLite cannot read of its log, and `rescue` could.

    Args:
        contest: the contest, which has a database unless it has not run yet.
        quick: compare the records with the newest results of other files only.

    Raises:
        ConfigError: records are missing, or contest.toml does not have the events of the records.
        StoreError: records are missing, or there are too many.
        RecordError: a record is damaged.
    """
    told = told_of(contest, quick=quick)
    tournament = _load(contest)
    if problem := missing_results(contest, told, tournament):
        raise ConfigError(problem)
    return tournament


def accept_loss(contest: Contest) -> Path | None:
    """Set aside what tells of results that are not on record; see `lost_records.set_evidence_aside`.

    Raises:
        ConfigError, StoreError, RecordError: as `load_tournament`.
        OSError: a file cannot be moved or copied.
    """
    return set_evidence_aside(contest, _load(contest))


def _load(contest: Contest) -> Tournament:
    if not has_database(contest):
        return Tournament(contest)
    with Store(contest.database, reading=True) as store:
        return load_tournament(contest, store)


def check_database(address: DatabaseAddress, stop: Callable[[], bool]) -> None:
    """Check the pages of the database, and the hash of each record.

    This reads the whole file and takes 1.5 times as long as its SHA-256: a few seconds per GB.

    Args:
        address: of the database.
        stop: called after each record, and every few milliseconds; the check ends once it returns True.

    Raises:
        StoreError: a page or a record is damaged; the message says what to do.
    """
    with Store(address, reading=True) as store, store.snapshot():
        store.check_pages(stop)
        previous = FIRST
        for record in store.records():
            if stop():
                return
            if record.previous != previous or record.hash != hash_of(record.line):
                raise damaged(store.path, f"the record at place {record.place} is not what was written")
            previous = link_of(record.head, record.hash)


def tournament_of(contest: Contest) -> Tournament:
    """Return the tournament on record; an empty one if the contest has not run yet.

    Raises:
        ConfigError: there are no records, although matches were played.
        StoreError, RecordError: the database or a record is damaged.
    """
    return _tournament_and(contest)[0]


def tournament_and_problem(contest: Contest) -> tuple[Tournament, str]:
    """Return what `tournament_of` does, and what is wrong with the newest records; "" if nothing is.

    A quick check for a table. `verify` checks all records.
    """
    told = told_of(contest, quick=True)
    tournament, problem = _tournament_and(contest, _end_problem)
    return tournament, problem or missing_results(contest, told, tournament)


def _tournament_and(contest: Contest, check: Callable[[Store], str] = lambda _: "") -> tuple[Tournament, str]:
    if not has_database(contest):
        return Tournament(contest), ""
    with Store(contest.database, reading=True) as store:
        tournament = Tournament(contest, store.record_headers())
        problem = check(store) if tournament.place else ""
    if not tournament.place:
        check_nothing_lost(contest)
    return tournament, problem


def _end_problem(store: Store) -> str:
    try:
        store.check_end()
        newest = store.newest(END_RECORDS)
    except StoreError as error:
        return str(error)
    budget = END_BYTES
    for record in reversed(newest):  # the newest first: these a power cut could have damaged
        budget -= len(record.line)
        if budget < 0:
            break
        if quick_hash_of(record.line) != record.hash:
            return f"{store.path}: the record at place {record.place} is not what was written"
    return ""


def results_of(contest: Contest) -> list[Result]:
    """Return the results on record; none if the contest has not run yet."""
    return tournament_of(contest).results


def incidents_of(contest: Contest) -> list[IncidentRow]:
    """Return the incidents of all runs.

    Raises:
        ConfigError: there are no records, although matches were played.
    """
    if not has_database(contest):
        return []
    with Store(contest.database, reading=True) as store:
        incidents = store.incidents()
        if not incidents and not store.chain()[0]:
            check_nothing_lost(contest)
    return incidents


def games_of(database: DatabaseAddress) -> dict[int, object]:
    """Return the timing-independent parts of each match: turns without times, winner, scores, reason."""
    with Store(database, reading=True) as store:
        records = [decode(line) for line in store.lines()]
    games: dict[int, object] = {}
    for record in records:
        if record["type"] == "game":
            turns = [(turn["player"], turn.get("move"), turn.get("fault")) for turn in record["turns"]]
            games[record["match"]] = (turns, record["winner"], record["scores"], record["reason"])
    return games
