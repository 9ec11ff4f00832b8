"""The contest.toml that a new contest begins with: every setting, and what it means."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias, get_args

import tomlkit

from getstep_engines import GAMES, Game

from .contest_event import CUSTOMS, usual_scoring
from .formats import FORMATS, TieBreak
from .standings import ScoringKind

Setting: TypeAlias = str | tuple[str, str]
"""A line, or a setting and its comment."""

TIE_BREAKS: tuple[str, ...] = get_args(TieBreak)

_COMMENT = 32
"""The column where comments begin, two blanks behind the setting at least."""

_TIME_KINDS = {"move": "for each move", "budget": "for all of a player's moves in a match together"}


def contest_text(name: str, games: Sequence[Game], seed: int, format_: str = "round_robin") -> str:
    """contest.toml for a contest with an event for each of ``games``, all in one format."""
    settings: list[Setting] = [
        "[contest]",
        (f"name = {tomlkit.item(name).as_string()}", ""),
        (f"seed = {seed}", "all that is left to chance is drawn from it"),
        *_events(games, format_),
        "",
        "[time]",
        ("lag_ms = 100", "added to every limit, for everybody alike"),
        "",
        "[server]",
        ('host = "0.0.0.0"', "all of this machine's addresses"),
        ("port = 7777", "contestants have to reach it (TCP): allow it in the firewall"),
        ("# classic_port = 8888", "also take clients of the classic wire (hop only; teams opt in)"),
        "",
        "[start]",
        ("absent_seconds = 60", "how long a match waits for a team that is not there"),
    ]
    return "".join(f"{_commented(setting)}\n" for setting in settings)


def settings_of(game: str, format_: str) -> dict[str, Any]:
    """A format's settings as a new event of a game has them, but for those that are off unless asked for."""
    found = {}
    for name, field in FORMATS[format_].Options.model_fields.items():
        default = (field.examples or [None])[0] if field.is_required() else field.default
        found[name] = CUSTOMS.get((game, format_), {}).get(name, default)
    return {name: value for name, value in found.items() if value is not None}


def _events(games: Sequence[Game], format_: str) -> list[Setting]:
    """The events; the first one explains what an event can have."""
    lines: list[Setting] = []
    for game in games:
        lines += ["", "[[event]]", *(_further_event(game, format_) if lines else _first_event(game, format_))]
    return lines


def _first_event(game: Game, format_: str) -> list[Setting]:
    control = game.time_control
    other = "budget" if control.kind == "move" else "move"
    return [
        (f'game = "{game.name}"', f"one of: {', '.join(GAMES)}"),
        (f'# name = "{game.name}"', "of the event, as the tables show it"),
        *((f"options.{option.name} = {option.default}", option.help) for option in game.options.values()),
        (f'format = "{format_}"', f"one of: {', '.join(FORMATS)}"),
        *_settings(game, format_),
        (
            f"{control.kind}_seconds = {control.seconds:g}",
            f"{control}; or {other}_seconds, {_TIME_KINDS[other]}",
        ),
        ("# teams = [1, 2]", "who takes part (by default all teams)"),
        (f'# scoring.kind = "{usual_scoring(game.name, format_)}"', f"one of: {', '.join(get_args(ScoringKind))}"),
        ("# scoring.win = 2", "and scoring.draw = 1, scoring.loss = 0"),
        (f"# tie_breaks = {_toml(list(FORMATS[format_].tie_breaks))}", f"of {', '.join(TIE_BREAKS)}; then a lot"),
        "# Other formats have other settings, here with what they are unless contest.toml says it:",
        *(f"#   {name}: {_defaults(name)}" for name in FORMATS if name != format_),
    ]


def _settings(game: Game, format_: str) -> Iterator[Setting]:
    """Each of the format's settings with what it means; those that are off are commented out."""
    written = settings_of(game.name, format_)
    for name, field in FORMATS[format_].Options.model_fields.items():
        line = f"settings.{name} = {_toml(written.get(name, (field.examples or [None])[0]))}"
        yield line if name in written else f"# {line}", field.description or ""


def _defaults(format_: str) -> str:
    """A format's settings in a line."""
    fields = FORMATS[format_].Options.model_fields
    return ", ".join(
        name if field.is_required() or field.default is None else f"{name} = {_toml(field.default)}"
        for name, field in fields.items()
    )


def _toml(value: object) -> str:
    return tomlkit.item(value).as_string()


def _further_event(game: Game, format_: str) -> list[Setting]:
    control = game.time_control
    return [
        f'game = "{game.name}"',
        *((f"options.{option.name} = {option.default}", option.help) for option in game.options.values()),
        f'format = "{format_}"',
        *(f"settings.{name} = {_toml(value)}" for name, value in settings_of(game.name, format_).items()),
        f"{control.kind}_seconds = {control.seconds:g}",
    ]


def _commented(setting: Setting) -> str:
    if isinstance(setting, str):
        return setting
    return f"{setting[0]:<{_COMMENT - 2}}  # {setting[1]}" if setting[1] else setting[0]
