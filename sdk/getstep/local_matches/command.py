"""The commands ``getstep practice`` and ``getstep move``."""

from __future__ import annotations

import argparse
import re
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from getstep._errors import SetupError
from getstep.adjudication import agreement_of, agreement_settings
from getstep.browser import open_in_browser
from getstep.conventions import CONVENTIONS
from getstep.drawing.viewer import painter
from getstep.games import only_game
from getstep.llm import CONVENTION as LLM
from getstep.llm import model_named, model_of
from getstep.notes import noted_line
from getstep.openings import book_setting
from getstep.referee import Agreement
from getstep.samples import DEFAULT_OPPONENT, LEVEL_GAMES, LEVELS
from getstep.sprt import DEFAULTS, Sprt
from getstep.text import Console, duration, escape_control_chars, short_repr

from .browser import BrowserPlayer, Page, find_page
from .human import HumanPlayer, Quit
from .levels import BEATEN_IF, beaten, level_text, openings_for, reached_text
from .position import Position, position_in, sides_from
from .results import WIDTH, Results
from .screen import Screen, turn_text
from .series import (
    DEFAULT_GAMES,
    GAMES_WITH_TEST,
    Entrant,
    Plan,
    ask_once,
    check_game,
    entrant,
    find_game,
    own_entrant,
    run,
    sequential_test,
)

_OPTION = re.compile(r"\s*(?:options\.)?([A-Za-z]\w{0,63})\s*=\s*(-?[0-9]{1,9}(?:--?[0-9]{1,9})?)\s*", re.ASCII)

_NO_FILE_NAME = re.compile(r'[<>:"|?*\\\x00-\x1f]')
"""What a name of a model may have, and a file name on Windows may not."""

PLAYED, FAULTY, STOPPED = 0, 1, 130


def practise(options: argparse.Namespace, console: Console) -> int:
    """Run the command; return the exit code."""
    if options.levels and (options.replay is not None or options.sprt):
        raise SetupError(
            "--levels plays whole games, a fixed number against each level; leave out --from and --sprt."
        )
    if options.browser and not options.human:
        raise SetupError("--browser is for --human: add it to play against your bot yourself.")
    test, agreement = _test(options), agreement_of(agreement_settings(options))
    if agreement is not None and (options.human or options.replay is not None):
        raise SetupError("--resign and --draw end whole games of two bots; leave out --human and --from.")
    begins = _position(options, console)
    if begins is None:
        check_game(_game_name(options), options.bot)
    bot = _own_bot(options, console)
    plan = _plan(options, bot, begins, test, agreement)
    results, reached = _climb(options, plan, bot, console) if options.levels else _play(options, plan, bot, console)
    if results.matches:
        _save(options, bot, results, console)
    if reached:
        console.say("\n" + _wrapped(f"{reached} {BEATEN_IF}"))
    if results.stopped:
        return STOPPED
    return FAULTY if results.faults else PLAYED


def _plan(
    options: argparse.Namespace,
    bot: Entrant,
    begins: Position | None,
    test: Sprt | None,
    agreement: Agreement | None,
) -> Plan:
    if options.levels and not bot.clock:
        raise SetupError("--levels measures how strong a bot is in time; leave out --debug, or --levels.")
    most = GAMES_WITH_TEST if test else 1 if options.human or begins or not bot.clock else DEFAULT_GAMES
    if options.level or options.levels:
        most = LEVEL_GAMES if most == DEFAULT_GAMES else most
    games = most if options.games is None else options.games
    if options.levels and games % 2:
        raise SetupError(f"games: a level is measured by pairs of games, so expected an even number ({games})")
    if begins is not None:
        sides, recorded = sides_from(options.side, begins), options.recorded and not options.human
        return Plan(
            begins.game, games, options.limit, seed=options.seed, begins=begins, sides=sides, recorded=recorded
        )
    game, drawn = find_game(_game_name(options), bot), options_named(options.option)
    book: int | str | None = None
    if options.openings is not None:
        book = book_setting(options.openings)
    elif options.level or options.levels:
        book = openings_for(game, drawn, bot)
    return Plan(
        game,
        games,
        options.limit,
        drawn,
        seed=options.seed,
        test=test,
        openings=book,
        agreement=agreement,
        play_on=options.play_on,
    )


def _play(options: argparse.Namespace, plan: Plan, bot: Entrant, console: Console) -> tuple[Results, str | None]:
    """Play the series; return the results, and if the level is beaten, if it is one."""
    screen = Screen(sys.stdout, plan.games, watch=options.watch and not options.human, test=plan.test)
    other = _opponent(options, plan, screen, console)
    if plan.begins is not None:
        console.say(_wrapped(_begins_text(plan, plan.begins, bot, other)))
    if plan.recorded:
        other = replace(other, name=f"the replay, then {other.name}")
    results = run(plan, bot, other, screen)
    console.say(f"\n{results.report(screen.draw)}")
    return results, level_text(options.level, results) if options.level and plan.begins is None else None


def _climb(options: argparse.Namespace, plan: Plan, bot: Entrant, console: Console) -> tuple[Results, str]:
    """Play against one level after the other until one is not beaten; return its results, and how far that was."""
    lines = []
    for level, name in enumerate(LEVELS, 1):
        screen = Screen(sys.stdout, plan.games, watch=options.watch)
        console.say(f"Level {level}: {name}")
        results = run(plan, bot, entrant(name, say=screen.say), screen)
        lines.append(level_text(level, results))
        if results.stopped or not beaten(results):
            break
    console.say(f"\n{results.report(screen.draw)}\n")
    console.say("\n".join(lines))
    return results, reached_text(bot.name, level, results)


def _own_bot(options: argparse.Namespace, console: Console) -> Entrant:
    """Return the bot that practises. Raises GetstepError."""
    model = model_of(options, console)
    if model is None:
        return own_entrant(options.bot, options.convention, debug=options.debug, say=console.say)
    if options.debug:
        raise SetupError("--debug is for a bot with get_step; leave it out for a language model.")
    from .model import model_entrant  # here: other bots need no HTTP

    return model_entrant(model, console.say)


def _test(options: argparse.Namespace) -> Sprt | None:
    """Return the sequential test that was asked for, if any.

    Raises:
        SetupError: a setting is not valid, or is given without --sprt.
    """
    given = {name: value for name in DEFAULTS if (value := getattr(options, name)) is not None}
    if not options.sprt:
        for name, value in given.items():
            raise SetupError(f"--{name} {value:g}: there is no test without --sprt; give --sprt as well.")
        return None
    if options.replay is not None:
        raise SetupError("--sprt compares two bots in whole games; leave out --from, or --sprt.")
    if options.human:
        raise SetupError("--sprt compares two bots; give the other one with --against, or leave out --human.")
    if options.debug:
        raise SetupError("--sprt needs the clocks, which --debug stops; leave out one of them.")
    return sequential_test(given)


def move(options: argparse.Namespace, console: Console) -> int:
    """Ask the bot for one move in a position; show it between the boards, and return the exit code."""
    begins = _position(options, console)
    if begins is None:
        raise SetupError("Which position? Give a replay with --from, and --move with the number that it shows.")
    bot = _own_bot(options, console)
    plan = Plan(begins.game, 1, options.limit, seed=options.seed, begins=begins, sides=(begins.to_move,))
    draw = painter(getattr(sys.stdout, "encoding", None), is_terminal=sys.stdout.isatty())
    on_turn = plan.game.players[begins.to_move]
    console.say(_wrapped(f"After {begins.text}; {on_turn} is on turn."))
    console.say(f"{draw(begins.picture)}\n")
    try:
        match, turn, output = ask_once(plan, bot)
    except Quit:  # at the debugger's prompt
        return STOPPED
    limit = f" (limit {plan.control})" if bot.clock else ""
    if turn.kind == "move":
        console.say(f"{turn_text(match, turn)}{limit}\n{draw(turn.picture)}")
        console.say(f"Legal.{_in_the_replay(begins)}")
    else:
        fault = Results(bot.name, "", plan.game.name, (match,)).first_fault(draw, sys.maxsize)
        took = f"It took {duration(turn.seconds * 1000)}{limit}." if turn.seconds is not None else "Not measured."
        console.say(f"{fault}\n{took}{_in_the_replay(begins)}")
    if turn.notes:
        console.say("\n".join(["\nIt noted:", *_noted(turn.notes)]))
    if printed := output.since(0):
        console.say("\nIt printed:\n" + "\n".join(f"  {line}" for line in printed))
    return PLAYED if turn.kind == "move" else FAULTY


def _noted(notes: Mapping[str, Any]) -> Iterator[str]:
    """Yield what the bot noted, a line for each drawing."""
    if line := noted_line(notes):
        yield f"  {escape_control_chars(line)}"
    for shape, squares, label, color in notes.get("draw", ()):
        where = " ".join(f"({row}, {column})" for row, column in zip(squares[::2], squares[1::2]))  # noqa: B905 - even
        yield escape_control_chars("  draws: " + " ".join(filter(None, [shape, where, label, color])))


def _in_the_replay(begins: Position) -> str:
    """Return which move was made in the replay, as a sentence after another one; empty if there is none."""
    found = begins.recorded_moves(begins.to_move)[:1]
    return f" In the replay: {begins.game.notation(found[0].move)}." if found else ""


_FROM_ONLY = {"--move": "move", "--number": "number", "--side": "side"}


def _position(options: argparse.Namespace, console: Console) -> Position | None:
    """Return the position that ``--from`` and ``--move`` name; None without them."""
    if options.replay is None:
        given = [flag for flag, name in _FROM_ONLY.items() if getattr(options, name, None) is not None]
        if given or not getattr(options, "recorded", True):
            flag = given[0] if given else "--no-recorded"
            raise SetupError(f"{flag} is for a position of a replay: add --from, such as --from replay.html.")
        return None
    if getattr(options, "option", None):
        raise SetupError("--option: the replay has the options of its game; leave it out.")
    if getattr(options, "openings", None) is not None:
        raise SetupError("--openings: the games begin with the replay's position; leave out one of them.")
    game = getattr(options, "game", None)
    return position_in(options.replay, options.move, options.number, game, console.say)


def _begins_text(plan: Plan, begins: Position, bot: Entrant, other: Entrant) -> str:
    players = plan.game.players
    side = plan.sides[0]
    swapped = ", then the other side, and so on" if len(plan.sides) > 1 else ""
    text = f"From {begins.text}: {players[begins.to_move]} is on turn, {bot.name} plays {players[side]}{swapped}."
    if not plan.recorded:
        return text
    return f"{text} Its opponent first makes its moves of the replay, as long as they are legal; then {other.name}."


def _wrapped(text: str) -> str:
    return textwrap.fill(text, WIDTH - 1, subsequent_indent="  ", break_on_hyphens=False)


def _game_name(options: argparse.Namespace) -> str | None:
    """Return the game that was asked for, or the only one that a program or the opponent plays; None if unknown."""
    if options.game is not None:
        return str(options.game)
    conventions = (options.convention, options.against_convention)
    found = [game for name in conventions if name in CONVENTIONS and (game := CONVENTIONS[name].game) is not None]
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


def _opponent(options: argparse.Namespace, plan: Plan, screen: Screen, console: Console) -> Entrant:
    if options.human and options.against_convention == LLM:
        raise SetupError("--human: your bot plays against you; leave out --against-as.")
    if options.browser:
        page = find_page()
        return Entrant("you", lambda _seed: BrowserPlayer(_opened(page, screen)))
    if options.human:
        return Entrant("you", lambda _seed: HumanPlayer(plan.game, input, screen.say, screen.draw))
    against = LEVELS[options.level - 1] if options.level else options.against
    if options.against_convention == LLM:
        if options.against == DEFAULT_OPPONENT:
            raise SetupError(f"--against-as {LLM} needs the name of a model, such as --against llama3.2.")
        from .model import model_entrant  # here: other bots need no HTTP

        return model_entrant(model_named(options.against, options, console), screen.say)
    return entrant(against, options.against_convention, say=screen.say)


def _opened(find: Callable[[], Page], screen: Screen) -> Page:
    try:
        page = find()
    except OSError as error:
        raise SetupError(f"--browser: no port of this computer is free ({error.strerror or error}).") from None
    opened = open_in_browser(page.address)
    screen.say(f"{'Your board is in the browser' if opened else 'Open this address in a browser'}: {page.address}")
    return page


def _save(options: argparse.Namespace, bot: Entrant, results: Results, console: Console) -> None:
    stem = bot.file.stem if bot.file else Path(_NO_FILE_NAME.sub("-", bot.name)).stem
    name = f"{stem}-practice.html"
    if options.replay is not None:  # not the file that it was read from
        name = f"{options.replay.stem}-from-{options.move}.html"
    path = options.html or Path(name)
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
