"""Adding teams to teams.toml, by name or from a class list, which is a CSV file. Each team gets an id and a token.

All teams are added or none. One error names all mistakes, with a line for each kind, because a host wants to
correct a list of 40 names once.
"""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import tomlkit
from msgspec.structs import fields

from getstep.wire import MAX_TEAM, TOKEN_LETTERS, canonical_token
from getstep_server.errors import ConfigError
from getstep_server.limits import MAX_TEAMS
from getstep_server.validation import Location, ValidationError, validated

from .class_list import NewTeam, RosterError, keep, kept_lists, read_roster
from .contest import Team, TeamsFile, load_contest, teams_path
from .toml_file import errors_of, parse, read_text


def add_teams(
    folder: Path, entries: Sequence[NewTeam], *, classic: bool = False, errors: Iterable[RosterError] = ()
) -> list[Team]:
    """Append teams with new tokens to teams.toml, all or none. The text that is there does not change.

    Args:
        folder: of the contest.
        entries: the teams to add.
        classic: whether they may play over the classic wire.
        errors: mistakes that were found while the entries were read.

    Raises:
        ConfigError: an id or a name is taken or not valid, or there are ``errors``; nothing is written.
    """
    contest, path = load_contest(folder), teams_path(folder)
    teams = contest.teams
    if len(contest.contestants) + len(entries) > MAX_TEAMS:
        raise ConfigError(
            f"{path}: {len(contest.contestants)} teams and {len(entries)} more, expected at most {MAX_TEAMS}"
        )
    ids = _ids(entries, set(teams))
    found = [*errors, *_duplicates(entries, ids, teams.values())]
    added = []
    for entry, number in zip(entries, ids, strict=True):
        try:
            team = {
                "id": number,
                "name": entry.name,
                "token": new_token(),
                "seats": entry.seats,
                "classic": classic,
            }
            added.append(validated(Team, team))
        except ValidationError as error:
            found += [_setting_error(entry, location, what) for location, what in errors_of(error)]
    if found:
        raise ConfigError("\n".join(_by_kind(found)))
    _append(path, added)
    return added


def _setting_error(entry: NewTeam, location: Location, what: str) -> RosterError:
    name = location[-1]
    return RosterError(entry.where, f"{name}{what.rpartition(', expected')[2]}", f"{name}{what}")


def _by_kind(errors: Iterable[RosterError]) -> Iterator[str]:
    """Yield a line for each kind of mistake: the first one, and the places of the others."""
    kinds: dict[str, list[RosterError]] = {}
    for error in errors:
        kinds.setdefault(error.kind, []).append(error)
    for first, *others in kinds.values():
        yield f"{first.where}: {first.message}{_also([error.where for error in others])}"


def _also(places: Sequence[str]) -> str:
    """Return the end of a message that names more places of the same mistake; of a file, its lines."""
    lines = [place.rpartition(":")[2] for place in places]
    if not places or not all(map(str.isdecimal, lines)):
        return f"; also {', '.join(places)}" if places else ""
    return f"; also in line{'s' * (len(lines) > 1)} {', '.join(_ranges(sorted(set(map(int, lines)))))}"


def _ranges(numbers: Sequence[int]) -> Iterator[str]:
    """Yield ascending numbers as texts, consecutive ones as a range: "3 to 5", "7"."""
    for _, group in groupby(enumerate(numbers), lambda item: item[1] - item[0]):
        (_, first), *rest = group
        yield f"{first} to {rest[-1][1]}" if rest else str(first)


def new_token() -> str:
    """Return a new secret that can be typed from paper: 12 letters and digits without look-alikes, 59 bits."""
    # `secrets`, not `random`, whose later values follow from earlier ones
    return canonical_token("".join(secrets.choice(TOKEN_LETTERS) for _ in range(12)))


def _ids(entries: Sequence[NewTeam], taken: set[int]) -> list[int]:
    requested = {entry.id for entry in entries}
    free = (number for number in range(1, MAX_TEAM) if number not in taken and number not in requested)
    return [next(free) if entry.id is None else entry.id for entry in entries]


def _duplicates(entries: Sequence[NewTeam], ids: Sequence[int], teams: Iterable[Team]) -> Iterator[RosterError]:
    """Yield an error for each id and name that a team of teams.toml or an earlier entry has."""
    by_id: dict[Any, str] = {team.id: f"{team.name!r} in teams.toml" for team in teams}
    by_name: dict[Any, str] = {team.name: f"team {team.id} in teams.toml" for team in teams}
    in_file = {*by_id, *by_name}
    for entry, number in zip(entries, ids, strict=True):
        for name, value, taken in (("id", number, by_id), ("name", entry.name, by_name)):
            if value in taken:
                message = f"{name} = {value!r}, expected one that is free; {taken[value]} has it"
                yield RosterError(entry.where, f"{name} {'is taken' if value in in_file else 'twice'}", message)
        by_id.setdefault(number, entry.where)
        by_name.setdefault(entry.name, entry.where)


def _append(path: Path, teams: Iterable[Team]) -> None:
    """Append teams to the text of teams.toml, and replace the file in one step.

    Text is appended, instead of writing the parsed document, because only that keeps the host's comments and order.
    """
    text = read_text(path)
    if text and not text.endswith("\n"):
        text += "\n"
    text = "\n".join([*[text] * bool(text), *map(_as_toml, teams)])
    try:
        parse(path, text, TeamsFile)
    except ConfigError as error:
        raise ConfigError(
            f"{path}: no team can be appended to 'team = [...]'; write a table [[team]] for each team instead"
        ) from error
    new = path.resolve().with_suffix(".toml.new")
    try:
        new.write_text(text, encoding="utf-8")
        shutil.copymode(path, new)  # before the file has its name: it holds secrets
        new.replace(path.resolve())
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror or error}") from error


def _as_toml(team: Team) -> str:
    settings = {
        field.name: getattr(team, field.name)
        for field in fields(Team)
        if getattr(team, field.name) != field.default
    }
    return "[[team]]\n" + "".join(
        f"{name} = {tomlkit.item(value).as_string()}\n" for name, value in settings.items()
    )


def import_teams(folder: Path, path: Path) -> tuple[list[Team], list[str]]:
    """Add the teams of a class list as `add_teams` does. Return them, and what the host should know about the list.

    Raises:
        ConfigError: the list has mistakes or names no team.
    """
    found = read_roster(path)
    kept_lists(folder)  # before a team is added: a file that cannot be read is an error
    added = add_teams(folder, found.entries, errors=found.errors)
    keep(folder, found, {team.name: team.id for team in added})
    return added, found.notes
