"""Tables in Markdown, as GitHub, GitLab and most wikis read it (GFM, "Tables").

Names come from outside: whatever is in one is shown as it is. It ends no cell, and begins no link, picture, code or
HTML. A backslash before punctuation does that, also before the dot of a bare `www.`, which GFM makes a link.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ._text import printable
from .text_table import Column, TextTable

_SPECIAL = re.compile(r"[\\`*_{}\[\]<>&|~:#$^=@!]|(?<=www)\.", re.IGNORECASE)
"""Punctuation that means something inside a line, in GFM or a dialect of it: code, emphasis, links, HTML, cells,
strikethrough, addresses and emoji, formulas, mentions."""


def escaped(text: str) -> str:
    """Text that is to be read as it is, in one line."""
    return _SPECIAL.sub(r"\\\g<0>", printable(text))


def table_as_markdown(table: TextTable) -> Iterator[str]:
    """The lines of a table with its notes, each a paragraph; of columns none is left out."""
    yield _line([column.heading for column in table.columns])
    yield "|" + "|".join(map(_rule, table.columns)) + "|"
    for cells in zip(*(column.cells for column in table.columns), strict=True):
        yield _line(cells)
    for note in table.notes:
        yield from ("", note)


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(map(escaped, cells)) + " |"


def _rule(column: Column) -> str:
    return ":--" if column.justify == "left" else "--:"
