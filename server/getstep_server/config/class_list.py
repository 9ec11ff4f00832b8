"""Class lists as schools export them: CSV files with the names of teams, or of the pupils in them."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from getstep.wire import MAX_TEAM
from getstep_server.errors import ConfigError
from getstep_server.limits import MAX_SEATS
from getstep_server.text import pluralize

from .toml_file import read_bytes

MAX_ROWS = 100_000
"""The lines of a class list that are kept: a hundred for each team."""

DELIMITERS = ",;\t"
"""The delimiters that spreadsheets write. The one of a file is the most frequent of them in its first line."""

_HEADINGS = {
    "id": ("id",),
    "seats": ("seats",),
    "name": ("name",),
    "team": ("team", "team name", "group", "gruppe", "mannschaft"),
    "last": ("last name", "lastname", "surname", "family name", "nachname", "familienname"),
    "first": ("first name", "firstname", "given name", "forename", "vorname", "rufname"),
}
"""The columns that are read, by their headings in lower case. Beside first names, ``name`` is a last name."""

_TITLES = {"name": "name", "last": "last name", "first": "first name"}

_COLUMN_OF = {heading: column for column, headings in _HEADINGS.items() for heading in headings}

_NUMBERS = {"id": f"0 to {MAX_TEAM}", "seats": f"1 to {MAX_SEATS}"}
"""The columns with whole numbers, and their limits."""


@dataclass(frozen=True)
class NewTeam:
    """A team to add. Without an ``id`` it gets the lowest free one from 1. ``where`` locates it in messages."""

    name: str
    where: str = "the new team"
    id: int | None = None
    seats: int = 1


@dataclass(frozen=True)
class RosterError:
    """A mistake in a list of teams: its place, a message, and its kind, which mistakes told in one line share."""

    where: str
    kind: str
    message: str


class KeptRow(Struct, frozen=True):
    """A line of a class list: the cells as they were, and the id of its team."""

    team: int
    cells: list[str]


class KeptList(Struct, frozen=True):
    """A class list that was imported, with all its columns; ``delimiter`` separated them."""

    columns: list[str]
    delimiter: str
    rows: Annotated[list[KeptRow], Meta(max_length=MAX_ROWS)]


@dataclass
class ClassList:
    """The teams of the lines that are right, the mistakes in the others, and what the host should know.

    ``columns`` are the headings as they are in the file, ``lines`` the cells of each line with its team's name, and
    ``delimiter`` is between them.
    """

    columns: list[str] = field(default_factory=list)
    delimiter: str = ","
    lines: list[tuple[str, list[str]]] = field(default_factory=list)
    entries: list[NewTeam] = field(default_factory=list)
    errors: list[RosterError] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def read_roster(path: Path) -> ClassList:
    """Read a class list: a CSV file, with a header or without one.

    With a header, it needs a column of names: ``name``, or last and first names, or ``team``. If it has names and a
    column ``team``, the lines with the same team are one team. A file without a header has names only, or last and
    first names with a semicolon or a tab between them.

    Raises:
        ConfigError: the file cannot be read, or has no line with a team.
    """
    found = ClassList()
    text = _text(path, found.notes)
    delimiter = max(DELIMITERS, key=text.lstrip().partition("\n")[0].count)
    rows = list(_rows(path, text, delimiter, found.errors))
    first = rows[:1]
    header = _header(path, rows, delimiter, found.notes)
    # a list without a header gets headings that say what was read
    found.columns = first[0][1] if first and rows[:1] != first else [_TITLES[name] for name in header]
    found.delimiter = delimiter
    if not rows and not found.errors:
        raise ConfigError(f"{path}: no teams; write one line for each team, with its name")
    groups: dict[str, int] = {}
    for line, cells in rows:
        errors = list(_row_errors(f"{path}:{line}", header, cells))
        found.errors += errors
        if not errors:
            row = dict(zip(header, cells, strict=False))
            found.lines.append((_name(row), cells))
            _add(found, groups, f"{path}:{line}", row)
    if groups:
        members, teams = pluralize(sum(groups.values()), "line"), pluralize(len(groups), "team")
        found.notes.append(f"{path}: {members} with a team's name were grouped into {teams}")
    return found


def _text(path: Path, notes: list[str]) -> str:
    """Return the text of a file; an encoding other than UTF-8 is added to ``notes``.

    Raises:
        ConfigError: the file cannot be read, or has none of the encodings that spreadsheets write.
    """
    data = read_bytes(path)
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return _decoded(path, data, "utf-16", "UTF-16", notes)
    try:
        return _plain_line_ends(data.decode("utf-8-sig"))  # spreadsheets write a byte order mark
    except UnicodeDecodeError:
        # what Excel writes as CSV in Western Europe; five bytes have no meaning in it
        return _decoded(path, data, "cp1252", "Windows-1252", notes)


def _decoded(path: Path, data: bytes, encoding: str, name: str, notes: list[str]) -> str:
    try:
        text = _plain_line_ends(data.decode(encoding))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{path}:{line}: not UTF-8; save the file as UTF-8 and try again") from error
    example = next((line.strip() for line in text.split("\n") if not line.isascii()), "")
    check = f"; check that this line is right: {example!r:.80}" if example else ""
    notes.append(f"{path}: not UTF-8, so it was read as {name}{check}")
    return text


def _plain_line_ends(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")  # old Macs end lines with "\r" alone


def _rows(path: Path, text: str, delimiter: str, errors: list[RosterError]) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows that are not empty, each with the number of its first line; trailing empty cells are removed.

    A row that is not CSV is added to ``errors`` and ends the reading: nobody can tell where the next row begins.
    """
    reader = csv.reader(io.StringIO(text), delimiter=delimiter, skipinitialspace=True, strict=True)
    while True:
        line = reader.line_num + 1
        try:
            cells = [cell.strip() for cell in next(reader)]
        except StopIteration:
            return
        except csv.Error as error:
            errors.append(RosterError(f"{path}:{line}", "csv", f"not valid CSV: {error}"))
            return
        while cells and not cells[-1]:
            cells.pop()
        if cells:
            yield line, cells


def _header(path: Path, rows: list[tuple[int, list[str]]], delimiter: str, notes: list[str]) -> list[str]:
    """Return the columns of a list, and remove its header from ``rows`` if it has one."""
    header = [_COLUMN_OF.get(" ".join(cell.lower().split()), "") for cell in rows[0][1]] if rows else []
    if "first" in header and "name" in header and "last" not in header:
        header[header.index("name")] = "last"  # a list with first names has last names under "name"
    if "name" in header or "team" in header or {"first", "last"} <= set(header):
        del rows[0]
        return header
    if delimiter != "," and rows and all(_is_person(cells) for _, cells in rows):
        notes.append(f"{path}: no header, so each line was read as a last name and a first name")
        return ["last", "first"]
    return ["name"]


def _is_person(cells: Sequence[str]) -> bool:
    return len(cells) == 2 and all(cell and not re.search(r"\d", cell) for cell in cells)


def _row_errors(where: str, header: list[str], cells: list[str]) -> Iterator[RosterError]:
    if len(cells) > len(header):
        message = (
            f"{len(cells)} columns, expected {len(header)}; put a name that has commas in quotes,"
            " or begin the file with a line that names the columns, such as 'id,name'"
        )
        yield RosterError(where, "columns", message)
        return
    row = dict(zip(header, cells, strict=False))
    if not _name(row):
        yield RosterError(where, "no name", f"no name ({', '.join(cells)!r:.80}); write one in each line")
    for column, limits in _NUMBERS.items():
        text = row.get(column, "")
        # Ten digits: MAX_TEAM has as many. `Team` checks the value.
        if not re.fullmatch(r"[0-9]{0,10}", text):
            yield RosterError(where, column, f"{column} = {text!r:.80}, expected a whole number from {limits}")


def _name(row: Mapping[str, str]) -> str:
    """Return the name of a row's team: of the group, or of the one pupil."""
    parts = (row.get("first"), row.get("last"))
    return row.get("team") or row.get("name") or " ".join(part for part in parts if part)


def _add(found: ClassList, groups: dict[str, int], where: str, row: Mapping[str, str]) -> None:
    """Add a row's team, unless it is a further member of one that is there."""
    name = _name(row)
    is_group = bool(row.get("team")) and not row.keys().isdisjoint(("name", "first", "last"))
    if is_group:
        groups[name] = groups.get(name, 0) + 1
        if groups[name] > 1:
            return
    numbers = {column: int(row[column]) for column in _NUMBERS if row.get(column)}
    found.entries.append(NewTeam(name, where, **numbers))


# --- the kept lists ---------------------------------------------------------------------------------------------


def kept_path(folder: Path) -> Path:
    return folder / "class-lists.json"


def keep(folder: Path, found: ClassList, ids: Mapping[str, int]) -> None:
    """Keep all columns of a list in the contest's folder: grades are entered in them later. It may have addresses.

    Args:
        folder: of the contest.
        found: the list.
        ids: the id of each team by its name.

    Raises:
        ConfigError: the file cannot be written, or what was kept before cannot be read.
    """
    rows = [KeptRow(ids[name], cells) for name, cells in found.lines[:MAX_ROWS]]
    lists = [*kept_lists(folder), KeptList(found.columns, found.delimiter, rows)]
    path = kept_path(folder)
    new = path.with_suffix(".json.new")
    try:
        new.touch(mode=0o600)  # before the addresses are in it
        new.write_bytes(msgspec.json.format(msgspec.json.encode(lists), indent=1))
        new.replace(path)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror or error}") from error


def kept_lists(folder: Path) -> list[KeptList]:
    """Return the class lists that were imported into a contest, in their order.

    Raises:
        ConfigError: the file cannot be read.
    """
    path = kept_path(folder)
    if not path.exists():
        return []
    try:
        return msgspec.json.decode(read_bytes(path), type=list[KeptList])
    except msgspec.DecodeError as error:
        raise ConfigError(f"{path}: not the lists that teams import has kept ({error}); move it away") from error
