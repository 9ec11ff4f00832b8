"""The events of a contest. An event is a tournament of its own, with a game, a format, a scoring and a table."""

# Annotations are not strings here: msgspec would evaluate each of them twice, 15 µs every time.
from collections.abc import Container, Iterable, Iterator, Mapping
from math import isfinite
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Struct, field
from msgspec.structs import asdict

from getstep.openings import Book, BookError, book_of, check_setting, find_book
from getstep_engines import GAMES, Game, TimeControl, UnknownGameError
from getstep_server.errors import UsageError
from getstep_server.formats import FORMATS, Format, TieBreak
from getstep_server.validation import Check, Mistake, ValidationError, validated, wrong

from .fields import Increment, Name, Seconds, TeamId, TomlTable, check_unique

# --- scoring ----------------------------------------------------------------------------------------------------


def _check_finite(value: float) -> None:
    if not isfinite(value):
        raise ValueError("a number that is not infinite")


Number = Annotated[float, Check(_check_finite)]

ScoringKind: TypeAlias = Literal["points", "signed_roots", "percentage"]


class ScoringTable(TomlTable, frozen=True, kw_only=True):
    """``[event.scoring]``; without a ``kind``, the game and the format decide it."""

    kind: ScoringKind | None = None
    win: Number = 2
    draw: Number = 1
    loss: Number = 0

    @classmethod
    def mistakes(cls, fields: Mapping[str, Any]) -> Iterator[Mistake]:
        if {"win", "draw", "loss"} <= fields.keys() and not fields["win"] >= fields["draw"] >= fields["loss"]:
            expected = f"a value from loss, {fields['loss']:g}, to win, {fields['win']:g}"
            yield wrong(("draw",), fields["draw"], expected)


class Scoring(ScoringTable, frozen=True, kw_only=True):
    """The rule by which match results become points.

    ``kind`` is one of:

    - ``"points"``: a win ``win``, a draw ``draw``, a loss ``loss``; a bye is worth a win.
    - ``"signed_roots"``: the sum of sign(d)·√|d|, where d is a match's score difference; a bye is worth 0. It is
      the original ranking of `pseudo_tonga`.
    - ``"percentage"``: 100 × matches won / played, the rating of a ladder; a bye is not a match.
    """

    kind: ScoringKind = "points"


class EventTable(TomlTable, frozen=True, kw_only=True):
    """``[[event]]``: the game, its format and its teams.

    ``package`` is the package that has the game, if getstep does not have it: a message names it if it is missing.
    The default time limit is the game's. ``increment_seconds`` are added to a budget after each answered turn.
    ``openings`` are as in `getstep.openings.find_book`, or a book as the record of settings has it.
    """

    package: Name | None = None
    game: str
    name: Name | None = None
    options: dict[str, int | str] = field(default_factory=dict)
    format: str = "round_robin"
    settings: dict[str, Any] = field(default_factory=dict)
    scoring: ScoringTable = ScoringTable()
    tie_breaks: Annotated[list[TieBreak], Check(check_unique)] | None = None
    teams: Annotated[list[TeamId], Check(check_unique, min_length=2)] | None = None
    move_seconds: Seconds | None = None
    budget_seconds: Seconds | None = None
    increment_seconds: Increment = 0.0
    openings: int | str | dict[str, Any] | None = None

    @property
    def title(self) -> str:
        """The event's name, by default the game's."""
        return self.name or self.game

    @classmethod
    def mistakes(cls, fields: Mapping[str, Any]) -> Iterator[Mistake]:
        game, format_ = fields.get("game"), fields.get("format")
        if game is not None and game in GAMES:
            yield from _option_mistakes(GAMES[game], fields.get("options", {}))
            yield from _time_mistakes(GAMES[game], fields)
            yield from _opening_mistakes(fields)
        elif game is not None:
            yield wrong(("game",), game, _missing(game, fields.get("package")))
        if format_ is not None and format_ in FORMATS:
            yield from _format_mistakes(FORMATS[format_], fields.get("settings"))
        elif format_ is not None:
            yield wrong(("format",), format_, f"one of: {', '.join(FORMATS)}")


def _missing(game: str, package: str | None) -> str:
    """Return what was expected instead of a game that is not installed."""
    try:
        return GAMES[game].name
    except UnknownGameError as error:
        where = f"; it is in the package {package}: python -m pip install {package}" if package else ""
        return f"an installed game ({error}{where})"


def _option_mistakes(game: Game, options: Mapping[str, int | str]) -> Iterator[Mistake]:
    for name, value in options.items():
        if name not in game.options:
            expected = f"an option of {game.name}, which has {', '.join(game.options) or 'none'}"
            yield wrong(("options", name), value, expected)
            continue
        try:
            game.options[name].values(value)
        except ValueError as error:
            yield wrong(("options", name), value, str(error).partition("expected ")[2])


def _opening_mistakes(fields: Mapping[str, Any]) -> Iterator[Mistake]:
    """Yield what is wrong with the form of the openings; `event_of` reads the book."""
    setting = fields.get("openings")
    if setting is None:
        return
    if not isinstance(setting, dict):
        try:
            check_setting(setting)
        except BookError as error:
            yield wrong(("openings",), setting, str(error).removeprefix("expected "))
            return
    if any(isinstance(value, str) for value in fields.get("options", {}).values()):
        yield wrong(("openings",), setting, "none: they are for one board, and an option has a range")


def _format_mistakes(format_: type[Format[Any]], settings: Mapping[str, Any] | None) -> Iterator[Mistake]:
    if settings is None:  # no table, which is a mistake already
        return
    known = format_.Options.__struct_fields__
    expected = f"a setting of {format_.name}, which has {', '.join(known)}"
    unknown = [wrong(("settings", name), value, expected) for name, value in settings.items() if name not in known]
    yield from unknown
    if unknown:
        return
    try:
        validated(format_.Options, settings)
    except ValidationError as error:
        yield from (mistake.below("settings") for mistake in error.mistakes)


def _time_mistakes(game: Game, fields: Mapping[str, Any]) -> Iterator[Mistake]:
    if not {"move_seconds", "budget_seconds", "increment_seconds"} <= fields.keys():
        return
    move, budget, increment = (fields[f"{name}_seconds"] for name in ("move", "budget", "increment"))
    if move is not None and budget is not None:
        yield wrong(("budget_seconds",), budget, "either move_seconds or budget_seconds, not both")
    kind = game.time_control.kind if move is None and budget is None else "move" if budget is None else "budget"
    if increment and kind != "budget":
        yield wrong(("increment_seconds",), increment, "budget_seconds as well: it is added to a budget")


class ContestEvent(Struct, frozen=True):
    """An event with all its settings, defaults included.

    ``number`` counts from 1 in the order of contest.toml. ``teams`` are the ids of the teams that take part now, in
    the order of teams.toml. An option may be a range, from which each pair of matches draws its value.
    """

    number: int
    name: str
    game: Game
    options: dict[str, int | str]
    time_control: TimeControl
    scoring: Scoring
    format: Format[Any]
    tie_breaks: tuple[TieBreak, ...]
    teams: tuple[int, ...]
    book: Book | None = None
    """The openings of its matches; None if they begin at the start of the game."""

    @property
    def heading(self) -> str:
        """The event's name for people; without a name of its own, it is the game's title without its origin."""
        return self.name if self.name != self.game.name else game_heading(self.game)

    def extreme_options(self) -> list[dict[str, int]]:
        """Return the options of a match with the smallest values, and those with the largest if they differ."""
        values = self.game.values(self.options).items()
        lowest, highest = ({name: each[end] for name, each in values} for end in (0, -1))
        return [lowest] if lowest == highest else [lowest, highest]


def installed_game(name: str) -> Game:
    """Return the game with the name that a command line gives.

    Raises:
        UsageError: no game of this name is installed.
    """
    try:
        return GAMES[name]
    except UnknownGameError as error:
        raise UsageError(str(error)) from None


def event_of(
    number: int,
    table: EventTable,
    seed: int,
    teams: Iterable[int],
    house: Container[int] = (),
    folder: Path = Path(),
) -> ContestEvent:
    """Return the event that a table of contest.toml describes.

    Args:
        number: of the event, from 1.
        table: the event's ``[[event]]``.
        seed: of the contest.
        teams: the ids of all teams.
        house: those of the bots that the server starts: an event has only those that its own settings name.
        folder: of the contest, for the file of a book.

    Raises:
        BookError: the book of openings cannot be used.
    """
    game = GAMES[table.game]
    settings = {**game.settings.get(table.format, {}), **table.settings}
    format_ = format_of(table.format, settings, seed, number)
    options = {name: table.options.get(name, option.default) for name, option in game.options.items()}
    return ContestEvent(
        number=number,
        name=table.title,
        game=game,
        options=options,
        time_control=_time_control(game, table),
        scoring=_scoring(table),
        format=format_,
        tie_breaks=format_.tie_breaks if table.tie_breaks is None else tuple(table.tie_breaks),
        teams=tuple(
            team
            for team in teams
            if (team in format_.house if team in house else table.teams is None or team in table.teams)
        ),
        book=_book(table.openings, game, options, f"{seed} {number}", folder),
    )


def _book(
    setting: int | str | dict[str, Any] | None,
    game: Game,
    options: Mapping[str, int | str],
    seed: str,
    folder: Path,
) -> Book | None:
    """Return the book of a setting of openings, if there is one. Raises BookError."""
    if setting is None:
        return None
    fixed = {name: value for name, value in options.items() if isinstance(value, int)}
    if isinstance(setting, dict):
        return book_of(str(setting.get("name", "openings")), setting.get("lines"), game, fixed)
    return find_book(setting, game, fixed, seed, folder)


def format_of(name: str, settings: dict[str, Any], seed: int, event: int) -> Format[Any]:
    """Return a format with its settings. Each event gets a seed of its own, so that its lots are independent.

    Raises:
        KeyError: the format is unknown.
        ValueError: the format does not have these settings.
    """
    kind = FORMATS[name]
    return kind(validated(kind.Options, settings), seed + event - 1)


def _time_control(game: Game, table: EventTable) -> TimeControl:
    if table.move_seconds is not None:
        return TimeControl("move", table.move_seconds)
    if table.budget_seconds is not None:
        return TimeControl("budget", table.budget_seconds, table.increment_seconds)
    control = game.time_control
    return TimeControl(control.kind, control.seconds, table.increment_seconds)


def _scoring(table: EventTable) -> Scoring:
    """Return the table's scoring; without a ``kind`` it is the default of the game and the format."""
    kind = table.scoring.kind or default_scoring(table.game, table.format)
    return Scoring(**(asdict(table.scoring) | {"kind": kind}))


def default_scoring(game: str, format_: str) -> ScoringKind:
    """Return the kind of scoring that an event has unless contest.toml names another."""
    if GAMES[game].scoring != "points":
        return GAMES[game].scoring
    return "percentage" if format_ == "ladder" else "points"


# --- in words ---------------------------------------------------------------------------------------------------


def describe_event(event: ContestEvent, lag_ms: int) -> str:
    """Return an event in words: its game, its format, and its time limit with the allowance for lag."""
    named = f"{event.name}: " if event.name != event.game.name else ""
    game = describe_game(event.game, event.options)
    openings = "" if event.book is None else f", openings: {describe_book(event.book)}"
    return f"{named}{game}, {event.format.title}, {event.time_control} and {lag_ms} ms for lag{openings}"


def describe_book(book: Book) -> str:
    """Return a book of openings in words."""
    return f"{book.name} ({len(book.lines)})"


def describe_game(game: Game, options: Mapping[str, int | str]) -> str:
    chosen = ", ".join(f"{name} {value}" for name, value in options.items())
    return f"{game_heading(game)} ({chosen})" if chosen else game_heading(game)


def heading_of_game(name: str) -> str:
    """Return the title of a game that a record names, or that name if the game is not installed."""
    return game_heading(GAMES[name]) if name in GAMES else name


def game_heading(game: Game) -> str:
    """Return the title of a game without its origin, such as "Longest Path"."""
    return game.title.partition(" (")[0]
