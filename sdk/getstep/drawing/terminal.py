"""A board for a terminal: coloured glyphs on a ground of its own, readable on any background of the terminal.

A piece whose fill has little contrast to the ground is drawn hollow, in the colour of its outline. A black stone on
a dark board is a light circle, and a white one a light disc. On a light board it is the other way round.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Literal

from getstep_engines import Look, Piece
from getstep_engines.look import PALETTE, THEMES, Paint, Theme

from .picture import Mark, Picture
from .text import FRAMES, draw_text

ColourDepth = Literal["none", "256", "true"]
ThemeName = Literal["light", "dark"]

GLYPHS: Mapping[str, tuple[str, str]] = {
    "disc": ("●", "○"),
    "ring": ("◉", "◎"),
    "square": ("■", "□"),
    "diamond": ("◆", "◇"),
    "triangle": ("▲", "△"),
    "cross": ("✖", "✕"),
    "dot": ("•", "•"),
    "blank": (" ", " "),
}
"""For each shape its filled and its hollow glyph. The other shapes fill their square with the colour."""

_EMPTY = "·"  # quiet, so that squares can be counted
_RESET, _BOLD = "\x1b[0m", "\x1b[1m"
_SHADE = 0.22  # of the labels' colour in the ground of a region: seen in both themes, and no piece loses contrast
_READABLE = 3.0  # WCAG 2's contrast for graphics


def colour_depth(environ: Mapping[str, str], *, is_terminal: bool) -> ColourDepth:
    """Return how many colours to use, by ``NO_COLOR`` (https://no-color.org), ``COLORTERM`` and ``TERM``."""
    if not is_terminal or environ.get("NO_COLOR") or environ.get("TERM") == "dumb":
        return "none"
    if environ.get("COLORTERM") in ("truecolor", "24bit") or environ.get("WT_SESSION"):
        return "true"
    return "256"


def theme_name(environ: Mapping[str, str]) -> ThemeName:
    """Return ``"light"`` if ``COLORFGBG``, which some terminals set, names a light background."""
    background = environ.get("COLORFGBG", "").rpartition(";")[2]
    return "light" if background in ("7", "15") else "dark"


def can_show_glyphs(encoding: str | None) -> bool:
    """Return True if an output stream with this encoding can show all glyphs."""
    try:
        "".join([_EMPTY, *(glyph for pair in GLYPHS.values() for glyph in pair)]).encode(encoding or "ascii")
    except (LookupError, UnicodeEncodeError):
        return False
    return True


def draw_terminal(
    picture: Picture, *, depth: ColourDepth = "true", theme: ThemeName = "dark", glyphs: bool = True
) -> str:
    """Return the board for a terminal, a line for each row.

    Without colours it is `draw_text`. The marks are those of `draw_text`, coloured. ``glyphs`` is False if the
    terminal can show only ASCII: then pieces are letters.
    """
    if depth == "none":
        return draw_text(picture)
    return "\n".join(_Painter(picture, depth, THEMES[theme], dark=theme == "dark", glyphs=glyphs).lines())


class _Painter:
    def __init__(self, picture: Picture, depth: ColourDepth, theme: Theme, *, dark: bool, glyphs: bool) -> None:
        self._picture = picture
        self._depth = depth
        self._theme = theme
        self._dark = dark
        self._glyphs = glyphs
        self._width = max((len(self._content(piece)) for piece in picture.look.pieces.values()), default=1)

    def lines(self) -> Iterator[str]:
        """Yield the line of the column numbers, then a line for each row."""
        width = self._width + 2
        yield "    " + "".join(f"{column:^{width}}" for column in range(self._picture.columns)).rstrip()
        for number, row in self._picture.rows():
            yield f"{number:>2}  {''.join(self._cell(at, piece) for at, piece in row)}{_RESET}"

    def _cell(self, at: tuple[int, int], piece: Piece | None) -> str:
        ground = self._theme.ground
        if at in self._picture.shaded:
            ground = mix(ground, self._theme.text, _SHADE)
        text, ink = _EMPTY if self._glyphs else ".", self._theme.line
        if piece is not None:
            text, (ink, ground) = self._content(piece), self._colours(piece, ground)
        mark = self._picture.marks.get(at)
        before, after = FRAMES[mark]
        frame = ink
        if mark is not None:
            wanted = self._theme.fault if mark is Mark.FAULT else self._theme.mark
            frame = wanted if contrast(wanted, ground) >= _READABLE else ink
        framed = f"{_BOLD if mark else ''}{self._paint(frame, ground)}"
        return f"{_RESET}{framed}{before}{self._paint(ink, ground)}{text:<{self._width}}{framed}{after}"

    def _content(self, piece: Piece) -> str:
        if not self._glyphs:
            return piece.text
        if piece.shape not in GLYPHS:
            return piece.label or " "
        hollow = self._is_hollow(paint_of(self._picture.look, piece, dark=self._dark))
        return GLYPHS[piece.shape][hollow] + piece.label

    def _colours(self, piece: Piece, ground: str) -> tuple[str, str]:
        """Return the colours of a piece's text and of the ground below it."""
        paint = paint_of(self._picture.look, piece, dark=self._dark)
        if piece.shape not in GLYPHS:
            return paint.ink, paint.fill
        return (paint.line if self._is_hollow(paint) else paint.fill), ground

    def _is_hollow(self, paint: Paint) -> bool:
        return contrast(paint.fill, self._theme.ground) < _READABLE

    def _paint(self, ink: str, ground: str) -> str:
        if self._depth == "true":
            return "\x1b[38;2;{};{};{};48;2;{};{};{}m".format(*rgb(ink), *rgb(ground))
        return f"\x1b[38;5;{nearest_256(ink)};48;5;{nearest_256(ground)}m"


def paint_of(look: Look, piece: Piece, *, dark: bool) -> Paint:
    """Return the paint of a piece in a theme."""
    colour = PALETTE[look.colour(piece)]
    return colour.dark if dark else colour.light


# --- colours ----------------------------------------------------------------------------------------------------


@cache
def rgb(colour: str) -> tuple[int, int, int]:
    """Return red, green and blue of ``#rrggbb``."""
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


@cache
def mix(one: str, other: str, part: float) -> str:
    """Return ``one`` with a ``part`` of ``other`` in it."""
    mixed = (round(a + (b - a) * part) for a, b in zip(rgb(one), rgb(other), strict=True))
    return "#" + "".join(f"{level:02x}" for level in mixed)


@cache
def contrast(one: str, other: str) -> float:
    """Return the contrast ratio of two colours by WCAG 2, from 1 to 21."""
    lights = sorted((_luminance(one), _luminance(other)))
    return (lights[1] + 0.05) / (lights[0] + 0.05)


def _luminance(colour: str) -> float:
    levels = [level / 255 for level in rgb(colour)]
    red, green, blue = (x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in levels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


_LEVELS = (0, 95, 135, 175, 215, 255)  # of the colour cube that all 256-colour terminals have


@cache
def nearest_256(colour: str) -> int:
    """Return the number of the nearest colour of the 6×6×6 cube or the grey ramp of a 256-colour terminal."""
    wanted = rgb(colour)
    cube = [
        (16 + 36 * r + 6 * g + b, (_LEVELS[r], _LEVELS[g], _LEVELS[b]))
        for r in range(6)
        for g in range(6)
        for b in range(6)
    ]
    greys = [(232 + n, (8 + 10 * n,) * 3) for n in range(24)]
    number, _ = min(
        [*cube, *greys], key=lambda entry: sum((a - b) ** 2 for a, b in zip(entry[1], wanted, strict=True))
    )
    return number
