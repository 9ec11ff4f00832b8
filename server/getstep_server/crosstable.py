"""The crosstable: who did what against whom, in the order of the standings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, JustifyMethod, RenderResult
from rich.text import Text

from .contest import Contest
from .contest_event import ContestEvent
from .results import Result
from .standings import Standing
from .tables import points_column, team_columns
from .text_table import NAME_ROOM, Column, TextTable
from .tournament import Tournament

OWN, NOT_PLAYED = "×", "."

SHORT_NAME = 12
"""Terminal cells of a name that are enough where all opponents fit beside each other then."""

_LETTERS = {"win": "W", "draw": "D", "loss": "L"}


class Crosstable:
    """Who did what against whom: rows and columns are the teams in the order of the standings.

    Args:
        event: how matches become points.
        rows: its standings.
        results: all that count, of any event.
    """

    def __init__(self, event: ContestEvent, rows: Sequence[Standing], results: Iterable[Result]) -> None:
        self.event = event
        self.rows = rows
        self._between: dict[tuple[int, int], list[Result]] = {}
        for result in (result for result in results if result.match.event == event.number):
            one, other = result.match.teams
            self._between.setdefault((min(one, other), max(one, other)), []).append(result)

    def points(self, team: int, opponent: int) -> float | None:
        """What ``team`` has from its matches against ``opponent``; None if there were none."""
        results, scoring = self._results(team, opponent), self.event.scoring
        if not results:
            return None
        points = [scoring.points(result)[result.match.teams.index(team)] for result in results]
        return scoring.total(points, played=len(points), byes=0)

    def legs(self, team: int, opponent: int) -> list[str]:
        """``"win"``, ``"draw"`` or ``"loss"`` of ``team`` in each match against ``opponent``, in playing order."""
        results = sorted(self._results(team, opponent), key=lambda result: result.match.number)
        return [result.outcome_for(0 if result.match.first == team else 1) for result in results]

    def numbers(self, team: int, opponent: int) -> list[int]:
        """The numbers of their matches against each other, in playing order."""
        return sorted(result.match.number for result in self._results(team, opponent))

    def _results(self, team: int, opponent: int) -> list[Result]:
        return self._between.get((min(team, opponent), max(team, opponent)), [])


def crosstable_of(tournament: Tournament, event: ContestEvent) -> Crosstable:
    """An event's."""
    return Crosstable(event, tournament.table(event), tournament.results)


# --- to be shown ----------------------------------------------------------------------------------------------


def crosstable_table(contest: Contest, table: Crosstable, *, title: str | None = None) -> ShownCrosstable:
    """A crosstable for the eyes."""
    return ShownCrosstable(
        teams=team_columns(contest, table.rows),
        letters=_opponents(table, lambda *pair: "".join(_LETTERS[leg] for leg in table.legs(*pair)), "left"),
        points=_opponents(table, lambda *pair: _rounded(table.event, table.points(*pair)), "right"),
        total=points_column(table.event, table.rows),
        rounded=table.event.scoring.kind != "points",
        title=title,
    )


def _opponents(table: Crosstable, cell: Callable[[int, int], str], justify: JustifyMethod) -> list[Column]:
    teams = [row.team for row in table.rows]
    return [
        Column(str(n), [OWN if one == other else cell(one, other) or NOT_PLAYED for one in teams], justify=justify)
        for n, other in enumerate(teams, start=1)
    ]


def _rounded(event: ContestEvent, points: float | None) -> str:
    if points is None:
        return ""
    return f"{points:g}" if event.scoring.kind == "points" else str(round(points))


@dataclass(frozen=True)
class ShownCrosstable:
    """A crosstable that fits where it is shown.

    Its cells are a letter for each match, if so all opponents fit beside each other; else the points, maybe
    ``rounded``, and if they do not fit either, there are blocks of opponents one below the other. ``letters`` and
    ``points`` are a column for each opponent; left of them are the ``teams``, right of them their ``total``.
    """

    teams: Sequence[Column]
    letters: Sequence[Column]
    points: Sequence[Column]
    total: Column
    rounded: bool
    title: str | None = None

    def whole(self) -> TextTable:
        """All of it beside each other, with a letter for each match."""
        return TextTable([*self.teams, *self.letters, self.total], self.title, [_note(_EACH_MATCH)])

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        cells, note = self.letters, _EACH_MATCH
        if self._at_once(cells, options.max_width) < len(cells):
            cells, note = self.points, f"the points against each{', rounded' * self.rounded}"
        size, joined = self._at_once(cells, options.max_width), _Joined(cells)
        for start in range(0, len(cells), size):
            columns = [*self.teams, joined.columns(cells[start : start + size]), self.total]
            yield TextTable(columns, "\n" if start else self.title, one_line_each=True)
        yield Text(_note(note))

    def _at_once(self, cells: Sequence[Column], width: int) -> int:
        """How many opponents fit beside each other. All of them may, if names get shorter than in blocks."""
        joined, (number, names) = _Joined(cells), self.teams
        room = width - number.width - self.total.width - len("   ") + joined.gap
        if (room - min(SHORT_NAME, names.width)) // joined.step >= len(cells):
            return len(cells)
        return max(1, (room - min(NAME_ROOM, names.width)) // joined.step)


_EACH_MATCH = "a letter for each match: W won, D drawn, L lost"


def _note(cells: str) -> str:
    return f"Cells: {cells}; {NOT_PLAYED} not played."


class _Joined:
    """Many narrow columns as one: without blanks between them if they are one cell wide."""

    def __init__(self, columns: Sequence[Column]) -> None:
        self._width = max(len(cell) for column in columns for cell in column.cells)
        self._digits = max(len(column.heading) for column in columns)
        self.gap = 0 if self._width == 1 else 1
        self.step = self._width + self.gap

    def columns(self, columns: Sequence[Column]) -> Column:
        """These of them, side by side."""
        cells = (self._line(columns, row) for row in zip(*(column.cells for column in columns), strict=True))
        return Column(self._heading(columns), list(cells), justify="left")

    def _heading(self, columns: Sequence[Column]) -> str:
        """Their numbers, from the top down if they are wider than the cells."""
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
