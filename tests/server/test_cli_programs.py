"""The command `programs`: what it prints, and its exit codes."""

from __future__ import annotations

import getpass
from pathlib import Path

import pytest

from getstep_server.cli import programs
from getstep_server.programs import trial
from getstep_server.programs.store import ProgramStore
from tests.support.command import Command
from tests.support.convention_programs import PROGRAMS
from tests.support.golden import assert_golden
from tests.support.submitted_programs import contest_of, needs_sandbox, stored


@pytest.fixture
def contest(command: Command) -> Path:
    """A contest in the current folder."""
    return contest_of(Path("autumn"), "longest_path").folder


@needs_sandbox
def test_a_program_is_added_and_listed(command: Command, contest: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "TRIAL_SECOND_SECONDS", 0)
    Path("bot.py").write_text(PROGRAMS["prodrive"], encoding="utf-8")
    added = command("programs", "add", "autumn", "Ada", "bot.py", "--by", "Grace\x1b[2J")
    assert (added.code, added.err) == (0, "")
    out = added.out.replace("lost", "won")
    assert_golden("programs-add", out)
    listed = command("programs", "list", "autumn").out
    assert listed.splitlines()[1].split()[:6] == ["Ada", "1", "in", "use", "Python", "prodrive"]
    assert "Grace\\u001b[2J" in listed


@needs_sandbox
def test_a_program_that_is_refused(command: Command, contest: Path) -> None:
    Path("bot.py").write_text("def get_step(board, is_black)\n", encoding="utf-8")
    ran = command("programs", "add", "autumn", "1", "bot.py")
    assert (ran.code, ran.out) == (1, "")
    lines = ran.err.splitlines()
    assert lines[0] == "The program of Ada was not stored: it does not compile: python has ended with exit code 1"
    assert lines[1] == '    File "bot.py", line 1'
    assert command("programs", "list", "autumn").out.startswith("No programs: all bots connect over the network.")


@needs_sandbox
def test_a_host_without_a_sandbox_is_warned(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    contest_of(Path("autumn"), "longest_path", sandbox="none")
    Path("bot.py").write_text("def", encoding="utf-8")
    ran = command("programs", "add", "autumn", "1", "bot.py")
    assert ran.err.startswith(
        'getstep-server: contest.toml has sandbox = "none": programs run on this machine without'
    )


def test_ctrl_c_is_told(command: Command, contest: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from getstep_server.programs import adding

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(adding, "add_program", stop)
    Path("bot.py").write_text("", encoding="utf-8")
    ran = command("programs", "add", "autumn", "Ada", "bot.py")
    assert (ran.code, ran.out, ran.err) == (130, "", "Stopped; nothing was stored.\n")


def test_ctrl_c_in_the_last_moment_is_told(
    command: Command, contest: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from getstep_server.programs import adding

    def stop(*_: object) -> None:
        stored(ProgramStore(contest))
        raise KeyboardInterrupt

    monkeypatch.setattr(adding, "add_program", stop)
    Path("bot.py").write_text("", encoding="utf-8")
    assert command("programs", "add", "autumn", "Ada", "bot.py").err == "Stopped; version 1 is stored already.\n"


def test_the_versions_are_listed(command: Command, contest: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    store = ProgramStore(contest)
    for team in (1, 1, 2, 1):
        stored(store, team)
    command("programs", "remove", "autumn", "Ada", "1")
    command("programs", "use", "autumn", "Blaise", "none")
    assert_golden("programs-list", command("programs", "list", "autumn").out)
    assert len(command("programs", "list", "autumn", "Blaise").out.splitlines()) == 2


def test_a_version_is_chosen_and_removed(command: Command, contest: Path) -> None:
    store = ProgramStore(contest)
    stored(store)
    stored(store)
    assert command("programs", "use", "autumn", "Ada", "1").out == (
        "Ada plays with version 1, from its next match on.\n"
    )
    assert command.complaint("programs", "remove", "autumn", "Ada", "1") == (
        "version 1 is in use; choose another version first"
    )
    assert command("programs", "remove", "autumn", "Ada", "2").out == "The files of version 2 of Ada are removed.\n"
    assert command("programs", "use", "autumn", "Ada", "none").out == (
        "The bots of Ada play from the network, from its next match on.\n"
    )
    assert ProgramStore(contest).current(1) is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("add autumn Eve bot.py", "TEAM 'Eve': no team has this name; see getstep-server teams list autumn"),
        ("add autumn 7 bot.py", "TEAM 7: no team in teams.toml has this id; see getstep-server teams list autumn"),
        ("add autumn Ada gone.py", "gone.py: No such file or directory"),
        ("use autumn Ada 1", "team 1 has no program yet"),
        ("use autumn Ada first", "VERSION 'first': expected the number of a version"),
        ("list nowhere", "nowhere: no contest.toml here; make a contest with: getstep-server init nowhere"),
    ],
)
def test_a_wrong_command_line(command: Command, contest: Path, arguments: str, message: str) -> None:
    assert command.complaint("programs", *arguments.split()) == message


def test_the_name_of_the_user_may_be_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown() -> str:
        raise KeyError("getpwuid(): uid not found: 12345")

    monkeypatch.setattr(getpass, "getuser", unknown)
    assert programs._user() == "host"
