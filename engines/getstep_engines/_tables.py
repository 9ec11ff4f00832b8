"""Look-up tables from the bits of a board to moves, eight bits at a time.

A search calls ``legal_moves`` more often than anything else. A Python loop over the bits would take most of the
search's time. Here each byte of the bits selects a tuple of moves that was built at import.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from operator import getitem
from typing import TypeAlias, TypeVar

T = TypeVar("T")

Tables: TypeAlias = tuple[tuple[tuple[T, ...], ...], ...]
"""``tables[i][byte]``: the moves of the bits set in the ``byte`` at place ``i``, lowest bit first."""


def move_tables(moves: Sequence[T]) -> Tables[T]:
    """Return the tables for bits of which bit ``n`` stands for ``moves[n]``."""
    return tuple(_subsets(moves[first : first + 8]) for first in range(0, len(moves), 8))


def moves_at(tables: Tables[T], octets: bytes) -> Iterator[T]:
    """Return the moves of the bits set in ``octets``: one byte for each of ``tables``, lowest bits first."""
    return chain.from_iterable(map(getitem, tables, octets))


def _subsets(items: Sequence[T]) -> tuple[tuple[T, ...], ...]:
    """Return, for each number below ``2 ** len(items)``, the items that its bits stand for."""
    subsets: list[tuple[T, ...]] = [()]
    for item in items:
        subsets += [(*subset, item) for subset in subsets]
    return tuple(subsets)
