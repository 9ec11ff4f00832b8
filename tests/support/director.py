"""A director with players, a store and a clock in memory."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, cast

import trio

from getstep_server.config.contest import Contest
from getstep_server.events import (
    Event,
    Listening,
    MatchCalledOff,
    MatchEnded,
    MatchStarted,
    Publish,
    ServerFault,
)
from getstep_server.net.seat import choose_seat, seats_of
from getstep_server.play.deadlines import DeadlineScheduler
from getstep_server.play.scoresheet import ScoresheetStore
from getstep_server.records.decision import Decision, record_of_decision
from getstep_server.records.game import is_void, result_of
from getstep_server.records.match import Match
from getstep_server.records.record import Record, parse
from getstep_server.records.result import Result
from getstep_server.runtime.director import Director
from getstep_server.runtime.hosted import HostedPrograms
from getstep_server.runtime.run import MakeCluster
from getstep_server.runtime.venue import Venue
from getstep_server.storage.disk import Disk
from getstep_server.storage.store import Conflict, Store
from getstep_server.storage.verify import verify
from getstep_server.text import utc_time
from getstep_server.tournament.tournament import Tournament
from tests.support.memory_peers import MemoryPeer, Reply, after, honest

PATIENCE = 60.0
SMALL: dict[str, Any] = {"event": {"game": "pseudo_tonga", "options": {"size": 6}}}
"""The shortest game: 36 moves, with any players."""


class MemoryStore:
    """Keeps results; what `save` does before, a test may say."""

    def __init__(self, before: Callable[[Result], Awaitable[None]] | None = None) -> None:
        self.saved: list[Result] = []
        self._before = before
        self.chain: list[Record] = []
        """All records, void ones and another process's included."""

    def decide(self, record: Record) -> None:
        """Append a record as another process would."""
        self.chain.append(record)

    async def tail(self, place: int) -> list[bytes]:
        await trio.lowlevel.checkpoint()
        return [record.header for record in self.chain[place:]]

    async def save(
        self, *records: Record, based_on: int | None = None, after: Callable[[], None] = lambda: None
    ) -> None:
        await trio.lowlevel.checkpoint()
        results = [result_of(parse(record.content())) for record in records if record.match is not None]
        official = [result for result in results if not is_void(result)]
        for result in official:
            if self._before is not None:
                await self._before(result)
        if based_on not in (None, len(self.chain)):
            raise Conflict
        self.chain += records
        self.saved += official
        after()


class Stage:
    """A contest without sockets, disk and real time."""

    def __init__(
        self,
        contest: Contest,
        *,
        store: MemoryStore | None = None,
        results: Sequence[Result] = (),
        records: Sequence[Record] = (),
        venue: Callable[[DeadlineScheduler, Publish], Venue] | None = None,
        make_cluster: MakeCluster | None = None,
    ) -> None:
        self.events: list[tuple[float, Event]] = []
        self.peers: dict[int, list[MemoryPeer]] = {team: [] for team in contest.teams}
        self.store = store or MemoryStore()
        self.tournament = Tournament(contest, [parse(record.header) for record in records])
        if results:
            fields = self.tournament.next_pairings(contest.events[0])
            assert fields is not None
            self.tournament.apply_pairings(fields)
        for result in results:
            self.tournament.apply_result(result)
        self._seats = {number: seats_of(team, self._publish) for number, team in contest.teams.items()}
        self._scheduler = DeadlineScheduler()
        disk = Disk(contest.folder, self._publish)
        self._sheets = ScoresheetStore(contest, disk)
        contest.running.mkdir(exist_ok=True)
        unfinished, _ = self._sheets.unfinished(list(self.tournament.matches.values()), self.tournament.recorded)
        self._hosted = HostedPrograms(contest, self.tournament, self._publish)
        self._cluster = make_cluster and make_cluster(contest, self.tournament, self._hosted, self._publish)
        self._unfinished = unfinished
        self._director = Director(
            contest,
            self.tournament,
            unfinished,
            self._seats,
            self._sheets,
            cast(Store, self.store),
            disk,
            self._scheduler,
            self._publish,
            hosted=self._hosted,
            cluster=self._cluster,
            elsewhere=[] if venue is None else [venue(self._scheduler, self._publish)],
        )
        self._nursery: trio.Nursery | None = None
        self.note = self._director.note

    def _publish(self, event: Event) -> None:
        self.events.append((trio.current_time(), event))

    def of(self, kind: type[Any]) -> list[Any]:
        """Return all events of one type."""
        return [event for _, event in self.events if isinstance(event, kind)]

    def said(self, team: int, kind: type[Any]) -> list[Any]:
        """Return all messages of one type that a team was told."""
        return [message for peer in self.peers[team] for message in peer.of(kind)]

    def come(self, team: int, reply: Reply = honest) -> None:
        """Connect a bot of a team."""
        assert self._nursery is not None
        self.peers[team].append(MemoryPeer(self._nursery, choose_seat(self._seats[team]), reply))
        self._director.changed()

    def enter(self) -> None:
        """Press the host's Enter key."""
        self._director.enter()

    def go(self, team: int, bot: int = -1) -> None:
        """End the connection of one of a team's bots, by default of the last one that came."""
        peer = self.peers[team][bot]
        peer.seat.detach(peer, "gone")
        self._director.changed()

    async def play(
        self,
        *here: int,
        seconds: dict[int, float] | None = None,
        during: Callable[[], Awaitable[None]] | None = None,
        gather: bool = False,
    ) -> None:
        """Play it to its end, with the teams that are ``here`` at first; ``seconds`` a team takes for each move.

        ``gather``: as a contest that is resumed.
        """
        async with trio.open_nursery() as nursery:
            self._nursery = nursery
            nursery.start_soon(self._scheduler.run)
            for team in here:
                self.come(team, after((seconds or {}).get(team, 0.0)))
            if during is not None:
                nursery.start_soon(during)
            if self._cluster is not None:
                await self._hosted.open(
                    self._seats, Listening("127.0.0.1", 1, None, stamped=False), self._unfinished
                )
                self._hosted.begin()
                put_worker, changed = self._director.recorder.put_worker, self._director.changed
                nursery.start_soon(self._cluster.run, put_worker, changed)
            with closing(self._sheets):
                await self._director.run(gather=gather)
            nursery.cancel_scope.cancel()


def numbers(matches: Sequence[Match]) -> list[int]:
    return [match.number for match in matches]


WHY = "it was agreed so"


class DecidedStage(Stage):
    """A stage with a host that decides at certain times."""

    def decide(self, kind: Any, **about: Any) -> None:
        contest = self.tournament.contest
        decision = Decision(kind, "Grace", WHY, utc_time(1.7e9 + trio.current_time()), **about)
        self.store.decide(record_of_decision(contest, decision))

    def running(self) -> list[int]:
        """Return the numbers of the matches that are being played."""
        over = [event.match for event in self.of(MatchCalledOff)]
        over += [event.result.match for event in self.of(MatchEnded) if event.result.reason != "never_arrived"]
        started = numbers([event.match for event in self.of(MatchStarted)])
        for number in numbers(over):
            started.remove(number)
        return started

    def check(self, folder: Path, *, lost: bool = False) -> None:
        """Check that the records are valid, and that the director has followed them.

        ``lost``: attempts were lost, so more matches have begun than ended.
        """
        contest = self.tournament.contest
        with Store(folder / "check.db") as store:
            store._run(partial(store._db.transact, partial(store._write_records, self.store.chain, None)))
            assert verify(contest, store).records == len(self.store.chain)
            again = Tournament(contest, store.record_headers())
        assert again.tables() == self.tournament.tables()
        assert again.open() == self.tournament.open() == []
        assert lost or self.running() == []
        assert not self.of(ServerFault), self.of(ServerFault)[0].trace

    def attempts(self, match: int) -> list[str]:
        """Return the end of each attempt at a match."""
        games = [parse(record.content()) for record in self.store.chain if record.match is not None]
        return [game["reason"] for game in games if game["match"] == match]


def slow(*teams: int) -> dict[int, float]:
    """Return the seconds of the matches: each move takes a second, so a match takes 36."""
    return dict.fromkeys(teams, 1.0)
