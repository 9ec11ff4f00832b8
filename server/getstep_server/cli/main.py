"""The entry point of `getstep-server`: the table of commands, and the exit codes.

Only the module of the called command is imported. All of them together take most of a second of CPU time.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
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
    Command,
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
  getstep-server analyse autumn 7              # why was it lost?
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
  getstep-server announce autumn "Lunch is at noon"
  getstep-server pause autumn --now --why "..."  # and later: resume autumn

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
        gc.disable()  # objects made by imports never become garbage: a search for it takes 10 ms
        args = _parse(words)
        gc.freeze()
        gc.enable()
        code = _run(args)
        sys.stdout.flush()  # here, where an error of a full disk or a closed pipe is still handled
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
    "init": (".init:add_init", "make a contest folder"),
    "teams": (
        ".teams:add_teams_actions",
        "add, import and list teams, print slips; withdraw, disqualify, reinstate",
    ),
    "programs": (
        ".programs:add_programs_actions",
        "add, list, choose and remove programs that this machine runs for teams",
    ),
    "run": (".run:add_run", "play the contest, or resume it"),
    "standings": (".tables:add_standings", "show the tables"),
    "crosstable": (".tables:add_crosstable", "show the results of each team against each other team"),
    "ratings": (".ratings:add_ratings", "show Elo ratings with their intervals"),
    "incidents": (".incidents:add_incidents", "show protocol violations and refused logins"),
    "rehearse": (".run:add_rehearse", "play a copy of a prepared contest with sample bots"),
    "demo": (".run:add_demo", "watch a small tournament between sample bots"),
    "duel": (".duel:add_duel", "compare two bots or programs on this machine (also called match)"),
    "gamehost": (".gamehost:add_gamehost", "play one game of longest_path between two programs"),
    "openings": (".openings:add_openings", "make a book of openings for a game"),
    "show": (".show:add_show", "show a match move by move"),
    "replay": (".replay:add_replay", "show matches in a browser, as one HTML file"),
    "export": (".export:add_export", "write matches or tables to a file"),
    "web": (".web:add_web", "show a contest in the browser without playing it"),
    "host-key": (".host_key:add_host_key", "print a link to the host's console in a browser"),
    "api-check": (".api_check:add_api_check", "test the HTTP API of a running page"),
    "sdk": (".sdk:add_sdk", "write the files for bots in other languages than Python"),
    "report": (".report:add_report", "write one HTML page with tables, ratings and incidents"),
    "analyse": (".replay:add_analyse", "say which moves of a match gave away most"),
    "site": (".replay:add_site", "write the contest as static pages to publish"),
    "service": (".service:add_service", "run a contest as a service of systemd"),
    "backup": (".backup:add_backup", "copy a contest into a new folder, also while it runs"),
    "archive": (".archive:add_archive", "move the turns of old matches into a file, or back"),
    "follow": (".standby:add_follow", "keep a copy of a contest that another computer plays"),
    "take-over": (".standby:add_take_over", "play the contest of a copy, because its host is lost"),
    "standby": (".strict:add_standby", "let results wait for a standby host, or go on without it"),
    "copy": (".copy:add_copy", "copy the records to PostgreSQL, or back into the folder"),
    "rescue": (".rescue:add_rescue", "save what is left of a contest with a damaged database"),
    "verify": (".verify:add_verify", "check the records, the matches and the standings"),
    "matches": (".decisions:add_matches", "list matches; correct them: adjudicate, rematch"),
    "decisions": (".decisions:add_decisions", "show the decisions of the host"),
    "pause": (".pause:add_pause", "stop the clocks of a match, of an event or of the contest"),
    "resume": (".pause:add_resume", "end a pause"),
    "announce": (".messages:add_announce", "say something to all teams and spectators"),
    "questions": (".messages:add_questions", "list the questions of teams"),
    "answer": (".messages:add_answer", "answer a question of a team"),
    "freeze": (".reveal:add_freeze", "hide new results from the live page"),
    "reveal": (".reveal:add_reveal", "show the hidden results one by one, from the bottom of the table"),
    "sandbox": (".sandbox:add_sandbox", "try every protection from programs that this machine runs"),
    "attack": ("getstep_server.cli.attack:add_attack", "test a server on this machine with hostile clients"),
    "conformance": (".conformance:add_conformance", "test a client, in any language, against the protocol"),
}
"""The commands: the function that adds a command's arguments to its parser, and one line of help."""

_OTHER_NAMES = {
    "games": ".decisions:add_games",
    "match": ".duel:add_duel",
}
"""Further names of commands, which no list shows: the former one of `matches`, and the other one of `duel`."""

_Declare: TypeAlias = Callable[[argparse.ArgumentParser], None]


def _parser(called: str | None, names: Iterable[str]) -> argparse.ArgumentParser:
    """Return the parser of the command line with these commands. Only the one that is ``called`` has arguments."""
    parser: argparse.ArgumentParser = Command(
        prog="getstep-server",
        description="Host a bot contest on a LAN.\nA contest is a folder: contest.toml, teams.toml and its data.",
        epilog=_EXAMPLES,
        formatter_class=AsWritten,
    )
    version = f"getstep-server {__version__}, Python {sys.version.split()[0]}"
    parser.add_argument("--version", action="version", version=version)
    help_by_default(parser)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    for name in names:
        where, text = _COMMANDS[name]
        command = add_command(commands, name, text)
        if name == called:
            _declaration(where)(command)
    if called in _OTHER_NAMES:
        _declaration(_OTHER_NAMES[called])(add_hidden(commands, called))
    return parser


def _declaration(where: str) -> _Declare:
    """Import a command's module, and return the function that adds the command's arguments to its parser."""
    module, _, name = where.partition(":")
    declare: _Declare = getattr(import_module(module, __package__), name)
    return declare


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
