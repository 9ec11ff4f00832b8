"""The crosstable on a terminal, in a pipe and on paper."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from getstep_server.config.contest import Contest
from getstep_server.config.event import ContestEvent
from getstep_server.tournament.combined import as_shown
from getstep_server.tournament.crosstable import Crosstable
from getstep_server.tournament.standings import Standing

from .tables import PIPE_WIDTH, points_column, team_columns
from .text_table import NAME_ROOM, Column, Side, TextTable

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult

OWN, NOT_PLAYED = "×", "."

MOST_TEAMS = 256
"""Teams of a crosstable on a terminal, the best ones. With 1,024 teams it would take 12 s and 20,000 lines."""

SHORT_NAME = 12
"""Terminal cells that names may be shortened to, if all opponents then fit in one block."""

_LETTERS = {"win": "W", "draw": "D", "loss": "L"}


def crosstable_table(
    contest: Contest, table: Crosstable, *, title: str | None = None, pipe_width: int = PIPE_WIDTH
) -> CrosstableView:
    """Return a crosstable that can be printed; it has at most `MOST_TEAMS` teams, the best ones."""
    rows = as_shown(table.rows)[:MOST_TEAMS]
    return CrosstableView(
        # the columns of the opponents are headed by these numbers, also before there are ranks
        teams=[Column("#", [str(row.rank) for row in rows]), *team_columns(contest, rows)[1:]],
        letters=_opponents(rows, lambda *pair: "".join(_LETTERS[leg] for leg in table.legs(*pair)), "left"),
        points=_opponents(rows, lambda *pair: _rounded(table.event, table.points(*pair)), "right"),
        total=points_column(table.event, rows),
        rounded=table.event.scoring.kind != "points",
        title=title,
        pipe_width=pipe_width,
        left_out=len(table.rows) - len(rows),
    )


def _opponents(rows: Sequence[Standing], cell: Callable[[int, int], str], justify: Side) -> list[Column]:
    teams = [row.team for row in rows]
    return [
        # The column of an opponent is read downwards, so `one` is the row's team and `other` the column's.
        Column(str(n), [OWN if one == other else cell(one, other) or NOT_PLAYED for one in teams], justify=justify)
        for n, other in enumerate(teams, start=1)
    ]


def _rounded(event: ContestEvent, points: float | None) -> str:
    if points is None:
        return ""
    return f"{points:g}" if event.scoring.kind == "points" else str(round(points))


@dataclass(frozen=True)
class CrosstableView:
    """A crosstable that fits its terminal.

    A cell has a letter for each match if all opponents then fit in one block. Otherwise it has the points, and if
    all opponents still do not fit, they are split into several blocks.

    Attributes:
        teams: the columns before the opponents.
        letters: a column for each opponent, with a letter for each match.
        points: a column for each opponent, with points.
        total: the column after the opponents.
        rounded: `points` are rounded to whole numbers.
        title: above the first block.
        pipe_width: the columns of plain lines.
        left_out: the number of teams that are not shown.
    """

    teams: Sequence[Column]
    letters: Sequence[Column]
    points: Sequence[Column]
    total: Column
    rounded: bool
    title: str | None = None
    pipe_width: int = PIPE_WIDTH
    left_out: int = 0

    def whole(self) -> TextTable:
        """Return the crosstable as one block, with a letter for each match, however wide it is."""
        return TextTable([*self.teams, *self.letters, self.total], self.title, [self._note(_EACH_MATCH)])

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from rich.text import Text

        blocks, note = self._blocks(options.max_width)
        yield from blocks
        yield Text(note)

    def plain(self, width: int | None = None) -> str:
        """Return the crosstable as plain lines; a block has as many opponents as fit ``width`` or the pipe."""
        blocks, note = self._blocks(width or self.pipe_width)
        return "".join([*(block.plain() for block in blocks), f"{note}\n"])

    def _blocks(self, width: int) -> tuple[list[TextTable], str]:
        """Return the tables that fit the width, and the note below them."""
        cells, note = self.letters, _EACH_MATCH
        if self._at_once(cells, width) < len(cells):
            cells, note = self.points, f"the points against each{', rounded' * self.rounded}"
        size, joined = self._at_once(cells, width), _Joined(cells)
        blocks = []
        for start in range(0, len(cells), size):
            columns = [*self.teams, joined.columns(cells[start : start + size]), self.total]
            blocks.append(TextTable(columns, "\n" if start else self.title, one_line_each=True))
        return blocks, self._note(note)

    def _note(self, cells: str) -> str:
        note = f"Cells: {cells}; {NOT_PLAYED} not played."
        if self.left_out:
            note += f" The first {MOST_TEAMS} teams; {self.left_out} more are in the export as csv or jsonl."
        return note

    def _at_once(self, cells: Sequence[Column], width: int) -> int:
        """Return how many opponents fit in one block; to fit all of them, names may be shortened to SHORT_NAME."""
        joined, (number, names) = _Joined(cells), self.teams
        room = width - number.width - self.total.width - len("   ") + joined.gap
        if (room - min(SHORT_NAME, names.width)) // joined.step >= len(cells):
            return len(cells)
        return max(1, (room - min(NAME_ROOM, names.width)) // joined.step)


_EACH_MATCH = "a letter for each match: W won, D drawn, L lost"


class _Joined:
    """Many narrow columns joined into one, without spaces between them if they are one cell wide."""

    def __init__(self, columns: Sequence[Column]) -> None:
        self._width = max(len(cell) for column in columns for cell in column.cells)
        self._digits = max(len(column.heading) for column in columns)
        self.gap = 0 if self._width == 1 else 1
        self.step = self._width + self.gap

    def columns(self, columns: Sequence[Column]) -> Column:
        cells = (self._line(columns, row) for row in zip(*(column.cells for column in columns), strict=True))
        return Column(self._heading(columns), list(cells), justify="left")

    def _heading(self, columns: Sequence[Column]) -> str:
        """Return the opponents' numbers, written downwards if they are wider than the cells."""
        numbers = [column.heading for column in columns]
        if self._digits <= self._width:
            return self._line(columns, numbers)
        upright = zip(*(number.rjust(self._digits) for number in numbers), strict=True)
        return "\n".join(self._line(columns, digits) for digits in upright)

    def _line(self, columns: Sequence[Column], cells: Sequence[str]) -> str:
        justified = (
            cell.rjust(self._width) if column.justify == "right" else cell.ljust(self._width)
            for column, cell in zip(columns, cells, strict=True)
        )
        return (" " * self.gap).join(justified)
