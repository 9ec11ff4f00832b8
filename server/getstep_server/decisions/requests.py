"""The kinds of decisions that a host may ask for: their parameters, their checks and the records that they make.

A request is what was typed or clicked: names, not ids. It says which decisions go on record, by the state of the
contest at that moment. The same request may be asked again when the state has changed.

`Request` is a union with a tag, so that a page takes it from JSON: ``msgspec.convert(fields, AnyRequest)``. A new
kind is a class here; its parameters are its fields.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

from msgspec import Struct
from msgspec.structs import asdict, replace

from getstep_server.config.class_list import ClassList, NewTeam, keep, kept_lists
from getstep_server.config.contest import Contest, Team, teams_path
from getstep_server.config.invitations import Invitation, invitation_with, invitations, new_invitation
from getstep_server.config.names import event_named, team_named
from getstep_server.config.roster import new_teams, new_token
from getstep_server.config.toml_file import errors_of
from getstep_server.errors import UsageError
from getstep_server.limits import MAX_INVITATION_DAYS, MAX_INVITATIONS, MAX_MATCHES, MAX_TEAMS
from getstep_server.records.decision import NUMBERS_CELLS, Decision
from getstep_server.records.match import Match
from getstep_server.records.reasons import DecisionKind
from getstep_server.records.result import PLAYERS
from getstep_server.storage.recovery import left_running
from getstep_server.text import join_limited, name_key, shell_command, utc_time
from getstep_server.tournament.forfeits import no_shows
from getstep_server.tournament.tournament import Tournament
from getstep_server.validation import ValidationError, validated


class State(Struct, frozen=True):
    """What a decision is made on: the contest as its files state it, and the tournament on record.

    ``labels`` are the names of parameters in messages, where they differ: a command calls ``winner`` ``--winner``.
    """

    contest: Contest
    tournament: Tournament
    labels: Mapping[str, str] = {}

    def label(self, parameter: str) -> str:
        return self.labels.get(parameter, parameter)

    def team(self, text: str, parameter: str = "team") -> int:
        """Return the id of the team that ``text`` names.

        Raises:
            UsageError: no team has this name.
        """
        return team_named(self.contest, text, self.label(parameter))

    def match(self, number: int) -> Match:
        """Return the match with this number.

        Raises:
            UsageError: there is none.
        """
        folder, matches, where = self.contest.folder, self.tournament.matches, f"{self.label('match')} {number}"
        if not matches:
            first = f"the first ones are paired by {shell_command('run', folder)}"
            raise UsageError(f"{where}: the contest in {folder} has no matches yet; {first}")
        if number not in matches:
            listing = shell_command("matches", "list", folder)
            raise UsageError(f"{where}: no match has this number, expected 1 to {len(matches)}; see {listing}")
        return matches[number]

    def gone(self, match: Match) -> str:
        """Return why the contest's files do not permit to play a match again; "" if they do."""
        for team in match.teams:
            if team not in self.contest.event(match.event).teams:
                return (
                    f"team {team} of match {match.number} has withdrawn: it is not in"
                    f" {teams_path(self.contest.folder)} or not in the event; put it back there first"
                )
        return ""


class Ruling(Struct, frozen=True):
    """What a request comes to.

    Attributes:
        decisions: to put on record.
        skipped: the matches that it leaves out, by number, each with the reason.
        teams: as teams.toml will have them, with their tokens.
        invitations: as their file will have them, new ones and changed ones.
        keys: of new invitations, by their numbers.
        notes: what the host should know about the consequences.
    """

    decisions: Sequence[Decision]
    skipped: Mapping[int, str] = {}
    teams: Sequence[Team] = ()
    invitations: Sequence[Invitation] = ()
    keys: Mapping[int, str] = {}
    notes: Sequence[str] = ()


class Request(Struct, frozen=True, kw_only=True, tag_field="decision"):
    """What a host asks for: by whom and why, beside the parameters of its kind."""

    summary: ClassVar[str]
    """What it does, in a few words."""
    text: ClassVar[str]
    """The same in some sentences, for the help of a command and for a page."""
    changes_matches: ClassVar[bool] = True
    """False if it may change no match."""
    before_the_start: ClassVar[bool] = False
    """True if it is possible before anything is on record: then it changes files alone, such as teams.toml."""

    by: str
    why: str

    @abstractmethod
    def ruling(self, state: State) -> Ruling:
        """Return the decisions to record.

        Raises:
            UsageError: a parameter names nothing, or the state does not permit it.
        """

    def finish(self, folder: Path, teams: Sequence[Team]) -> None:
        """Do what remains when the decisions are on record, and teams.toml has ``teams``."""


# --- teams ------------------------------------------------------------------------------------------------------


class _AboutTeam(Request, frozen=True, kw_only=True):
    """A team takes part or not, in the event of this name, or in all."""

    kind: ClassVar[DecisionKind]

    team: str
    event: str | None = None

    def ruling(self, state: State) -> Ruling:
        contest, tournament = state.contest, state.tournament
        event = None if self.event is None else event_named(contest, self.event, state.label("event"))
        team = state.team(self.team)
        self._check_team(state, team)
        if event is not None and team not in {row.team for row in tournament.table(event)}:
            raise UsageError(
                f"{state.label('event')} {event.name!r}: {contest.team_name(team)} is not in this event;"
                " give another one"
            )
        number = None if event is None else event.number
        return Ruling([Decision(self.kind, self.by, self.why, _now(), team=team, event=number)])

    def _check_team(self, state: State, team: int) -> None:
        folder = state.contest.folder
        if team in state.contest.teams:
            return
        known = {one for match in state.tournament.matches.values() for one in match.teams}
        if team not in known:
            listing = shell_command("teams", "list", folder)
            raise UsageError(f"{state.label('team')} {team}: no team has this id; see {listing}")
        if self.kind != DecisionKind.DISQUALIFY:
            raise UsageError(
                f"team {team} has withdrawn: it is not in {teams_path(folder)}; put it back there first"
            )


class Withdraw(_AboutTeam, frozen=True, kw_only=True, tag="withdraw"):
    kind = DecisionKind.WITHDRAW
    summary = "remove a team; the matches that it has played count"
    text = """\
Remove a team from the contest. Its open matches are cancelled and its running
matches are aborted. The matches that it has played count.
"""


class Disqualify(_AboutTeam, frozen=True, kw_only=True, tag="disqualify"):
    kind = DecisionKind.DISQUALIFY
    summary = "remove a team; none of its matches counts"
    text = """\
Remove a team from the contest. Its open matches are cancelled and its running
matches are aborted. The matches that it has played are annulled, for its
opponents, too. In the table it is last.
"""


class Reinstate(_AboutTeam, frozen=True, kw_only=True, tag="reinstate"):
    kind = DecisionKind.REINSTATE
    summary = "let a team take part again"
    text = """\
Let a team that has withdrawn or was disqualified take part again. Its results
count again, and its cancelled matches are open again, unless the opponent has
withdrawn, too.
"""


# --- matches ----------------------------------------------------------------------------------------------------


class Adjudicate(Request, frozen=True, kw_only=True, tag="adjudicate"):
    """A match has this result: ``winner`` is a team, or "draw". It replaces the result that the match has."""

    summary = "set the result of a match"
    text = """\
Set the result of a match in any state: played, running, open or cancelled. A
later adjudicate or rematch of the match replaces this decision.
"""

    match: int
    winner: str
    scores: tuple[int, int] | None = None

    def ruling(self, state: State) -> Ruling:
        match = state.match(self.match)
        winner = None if self.winner == "draw" else PLAYERS[_place_of(state, match, self.winner, "winner")]
        return Ruling(
            [
                Decision(
                    DecisionKind.ADJUDICATE,
                    self.by,
                    self.why,
                    _now(),
                    match=match.number,
                    winner=winner,
                    scores=self.scores,
                )
            ]
        )


class Forfeit(Request, frozen=True, kw_only=True, tag="forfeit"):
    """A team has lost a match, whatever its state: the other one is the winner, and the reason names the team."""

    summary = "let a team lose a match"
    text = """\
Let a team lose a match in any state: played, running, open or cancelled. The
other team wins; it is an adjudication whose reason names the team. A later
adjudicate or rematch of the match replaces this decision.
"""

    match: int
    team: str

    def ruling(self, state: State) -> Ruling:
        match = state.match(self.match)
        loser = _place_of(state, match, self.team, "team")
        why = f"{state.contest.team_name(match.teams[loser])} forfeits: {self.why}"
        kind, winner = DecisionKind.ADJUDICATE, PLAYERS[1 - loser]
        return Ruling([Decision(kind, self.by, why, _now(), match=match.number, winner=winner)])


class Rematch(Request, frozen=True, kw_only=True, tag="rematch"):
    """Matches are played again: these, or those of a team, or those that a team forfeited by not being there.

    A running match is aborted, and begins again.
    """

    summary = "play matches again"
    text = """\
Play matches again from the beginning: the ones with these numbers, or the ones
that --team and --no-shows choose among the matches that are over. Their present
results, forfeits included, no longer count. A running match is aborted. The
decisions are put on record together, or none of them is.
"""

    matches: tuple[int, ...] = ()
    team: str | None = None
    no_shows: bool = False

    def ruling(self, state: State) -> Ruling:
        chosen = self.team is not None or self.no_shows
        if chosen == bool(self.matches):
            problem = "numbers and a choice given" if chosen else "no match given"
            raise UsageError(f"rematch: {problem}; give either numbers of matches, or --team or --no-shows")
        skipped: dict[int, str] = {}
        found = self._chosen(state, skipped) if chosen else self._numbered(state)
        return Ruling([self._again(match.number) for match in found], skipped)

    def _again(self, number: int) -> Decision:
        return Decision(DecisionKind.REPLAY, self.by, self.why, _now(), match=number)

    def _numbered(self, state: State) -> list[Match]:
        """Return the matches with the given numbers, or raise UsageError if one of them cannot be played again."""
        matches = [state.match(number) for number in dict.fromkeys(self.matches)]
        running = left_running(state.contest.running, state.tournament.recorded)
        for match in matches:
            if problem := state.gone(match):
                raise UsageError(problem)
            if state.tournament.is_open(match) and match.number not in running:
                raise UsageError(f"match {match.number} is open already; give a match that has started or is over")
        return matches

    def _chosen(self, state: State, skipped: dict[int, str]) -> list[Match]:
        """Return the matches that ``team`` and ``no_shows`` choose; add to ``skipped`` why others are left out."""
        tournament, team = state.tournament, None if self.team is None else state.team(self.team)
        found = []
        for match in tournament.matches.values():
            result = tournament.played_result(match)
            if result is None or (team is not None and team not in match.teams):
                continue
            if self.no_shows and not (no_shows(result) if team is None else team in no_shows(result)):
                continue
            if problem := state.gone(match) or tournament.objection(self._again(match.number)):
                skipped[match.number] = problem
            else:
                found.append(match)
        if not found:
            listing = shell_command("matches", "list", state.contest.folder)
            raise UsageError(f"rematch: no match fits these options; see {listing}")
        return found


def _place_of(state: State, match: Match, text: str, parameter: str) -> int:
    """Return 0 or 1: the player of ``match`` that ``text`` names."""
    team = state.team(text, parameter)
    if team not in match.teams:
        name = state.contest.team_name
        draw = ", or draw" if parameter == "winner" else ""
        raise UsageError(
            f"{state.label(parameter)} {text!r}: {name(team)} is not in match {match.number},"
            f" expected {' or '.join(map(name, match.teams))}{draw}"
        )
    return match.teams.index(team)


# --- pauses -----------------------------------------------------------------------------------------------------


class _AboutPause(Request, frozen=True, kw_only=True):
    """A match, the event of this name, or the whole contest."""

    kind: ClassVar[DecisionKind]
    changes_matches = False

    match: int | None = None
    event: str | None = None

    def ruling(self, state: State) -> Ruling:
        if self.match is not None and self.event is not None:
            which = f"{state.label('match')} and {state.label('event')}"
            raise UsageError(f"{which}: two things given, expected one, or neither for the whole contest")
        match = None if self.match is None else state.match(self.match).number
        named = None if self.event is None else event_named(state.contest, self.event, state.label("event"))
        event = None if named is None else named.number
        at_once = getattr(self, "at_once", False)
        return Ruling([Decision(self.kind, self.by, self.why, _now(), event=event, match=match, at_once=at_once)])


class Pause(_AboutPause, frozen=True, kw_only=True, tag="pause"):
    """``at_once``: the clocks of open questions stop now; else each turn is played to its end."""

    kind = DecisionKind.PAUSE
    summary = "stop the clocks of a match, of an event or of the contest"
    text = """\
Pause a match, an event or the whole contest. Each match stops at the end of its
turn: the next question is asked when the pause is over. With --now it stops at
once: an open question stays open, and the time of the pause is given back
exactly. In a pause no limit is missed, a lost connection costs nothing, and no
other match of what is paused starts. Players are told, and the page says so. A
server that is stopped or killed resumes the contest paused. A match that a
worker of a cluster plays is played to its end.
"""

    at_once: bool = False


class Resume(_AboutPause, frozen=True, kw_only=True, tag="resume"):
    kind = DecisionKind.RESUME
    summary = "end a pause"
    text = """\
End a pause of a match, of an event or of the whole contest: the same thing that
was paused. What was paused on its own stays so.
"""

    why: str = "the pause is over"


# --- the list of teams ------------------------------------------------------------------------------------------


class _OfRoster(Request, frozen=True, kw_only=True):
    """A change of the list of teams. A server that runs the contest applies it within two seconds.

    teams.toml follows, so that it is what the next run begins with: the tokens are there and in no record.
    """

    before_the_start = True

    def _change(self, state: State, text: str, kind: DecisionKind, **values: Any) -> Ruling:
        """Return the ruling that changes ``values`` of a team; of its name and seats the record has the same."""
        number = state.team(text)
        team = state.contest.teams.get(number)
        if team is None:
            listing = shell_command("teams", "list", state.contest.folder)
            raise UsageError(f"{state.label('team')} {text!r}: not in teams.toml; see {listing}")
        if number in state.contest.house_bots:
            raise UsageError(f"{state.label('team')} {text!r}: the server itself starts this bot")
        try:
            changed = validated(Team, {**asdict(team), **values})
        except ValidationError as error:
            location, what = next(iter(errors_of(error)))
            raise UsageError(f"{state.label(str(location[-1]))}{what}") from error
        on_record = {name: value for name, value in values.items() if name in ("name", "seats")}
        decision = Decision(kind, self.by, self.why, _now(), team=number, **on_record)
        return Ruling([decision], teams=[changed])


class AddTeams(_OfRoster, frozen=True, kw_only=True, tag="join"):
    """These teams take part, or those of a class list: all or none."""

    summary = "add teams by name"
    text = """\
Add teams. Each gets an id and a secret token, which its bots need to log in. If
the contest has begun, they are late: what they play depends on the format.
"""

    teams: tuple[NewTeam, ...] = ()
    roster: ClassList | None = None
    classic: bool = False
    why: str = "a team joins"

    def ruling(self, state: State) -> Ruling:
        contest, tournament, roster = state.contest, state.tournament, self.roster or ClassList()
        if self.roster is not None:
            kept_lists(contest.folder)  # before a team is added: a file that cannot be read is an error
        former = {*contest.former_names, *tournament.contest.teams}
        added = new_teams(
            contest, [*self.teams, *roster.entries], classic=self.classic, errors=roster.errors, taken=former
        )
        _check_matches(state, len(added))
        kind, at = DecisionKind.JOIN, _now()
        decisions = [
            Decision(kind, self.by, self.why, at, team=team.id, name=team.name, seats=team.seats) for team in added
        ]
        return Ruling(decisions, teams=added, notes=tuple(_late_notes(state)))

    def finish(self, folder: Path, teams: Sequence[Team]) -> None:
        if self.roster is not None:
            keep(folder, self.roster, {team.name: team.id for team in teams})


def _check_matches(state: State, more: int) -> None:
    """Raise UsageError if an event has too many matches with so many teams more."""
    contest = state.contest
    for event, table in zip(contest.events, contest.file.event, strict=True):
        most = event.format.max_matches(len(event.teams) + more)
        if table.teams is None and most > MAX_MATCHES:
            raise UsageError(f"{event.heading} would have up to {most} matches, expected at most {MAX_MATCHES}")


def _late_notes(state: State) -> Iterator[str]:
    """Yield what a team plays that joins now, for each event.

    Raises:
        UsageError: it can play in no event.
    """
    contest, tournament = state.contest, state.tournament
    notes, plays = [], False
    for event, table in zip(contest.events, contest.file.event, strict=True):
        where = f"{event.heading} ({event.format.title})"
        if table.teams is not None:
            notes.append(f"not in {where}: contest.toml lists its teams; add the id there for the next run")
            plays = True  # by its own wish: the host may list it
        elif not tournament.issued(event.number):
            plays = True
        elif event.format.late_team is None:
            notes.append(f"not in {where}: its pairings are drawn, and a late team does not play")
        else:
            notes.append(f"in {where} a late team {event.format.late_team}")
            plays = True
    if not plays:
        raise UsageError(f"a new team: {'; '.join(notes)}")
    yield from notes


class RenameTeam(_OfRoster, frozen=True, kw_only=True, tag="rename"):
    summary = "give a team another name"
    text = """\
Give a team another name. All tables and pages have it from then on, also for
the matches that it has played; the records of these keep the old one.
"""

    team: str
    name: str
    why: str = "a team has another name"

    def ruling(self, state: State) -> Ruling:
        name, teams = self.name.strip(), state.contest.teams.values()
        if taken := next((one for one in teams if name_key(one.name) == name_key(name)), None):
            raise UsageError(
                f"{state.label('name')} {name!r}, expected one that no team has; team {taken.id} has it"
            )
        return self._change(state, self.team, DecisionKind.RENAME, name=name)


class NewToken(_OfRoster, frozen=True, kw_only=True, tag="token"):
    summary = "give a team a new secret token"
    text = """\
Give a team a new secret token, for example because others have seen the old
one. Its bots lose their connections, and log in with the new token only. The
record says that the token has changed; the token itself is in teams.toml
alone.
"""

    team: str
    why: str = "the team needs a new token"

    def ruling(self, state: State) -> Ruling:
        return self._change(state, self.team, DecisionKind.TOKEN, token=new_token())


class ChangeSeats(_OfRoster, frozen=True, kw_only=True, tag="seats"):
    summary = "let a team connect more bots, or fewer"
    text = """\
Let a team connect this number of bots at once, one match each. If these are
fewer than before, bots that are connected stay until they leave.
"""

    team: str
    seats: int
    why: str = "the team connects another number of bots"

    def ruling(self, state: State) -> Ruling:
        return self._change(state, self.team, DecisionKind.SEATS, seats=self.seats)


# --- invitations ------------------------------------------------------------------------------------------------


class Invite(Request, frozen=True, kw_only=True, tag="invite"):
    """``until`` is a local time as in "2030-12-01 18:00"; None: in INVITATION_DAYS days."""

    summary = "make links by which people sign their teams up"
    text = """\
Make links by which people sign their teams up in a browser: they type a name,
and get the team's token and slip. A link is good for some teams and until some
time. It is shown once; the contest keeps its hash.
"""
    changes_matches = False
    before_the_start = True

    count: int = 1
    uses: int = 1
    until: str | None = None
    why: str = "people may sign up"

    def ruling(self, state: State) -> Ruling:
        now, label = time.time(), state.label
        known = invitations(state.contest.folder)
        free = MAX_INVITATIONS - sum(not one.closed(now) for one in known)
        if not 1 <= self.count <= free:
            raise UsageError(
                f"{label('count')} {self.count}, expected 1 to {free}: {MAX_INVITATIONS} invitations may be open"
            )
        if not 1 <= self.uses <= MAX_TEAMS:
            raise UsageError(f"{label('uses')} {self.uses}, expected 1 to {MAX_TEAMS} teams")
        until = _invited_until(self.until, now, label("until"))
        first = max((one.number for one in known), default=0) + 1
        made = [new_invitation(first + n, self.uses, until, self.by) for n in range(self.count)]
        numbers = tuple(one.number for one, _ in made)
        kind, end = DecisionKind.INVITE, utc_time(until)
        decision = Decision(kind, self.by, self.why, utc_time(now), invitations=numbers, uses=self.uses, until=end)
        return Ruling(
            [decision],
            invitations=[one for one, _ in made],
            keys={one.number: key for one, key in made},
            notes=tuple(_late_notes(state)),
        )


INVITATION_DAYS = 7
"""The days after which an invitation ends, unless the host says otherwise."""


def _invited_until(text: str | None, now: float, parameter: str) -> float:
    """Return the end of an invitation, in seconds since the epoch.

    Raises:
        UsageError: the text is no time, or one that is over or too far away.
    """
    if text is None:
        return now + 86_400 * INVITATION_DAYS
    expected = f"a local time within {MAX_INVITATION_DAYS} days, such as 2030-12-01 18:00"
    try:
        until = datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError, OSError):  # the last two: a year that this computer's clock cannot have
        raise UsageError(f"{parameter} {text!r:.80}, expected {expected}") from None
    if not now < until <= now + 86_400 * MAX_INVITATION_DAYS:
        raise UsageError(f"{parameter} {text!r:.80}, expected {expected}")
    return until


class Revoke(Request, frozen=True, kw_only=True, tag="revoke"):
    """These invitations, or all that are open if there are no numbers."""

    summary = "end links by which people sign their teams up"
    text = """\
End links by which people sign their teams up: those of the invitations with
these numbers, or all that are open. Teams that have signed up stay.
"""
    changes_matches = False
    before_the_start = True

    invitations: tuple[int, ...] = ()
    why: str = "no more teams sign up by these links"

    def ruling(self, state: State) -> Ruling:
        now = time.time()
        known = {one.number: one for one in invitations(state.contest.folder) if not one.closed(now)}
        numbers = tuple(dict.fromkeys(self.invitations or sorted(known)))
        if not numbers or not known.keys() >= set(numbers):
            missing = next((one for one in numbers if one not in known), None)
            there = join_limited(list(map(str, sorted(known))), ", ", NUMBERS_CELLS) if known else "none is"
            given = "" if missing is None else f" {missing}"
            raise UsageError(f"{state.label('invitations')}{given}, expected one that is open: {there}")
        decision = Decision(DecisionKind.REVOKE, self.by, self.why, utc_time(now), invitations=numbers)
        return Ruling([decision], invitations=[replace(known[one], revoked=True) for one in numbers])


class SignUp(Request, frozen=True, kw_only=True, tag="sign_up"):
    """A person who has the link with this key adds a team. The page alone makes this request."""

    summary = "sign a team up by a link"
    text = "Add a team by a link that the host has made.\n"
    before_the_start = True

    key: str
    name: str
    by: str = "an invitation"
    why: str = "a team signs up by a link of the host"

    def ruling(self, state: State) -> Ruling:
        invitation = invitation_with(state.contest.folder, self.key)
        closed = "it is wrong" if invitation is None else invitation.closed(time.time())
        if invitation is None or closed:
            raise UsageError(f"this link does not sign up a team: {closed}")
        entry = NewTeam(self.name.strip(), "name")
        ruling = AddTeams(teams=(entry,), by=invitation.author, why=self.why).ruling(state)
        used = replace(invitation, teams=(*invitation.teams, *(team.id for team in ruling.teams)))
        return replace(ruling, invitations=[used])


# --- what spectators see ----------------------------------------------------------------------------------------


class Freeze(Request, frozen=True, kw_only=True, tag="freeze"):
    summary = "hide new results from the live page"
    text = """\
Hide new results from the live page: its tables stay as they are, and it shows
which matches were played, but no board and no result. Nothing else changes. The
teams get their own results, and standings, report and export have all of them.
"""
    changes_matches = False

    why: str = "the host hides the last results"

    def ruling(self, state: State) -> Ruling:  # noqa: ARG002 - it holds for the whole contest
        return Ruling([Decision(DecisionKind.FREEZE, self.by, self.why, _now())])


class Reveal(Request, frozen=True, kw_only=True, tag="reveal"):
    summary = "show all results to spectators"
    text = "Show all results that a freeze has hidden.\n"
    changes_matches = False

    why: str = "all results were revealed"

    def ruling(self, state: State) -> Ruling:  # noqa: ARG002 - as above
        return Ruling([Decision(DecisionKind.REVEAL, self.by, self.why, _now())])


# --- the standby host -------------------------------------------------------------------------------------------


class Strict(Request, frozen=True, kw_only=True, tag="strict"):
    summary = "announce nothing before a standby host has it"
    text = """\
From here on, announce nothing before a standby host has it on its disk: no
result to a bot, on the page or in a table. Without a standby host the contest
stands still: running matches are played to their end, and no match starts.
"""
    changes_matches = False

    why: str = "a standby host follows"

    def ruling(self, state: State) -> Ruling:  # noqa: ARG002 - it holds for the whole contest
        return Ruling([Decision(DecisionKind.STRICT, self.by, self.why, _now())])


class NotStrict(Request, frozen=True, kw_only=True, tag="not_strict"):
    summary = "go on without a standby host"
    text = """\
Announce results as soon as they are on this computer's disk. What waits for a
standby host is announced now. If this computer is lost, the results of the last
moment may be lost with it.
"""
    changes_matches = False

    why: str = "there is no standby host"

    def ruling(self, state: State) -> Ruling:  # noqa: ARG002 - as above
        return Ruling([Decision(DecisionKind.NOT_STRICT, self.by, self.why, _now())])


AnyRequest: TypeAlias = (
    Withdraw
    | Disqualify
    | Reinstate
    | Adjudicate
    | Forfeit
    | Rematch
    | Pause
    | Resume
    | AddTeams
    | RenameTeam
    | NewToken
    | ChangeSeats
    | Invite
    | Revoke
    | Freeze
    | Reveal
    | Strict
    | NotStrict
)


def _now() -> str:
    """Return the present time in the format of records."""
    return utc_time(time.time())
