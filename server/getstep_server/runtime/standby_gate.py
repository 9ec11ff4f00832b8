"""Strict mode: records wait for a standby host before they are announced.

The page sends the records to the standby host, and notes in a file which of them that host has on its disk. The
recorder waits here after COMMIT and before it applies a record. So no result is announced, no seat is freed and no
pairing is published before that. The judge of a running match does not wait: turns go to the journal.

If the standby host is missing or slow, this says so after WAIT_SECONDS. No match starts then, until the standby
host has all records, or the host decides to go on without it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import trio

from getstep_server.config.contest import Contest
from getstep_server.events import Publish, StandbyMissing, StandbyReady
from getstep_server.records.record import RecordError, parse
from getstep_server.standby.marks import copied_place
from getstep_server.storage.database import DatabaseError
from getstep_server.storage.store import Store
from getstep_server.tournament.strict import strict_after
from getstep_server.tournament.tournament import Tournament

WAIT_SECONDS = 5.0
"""The time in which a standby host has to store a record: it usually takes 0.2 s."""

LOOK_SECONDS = 0.02
"""The interval at which the file is read while a record waits: 0.2 ms in a thread, and nothing in between."""

DECISIONS_EVERY = 25
"""The host's decisions are read at each 25th look, so twice a second."""


class StandbyGate:
    """Holds records back until a standby host has them.

    Args:
        contest: the contest.
        tournament: the state after all records that were applied; it says whether the contest is strict.
        store: where the host's decisions come from.
        publish: called when the contest stands still, and when it goes on.
        changed: called when matches may start again.
    """

    def __init__(
        self,
        contest: Contest,
        tournament: Tournament,
        store: Store,
        publish: Publish,
        changed: Callable[[], None],
    ) -> None:
        self._contest = contest
        self._tournament = tournament
        self._store = store
        self._publish = publish
        self._changed = changed
        self.ended = False
        """True once the run ends: no record waits any more."""
        self.closed = False
        """True while no match may start: a record has waited for longer than WAIT_SECONDS."""

    async def run(self) -> None:
        """Run until cancelled. Then no record waits any more: the run ends."""
        try:
            await trio.sleep_forever()
        finally:
            self.ended = True

    def holds(self, tail: Sequence[bytes] = ()) -> bool:
        """Return True if records wait for a standby host after the ``tail``, which is not applied yet."""
        return strict_after(self._tournament.is_strict, _parsed(tail))

    async def wait(self, place: int) -> bool:
        """Wait until all records up to ``place`` may be announced; return False if the run ends before.

        Args:
            place: that of a record which is in the database.
        """
        looks, due = 0, trio.current_time() + WAIT_SECONDS
        try:
            while not self.ended:
                copied = await trio.to_thread.run_sync(copied_place, self._contest.running)
                if copied >= place or (looks % DECISIONS_EVERY == 0 and await self._is_over()):
                    return True
                looks += 1
                await trio.sleep(LOOK_SECONDS)
                if not self.closed and trio.current_time() >= due:
                    self.closed = True
                    self._publish(StandbyMissing(place, copied))
            return False
        finally:
            if self.closed:
                self.closed = False
                self._publish(StandbyReady(place))
                self._changed()

    async def _is_over(self) -> bool:
        """Return True if the host has decided that records do not wait."""
        try:
            return not self.holds(await self._store.tail(self._tournament.place))
        except DatabaseError:  # it is away: the next look
            return False


def _parsed(tail: Sequence[bytes]) -> list[Mapping[str, Any]]:
    """Return the records of a tail; an empty one for each that is damaged, which the recorder skips."""
    found: list[Mapping[str, Any]] = []
    for header in tail:
        try:
            found.append(parse(header))
        except RecordError:
            found.append({})
    return found
