"""The benchmark of clocks and memory: whole measurements, small ones."""

from __future__ import annotations

import re
import sys

import pytest

from benchmarks import _contender, judge
from tests.support.languages import need

pytestmark = [pytest.mark.long, pytest.mark.skipif(sys.platform != "linux", reason="it reads /proc")]


def test_the_recorded_times_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    need("g++")
    monkeypatch.setattr(judge, "MOVES", 5)
    with _contender.players_program() as program:
        found = re.fullmatch(
            r"2 other matches, [\d,]+ moves/s: error of the recorded times of 5 moves of 50 ms:"
            r" median ([\d.]+) ms, p99 [\d.]+ ms, worst ([\d.]+) ms",
            judge.clock(program, 2),
        )
    assert found
    assert 0 < float(found[1]) <= float(found[2]) < 1000


def test_more_idle_connections_than_one_address_may_have() -> None:
    assert re.fullmatch(r"300 idle connections: \d+\.\d KiB each", judge.idle(300))
