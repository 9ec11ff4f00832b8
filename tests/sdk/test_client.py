"""Playing, against a server that follows a script over real sockets."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import getstep
from getstep import Turn
from getstep.client.connection import ServerConnection, connect
from getstep.client.match import position_text
from getstep.client.settings import Address
from getstep.wire import CLOSED, Goodbye, Penalty, Step, Welcome
from tests.support.fake_server import (
    BOARD,
    MOVE,
    OVER,
    TEAM,
    TOKEN,
    WIRE_MOVE,
    FakeServer,
    Session,
    always,
    ask,
    end,
    one_question,
    only_over,
    play,
    right_proof,
    start,
)
from tests.support.patience import PATIENCE_SECONDS

# --- a contest ---------------------------------------------------------------------------------------------


def test_a_match_from_login_to_goodbye(capsys: pytest.CaptureFixture[str]) -> None:
    asked = []

    def get_step(board: list[list[int]], is_black: bool) -> list[tuple[int, int]]:
        asked.append((board, is_black))
        return MOVE

    with FakeServer(one_question) as server:
        [result] = play(get_step, server)
    assert asked == [(BOARD, False)]
    assert (result.match, result.game, result.opponent, result.is_black) == (12, "hop", "Grashüpfer", False)
    assert (result.result, result.reason, result.scores, result.moves) == ("loss", "finished", (7, 2), 1)
    assert 0 < result.longest_ms <= result.total_ms
    shown, problems = capsys.readouterr()
    assert not problems
    connecting, connected, begins, ends, goodbye = shown.splitlines()
    assert connecting == f"Connecting to 127.0.0.1:{server.port} as team 7 ..."
    assert connected == "Connected to Autumn as The Hoppers (team 7)."
    assert begins == (
        "Match 12: hop against Grashüpfer, you are the second player (is_black is False);"
        " 5 s a move, plus 0.1 s for network delay"
    )
    assert ends.startswith(
        "Match 12: lost (finished): Black has 7 home, White 2. Score: you 2, they 7. Your moves: 1,"
    )
    assert goodbye == "Thank you for playing."


@pytest.mark.parametrize("by_bytes", [False, True])
def test_frames_arrive_in_any_pieces(by_bytes: bool) -> None:
    def script(session: Session) -> None:
        session.let_in()
        for number in (1, 2):
            session.say(start(match=number), ask(number), by_bytes=by_bytes)
            assert session.hear() == Step(id=number, move=WIRE_MOVE)
            session.say(end(match=number, result="win"), by_bytes=by_bytes)
        session.say(OVER, by_bytes=by_bytes)

    with FakeServer(script) as server:
        results = play(always, server)
    assert [(result.match, result.result) for result in results] == [(1, "win"), (2, "win")]


def test_the_client_names_itself_and_plays() -> None:
    def script(session: Session) -> None:
        session.let_in(OVER)
        assert session.join is not None
        assert session.join.client == f"getstep {getstep.__version__}"
        assert session.join.purpose == "play"

    with FakeServer(script) as server:
        assert play(always, server) == []


def test_a_bot_may_change_its_board() -> None:
    seen = []

    def get_step(board: list[list[int]], is_black: bool) -> list[tuple[int, int]]:
        seen.append([list(row) for row in board])
        board[0][0] = 99
        return MOVE

    def lose_first(session: Session) -> None:
        session.let_in(start(), ask(31))
        session.hear()

    def repeat(session: Session) -> None:
        session.let_in(start(resumed=True), ask(31), lag_ms=0)
        assert session.hear() == Step(id=31, move=WIRE_MOVE)
        session.say(ask(32))
        assert session.hear() == Step(id=32, move=WIRE_MOVE)
        session.say(end(), OVER)

    with FakeServer(lose_first, repeat) as server:
        play(get_step, server)
    assert seen == [BOARD, BOARD]


def test_the_third_parameter() -> None:
    turns = []

    def get_step(board: list[list[int]], is_black: bool, turn: Turn) -> list[tuple[int, int]]:
        turns.append(turn)
        return MOVE

    def script(session: Session) -> None:
        session.let_in(start(game="pseudo_tonga", options={"size": 6}))
        for number, last in enumerate([None, [3, 4], [[2, 2], [2, 4]], ["R", [0, 0], [0, 1]]], start=1):
            session.say(ask(number, last_move=last, move_number=2 * number, time_left_ms=1000 * number))
            session.hear()
        session.say(end(), OVER)

    with FakeServer(script) as server:
        play(get_step, server)
    last_moves = [None, (3, 4), [(2, 2), (2, 4)], ("R", (0, 0), (0, 1))]
    assert turns == [
        Turn("pseudo_tonga", 12, 2 * n, "Grashüpfer", last, 1000 * n, {"size": 6})
        for n, last in enumerate(last_moves, start=1)
    ]


def test_quiet_keeps_problems(capsys: pytest.CaptureFixture[str]) -> None:
    def script(session: Session) -> None:
        session.let_in(start(), ask(31))
        session.hear()
        session.say(Penalty(id=31, reason="illegal_move", detail="(0, 2) is empty"), end(), OVER)

    with FakeServer(script) as server:
        play(always, server, quiet=True)
    shown, problems = capsys.readouterr()
    assert shown == ""
    line, *board = problems.splitlines()
    assert line == "Match 12, move 2: penalty for illegal_move: (0, 2) is empty (you returned [[0, 2], [0, 1]])"
    assert board == [
        "         0  1  2",
        "     0   B !:!!W!",
        "     1   :  :  .",
        "    ! ! the squares that you returned, B black piece, W white piece,"
        " : Black's target region or White's target region",
    ]


def test_the_board_is_drawn_for_the_first_faults_of_a_match_only(capsys: pytest.CaptureFixture[str]) -> None:
    reasons = ["missed_limit", "stalled", "illegal_move", "raised", "malformed_answer", "illegal_move"]

    def script(session: Session) -> None:
        session.let_in(start())
        for number, reason in enumerate(reasons, 31):
            session.say(ask(number))
            session.hear()
            session.say(Penalty(id=number, reason=reason, detail="no"))
        session.say(end(), OVER)

    with FakeServer(script) as server:
        play(always, server, quiet=True)
    problems = capsys.readouterr().err
    parts = re.split(r"^Match 12, move \d+: penalty for ", problems, flags=re.MULTILINE)[1:]
    assert [part.split(":")[0] for part in parts] == reasons
    assert ["the squares that you returned" in part for part in parts] == [False, False, True, True, True, False]


@pytest.mark.parametrize(
    ("game", "board", "expected"),
    [
        ("chain_reaction", [[0] * 8 for _ in range(8)], " 0   .  !. !"),
        ("a-newer-game", [[0, 1], [2, 7]], " 0   .  !1 !"),
        ("hop", [[0] * 128 for _ in range(128)], " 127 "),
        ("hop", [[0] * 129], ""),
        ("hop", [[0], [0, 0]], ""),
        ("hop", [], ""),
        ("linkage", [[2**60, -(2**60)]], " 0   11 !-1!"),
    ],
)
def test_any_board_is_drawn_or_left_out(game: str, board: list[list[int]], expected: str) -> None:
    shown = position_text(game, board, True, [(0, 1), (99, 99), None])
    assert expected in shown
    assert bool(shown.strip()) == bool(expected)


def test_text_of_the_server_cannot_control_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    evil = "\x1b[2J\r\u202eevil\n\x07"

    def script(session: Session) -> None:
        session.greet(contest=evil, server=evil)
        session.say(
            Welcome(team=TEAM, name=evil, lag_ms=0, games=[], proof=right_proof(session)),
            start(game=evil, options={evil: 1}, opponent=evil),
            ask(31),
        )
        session.hear()
        session.say(
            Penalty(id=31, reason=evil, detail=evil),
            end(reason=evil, detail=evil, scores=[evil, evil]),
            Goodbye(reason=evil, detail=evil, retry_ms=None),
        )

    with FakeServer(script) as server:
        [result] = play(always, server)
    said = "".join(capsys.readouterr())
    assert said.count("evil") >= 12
    assert "".join(c for c in said if not c.isprintable()) == "\n" * 6
    assert f"{result.opponent}{result.reason}{result.detail}{result.game}".isprintable()


# --- around it ---------------------------------------------------------------------------------------------


def test_the_socket_sends_at_once_and_keeps_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []

    def watched(address: Address) -> ServerConnection:
        opened = connect(address)
        sock = opened._socket
        found.append(sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        found.append(sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE))
        # an answer that is not acknowledged stops the keep-alive
        found.append(
            sys.platform != "linux" or sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 20_000
        )
        return opened

    monkeypatch.setattr("getstep.client.client.connect", watched)
    with FakeServer(only_over) as server:
        play(always, server)
    assert all(found)
    assert len(found) == 3


def test_importing_getstep_imports_neither_trio_nor_numpy() -> None:
    code = "import sys, getstep, getstep.cli; print({'trio', 'numpy'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


@pytest.mark.skipif(sys.platform == "win32", reason="sends a POSIX signal")
@pytest.mark.parametrize("as_script", [True, False])
def test_ctrl_c_while_waiting(tmp_path: Path, as_script: bool) -> None:
    bot = tmp_path / "my_bot.py"
    bot.write_text(
        "import getstep\ndef get_step(board, is_black): pass\nif __name__ == '__main__': getstep.play(get_step)\n"
    )
    words = [str(bot)] if as_script else ["-m", "getstep", "play", str(bot)]
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
    waiting, stopped = threading.Event(), threading.Event()

    def script(session: Session) -> None:
        session.let_in()
        waiting.set()
        assert session.hear() is CLOSED
        stopped.set()

    with FakeServer(script) as server:
        environment = {
            **os.environ,
            "GETSTEP_TEAM": str(TEAM),
            "GETSTEP_TOKEN": TOKEN,
            "GETSTEP_PORT": str(server.port),
        }
        command = [sys.executable, *words]
        with subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as process:
            assert process.stdout is not None
            watchdog = threading.Timer(PATIENCE_SECONDS, process.kill)
            watchdog.start()
            lines = iter(process.stdout.readline, "")
            assert any(line.startswith("Connected to") for line in lines)  # at once, although this is a pipe
            assert waiting.wait(PATIENCE_SECONDS)
            process.send_signal(signal.SIGINT)
            assert list(lines) == ["Stopped.\n"]
            watchdog.cancel()
        assert process.returncode == 130
        assert stopped.wait(PATIENCE_SECONDS)
