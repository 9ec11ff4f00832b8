"""The log and the incident counts of one run, set up for `run` and `demo` alike."""

from __future__ import annotations

import traceback
from types import TracebackType

import trio

from getstep_server.config.contest import Contest
from getstep_server.events import EXCEPT_MOVES, Bus, IncidentsSummed, ServerFault
from getstep_server.limits import INCIDENTS_SAVED_EVERY_SECONDS, SUMMARY_ROWS
from getstep_server.storage.database import DatabaseError, DatabaseProblem
from getstep_server.storage.store import Store

from .contest_log import ContestLog
from .incidents import IncidentTally
from .throttle import EventThrottle


class RunLog:
    """The log and the incident counts of one run, as an async context manager around the run.

    However the run ends, the counts are stored, and the log is complete and closed afterwards. ``outcome`` is
    the outcome that the log states for an end without an error.

    Raises:
        ConfigError: the log cannot be written.
    """

    def __init__(self, contest: Contest, store: Store, bus: Bus) -> None:
        self.outcome = ""
        self._contest = contest
        self._store = store
        self._bus = bus
        self._incidents = IncidentTally()
        self._throttle = EventThrottle(bus.publish, self._incidents)

    async def __aenter__(self) -> RunLog:
        self._log = ContestLog(self._contest)
        self._bus.subscribe(self._throttle, EXCEPT_MOVES)
        self._bus.subscribe(self._log, EXCEPT_MOVES)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self._throttle.close()
        most = tuple((row.incident, row.count) for row in self._incidents.top(SUMMARY_ROWS))
        self._bus.publish(IncidentsSummed(self._incidents.total, most))
        with trio.CancelScope(shield=True):
            await self._save(final=True)
            outcome = self.outcome if error is None else "".join(traceback.format_exception(error))
            await trio.to_thread.run_sync(self._log.close, outcome)

    async def run(self) -> None:
        """Store new counts and publish held-back events about once a second, until cancelled."""
        while True:
            await trio.sleep(INCIDENTS_SAVED_EVERY_SECONDS)
            self._throttle.end_bursts()
            await self._save()

    async def _save(self, *, final: bool = False) -> None:
        rows = self._incidents.take_unsaved()
        if not rows:
            return
        try:
            await self._store.count_incidents(rows)
        except Exception as error:  # a contest must not end because of this; the next call tries again
            self._incidents.put_back(rows)
            away = isinstance(error, DatabaseError) and error.problem is DatabaseProblem.AWAY
            if final or not away:  # the recorder reports once that the database is away
                self._bus.publish(ServerFault("the record of incidents", traceback.format_exc()))
