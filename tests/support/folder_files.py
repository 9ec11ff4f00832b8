"""The files of a contest's folder that docs/course.md names, each with a bound."""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path

from tests.support.limits_removed import ROOT

_ROW = re.compile(r"^\| ((?:`[^`]+`(?:, )?)+) \|", re.MULTILINE)


def named() -> list[str]:
    """Return the patterns of the table; ``*`` stands for folders, too."""
    text = (ROOT / "docs" / "course.md").read_text(encoding="utf-8").partition("\n## What grows\n")[2]
    return [name for row in _ROW.findall(text.partition("\n## ")[0]) for name in re.findall("`([^`]+)`", row)]


def unnamed(names: Iterable[str]) -> list[str]:
    """Return those of these paths in a contest's folder that the table does not name."""
    patterns = named()
    return [name for name in names if not any(fnmatchcase(name, pattern) for pattern in patterns)]


def unnamed_in(folder: Path) -> list[str]:
    """Return the files in a contest's folder that the table does not name."""
    return unnamed(path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir())
