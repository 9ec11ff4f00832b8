"""The contest.toml that a new contest begins with: every setting, and what it means."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import tomlkit

from getstep_engines import GAMES, Game

from .formats import FORMATS

Setting: TypeAlias = str | tuple[str, str]
"""A line, or a setting and its comment."""

_TIME_KINDS = {"move": "for each move", "budget": "for all of a player's moves in a match together"}


def contest_text(name: str, games: Sequence[Game], seed: int) -> str:
    """contest.toml for a contest with an event for each of ``games``."""
    settings: list[Setting] = [
        "[contest]",
        (f"name = {tomlkit.item(name).as_string()}", ""),
        (f"seed = {seed}", "all that is left to chance is drawn from it"),
        *_events(games),
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


def _events(games: Sequence[Game]) -> list[Setting]:
    """The events; the first one explains what an event can have."""
    lines: list[Setting] = []
    for game in games:
        lines += ["", "[[event]]", *(_first_event(game) if not lines else _further_event(game))]
    return lines


def _first_event(game: Game) -> list[Setting]:
    control = game.time_control
    other = "budget" if control.kind == "move" else "move"
    return [
        (f'game = "{game.name}"', f"one of: {', '.join(GAMES)}"),
        (f'# name = "{game.name}"', "of the event, as the tables show it"),
        *((f"options.{option.name} = {option.default}", option.help) for option in game.options.values()),
        ('format = "round_robin"', f"one of: {', '.join(FORMATS)}"),
        ("settings.legs = 2", "every two teams meet twice, colours swapped"),
        (
            f"{control.kind}_seconds = {control.seconds:g}",
            f"{control}; or {other}_seconds, {_TIME_KINDS[other]}",
        ),
        ("# teams = [1, 2]", "who takes part (by default all teams)"),
        ("# scoring.win = 2", "and scoring.draw = 1, scoring.loss = 0"),
        ('# tie_breaks = ["won", "difference", "direct"]', 'in this order, then a lot; "buchholz" is another'),
    ]


def _further_event(game: Game) -> list[Setting]:
    control = game.time_control
    return [
        f'game = "{game.name}"',
        *((f"options.{option.name} = {option.default}", option.help) for option in game.options.values()),
        'format = "round_robin"',
        "settings.legs = 2",
        f"{control.kind}_seconds = {control.seconds:g}",
    ]


def _commented(setting: Setting) -> str:
    if isinstance(setting, str):
        return setting
    return f"{setting[0]:<32}# {setting[1]}" if setting[1] else setting[0]
