"""A person who plays for a team: the client behind the page, against a server of the test, without a browser."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import pytest
import trio
from trio.testing import MockClock

from getstep.wire import (
    NEED_DATA,
    Connection,
    End,
    GetStep,
    Goodbye,
    Hello,
    Join,
    LateAnswer,
    Message,
    Penalty,
    Raised,
    Resign,
    Role,
    Start,
    Step,
    Welcome,
    prove_server,
    verify,
)
from getstep_engines import GAMES
from getstep_server.config.contest import Team
from getstep_server.web.person import Person
from getstep_server.web.team_game import TeamGame
from tests.support.patience import PATIENCE_SECONDS

ADA = Team(id=7, name="Ada", token="test-token-7")
NONCE = "0" * 32
START = Start(1, "hop", {}, True, "Blaise", "move", 5000, 100, False)
OVER = Goodbye("contest_over", "The contest is over.", None)

E = TypeVar("E")


class FakeServer:
    """The server's end of one connection."""

    def __init__(self, stream: trio.SocketStream) -> None:
        self.stream = stream
        self.wire = Connection(Role.SERVER)

    async def send(self, message: Message) -> None:
        await self.stream.send_all(self.wire.send(message))

    async def receive(self, kind: type[E]) -> E:
        while (event := self.wire.next_event()) is NEED_DATA:
            self.wire.receive_data(bytes(await self.stream.receive_some(4096)))
        assert isinstance(event, kind), event
        return event

    async def log_in(self, token: str = ADA.token) -> Join:
        await self.send(Hello([1], NONCE, "Test", "test"))
        join = await self.receive(Join)
        assert join.nonce is not None
        proof = prove_server(token, NONCE, join.nonce)
        await self.send(Welcome(team=7, name="Ada", lag_ms=100, games=[], proof=proof))
        return join

    async def ask(self, number: int = 1, *, match: Start = START) -> None:
        game = GAMES[match.game]
        await self.send(GetStep(number, number, game.start().board(), match.is_black, 5000, None))


class Contest:
    """A listener in the place of a contest's server, and a person who plays there."""

    def __init__(self, listener: trio.SocketListener, person: Person) -> None:
        self._listener = listener
        self._streams: list[trio.SocketStream] = []
        self.person = person

    async def connection(self) -> FakeServer:
        self._streams.append(await self._listener.accept())
        return FakeServer(self._streams[-1])

    def close(self) -> None:
        for stream in self._streams:
            stream.socket.close()

    async def seated(self) -> FakeServer:
        """Return the server's end of a connection that is in a match."""
        server = await self.connection()
        await server.log_in()
        await server.send(START)
        return server

    def shown(self, part: str) -> Any:
        return self.person._parts.get(part)


@asynccontextmanager
async def contest() -> AsyncIterator[Contest]:
    (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
    address = ("127.0.0.1", listener.socket.getsockname()[1])
    person = Person()
    with trio.fail_after(PATIENCE_SECONDS):
        async with listener, trio.open_nursery() as nursery:
            nursery.start_soon(TeamGame(person, ADA, lambda: address).run)
            stage = Contest(listener, person)
            try:
                yield stage
            finally:
                stage.close()
                nursery.cancel_scope.cancel()


async def until_asked(person: Person) -> int:
    """Wait until a question waits for the person; return its number."""
    while person._question is None:
        await trio.sleep(0.01)
    return person._question.number


async def test_a_person_plays_a_match() -> None:
    async with contest() as stage:
        server = await stage.connection()
        join = await server.log_in()
        assert verify(ADA.token, NONCE, join.mac)
        assert "a person" in join.client
        await server.send(START)
        await server.ask(3)
        stage.person.play(await until_asked(stage.person), [(2, 2), (2, 3)])
        step = await server.receive(Step)
        assert (step.id, step.move) == (3, [[2, 2], [2, 3]])
        await server.send(End(1, "win", "finished", "Black is home", [7, 0]))
        await server.send(OVER)
        while stage.shown("result") is None or "over" not in stage.shown("result")["text"]:
            await trio.sleep(0.01)
        assert stage.shown("result") == {
            "won": True,
            "reason": "finished",
            "text": "Black is home. The contest is over.",
        }


async def test_a_person_resigns() -> None:
    async with contest() as stage:
        server = await stage.seated()
        await server.ask()
        stage.person.resign(await until_asked(stage.person))
        assert (await server.receive(Resign)).id == 1


async def test_a_click_after_a_missed_limit_is_a_sign_of_life() -> None:
    async with contest() as stage:
        server = await stage.seated()
        await server.ask()
        await until_asked(stage.person)
        await server.send(Penalty(1, "missed_limit", "no answer within 5 s: the turn is skipped"))
        while not stage.shown("stalled") or stage.shown("question") is not None:
            await trio.sleep(0.01)
        assert "missed limit" in stage.shown("notes")[-1]
        await server.ask(2)
        question = await until_asked(stage.person)
        assert stage.shown("stalled") is True  # the next question does not hide the button
        stage.person.touch()
        assert (await server.receive(LateAnswer)).id == 1
        assert stage.shown("stalled") is False
        stage.person.play(question, [(2, 2), (2, 3)])
        assert (await server.receive(Step)).id == 2


async def test_a_person_who_thinks_for_too_long_is_not_absent() -> None:
    async with contest() as stage:
        server = await stage.seated()
        await server.ask()
        await until_asked(stage.person)
        stage.person.touch()
        await server.send(Penalty(1, "missed_limit", "no answer within 5 s: the turn is skipped"))
        assert (await server.receive(LateAnswer)).id == 1
        assert not stage.shown("stalled")


async def test_a_click_on_an_overdue_question_is_a_sign_of_life(autojump_clock: MockClock) -> None:
    """The last question to a stalled player stays open, and no message says that its time is over."""
    async with contest() as stage:
        server = await stage.seated()
        await server.ask()
        await until_asked(stage.person)
        stage.person.touch()  # in time: it is no answer
        await trio.sleep(9)
        assert stage.shown("stalled") is True
        stage.person.touch()
        assert (await server.receive(Raised)).id == 1
        await server.ask(2)
        assert await until_asked(stage.person) == 2


async def test_a_lost_connection_is_made_again() -> None:
    async with contest() as stage:
        server = await stage.seated()
        await server.ask()
        await until_asked(stage.person)
        await server.stream.aclose()
        again = await stage.connection()
        assert stage.shown("question") is None
        await again.log_in()
        await again.send(Start(1, "hop", {}, True, "Blaise", "move", 5000, 100, True))
        await again.ask()
        stage.person.play(await until_asked(stage.person), [(2, 2), (2, 3)])
        assert (await again.receive(Step)).id == 1


async def test_a_server_that_does_not_know_the_token_is_not_obeyed() -> None:
    async with contest() as stage:
        await (await stage.connection()).log_in("another-token")
        await stage.connection()
        assert "another contest" in stage.shown("text")


@pytest.mark.parametrize("data", [b"GET / HTTP/1.1\r\n", b"\0\0\0\1\x80", b"", b"\0\0"])
async def test_a_server_that_breaks_the_protocol_is_left(data: bytes) -> None:
    async with contest() as stage:
        server = await stage.connection()
        await server.stream.send_all(data)
        await server.stream.aclose()
        await stage.connection()
        assert "tries again" in stage.shown("text")


async def test_a_refused_login_ends_the_game() -> None:
    async with contest() as stage:
        server = await stage.connection()
        await server.send(Hello([1], NONCE, "Test", "test"))
        await server.receive(Join)
        await server.send(Goodbye("bad_token", "The token of team 7 does not fit.", None))
        while stage.shown("result") is None:
            await trio.sleep(0.01)
        assert stage.shown("result")["text"] == "The token of team 7 does not fit."
