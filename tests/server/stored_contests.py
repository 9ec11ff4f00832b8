"""The contests in the folder ``stored``."""

from __future__ import annotations

import shutil
from pathlib import Path

STORED = Path(__file__).with_name("stored")


def copied(name: str, folder: Path) -> None:
    """Copy a stored contest, and give it a port that slips can name."""
    shutil.copytree(STORED / name, folder)
    path = folder / "contest.toml"
    path.write_text(path.read_text(encoding="utf-8").replace("port = 0", "port = 7777"), encoding="utf-8")
