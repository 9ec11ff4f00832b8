"""Text tables that fit their terminal, which has 80 columns or more; and plain lines for pipes and files.

rich renders a table on a terminal. It takes 40 ms of CPU time to import and 10 ms for each table, so pipes and
files get lines that are made here: one for each row, as wide as it has to be.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from getstep_server.text import cell_len, escape_control_chars

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.table import Table
    from rich.text import Text

Side: TypeAlias = Literal["left", "right"]

NAME_ROOM = 20
"""Terminal cells that names should have; to get them, spare columns are left out."""

NAME_LEAST = 8
"""Terminal cells that names have at least, even if the table then is wider than the terminal."""


class Column(Struct, frozen=True):
    """A column of a table.

    Attributes:
        heading: may have several lines.
        cells: one for each row.
        short: the heading for a narrow terminal; "" means `heading`.
        least: the heading if the short ones do not make enough room; "" means `short`.
        spare: the column may be left out if the short headings do not make enough room.
        names: the column has names, which are wrapped or shortened to make the table fit.
        justify: of the cells.
        links: on a page, the address that each cell links to, or ""; none at all on a terminal.
    """

    heading: str
    cells: Sequence[str]
    short: str = ""
    least: str = ""
    spare: bool = False
    names: bool = False
    justify: Side = "right"
    links: Sequence[str] = ()

    def narrow(self) -> Column:
        return replace(self, heading=self.short or self.heading)

    def narrowest(self) -> Column:
        return replace(self, heading=self.least or self.short or self.heading)

    @property
    def width(self) -> int:
        """The width in terminal cells, if nothing is wrapped."""
        return max(map(cell_len, [*self.heading.split("\n"), *self.cells]))


class TextTable(Struct, frozen=True):
    """A table with one or more columns of names.

    If the names do not fit, the headings are shortened and the gaps narrowed. If that is not enough, the least
    headings stand there, and then the spare columns are left out. In the end the names are wrapped, or shortened
    if each row may have only one line.

    Attributes:
        columns: all of the same length.
        title: above the table.
        notes: below it, a line each.
        key: a note above the others if the least headings are used, to explain them.
        why_spare: the reason to give in a further note if columns were left out; "" for no such note.
        one_line_each: shorten names instead of wrapping them.
    """

    columns: Sequence[Column]
    title: str | None = None
    notes: Sequence[str] = ()
    key: str = ""
    why_spare: str = ""
    one_line_each: bool = False

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from rich.text import Text

        columns, gap, rooms = self._fitted(options.max_width)
        yield self._table(columns, gap, rooms)
        if self.key and all(column.heading == column.least for column in columns if column.least):
            yield Text(self.key)
        yield from map(Text, self.notes)
        if self.why_spare and len(columns) < len(self.columns):
            left_out = ", ".join(column.heading for column in self.columns if column.spare)
            yield Text(f"Left out ({self.why_spare}): {left_out}.")

    def plain(self) -> str:
        """Return the table as plain lines, with all columns and whole cells."""
        headings = [column.heading.split("\n") for column in self.columns]
        height = max(map(len, headings))
        rows = [*zip(*([""] * (height - len(lines)) + lines for lines in headings), strict=True)]
        cells = [[escape_control_chars(cell) for cell in column.cells] for column in self.columns]
        rows += zip(*cells, strict=True)
        widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
        title = [] if self.title is None else [self.title]
        lines = ["  ".join(map(_aligned, self.columns, row, widths)) for row in rows]
        return "".join(f"{line}\n" for line in (*title, *lines, *self.notes))

    def _fitted(self, width: int) -> tuple[Sequence[Column], int, Sequence[int]]:
        """Return the columns to show, the gap between them and the room of each column of names, in cells."""
        names = [column.width for column in self.columns if column.names]
        wished = sum(min(NAME_ROOM, one) for one in names)
        for columns, gap in self._styles():
            taken = sum(column.width for column in columns if not column.names) + gap * (len(columns) - 1)
            if width - taken >= wished:
                break
        room = width - taken
        # Each has its share, or what the others leave.
        shares = [max((room + n) // len(names), room - sum(names) + own) for n, own in enumerate(names)]
        return columns, gap, [max(NAME_LEAST, share) for share in shares]

    def _styles(self) -> Iterator[tuple[Sequence[Column], int]]:
        """Yield columns and gap, from the widest to the narrowest."""
        yield self.columns, 2
        yield [column.narrow() for column in self.columns], 1
        narrowest = [column.narrowest() for column in self.columns]
        yield narrowest, 1
        yield [column for column in narrowest if not column.spare], 1

    def _table(self, columns: Sequence[Column], gap: int, rooms: Sequence[int]) -> Table:
        from rich.table import Table

        table = Table(title=self.title, title_justify="left", box=None, pad_edge=False, padding=(0, gap, 0, 0))
        lines = max(column.heading.count("\n") for column in columns)
        left, texts = iter(rooms), []
        for column in columns:
            most = next(left) if column.names else None
            heading = "\n" * (lines - column.heading.count("\n")) + column.heading
            table.add_column(heading, justify=column.justify, max_width=most, no_wrap=most is None)
            texts.append(self._texts(column, most))
        for cells in zip(*texts, strict=True):
            table.add_row(*cells)
        return table

    def _texts(self, column: Column, room: int | None) -> list[Text]:
        """Return the cells of a column as text without markup: names come from outside."""
        from rich.text import Text

        cells = column.cells
        if room is not None and self.one_line_each:
            cells = [truncate_middle(cell, room) for cell in cells]
        return [Text(cell, overflow="fold") for cell in cells]


def _aligned(column: Column, cell: str, width: int) -> str:
    padding = " " * (width - cell_len(cell))
    return f"{cell}{padding}" if column.justify == "left" else f"{padding}{cell}"


@lru_cache(maxsize=1024)
def truncate_middle(name: str, cells: int) -> str:
    """Return a name, cut in the middle if it takes more than ``cells`` terminal cells, which are at least 4.

    The end is kept because class lists often number their teams there.
    """
    if cell_len(name) <= cells:
        return name
    start = end = ""
    for char in reversed(name):
        if cell_len(char + end) > cells // 3:  # a third for the end, the rest for the beginning
            break
        end = char + end
    for char in name:
        if cell_len(start + char) > cells - 1 - cell_len(end):
            break
        start += char
    return f"{start}…{end}"
