"""The command ``getstep practice``."""

from __future__ import annotations

import argparse
import sys
import webbrowser
from pathlib import Path

from getstep._errors import SetupError
from getstep._text import Console

from .human import HumanPlayer
from .results import Results
from .screen import Screen
from .series import Entrant, Plan, entrant, find_game, run

PLAYED, FAULTY, STOPPED = 0, 1, 130


def practise(options: argparse.Namespace, console: Console) -> int:
    """Run the command; return the exit code."""
    bot = entrant(options.bot)
    plan = Plan(
        find_game(options.game, bot),
        (1 if options.human else 10) if options.games is None else options.games,
        options.limit,
        seed=options.seed,
    )
    screen = Screen(sys.stdout, plan.games, watch=options.watch and not options.human)
    results = run(plan, bot, _opponent(options, plan, screen), screen)
    console.say(f"\n{results.report(screen.draw)}")
    if results.matches:
        _save(options, bot, results, console)
    if results.stopped:
        return STOPPED
    return FAULTY if results.faults else PLAYED


def _opponent(options: argparse.Namespace, plan: Plan, screen: Screen) -> Entrant:
    if options.human:
        return Entrant("you", lambda _seed: HumanPlayer(plan.game, input, screen.say, screen.draw))
    return entrant(options.against)


def _save(options: argparse.Namespace, bot: Entrant, results: Results, console: Console) -> None:
    stem = bot.file.stem if bot.file else bot.name
    path = options.html or Path(f"{stem}-practice.html")
    try:
        path = results.save(path)
    except OSError as error:
        raise SetupError(
            f"{path}: the replays cannot be written ({error.strerror or error}); give another file with --html."
        ) from None
    console.say(f"\nReplays: {path}")
    if options.open:
        webbrowser.open(path.as_uri())
    else:
        console.say("Open this file in a browser, or add --open.")
