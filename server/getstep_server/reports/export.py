"""Export of games and tables: JSON Lines, CSV, text and Markdown.

A data set provides its content in three forms: JSON objects, rows of cells, and text for people. A writer turns one
of these forms into lines. So a new data set is one class, and a new format is one function.

Tables in Markdown are as GitHub, GitLab and most wikis read them (GFM, "Tables"). Names come from outside and are
shown literally: a name cannot end a cell, or start a link, an image, code or HTML.
"""

from __future__ import annotations

import csv
import io
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, TypeAlias

from msgspec import Raw

from getstep_server.config.contest import Contest
from getstep_server.config.event import ContestEvent
from getstep_server.formats import DIGITS
from getstep_server.json_text import encode
from getstep_server.records.game import GameRecord, validate_game
from getstep_server.records.headed_text import headed_text
from getstep_server.records.reasons import Reason
from getstep_server.records.record import RecordError, hash_of, parse
from getstep_server.records.result import Result
from getstep_server.storage.database import damaged
from getstep_server.storage.store import Store, StoredRecord
from getstep_server.text import escape_control_chars
from getstep_server.tournament.combined import Combined
from getstep_server.tournament.crosstable import crosstable_of
from getstep_server.tournament.estimate import Estimate
from getstep_server.tournament.ratings import ratings_of
from getstep_server.tournament.standings import Standing
from getstep_server.tournament.tournament import Tournament

from .corrections import correction_facts, correction_of, is_official
from .crosstable import CrosstableView, crosstable_table
from .notation import game_text
from .ratings_table import ratings_table
from .tables import combined_table, standings_table
from .text_table import Column, TextTable

TextForm: TypeAlias = TextTable | CrosstableView | Iterable[str]
"""The text form of a data set: a table, or texts of several lines."""


class DataSet(ABC):
    """Content that can be exported.

    Attributes:
        columns: the headings of the CSV; docs/records.md explains them.
    """

    columns: Sequence[str]

    @abstractmethod
    def objects(self) -> Iterator[Mapping[str, Any] | Raw]:
        """Yield the JSON objects, one for each line."""

    def rows(self) -> Iterator[Iterable[object]]:
        """Yield the cells of each CSV row, in the order of `columns`; by default the values of the objects."""
        return (row.values() for row in self.objects() if not isinstance(row, Raw))

    @abstractmethod
    def text(self) -> TextForm:
        """Return the text form."""


# --- games ------------------------------------------------------------------------------------------------------


GAME_COLUMNS = (
    *("place", "match", "attempt", "counts", "decision", "event", "round", "pairing", "leg", "game", "options"),
    *("first_team", "first_name", "second_team", "second_name"),
    *("winner", "first_score", "second_score", "reason", "detail", "turns_played"),
    *("first_thought_ms", "second_thought_ms", "first_faults", "second_faults"),
    *("time_kind", "time_ms", "increment_ms", "lag_ms", "started", "seconds", "resumed", "incidents"),
)
"""The headings of the games' CSV; docs/records.md, section "CSV", explains them."""


class Games(DataSet):
    """All recorded games.

    ``rows`` and ``text`` raise RecordError if a record is damaged; the message names its place.
    """

    columns = GAME_COLUMNS

    def __init__(self, contest: Contest, store: Store) -> None:
        self._contest = contest
        self._store = store

    def objects(self) -> Iterator[Raw]:
        """Yield all records, not only those of games, byte for byte as they were hashed.

        Raises:
            StoreError: a record is damaged; it is not yielded, as it need not even be UTF-8.
        """
        for stored in self._store.records():
            self._check(stored)
            yield Raw(stored.line)

    def rows(self) -> Iterator[Iterable[object]]:
        """Yield a row for each game, and one for each official result without a game. Missing values are empty.

        The tables are computed from the rows with ``counts`` 1.
        """
        return self._rows(self._tournament())

    def _rows(self, tournament: Tournament) -> Iterator[Iterable[object]]:
        for stored in _games(self._store):
            game = _read(stored)
            correction = correction_of(tournament, game)
            row = {**_game_row(game), "place": stored.place, "decision": correction.kind if correction else None}
            row["counts"] = int(is_official(tournament, game))
            yield (row[name] for name in GAME_COLUMNS)
        for result in tournament.results:
            if result.reason in (Reason.ADJUDICATED, Reason.ROUND_LOST):
                row = _row_without_game(tournament.contest, result)
                yield (row.get(name) for name in GAME_COLUMNS)

    def text(self) -> Iterator[str]:
        """Yield the facts and the move list of each game, each followed by two empty lines."""
        tournament = self._tournament()
        games = map(_read, _games(self._store))
        return ("\n".join([*game_text(game, correction_facts(tournament, game)), "", ""]) for game in games)

    def headed(self) -> Iterator[bytes]:
        """Yield the record of each game as text with a header, which `read_headed_text` reads back.

        Raises:
            StoreError: a record is damaged.
        """
        for stored in _games(self._store):
            self._check(stored)
            yield headed_text(stored.line).removesuffix(b"\n")

    def _check(self, stored: StoredRecord) -> None:
        if stored.hash != hash_of(stored.line):
            raise damaged(self._store.path, f"the record at place {stored.place} is not what was written")

    def _tournament(self) -> Tournament:
        return Tournament(self._contest, self._store.record_headers())


def _games(store: Store) -> Iterator[StoredRecord]:
    return (stored for stored in store.records() if stored.number is not None)


def _read(stored: StoredRecord) -> GameRecord:
    try:
        return validate_game(parse(stored.line))
    except RecordError as error:
        raise RecordError(f"the record at place {stored.place}: {error}") from error


def _row_without_game(contest: Contest, result: Result) -> dict[str, object]:
    """Return the row of an official result that no game has: the host or a rule has set it."""
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


def _game_row(game: GameRecord) -> dict[str, object]:
    """Return the fields of a record that have columns; a pair of values has two."""
    pairs: dict[str, Sequence[object]] = {
        "team": [team.id for team in game.teams],
        "name": [team.name for team in game.teams],
        "score": [_score(score) for score in game.scores or (None, None)],
        "thought_ms": game.thought_ms,
        "faults": game.faults,
    }
    return {
        **{name: getattr(game, name) for name in GameRecord.__struct_fields__ if name in GAME_COLUMNS},
        **{f"first_{name}": first for name, (first, _) in pairs.items()},
        **{f"second_{name}": second for name, (_, second) in pairs.items()},
        "options": _options(game.options),
        "time_kind": game.time.kind,
        "time_ms": game.time.ms,
        # A record without an increment has no such key: its cell is empty, and not 0.
        "increment_ms": game.time.increment_ms or None,
        "lag_ms": game.time.lag_ms,
        "resumed": len(game.resumed),
        "incidents": sum(row.count for row in game.incidents),
    }


def _options(options: Mapping[str, int]) -> str:
    return " ".join(f"{name}={value}" for name, value in options.items())


def _score(score: object) -> object:
    """Return a score; counts are joined with spaces, since a spreadsheet reads 1-1-0 as a date."""
    return " ".join(map(str, score)) if isinstance(score, list) else score


# --- tables -----------------------------------------------------------------------------------------------------


_TEAM = ("rank", "team", "name")
_STANDING = tuple(name for name in Standing.__struct_fields__ if name not in (*_TEAM, "rating", "league"))
_RATING = ("rating", "margin")
"""Further columns in an event whose format rates."""


class Standings(DataSet):
    """The standings of one event, best team first."""

    def __init__(self, tournament: Tournament, event: ContestEvent) -> None:
        self._tournament = tournament
        self._event = event
        league = ("league",) if event.format.bosses else ()
        self.columns = (*_TEAM, *_STANDING, *(_RATING if event.format.rates else ()), *league)

    def objects(self) -> Iterator[dict[str, Any]]:
        for row in self._tournament.table(self._event):
            more = {name: getattr(row, name) for name in _STANDING}
            if self._event.format.rates:
                more |= zip(_RATING, row.rating or (None, None), strict=True)
            if self._event.format.bosses:
                more["league"] = row.league
            yield {**_team(self._tournament.contest, row), **more}

    def text(self) -> TextTable:
        return standings_table(self._tournament.contest, self._event, self._tournament.table(self._event))


class CombinedStandings(DataSet):
    """The combined table of several events, best team first."""

    def __init__(self, tournament: Tournament) -> None:
        self._tournament = tournament
        self._events = [event.name for event in tournament.contest.events]
        self.columns = (*_TEAM, *self._events, "total", "firsts", "lot", "status")

    def objects(self) -> Iterator[dict[str, Any]]:
        """Yield an object for each team, with its share of each event by the event's name."""
        contest = self._tournament.contest
        for row in self._tournament.tables().combined:
            shares = {contest.event(int(number)).name: round(share, DIGITS) for number, share in row.shares.items()}
            rest = {name: getattr(row, name) for name in ("total", "firsts", "lot", "status")}
            yield {**_team(contest, row), "shares": shares, **rest}

    def rows(self) -> Iterator[Iterable[object]]:
        """Yield a row for each team, with a column for each event."""
        for row in self.objects():
            shares = row.pop("shares")
            rank, team, name, *rest = row.values()
            yield [rank, team, name, *map(shares.get, self._events), *rest]

    def text(self) -> TextTable:
        return combined_table(self._tournament.contest, self._tournament.tables().combined, every=True)


class CrosstableResults(DataSet):
    """The results of each pairing of one event, in the order of the standings."""

    def __init__(self, tournament: Tournament, event: ContestEvent) -> None:
        self._contest = tournament.contest
        self._table = crosstable_of(tournament, event)
        self._teams = [row.team for row in self._table.rows]
        self.columns = (*_TEAM, *map(self._contest.team_name, self._teams), "points")

    def objects(self) -> Iterator[dict[str, Any]]:
        """Yield an object for each team, with the points and results against each opponent it has played."""
        table = self._table
        for row in table.rows:
            pairs = [(row.team, other) for other in self._teams if table.legs(row.team, other)]
            against = [
                {"team": pair[1], "points": table.points(*pair), "legs": table.legs(*pair)} for pair in pairs
            ]
            yield {**_team(self._contest, row), "points": row.points, "against": against}

    def rows(self) -> Iterator[Iterable[object]]:
        """Yield a row for each team; a column named after a team has the points against that team."""
        for row in self._table.rows:
            points = [self._table.points(row.team, opponent) for opponent in self._teams]
            yield [*_team(self._contest, row).values(), *points, row.points]

    def text(self) -> CrosstableView:
        return crosstable_table(self._contest, self._table)


def _team(contest: Contest, row: Standing | Combined) -> dict[str, Any]:
    return {"rank": row.rank, "team": row.team, "name": contest.team_name(row.team)}


# --- ratings ----------------------------------------------------------------------------------------------------


RATING_COLUMNS = (
    *("rank", "team", "name", "games", "group", "elo", "elo_low", "elo_high", "stronger"),
    *("advantage", "advantage_low", "advantage_high", "draw", "draw_low", "draw_high", "replicates"),
)
"""The headings of the ratings' CSV; docs/records.md explains them."""


class RatingEstimates(DataSet):
    """The ratings of one event, highest first."""

    columns = RATING_COLUMNS

    def __init__(self, tournament: Tournament, event: ContestEvent) -> None:
        self._tournament = tournament
        self._event = event

    def objects(self) -> Iterator[dict[str, Any]]:
        """Yield an object for each team. Values of the whole event are in each of them."""
        ratings = ratings_of(self._tournament, self._event)
        # a tenth of an Elo, and a hundredth of a percent
        of_event = [*_ends(ratings.advantage, 1), *_ends(ratings.draw, 4), ratings.replicates]
        for rank, (rating, lead) in enumerate(zip(ratings.table, ratings.leads, strict=True), start=1):
            name = self._tournament.contest.team_name(rating.team)
            stronger = None if lead is None else round(lead, 4)  # a hundredth of a percent, as the draws
            team = [rank, rating.team, name, rating.games, rating.group, *_ends(rating.elo, 1), stronger]
            yield dict(zip(RATING_COLUMNS, [*team, *of_event], strict=True))

    def text(self) -> TextTable:
        return ratings_table(self._tournament, self._event)


def _ends(estimate: Estimate | None, digits: int) -> list[float | None]:
    if estimate is None:
        return [None, None, None]
    return [round(value, digits) for value in (estimate.value, estimate.low, estimate.high)]


TABLES: dict[str, Callable[[Tournament, ContestEvent], DataSet]] = {
    "standings": Standings,
    "crosstable": CrosstableResults,
    "ratings": RatingEstimates,
}
"""The data sets of one event."""


# --- writers ----------------------------------------------------------------------------------------------------


def _as_jsonl(data: DataSet) -> Iterator[bytes]:
    return map(encode, data.objects())


def _as_csv(data: DataSet) -> Iterator[bytes]:
    rows = data.rows()  # raises before the output file is opened if the data set cannot be read
    return map(csv_line, chain([data.columns], rows))


FILE_WIDTH = 20_000
"""Columns to assume for a file: more than any crosstable has, so that all opponents are in one block."""


def _as_text(data: DataSet) -> Iterator[bytes]:
    """Return a table as plain lines that are as wide as necessary."""
    text = data.text()
    if not isinstance(text, (TextTable, CrosstableView)):
        return (part.encode() for part in text)
    whole = text.plain() if isinstance(text, TextTable) else text.plain(FILE_WIDTH)
    return (line.rstrip().encode() for line in whole.splitlines())


def _as_markdown(data: DataSet) -> Iterator[bytes]:
    table = data.text()
    if isinstance(table, CrosstableView):
        table = table.whole()
    if not isinstance(table, TextTable):
        raise TypeError(f"{type(data).__name__} is not a table")
    return (line.encode() for line in table_as_markdown(table))


def _as_headed(data: DataSet) -> Iterator[bytes]:
    if not isinstance(data, Games):
        raise TypeError(f"{type(data).__name__} has no games")
    return data.headed()


WRITERS: dict[str, Callable[[DataSet], Iterator[bytes]]] = {
    "jsonl": _as_jsonl,
    "csv": _as_csv,
    "text": _as_text,
    "markdown": _as_markdown,
    "headed": _as_headed,
}
"""The writers by the name of their format. Each yields lines without line ends."""

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""First characters of a cell that a spreadsheet would run as a formula (OWASP, "CSV Injection")."""


class Literally(str):
    """A cell that is written as it is, even if it looks like a formula: it is from a file of the host."""


def csv_line(cells: Iterable[object], delimiter: str = ",") -> bytes:
    """Return a row of CSV (RFC 4180) without its line end. Numbers stay numbers; text is never a formula."""
    buffer = io.StringIO()
    csv.writer(buffer, delimiter=delimiter, lineterminator="").writerow([_cell(value) for value in cells])
    return buffer.getvalue().encode()


def _cell(value: object) -> object:
    if isinstance(value, (list, tuple)):
        value = " ".join(map(str, value))
    if not isinstance(value, str) or isinstance(value, Literally):
        return value
    return f"'{escape_control_chars(value)}" if value.startswith(_FORMULA) else escape_control_chars(value)


# --- Markdown ---------------------------------------------------------------------------------------------------


_SPECIAL = re.compile(r"[\\`*_{}\[\]<>&|~:#$^=@!]|(?<=www)\.", re.IGNORECASE)
"""Punctuation with a meaning inside a line, in GFM or a dialect of it: code, emphasis, links, HTML, cells,
strikethrough, addresses and emoji, formulas, mentions."""


def escape_markdown(text: str) -> str:
    """Return text as one line of Markdown that shows it literally.

    A backslash before punctuation ensures that, also before the dot of a bare ``www.``, which GFM makes a link.
    """
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
