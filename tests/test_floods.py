"""Floods against a server that plays: honest bots log in and play on. The load is `benchmarks.floods`."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from benchmarks import floods
from benchmarks._flood import KINDS

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(sys.platform != "linux", reason="other systems have one address on loopback"),
]

SECONDS = 3.0

TRIES = 3
"""The intervals without and with the flood follow each other, and other programs on the machine change in between.

Logins are in time in each try; the turns are kept in one of them.
"""


@pytest.mark.parametrize("addresses", [1, 200])
@pytest.mark.parametrize("kind", KINDS)
def test_a_flood_keeps_nobody_from_logging_in_and_playing(tmp_path: Path, kind: str, addresses: int) -> None:
    kept = []
    for number in range(TRIES):
        folder = tmp_path / f"{kind}-{number}"
        quiet, flooded, _ = floods.measured(folder, kind, 4, SECONDS, floods.sides(), addresses)
        assert flooded.slowest_login(known=True) <= 1.0
        assert flooded.slowest_login(known=False) <= 5.0
        kept.append((flooded.turns / flooded.seconds) / (quiet.turns / quiet.seconds))
        if kept[-1] >= 0.9:
            return
    pytest.fail(f"turns kept: {kept}, expected 0.9 in one of the tries")
