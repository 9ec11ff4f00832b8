"""A board as SVG: a self-contained picture for reports, replays and pages.

A square has 100×100 units, and square (0, 0) has its upper left corner at (0, 0). The picture is one ``<g>`` for
each layer, drawn in this order:

- ``gs-squares``: the ground, one ``<rect>``, and the lines between the squares, one ``<path>``;
- ``gs-regions``: a ``<rect>`` for each square of a region;
- ``gs-pieces``: for each piece ``<g class="gs-piece gs-COLOUR" transform="translate(X Y)">`` with the shape's
  ``<path>`` and, if the piece has a label, a ``<text>``;
- ``gs-marks``: a ``<rect>`` frame with ``gs-arrived``, ``gs-changed`` or ``gs-fault`` around each marked square,
  and a ``<polyline class="gs-path">`` through the squares of a path;
- ``gs-labels``: the numbers of the columns above the board and of the rows at its left.

All colours are CSS variables; `svg_style` defines them for light and dark. The web page's JavaScript makes the same
elements from the JSON of `getstep_engines.look_json`, and in a replay two more layers with what a bot has drawn:
``gs-areas`` below the pieces and ``gs-notes`` above the marks. Each drawing is ``<g class="gs-note gs-COLOUR">``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from html import escape

from getstep.text import escape_control_chars
from getstep_engines import Look, Piece
from getstep_engines.look import PALETTE, SHAPES, THEMES, Paint, Theme

from .picture import Mark, Picture, describe

UNIT = 100
"""Units of a square's side."""

_MARGIN = 60
_MARK_CLASSES = {Mark.ARRIVED: "gs-arrived", Mark.CHANGED: "gs-changed", Mark.FAULT: "gs-fault"}

_RULES = """\
.gs-board{background:var(--gs-ground);font:600 42px system-ui,sans-serif;text-anchor:middle}
.gs-squares rect{fill:var(--gs-ground)}
.gs-squares path{stroke:var(--gs-line);stroke-width:3;fill:none}
.gs-regions rect{fill:var(--gs-text);fill-opacity:.13}
.gs-piece path{stroke-width:5;stroke-linejoin:round}
.gs-marks{fill:none;stroke:var(--gs-mark);stroke-width:8;stroke-linejoin:round}
.gs-changed{stroke-dasharray:14 10;stroke-width:5}
.gs-fault{stroke:var(--gs-fault);stroke-dasharray:none}
.gs-path{stroke-opacity:.7;stroke-width:6}
.gs-areas .gs-note path{stroke:none;fill-opacity:.35}
.gs-note path{stroke-width:4;stroke-linejoin:round}
.gs-note .gs-shaft,.gs-note .gs-core{fill:none;stroke-width:13;stroke-linecap:round}
.gs-note .gs-core{stroke-width:7}
.gs-labels{fill:var(--gs-text);font-weight:400;font-size:34px}
"""


def draw_svg(picture: Picture, *, title: str, style: bool = True) -> str:
    """Return an ``<svg>`` element with the board.

    Args:
        picture: the board and its marks.
        title: what the picture shows, such as ``"Ada against Bo, after move 12"``; any text.
        style: include `svg_style`. A page with several boards, or with a Content-Security-Policy that forbids
            inline styles, has it once in its own style sheet.
    """
    rows, columns = len(picture.board), picture.columns
    width, height = UNIT * columns + _MARGIN + 10, UNIT * rows + _MARGIN + 10
    name = _text(title)
    layers = {
        "squares": _squares(rows, columns),
        "regions": _regions(picture),
        "pieces": _pieces(picture),
        "marks": _marks(picture),
        "labels": _labels(rows, columns),
    }
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="gs-board" role="img"'
            f' aria-label="{name}: {_text(describe(picture))}" viewBox="{-_MARGIN} {-_MARGIN} {width} {height}">',
            f"<title>{name}</title>",
            *([f"<style>\n{svg_style(picture.look)}</style>"] if style else []),
            *(f'<g class="gs-{layer}">{"".join(parts)}</g>' for layer, parts in layers.items()),
            "</svg>",
        ]
    )


def svg_style(*looks: Look) -> str:
    """Return the style sheet for boards of these looks, or of any look, light and dark.

    The colours follow the reader's system; an element around a board with ``data-theme="light"`` or ``"dark"``
    decides otherwise. Paper is light.
    """
    used = dict.fromkeys(colour for look in looks for colour in _colours(look)) if looks else PALETTE
    light = _variables(THEMES["light"], {name: PALETTE[name].light for name in used})
    dark = _variables(THEMES["dark"], {name: PALETTE[name].dark for name in used})
    return "".join(
        [
            f".gs-board{{{light}}}\n",
            "@media screen and (prefers-color-scheme:dark){",
            f'.gs-board:not([data-theme="light"] .gs-board){{{dark}}}}}\n',
            f'@media screen{{[data-theme="dark"] .gs-board{{{dark}}}}}\n',
            _RULES,
            *(
                f".gs-{name} path{{fill:var(--gs-{name}-fill);stroke:var(--gs-{name}-line)}}"
                f".gs-{name} text{{fill:var(--gs-{name}-ink)}}.gs-{name} .gs-core{{stroke:var(--gs-{name}-fill)}}\n"
                for name in used
            ),
        ]
    )


def _colours(look: Look) -> Iterator[str]:
    yield from look.colours
    yield "grey"  # of a value without a piece
    yield from (look.colour(piece) for piece in look.pieces.values())


def _variables(theme: Theme, paints: dict[str, Paint]) -> str:
    variables = {part.name: getattr(theme, part.name) for part in fields(theme)}
    for name, paint in paints.items():
        variables |= {f"{name}-{part.name}": getattr(paint, part.name) for part in fields(paint)}
    return "".join(f"--gs-{name}:{value};" for name, value in variables.items())


# --- the layers -------------------------------------------------------------------------------------------------


def _squares(rows: int, columns: int) -> Iterator[str]:
    width, height = UNIT * columns, UNIT * rows
    across = "".join(f"M0 {UNIT * n}H{width}" for n in range(rows + 1))
    down = "".join(f"M{UNIT * n} 0V{height}" for n in range(columns + 1))
    yield f'<rect width="{width}" height="{height}"/><path d="{across}{down}"/>'


def _regions(picture: Picture) -> Iterator[str]:
    for at, _ in (cell for _, row in picture.rows() for cell in row):
        if at in picture.shaded:
            yield f'<rect x="{UNIT * at[1]}" y="{UNIT * at[0]}" width="{UNIT}" height="{UNIT}"/>'


def _pieces(picture: Picture) -> Iterator[str]:
    for at, piece in (cell for _, row in picture.rows() for cell in row):
        if piece is not None:
            yield _piece(picture.look, at, piece)


def _piece(look: Look, at: tuple[int, int], piece: Piece) -> str:
    label = f'<text x="50" y="50" dy=".35em">{_text(piece.label)}</text>' if piece.label else ""
    return (
        f'<g class="gs-piece gs-{look.colour(piece)}" transform="translate({UNIT * at[1]} {UNIT * at[0]})">'
        f'<path d="{SHAPES[piece.shape]}"/>{label}</g>'
    )


def _marks(picture: Picture) -> Iterator[str]:
    for (row, column), mark in sorted(picture.marks.items()):
        x, y = UNIT * column + 5, UNIT * row + 5
        yield f'<rect class="{_MARK_CLASSES[mark]}" x="{x}" y="{y}" width="90" height="90"/>'
    if len(picture.touched.path) > 1:
        middle = (f"{UNIT * column + 50},{UNIT * row + 50}" for row, column in picture.touched.path)
        yield f'<polyline class="gs-path" points="{" ".join(middle)}"/>'


def _labels(rows: int, columns: int) -> Iterator[str]:
    for column in range(columns):
        yield f'<text x="{UNIT * column + 50}" y="-18">{column}</text>'
    for row in range(rows):
        yield f'<text x="-30" y="{UNIT * row + 50}" dy=".35em">{row}</text>'


def _text(text: str) -> str:
    """Return any text as it may stand in an element or an attribute; XML allows no control characters."""
    return escape(escape_control_chars(text), quote=True)
