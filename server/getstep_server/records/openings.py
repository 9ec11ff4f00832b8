"""Openings as records have them: the moves of a match, and the book of an event."""

# Annotations are not strings here: msgspec would evaluate each of them twice, 15 µs every time.
from typing import Annotated, Any

from msgspec import Meta

from getstep.openings import MAX_LINES, MAX_PLIES, Book
from getstep_server.validation import Model

from .values import BoundedLine

OpeningMoves = Annotated[list[Any], Meta(min_length=1, max_length=MAX_PLIES)]


class BookEntry(Model, frozen=True, kw_only=True):
    """A book of openings. Matches draw from it by the seed of the contest."""

    name: BoundedLine
    lines: Annotated[list[OpeningMoves], Meta(min_length=1, max_length=MAX_LINES)]


def book_entry(book: Book) -> BookEntry:
    """Return a book as the record of settings has it."""
    return BookEntry(name=book.name, lines=[list(line) for line in book.lines])
