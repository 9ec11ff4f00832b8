"""Players in memory: what the judge and the director ask of a connection, without a socket."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import trio

from getstep.referee.answers import Answer
from getstep.wire import GetStep, Goodbye, Message, Start, Step
from getstep_server.net.seat import Seat
from tests.support.servers import first_legal

Reply = Callable[["MemoryPeer", GetStep], Any]


class MemoryPeer:
    """A connection without a socket: it keeps what it is sent and answers as a script says."""

    address, client, last_received_ns = "memory", "test", 0

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
