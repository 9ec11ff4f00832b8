"""A contest is a folder: contest.toml, teams.toml and the data."""

from __future__ import annotations

import csv
import io
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Literal

import tomlkit
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator

from getstep.wire import MAX_MS, MAX_NAME, MAX_TEAM
from getstep_engines import GAMES, Game, TimeControl

from ._text import printable
from ._toml import ConfigError, load, read_text
from .limits import MAX_TEAMS

CLASSIC_GAME = "hop"
"""The only game the classic wire can carry: its frame is an 8 by 8 board and a path."""


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


def _name(value: object) -> object:
    if isinstance(value, str) and (not value.strip() or printable(value) != value):
        raise ValueError("visible characters, not only blanks")
    return value


Name = Annotated[str, BeforeValidator(_name), Field(min_length=1, max_length=MAX_NAME)]
Port = Annotated[int, Field(ge=0, le=65535)]
Seconds = Annotated[float, Field(gt=0, le=MAX_MS / 1000, strict=False)]


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

    @model_validator(mode="after")
    def _options_fit(self) -> ContestTable:
        GAMES[self.game].start(**self.options)  # its ValueError says what was expected
        return self


class TimeTable(_Model):
    """``[time]``: how long a player may think; without a number, the game's own default."""

    move_seconds: Seconds | None = None
    budget_seconds: Seconds | None = None
    lag_ms: Annotated[int, Field(ge=0, le=60_000)] = 100

    @model_validator(mode="after")
    def _one_kind(self) -> TimeTable:
        if self.move_seconds is not None and self.budget_seconds is not None:
            raise ValueError("either move_seconds or budget_seconds, not both")
        return self


class ServerTable(_Model):
    """``[server]``: where it listens. Port 0 lets the system choose."""

    host: Name = "0.0.0.0"  # noqa: S104 - contestants come from the LAN
    port: Port = 7777
    classic_port: Port | None = None


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
            raise ValueError(
                f"no server.classic_port: the classic wire plays {CLASSIC_GAME} only, not {self.contest.game}"
            )
        return self


class Team(_Model):
    """``[[team]]``: an id, a name, a secret. ``classic`` opens the classic wire, ``classic_address`` pins it."""

    id: Annotated[int, Field(ge=0, le=MAX_TEAM)]
    name: Name
    token: Annotated[str, Field(min_length=8, max_length=MAX_NAME)]
    classic: bool = False
    classic_address: str | None = None

    @field_validator("classic_address")
    @classmethod
    def _is_address(cls, value: str | None) -> str | None:
        if value is not None:
            try:
                ip_address(value)
            except ValueError:
                raise ValueError("an IP address such as 192.168.1.20") from None
        return value


class TeamsFile(_Model):
    """teams.toml."""

    team: Annotated[list[Team], Field(max_length=MAX_TEAMS)] = []

    @model_validator(mode="after")
    def _unique(self) -> TeamsFile:
        for what in ("id", "name"):
            seen = set()
            for team in self.team:
                value = getattr(team, what)
                if value in seen:
                    raise ValueError(f"every team to have its own {what}; {value!r} is there twice")
                seen.add(value)
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
    def scoring(self) -> str:
        """How matches become points: pseudo_tonga has its own way."""
        return "signed_roots" if self.game.name == "pseudo_tonga" else "points"

    @property
    def database(self) -> Path:
        return self.folder / "contest.db"

    def team_name(self, team: int) -> str:
        return self.teams[team].name


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
        ConfigError: there is a contest already, the game is unknown, or the folder cannot be written.
    """
    if contest_path(folder).exists():
        raise ConfigError(f"{contest_path(folder)}: there is a contest here already")
    if game not in GAMES:
        raise ConfigError(f"--game {game!r}, expected one of: {', '.join(GAMES)}")
    text = _contest_text(name, GAMES[game], secrets.randbelow(10**6) if seed is None else seed)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        contest_path(folder).write_text(text, encoding="utf-8")
        teams_path(folder).touch(exist_ok=True)
    except OSError as error:
        raise ConfigError(f"{folder}: {error.strerror or error}") from error
    load_contest(folder)


def _contest_text(name: str, game: Game, seed: int) -> str:
    control = game.time_control
    setting = "move_seconds" if control.kind == "move" else "budget_seconds"
    options = "".join(f"options.{o.name} = {o.default}  # {o.help}\n" for o in game.options.values())
    return f"""\
[contest]
name = {tomlkit.item(name).as_string()}
game = "{game.name}"              # one of: {", ".join(GAMES)}
format = "double_round_robin"   # every pair of teams twice, colours swapped
seed = {seed}                   # the schedule is made from it
{options}
[time]
{setting} = {control.seconds:g}    # {control}
lag_ms = 100                    # added to every limit, for everybody alike

[server]
host = "0.0.0.0"                # all of this machine's addresses
port = 7777
# classic_port = 8888           # also take clients of the classic wire (hop only; teams opt in)

[start]
absent_seconds = 60             # how long a match waits for a team that is not there
"""


def add_team(folder: Path, name: str, *, team_id: int | None = None, classic: bool = False) -> Team:
    """Append a team with a fresh token to teams.toml; comments and order there stay as they are.

    Raises:
        ConfigError: the id or name is taken or cannot be used; nothing is written.
    """
    return add_teams(folder, [(team_id, name)], classic=classic)[0]


def add_teams(folder: Path, wanted: Iterable[tuple[int | None, str]], *, classic: bool = False) -> list[Team]:
    """Append several teams, all or none; an id of None takes the lowest free one from 1.

    Raises:
        ConfigError: as `add_team`.
    """
    path = teams_path(folder)
    taken = {team.id for team in load_contest(folder).teams.values()}
    document = tomlkit.parse(read_text(path))
    tables = document.setdefault("team", tomlkit.aot())
    added = []
    for team_id, name in wanted:
        number = team_id if team_id is not None else next(n for n in range(1, MAX_TEAM) if n not in taken)
        taken.add(number)
        try:
            team = Team(id=number, name=name, token=new_token(), classic=classic)
        except ValueError as error:
            raise ConfigError(f"team {number} {name!r}: {_first_message(error)}") from error
        tables.append(tomlkit.item(team.model_dump(exclude_defaults=True)))
        added.append(team)
    _replace_checked(path, tomlkit.dumps(document))
    return added


def read_roster(path: Path) -> list[tuple[int | None, str]]:
    """Teams from a CSV file: a column ``name``, and if wanted a column ``id``; without a header, names only.

    Raises:
        ConfigError: an id that is no number, or no names; with file and line.
    """
    text = read_text(path)
    dialect = ";" if text.partition("\n")[0].count(";") > text.partition("\n")[0].count(",") else ","
    rows = csv.reader(io.StringIO(text), delimiter=dialect)
    header = [cell.strip().lower() for cell in next(rows, [])]
    if "name" not in header:
        header, rows = ["name"], csv.reader(io.StringIO(text), delimiter=dialect)
    roster: list[tuple[int | None, str]] = []
    for row in rows:
        cells = dict(zip(header, (cell.strip() for cell in row), strict=False))
        if cells.get("name"):
            roster.append((_roster_id(path, rows.line_num, cells.get("id", "")), cells["name"]))
    if not roster:
        raise ConfigError(
            f"{path}: no teams, expected a line for each with its name (a header 'id,name' may come first)"
        )
    return roster


def _roster_id(path: Path, line: int, text: str) -> int | None:
    if not text:
        return None
    if not text.isascii() or not text.isdigit():
        raise ConfigError(f"{path}:{line}: id = {text!r}, expected a whole number")
    return int(text)


def new_token() -> str:
    """A secret that can be typed from paper: 12 letters and digits without look-alikes, 58 bits."""
    letters = "abcdefghjkmnpqrstuvwxyz23456789"
    groups = ("".join(secrets.choice(letters) for _ in range(4)) for _ in range(3))
    return "-".join(groups)


def _first_message(error: ValueError) -> str:
    errors = getattr(error, "errors", None)
    return str(errors()[0]["msg"]) if errors else str(error)


def _replace_checked(path: Path, text: str) -> None:
    """Write a new version beside the file, check it, and put it in place in one step."""
    beside = path.with_suffix(".toml.new")
    beside.write_text(text, encoding="utf-8")
    try:
        load(beside, TeamsFile)
        beside.replace(path)
    except ConfigError as error:
        beside.unlink()
        raise ConfigError(str(error).replace(str(beside), str(path))) from error
