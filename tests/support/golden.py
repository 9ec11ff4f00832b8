"""Golden files: the wording of a screen is kept in one text file under ``tests/server/golden``, not in many tests.

After a change of wording, write the files again, then read what changed with ``git diff``::

    GETSTEP_UPDATE_GOLDEN=1 python -m pytest tests/server/test_screens.py
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Mapping
from pathlib import Path

GOLDEN = Path(__file__).parents[1] / "server" / "golden"
UPDATE = "GETSTEP_UPDATE_GOLDEN"
"""The environment variable that makes `assert_golden` write the files instead of comparing them."""

VARIABLE: Mapping[str, str] = {
    r"\bport \d+": "port PORT",
    r"\b\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d)?(?:\.\d+)?": "DATE TIME",
    r"\b[0-9a-f]{64}\b": "HASH",
    r"\b[a-z0-9]{4}-[a-z0-9]{4}-[a-z0-9]{4}\b": "TOKEN",
}
"""Regular expressions of text that differs from run to run, with the word for it in a golden file."""


def assert_golden(
    name: str, text: str, variable: Mapping[str, str] | None = None, folder: Path | None = None
) -> None:
    """Raise an error if ``text`` is not what the golden file says.

    Args:
        name: of the file, without ``.txt``; hyphens between its words.
        text: a screen as a user sees it. Spaces at the ends of lines do not count.
        variable: further regular expressions and what replaces them, applied before those of `VARIABLE`.
        folder: where the file is; by default `GOLDEN`.

    Raises:
        AssertionError: the text differs; the message is the difference, line by line.
    """
    for pattern, word in {**(variable or {}), **VARIABLE}.items():
        text = re.sub(pattern, word, text)
    lines = [line.rstrip() for line in text.splitlines()]
    path = (folder or GOLDEN) / f"{name}.txt"
    if os.environ.get(UPDATE):
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        return
    expected = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    if lines != expected:
        shown = "\n".join(difflib.unified_diff(expected, lines, str(path), "now", lineterm=""))
        raise AssertionError(
            f"{shown}\n\nIf the change is meant, run the test with {UPDATE}=1 and commit the file."
        )
