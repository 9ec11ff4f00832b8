"""The command `programs`: add, list, use and remove the programs that this machine runs for teams."""

from __future__ import annotations

import argparse
import getpass
import sys
import textwrap
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from getstep_server.config.contest import Contest
from getstep_server.config.names import team_named
from getstep_server.errors import ProgramRefused, UsageError
from getstep_server.programs.store import ProgramStore
from getstep_server.programs.version import ALL_CONVENTIONS, ProgramVersion
from getstep_server.reports.text_table import Column, TextTable
from getstep_server.text import escape_control_chars, local_minute, shell_command

from ._parser import EXIT_FAILED, EXIT_OK, add_command, folder_argument, help_by_default
from ._shared import contest_with_teams, print_folded, print_table, say_notes, spinner

if TYPE_CHECKING:
    from getstep_server.programs.adding import Added

NONE = "none"
"""The word for no version: the team's bots play from the network."""

_PROGRAMS = """\
Programs that this machine runs for teams, in a sandbox: no bot has to connect.

examples:
  getstep-server programs add autumn Ada my_bot.py
  getstep-server programs list autumn
"""
_ADD = """\
Add a program that this machine runs for a team. It is compiled in the sandbox,
plays trial games against the sample bot random, and is stored as a new version,
which plays from the team's next match on. A program that does not compile or
makes a fault in its trial game is not stored; the command says what is wrong.

PROGRAM is a file, a folder, or a zip or tar.gz file with at most 10 MB: source
code in C, C++, C#, Java or Python, or an executable. A Python file that has
get_step plays every game. Other programs talk as in one of the original
contests; trial games find out which one, or you name it with --as. If a folder
has several programs, --entry names the file that starts the right one. A file
program.toml in the folder sets what cannot be detected:

  build = "make"                  # a line for the shell
  run = "./my_bot --fast"         # the command that starts it
  convention = "linkage"

examples:
  getstep-server programs add autumn Ada my_bot.py
  getstep-server programs add autumn Ada bot.cpp --as csefest-console
  getstep-server programs add autumn 7 submission.zip
  getstep-server programs add autumn 7 repository/ --entry src/bot.cpp
"""
_LIST = """\
Show the versions of the teams' programs. The newest 20 of each team and the one
in use keep their files. Of older ones, and of those that were removed, this
list remains: the records of matches name them.

examples:
  getstep-server programs list autumn
  getstep-server programs list autumn Ada
"""
_USE = """\
Choose the version of a team's program that plays from its next match on. With
none, the team's bots play from the network again, and all versions stay.

examples:
  getstep-server programs use autumn Ada 2
  getstep-server programs use autumn Ada none
"""
_REMOVE = """\
Delete the files of a version that is not in use. Its line in the list stays,
because the records of matches name it.

example:
  getstep-server programs remove autumn Ada 1
"""


def add_programs_actions(programs: argparse.ArgumentParser) -> None:
    programs.description = _PROGRAMS
    help_by_default(programs)
    actions = programs.add_subparsers(title="actions", metavar="ACTION")

    add = add_command(actions, "add", "build, try and store a program as a new version", _ADD)
    folder_argument(add)
    _team_argument(add)
    add.add_argument("program", type=Path, metavar="PROGRAM", help="a file, a folder or an archive")
    talks = "how the program talks (default: found by trial games)"
    add.add_argument("--as", dest="convention", choices=ALL_CONVENTIONS, metavar="CONVENTION", help=talks)
    starts = "the file that starts the program, if there are several, such as bot.cpp"
    add.add_argument("--entry", metavar="FILE", help=starts)
    add.add_argument("--no-use", action="store_true", help="only store it; the version in use stays")
    by = "who adds it, for the list (default: your name on this machine)"
    add.add_argument("--by", metavar="NAME", help=by)
    add.epilog = textwrap.fill(f"conventions: {', '.join(ALL_CONVENTIONS)}", 79, subsequent_indent="  ")
    add.set_defaults(command=_add)

    listing = add_command(actions, "list", "show the versions", _LIST)
    folder_argument(listing)
    listing.add_argument("team", nargs="?", metavar="TEAM", help="a team's id or name (default: all teams)")
    listing.set_defaults(command=_list)

    use = add_command(actions, "use", "choose the version that plays", _USE)
    folder_argument(use)
    _team_argument(use)
    use.add_argument("version", metavar="VERSION", help="the version's number, or none")
    use.set_defaults(command=_use)

    remove = add_command(actions, "remove", "delete the files of a version", _REMOVE)
    folder_argument(remove)
    _team_argument(remove)
    remove.add_argument("version", metavar="VERSION", help="the version's number")
    remove.set_defaults(command=_remove)


def _team_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("team", metavar="TEAM", help="the team's id or name")


def _contest_and_team(args: argparse.Namespace) -> tuple[Contest, int]:
    contest = contest_with_teams(args.contest)
    team = team_named(contest, args.team, "TEAM")
    if team not in contest.contestants:
        listing = shell_command("teams", "list", contest.folder)
        raise UsageError(f"TEAM {team}: no team in teams.toml has this id; see {listing}")
    return contest, team


def _number(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and 0 < len(text) < 10):  # `int` raises for more than 4,300 digits
        raise UsageError(f"VERSION {text!r:.80}: expected the number of a version")
    return int(text)


def _add(args: argparse.Namespace) -> int:
    from getstep_server.programs.adding import (
        NewProgram,
        add_program,
    )  # here: `list` needs neither games nor sandbox
    from getstep_server.programs.source import source_in

    contest, team = _contest_and_team(args)
    name = contest.team_name(team)
    before = len(ProgramStore(contest.folder).versions(team))
    if contest.file.programs.sandbox == "none":
        say_notes(['contest.toml has sandbox = "none": programs run on this machine without protection'])
    try:
        with spinner() as tick:
            tick("reading it")
            source = source_in(args.program)
            program = NewProgram(team, source, args.by or _user(), args.convention, not args.no_use, args.entry)
            added = add_program(contest, program, tick)
    except ProgramRefused as refused:
        first, *more = str(refused).split("\n")
        print_folded(f"The program of {name} was not stored: {first}", error=True)
        for line in more:
            print(escape_control_chars(line), file=sys.stderr)
        return EXIT_FAILED
    except KeyboardInterrupt:
        stored = ProgramStore(contest.folder).versions(team)[before:]
        what = f"version {stored[-1].number} is stored already" if stored else "nothing was stored"
        print(f"Stopped; {what}.", file=sys.stderr)
        raise
    _print_added(contest, added, in_use=not args.no_use)
    return EXIT_OK


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # the system does not know the user's name
        return "host"


def _print_added(contest: Contest, added: Added, *, in_use: bool) -> None:
    version = added.version
    name = contest.team_name(version.team)
    what = f"{version.language}, convention {version.convention}"
    print_folded(f"Version {version.number} of {name} is stored: {what}.")
    for note in added.notes:
        print_folded(f"{note[0].upper()}{note[1:]}.")
    print_folded(f"Trial games against random: {version.trial}.")
    print(f"SHA-256 of its source: {version.sha256}")
    if in_use:
        print_folded("It plays from the team's next match on. As long as it does, bots of the team cannot connect.")
    else:
        print("To let it play, type:")
        print(f"  {shell_command('programs', 'use', contest.folder, str(version.team), str(version.number))}")


def _list(args: argparse.Namespace) -> int:
    contest = contest_with_teams(args.contest)
    store = ProgramStore(contest.folder)
    teams = contest.contestants if args.team is None else [_contest_and_team(args)[1]]
    versions = [version for team in teams for version in store.versions(team)]
    if not versions:
        print("No programs: all bots connect over the network. To add one, type:")
        print(f"  {shell_command('programs', 'add', contest.folder)} TEAM PROGRAM")
        return EXIT_OK
    chosen = {team: store.current(team) for team in teams}
    print_table(_table(contest, versions, {one.folder for one in chosen.values() if one is not None}))
    for one in versions:
        if one.id_line:
            print_folded(f"{contest.team_name(one.team)}, version {one.number}, calls itself: {one.id_line}")
    return EXIT_OK


def _table(contest: Contest, versions: Sequence[ProgramVersion], in_use: set[Path]) -> TextTable:
    added = [local_minute(datetime.fromisoformat(version.added).timestamp()) for version in versions]
    states = ["removed" if one.removed else "in use" if one.folder in in_use else "" for one in versions]
    return TextTable(
        [
            Column("team", [contest.team_name(one.team) for one in versions], names=True, justify="left"),
            Column("version", [str(one.number) for one in versions], short="no."),
            Column("", states, justify="left"),
            Column("language", [one.language for one in versions], justify="left"),
            Column("convention", [one.convention for one in versions], justify="left"),
            Column("SHA-256", [one.sha256[:8] for one in versions], justify="left"),
            Column("added", added, justify="left"),
            Column("by", [one.added_by for one in versions], justify="left"),
            Column("trial games", [one.trial for one in versions], spare=True, justify="left"),
        ]
    )


def _use(args: argparse.Namespace) -> int:
    contest, team = _contest_and_team(args)
    store, name = ProgramStore(contest.folder), contest.team_name(team)
    if args.version == NONE:
        store.stop(team)
        print_folded(f"The bots of {name} play from the network, from its next match on.")
        return EXIT_OK
    version = store.use(team, _number(args.version))
    print_folded(f"{name} plays with version {version.number}, from its next match on.")
    return EXIT_OK


def _remove(args: argparse.Namespace) -> int:
    contest, team = _contest_and_team(args)
    version = ProgramStore(contest.folder).remove(team, _number(args.version))
    print_folded(f"The files of version {version.number} of {contest.team_name(team)} are removed.")
    return EXIT_OK
