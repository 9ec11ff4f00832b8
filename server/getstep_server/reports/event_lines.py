"""Events of a running contest as lines of text, for the live view and for plain output."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from ipaddress import ip_address
from urllib.parse import urlsplit

from getstep.referee import STALLED_MISSES, FaultCode
from getstep_server.addresses import reachable_host
from getstep_server.events import (
    BotAnswers,
    BotHangs,
    ContestStarted,
    DecisionTaken,
    Event,
    Listening,
    MatchEnded,
    MatchStarted,
    Notice,
    PlayerAskedAgain,
    PlayerStalled,
    Repeatable,
    ServerFault,
    TeamArrived,
    TeamLeft,
    Throttled,
    TurnFaulted,
    Waiting,
)
from getstep_server.incident import Incident
from getstep_server.limits import THROTTLE_PER_MINUTE
from getstep_server.records.decision import describe_decision
from getstep_server.records.match import Match
from getstep_server.text import cell_len, join_limited, pluralize

from .progress_state import ProgressState, duration
from .tables import brief_result_line, result_line
from .text_table import truncate_middle

SERVER_GOODBYES = ("contest_over", "shutting_down")
"""Reasons with which the server itself ends a run. A line for each of up to 1,024 teams would say nothing new."""

NAMES_SHOWN = 8
"""Teams that a plain line names; further ones are counted. Eight names of 20 characters fill two terminal lines."""

NAME_CELLS = 18
"""Terminal cells of a team's name in the live view: two names and 40 cells for the reason fit 80 columns."""


LOST_CELLS = 8
"""Terminal cells at the end of a line that stay empty because the next word is longer, mostly."""


class EventLines:
    """The wording of events.

    Args:
        state: the contest; it has been updated with an event before `line` is called with that event.
        width: returns the terminal's current width, for the live view: there a line is never broken, and names are
            shortened to fit. None for plain lines, which show names whole.
    """

    def __init__(self, state: ProgressState, width: Callable[[], int] | None = None) -> None:
        self._state = state
        self._width = width

    def line(self, event: Event) -> str | None:
        """Return the line of an event, or several lines; None if it is not shown.

        Events that may come in floods are shown only when the server passes them on as `Throttled`.
        """
        match event:
            case Listening():
                return _listening(event)
            case Throttled(what, count):
                return self._throttled(what, count)
            case Notice():
                line = event.text(self)
                return line if line is None or event.whole else self._cut(line)
            case ContestStarted():
                return self._started(event)
            case MatchStarted(match, turns):
                return f"{self.match(match)} resumes after turn {turns}." if turns else None
            case MatchEnded():
                return self._ended(event)
            case DecisionTaken():
                return self._decided(event)
            case _:
                return None

    def presence(self) -> str:
        """Return how many teams are connected, and which are missing."""
        state = self._state
        connected = f"{len(state.connected)} of {len(state.contest.teams)} teams connected"
        return f"{connected}, missing: {self._names(state.missing, len(connected))}" if state.missing else connected

    def match(self, match: Match) -> str:
        """Return a match with its number and its teams, such as "#7 Ada – Blaise"."""
        return f"#{match.number} {' – '.join(map(self.team, match.teams))}"

    def running(self) -> str:
        """Return the matches that are being played, and which of their players are stalled."""
        pairs = [self.match(match) + self._stalled_players(match) for match in list(self._state.running.values())]
        if not pairs:
            return "playing: no match"
        separator = "; "
        if self._width is None:
            return f"playing: {separator.join(pairs)}"
        return f"playing: {join_limited(pairs, separator, self._width() - len('playing: '))}"

    # --- throttled events ---

    def _throttled(self, event: Repeatable, count: int) -> str | None:
        match event:
            case TeamArrived():
                return self._connected(event) + _per_minute(count)
            case TeamLeft(_, why) if why in SERVER_GOODBYES:
                return None
            case TeamLeft():
                return self._disconnected(event) + _per_minute(count)
            case Waiting(teams, gathering, seconds) if teams:
                most = "" if seconds is None else f" for at most {duration(seconds)}, then without them"
                hint = "; Enter starts without them" if gathering and self._width is not None else ""
                return f"Waiting for {self._names(teams)}{most}{hint}"
            case Incident():
                return self._incident(event) + _repeated(count)
            case ServerFault(where, trace):
                return f"! server error in {where}; no bot is penalised{_repeated(count)}\n{trace}"
            case PlayerStalled(match, player):
                why = f"{STALLED_MISSES} limits missed and nothing received"
                line = f"{self._player(match, player)} is stalled: {why}; its turns are skipped until it answers"
                return line + _repeated(count)
            case PlayerAskedAgain(match, player, skipped):
                turns = pluralize(skipped, "skipped turn")
                return f"{self._player(match, player)} is asked again after {turns}{_repeated(count)}"
            case BotHangs(team, match, misses):
                what = f"{self.team(team)} does not answer: {misses} limits missed in silence, now in #{match}"
                todo = "Does its bot hang? Its author stops it with Ctrl-C, corrects it and starts it again"
                return f"{what}. {todo}; it then plays on{_repeated(count)}"
            case BotAnswers(team, _, why):
                return f"{self.team(team)} hangs no more: {why}{_repeated(count)}"
            case TurnFaulted(code=code) if code == FaultCode.STALLED:
                return None  # the lines before and after say that the player was stalled, and for how many turns
            case TurnFaulted(match, player, code, detail):
                return self._faulted(f"{self._player(match, player)}: {code}: ", detail, _repeated(count))
            case _:
                return None

    def _faulted(self, turn: str, detail: str, times: str) -> str:
        """Return the line of a fault. In the live view it has two lines, because the results need the room."""
        if self._width is not None:
            room = 2 * (self._width() - LOST_CELLS) - cell_len(turn + times)
            detail = truncate_middle(detail, max(NAME_CELLS, room))
        return f"{turn}{detail}{times}"

    def _cut(self, line: str) -> str:
        """Return a line that fits the live view."""
        return line if self._width is None else truncate_middle(line, self._width())

    def _connected(self, event: TeamArrived) -> str:
        verb = "reconnected" if event.again else "connected"
        bots = f", {event.here} bots now" if event.here > 1 else ""
        line = f"+ {self.team(event.team)} {verb} from {event.address} ({event.client or 'no name given'}){bots}"
        return (
            f"{line}; {self.presence()}" if self._width is None else line
        )  # the live view has its own line for it

    def _disconnected(self, event: TeamLeft) -> str:
        if event.here:
            bots = pluralize(event.here, "bot")
            return f"- {self.team(event.team)}: a bot disconnected, {bots} still connected: {event.why}"
        return f"- {self.team(event.team)} disconnected: {event.why}"

    def _incident(self, event: Incident) -> str:
        why = f"{event.code}: {event.detail}"
        if event.team is None:
            return f"! refused {event.address}: {why}"
        return f"! {self.team(event.team)} ({event.address}) violated the protocol: {why}"

    # --- the contest ---

    def _started(self, event: ContestStarted) -> str | None:
        expected = self._state.expected
        if event.done == expected > 0 and not self._state.contest.is_open_ended:
            return None  # nothing starts: all matches were played in earlier runs
        about = "about " if event.remaining_estimate else ""
        return f"The contest starts: {about}{expected - event.done} of {pluralize(expected, 'match')} to play."

    def _ended(self, event: MatchEnded) -> str:
        count, team_name = f"[{event.done}/{self._state.expected}] ", self._state.contest.team_name
        if self._width is None:
            return count + result_line(event.result, team_name)
        return count + brief_result_line(event.result, team_name, self._width() - len(count), NAME_CELLS)

    def _decided(self, event: DecisionTaken) -> str:
        decision = event.decision
        what = describe_decision(decision, self._state.contest, event.match)
        if decision.made_by_rule:
            return f"{decision.why}: {what}"
        return f"The host: {what} ({decision.by}: {decision.why})"

    # --- names ---

    def team(self, team: int) -> str:
        name = self._state.contest.team_name(team)
        return name if self._width is None else truncate_middle(name, NAME_CELLS)

    def _names(self, teams: Sequence[int], taken: int = 0) -> str:
        """Return as many names as a line has room for after ``taken`` characters, and how many more there are."""
        names = [self.team(team) for team in teams]
        if self._width is not None:
            return join_limited(names, ", ", self._width() - taken - len(", missing: "))
        more = f" and {len(teams) - NAMES_SHOWN} more" if len(teams) > NAMES_SHOWN else ""
        return ", ".join(names[:NAMES_SHOWN]) + more

    def _player(self, match: Match, player: int) -> str:
        return f"#{match.number} {self.team(match.teams[player])}"

    def _stalled_players(self, match: Match) -> str:
        names = [self.team(team) for team in match.teams if (match.number, team) in self._state.stalled]
        return f" ({' and '.join(names)} stalled)" if names else ""


def address_to_play(event: Listening) -> str:
    """Return where bots connect, as another machine reaches it."""
    return f"bots: {reachable_host(event.host)} port {event.port}"


def page_line(address: str) -> str:
    """Return where the live page is, and who can open it."""
    alone = ip_address(urlsplit(address).hostname or "").is_loopback
    return f"Live page {'on this computer only' if alone else 'for everybody in this network'}: {address}"


def _listening(event: Listening) -> str:
    classic = f", classic wire on port {event.classic_port}" if event.classic_port is not None else ""
    return f"Listening on {reachable_host(event.host)}, port {event.port}{classic}."


def _per_minute(count: int) -> str:
    return f" ({count} connections and disconnections in a minute)" if count > THROTTLE_PER_MINUTE else ""


def _repeated(count: int) -> str:
    return f" ({count} times)" if count > 1 else ""
