"""Every line of ``getstep check``."""

from __future__ import annotations

import errno
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pytest

from getstep import _check
from getstep._check import check
from getstep._errors import BotError, SetupError
from getstep.client import connection
from getstep.client.client import NOT_PROVED
from getstep.client.settings import Address, Login
from getstep.wire import CLOSED, Goodbye, Join
from tests.support.convention_programs import PROGRAMS
from tests.support.fake_server import (
    HOP,
    TEAM,
    TOKEN,
    FakeServer,
    Script,
    Session,
    no_proof,
    until_closed,
    wrong_proof,
)
from tests.support.patience import PATIENCE_SECONDS

CHECKED = Goodbye(reason="checked", detail="The login is right.", retry_ms=None)
TONGA = {"game": "pseudo_tonga", "options": {"size": 6}, "time_kind": "budget", "time_ms": 20000}
LOGIN = Login(TEAM, TOKEN)


def lets_in(**fields: Any) -> Script:
    """Return a server where all is well."""

    def script(session: Session) -> None:
        session.let_in(CHECKED, **fields)
        assert session.join is not None
        assert session.join.purpose == "check"
        assert session.hear() is CLOSED

    return script


class Checked:
    """The outcome of a check: what it printed, as (mark, what, text)."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def run(
        self,
        script: Script,
        bot: Path | list[str] | None = None,
        login: Callable[[], Login | None] = lambda: LOGIN,
        convention: str | None = None,
    ) -> bool:
        with FakeServer(script) as server:
            return self.at(Address("127.0.0.1", server.port), bot, login, convention)

    def at(
        self,
        address: Address,
        bot: Path | list[str] | None = None,
        login: Callable[[], Login | None] = lambda: LOGIN,
        convention: str | None = None,
    ) -> bool:
        well = check(address, login, bot, convention=convention)
        out, problems = self._capsys.readouterr()
        assert problems == ""
        assert out.isascii()
        self.lines = [(line[:4].strip(), line[4:13].strip(), line[13:]) for line in out.splitlines()]
        return well

    @property
    def marks(self) -> list[str]:
        return [f"{mark} {what}" for mark, what, _ in self.lines if mark]

    @property
    def last(self) -> str:
        """The text of the last marked line, and its continuation lines."""
        begin = max(i for i, line in enumerate(self.lines) if line[0])
        return "\n".join(text for _, _, text in self.lines[begin:])


@pytest.fixture
def checked(capsys: pytest.CaptureFixture[str]) -> Checked:
    return Checked(capsys)


LEGAL = """\
from getstep_engines import GAMES

def legal(game, board, is_black):
    return next(iter(game.from_board(board, is_black).legal_moves()))
"""


def write(folder: Path, source: str) -> Path:
    path = folder / "checked_bot.py"
    path.write_text(source, encoding="utf-8")
    return path


# --- the way to the server ---------------------------------------------------------------------------------


def test_all_is_well(checked: Checked) -> None:
    assert checked.run(lets_in(games=[HOP, TONGA], lag_ms=60_000))
    assert checked.marks == [
        "ok name",
        "ok port",
        "ok server",
        "ok version",
        "ok login",
        "ok proof",
        "ok clock",
        "ok clock",
        "ok lag",
    ]
    texts = [text for _, what, text in checked.lines if what != "proof"]
    assert texts[0] == "127.0.0.1"
    assert texts[2] == "Autumn, hosted by fake 1"
    assert texts[4] == "team 7 is The Hoppers; the token was accepted"
    assert texts[5] == "hop: 5 s a move"
    assert texts[6] == "pseudo_tonga (size 6): 20 s for all your moves together"
    assert texts[7].startswith("a round trip takes ")
    assert texts[7].endswith("; 60 s are added to each limit for it")


def test_a_name_and_its_addresses(checked: Checked, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", 1))
    monkeypatch.setattr(socket, "getaddrinfo", lambda *a, **k: [entry, entry])
    checked.at(Address("judge", 1))
    assert checked.lines[0] == ("ok", "name", "judge is 127.0.0.1")


def test_no_such_name(checked: Checked) -> None:
    assert not checked.at(Address("no-such-host.invalid", 7777))
    assert checked.marks == ["BAD name"]
    assert "No computer is called 'no-such-host.invalid'" in checked.last
    assert "ask the host for the address in numbers" in checked.last


@pytest.mark.parametrize(
    ("code", "says"),
    [
        (errno.ECONNREFUSED, "nothing listens there; the server is not running yet, or the port is wrong"),
        (errno.ETIMEDOUT, "no answer; the address is wrong, or a firewall or another network is between"),
        (errno.EHOSTUNREACH, "no way to that address; is this computer in the host's network?"),
        (errno.ENETUNREACH, "no way to that address; is this computer in the host's network?"),
        (errno.EADDRNOTAVAIL, os.strerror(errno.EADDRNOTAVAIL)),
    ],
)
def test_no_connection(checked: Checked, monkeypatch: pytest.MonkeyPatch, code: int, says: str) -> None:
    monkeypatch.setattr(socket.socket, "connect_ex", lambda self, place: code)
    assert not checked.at(Address("127.0.0.1", 7777))
    assert checked.marks == ["ok name", "BAD port"]
    assert checked.last == f"127.0.0.1:7777: {says}"


def test_a_real_refusal(checked: Checked) -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        assert not checked.at(Address("127.0.0.1", bound.getsockname()[1]))
    assert "nothing listens there" in checked.last


def test_a_connection_that_never_comes_about(checked: Checked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "CONNECT_SECONDS", 0.0)
    monkeypatch.setattr(socket.socket, "connect_ex", lambda self, place: errno.EINPROGRESS)
    assert not checked.at(Address("127.0.0.1", 7777))
    assert "no answer; the address is wrong" in checked.last


def says_nothing(session: Session) -> None:
    until_closed(session)


def hangs_up(session: Session) -> None:
    """Do nothing: the caller of the script closes the socket."""


def speaks_http(session: Session) -> None:
    session.sock.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    until_closed(session)


def greets_wrongly(session: Session) -> None:
    session.sock.sendall(b"\0\0\0\1\x80")
    until_closed(session)


@pytest.mark.parametrize(
    ("script", "what"),
    [
        (says_nothing, "it sends nothing"),
        (hangs_up, "it closes the connection at once"),
        (speaks_http, "it speaks another protocol"),
        (greets_wrongly, "it speaks another protocol"),
    ],
)
def test_something_else_answers(
    checked: Checked, monkeypatch: pytest.MonkeyPatch, script: Script, what: str
) -> None:
    monkeypatch.setattr(connection, "HELLO_SECONDS", 0.3)
    assert not checked.run(script)
    assert checked.marks == ["ok name", "ok port", "BAD server"]
    assert checked.last == f"what answers there is no getstep server: {what}; the port may be wrong"


def test_a_server_that_is_full(checked: Checked) -> None:
    def script(session: Session) -> None:
        session.say(Goodbye(reason="too_many_connections", detail="4096 are enough", retry_ms=5000))

    assert not checked.run(script)
    assert checked.marks == ["ok name", "ok port", "BAD server"]
    assert checked.last == "too_many_connections: 4096 are enough"


def test_another_version(checked: Checked) -> None:
    def script(session: Session) -> None:
        assert session.greet(versions=[2]) is CLOSED

    assert not checked.run(script)
    assert checked.marks[-2:] == ["ok server", "BAD version"]
    assert "pip install --upgrade -r http://127.0.0.1:8080/pip" in checked.last


@pytest.mark.parametrize(
    ("reason", "advice"),
    [("bad_token", "Copy the token again"), ("unknown_team", "Ask the host for your team's id")],
)
def test_a_login_that_is_refused(checked: Checked, reason: str, advice: str) -> None:
    def script(session: Session) -> None:
        assert isinstance(session.greet(), Join)
        session.say(Goodbye(reason=reason, detail="Not you.", retry_ms=None))

    assert not checked.run(script)
    assert checked.marks[-2:] == ["ok version", "BAD login"]
    assert advice in checked.last
    assert "Not you" in checked.last


def test_a_server_that_has_not_proved_itself(checked: Checked) -> None:
    """An older server: a bot plays there, so every check passes as far as it can be known."""
    assert checked.run(lets_in(proof=no_proof))
    assert checked.marks[4:6] == ["ok login", "-- proof"]
    assert NOT_PROVED in checked.lines[5][2]


def test_a_server_with_a_wrong_proof(checked: Checked) -> None:
    def script(session: Session) -> None:
        session.let_in(proof=wrong_proof)
        assert session.hear() is CLOSED

    assert not checked.run(script)
    assert checked.marks[-2:] == ["ok version", "BAD proof"]
    assert "check the address" in checked.last


def test_a_login_that_is_not_answered(checked: Checked) -> None:
    def script(session: Session) -> None:
        session.greet()

    assert not checked.run(script)
    assert checked.marks[-1] == "BAD login"
    assert checked.last == "the server closed the connection"


def test_a_login_that_breaks_the_protocol(checked: Checked) -> None:
    def script(session: Session) -> None:
        session.greet()
        session.sock.sendall(b"\0\0\0\0")
        until_closed(session)

    assert not checked.run(script)
    assert "the server broke the protocol (empty_frame" in checked.last


def test_without_a_login(checked: Checked) -> None:
    def script(session: Session) -> None:
        assert session.greet() is CLOSED

    assert checked.run(script, login=lambda: None)
    assert checked.marks[-2:] == ["ok version", "-- login"]


def test_half_a_login(checked: Checked) -> None:
    def login() -> Login | None:
        raise SetupError("The token of team 7 is missing.")

    def script(session: Session) -> None:
        assert session.greet() is CLOSED

    assert not checked.run(script, login=login)
    assert checked.marks[-2:] == ["ok version", "BAD login"]


def test_a_round_trip_longer_than_the_allowance(checked: Checked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_check, "_ms_since", lambda started: 250.0)
    assert not checked.run(lets_in(lag_ms=100))
    assert checked.marks[-1] == "BAD lag"
    assert checked.last.startswith(
        "a round trip takes 0.25 s, and only 0.1 s are added to each limit for it.\nUse a cable"
    )


def test_no_allowance(checked: Checked) -> None:
    assert checked.run(lets_in(lag_ms=0))
    assert checked.marks[-1] == "ok lag"
    assert "nothing is added to the limits for it, so answer that much earlier" in checked.last


def test_names_from_the_server_are_made_printable(checked: Checked) -> None:
    def script(session: Session) -> None:
        session.greet(contest="\x1b[2J", server="\r\n")
        session.say(Goodbye(reason="bad_token", detail="\x07\u202e", retry_ms=None))

    assert not checked.run(script)
    assert ("ok", "server", r"\x1b[2J, hosted by \r\n") in checked.lines
    assert r"\x07\u202e" in checked.last or r"\x07\u202e" in "".join(line[2] for line in checked.lines)


# --- the bot -----------------------------------------------------------------------------------------------


def test_a_bot_in_time(checked: Checked, tmp_path: Path) -> None:
    games = 'GAMES["pseudo_tonga" if len(board) == 6 else "hop"]'
    bot = write(tmp_path, f"{LEGAL}def get_step(board, is_black): return legal({games}, board, is_black)")
    assert checked.run(lets_in(games=[HOP, TONGA], lag_ms=60_000), bot)
    assert checked.marks[-5:] == ["ok bot", "ok time", "ok game", "ok time", "ok game"]
    bot_line, hop, hop_game, tonga, tonga_game = (text for _, _, text in checked.lines[-5:])
    assert bot_line == "checked_bot.py has get_step(board, is_black)"
    assert "hop: get_step took " in hop
    assert hop.endswith(" of 5 s a move; it returned [[0, 0], [0, 1]]")
    assert tonga.endswith(" of 20 s for all your moves together; it returned [0, 0]")
    for name, line in (("hop", hop_game), ("pseudo_tonga (size 6)", tonga_game)):
        assert line.startswith(f"{name}: 2 whole games against random without a fault; the slowest of ")


def test_a_bot_of_one_game_in_a_contest_of_two(checked: Checked, tmp_path: Path) -> None:
    bot = write(
        tmp_path,
        f"import getstep\n{LEGAL}@getstep.plays('hop')\n"
        "def get_step(board, is_black): return legal(GAMES['hop'], board, is_black)",
    )
    assert checked.run(lets_in(games=[TONGA, HOP], lag_ms=60_000), bot)
    assert checked.marks[-4:] == ["ok bot", "-- game", "ok time", "ok game"]
    assert "this bot plays hop; the match is pseudo_tonga. It gives up this match" in checked.lines[-3][2]


def test_a_program(checked: Checked, tmp_path: Path) -> None:
    linkage = {**HOP, "game": "linkage"}
    program = write(tmp_path, PROGRAMS["linkage"])
    assert checked.run(lets_in(games=[HOP, linkage], lag_ms=60_000), program, convention="linkage")
    assert checked.marks[-3:] == ["ok bot", "ok id line", "ok game"]
    assert checked.lines[-2][2] == "First, An author, 2024-01-01, 1"
    assert checked.last.startswith("linkage: 2 whole games against random without a fault; ")


def client(folder: Path, source: str) -> list[str]:
    """Return the command of a bot that connects by itself."""
    path = folder / "client.py"
    path.write_text(f"import getstep\n{LEGAL}\n{source}\ngetstep.play(get_step)")
    return [sys.executable, str(path)]


def test_a_bot_that_connects_by_itself(checked: Checked, tmp_path: Path) -> None:
    get_step = "get_step = lambda board, is_black, turn: legal(GAMES[turn.game], board, is_black)"
    linkage = {**HOP, "game": "linkage"}
    assert checked.run(lets_in(games=[linkage], lag_ms=60_000), client(tmp_path, get_step))
    assert checked.marks[-3:] == ["ok bot", "ok time", "ok game"]
    assert checked.lines[-2][2].startswith("linkage: the first move took ")
    assert "; it returned ('R', (0, 0), (0, 1))" in checked.lines[-2][2]
    assert checked.last.startswith("linkage: 2 whole games against random without a fault; ")


def test_the_mistakes_of_a_bot_that_connects_by_itself(checked: Checked, tmp_path: Path) -> None:
    linkage = lets_in(games=[{**HOP, "game": "linkage"}], lag_ms=60_000)
    assert not checked.run(linkage, client(tmp_path, "def get_step(board, is_black):\n    return 1 / 0"))
    assert checked.marks[-2:] == ["ok bot", "BAD game"]
    assert "raised: ZeroDivisionError: division by zero" in checked.last
    assert 'client.py", line' in checked.last
    assert not checked.run(linkage, client(tmp_path, "raise SystemExit('no such map')"))
    assert "client.py has not connected: its process has ended with exit code 1. It printed:" in checked.last


def test_a_source_that_does_not_compile(checked: Checked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> NoReturn:
        raise BotError("It does not compile.", "my_bot.cpp:1: a mistake")

    monkeypatch.setattr("getstep.programs.wire.build", refuse)
    source = tmp_path / "my_bot.cpp"
    source.write_text("// hop")
    assert not checked.at(Address("no-such-host.invalid", 7777), source)
    assert checked.marks == ["BAD name", "BAD bot"]
    assert checked.last.split("\n")[0] == "my_bot.cpp:1: a mistake"


def test_a_program_that_has_mistakes(checked: Checked, tmp_path: Path) -> None:
    program = write(tmp_path, "print('hello')")
    nowhere = Address("no-such-host.invalid", 7777)
    assert not checked.at(nowhere, program, convention="linkage")
    assert checked.marks == ["BAD name", "ok bot", "-- id line", "BAD game"]
    assert "order.txt is missing or empty" in " ".join(checked.last.split())
    assert not checked.at(nowhere, tmp_path / "bot.cpp", convention="linkage")
    assert checked.marks == ["BAD name", "BAD bot"]


def test_a_program_for_another_contest(checked: Checked, tmp_path: Path) -> None:
    program = write(tmp_path, PROGRAMS["prodrive"])
    assert not checked.run(lets_in(games=[HOP], lag_ms=60_000), program, convention="prodrive")
    assert checked.last == "prodrive programs play longest_path, which this contest does not have"


def test_what_goes_wrong_later_in_the_game(checked: Checked, tmp_path: Path) -> None:
    late = "if turn.move_number > 5:\n        while True: pass"
    for wrong, says in ((late, "missed_limit"), ("1 / (turn.move_number < 5)", "ZeroDivisionError")):
        body = f"    {wrong}\n    return legal(GAMES[turn.game], board, is_black)"
        bot = write(tmp_path, f"{LEGAL}def get_step(board, is_black, turn):\n{body}")
        assert not checked.run(lets_in(games=[{**HOP, "game": "linkage", "time_ms": 2000}], lag_ms=60_000), bot)
        assert checked.marks[-2:] == ["ok time", "BAD game"]
        assert checked.last.startswith("linkage, against random: Game 1, move ")
        assert says in checked.last
        assert f'checked_bot.py", line {7 if "while" in wrong else 6}' in checked.last
        assert re.search(r"Legal: \('[RBGY]', \(", checked.last)  # the opponent's random moves may use up a colour


def test_a_game_that_takes_too_long_is_no_fault(
    checked: Checked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_check, "_BOT_SECONDS", 3.0)
    monkeypatch.setattr(_check, "_PATIENCE_SECONDS", 0.0)
    body = "if turn.move_number > 2: time.sleep(60)\n    return legal(GAMES[turn.game], board, is_black)"
    bot = write(tmp_path, f"import time\n{LEGAL}def get_step(board, is_black, turn):\n    {body}")
    assert checked.run(lets_in(games=[{**HOP, "time_ms": 90_000}], lag_ms=60_000), bot)
    assert checked.lines[-1][:2] == ("--", "game")
    assert "no fault so far" in checked.last


def test_a_bot_gets_the_increment(checked: Checked, tmp_path: Path) -> None:
    bot = write(
        tmp_path,
        f"{LEGAL}def get_step(board, is_black, turn):\n"
        "    return legal(GAMES['hop' if turn.increment_ms == 7 else 'linkage'], board, is_black)",
    )
    hop = {**HOP, "time_kind": "budget", "time_ms": 60_000, "increment_ms": 7}
    assert checked.run(lets_in(games=[hop], lag_ms=60_000), bot)
    limit = "60 s for all your moves together and 7.0 ms more after each answer"
    assert ("ok", "clock", f"hop: {limit}") in checked.lines
    assert checked.marks[-2:] == ["ok time", "ok game"]
    assert checked.lines[-2][2].endswith(f" of {limit}; it returned [[0, 0], [0, 1]]")


def test_a_bot_with_turn(checked: Checked, tmp_path: Path) -> None:
    bot = write(tmp_path, "def get_step(b, i, turn): return [turn.game, turn.options, turn.time_left_ms]")
    assert not checked.run(lets_in(games=[TONGA], lag_ms=60_000), bot)
    assert checked.marks[-3:] == ["ok bot", "ok time", "BAD move"]
    [time] = [text for _, what, text in checked.lines if what == "time"]
    assert time.endswith("it returned ['pseudo_tonga', {'size': 6}, 20000]")


def test_a_bot_that_is_too_slow(checked: Checked, tmp_path: Path) -> None:
    bot = write(tmp_path, "import time\ndef get_step(b, i):\n    time.sleep(0.002)\n    return (1, 2)")
    assert not checked.run(lets_in(games=[{**HOP, "time_ms": 1}], lag_ms=60_000), bot)
    assert checked.marks[-2:] == ["BAD time", "BAD move"]
    assert any(line[2].endswith(", the limit is 1.0 ms a move") for line in checked.lines)


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("return (0, 0)", "hop: 0 is not a square of the 8x8 board"),
        ("return [(0, 1), (0, 2)]", "hop: (0, 1) is not one of Black's pieces"),
        ("board[0][1] = 1; return [(0, 1), (0, 2)]", "hop: (0, 1) is not one of Black's pieces"),
    ],
)
def test_a_move_that_the_rules_do_not_allow(checked: Checked, tmp_path: Path, body: str, says: str) -> None:
    bot = write(tmp_path, f"def get_step(board, is_black): {body}")
    assert not checked.run(lets_in(lag_ms=60_000), bot)
    assert checked.marks[-2:] == ["ok time", "BAD move"]
    expected = "a list of squares, the piece's own first, for example [(0, 0), (0, 1)]"
    (reason, form), board = checked.last.split("\n")[:2], checked.last.split("\n")[2:]
    assert reason.startswith(f"{says}; ")
    assert form == f"Expected for hop: {expected}"
    assert [line.split()[0] for line in board[:-1]] == [*"00", *"1234567"]
    assert ("!:!" in board[1]) == ("(0, 1)" in body)
    assert board[1].split()[1] in ("B", "!B!"), "a fresh board, whatever the bot did to its own"


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("pass", "get_step returned None: is a return missing?"),
        ("return {1}", "get_step returned {1}, which cannot be sent"),
        ("return board[99]", "IndexError: list index out of range"),
    ],
)
def test_a_bot_without_a_move(checked: Checked, tmp_path: Path, body: str, says: str) -> None:
    bot = write(tmp_path, f"def get_step(board, is_black): {body}")
    assert not checked.run(lets_in(lag_ms=60_000), bot)
    assert checked.marks[-2:] == ["ok bot", "BAD time"]
    assert says in checked.last


def test_a_bot_that_does_not_load(checked: Checked, tmp_path: Path) -> None:
    assert not checked.run(lets_in(lag_ms=60_000), write(tmp_path, "1 / 0"))
    assert checked.marks[-2:] == ["ok lag", "BAD bot"]
    assert "ZeroDivisionError" in checked.last


def test_a_bot_in_an_endless_loop_is_interrupted(
    checked: Checked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
    monkeypatch.setattr(_check, "_PATIENCE_SECONDS", 1.0)
    monkeypatch.setattr(_check, "_GRACE_SECONDS", 60.0)
    bot = write(tmp_path, "def get_step(b, i):\n    if len(b) == 6: return (9, 9)\n    while True: pass")
    assert not checked.run(lets_in(games=[{**HOP, "time_ms": 1}, TONGA], lag_ms=60_000), bot)
    assert [mark for mark in checked.marks if "time" in mark] == ["BAD time", "ok time"]
    at, _ = [i for i, line in enumerate(checked.lines) if line[0] == "BAD"]
    text = [line[2] for line in checked.lines[at : at + 3]]
    assert text[0] == "hop: get_step has not answered within 1.001 s: is there an endless loop? It is at"
    assert text[1] == f'  File "{bot}", line 3, in get_step'
    assert text[2] == "    while True: pass"


@pytest.mark.parametrize(
    "body", ["while True:\n        try: time.sleep(0.01)\n        except: pass", "time.sleep(60)"]
)
def test_a_bot_that_cannot_be_interrupted_ends_check(tmp_path: Path, body: str) -> None:
    bot = write(tmp_path, f"import time\ndef get_step(b, i):\n    {body}")
    with FakeServer(lets_in(games=[{**HOP, "time_ms": 1}], lag_ms=60_000)) as server:
        words = ["check", str(bot), "--port", str(server.port), "--team", str(TEAM), "--token", TOKEN]
        command = [sys.executable, "-m", "getstep", *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False)
    assert done.returncode == 1
    assert "hop: get_step has not answered within 1.001 s: is there an endless loop?" in done.stdout
    assert done.stderr == ""


def test_a_bot_for_a_game_from_the_future(checked: Checked, tmp_path: Path) -> None:
    bot = write(tmp_path, "def get_step(board, is_black): return 1")
    assert checked.run(lets_in(games=[{**HOP, "game": "go"}], lag_ms=60_000), bot)
    assert checked.lines[-1] == ("--", "time", "go: a game that is not installed here")


def test_a_bot_is_loaded_though_there_is_no_server(checked: Checked, tmp_path: Path) -> None:
    bot = write(tmp_path, "def get_step(board, is_black): return 1")
    assert not checked.at(Address("no-such-host.invalid", 7777), bot)
    assert checked.marks == ["BAD name", "ok bot", "-- time"]
