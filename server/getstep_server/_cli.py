"""What the parts of the host's command share."""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
from pathlib import Path

from getstep.wire import MAX_TEAM

from ._toml import ConfigError
from .contest import Contest, load_contest, teams_path
from .contest_event import ContestEvent

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


def contest_with_teams(folder: Path) -> Contest:
    """The contest in a folder.

    Raises:
        ConfigError: it cannot be used, or has no teams yet.
    """
    contest = load_contest(folder)
    if not contest.teams:
        raise ConfigError(f"{teams_path(folder)}: no teams; add some with: {typed('teams', 'add', folder)} NAME")
    return contest


def event_named(contest: Contest, name: str) -> ContestEvent:
    """The event that ``--event`` names.

    Raises:
        ConfigError: there is none of this name.
    """
    by_name = {event.name: event for event in contest.events}
    if name not in by_name:
        raise ConfigError(f"--event {name!r}, expected one of: {', '.join(by_name)}")
    return by_name[name]


def team_named(contest: Contest, text: str, what: str) -> int:
    """The id that somebody means who types an id or a name; one of a team that is no longer there will do.

    Raises:
        ConfigError: there is no such name, or it is the id of another team; ``what`` was typed.
    """
    by_name = {contest.team_name(number): number for number in (*contest.former, *contest.teams)}
    number, named = _number(text), by_name.get(text)
    if named is None:
        if number is None:
            listing = typed("teams", "list", contest.folder)
            raise ConfigError(f"{what} {text!r:.80}: no team has this name; see {listing}")
        return number
    if number in (None, named) or number not in by_name.values():
        return named
    raise ConfigError(
        f"{what} {text!r}: {contest.team_name(number)!r} has this id, and team {named} has this name;"
        f" expected {contest.team_name(number)!r} or {named}"
    )


def _number(text: str) -> int | None:
    """A team's id, if it is one; there are none of more digits."""
    return int(text) if text.isdecimal() and len(text) <= len(str(MAX_TEAM)) else None
