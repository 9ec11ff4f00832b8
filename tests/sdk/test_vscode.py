"""``getstep new --vscode``: tasks and launch configurations for a bot in each language."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from getstep.cli import _parser, _with_command, main
from getstep.languages import language_of
from getstep_engines import GAMES
from tests.support.languages import need
from tests.support.patience import PATIENCE_SECONDS

BOTS = ["mein Bötchen.py", "mein Bötchen.cpp", "mein Bötchen.mjs", "MyBot.java", "MyBot.cs"]

Entry = dict[str, Any]


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "meine Böte"
    folder.mkdir()
    monkeypatch.chdir(folder)


def new(*words: str) -> tuple[dict[str, Entry], dict[str, Entry]]:
    """Return the tasks and the launch configurations that ``getstep new`` writes, by their names."""
    assert main(["new", *words, "--vscode"]) == 0
    tasks, launches = (json.loads(Path(".vscode", f"{name}.json").read_bytes()) for name in ("tasks", "launch"))
    return {one["label"]: one for one in tasks["tasks"]}, {one["name"]: one for one in launches["configurations"]}


def getstep_commands(tasks: dict[str, Entry], launches: dict[str, Entry]) -> Iterator[list[str]]:
    """Yield the words after ``getstep`` of each task and each configuration that starts it."""
    for task in tasks.values():
        if task["command"] == sys.executable:
            assert task["args"][:2] == ["-m", "getstep"]
            yield task["args"][2:]
    for launch in launches.values():
        if launch.get("module") == "getstep":
            yield launch["args"]
        elif launch.get("runtimeExecutable") == sys.executable:
            assert launch["runtimeArgs"][:2] == ["-m", "getstep"]
            yield launch["runtimeArgs"][2:]


@pytest.mark.parametrize("platform", ["linux", "darwin", "win32"])
@pytest.mark.parametrize("game", ["hop", "all"])
@pytest.mark.parametrize("name", BOTS)
def test_what_is_written_names_commands_that_exist(
    name: str, game: str, platform: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.platform", platform)
    # what `shutil.which` asks on Windows from Python 3.12 on
    monkeypatch.setattr("shutil._winapi", SimpleNamespace(NeedCurrentDirectoryForExePath=bool), raising=False)
    tasks, launches = new(name, "--game", game)
    language = language_of(Path(name).suffix)
    builds = language.builds_here(platform) if language else []
    tools = {sys.executable, *(build.tool for build in builds), *(build.run.split()[0] for build in builds)}
    for task in tasks.values():
        assert task["command"] in tools or task["command"].startswith("${workspaceFolder}/mein Bötchen")
        assert task.get("dependsOn", task["label"]) in tasks
    for launch in launches.values():
        assert launch.get("preLaunchTask", next(iter(tasks))) in tasks
    found = list(getstep_commands(tasks, launches))
    assert any(words[0] == "practice" for words in found)
    for words in found:
        given, command = _with_command(words)
        options = _parser().parse_args(given)
        assert (str(options.bot) == name) != bool(command)
        if options.run.__name__ == "_practice" and (game == "all" or command):
            assert options.game == ("${input:game}" if game == "all" else "hop")
    for file in ("tasks", "launch"):
        asked = json.loads(Path(".vscode", f"{file}.json").read_bytes()).get("inputs", [])
        assert [one["options"] for one in asked] == ([list(GAMES)] if game == "all" else [])


def test_the_files_that_are_there_are_kept(capsys: pytest.CaptureFixture[str]) -> None:
    Path(".vscode").mkdir()
    Path(".vscode", "tasks.json").write_text("mine")
    assert main(["new", "a.py", "--game", "hop", "--vscode"]) == 0
    assert Path(".vscode", "tasks.json").read_text() == "mine"
    said = capsys.readouterr().out
    assert f"Kept {Path('.vscode', 'tasks.json')}. For a.py, add to the lists in it:" in said
    assert '"label": "getstep: practise a.py"' in said
    assert f"Wrote {Path('.vscode', 'launch.json')}" in said


@pytest.mark.long
def test_the_tasks_build_what_the_debugger_starts() -> None:
    """Of the compilers, that of C# is the fastest: 1 s."""
    need("mcs")
    tasks, launches = new("MyBot.cs", "--game", "hop")
    build = tasks["getstep: build for the debugger MyBot.cs"]
    subprocess.run([build["command"], *build["args"]], check=True, timeout=PATIENCE_SECONDS)
    launch = launches["getstep: play MyBot.cs"]
    assert Path(launch["program"].replace("${workspaceFolder}", ".")).is_file()
