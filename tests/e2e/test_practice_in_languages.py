"""Practice with a bot in each language, as its page says: built, played, and its mistakes shown."""

from __future__ import annotations

from pathlib import Path

import pytest

import getstep
from getstep import cli
from getstep._errors import BotError
from tests.support.languages import need

pytestmark = pytest.mark.long  # compilers

LANGUAGES = {
    "MyBot.java": ("javac", "java"),
    "MyBot.cs": ("mcs", "mono"),
    "my_bot.mjs": ("node",),
    "my_bot.cpp": ("g++",),
}


@pytest.mark.parametrize("name", LANGUAGES)
def test_the_first_bot_practises(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    need(*LANGUAGES[name])
    monkeypatch.chdir(tmp_path)
    assert cli.main(["new", name, "--game", "linkage"]) == 0
    assert f"  getstep practice {name}\n" in capsys.readouterr().out
    assert cli.main(["practice", name, "--games", "2", "--against", name]) == 0
    out = capsys.readouterr().out
    assert f"{name} against {name}, linkage: " in out
    assert " printed " not in out
    assert out.count("Building: ") == (name != "my_bot.mjs"), (
        "the opponent is the same program, which is built once"
    )


def test_a_class_may_have_another_name_than_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    need("javac", "java")
    monkeypatch.chdir(tmp_path)
    assert cli.main(["new", "MyBot.java", "--game", "linkage"]) == 0
    source = Path("MyBot.java").read_text(encoding="utf-8")
    Path("PlayerOne.java").write_text(
        source.replace("public class MyBot", "class playerOne").replace("MyBot::", "playerOne::"), encoding="utf-8"
    )
    Path("MyBot.java").unlink()
    assert getstep.practice("PlayerOne.java", "linkage", "random", 1, quiet=True).faults == []
    Path("Public.java").write_text(source, encoding="utf-8")
    with pytest.raises(BotError) as error:
        getstep.practice("Public.java", "linkage", quiet=True)
    assert "Public.java:" in error.value.trace
    assert "Write that class without public, or give its file that name." in str(error.value)
    Path("packaged").mkdir()
    Path("packaged/Bot.java").write_text(
        "package packaged;\npublic class Bot { public static void main(String[] words) {} }", encoding="utf-8"
    )
    with pytest.raises(BotError, match="has not connected: its process has ended with exit code 0"):
        getstep.practice("packaged/Bot.java", "linkage", quiet=True)
