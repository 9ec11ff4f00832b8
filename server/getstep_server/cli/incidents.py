"""The command `incidents`."""

from __future__ import annotations

import argparse

from getstep_server.config.contest import load_contest
from getstep_server.config.names import team_named
from getstep_server.errors import UsageError
from getstep_server.reports.incident_report import IncidentsView, incident_as_json, sorted_by_sender
from getstep_server.storage.contest_state import incidents_of
from getstep_server.text import shell_command

from ._parser import EXIT_OK, folder_argument
from ._shared import print_table

_INCIDENTS = """\
Show the protocol violations and refused logins of all runs, also while the
contest runs. Teams come first, then connections that did not log in, by
address; the most frequent incidents of each are first. Times are local. With
--json they are UTC, and the first bytes that were sent are shown, too.

examples:
  getstep-server incidents autumn
  getstep-server incidents autumn --team 7
  getstep-server incidents autumn --json > incidents.jsonl
"""


def add_incidents(parser: argparse.ArgumentParser) -> None:
    parser.description = _INCIDENTS
    folder_argument(parser)
    parser.add_argument("--team", metavar="TEAM", help="show the incidents of this team only; its id or name")
    parser.add_argument("--json", action="store_true", help="print one JSON object per line")
    parser.set_defaults(command=_incidents)


def _incidents(args: argparse.Namespace) -> int:
    contest = load_contest(args.contest)
    team = None if args.team is None else team_named(contest, args.team, "--team")
    rows = sorted_by_sender(row for row in incidents_of(contest) if team in (None, row.incident.team))
    if team is not None and not rows and team not in contest.teams:
        listing = shell_command("teams", "list", contest.folder)
        raise UsageError(f"--team {team}: no team has this id; see {listing}")
    if args.json:
        for row in rows:
            print(incident_as_json(contest, row))
    elif rows:
        print_table(IncidentsView(contest, rows))
    else:
        whose = "" if team is None else f" of {contest.team_name(team)}"
        print(f"No incidents{whose}: no protocol violation and no refused login is on record.")
    return EXIT_OK
