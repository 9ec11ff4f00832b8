"""Adding teams: from names, or from a class list in a CSV file; each gets an id and a token."""

from __future__ import annotations

import csv
import io
import re
import secrets
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import tomlkit
from pydantic import ValidationError

from getstep.wire import MAX_TEAM

from ._toml import ConfigError, Location, mistakes_in, parse, read_text
from .contest import Team, TeamsFile, load_contest, teams_path
from .limits import MAX_SEATS, MAX_TEAMS

DELIMITERS = ",;\t"
"""What spreadsheets put between columns. A file's is the one that its first line has most of."""


@dataclass(frozen=True)
class Newcomer:
    """A team to add. An ``id`` of None takes the lowest free one from 1; ``where`` it was named is for messages."""

    name: str
    where: str
    id: int | None = None
    seats: int = 1


@dataclass(frozen=True)
class Complaint:
    """A mistake: ``where`` it is, of what ``kind``, and ``what`` is to be said about it."""

    where: str
    kind: str
    what: str


def add_teams(
    folder: Path, newcomers: Sequence[Newcomer], *, classic: bool = False, complaints: Iterable[Complaint] = ()
) -> list[Team]:
    """Append teams with fresh tokens to teams.toml, all or none; comments and order there stay as they are.

    Args:
        folder: the contest's.
        newcomers: whom to add.
        classic: whether they may play over the classic wire.
        complaints: mistakes that were found where the newcomers come from.

    Raises:
        ConfigError: an id or name is taken or cannot be used (a line for each kind of mistake), or there were
            ``complaints``; nothing is written.
    """
    teams, path = load_contest(folder).teams, teams_path(folder)
    if len(teams) + len(newcomers) > MAX_TEAMS:
        raise ConfigError(f"{path}: {len(teams)} teams and {len(newcomers)} more, expected at most {MAX_TEAMS}")
    ids = _ids(newcomers, set(teams))
    mistakes = [*complaints, *_clashes(newcomers, ids, teams.values())]
    added = []
    for newcomer, number in zip(newcomers, ids, strict=True):
        try:
            team = Team(id=number, name=newcomer.name, token=new_token(), seats=newcomer.seats, classic=classic)
            added.append(team)
        except ValidationError as error:
            mistakes += [_misfit(newcomer, where, what) for where, what in mistakes_in(error, Team)]
    if mistakes:
        raise ConfigError("\n".join(_by_kind(mistakes)))
    _append(path, added)
    return added


def _misfit(newcomer: Newcomer, where: Location, what: str) -> Complaint:
    return Complaint(newcomer.where, f"{where[-1]}{what.rpartition(', expected')[2]}", f"{where[-1]}{what}")


def _by_kind(mistakes: Iterable[Complaint]) -> Iterator[str]:
    """Of each kind of mistake the first one, and where the others are."""
    kinds: dict[str, list[Complaint]] = {}
    for mistake in mistakes:
        kinds.setdefault(mistake.kind, []).append(mistake)
    for first, *others in kinds.values():
        yield f"{first.where}: {first.what}{_likewise([one.where for one in others])}"


def _likewise(places: Sequence[str]) -> str:
    """More places of the same mistake; of a file, its lines."""
    lines = [place.rpartition(":")[2] for place in places]
    if not places or not all(map(str.isdecimal, lines)):
        return f"; likewise {', '.join(places)}" if places else ""
    return f"; likewise in line{'s' * (len(lines) > 1)} {', '.join(_ranges(sorted(set(map(int, lines)))))}"


def _ranges(numbers: Sequence[int]) -> Iterator[str]:
    """Rising numbers as texts, those that follow on each other as one: "3 to 5", "7"."""
    for _, group in groupby(enumerate(numbers), lambda item: item[1] - item[0]):
        (_, first), *rest = group
        yield f"{first} to {rest[-1][1]}" if rest else str(first)


def new_token() -> str:
    """A secret that can be typed from paper: 12 letters and digits without look-alikes, 58 bits."""
    letters = "abcdefghjkmnpqrstuvwxyz23456789"
    groups = ("".join(secrets.choice(letters) for _ in range(4)) for _ in range(3))
    return "-".join(groups)


def _ids(newcomers: Sequence[Newcomer], taken: set[int]) -> list[int]:
    asked_for = {newcomer.id for newcomer in newcomers}
    free = (number for number in range(1, MAX_TEAM) if number not in taken and number not in asked_for)
    return [next(free) if newcomer.id is None else newcomer.id for newcomer in newcomers]


def _clashes(newcomers: Sequence[Newcomer], ids: Sequence[int], teams: Iterable[Team]) -> Iterator[Complaint]:
    by_id: dict[Any, str] = {team.id: f"{team.name!r} in teams.toml" for team in teams}
    by_name: dict[Any, str] = {team.name: f"team {team.id} in teams.toml" for team in teams}
    before = {*by_id, *by_name}
    for newcomer, number in zip(newcomers, ids, strict=True):
        for name, value, taken in (("id", number, by_id), ("name", newcomer.name, by_name)):
            if value in taken:
                what = f"{name} = {value!r}, expected one that is free; {taken[value]} has it"
                yield Complaint(newcomer.where, f"{name} {'is taken' if value in before else 'twice'}", what)
        by_id.setdefault(number, newcomer.where)
        by_name.setdefault(newcomer.name, newcomer.where)


def _append(path: Path, teams: Iterable[Team]) -> None:
    """Write a new version beside the file, and put it in place in one step. (It is text that is appended, because
    nothing else is sure to leave what the host wrote there as it is.)
    """
    text = read_text(path)
    if text and not text.endswith("\n"):
        text += "\n"
    text = "\n".join([*[text] * bool(text), *map(_as_toml, teams)])
    try:
        parse(path, text, TeamsFile)
    except ConfigError as error:
        raise ConfigError(f"{path}: 'team = [...]' takes no further teams; write [[team]] for each") from error
    beside = path.resolve().with_suffix(".toml.new")
    try:
        beside.write_text(text, encoding="utf-8")
        shutil.copymode(path, beside)  # it holds secrets: who may not read the old one may not read the new one
        beside.replace(path.resolve())
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror or error}") from error


def _as_toml(team: Team) -> str:
    settings = team.model_dump(exclude_defaults=True).items()
    return "[[team]]\n" + "".join(f"{name} = {tomlkit.item(value).as_string()}\n" for name, value in settings)


# --- the class list -----------------------------------------------------------------------------------------


def import_teams(folder: Path, path: Path) -> list[Team]:
    """Add the teams of a class list as `add_teams` does.

    Raises:
        ConfigError: there are mistakes in it, or it names nobody (a line for each kind of mistake).
    """
    newcomers, complaints = read_roster(path)
    return add_teams(folder, newcomers, complaints=complaints)


def read_roster(path: Path) -> tuple[list[Newcomer], list[Complaint]]:
    """Teams from a CSV file: a column ``name``, and if wanted ``id`` and ``seats``; without a header, names only.

    Returns:
        The teams, and what is wrong with lines that do not say who.

    Raises:
        ConfigError: there are no names at all, or this is no text; with file and line.
    """
    complaints: list[Complaint] = []
    rows = list(_rows(path, complaints))
    header = [cell.lower() for cell in rows[0][1]] if rows else []
    if "name" in header:
        del rows[0]
    else:
        header = ["name"]
    if not rows and not complaints:
        raise ConfigError(
            f"{path}: no teams, expected a line for each with its name, after a header if there is one"
        )
    newcomers = []
    for line, cells in rows:
        found = list(_complaints(f"{path}:{line}", header, cells))
        complaints += found
        if not found:
            newcomers.append(_newcomer(f"{path}:{line}", dict(zip(header, cells, strict=False))))
    return newcomers, complaints


def _rows(path: Path, complaints: list[Complaint]) -> Iterator[tuple[int, list[str]]]:
    """The rows that are not blank, each with the line it begins on; without blanks around and at the end.

    What is no CSV ends them, and is one of the ``complaints`` then.
    """
    text = read_text(path).replace("\r", "\n")
    delimiter = max(DELIMITERS, key=text.lstrip().partition("\n")[0].count)
    reader = csv.reader(io.StringIO(text), delimiter=delimiter, skipinitialspace=True, strict=True)
    while True:
        line = reader.line_num + 1
        try:
            cells = [cell.strip() for cell in next(reader)]
        except StopIteration:
            return
        except csv.Error as error:
            complaints.append(Complaint(f"{path}:{line}", "csv", f"not valid CSV: {error}"))
            return
        while cells and not cells[-1]:
            cells.pop()
        if cells:
            yield line, cells


def _complaints(where: str, header: list[str], cells: list[str]) -> Iterator[Complaint]:
    """All that is wrong with a row."""
    if len(cells) > len(header):
        what = (
            f"{len(cells)} columns, expected {len(header)}: put a name with commas in quotes,"
            " or begin the file with a line such as 'id,name' that names the columns"
        )
        yield Complaint(where, "columns", what)
        return
    row = dict(zip(header, cells, strict=False))
    if not row.get("name"):
        what = f"{', '.join(cells)!r:.80} without a name, expected one in each line"
        yield Complaint(where, "no name", what)
    for column, ends in _NUMBERS.items():
        text = row.get(column, "")
        if not re.fullmatch(r"[0-9]{0,10}", text):  # whether it fits is seen later
            what = f"{column} = {text!r:.80}, expected a whole number from {ends}"
            yield Complaint(where, column, what)


_NUMBERS = {"id": f"0 to {MAX_TEAM}", "seats": f"1 to {MAX_SEATS}"}
"""The columns with numbers, and what may stand there."""


def _newcomer(where: str, row: dict[str, str]) -> Newcomer:
    numbers = {column: int(row[column]) for column in _NUMBERS if row.get(column)}
    return Newcomer(row["name"], where, **numbers)
