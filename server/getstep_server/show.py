"""A game move by move, with the board after each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from getstep_engines import GAMES

from ._text import printable
from .course import Course
from .notation import facts, turn_text
from .overruled import amendments
from .record_shape import GameShape, IncidentShape, Passed, Turn, game_of
from .replay import steps
from .scoresheet import course_of
from .tournament import Tournament

WIDTH = 80
"""Columns that are enough: an eighty-column terminal shows a game whole."""

_INDENT = 6


def shown_game(fields: dict[str, Any], tournament: Tournament | None, *, boards: bool) -> Iterator[RenderableType]:
    """What is to be shown of a game's record, piece by piece; without ``boards``, the turns alone.

    What was decided about it the ``tournament`` knows, if there is one.

    Raises:
        RecordError: this is no game's record, or its turns do not fit; what came before that was shown.
    """
    game, course = game_of(fields), course_of(fields)
    noted = 0
    yield _facts(game, [] if tournament is None else amendments(tournament, game))
    yield from _notes(game, noted)
    if boards:
        yield _board(course)
    for number, turn in enumerate(steps(game, course), start=1):
        yield _turn(game, number, turn)
        if boards and not isinstance(turn, Passed):
            yield _board(course)
        if course.turns > noted and not course.passes_due:
            noted = course.turns
            yield from _notes(game, noted)


def _facts(game: GameShape, more: Iterable[tuple[str, str]]) -> RenderableType:
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in facts(game, more):
        table.add_row(name, Text(printable(value)))
    return Group(table, "")


def _turn(game: GameShape, number: int, turn: Turn) -> RenderableType:
    row = Table.grid(padding=(0, 2), expand=True)
    row.add_column(justify="right", min_width=_INDENT - 2, no_wrap=True)
    row.add_column(no_wrap=True)
    row.add_column(overflow="fold", ratio=1)
    row.add_column(justify="right", no_wrap=True)
    text = turn_text(game.turns[number - 1])
    if not isinstance(turn, Passed):
        detail = getattr(turn, "detail", "")
        text += f" {printable(detail)}" if detail else ""
    time = "" if isinstance(turn, Passed) else f"{turn.ms:.3f} ms"
    row.add_row(str(number), GAMES[game.game].players[turn.player], Text(text), time)
    return row


def _board(course: Course) -> RenderableType:
    return Padding(Text(f"{course.state}\n"), (0, 0, 0, _INDENT))


def _notes(game: GameShape, turns: int) -> Iterator[RenderableType]:
    """What else happened after so many turns, passes not counted."""
    for _ in range(game.resumed.count(turns)):
        yield Padding(Text("the server was started again"), (0, 0, 1, _INDENT))
    for incident in game.incidents:
        if incident.after_turn == turns:
            yield Padding(Text(_incident(game, incident)), (0, 0, 1, _INDENT))


def _incident(game: GameShape, incident: IncidentShape) -> str:
    names = {team.id: team.name for team in game.teams}
    times = f" ({incident.count} times)" if incident.count > 1 else ""
    who = names.get(incident.team, f"team {incident.team}")
    return printable(f"incident{times}: {who}, {incident.code} from {incident.address}: {incident.detail}")
