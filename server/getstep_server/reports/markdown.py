"""Tables in Markdown, as GitHub, GitLab and most wikis read it (GFM, "Tables").

Names come from outside and are shown literally: a name cannot end a cell, or start a link, an image, code or HTML.
A backslash before punctuation ensures that, also before the dot of a bare `www.`, which GFM makes a link.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from getstep_server.text import escape_control_chars

from .text_table import Column, TextTable

_SPECIAL = re.compile(r"[\\`*_{}\[\]<>&|~:#$^=@!]|(?<=www)\.", re.IGNORECASE)
"""Punctuation with a meaning inside a line, in GFM or a dialect of it: code, emphasis, links, HTML, cells,
strikethrough, addresses and emoji, formulas, mentions."""


def escape_markdown(text: str) -> str:
    """Return text as one line of Markdown that shows it literally."""
    return _SPECIAL.sub(r"\\\g<0>", escape_control_chars(text))


def table_as_markdown(table: TextTable) -> Iterator[str]:
    """Yield the lines of a table with all its columns; each note is a paragraph."""
    yield _line([column.heading for column in table.columns])
    yield "|" + "|".join(map(_rule, table.columns)) + "|"
    for cells in zip(*(column.cells for column in table.columns), strict=True):
        yield _line(cells)
    for note in table.notes:
        yield from ("", note)


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(map(escape_markdown, cells)) + " |"


def _rule(column: Column) -> str:
    return ":--" if column.justify == "left" else "--:"
