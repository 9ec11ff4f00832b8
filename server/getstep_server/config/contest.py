"""The contest: a folder with contest.toml, teams.toml and its data."""

# Annotations are not strings here: msgspec would evaluate each of them twice, 15 µs every time.
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import Meta, Struct, field, structs
from msgspec.structs import replace

from getstep.openings import BookError
from getstep.wire import MAX_NAME
from getstep_server.errors import ConfigError, UsageError
from getstep_server.formats import FORMATS
from getstep_server.limits import (
    ANALYSES_A_DAY,
    MAX_CONNECTIONS,
    MAX_CONNECTIONS_PER_ADDRESS,
    MAX_EVENTS,
    MAX_MATCHES,
    MAX_OPEN_QUESTIONS,
    MAX_PAGE_CONNECTIONS,
    MAX_PAGE_CONNECTIONS_PER_ADDRESS,
    MAX_SEATS,
    MAX_SUBSCRIBERS,
    MAX_SUBSCRIBERS_PER_ADDRESS,
    MAX_TEAMS,
    PAGE_REQUESTS_PER_SECOND,
    SIGN_UPS_PER_ADDRESS,
    SUBMISSIONS_A_DAY,
)
from getstep_server.text import escape_control_chars, name_key
from getstep_server.validation import Check, Location, Mistake, ValidationError, validated, wrong

from .database_address import DatabaseAddress, PostgresAddress, postgres_address
from .event import ContestEvent, EventTable, event_of, installed_game
from .fields import (
    Address,
    FilePath,
    HeaderName,
    Host,
    Name,
    Network,
    OutsideAddress,
    PageAddress,
    Port,
    Seconds,
    TeamId,
    TomlTable,
    check_unique,
)
from .toml_file import SettingError, config_error, errors_of, load, read_text, replace_text

CLASSIC_GAME = "hop"
"""The only game the classic wire can carry: its frame is an 8 by 8 board and a path."""

FRIENDLY_PORT = 7780
"""The port that ``getstep play --friendly`` assumes."""


class ContestTable(TomlTable, frozen=True, kw_only=True):
    """``[contest]``: its name, and the seed of its drawing of lots."""

    name: Name
    seed: Annotated[int, Meta(ge=0, le=2**63 - 1)] = 0  # an integer of TOML has 64 bits


class TimeTable(TomlTable, frozen=True, kw_only=True):
    """``[time]``: the network allowance that is added to every limit."""

    lag_ms: Annotated[int, Meta(ge=0, le=60_000)] = 100


HostPage: TypeAlias = Literal["loopback", "lan", "off"]


class ServerTable(TomlTable, frozen=True, kw_only=True):
    """``[server]``: the address and ports to listen on. Port 0 lets the system choose.

    ``web_port`` is the live page's, and ``friendly_port`` the page's port for bots that play friendly matches; if
    one is taken, the next free one is used. ``web_names`` are names, in addition to this machine's own, under which
    spectators reach the page. ``database`` is a PostgreSQL server's, if the records are not in the folder. With
    more than one, ``judges`` is how many further processes judge the matches. ``addresses`` are those at which
    contestants reach this server through address translation; one without a port stands for all ports.
    ``host_page`` is where the host's console answers: to browsers of this machine, of the network, or nowhere.
    ``tls_certificate`` and ``tls_key`` are PEM files: with them the ports for bots and browsers speak TLS.
    ``trusted_proxies`` are the addresses of reverse proxies that say who their clients are, and ``page_address`` is
    what people type if there is one. The name in the header ``trusted_user_header`` of such a proxy logs a browser
    in: for the team with this id, or with this name in the column ``trusted_user_column`` of its class list.
    With ``standby`` as "strict", nothing is announced before a standby host has it on its disk.
    """

    host: Host = "0.0.0.0"  # noqa: S104 - contestants come from the LAN
    port: Port = 7777
    classic_port: Port | None = None
    web_port: Port = 8080
    friendly_port: Port = FRIENDLY_PORT
    database: Annotated[str, Check(postgres_address, max_length=1000)] | None = None
    judges: Annotated[int, Meta(ge=1, le=64)] = 1
    host_page: HostPage = "loopback"
    tls_certificate: FilePath | None = None
    tls_key: FilePath | None = None
    standby: Literal["optional", "strict"] = "optional"
    page_address: PageAddress | None = None
    trusted_proxies: Annotated[list[Network], Check(check_unique, max_length=16)] = []  # noqa: RUF012 - as below
    trusted_user_header: HeaderName | None = None
    trusted_user_column: Name | None = None
    web_names: Annotated[list[Host], Check(check_unique, max_length=16)] = []  # noqa: RUF012 - msgspec copies an empty list
    addresses: Annotated[list[OutsideAddress], Check(check_unique, max_length=16)] = []  # noqa: RUF012 - as above

    @classmethod
    def mistakes(cls, fields: Mapping[str, Any]) -> Iterator[Mistake]:
        classic = fields.get("classic_port")
        if classic is not None and classic == fields.get("port") != 0:
            yield wrong(("classic_port",), classic, "another port than the server's own")
        files = {name: fields.get(name) for name in ("tls_certificate", "tls_key")}
        if None in files.values() and any(files.values()):
            here, missing = sorted(files, key=lambda name: files[name] is None)
            yield wrong((here,), files[here], f"{missing} as well: TLS takes both files")
        if files["tls_key"] is not None and fields.get("judges", 1) > 1:
            expected = "1 with TLS: the state of a connection with TLS cannot be given to a judge process"
            yield wrong(("judges",), fields["judges"], expected)
        header, column = fields.get("trusted_user_header"), fields.get("trusted_user_column")
        if header is not None and not fields.get("trusted_proxies"):
            expected = "trusted_proxies as well: from anybody else this header would log in everybody"
            yield wrong(("trusted_user_header",), header, expected)
        if column is not None and header is None:
            yield wrong(("trusted_user_column",), column, "trusted_user_header as well")


class PageTable(TomlTable, frozen=True, kw_only=True):
    """``[page]``: what the live page shows, and to whom.

    ``freeze_minutes`` is how long before the expected end the page stops showing results; None: it shows all. A
    program with the ``metrics_key`` may read ``/metrics`` from another machine; None: only this machine may.
    """

    freeze_minutes: Annotated[float, Meta(gt=0, le=10_080)] | None = None
    metrics_key: Annotated[str, Meta(pattern=r"^[A-Za-z0-9._~+/=-]{16,200}$")] | None = None


class ProgramsTable(TomlTable, frozen=True, kw_only=True):
    """``[programs]``: how the programs that this machine runs are played.

    ``cores`` is how many matches with such programs are played at once, each on a core of its own; None: all cores
    but one. ``sandbox`` is "none" if programs may run without protection. A program has to be ready for its match
    within ``startup_seconds``. The source of a team that has led a ladder for ``publish_after_weeks`` is published;
    None: never. ``submissions`` lets the teams submit programs themselves, from their computers or on the page.
    ``normalise_time`` multiplies the time limits of matches on a cluster by the slowness of the worker.
    """

    cores: Annotated[int, Meta(ge=1, le=1024)] | None = None
    sandbox: Literal["required", "none"] = "required"
    startup_seconds: Annotated[float, Meta(gt=0, le=600)] = 10.0
    publish_after_weeks: Annotated[float, Meta(gt=0, le=520)] | None = None  # 10 years
    submissions: bool = False
    normalise_time: bool = False


class ChallengesTable(TomlTable, frozen=True, kw_only=True):
    """``[challenges]``: how many friendly matches a team of an arena may ask for in 24 hours, and be asked for."""

    made_per_day: Annotated[int, Meta(ge=0, le=1000)] = 10
    received_per_day: Annotated[int, Meta(ge=0, le=1000)] = 10


class QuotasTable(TomlTable, frozen=True, kw_only=True):
    """``[quotas]``: the most that one address, or one team, may have or do. The limits for all together stay.

    Of an address: bots that have not logged in, connections to the page, pages that follow its events, requests to
    it in a second on average, and teams that sign up in an hour. Of a team: questions without an answer, and in 24
    hours the programs that it submits and the analyses that it asks for.
    """

    bot_connections_per_address: Annotated[int, Meta(ge=1, le=MAX_CONNECTIONS)] = MAX_CONNECTIONS_PER_ADDRESS
    page_connections_per_address: Annotated[int, Meta(ge=1, le=MAX_PAGE_CONNECTIONS)] = (
        MAX_PAGE_CONNECTIONS_PER_ADDRESS
    )
    page_followers_per_address: Annotated[int, Meta(ge=1, le=MAX_SUBSCRIBERS)] = MAX_SUBSCRIBERS_PER_ADDRESS
    page_requests_per_second: Annotated[int, Meta(ge=1, le=10_000)] = PAGE_REQUESTS_PER_SECOND
    sign_ups_per_hour: Annotated[int, Meta(ge=1, le=MAX_TEAMS)] = SIGN_UPS_PER_ADDRESS
    questions_waiting: Annotated[int, Meta(ge=0, le=1000)] = MAX_OPEN_QUESTIONS
    submissions_per_day: Annotated[int, Meta(ge=1, le=1000)] = SUBMISSIONS_A_DAY
    analyses_per_day: Annotated[int, Meta(ge=0, le=1000)] = ANALYSES_A_DAY


NoShow: TypeAlias = Literal["provisional", "final"]
"""The effect of a no-show: a provisional forfeit is played after all if the team arrives, a final one is not."""


class StartTable(TomlTable, frozen=True, kw_only=True):
    """``[start]``: how long a match waits for a missing team, and whether the forfeit that follows is final."""

    absent_seconds: Seconds = 60.0
    no_show: NoShow = "provisional"


NotesSetting: TypeAlias = Literal["after", "live", "never"]
"""Who sees what bots note beside their own team: all others after the match; the host at once, too; or nobody."""


class ContestFile(TomlTable, frozen=True, kw_only=True):
    contest: ContestTable
    event: Annotated[list[EventTable], Meta(min_length=1, max_length=MAX_EVENTS)]
    time: TimeTable = TimeTable()
    server: ServerTable = ServerTable()
    start: StartTable = StartTable()
    page: PageTable = PageTable()
    programs: ProgramsTable = ProgramsTable()
    challenges: ChallengesTable = ChallengesTable()
    quotas: QuotasTable = QuotasTable()
    notes: NotesSetting = "after"

    @classmethod
    def mistakes(cls, fields: Mapping[str, Any]) -> Iterator[Mistake]:
        events: Sequence[EventTable] = fields.get("event", ())
        seen: set[str] = set()
        for index, event in enumerate(events):
            if event.title in seen:
                yield wrong(
                    ("event", index, "name"), event.title, "a name of its own; an event before it has this one"
                )
            seen.add(event.title)
        arenas = [event.format == "arena" for event in events]
        if any(arenas) and not all(arenas):
            index = arenas.index(False)
            expected = "an arena as well: next to an arena, no event can wait for missing teams"
            yield wrong(("event", index, "format"), events[index].format, expected)
        others = [event.game for event in events if event.game != CLASSIC_GAME]
        classic = fields["server"].classic_port if "server" in fields else None
        if classic is not None and others:
            expected = f"no classic_port: the classic wire plays {CLASSIC_GAME} only, and there is {others[0]}"
            yield wrong(("server", "classic_port"), classic, expected)


class Team(TomlTable, frozen=True, kw_only=True):
    """``[[team]]``: an id, a name and a secret token.

    ``seats`` is how many bots it may connect, and so how many matches it can play at once. ``classic`` permits the
    classic wire, which has no token; ``classic_address`` permits it from this address only.
    """

    id: TeamId
    name: Name
    token: Annotated[str, Meta(min_length=8, max_length=MAX_NAME)]
    seats: Annotated[int, Meta(ge=1, le=MAX_SEATS)] = 1
    classic: bool = False
    classic_address: Address | None = None


class TeamsFile(TomlTable, frozen=True, kw_only=True):
    team: Annotated[list[Team], Meta(max_length=MAX_TEAMS)] = msgspec.field(default_factory=list)

    @classmethod
    def mistakes(cls, fields: Mapping[str, Any]) -> Iterator[Mistake]:
        ids: dict[int, str] = {}
        names: dict[str, int] = {}
        for index, team in enumerate(fields.get("team", ())):
            if team.id in ids:
                yield wrong(("team", index, "id"), team.id, f"an id of its own; team {ids[team.id]!r} has this one")
            key = name_key(team.name)
            if key in names:
                expected = f"a name of its own; team {names[key]} has this one"
                yield wrong(("team", index, "name"), team.name, expected)
            ids.setdefault(team.id, team.name)
            names.setdefault(key, team.id)


class Contest(Struct, frozen=True, dict=True):
    """A contest folder whose files are read and checked."""

    folder: Path
    file: ContestFile
    teams: dict[int, Team]
    former_names: dict[int, str] = field(default_factory=dict)
    """Names of teams that are no longer in teams.toml, by team id: the latest ones on record."""

    @property
    def name(self) -> str:
        return self.file.contest.name

    @cached_property
    def house_bots(self) -> dict[int, str]:
        """The sample bots that the server starts to fill in, by team id. Their teams are not in teams.toml."""
        return house_bots(self.file)

    @property
    def contestants(self) -> dict[int, Team]:
        return {number: team for number, team in self.teams.items() if number not in self.house_bots}

    @property
    def is_open_ended(self) -> bool:
        """True if the events are arenas, in which the number of matches is not known."""
        return any(table.format == "arena" for table in self.file.event)

    @cached_property
    def events(self) -> tuple[ContestEvent, ...]:
        """The events in the order of contest.toml.

        Raises:
            BookError: a book of openings cannot be used; `load_contest` has found that there is none such.
        """
        return tuple(map(self._event, range(1, len(self.file.event) + 1)))

    def _event(self, number: int) -> ContestEvent:
        table, seed = self.file.event[number - 1], self.file.contest.seed
        return event_of(number, table, seed, self.teams, self.house_bots, self.folder)

    def check_books(self) -> Iterator[SettingError]:
        """Yield what is wrong with the books of openings."""
        for index, table in enumerate(self.file.event):
            try:
                if table.openings is not None:
                    self._event(index + 1)
            except BookError as error:
                yield ("event", index, "openings"), table.openings, f"a book: {error}"

    def event(self, number: int) -> ContestEvent:
        """Return the event with this number, from 1."""
        return self.events[number - 1]

    @property
    def lag(self) -> float:
        """The network allowance, in seconds."""
        return self.file.time.lag_ms / 1000

    @property
    def database(self) -> DatabaseAddress:
        address = self.file.server.database
        return database_path(self.folder) if address is None else postgres_address(address)

    def page_at(self, host: str, port: int) -> str:
        """Return the address of the live page for people: ``page_address``, or the one at this host and port."""
        server = self.file.server
        if server.page_address is not None:
            return f"{server.page_address}/"
        from getstep_server.addresses import web_address  # here: a table needs no sockets, whose module takes 3 ms

        return web_address(host, port, "http" if server.tls_key is None else "https")

    @property
    def running(self) -> Path:
        """The folder with the journal of the running matches."""
        return running_path(self.folder)

    def team_name(self, team: int) -> str:
        """Return a team's name. For a team that is no longer in teams.toml it is the latest name on record."""
        return self.teams[team].name if team in self.teams else self.former_names.get(team, f"team {team}")

    def add_former_names(self, teams: Iterable[Mapping[str, Any]]) -> None:
        """Add the names of teams that are no longer in teams.toml, from the ``teams`` of a match's record."""
        for team in teams:
            if team["id"] not in self.teams:
                self.former_names[team["id"]] = escape_control_chars(str(team.get("name")))

    def take_teams(self, teams: Mapping[int, "Team"]) -> None:
        """Let the contest have these teams from now on: the list changes while a server or a page runs.

        All that hold this contest see the change. A thread that reads the former teams meanwhile sees those whole.
        """
        structs.force_setattr(self, "teams", dict(teams))
        self.__dict__.pop("events", None)  # a cached property: each event lists its teams

    def listening_on(
        self,
        *,
        host: str | None = None,
        port: int | None = None,
        classic_port: int | None = None,
        web_port: int | None = None,
        host_page: str | None = None,
    ) -> "Contest":
        """Return this contest with other settings of ``[server]`` than in contest.toml; None keeps the one there.

        Raises:
            UsageError: contest.toml could not have this setting.
        """
        wanted = {
            "host": host,
            "port": port,
            "classic_port": classic_port,
            "web_port": web_port,
            "host_page": host_page,
        }
        changed = {name: value for name, value in wanted.items() if value is not None}
        try:
            server = validated(ServerTable, {**structs.asdict(self.file.server), **changed})
            return replace(self, file=structs.replace(self.file, server=server))
        except ValidationError as error:
            raise _usage_error(error) from error


_EXPORTED = b'{"record":'
"""The first bytes of each record."""


def contest_path(folder: Path) -> Path:
    return folder / "contest.toml"


def contest_text_without_database(folder: Path) -> str:
    """Return contest.toml for a copy of a contest, which must never find the contest's own records elsewhere."""
    text = contest_path(folder).read_text(encoding="utf-8")
    return re.sub(r"^\s*database\s*=.*\n?", "", text, flags=re.MULTILINE)


def use_database(folder: Path, address: PostgresAddress) -> None:
    """Let a contest keep its records at an address from here on.

    Raises:
        ConfigError: contest.toml cannot be read or written.
    """
    import tomlkit  # as in `make_contest`

    document = tomlkit.parse(read_text(contest_path(folder)))
    document.setdefault("server", tomlkit.table())["database"] = f"{address.url}#{address.schema}"
    replace_text(contest_path(folder), tomlkit.dumps(document))


def teams_path(folder: Path) -> Path:
    return folder / "teams.toml"


def database_path(folder: Path) -> Path:
    return folder / "contest.db"


def running_path(folder: Path) -> Path:
    return folder / "running"


def load_contest(folder: Path) -> Contest:
    """Read a contest folder.

    Raises:
        ConfigError: a file is missing or wrong; the message names file and line.
    """
    if folder.is_file():
        raise ConfigError(_not_a_folder(folder))
    if not contest_path(folder).exists():
        raise ConfigError(f"{folder}: no contest.toml here; make a contest with: getstep-server init {folder}")
    file = load(contest_path(folder), ContestFile)
    teams = load(teams_path(folder), TeamsFile).team
    house = [house_team(number, bot) for number, bot in house_bots(file).items()]
    _check_apart(folder, teams, house)
    contest = Contest(folder, file, {team.id: team for team in (*teams, *house)})
    if errors := list(contest.check_books()):
        raise config_error(contest_path(folder), errors)
    return contest


def _not_a_folder(path: Path) -> str:
    """Return the message for a file that was given instead of a contest's folder."""
    with path.open("rb") as file:
        begins = file.read(len(_EXPORTED))
    if begins != _EXPORTED:
        return f"{path}: a file, expected the folder of a contest"
    return (
        f"{path}: the records of a contest, as export --matches writes them, expected the contest's folder."
        " The file is a backup of the records, which also other programs can read. If the folder's database is lost"
        f" or damaged, restore it with: getstep-server rescue CONTEST --records {path}"
    )


def house_bots(file: ContestFile) -> dict[int, str]:
    """Return the sample bots that fill in in any of the arenas, by team id."""
    arenas = [table.settings for table in file.event if table.format == "arena"]
    if not arenas:
        return {}
    from getstep_server.formats.arena import HOUSE_TEAMS, ArenaOptions  # here: only an arena has house bots

    named = {bot for settings in arenas for bot in validated(ArenaOptions, settings).bots}
    return {number: bot for bot, number in HOUSE_TEAMS.items() if bot in named}


def house_team(number: int, bot: str) -> Team:
    """Return the team of a house bot. Its token changes with each run: only the server can start its bot."""
    # a new token for each run: nobody has to type it
    return Team(id=number, name=f"{bot} (house bot)", token=os.urandom(16).hex())


def _check_apart(folder: Path, teams: Sequence[Team], house: Iterable[Team]) -> None:
    """Raise ConfigError if a team of teams.toml has the id or the name of a house bot."""
    taken = {value: bot for bot in house for value in (bot.id, bot.name)}
    errors: list[SettingError] = [
        (("team", index, key), value, f"another one: the house bot {taken[value].name!r} has it")
        for index, team in enumerate(teams)
        for key, value in (("id", team.id), ("name", team.name))
        if value in taken
    ]
    if errors:
        raise config_error(teams_path(folder), errors)


def init_contest(
    folder: Path, *, name: str, games: Sequence[str], format_: str = "round_robin", seed: int | None = None
) -> None:
    """Make a new contest folder with an event for each game, all in one format.

    Raises:
        UsageError: there is a contest already, or the name, a game or the format cannot be used.
        ConfigError: the folder cannot be written.
    """
    import secrets  # here, like tomlkit in the next line: only `init` needs it

    from .template import contest_text, initial_settings

    seed = secrets.randbelow(10**6) if seed is None else seed
    installed = [installed_game(game) for game in games]
    settings = {game: initial_settings(game, format_) if format_ in FORMATS else {} for game in games}
    events = [{"game": game, "format": format_, "settings": settings[game]} for game in games]
    _check({"contest": {"name": name, "seed": seed}, "event": events})
    _make(folder, contest_text(name, installed, seed, format_))


def make_contest(folder: Path, tables: Mapping[str, Any]) -> None:
    """Make a new contest folder with ``tables`` as its contest.toml.

    Raises:
        UsageError: there is a contest already, or a setting cannot be used.
        ConfigError: the folder cannot be written.
    """
    import tomlkit  # here: reading a contest does not need it

    _check(tables)
    _make(folder, tomlkit.dumps(tables))


def _check(tables: Mapping[str, Any]) -> None:
    try:
        validated(ContestFile, tables)
    except ValidationError as error:
        raise _usage_error(error) from error


def _make(folder: Path, text: str) -> None:
    path = contest_path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # "x" fails if the file is there: a contest is never overwritten
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
        teams_path(folder).touch(mode=0o600, exist_ok=True)  # it will hold secrets
    except FileExistsError as error:
        raise UsageError(f"{error.filename}: there is a contest here already; name another folder") from error
    except OSError as error:
        raise ConfigError(f"{folder}: {error.strerror or error}") from error


def _usage_error(error: ValidationError) -> UsageError:
    """Return the error for settings that were given as options on the command line."""
    options = [(_option(location), what) for location, what in errors_of(error)]
    return UsageError("\n".join(f"--{option}{what}" for option, what in options))


def _option(location: Location) -> str:
    """Return the command line's name for a setting; all options of games are ``--option NAME``."""
    name = str(location[-1]).replace("_", "-")
    return f"option {name}" if location[-2:-1] == ("options",) else name


# --- checks of a whole contest, which `run` makes before it plays -----------------------------------------------


def check_teams(contest: Contest) -> None:
    """Check that the contest has two teams or more, and that its events name only teams of teams.toml.

    With house bots, which play contestants only, one team is enough.

    Raises:
        ConfigError: there are fewer teams, or an event names an unknown one.
    """
    contestants, least = len(contest.contestants), 1 if contest.house_bots else 2
    if contestants < least:
        raise ConfigError(
            f"{contest.folder / 'teams.toml'}: {contestants} teams, expected at least {least};"
            f" add some with: getstep-server teams add {contest.folder} NAME"
        )
    unknown = [
        ((*location, index), team, "the id of a team in teams.toml")
        for location, teams in _named_teams(contest)
        for index, team in enumerate(teams)
        if team not in contest.teams
    ]
    if unknown:
        raise config_error(contest_path(contest.folder), unknown)


def check_matches(contest: Contest) -> None:
    """Check that no event has more matches than `MAX_MATCHES`, which one record of pairings can hold.

    Raises:
        ConfigError: the settings of an event ask for more.
    """
    errors: list[SettingError] = []
    for index, event in enumerate(contest.events):
        most = event.format.max_matches(len(event.teams))
        if most > MAX_MATCHES:
            wanted = f"at most {MAX_MATCHES} matches; with {len(event.teams)} teams these are up to {most}"
            errors.append((("event", index, "settings"), contest.file.event[index].settings, wanted))
    if errors:
        raise config_error(contest_path(contest.folder), errors)


def _named_teams(contest: Contest) -> Iterator[tuple[Location, list[int]]]:
    """Yield each list of team ids in contest.toml, with its location."""
    for index, table in enumerate(contest.file.event):
        yield ("event", index, "teams"), table.teams or []
        yield ("event", index, "settings", "challengers"), table.settings.get("challengers", [])
