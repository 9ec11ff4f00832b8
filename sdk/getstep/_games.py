"""What the client knows of each game: names, what a move looks like, a board to try a bot on. No rules."""

from __future__ import annotations

from dataclasses import dataclass

from .wire import MAX_ARRAY

Board = list[list[int]]


@dataclass(frozen=True)
class GameInfo:
    """A game for people. ``move`` is the form of a move that ``get_step`` returns, with an example."""

    title: str
    move: str


_SQUARE = "(row, column), for example (3, 4)"

GAMES: dict[str, GameInfo] = {
    "longest_path": GameInfo("fill 11x11, the longest shortest path counts", _SQUARE),
    "chain_reaction": GameInfo("orbs that explode on 8x8", _SQUARE),
    "pseudo_tonga": GameInfo("fill the board, big islands count", _SQUARE),
    "hop": GameInfo(
        "cross 8x8 by hopping over pieces",
        "a list of squares, the piece's own first, for example [(2, 2), (2, 3)]",
    ),
    "linkage": GameInfo(
        "coloured dominoes on 7x7, many groups or few",
        '(colour, square, square), for example ("R", (0, 0), (0, 1))',
    ),
}

_UNKNOWN = GameInfo("a game newer than this getstep", "as the contest's rules say")

_HOP = (
    "1.......",
    ".1.....2",
    "1.1...2.",
    ".1...2.2",
    "1.1...2.",
    ".1...2.2",
    "1.....2.",
    ".......2",
)


def info(game: str) -> GameInfo:
    """What is known of ``game``, whether or not this version has heard of it."""
    return GAMES.get(game, _UNKNOWN)


def start_board(game: str, options: dict[str, int]) -> Board | None:
    """The board the first player sees first; None for a game this version does not know."""
    if game == "hop":
        return [[0 if cell == "." else int(cell) for cell in row] for row in _HOP]
    sizes = {"longest_path": 11, "chain_reaction": 8, "pseudo_tonga": options.get("size", 8), "linkage": 7}
    size = sizes.get(game, 0)
    if size not in range(1, MAX_ARRAY + 1):
        return None
    board = [[0] * size for _ in range(size)]
    if game == "linkage":
        board[3][3] = -1  # blocked
    return board
