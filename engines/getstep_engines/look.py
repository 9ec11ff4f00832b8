"""The look of a game: data from which every renderer draws a board, without knowing the game.

A game puts a `Look` into its `Game`; a game without one is drawn by `DEFAULT_LOOK`. The renderers are in the
contestants' package (`getstep.drawing`: plain text, terminal, SVG), and in the page's JavaScript, which draws from
`look_json` and `trace_json`. No renderer has a list of games, shapes or colours of its own: they are all here.

Boards here are *absolute*: the values as the first player gets them, also on the other player's turn. Rows and
columns count from 0, as in the callback ``get_step``. A square is ``(row, column)``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from .value import Value

__all__ = [
    "DEFAULT_LOOK",
    "MOST_STEPS",
    "PALETTE",
    "SHAPES",
    "THEMES",
    "Colour",
    "Look",
    "Paint",
    "Piece",
    "Region",
    "Square",
    "Step",
    "Theme",
    "Touched",
    "coordinates",
]

Square: TypeAlias = tuple[int, int]
Board: TypeAlias = tuple[tuple[int, ...], ...]

MOST_STEPS = 32
"""Steps of one trace; further ones are merged into the last. Of 242,000 moves in random games of chain_reaction,
203 have more waves (one has 77), and a path may have 99 hops: nobody wants to watch more."""

_MOST_PIECES = 128  # different values on a board; linkage has 6, chain_reaction 14, text all characters of ASCII
_LONGEST_NAME = 60  # characters of a name or of the score line: a line of a phone at 360 pixels

# --- colours and shapes -----------------------------------------------------------------------------------------


class Paint(Value):
    """The three colours of a piece as ``#rrggbb``: ``fill`` inside, ``line`` around it, ``ink`` for its label.

    ``fill`` or ``line`` has a contrast of at least 3:1 to the ground of its theme, ``ink`` 4.5:1 to ``fill``.
    """

    fill: str
    line: str
    ink: str


class Colour(Value):
    """A colour of the palette: the paint on a light ground and the paint on a dark one."""

    light: Paint
    dark: Paint


_BLACK, _WHITE = "#1a1a1a", "#ffffff"

# The hues of Okabe and Ito, which colour-blind people can tell apart; but their red looks orange to others, so red
# is that of Tol's vibrant scheme. The bright ones have a dark line on a light ground, because their fill alone has
# a contrast of less than 3:1 to it.
PALETTE: Mapping[str, Colour] = {
    "black": Colour(Paint(_BLACK, _BLACK, _WHITE), Paint("#000000", "#d6d6d6", _WHITE)),
    "white": Colour(Paint(_WHITE, _BLACK, _BLACK), Paint("#f2f2f2", "#5b5f66", _BLACK)),
    "blue": Colour(Paint("#0072b2", "#004b75", _WHITE), Paint("#56b4e9", "#56b4e9", _BLACK)),
    "orange": Colour(Paint("#e69f00", "#7a5200", _BLACK), Paint("#e69f00", "#e69f00", _BLACK)),
    "red": Colour(Paint("#cc3311", "#85200b", _WHITE), Paint("#f05a3c", "#f05a3c", _BLACK)),
    "green": Colour(Paint("#009e73", "#00664a", _BLACK), Paint("#1fb889", "#1fb889", _BLACK)),
    "yellow": Colour(Paint("#f0e442", "#6e6700", _BLACK), Paint("#f0e442", "#f0e442", _BLACK)),
    "purple": Colour(Paint("#cc79a7", "#7d3a5e", _BLACK), Paint("#cc79a7", "#cc79a7", _BLACK)),
    "grey": Colour(Paint("#6b6b6b", "#6b6b6b", _WHITE), Paint("#9a9a9a", "#9a9a9a", _BLACK)),
}


class Theme(Value):
    """The colours of a board beside its pieces: ``ground`` below them, ``line`` between squares, ``text`` of the
    labels, ``mark`` around squares of the last move, ``fault`` around a square of an illegal move."""

    ground: str
    line: str
    text: str
    mark: str
    fault: str


THEMES: Mapping[Literal["light", "dark"], Theme] = {
    "light": Theme(ground="#f7f5ef", line="#c5bfb0", text="#4a4a4a", mark="#8a2c8f", fault="#b00020"),
    "dark": Theme(ground="#1b1d22", line="#43474f", text="#c8c8c8", mark="#e59be8", fault="#ff6b7d"),
}

_DISC = "M14 50a36 36 0 1 0 72 0a36 36 0 1 0-72 0Z"

SHAPES: Mapping[str, str] = {
    "disc": _DISC,
    "ring": f"{_DISC}M26 50a24 24 0 1 0 48 0a24 24 0 1 0-48 0Z",  # a filled disc with an inner circle
    "square": "M18 18h64v64h-64Z",
    "diamond": "M50 8L92 50L50 92L8 50Z",
    "triangle": "M50 10L92 84H8Z",
    "cross": "M28 14L50 36L72 14L86 28L64 50L86 72L72 86L50 64L28 86L14 72L36 50L14 28Z",
    "tile": "M5 5h90v90h-90Z",
    "block": "M0 0h100v100h-100Z",
    "dot": "M41 50a9 9 0 1 0 18 0a9 9 0 1 0-18 0Z",
    "blank": "M50 50Z",  # nothing: plain text may have a space there
}
"""The outline of each shape as SVG path data, in a square of 100×100 units with y downwards. Fill it by the rule
``nonzero``."""


def _check_text(name: str, value: object, shortest: int, longest: int) -> None:
    if not isinstance(value, str) or not shortest <= len(value) <= longest or not (value + "x").isprintable():
        raise ValueError(f"{name} is {value!r}; expected {shortest} to {longest} printable characters")


def _check_choice(name: str, value: object, choices: Iterable[object]) -> None:
    if value not in list(choices):
        raise ValueError(f"{name} is {value!r}; expected one of {', '.join(map(str, choices))}")


# --- what a game says -------------------------------------------------------------------------------------------


class Piece(Value):
    """A piece on a square.

    Args:
        name: for screen readers and legends, such as ``"black stone"`` or ``"3 orbs of Red"``.
        shape: one of `SHAPES`. The two players' pieces differ in shape, not in colour alone.
        player: the piece's owner, 0 or 1; None if it belongs to nobody.
        label: at most two characters drawn on the piece, such as a count.
        text: one or two characters for plain text.
        colour: one of `PALETTE`; None for the owner's colour, which needs an owner.

    Raises:
        ValueError: one of these is not of that form.
    """

    name: str
    shape: str
    player: Literal[0, 1] | None = None
    label: str = ""
    text: str = "?"
    colour: str | None = None

    def _check(self) -> None:
        _check_text("name", self.name, 1, _LONGEST_NAME)
        _check_text("label", self.label, 0, 2)
        _check_text("text", self.text, 1, 2)
        _check_choice("shape", self.shape, SHAPES)
        _check_choice("player", self.player, (0, 1, None))
        if self.colour is not None or self.player is None:
            _check_choice("colour", self.colour, PALETTE)


class Region(Value):
    """Squares that mean something to ``player``, or to both if it is None. They are drawn shaded."""

    name: str
    player: Literal[0, 1] | None
    squares: tuple[Square, ...]

    def _check(self) -> None:
        _check_text("name", self.name, 1, _LONGEST_NAME)
        _check_choice("player", self.player, (0, 1, None))


class Touched(Value):
    """The squares that a step concerns, by what happened on them. Any of these may be empty.

    Args:
        source: squares that a piece left.
        path: the squares of the moving piece, from the first to the last.
        to: squares on which a piece arrived or was placed.
        captured: squares whose piece was removed or changed its owner.
        exploded: squares whose content burst.
        blocked: squares that the next player may not use because of this move.
    """

    source: tuple[Square, ...] = ()
    path: tuple[Square, ...] = ()
    to: tuple[Square, ...] = ()
    captured: tuple[Square, ...] = ()
    exploded: tuple[Square, ...] = ()
    blocked: tuple[Square, ...] = ()


class Step(Value):
    """A part of a move that is animated by itself: the absolute board after it, and the squares it touched."""

    board: Board
    touched: Touched


def make_step(board: Iterable[Iterable[int]], **touched: Iterable[Square]) -> Step:
    """Return a step with the board as it is now, which may be changed afterwards."""
    return Step(freeze(board), Touched(**{name: tuple(squares) for name, squares in touched.items()}))


def freeze(board: Iterable[Iterable[int]]) -> Board:
    """Return a copy of the board that cannot change."""
    return tuple(tuple(row) for row in board)


_DEFAULT_PIECES: Mapping[int, Piece] = {
    1: Piece("piece of the first player", "disc", 0, label="1", text="1"),
    2: Piece("piece of the second player", "diamond", 1, label="2", text="2"),
    **{n: Piece(f"tile {n}", "tile", label=f"{n}", text=f"{n}", colour="grey") for n in range(3, 10)},
    **{-n: Piece(f"{n} of the second player", "diamond", 1, label=f"{n}", text=f"-{n}") for n in range(1, 10)},
}


class Look(Value):
    """The look of a game. The last four fields are functions; everything else is data that a browser can draw from.

    Args:
        pieces: the piece of each value of the absolute board. A value that is missing is an empty square if it
            is 0, and a grey tile with the value otherwise.
        colours: the two players' colours, names of `PALETTE`.
        regions: shaded squares.
        score: the score line; ``{0}`` and ``{1}`` stand for the numbers of ``measures``. Empty: no score line.
        measures: from a state, the two players' numbers for the score line.
        view: from a state, its absolute board, if ``state.board()`` depends on the player on turn.
        trace: from a state and a legal move, the steps of the move; the state is not changed. Without it, a
            move has one step, made from the difference of the boards before and after it.
        notation: from a legal move as the wire or ``legal_moves`` gives it, its text, if the game has a notation of
            its own.

    Raises:
        ValueError: a colour is not in the palette, or a limit is exceeded.
    """

    pieces: Mapping[int, Piece] = _DEFAULT_PIECES
    colours: tuple[str, str] = ("blue", "orange")
    regions: tuple[Region, ...] = ()
    score: str = ""
    measures: Callable[[Any], tuple[int, int]] | None = None
    view: Callable[[Any], list[list[int]]] | None = None
    trace: Callable[[Any, Any], Iterable[Step]] | None = None
    notation: Callable[[Any], str] | None = None

    def _check(self) -> None:
        for colour in self.colours:
            _check_choice("colour", colour, PALETTE)
        _check_text("score", self.score, 0, _LONGEST_NAME)
        if bool(self.score) != (self.measures is not None):
            raise ValueError(f"score is {self.score!r}; expected a text if there are measures, and none otherwise")
        if len(self.pieces) > _MOST_PIECES:
            raise ValueError(f"there are {len(self.pieces)} pieces; expected at most {_MOST_PIECES}")

    def piece(self, value: int) -> Piece | None:
        """Return the piece of a value of the absolute board; None for an empty square."""
        if value in self.pieces:
            return self.pieces[value]
        if value == 0:
            return None
        short = str(value)[:2]
        return Piece(f"value {value}"[:_LONGEST_NAME], "tile", label=short, text=short, colour="grey")

    def colour(self, piece: Piece) -> str:
        """Return the name of a piece's colour in `PALETTE`."""
        if piece.colour is not None:
            return piece.colour
        return self.colours[piece.player or 0]


DEFAULT_LOOK = Look()
"""The look of a game that says nothing: 1 is a disc of the first player, 2 and -n a diamond of the second."""


def coordinates(move: Any) -> str:
    """Return the text of a move by its coordinates: ``3,4`` for a square, ``2,2-2,4`` for a path.

    Words, such as the colour of a domino, stay as they are: ``R 0,0 0,1``.
    """
    if _is_square(move):
        return f"{move[0]},{move[1]}"
    if isinstance(move, (list, tuple)):
        if all(map(_is_square, move)):
            return "-".join([f"{row},{column}" for row, column in move])
        return " ".join(map(coordinates, move))
    return str(move)


def _is_square(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and len(value) == 2 and type(value[0]) is type(value[1]) is int


# --- traces -----------------------------------------------------------------------------------------------------


def difference(before: Sequence[Sequence[int]], after: Sequence[Sequence[int]]) -> Step:
    """Return the one step from ``before`` to ``after``: squares that became empty are left, others arrived at."""
    changed = [
        (r, c) for r, row in enumerate(after) for c, value in enumerate(row) if before[r][c] != value
    ]  # fmt: skip
    return make_step(
        after,
        source=[(r, c) for r, c in changed if after[r][c] == 0],
        to=[(r, c) for r, c in changed if after[r][c] != 0],
    )


def bounded(steps: Iterable[Step]) -> tuple[Step, ...]:
    """Return at most `MOST_STEPS` steps; the last one stands for all that follow."""
    every = tuple(steps)
    if len(every) <= MOST_STEPS:
        return every
    kept, rest = every[: MOST_STEPS - 1], every[MOST_STEPS - 1 :]
    merged = {
        name: tuple(dict.fromkeys(square for step in rest for square in getattr(step.touched, name)))
        for name in Touched.__match_args__
    }
    return (*kept, Step(every[-1].board, Touched(**merged)))
