"""What a run leaves behind beside its results: the log and the record of incidents.

The one place where their parts are put together, for `run` and `demo` alike.
"""

from __future__ import annotations

import traceback
from types import TracebackType

import trio

from .contest import Contest
from .events import SELDOM, Bus, IncidentsSummed, ServerFault
from .incidents import IncidentTally
from .limits import INCIDENTS_SAVED_EVERY_SECONDS, SUMMARY_ROWS
from .log import ContestLog
from .repeats import Repeats
from .store import Store


class Records:
    """Keeps the records of one run, as an async context manager around it.

    Whatever ends the run, the counts are stored and the log is complete and closed afterwards. ``how`` is what the
    log will say about an end without an error.

    Raises:
        ConfigError: the log cannot be written.
    """

    def __init__(self, contest: Contest, store: Store, bus: Bus) -> None:
        self.how = ""
        self._contest = contest
        self._store = store
        self._bus = bus
        self._incidents = IncidentTally()
        self._repeats = Repeats(bus.publish, self._incidents)

    async def __aenter__(self) -> Records:
        self._log = ContestLog(self._contest)
        self._bus.subscribe(self._repeats, SELDOM)
        self._bus.subscribe(self._log, SELDOM)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self._repeats.close()
        most = tuple((row.incident, row.count) for row in self._incidents.most(SUMMARY_ROWS))
        self._bus.publish(IncidentsSummed(self._incidents.total, most))
        with trio.CancelScope(shield=True):
            await self._save()
            how = self.how if error is None else "".join(traceback.format_exception(error))
            await trio.to_thread.run_sync(self._log.close, how)

    async def run(self) -> None:
        """Store new counts and say what was held back, about once a second, until cancelled."""
        while True:
            await trio.sleep(INCIDENTS_SAVED_EVERY_SECONDS)
            self._repeats.end_bursts()
            await self._save()

    async def _save(self) -> None:
        rows = self._incidents.take_unsaved()
        if not rows:
            return
        try:
            await self._store.count_incidents(rows)
        except Exception:  # the record of incidents is not worth a contest; it is tried again
            self._incidents.put_back(rows)
            self._bus.publish(ServerFault("the record of incidents", traceback.format_exc()))
