"""Contests that run in the test's own process, and players over real loopback sockets."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import trio
from msgspec import structs

from getstep import wire
from getstep.wire import Connection, GetStep, Goodbye, Hello, Join, Message, Role, Start, Step, Welcome
from getstep_engines import GAMES
from getstep_server.config.contest import Contest
from getstep_server.events import Bus, Event, Listening, Publish
from getstep_server.formats.round_robin import RoundRobin
from getstep_server.records.match import Match
from getstep_server.runtime.run import RunOutcome, run_contest
from getstep_server.runtime.start import StartCondition
from tests.support.contests import token_of
from tests.support.patience import PATIENCE_SECONDS


def round_robin(teams: Sequence[int], game: str = "hop", **options: int) -> list[Match]:
    """Return the matches of a double round robin."""
    format_ = RoundRobin(RoundRobin.Options(legs=2), 1)
    return [
        Match(number, game=game, options=options, **structs.asdict(pairing))
        for number, pairing in enumerate(format_.next_pairings(teams, []), start=1)
    ]


class Recorder:
    """A consumer that keeps every event, and wakes the tasks that wait for one."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._news = trio.lowlevel.ParkingLot()

    def __call__(self, event: Event) -> None:
        self.events.append(event)
        self._news.unpark_all()

    def of(self, kind: type[Any]) -> list[Any]:
        """Return all events of one type until now."""
        return [event for event in self.events if isinstance(event, kind)]

    async def wait_for(self, kind: type[Any], count: int = 1) -> Any:
        """Wait for the ``count``-th event of a type, and return it."""
        with trio.fail_after(PATIENCE_SECONDS):
            while len(self.of(kind)) < count:
                await self._news.park()
        return self.of(kind)[count - 1]


class Running:
    """A contest under way in the test's own process."""

    def __init__(self, contest: Contest, recorder: Recorder, port: int, classic_port: int | None, bus: Bus) -> None:
        self.contest = contest
        self.bus = bus
        self.recorder = recorder
        self.port = port
        self.classic_port = classic_port
        self.ending: RunOutcome | None = None
        self.over = trio.Event()

    async def finished(self) -> None:
        """Wait for the end of the contest."""
        with trio.fail_after(PATIENCE_SECONDS):
            await self.over.wait()


@contextlib.asynccontextmanager
async def running(
    contest: Contest, when: StartCondition | None = None, consumers: Sequence[Publish] = ()
) -> AsyncIterator[Running]:
    """Run ``contest`` in the background while the block runs; ``consumers`` hear its events before the recorder."""
    recorder, bus = Recorder(), Bus()
    for consumer in consumers:
        bus.subscribe(consumer)
    bus.subscribe(recorder)
    async with trio.open_nursery() as nursery:

        async def run() -> None:
            view.ending = await run_contest(contest, bus, when or StartCondition())
            view.over.set()

        view = Running(contest, recorder, 0, None, bus)
        nursery.start_soon(run)
        listening = await recorder.wait_for(Listening)
        view.port, view.classic_port = listening.port, listening.classic_port
        yield view
        nursery.cancel_scope.cancel()


class Player:
    """A client that speaks the wire message by message."""

    def __init__(self, stream: trio.SocketStream) -> None:
        self.stream = stream
        self.wire = Connection(Role.CLIENT)

    async def next(self) -> Message | None:
        """Return the server's next message, or None when it has closed."""
        with trio.fail_after(PATIENCE_SECONDS):
            while True:
                event = self.wire.next_event()
                if event is wire.CLOSED:
                    await trio.lowlevel.checkpoint()  # a caller that asks again and again can be cancelled
                    return None
                if isinstance(event, Message):
                    return event
                self.wire.receive_data(await self._receive())

    async def _receive(self) -> bytes:
        try:
            return bytes(await self.stream.receive_some(65536))
        except trio.BrokenResourceError:
            return b""

    async def expect(self, kind: type[Any]) -> Any:
        """Return the next message, which has to be of one type."""
        message = await self.next()
        assert isinstance(message, kind), message
        return message

    async def until(self, kind: type[Any]) -> Any:
        """Return the next message of one type; others are passed over."""
        while not isinstance(message := await self.next(), kind):
            assert message is not None, f"closed before {kind.__name__}"
        return message

    async def say(self, message: Message) -> None:
        """Send a message."""
        await self.stream.send_all(self.wire.send(message))

    async def say_bytes(self, data: bytes) -> None:
        """Send anything."""
        await self.stream.send_all(data)

    async def join(
        self,
        team: int,
        token: str | None = None,
        purpose: str = "play",
        version: int = 1,
        nonce: str | None = None,
        dialled: str | None = None,
    ) -> Hello:
        """Read hello, which is returned, and join; ``nonce`` asks for the server's proof."""
        hello: Hello = await self.expect(Hello)
        mac = wire.sign(token if token is not None else token_of(team), hello.nonce, dialled)
        await self.say(Join(version, team, mac, "test player", purpose, nonce, dialled))
        return hello

    async def login(self, team: int) -> Welcome:
        """Join and be welcome."""
        await self.join(team)
        welcome = await self.expect(Welcome)
        assert isinstance(welcome, Welcome)
        return welcome

    async def play(
        self, choose: Callable[[Start, GetStep], Any] | None = None, start: Start | None = None
    ) -> Goodbye | None:
        """Play whatever comes until goodbye, or None if the server closes without it; ``start`` was told before.

        After goodbye it closes, as clients do: the server waits two seconds for that.
        """
        while (message := await self.next()) is not None:
            if isinstance(message, Start):
                start = message
            elif isinstance(message, GetStep):
                assert start is not None
                move = (choose or first_legal)(start, message)
                await self.say(Step(message.id, move))
            elif isinstance(message, Goodbye):
                await self.close()
                return message
        return None

    async def close(self) -> None:
        """Vanish."""
        await self.stream.aclose()


def first_legal(start: Start, question: GetStep) -> Any:
    """Return the first move the engine offers."""
    return next(GAMES[start.game].from_board(question.board, question.is_black).legal_moves())


@contextlib.asynccontextmanager
async def connected(port: int) -> AsyncIterator[Player]:
    """A fresh connection to the server."""
    player = Player(await trio.open_tcp_stream("127.0.0.1", port))
    try:
        yield player
    finally:
        with trio.CancelScope(shield=True), contextlib.suppress(trio.BrokenResourceError):
            await player.stream.aclose()


@contextlib.asynccontextmanager
async def seated(port: int, team: int) -> AsyncIterator[Player]:
    """A connection that has logged in."""
    async with connected(port) as player:
        await player.login(team)
        yield player
