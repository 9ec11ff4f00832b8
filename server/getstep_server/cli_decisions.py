"""The commands by which a host corrects a contest: who takes part, what a match comes to, and what was decided."""

from __future__ import annotations

import argparse
import getpass
import time
from collections.abc import Callable, Iterable
from datetime import datetime

import trio

from ._cli import (
    EXIT_OK,
    Commands,
    add_command,
    event_named,
    folder_argument,
    help_by_default,
    team_named,
    typed,
)
from ._text import local_minute, printable, sentence, utc_time
from ._toml import ConfigError
from .cli_games import add_games_list
from .contest import Contest, load_contest, teams_path
from .decisions import Decision, TeamKind, decision_fields, described, record_of_decision
from .game_record import RecordError
from .record_shape import decision_shape
from .results import PLAYERS
from .run import load_tournament, tournament_of
from .schedule import Match
from .scoresheet import left_running
from .store import Overtaken, Store
from .tables import result_line
from .tournament import Tournament

_BOTH = """
It holds from now on, also while the contest runs: the server takes note within
a second or two. What was decided, by whom and why, is on record for good, and
the tables are made anew; decisions lists it."""

_TEAMS: dict[TeamKind, tuple[str, str]] = {
    "withdraw": (
        "a team takes part no longer; what it has played counts",
        "A team takes part no longer. Its open matches are cancelled, one that is being\n"
        "played is called off; what it has played counts.\n",
    ),
    "disqualify": (
        "a team takes part no longer; nothing of it counts",
        "A team takes part no longer. Its open matches are cancelled, one that is being\n"
        "played is called off, and what it has played is annulled, for its opponents as\n"
        "well. In the table it comes last.\n",
    ),
    "reinstate": (
        "a team that is out takes part again",
        "A team that has withdrawn, or was disqualified, takes part again. Its results\n"
        "count again, and its matches are open again against all who take part.\n",
    ),
}

_ADJUDICATE = f"""\
Say what a match comes to, whatever became of it so far: played, being played,
open or cancelled. A later adjudicate or replay replaces this.
{_BOTH}

examples:
  getstep-server games adjudicate autumn 7 --winner Ada --why "Blaise's laptop was ours"
  getstep-server games adjudicate autumn 7 --winner draw --why "the network failed"
  getstep-server games adjudicate autumn 7 --winner Ada --scores 170 146 --why "as the screen said"
"""

_REPLAY = f"""\
Have a match played again from its beginning. What came of it so far does not
count, a walkover neither; if it is being played, that is called off.
{_BOTH}

example:
  getstep-server games replay autumn 7 --why "the room had no network"
"""


# --- the commands -----------------------------------------------------------------------------------------------


def add_team_decisions(actions: Commands[argparse.ArgumentParser]) -> None:
    """Add withdraw, disqualify and reinstate to the actions of ``teams``."""
    for kind, (summary, text) in _TEAMS.items():
        example = f'example:\n  getstep-server teams {kind} autumn Ada --why "her own wish"'
        parser = add_command(actions, kind, summary, f"{text}{_BOTH}\n\n{example}\n")
        folder_argument(parser)
        parser.add_argument("team", metavar="TEAM", help="the team's id or name")
        parser.add_argument("--event", metavar="NAME", help="in this event only (default: in all of them)")
        _add_why(parser)
        parser.set_defaults(command=_decide_team, kind=kind)


def add_decisions(commands: Commands[argparse.ArgumentParser]) -> None:
    """Add ``games`` with its actions, and ``decisions``."""
    summary = "list matches; correct one: adjudicate, replay"
    games = add_command(commands, "games", summary, "The matches, and what the host says about one.")
    help_by_default(games)
    actions = games.add_subparsers(title="actions", metavar="ACTION")
    add_games_list(actions)
    adjudicate = add_command(actions, "adjudicate", "say what a match comes to", _ADJUDICATE)
    _add_match(adjudicate)
    adjudicate.add_argument("--winner", required=True, metavar="TEAM", help="a team's id or name, or draw")
    adjudicate.add_argument(
        "--scores",
        nargs=2,
        type=int,
        metavar=("FIRST", "SECOND"),
        help="the first player's score and the second's, where their difference counts (default: none)",
    )
    adjudicate.set_defaults(command=_adjudicate)
    replay = add_command(actions, "replay", "have a match played again", _REPLAY)
    _add_match(replay)
    replay.set_defaults(command=_replay)
    text = "What the host has decided so far, by this machine's time."
    listing = add_command(commands, "decisions", "show what the host has decided", text)
    folder_argument(listing)
    listing.set_defaults(command=_list)


def _add_match(parser: argparse.ArgumentParser) -> None:
    folder_argument(parser)
    parser.add_argument("match", type=int, metavar="GAME", help="the number of the match")
    _add_why(parser)


def _add_why(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--why", required=True, metavar="TEXT", help="the reason; it is on record for good")
    parser.add_argument("--by", metavar="NAME", default=_login(), help="who decides (default: %(default)s)")


def _login() -> str:
    try:
        return getpass.getuser()
    except (OSError, ImportError, KeyError):  # an account without a name
        return "the host"


# --- what they decide -------------------------------------------------------------------------------------------


def _decide_team(args: argparse.Namespace) -> int:
    def decision(contest: Contest, tournament: Tournament) -> Decision:
        event = None if args.event is None else event_named(contest, args.event)
        team = team_named(contest, args.team, "TEAM")
        _check_team(contest, tournament, team, args.kind)
        if event is not None and team not in {row.team for row in tournament.table(event)}:
            raise ConfigError(f"{contest.team_name(team)} is not in {event.name}, expected another --event")
        number = None if event is None else event.number
        return Decision(args.kind, args.by, args.why, _now(), team=team, event=number)

    return _decide(args, decision)


def _check_team(contest: Contest, tournament: Tournament, team: int, kind: TeamKind) -> None:
    if team in contest.teams:
        return
    known = {one for match in tournament.matches.values() for one in match.teams}
    if team not in known:
        raise ConfigError(f"TEAM {team}: no team has this id; see {typed('teams', 'list', contest.folder)}")
    if kind != "disqualify":
        raise ConfigError(
            f"team {team} is not in {teams_path(contest.folder)}: so it has withdrawn; put it back there"
        )


def _adjudicate(args: argparse.Namespace) -> int:
    def decision(contest: Contest, tournament: Tournament) -> Decision:
        match = _match(contest, tournament, args.match)
        winner = None
        if args.winner != "draw":
            team = team_named(contest, args.winner, "--winner")
            if team not in match.teams:
                raise ConfigError(
                    f"--winner {args.winner!r}: {contest.team_name(team)} is not in match {match.number},"
                    f" expected {' or '.join(map(contest.team_name, match.teams))}, or draw"
                )
            winner = PLAYERS[match.teams.index(team)]
        scores = None if args.scores is None else (args.scores[0], args.scores[1])
        number = match.number
        return Decision("adjudicate", args.by, args.why, _now(), match=number, winner=winner, scores=scores)

    return _decide(args, decision)


def _replay(args: argparse.Namespace) -> int:
    def decision(contest: Contest, tournament: Tournament) -> Decision:
        match = _match(contest, tournament, args.match)
        for team in match.teams:
            if team not in contest.event(match.event).teams:
                raise ConfigError(
                    f"team {team} of match {match.number} is not in {teams_path(contest.folder)}, or not in the"
                    " event: so it has withdrawn; put it back there"
                )
        if tournament.is_open(match) and match.number not in left_running(contest.running, tournament.recorded):
            raise ConfigError(f"match {match.number} is open already, expected one that is over, or has begun")
        return Decision("replay", args.by, args.why, _now(), match=match.number)

    return _decide(args, decision)


def _match(contest: Contest, tournament: Tournament, number: int) -> Match:
    if number not in tournament.matches:
        expected, listing = f"1 to {len(tournament.matches)}", typed("games", "list", contest.folder)
        raise ConfigError(f"GAME {number}: no match has this number, expected {expected}; see {listing}")
    return tournament.matches[number]


def _now() -> str:
    return utc_time(time.time())


# --- putting it on record ---------------------------------------------------------------------------------------


def _decide(args: argparse.Namespace, make: Callable[[Contest, Tournament], Decision]) -> int:
    contest = load_contest(args.contest)
    if not contest.database.exists():
        raise ConfigError(f"{contest.database}: not there; nothing was given out yet. Change the files as you like")
    with Store(contest.database) as store:
        decision, before = _put_on_record(contest, store, make)
        after = load_tournament(contest, store)
    match = None if decision.match is None else after.matches[decision.match]
    print(sentence(f"On record: {printable(described(decision, contest, match))}"))
    for line in _consequences(contest, decision, before, after):
        print(printable(line))
    return EXIT_OK


def _put_on_record(
    contest: Contest, store: Store, make: Callable[[Contest, Tournament], Decision]
) -> tuple[Decision, Tournament]:
    """Decide by what is on record, again if that has changed meanwhile; also returns the tournament before it."""
    while True:
        tournament = load_tournament(contest, store)
        decision = make(contest, tournament)
        try:
            decision_shape(decision_fields(contest, decision))
        except RecordError as error:
            raise ConfigError(f"this cannot be put on record: {error}") from error
        if objection := tournament.objection(decision):
            raise ConfigError(objection)
        try:
            trio.run(store.save, record_of_decision(contest, decision))
        except Overtaken:
            continue
        return decision, tournament


def _consequences(contest: Contest, decision: Decision, before: Tournament, after: Tournament) -> Iterable[str]:
    """What has become of the matches, a line each; and what to do next."""
    open_before, open_after = ({match.number for match in one.open()} for one in (before, after))
    done_before, done_after = ({result.match.number: result for result in one.results} for one in (before, after))
    if decision.match in done_before:
        yield f"  before: {result_line(done_before[decision.match], contest.team_name)}"
    unscored = decision.kind == "adjudicate" and decision.winner is not None and decision.scores is None
    if unscored and _by_difference(contest, after.matches[decision.match or 0]):
        yield "  it is worth 0 to both: in this event score differences are what counts; --scores gives some"
    changes = {
        "cancelled": open_before - open_after - done_after.keys(),
        "annulled": done_before.keys() - done_after.keys() - open_after,
        "open again": open_after - open_before,
        "counted again": done_after.keys() - done_before.keys() - open_before - {decision.match},
    }
    for what, numbers in changes.items():
        if numbers:
            yield f"  {what}: {_numbered(numbers)}"
    if not any(changes.values()) and decision.match is None:
        yield "  no match has changed by it"
    if open_after:
        yield f"To play what is open, if no server runs: {typed('run', contest.folder)}"


def _by_difference(contest: Contest, match: Match) -> bool:
    """Whether points are made of scores."""
    return contest.event(match.event).scoring.kind == "signed_roots"


def _numbered(numbers: Iterable[int]) -> str:
    ordered = sorted(numbers)
    return f"match{'es' if len(ordered) > 1 else ''} {', '.join(map(str, ordered))}"


# --- decisions --------------------------------------------------------------------------------------------------


def _list(args: argparse.Namespace) -> int:
    contest = load_contest(args.contest)
    tournament = tournament_of(contest)
    for decision in tournament.decisions:
        match = None if decision.match is None else tournament.matches[decision.match]
        what = described(decision, contest, match)
        at = local_minute(datetime.fromisoformat(decision.at).timestamp())
        print(printable(f"{at}  {what}. {decision.by}: {decision.why}"))
    if not tournament.decisions:
        print("Nothing has been decided: all results are as they were played.")
    return EXIT_OK
