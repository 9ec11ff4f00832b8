"""Players in memory, and a match between two of them: what the judge and the director ask of a connection."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import trio

from getstep.referee.answers import Answer
from getstep.wire import GetStep, Goodbye, MalformedAnswer, Message, Raised, Start, Step
from getstep_engines import TimeControl
from getstep_server.config.contest import Team
from getstep_server.events import (
    Event,
    Publish,
)
from getstep_server.net.seat import Seat
from getstep_server.play.deadlines import DeadlineScheduler
from getstep_server.play.judge import play_match
from getstep_server.play.pause import MatchPause
from getstep_server.play.scoresheet import Scoresheet
from getstep_server.records.game import game_header
from getstep_server.records.match import Match
from getstep_server.records.result import Result
from getstep_server.storage.disk import Disk
from getstep_server.storage.journal import Journal
from tests.support.contests import make_contest
from tests.support.servers import first_legal

Reply = Callable[["MemoryPeer", GetStep], Any]


class MemoryPeer:
    """A connection without a socket: it keeps what it is sent and answers as a script says."""

    address, client, last_received_ns, notices, round_trip_ms = "memory", "test", 0, True, None

    def __init__(self, nursery: trio.Nursery, seat: Seat, reply: Reply) -> None:
        self.nursery, self.seat, self.reply = nursery, seat, reply
        self.said: list[Message] = []
        seat.attach(self)

    def send(self, message: Message) -> None:
        self.said.append(message)
        if isinstance(message, GetStep):
            self.nursery.start_soon(self._answer, message)

    def poll(self) -> None:
        """Nothing arrives unread here."""

    def close(self, goodbye: Goodbye) -> None:
        self.said.append(goodbye)

    def of(self, kind: type[Any]) -> list[Any]:
        return [message for message in self.said if isinstance(message, kind)]

    async def _answer(self, question: GetStep) -> None:
        reply = self.reply(self, question)
        if callable(reply):
            reply = await reply()
        if reply is not None:
            self.seat.answer(self, reply, trio.current_time(), stamped=False)

    def start(self) -> Start:
        start = self.of(Start)[-1]
        assert isinstance(start, Start)
        return start


def honest(peer: MemoryPeer, question: GetStep) -> Answer:
    return Step(question.id, first_legal(peer.start(), question))


def after(seconds: float, reply: Reply = honest) -> Reply:
    def later(peer: MemoryPeer, question: GetStep) -> Any:
        async def wait() -> Any:
            await trio.sleep(seconds)
            return reply(peer, question)

        return wait

    return later


# --- a match, judged on the fast clock --------------------------------------------------------------------------

LAG = 0.1


def at_move(wanted: int, special: Reply) -> Reply:
    return lambda peer, question: (special if question.move_number == wanted else honest)(peer, question)


class Played:
    """A match that has been played, and all events about it."""

    def __init__(self, result: Result, peers: list[MemoryPeer], events: list[Event]) -> None:
        self.result, self.peers, self.events = result, peers, events

    def of(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]


async def make_sheet(
    match: Match, control: TimeControl, publish: Publish, make: type[Scoresheet] = Scoresheet
) -> Scoresheet:
    folder = Path(tempfile.mkdtemp())
    limit = {f"{control.kind}_seconds": control.seconds, "increment_seconds": control.increment}
    contest = make_contest(folder, event={"game": match.game, **limit})
    head = game_header(contest, match, 1, 0.0)
    sheet = make(head, Journal(folder), Disk(folder, publish))
    await sheet.begin()
    return sheet


async def play(
    first: Reply,
    second: Reply,
    game: str = "hop",
    control: TimeControl | None = None,
    during: Callable[[list[MemoryPeer]], Any] | None = None,
    sheet: type[Scoresheet] = Scoresheet,
    publish: Publish = lambda _: None,
    pause: MatchPause | None = None,
) -> Played:
    events: list[Event] = []

    def note(event: Event) -> None:
        events.append(event)
        publish(event)

    seats = [Seat(Team(id=n, name=f"Team {n}", token="12345678"), events.append) for n in (1, 2)]
    match = Match(number=5, round=1, pairing=1, leg=1, first=1, second=2, game=game)
    scheduler = DeadlineScheduler()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(scheduler.run)
        peers = [MemoryPeer(nursery, seat, reply) for seat, reply in zip(seats, (first, second), strict=True)]
        if during is not None:
            nursery.start_soon(during, peers)
        made = await make_sheet(match, control or TimeControl("move", 5.0), events.append, sheet)
        result = await play_match(made, (seats[0], seats[1]), scheduler, note, pause)
        made.release()
        nursery.cancel_scope.cancel()
    return Played(result, peers, events)


FAULTS: dict[str, Reply] = {
    "illegal_move": lambda _, q: Step(q.id, [[0, 0], [7, 7]]),
    "raised": lambda _, q: Raised(q.id, "ZeroDivisionError: division by zero"),
    "malformed_answer": lambda _, q: MalformedAnswer(q.id, "step: move is missing"),
    "missed_limit": lambda _, q: None,
}
