"""Games of other packages for tests: the metadata that pip writes, without pip."""

from __future__ import annotations

import importlib
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from getstep_engines import GAMES, GROUP

OTHELLO = Path(__file__).parents[2] / "examples" / "othello"
OTHELLO_BATCH = OTHELLO.with_name("othello_batch")


def write_metadata(folder: Path, package: str, points: dict[str, str], group: str = GROUP) -> None:
    """Write into ``folder`` what an installed package has beside its modules; ``points`` are its entry points."""
    info = folder / f"{package.replace('-', '_')}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n", encoding="utf-8")
    lines = [f"[{group}]", *(f"{name} = {value}" for name, value in points.items())]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_othello(folder: Path, source: Path = OTHELLO) -> list[Path]:
    """Write Othello's metadata into ``folder``, or its batch's; return the folders that make a package of it."""
    project: dict[str, Any] = tomllib.loads((source / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for group, points in project["entry-points"].items():
        write_metadata(folder, project["name"], points, group)
    return [folder, source]


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
