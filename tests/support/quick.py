"""Parameters of which the quick tests take a few, and the long tests the others."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def quick(values: Iterable[Any], chosen: Collection[Any]) -> list[Any]:
    """Return the values as parameters; those that are not ``chosen`` are for `make test-long`.

    Raises:
        ValueError: a chosen one is not among the values, so that the quick tests would miss it.
    """
    values = list(values)
    if missing := [value for value in chosen if value not in values]:
        raise ValueError(f"{missing} are not among {values}")
    return [value if value in chosen else pytest.param(value, marks=pytest.mark.long) for value in values]
