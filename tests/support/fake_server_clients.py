"""Clients of a fake server: bots that answer at once or late, and the ends of a connection."""

from __future__ import annotations

import select
import threading
from collections.abc import Callable
from typing import Any

import pytest

from getstep import Result
from getstep.client.client import Client
from getstep.client.connection import ServerConnection, connect
from getstep.client.settings import Address, Login
from getstep.text import Console
from getstep.turn import Callback
from getstep.wire import CLOSED, GetStep, Goodbye, Step
from tests.support.fake_server import OVER, TEAM, TOKEN, FakeServer, Session, ask, end, start, until_closed
from tests.support.patience import PATIENCE_SECONDS

MOVE = [(0, 2), (0, 1)]
WIRE_MOVE = [[0, 2], [0, 1]]


def play(get_step: Callable[..., Any], server: FakeServer, *, quiet: bool = False) -> list[Result]:
    address, login = Address("127.0.0.1", server.port), Login(TEAM, TOKEN)
    return Client(Callback(get_step), address, login, Console(quiet=quiet), sleep=server.pause).run()


def always(board: list[list[int]], is_black: bool) -> list[tuple[int, int]]:
    return MOVE


def one_question(session: Session) -> None:
    """Play a match with one question, answered with MOVE."""
    session.let_in(start(), ask(31))
    assert session.hear() == Step(id=31, move=WIRE_MOVE)
    session.say(end(), OVER)
    assert session.hear() is CLOSED


def only_over(session: Session) -> None:
    session.let_in(OVER)
    assert session.hear() is CLOSED


class SlowBot:
    """A callback that thinks, when asked for the first time, until the server has closed the question."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.thinking = threading.Event()
        self.calls = 0
        self._links: list[ServerConnection] = []
        monkeypatch.setattr("getstep.client.client.connect", self._connect)

    def _connect(self, address: Address) -> ServerConnection:
        self._links.append(connect(address))
        return self._links[-1]

    def __call__(self, board: list[list[int]], is_black: bool) -> Any:
        self.calls += 1
        if self.calls == 1:
            self.thinking.set()
            assert select.select([self._links[-1]._socket], [], [], PATIENCE_SECONDS)[0]  # until it has arrived
        return MOVE

    def ask_and_wait(self, session: Session, question: GetStep) -> None:
        session.let_in(start(lag_ms=60_000), question)  # so much that it is not called late
        assert self.thinking.wait(PATIENCE_SECONDS)


def _goes(session: Session) -> None:
    """Close the connection without a goodbye."""


def _resets(session: Session) -> None:
    session.reset()


def _breaks_off(session: Session) -> None:
    session.sock.sendall(b"\0\0")


def _talks_nonsense(session: Session) -> None:
    session.sock.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    until_closed(session)


def _is_full(session: Session) -> None:
    session.say(Goodbye(reason="too_many_connections", detail="4096 are enough", retry_ms=5000))


ENDINGS = [_goes, _resets, _breaks_off, _talks_nonsense, _is_full]
