"""Tables for the eyes: they fit 80 columns whatever the names, and say why a team stands before another."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console, RenderableType

from getstep_engines import Player
from getstep_server.combined import Combined
from getstep_server.contest import Contest, ContestFile
from getstep_server.formats import FORMATS
from getstep_server.results import Result
from getstep_server.schedule import Match
from getstep_server.standings import Standing, separating, standings
from getstep_server.tables import EVENTS_SHOWN, combined_table, in_lines, standings_table
from getstep_server.text_table import shortened
from tests.server.test_progress import contest_of

WIDE = "寿限無寿限無五劫の擦り切れ海砂利水魚の水行末雲来末風来末"
NAMES = {
    "short": [f"Team {n}" for n in range(1, 41)],
    "long": [f"Die außerordentlich lange Mannschaft aus dem letzten Winkel {n}" for n in range(1, 41)],
    "unbroken": [f"{'x' * 60}{n}" for n in range(1, 41)],
    "wide": [f"{WIDE}{n}" for n in range(1, 41)],
    "emoji": [f"🦘🏆🚀❤️é̀ {n}" for n in range(1, 41)],
}


def shown(*tables: RenderableType, width: int = 80) -> list[str]:
    """The lines of tables on a terminal."""
    file = io.StringIO()
    console = Console(file=file, width=width, markup=False, highlight=False, emoji=False)
    for table in tables:
        console.print(table)
    return file.getvalue().splitlines()


def widest(lines: Sequence[str]) -> int:
    return max(cell_len(line.rstrip()) for line in lines)


def named(names: Sequence[str], event: dict[str, Any]) -> Contest:
    """A contest of one event."""
    contest = contest_of(*names)
    tables = {"contest": {"name": "Test"}, "event": [event]}
    return replace(contest, file=ContestFile.model_validate(tables))


def played(contest: Contest, *, legs: int = 4) -> list[Result]:
    """Everybody against everybody, often, with high scores: wide columns."""
    rng, game = Random(1), contest.events[0].game.name
    winners: list[Player | None] = [0, 1, None]
    pairs = [pair for pair in combinations(contest.teams, 2) for _ in range(legs)]
    return [
        Result(
            match=Match(number, 1, number, 1, *(pair if number % 2 else pair[::-1]), game),
            winner=(winner := rng.choice(winners)),
            reason="finished",
            detail="",
            scores={0: (1900, 2), 1: (2, 1900), None: (3, 3)}[winner],
            turns=9,
            thought=(0.5, 0.25),
            faults=(0, 0),
            started=1.7e9,
            seconds=1.0,
        )
        for number, pair in enumerate(pairs, start=1)
    ]


def full(contest: Contest) -> list[Standing]:
    """A table with every column there is, and high numbers in them."""
    event, teams = contest.events[0], list(contest.teams)
    rows = standings(
        teams,
        played(contest),
        scoring=event.scoring,
        tie_breaks=event.tie_breaks,
        byes=dict.fromkeys(teams[:3], 2),
        places={team: 1 + (place // 2) for place, team in enumerate(teams)},
    )
    return [replace(row, direct=row.points, lot=n) for n, row in enumerate(rows, start=1)]


ALL = ["won", "difference", "direct", "buchholz"]
SCORINGS = ["points", "signed_roots", "percentage"]


# --- standings ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("names", NAMES)
@pytest.mark.parametrize("kind", SCORINGS)
def test_a_table_with_every_column_fits_80_columns(names: str, kind: str) -> None:
    contest = named(NAMES[names], {"game": "longest_path", "scoring": {"kind": kind}, "tie_breaks": ALL})
    rows = full(contest)
    table = standings_table(contest, contest.events[0], rows, title="Test")
    lines = shown(table)
    assert widest(lines) <= 80
    assert not any("…" in line for line in lines), "a number or a name that was cut"
    for row in rows:
        assert any(str(row.difference) in line and str(row.lot) in line for line in lines)
    brief = shown(in_lines(table))
    assert widest(brief) <= 80
    assert len(brief) == 1 + 1 + 40


def test_the_combined_table_fits() -> None:
    events = [{"game": "hop", "name": f"event {number}"} for number in range(EVENTS_SHOWN)]
    file = ContestFile.model_validate({"contest": {"name": "Test"}, "event": events})
    contest = replace(contest_of(*NAMES["wide"]), file=file)
    shares = {str(number): 100.0 for number in range(1, EVENTS_SHOWN + 1)}
    rows = [Combined(team, team, 800.0, shares, EVENTS_SHOWN, team) for team in contest.teams]
    lines = shown(combined_table(contest, rows))
    assert widest(lines) <= 80
    assert not any("…" in line for line in lines)
    assert lines[-1] == "Order: total, firsts, lot."


@pytest.mark.parametrize("kind", SCORINGS)
@pytest.mark.parametrize("format_", FORMATS)
def test_the_tables_of_every_format_fit(format_: str, kind: str) -> None:
    settings = {"gauntlet": {"challengers": [1, 2]}}.get(format_, {})
    event = {"game": "linkage", "format": format_, "settings": settings, "scoring": {"kind": kind}}
    contest = named(NAMES["wide"], event)
    lines = shown(standings_table(contest, contest.events[0], full(contest)))
    assert widest(lines) <= 80
    assert not any("…" in line for line in lines)


def test_each_tie_break_is_a_column_in_its_order_and_the_order_is_said() -> None:
    contest = named(NAMES["short"], {"game": "hop", "tie_breaks": ["buchholz", "direct", "won"]})
    rows = standings(contest.teams, played(contest), tie_breaks=contest.events[0].tie_breaks)
    heading, *_, order = shown(standings_table(contest, contest.events[0], rows), width=100)
    words = heading.split()
    assert words[-4:] == ["diff", "Buchholz", "direct", "lot"]
    assert order == "Order: points, Buchholz, direct, won, lot."


def test_columns_that_separated_nobody_are_left_out_only_for_want_of_room() -> None:
    contest = named(NAMES["long"], {"game": "linkage", "scoring": {"kind": "percentage"}, "tie_breaks": ALL})
    (event,) = contest.events
    rows = standings(contest.teams, played(contest), scoring=event.scoring, tie_breaks=event.tie_breaks)
    rows = [replace(row, points=100.0 - n) for n, row in enumerate(rows)]
    assert separating(rows, event.tie_breaks) == {"points"}
    table = standings_table(contest, event, rows)
    wide, narrow, least = shown(table, width=200), shown(table, width=80), shown(table, width=60)
    assert all(word in wide[0] for word in ("played", "% More", "diff", "direct", "Buchholz"))
    assert all(word in narrow[0] for word in ("W", "% 1st", "diff", "dir.", "buc."))
    assert all(word in least[0] for word in ("W", "% 1st", "diff"))
    assert not any(word in least[0] for word in ("dir.", "buc."))
    order = "Order: %, won, diff, direct, Buchholz, lot."
    assert (wide[-1], narrow[-1]) == (order, order)
    assert least[-2:] == [order, "Left out (separates nobody): direct, Buchholz."]


def test_what_has_separated_teams_is_never_left_out() -> None:
    contest = named(NAMES["long"], {"game": "linkage", "scoring": {"kind": "percentage"}, "tie_breaks": ALL})
    (event,) = contest.events
    rows = standings(contest.teams, (), scoring=event.scoring, tie_breaks=event.tie_breaks)
    rows = [replace(row, direct=float(-n), buchholz=0.0, lot=None) for n, row in enumerate(rows)]
    assert separating(rows, event.tie_breaks) == {"direct"}
    heading = shown(standings_table(contest, event, rows), width=60)[0].split()
    assert ("dir." in heading, "buc." in heading) == (True, False)


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5), st.sampled_from([0, 1, None])), max_size=12))
def test_two_neighbours_differ_in_what_separates_them(games: list[tuple[int, int, Player | None]]) -> None:
    contest = contest_of(*"ABCDE")
    one = played(contest)[0]
    results = [
        replace(one, match=Match(n, 1, n, 1, a, b, "hop"), winner=winner, scores=None)
        for n, (a, b, winner) in enumerate(games)
        if a != b
    ]
    rows = standings(contest.teams, results, tie_breaks=("won", "direct"))
    criteria = separating(rows, ("won", "direct"))
    assert criteria <= {"points", "won", "direct", "lot"}
    assert ("lot" in criteria) == any(row.lot is not None for row in rows)
    assert ("direct" in criteria) <= any(row.direct is not None for row in rows)
    assert criteria


# --- names ----------------------------------------------------------------------------------------------------


@given(st.text(st.characters(exclude_characters="…")), st.integers(4, 40))
def test_a_name_is_cut_to_its_beginning_and_its_end(name: str, cells: int) -> None:
    short = shortened(name, cells)
    if cell_len(name) <= cells:
        assert short == name
        return
    assert cell_len(short) <= cells
    start, cut, end = short.partition("…")
    assert cut
    assert name.startswith(start)
    assert name.endswith(end)
