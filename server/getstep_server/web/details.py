"""The JSON of the pages of one match, one team and one event."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

from getstep_engines import GAMES
from getstep_server.config.event import ContestEvent
from getstep_server.formats.knockout import Knockout
from getstep_server.formats.ladder import Ladder
from getstep_server.records.match import Match
from getstep_server.records.result import Result
from getstep_server.reports.crosstable import crosstable_of
from getstep_server.reports.linkage_orders import event_orders
from getstep_server.reports.replays import public_reason
from getstep_server.tournament.tournament import Tournament

from .feed import Feed
from .live import LiveMatch
from .parts import board_json, catch_up, freeze_json, match_json, progress_json, result_json, team_text
from .tables import PageTables
from .topics import Parts

MOVES = 400
"""The latest moves in the list of a running match: hop has at most 400."""

CROSSTABLE_TEAMS = 64
"""The most teams of a crosstable, the best ones: with more it is too wide to read."""

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
        feed, tournament = self._feed, self._feed.tournament
        match = tournament.matches[self._number]
        live = None if feed.frozen else feed.live.find(self._number)
        if live is not None:
            catch_up([live])
        result = tournament.final_result(match)
        return {
            "match": match_json(tournament, match),
            "state": self._state(match, live, result),
            "board": None if live is None else board_json(tournament, live),
            "moves": None if live is None else list(_moves(live)),
            "result": None if result is None else result_json(tournament, result),
        }

    def _state(self, match: Match, live: LiveMatch | None, result: Result | None) -> str:
        """Return "playing", "over", "hidden", "cancelled", "interrupted" or "waiting"."""
        if match.number in self._feed.running or (live is not None and live.result is None):
            return "playing" if self._feed.server_runs else "interrupted"
        if result is not None:
            return "over"
        if match in self._feed.hidden:
            return "hidden"
        return "cancelled" if self._feed.tournament.is_cancelled(match) else "waiting"


def _moves(live: LiveMatch) -> Iterator[dict[str, Any]]:
    """Yield the latest turns, each as text with its time; passes have none."""
    game = live.state.game
    first = max(0, len(live.turns) - MOVES)
    for number, turn in enumerate(live.turns[first:], start=first + 1):
        code = turn.get("fault") or turn.get("end") or ""
        text = "pass" if "pass" in turn else game.notation(turn["move"]) if "move" in turn else ""
        yield {
            "n": number,
            "player": turn["player"],
            "text": text,
            "code": code.replace("_", " "),
            "why": public_reason(turn),
            "ms": turn.get("ms"),
        }


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
        feed, tournament, team = self._feed, self._feed.tournament, self._team
        own = [result for result in tournament.results if team in result.match.teams]
        running = [live for live in feed.running.values() if team in live.match.teams]
        numbers = {live.match.number for live in running}
        coming = [m for m in self._tables().coming if team in m.teams and m.number not in numbers]
        known = feed.server_runs and not feed.frozen  # see `presence_json`
        connected = feed.status.connected.get(team, 0) if known and feed.status else None
        return {
            "team": {
                **team_text(tournament, team),
                "rank": self._tables().ranks.get(team),
                "of": len(self._tables().ranks),
                "connected": connected,
                "hangs": known and feed.status is not None and team in feed.status.hanging,
                "stalled": not feed.frozen and any(team in live.stalled for live in running),
            },
            "totals": _totals(own, team),
            "running": [match_json(tournament, live.match) for live in running],
            "hidden": [
                match_json(tournament, match) for match in feed.hidden[: -RESULTS - 1 : -1] if team in match.teams
            ],
            "results": [own_result(tournament, result, team) for result in own[: -RESULTS - 1 : -1]],
            "older": max(0, len(own) - RESULTS),
            "next": [match_json(tournament, match) for match in coming[:8]],
        }


def _totals(own: Sequence[Result], team: int) -> dict[str, Any]:
    players = [result.match.teams.index(team) for result in own]
    outcomes = [result.outcome_for(player) for result, player in zip(own, players, strict=True)]  # type: ignore[arg-type]  # an index of two players
    thought = sum(result.thought[player] for result, player in zip(own, players, strict=True))
    moves = sum(result.turns for result in own) / 2
    return {
        "played": len(own),
        "won": outcomes.count("win"),
        "drawn": outcomes.count("draw"),
        "lost": outcomes.count("loss"),
        "faults": sum(result.faults[player] for result, player in zip(own, players, strict=True)),
        "thought_ms": round(1000 * thought),
        "move_ms": round(1000 * thought / moves, 1) if moves else None,
    }


def own_result(tournament: Tournament, result: Result, team: int) -> dict[str, Any]:
    """Return a result from a team's point of view."""
    player = result.match.teams.index(team)
    game = GAMES.get(result.match.game)
    return {
        **result_json(tournament, result),
        "outcome": result.outcome_for(player),  # type: ignore[arg-type]  # an index of two players
        "opponent": team_text(tournament, result.match.teams[1 - player]),
        "role": game.players[player] if game is not None else "",
        "own_faults": result.faults[player],
        "own_thought": round(result.thought[player], 3),
    }


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
        tournament, tables = self._feed.tournament, self._tables()
        event = tournament.contest.event(self._number)
        tables.want_ratings(self._number)
        return {
            "event": {
                "number": event.number,
                "name": event.name,
                "title": event.game.title,
                "about": tables.about.get(event.number, ""),
            },
            "progress": progress_json(self._feed, tables),
            "freeze": freeze_json(self._feed),
            "table": tables.events.get(event.number, {}),
            "crosstable": tournament.cached(event, "page crosstable", lambda: _crosstable(tournament, event)),
            "bracket": tournament.cached(event, "page bracket", lambda: _bracket(tournament, event)),
            "ladder": tournament.cached(event, "page ladder", lambda: _ladder(tournament, event)),
            "ratings": tables.ratings.get(event.number),
            "orders": tournament.cached(event, "page orders", lambda: _orders(tournament, event)),
        }


def _crosstable(tournament: Tournament, event: ContestEvent) -> dict[str, Any]:
    """Return the crosstable: for each pair of teams the points, and who has more."""
    table = crosstable_of(tournament, event)
    teams = [row.team for row in table.rows[:CROSSTABLE_TEAMS]]
    form = {"signed_roots": ".1f", "percentage": ".0f", "points": "g"}[event.scoring.kind]

    def cell(team: int, other: int) -> list[Any] | None:
        own, others = table.points(team, other), table.points(other, team)
        if team == other or own is None or others is None:
            return None
        kind = "win" if own > others else "loss" if own < others else "draw"
        return [format(own, form), kind]

    return {
        "teams": [team_text(tournament, team) for team in teams],
        "rows": [[cell(team, other) for other in teams] for team in teams],
        "left_out": len(table.rows) - len(teams),
        "percent": event.scoring.kind == "percentage",
    }


def _orders(tournament: Tournament, event: ContestEvent) -> list[dict[str, Any]] | None:
    """Return the rounds that are over, with the address of the file of all their orders; None if there are none."""
    names = event_orders(tournament, event)
    return [{"round": round_, "address": f"/{name}"} for round_, name in names.items()] or None


def _bracket(tournament: Tournament, event: ContestEvent) -> list[list[dict[str, Any]]] | None:
    """Return the rounds of a knockout, each a list of its pairings from the top down; None for other formats."""
    if not isinstance(event.format, Knockout):
        return None
    teams, played = tournament.played(event)
    if not played:
        return None
    numbers: dict[int, list[int]] = {}
    for match in tournament.matches.values():
        if match.event == event.number:
            numbers.setdefault(match.pairing, []).append(match.number)
    rounds: dict[int, list[dict[str, Any]]] = {}
    for pairing in event.format.bracket(teams, played).pairings():
        rounds.setdefault(pairing.round, []).append(
            {
                "teams": [None if team is None else team_text(tournament, team) for team in pairing.teams],
                "wins": list(pairing.wins),
                "winner": pairing.winner,
                "third": pairing.third_place,
                "bye": pairing.bye,
                "matches": numbers.get(pairing.number, []),
            }
        )
    return [rounds[number] for number in sorted(rounds)]


def _ladder(tournament: Tournament, event: ContestEvent) -> list[dict[str, Any]] | None:
    """Return the rungs of a ladder from the top down, each with the games against the rung below in this round."""
    if not isinstance(event.format, Ladder):
        return None
    teams, played = tournament.played(event)
    order = event.format.order(teams, played)
    latest = max((game.pairing.round for game in played), default=0)
    between: dict[frozenset[int], list[int]] = {}
    for game in played:
        if game.pairing.round == latest and game.counts:
            for team in game.pairing.teams:
                between.setdefault(frozenset(game.pairing.teams), []).extend([team] * game.won_by(team))
    rungs: list[dict[str, Any]] = [
        {"team": team_text(tournament, team), "round": latest, "below": None} for team in order
    ]
    for rung, (upper, lower) in zip(rungs, pairwise(order), strict=False):
        wins = between.get(frozenset([upper, lower]))
        rung["below"] = None if wins is None else [wins.count(upper), wins.count(lower)]
    return rungs
