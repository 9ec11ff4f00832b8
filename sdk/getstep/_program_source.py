"""Which files of a folder are part of a program. `getstep submit` and the host leave out the same ones."""

from __future__ import annotations

from collections.abc import Sequence

_TOOLS = frozenset(
    [
        *(".git", ".hg", ".svn", ".venv", "venv", "__pycache__", ".mypy_cache", ".ruff_cache", ".pytest_cache"),
        *(".idea", ".vscode", ".vs", "node_modules", "__MACOSX", ".DS_Store", "Thumbs.db", "desktop.ini"),
    ]
)
"""Names of files and folders that tools make."""


def is_made_by_tools(parts: Sequence[str]) -> bool:
    """Return True if a path, by its ``parts``, leads to a file that a tool has made, not the program."""
    return not _TOOLS.isdisjoint(parts) or parts[-1].endswith(".pyc")
