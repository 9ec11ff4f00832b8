"""The events of a contest: each a tournament of its own, with a game, a format and a table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import AfterValidator, Field, ValidationInfo, field_validator, model_validator

from getstep_engines import GAMES, Game, TimeControl

from ._model import Model, Name, Seconds, TeamId, once_each
from ._toml import Misfit, Mistake
from .formats import FORMATS, Format, TieBreak
from .standings import Scoring, ScoringKind


class EventTable(Model):
    """``[[event]]``: what is played, how, and by whom. Without a limit it is the game's own."""

    game: str
    name: Name | None = None
    options: dict[str, int] = Field(default_factory=dict)
    format: str = "round_robin"
    settings: dict[str, Any] = Field(default_factory=dict, validate_default=True)
    scoring: Scoring = Scoring()
    tie_breaks: Annotated[list[TieBreak], AfterValidator(once_each)] | None = None
    teams: Annotated[list[TeamId], Field(min_length=2), AfterValidator(once_each)] | None = None
    move_seconds: Seconds | None = None
    budget_seconds: Seconds | None = None

    @property
    def title(self) -> str:
        """Its name, by default the game's."""
        return self.name or self.game

    @field_validator("game")
    @classmethod
    def _known_game(cls, name: str) -> str:
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

    @field_validator("format")
    @classmethod
    def _known_format(cls, name: str) -> str:
        if name not in FORMATS:
            raise ValueError(f"one of: {', '.join(FORMATS)}")
        return name

    @field_validator("settings")
    @classmethod
    def _of_the_format(cls, settings: dict[str, Any], info: ValidationInfo) -> dict[str, Any]:
        if "format" not in info.data:
            return settings
        format_ = FORMATS[info.data["format"]]
        known = format_.Options.model_fields
        wanted = f"a setting of {format_.name}, which has {', '.join(known)}"
        strange = [((name,), value, wanted) for name, value in settings.items() if name not in known]
        if strange:
            raise Misfit(*strange)
        format_.Options.model_validate(settings)  # its mistakes become mistakes of this table
        return settings

    @model_validator(mode="after")
    def _one_kind(self) -> EventTable:
        if self.move_seconds is not None and self.budget_seconds is not None:
            raise Misfit(
                (("budget_seconds",), self.budget_seconds, "either move_seconds or budget_seconds, not both")
            )
        return self


def _option_mistake(game: Game, name: str, value: int) -> Mistake | None:
    if name not in game.options:
        return (name,), value, f"an option of {game.name}, which has {', '.join(game.options) or 'none'}"
    try:
        game.options[name].check(value)
    except ValueError as error:
        return (name,), value, str(error).partition("expected ")[2]
    return None


@dataclass(frozen=True)
class ContestEvent:
    """An event as it is played.

    ``number`` counts from 1 in the order of contest.toml. ``options`` have their defaults filled in. ``teams`` are
    the ids of those that take part now, in the order of teams.toml.
    """

    number: int
    name: str
    game: Game
    options: dict[str, int]
    time_control: TimeControl
    scoring: Scoring
    format: Format[Any]
    tie_breaks: tuple[TieBreak, ...]
    teams: tuple[int, ...]


CUSTOMS: dict[tuple[str, str], dict[str, Any]] = {("linkage", "ladder"): {"missed_limit": "round"}}
"""Settings that go with a game in a format, unless contest.toml says otherwise."""


def event_of(number: int, table: EventTable, seed: int, teams: Iterable[int]) -> ContestEvent:
    """The event of a table.

    Args:
        number: from 1.
        table: it.
        seed: the contest's.
        teams: the ids of all teams.
    """
    game = GAMES[table.game]
    settings = CUSTOMS.get((table.game, table.format), {}) | table.settings
    format_ = format_of(table.format, settings, seed, number)
    return ContestEvent(
        number=number,
        name=table.title,
        game=game,
        options={name: table.options.get(name, option.default) for name, option in game.options.items()},
        time_control=_time_control(game, table),
        scoring=_scoring(table),
        format=format_,
        tie_breaks=format_.tie_breaks if table.tie_breaks is None else tuple(table.tie_breaks),
        teams=tuple(team for team in teams if table.teams is None or team in table.teams),
    )


def format_of(name: str, settings: dict[str, Any], seed: int, event: int) -> Format[Any]:
    """A format with its settings; each event of a contest draws lots of its own.

    Raises:
        KeyError, ValueError: there is no such format, or it has no such settings.
    """
    kind = FORMATS[name]
    return kind(kind.Options.model_validate(settings), seed + event - 1)


def _time_control(game: Game, table: EventTable) -> TimeControl:
    if table.move_seconds is not None:
        return TimeControl("move", table.move_seconds)
    if table.budget_seconds is not None:
        return TimeControl("budget", table.budget_seconds)
    return game.time_control


def _scoring(table: EventTable) -> Scoring:
    """The table's; without a kind, the one that goes with the game or the format."""
    if "kind" in table.scoring.model_fields_set:
        return table.scoring
    return table.scoring.model_copy(update={"kind": usual_scoring(table.game, table.format)})


def usual_scoring(game: str, format_: str) -> ScoringKind:
    """How a game in a format becomes points, unless contest.toml says otherwise."""
    if game == "pseudo_tonga":
        return "signed_roots"
    return "percentage" if format_ == "ladder" else "points"
