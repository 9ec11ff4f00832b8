"""A contest is a folder: contest.toml, teams.toml and the data."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, replace
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Literal

import tomlkit
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from getstep.wire import MAX_MS, MAX_NAME, MAX_TEAM
from getstep_engines import GAMES, Game, TimeControl

from ._text import printable
from ._toml import ConfigError, Misfit, Mistake, load, mistakes_in
from .limits import MAX_TEAMS
from .standings import Scoring

CLASSIC_GAME = "hop"
"""The only game the classic wire can carry: its frame is an 8 by 8 board and a path."""


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


def _name(value: object) -> object:
    if isinstance(value, str) and (not value or value != value.strip() or printable(value) != value):
        raise ValueError("visible characters, without blanks around them")
    return value


def _host(value: str) -> str:
    try:
        value.encode("idna")
    except UnicodeError:
        raise ValueError("a host name or an IP address") from None
    return value


def _address(value: str) -> str:
    try:
        ip_address(value)
    except ValueError:
        raise ValueError("an IP address such as 192.168.1.20") from None
    return value


Name = Annotated[str, Field(max_length=MAX_NAME), BeforeValidator(_name)]
Host = Annotated[Name, AfterValidator(_host)]
Address = Annotated[str, AfterValidator(_address)]
Port = Annotated[int, Field(ge=0, le=65535)]
Seconds = Annotated[float, Field(gt=0, le=MAX_MS // 1000, allow_inf_nan=False)]


class ContestTable(_Model):
    """``[contest]``: what is played."""

    name: Name
    game: str
    format: Literal["double_round_robin"] = "double_round_robin"
    seed: Annotated[int, Field(ge=0, le=2**63 - 1)] = 0
    options: dict[str, int] = {}

    @field_validator("game")
    @classmethod
    def _known(cls, name: str) -> str:
        if name not in GAMES:
            raise ValueError(f"one of: {', '.join(GAMES)}")
        return name

    @field_validator("options")
    @classmethod
    def _fit(cls, options: dict[str, int], info: ValidationInfo) -> dict[str, int]:
        if "game" not in info.data:  # that mistake comes first
            return options
        game = GAMES[info.data["game"]]
        mistakes = [mistake for option in options.items() if (mistake := _option_mistake(game, *option))]
        if mistakes:
            raise Misfit(*mistakes)
        return options


def _option_mistake(game: Game, name: str, value: int) -> Mistake | None:
    if name not in game.options:
        return (name,), value, f"an option of {game.name}, which has {', '.join(game.options) or 'none'}"
    try:
        game.options[name].check(value)
    except ValueError as error:
        return (name,), value, str(error).partition("expected ")[2]
    return None


class TimeTable(_Model):
    """``[time]``: how long a player may think; without a number, the game's own default."""

    move_seconds: Seconds | None = None
    budget_seconds: Seconds | None = None
    lag_ms: Annotated[int, Field(ge=0, le=60_000)] = 100

    @model_validator(mode="after")
    def _one_kind(self) -> TimeTable:
        if self.move_seconds is not None and self.budget_seconds is not None:
            raise Misfit(
                (("budget_seconds",), self.budget_seconds, "either move_seconds or budget_seconds, not both")
            )
        return self


class ServerTable(_Model):
    """``[server]``: where it listens. Port 0 lets the system choose."""

    host: Host = "0.0.0.0"  # noqa: S104 - contestants come from the LAN
    port: Port = 7777
    classic_port: Port | None = None

    @model_validator(mode="after")
    def _two_ports(self) -> ServerTable:
        if self.classic_port is not None and self.classic_port == self.port != 0:
            raise Misfit((("classic_port",), self.classic_port, "another port than the server's own"))
        return self


class StartTable(_Model):
    """``[start]``: how long a match waits for a team that is not there."""

    absent_seconds: Seconds = 60.0


class ContestFile(_Model):
    """contest.toml."""

    contest: ContestTable
    time: TimeTable = TimeTable()
    server: ServerTable = ServerTable()
    start: StartTable = StartTable()

    @model_validator(mode="after")
    def _classic_fits(self) -> ContestFile:
        if self.server.classic_port is not None and self.contest.game != CLASSIC_GAME:
            wanted = f"no classic_port: the classic wire plays {CLASSIC_GAME} only, and this is {self.contest.game}"
            raise Misfit((("server", "classic_port"), self.server.classic_port, wanted))
        return self


class Team(_Model):
    """``[[team]]``: an id, a name, a secret. ``classic`` opens the classic wire, ``classic_address`` pins it."""

    id: Annotated[int, Field(ge=0, le=MAX_TEAM)]
    name: Name
    token: Annotated[str, Field(min_length=8, max_length=MAX_NAME)]
    classic: bool = False
    classic_address: Address | None = None


class TeamsFile(_Model):
    """teams.toml."""

    team: Annotated[list[Team], Field(max_length=MAX_TEAMS)] = []

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

    @property
    def name(self) -> str:
        return self.file.contest.name

    @property
    def game(self) -> Game:
        return GAMES[self.file.contest.game]

    @property
    def options(self) -> dict[str, int]:
        """The game's options with their defaults filled in."""
        chosen = self.file.contest.options
        return {name: chosen.get(name, option.default) for name, option in self.game.options.items()}

    @property
    def time_control(self) -> TimeControl:
        time = self.file.time
        if time.move_seconds is not None:
            return TimeControl("move", time.move_seconds)
        if time.budget_seconds is not None:
            return TimeControl("budget", time.budget_seconds)
        return self.game.time_control

    @property
    def lag(self) -> float:
        """The allowance for lag, in seconds."""
        return self.file.time.lag_ms / 1000

    @property
    def scoring(self) -> Scoring:
        """How matches become points: pseudo_tonga has its own way."""
        return Scoring(kind="signed_roots" if self.game.name == "pseudo_tonga" else "points")

    @property
    def database(self) -> Path:
        return self.folder / "contest.db"

    @property
    def running(self) -> Path:
        """The folder with the journals of matches that are being played."""
        return self.folder / "running"

    def team_name(self, team: int) -> str:
        """Its name; results may know teams that are no longer in teams.toml."""
        return self.teams[team].name if team in self.teams else f"team {team}"

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


def init_contest(folder: Path, *, name: str, game: str, seed: int | None = None) -> None:
    """Make a new contest folder.

    Raises:
        ConfigError: there is a contest already, the name or game cannot be used, or the folder cannot be written.
    """
    path, seed = contest_path(folder), secrets.randbelow(10**6) if seed is None else seed
    try:
        ContestTable(name=name, game=game, seed=seed)
    except ValidationError as error:
        raise _as_flags(error, ContestTable) from error
    text = _contest_text(name, GAMES[game], seed)
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
    flags = [(str(where[-1]).replace("_", "-"), what) for where, what in mistakes_in(error, model)]
    return ConfigError("\n".join(f"--{flag}{what}" for flag, what in flags))


def _contest_text(name: str, game: Game, seed: int) -> str:
    control = game.time_control
    kind, other = ("move", "budget") if control.kind == "move" else ("budget", "move")
    settings: list[str | tuple[str, str]] = [
        "[contest]",
        (f"name = {tomlkit.item(name).as_string()}", ""),
        (f'game = "{game.name}"', f"one of: {', '.join(GAMES)}"),
        ('format = "double_round_robin"', "every pair of teams twice, colours swapped"),
        (f"seed = {seed}", "the schedule is made from it"),
        *((f"options.{option.name} = {option.default}", option.help) for option in game.options.values()),
        "",
        "[time]",
        (f"{kind}_seconds = {control.seconds:g}", f"{control}; or {other}_seconds, {_TIME_KINDS[other]}"),
        ("lag_ms = 100", "added to every limit, for everybody alike"),
        "",
        "[server]",
        ('host = "0.0.0.0"', "all of this machine's addresses"),
        ("port = 7777", "contestants have to reach it (TCP): allow it in the firewall"),
        ("# classic_port = 8888", f"also take clients of the classic wire ({CLASSIC_GAME} only; teams opt in)"),
        "",
        "[start]",
        ("absent_seconds = 60", "how long a match waits for a team that is not there"),
    ]
    return "".join(f"{_commented(setting)}\n" for setting in settings)


_TIME_KINDS = {"move": "for each move", "budget": "for all of a player's moves in a match together"}


def _commented(setting: str | tuple[str, str]) -> str:
    if isinstance(setting, str):
        return setting
    return f"{setting[0]:<32}# {setting[1]}" if setting[1] else setting[0]
