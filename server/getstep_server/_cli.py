"""What the parts of the host's command share."""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
from pathlib import Path

from .contest import Contest
from .results import Result
from .run import results_of
from .standings import Standing, standings

EXIT_OK, EXIT_FAILED, EXIT_USAGE, EXIT_STOPPED = 0, 1, 2, 130


Commands = argparse._SubParsersAction


def help_by_default(parser: argparse.ArgumentParser) -> None:
    """Have the command explain itself when it is typed alone."""

    def explain(_: argparse.Namespace) -> int:
        parser.print_help(sys.stderr)
        return EXIT_USAGE

    parser.set_defaults(command=explain)


def add_command(
    commands: Commands[argparse.ArgumentParser], name: str, summary: str, text: str
) -> argparse.ArgumentParser:
    """A command with its line in the list of commands and its own page of help."""
    as_written = argparse.RawDescriptionHelpFormatter
    return commands.add_parser(name, help=summary, description=text, formatter_class=as_written)


def folder_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("contest", type=Path, metavar="CONTEST", help="the contest's folder")


def typed(*words: str | Path) -> str:
    """A command as one types it here."""
    return (subprocess.list2cmdline if os.name == "nt" else shlex.join)(["getstep-server", *map(str, words)])


def table_of(contest: Contest) -> tuple[list[Result], list[Standing]]:
    """The results, and the table of all teams: those too that have played and are no longer in teams.toml."""
    results = results_of(contest)
    teams = dict.fromkeys([*contest.teams, *(team for result in results for team in result.match.teams)])
    return results, standings(list(teams), results, scoring=contest.scoring)
