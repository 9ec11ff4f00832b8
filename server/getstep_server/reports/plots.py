"""Layout of the html report's plots. The template ``plots.svg.j2`` draws them.

A unit is a pixel of the page at the plot's full width, and y grows downwards, as in SVG. The page's style sheet
sets the colours, so that plots follow the dark theme and print. Text is escaped when the page is rendered.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import ceil, floor, log10

from getstep_server.tournament.estimate import Estimate

from .ratings_table import likelihood_text

COLOURS = 7
"""Colours of lines. The page defines them: the Okabe-Ito palette, its pale colours darkened on white."""

DASHES = 4
"""Dash patterns of lines. The page defines them; the first is solid."""

MARKS = (
    "m-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0z",
    "m-3.2 -3.2h6.4v6.4h-6.4z",
    "m0 -4.2l4 7h-8z",
    "m0 -4.4l4.4 4.4l-4.4 4.4l-4.4 -4.4z",
    "m0 4.2l4 -7h-8z",
)
"""SVG paths around a point: circle, square, triangle, diamond, triangle upside down. Their number and `COLOURS`
have no common divisor, so that 35 lines differ in colour or mark before dash patterns are needed."""

WIDTH = 680
# All of the layout is in units of an SVG, which are pixels at 100 %: a row fits the font, names of about 25 letters
# have room, and the margins the labels of the scales.
_ROW, _TOP, _BOTTOM = 18, 26, 40
_NAME_ROOM = 150
_RATINGS_LEFT, _RATINGS_RIGHT = 164, WIDTH - 74
_HISTORY_LEFT, _HISTORY_RIGHT = 48, WIDTH - _NAME_ROOM - 36
_LEAST_HEIGHT = 260
_FONT = 11
_TICKS = 9
"""The most intervals between the labels of a scale."""


@dataclass(frozen=True, slots=True)
class Rated:
    """A team of the ratings plot. ``stronger`` is the likelihood that it beats the next one; None for the last."""

    name: str
    elo: Estimate
    stronger: float | None
    separable: bool


@dataclass(frozen=True, slots=True)
class RatingHistory:
    """A team's rating over time: pairs of matches played in the event and rating; at least one."""

    name: str
    points: tuple[tuple[int, float], ...]


# --- values for the template ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Tick:
    """A labelled value of a scale."""

    at: str
    text: str


@dataclass(frozen=True, slots=True)
class Scales:
    """The parts that both plots have: the size, the area inside the scales, and the scales."""

    label: str
    height: int
    left: int
    right: int
    top: int
    bottom: int
    x_ticks: Sequence[Tick]
    y_ticks: Sequence[Tick] = ()


@dataclass(frozen=True, slots=True)
class IntervalRow:
    """A team's rating and its interval. ``shown`` is its name, shortened to fit."""

    name: str
    shown: str
    y: str
    low: str
    elo: str
    high: str


@dataclass(frozen=True, slots=True)
class Gap:
    """The gap between two rows: the likelihood that the upper team is stronger, and a bar if it is ``joined``."""

    y: str
    text: str
    joined: bool
    above: str
    below: str


@dataclass(frozen=True, slots=True)
class RatingsPlot:
    """Ratings with their intervals, one row for each team."""

    frame: Scales
    zero: str
    rows: Sequence[IntervalRow]
    gaps: Sequence[Gap]


@dataclass(frozen=True, slots=True)
class Curve:
    """A team's rating over time, which ends at (``x``, ``y``); its name is at height ``level``."""

    name: str
    shown: str
    colour: int
    dash: int
    mark: str
    points: str
    x: str
    y: str
    level: str


@dataclass(frozen=True, slots=True)
class HistoryPlot:
    """Ratings over time, each line with the team's name at its end."""

    frame: Scales
    lines: Sequence[Curve]


def ratings_plot(rows: Sequence[Rated], *, label: str) -> RatingsPlot:
    """Lay out ratings and their intervals.

    Args:
        rows: highest rating first; at least one.
        label: description of the plot for screen readers.
    """
    low, high = min(row.elo.low for row in rows), max(row.elo.high for row in rows)
    # 2 % of the range, so that the outermost intervals do not touch the frame; at least 1 Elo if all are equal.
    room = 0.02 * max(high - low, 1)
    scale = _Scale(low - room, high + room, _RATINGS_LEFT, _RATINGS_RIGHT)
    height = _TOP + _ROW * len(rows) + _BOTTOM
    levels = [_TOP + _ROW * (place + 0.5) for place in range(len(rows))]  # the middle of each row
    frame = Scales(label, height, _RATINGS_LEFT, _RATINGS_RIGHT, _TOP, height - _BOTTOM, scale.ticks())
    shown = [
        IntervalRow(row.name, fitted(row.name, _NAME_ROOM), _units(level), *map(scale.place, _three(row.elo)))
        for row, level in zip(rows, levels, strict=True)
    ]
    gaps = [
        Gap(
            y=_units(level + _ROW / 2),
            text=likelihood_text(row.stronger),
            joined=not row.separable,
            above=_units(level + 3),  # 3 px of room to the lines of the intervals
            below=_units(level + _ROW - 3),
        )
        for row, level in zip(rows, levels, strict=True)
        if row.stronger is not None
    ]
    return RatingsPlot(frame, scale.place(0), shown, gaps)


def history_plot(histories: Sequence[RatingHistory], *, label: str) -> HistoryPlot:
    """Lay out the lines of ratings over time.

    Args:
        histories: highest rating at the end first; at least one.
        label: as for `ratings_plot`.
    """
    inside = max(_LEAST_HEIGHT, _ROW * len(histories))
    elos = [elo for history in histories for _, elo in history.points]
    # 3 % of the range, so that the marks at the ends of the curves are inside the frame.
    room = 0.03 * max(max(elos) - min(elos), 1)
    last = max(history.points[-1][0] for history in histories)
    # A scale needs a length: if no match is played, it begins at -1.
    x = _Scale(min(0, last - 1), last, _HISTORY_LEFT, _HISTORY_RIGHT)
    y = _Scale(min(elos) - room, max(elos) + room, _TOP + inside, _TOP)
    levels = _apart([y.units(history.points[-1][1]) - _TOP for history in histories], inside)
    lines = [
        Curve(
            name=history.name,
            shown=fitted(history.name, _NAME_ROOM),
            colour=place % COLOURS,
            dash=place // COLOURS % DASHES,
            mark=MARKS[place % len(MARKS)],
            points=" ".join(f"{x.place(played)},{y.place(elo)}" for played, elo in history.points),
            x=x.place(history.points[-1][0]),
            y=y.place(history.points[-1][1]),
            level=_units(_TOP + level),
        )
        for place, (history, level) in enumerate(zip(histories, levels, strict=True))
    ]
    # Matches are counted: no label between two whole numbers.
    height, whole = _TOP + inside + _BOTTOM, 1.0
    frame = Scales(label, height, _HISTORY_LEFT, _HISTORY_RIGHT, _TOP, _TOP + inside, x.ticks(whole), y.ticks())
    return HistoryPlot(frame, lines)


# --- scales -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Scale:
    """A linear scale: values from ``low`` to ``high`` map to units from ``begin`` to ``end``, which may be less."""

    low: float
    high: float
    begin: float
    end: float

    def units(self, value: float) -> float:
        return self.begin + (self.end - self.begin) * (value - self.low) / (self.high - self.low)

    def place(self, value: float) -> str:
        return _units(self.units(value))

    def ticks(self, least_step: float = 0.0) -> list[Tick]:
        """Return the round values within the scale: multiples of 1, 2 or 5 times a power of ten."""
        step = max(_round_step((self.high - self.low) / _TICKS), least_step)
        values = (step * n for n in range(ceil(self.low / step), floor(self.high / step) + 1))
        return [Tick(self.place(value), f"{value:g}".replace("-", "−")) for value in values]


def _round_step(least: float) -> float:
    """Return the smallest number of the form 1, 2 or 5 times a power of ten that is not below ``least``."""
    power = 10.0 ** floor(log10(least))
    # 10: `least` may be above 5 · power
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= least)


def _units(value: float) -> str:
    """Return units to a tenth, so that rounding in the fit does not make reports of two machines differ."""
    return f"{value:.1f}"


def _three(elo: Estimate) -> tuple[float, float, float]:
    return elo.low, elo.value, elo.high


def _apart(levels: Sequence[float], height: float) -> list[float]:
    """Return levels as near as possible to these, at least a row apart and within the height."""
    apart: list[float] = []
    for level in levels:
        apart.append(max(level, apart[-1] + _ROW) if apart else max(level, _ROW / 2))
    lowest = height + _ROW / 2
    # The first pass moved names downwards only, so the last ones may stand below the plot: push them up again.
    for place in reversed(range(len(apart))):
        lowest = apart[place] = min(apart[place], lowest - _ROW)
    return apart


# --- names ------------------------------------------------------------------------------------------------------


def fitted(name: str, room: float) -> str:
    """Return a name that fits ``room``: if it is too long, its beginning and its end with an ellipsis between them.

    The browser's font is unknown. Widths are those of DejaVu Sans, one of the widest fonts in use.
    """
    widths = [_FONT * _width(char) for char in name]
    if sum(widths) <= room:
        return name
    room -= _FONT * _width("…")
    # the end has a third: class lists often number their teams there
    end = _count_within(reversed(widths), room / 3)
    begin = _count_within(widths, room - sum(widths[len(name) - end :]))
    return f"{name[:begin].rstrip()}…{name[len(name) - end :].lstrip()}"


def _count_within(widths: Iterable[float], room: float) -> int:
    """Return how many of the first widths fit."""
    return sum(taken <= room for taken in accumulate(widths))


def _width(char: str) -> float:
    """Return the approximate width of a character in units of the font size."""
    if unicodedata.category(char) in ("Mn", "Me"):
        return 0.0  # accents stand over the letter before
    if unicodedata.east_asian_width(char) in "WF":
        return 1.15  # wide characters of East Asia
    if char in "mwMW@%&—…":
        return 1.0
    if char in " iIjlftr.,:;'|!()[]-/\\":
        return 0.42
    return 0.78 if char.isupper() else 0.65  # capitals, and all other characters
