"""Games of other packages for tests: the metadata that pip writes, without pip."""

from __future__ import annotations

import importlib
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from getstep_engines import GAMES

OTHELLO = Path(__file__).parents[2] / "examples" / "othello"


def write_metadata(folder: Path, package: str, games: dict[str, str]) -> None:
    """Write into ``folder`` what an installed package has beside its modules; ``games`` are its entry points."""
    info = folder / f"{package.replace('-', '_')}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n", encoding="utf-8")
    lines = ["[getstep.games]", *(f"{name} = {value}" for name, value in games.items())]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_othello(folder: Path) -> list[Path]:
    """Write Othello's metadata into ``folder``; return the folders that make it an installed package."""
    project: dict[str, Any] = tomllib.loads((OTHELLO / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    write_metadata(folder, project["name"], project["entry-points"]["getstep.games"])
    return [folder, OTHELLO]


def installed(monkeypatch: pytest.MonkeyPatch, *folders: Path) -> Iterator[None]:
    """Put ``folders`` on sys.path while a test runs, and let the registry look for games again before and after."""
    before = set(sys.modules)
    for folder in folders:
        monkeypatch.syspath_prepend(str(folder))
    importlib.invalidate_caches()
    GAMES.refresh()
    try:
        yield
    finally:
        monkeypatch.undo()
        for name in set(sys.modules) - before:
            if any(str(getattr(sys.modules[name], "__file__", None)).startswith(str(path)) for path in folders):
                del sys.modules[name]
        GAMES.refresh()
