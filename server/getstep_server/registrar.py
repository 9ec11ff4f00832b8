"""The registrar: what goes on record, in keeping with what the host decides meanwhile.

A record says what follows from all before it, and another process may put a decision of the host on record at any
time. The store then takes nothing that was made without knowing of it: the decision is taken note of here, and what
was to be stored is made again.
"""

from __future__ import annotations

import traceback
from collections import Counter
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import trio

from .combined import Tables
from .contest import Contest
from .contest_event import ContestEvent
from .decisions import Decision
from .disk import Disk
from .events import DecisionTaken, Publish, ServerFault
from .game_record import Record, RecordError, record_of_pairings
from .limits import MATCH_ATTEMPTS
from .results import Result
from .schedule import Match
from .store import Overtaken, Store
from .tournament import Tournament

LOOK_SECONDS = 1.0
"""How often somebody looks whether the host has decided something: a question to the database that takes 20 µs."""

TEAMS_PAIRED_AT_ONCE = 16
"""Pairings of more teams are a thread's work: a round robin of 64 takes 27 ms, longer than clocks may wait."""


class ContestStopped(Exception):  # noqa: N818 - an end with a reason
    """The contest cannot go on; nothing stored is lost."""


class Registrar:
    """Keeps a tournament and its records in step.

    Args:
        contest: whose.
        tournament: as far as it has come.
        store: where records go.
        disk: it is on.
        publish: called with the host's decisions, and with what failed.
        tables: what is said of them makes the tables with this.
        given: called with matches as soon as they are on record.
        decided: called when the host has decided something, so that other matches may be open than before.
    """

    def __init__(
        self,
        contest: Contest,
        tournament: Tournament,
        store: Store,
        disk: Disk,
        publish: Publish,
        *,
        tables: Callable[[], Tables],
        given: Callable[[list[Match]], None],
        decided: Callable[[], None],
    ) -> None:
        self._contest = contest
        self._tournament = tournament
        self._store = store
        self._disk = disk
        self._publish = publish
        self._tables = tables
        self._given = given
        self._decided = decided
        self._saving: Counter[int] = Counter()
        """By event, the results that are on their way to the disk."""
        self._settled = trio.Lock()
        """Held by who needs the tournament to stay as it is while a thread looks at it."""

    # --- what the host decides ---

    async def look(self) -> None:
        """Take note of what other processes have put on record."""
        try:
            await self._look()
        except Exception:  # who stores something will look again, or who watches
            self._publish(ServerFault("looking for decisions of the host", traceback.format_exc()))

    async def watch(self) -> None:
        """Look about once a second, until cancelled."""
        while True:
            await trio.sleep(LOOK_SECONDS)
            await self.look()

    async def _look(self) -> None:
        async with self._settled:
            news = await self._store.news()
            for fields in news:
                self._take(fields)
            if news:
                self._decided()

    def _take(self, fields: dict[str, Any]) -> None:
        tournament, before = self._tournament, len(self._tournament.decisions)
        try:
            tournament.take(fields)
        except RecordError:
            self._publish(ServerFault("a record of another process", traceback.format_exc()))
        for decision in tournament.decisions[before:]:
            match = self._match_of(decision)
            self._publish(DecisionTaken(decision, match, tournament.done, tournament.total, self._tables))

    def _match_of(self, decision: Decision) -> Match | None:
        return None if decision.match is None else self._tournament.matches[decision.match]

    # --- what comes next ---

    async def give_out(self) -> None:
        """Put the pairings that come next on record.

        Not while a result of the same event is on its way to the disk: a record says what follows from those
        before it.

        Raises:
            ContestStopped: they could not be stored.
        """
        due = self._tournament.due
        for number in sorted(due):
            while number in due and not self._saving[number]:
                due.remove(number)
                if not await self._give_out(self._contest.event(number)):
                    due.add(number)

    async def _give_out(self, event: ContestEvent) -> bool:
        """Returns whether that is done; if not, they were made of what is no longer the case."""
        tournament = self._tournament
        async with self._settled:
            seen, version = self._store.seen, tournament.version(event)
            fields = await self._next_pairings(event)
        if fields is None:
            return True
        record = record_of_pairings(fields)

        async def write() -> None:
            if self._saving[event.number] or tournament.version(event) != version:
                raise Overtaken(f"results of {event.name} that the pairings do not know")
            await self._store.save(record, seen=seen)

        if not await self._stored(write):
            return False
        self._given(tournament.take_pairings(fields))
        return True

    async def _next_pairings(self, event: ContestEvent) -> dict[str, Any] | None:
        if event.format.slow or len(event.teams) > TEAMS_PAIRED_AT_ONCE:
            return await trio.to_thread.run_sync(self._tournament.next_pairings, event)
        return self._tournament.next_pairings(event)

    async def _stored(self, write: Callable[[], Awaitable[None]]) -> bool:
        for attempt in range(1, MATCH_ATTEMPTS + 1):
            try:
                await self._disk.insist(write)
            except Overtaken:
                await self.look()
                break
            except Exception as error:
                self._publish(ServerFault("the record of pairings", traceback.format_exc()))
                if attempt == MATCH_ATTEMPTS:
                    raise stopped("the record of pairings", error) from error
            else:
                return True
        return False

    # --- what became of it ---

    async def save(
        self,
        match: Match,
        outcome: Callable[[], tuple[Result, Record]],
        after: Callable[[], None],
        *,
        patient: bool = True,
    ) -> Result:
        """Have the end of an attempt on disk; pairings that follow on it come after it.

        Args:
            match: it was at this one.
            outcome: called for the result and its record, and again when the host has decided something meanwhile.
            after: called in a thread once it is stored.
            patient: wait if the disk is full.

        Returns:
            The result as it was stored.
        """
        self._saving[match.event] += 1
        try:
            while True:
                seen, (result, record) = self._store.seen, outcome()
                write = partial(self._store.save, record, after, seen=seen)
                try:
                    await (self._disk.insist(write) if patient else write())
                except Overtaken:
                    await self._look()
                else:
                    self._tournament.take_result(result)
                    return result
        finally:
            self._saving[match.event] -= 1


def stopped(what: str, error: Exception) -> ContestStopped:
    """The end of a contest in which something fails again and again."""
    return ContestStopped(
        f"{what} failed {MATCH_ATTEMPTS} times, last with {error!r}: contest.log says where."
        " What is finished is kept; go on with the same command when that is mended"
    )
