"""What the host has chosen for the wall. It belongs to the page's process, and to no record."""

from __future__ import annotations

from collections.abc import Sequence

from getstep_server.api.answers import WallAnswer
from getstep_server.config.fields import check_visible
from getstep_server.errors import UsageError
from getstep_server.limits import WALL_TEXT_CHARS


class Wall:
    """The board that stays on the wall, how often the host has asked for the next one, and a message."""

    def __init__(self) -> None:
        self.pinned: int | None = None
        self.text = ""
        self.version = 0
        """Grows with each change."""
        self._nexts = 0

    def answer(self, boards: Sequence[int | None] = ()) -> WallAnswer:
        """Return what is chosen; ``boards`` are the numbers of the matches that have boards."""
        place = f"board{boards.index(self.pinned)}" if self.pinned is not None and self.pinned in boards else None
        return WallAnswer(pinned=self.pinned, place=place, nexts=self._nexts, text=self.text)

    def pin(self, match: int | None) -> None:
        """Let the board of a match stay; None: show one after another again."""
        self.pinned = match
        self.version += 1

    def next(self) -> None:
        """Show another board, and unpin the present one."""
        self.pinned = None
        self._nexts += 1
        self.version += 1

    def say(self, text: str) -> None:
        """Show a message; "" removes it.

        Raises:
            UsageError: it cannot be shown in a line.
        """
        if text:
            try:
                check_visible(text)
            except ValueError as error:
                raise UsageError(f"message {text!r:.80}, expected {error}") from None
            if len(text) > WALL_TEXT_CHARS:
                raise UsageError(f"message of {len(text)} characters, expected at most {WALL_TEXT_CHARS}")
        self.text = text
        self.version += 1
