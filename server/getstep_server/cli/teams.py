"""The command `teams`: add, import, list, slips, and the decisions about teams."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import fields, replace

from getstep_server.addresses import doubtful_address, reachable_host
from getstep_server.config.class_list import NewTeam, read_roster
from getstep_server.config.contest import load_contest, teams_path
from getstep_server.config.contestants_package import write_contestants_package
from getstep_server.config.invitations import invitations
from getstep_server.config.names import team_named
from getstep_server.decisions.making import Made
from getstep_server.decisions.requests import (
    INVITATION_DAYS,
    AddTeams,
    ChangeSeats,
    Invite,
    NewToken,
    RenameTeam,
    Request,
    Revoke,
)
from getstep_server.errors import ConfigError, UsageError
from getstep_server.limits import MAX_SEATS
from getstep_server.reports.slips import PAPERS, address_to_type, as_html, as_text, page_address_to_type
from getstep_server.reports.text_table import Column, TextTable
from getstep_server.storage.lock import server_of
from getstep_server.text import local_minute, pluralize, shell_command
from getstep_server.web.sign_up import join_path

from ._parser import EXIT_OK, add_command, folder_argument, help_by_default
from ._shared import contest_with_teams, print_table
from .decisions import add_ruling_options, add_team_decisions, decide

_SEATS = f"how many bots each team may connect at once, one match each (1 to {MAX_SEATS}; default: 1)"
_TEAMS = """\
Add and show the teams of a contest, which are in its teams.toml.

examples:
  getstep-server teams import autumn roster.csv
  getstep-server teams slips autumn
"""
_ROSTER = """
The server that runs the contest applies it within two seconds. In a contest
that has begun, the change is on record with its reason; teams.toml follows."""
_EXAMPLES = {"rename": ' "Ada Lovelace"', "token": "", "seats": " 4"}
_ADD = f"""\
{AddTeams.text}{_ROSTER}

examples:
  getstep-server teams add autumn Ada Blaise "The Hoppers"
  getstep-server teams add autumn Ada --id 7 --seats 4
"""
_LIST = """\
Show the teams: their ids, names, seats if some have several, and whether they
may use the classic wire. The tokens are shown only with --tokens.

example:
  getstep-server teams list autumn
"""
_INVITE = f"""\
{Invite.text}
The host's live page serves the links. Everybody who has a link can use it, so
send it to those who shall take part only. In a contest that has begun, new
links and their ends are on record, and each team that signs up is, too, with
the number of its link.

examples:
  getstep-server teams invite autumn --uses 40 --until "2030-12-01 18:00"
  getstep-server teams invite autumn --count 20

exit codes: 0 printed, 2 wrong usage, or the contest cannot be read or written
"""
_INVITATIONS = """\
List the links by which teams sign up: who has made each, until when it is good,
and the teams that have used it. A link itself is shown only when it is made.

example:
  getstep-server teams invitations autumn
"""
_REVOKE = f"""\
{Revoke.text}
examples:
  getstep-server teams revoke autumn
  getstep-server teams revoke autumn 3 4
"""
_SLIPS = """\
Write slips.html into the contest's folder, for the printer. A slip is one page
for one team, on A4 and on US Letter. It has the host's address and port, the
team's id and secret token, all commands to type, and the live page with its QR
code.
The file has secrets: do not show it on a projector.

The contestants' package is written next to it. The live page serves it, so that
the command on the slip installs it while the server runs.

examples:
  getstep-server teams slips autumn
  getstep-server teams slips autumn --host 192.168.1.10
  getstep-server teams slips autumn --paper letter
  getstep-server teams slips autumn --team Ada --text
"""
_IMPORT = """\
Add the teams of a class list, which is a CSV file; if it has a mistake, no team
is added. One name per line is enough. If there are more columns, the first
line names them: name, or last name and first name (Nachname, Vorname), and if
you like id and seats. Other columns, such as e-mail, are kept for the grades
that export writes. If there is a column team, the lines with the same team are
one team. Columns are separated by commas, semicolons or tabs; without a first
line that names them, last name and first name need semicolons or tabs. UTF-8 is
best; UTF-16 and Windows-1252 are read as well, and the command says so.

  id,name,room
  7,The Hoppers,101
  8,"Charles, and Co.",102

example:
  getstep-server teams import autumn roster.csv
"""


def add_teams_actions(teams: argparse.ArgumentParser) -> None:
    teams.description = _TEAMS
    help_by_default(teams)
    actions = teams.add_subparsers(title="actions", metavar="ACTION")

    add = add_command(actions, "add", "add teams by name", _ADD)
    folder_argument(add)
    add.add_argument("names", nargs="+", metavar="NAME", help="a team's name; in quotes if it has spaces")
    add.add_argument("--id", type=int, help="the team's id, with one NAME only (default: the lowest free id)")
    add.add_argument("--seats", type=int, default=1, metavar="N", help=_SEATS)
    add.add_argument("--classic", action="store_true", help="also permit the classic wire, which has no token")
    add_ruling_options(add, _default_reason(AddTeams))
    add.set_defaults(command=_teams_add)

    roster = add_command(actions, "import", "add teams from a class list", _IMPORT)
    folder_argument(roster)
    roster.add_argument("roster", type=Path, metavar="ROSTER.CSV", help="the class list")
    add_ruling_options(roster, _default_reason(AddTeams))
    roster.set_defaults(command=_teams_import)

    for request, name, kind, what in (
        (RenameTeam, "name", str, "its new name; in quotes if it has spaces"),
        (NewToken, None, str, ""),
        (ChangeSeats, "seats", int, f"the bots that it may connect (1 to {MAX_SEATS})"),
    ):
        tag = str(request.__struct_config__.tag)
        example = f"getstep-server teams {tag} autumn Ada{_EXAMPLES[tag]}"
        change = add_command(actions, tag, request.summary, f"{request.text}{_ROSTER}\n\nexample:\n  {example}\n")
        folder_argument(change)
        change.add_argument("team", metavar="TEAM", help="the team's id or name")
        if name is not None:
            change.add_argument(name, type=kind, metavar=name.upper(), help=what)
        add_ruling_options(change, _default_reason(request))
        change.set_defaults(command=_teams_change, request=request, values=("team", *([name] if name else [])))

    listing = add_command(actions, "list", "show the teams", _LIST)
    folder_argument(listing)
    listing.add_argument("--tokens", action="store_true", help="also show the secret tokens")
    listing.set_defaults(command=_teams_list)

    invite = add_command(actions, "invite", Invite.summary, _INVITE)
    folder_argument(invite)
    invite.add_argument("--count", type=int, default=1, metavar="N", help="the number of links (default: 1)")
    invite.add_argument("--uses", type=int, default=1, metavar="N", help="teams that may use each (default: 1)")
    invite.add_argument("--until", metavar="TIME", help=f"its end, local time (default: in {INVITATION_DAYS} days)")
    invite.add_argument("--host", help="the address of this machine in the links (default: the one on the LAN)")
    add_ruling_options(invite, _default_reason(Invite))
    invite.set_defaults(command=_teams_invite)

    invited = add_command(actions, "invitations", "list links by which teams sign up", _INVITATIONS)
    folder_argument(invited)
    invited.set_defaults(command=_teams_invitations)

    revoke = add_command(actions, "revoke", Revoke.summary, _REVOKE)
    folder_argument(revoke)
    revoke.add_argument("invitations", nargs="*", type=int, metavar="NUMBER", help="of a link (default: all)")
    add_ruling_options(revoke, _default_reason(Revoke))
    revoke.set_defaults(command=_teams_revoke)

    slips = add_command(
        actions,
        "slips",
        "write a page for each team with its token and all commands to type",
        _SLIPS,
    )
    folder_argument(slips)
    slips.add_argument("--host", help="the address that contestants type (default: this machine's on the LAN)")
    slips.add_argument("--paper", choices=PAPERS, help="the size of the paper (default: the printer's own)")
    slips.add_argument("--team", metavar="TEAM", help="the slip of this team only; its id or name")
    slips.add_argument("--text", action="store_true", help="print plain text instead of writing slips.html")
    slips.set_defaults(command=_teams_slips)
    add_team_decisions(actions)


def _default_reason(request: type[Request]) -> str:
    return next(str(field.default) for field in fields(request) if field.name == "why")


def _teams_add(args: argparse.Namespace) -> int:
    if args.id is not None and len(args.names) > 1:
        raise UsageError(f"--id {args.id}: {len(args.names)} names given; an id needs exactly one NAME")
    named = enumerate(args.names, start=1)
    entries = tuple(NewTeam(name.strip(), f"NAME {n}", args.id, args.seats) for n, name in named)
    return decide(args, AddTeams(teams=entries, classic=args.classic, by=args.by, why=args.why), told=_print_tokens)


def _teams_import(args: argparse.Namespace) -> int:
    found = read_roster(args.roster)
    request = AddTeams(roster=found, by=args.by, why=args.why)

    def told(made: Made) -> None:
        for note in found.notes:
            print(f"{note}.")
        print(f"{pluralize(len(made.teams), 'team')} added. To see them, and to write their slips:")
        print(f"  {shell_command('teams', 'list', args.contest)}")
        print(f"  {shell_command('teams', 'slips', args.contest)}")
        _say_when_it_holds(made)

    return decide(args, request, told=told)


def _teams_change(args: argparse.Namespace) -> int:
    values = {name: getattr(args, name) for name in args.values}
    request = args.request(**values, by=args.by, why=args.why)
    labels = {"team": "TEAM", "name": "NAME", "seats": "SEATS"}
    return decide(args, request, labels, told=_print_tokens if args.request is NewToken else _say_when_it_holds)


def _print_tokens(made: Made) -> None:
    for team in made.teams:
        print(f"team {team.id}: {team.name}, token {team.token}")
    _say_when_it_holds(made)


def _say_when_it_holds(made: Made) -> None:
    """Say that a server which runs takes up the change."""
    if server_of(made.after.contest.folder) is not None:
        print("The server that runs this contest applies it within two seconds.")


def _teams_invite(args: argparse.Namespace) -> int:
    contest = load_contest(args.contest)
    server = contest.file.server
    host = args.host or reachable_host(server.host)
    if not (args.host or server.page_address) and (doubt := doubtful_address(server.host)):
        print(f"! {doubt}", file=sys.stderr)
    page = page_address_to_type(contest, host).rstrip("/") or "(the address of the live page)"
    labels = {name: f"--{name}" for name in ("count", "uses", "until")}
    request = Invite(count=args.count, uses=args.uses, until=args.until, by=args.by, why=args.why)

    def told(made: Made) -> None:
        for key in made.keys.values():
            print(f"{page}{join_path(key)}")
        note = "The live page must be running. The links are not shown again; to end them:"
        print(note, file=sys.stderr)  # the standard output has the links alone
        print(f"  {shell_command('teams', 'revoke', args.contest)}", file=sys.stderr)

    return decide(args, request, labels, told=told)


def _teams_revoke(args: argparse.Namespace) -> int:
    request = Revoke(invitations=tuple(args.invitations), by=args.by, why=args.why)

    def told(made: Made) -> None:
        if not made.begun:  # otherwise it was said that this is on record
            print(made.preview.summary("Done"))

    return decide(args, request, {"invitations": "NUMBER"}, told=told)


def _teams_invitations(args: argparse.Namespace) -> int:
    found, now = invitations(load_contest(args.contest).folder), time.time()
    if not found:
        print(f"No links yet. Make one with: {shell_command('teams', 'invite', args.contest)}")
        return EXIT_OK
    columns = [
        Column("link", [str(one.number) for one in found]),
        Column("teams", [f"{len(one.teams)} of {one.uses}" for one in found]),
        Column("until", [local_minute(one.until) for one in found], justify="left"),
        Column("state", [one.closed(now) or "open" for one in found], justify="left"),
        Column("by", [one.by for one in found], names=True, justify="left"),
        Column("used by", [_first(one.teams) for one in found], justify="left"),
    ]
    print_table(TextTable(columns))
    return EXIT_OK


def _first(teams: Sequence[int], most: int = 8) -> str:
    return ", ".join(map(str, teams[:most])) + (" …" if len(teams) > most else "")


def _teams_list(args: argparse.Namespace) -> int:
    teams = contest_with_teams(args.contest).contestants.values()
    columns = [
        Column("id", [str(team.id) for team in teams]),
        Column("team", [team.name for team in teams], names=True, justify="left"),
    ]
    if any(team.seats > 1 for team in teams):
        columns.append(Column("seats", [str(team.seats) for team in teams]))
    if any(team.classic for team in teams):
        classic = [(team.classic_address or "yes") if team.classic else "" for team in teams]
        columns.append(Column("classic", classic, justify="left"))
    if args.tokens:
        columns.append(Column("token", [team.token for team in teams], justify="left"))
    print_table(TextTable(columns))
    return EXIT_OK


def _teams_slips(args: argparse.Namespace) -> int:
    contest, name = contest_with_teams(args.contest), "slips.html"
    if args.team is not None:
        team = team_named(contest, args.team, "--team")
        if team not in contest.contestants:
            raise UsageError(f"--team {args.team!r}: not in {teams_path(contest.folder)}, so it has no token")
        contest, name = replace(contest, teams={team: contest.teams[team]}), f"slip-{team}.html"
    host = args.host or address_to_type(contest)
    if not args.host and (doubt := doubtful_address(contest.file.server.host)):
        print(f"! {doubt}", file=sys.stderr)  # the slips themselves may go to the standard output
    if args.text:
        print(as_text(contest, host), end="")
        return EXIT_OK
    path = contest.folder / name
    try:
        path.touch(mode=0o600)  # before the secrets are in it
        path.write_text(as_html(contest, host, args.paper), encoding="utf-8")
        package = write_contestants_package(contest)
    except OSError as error:
        raise ConfigError(f"{error.filename or path}: {error.strerror or error}") from error
    slips = pluralize(len(contest.contestants), "slip")
    print(f"{slips} for host {host} in {path}: open it in a browser and print it.")
    print("If contestants reach this machine at another address, give it with --host.")
    print("While the server runs, the command on the slips installs the package from it.")
    print(f"For those who install it earlier, hand out {package}.")
    print("Then run the contest:")
    print(f"  {shell_command('run', args.contest)}")
    return EXIT_OK
