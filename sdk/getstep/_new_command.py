"""The command ``getstep new``: it writes a first bot, in the language that the ending of the file says."""

from __future__ import annotations

import argparse
import contextlib
import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path

from getstep_engines import GAMES, Game, UnknownGameError

from . import starter
from ._errors import SetupError
from ._version import __version__
from .languages import LANGUAGES, Language, language_of, suffixes
from .languages import starter as starter_in
from .text import Console

_NEW = """\
Write a bot that already makes legal moves, with comments, as a starting point.
An existing file is never overwritten. For several games, FILE has a function for
each of them.

examples:
  getstep new my_bot.py --game hop
  getstep new my_bot.py --game hop --game linkage
  getstep new my_bot.cpp --game all
  getstep new MyBot.java --game hop --vscode

games:
"""


def new(options: argparse.Namespace, console: Console) -> int:
    """Write a bot that already plays, and print what to type next."""
    games = list(GAMES) if options.game == ["all"] else list(dict.fromkeys(options.game or []))
    if not games:
        raise SetupError(f"Which game? Give --game and one of these, or all:\n{game_list()}")
    for game in games:
        game_named(game)
    language = language_of(options.file.suffix)
    if language is not None:
        _new_in(language, options.file, games, console)
        if options.vscode:
            _add_vscode(options.file, language, games, console)
        _print_build(console, language, options.file, games)
        return 0
    path = _check_name(options.file)
    described = [GAMES[game] for game in games]
    source = starter.one_game(described[0]) if len(games) == 1 else starter.several_games(described)
    _write_new({path: source.encode()})
    console.say(f"Wrote {path}: {_what_it_plays(games)}.")
    if options.vscode:
        _add_vscode(path, None, games, console)
    _print_next_steps(console, path, games)
    return 0


def _write_new(files: Mapping[Path, bytes]) -> None:
    """Write files that must not be there yet: all of them or none.

    Raises:
        SetupError: one is there, or cannot be written.
    """
    for file in files:
        if file.exists():
            raise SetupError(f"{file} already exists; choose another name.")
    for file, content in files.items():
        try:
            with file.open("xb") as stream:
                stream.write(content)
        except OSError as error:
            raise SetupError(f"{file} cannot be written: {error.strerror or error}.") from None


def _new_in(language: Language, path: Path, games: list[str], console: Console) -> None:
    """Write a first bot in another language than Python, and the SDK's files beside it."""
    if not re.fullmatch(language.name_of_bot, path.stem):
        raise SetupError(f"{path.name} cannot be the name of a bot in {language.title}; use letters, digits and _.")
    if path.name in language.files:
        raise SetupError(f"{path.name} is a file of the SDK for {language.title}; choose another name.")
    for game in games:
        if game not in language.games():
            listed = ", ".join(language.games())
            raise SetupError(f"There is no first bot for {game} in {language.title}; there are: {listed}.")
    sdk = {path.with_name(name): content for name, content in language.sdk_files()}
    kept = {file for file in sdk if file.exists()}
    bot = {path: starter_in(language, [GAMES[game] for game in games], path.stem).encode()}
    _write_new({**bot, **{file: content for file, content in sdk.items() if file not in kept}})
    console.say(f"Wrote {path}: {_what_it_plays(games)}.")
    for file, content in sdk.items():
        if file not in kept:
            console.say(f"Wrote {file}, which belongs beside it.")
        elif file.read_bytes() != content:
            console.say(f"Kept {file}, which differs from that of this getstep {__version__}.")


def _add_vscode(path: Path, language: Language | None, games: list[str], console: Console) -> None:
    """Write the files of VS Code beside the bot. Keep those that are there, and print what to add to them."""
    from ._vscode import FOLDER, vscode_files  # here: only this option needs it

    folder = path.parent / FOLDER
    with contextlib.suppress(OSError):  # the file that cannot be written is named below
        folder.mkdir(exist_ok=True)
    for name, content in vscode_files(path, language, games).items():
        file, text = folder / name, json.dumps(content, indent=2, ensure_ascii=False)
        if file.exists():
            console.say(f"Kept {file}. For {path.name}, add to the lists in it:\n{text}")
        else:
            _write_new({file: f"{text}\n".encode()})
            console.say(f"Wrote {file}: open the folder of {path.name} in VS Code.")


def _print_build(console: Console, language: Language, path: Path, games: list[str]) -> None:
    build = language.build_here()
    if build is None:
        tools = " nor ".join(build.tool for build in language.builds_here())
        console.say(f"This computer has no {tools}, which a bot in {language.title} needs. To install it:")
        console.say(f"  {language.install.get(sys.platform, language.install['linux'])}")
        build = language.builds_here()[0]
    name = _quoted(path)
    game = f" --game {games[0]}" if len(games) > 1 else ""
    builds = "; this builds it, too" if build.build else ""
    console.say(f"Next, play it against a sample bot on this computer{builds}:")
    console.say(f"  getstep practice {name}{game}")
    folder = "" if path.parent == Path() else f" in {path.parent}"
    console.say(f"For the contest, type{folder} (the host tells you the address, your team's id and its token):")
    *building, run = build.commands(path)
    console.say("  getstep login")
    console.say(f"  getstep check {_quoted(path.name)}")
    for line in (*building, run):
        console.say(f"  {line}")
    console.say("On a computer without Python, give what login asks for to the bot:")
    console.say(f"  {run} --host 192.168.1.10 --team 7 --token kq3m-x7fd-29pt")
    console.say(f"How to write bots in {language.title} is on the live page of the contest, at /{language.name}.")


def _quoted(path: Path | str) -> str:
    return f'"{path}"' if " " in str(path) else str(path)


def _what_it_plays(games: list[str]) -> str:
    if len(games) > 1:
        return f"a bot with a function for each of {', '.join(games)}"
    return f"a bot that plays {games[0]} ({GAMES[games[0]].summary})"


def _check_name(path: Path) -> Path:
    path = path if path.suffix else path.with_suffix(".py")
    if path.suffix != ".py":
        *known, last = (".py", *suffixes())
        raise SetupError(f"{path} is not the name of a bot's file; it must end in {', '.join(known)} or {last}.")
    if path.stem in ("getstep", "msgpack") or path.stem in sys.stdlib_module_names:
        raise SetupError(f"A file {path.name} would hide Python's own {path.stem}; choose another name.")
    return path


def _print_next_steps(console: Console, path: Path, games: list[str]) -> None:
    name = _quoted(path)
    game = f" --game {games[0]}" if len(games) > 1 else ""
    console.say("Next, play it against a sample bot on this computer:")
    console.say(f"  getstep practice {name}{game}")
    console.say('The guide "A good bot in an hour" is on the live page of the contest, at /guide.')
    console.say("For the contest, type (the host tells you the address, your team's id and its token):")
    console.say("  getstep login")
    console.say(f"  getstep check {name}")
    console.say(f"  getstep play {name}")


def new_help() -> str:
    """Return the description of the command."""
    listed = ", ".join(f"{language.suffix} is {language.title}" for language in LANGUAGES.values())
    others = f"The ending of FILE says the language: .py is Python, {listed}.\n\n" if listed else ""
    return _NEW.replace("examples:\n", f"{others}examples:\n") + game_list()


def game_named(name: str) -> Game:
    """Return the game with the name that ``--game`` or ``getstep rules`` gives.

    Raises:
        SetupError: no game of this name is installed.
    """
    try:
        return GAMES[name]
    except UnknownGameError as error:
        raise SetupError(f"{error}.") from None


def game_list() -> str:
    """Return a line for each game, and one for each installed game that cannot be used."""
    lines = [f"  {name:<16}{game.summary}" for name, game in GAMES.items()]
    return "\n".join([*lines, *(f"  {problem}" for problem in GAMES.problems())])
