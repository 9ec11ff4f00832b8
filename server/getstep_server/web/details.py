"""The pages of one match, one team and one event."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from msgspec import UNSET
from msgspec.structs import asdict

from getstep_engines import Game
from getstep_server.api.answers import (
    EventHead,
    EventParts,
    MatchDetails,
    MatchParts,
    MatchState,
    OrdersFile,
    Table,
    TeamAnswer,
    TeamParts,
    Turn,
)
from getstep_server.api.build import (
    bracket,
    crosstable,
    ladder,
    match_answer,
    own_result,
    result_answer,
    team_totals,
)
from getstep_server.api.visibility import public_reason
from getstep_server.config.event import ContestEvent
from getstep_server.records.match import Match
from getstep_server.records.result import Result
from getstep_server.reports.linkage_orders import event_orders
from getstep_server.reports.notation import move_text
from getstep_server.tournament.tournament import Tournament

from .feed import Feed
from .live import LiveMatch
from .parts import board_answer, catch_up, freeze_answer, notices_answer, progress_answer
from .tables import PageTables
from .topics import Parts

MOVES = 400
"""The latest moves in the list of a running match: hop has at most 400."""

RESULTS = 200
"""The latest matches on the page of a team."""

GetTables = Callable[[], PageTables]


# --- a match ----------------------------------------------------------------------------------------------------


class MatchPage:
    """Builds the topic of one match.

    Args:
        feed: the contest.
        number: of the match.
    """

    def __init__(self, feed: Feed, number: int) -> None:
        self._feed = feed
        self._number = number

    def __call__(self) -> Parts:
        return asdict(self.parts())

    def parts(self) -> MatchParts:
        feed, tournament = self._feed, self._feed.tournament
        live = None if feed.frozen else feed.live.find(self._number)
        if live is not None:
            catch_up([live])
        details = match_details(feed, tournament.matches[self._number])
        pause = None if details.result is not None else feed.whole.pauses.of(tournament.matches[self._number])
        return MatchParts(
            notices=notices_answer(feed),
            paused=None
            if pause is None or details.state not in ("playing", "waiting", "interrupted")
            else pause.why,
            match=match_answer(tournament, tournament.matches[self._number]),
            state=details.state,
            board=None if live is None else board_answer(tournament, live),
            moves=None if live is None else list(_latest_turns(live)),
            result=details.result,
        )


def match_details(feed: Feed, match: Match) -> MatchDetails:
    """Return a match with its state, and its result if it is over and not hidden."""
    tournament = feed.tournament
    live = None if feed.frozen else feed.live.find(match.number)
    result, seen = tournament.final_result(match), match_answer(tournament, match)
    return MatchDetails(
        **{name: getattr(seen, name) for name in seen.__struct_fields__},
        state=_state_of(feed, match, live, result),
        result=None if result is None else result_answer(tournament, result),
    )


def _state_of(feed: Feed, match: Match, live: LiveMatch | None, result: Result | None) -> MatchState:
    if match.number in feed.running or (live is not None and live.result is None):
        return "playing" if feed.server_runs else "interrupted"
    if result is not None:
        return "over"
    if feed.is_hidden(match):
        return "hidden"
    return "cancelled" if feed.tournament.is_cancelled(match) else "waiting"


def _latest_turns(live: LiveMatch) -> Iterator[Turn]:
    first = max(0, len(live.turns) - MOVES)
    for number, turn in enumerate(live.turns[first:], start=first + 1):
        yield turn_answer(live.state.game, number, turn)


def turn_answer(game: Game | None, number: int, turn: Mapping[str, Any], *, with_move: bool = False) -> Turn:
    """Return a turn as text with its time; a pass has none. Only its own team sees what its program said."""
    code = turn.get("fault") or turn.get("end") or ""
    text = "pass" if "pass" in turn else move_text(turn["move"], game) if "move" in turn else ""
    return Turn(
        n=number,
        player=turn["player"],
        text=text,
        code=code.replace("_", " "),
        why=public_reason(turn),
        ms=turn.get("ms"),
        move=turn.get("move") if with_move else UNSET,
    )


# --- a team -----------------------------------------------------------------------------------------------------


class TeamPage:
    """Builds the topic of one team.

    Args:
        feed: the contest.
        tables: returns the current tables.
        team: its id.
    """

    def __init__(self, feed: Feed, tables: GetTables, team: int) -> None:
        self._feed = feed
        self._tables = tables
        self._team = team

    def __call__(self) -> Parts:
        return asdict(self.parts())

    def parts(self) -> TeamParts:
        feed, tournament, team, tables = self._feed, self._feed.tournament, self._team, self._tables()
        own = [result for result in tournament.results if team in result.match.teams]
        running = [live for live in feed.running.values() if team in live.match.teams]
        numbers = {live.match.number for live in running}
        coming = [m for m in tables.coming if team in m.teams and m.number not in numbers]
        hidden = [match for match in reversed(feed.hidden) if team in match.teams]
        return TeamParts(
            notices=notices_answer(feed),
            team=team_answer(feed, tables, team),
            totals=team_totals(own, team),
            running=[match_answer(tournament, live.match) for live in running],
            hidden=[match_answer(tournament, match) for match in hidden[:RESULTS]],
            results=[own_result(tournament, result, team) for result in own[: -RESULTS - 1 : -1]],
            older=max(0, len(own) - RESULTS),
            next=[match_answer(tournament, match) for match in coming[:8]],
        )


def team_answer(feed: Feed, tables: PageTables, team: int) -> TeamAnswer:
    """Return a team with its place in the main table, and whether its bots are there."""
    known = feed.server_runs and not feed.frozen  # see `presence`
    stalled = any(team in live.stalled for live in feed.running.values())
    return TeamAnswer(
        id=team,
        name=feed.tournament.contest.team_name(team),
        rank=tables.ranks.get(team),
        of=len(tables.ranks),
        connected=feed.status.connected.get(team, 0) if known and feed.status else None,
        hangs=known and feed.status is not None and team in feed.status.hanging,
        stalled=not feed.frozen and stalled,
    )


# --- an event ---------------------------------------------------------------------------------------------------


class EventPage:
    """Builds the topic of one event: its table, its crosstable, and its bracket or ladder.

    Args:
        feed: the contest.
        tables: returns the current tables.
        number: of the event.
    """

    def __init__(self, feed: Feed, tables: GetTables, number: int) -> None:
        self._feed = feed
        self._tables = tables
        self._number = number

    def __call__(self) -> Parts:
        return asdict(self.parts())

    def parts(self) -> EventParts:
        tournament, tables = self._feed.tournament, self._tables()
        event = tournament.contest.event(self._number)
        tables.want_ratings(self._number)
        return EventParts(
            notices=notices_answer(self._feed),
            event=EventHead(
                number=event.number,
                name=event.heading,
                title=event.game.title,
                about=tables.about.get(event.number, ""),
            ),
            progress=progress_answer(self._feed, tables),
            freeze=freeze_answer(self._feed),
            table=tables.events.get(event.number, Table()),
            crosstable=crosstable(tournament, event),
            bracket=bracket(tournament, event),
            ladder=ladder(tournament, event),
            ratings=tables.ratings.get(event.number),
            orders=tournament.cached(event, "page orders", lambda: _orders(tournament, event)),
        )


def _orders(tournament: Tournament, event: ContestEvent) -> list[OrdersFile] | None:
    """Return the rounds that are over, with the address of the file of all their orders; None if there are none."""
    names = event_orders(tournament, event)
    return [OrdersFile(round=round_, address=f"/{name}") for round_, name in names.items()] or None
