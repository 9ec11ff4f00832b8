"""Numbers for moves: the actions of a learning program.

A learning program chooses a number below a fixed limit. `actions_of` returns the numbering of a game:

- A game whose moves name one square has ``row * size + column``.
- `linkage` has 84 places for each colour, in the order R, B, G, Y: ``84 * colour + place``. Places 0 to 41 are
  horizontal, ``6 * row + column`` of the left square. Places 42 to 83 are vertical, ``42 + 7 * row + column`` of
  the upper square.
- `hop` has ``8 * (8 * row + column) + way`` for a piece on ``(row, column)``. Ways 0 to 3 are steps up, left,
  right and down; 4 to 7 are hops in the same order. After a hop the same player chooses again: the next hop of
  that piece, or 512, which ends the move. The move ends automatically if the piece cannot hop on. So every legal
  path can be played with 513 numbers; a number for each path would need far more.
- Any other game without paths has one number for each combination of the items of its `MoveForm`, the last item
  counting fastest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise, product
from typing import Protocol, TypeAlias

from getstep_engines import Game, Move, MoveForm, State, hop, linkage

Square: TypeAlias = tuple[int, int]
Path: TypeAlias = tuple[Square, ...]
"""The squares of an unfinished move; empty at the beginning of a turn."""

HOP_WAYS: tuple[Square, ...] = ((-1, 0), (0, -1), (0, 1), (1, 0))
HOP_END = 8 * hop.SIZE**2
_WAY = {
    (length * down, length * right): way for way, (length, (down, right)) in enumerate(product((1, 2), HOP_WAYS))
}


class Actions(Protocol):
    """The numbering of the moves of one game."""

    count: int
    end: int | None
    """The action that ends a move of several actions; None if each move is one action."""

    def legal(self, state: State, path: Path) -> list[int]:
        """Return the legal actions of the player on turn, after the actions that made ``path``."""

    def choose(self, state: State, path: Path, action: int) -> tuple[Path, Move | None]:
        """Return the path after a legal ``action``, and the move if ``action`` completes it, else None."""

    def numbers(self, move: Move) -> list[int]:
        """Return the actions that play ``move``, in lists or tuples, in order.

        The last one is `end` after hops, also if the rules end the move there without it.

        Raises:
            ValueError: ``move``, which may be any object, is not a move of this game.
        """


class MoveTable:
    """A numbering with one action for each move of a list. ``others`` are other forms of moves, with numbers."""

    end: int | None = None

    def __init__(self, moves: Sequence[Move], others: Mapping[Move, int] | None = None) -> None:
        self.count = len(moves)
        self._moves = moves
        self._numbers = {move: number for number, move in enumerate(moves)} | dict(others or {})

    def legal(self, state: State, path: Path) -> list[int]:  # noqa: ARG002 - a move is one action
        return [self._numbers[move] for move in state.legal_moves()]

    def choose(self, state: State, path: Path, action: int) -> tuple[Path, Move | None]:  # noqa: ARG002 - as above
        return (), self._moves[action]

    def numbers(self, move: Move) -> list[int]:
        try:
            return [self._numbers[tuple([tuple(item) if type(item) is list else item for item in move])]]
        except (KeyError, TypeError):
            raise ValueError(f"{move!r:.80} is not a move of this game") from None


class HopActions:
    """The numbering of `hop`: a step or one hop at a time, and an action that ends a sequence of hops."""

    count = HOP_END + 1
    end: int | None = HOP_END

    def legal(self, state: State, path: Path) -> list[int]:
        if path:
            return [*self._legal_from(state, path, ways=range(4, 8)), HOP_END]
        own = state.to_move + 1
        pieces = [(r, c) for r, row in enumerate(state.board()) for c, cell in enumerate(row) if cell == own]
        return [action for at in pieces for action in self._legal_from(state, (at,), ways=range(8))]

    def choose(self, state: State, path: Path, action: int) -> tuple[Path, Move | None]:
        if action == HOP_END:
            return (), list(path)
        number, way = divmod(action, 8)
        at = divmod(number, hop.SIZE)
        path = (*(path or (at,)), _reached(at, way))
        ends = way < 4 or not self._legal_from(state, path, ways=range(4, 8))
        return ((), list(path)) if ends else (path, None)

    def numbers(self, move: Move) -> list[int]:
        try:
            squares = [(row, column) for row, column in move]
            actions = [8 * (8 * r + c) + _WAY[r2 - r, c2 - c] for (r, c), (r2, c2) in pairwise(squares)]
        except (KeyError, TypeError, ValueError):
            actions = []
        if not actions or not all(0 <= action < HOP_END for action in actions):
            raise ValueError(f"{move!r:.80} is not a move of hop")
        return actions if actions[0] & 7 < 4 else [*actions, HOP_END]

    def _legal_from(self, state: State, path: Path, ways: range) -> list[int]:
        """Return the actions that continue ``path``, whose last square is where the piece stands."""
        row, column = path[-1]
        first = 8 * (row * hop.SIZE + column)
        return [first + way for way in ways if state.is_legal([*path, _reached(path[-1], way)])]


def _reached(at: Square, way: int) -> Square:
    down, right = HOP_WAYS[way % 4]
    distance = 2 if way >= 4 else 1
    return at[0] + distance * down, at[1] + distance * right


def _linkage(size: int) -> MoveTable:
    moves = _dominoes(size)
    turned = {(colour, second, first): number for number, (colour, first, second) in enumerate(moves)}
    return MoveTable(moves, turned)  # a domino is legal with its squares in either order


def _dominoes(size: int) -> list[Move]:
    rows, columns = range(size), range(size)
    across = [((r, c), (r, c + 1)) for r in rows for c in columns[:-1]]
    down = [((r, c), (r + 1, c)) for r in rows[:-1] for c in columns]
    return [(colour, *place) for colour in linkage.COLOURS for place in across + down]


def _combinations(form: MoveForm, size: int) -> list[Move]:
    squares = list(product(range(size), repeat=2))
    items: list[Sequence[object]] = [squares if part == "square" else part for part in form.parts]
    return squares if form.parts == ("square",) else list(product(*items))


_OWN: dict[str, Callable[[int], Actions]] = {
    "hop": lambda size: HopActions(),  # noqa: ARG005 - hop has one size
    "linkage": _linkage,
}


def side_of(game: Game, state: State) -> int:
    """Return the number of squares along a side of the board, which is square in all arrays for learning programs.

    Raises:
        ValueError: the board is not square.
    """
    board = state.board()
    if len(board) != len(board[0]):
        raise ValueError(f"{game.name}: the board is {len(board)}×{len(board[0])}; expected a square one")
    return len(board)


def actions_of(game: Game, size: int) -> Actions:
    """Return the numbering of the moves of ``game`` on a board of ``size`` × ``size`` squares.

    Raises:
        ValueError: the game is from another package, and its moves cannot be numbered by their form.
    """
    if game.name in _OWN:
        return _OWN[game.name](size)
    if not game.move_form.parts or {"path", "text"} & set(game.move_form.parts):
        raise ValueError(
            f"{game.name}: the moves have no numbers (form {game.move_form.text!r});"
            " expected a move_form of squares and words"
        )
    return MoveTable(_combinations(game.move_form, size))
