"""Adding teams: from names, or from a class list in a CSV file; each gets an id and a token."""

from __future__ import annotations

import csv
import io
import re
import secrets
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import tomlkit
from pydantic import ValidationError

from getstep.wire import MAX_TEAM

from ._toml import ConfigError, mistakes_in, parse, read_text
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


def add_teams(folder: Path, newcomers: Sequence[Newcomer], *, classic: bool = False) -> list[Team]:
    """Append teams with fresh tokens to teams.toml, all or none; comments and order there stay as they are.

    Raises:
        ConfigError: an id or name is taken or cannot be used (a line for each); nothing is written.
    """
    teams, path = load_contest(folder).teams, teams_path(folder)
    if len(teams) + len(newcomers) > MAX_TEAMS:
        raise ConfigError(f"{path}: {len(teams)} teams and {len(newcomers)} more, expected at most {MAX_TEAMS}")
    ids = _ids(newcomers, set(teams))
    mistakes = _clashes(newcomers, ids, teams.values())
    added = []
    for newcomer, number in zip(newcomers, ids, strict=True):
        try:
            team = Team(id=number, name=newcomer.name, token=new_token(), seats=newcomer.seats, classic=classic)
            added.append(team)
        except ValidationError as error:
            mistakes += [f"{newcomer.where}: {where[-1]}{what}" for where, what in mistakes_in(error, Team)]
    if mistakes:
        raise ConfigError("\n".join(mistakes))
    _append(path, added)
    return added


def new_token() -> str:
    """A secret that can be typed from paper: 12 letters and digits without look-alikes, 58 bits."""
    letters = "abcdefghjkmnpqrstuvwxyz23456789"
    groups = ("".join(secrets.choice(letters) for _ in range(4)) for _ in range(3))
    return "-".join(groups)


def _ids(newcomers: Sequence[Newcomer], taken: set[int]) -> list[int]:
    asked_for = {newcomer.id for newcomer in newcomers}
    free = (number for number in range(1, MAX_TEAM) if number not in taken and number not in asked_for)
    return [next(free) if newcomer.id is None else newcomer.id for newcomer in newcomers]


def _clashes(newcomers: Sequence[Newcomer], ids: Sequence[int], teams: Iterable[Team]) -> list[str]:
    by_id = {team.id: f"{team.name!r} in teams.toml" for team in teams}
    by_name = {team.name: f"team {team.id} in teams.toml" for team in teams}
    clashes = []
    for newcomer, number in zip(newcomers, ids, strict=True):
        if number in by_id:
            clashes.append(f"{newcomer.where}: id = {number}, expected one that is free; {by_id[number]} has it")
        if newcomer.name in by_name:
            has_it = by_name[newcomer.name]
            clashes.append(
                f"{newcomer.where}: name = {newcomer.name!r}, expected one that is free; {has_it} has it"
            )
        by_id.setdefault(number, newcomer.where)
        by_name.setdefault(newcomer.name, newcomer.where)
    return clashes


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


def read_roster(path: Path) -> list[Newcomer]:
    """Teams from a CSV file: a column ``name``, and if wanted ``id`` and ``seats``; without a header, names only.

    Raises:
        ConfigError: lines that do not say who (a line for each), or no names at all; with file and line.
    """
    rows = list(_rows(path))
    header = [cell.lower() for cell in rows[0][1]] if rows else []
    if "name" in header:
        del rows[0]
    else:
        header = ["name"]
    if not rows:
        raise ConfigError(
            f"{path}: no teams, expected a line for each with its name, after a header if there is one"
        )
    newcomers, mistakes = [], []
    for line, cells in rows:
        try:
            newcomers.append(_newcomer(f"{path}:{line}", header, cells))
        except ValueError as error:
            mistakes.append(f"{path}:{line}: {error}")
    if mistakes:
        raise ConfigError("\n".join(mistakes))
    return newcomers


def _rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """The rows that are not blank, each with the line it begins on; without blanks around and at the end."""
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
            raise ConfigError(f"{path}:{line}: not valid CSV: {error}") from error
        while cells and not cells[-1]:
            cells.pop()
        if cells:
            yield line, cells


def _newcomer(where: str, header: list[str], cells: list[str]) -> Newcomer:
    if len(cells) > len(header):
        raise ValueError(
            f"{len(cells)} columns, expected {len(header)}: put a name with commas in quotes,"
            " or begin the file with a line such as 'id,name' that names the columns"
        )
    row = dict(zip(header, cells, strict=False))
    if not row.get("name"):
        raise ValueError(f"{', '.join(cells)!r:.80} without a name, expected one in each line")
    number = _whole_number(row, "id", f"a whole number from 0 to {MAX_TEAM}")
    seats = _whole_number(row, "seats", f"a whole number from 1 to {MAX_SEATS}")
    return Newcomer(row["name"], where, number, 1 if seats is None else seats)


def _whole_number(row: dict[str, str], column: str, wanted: str) -> int | None:
    """What stands in a column, if there is one and something stands there. Whether it fits is seen later."""
    text = row.get(column, "")
    if not re.fullmatch(r"[0-9]{0,10}", text):
        raise ValueError(f"{column} = {text!r:.80}, expected {wanted}")
    return int(text) if text else None
