"""Bots in other languages play real contests: the first bots, built by the lines that are printed for them."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from getstep.cli import main
from getstep.languages import LANGUAGES, Language
from getstep_engines import GAMES
from getstep_server.config.contest import load_contest
from getstep_server.storage.contest_state import results_of
from tests.sdk.languages.drivers import compile_cpp, need

from .output import ServerOutput
from .programs import MakeContest, Program, Programs, token_of

PACKAGES = {"cpp": ("g++", "g++"), "javascript": ("node", "nodejs")}
"""The tool that each language needs here, and the package of the system that has it."""

every_language = pytest.mark.parametrize("language", LANGUAGES.values(), ids=LANGUAGES)


def built(language: Language, folder: Path, game: str) -> list[str]:
    """Write and build the first bot of a game as a contestant does, and return the command that starts it."""
    folder.mkdir()
    file = folder / f"my_bot{language.suffix}"
    assert main(["new", str(file), "--game", game]) == 0
    build = language.build_here()
    assert build is not None
    *building, run = build.commands(file)
    for line in building:
        subprocess.run(shlex.split(line), cwd=folder, check=True)
    program, *arguments = shlex.split(run)
    return [str(folder / program) if program.startswith("./") else shutil.which(program) or program, *arguments]


def start(programs: Programs, command: list[str], server: ServerOutput, team: int, folder: Path) -> Program:
    """Start a bot for a team."""
    where = ["--host", "127.0.0.1", "--port", str(server.port)]
    return programs.start(*command, *where, "--team", str(team), "--token", token_of(team), cwd=folder)


def plays_without_a_fault(
    language: Language, game: str, programs: Programs, make_contest: MakeContest, tmp_path: Path
) -> None:
    """Play a contest of the first bot against itself."""
    need(*PACKAGES[language.name])
    command = built(language, tmp_path / "bot", game)
    folder = make_contest(["", ""], game=game)
    server = programs.serve_in_thread(folder)
    bots = [start(programs, command, server, team, tmp_path / "bot") for team in (1, 2)]
    assert server.wait() == 0
    assert [bot.wait() for bot in bots] == [0, 0]
    played = results_of(load_contest(folder))
    assert [result.reason for result in played] == ["finished", "finished"]
    assert [result.faults for result in played] == [(0, 0), (0, 0)]
    assert server.complaints == []
    assert "Match 2: " in bots[0].output


@pytest.mark.long
@every_language
@pytest.mark.parametrize("game", GAMES)
def test_a_first_bot_plays_by_the_rules(
    game: str, language: Language, programs: Programs, make_contest: MakeContest, tmp_path: Path
) -> None:
    plays_without_a_fault(language, game, programs, make_contest, tmp_path)


@pytest.mark.long
def test_the_bot_that_searches_in_cpp(programs: Programs, make_contest: MakeContest, tmp_path: Path) -> None:
    """It wins against the first bot, within its time."""
    need(*PACKAGES["cpp"])
    language = LANGUAGES["cpp"]
    source = language.folder / "bots" / "search_pseudo_tonga.cpp"
    search = [str(compile_cpp(source, tmp_path / "search", ["-O2", "-Wno-conversion", "-Wno-sign-conversion"]))]
    first = built(language, tmp_path / "bot", "pseudo_tonga")
    folder = make_contest(["", ""], game="pseudo_tonga", budget_seconds=4)
    server = programs.serve_in_thread(folder)
    bots = [start(programs, command, server, team, tmp_path) for team, command in ((1, search), (2, first))]
    assert server.wait() == 0
    assert [bot.wait() for bot in bots] == [0, 0]
    played = results_of(load_contest(folder))
    assert [result.reason for result in played] == ["finished"] * 2
    assert [result.match.teams[result.winner] for result in played if result.winner is not None] == [1, 1]
