"""The saved login: where it is, who may read it, what wins over it, and what it remembers of the host."""

from __future__ import annotations

import io
import json
import os
import stat
import sys
from pathlib import Path

import pytest

from getstep import SetupError, _login_command
from getstep.cli import main
from getstep.client import saved_login
from getstep.client.saved_login import SavedLogin, Seen, absence, login_file, note_seen
from getstep.client.settings import Address, Login, find_address, find_login, find_token
from getstep.wire import TOKEN_LETTERS, Goodbye, Join, canonical_token
from tests.support.fake_server import OVER, TEAM, TOKEN, FakeServer, Session, no_proof, until_closed

SAVED = SavedLogin("192.168.1.10", 7001, TEAM, TOKEN)


@pytest.fixture(autouse=True)
def file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    for name in ("TEAM", "TOKEN", "TOKEN_FILE", "HOST", "PORT"):
        monkeypatch.delenv(f"GETSTEP_{name}", raising=False)
    path = tmp_path / "settings" / "login.json"
    monkeypatch.setenv("GETSTEP_LOGIN_FILE", str(path))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    return path


# --- tokens ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("typed", ["kq3mx7fd29pt", "KQ3M-X7FD-29PT", "kq3m x7fd 29pt", " Kq3mX7-fd29PT\n", TOKEN])
def test_a_token_in_any_form_is_the_token_on_the_slip(typed: str) -> None:
    assert find_token(typed) == TOKEN


@pytest.mark.parametrize(
    "made_up", ["My-Own-Secret", "PASSWORD-1", "kq3m-x7fd-29p", "kq3m-x7fd-29pto", "Äkq3mx7fd29p"]
)
def test_a_token_that_a_host_has_made_up_stays_as_it_is(made_up: str) -> None:
    assert canonical_token(made_up) == made_up


def test_the_letters_of_a_token_have_no_look_alikes() -> None:
    assert TOKEN_LETTERS.lower() == TOKEN_LETTERS
    assert not set("il1o0") & set(TOKEN_LETTERS)


# --- the file ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("platform", "environ", "path"),
    [
        ("linux", {}, "/home/ada/.config/getstep/login.json"),
        ("linux", {"XDG_CONFIG_HOME": "/settings"}, "/settings/getstep/login.json"),
        ("darwin", {"XDG_CONFIG_HOME": "/no"}, "/home/ada/Library/Application Support/getstep/login.json"),
        ("win32", {"APPDATA": "/roaming"}, "/roaming/getstep/login.json"),
        ("win32", {}, "/home/ada/AppData/Roaming/getstep/login.json"),
        ("win32", {"GETSTEP_LOGIN_FILE": "/mine"}, "/mine"),
    ],
)
def test_the_place_of_the_file_on_each_system(platform: str, environ: dict[str, str], path: str) -> None:
    assert login_file(platform, environ, Path("/home/ada")) == Path(path)


def test_what_is_saved_is_read_again() -> None:
    assert saved_login.load() is None
    saved = SavedLogin("::1", 1, 0, "My-Own-Secret", Seen("Autumn", 1e9, over=True))
    saved_login.save(SAVED)
    saved_login.save(saved)
    assert saved_login.load() == saved
    assert TOKEN not in repr(SAVED)


@pytest.mark.skipif(os.name != "posix", reason="Windows has no such modes; the settings folder is closed to others")
def test_only_the_user_can_read_the_file(file: Path) -> None:
    before = os.umask(0)
    try:
        saved_login.save(SAVED)
        saved_login.save(SAVED)
    finally:
        os.umask(before)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_a_write_that_fails_keeps_the_old_file(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    saved_login.save(SAVED)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(SetupError, match=r"cannot be saved: .*No space left"):
        saved_login.save(SavedLogin("other", 1, 1, "other-token"))
    assert saved_login.load() == SAVED
    assert [entry.name for entry in file.parent.iterdir()] == ["login.json"]


GOOD = {"host": "judge", "port": 7777, "team": 7, "token": TOKEN}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no json",
        "[]",
        "{}",
        "[" * 9000,
        json.dumps(GOOD | {"port": 0}),
        json.dumps(GOOD | {"port": True}),
        json.dumps(GOOD | {"team": -1}),
        json.dumps(GOOD | {"team": "7"}),
        json.dumps(GOOD | {"token": ""}),
        json.dumps(GOOD | {"host": "a\x1bb"}),
        json.dumps(GOOD | {"seen": {"contest": "x"}}),
        json.dumps(GOOD | {"seen": {"contest": "x", "at": 1e300, "over": False}}),
        json.dumps(GOOD | {"more": "x" * 10_000}),
    ],
)
def test_a_file_that_is_no_saved_login(file: Path, text: str) -> None:
    file.parent.mkdir()
    file.write_text(text)
    with pytest.raises(SetupError, match=r"login\.json: not a saved login .*\nType getstep login again"):
        find_address()
    assert find_address("judge") == Address("judge", 7777)  # the file is not needed
    assert main(["logout"]) == 0
    assert not file.exists()


def test_a_login_that_a_newer_getstep_has_saved(file: Path) -> None:
    file.parent.mkdir()
    file.write_text(json.dumps({**GOOD, "format": 2, "needs": "1.4.0"}))
    with pytest.raises(
        SetupError, match=r"it needs getstep 1\.4\.0 or newer, and this is .*\nType getstep login again"
    ):
        find_address()
    file.write_text(json.dumps({**GOOD, "format": 1, "needs": "0.1.0"}))
    assert find_address() == Address("judge", 7777)


# --- what wins ---------------------------------------------------------------------------------------------


def test_the_saved_login_is_used() -> None:
    saved_login.save(SAVED)
    assert find_address() == Address("192.168.1.10", 7001)
    assert find_login() == Login(TEAM, TOKEN)


def test_arguments_and_variables_win(monkeypatch: pytest.MonkeyPatch) -> None:
    saved_login.save(SAVED)
    assert find_address("judge") == Address("judge", 7777), "the saved port belongs to the saved host"
    assert find_address(port=7002) == Address("192.168.1.10", 7002)
    assert find_login(token="My-Own-Secret") == Login(TEAM, "My-Own-Secret")
    monkeypatch.setenv("GETSTEP_HOST", "other")
    monkeypatch.setenv("GETSTEP_TEAM", "8")
    monkeypatch.setenv("GETSTEP_TOKEN", "another-secret")
    assert find_address() == Address("other", 7777)
    assert find_login() == Login(8, "another-secret")


def test_the_saved_token_is_not_used_for_another_team() -> None:
    saved_login.save(SAVED)
    with pytest.raises(SetupError, match=r"The token of team 8 is missing(?s:.*)getstep login"):
        find_login(8)


# --- the command -------------------------------------------------------------------------------------------


def lets_in(session: Session) -> None:
    session.let_in(Goodbye(reason="checked", detail="", retry_ms=None))
    assert session.join is not None
    assert session.join.purpose == "check", "the seat of a bot that plays is not taken"


def test_login_with_options(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with FakeServer(lets_in) as server:
        words = [
            "login",
            "--host",
            "127.0.0.1",
            "--port",
            str(server.port),
            "--team",
            "7",
            "--token",
            "KQ3MX7FD29PT",
        ]
        assert main(words) == 0
    saved = saved_login.load()
    assert saved is not None
    assert (saved.host, saved.port, saved.team, saved.token) == ("127.0.0.1", server.port, TEAM, TOKEN)
    assert saved.seen is not None
    assert (saved.seen.contest, saved.seen.over) == ("Autumn", False)
    out = capsys.readouterr().out
    assert out.splitlines() == [
        "Autumn: team 7 is The Hoppers; the token was accepted.",
        f"Saved in {file}, which only you can read.",
        "Next, type: getstep play my_bot.py",
        "A bot in another language needs no options any more: ./my_bot, java MyBot, node my_bot.mjs",
    ]


def test_login_asks_for_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("\n127.0.0.1\n7\nkq3m x7fd 29pt\n"))
    with FakeServer(lets_in) as server:
        assert main(["login", "--port", str(server.port)]) == 0
    assert find_login() == Login(TEAM, TOKEN)


@pytest.mark.parametrize("typed", ["", "\n\n\n\n", "127.0.0.1\n", "127.0.0.1\n7\n"])
def test_login_without_answers(
    typed: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
    assert main(["login"]) == 2
    assert "The login is not complete. Give --host" in capsys.readouterr().err
    assert saved_login.load() is None


def test_the_token_is_not_shown_at_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    questions = []

    def hidden(question: str) -> str:
        questions.append(question)
        return TOKEN

    monkeypatch.setattr(_login_command, "_at_terminal", lambda: True)
    monkeypatch.setattr(_login_command, "getpass", hidden)
    with FakeServer(lets_in) as server:
        assert main(["login", "--host", "127.0.0.1", "--port", str(server.port), "--team", "7"]) == 0
    assert len(questions) == 1


def test_a_login_that_is_refused_is_not_saved(capsys: pytest.CaptureFixture[str]) -> None:
    def script(session: Session) -> None:
        assert isinstance(session.greet(), Join)
        session.say(Goodbye(reason="bad_token", detail="Not you.", retry_ms=None))

    saved_login.save(SAVED)
    with FakeServer(script) as server:
        words = ["--host", "127.0.0.1", "--port", str(server.port), "--team", "7", "--token", TOKEN]
        assert main(["login", *words]) == 1
    assert "Copy the token again" in capsys.readouterr().err
    assert saved_login.load() == SAVED


def test_a_server_that_is_full_or_of_another_version(capsys: pytest.CaptureFixture[str]) -> None:
    def full(session: Session) -> None:
        session.say(Goodbye(reason="too_many_connections", detail="4096 are enough", retry_ms=5000))

    def newer(session: Session) -> None:
        session.greet(versions=[2])

    for script, says in ((full, "4096 are enough"), (newer, "pip install --upgrade -r http://127.0.0.1:8080/pip")):
        with FakeServer(script) as server:
            words = ["--host", "127.0.0.1", "--port", str(server.port), "--team", "7", "--token", TOKEN]
            assert main(["login", *words]) == 1
        assert says in capsys.readouterr().err
    assert saved_login.load() is None


def test_a_server_that_has_not_proved_itself_is_not_remembered(capsys: pytest.CaptureFixture[str]) -> None:
    with FakeServer(lambda session: session.let_in(proof=no_proof)) as server:
        words = ["--host", "127.0.0.1", "--port", str(server.port), "--team", "7", "--token", TOKEN]
        assert main(["login", *words]) == 0
    assert "Careful: this server has not proved" in capsys.readouterr().err
    saved = saved_login.load()
    assert saved is not None
    assert saved.seen is None


def test_nothing_is_saved_if_nothing_listens(capsys: pytest.CaptureFixture[str]) -> None:
    with FakeServer() as server:
        port = server.port
    assert main(["login", "--host", "127.0.0.1", "--port", str(port), "--team", "7", "--token", TOKEN]) == 1
    assert "nothing listens there; the server is not running yet" in capsys.readouterr().err
    assert saved_login.load() is None


def test_logout(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved_login.save(SAVED)
    assert main(["logout"]) == 0
    assert main(["logout"]) == 0
    assert capsys.readouterr().out.splitlines() == [f"Removed {file}.", "No login is saved."]
    assert not file.exists()


# --- play with it ------------------------------------------------------------------------------------------


def play(port: int) -> int:
    saved_login.save(SavedLogin("127.0.0.1", port, TEAM, TOKEN))
    Path("a_bot.py").write_text("def get_step(board, is_black):\n    return (0, 0)\n")
    return main(["play", "a_bot.py"])


def test_play_needs_no_options_and_remembers_that_the_contest_is_over() -> None:
    def script(session: Session) -> None:
        session.let_in(OVER)

    with FakeServer(script) as server:
        assert play(server.port) == 0
    saved = saved_login.load()
    assert saved is not None
    assert saved.seen is not None
    assert (saved.seen.contest, saved.seen.over) == ("Autumn", True)
    assert "any more; 'Autumn' was over when it was last seen, 20" in absence("127.0.0.1", server.port)


def test_an_end_without_a_proof_is_not_remembered() -> None:
    def script(session: Session) -> None:
        session.let_in(Goodbye(reason="replaced", detail="", retry_ms=None), proof=no_proof)
        until_closed(session)

    with FakeServer(script) as server:
        assert play(server.port) == 1
    saved = saved_login.load()
    assert saved is not None
    assert saved.seen is None


def test_what_an_absent_server_means(monkeypatch: pytest.MonkeyPatch) -> None:
    unknown = "nothing listens there; the server is not running yet, or the port is wrong"
    assert absence("judge", 7777) == unknown
    saved_login.save(SavedLogin("judge", 7777, TEAM, TOKEN))
    assert absence("judge", 7777) == unknown
    note_seen("judge", 7777, TEAM, "Autumn")
    assert "'Autumn' was there on 20" in absence("judge", 7777)
    assert "was not over" in absence("judge", 7777)
    assert absence("judge", 7778) == unknown
    note_seen("judge", 7777, TEAM, "Autumn", over=True)
    assert "over when it was last seen" in absence("judge", 7777)


def test_only_the_saved_team_at_the_saved_host_is_remembered() -> None:
    note_seen("judge", 7777, TEAM, "Autumn")
    assert saved_login.load() is None
    saved_login.save(SAVED)
    note_seen(SAVED.host, SAVED.port, TEAM + 1, "Autumn")
    note_seen("judge", SAVED.port, TEAM, "Autumn")
    assert saved_login.load() == SAVED
