"""Hints name the command as the user has started it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from getstep import text
from getstep.cli import main
from getstep.text import as_started, command_word
from tests.support.patience import PATIENCE_SECONDS


def test_hints_begin_as_the_command_was_started(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "getstep", "new", "my_bot.py", "--game", "hop"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE_SECONDS,
    )
    assert f"\n  {sys.executable} -m getstep practice my_bot.py\n" in ran.stdout
    assert f"\n  {sys.executable} -m getstep login\n" in ran.stdout


@pytest.mark.parametrize(
    ("typed", "platform", "activated", "word"),
    [
        ("python3", "linux", True, "python3 -m getstep"),
        ("/home/ada/my env/bin/python", "linux", True, '"/home/ada/my env/bin/python" -m getstep'),
        ("/the/launchers/python.exe", "win32", True, "py -m getstep"),
        ("python", "win32", True, "python -m getstep"),
        ("/base/python.exe", "win32", False, "/env/python.exe -m getstep"),
    ],
)
def test_how_it_was_started(
    monkeypatch: pytest.MonkeyPatch, typed: str, platform: str, activated: bool, word: str
) -> None:
    monkeypatch.setattr(sys, "argv", [str(Path(text.__file__).with_name("__main__.py")), "play"])
    monkeypatch.setattr(sys, "orig_argv", [typed, "-m", "getstep", "play"])
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(sys, "executable", "/env/python.exe")
    monkeypatch.setattr(sys, "prefix", "/env")
    monkeypatch.setenv("VIRTUAL_ENV", "/env")
    if not activated:
        monkeypatch.delenv("VIRTUAL_ENV")
    assert command_word() == word
    assert as_started("Type getstep login, a getstep server, getstep players") == (
        f"Type {word} login, a getstep server, getstep players"
    )


def test_help_and_errors_name_it_too(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(text, "command_word", lambda: "py -m getstep")
    with pytest.raises(SystemExit):
        main(["play", "--help"])
    assert "\n  py -m getstep play my_bot.py" in capsys.readouterr().out
    assert main(["rules", "chess"]) == 2
    text.Console().warn("Type getstep login again")
    assert "Type py -m getstep login again" in capsys.readouterr().err


def test_the_installed_command_has_its_own_name() -> None:
    assert command_word() == "getstep"
    assert as_started("Type getstep login") == "Type getstep login"
