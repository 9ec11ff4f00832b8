"""A classic connection over a pair of sockets: the late answers that it accepts."""

from __future__ import annotations

import select
import socket
import struct
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from getstep.wire import Start, Step
from getstep.wire.classic import FRAME
from getstep_engines import GAMES
from getstep_server.incident import Incident
from getstep_server.limits import MAX_STALE_ANSWERS
from getstep_server.net import classic
from getstep_server.net.registry import ConnectionRegistry
from getstep_server.net.seat import Seat, seats_of
from getstep_server.play.deadlines import DeadlineScheduler
from getstep_server.play.mailbox import MatchMailbox
from tests.support.classic_wire import answer_bytes, ints
from tests.support.contests import make_contest
from tests.support.servers import Recorder

MOVE = ((4, 2), (4, 3))
PILED_UP = MAX_STALE_ANSWERS + 10


class Client:
    """A client of team 1 in a match of hop, with its seat at the other end."""

    def __init__(self, folder: Path, ours: socket.socket, theirs: socket.socket) -> None:
        self.recorder = Recorder()
        contest = make_contest(folder)
        self.seat: Seat = seats_of(contest.teams[1], self.recorder)[0]
        registry = ConnectionRegistry(contest, {1: (self.seat,)}, self.recorder)
        self._link = classic.ClassicConnection(registry, ours, "127.0.0.1")
        self._ours, self._sock = ours, theirs
        self.table = MatchMailbox(DeadlineScheduler())
        self.say(ints(1))
        self.seat.begin(
            self.table,
            Start(
                match=1,
                game="hop",
                options={},
                is_black=True,
                opponent="Team 2",
                time_kind="move",
                time_ms=1000,
                lag_ms=0,
                resumed=False,
            ),
        )

    def say(self, data: bytes) -> None:
        """Send bytes, which the server reads at once."""
        self._sock.sendall(data)
        assert select.select([self._ours], [], [], 30.0)[0]
        self._link.poll()

    def ask(self) -> int:
        """Ask a question, and return its id as the client sees it."""
        self.seat.ask(1, GAMES["hop"].start().board(), None, 1.0)
        _, move_id = struct.unpack_from("<2i", self._sock.recv(FRAME.size, socket.MSG_WAITALL))
        assert isinstance(move_id, int)
        return move_id

    def miss(self) -> int:
        """Ask a question and close it unanswered."""
        move_id = self.ask()
        self.seat.penalize("missed_limit", "no answer within 1 s")
        return move_id

    @property
    def codes(self) -> list[str]:
        """The codes of the incidents of the client."""
        return [incident.code for incident in self.recorder.of(Incident)]


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        socket.create_connection(listener.getsockname()) as theirs,
        listener.accept()[0] as ours,
    ):
        theirs.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        yield Client(tmp_path, ours, theirs)


async def test_every_question_that_was_missed_may_be_answered_late(client: Client) -> None:
    missed = [client.miss() for _ in range(PILED_UP)]
    current = client.ask()
    client.say(b"".join(answer_bytes(move_id, *MOVE) for move_id in missed))
    assert client.table.take() is None, "a late answer is no move"
    client.say(answer_bytes(current, *MOVE))
    arrival = client.table.take()
    assert arrival is not None
    assert arrival.what == Step(current, list(MOVE))
    assert client.codes == []


async def test_each_only_once(client: Client) -> None:
    missed = [client.miss() for _ in range(PILED_UP)]
    client.ask()
    late = b"".join(answer_bytes(move_id, *MOVE) for move_id in missed)
    client.say(late)
    client.say(late[: MAX_STALE_ANSWERS * len(answer_bytes(1, *MOVE))])
    assert client.codes == []
    client.say(answer_bytes(missed[-1], *MOVE))
    assert client.codes == ["out_of_turn"]


async def test_repeated_answers_are_bounded(client: Client) -> None:
    answered = []
    for _ in range(PILED_UP):
        answered.append(client.ask())
        client.say(answer_bytes(answered[-1], *MOVE))
        assert client.table.take() is not None
    client.ask()
    client.say(b"".join(answer_bytes(move_id, *MOVE) for move_id in answered))
    assert client.codes == ["out_of_turn"]
