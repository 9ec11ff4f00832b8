"""Boards of 8×8 squares as arrays of 64-bit words: square (row, column) is bit ``8 * row + column``."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Words: TypeAlias = NDArray[np.uint64]
Numbers: TypeAlias = NDArray[np.intp]
Flags: TypeAlias = NDArray[np.bool_]

SQUARES = 64
ONE = np.uint64(1)
_LAST = np.uint64(SQUARES - 1)
_SIX = np.uint64(6)
_MORE_DRAWS = 4
_HALVES = [np.uint64(32 >> step) for step in range(6)]


def word(bits: int) -> np.uint64:
    """Return ``bits`` as an operand that keeps arrays of words what they are."""
    value: np.uint64 = np.uint64(bits)
    return value


def to_flags(words: Words) -> Flags:
    """Return an array ``(count, 64)`` with a True for each bit that is set."""
    octets = words.astype("<u8").view(np.uint8).reshape(len(words), 8)
    return np.unpackbits(octets, axis=1, bitorder="little").astype(np.bool_)


def to_words(flags: Flags) -> Words:
    """Return a word for each row of ``flags``, an array ``(count, 64)``: the inverse of `to_flags`."""
    words: Words = np.packbits(flags, axis=1, bitorder="little").view("<u8").reshape(-1).astype(np.uint64)
    return words


def random_bits(words: Words, generator: np.random.Generator) -> Words:
    """Return, for each word, the number of one of its set bits, all with the same chance; 0 for the word 0."""
    # Draw a square until it is a set bit: about half of the squares of a game are legal. Each random word is good
    # for ten draws of six bits. `ranked_bits` costs more: it is for the few boards that five draws have missed.
    dice = generator.integers(0, 1 << 64, len(words), np.uint64)
    drawn: Words = dice & _LAST
    missed = np.flatnonzero(words >> drawn & ONE == 0)
    dice = dice[missed]
    for _ in range(_MORE_DRAWS):
        dice >>= _SIX
        drawn[missed] = dice & _LAST
        still = words[missed] >> drawn[missed] & ONE == 0
        missed, dice = missed[still], dice[still]
    rest = words[missed]
    drawn[missed] = ranked_bits(rest, random_below(np.bitwise_count(rest), generator))
    return drawn


def random_below(limits: NDArray[np.integer], generator: np.random.Generator) -> Numbers:
    """Return, for each limit, a number from 0 to below it, all with the same chance; 0 for the limit 0."""
    return (generator.random(len(limits)) * limits).astype(np.intp)


def ranked_bits(words: Words, ranks: Numbers) -> Words:
    """Return the number of the set bit of each rank, counted from 0 for the lowest; 0 for the word 0."""
    # Halve the part of the word in which the bit is, six times.
    rank = ranks.astype(np.uint64)
    found = np.zeros(len(words), np.uint64)
    rest = words.copy()
    for half in _HALVES:
        below = np.bitwise_count(rest & ((ONE << half) - ONE)).astype(np.uint64)
        upper = (rank >= below).astype(np.uint64)
        rank -= below * upper
        shift = half * upper
        found += shift
        rest >>= shift
    drawn: Words = np.where(words == 0, np.uint64(0), found & _LAST)
    return drawn
