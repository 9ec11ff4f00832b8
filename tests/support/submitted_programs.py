"""Versions of programs in a contest's folder, without the build and the trial game of `programs add`."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

from getstep_server.programs.store import ProgramStore
from getstep_server.programs.version import Description, ProgramVersion

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
