"""The command ``getstep``: rules, new, wrapper, practice, move, analyse, login, check, play, submit, challenge."""

from __future__ import annotations

import argparse
import io
import sys
import textwrap
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from getstep_engines import GAMES

from . import _bot, llm
from ._challenge_command import CHALLENGE_HELP, challenge
from ._check import check
from ._errors import BotError, GetstepError, SetupError, error_text
from ._login_command import LOGIN_HELP, LOGOUT_HELP, login, logout
from ._new_command import game_list, game_named, new, new_help
from ._replay_choice import add_number
from ._submit_command import SUBMIT_HELP, submit
from ._version import __version__
from .adjudication import add_agreement
from .analysis.command import ANALYSE_HELP, add_analyse
from .client.arguments import add_connection, add_playing
from .client.client import client_for, finder_for
from .client.settings import (
    Login,
    find_address,
    find_login,
    find_team,
    find_token,
)
from .conventions import CONVENTIONS
from .samples import DEFAULT_OPPONENT, LEVEL_GAMES, LEVELS
from .sprt import DEFAULTS, MEANINGS, MOST_PAIRS
from .text import Console, as_started, command_word
from .turn import Callback

OVER, FAILED, USAGE, STOPPED = 0, 1, 2, 130
"""Exit codes: the contest is over or every check passed; refused or failed; usage or the bot's file; Ctrl-C."""

_EXIT_CODES = "exit codes: 0 done, 1 refused or failed, 2 wrong usage or file, 130 Ctrl-C"

_DESCRIPTION = """\
Play in a getstep bot contest. You write one function, get_step(board, is_black), which returns a move.

The first five minutes, as an example:

  getstep rules hop                    read the rules
  getstep new my_bot.py --game hop     write a bot that already plays
  getstep practice my_bot.py           play it against a sample bot, at home
  getstep login                        type host, team id and token, once
  getstep check my_bot.py              test the connection and the bot
  getstep play my_bot.py               play until the contest is over

The host tells you the address, your team's id and its token, on a slip."""

_RULES = """\
Print the rules of a game: the board, the moves, the end, the score and a worked example.

examples:
  getstep rules
  getstep rules hop"""

_WRAPPER = """\
A program of the TopCoder contest is a class with the methods init and move, without a main function. This
writes the main function that calls it, in a file beside it, and prints how to compile both and play. A Python
class needs no wrapper.

examples:
  getstep wrapper PseudoTonga.cpp
  getstep wrapper PseudoTonga.java
  getstep wrapper PseudoTonga.cs"""

_PRACTICE = """\
Play whole games on this computer, with the rules, the time limits and the penalties of a contest. No host is
needed. The colours are swapped after each game. Then you see how often your bot won, its faults on the board
with what would have been legal, its slowest moves, and where the replays are: one html file for your browser.

A source in C++, Java, C# or JavaScript is built first, and its compiler's errors are shown. What is built is
kept in the folder .getstep beside it. Such a bot, or another program that speaks the protocol, connects to a
private server on this computer. Any other bot is named by the command that starts it, after --, or in quotes
as the opponent: --against "java -cp . Other".

Your bot and its opponent are a process each. A bot that hangs, crashes or prints disturbs nobody: it costs
its turn as in a contest, and you read where it was. A bot whose process has ended is started again for the
next game.

With --sprt, it compares two bots: it plays pairs of games with swapped colours, and stops as soon as a
sequential test decides if yours is stronger. You get the difference in Elo with its 95 % interval, and how
often each won from each side. To tell 50 Elo from 0 takes about 130 pairs. Bots that repeat their moves need
other boards (--option size=6-16) or random choices; the result says so.

With --resign 0.95 or --draw 0.05, a game ends as soon as the estimates that both bots note (getstep.estimate)
agree for --agree moves of each. Add --play-on first: it ends no game early, and says how often that would have
been wrong.

With --level 3, the opponent is a sample bot of known strength, and you read if your bot beats it: if the 95 %
interval of the Elo difference is above 0. The games begin with the openings of the game's book, as when the
levels were rated. With --levels it plays against level 1, 2 and so on until one is not beaten.

With --debug no time counts. A bot in Python runs in this terminal: breakpoint() in it opens pdb, and the debugger
of your editor works. It is so without the option, too, while a debugger is attached. A bot in another language
is yours to start under its debugger, as is then printed. Practice waits for it.

examples:
  getstep practice my_bot.py
  getstep practice my_bot.py --against mcts --games 4 --open
  getstep practice my_bot.cpp
  getstep practice MyBot.java --against ./last_week
  getstep practice --game hop -- java -cp . MyBot
  getstep practice my_bot.py --against last_week.py --games 100 --limit 0.5
  getstep practice new.py --against old.py --sprt
  getstep practice new.py --against mcts --resign 0.95 --play-on
  getstep practice my_bot.py --level 3
  getstep practice my_bot.py --levels
  getstep practice my_bot.py --game pseudo_tonga --option size=10
  getstep practice my_bot.py --watch
  getstep practice my_bot.py --debug
  getstep practice my_bot.py --human
  getstep practice my_bot.py --human --browser
  getstep practice ./my_program --as linkage --against greedy
  getstep practice --as llm --url URL --model llama3.2 --game hop --limit 60
  getstep practice my_bot.py --against llama3.2 --against-as llm --url URL
  getstep practice my_bot.py --from my_bot-practice.html --move 37

With --from, each game begins with a position of a replay: a page that practice has written, or that you have
saved from a contest. --move counts as the replay does. Your bot plays the side that is on turn there, one game
unless you say --games. Its opponent first makes the moves that it made in the replay; from the first one that is
not legal any more, the bot of --against plays. The clocks are those of the replay.

exit codes: 0 no fault of your bot, 1 faults, 2 wrong usage or bot file, 130 stopped by Ctrl-C, or the
tokens of a model are used up"""

_MOVE = """\
Ask your bot for one move in a position of a replay: a page that practice has written, or that you have saved from
a contest. You see the board, the move and whether it is legal, the board after it, the time that it took, what your
bot noted and printed, and its traceback if it raises. With --debug no time counts, and a bot in Python runs in this
terminal: breakpoint() in it opens pdb. It is so without the option, too, while a debugger is attached. --move
counts as the replay does; 0 is the start.

examples:
  getstep move my_bot.py --from my_bot-practice.html --move 37
  getstep move my_bot.py --from match.html --number 3 --move 37 --limit 60
  getstep move my_bot.py --from my_bot-practice.html --move 37 --debug
  getstep move my_bot.cpp --from match.html --move 37

exit codes: 0 a legal move, 1 a fault, 2 wrong usage or bot file, 130 stopped by Ctrl-C"""

_CHECK = """\
Check the host's name, the port, the server, your token and the time limits, and print one line for each.
With a bot file, also load it, time get_step on the first board of each game, and check its move by the rules.
Then it plays two whole games against random moves: they find an endless loop, an exception or a slow move
that comes later in a game. All of it takes less than 20 seconds. If your bot is playing, it is not disturbed.
A source in C++, Java, C# or JavaScript is built first, and plays these games on this computer.
The exit code is 0 if every check passed, else 1.

examples:
  getstep check my_bot.py                      after getstep login
  getstep check my_bot.cpp
  getstep check -- java -cp . MyBot
  getstep check ./my_program --as linkage
  getstep check --host 192.168.1.10
  getstep check my_bot.py --host 192.168.1.10 --team 7 --token kq3m-x7fd-29pt"""

_PLAY = """\
Load a bot file and play until the contest is over. You can start it before the contest: it waits for the
server. If the connection is lost, it reconnects automatically. Ctrl-C stops it.

Without --host, it looks for the contest on this network if the saved address, or 127.0.0.1, does not
answer. It plays there only if the server proves that it knows your token. With several contests, it lists
their addresses.

examples:
  getstep play my_bot.py                       after getstep login
  getstep play my_bot.py --host 192.168.1.10 --team 7 --token kq3m-x7fd-29pt
  getstep play my_bot.py --friendly            matches that count nowhere

With --friendly, people play against your bot on the page Play of the host's live page, one at a time. It does
not touch your seat in the contest: your other bot plays on. That page shows the whole command.

A program of an original contest plays unchanged, by the convention of that contest:
  getstep play ./my_program --as linkage --team 3

A language model plays without a file, at any endpoint of the OpenAI kind. --most-tokens bounds what it costs:
  getstep play --as llm --url http://localhost:11434/v1 --model llama3.2

Other users of this computer can see the command line. To hide the token, put it into a file
(--token-file token.txt) or into the variable GETSTEP_TOKEN. The variables GETSTEP_HOST, GETSTEP_PORT,
GETSTEP_TEAM and GETSTEP_TOKEN_FILE work as well.

If get_step does not return, the whole program is started again, 10 s after the limit of the move, and plays on.
Another time: --restart-after SECONDS, or GETSTEP_RESTART_AFTER; 0 for never.

exit codes: 0 the contest is over, 1 refused or failed, 2 wrong usage or bot file, 130 stopped by Ctrl-C"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code; ``arguments`` are by default those of the process."""
    _set_up_streams()
    parser = _parser()
    given, command = _with_command(sys.argv[1:] if arguments is None else arguments)
    if given and given[0] in ("practice", "check"):  # a student types the command of a bot where its file goes
        _, unknown = parser.parse_known_args(given)
        if unknown and not unknown[0].startswith("-"):
            words = " ".join(unknown)
            parser.error(
                f"unrecognized arguments: {words}; a bot's command goes after --: getstep {given[0]} -- java MyBot"
            )
    options = parser.parse_args(given)
    if command:
        if options.bot is not None:
            parser.error("-- is followed by the command of a bot, in place of its file: give one of them")
        if len(command) > 1 and getattr(options, "convention", None):
            parser.error(
                f"--as {options.convention}: the program is one file, without arguments ({' '.join(command)});"
                " give it in place of --, or write a script that starts it"
            )
        options.bot = command if len(command) > 1 else command[0]
    options.is_process = arguments is None and bool(sys.executable)
    console = Console(quiet=getattr(options, "quiet", False))
    if options.run is None:
        parser.print_help()
        return USAGE
    try:
        code: int = options.run(options, console)
    except (BotError, SetupError) as error:
        return _fail(console, error, USAGE)
    except GetstepError as error:
        return _fail(console, error, FAILED)
    except KeyboardInterrupt:
        console.say("Stopped.")
        return STOPPED
    return code


def _with_command(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the arguments before ``--``, and the words of the bot's command after it.

    They are separated here: the parser of each version of Python treats ``--`` in its own way. Other commands have
    no command of a bot, only files whose names may begin with a hyphen.
    """
    given = list(arguments)
    at = given.index("--") if "--" in given and given[0] in ("practice", "move", "check") else len(given)
    return given[:at], given[at + 1 :]


def _fail(console: Console, error: GetstepError, code: int) -> int:
    console.warn(error_text(error))
    return code


def _rules(options: argparse.Namespace, console: Console) -> int:
    if options.game is None:
        console.say(f"Which rules? Give one of these:\n{game_list()}")
        return USAGE
    console.say(_plain(game_named(options.game).rules))
    return OVER


def _plain(markdown: str) -> str:
    """Return text for a terminal: without the marks of bold words, and with examples indented."""
    lines, inside = [], False
    for line in markdown.strip().splitlines():
        if line.startswith("```"):
            inside = not inside
        else:
            lines.append(f"    {line}" if inside else line.replace("**", ""))
    return "\n".join(lines)


def _check(options: argparse.Namespace, console: Console) -> int:
    def login() -> Login | None:
        team, token = find_team(options.team), find_token(options.token, options.token_file)
        return None if team is None and token is None else find_login(team, token)

    address, finder = (
        find_address(options.host, options.port, options.tls),
        finder_for(options.host, options.port, options.tls, console),
    )
    bot = options.bot
    if isinstance(bot, str):
        from .programs.wire import command_words  # here: the other commands need no compilers

        bot = command_words(bot) or Path(bot)
    all_ok = check(address, login, bot, console, finder, convention=options.convention)
    return OVER if all_ok else FAILED


def _practice(options: argparse.Namespace, console: Console) -> int:
    _expect_bot(options)
    from .local_matches.command import practise  # here: the other commands need neither its boards nor its replays

    return practise(options, console)


def _move(options: argparse.Namespace, console: Console) -> int:
    _expect_bot(options)
    from .local_matches.command import move  # here: as above

    return move(options, console)


def _expect_bot(options: argparse.Namespace) -> None:
    if options.bot is None and options.convention != llm.CONVENTION:
        raise SetupError("Which bot? Give its file, or its command after --, such as -- java -cp . MyBot.")


def _wrapper(options: argparse.Namespace, console: Console) -> int:
    from .programs.start import write_wrapper  # here: no other command needs it

    write_wrapper(options.file, console)
    return OVER


def _play(options: argparse.Namespace, console: Console) -> int:
    _expect_bot(options)
    model = llm.model_of(options, console)

    def load() -> Callback:
        if model is None:
            return _bot.load(options.bot, options.convention)
        from .llm.player import ModelCallback  # here: other bots need no HTTP

        return ModelCallback(model)

    client_for(
        load,
        console,
        options.host,
        options.port,
        options.team,
        options.token,
        options.token_file,
        friendly=options.friendly,
        # Not a model: it keeps its limits itself, and a new process would have all tokens again.
        restart_after=options.restart_after if model is None else 0,
        tls=options.tls,
        command=[sys.executable, *sys.orig_argv[1:]] if options.is_process else None,
    ).run()
    return OVER


class _HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Wraps paragraphs to the terminal. Lines that begin with a space, such as commands, stay lines."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        lines: list[str] = []
        for is_prose, group in groupby(as_started(text).splitlines(), lambda line: line[:1].strip() != ""):
            block = list(group)
            lines += textwrap.wrap(" ".join(block), width) if is_prose else block
        return "".join(f"{indent}{line}\n" for line in lines)


class _Parser(argparse.ArgumentParser):
    """A parser whose help ends with the usual exit codes, unless its own text says others."""

    def format_help(self) -> str:
        text = super().format_help()
        return text if "exit codes" in text else f"{text}\n{_EXIT_CODES}\n"


def _parser() -> argparse.ArgumentParser:
    verbatim = _HelpFormatter
    parser = _Parser(command_word(), description=_DESCRIPTION, formatter_class=verbatim)
    version = f"getstep {__version__}, Python {sys.version.split()[0]}"
    parser.add_argument("--version", action="version", version=version)
    parser.set_defaults(run=None)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")

    writing = commands.add_parser("new", help="write a first bot", description=new_help(), formatter_class=verbatim)
    writing.add_argument("file", type=Path, help="the file to write, such as my_bot.py")
    writing.add_argument("--game", action="append", help="a game that it plays, repeatable; or all")
    editor = "also write .vscode/tasks.json and launch.json, to build, practise, play and debug in VS Code"
    writing.add_argument("--vscode", action="store_true", help=editor)
    writing.set_defaults(run=new)

    ruling = commands.add_parser(
        "rules", help="print the rules of a game", description=_RULES, formatter_class=verbatim
    )
    ruling.add_argument("game", nargs="?", help="the game, such as hop; without it, the games are listed")
    ruling.set_defaults(run=_rules)

    wrapping = commands.add_parser(
        "wrapper",
        help="write what runs a class of the TopCoder contest",
        description=_WRAPPER,
        formatter_class=verbatim,
    )
    wrapping.add_argument("file", type=Path, help="the class's file: .cpp, .java or .cs")
    wrapping.set_defaults(run=_wrapper)

    practising = commands.add_parser(
        "practice",
        help="play against sample bots on this computer",
        description=_PRACTICE,
        formatter_class=verbatim,
    )
    _add_practice(practising)
    practising.set_defaults(run=_practice)

    moving = commands.add_parser(
        "move", help="ask your bot for one move in a position", description=_MOVE, formatter_class=verbatim
    )
    _add_move(moving)
    moving.set_defaults(run=_move)

    add_analyse(
        commands.add_parser(
            "analyse",
            help="say which moves of a replay gave away most",
            description=ANALYSE_HELP,
            formatter_class=verbatim,
        )
    )

    entering = commands.add_parser(
        "login",
        help="keep the host's address, your team and its token",
        description=LOGIN_HELP,
        formatter_class=verbatim,
    )
    add_connection(entering)
    entering.set_defaults(run=login)

    leaving = commands.add_parser(
        "logout", help="remove the kept login", description=LOGOUT_HELP, formatter_class=verbatim
    )
    leaving.set_defaults(run=logout)

    checking = commands.add_parser(
        "check",
        help="test the connection to the contest, and your bot",
        description=_CHECK,
        formatter_class=verbatim,
    )
    checking.add_argument(
        "bot", nargs="?", help="your bot, as for practice: a file, a program, or a command after --"
    )
    _add_convention(checking, "--as", "convention", "the bot is a program that talks by this convention: ")
    add_connection(checking)
    checking.set_defaults(run=_check)

    playing = commands.add_parser(
        "play", help="play until the contest is over", description=_PLAY, formatter_class=verbatim
    )
    playing.add_argument("bot", nargs="?", type=Path, help="your bot's file, such as my_bot.py")
    _add_own_convention(playing, "the bot is a program that talks by this convention: ")
    add_playing(playing)
    llm.add_model(playing)
    playing.set_defaults(run=_play)

    _add_submit(
        commands.add_parser(
            "submit",
            help="send your program to the host, which then plays it",
            description=SUBMIT_HELP,
            formatter_class=verbatim,
        )
    )
    asking = commands.add_parser(
        "challenge",
        help="ask for a friendly match against another team of an arena",
        description=CHALLENGE_HELP,
        formatter_class=verbatim,
    )
    asking.add_argument("opponent", metavar="TEAM", help="the other team: its id, its name or the beginning of it")
    add_connection(asking, page=True)
    asking.set_defaults(run=challenge)
    return parser


def _add_practice(parser: argparse.ArgumentParser) -> None:
    game_options = [
        f"{game.name} has {option.name}, {option.allowed} ({option.help})"
        for game in GAMES.values()
        for option in game.options.values()
    ]
    listed = "; ".join(game_options).replace("%", "%%") or "no installed game has one"  # argparse formats it
    _add_bot(parser)
    parser.add_argument("--game", help="the game, such as hop (default: the one that the file names)")
    parser.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="NAME=NUMBER",
        help=f"an option of the game, as in contest.toml, repeatable: {listed};"
        " a range such as size=6-16 is drawn for each two games",
    )
    parser.add_argument(
        "--openings",
        metavar="BOOK",
        help='each two games begin with the same moves, which nobody is asked for: "balanced" for the game\'s book,'
        " the file of a book, or a number of random moves, such as 4",
    )
    opponent = parser.add_mutually_exclusive_group()
    opponent.add_argument(
        "--against",
        metavar="BOT",
        default=DEFAULT_OPPONENT,
        help="random, greedy (the default), mcts, hesitant, or a bot's file;"
        " for pseudo_tonga also house_pseudo_tonga, the opponent of the TopCoder contest",
    )
    opponent.add_argument(
        "--level",
        type=_level,
        metavar="N",
        help="play against a sample bot of known strength, and see if it is beaten: 1 (random), 2 (greedy),"
        f" or 3 to {len(LEVELS)}, searches of 1,000 to 30,000 moves",
    )
    opponent.add_argument(
        "--levels",
        action="store_true",
        help=f"play against level 1, 2 and so on, {LEVEL_GAMES} games each, until one is not beaten",
    )
    _add_own_convention(
        parser,
        "and so is the opponent's: ",
        "--against-as",
        "against_convention",
        "the language model --against at the endpoint --url",
    )
    opponent.add_argument("--human", action="store_true", help="play against your bot yourself, without a clock")
    parser.add_argument(
        "--browser", action="store_true", help="with --human: on a board in your browser; needs getstep-server"
    )
    _add_debug(parser)
    most = f"how many games (default 10; 1 with --human, --from or --debug; with --sprt at most {2 * MOST_PAIRS})"
    parser.add_argument("--games", type=int, help=most)
    parser.add_argument("--sprt", action="store_true", help="stop as soon as the test reaches a verdict")
    for name, meaning in MEANINGS.items():
        text = meaning.replace("of A to B", "of your bot to its opponent")
        parser.add_argument(f"--{name}", type=float, metavar="X", help=f"{text} (default: {DEFAULTS[name]:g})")
    add_agreement(parser)
    _add_position(parser)
    parser.add_argument(
        "--side",
        choices=("first", "second", "both"),
        help="with --from: your bot's side (default: the one on turn there); both changes it after each game",
    )
    parser.add_argument(
        "--no-recorded",
        dest="recorded",
        action="store_false",
        help="with --from: the opponent thinks from the beginning, and does not repeat its moves of the replay",
    )
    parser.add_argument("--watch", action="store_true", help="draw the games while they are played")
    parser.add_argument(
        "--html",
        type=Path,
        metavar="FILE",
        help="the file for the replays (default my_bot-practice.html; with --from, REPLAY-from-37.html)",
    )
    parser.add_argument("--open", action="store_true", help="show the replays in your browser")


def _level(text: str) -> int:
    """Return the level that an argument names. Raises argparse.ArgumentTypeError."""
    if text in map(str, range(1, len(LEVELS) + 1)):
        return int(text)
    raise argparse.ArgumentTypeError(f"expected a level, 1 to {len(LEVELS)} ({text[:20]!r})")


def _add_move(parser: argparse.ArgumentParser) -> None:
    _add_bot(parser)
    _add_position(parser)
    _add_debug(parser)


def _add_debug(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--debug", action="store_true", help="stop the clocks and run get_step in this terminal, for a debugger"
    )


def _add_bot(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "bot",
        nargs="?",
        help="your bot: a file in Python, a source in C++, Java, C# or JavaScript, which is built, or a program;"
        " for any other one, the command that starts it, after --",
    )
    _add_own_convention(parser, "your bot is a program that talks by this convention: ")
    llm.add_model(parser)
    parser.add_argument("--limit", type=float, metavar="SECONDS", help="time limit, in place of the game's own")
    parser.add_argument("--seed", help="a word or a number: the same one gives the same random moves")


def _add_position(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--from", dest="replay", type=Path, metavar="REPLAY", help="the page of a replay, with the position"
    )
    parser.add_argument(
        "--move", type=int, help="with --from: after which turn, as the replay counts them; 0 is the start"
    )
    add_number(parser)


def _add_convention(parser: argparse.ArgumentParser, flag: str, name: str, text: str) -> None:
    parser.add_argument(
        flag, dest=name, metavar="CONVENTION", choices=CONVENTIONS, help=text + ", ".join(CONVENTIONS)
    )


def _add_own_convention(
    parser: argparse.ArgumentParser,
    text: str,
    flag: str = "--as",
    name: str = "convention",
    model: str = "a language model",
) -> None:
    names = [*CONVENTIONS, llm.CONVENTION]
    listed = f"{text}{', '.join(CONVENTIONS)}; or {llm.CONVENTION}, {model}"
    parser.add_argument(flag, dest=name, metavar="CONVENTION", choices=names, help=listed)


def _add_submit(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("program", help="your program: a file, a folder or an archive")
    _add_convention(parser, "--as", "convention", "the convention, if trial games are not to find it: ")
    starts = "the file that starts your program, if there are several, such as bot.cpp"
    parser.add_argument("--entry", metavar="FILE", help=starts)
    add_connection(parser, page=True)
    parser.set_defaults(run=submit)


def _set_up_streams() -> None:
    """Escape characters in a bot's own output that the console cannot show, and flush after each line."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace", line_buffering=True)
