"""Changes of teams.toml: teams that are added, by name or from a class list, and teams that change.

Each new team gets an id and a token. All teams are added or none. One error names all mistakes, with a line for
each kind, because a host wants to correct a list of 40 names once.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import groupby
from pathlib import Path
from typing import Any

import tomlkit
from msgspec.structs import fields

from getstep.wire import MAX_TEAM, TOKEN_LETTERS, canonical_token
from getstep_server.errors import ConfigError
from getstep_server.limits import MAX_TEAMS
from getstep_server.text import name_key
from getstep_server.validation import Location, ValidationError, validated

from .class_list import NewTeam, RosterError
from .contest import Contest, Team, TeamsFile, load_contest, teams_path
from .locked import exclusively
from .toml_file import errors_of, load, parse, read_text, replace_text


def add_teams(folder: Path, entries: Sequence[NewTeam], *, classic: bool = False) -> list[Team]:
    """Append teams with new tokens to teams.toml, all or none. The text that is there does not change.

    Args:
        folder: of the contest.
        entries: the teams to add.
        classic: whether they may play over the classic wire.

    Raises:
        ConfigError: an id or a name is taken or not valid; nothing is written.
    """
    added = new_teams(load_contest(folder), entries, classic=classic)
    _append(teams_path(folder), added)
    return added


def new_teams(
    contest: Contest,
    entries: Sequence[NewTeam],
    *,
    classic: bool = False,
    errors: Iterable[RosterError] = (),
    taken: Iterable[int] = (),
) -> list[Team]:
    """Return the teams that ``entries`` name, with ids and new tokens.

    Args:
        contest: to which they are added.
        entries: the teams to add.
        classic: whether they may play over the classic wire.
        errors: mistakes that were found while the entries were read.
        taken: further ids that no team gets unless its entry asks for it: of former teams, which have results.

    Raises:
        ConfigError: an id or a name is taken or not valid, or there are ``errors``.
    """
    path, teams = teams_path(contest.folder), contest.teams
    if len(contest.contestants) + len(entries) > MAX_TEAMS:
        raise ConfigError(
            f"{path}: {len(contest.contestants)} teams and {len(entries)} more, expected at most {MAX_TEAMS}"
        )
    ids = _ids(entries, {*teams, *taken})
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
    return added


def roster_locked(folder: Path) -> AbstractContextManager[None]:
    """Let no other process change teams.toml in the block; raises as `exclusively`."""
    return exclusively(folder / "teams.lock", "another command changes the teams")


@contextmanager
def teams_written(folder: Path, teams: Sequence[Team]) -> Iterator[None]:
    """Write these teams to teams.toml, new ones and changed ones; put the file back if the block fails.

    Raises:
        ConfigError: the file cannot be written.
    """
    path = teams_path(folder)
    before = read_text(path)
    known = {team.id: team for team in load(path, TeamsFile).team}
    try:
        if new := [team for team in teams if team.id not in known]:
            _append(path, new)
        if changed := [team for team in teams if team.id in known]:
            _change(path, known, changed)
        yield
    except BaseException:
        replace_text(path, before)
        raise


def _change(path: Path, known: Mapping[int, Team], teams: Iterable[Team]) -> None:
    """Change values of teams in the text of teams.toml; the host's comments and order stay."""
    document = tomlkit.parse(read_text(path))
    tables = {table["id"]: table for table in document["team"]}
    for team in teams:
        for field in fields(Team):
            value = getattr(team, field.name)
            if value != getattr(known[team.id], field.name):
                tables[team.id][field.name] = value
    replace_text(path, tomlkit.dumps(document))


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
    by_name: dict[Any, str] = {name_key(team.name): f"team {team.id} in teams.toml" for team in teams}
    in_file = {*by_id, *by_name}
    for entry, number in zip(entries, ids, strict=True):
        key = name_key(entry.name)
        for name, value, taken, one in (("id", number, by_id, number), ("name", entry.name, by_name, key)):
            if one in taken:
                message = f"{name} = {value!r}, expected one that is free; {taken[one]} has it"
                yield RosterError(entry.where, f"{name} {'is taken' if one in in_file else 'twice'}", message)
        by_id.setdefault(number, entry.where)
        by_name.setdefault(key, entry.where)


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
    replace_text(path, text)


def _as_toml(team: Team) -> str:
    settings = {
        field.name: getattr(team, field.name)
        for field in fields(Team)
        if getattr(team, field.name) != field.default
    }
    return "[[team]]\n" + "".join(
        f"{name} = {tomlkit.item(value).as_string()}\n" for name, value in settings.items()
    )
