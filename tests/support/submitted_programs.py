"""Programs of teams: stored as they are, or built and tried on this machine."""

from __future__ import annotations

import os
import shutil
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from getstep_server.config.contest import Contest
from getstep_server.programs import adding
from getstep_server.programs.adding import NewProgram
from getstep_server.programs.protection import machine_key
from getstep_server.programs.source import source_of
from getstep_server.programs.store import ProgramStore
from getstep_server.programs.version import Description, ProgramVersion
from tests.support.contests import make_contest

GET_STEP = """\
from getstep_engines import GAMES

def get_step(board, is_black):
    return next((r, c) for r, row in enumerate(board) for c, cell in enumerate(row) if not cell)
"""
"""A file that plays longest_path and pseudo_tonga."""


def add_program(
    folder: Path, team: int, convention: str, source: str, *, use: bool = True, id_line: str = ""
) -> ProgramVersion:
    """Add a Python program, and let the team use it."""
    store = ProgramStore(folder)
    with store.adding(team) as new:
        for name in ("source", "files"):
            (new / name).mkdir()
            (new / name / "program.py").write_text(source, encoding="utf-8")
        description = Description(
            team=team,
            number=1,
            sha256=sha256(source.encode()).hexdigest(),
            convention=convention,
            command=("python", "program.py"),
            language="Python",
            added="2026-11-23T03:30:00.000Z",
            added_by="the test",
            id_line=id_line,
        )
        return store.store(team, new, description, use=use)


# --- versions of programs that are stored without a build -------------------------------------------------------


def described(team: int = 1, **changes: object) -> Description:
    fields: dict[str, object] = {
        "team": team,
        "number": 1,
        "sha256": "ab" * 32,
        "convention": "linkage",
        "command": ("python", "bot.py"),
        "language": "Python",
        "added": "2026-01-02T03:04:05.000Z",
        "added_by": "host",
        "trial": "won",
    }
    return Description(**{**fields, **changes})  # type: ignore[arg-type]  # each field has its own type


def stored(store: ProgramStore, team: int = 1, *, use: bool = True, text: str = "print()") -> ProgramVersion:
    """Store a version with one file."""
    with store.adding(team) as new:
        for name in ("source", "files"):
            (new / name).mkdir()
            (new / name / "bot.py").write_text(text, encoding="utf-8")
        return store.store(team, new, described(team), use=use)


# --- contests whose programs are built and tried on this machine ------------------------------------------------

needs_sandbox = pytest.mark.skipif(
    not os.environ.get("GETSTEP_REQUIRE_BROWSER") and shutil.which("bwrap") is None,
    reason="there is no sandbox here: apt install bubblewrap",
)


def contest_of(folder: Path, game: str, **programs: Any) -> Contest:
    """Return a contest of Ada and Blaise in a game; ``programs`` is the table of that name.

    The sandbox of this machine counts as tried: that takes 6 s.
    """
    trust_sandbox(folder)
    event = {"game": game, "move_seconds": 20}
    return make_contest(folder, ["Ada", "Blaise"], on_disk=True, event=event, programs=programs)


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
    program = NewProgram(team, source, "host", convention, entry=entry)
    return adding.add_program(contest, program, ticks.append).version
