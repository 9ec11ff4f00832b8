"""Versions of programs that are stored without a build."""

from __future__ import annotations

from getstep_server.programs.store import ProgramStore
from getstep_server.programs.version import Description, ProgramVersion


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
