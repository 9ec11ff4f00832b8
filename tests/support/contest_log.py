"""The lines of a contest's log."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def lines_of(folder: Path) -> list[dict[str, Any]]:
    """Return every line of the log, oldest file first."""
    files = sorted(folder.glob("contest.log*"), key=lambda path: path.name, reverse=True)
    return [json.loads(line) for path in files for line in path.read_text("ascii").splitlines()]
