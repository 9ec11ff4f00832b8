"""The contest.toml of a new contest: every setting with its default and a comment that explains it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias, get_args

import tomlkit

from getstep_engines import GAMES, Game
from getstep_server.formats import FORMATS, TieBreak

from .event import ScoringKind, default_scoring

Setting: TypeAlias = str | tuple[str, str]
"""A whole line, or a setting and its comment."""

TIE_BREAKS: tuple[str, ...] = get_args(TieBreak)

_COMMENT = 32
"""The column of the comments: behind the usual settings, so that most comments still fit 100 columns."""

_TIME_KINDS = {"move": "for each move", "budget": "for all of a player's moves in a match together"}


def contest_text(name: str, games: Sequence[Game], seed: int, format_: str = "round_robin") -> str:
    """Return the contest.toml of a contest with an event for each of ``games``, all in one format."""
    settings: list[Setting] = [
        ('notes = "after"', 'who sees what bots note: all "after" the match, you "live", too, or "never" others'),
        "",
        "[contest]",
        (f"name = {tomlkit.item(name).as_string()}", ""),
        (f"seed = {seed}", "of the drawing of lots: the same seed gives the same draw"),
        *_events(games, format_),
        "",
        "[time]",
        ("lag_ms = 100", "network allowance in milliseconds, added to every time limit"),
        "",
        "[server]",
        ('host = "0.0.0.0"', "listen on all addresses of this machine"),
        ("port = 7777", "contestants connect to it (TCP): open it in this machine's firewall"),
        ("web_port = 8080", "the live page, for browsers (TCP); if it is taken, the next free port"),
        ("friendly_port = 7780", "bots for friendly matches with people, on the page (TCP); or the next free port"),
        ('# host_page = "lan"', 'the host\'s console for browsers of the network, too; "off": for none'),
        ('# tls_certificate = "host.pem"', "TLS for bots and for the page, with tls_key; see docs/internet.md"),
        ('# tls_key = "host.key"', "the certificate's private key, as PEM"),
        ("# classic_port = 8888", "also accept clients of the classic wire (hop only; see teams add --classic)"),
        "",
        "[page]",
        ("# freeze_minutes = 30", "hide results before the expected end; then getstep-server reveal"),
        "",
        "[programs]",
        ("# cores = 2", "matches with programs of getstep-server programs at once (default: all cores but one)"),
        ('sandbox = "required"', '"none": programs run without protection, which the report says'),
        ("startup_seconds = 10", "how long a program may take to be ready for a match; it is not thinking time"),
        ("# submissions = true", "teams submit programs: getstep submit, or the form on the page"),
        ("# publish_after_weeks = 4", "publish the program of a team that has led a ladder for so long"),
        "",
        "[challenges]",
        ("made_per_day = 10", "friendly matches that a team of an arena may ask for in 24 hours; 0: none"),
        ("received_per_day = 10", "how often a team may be asked in 24 hours"),
        "",
        "[quotas]",
        ("# sign_ups_per_hour = 40", "teams that sign up by links from one address, which a class may share"),
        ("# submissions_per_day = 50", "programs of a team; docs/course.md has all quotas of addresses and teams"),
        "",
        "[start]",
        ("absent_seconds = 60", "how long a match waits for a missing team; then that team forfeits it"),
        ('no_show = "provisional"', 'a forfeit is played after all if the team arrives; "final": it is not'),
    ]
    return "".join(f"{_commented(setting)}\n" for setting in settings)


def initial_settings(game: str, format_: str) -> dict[str, Any]:
    """Return a format's settings for a new event of a game, without those that are off by default."""
    found = {}
    for name, field in FORMATS[format_].Options.described().items():
        default = field.example if field.required else field.default
        found[name] = GAMES[game].settings.get(format_, {}).get(name, default)
    return {name: value for name, value in found.items() if value is not None}


def _events(games: Sequence[Game], format_: str) -> list[Setting]:
    """Return the events; the comments of the first one explain every setting."""
    lines: list[Setting] = []
    for game in games:
        lines += ["", "[[event]]", *(_further_event(game, format_) if lines else _first_event(game, format_))]
    return lines


def _first_event(game: Game, format_: str) -> list[Setting]:
    control = game.time_control
    other = "budget" if control.kind == "move" else "move"
    scoring, tie_breaks = default_scoring(game.name, format_), _toml(list(FORMATS[format_].tie_breaks))
    return [
        (f'game = "{game.name}"', f"one of: {', '.join(GAMES)}"),
        *_package(game),
        (f'# name = "{game.name}"', "the event's name in the tables"),
        *_options(game),
        (f'format = "{format_}"', f"one of: {', '.join(FORMATS)}"),
        *_settings(game, format_),
        (
            f"{control.kind}_seconds = {control.seconds:g}",
            f"{control}; or {other}_seconds, {_TIME_KINDS[other]}",
        ),
        ("# increment_seconds = 0.5", "added to budget_seconds after each answered turn"),
        ("# teams = [1, 2]", "the ids of the teams that take part (default: all teams)"),
        (f'# scoring.kind = "{scoring}"', f"one of: {', '.join(get_args(ScoringKind))}"),
        ("# scoring.win = 2", "points for a win; also scoring.draw = 1 and scoring.loss = 0"),
        (f"# tie_breaks = {tie_breaks}", f"any of: {', '.join(TIE_BREAKS)}; then lots are drawn"),
        "# The settings of the other formats, with their defaults:",
        *(f"#   {name}: {_defaults(name)}" for name in FORMATS if name != format_),
    ]


def _package(game: Game) -> Iterator[Setting]:
    """Yield the package that has the game, if it is not one of getstep's own games."""
    for plugin in GAMES.plugins():
        if plugin.game is game:
            yield f"package = {_toml(plugin.package)}", "the package that has this game"


def _options(game: Game) -> Iterator[Setting]:
    for option in game.options.values():
        drawn = f'or "{option.lowest}-{option.highest}", drawn for each two games of a pairing'
        yield f"options.{option.name} = {option.default}", f"{option.help}; {drawn}"


def _settings(game: Game, format_: str) -> Iterator[Setting]:
    """Yield each of the format's settings with its description; those that are off are commented out."""
    written = initial_settings(game.name, format_)
    for name, field in FORMATS[format_].Options.described().items():
        line = f"settings.{name} = {_toml(written.get(name, field.example))}"
        yield line if name in written else f"# {line}", field.description


def _defaults(format_: str) -> str:
    """Return a format's settings and their defaults in one line."""
    return ", ".join(
        name if field.default is None else f"{name} = {_toml(field.default)}"
        for name, field in FORMATS[format_].Options.described().items()
    )


def _toml(value: object) -> str:
    return tomlkit.item(value).as_string()


def _further_event(game: Game, format_: str) -> list[Setting]:
    control = game.time_control
    return [
        f'game = "{game.name}"',
        *_package(game),
        *_options(game),
        f'format = "{format_}"',
        *(f"settings.{name} = {_toml(value)}" for name, value in initial_settings(game.name, format_).items()),
        f"{control.kind}_seconds = {control.seconds:g}",
    ]


def _commented(setting: Setting) -> str:
    if isinstance(setting, str):
        return setting
    return f"{setting[0]:<{_COMMENT - 2}}  # {setting[1]}" if setting[1] else setting[0]
