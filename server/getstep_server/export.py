"""Games, standings and the crosstable for other programs and for paper: JSON Lines, CSV, text."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import fields
from typing import Any

import orjson
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from ._text import printable
from .contest import Contest
from .contest_event import ContestEvent
from .game_record import RecordError, parse
from .notation import game_text
from .record_shape import GameShape, game_of
from .results import Result
from .standings import Standing, standings
from .store import Store, StoredRecord
from .tables import PIPE_WIDTH, name_with_status, standings_table

FORMATS = ("jsonl", "csv", "text")

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""How a cell begins that a spreadsheet takes for a formula (OWASP, "CSV Injection")."""

GAME_COLUMNS = (
    *("place", "match", "attempt", "counts", "event", "round", "pairing", "leg", "game", "options"),
    *("first_team", "first_name", "second_team", "second_name"),
    *("winner", "first_score", "second_score", "reason", "detail", "turns_played"),
    *("first_thought_ms", "second_thought_ms", "first_faults", "second_faults"),
    *("time_kind", "time_ms", "lag_ms", "started", "seconds", "resumed", "incidents"),
)
"""records.md, "CSV", says what they are."""

_LETTERS = {"win": "W", "draw": "D", "loss": "L"}


# --- games ------------------------------------------------------------------------------------------------------


def games_as_jsonl(store: Store) -> Iterator[bytes]:
    """All records, pairings and decisions too, as they were sealed."""
    return store.lines()


def games_as_csv(store: Store, counting: Collection[tuple[int, int]]) -> Iterator[bytes]:
    """The names of the columns, and a row for each game; what is missing is empty.

    Args:
        store: the records.
        counting: match and attempt of the games that count.

    Raises:
        RecordError: one of the records is no game's; the message says where.
    """
    yield _csv_line(GAME_COLUMNS)
    for stored in _games(store):
        row = _read(stored, lambda record: _game_row(game_of(record)))
        columns = {**row, "place": stored.place, "counts": int((stored.number, stored.attempt) in counting)}
        yield _csv_line(columns[name] for name in GAME_COLUMNS)


def games_as_text(store: Store) -> Iterator[bytes]:
    """Facts and move list of each game, with an empty line between and two behind.

    Raises:
        RecordError: one of the records is no game's; the message says where.
    """
    for stored in _games(store):
        lines = _read(stored, lambda record: list(game_text(record)))
        yield "\n".join([*lines, "", ""]).encode()


def _games(store: Store) -> Iterator[StoredRecord]:
    return (stored for stored in store.records() if stored.number is not None)


def _read(stored: StoredRecord, make: Callable[[dict[str, Any]], Any]) -> Any:
    try:
        return make(parse(stored.line))
    except RecordError as error:
        raise RecordError(f"the record at place {stored.place}: {error}") from error


def _game_row(game: GameShape) -> dict[str, object]:
    """What of a record has columns; of a pair, two."""
    pairs: dict[str, Sequence[object]] = {
        "team": [team.id for team in game.teams],
        "name": [team.name for team in game.teams],
        "score": [_score(score) for score in game.scores or (None, None)],
        "thought_ms": game.thought_ms,
        "faults": game.faults,
    }
    return {
        **{name: getattr(game, name) for name in GameShape.model_fields if name in GAME_COLUMNS},
        **{f"first_{name}": first for name, (first, _) in pairs.items()},
        **{f"second_{name}": second for name, (_, second) in pairs.items()},
        "options": " ".join(f"{name}={value}" for name, value in game.options.items()),
        "time_kind": game.time.kind,
        "time_ms": game.time.ms,
        "lag_ms": game.time.lag_ms,
        "resumed": len(game.resumed),
        "incidents": sum(row.count for row in game.incidents),
    }


def _score(score: object) -> object:
    """A list of counts with blanks between: with dashes, a spreadsheet would take it for a date."""
    return " ".join(map(str, score)) if isinstance(score, list) else score


# --- standings --------------------------------------------------------------------------------------------------


def standings_as_jsonl(contest: Contest, rows: Sequence[Standing]) -> Iterator[bytes]:
    """An object for each team, best first."""
    return (orjson.dumps(_standing(contest, row)) for row in rows)


def standings_as_csv(contest: Contest, rows: Sequence[Standing]) -> Iterator[bytes]:
    """The names of the columns, and a row for each team, best first."""
    yield _csv_line(["rank", "team", "name", *_MORE])
    for row in rows:
        yield _csv_line(_standing(contest, row).values())


def standings_as_text(contest: Contest, event: ContestEvent, rows: Sequence[Standing]) -> Iterator[bytes]:
    """The table as it is shown."""
    return _rendered(standings_table(contest, event, rows))


def _standing(contest: Contest, row: Standing) -> dict[str, Any]:
    more = {name: getattr(row, name) for name in _MORE}
    return {"rank": row.rank, "team": row.team, "name": contest.team_name(row.team), **more}


_MORE = [field.name for field in fields(Standing) if field.name not in ("rank", "team")]


# --- the crosstable ---------------------------------------------------------------------------------------------


class Crosstable:
    """Who did what against whom: rows and columns are the teams in the order of the standings.

    Args:
        contest: for the names.
        event: how matches become points.
        rows: its standings.
        results: all that count, of any event.
    """

    def __init__(
        self, contest: Contest, event: ContestEvent, rows: Sequence[Standing], results: Iterable[Result]
    ) -> None:
        self._contest = contest
        self._event = event
        self._rows = rows
        self._between: dict[tuple[int, int], list[Result]] = {}
        for result in (result for result in results if result.match.event == event.number):
            one, other = result.match.teams
            self._between.setdefault((min(one, other), max(one, other)), []).append(result)

    def points(self, team: int, opponent: int) -> float | None:
        """What ``team`` has from its matches against ``opponent``; None if there were none."""
        results = self._results(team, opponent)
        if not results:
            return None
        table = standings([team, opponent], results, scoring=self._event.scoring)
        return next(row.points for row in table if row.team == team)

    def legs(self, team: int, opponent: int) -> list[str]:
        """``"win"``, ``"draw"`` or ``"loss"`` of ``team`` in each match against ``opponent``, in playing order."""
        results = sorted(self._results(team, opponent), key=lambda result: result.match.number)
        return [result.outcome_for(0 if result.match.first == team else 1) for result in results]

    def as_jsonl(self) -> Iterator[bytes]:
        """An object for each team, with points and results against each opponent that it has met."""
        for row in self._rows:
            yield orjson.dumps({**self._team(row), "points": row.points, "against": self._against(row.team)})

    def as_csv(self) -> Iterator[bytes]:
        """A row for each team; the columns with the names of teams have the points against them."""
        teams = [row.team for row in self._rows]
        yield _csv_line(["rank", "team", "name", *map(self._contest.team_name, teams), "points"])
        for row in self._rows:
            points = [self.points(row.team, opponent) for opponent in teams]
            yield _csv_line([*self._team(row).values(), *points, row.points])

    def as_text(self) -> Iterator[bytes]:
        """The table for paper, with a letter for each match."""
        table = Table(box=None, pad_edge=False)
        for column in ("#", "team"):
            table.add_column(column, justify="right" if column == "#" else "left", no_wrap=True)
        for number in range(1, len(self._rows) + 1):
            table.add_column(str(number), no_wrap=True)
        table.add_column("points", justify="right", no_wrap=True)
        for number, row in enumerate(self._rows, start=1):
            cells = [self._letters(row.team, other.team) for other in self._rows]
            name = Text(name_with_status(self._contest, row))
            table.add_row(str(number), name, *cells, f"{round(row.points, 2):g}")
        yield from _rendered(table)

    def _results(self, team: int, opponent: int) -> list[Result]:
        return self._between.get((min(team, opponent), max(team, opponent)), [])

    def _team(self, row: Standing) -> dict[str, Any]:
        return {"rank": row.rank, "team": row.team, "name": self._contest.team_name(row.team)}

    def _against(self, team: int) -> list[dict[str, Any]]:
        met = [row.team for row in self._rows if self._results(team, row.team)]
        return [{"team": one, "points": self.points(team, one), "legs": self.legs(team, one)} for one in met]

    def _letters(self, team: int, opponent: int) -> str:
        return "×" if team == opponent else "".join(_LETTERS[leg] for leg in self.legs(team, opponent))


# --- forms ------------------------------------------------------------------------------------------------------


def _csv_line(cells: Iterable[object]) -> bytes:
    """A row of CSV (RFC 4180) without its end. Numbers stay numbers; no text is a formula."""
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="").writerow([_cell(value) for value in cells])
    return buffer.getvalue().encode()


def _cell(value: object) -> object:
    if isinstance(value, (list, tuple)):
        value = " ".join(map(str, value))
    if not isinstance(value, str):
        return value
    return f"'{printable(value)}" if value.startswith(_FORMULA) else printable(value)


def _rendered(table: RenderableType) -> Iterator[bytes]:
    """A table as plain lines, as wide as it needs to be."""
    page = Console(file=io.StringIO(), width=100 * PIPE_WIDTH, markup=False, highlight=False, emoji=False)
    with page.capture() as capture:
        page.print(table)
    return (line.rstrip().encode() for line in capture.get().splitlines())
