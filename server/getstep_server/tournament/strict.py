"""Strict mode of a standby host: which records may be announced.

contest.toml says whether a contest begins strict; the host's decisions say how it goes on. A host that takes over
is not strict: it has no standby host yet, and would stand still. All records count, also those that wait: so a
decision that ends the strict mode announces what waits before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from getstep_server.records.reasons import DecisionKind

STRICT_AFTER: dict[str, bool] = {
    DecisionKind.STRICT: True,
    DecisionKind.NOT_STRICT: False,
    DecisionKind.TAKE_OVER: False,
}
"""By the kind of a decision: True if results wait for a standby host from there on."""


def strict_after(strict: bool, records: Iterable[Mapping[str, Any]]) -> bool:
    """Return True if results wait for a standby host after these records; ``strict``: before them."""
    for fields in records:
        strict = STRICT_AFTER.get(str(fields.get("decision")), strict)
    return strict


def announced_place(strict: bool, records: Sequence[Mapping[str, Any]], place: int, copied: int) -> int:
    """Return the place of the last record that may be announced.

    Args:
        strict: True if results wait for a standby host at ``place``.
        records: all behind ``place``.
        place: of a record that is announced.
        copied: the place of the last record that a standby host has on its disk.
    """
    end = place + len(records)
    return max(place, min(copied, end)) if strict_after(strict, records) else end
