"""The commands with which a host corrects a contest: decisions about teams and matches, and their list."""

from __future__ import annotations

import argparse
import getpass
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path

import trio

from getstep_server.config.contest import Contest, load_contest, teams_path
from getstep_server.config.names import event_named, team_named
from getstep_server.errors import UsageError
from getstep_server.records.decision import (
    Decision,
    decision_fields,
    describe_decision,
    record_of_decision,
    validate_decision,
)
from getstep_server.records.match import Match
from getstep_server.records.reasons import FREEZE_KINDS, DecisionKind
from getstep_server.records.record import RecordError
from getstep_server.records.result import PLAYERS
from getstep_server.reports.tables import result_line
from getstep_server.storage.contest_state import complete_tournament, load_tournament
from getstep_server.storage.database import not_there
from getstep_server.storage.lock import server_of
from getstep_server.storage.lost_records import has_database
from getstep_server.storage.recovery import left_running
from getstep_server.storage.store import Conflict, Store
from getstep_server.text import escape_control_chars, local_minute, pluralize, sentence, shell_command, utc_time
from getstep_server.tournament.forfeits import no_shows
from getstep_server.tournament.tournament import Tournament

from ._parser import EXIT_OK, Commands, Intermixed, add_command, add_hidden, folder_argument, help_by_default
from ._shared import on_record, print_folded, renamed
from .games import add_match_list, list_matches

_BOTH = """
The decision is effective at once, also while the contest runs: the server reads
it within two seconds, and all tables follow it. It stays on record permanently,
with its reason and with the name of the person who made it; see decisions."""

_TEAMS: dict[DecisionKind, tuple[str, str]] = {
    DecisionKind.WITHDRAW: (
        "remove a team; the matches that it has played count",
        "Remove a team from the contest. Its open matches are cancelled and its running\n"
        "matches are aborted. The matches that it has played count.\n",
    ),
    DecisionKind.DISQUALIFY: (
        "remove a team; none of its matches counts",
        "Remove a team from the contest. Its open matches are cancelled and its running\n"
        "matches are aborted. The matches that it has played are annulled, for its\n"
        "opponents, too. In the table it is last.\n",
    ),
    DecisionKind.REINSTATE: (
        "let a team take part again",
        "Let a team that has withdrawn or was disqualified take part again. Its results\n"
        "count again, and its cancelled matches are open again, unless the opponent has\n"
        "withdrawn, too.\n",
    ),
}

_REASONS = {
    DecisionKind.WITHDRAW: "their own wish",
    DecisionKind.DISQUALIFY: "copied another bot",
    DecisionKind.REINSTATE: "the bot is their own",
}
"""Examples of reasons, for the help."""

_ADJUDICATE = f"""\
Set the result of a match in any state: played, running, open or cancelled. A
later adjudicate or rematch of the match replaces this decision.
{_BOTH}

examples:
  getstep-server matches adjudicate autumn 7 --winner Ada --why "our laptop"
  getstep-server matches adjudicate autumn 7 --winner draw --why "network"
  getstep-server matches adjudicate autumn 7 --winner Ada --scores 170 146 \\
      --why "as the screen said"
"""

_REMATCH = f"""\
Play matches again from the beginning: the ones with these numbers, or the ones
that --team and --no-shows choose among the matches that are over. Their present
results, forfeits included, no longer count. A running match is aborted. The
decisions are put on record together, or none of them is.
{_BOTH}

examples:
  getstep-server matches rematch autumn 5 9 12 --why "no network"
  getstep-server matches rematch autumn --team Late --no-shows --why "bus"
  getstep-server matches rematch autumn --no-shows --dry-run --why "switch"
"""


# --- the commands -----------------------------------------------------------------------------------------------


def add_team_decisions(actions: Commands[argparse.ArgumentParser]) -> None:
    """Add ``withdraw``, ``disqualify`` and ``reinstate`` to the actions of ``teams``."""
    for kind, (summary, text) in _TEAMS.items():
        example = f'example:\n  getstep-server teams {kind} autumn Ada --why "{_REASONS[kind]}"'
        parser = add_command(actions, kind, summary, f"{text}{_BOTH}\n\n{example}\n")
        folder_argument(parser)
        parser.add_argument("team", metavar="TEAM", help="the team's id or name")
        parser.add_argument("--event", metavar="NAME", help="in this event only (default: in all events)")
        _add_why(parser)
        parser.set_defaults(command=_decide_team, kind=kind)


def add_matches(parser: argparse.ArgumentParser) -> None:
    _add_actions(parser, current=True)


def add_games(parser: argparse.ArgumentParser) -> None:
    """Add the same actions to ``games``, the former name of ``matches``."""
    _add_actions(parser, current=False)


def add_decisions(parser: argparse.ArgumentParser) -> None:
    parser.description = "List the decisions of the host with their reasons, oldest first. Times are local."
    folder_argument(parser)
    parser.set_defaults(command=_list)


def _add_actions(parser: argparse.ArgumentParser, *, current: bool) -> None:
    parser.description = "List matches, set the result of a match, or play matches again."
    help_by_default(parser)
    actions: Commands[argparse.ArgumentParser] = parser.add_subparsers(
        title="actions", metavar="ACTION", parser_class=Intermixed
    )
    for action, add, command in (
        ("list", add_match_list, list_matches),
        ("adjudicate", _add_adjudicate, _adjudicate),
        ("rematch", _add_rematch, _rematch),
    ):
        known = add(actions)
        known.set_defaults(command=command if current else renamed(command, f"matches {action}"))
    _add_replay(actions)


def _add_adjudicate(actions: Commands[argparse.ArgumentParser]) -> argparse.ArgumentParser:
    parser = add_command(actions, "adjudicate", "set the result of a match", _ADJUDICATE)
    folder_argument(parser)
    parser.add_argument("match", type=int, metavar="MATCH", help="the number of the match")
    parser.add_argument(
        "--winner", required=True, metavar="TEAM", help="the id or name of the team that wins, or draw"
    )
    parser.add_argument(
        "--scores",
        nargs=2,
        type=int,
        metavar=("FIRST", "SECOND"),
        help="the scores of the first and the second player; needed where score differences count",
    )
    _add_why(parser)
    return parser


def _add_rematch(actions: Commands[argparse.ArgumentParser]) -> argparse.ArgumentParser:
    parser = add_command(actions, "rematch", "play matches again", _REMATCH)
    folder_argument(parser)
    parser.add_argument("matches", nargs="*", type=int, metavar="MATCH", help="the number of a match")
    parser.add_argument("--team", metavar="TEAM", help="all matches of this team that are over; its id or name")
    parser.add_argument(
        "--no-shows",
        action="store_true",
        help="only matches forfeited by a team that did not come; with --team, by this team",
    )
    parser.add_argument("--dry-run", action="store_true", help="show the matches without playing them again")
    _add_why(parser)
    return parser


def _add_replay(actions: Commands[argparse.ArgumentParser]) -> None:
    """Add the former name of ``rematch``, for one match."""
    parser = add_hidden(actions, "replay")
    folder_argument(parser)
    parser.add_argument("matches", nargs=1, type=int, metavar="MATCH")
    _add_why(parser)
    parser.set_defaults(command=renamed(_rematch, "matches rematch"), team=None, no_shows=False, dry_run=False)


def _add_why(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--why", required=True, metavar="TEXT", help="the reason; it stays on record permanently")
    parser.add_argument(
        "--by", metavar="NAME", default=login(), help="the person who decides (default: your login name)"
    )


def login() -> str:
    """Return the login name of the host, for the author of a decision."""
    try:
        return getpass.getuser()
    except (OSError, ImportError, KeyError):  # an account without a name
        return "the host"


# --- making decisions -------------------------------------------------------------------------------------------


def _decide_team(args: argparse.Namespace) -> int:
    def decision(contest: Contest, tournament: Tournament) -> Decision:
        event = None if args.event is None else event_named(contest, args.event)
        team = team_named(contest, args.team, "TEAM")
        _check_team(contest, tournament, team, args.kind)
        if event is not None and team not in {row.team for row in tournament.table(event)}:
            raise UsageError(
                f"--event {event.name!r}: {contest.team_name(team)} is not in this event; give another one"
            )
        number = None if event is None else event.number
        return Decision(args.kind, args.by, args.why, now(), team=team, event=number)

    return decide(args, decision)


def _check_team(contest: Contest, tournament: Tournament, team: int, kind: DecisionKind) -> None:
    if team in contest.teams:
        return
    known = {one for match in tournament.matches.values() for one in match.teams}
    if team not in known:
        raise UsageError(f"TEAM {team}: no team has this id; see {shell_command('teams', 'list', contest.folder)}")
    if kind != DecisionKind.DISQUALIFY:
        raise UsageError(
            f"team {team} has withdrawn: it is not in {teams_path(contest.folder)}; put it back there first"
        )


def _adjudicate(args: argparse.Namespace) -> int:
    def decision(contest: Contest, tournament: Tournament) -> Decision:
        match = _match(contest, tournament, args.match)
        winner = None
        if args.winner != "draw":
            team = team_named(contest, args.winner, "--winner")
            if team not in match.teams:
                raise UsageError(
                    f"--winner {args.winner!r}: {contest.team_name(team)} is not in match {match.number},"
                    f" expected {' or '.join(map(contest.team_name, match.teams))}, or draw"
                )
            winner = PLAYERS[match.teams.index(team)]
        scores = None if args.scores is None else (args.scores[0], args.scores[1])
        number = match.number
        return Decision(
            DecisionKind.ADJUDICATE, args.by, args.why, now(), match=number, winner=winner, scores=scores
        )

    return decide(args, decision)


def _match(contest: Contest, tournament: Tournament, number: int) -> Match:
    if not tournament.matches:
        problem = f"the contest in {contest.folder} has no matches yet"
        raise UsageError(
            f"MATCH {number}: {problem}; the first ones are paired by {shell_command('run', contest.folder)}"
        )
    if number not in tournament.matches:
        expected, listing = f"1 to {len(tournament.matches)}", shell_command("matches", "list", contest.folder)
        raise UsageError(f"MATCH {number}: no match has this number, expected {expected}; see {listing}")
    return tournament.matches[number]


# --- rematches --------------------------------------------------------------------------------------------------


def _rematch(args: argparse.Namespace) -> int:
    chosen = args.team is not None or args.no_shows
    if chosen == bool(args.matches):
        problem = "numbers and a choice given" if chosen else "no match given"
        raise UsageError(f"rematch: {problem}; give either numbers of matches, or --team or --no-shows")
    skipped: dict[int, str] = {}

    def decisions(contest: Contest, tournament: Tournament) -> list[Decision]:
        skipped.clear()
        choose = partial(_chosen, skipped=skipped) if chosen else _numbered_ones
        at, found = now(), choose(args, contest, tournament)
        return [Decision(DecisionKind.REPLAY, args.by, args.why, at, match=match.number) for match in found]

    code = _decide_all(args, decisions)
    for number, problem in skipped.items():
        print(escape_control_chars(f"Not played again: match {number}: {problem}"))
    return code


def _numbered_ones(args: argparse.Namespace, contest: Contest, tournament: Tournament) -> list[Match]:
    """Return the matches with the given numbers, or raise UsageError if one of them cannot be played again."""
    matches = [_match(contest, tournament, number) for number in dict.fromkeys(args.matches)]
    running = left_running(contest.running, tournament.recorded)
    for match in matches:
        if problem := _gone(contest, match):
            raise UsageError(problem)
        if tournament.is_open(match) and match.number not in running:
            raise UsageError(f"match {match.number} is open already; give a match that has started or is over")
    return matches


def _chosen(
    args: argparse.Namespace, contest: Contest, tournament: Tournament, skipped: dict[int, str]
) -> list[Match]:
    """Return the matches that ``--team`` and ``--no-shows`` choose; add to ``skipped`` why others are left out."""
    team = None if args.team is None else team_named(contest, args.team, "--team")
    found = []
    for match in tournament.matches.values():
        result = tournament.played_result(match)
        if result is None or (team is not None and team not in match.teams):
            continue
        if args.no_shows and not (no_shows(result) if team is None else team in no_shows(result)):
            continue
        decision = Decision(DecisionKind.REPLAY, args.by, args.why, now(), match=match.number)
        if problem := _gone(contest, match) or tournament.objection(decision):
            skipped[match.number] = problem
        else:
            found.append(match)
    if not found:
        listing = shell_command("matches", "list", contest.folder)
        raise UsageError(f"rematch: no match fits these options; see {listing}")
    return found


def _gone(contest: Contest, match: Match) -> str:
    """Return why the contest's files do not permit to play a match again; "" if they do."""
    for team in match.teams:
        if team not in contest.event(match.event).teams:
            return (
                f"team {team} of match {match.number} has withdrawn: it is not in"
                f" {teams_path(contest.folder)} or not in the event; put it back there first"
            )
    return ""


def now() -> str:
    """Return the present time in the format of records."""
    return utc_time(time.time())


# --- recording decisions ---------------------------------------------------------------------------------------


def decide(args: argparse.Namespace, make: Callable[[Contest, Tournament], Decision]) -> int:
    """Record the decision that ``make`` returns, print what follows from it, and return the exit code."""
    return _decide_all(args, lambda contest, tournament: [make(contest, tournament)])


def _decide_all(args: argparse.Namespace, make: Callable[[Contest, Tournament], list[Decision]]) -> int:
    contest = load_contest(args.contest)
    if not has_database(contest):
        raise UsageError(f"{not_there(contest.database)}; the contest has not started, so edit its files instead")
    complete_tournament(contest, quick=True)
    dry_run = getattr(args, "dry_run", False)  # only a few of the commands have the option
    with Store(contest.database) as store:
        decisions, before = _record(contest, store, make, dry_run=dry_run)
        after = load_tournament(contest, store)
    print_folded(_summary(contest, decisions, after, "Would be on record" if dry_run else "On record"))
    lines = list(_before(contest, decisions, before))
    lines += [] if dry_run else _consequences(contest, decisions, before, after)
    for line in lines:
        print_folded(line)
    return EXIT_OK


def _summary(contest: Contest, decisions: Sequence[Decision], after: Tournament, what: str) -> str:
    if len(decisions) > 1:
        return f"{what}: {pluralize(len(decisions), 'match')} are played again."
    (decision,) = decisions
    match = None if decision.match is None else after.matches[decision.match]
    return sentence(f"{what}: {describe_decision(decision, contest, match)}")


def _record(
    contest: Contest, store: Store, make: Callable[[Contest, Tournament], list[Decision]], *, dry_run: bool
) -> tuple[list[Decision], Tournament]:
    """Make decisions from the records and store them, again if another process has added records at the same time.

    Returns:
        The decisions, and the tournament before them.
    """
    while True:
        tournament = load_tournament(contest, store)
        decisions = make(contest, tournament)
        for decision in decisions:
            try:
                validate_decision(decision_fields(contest, decision))
            except RecordError as error:
                raise UsageError(f"this decision cannot be recorded: {error}") from error
            if objection := tournament.objection(decision):
                raise UsageError(objection)
        if dry_run:
            return decisions, tournament
        records = [record_of_decision(contest, decision) for decision in decisions]
        try:
            trio.run(partial(store.save, *records, based_on=tournament.place))
        # The server may add a result at any moment: look at the records again, and decide by what they say now.
        except Conflict:
            continue
        return decisions, tournament


def _before(contest: Contest, decisions: Sequence[Decision], before: Tournament) -> Iterable[str]:
    """Yield a line for each match that has a result up to now."""
    done = {result.match.number: result for result in before.results}
    for decision in decisions:
        if decision.match in done:
            yield f"  before: {result_line(done[decision.match], contest.team_name)}"


def _consequences(
    contest: Contest, decisions: Sequence[Decision], before: Tournament, after: Tournament
) -> Iterable[str]:
    """Yield a line for each kind of change to the matches, and the next command to type."""
    if any(decision.kind in FREEZE_KINDS for decision in decisions):
        return
    open_before, open_after = ({match.number for match in one.open()} for one in (before, after))
    done_before, done_after = ({result.match.number: result for result in one.results} for one in (before, after))
    decided = {decision.match for decision in decisions}
    for decision in decisions:
        unscored = (
            decision.kind == DecisionKind.ADJUDICATE and decision.winner is not None and decision.scores is None
        )
        if unscored and _by_difference(contest, after.matches[decision.match or 0]):
            yield "  it is worth 0 to both teams: this event counts score differences; give them with --scores"
    changes = {
        "cancelled": open_before - open_after - done_after.keys(),
        "annulled": done_before.keys() - done_after.keys() - open_after,
        "open again": open_after - open_before,
        "counted again": done_after.keys() - done_before.keys() - open_before - decided,
    }
    for what, numbers in changes.items():
        if numbers:
            yield f"  {what}: {_numbered(numbers)}"
    if not any(changes.values()) and decided == {None}:
        yield "  no match has changed"
    if open_after:
        yield _how_they_are_played(contest)


def _how_they_are_played(contest: Contest) -> str:
    """Return how the open matches are played: by the server that runs, or by one that the host starts."""
    if server_of(contest.folder) is not None:
        return "The server that runs this contest plays the open matches."
    command = f"lay the open matches with: {shell_command('run', contest.folder)}"
    # A server on another machine may use the same database in PostgreSQL.
    return f"P{command}" if isinstance(contest.database, Path) else f"If no server is running, p{command}"


def _by_difference(contest: Contest, match: Match) -> bool:
    """Return True if the event's points depend on scores."""
    return contest.event(match.event).scoring.kind == "signed_roots"


def _numbered(numbers: Iterable[int]) -> str:
    ordered = sorted(numbers)
    return f"match{'es' if len(ordered) > 1 else ''} {', '.join(map(str, ordered))}"


# --- decisions --------------------------------------------------------------------------------------------------


def _list(args: argparse.Namespace) -> int:
    tournament = on_record(load_contest(args.contest))
    contest = tournament.contest
    for decision in tournament.decisions:
        match = None if decision.match is None else tournament.matches[decision.match]
        what = describe_decision(decision, contest, match)
        at = local_minute(datetime.fromisoformat(decision.at).timestamp())
        print_folded(f"{at}  {what}. {decision.by}: {decision.why}")
    if not tournament.decisions:
        print("No decisions: all results are as they were played.")
    return EXIT_OK
