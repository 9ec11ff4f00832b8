"""The table of ratings. It is a module of its own because ratings import numpy, which takes 100 ms."""

from __future__ import annotations

from collections.abc import Iterator

from getstep_server.config.event import ContestEvent
from getstep_server.tournament.ratings import REPLICATES, UNSURE, Ratings, ratings_of
from getstep_server.tournament.tournament import Tournament

from .tables import elo_text, interval_text, name_with_status
from .text_table import Column, TextTable


def ratings_table(tournament: Tournament, event: ContestEvent, *, title: str | None = None) -> TextTable:
    """Return an event's ratings, their intervals, and which neighbours are not separable."""
    names = {row.team: name_with_status(tournament.contest, row) for row in tournament.table(event)}
    ratings = ratings_of(tournament, event)
    table, leads = ratings.table, ratings.leads
    columns = [
        Column("#", [str(rank) for rank in range(1, len(table) + 1)]),
        Column("team", [names[rating.team] for rating in table], names=True, justify="left"),
        Column("games", [str(rating.games) for rating in table]),
        Column("Elo", ["" if rating.elo is None else elo_text(rating.elo.value) for rating in table]),
        Column("95 % interval", ["" if rating.elo is None else interval_text(rating.elo) for rating in table]),
        Column("stronger", ["" if lead is None else likelihood_text(lead) for lead in leads]),
        Column("than the next", _marks(ratings), "", justify="left"),
    ]
    return TextTable(columns, title, list(_ratings_notes(ratings)))


def likelihood_text(value: float) -> str:
    """Return a likelihood in percent, at most "> 99 %": a model is never certain."""
    return "> 99 %" if value > 0.99 else f"{100 * value:.0f} %"  # not 100 %: no number of matches proves that


def _marks(ratings: Ratings) -> list[str]:
    """Return a mark for each team that cannot be told from the next one."""
    marks = []
    for place, lead in enumerate(ratings.leads):
        if lead is not None:
            marks.append("not separable" if UNSURE[0] < lead < UNSURE[1] else "")
        else:
            pair = ratings.table[place : place + 2]
            marks.append("not comparable" if len(pair) == 2 and all(one.games for one in pair) else "")
    return marks


def _ratings_notes(ratings: Ratings) -> Iterator[str]:
    if ratings.advantage is None or ratings.draw is None:
        yield "There are no ratings before the first match with a turn."
        return
    marks, advantage, draw = _marks(ratings), ratings.advantage, ratings.draw
    if "not separable" in marks:
        yield "Not separable: between 5 and 95 %, the matches do not show which is stronger."
    if "not comparable" in marks:
        yield "Not comparable: no chain of matches connects the two teams."
    yield f"First player's advantage: {elo_text(advantage.value)} Elo, 95 % interval {interval_text(advantage)}."
    ends = f"{100 * draw.low:.1f} to {100 * draw.high:.1f} %"
    yield f"Probability of a draw between equal teams: {100 * draw.value:.1f} %, 95 % interval {ends}."
    if ratings.replicates < REPLICATES:
        source = f"{ratings.replicates} replicates" if ratings.replicates else "a normal approximation"
        yield f"{len(ratings.table)} teams: intervals from {source} instead of {REPLICATES} replicates."
