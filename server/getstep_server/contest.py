"""A contest is a folder: contest.toml, teams.toml and the data."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import tomlkit
from pydantic import BaseModel, Field, ValidationError, model_validator

from getstep.wire import MAX_NAME
from getstep_engines import GAMES

from ._contest_text import contest_text, settings_of
from ._model import Address, Host, Model, Name, Port, Seconds, TeamId
from ._text import printable
from ._toml import ConfigError, Location, Misfit, Mistake, load, mistakes_in
from .contest_event import ContestEvent, EventTable, event_of
from .formats import FORMATS
from .limits import MAX_EVENTS, MAX_SEATS, MAX_TEAMS

CLASSIC_GAME = "hop"
"""The only game the classic wire can carry: its frame is an 8 by 8 board and a path."""


class ContestTable(Model):
    """``[contest]``: what it is called, and what all that is left to chance is drawn from."""

    name: Name
    seed: Annotated[int, Field(ge=0, le=2**63 - 1)] = 0


class TimeTable(Model):
    """``[time]``: what is added to every limit."""

    lag_ms: Annotated[int, Field(ge=0, le=60_000)] = 100


class ServerTable(Model):
    """``[server]``: where it listens. Port 0 lets the system choose."""

    host: Host = "0.0.0.0"  # noqa: S104 - contestants come from the LAN
    port: Port = 7777
    classic_port: Port | None = None

    @model_validator(mode="after")
    def _two_ports(self) -> ServerTable:
        if self.classic_port is not None and self.classic_port == self.port != 0:
            raise Misfit((("classic_port",), self.classic_port, "another port than the server's own"))
        return self


class StartTable(Model):
    """``[start]``: how long a match waits for a team that is not there."""

    absent_seconds: Seconds = 60.0


class ContestFile(Model):
    """contest.toml."""

    contest: ContestTable
    event: Annotated[list[EventTable], Field(min_length=1, max_length=MAX_EVENTS)]
    time: TimeTable = TimeTable()
    server: ServerTable = ServerTable()
    start: StartTable = StartTable()

    @model_validator(mode="after")
    def _names_of_their_own(self) -> ContestFile:
        seen: set[str] = set()
        mistakes: list[Mistake] = []
        for place, event in enumerate(self.event):
            if event.title in seen:
                wanted = "a name of its own; an event before it has this one"
                mistakes.append((("event", place, "name"), event.title, wanted))
            seen.add(event.title)
        if mistakes:
            raise Misfit(*mistakes)
        return self

    @model_validator(mode="after")
    def _classic_fits(self) -> ContestFile:
        others = [event.game for event in self.event if event.game != CLASSIC_GAME]
        if self.server.classic_port is not None and others:
            wanted = f"no classic_port: the classic wire plays {CLASSIC_GAME} only, and there is {others[0]}"
            raise Misfit((("server", "classic_port"), self.server.classic_port, wanted))
        return self


class Team(Model):
    """``[[team]]``: an id, a name, a secret.

    ``seats`` is how many bots it may have here, and so how many matches it can play at once. ``classic`` opens the
    classic wire, ``classic_address`` pins it.
    """

    id: TeamId
    name: Name
    token: Annotated[str, Field(min_length=8, max_length=MAX_NAME)]
    seats: Annotated[int, Field(ge=1, le=MAX_SEATS)] = 1
    classic: bool = False
    classic_address: Address | None = None


class TeamsFile(Model):
    """teams.toml."""

    team: list[Team] = Field(default_factory=list, max_length=MAX_TEAMS)

    @model_validator(mode="after")
    def _unique(self) -> TeamsFile:
        mistakes: list[Mistake] = []
        ids: dict[int, str] = {}
        names: dict[str, int] = {}
        for place, team in enumerate(self.team):
            if team.id in ids:
                wanted = f"an id of its own; team {ids[team.id]!r} has this one"
                mistakes.append((("team", place, "id"), team.id, wanted))
            if team.name in names:
                wanted = f"a name of its own; team {names[team.name]} has this one"
                mistakes.append((("team", place, "name"), team.name, wanted))
            ids.setdefault(team.id, team.name)
            names.setdefault(team.name, team.id)
        if mistakes:
            raise Misfit(*mistakes)
        return self


@dataclass(frozen=True)
class Contest:
    """A contest folder, read and checked."""

    folder: Path
    file: ContestFile
    teams: dict[int, Team]
    former: dict[int, str] = field(default_factory=dict, compare=False)
    """The latest names on record of teams that are no longer in teams.toml, by their ids."""

    @property
    def name(self) -> str:
        return self.file.contest.name

    @cached_property
    def events(self) -> tuple[ContestEvent, ...]:
        """What is played, in the order of contest.toml."""
        seed, tables = self.file.contest.seed, self.file.event
        return tuple(event_of(number, table, seed, self.teams) for number, table in enumerate(tables, start=1))

    def event(self, number: int) -> ContestEvent:
        """The event with this number, from 1."""
        return self.events[number - 1]

    @property
    def lag(self) -> float:
        """The allowance for lag, in seconds."""
        return self.file.time.lag_ms / 1000

    @property
    def database(self) -> Path:
        return self.folder / "contest.db"

    @property
    def running(self) -> Path:
        """The folder with the journal of the matches that are being played."""
        return self.folder / "running"

    def team_name(self, team: int) -> str:
        """Its name; of one that is no longer in teams.toml, the latest on record, if it has one there."""
        return self.teams[team].name if team in self.teams else self.former.get(team, f"team {team}")

    def note_names(self, teams: Iterable[Mapping[str, Any]]) -> None:
        """Note the names in a game's record, its ``teams``, of those that are no longer in teams.toml."""
        for team in teams:
            if team["id"] not in self.teams:
                self.former[team["id"]] = printable(str(team.get("name")))

    def listening_on(self, *, host: str | None, port: int | None, classic_port: int | None) -> Contest:
        """This contest with other ports than contest.toml says; None leaves one as it is.

        Raises:
            ConfigError: a port or host that contest.toml could not have either.
        """
        wanted = {"host": host, "port": port, "classic_port": classic_port}
        changed = {name: value for name, value in wanted.items() if value is not None}
        try:
            server = ServerTable.model_validate({**self.file.server.model_dump(), **changed})
            return replace(self, file=ContestFile.model_validate({**dict(self.file), "server": server}))
        except ValidationError as error:
            raise _as_flags(error, ServerTable) from error


def contest_path(folder: Path) -> Path:
    return folder / "contest.toml"


def teams_path(folder: Path) -> Path:
    return folder / "teams.toml"


def load_contest(folder: Path) -> Contest:
    """Read a contest folder.

    Raises:
        ConfigError: something in it cannot be used; the message says which file and line.
    """
    if not contest_path(folder).exists():
        raise ConfigError(f"{folder}: no contest.toml here; make a contest with: getstep-server init {folder}")
    file = load(contest_path(folder), ContestFile)
    teams = load(teams_path(folder), TeamsFile).team
    return Contest(folder, file, {team.id: team for team in teams})


def init_contest(
    folder: Path, *, name: str, games: Sequence[str], format_: str = "round_robin", seed: int | None = None
) -> None:
    """Make a new contest folder, with an event for each game, all in one format.

    Raises:
        ConfigError: there is a contest already, the name, a game or the format cannot be used, or the folder cannot
            be written.
    """
    seed = secrets.randbelow(10**6) if seed is None else seed
    known = format_ in FORMATS
    events = [
        {"game": game, "format": format_, "settings": settings_of(game, format_) if known else {}} for game in games
    ]
    _check({"contest": {"name": name, "seed": seed}, "event": events})
    _make(folder, contest_text(name, [GAMES[game] for game in games], seed, format_))


def make_contest(folder: Path, tables: Mapping[str, Any]) -> None:
    """Make a new contest folder with ``tables`` as its contest.toml.

    Raises:
        ConfigError: there is a contest already, a setting cannot be used, or the folder cannot be written.
    """
    _check(tables)
    _make(folder, tomlkit.dumps(tables))


def _check(tables: Mapping[str, Any]) -> None:
    try:
        ContestFile.model_validate(tables)
    except ValidationError as error:
        raise _as_flags(error, ContestFile) from error


def _make(folder: Path, text: str) -> None:
    path = contest_path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
        teams_path(folder).touch(mode=0o600, exist_ok=True)  # it will hold secrets
    except FileExistsError as error:
        raise ConfigError(f"{error.filename}: there is a contest here already") from error
    except OSError as error:
        raise ConfigError(f"{folder}: {error.strerror or error}") from error


def _as_flags(error: ValidationError, model: type[BaseModel]) -> ConfigError:
    """A mistake on the command line: contest.toml's settings are flags there."""
    flags = [(_flag(where), what) for where, what in mistakes_in(error, model)]
    return ConfigError("\n".join(f"--{flag}{what}" for flag, what in flags))


def _flag(where: Location) -> str:
    """What a setting is called on the command line; an option of the game has a flag in common with the others."""
    name = str(where[-1]).replace("_", "-")
    return f"option {name}" if where[-2:-1] == ("options",) else name
