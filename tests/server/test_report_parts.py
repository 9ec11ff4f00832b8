"""Parts of the report: plots, scales and names in them."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from getstep_server.reports import plots, report
from getstep_server.tournament.estimate import Estimate


@given(st.lists(st.floats(-50, 700), min_size=1, max_size=40))
def test_names_at_the_ends_of_lines_do_not_overlap(levels: list[float]) -> None:
    levels.sort()
    height = max(plots._LEAST_HEIGHT, plots._ROW * len(levels))
    apart = plots._apart(levels, height)
    assert all(lower - upper >= plots._ROW - 1e-6 for upper, lower in pairwise(apart))
    assert apart[0] >= plots._ROW / 2 - 1e-6
    assert apart[-1] <= height - plots._ROW / 2 + 1e-6


@given(st.floats(-5000, 5000), st.floats(1e-3, 20000))
def test_a_scale_has_a_few_round_values_within_it(low: float, length: float) -> None:
    ticks = plots._Scale(low, low + length, 0, 1000).ticks()
    assert 1 <= len(ticks) <= 10
    places = [float(tick.at) for tick in ticks]
    assert all(-0.1 <= place <= 1000.1 for place in places)
    assert places == sorted(places)


def test_matches_played_are_whole_numbers() -> None:
    courses = [plots.RatingHistory("A", ((1, 0.0), (2, 10.0)))]
    frame = plots.history_plot(courses, label="").frame
    assert [tick.text for tick in frame.x_ticks] == ["0", "1", "2"]
    assert "−" not in "".join(tick.text for tick in frame.x_ticks)


def test_forty_lines_differ_by_more_than_colour() -> None:
    courses = [
        plots.RatingHistory(f"Team {n}", ((1, 0.0), (2, 1.0 * n))) for n in reversed(range(report.PLOTTED_TEAMS))
    ]
    lines = plots.history_plot(courses, label="").lines
    assert len({(line.colour, line.dash, line.mark) for line in lines}) == report.PLOTTED_TEAMS
    assert len({(line.dash, line.mark) for line in lines if line.colour == 0}) == len(lines[:: plots.COLOURS])


@given(st.text(max_size=64))
def test_a_name_in_a_plot_fits_its_room(name: str) -> None:
    shown = plots.fitted(name, 150)
    assert sum(11 * plots._width(char) for char in shown) <= 150 + 1e-6
    assert shown == name or "…" in shown


def test_ratings_are_placed_by_their_values() -> None:
    """An interval from -100 to 300 around 0 on a scale with a fiftieth of room at either end."""
    row = plots.Rated("Ada", Estimate(0.0, -100.0, 300.0), None, separable=True)
    plot = plots.ratings_plot([row], label="")
    (shown,) = plot.rows
    left, right = plot.frame.left, plot.frame.right
    low, elo, high = map(float, (shown.low, shown.elo, shown.high))
    assert (low - left) == pytest.approx(right - high, abs=0.2)
    assert (elo - low) == pytest.approx((high - low) / 4, abs=0.2)
    assert plot.zero == shown.elo
    assert plot.gaps == []
