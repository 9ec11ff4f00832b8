"""Practice with bots that speak the wire: programs with a private server on this machine."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import getstep
from getstep import cli
from getstep._errors import BotError
from getstep.languages import LANGUAGES, Language
from getstep.languages.builds import Build
from getstep.local_matches import Results, series, wire_players
from getstep.local_matches.wire_players import WirePlayer
from getstep.local_server import Ended, LocalProgram
from getstep.local_server.conversation import Conversation
from getstep.programs import build, wire
from getstep.wire import Connection, Goodbye, Hello, Join, Role, Welcome, new_nonce, sign, verify_server
from getstep_engines import GAMES
from tests.support.patience import PATIENCE_SECONDS

LEGAL = """
import os, sys, time
import getstep
from getstep_engines import GAMES

def legal(board, is_black, turn):
    return next(iter(GAMES[turn.game].from_board(board, is_black).legal_moves()))
"""


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run each test where a bot may write the log of what it prints."""
    monkeypatch.chdir(tmp_path)


def bot(folder: Path, get_step: str, name: str = "client.py") -> list[str]:
    """Return the command of a client in Python, with a ``get_step`` of this source."""
    path = folder / name
    path.write_text(f"{LEGAL}\n{get_step}\ngetstep.play(get_step)\n", encoding="utf-8")
    return [sys.executable, str(path)]


GOOD = "get_step = legal"


def first_legal(board: Any, is_black: bool, turn: getstep.Turn) -> Any:
    return next(iter(GAMES[turn.game].from_board(board, is_black).legal_moves()))


def play(command: series.Bot, game: str = "linkage", **more: Any) -> Results:
    settings = {"against": first_legal, "games": 2, "quiet": True, "limit": PATIENCE_SECONDS, **more}
    return getstep.practice(command, game, **settings)


# --- games ------------------------------------------------------------------------------------------------------


def test_a_program_plays_what_a_function_plays(tmp_path: Path) -> None:
    """The same referee, the same colours, the same moves: whether a bot is asked over a socket changes nothing."""
    results, known = play(bot(tmp_path, GOOD)), play(first_legal)
    assert results.faults == []
    assert results.printed == {}, "the SDK's own lines are no output of the bot"
    moves = [[(turn.player, turn.move) for turn in match.turns] for match in results.matches]
    assert moves == [[(turn.player, turn.move) for turn in match.turns] for match in known.matches]
    assert [match.outcome for match in results.matches] == [match.outcome for match in known.matches]


def test_it_gets_what_it_gets_in_a_contest(tmp_path: Path) -> None:
    told = tmp_path / "told"
    look = f"""
def get_step(board, is_black, turn):
    with open({str(told)!r}, "a") as file:
        print(turn.game, turn.match, turn.move_number, turn.opponent, turn.time_left_ms, turn.options, file=file)
        print(os.environ["GETSTEP_RESTART_AFTER"], file=file)
    getstep.say(f"move {{turn.move_number}}")
    print("looking", turn.move_number)
    return legal(board, is_black, turn)
"""
    results = play(bot(tmp_path, look), "pseudo_tonga", games=1, limit=300, options={"size": 6})
    first, restart_after, *_ = told.read_text(encoding="utf-8").splitlines()
    assert first == "pseudo_tonga 1 1 first_legal 300000 {'size': 6}"
    assert restart_after == "0", "practice itself ends a bot that hangs"
    for turn in results.matches[0].turns[:-1:2]:
        assert turn.notes == {"say": f"move {turn.number}", "output": f"looking {turn.number}\n"}


def test_an_exception_is_told_with_its_trace_and_the_board(tmp_path: Path) -> None:
    results = play(bot(tmp_path, 'def get_step(board, is_black):\n    raise ValueError("no idea")'), "hop", games=1)
    match, turn = results.faults[0]
    assert (turn.number, turn.code, turn.reason) == (1, "raised", "ValueError: no idea")
    assert 'raise ValueError("no idea")' in turn.problem
    assert "Match" not in turn.problem, "the move is said once, by practice"
    assert len({turn.problem for _, turn in results.faults}) == 1, "the SDK's lines about penalties are left out"
    assert match.outcome is not None


def test_an_illegal_move_is_marked_on_the_board(tmp_path: Path) -> None:
    report = str(play(bot(tmp_path, "get_step = lambda board, is_black: [(0, 0), (7, 7)]"), "hop", games=1))
    assert "get_step returned [(0, 0), (7, 7)]" in report
    assert "!B!" in report


def test_a_late_answer_costs_its_turn_and_is_a_sign_of_life(tmp_path: Path) -> None:
    """Were it not, the third one would have the bot stalled."""
    slow = """
def get_step(board, is_black, turn):
    if turn.move_number < 8: time.sleep(0.7)
    return legal(board, is_black, turn)
"""
    results = play(bot(tmp_path, slow), "hop", games=1, limit=0.4)
    codes = [turn.code for _, turn in results.faults]
    assert set(codes) == {"missed_limit"}
    assert len(codes) > 3
    assert "get_step has taken" in results.faults[0][1].problem


def test_a_crash_costs_its_match_and_it_is_started_again(tmp_path: Path) -> None:
    crash = """
def get_step(board, is_black, turn):
    print("about to crash", flush=True)
    os._exit(7)
"""
    results = play(bot(tmp_path, crash), "linkage")
    assert [turn.code for _, turn in results.faults] == ["missed_limit"] * 2
    reason = results.faults[0][1].reason
    assert reason.endswith("its process has ended with exit code 7; it printed last: about to crash")
    assert results.lost == 2


def test_a_lost_connection_is_made_again_within_the_match(tmp_path: Path) -> None:
    cut = """
import socket
def get_step(board, is_black, turn):
    if turn.move_number == 3:
        for number in range(3, 30):
            try: socket.socket(fileno=os.dup(number)).shutdown(2)
            except OSError: pass
    return legal(board, is_black, turn)
"""
    results = play(bot(tmp_path, cut), "linkage", games=1, limit=PATIENCE_SECONDS)
    assert results.faults == []


def test_a_broken_protocol_loses_the_match(tmp_path: Path) -> None:
    hostile = """
import threading
from getstep.client.connection import ServerConnection
def get_step(board, is_black, turn):
    import gc
    for connection in gc.get_objects():
        if isinstance(connection, ServerConnection):
            connection._socket.sendall(b"\\0\\0\\0\\1\\xc1")
    time.sleep(60)
"""
    results = play(bot(tmp_path, hostile), games=1)
    assert [(turn.kind, turn.code) for _, turn in results.faults] == [("end", "hostile")]
    assert "broke the protocol" in results.faults[0][1].reason


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import sys; print('no such map'); sys.exit(3)", "its process has ended with exit code 3. It printed:"),
        ("import time; time.sleep(600)", "has not connected within 1 s. It printed nothing."),
    ],
)
def test_a_program_that_does_not_connect_is_told_with_its_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, expected: str
) -> None:
    program = LocalProgram.wait_for_login
    monkeypatch.setattr(wire_players, "CONNECT_SECONDS", 1)
    patience = 1.0 if "sleep" in source else PATIENCE_SECONDS
    monkeypatch.setattr(LocalProgram, "wait_for_login", lambda self: program(self, patience))
    with pytest.raises(BotError) as error:
        WirePlayer([sys.executable, "-c", source], "my_bot")
    assert expected in str(error.value)
    assert "GETSTEP_HOST and GETSTEP_PORT" in str(error.value)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("raise SystemExit('cannot find getstep.mjs')", "getstep.mjs is not in "),
        ("", "A bot in JavaScript calls play when it starts"),
    ],
)
def test_a_source_that_does_not_connect_says_what_it_lacks(tmp_path: Path, source: str, expected: str) -> None:
    with pytest.raises(BotError) as error:
        WirePlayer([sys.executable, "-c", source], "my_bot", tmp_path, LANGUAGES["javascript"])
    assert expected in str(error.value)
    assert "GETSTEP_HOST" not in str(error.value), "the SDK's business"


def test_all_that_a_program_starts_ends_with_it(tmp_path: Path) -> None:
    child = tmp_path / "child"
    starts = f"""
import subprocess
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
with open({str(child)!r}, "w") as file: file.write(str(child.pid))
{GOOD}
"""
    play(bot(tmp_path, starts), games=1)
    assert is_gone(int(child.read_text()))


@pytest.mark.skipif(sys.platform == "win32", reason="there, the job does it")
def test_a_program_ends_when_practice_is_killed(tmp_path: Path) -> None:
    command = bot(tmp_path, f"open('pid', 'w').write(str(os.getpid()))\n{GOOD}")
    source = (
        "import os, signal, sys; from getstep.local_server import LocalProgram;"
        "program = LocalProgram(sys.argv[1:]); assert program.wait_for_login();"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run([sys.executable, "-c", source, *command], cwd=tmp_path, check=False)
    assert is_gone(int((tmp_path / "pid").read_text()))


def is_gone(pid: int) -> bool:
    until = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < until:
        try:
            os.kill(pid, 0)
            state = Path(f"/proc/{pid}/stat")
            if state.exists() and state.read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except ProcessLookupError:
            return True
        time.sleep(0.01)
    return False


# --- the private server -----------------------------------------------------------------------------------------


TOKEN = "a token"


def joined(**changes: Any) -> tuple[Welcome | Goodbye, str, str]:
    """Return the answer to a login, and both nonces."""
    server = Conversation(Welcome(1, "my bot", 0, []), TOKEN)
    client = Connection(Role.CLIENT)
    client.receive_data(server.send(server.hello()))
    hello = client.next_event()
    assert isinstance(hello, Hello)
    mine = new_nonce()
    fields = {"version": 1, "team": 1, "mac": sign(TOKEN, hello.nonce), "client": "test", "nonce": mine, **changes}
    server.receive(client.send(Join(**fields)))
    join = server.next_event()
    assert isinstance(join, Join)
    return server.decide(join), hello.nonce, mine


def test_the_private_server_proves_that_it_knows_the_token() -> None:
    welcome, server_nonce, client_nonce = joined()
    assert isinstance(welcome, Welcome)
    assert welcome.proof is not None
    assert verify_server(TOKEN, server_nonce, client_nonce, welcome.proof)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [({"mac": "0" * 64}, "bad_token"), ({"team": 2}, "unknown_team"), ({"version": 2}, "unsupported_version")],
)
def test_a_wrong_login_is_refused_with_what_to_do(changes: dict[str, Any], reason: str) -> None:
    answer, _, _ = joined(**changes)
    assert isinstance(answer, Goodbye)
    assert answer.reason == reason


def test_others_on_this_computer_cannot_keep_a_program_from_logging_in(tmp_path: Path) -> None:
    """They hold connections open, and send what is no login."""
    held: list[socket.socket] = []
    try:
        program = LocalProgram([sys.executable, "-c", "import time; time.sleep(600)"])
        port = program._listener.getsockname()[1]
        held += [socket.create_connection(("127.0.0.1", port)) for _ in range(5)]
        held[0].sendall(b"GET / HTTP/1.1\r\n\r\n")
        held[1].close()
        assert not program.wait_for_login(0.1)
        with socket.create_connection(("127.0.0.1", port)) as mine:
            client, hello = Connection(Role.CLIENT), None
            mine.setblocking(False)
            until = time.monotonic() + PATIENCE_SECONDS
            while not isinstance(hello, Hello) and time.monotonic() < until:
                program.receive(0)
                with contextlib.suppress(BlockingIOError):
                    client.receive_data(mine.recv(4096))
                hello = client.next_event()
            assert isinstance(hello, Hello)
            mac = sign(program._token, hello.nonce)
            mine.sendall(client.send(Join(version=1, team=1, mac=mac, client="mine")))
            assert program.wait_for_login(PATIENCE_SECONDS)
    finally:
        program.close()
        for one in held:
            one.close()


def test_the_end_of_a_program_comes_after_what_it_has_sent() -> None:
    program = LocalProgram([sys.executable, "-c", "print('bye')"])
    try:
        received = program.receive(time.perf_counter() + PATIENCE_SECONDS)
        assert received is not None
        assert received.what == Ended("its process has ended with exit code 0; it printed last: bye")
    finally:
        program.close()


# --- what a student names ---------------------------------------------------------------------------------------


def test_a_command_comes_after_two_dashes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    python, file = bot(tmp_path, f"# it plays linkage\n{GOOD}")
    code = cli.main(["practice", "--games", "1", "--against", "random", "--", python, Path(file).name])
    out = capsys.readouterr().out
    assert code == 0, out
    assert "client.py against random, linkage: " in out, "its file names the game"
    assert (tmp_path / "client-practice.html").exists()


def test_a_command_and_a_file_are_not_both_taken(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["practice", "my_bot.py", "--", "./other"])
    assert "in place of its file" in capsys.readouterr().err


def test_a_program_with_a_convention_is_a_file_and_no_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["practice", "--as", "prodrive", "--", "python", "program.py"])
    assert (
        "--as prodrive: the program is one file, without arguments (python program.py)" in capsys.readouterr().err
    )


def test_a_command_without_dashes_is_told_where_it_goes(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["practice", "java", "MyBot"])
    assert (
        "unrecognized arguments: MyBot; a bot's command goes after --: getstep practice --"
        in capsys.readouterr().err
    )


def test_the_game_is_asked_for_before_a_source_is_built(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "my_bot.cpp"
    source.write_text("// hop, linkage\nthis does not compile", encoding="utf-8")
    for more, says in (((), "several. Give one with --game"), (("--game", "chess"), "unknown game 'chess'")):
        assert cli.main(["practice", str(source), *more]) == 2
        printed = capsys.readouterr()
        assert says in printed.err
        assert "Building" not in printed.out


def test_a_text_with_a_space_is_a_command() -> None:
    assert wire.command_words('java -cp . "My Bot"') == ["java", "-cp", ".", "My Bot"]
    assert wire.command_words("my_bot.cpp") == []
    assert wire.from_command(["java", "-cp", ".", "MyBot"]).name == "MyBot"


def touch(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).write_text("// hop", encoding="utf-8")


KINDS: dict[str, tuple[Callable[[Path], None], str, str]] = {
    "two sources": (
        lambda folder: touch(folder, "a.cpp", "b.cpp", "getstep.hpp"),
        ".",
        "2 sources. Type one of:\n",
    ),
    "no source": (lambda folder: touch(folder, "notes.txt"), ".", "without a bot's source (.py, .cpp,"),
    "a project": (lambda folder: touch(folder, "MyBot.cs", "Bot.csproj"), "Bot.csproj", "getstep practice "),
    "the SDK": (lambda folder: touch(folder, "getstep.hpp"), "getstep.hpp", "is a file of the SDK"),
    "C": (lambda folder: touch(folder, "my_bot.c"), "my_bot.c", "gcc -O2 -pthread -o my_bot"),
    "no jar": (lambda folder: touch(folder, "MyBot.jar"), "MyBot.jar", "MyBot.jar is no jar file"),
    "a text": (lambda folder: touch(folder, "notes.txt"), "notes.txt", "getstep practice -- COMMAND notes.txt"),
    "a script": (
        lambda folder: [(folder / "bot.sh").write_text("#!/bin/sh\n")].clear(),
        "bot.sh",
        "chmod +x bot.sh",
    ),
    "another case": (lambda folder: touch(folder, "My_Bot.cpp"), "mybot.cpp", "My_Bot.cpp?"),
    "nothing": (lambda folder: None, "my_bot", "There is no file"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_what_cannot_be_played_says_what_was_found_and_what_to_type(tmp_path: Path, kind: str) -> None:
    make, name, expected = KINDS[kind]
    make(tmp_path)
    with pytest.raises(BotError) as error:
        wire.from_path(tmp_path / name, print)
    assert expected in str(error.value)


# --- building ---------------------------------------------------------------------------------------------------

COMPILER = """
import sys
source, made = sys.argv[1:]
with open(source) as file: text = file.read()
if "mistake" in text:
    print(f"{source}:1: this is a mistake")
    sys.exit(1)
with open(made, "w") as file: file.write(text)
"""


@pytest.fixture
def language(tmp_path: Path) -> Language:
    """A language whose compiler copies the source."""
    compiler = tmp_path / "compiler.py"
    compiler.write_text(COMPILER, encoding="utf-8")
    way = Build(sys.executable, f"{sys.executable} {compiler} {{file}} {{stem}}", "./{stem}", makes="{stem}")
    return Language("logo", "Logo", ".logo", ("getstep.turtle",), (way,))


def test_a_source_is_built_for_a_debugger_beside_the_other_build(tmp_path: Path, language: Language) -> None:
    language = replace(language, builds=(replace(language.builds[0], debug="--with-names"),))
    (tmp_path / "compiler.py").write_text(f"import sys\nassert sys.argv.pop(1) == '--with-names'\n{COMPILER}")
    file, said = tmp_path / "my_bot.logo", list[str]()
    file.write_text("forward 1", encoding="utf-8")
    assert build.build(language, file, said.append, debug=True).is_file()
    assert said[0].endswith(" --with-names")
    with pytest.raises(BotError):
        build.build(language, file, said.append)


def test_a_source_is_built_once_and_again_after_a_change(tmp_path: Path, language: Language) -> None:
    file, said = tmp_path / "my_bot.logo", list[str]()
    file.write_text("forward 1", encoding="utf-8")
    first = build.build(language, file, said.append)
    assert build.build(language, file, said.append) == first
    assert len(said) == 1
    (tmp_path / "beside.logo").write_text("also its source", encoding="utf-8")
    second = build.build(language, file, said.append)
    assert second.read_text(encoding="utf-8") == "forward 1"
    assert len(said) == 2
    assert first.parent.parent == tmp_path / build.KEPT


def test_the_errors_of_the_compiler_are_shown_and_built_again(tmp_path: Path, language: Language) -> None:
    file = tmp_path / "my_bot.logo"
    file.write_text("mistake", encoding="utf-8")
    for _ in range(2):
        with pytest.raises(BotError) as error:
            build.build(language, file, print)
        assert error.value.trace == "my_bot.logo:1: this is a mistake"
    file.write_text("forward 1", encoding="utf-8")
    assert build.build(language, file, print).is_file()


def test_a_missing_compiler_says_how_to_install_it(tmp_path: Path) -> None:
    way = Build("no-such-compiler", "no-such-compiler {file}", "./{stem}")
    language = Language("logo", "Logo", ".logo", ("getstep.turtle",), (way,), {"linux": "apt install logo"})
    with pytest.raises(
        BotError, match=r"has no no-such-compiler, which a bot in Logo needs\. To install it:\n  apt install logo"
    ):
        build.build(language, tmp_path / "my_bot.logo", print)
