"""What a host sees of a contest: running matches, teams, health. Nothing of it is hidden by a freeze."""

from __future__ import annotations

import shutil
import time
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import trio

from getstep_server.api.answers import HostHealth, HostMatch, HostTeam, HostTeamState
from getstep_server.api.build import match_answer, notices
from getstep_server.config.certificate import Certificate
from getstep_server.records.result import PLAYERS
from getstep_server.storage.database import DatabaseError, StoreError
from getstep_server.storage.store import Store
from getstep_server.tournament.tournament import Tournament

from .feed import Feed
from .live import LiveMatch
from .parts import catch_up, state_of

SLOW_SECONDS = 5.0
"""How old the numbers may be that take a look at the disk and at all results."""

SLOW_RATIO = 30
"""They rest for so many times as long as they took to count: 3 % of a core."""

CATCH_UP_SECONDS = 3.0
"""The longest wait for the page to read a record of its own; the record counts without it."""

TURNS_SECONDS = 0.01
"""The time for applying moves before the state is built: it shows the number of turns and the times."""


@dataclass(frozen=True)
class _Slow:
    """Numbers that a thread counts."""

    disk_free: int = 0
    incidents: Mapping[str, int] = field(default_factory=dict)
    move_ms: Mapping[int, float] = field(default_factory=dict)


class HostState:
    """The state of a contest for its host.

    Args:
        feed: the contest.
        certificate: of the page, if it speaks TLS.
    """

    def __init__(self, feed: Feed, certificate: Certificate | None = None) -> None:
        self._feed = feed
        self._certificate = certificate
        self._slow = _Slow()
        self._due = 0.0
        self._counting = trio.Lock()

    @property
    def folder(self) -> Path:
        return self._feed.folder

    async def caught_up(self, place: int) -> None:
        """Wait until this process has read the record at this place, so that the next answer shows it."""
        with trio.move_on_after(CATCH_UP_SECONDS):
            while self._feed.whole.place < place:
                await trio.sleep(0.02)  # the feed looks at the records several times in a second

    async def refresh(self) -> None:
        """Count again what takes long, unless that was done a moment ago."""
        async with self._counting:
            began = trio.current_time()
            if began < self._due:
                return
            self._slow = await trio.to_thread.run_sync(_count, self._feed, self._feed.whole)
            now = trio.current_time()
            self._due = now + max(SLOW_SECONDS, SLOW_RATIO * (now - began))

    def answer(self, connections: int, followers: int) -> HostHealth:
        """Return the state; call `refresh` before.

        Args:
            connections: of the page.
            followers: browsers that follow pages, and readers of the feed.
        """
        feed, whole = self._feed, self._feed.whole
        status = feed.status if feed.server_runs else None
        lives = list(feed.live.running.values())
        catch_up(lives, TURNS_SECONDS)
        return HostHealth(
            state=state_of(feed),
            server_runs=feed.server_runs,
            start_at=None if status is None or status.start_at is None else round(1000 * status.start_at),
            done=whole.done,
            total=whole.total,
            lag_ms=None if status is None else status.lag_ms,
            questions=whole.messages.unanswered,
            disk_free=self._slow.disk_free,
            incidents=dict(self._slow.incidents),
            connections=connections,
            followers=followers,
            certificate_expires=None if self._certificate is None else round(1000 * self._certificate.expires),
            certificate_problem="" if self._certificate is None else self._certificate.problem(time.time()),
            paused=notices(whole, whole, 0, None if status is None else status.standby_missing).paused,
            matches=[self._match(live) for live in lives],
            teams=self._teams(lives),
        )

    def _match(self, live: LiveMatch) -> HostMatch:
        whole, state = self._feed.whole, live.state
        match = match_answer(whole, live.match)
        first, second = PLAYERS
        return HostMatch(
            **{name: getattr(match, name) for name in match.__struct_fields__},
            began=round(1000 * live.began_at),
            turn=live.played,
            used=(round(state.clocks.thought_ms[first]), round(state.clocks.thought_ms[second])),
            paused=None if live.pause is None else live.pause.why,
            own_pause=any(one.match == live.match.number for one in whole.pauses.decisions),
        )

    def _teams(self, lives: list[LiveMatch]) -> list[HostTeam]:
        whole, status = self._feed.whole, self._feed.status
        stalled = defaultdict[int, list[int]](list)
        for live in lives:
            for team in live.stalled:
                stalled[team].append(live.match.number)
        known = self._feed.server_runs and status is not None
        connected = status.connected if known and status is not None else {}
        hanging = status.hanging if known and status is not None else ()
        away = status.round_trip_ms if known and status is not None else {}

        def state(team: int) -> HostTeamState:
            if all(whole.status(team, event.number) for event in whole.contest.events):
                return "out"
            if not known:
                return "unknown"
            if team in hanging:
                return "hanging"
            return "connected" if connected.get(team) else "missing"

        return [
            HostTeam(
                id=team.id,
                name=team.name,
                state=state(team.id),
                connected=connected.get(team.id, 0),
                seats=team.seats,
                stalled=stalled[team.id],
                move_ms=self._slow.move_ms.get(team.id),
                round_trip_ms=away.get(team.id),
            )
            for team in whole.contest.contestants.values()
        ]


def _count(feed: Feed, whole: Tournament) -> _Slow:
    """Count what takes long; any thread may call this."""
    try:
        incidents = {} if feed.store is None else count_incidents(feed.store)
    except (StoreError, DatabaseError, ValueError):  # it was closed at this moment, or its server is away
        incidents = {}
    thought, moves = Counter[int](), Counter[int]()
    for result in whole.results:
        for player, team in zip(PLAYERS, result.match.teams, strict=True):
            thought[team] += round(1_000_000 * result.thought[player])
            moves[team] += result.turns
    # both players move in turn
    means = {team: round(thought[team] / 500 / count, 1) for team, count in moves.items() if count}
    return _Slow(free_bytes(feed.folder), incidents, means)


def count_incidents(store: Store) -> dict[str, int]:
    """Return how many incidents are on record, by code; any thread may call this."""
    counts = Counter[str]()
    for row in store.incidents():
        counts[row.incident.code] += row.count
    return dict(counts)


def free_bytes(folder: Path) -> int:
    """Return what is free on the disk of a folder; any thread may call this."""
    return shutil.disk_usage(folder).free
