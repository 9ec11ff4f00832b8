"""The openings of an event's matches: each pair of matches of two teams has one, with the sides changed.

Two teams may meet in the legs of one pairing, or again in a later round. So the teams make the pair: an opening
that they have had with one as the first player comes back in their next match with the other as the first player.
Otherwise the next opening is drawn. It all depends on the issued matches in their order, and on the seed.
"""

from __future__ import annotations

from collections import deque

from getstep.openings import Book, Opening, drawn


class OpeningDraw:
    """The openings that were drawn until now."""

    def __init__(self) -> None:
        self._drawn = 0
        """The number of pairs that have an opening."""
        self._waiting: dict[tuple[int, int], deque[Opening]] = {}
        """By the first player's and the second's team: openings of their matches with the other sides."""

    def copy(self) -> OpeningDraw:
        """Return an independent copy."""
        copied = OpeningDraw()
        copied._drawn = self._drawn
        copied._waiting = {teams: deque(openings) for teams, openings in self._waiting.items()}
        return copied

    def note(self, teams: tuple[int, int], opening: Opening) -> None:
        """Note the opening of an issued match of ``teams``, the first player's and the second's."""
        waiting = self._waiting.get(teams)
        if waiting:
            waiting.popleft()
            return
        self._drawn += 1
        self._waiting.setdefault((teams[1], teams[0]), deque()).append(opening)

    def next(self, teams: tuple[int, int], book: Book, seed: str) -> Opening:
        """Return the opening of the next match of ``teams``, and note it."""
        waiting = self._waiting.get(teams)
        opening = waiting[0] if waiting else drawn(book, seed, self._drawn)
        self.note(teams, opening)
        return opening
