"""The game of a replay's page that a command is about: ``REPLAY --number 2``."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ._errors import SetupError
from .text import escape_control_chars

if TYPE_CHECKING:  # replays are loaded when they are used: other commands do not wait for them
    from .replay import Replay


def add_number(parser: argparse.ArgumentParser) -> None:
    """Add the option that chooses the game."""
    parser.add_argument("--number", type=int, help="which game of the replay's page, from 1 (default: the first)")


def chosen_game(page: Path, number: int | None, say: Callable[[str], object]) -> Replay:
    """Return a game of a replay's page, by default the first one; ``say`` prints that there are others.

    Raises:
        SetupError: the page cannot be read, or has no such game.
    """
    from .replay import NotAReplayError, read_replays

    try:
        games = read_replays(page)
    except NotAReplayError as error:
        raise SetupError(escape_control_chars(str(error))) from None
    chosen = 1 if number is None else number
    if not 1 <= chosen <= len(games):
        raise SetupError(f"--number: the page has {len(games)} games; expected 1 to {len(games)} ({chosen})")
    if len(games) > 1 and number is None:
        say(f"The page has {len(games)} games; this is the first. Another one: --number 2.")
    return games[chosen - 1]
