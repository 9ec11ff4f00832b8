"""The entry point of `getstep-server`: the table of commands, and the exit codes.

Only the module of the called command is imported. All of them together take most of a second of CPU time.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from io import TextIOWrapper
from typing import TypeAlias

from getstep_server import __version__
from getstep_server.text import escape_control_chars

from ._parser import (
    EXIT_FAILED,
    EXIT_NO_GAME,
    EXIT_STOPPED,
    EXIT_USAGE,
    AsWritten,
    add_command,
    add_hidden,
    help_by_default,
)

_EXAMPLES = """\
see it work, without any preparation:
  getstep-server demo

a whole contest:
  getstep-server init autumn --name "Autumn contest" --game hop
  getstep-server teams import autumn roster.csv
  getstep-server teams slips autumn            # print a slip for each team
  getstep-server run autumn                    # starts when all teams are here
  getstep-server standings autumn
  getstep-server crosstable autumn             # each team against each other
  getstep-server ratings autumn                # Elo ratings with intervals
  getstep-server incidents autumn              # protocol violations
  getstep-server show autumn 7                 # a match move by move
  getstep-server replay autumn 7               # the same in a browser
  getstep-server export autumn --matches --format csv > matches.csv
  getstep-server report autumn                 # one HTML page with everything
  getstep-server site autumn                   # static pages to publish
  getstep-server verify autumn                 # check all records

correct a contest:
  getstep-server matches list autumn --team Ada  # the numbers of her matches
  getstep-server matches rematch autumn 7 --why "the network failed"
  getstep-server matches adjudicate autumn 7 --winner Ada --why "..."
  getstep-server teams withdraw autumn Ada --why "..."
  getstep-server decisions autumn

end with a ceremony:
  getstep-server freeze autumn                 # hide results from the page
  getstep-server reveal autumn                 # show them one by one

compare two bots:
  getstep-server duel my_bot.py greedy --sprt

exit codes:
  0    done
  1    failed: the contest stopped, or a check found an error
  2    a wrong command line, or a file that cannot be used
  130  stopped with Ctrl-C; run resumes the contest
"""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command and exit."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a terminal may lack letters of a team's name
            stream.reconfigure(errors="backslashreplace")
    words = sys.argv[1:] if arguments is None else arguments
    try:
        gc.disable()  # what imports make is no garbage: to search it takes 10 ms
        args = _parse(words)
        gc.freeze()
        gc.enable()
        code = _run(args)
        sys.stdout.flush()
    except OSError as error:
        if not isinstance(error, BrokenPipeError):  # the reader has ended, as `| head` does
            print(f"getstep-server: {error}", file=sys.stderr)
        # Python flushes once more at exit; without this it would report the same error again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = _error_code(_called(words), EXIT_FAILED)
    except Exception:
        # Python's own exit code after a traceback is 1.
        if _called(words) not in _ERROR_CODES:
            raise
        import traceback  # here: it takes 4 ms, and most commands never need it

        traceback.print_exc()
        code = _error_code(_called(words), EXIT_FAILED)
    gc.freeze()  # the process ends: to search its memory for garbage first takes 15 ms
    sys.exit(code)


def run_command(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code.

    Raises:
        SystemExit: the command line is not valid, or asks for help.
    """
    return _run(_parse(sys.argv[1:] if arguments is None else arguments))


def _called(words: Sequence[str]) -> str | None:
    """Return the name of the command, if the command line has one."""
    return next((word for word in words if not word.startswith("-")), None)


def _parse(words: Sequence[str]) -> argparse.Namespace:
    called = _called(words)
    # A command that comes first is the only one that the parser needs: 21 of them take 10 ms.
    names = [called] if called in _COMMANDS and called == words[0] else list(_COMMANDS)
    try:
        return _parser(called, names).parse_args(words, argparse.Namespace(called=called))
    except SystemExit as end:
        if end.code == EXIT_USAGE:
            raise SystemExit(_error_code(called, EXIT_USAGE)) from None
        raise


_ERROR_CODES = {"gamehost": EXIT_NO_GAME}
"""The exit code of errors in a command whose results are the usual exit codes of errors."""


def _error_code(called: str | None, usual: int) -> int:
    return _ERROR_CODES.get(called or "", usual)


def _run(args: argparse.Namespace) -> int:
    command: Callable[[argparse.Namespace], int] = args.command
    code = _error_code(args.called, EXIT_FAILED)
    try:
        code = command(args)
    except* _wrong_input() as group:
        code = _error_code(args.called, EXIT_USAGE)
        _print_errors(group)
    except* _failures() as group:
        _print_errors(group)
    except* KeyboardInterrupt:
        code = EXIT_STOPPED
    return code


def _print_errors(group: BaseExceptionGroup[Exception]) -> None:
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            _print_errors(error)
        else:
            for line in str(error).split("\n"):
                print(f"getstep-server: {escape_control_chars(line)}", file=sys.stderr)


# --- the commands -----------------------------------------------------------------------------------------------

_COMMANDS = {
    "init": "make a contest folder",
    "teams": "add, import and list teams, print slips; withdraw, disqualify, reinstate",
    "programs": "add, list, choose and remove programs that this machine runs for teams",
    "run": "play the contest, or resume it",
    "standings": "show the tables",
    "crosstable": "show the results of each team against each other team",
    "ratings": "show Elo ratings with their intervals",
    "incidents": "show protocol violations and refused logins",
    "demo": "watch a small tournament between sample bots",
    "duel": "compare two bots or programs on this machine (also called match)",
    "gamehost": "play one game of longest_path between two programs",
    "show": "show a match move by move",
    "replay": "show matches in a browser, as one HTML file",
    "export": "write matches or tables to a file",
    "web": "show a contest in the browser without playing it",
    "wheels": "prepare the contestants' packages for a room without internet",
    "sdk": "write the files for bots in other languages than Python",
    "report": "write one HTML page with tables, ratings and incidents",
    "site": "write the contest as static pages to publish",
    "copy": "copy the records to PostgreSQL, or back into the folder",
    "verify": "check the records, the matches and the standings",
    "matches": "list matches; correct them: adjudicate, rematch",
    "decisions": "show the decisions of the host",
    "freeze": "hide the results from now on from the live page",
    "reveal": "show the hidden results one by one, from the bottom of the table",
    "sandbox": "try every protection from programs that this machine runs",
    "attack": "test a server on this machine with hostile clients",
    "conformance": "test a client, in any language, against the protocol",
}
"""The commands, with one line of help for each."""

_OTHER_NAMES = ("games", "match")
"""Further names of commands, which no list shows: the former one of `matches`, and the other one of `duel`."""

_Declare: TypeAlias = Callable[[argparse.ArgumentParser], None]


def _parser(called: str | None, names: Iterable[str]) -> argparse.ArgumentParser:
    """Return the parser of the command line with these commands. Only the one that is ``called`` has arguments."""
    parser = argparse.ArgumentParser(
        prog="getstep-server",
        description="Host a bot contest on a LAN.\nA contest is a folder: contest.toml, teams.toml and its data.",
        epilog=_EXAMPLES,
        formatter_class=AsWritten,
    )
    parser.add_argument("--version", action="version", version=f"getstep-server {__version__}")
    help_by_default(parser)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    for name in names:
        command = add_command(commands, name, _COMMANDS[name])
        if name == called:
            _declaration_of(name)(command)
    if called in _OTHER_NAMES:
        _declaration_of(called)(add_hidden(commands, called))
    return parser


def _declaration_of(name: str) -> _Declare:
    """Import a command's module, and return the function that adds the command's arguments to its parser."""
    match name:
        case "init":
            from .init import add_init

            return add_init
        case "teams":
            from .teams import add_teams_actions

            return add_teams_actions
        case "copy":
            from .copy import add_copy

            return add_copy
        case "programs":
            from .programs import add_programs_actions

            return add_programs_actions
        case "run":
            from .run import add_run

            return add_run
        case "standings":
            from .tables import add_standings

            return add_standings
        case "crosstable":
            from .tables import add_crosstable

            return add_crosstable
        case "ratings":
            from .ratings import add_ratings

            return add_ratings
        case "incidents":
            from .incidents import add_incidents

            return add_incidents
        case "demo":
            from .run import add_demo

            return add_demo
        case "wheels":
            from .wheels import add_wheels

            return add_wheels
        case "sdk":
            from .sdk import add_sdk

            return add_sdk
        case "web":
            from .web import add_web

            return add_web
        case "duel" | "match":
            from .duel import add_duel

            return add_duel
        case "gamehost":
            from .gamehost import add_gamehost

            return add_gamehost
        case "show":
            from .show import add_show

            return add_show
        case "replay":
            from .replay import add_replay

            return add_replay
        case "site":
            from .replay import add_site

            return add_site
        case "export":
            from .export import add_export

            return add_export
        case "report":
            from .report import add_report

            return add_report
        case "verify":
            from .verify import add_verify

            return add_verify
        case "matches":
            from .decisions import add_matches

            return add_matches
        case "games":
            from .decisions import add_games

            return add_games
        case "decisions":
            from .decisions import add_decisions

            return add_decisions
        case "freeze":
            from .reveal import add_freeze

            return add_freeze
        case "reveal":
            from .reveal import add_reveal

            return add_reveal
        case "sandbox":
            from .sandbox import add_sandbox

            return add_sandbox
        case "attack":
            from getstep_server.attack import add_attack

            return add_attack
        case "conformance":
            from .conformance import add_conformance

            return add_conformance
    raise KeyError(name)


def _failures() -> tuple[type[Exception], ...]:
    """Return the errors that have exit code 1 and no traceback. Their modules are imported only after an error."""

    from getstep_server.errors import ContestStopped
    from getstep_server.records.record import RecordError
    from getstep_server.storage.database import DatabaseError, StoreError
    from getstep_server.storage.journal import JournalError

    return StoreError, RecordError, JournalError, ContestStopped, DatabaseError


def _wrong_input() -> tuple[type[Exception], ...]:
    """Return the errors that have exit code 2."""
    from getstep_server.errors import ConfigError, UsageError

    return ConfigError, UsageError


if __name__ == "__main__":
    main()
