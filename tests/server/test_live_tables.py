"""The data of a live view: tables with ratings, not too often, and the expected end."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from getstep_server.reports.progress_state import expected_end
from getstep_server.runtime.live_tables import RECOMPUTE_RATIO, LiveTables
from getstep_server.text import join_limited
from getstep_server.tournament.combined import Tables
from getstep_server.tournament.ratings import ratings_of
from getstep_server.tournament.tournament import Tournament
from tests.support.contests import make_contest
from tests.support.tournament_host import KNOCKOUT, LADDER, SWISS, Host

HOP: dict[str, Any] = {"game": "hop"}


# --- tables ---------------------------------------------------------------------------------------------------


def test_the_tables_of_one_event_have_its_ratings(tmp_path: Path) -> None:
    host = Host(make_contest(tmp_path, 4, HOP))
    tables = LiveTables(host.tournament)
    assert tables().elo == {}
    for match in host.issue_pairings():
        host.play(match)
    again = LiveTables(host.tournament)()
    assert again.events == host.tournament.tables().events
    expected = ratings_of(host.tournament, host.contest.events[0], 0).table
    assert again.elo == {rating.team: rating.elo for rating in expected if rating.elo}
    assert len(again.elo) == 4


def test_an_arena_shows_its_own_ratings_with_their_margins(tmp_path: Path) -> None:
    """They are in the rows of each of its tables, so no others are computed."""
    host = Host(make_contest(tmp_path, 4, {**HOP, "format": "arena"}))
    for match in host.issue_pairings():
        host.play(match)
    tables = LiveTables(host.tournament)()
    ratings = [row.rating for row in tables.events[1]]
    assert all(rating is not None and rating.margin > 100 for rating in ratings)
    assert tables.elo == {}


def test_several_events_have_no_rating_in_common(tmp_path: Path) -> None:
    host = Host(make_contest(tmp_path, 4, HOP, {"game": "linkage"}))
    host.play_all()
    tables = LiveTables(host.tournament)()
    assert (tables.elo, tables.combined) == ({}, host.tournament.tables().combined)


@pytest.mark.parametrize(
    ("events", "remaining"),
    [([HOP], 0), ([SWISS], 4), ([LADDER], 12), ([SWISS, LADDER, {**HOP, "name": "all"}], 16), ([KNOCKOUT], 2)],
)
def test_the_estimate_includes_future_pairings(
    tmp_path: Path, events: list[dict[str, Any]], remaining: int
) -> None:
    host = Host(make_contest(tmp_path, 4, *events))
    host.issue_pairings()
    assert LiveTables(host.tournament)().expected == host.tournament.total + remaining
    open_ = host.tournament.open()
    assert sum(LiveTables(host.tournament)().remaining.values()) == 2 * len(open_) > 0
    host.play(open_[0])
    assert sum(LiveTables(host.tournament)().remaining.values()) == 2 * (len(open_) - 1)
    host.play_all()
    assert LiveTables(host.tournament)().expected == host.tournament.total
    assert LiveTables(host.tournament)().remaining == {}


def test_they_are_made_the_less_often_the_longer_they_take(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    host, now, make = Host(make_contest(tmp_path, 4, HOP)), [100.0], Tournament.tables

    def slowly(tournament: Tournament) -> Tables:
        now[0] += 0.05
        return make(tournament)

    monkeypatch.setattr(Tournament, "tables", slowly)
    tables = LiveTables(host.tournament, lambda: now[0])
    first, *_ = host.issue_pairings()
    before = tables()
    host.play(first)
    now[0] += 0.05 * RECOMPUTE_RATIO - 0.01
    assert tables() is before
    now[0] += 0.02
    after = tables()
    assert sum(row.played for row in after.events[1]) == 2
    assert now[0] == pytest.approx(100 + 0.05 * (RECOMPUTE_RATIO + 2) + 0.01)


# --- when it will be over -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.2, "about 1 s left, expected end 15:38"),
        (40, "about 40 s left, expected end 15:38"),
        (60, "about 1 min left, expected end 15:39"),
        (252, "about 4 min left, expected end 15:42"),
        (3590, "about 1 h 0 min left, expected end 16:38"),
        (8000, "about 2 h 13 min left, expected end 17:51"),
        (9 * 3600, "about 9 h 0 min left, expected end Sun 00:38"),
    ],
)
def test_the_expected_end(seconds: float, text: str) -> None:
    assert expected_end(seconds, datetime(2026, 11, 21, 15, 38, 10)) == text


# --- lists ----------------------------------------------------------------------------------------------------


@given(st.lists(st.text("aé寿 ", min_size=1, max_size=20), min_size=1, max_size=60), st.integers(10, 80))
def test_a_list_has_as_many_names_as_fit(names: list[str], cells: int) -> None:
    text = join_limited(names, "; ", cells)
    shown = next(n for n in range(len(names), 0, -1) if text.startswith("; ".join(names[:n])))
    assert text == "; ".join(names[:shown]) + (f" and {len(names) - shown} more" if shown < len(names) else "")
    assert shown == 1 or cell_len(text) <= cells
    if shown < len(names):
        assert cell_len("; ".join(names)) > cells
