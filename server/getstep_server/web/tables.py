"""The tables of the page, made in a thread: standings, and how many matches are expected."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from getstep_server.api.answers import Column, EventWinner, Table
from getstep_server.api.build import RATED_TEAMS, team_ref
from getstep_server.config.contest import Contest
from getstep_server.config.event import ContestEvent, describe_event
from getstep_server.records.match import Match
from getstep_server.reports.progress_state import absence_text
from getstep_server.reports.tables import combined_table, standings_table
from getstep_server.reports.text_table import TextTable
from getstep_server.tournament.combined import Combined, Tables, as_shown
from getstep_server.tournament.forfeits import no_shows
from getstep_server.tournament.standings import Standing
from getstep_server.tournament.tournament import Tournament

COMING = 128
"""The open matches from which the next ones are shown: more than are running at once."""


@dataclass(frozen=True)
class PageTables:
    """The tables of one moment.

    Attributes:
        main: the combined table; with one event, its standings.
        events: the standings by the event's number.
        expected: the expected number of matches.
        left: the matches that each team has left.
        ranks: the rank of each team in the main table; None until its first result.
        about: each event in words.
        ratings: the ratings of events, where somebody wanted them before the tables were made.
        want_ratings: asks for the ratings of an event in the next tables.
        absence: the forfeits of absent teams, in a line; "" if there are none.
        winners: of the events that are over.
        coming: open matches in the order in which they were issued, the first COMING of them.
    """

    main: Table = field(default_factory=Table)
    events: Mapping[int, Table] = field(default_factory=dict)
    expected: int = 0
    left: Mapping[int, int] = field(default_factory=dict)
    ranks: Mapping[int, int | None] = field(default_factory=dict)
    absence: str = ""
    winners: Sequence[EventWinner] = ()
    coming: Sequence[Match] = ()
    about: Mapping[int, str] = field(default_factory=dict)
    ratings: Mapping[int, Table] = field(default_factory=dict)
    want_ratings: Callable[[int], None] = field(default=lambda _: None, compare=False)


def page_tables(tournament: Tournament, wanted: set[int] | None = None, hidden: Collection[int] = ()) -> PageTables:
    """Return the tables of a contest. This takes some milliseconds for each thousand results.

    Args:
        tournament: the contest.
        wanted: the events whose ratings are wanted; more may be added at any time.
        hidden: the numbers of matches that were played, although the tournament does not tell.
    """
    wanted = set() if wanted is None else wanted
    contest, tables = tournament.contest, tournament.tables()
    matches = tournament.matches.values()
    coming = (match for match in matches if tournament.is_open(match) and match.number not in hidden)
    events = {event.number: _standings(contest, event.number, tables) for event in contest.events}
    rows: Sequence[Standing | Combined] = tables.combined or tables.events[1]
    return PageTables(
        main=main_table(tournament),
        events=events,
        expected=tournament.total + sum(map(tournament.remaining_estimate, contest.events)),
        left=tournament.open_by_team(),
        about={event.number: describe_event(event, contest.file.time.lag_ms) for event in contest.events},
        ratings={event.number: _ratings(tournament, event) for event in contest.events if event.number in wanted},
        want_ratings=wanted.add,
        winners=_winners(tournament, tables),
        ranks={row.team: None if row.waiting else row.rank for row in as_shown(rows)},
        absence=absence_text(
            [absent for one in tournament.results if (absent := no_shows(one))], contest.team_name
        ),
        coming=list(islice(coming, COMING)),
    )


def _winners(tournament: Tournament, tables: Tables) -> list[EventWinner]:
    """Return the first team of each event that has been played to its end."""
    going_on = {match.event for match in tournament.matches.values() if tournament.is_open(match)}
    return [
        EventWinner(event=event.heading, team=team_ref(tournament, tables.events[event.number][0].team))
        for event in tournament.contest.events
        if event.number not in going_on
        and not tournament.remaining_estimate(event)
        and any(row.played for row in tables.events[event.number])
    ]


def main_table(tournament: Tournament) -> Table:
    """Return the combined table; with one event, its standings."""
    contest, tables = tournament.contest, tournament.tables()
    if not tables.combined:
        return _standings(contest, 1, tables)
    return table_answer(combined_table(contest, tables.combined), tables.combined)


def _ratings(tournament: Tournament, event: ContestEvent) -> Table:
    """Return an event's ratings, or a note that says why there are none."""
    if len(event.teams) > RATED_TEAMS:
        return Table(notes=[f"Ratings of more than {RATED_TEAMS} teams: getstep-server ratings computes them."])
    from getstep_server.reports.ratings_table import ratings_table  # here: it imports numpy, which takes 100 ms

    return table_answer(ratings_table(tournament, event))


def _standings(contest: Contest, number: int, tables: Tables) -> Table:
    rows = tables.events[number]
    return table_answer(standings_table(contest, contest.event(number), rows), rows)


def table_answer(table: TextTable, rows: Sequence[Standing | Combined] = ()) -> Table:
    """Return a table for the browser: columns, cells by row, and the team of each row."""
    rows = as_shown(rows)
    return Table(
        columns=[
            Column(heading=column.heading, names=column.names, left=column.justify == "left", spare=column.spare)
            for column in table.columns
        ],
        rows=[list(row) for row in zip(*(column.cells for column in table.columns), strict=True)],
        teams=[row.team for row in rows],
        out=[bool(row.status) for row in rows],
        notes=list(table.notes),
    )
