"""The command ``getstep practice``."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from getstep._errors import SetupError
from getstep.browser import open_in_browser
from getstep.conventions import CONVENTIONS
from getstep.games import only_game
from getstep.sprt import DEFAULTS, MOST_PAIRS, Sprt
from getstep.text import Console, short_repr

from .browser import BrowserPlayer, Page, find_page
from .human import HumanPlayer
from .results import Results
from .screen import Screen
from .series import Entrant, Plan, entrant, find_game, run

_OPTION = re.compile(r"\s*(?:options\.)?([A-Za-z]\w{0,63})\s*=\s*(-?[0-9]{1,9}(?:--?[0-9]{1,9})?)\s*", re.ASCII)

GAMES, GAMES_WITH_TEST = 10, 2 * MOST_PAIRS
PLAYED, FAULTY, STOPPED = 0, 1, 130


def practise(options: argparse.Namespace, console: Console) -> int:
    """Run the command; return the exit code."""
    if options.browser and not options.human:
        raise SetupError("--browser is for --human: add it to play against your bot yourself.")
    test = _test(options)
    bot = entrant(options.bot, options.convention, say=console.say)
    most = GAMES_WITH_TEST if test else 1 if options.human else GAMES
    plan = Plan(
        find_game(_game_name(options), bot),
        most if options.games is None else options.games,
        options.limit,
        options_named(options.option),
        seed=options.seed,
        test=test,
    )
    screen = Screen(sys.stdout, plan.games, watch=options.watch and not options.human, test=test)
    results = run(plan, bot, _opponent(options, plan, screen), screen)
    console.say(f"\n{results.report(screen.draw)}")
    if results.matches:
        _save(options, bot, results, console)
    if results.stopped:
        return STOPPED
    return FAULTY if results.faults else PLAYED


def _test(options: argparse.Namespace) -> Sprt | None:
    """Return the sequential test that was asked for, if any.

    Raises:
        SetupError: a setting is not valid, or there is no test that it could be for.
    """
    given = {name: value for name in DEFAULTS if (value := getattr(options, name)) is not None}
    if not options.sprt:
        for name, value in given.items():
            raise SetupError(f"--{name} {value:g}: there is no test without --sprt; give --sprt as well.")
        return None
    if options.human:
        raise SetupError("--sprt compares two bots; give the other one with --against, or leave out --human.")
    try:
        return Sprt(**{**DEFAULTS, **given})
    except ValueError as error:
        raise SetupError(f"--sprt: {error}.") from None


def _game_name(options: argparse.Namespace) -> str | None:
    """Return the game that was asked for, or the only one that a program or the opponent plays; None if unknown."""
    if options.game is not None:
        return str(options.game)
    conventions = (options.convention, options.against_convention)
    found = [CONVENTIONS[name].game for name in conventions if name is not None]
    return found[0] if found else only_game(options.against)


def options_named(given: Sequence[str]) -> dict[str, int | str]:
    """Return the game's options from texts such as ``size=10`` or ``size=6-16``, also as ``options.size=10``.

    Raises:
        SetupError: a text has another form, or an option is given twice. `Plan` checks the names and values.
    """
    found: dict[str, int | str] = {}
    for text in given:
        read = _OPTION.fullmatch(text)
        if read is None:
            raise SetupError(f"--option: expected NAME=NUMBER, such as size=10 or size=6-16 ({short_repr(text)})")
        if read[1] in found:
            raise SetupError(f"--option: {read[1]} is given twice ({short_repr(text)})")
        found[read[1]] = int(read[2]) if read[2].lstrip("-").isdecimal() else read[2]
    return found


def _opponent(options: argparse.Namespace, plan: Plan, screen: Screen) -> Entrant:
    if options.browser:
        page = find_page()
        return Entrant("you", lambda _seed: BrowserPlayer(_opened(page, screen)))
    if options.human:
        return Entrant("you", lambda _seed: HumanPlayer(plan.game, input, screen.say, screen.draw))
    return entrant(options.against, options.against_convention, say=screen.say)


def _opened(find: Callable[[], Page], screen: Screen) -> Page:
    try:
        page = find()
    except OSError as error:
        raise SetupError(f"--browser: no port of this computer is free ({error.strerror or error}).") from None
    opened = open_in_browser(page.address)
    screen.say(f"{'Your board is in the browser' if opened else 'Open this address in a browser'}: {page.address}")
    return page


def _save(options: argparse.Namespace, bot: Entrant, results: Results, console: Console) -> None:
    stem = bot.file.stem if bot.file else Path(bot.name).stem
    path = options.html or Path(f"{stem}-practice.html")
    try:
        path = results.save(path)
    except OSError as error:
        raise SetupError(
            f"{path}: the replays cannot be written ({error.strerror or error}); give another file with --html."
        ) from None
    console.say(f"\nReplays: {path}")
    if not options.open:
        console.say("Open this file in a browser, or add --open.")
    elif not open_in_browser(path.as_uri()):
        console.say("There is no browser to show it in. Open the file yourself.")
