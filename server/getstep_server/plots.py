"""Plots for the html report, as svg elements that are part of the page and take their colours from it.

Matplotlib draws them; what it draws is then made to fit into a page: the paints become the page's own, so that they
follow it into the dark and onto paper, and names get in only here. Matplotlib never sees one: it would take what is
between two $ for a formula, and warns of letters that its font lacks.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from rich.cells import cell_len, set_cell_size

from ._text import printable
from .ratings import Estimate
from .tables import likelihood_text

SERIES = 8
"""Colours for lines; the page says which they are."""

_PAINTS = ("currentColor", "var(--muted)", "var(--accent)", *(f"var(--series-{n})" for n in range(SERIES)))
_INK, _MUTED, _ACCENT, *_COLOURS = (f"#0000{n:02x}" for n, _ in enumerate(_PAINTS, start=1))
"""What is drawn with, in place of the page's paints. (Not with black: matplotlib does not write that down.)"""

_STYLES = ("-", "--", ":", "-.")
"""Lines that have the same colour differ in these."""

_UNITS = 72
"""The plots' unit is a point of matplotlib, a pixel of the page at its full width."""
_WIDTH, _ROW, _TOP, _BOTTOM = 680, 16, 26, 40
_NAME_CELLS = 22
"""How much of a name there is room for, in columns of a terminal."""
_NAME_WIDTH, _LIKELIHOOD_WIDTH = 166, 74
_LEAST_HEIGHT = 260
_DIGITS = re.compile("#0000([0-9a-f]{2})")
_NOTHING_ELSE = dict.fromkeys(("Date", "Creator", "Format", "Type"))


@dataclass(frozen=True, slots=True)
class Rated:
    """A team in the plot of ratings; ``stronger`` is how likely it is stronger than the next, None for the last."""

    name: str
    elo: Estimate
    stronger: float | None
    separable: bool


@dataclass(frozen=True, slots=True)
class Course:
    """A team's rating over time: how many matches of the event were played, and its rating then; at least once."""

    name: str
    points: tuple[tuple[int, float], ...]


def ratings_plot(rows: Sequence[Rated], *, key: str, label: str) -> str:
    """Ratings with their intervals, one below the other.

    Args:
        rows: highest rating first; at least one.
        key: of letters and digits, no other plot's on the page: its elements are named after it.
        label: what it shows, for who does not see it.
    """
    with _drawing(key):
        figure, axes = _figure(_TOP + _ROW * len(rows) + _BOTTOM, _NAME_WIDTH, _LIKELIHOOD_WIDTH)
        places, (low, high) = range(len(rows)), _ends(rows)
        axes.set(ylim=(len(rows) - 0.5, -0.5), xlim=(low, high), yticks=[], xlabel="Elo")
        axes.axvline(0, color=_MUTED, linewidth=0.8, clip_on=False)
        lows, elos, highs = zip(*((row.elo.low, row.elo.value, row.elo.high) for row in rows), strict=True)
        axes.hlines(places, lows, highs, color=_ACCENT, clip_on=False)
        axes.plot(elos, places, "o", color=_ACCENT, markersize=5, clip_on=False)
        for place in places:
            _write(axes, -8, place, "?", align="right", gid=f"name-{place}")
        _draw_likelihoods(axes, rows)
        return _for_the_page(figure, [row.name for row in rows], label)


def course_plot(courses: Sequence[Course], *, key: str, label: str) -> str:
    """Ratings over time, each line named at its end.

    Args:
        courses: highest rating at the end first; at least one.
        key: as for `ratings_plot`.
        label: as there.
    """
    with _drawing(key):
        height = max(_LEAST_HEIGHT, _ROW * len(courses))
        figure, axes = _figure(_TOP + height + _BOTTOM, 48, _NAME_WIDTH + 12)
        axes.set_xlabel("matches played")
        axes.set_title("Elo", loc="left", size="medium")
        axes.locator_params(axis="x", integer=True)
        for place, course in enumerate(courses):
            axes.plot(*zip(*course.points, strict=True), **_line(place))
        last = max(course.points[-1][0] for course in courses)
        axes.margins(y=0.03)
        axes.set_xlim(min(0, last - 1), last)
        axes.set_ylim(axes.get_ylim())
        ends = [_level(axes, course.points[-1][1], height) for course in courses]
        for place, level in enumerate(_apart(ends, height)):
            _name_line(axes, place, courses[place], level / height)
        return _for_the_page(figure, [course.name for course in courses], label)


# --- parts of plots ---------------------------------------------------------------------------------------------


@contextmanager
def _drawing(key: str) -> Iterator[None]:
    """Matplotlib as it is by itself, whatever its user has set: the same records make the same bytes."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(
            {
                "svg.fonttype": "none",
                "svg.hashsalt": key,
                "figure.dpi": _UNITS,
                "font.size": 11,
                "text.parse_math": False,
                "axes.unicode_minus": True,
                **dict.fromkeys(("text.color", "axes.labelcolor", "xtick.labelcolor", "ytick.labelcolor"), _INK),
                **dict.fromkeys(("axes.edgecolor", "xtick.color", "ytick.color", "grid.color"), _MUTED),
            }
        )
        yield


def _figure(height: int, left: int, right: int) -> tuple[Figure, Axes]:
    """A figure so many units high, and its only axes, that far from the sides."""
    figure = Figure((_WIDTH / _UNITS, height / _UNITS), facecolor="none")
    width, inside = _WIDTH - left - right, height - _TOP - _BOTTOM
    axes = figure.add_axes((left / _WIDTH, _BOTTOM / height, width / _WIDTH, inside / height), facecolor="none")
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.grid(alpha=0.25, linewidth=0.6, clip_on=False)
    axes.set_axisbelow(True)
    axes.tick_params(length=0)
    return figure, axes


def _ends(rows: Sequence[Rated]) -> tuple[float, float]:
    """Where the scale begins and ends."""
    low, high = min(row.elo.low for row in rows), max(row.elo.high for row in rows)
    room = 0.02 * max(high - low, 1)
    return low - room, high + room


def _write(axes: Axes, right_of: float, place: float, text: str, *, align: str, gid: str | None = None) -> None:
    """Text ``right_of`` the axes' left end (in units), beside ``place``; a name's ``gid`` has it replaced later."""
    axes.annotate(
        text,
        (0, place),
        (right_of, 0),
        xycoords=axes.get_yaxis_transform(),
        textcoords="offset points",
        horizontalalignment=align,
        verticalalignment="center",
        gid=gid,
    )


def _draw_likelihoods(axes: Axes, rows: Sequence[Rated]) -> None:
    """Between each team and the next how likely it is stronger; a bar joins two that are not separable."""
    right = _WIDTH - _NAME_WIDTH - _LIKELIHOOD_WIDTH
    _write(axes, right + 20, -1.1, "stronger", align="left")
    for place, row in enumerate(rows):
        if row.stronger is None:
            continue
        _write(axes, right + 20, place + 0.5, likelihood_text(row.stronger), align="left")
        if not row.separable:
            ends, across = [place, place + 1], axes.get_yaxis_transform()
            x = 1 + 12 / right
            axes.plot([x, x], ends, color=_MUTED, linewidth=3, transform=across, clip_on=False)


def _line(place: int) -> dict[str, Any]:
    """How the line at this place in the legend looks."""
    return {
        "color": _COLOURS[place % SERIES],
        "linestyle": _STYLES[place // SERIES % len(_STYLES)],
        "linewidth": 1.4,
        "clip_on": False,
    }


def _level(axes: Axes, elo: float, height: float) -> float:
    """How far below the top of the axes a rating is, in units."""
    low, high = axes.get_ylim()
    return height * (high - elo) / (high - low)


def _apart(levels: Sequence[float], height: float) -> list[float]:
    """About these levels, downwards, but a row apart and within the height."""
    apart: list[float] = []
    for level in levels:
        apart.append(max(level, apart[-1] + _ROW) if apart else max(level, _ROW / 2))
    lowest = height + _ROW / 2
    for place in reversed(range(len(apart))):
        lowest = apart[place] = min(apart[place], lowest - _ROW)
    return apart


def _name_line(axes: Axes, place: int, course: Course, level: float) -> None:
    """A name at the right, ``level`` of the height below the top, and a thin line to the end of its own."""
    axes.annotate(
        "?",
        course.points[-1],
        (1 + 18 / (_WIDTH - _NAME_WIDTH - 60), 1 - level),
        textcoords="axes fraction",
        verticalalignment="center",
        gid=f"name-{place}",
        arrowprops={"arrowstyle": "-", "shrinkA": 0, "shrinkB": 0, "relpos": (0, 0.5), "linewidth": 0.6}
        | {"color": _COLOURS[place % SERIES]},
        annotation_clip=False,
    )


# --- for the page -----------------------------------------------------------------------------------------------


def _for_the_page(figure: Figure, names: Sequence[str], label: str) -> str:
    """The figure as an svg element of html, with the names at their places."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="svg", transparent=True, metadata=_NOTHING_ELSE)
    root = ElementTree.fromstring(buffer.getvalue())  # noqa: S314 - nothing from outside is in it yet
    wanted = {f"name-{place}": name for place, name in enumerate(names)}
    for element in list(root.iter()):
        _fit(element)
        if (name := wanted.get(element.attrib.get("id", ""))) is not None:
            _put_name(element, printable(name))
    _forget_ids(root)
    root.attrib = {"viewBox": root.attrib["viewBox"], "role": "img", "aria-label": printable(label)}
    return ElementTree.tostring(root, encoding="unicode")


def _fit(element: ElementTree.Element) -> None:
    """Without namespaces, fonts and paints of its own."""
    element.tag = element.tag.rpartition("}")[2]
    element.attrib = {name.rpartition("}")[2]: value for name, value in element.attrib.items()}
    if "style" in element.attrib:
        style = re.sub("font-family: [^;]*; ?", "", element.attrib["style"])
        element.attrib["style"] = _DIGITS.sub(lambda found: _PAINTS[int(found[1], 16) - 1], style)
    for child in [child for child in element if child.tag.endswith("}style")]:
        element.remove(child)  # it would be for the whole page


def _put_name(group: ElementTree.Element, name: str) -> None:
    (text,) = (element for element in group.iter() if element.tag.rpartition("}")[2] == "text")
    text.text = name if cell_len(name) <= _NAME_CELLS else f"{set_cell_size(name, _NAME_CELLS - 1).rstrip()}…"


def _forget_ids(root: ElementTree.Element) -> None:
    """Only what is used by its id keeps it: matplotlib gives the others in every figure alike."""
    used = {element.attrib["href"][1:] for element in root.iter("use")}
    for element in root.iter():
        if element.attrib.get("id") not in used:
            element.attrib.pop("id", None)
