"""The example programs of the conventions: each plays whole games without a fault, and beats random moves.

The quick tests play those in Python. The long ones compile the others with the commands that `getstep` prints.
"""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from getstep.conventions import CONVENTIONS
from getstep.local_matches.screen import Screen
from getstep.local_matches.series import Plan, entrant, run
from getstep.programs.program import identity_of
from getstep.programs.start import SOURCES, WRAPPERS_FOLDER
from getstep_server.config.event import game_heading
from tests.support.convention_programs import game_of
from tests.support.languages import EXAMPLES, SUFFIXES, TOOLS, example, need
from tests.support.submitted_programs import add, contest_of, needs_sandbox


def copied(convention: str, language: str, folder: Path) -> Path:
    """Copy an example into a folder of its own."""
    return Path(shutil.copy(example(convention, language), folder))


def compiled(convention: str, language: str, folder: Path) -> Path:
    """Compile a copy of an example, without a warning, and return the file to play."""
    file, source = copied(convention, language, folder), SOURCES[language]
    program, build = source.program, source.build
    if convention == "topcoder":
        shutil.copy(WRAPPERS_FOLDER / source.wrapper, folder)
        program, build = source.wrapped_program or program, source.wrapped
    warnings = {".cpp": "-Wall -Wextra -Wpedantic -Werror", ".java": "-Xlint:all -Werror", ".cs": "-warnaserror"}
    command = [*shlex.split(build.format(file=file.name, name=file.stem)), *shlex.split(warnings[language])]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / program.format(name=file.stem)


def games_won(convention: str, program: Path, games: int, opponent: str = "random") -> int:
    """Play games without a fault, and return how many the program has won.

    The opponent has the same seed in each run. The examples for chain_reaction have none: their games differ.
    """
    plan = Plan(game_of(convention), games, None, {}, seed="1")
    results = run(plan, entrant(program, convention), entrant(opponent), Screen(sys.stdout, games))
    assert (results.faults, len(results.matches)) == ([], games)
    assert not results.stopped
    return results.won


FILES = [(convention, language) for convention in CONVENTIONS for language in SUFFIXES]


def test_there_is_an_example_for_each_convention_and_language() -> None:
    wanted = {example(*file) for file in FILES}
    assert wanted == {path for path in EXAMPLES.rglob("*") if path.suffix in SUFFIXES}


@pytest.mark.parametrize("language", TOOLS)
def test_the_readme_has_the_commands_that_getstep_prints(language: str) -> None:
    readme, source = (EXAMPLES / "README.md").read_text(encoding="utf-8"), SOURCES[language]
    for convention, command in (("prodrive", source.build), ("topcoder", source.wrapped)):
        file = example(convention, language)
        assert f"\n{command.format(file=file.name, name=file.stem)}\n" in readme


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_an_example_in_python(tmp_path: Path, convention: str) -> None:
    games_won(convention, copied(convention, ".py", tmp_path), 1)


def test_the_id_line_of_the_example(tmp_path: Path) -> None:
    identity = identity_of(copied("linkage", ".py", tmp_path))
    assert (identity.name, identity.author) == ("Example in Python", "The getstep authors")


@pytest.mark.long  # compiles, and starts a virtual machine for each game
@pytest.mark.parametrize(("convention", "language"), FILES)
def test_an_example_beats_random(tmp_path: Path, convention: str, language: str) -> None:
    need(*TOOLS.get(language, ()))
    program = (compiled if language in TOOLS else copied)(convention, language, tmp_path)
    games = 4 if game_of(convention).name == "chain_reaction" else 2  # which has no seed: 1 game of 30 is lost
    assert games_won(convention, program, games) >= 1
    if convention == "topcoder":
        games_won(convention, program, 2, "house_pseudo_tonga")
    if convention == "linkage":
        assert identity_of(program).author == "The getstep authors"


@needs_sandbox
@pytest.mark.long  # builds and plays in the sandbox
@pytest.mark.parametrize(("convention", "language"), FILES)
def test_an_example_on_the_host(
    tmp_path: Path, convention: str, language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    need(*TOOLS.get(language, ()))
    # No second game: a program that is started in each turn plays it in seconds. The first tries the convention.
    monkeypatch.setattr("getstep_server.programs.trial.TRIAL_SECOND_SECONDS", 0.0)
    contest = contest_of(tmp_path, game_of(convention).name)
    file = example(convention, language)
    version = add(contest, file.name, file.read_bytes(), convention=convention)
    assert version.convention == convention
    assert version.trial.startswith(f"{game_heading(game_of(convention))}: ")
