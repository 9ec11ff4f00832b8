"""Openings: the first moves of a match, which nobody is asked for.

In: a setting (``"balanced"``, the name of a file, a number of moves), a game and its options. Out: a `Book` of
openings that the rules allow, and which of them a pair of matches begins with. It must not know matches, records or
clocks.

An opening is a list of moves from the start of the game. So all that a position has beside its board is right after
it, and a program that keeps its own position can be told the moves.

`_book` reads and draws, `making` makes a book: it plays at random, and throws out what a search calls decided.
"""

from ._book import (
    BALANCED,
    MAX_LINES,
    MAX_PLIES,
    Book,
    book_of,
    book_setting,
    book_text,
    check_setting,
    drawn,
    find_book,
    read_book,
    state_after,
)
from ._moves import BookError, Opening

__all__ = [
    "BALANCED",
    "MAX_LINES",
    "MAX_PLIES",
    "Book",
    "BookError",
    "Opening",
    "book_of",
    "book_setting",
    "book_text",
    "check_setting",
    "drawn",
    "find_book",
    "read_book",
    "state_after",
]
