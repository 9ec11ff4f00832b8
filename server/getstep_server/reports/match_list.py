"""The table of matches on a page: each with its result, the reason, and a link to its replay."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache

from getstep_server.config.contest import Contest
from getstep_server.records.match import Match
from getstep_server.records.reasons import Reason
from getstep_server.records.result import Result, winner_text
from getstep_server.tournament.tournament import Tournament

from .match_pages import Links
from .text_table import Column, TextTable

HINTS = {
    "turns": "moves and faults; passes are not counted",
    "faults": "turns that got the game's penalty",
    "thought": "the thinking time of the first and the second team, in seconds",
}


def match_list(tournament: Tournament, matches: Iterable[Match], links: Links) -> TextTable:
    """Return the matches that have a result or a replay, in the order of their numbers."""
    contest = tournament.contest
    in_order = sorted(matches, key=lambda match: match.number)
    results = ((match, tournament.final_result(match)) for match in in_order)
    rows = [(match, result) for match, result in results if result or match.number in links.played]
    replays = [links.match(match.number) for match, _ in rows]
    columns = [
        Column("match", [str(match.number) for match, _ in rows], links=replays),
        Column("round", [str(match.round) for match, _ in rows]),
        _names("first", contest, [match.first for match, _ in rows], links),
        _names("second", contest, [match.second for match, _ in rows], links),
        Column("result", [_result(tournament, *row) for row in rows], justify="left", links=replays),
        Column("why", [_why(result) for _, result in rows], justify="left"),
        Column("turns", _cells(rows, lambda result: str(result.turns))),
        Column(
            "faults", _cells(rows, lambda result: " : ".join(map(str, result.faults)) if any(result.faults) else "")
        ),
        Column("thought", _cells(rows, lambda result: "{:.1f} : {:.1f}".format(*result.thought))),
    ]
    return TextTable(columns)


def _names(heading: str, contest: Contest, teams: Sequence[int], links: Links) -> Column:
    names, addresses = map(cache(contest.team_name), teams), map(cache(links.team), teams)
    return Column(heading, list(names), names=True, justify="left", links=list(addresses))


def _result(tournament: Tournament, match: Match, result: Result | None) -> str:
    if result is not None:
        return winner_text(result, tournament.contest.team_name)
    return "annulled" if tournament.is_cancelled(match) else "open again"


def _why(result: Result | None) -> str:
    if result is None:
        return ""
    return result.detail if result.reason == Reason.FINISHED else f"{result.reason}: {result.detail}"


def _cells(rows: Sequence[tuple[Match, Result | None]], text: Callable[[Result], str]) -> list[str]:
    """Return the cells of a column of results; a match that is open again has none."""
    return ["" if result is None else text(result) for _, result in rows]
