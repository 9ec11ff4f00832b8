"""Contests whose programs are built and tried on this machine."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from getstep_server.config.contest import Contest, load_contest
from getstep_server.programs.adding import Submission, add_program
from getstep_server.programs.protection import machine_key
from getstep_server.programs.source import source_of
from getstep_server.programs.version import ProgramVersion
from tests.support.contest_files import CONTEST, OTHER, TEAM

needs_sandbox = pytest.mark.skipif(
    not os.environ.get("GETSTEP_REQUIRE_BROWSER") and shutil.which("bwrap") is None,
    reason="there is no sandbox here: apt install bubblewrap",
)


def contest_of(folder: Path, game: str, settings: str = "") -> Contest:
    """Return a contest of two teams in a game; ``settings`` are further lines of contest.toml.

    The sandbox of this machine counts as tried: that takes 6 s.
    """
    trust_sandbox(folder)
    event = f'[[event]]\ngame = "{game}"\nmove_seconds = 20\n'
    (folder / "contest.toml").write_text(f"{CONTEST}{event}{settings}", encoding="utf-8")
    (folder / "teams.toml").write_text(TEAM + OTHER, encoding="utf-8")
    return load_contest(folder)


def trust_sandbox(folder: Path) -> None:
    """Let the sandbox of this machine count as tried in a contest."""
    (folder / "programs").mkdir(parents=True, exist_ok=True)
    (folder / "programs" / ".protected").write_text(machine_key(), encoding="ascii")


def add(
    contest: Contest,
    name: str,
    data: bytes | str,
    told: list[str] | None = None,
    convention: str | None = None,
    team: int = 1,
    entry: str | None = None,
) -> ProgramVersion:
    """Add a file as the program of a team; ``told`` gets what goes on meanwhile."""
    source = source_of(name, data.encode() if isinstance(data, str) else data)
    ticks = [] if told is None else told
    submission = Submission(team, source, "host", convention, entry=entry)
    return add_program(contest, submission, ticks.append).version
