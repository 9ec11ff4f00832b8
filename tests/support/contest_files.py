"""Contest folders with any text in their files, and the message about the first mistake."""

from __future__ import annotations

from pathlib import Path

import pytest

from getstep_engines import GAMES
from getstep_server.config.contest import load_contest
from getstep_server.errors import ConfigError

CONTEST = '[contest]\nname = "Autumn"\n'
HOP = '[[event]]\ngame = "hop"\n'
TEAM = '[[team]]\nid = 1\nname = "Ada"\ntoken = "12345678"\n'
OTHER = '[[team]]\nid = 2\nname = "Blaise"\ntoken = "12345678"\n'
ALL_GAMES = ", ".join(GAMES)
NOT_INSTALLED = f"an installed game (unknown game 'chess'; installed: {ALL_GAMES})"


def folder_with(tmp_path: Path, contest: str = CONTEST + HOP, teams: str = TEAM + OTHER) -> Path:
    (tmp_path / "contest.toml").write_text(contest, encoding="utf-8")
    (tmp_path / "teams.toml").write_text(teams, encoding="utf-8")
    return tmp_path


def complaint(folder: Path) -> list[str]:
    """Return the error's lines, without the folder's name."""
    with pytest.raises(ConfigError) as caught:
        load_contest(folder)
    return str(caught.value).replace(f"{folder}/", "").split("\n")
