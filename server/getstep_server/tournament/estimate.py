"""A number with its interval.

A module of its own: all tables show intervals, and `ratings`, which makes most of them, loads numpy (100 ms).
"""

from __future__ import annotations

from msgspec import Struct


class Estimate(Struct, frozen=True):
    """A number, and its interval, which contains the truth in 95 of 100 contests."""

    value: float
    low: float
    high: float
