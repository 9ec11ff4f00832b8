"""The parts of judge processes: the channel, the journals of several writers, what is lent and comes back."""

from __future__ import annotations

import os
import socket
from contextlib import aclosing, closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
import trio
from trio.testing import MockClock

from getstep_server.children.channel import Channel
from getstep_server.events import ServerFault
from getstep_server.judges.messages import Close, ConnectionEnded, Finish, Setup, ToJudge
from getstep_server.judges.process import JudgeProcess
from getstep_server.net.registry import ConnectionRegistry
from getstep_server.net.seat import Silence, seats_of
from getstep_server.net.wire_connection import WireConnection
from getstep_server.play.judge import start_message
from getstep_server.storage.journal import Journal, JournalError, read, segments, tag_of
from getstep_server.storage.journal_tail import JournalTail
from getstep_server.storage.recovery import inherit, left_running
from tests.support.contests import make_contest
from tests.support.patience import PATIENCE_SECONDS
from tests.support.servers import round_robin

ENTRY = b'{"player":0,"move":[0,0]}'


def channels() -> tuple[Channel[Any], Channel[Any]]:
    ours, theirs = socket.socketpair()
    return Channel(ours, ToJudge), Channel(theirs, ToJudge)


# --- the channel ----------------------------------------------------------------------------------------------


async def test_a_file_arrives_with_its_message() -> None:
    here, there = channels()
    with closing(here), closing(there):
        reads, writes = os.pipe()
        here.send(Finish(b"1-1"))
        here.send(Close(1, "a", "b", None), [writes])
        here.send(Finish(b"2-1"))
        os.close(writes)
        async with aclosing(there.receive()) as messages:
            assert await anext(messages) == Finish(b"1-1")
            assert await anext(messages) == Close(1, "a", "b", None)
            with os.fdopen(there.take_file(), "wb") as file:
                file.write(b"arrived")
            assert await anext(messages) == Finish(b"2-1")
        with os.fdopen(reads, "rb") as file:
            assert file.read() == b"arrived"


async def test_what_the_other_end_does_not_take_at_once_arrives_later_and_in_order() -> None:
    here, there = channels()
    reads, writes = os.pipe()
    with closing(here), closing(there):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(here.run)
            for number in range(8):
                here.send(ConnectionEnded(number, "x" * 200_000), [writes] if number % 2 else [])
            assert here.backlog > 1_000_000
            with trio.fail_after(PATIENCE_SECONDS):
                async with aclosing(Channel[Any].receive(there)) as messages:
                    there._decoder = msgspec.msgpack.Decoder(ConnectionEnded)
                    for number in range(8):
                        message = await anext(messages)
                        assert (message.number, len(message.why)) == (number, 200_000)
                        if number % 2:
                            os.close(there.take_file())
            assert here.backlog == 0
            nursery.cancel_scope.cancel()
        os.close(writes)
        with os.fdopen(reads, "rb") as file:
            assert file.read() == b""  # no copy of the other end is left open


async def test_only_one_process_reads_what_comes_after_a_goodbye(tmp_path: Path, autojump_clock: MockClock) -> None:
    """If two of them did, each would count a part of a flood."""
    registry = ConnectionRegistry(make_contest(tmp_path), {}, lambda _: None)
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        socket.create_connection(listener.getsockname()) as client,
    ):
        own, _ = listener.accept()
        with own.dup() as judges:
            own.setblocking(False)
            connection = WireConnection(registry, own, "192.0.2.1")
            connection.lend(_Borrower())
            client.sendall(b"x" * 1000)
            assert len(judges.recv(1000, socket.MSG_PEEK | socket.MSG_WAITALL)) == 1000
            connection.lost("hostile")
            await connection.run()
            assert own.fileno() == -1
            judges.setblocking(False)
            assert judges.recv(2000) == b"x" * 1000


class _Borrower:
    """The process that has ended the connection."""

    def bring(self, seat: object, connection: object) -> None:
        """Never called."""

    def close(self, connection: object, goodbye: object) -> None:
        """Never called."""

    def notify(self, connection: object, notice: object) -> None:
        """Never called."""


async def test_the_messages_end_with_the_other_end() -> None:
    here, there = channels()
    with closing(there):
        here.send(Finish(b"1-1"))
        here.close()
        assert [message async for message in there.receive()] == [Finish(b"1-1")]
        there.send(Finish(b"2-1"))  # nobody reads it, and nothing is raised


async def test_a_server_that_does_not_read_is_told_4_mib(tmp_path: Path) -> None:
    contest = make_contest(tmp_path)
    here, there = channels()
    with closing(here), closing(there):
        setup = Setup(str(tmp_path), msgspec.to_builtins(contest.file), 1)
        process = JudgeProcess(here, setup)
        for _ in range(10_000):
            process._publish(ServerFault("here", "x" * 1000))
        assert 4_000_000 < here.backlog < 4_300_000


# --- the journals -----------------------------------------------------------------------------------------------


def test_each_writer_has_segments_of_its_own(tmp_path: Path) -> None:
    with closing(Journal(tmp_path)) as server, closing(Journal(tmp_path, writer=3)) as judge:
        server.append(tag_of(7, 1), ENTRY)
        judge.follow(tag_of(7, 1), server.lines_of(tag_of(7, 1)))
        judge.append(tag_of(7, 1), ENTRY, ENTRY)
        names = [path.name for path in segments(tmp_path)]
        assert names == ["segment-1.journal", "segment-3-1.journal"]
        lines = [line.number for path in segments(tmp_path) for line in read(path).lines]
        assert lines == [1, 2, 3]
        assert left_running(tmp_path, ()) == {7}
        server.finish(tag_of(7, 1))
        judge.finish(tag_of(7, 1))
    assert segments(tmp_path) == []


def test_the_last_line_of_each_writer_may_be_torn(tmp_path: Path) -> None:
    for writer in (0, 1, 2):
        with closing(Journal(tmp_path, writer=writer)) as journal:
            journal.append(tag_of(writer + 1, 1), ENTRY)
    for path in segments(tmp_path):
        path.write_bytes(path.read_bytes() + b"torn")
    assert left_running(tmp_path, ()) == {1, 2, 3}
    Journal(tmp_path, {2 * 10**12 + 1: [b"3-1"]}, writer=2).append(tag_of(3, 1), ENTRY)
    with pytest.raises(JournalError, match=r"segment-2-1\.journal, line 2: torn, expected that in segment-2-2"):
        left_running(tmp_path, ())


def test_the_journal_of_a_process_that_died_is_finished_by_another(tmp_path: Path) -> None:
    server, dead = Journal(tmp_path), Journal(tmp_path, writer=1)
    server.append(tag_of(9, 1), ENTRY)
    for match in (7, 8):
        dead.append(tag_of(match, 1), ENTRY)
    dead._put_aside()
    dead.append(tag_of(7, 1), ENTRY)
    path = segments(tmp_path)[-1]
    path.write_bytes(path.read_bytes() + b"torn")
    journal, games = inherit(tmp_path, 1)
    assert {tag: len(lines) for tag, lines in games.items()} == {b"7-1": 2, b"8-1": 1}
    assert read(path).cut is None
    for tag in games:
        journal.finish(tag)
    journal.close()
    assert [path.name for path in segments(tmp_path)] == ["segment-1.journal"]


def test_the_page_reads_a_match_in_order_across_writers(tmp_path: Path) -> None:
    tail = JournalTail(tmp_path)
    server, judge = Journal(tmp_path), Journal(tmp_path, writer=2)
    for match in (1, 2):
        server.append(tag_of(match, 1), ENTRY)
        judge.follow(tag_of(match, 1), 1)
        judge.append(tag_of(match, 1), ENTRY)
        found = [(line.match, line.number) for line in tail.poll()]
        assert found == [(match, 1), (match, 2)]
    assert tail.poll() == []


# --- seats ------------------------------------------------------------------------------------------------------


def test_no_two_matches_of_a_team_ask_with_the_same_id(tmp_path: Path) -> None:
    contest = make_contest(tmp_path)
    team = msgspec.structs.replace(contest.teams[1], seats=2)
    first, second = seats_of(team, lambda _: None)
    (match, *_) = round_robin([1, 2])
    start = start_message(match, "b", contest.events[0].time_control, 0.0, is_black=True)
    borrower: Any = None
    began = first.lend(start, borrower, 10_000)
    assert second.lend(start, borrower, 10_000) == began + 10_000
    first.take_back(began + 10_000, began + 36, Silence())
    assert first.last_id == began + 20_000  # ids behind the first ones are in use
    second.take_back(began + 20_000, began + 10_036, Silence())
    assert first.last_id == began + 10_036  # the rest is free again
