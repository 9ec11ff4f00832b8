"""Longest Path: build the most stretched groups, as in the Prodrive Dev Challenge of 2019.

- **Game.** Longest Path (Prodrive Dev Challenge 2019), Player 1 against Player 2.
- **Idea.** The players fill the board, a piece at a time. The player with the longest group wins.
- **Board.** 11×11, empty at the start. A cell is 0 if empty, 1 for a piece of Player 1, 2 for one of Player 2.
- **Move.** `(row, column)`: the square for a new piece, for example `(5, 5)`.
- **Legal** is every empty square.
- **What happens.** The piece is placed. Pieces never move and never disappear.
- **End.** When the last of the 121 squares is filled.
- **Score and winner.** Between any two pieces of a group there is a shortest path through the group. The
  *length* of the group is the number of pieces on the longest of these shortest paths (its diameter plus one).
  A row of five has length 5, a block of 2×2 only 3: two corners and one piece between them. A player's score
  counts its groups by length, from length 1 up: `1-1-0-1` is one group of length 1, one of length 2, none of 3,
  one of 4. Player 2, who moves second, also gets a *bonus group*, one shorter than its longest group; if the
  longest has length 1, there is no bonus. To compare two scores, begin at the greatest length in either score
  and go down. At the first length where the counts differ, the higher count wins. If they do not differ at any
  length, the game is a draw.
- **Time.** 3 s a move.
- **Faults.** An illegal move or a missed limit: the player loses the game. The scores count the pieces on the
  board at that moment. **Decision:** the original leaves open what an illegal move costs; here it loses, as a
  missed limit does.
- **Example.** The last move of a game. Both players have five groups of length 11. One of Player 2's has 16
  pieces, but no two of them are more than ten steps apart. The bonus group of Player 2 has length 10, Player 1
  has none of that length.

```text
Player 1 to move      | illegal: (0, 0)     # occupied
1 1 1 1 1 1 1 1 1 1 1 | illegal: (11, 0)    # not on the board
2 2 2 2 2 2 2 2 2 2 2 | Player 1 plays (10, 10)
1 1 1 1 1 1 1 1 1 1 1 | Player 2 wins: (6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5) and (0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 5)
2 2 2 2 2 2 2 2 2 2 2 |
1 1 1 1 1 1 1 1 1 1 1 |
2 2 2 2 2 2 2 2 2 2 2 |
1 1 1 1 1 1 1 1 1 1 1 |
2 2 2 2 2 2 2 2 2 2 2 |
1 1 1 1 1 1 1 1 1 1 1 |
2 2 2 2 2 2 2 2 2 2 2 |
1 2 1 2 1 2 1 2 1 2 0 |
```
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from ._bits import neighbours, read_board
from ._filling import FillingState
from ._game import SQUARE, Game, Outcome, Player, Starter, TimeControl
from .look import Look, Piece

SIZE = 11
PLAYERS = ("Player 1", "Player 2")

Counts: TypeAlias = tuple[int, ...]
"""The number of groups of length 1, 2, … up to the longest length."""

_STRIDE = SIZE + 1
_LANE = _STRIDE * _STRIDE  # a board and one guard row: boards side by side in one integer are not adjacent
_OTHER: tuple[Player, Player] = (1, 0)


class LongestPathState(FillingState):
    """A position on the 11×11 board."""

    __slots__ = ()

    def fault(self) -> None:
        """End the game; the player on turn loses."""
        self._expect_running()
        winner = _OTHER[self.to_move]
        reason = f"{PLAYERS[self.to_move]} made a fault"
        self.outcome = Outcome(winner, score(*self.pieces), reason)

    def _measures(self) -> tuple[float, float]:
        """Return the lengths of the players' longest groups, and a tenth for each square that makes one longer."""
        first, second = (_promise(pieces, self.empty) for pieces in self.pieces)
        return first, second

    def _result(self) -> Outcome:
        first, second = score(*self.pieces)
        if first == second:
            return Outcome(None, (first, second), "both players have the same groups")
        # The longer of two counts has the longer group; between equal ones the last entries weigh most.
        winner: Player = 0 if (len(first), first[::-1]) > (len(second), second[::-1]) else 1
        reason = f"{PLAYERS[winner]} has more groups of length {_decisive_length(first, second)}"
        return Outcome(winner, (first, second), reason)

    def __str__(self) -> str:
        return "\n".join(" ".join(".12"[cell] for cell in row) for row in self.board())


def score(first: int, second: int) -> tuple[Counts, Counts]:
    """Return both players' groups per length, Player 2's bonus group included.

    Args:
        first: Player 1's pieces as bits, see ``_bits``; ``second``: Player 2's. Other squares are empty.
    """
    counts = count_lengths(second)
    if len(counts) > 1:
        bonus = len(counts) - 2
        counts = (*counts[:bonus], counts[bonus] + 1, counts[-1])
    return count_lengths(first), counts


def count_lengths(pieces: int) -> Counts:
    """Return the number of groups of each length in ``pieces``, from length 1 up, without trailing zeros."""
    lengths = _lengths(pieces)
    return tuple([lengths.count(length) for length in range(1, max(lengths, default=0) + 1)])


def _lengths(pieces: int) -> list[int]:
    singles = pieces & ~neighbours(pieces, _STRIDE)
    lengths = [1] * singles.bit_count()
    rest = pieces ^ singles
    while rest:
        layers = _layers(rest & -rest, rest)
        group = sum(layers)
        rest ^= group
        lengths.append(_length(group, layers[-1]))
    return lengths


def _promise(pieces: int, empty: int) -> float:
    """Return the length of the longest group, and a tenth for each empty square at an end of such a group.

    The length is that of a path found by two searches, which is nearly always the longest one. A square next to
    another piece of the group than the ends does not count: it makes a shortcut.
    """
    longest, open_ends = 0, 0
    rest = pieces
    while rest:
        layers = _layers(rest & -rest, rest)
        group = sum(layers)
        rest ^= group
        other_end = layers[-1]
        layers = _layers(other_end & -other_end, group)
        if len(layers) >= longest:
            ends = other_end | layers[-1]
            beside = neighbours(ends, _STRIDE) & empty & ~neighbours(group ^ ends, _STRIDE)
            open_ends = beside if len(layers) > longest else open_ends | beside
            longest = len(layers)
    return longest + open_ends.bit_count() / 10


def _layers(source: int, within: int) -> list[int]:
    """Return the squares of ``within`` by their distance from the square ``source``: a breadth-first search."""
    layers = []
    front = source
    while front:
        within ^= front
        layers.append(front)
        front = (front << 1 | front >> 1 | front << _STRIDE | front >> _STRIDE) & within
    return layers


def _length(group: int, farthest: int) -> int:
    """Return the number of pieces on the longest shortest path of ``group``: its diameter plus one.

    ``farthest`` are the squares farthest from some square of the group. A search from one of them finds a longest
    path in every tree, and nearly always in other groups. The rest of the function proves that the path is a
    longest one, or finds a longer one.
    """
    size = group.bit_count()
    if size < 4:
        return size
    layers = _layers(farthest & -farthest, group)
    edges = (group & group << 1).bit_count() + (group & group << _STRIDE).bit_count()
    if edges == size - 1 or len(layers) >= size - 1:  # a tree, or the longest path of a group with a cycle
        return len(layers)
    # Two squares within half the path's length of its middle are not farther apart than the ends of the path. So
    # a longer path has an end outside that ball, and only those squares are searched from.
    radius = (len(layers) - 1) // 2
    ball = _at_distance(radius, layers)
    for _ in range(radius):
        ball = (ball | neighbours(ball, _STRIDE)) & group
    outside = group ^ ball
    return max(len(layers), _greatest_distance(outside, group) + 1) if outside else len(layers)


def _at_distance(distance: int, layers: list[int]) -> int:
    """Return a square at ``distance`` from the source of ``layers``, on a shortest path to a farthest square."""
    path = layers[-1] & -layers[-1]
    for layer in reversed(layers[distance:-1]):
        path = neighbours(path, _STRIDE) & layer
    return path & -path


def _greatest_distance(sources: int, group: int) -> int:
    """Return the greatest distance from any of ``sources`` to any square of ``group``.

    All searches run at once: each source has its own copy of the board (a lane) in one integer.
    """
    reached = goal = 0
    lane = 0
    while sources:
        source = sources & -sources
        sources ^= source
        reached |= source << lane
        goal |= group << lane
        lane += _LANE
    distance = 0
    while reached != goal:
        reached = (reached | neighbours(reached, _STRIDE)) & goal
        distance += 1
    return distance


def _decisive_length(first: Counts, second: Counts) -> int:
    """Return the greatest length at which two different counts differ."""
    if len(first) != len(second):
        return max(len(first), len(second))
    return max(length for length, pair in enumerate(zip(first, second, strict=True), 1) if pair[0] != pair[1])


def _from_board(board: Sequence[Sequence[int]], to_move: Player) -> LongestPathState:
    return LongestPathState(SIZE, read_board(board, SIZE), to_move)


def _start() -> LongestPathState:
    return LongestPathState(SIZE, (0, 0), 0)


_LOOK = Look(
    pieces={
        1: Piece("piece of Player 1", "disc", 0, "1", "1"),
        2: Piece("piece of Player 2", "diamond", 1, "2", "2"),
    },
    score="longest group: Player 1 {0}, Player 2 {1}",
    measures=lambda state: (len(count_lengths(state.pieces[0])), len(count_lengths(state.pieces[1]))),
)

LONGEST_PATH = Game(
    name="longest_path",
    title="Longest Path (Prodrive Dev Challenge 2019)",
    players=PLAYERS,
    time_control=TimeControl("move", 3.0),
    penalty="the player loses the game",
    look=_LOOK,
    summary="fill 11x11, the longest shortest path counts",
    rules=__doc__ or "",
    move_form=SQUARE,
    starter=Starter(
        "Both players fill the board in turn. The length of a group of yours is the number of pieces on the longest"
        " of the shortest ways through it. The longest group decides; if those are equal, the next longer ones.",
        "0 for empty, 1 for the first player, 2 for the second",
        (
            "A path grows at its ends: a square with exactly one piece of yours next to it makes it longer.",
            "A square that joins two long groups is worth more, to both players.",
        ),
    ),
    _start=_start,
    _from_board=_from_board,
)
