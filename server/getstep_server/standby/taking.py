"""The decision that this computer plays a contest from here on."""

from __future__ import annotations

import time

import trio

from getstep_server.config.contest import Contest
from getstep_server.errors import ConfigError
from getstep_server.records.decision import Decision, record_of_decision
from getstep_server.records.reasons import DecisionKind
from getstep_server.records.record import Record
from getstep_server.storage.contest_state import complete_tournament
from getstep_server.storage.lock import ContestLock
from getstep_server.storage.store import Store
from getstep_server.text import utc_time
from getstep_server.tournament.settings_record import record_of_settings

from .marks import Mark, lost_text, read_mark, write_mark


def take_over(contest: Contest, by: str, why: str) -> int:
    """Put on record that this computer plays the contest, and let `run` play it; return the fencing number.

    Args:
        contest: the copy; no follower writes it.
        by: who decides that.
        why: the reason.

    Raises:
        ContestInUse: a follower or a server uses the folder.
        ConfigError: another host has taken over from this folder, or the copy cannot be used.
        StoreError, DatabaseError, RecordError: it cannot be used.
    """
    folder = contest.folder
    with ContestLock(folder):
        mark = read_mark(folder)
        if mark is not None and mark.role == "lost":
            raise ConfigError(lost_text(folder, mark))
        tournament = complete_tournament(contest)
        fence = tournament.fence + 1
        decision = Decision(DecisionKind.TAKE_OVER, by, why, utc_time(time.time()), fence=fence)
        records: list[Record] = []
        if not tournament.place:  # the first record says what contest this is
            fields = tournament.settings.due()
            records += [] if fields is None else [record_of_settings(fields)]
        records.append(record_of_decision(contest, decision))
        with Store(contest.database) as store:
            store.claim()
            trio.run(_save, store, records, tournament.place)
        if mark is not None:
            write_mark(folder, Mark(role="took_over", host=mark.host, port=mark.port, fence=fence))
    return fence


async def _save(store: Store, records: list[Record], place: int) -> None:
    await store.save(*records, based_on=place)
