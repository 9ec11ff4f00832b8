"""Many boards of longest_path at once."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from getstep_engines.longest_path import LONGEST_PATH, SIZE

from ._filling import FillingBatch, find_groups, group_sizes
from ._words import Flags, Numbers

SQUARES = SIZE * SIZE

Rows: TypeAlias = NDArray[np.uint16]
"""Boards, an array ``(count, 12)``: square (row, column) of a board is bit ``column`` of its row.

The boards are adjacent in memory, and `_neighbours` shifts them all at once. The twelfth row of each is empty: it
keeps the pieces of one board from the next. Four rows make a word of 64 bits, see `_to_words`.
"""

_ROWS = 12
_ONE = np.uint16(1)


class LongestPathBatch(FillingBatch):
    """``count`` games of longest_path; an action is ``row * 11 + column``.

    A score counts a player's groups of each length: `scores` returns an array ``(count, 2, 121)``, in which
    ``[..., n - 1]`` are the groups of length n, the bonus group of Player 2 included.
    """

    game = LONGEST_PATH

    def __init__(self, count: int) -> None:
        super().__init__(count, SIZE)

    def _score(self, cells: NDArray[np.int8]) -> NDArray[np.int64]:
        boards, players, lengths = _group_lengths(cells)
        columns = (2 * boards + players) * SQUARES + lengths - 1
        counts = np.bincount(columns, minlength=len(cells) * 2 * SQUARES).reshape(-1, 2, SQUARES)
        longest = _last_nonzero(counts[:, 1])
        bonus = np.flatnonzero(longest > 0)
        counts[bonus, 1, longest[bonus] - 1] += 1
        return counts

    def _leads(self, scores: NDArray[np.int64]) -> NDArray[np.int64]:
        differences = scores[:, 0] - scores[:, 1]
        leads: NDArray[np.int64] = differences[np.arange(len(scores)), _last_nonzero(differences)]
        return leads


def _last_nonzero(numbers: NDArray[np.int64]) -> Numbers:
    """Return the index of the last number that is not 0 in each row of ``numbers``; -1 if there is none."""
    from_the_end = (numbers[:, ::-1] != 0).argmax(1)
    return np.where(numbers.any(1), numbers.shape[1] - 1 - from_the_end, -1)


def _group_lengths(cells: NDArray[np.int8]) -> tuple[Numbers, Numbers, Numbers]:
    """Return, for each group of pieces, its board, its player and its length."""
    sizes = group_sizes(find_groups(cells, SIZE))
    boards, squares = np.nonzero((sizes > 0) & (cells > 0))
    players = cells[boards, squares].astype(np.intp) - 1
    lengths = sizes[boards, squares]
    large = np.flatnonzero(lengths > 3)  # up to three pieces are always a path
    rows = np.concatenate([_to_rows(cells == 1), _to_rows(cells == 2)])
    within = rows.take(players[large] * len(cells) + boards[large], 0)
    lengths[large] = _lengths(_one_bit(squares[large]), within, lengths[large])
    return boards, players, lengths


def _to_rows(flags: Flags) -> Rows:
    """Return the boards of ``flags``, an array ``(count, squares)``, as rows of bits."""
    rows = np.zeros((len(flags), _ROWS), np.uint16)
    octets = np.packbits(flags.reshape(-1, SIZE, SIZE), axis=2, bitorder="little")
    rows[:, :SIZE] = octets.view("<u2")[..., 0]
    return rows


def _to_flags(rows: Rows) -> Flags:
    """Return the inverse of `_to_rows`."""
    octets = np.ascontiguousarray(rows[:, :SIZE], "<u2").view(np.uint8).reshape(-1, SIZE, 2)
    return np.unpackbits(octets, axis=2, count=SIZE, bitorder="little").reshape(-1, SQUARES).astype(np.bool_)


def _one_bit(squares: Numbers) -> Rows:
    """Return a board for each of ``squares``, with one bit on that square."""
    rows = np.zeros((len(squares), _ROWS), np.uint16)
    rows[np.arange(len(squares)), squares // SIZE] = _ONE << (squares % SIZE).astype(np.uint16)
    return rows


def _lengths(seeds: Rows, within: Rows, sizes: Numbers) -> Numbers:
    """Return the length of the group of each seed in ``within``.

    See `getstep_engines.longest_path._length`: two searches find a longest path in nearly every group, and the rest
    proves that it is one, or finds a longer one.
    """
    _, farthest, others = _search(seeds, within)
    groups = within ^ others
    ends = _lowest(farthest)
    distances, farthest, _ = _search(ends, groups)
    lengths = distances + 1
    unproved = np.flatnonzero((lengths < sizes - 1) & (_edges(groups) != sizes - 1))
    groups, distances = groups[unproved], distances[unproved]
    radii = distances // 2
    _, near_one, _ = _search(ends[unproved], groups, radii)
    _, near_other, _ = _search(_lowest(farthest[unproved]), groups, distances - radii)
    _, _, outside = _search(_lowest(near_one & near_other), groups, radii)
    still = np.flatnonzero(_any(outside))
    numbers, squares = np.nonzero(_to_flags(outside[still]))
    numbers = still[numbers]
    distances, _, _ = _search(_one_bit(squares), groups[numbers])
    np.maximum.at(lengths, unproved[numbers], distances + 1)
    return lengths


def _search(front: Rows, within: Rows, limits: Numbers | None = None) -> tuple[Numbers, Rows, Rows]:
    """Search breadth-first on all boards at once, from the squares of ``front``, at most ``limits`` steps.

    Returns:
        the distance of the squares that were reached last; these squares; the squares that were not reached.
    """
    count = len(front)
    distances, last, rest = np.zeros(count, np.intp), np.empty_like(front), np.empty_like(front)
    at = np.arange(count)
    left = np.full(count, SQUARES) if limits is None else limits
    within = within & ~front
    distance = 0
    while len(at):
        following = _neighbours(front)
        following &= within
        going = _any(following) & (left > distance)
        if not going.all():
            done, kept = np.flatnonzero(~going), np.flatnonzero(going)
            ended = at[done]
            distances[ended], last[ended], rest[ended] = distance, front[done], within[done]
            at, left = at[kept], left[kept]
            following, within = following.take(kept, 0), within.take(kept, 0)
        front = following
        within ^= front
        distance += 1
    return distances, last, rest


def _neighbours(rows: Rows) -> Rows:
    """Return the squares adjacent to ``rows``, and bits beyond the edges."""
    flat = rows.reshape(-1)
    beside = flat + flat
    beside |= flat >> _ONE
    beside[1:] |= flat[:-1]
    beside[:-1] |= flat[1:]
    return beside.reshape(rows.shape)


def _edges(groups: Rows) -> Numbers:
    """Return the number of pairs of adjacent squares of each board."""
    below = np.zeros_like(groups)
    below[:, :-1] = groups[:, :-1] & groups[:, 1:]
    pairs = np.bitwise_count(_to_words(groups & groups + groups)) + np.bitwise_count(_to_words(below))
    edges: Numbers = pairs.sum(1, dtype=np.intp)
    return edges


def _any(rows: Rows) -> Flags:
    """Return True for each board with a bit."""
    words = _to_words(rows)
    found: Flags = (words[:, 0] | words[:, 1] | words[:, 2]) != 0
    return found


def _lowest(rows: Rows) -> Rows:
    """Return one bit of each board that has any."""
    words = _to_words(rows)
    lowest = words & -words
    lowest[:, 1] *= lowest[:, 0] == 0
    lowest[:, 2] *= (lowest[:, 0] | lowest[:, 1]) == 0
    return lowest.view(np.uint16)


def _to_words(rows: Rows) -> NDArray[np.uint64]:
    """Return the boards as an array ``(count, 3)`` of words: numpy takes longer for many short rows."""
    return rows.view(np.uint64)
