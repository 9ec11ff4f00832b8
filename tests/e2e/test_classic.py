"""The classic wire with real processes: an original client plays unchanged, and a bad one disturbs nobody."""

from __future__ import annotations

import contextlib
import importlib.util
import signal
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from getstep.wire.classic import FRAME, stop_bytes
from getstep_server.cli.main import run_command
from getstep_server.config.contest import load_contest
from getstep_server.limits import CLASSIC_REFUSAL_SECONDS, LOGINS_PER_WINDOW, MAX_STALE_ANSWERS
from getstep_server.net import classic, registry
from getstep_server.records.result import Result
from getstep_server.storage.contest_state import results_of
from tests.support.ledger import on_record
from tests.support.patience import PATIENCE_SECONDS

if TYPE_CHECKING:
    from tests.support.contests import MakeContest
    from tests.support.processes import Programs, ServerOutput

CLASSIC = {"classic": True}
MISSED_SECONDS = 6.0
"""A limit that one client misses on purpose, and nobody else however busy the machine is."""

NAP_SECONDS = PATIENCE_SECONDS
"""Seconds of its sleep then, unless the server continues. It gives back the time in which it did not run."""

STEPS = {True: [(4, 2), (4, 3)], False: [(3, 5), (3, 4)]}  # legal first moves, by is_black


@dataclass(frozen=True)
class Question:
    """A question as it came, without its code."""

    move_id: int
    board: tuple[int, ...]
    is_black: bool


class Line:
    """A classic connection in a test's hands."""

    def __init__(self, server: ServerOutput, team: int) -> None:
        assert server.classic_port is not None
        self._sock = socket.create_connection(("127.0.0.1", server.classic_port), PATIENCE_SECONDS)
        self.send(team)

    def send(self, *numbers: int) -> None:
        """Send numbers at once."""
        self._sock.sendall(struct.pack(f"<{len(numbers)}i", *numbers))

    def answer(self, move_id: int, path: list[tuple[int, int]]) -> None:
        """Answer a question."""
        self.send(len(path), move_id, *(number for square in path for number in square))

    def question(self) -> Question:
        """Return the next question; it has to come within `PATIENCE_SECONDS`."""
        code, move_id, *board, is_black = FRAME.unpack(self.frame())
        assert code == 1
        return Question(move_id, tuple(board), bool(is_black))

    def frame(self) -> bytes:
        """Return the next 268 bytes."""
        data = self._sock.recv(FRAME.size, socket.MSG_WAITALL)
        assert len(data) == FRAME.size, f"the connection ended after {len(data)} bytes"
        return data

    def wait_closed(self) -> None:
        """See the server close without another byte."""
        with contextlib.suppress(ConnectionResetError):
            assert self._sock.recv(1) == b""

    def drain(self) -> None:
        """Read until the server closes."""
        while self._sock.recv(FRAME.size):
            pass

    def close(self) -> None:
        self._sock.close()


@contextlib.contextmanager
def line(server: ServerOutput, team: int) -> Iterator[Line]:
    """A classic connection for as long as a test needs it."""
    opened = Line(server, team)
    try:
        yield opened
    finally:
        opened.close()


def results(folder: Path) -> list[Result]:
    """Return the stored records of a contest."""
    return results_of(load_contest(folder))


def sample_bot(name: str) -> Path:
    spec = importlib.util.find_spec(f"getstep_bots.{name}")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin)


# --- whole contests -------------------------------------------------------------------------------------------


@pytest.mark.long
def test_classic_and_new_clients_play_a_tournament(programs: Programs, make_contest: MakeContest) -> None:
    folder = make_contest(
        [CLASSIC, CLASSIC, {}, {}], event={"move_seconds": MISSED_SECONDS}, server={"classic_port": 0}
    )
    server = programs.serve(folder)
    naps = ["--sleep-every", "61", str(NAP_SECONDS), "--most-sleeps", "1"]
    sloppy = ["--drop-every", "13", "--answer-nothing-every", "11", *naps]
    classic = [programs.classic(server, 1), programs.classic(server, 2, "--seed", "2", *sloppy)]
    modern = [programs.play(server, sample_bot(name), team) for name, team in [("greedy", 3), ("random_bot", 4)]]
    assert server.wait() == 0
    assert [client.wait() for client in classic] == [0, 0]
    assert [bot.wait() for bot in modern] == [0, 0]

    played = results(folder)
    pairs = [frozenset(result.match.teams) for result in played]
    assert sorted(pairs, key=sorted) == [frozenset(pair) for pair in combinations((1, 2, 3, 4), 2) for _ in "ab"]
    assert {result.reason for result in played} <= {"finished", "illegal_move", "missed_limit"}
    faults = {team: sum(faults_of(result, team) for result in played) for team in (1, 2, 3, 4)}
    nothings, slept = (classic[1].output.count(word) for word in ("with []", "sleeping"))
    assert faults == {1: 0, 2: nothings + slept, 3: 0, 4: 0}
    assert nothings > 0
    assert slept == 1
    assert "dropped on purpose" in classic[1].output
    assert server.complaints == []


def faults_of(result: Result, team: int) -> int:
    return sum(faults for who, faults in zip(result.match.teams, result.faults, strict=True) if who == team)


@pytest.mark.skipif(not hasattr(socket, "TCP_QUICKACK"), reason="this system delays acknowledgements as it likes")
def test_an_answer_in_three_sends_costs_no_thinking_time(programs: Programs, make_contest: MakeContest) -> None:
    folder = make_contest([CLASSIC, CLASSIC], server={"classic_port": 0})
    server = programs.serve(folder)
    clients = [programs.classic(server, team) for team in (1, 2)]
    assert server.wait() == 0
    assert [client.wait() for client in clients] == [0, 0]
    for game in on_record(folder).games:
        for player in (0, 1):
            times = [turn["ms"] for turn in game["turns"] if turn["player"] == player and "ms" in turn]
            settled = sorted(times[len(times) // 2 :])  # the system acknowledges the first ones at once in any case
            assert settled[len(settled) // 10] < 40, "a delayed acknowledgement takes 40 ms, in each turn"


@pytest.mark.long
def test_classic_clients_reconnect_to_a_restarted_server(programs: Programs, make_contest: MakeContest) -> None:
    folder = make_contest([CLASSIC, CLASSIC], server={"classic_port": 0})
    server = programs.serve(folder)
    clients = [programs.classic(server, team, "--sleep-every", "1", "0.02") for team in (1, 2)]
    clients[0].expect("turn 3: ")
    server.signal(signal.SIGINT)
    assert server.wait() == 130
    again = programs.serve(folder, "--port", str(server.port), "--classic-port", str(server.classic_port))
    assert again.wait() == 0
    assert [client.wait() for client in clients] == [0, 0]
    assert [result.match.number for result in results(folder)] == [1, 2]
    assert server.complaints + again.complaints == []


# --- permission -------------------------------------------------------------------------------------------------


REFUSED = {
    "not opted in": (1, "team 1 is not opened for the classic wire"),
    "elsewhere": (2, "team 2 may play from 192.0.2.1 only"),
    "unknown": (99, "no team has the id 99"),
}


@pytest.mark.parametrize(("team", "why"), REFUSED.values(), ids=REFUSED.keys())
def test_a_refused_client_is_held_for_a_moment_and_disconnected(
    programs: Programs, make_contest: MakeContest, team: int, why: str
) -> None:
    elsewhere = {**CLASSIC, "classic_address": "192.0.2.1"}
    server = programs.serve_in_thread(make_contest([{}, elsewhere, CLASSIC], server={"classic_port": 0}))
    began = time.monotonic()
    with line(server, team) as refused:
        refused.wait_closed()
        assert time.monotonic() - began >= CLASSIC_REFUSAL_SECONDS
    server.expect(rf"^! .*classic_refused: {why}")
    assert " connected from" not in server.output


@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="this machine has no IPv6")
@pytest.mark.parametrize("host", ["127.0.0.1", "::"])
def test_a_pinned_team_plays_from_its_address(programs: Programs, make_contest: MakeContest, host: str) -> None:
    pinned = {**CLASSIC, "classic_address": "127.0.0.1"}
    server = programs.serve_in_thread(make_contest([pinned, CLASSIC], server={"classic_port": 0, "host": host}))
    with line(server, 1):
        server.expect("Team 1 connected from")


@pytest.mark.long
def test_a_storm_of_refused_clients_disturbs_nobody(programs: Programs, make_contest: MakeContest) -> None:
    folder = make_contest([CLASSIC, CLASSIC], server={"classic_port": 0})
    server = programs.serve(folder)
    began = time.monotonic()
    with storm(server, STORM) as comebacks:
        clients = [programs.classic(server, team, "--sleep-every", "3", "0.1") for team in (1, 2)]
        server.expect(r"^\[2/2\]")
        times = len(comebacks)
        assert times > STORM, "the storm was over before the contest"
        assert times <= STORM * (time.monotonic() - began) / CLASSIC_REFUSAL_SECONDS, "they were not held"
    assert server.wait() == 0
    assert [client.wait() for client in clients] == [0, 0]
    assert [result.faults for result in results(folder)] == [(0, 0), (0, 0)]


STORM = 100


@contextlib.contextmanager
def storm(server: ServerOutput, size: int) -> Iterator[list[int]]:
    """Clients of a team that does not exist, which come back the moment they are closed; an item for each time."""
    comebacks: list[int] = []
    over = threading.Event()

    def come_back() -> None:
        while not over.is_set():
            with contextlib.suppress(OSError), line(server, 99) as refused:
                refused.drain()  # if the contest ends before the server has read the team, it sends code 0
                comebacks.append(1)

    threads = [threading.Thread(target=come_back) for _ in range(size)]
    for thread in threads:
        thread.start()
    try:
        yield comebacks
    finally:
        over.set()
        for thread in threads:
            thread.join()


def test_a_client_that_reconnects_all_the_time_is_held_and_uses_no_memory(
    programs: Programs, make_contest: MakeContest
) -> None:
    server = programs.serve(
        make_contest([CLASSIC, CLASSIC], event={"move_seconds": 0.5}, server={"classic_port": 0})
    )
    programs.classic(server, 1, "--drop-every", "1")
    honest = programs.classic(server, 2)
    server.expect("^! .*Team 1.* too_many_logins: ")
    server.expect(r"^\[1/2\] .*: Team 2 wins \(absent: ")
    assert "lost the connection" not in honest.output
    assert 0 < server.output.count("Team 1 reconnected") < LOGINS_PER_WINDOW


def test_the_classic_wire_is_off_by_default(programs: Programs, make_contest: MakeContest) -> None:
    folder = make_contest([CLASSIC, CLASSIC])
    first = programs.serve_in_thread(folder)
    assert first.classic_port is None
    first.end()
    assert programs.serve(folder, "--classic-port", "0").classic_port is not None


@pytest.mark.parametrize(
    ("setting", "option", "named"), [(0, [], "contest.toml"), (None, ["--classic-port", "0"], "--classic-port")]
)
def test_the_classic_wire_is_refused_for_other_games(
    capsys: pytest.CaptureFixture[str],
    make_contest: MakeContest,
    setting: int | None,
    option: list[str],
    named: str,
) -> None:
    folder = make_contest([CLASSIC, CLASSIC], event={"game": "linkage"})
    if setting is not None:
        file = folder / "contest.toml"
        file.write_text(file.read_text().replace("\nport = 0\n", f"\nport = 0\nclassic_port = {setting}\n"))
    assert run_command(["run", str(folder), *option]) == 2
    printed = capsys.readouterr()
    assert named in printed.err
    assert "the classic wire plays hop only" in printed.err
    assert "Listening" not in printed.out


# --- during a match -----------------------------------------------------------------------------------


def test_a_client_that_reconnects_during_its_turn_gets_the_same_question(
    programs: Programs, make_contest: MakeContest
) -> None:
    server = programs.serve_in_thread(make_contest([CLASSIC, CLASSIC], server={"classic_port": 0}))
    programs.classic(server, 2)
    with line(server, 1) as before:
        asked = before.question()
    with line(server, 1) as after:
        assert after.question() == asked
        after.answer(asked.move_id, STEPS[asked.is_black])
        following = after.question()
        assert following.move_id == asked.move_id + 1
        assert following.board != asked.board
    assert server.complaints == []


def test_a_second_connection_replaces_the_first(programs: Programs, make_contest: MakeContest) -> None:
    server = programs.serve_in_thread(make_contest([CLASSIC, CLASSIC], server={"classic_port": 0}))
    programs.classic(server, 2)
    with line(server, 1) as first:
        asked = first.question()
        with line(server, 1) as second:
            assert second.question() == asked
            first.answer(asked.move_id, [])  # what it says no longer counts, not even as a fault
            first.wait_closed()
            second.answer(asked.move_id, STEPS[asked.is_black])
            assert second.question().move_id == asked.move_id + 1
    assert server.complaints == []


def test_stale_answers_do_not_end_the_wait(programs: Programs, make_contest: MakeContest) -> None:
    server = programs.serve_in_thread(make_contest([CLASSIC, CLASSIC], server={"classic_port": 0}))
    programs.classic(server, 2)
    with line(server, 1) as client:
        asked = client.question()
        client.answer(asked.move_id, STEPS[asked.is_black])
        following = client.question()
        for _ in range(MAX_STALE_ANSWERS):
            client.answer(asked.move_id, STEPS[asked.is_black])
        client.answer(following.move_id, [])
        assert client.question().move_id == following.move_id + 1
    assert server.complaints == []


@pytest.mark.long  # its limit is 6 s of waiting; the tournament above has a client that answers after a limit
def test_an_answer_after_the_limit_is_stale(programs: Programs, make_contest: MakeContest) -> None:
    server = programs.serve_in_thread(
        make_contest([CLASSIC, CLASSIC], event={"move_seconds": MISSED_SECONDS}, server={"classic_port": 0})
    )
    programs.classic(server, 2)
    with line(server, 1) as client:
        missed = client.question()
        following = client.question()  # nothing was said to the first one
        client.answer(missed.move_id, STEPS[missed.is_black])
        client.answer(following.move_id, [])
        assert client.question().move_id == following.move_id + 1
    assert server.complaints == []


HOSTILE = {
    "the next id": ("foreign_id", lambda q: [2, q.move_id + 1, 4, 2, 4, 3]),
    "an id of 0": ("foreign_id", lambda q: [0, 0]),
    "a negative id": ("foreign_id", lambda q: [0, -q.move_id]),
    "a count of -1": ("bad_field", lambda q: [-1, q.move_id]),
    "a huge count": ("bad_field", lambda q: [2**31 - 1, q.move_id]),
    "a square off the board": ("bad_field", lambda q: [2, q.move_id, 4, 2, 4, 8]),
    "two answers": ("out_of_turn", lambda q: [0, q.move_id, 0, q.move_id]),
}


@pytest.fixture
def unheld(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server in this process does not hold a hostile client for a second; other tests show that it would."""
    monkeypatch.setattr(classic, "CLASSIC_REFUSAL_SECONDS", 0.0)


@pytest.mark.parametrize(("code", "numbers"), HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_client_loses_the_match(
    programs: Programs, make_contest: MakeContest, unheld: None, code: str, numbers: Callable[[Question], list[int]]
) -> None:
    server = programs.serve_in_thread(make_contest([CLASSIC, CLASSIC], server={"classic_port": 0}))
    programs.classic(server, 2)
    with line(server, 1) as client:
        client.send(*numbers(client.question()))
        server.expect(rf"^! .*Team 1.* {code}: ")
        server.expect(rf"^\[1/2\] .*: Team 2 wins \(hostile: .*\({code}\)")


def test_a_hostile_client_is_held_plays_the_next_match_and_gets_goodbye(
    programs: Programs, make_contest: MakeContest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "SHUTDOWN_SECONDS", 0.1)  # the time for clients that are away
    server = programs.serve_in_thread(make_contest([CLASSIC, CLASSIC], server={"classic_port": 0}))
    other = programs.classic(server, 2)
    with line(server, 1) as client:
        asked = client.question()
        began = time.monotonic()
        client.answer(asked.move_id, [(8, 8)])
        client.wait_closed()
        assert time.monotonic() - began >= CLASSIC_REFUSAL_SECONDS
    with line(server, 1) as again:
        again.answer(again.question().move_id, [(8, 8)])
        assert again.frame() == stop_bytes()
    assert server.wait() == 0
    assert other.wait() == 0
    assert [(result.reason, result.scores) for result in results(server.folder)] == [("hostile", None)] * 2


def test_too_many_stale_answers_are_hostile(programs: Programs, make_contest: MakeContest, unheld: None) -> None:
    server = programs.serve_in_thread(make_contest([CLASSIC, CLASSIC], server={"classic_port": 0}))
    programs.classic(server, 2)
    with line(server, 1) as client:
        asked = client.question()
        client.answer(asked.move_id, STEPS[asked.is_black])
        client.question()
        for _ in range(MAX_STALE_ANSWERS + 1):
            client.answer(asked.move_id, [])
        server.expect(r"^\[1/2\] .*: Team 2 wins \(hostile: .*\(out_of_turn\)")
