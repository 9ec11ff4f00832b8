"""Longest Path: build the most stretched groups, as in the Prodrive Dev Challenge of 2019.

On 11×11, Player 1 first, each turn places one piece on any empty square, ``(row, column)``, until all 121
are filled. A *group* is a maximal orthogonally connected set of one player's pieces, and its *length* is the
number of pieces on the longest of all shortest paths inside the group: the group's diameter, plus one.

A player's result is the count of its groups per length, written ``1-1-0-1`` from length 1 up. Player 2 also
gets a *bonus group*, one shorter than its longest group (none if that would be 0). The results are compared
from the greatest length present in either downwards: the first length at which the counts differ decides
for the higher count, and without a difference the game is drawn. An illegal move or a missed limit loses the
game; the scores are then those of the pieces placed so far.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from ._bits import neighbours, read_board
from ._filling import FillingState
from ._game import Game, Outcome, Player, TimeControl

SIZE = 11
PLAYERS = ("Player 1", "Player 2")

Counts: TypeAlias = tuple[int, ...]
"""How many groups of length 1, 2, … up to the longest there is."""

_STRIDE = SIZE + 1
_LANE = _STRIDE * _STRIDE  # a board and one guard row: many boards side by side in one number do not touch
_OTHER: tuple[Player, Player] = (1, 0)


class LongestPathState(FillingState):
    """A position on the 11×11 board."""

    __slots__ = ()

    def fault(self) -> None:
        """The player on turn loses."""
        self._expect_running()
        winner = _OTHER[self.to_move]
        reason = f"{PLAYERS[self.to_move]} made a fault"
        self.outcome = Outcome(winner, score(*self.pieces), reason)

    def _measures(self) -> tuple[float, float]:
        """The lengths of the longest groups."""
        first, second = self.pieces
        return len(count_lengths(first)), len(count_lengths(second))

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
    """Both players' groups per length, Player 2's bonus group included.

    Args:
        first: Player 1's pieces as bits, see ``_bits``; ``second``: Player 2's. Other squares are empty.
    """
    counts = count_lengths(second)
    if len(counts) > 1:
        bonus = len(counts) - 2
        counts = (*counts[:bonus], counts[bonus] + 1, counts[-1])
    return count_lengths(first), counts


def count_lengths(pieces: int) -> Counts:
    """How many groups of each length ``pieces`` form, from length 1 up, without trailing zeros."""
    lengths = _lengths(pieces)
    return tuple([lengths.count(length) for length in range(1, max(lengths, default=0) + 1)])


def _lengths(pieces: int) -> list[int]:
    """The length of every group of ``pieces``."""
    singles = pieces & ~neighbours(pieces, _STRIDE)
    lengths = [1] * singles.bit_count()
    rest = pieces ^ singles
    while rest:
        layers = _layers(rest & -rest, rest)
        group = sum(layers)
        rest ^= group
        lengths.append(_length(group, layers[-1]))
    return lengths


def _layers(source: int, within: int) -> list[int]:
    """The squares of ``within`` by their distance from the square ``source``: a breadth-first search."""
    layers = []
    front = source
    while front:
        within ^= front
        layers.append(front)
        front = (front << 1 | front >> 1 | front << _STRIDE | front >> _STRIDE) & within
    return layers


def _length(group: int, farthest: int) -> int:
    """The number of pieces on the longest shortest path of ``group``.

    ``farthest`` are the squares farthest from any one square. A search from one of them nearly always finds
    a longest path, and in a tree always; what follows proves that, or finds the longer path.
    """
    size = group.bit_count()
    if size < 4:
        return size
    layers = _layers(farthest & -farthest, group)
    edges = (group & group << 1).bit_count() + (group & group << _STRIDE).bit_count()
    if edges == size - 1 or len(layers) >= size - 1:  # a tree; or as long as a group with a cycle can be
        return len(layers)
    # Within half a path of its middle no two squares are farther from each other than the path's ends are.
    radius = (len(layers) - 1) // 2
    ball = _at_distance(radius, layers)
    for _ in range(radius):
        ball = (ball | neighbours(ball, _STRIDE)) & group
    outside = group ^ ball
    return max(len(layers), _greatest_distance(outside, group) + 1) if outside else len(layers)


def _at_distance(distance: int, layers: list[int]) -> int:
    """The square so far from the source of ``layers``, on a shortest path to one of the farthest squares."""
    path = layers[-1] & -layers[-1]
    for layer in reversed(layers[distance:-1]):
        path = neighbours(path, _STRIDE) & layer
    return path & -path


def _greatest_distance(sources: int, group: int) -> int:
    """The greatest distance from any of ``sources`` to any square of ``group``, searched for all at once."""
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
    """The greatest length at which two different counts differ."""
    if len(first) != len(second):
        return max(len(first), len(second))
    return max(length for length, pair in enumerate(zip(first, second, strict=True), 1) if pair[0] != pair[1])


def _from_board(board: Sequence[Sequence[int]], to_move: Player) -> LongestPathState:
    return LongestPathState(SIZE, read_board(board, SIZE), to_move)


def _start() -> LongestPathState:
    return LongestPathState(SIZE, (0, 0), 0)


LONGEST_PATH = Game(
    name="longest_path",
    title="Longest Path (Prodrive Dev Challenge 2019)",
    players=PLAYERS,
    time_control=TimeControl("move", 3.0),
    penalty="the player loses the game",
    _start=_start,
    _from_board=_from_board,
)
