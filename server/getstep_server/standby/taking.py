"""The decision that this computer plays a contest from here on."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import trio
from msgspec.structs import replace

from getstep_server.config.contest import Contest, load_contest, use_database
from getstep_server.config.database_address import PostgresAddress
from getstep_server.config.host_key import bearer_key
from getstep_server.errors import ConfigError, ContestInUse
from getstep_server.limits import MAX_STANDBYS
from getstep_server.records.decision import Decision, record_of_decision
from getstep_server.records.reasons import DecisionKind
from getstep_server.records.record import Record
from getstep_server.storage.contest_state import load_tournament
from getstep_server.storage.database import DatabaseError
from getstep_server.storage.store import Conflict, Store
from getstep_server.text import utc_time
from getstep_server.tournament.settings_record import record_of_settings
from getstep_server.tournament.tournament import Tournament

from .marks import Mark, lost_text, read_mark, write_mark
from .source import check_beginning

RETRY_SECONDS = 1.0
"""Between two questions for a lock, while the database is away."""


def share_database(folder: Path, address: PostgresAddress) -> None:
    """Let the copy of a contest use the database of its first host, in place of records of its own.

    Raises:
        ConfigError: the database has another contest, or contest.toml cannot be written.
        StoreError, DatabaseError: the records cannot be read.
    """
    own = load_contest(folder).database
    if own != address:
        with Store(own, reading=True) as copied, Store(address, reading=True) as shared:
            place, digest = copied.chain()
            check_beginning(shared, place, digest)
        use_database(folder, address)


def is_free(address: PostgresAddress) -> bool:
    """Return True if no server runs the contest of a database now, as far as the database knows.

    Raises:
        StoreError, DatabaseError: the database cannot be used.
    """
    try:
        with Store(address) as store:
            store.claim()
    except ContestInUse:
        return False
    return True


class TakeOver:
    """A take-over: `runtime.run.open_contest` calls it in place of claiming the database.

    Args:
        by: who decides that.
        why: the reason.
        say: is told what this waits for, and what it has done.
    """

    def __init__(self, by: str, why: str, say: Callable[[str], None]) -> None:
        self._by = by
        self._why = why
        self._say = say

    def check(self, contest: Contest) -> None:
        """Check that a contest can be taken over to its folder.

        Raises:
            ConfigError: another host has taken over from this folder, which has its own records.
        """
        mark = read_mark(contest.folder)
        if mark is not None and mark.role == "lost" and not isinstance(contest.database, PostgresAddress):
            raise ConfigError(lost_text(contest, mark))

    def __call__(self, contest: Contest, store: Store) -> Tournament:
        """Claim the database, and put on record that this computer plays the contest; return the state after that.

        With PostgreSQL, this waits until the other host has lost the lock.

        Args:
            contest: which no follower writes.
            store: its records.

        Raises:
            ContestInUse: another server has the folder's database.
            ConfigError: the folder cannot be written.
            StoreError, DatabaseError, RecordError: the records cannot be read or written.
        """
        self._claim(contest, store)
        folder, mark = contest.folder, read_mark(contest.folder)
        while True:
            tournament = load_tournament(contest, store)  # another host has stored records until now
            fence = tournament.fence + self._step(contest, mark)
            try:
                trio.run(self._save, contest, store, tournament, fence)
                break
            except Conflict:  # a decision of the host has come between
                continue
        bearer_key(folder)  # without a key, no bot gets a certificate of the number
        known = Mark(role="took_over", host="", port=0) if mark is None or mark.role == "lost" else mark
        write_mark(folder, replace(known, role="took_over", fence=fence))
        self._say(f"On record: this computer plays the contest from here on, with fencing number {fence}.")
        return load_tournament(contest, store)

    @staticmethod
    def _step(contest: Contest, mark: Mark | None) -> int:
        """Return by how much the fencing number rises.

        Two copies of one host may take over, and neither knows of the other. So their numbers differ. The copy with
        the lower rank has the higher number, because it does not wait for the other one.
        """
        return 1 if isinstance(contest.database, PostgresAddress) or mark is None else MAX_STANDBYS - mark.rank

    def _claim(self, contest: Contest, store: Store) -> None:
        told = ""
        while True:
            try:
                store.claim()
            except ContestInUse:
                if not isinstance(contest.database, PostgresAddress):
                    raise
                waits = "Another host plays the contest. This computer takes over once that one is lost"
            except DatabaseError as error:
                waits = f"! {contest.database}: {error}; tries again"
                time.sleep(RETRY_SECONDS)
            else:
                return
            if waits != told:
                self._say(waits)
                told = waits

    async def _save(self, contest: Contest, store: Store, tournament: Tournament, fence: int) -> None:
        decision = Decision(DecisionKind.TAKE_OVER, self._by, self._why, utc_time(time.time()), fence=fence)
        records: list[Record] = []
        if not tournament.place:  # the first record says what contest this is
            fields = tournament.settings.due()
            records += [] if fields is None else [record_of_settings(fields)]
        records.append(record_of_decision(contest, decision))
        await store.save(*records, based_on=tournament.place)
