"""Games and tables for other programs and for paper: JSON Lines, CSV, text and Markdown."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any

import orjson
from rich.console import Console, RenderableType

from ._text import printable
from .combined import Combined
from .contest import Contest
from .contest_event import ContestEvent
from .crosstable import crosstable_of, crosstable_table
from .formats import DIGITS
from .game_record import RecordError, parse
from .markdown import table_as_markdown
from .notation import game_text
from .overruled import amendments, counts, overruled
from .ratings import Estimate, ratings_of
from .record_shape import GameShape, game_of
from .results import ADJUDICATED, ROUND_LOST, Result
from .standings import Standing
from .store import Store, StoredRecord
from .tables import PIPE_WIDTH, combined_table, ratings_table, standings_table
from .text_table import TextTable
from .tournament import Tournament

FORMATS = ("jsonl", "csv", "text", "markdown")

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""How a cell begins that a spreadsheet takes for a formula (OWASP, "CSV Injection")."""

GAME_COLUMNS = (
    *("place", "match", "attempt", "counts", "decision", "event", "round", "pairing", "leg", "game", "options"),
    *("first_team", "first_name", "second_team", "second_name"),
    *("winner", "first_score", "second_score", "reason", "detail", "turns_played"),
    *("first_thought_ms", "second_thought_ms", "first_faults", "second_faults"),
    *("time_kind", "time_ms", "lag_ms", "started", "seconds", "resumed", "incidents"),
)
"""records.md, "CSV", says what they are."""


# --- games ------------------------------------------------------------------------------------------------------


def games_as_jsonl(store: Store) -> Iterator[bytes]:
    """All records, pairings and decisions too, as they were sealed."""
    return store.lines()


def games_as_csv(store: Store, tournament: Tournament) -> Iterator[bytes]:
    """The names of the columns, a row for each game, and one for each result that is no game's.

    What is missing is empty. The rows that count are what the tables are made of.

    Args:
        store: the records.
        tournament: what has become of the matches.

    Raises:
        RecordError: one of the records is no game's; the message says where.
    """
    yield _csv_line(GAME_COLUMNS)
    for stored in _games(store):
        game = _read(stored)
        decided = overruled(tournament, game)
        row = {**_game_row(game), "place": stored.place, "decision": decided.how if decided else None}
        row["counts"] = int(counts(tournament, game))
        yield _csv_line(row[name] for name in GAME_COLUMNS)
    for result in tournament.results:
        if result.reason in (ADJUDICATED, ROUND_LOST):
            row = _decided_row(tournament.contest, result)
            yield _csv_line(row.get(name) for name in GAME_COLUMNS)


def games_as_text(store: Store, tournament: Tournament) -> Iterator[bytes]:
    """Facts and move list of each game, with an empty line between and two behind.

    Raises:
        RecordError: one of the records is no game's; the message says where.
    """
    for stored in _games(store):
        game = _read(stored)
        lines = game_text(game, amendments(tournament, game))
        yield "\n".join([*lines, "", ""]).encode()


def _games(store: Store) -> Iterator[StoredRecord]:
    return (stored for stored in store.records() if stored.number is not None)


def _read(stored: StoredRecord) -> GameShape:
    try:
        return game_of(parse(stored.line))
    except RecordError as error:
        raise RecordError(f"the record at place {stored.place}: {error}") from error


def _decided_row(contest: Contest, result: Result) -> dict[str, object]:
    """A result that no game has: what was decided instead."""
    match = result.match
    (first, second), scores = match.teams, result.scores or (None, None)
    return {
        **{name: getattr(match, name) for name in ("event", "round", "pairing", "leg", "game")},
        **{name: getattr(result, name) for name in ("winner", "reason", "detail")},
        "match": match.number,
        "counts": 1,
        "decision": result.reason,
        "options": _options(match.options),
        "first_team": first,
        "first_name": contest.team_name(first),
        "second_team": second,
        "second_name": contest.team_name(second),
        "first_score": scores[0],
        "second_score": scores[1],
    }


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
        "options": _options(game.options),
        "time_kind": game.time.kind,
        "time_ms": game.time.ms,
        "lag_ms": game.time.lag_ms,
        "resumed": len(game.resumed),
        "incidents": sum(row.count for row in game.incidents),
    }


def _options(options: Mapping[str, int]) -> str:
    return " ".join(f"{name}={value}" for name, value in options.items())


def _score(score: object) -> object:
    """A list of counts with blanks between: with dashes, a spreadsheet would take it for a date."""
    return " ".join(map(str, score)) if isinstance(score, list) else score


# --- standings --------------------------------------------------------------------------------------------------


def standings_as_jsonl(tournament: Tournament, event: ContestEvent) -> Iterator[bytes]:
    """An object for each team, best first."""
    return (orjson.dumps(_standing(tournament.contest, row)) for row in tournament.table(event))


def standings_as_csv(tournament: Tournament, event: ContestEvent) -> Iterator[bytes]:
    """The names of the columns, and a row for each team, best first."""
    yield _csv_line(["rank", "team", "name", *_MORE])
    for row in tournament.table(event):
        yield _csv_line(_standing(tournament.contest, row).values())


def standings_as_text(tournament: Tournament, event: ContestEvent) -> Iterator[bytes]:
    """The table as it is shown."""
    return _rendered(standings_table(tournament.contest, event, tournament.table(event)))


def standings_as_markdown(tournament: Tournament, event: ContestEvent) -> Iterator[bytes]:
    """The same in Markdown."""
    return _encoded(table_as_markdown(standings_table(tournament.contest, event, tournament.table(event))))


def combined_as_jsonl(tournament: Tournament) -> Iterator[bytes]:
    """An object for each team, best first."""
    return map(orjson.dumps, _combined(tournament))


def combined_as_csv(tournament: Tournament) -> Iterator[bytes]:
    """The names of the columns, those of the events too, and a row for each team, best first."""
    names = [event.name for event in tournament.contest.events]
    yield _csv_line(["rank", "team", "name", *names, "total", "firsts", "lot", "status"])
    for row in _combined(tournament):
        shares = row.pop("shares")
        rank, team, name, *rest = row.values()
        yield _csv_line([rank, team, name, *(shares.get(event) for event in names), *rest])


def combined_as_text(tournament: Tournament) -> Iterator[bytes]:
    """The table with the names of the events."""
    return _rendered(_combined_table(tournament))


def combined_as_markdown(tournament: Tournament) -> Iterator[bytes]:
    """The same in Markdown."""
    return _encoded(table_as_markdown(_combined_table(tournament)))


def _combined_table(tournament: Tournament) -> TextTable:
    return combined_table(tournament.contest, tournament.tables().combined, named=True)


def _combined(tournament: Tournament) -> Iterator[dict[str, Any]]:
    contest = tournament.contest
    for row in tournament.tables().combined:
        shares = {contest.event(int(number)).name: round(share, DIGITS) for number, share in row.shares.items()}
        rest = {name: getattr(row, name) for name in ("total", "firsts", "lot", "status")}
        yield {**_team(contest, row), "shares": shares, **rest}


def _standing(contest: Contest, row: Standing) -> dict[str, Any]:
    more = {name: getattr(row, name) for name in _MORE}
    return {**_team(contest, row), **more}


def _team(contest: Contest, row: Standing | Combined) -> dict[str, Any]:
    return {"rank": row.rank, "team": row.team, "name": contest.team_name(row.team)}


_MORE = [field.name for field in fields(Standing) if field.name not in ("rank", "team")]


# --- the crosstable ---------------------------------------------------------------------------------------------


def crosstable_as_jsonl(tournament: Tournament, event: ContestEvent) -> Iterator[bytes]:
    """An object for each team, with points and results against each opponent that it has met."""
    table = crosstable_of(tournament, event)
    for row in table.rows:
        pairs = [(row.team, other.team) for other in table.rows if table.legs(row.team, other.team)]
        against = [{"team": pair[1], "points": table.points(*pair), "legs": table.legs(*pair)} for pair in pairs]
        yield orjson.dumps({**_team(tournament.contest, row), "points": row.points, "against": against})


def crosstable_as_csv(tournament: Tournament, event: ContestEvent) -> Iterator[bytes]:
    """A row for each team; the columns with the names of teams have the points against them."""
    contest, table = tournament.contest, crosstable_of(tournament, event)
    teams = [row.team for row in table.rows]
    yield _csv_line(["rank", "team", "name", *map(contest.team_name, teams), "points"])
    for row in table.rows:
        points = [table.points(row.team, opponent) for opponent in teams]
        yield _csv_line([*_team(contest, row).values(), *points, row.points])


def crosstable_as_text(tournament: Tournament, event: ContestEvent) -> Iterator[bytes]:
    """The table as it is shown where there is room."""
    return _rendered(crosstable_table(tournament.contest, crosstable_of(tournament, event)))


def crosstable_as_markdown(tournament: Tournament, event: ContestEvent) -> Iterator[bytes]:
    """The same in Markdown, with a letter for each match."""
    table = crosstable_table(tournament.contest, crosstable_of(tournament, event))
    return _encoded(table_as_markdown(table.whole()))


# --- ratings ----------------------------------------------------------------------------------------------------


RATING_COLUMNS = (
    *("rank", "team", "name", "games", "group", "elo", "elo_low", "elo_high", "stronger"),
    *("advantage", "advantage_low", "advantage_high", "draw", "draw_low", "draw_high", "replicates"),
)
"""records.md says what they are."""


def ratings_as_jsonl(tournament: Tournament, event: ContestEvent) -> Iterator[bytes]:
    """An object for each team, the highest rating first."""
    return (orjson.dumps(row) for row in _ratings(tournament, event))


def ratings_as_csv(tournament: Tournament, event: ContestEvent) -> Iterator[bytes]:
    """The names of the columns, and a row for each team, the highest rating first."""
    yield _csv_line(RATING_COLUMNS)
    for row in _ratings(tournament, event):
        yield _csv_line(row.values())


def ratings_as_text(tournament: Tournament, event: ContestEvent) -> Iterator[bytes]:
    """The table as it is shown."""
    return _rendered(ratings_table(tournament, event))


def ratings_as_markdown(tournament: Tournament, event: ContestEvent) -> Iterator[bytes]:
    """The same in Markdown."""
    return _encoded(table_as_markdown(ratings_table(tournament, event)))


def _ratings(tournament: Tournament, event: ContestEvent) -> Iterator[dict[str, Any]]:
    """What is of the whole event stands in every row."""
    ratings = ratings_of(tournament, event)
    of_all = [*_ends(ratings.advantage, 1), *_ends(ratings.draw, 4), ratings.replicates]
    for rank, (rating, lead) in enumerate(zip(ratings.table, ratings.leads(), strict=True), start=1):
        team = [rank, rating.team, tournament.contest.team_name(rating.team), rating.games, rating.group]
        stronger = None if lead is None else round(lead, 4)
        yield dict(zip(RATING_COLUMNS, [*team, *_ends(rating.elo, 1), stronger, *of_all], strict=True))


def _ends(estimate: Estimate | None, digits: int) -> list[float | None]:
    """The number and its interval, rounded."""
    if estimate is None:
        return [None, None, None]
    return [round(value, digits) for value in (estimate.value, estimate.low, estimate.high)]


COMBINED = {
    "jsonl": combined_as_jsonl,
    "csv": combined_as_csv,
    "text": combined_as_text,
    "markdown": combined_as_markdown,
}
"""What writes the combined table of several events in each of the `FORMATS`."""

TABLES = {
    "standings": {
        "jsonl": standings_as_jsonl,
        "csv": standings_as_csv,
        "text": standings_as_text,
        "markdown": standings_as_markdown,
    },
    "crosstable": {
        "jsonl": crosstable_as_jsonl,
        "csv": crosstable_as_csv,
        "text": crosstable_as_text,
        "markdown": crosstable_as_markdown,
    },
    "ratings": {
        "jsonl": ratings_as_jsonl,
        "csv": ratings_as_csv,
        "text": ratings_as_text,
        "markdown": ratings_as_markdown,
    },
}
"""What writes an event's table in each of the `FORMATS`."""


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


def _encoded(lines: Iterable[str]) -> Iterator[bytes]:
    return (line.encode() for line in lines)


def _rendered(table: RenderableType) -> Iterator[bytes]:
    """A table as plain lines, as wide as it needs to be."""
    page = Console(file=io.StringIO(), width=100 * PIPE_WIDTH, markup=False, highlight=False, emoji=False)
    with page.capture() as capture:
        page.print(table)
    return (line.rstrip().encode() for line in capture.get().splitlines())
