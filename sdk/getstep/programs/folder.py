"""A program's folder: the file that the author means, and which files belong to the program."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from getstep._errors import BotError

from .java_class import files_with_main

_TOOLS = frozenset(
    [
        *(".git", ".hg", ".svn", ".venv", "venv", "__pycache__", ".mypy_cache", ".ruff_cache", ".pytest_cache"),
        *(
            ".idea",
            ".vscode",
            ".vs",
            ".getstep",
            "node_modules",
            "__MACOSX",
            ".DS_Store",
            "Thumbs.db",
            "desktop.ini",
        ),
    ]
)
"""Names of files and folders that tools make. `getstep submit` and the host leave out the same ones."""


def is_made_by_tools(parts: Sequence[str]) -> bool:
    """Return True if a path, by its ``parts``, leads to a file that a tool has made, not the program."""
    return not _TOOLS.isdisjoint(parts) or parts[-1].endswith(".pyc")


def find(path: Path) -> Path:
    """Return the whole path of a bot's file.

    Raises:
        BotError: there is no such file.
    """
    if path.is_file():
        return path.resolve()
    others = [path.with_name(f"{path.name}{suffix}") for suffix in (".py", ".exe", ".class")]
    if path.suffix == ".class":  # the class has another name than its source
        others += files_with_main(path.parent)
    others += _by_another_case(path)
    found = next((other for other in others if other.is_file()), None)
    hint = f"This folder is {Path.cwd()}" if found is None else f"did you mean {found}?"
    raise BotError(f"There is no file {path}.\n{hint[0].upper()}{hint[1:]}")


def _by_another_case(path: Path) -> list[Path]:
    """Return the files that differ from a name by capital letters, ``-`` or ``_`` only, as MyBot and my_bot do."""

    def letters(name: str) -> str:
        return name.lower().replace("_", "").replace("-", "")

    try:
        return sorted(other for other in path.parent.iterdir() if letters(other.name) == letters(path.name))
    except OSError:  # there is no such folder
        return []
