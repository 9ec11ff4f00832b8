"""The command ``getstep``, where its settings come from, and how it prints."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import getstep
from getstep import SetupError, Turn
from getstep._bot import load
from getstep.cli import main
from getstep.client.settings import Address, Login, find_address, find_login, find_team, find_token
from getstep.games import start_board
from getstep.text import Console, duration, escape_control_chars
from getstep.wire import Goodbye, Raised, Step
from getstep_engines import GAMES
from tests.support.fake_server import OVER, TOKEN, FakeServer, Session, ask, end, start

BOT = "def get_step(board, is_black):\n    return [(0, 2), (0, 1)]\n"


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("TEAM", "TOKEN", "TOKEN_FILE", "HOST", "PORT"):
        monkeypatch.delenv(f"GETSTEP_{name}", raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))  # a bot's folder is added


def run(*words: object) -> int:
    """Return the exit code of ``getstep`` with these words."""
    try:
        return main([str(word) for word in words])
    except SystemExit as leaving:  # argparse
        return leaving.code if isinstance(leaving.code, int) else 1


def write(source: str, name: str = "a_bot.py") -> Path:
    Path(name).write_text(source, encoding="utf-8")
    return Path(name)


# --- settings ----------------------------------------------------------------------------------------------


def test_defaults() -> None:
    assert find_address() == Address("127.0.0.1", 7777)
    assert find_team() is None
    assert find_token() is None


def test_missing_values_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GETSTEP_TEAM", "7")
    monkeypatch.setenv("GETSTEP_TOKEN", f" {TOKEN}\n")
    monkeypatch.setenv("GETSTEP_HOST", "judge")
    monkeypatch.setenv("GETSTEP_PORT", "7000")
    assert find_address() == Address("judge", 7000)
    assert find_login() == Login(7, TOKEN)


def test_arguments_win(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TEAM", "TOKEN", "TOKEN_FILE", "HOST", "PORT"):
        monkeypatch.setenv(f"GETSTEP_{name}", "no good")
    write("from-a-file", "token.txt")
    assert find_address("::1", 1) == Address("::1", 1)
    assert find_login("0", "mine") == Login(0, "mine")
    assert find_token(token_file="token.txt") == "from-a-file"


def test_empty_variables_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TEAM", "TOKEN", "TOKEN_FILE", "HOST", "PORT"):
        monkeypatch.setenv(f"GETSTEP_{name}", "")
    assert find_address() == Address("127.0.0.1", 7777)
    assert (find_team(), find_token()) == (None, None)


@pytest.mark.parametrize(
    "data",
    [
        TOKEN.encode(),
        f"{TOKEN}\r\n".encode(),
        TOKEN.encode("utf-8-sig"),
        f"{TOKEN}\r\n".encode("utf-16"),  # echo in an old PowerShell
        b"\xfe\xff" + f"{TOKEN}\n".encode("utf-16-be"),
    ],
)
def test_a_token_file_as_any_editor_writes_it(data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("token.txt").write_bytes(data)
    monkeypatch.setenv("GETSTEP_TOKEN_FILE", "token.txt")
    assert find_token() == TOKEN


@pytest.mark.parametrize("data", [b"", b"two words", b"\xff", b"esc\x1b"])
def test_a_token_file_that_holds_no_token(data: bytes) -> None:
    Path("token.txt").write_bytes(data)
    with pytest.raises(SetupError, match=r"token\.txt"):
        find_token(token_file="token.txt")


def test_a_token_file_that_is_not_there() -> None:
    with pytest.raises(SetupError, match=r"no_file.*cannot be read.*\nPut the token"):
        find_token(token_file="no_file")


@pytest.mark.parametrize("team", ["seven", "7.0", "-1", 2**31, True, 7.0, ""])
def test_invalid_teams(team: Any) -> None:
    with pytest.raises(SetupError, match=r"The team is .*, expected a whole number from 0 to 2147483647"):
        find_team(team)


@pytest.mark.parametrize("port", ["x", 0, 65536, "-1"])
def test_invalid_ports(port: Any) -> None:
    with pytest.raises(SetupError, match=r"The port is .*, expected a whole number from 1 to 65535"):
        find_address("judge", port)


@pytest.mark.parametrize("host", ["192.168.1.10:7777", "http://judge", "jud\0ge", 5])
def test_invalid_hosts(host: Any) -> None:
    with pytest.raises(SetupError, match=r"The host is .*, expected a name or an address alone"):
        find_address(host)


@pytest.mark.parametrize("token", ["", " ", "two words", "\ud800", 5])
def test_invalid_tokens(token: Any) -> None:
    with pytest.raises(SetupError, match="The token should be one word"):
        find_token(token)


def test_the_error_for_a_missing_value_says_where_to_put_it() -> None:
    with pytest.raises(SetupError, match=r"team id is missing.*\n.*--team .* team=\.\.\. .* GETSTEP_TEAM"):
        getstep.play(lambda board, is_black: None, token="x")
    with pytest.raises(SetupError, match=r"token of team 7 is missing.*\n.*--token .* GETSTEP_TOKEN"):
        getstep.play(lambda board, is_black: None, 7)


def test_a_token_is_not_shown() -> None:
    assert TOKEN not in repr(Login(7, TOKEN))


# --- printing ----------------------------------------------------------------------------------------------


def test_a_console_that_lacks_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    with io.TextIOWrapper(raw, encoding="cp1252", errors="strict", newline="\n") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        Console().say("Grashüpfer \u2654 \ud800")
        assert raw.getvalue() == b"Grash\xfcpfer \\u2654 \\ud800\n"  # at once


def test_a_console_that_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    Console().say("nobody hears this")
    closed = io.StringIO()
    closed.close()
    monkeypatch.setattr(sys, "stderr", closed)
    Console().warn("nor this")


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("Grashüpfer 蟋蟀 ♔", "Grashüpfer 蟋蟀 ♔"),
        ("\x1b[2J\r\n\t\x07", r"\x1b[2J\r\n\t\x07"),
        ("\u202egnp\u2066\u200b", r"\u202egnp\u2066\u200b"),
        ("\x85\u2028\ud800", r"\x85\u2028\ud800"),
    ],
)
def test_printable(text: str, safe: str) -> None:
    assert escape_control_chars(text) == safe


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (0, "0 s"),
        (0.04, "under 0.1 ms"),
        (0.84, "0.8 ms"),
        (9.99, "10.0 ms"),
        (35.2, "35 ms"),
        (100, "0.1 s"),
        (350, "0.35 s"),
        (5000, "5 s"),
        (86_400_000, "86400 s"),
    ],
)
def test_durations(ms: float, text: str) -> None:
    assert duration(ms) == text


# --- new ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("game", GAMES)
def test_new_writes_a_bot_and_says_what_to_type_next(game: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("new", "my_bot.py", "--game", game) == 0
    source = Path("my_bot.py").read_text(encoding="utf-8")
    assert source.isascii()
    assert "def get_step(board: list[list[int]], is_black: bool)" in source
    assert source.rstrip().endswith("getstep.play(get_step)")
    said = capsys.readouterr().out
    assert "at /guide" in said
    *_, first, second, third = said.splitlines()
    assert (first, second, third) == ("  getstep login", "  getstep check my_bot.py", "  getstep play my_bot.py")


def test_new_never_overwrites(capsys: pytest.CaptureFixture[str]) -> None:
    write("mine")
    assert run("new", "a_bot.py", "--game", "hop") == 2
    assert Path("a_bot.py").read_text() == "mine"
    assert "a_bot.py already exists" in capsys.readouterr().err


def test_new_lists_the_games(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("new", "my_bot.py") == 2
    said = capsys.readouterr().err
    assert all(f"\n  {name:<16}{game.summary}" in said for name, game in GAMES.items())
    assert not Path("my_bot.py").exists()


@pytest.mark.parametrize("words", [("new", "my_bot.py", "--game", "chess"), ("rules", "chess")])
def test_a_game_that_is_not_installed(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*words) == 2
    assert capsys.readouterr().err == f"getstep: unknown game 'chess'; installed: {', '.join(GAMES)}.\n"
    assert not Path("my_bot.py").exists()


@pytest.mark.parametrize("game", GAMES)
def test_rules_are_the_docstring_of_the_game(game: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("rules", game) == 0
    said = capsys.readouterr().out
    assert said.split() == re.sub(r"\*\*|```\w*", "", GAMES[game].rules).split()
    assert "```" not in said
    assert all(f"- {label}" in said for label in ("Board", "Move", "Legal", "End", "Faults"))


def test_rules_without_a_game_lists_the_games(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("rules") == 2
    assert all(f"\n  {name:<16}{game.summary}" in capsys.readouterr().out for name, game in [*GAMES.items()][:1])


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("random.py", "would hide Python's own random"),
        ("getstep.py", "would hide Python's own getstep"),
        ("bot.txt", "must end in .py"),
        ("no_folder/bot.py", "cannot be written: No such file or directory"),
    ],
)
def test_new_refuses_names_that_make_trouble(name: str, says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("new", name, "--game", "hop") == 2
    assert says in capsys.readouterr().err
    assert not Path(name).exists()


@pytest.mark.parametrize("words", [("all",), ("hop", "--game", "linkage", "--game", "hop")])
def test_new_for_several_games_writes_a_function_for_each(words: tuple[str, ...]) -> None:
    assert run("new", "several.py", "--game", *words) == 0
    games = list(GAMES) if words == ("all",) else ["hop", "linkage"]
    assert [path.name for path in Path().glob("*.py")] == ["several.py"]
    callback = load(Path("several.py"))
    assert callback.games == tuple(games)
    for game in games:
        board = start_board(game, {})
        assert board is not None
        thought = callback.call(board, True, Turn(game, 1, 1, "opponent", None, 5000))
        assert not thought.problem
        assert GAMES[game].start().is_legal(thought.move)


def test_new_adds_the_ending_and_quotes(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("new", "my bot", "--game", "hop") == 0
    assert Path("my bot.py").exists()
    assert '  getstep play "my bot.py"\n' in capsys.readouterr().out


# --- play and check ----------------------------------------------------------------------------------------


def one_match(session: Session) -> None:
    session.let_in(start(), ask(31))
    assert session.hear() == Step(id=31, move=[[0, 2], [0, 1]])
    session.say(end(), OVER)


def login(server: FakeServer) -> tuple[object, ...]:
    return ("--team", 7, "--token", TOKEN, "--port", server.port)


def test_play_a_contest(capsys: pytest.CaptureFixture[str]) -> None:
    with FakeServer(one_match) as server:
        assert run("play", write(BOT), *login(server)) == 0
    assert "Match 12: lost (finished)" in capsys.readouterr().out


def test_play_with_a_token_file_and_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    write(f"{TOKEN}\n", "token.txt")
    with FakeServer(one_match) as server:
        words = ("--team", 7, "--token-file", "token.txt", "--port", server.port, "--quiet")
        assert run("play", write(BOT), *words) == 0
    assert capsys.readouterr() == ("", "")


def test_play_refused(capsys: pytest.CaptureFixture[str]) -> None:
    def script(session: Session) -> None:
        session.greet()
        session.say(Goodbye(reason="bad_token", detail="The token does not fit.", retry_ms=None))

    with FakeServer(script) as server:
        assert run("play", write(BOT), *login(server)) == 1
    assert capsys.readouterr().err == (
        "getstep: Team 7 may not play: bad_token: The token does not fit.\n"
        "Copy the token again from the slip from the host, and check the host's address.\n"
    )


def test_play_at_a_host_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("play", write(BOT), "--team", 7, "--token", TOKEN, "--host", "no-such-host.invalid") == 1
    assert "No computer is called" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("source", "says"),
    [
        (None, "There is no file a_bot.py"),
        ("x = 1", "has no get_step"),
        ("def get_step(board): pass", "get_step(board) has the wrong parameters"),
        ("def get_step(board, is_black):\n  1 +", "SyntaxError"),
        ("import numbers\nraise OSError('mine')", "OSError: mine"),
    ],
)
def test_play_a_file_that_will_not_do(source: str | None, says: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = Path("a_bot.py") if source is None else write(source)
    assert run("play", path, "--team", 7, "--token", TOKEN) == 2
    said = capsys.readouterr().err
    assert says in said
    assert said.rpartition("getstep: ")[2].count("\n") in (1, 2)  # what to do, in a line or two, comes last


def test_play_without_a_team(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("play", write(BOT)) == 2
    assert "The team id is missing" in capsys.readouterr().err


def test_play_stopped_while_loading(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("play", write("raise KeyboardInterrupt"), "--team", 7, "--token", TOKEN) == 130
    assert capsys.readouterr().out == "Stopped.\n"


LEGAL_BOT = """\
from getstep_engines import GAMES

def get_step(board, is_black, turn):
    return next(iter(GAMES[turn.game].from_board(board, is_black).legal_moves()))
"""


def test_the_exit_code_of_check(capsys: pytest.CaptureFixture[str]) -> None:
    def script(session: Session) -> None:
        session.let_in(Goodbye(reason="checked", detail="", retry_ms=None), lag_ms=60_000)

    with FakeServer(script) as server:
        assert run("check", write(LEGAL_BOT), *login(server)) == 0
    assert run("check", "--host", "no-such-host.invalid") == 1
    assert run("check", "--host", "judge:7777") == 2
    assert "BAD name" in capsys.readouterr().out


@pytest.mark.parametrize("words", [("--team", 7), ("--token", TOKEN), ("--team", "x", "--token", TOKEN)])
def test_check_with_half_a_login(words: tuple[object, ...], capsys: pytest.CaptureFixture[str]) -> None:
    with FakeServer(lambda session: session.greet()) as server:
        assert run("check", "--port", server.port, *words) == 1
    assert "BAD login" in capsys.readouterr().out


def test_check_without_a_login(capsys: pytest.CaptureFixture[str]) -> None:
    with FakeServer(lambda session: session.greet()) as server:
        assert run("check", "--port", server.port) == 0
    assert "--  login    not tried; it needs --team and --token" in capsys.readouterr().out


# --- a terminal ------------------------------------------------------------------------------------------------


class Tty(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("stream", [Tty(), io.StringIO()])
def test_a_terminal_gets_lines_that_are_broken_between_words(
    stream: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("sys.stdout", stream)
    line = "Match 1: lost (finished): all Black pieces are home: Black has 1 in its target region, White 2."
    console = Console()
    console.say(f"{line}\n{'x' * 100}")
    console.say(f"\x1b[1m{line}\x1b[0m")
    whole = [line, "x" * 100, f"\x1b[1m{line}\x1b[0m"]
    at = line.index(" region")
    broken = [line[:at], f"  {line[at + 1 :]}", whole[1], whole[2]]
    assert stream.getvalue().splitlines() == (broken if stream.isatty() else whole)


# --- help --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [(), ("new",), ("practice",), ("check",), ("play",)])
def test_help_has_examples(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*words, "--help") == 0
    said = capsys.readouterr().out
    assert f"  getstep {words[0] if words else 'new'} " in said


@pytest.mark.parametrize("words", ["", "rules", "new", "practice", "move", "login", "logout", "check", "play"])
def test_help_fits_80_columns(
    words: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert run(*words.split(), "--help") == 0
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 80


def test_no_command_is_a_request_for_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert run() == 2
    assert "The first five minutes" in capsys.readouterr().out


def test_usage_errors_and_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("plai") == 2
    assert run("play", "a_bot.py", "--token", "a", "--token-file", "b") == 2
    assert run("--version") == 0
    assert capsys.readouterr().out == f"getstep {getstep.__version__}, Python {sys.version.split()[0]}\n"


def test_a_bot_may_print_what_the_console_lacks() -> None:
    path = write("def get_step(board, is_black):\n    print('\u2654')\n    return [(0, 2), (0, 1)]\n")

    def script(session: Session) -> None:
        session.let_in(start(opponent="\u2655"), ask(31))
        assert not isinstance(session.hear(), Raised)
        session.say(end(), OVER)

    with FakeServer(script) as server:
        environment = {**os.environ, "PYTHONIOENCODING": "cp1252"}
        command = [sys.executable, "-m", "getstep", "play", str(path), *map(str, login(server))]
        done = subprocess.run(command, env=environment, capture_output=True, check=False)
    assert done.returncode == 0
    assert done.stderr == b""
    assert b"\\u2654" in done.stdout
    assert b"against \\u2655" in done.stdout
