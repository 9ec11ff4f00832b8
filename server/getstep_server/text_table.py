"""Tables of text that fit where they are shown: a terminal of 80 columns, a wider one, or a pipe."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, JustifyMethod, RenderResult
from rich.table import Table
from rich.text import Text

NAME_ROOM = 20
"""Terminal cells that names should have before a column is left out for them."""

NAME_LEAST = 8
"""Terminal cells that they have in any case."""


@dataclass(frozen=True)
class Column:
    """A column of a table.

    ``short`` is its heading where there is little room, by default the same. A ``spare`` column may be left out
    where there is still too little. The column of ``names`` is the one that gives way.
    """

    heading: str
    cells: Sequence[str]
    short: str = ""
    spare: bool = False
    names: bool = False
    justify: JustifyMethod = "right"

    def narrow(self) -> Column:
        """The same with its short heading."""
        return replace(self, heading=self.short or self.heading)

    @property
    def width(self) -> int:
        """In terminal cells, if nothing is broken."""
        return max(map(cell_len, [*self.heading.split("\n"), *self.cells]))


@dataclass(frozen=True)
class TextTable:
    """A table with a column of names.

    Where those do not fit, first the headings get short and the gaps narrow, then spare columns are left out, then
    the names are broken; or cut, if a team may have ``one_line_each``. ``title`` is over the table; under it are
    the ``notes``, a line each, and one with ``why_spare`` where columns were left out, unless that is empty.
    """

    columns: Sequence[Column]
    title: str | None = None
    notes: Sequence[str] = ()
    why_spare: str = ""
    one_line_each: bool = False

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        columns, gap, room = self._fitted(options.max_width)
        yield self._table(columns, gap, room)
        yield from map(Text, self.notes)
        if self.why_spare and len(columns) < len(self.columns):
            left_out = ", ".join(column.heading for column in self.columns if column.spare)
            yield Text(f"Left out ({self.why_spare}): {left_out}.")

    def _fitted(self, width: int) -> tuple[Sequence[Column], int, int]:
        """The columns to show, the gap between them, and the room for names; all in terminal cells."""
        wished = min(NAME_ROOM, *(column.width for column in self.columns if column.names))
        for columns, gap in self._styles():
            taken = sum(column.width for column in columns if not column.names) + gap * (len(columns) - 1)
            if width - taken >= wished:
                break
        return columns, gap, max(NAME_LEAST, width - taken)

    def _styles(self) -> Iterator[tuple[Sequence[Column], int]]:
        """Columns and gap, the best first."""
        narrow = [column.narrow() for column in self.columns]
        yield from ((self.columns, 2), (narrow, 1), ([column for column in narrow if not column.spare], 1))

    def _table(self, columns: Sequence[Column], gap: int, room: int) -> Table:
        table = Table(title=self.title, title_justify="left", box=None, pad_edge=False, padding=(0, gap, 0, 0))
        lines = max(column.heading.count("\n") for column in columns)
        for column in columns:
            most = room if column.names else None
            heading = "\n" * (lines - column.heading.count("\n")) + column.heading
            table.add_column(heading, justify=column.justify, max_width=most, no_wrap=most is None)
        for cells in zip(*(self._texts(column, room) for column in columns), strict=True):
            table.add_row(*cells)
        return table

    def _texts(self, column: Column, room: int) -> list[Text]:
        """Its cells, which never are markup: names come from outside."""
        cut = column.names and self.one_line_each
        return [Text(shortened(cell, room) if cut else cell, overflow="fold") for cell in column.cells]


@lru_cache(maxsize=1024)
def shortened(name: str, cells: int) -> str:
    """A name in at most so many terminal cells, at least 4: its beginning and its end, if it has more."""
    if cell_len(name) <= cells:
        return name
    start = end = ""
    for char in reversed(name):
        if cell_len(char + end) > cells // 3:
            break
        end = char + end
    for char in name:
        if cell_len(start + char) > cells - 1 - cell_len(end):
            break
        start += char
    return f"{start}…{end}"


def listed(names: Sequence[str], separator: str, cells: int) -> str:
    """As many names as fit so many terminal cells, one at least, and how many more there are."""
    shown, width = 1, cell_len(names[0])
    for count, name in enumerate(names[1:], start=2):
        width += cell_len(separator) + cell_len(name)
        if width > cells:
            break
        if width + len(_more(len(names) - count)) <= cells:
            shown = count
    return separator.join(names[:shown]) + _more(len(names) - shown)


def _more(count: int) -> str:
    return f" and {count} more" if count > 0 else ""
