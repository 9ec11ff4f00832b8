"""Tables on a terminal: they fit 80 columns with any names, and show why a team is ahead of another."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from rich.cells import cell_len
from rich.console import Console, RenderableType

from getstep_engines import Player
from getstep_server.config.contest import Contest
from getstep_server.formats import FORMATS
from getstep_server.records.match import Match
from getstep_server.reports.crosstable import crosstable_table
from getstep_server.reports.tables import (
    EVENTS_SHOWN,
    PIPE_WIDTH,
    combined_table,
    one_line_per_team,
    standings_table,
)
from getstep_server.reports.text_table import Column, TextTable, truncate_middle
from getstep_server.tournament.combined import Combined
from getstep_server.tournament.crosstable import Crosstable
from getstep_server.tournament.standings import Standing, separating, standings
from tests.support.contests import make_contest
from tests.support.tables import NAMES, SCORINGS, played, shown, widest

HERE = Path("test")


def full(contest: Contest) -> list[Standing]:
    """Standings with every possible column, and high numbers in them."""
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


# --- standings ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("names", NAMES)
@pytest.mark.parametrize("kind", SCORINGS)
def test_a_table_with_every_column_fits_80_columns(names: str, kind: str) -> None:
    contest = make_contest(
        HERE, NAMES[names], {"game": "longest_path", "scoring": {"kind": kind}, "tie_breaks": ALL}
    )
    rows = full(contest)
    table = standings_table(contest, contest.events[0], rows, title="Test")
    lines = shown(table)
    assert widest(lines) <= 80
    assert not any("…" in line for line in lines), "a number or a name that was cut"
    for row in rows:
        assert any(str(row.difference) in line and str(row.lot) in line for line in lines)
    brief = shown(one_line_per_team(table))
    assert widest(brief) <= 80
    assert len(brief) == 1 + 1 + 40


def test_the_combined_table_fits() -> None:
    events = [{"game": "hop", "name": f"event {number}"} for number in range(EVENTS_SHOWN)]
    contest = make_contest(HERE, NAMES["wide"], *events)
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
    contest = make_contest(HERE, NAMES["wide"], event)
    lines = shown(standings_table(contest, contest.events[0], full(contest)))
    assert widest(lines) <= 80
    assert not any("…" in line for line in lines)


def test_tie_breaks_are_columns_in_their_order_and_the_order_is_noted() -> None:
    contest = make_contest(HERE, NAMES["short"], {"game": "hop", "tie_breaks": ["buchholz", "direct", "won"]})
    rows = standings(contest.teams, played(contest), tie_breaks=contest.events[0].tie_breaks)
    heading, *_, order = shown(standings_table(contest, contest.events[0], rows), width=100)
    words = heading.split()
    assert words[-4:] == ["diff", "Buchholz", "DE", "lot"]
    assert order == "Order: points, Buchholz, direct encounter (DE), won, lot."


def test_columns_that_separate_no_teams_are_left_out_only_for_lack_of_room() -> None:
    contest = make_contest(
        HERE, NAMES["long"], {"game": "linkage", "scoring": {"kind": "percentage"}, "tie_breaks": ALL}
    )
    (event,) = contest.events
    rows = standings(contest.teams, played(contest), scoring=event.scoring, tie_breaks=event.tie_breaks)
    rows = [replace(row, points=100.0 - n) for n, row in enumerate(rows)]
    assert separating(rows, event.tie_breaks) == {"points"}
    table = standings_table(contest, event, rows)
    wide, narrow, least = shown(table, width=200), shown(table, width=80), shown(table, width=60)
    assert all(word in wide[0] for word in ("played", "% More", "diff", "DE", "Buchholz"))
    assert all(word in narrow[0] for word in ("W", "% 1st", "diff", "DE", "buc."))
    assert all(word in least[0] for word in ("W", "% 1st", "diff"))
    assert not any(word in least[0].split() for word in ("DE", "buc."))
    order = "Order: %, won, diff, direct encounter (DE), Buchholz, lot."
    assert (wide[-1], narrow[-1]) == (order, order)
    assert least[-2:] == [order, "Left out (separates no teams): DE, Buchholz."]


def test_columns_that_separate_teams_are_never_left_out() -> None:
    contest = make_contest(
        HERE, NAMES["long"], {"game": "linkage", "scoring": {"kind": "percentage"}, "tie_breaks": ALL}
    )
    (event,) = contest.events
    rows = standings(contest.teams, (), scoring=event.scoring, tie_breaks=event.tie_breaks)
    rows = [replace(row, direct=float(-n), buchholz=0.0, lot=None) for n, row in enumerate(rows)]
    assert separating(rows, event.tie_breaks) == {"direct"}
    heading = shown(standings_table(contest, event, rows), width=60)[0].split()
    assert ("DE" in heading, "buc." in heading) == (True, False)


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5), st.sampled_from([0, 1, None])), max_size=12))
def test_two_neighbours_differ_in_what_separates_them(games: list[tuple[int, int, Player | None]]) -> None:
    contest = make_contest(HERE, "ABCDE")
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
    short = truncate_middle(name, cells)
    if cell_len(name) <= cells:
        assert short == name
        return
    assert cell_len(short) <= cells
    start, cut, end = short.partition("…")
    assert cut
    assert name.startswith(start)
    assert name.endswith(end)


# --- in a pipe --------------------------------------------------------------------------------------------------


def written_by_rich(table: RenderableType) -> str:
    """The table on a very wide terminal without colours, where rich breaks no line."""
    file = io.StringIO()
    console = Console(file=file, width=PIPE_WIDTH, markup=False, highlight=False, emoji=False, soft_wrap=True)
    console.print(table)
    return file.getvalue()


CELLS = st.text("ab1 é寿🦘", max_size=6).map(str.strip)
COLUMNS = st.builds(
    lambda heading, cells, side, names: Column(heading, cells, justify=side, names=names),
    st.sampled_from(["#", "points", "% 1st", "two\nlines", "寿"]),
    st.lists(CELLS, min_size=3, max_size=3),
    st.sampled_from(["left", "right"]),
    st.booleans(),
)
NAMED = st.builds(
    lambda cells: Column("team", cells, names=True, justify="left"), st.lists(CELLS, min_size=3, max_size=3)
)


@given(
    st.lists(COLUMNS, max_size=4).flatmap(lambda some: NAMED.map(lambda names: [names, *some])),
    st.none() | st.sampled_from(["A", "A title\n1. hop", "A title that is longer than the table " * 3, "\nAll"]),
    st.lists(st.sampled_from(["Order: points, lot.", "x" * 210]), max_size=2),
)
def test_a_plain_table_is_the_one_that_rich_writes(
    columns: list[Column], title: str | None, notes: list[str]
) -> None:
    table = TextTable(columns, title, notes)
    assert table.plain() == written_by_rich(table)


@pytest.mark.parametrize(
    ("name", "escaped"), [("x" * 250, "x" * 250), ("a\tb", "a\\u0009b"), ("a\x1bb", "a\\u001bb")]
)
def test_a_plain_table_has_whole_cells_in_one_line_each_and_nothing_that_a_terminal_obeys(
    name: str, escaped: str
) -> None:
    table = TextTable([Column("team", [name, "b"], names=True), Column("y" * 200, ["1", "2"], "y", spare=True)])
    heading, *lines = table.plain().splitlines()
    assert heading.split() == ["team", "y" * 200]
    assert [line.split() for line in lines] == [[escaped, "1"], ["b", "2"]]


@given(st.lists(st.text("ab寿", min_size=1, max_size=60), min_size=2, max_size=2), st.integers(30, 120))
def test_two_columns_of_names_share_the_room(names: list[str], width: int) -> None:
    columns = [Column(heading, [name], names=True) for heading, name in zip(("one", "two"), names, strict=True)]
    _, line = shown(TextTable(columns, one_line_each=True), width=width)
    assert cell_len(line.rstrip()) <= width
    needed = [max(cell_len(text) for text in column) for column in zip(("one", "two"), names, strict=True)]
    if sum(needed) + 2 <= width:
        assert line.split() == names


@pytest.mark.parametrize("kind", ["short", "long", "unbroken", "wide"])
@pytest.mark.parametrize("teams", [2, 5, 40])
def test_a_plain_crosstable_is_as_rich_writes_it(kind: str, teams: int) -> None:
    contest = make_contest(HERE, NAMES[kind][:teams], {"game": "hop"})
    table = Crosstable(contest.events[0], standings(list(contest.teams), played(contest)), played(contest))
    view = crosstable_table(contest, table, title="Autumn, hop")
    assert view.plain() == written_by_rich(view)
