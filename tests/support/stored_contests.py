"""The contests of an earlier version, with a port."""

from __future__ import annotations

from pathlib import Path

from tests.old_contests.contests import unpack


def copied(name: str, folder: Path, version: str = "0.1.0-before-settings") -> None:
    """Unpack an old contest, and give it a port that slips can name."""
    unpack(f"{version}/{name}", folder)
    path = folder / "contest.toml"
    path.write_text(path.read_text(encoding="utf-8").replace("port = 0", "port = 7777"), encoding="utf-8")
