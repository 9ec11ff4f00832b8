"""Parts of the command line. This module imports little, because `getstep-server --help` imports it."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

EXIT_OK, EXIT_FAILED, EXIT_USAGE, EXIT_STOPPED = 0, 1, 2, 130  # 2 as argparse, 130 as a shell after Ctrl-C

EXIT_NO_GAME = 3
"""For every error of ``gamehost``, whose exit codes 1 and 2 name the winner."""

WEB_PORT_HELP = "serve the live page on this port instead of web_port in contest.toml"

Commands = argparse._SubParsersAction


class AsWritten(argparse.RawDescriptionHelpFormatter):
    """Keeps the line breaks of descriptions. argparse makes a formatter to check each argument, and imports shutil
    (2 ms) for one that is given no width."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=_terminal_columns() - 2)

    if sys.version_info < (3, 13):

        def add_argument(self, action: argparse.Action) -> None:
            """Make room for the names of subcommands with their indentation, as newer versions of Python do."""
            super().add_argument(action)
            for command in self._iter_indented_subactions(action):
                length = self._current_indent + len(self._format_action_invocation(command))
                self._action_max_length = max(self._action_max_length, length)


def _terminal_columns() -> int:
    """Return what `shutil.get_terminal_size` does."""
    with suppress(ValueError):  # not a number
        if (columns := int(os.environ.get("COLUMNS", "0"))) > 0:
            return columns
    with suppress(AttributeError, ValueError, OSError):
        return os.get_terminal_size(sys.__stdout__.fileno()).columns or 80  # type: ignore[union-attr]  # caught
    return 80


_EXIT_CODES = """\
exit codes: 0 done, 1 failed, 2 a wrong command line or a file that cannot be
used, 130 stopped with Ctrl-C"""


class Command(argparse.ArgumentParser):
    """The parser of a command. Its help ends with the usual exit codes, unless its own text says others."""

    def format_help(self) -> str:
        text = super().format_help()
        return text if "exit codes" in text else f"{text}\n{_EXIT_CODES}\n"


def add_option(
    parser: argparse._ActionsContainer, flag: str, *, formerly: str, dest: str | None = None, **given: Any
) -> None:
    """Add an option that had another flag in earlier versions; that one works, too, and no help shows it."""
    dest = dest or flag.removeprefix("--").replace("-", "_")
    parser.add_argument(flag, dest=dest, **given)
    hidden = {"help": argparse.SUPPRESS, "default": argparse.SUPPRESS}
    parser.add_argument(formerly, dest=dest, **{**given, **hidden})


def help_by_default(parser: argparse.ArgumentParser) -> None:
    """Make a command without arguments print its help; the exit code is `EXIT_USAGE`."""

    def explain(_: argparse.Namespace) -> int:
        parser.print_help(sys.stderr)
        return EXIT_USAGE

    parser.set_defaults(command=explain)


def add_command(
    commands: Commands[argparse.ArgumentParser], name: str, summary: str, text: str | None = None
) -> argparse.ArgumentParser:
    """Add a command with its line in the list of commands and its own help, and return its parser."""
    return commands.add_parser(name, help=summary, description=text, formatter_class=AsWritten)


def add_hidden(commands: Commands[argparse.ArgumentParser], name: str) -> argparse.ArgumentParser:
    """Add a command by a name that the list of commands does not show, and return its parser."""
    return commands.add_parser(name)


class Intermixed(Command):
    """A parser whose positional arguments may also follow options: ``rematch autumn --why "..." 5 9``."""

    _mixing = False

    def parse_known_args(  # type: ignore[override]  # the overloads of the base are the same
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        if self._mixing:  # `parse_known_intermixed_args` calls this method for each of its two passes
            return super().parse_known_args(args, namespace)
        self._mixing = True
        try:
            return self.parse_known_intermixed_args(args, namespace)
        finally:
            self._mixing = False


def folder_argument(parser: argparse.ArgumentParser) -> None:
    """Add the positional argument CONTEST."""
    parser.add_argument("contest", type=Path, metavar="CONTEST", help="the contest's folder")


def event_option(parser: argparse._ActionsContainer, effect: str) -> None:
    """Add the option ``--event``, whose text `config.names.event_named` understands."""
    parser.add_argument("--event", metavar="NAME", help=f"{effect}: its name or title, or how that begins")
