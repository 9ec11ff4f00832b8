"""The profile of a judged move: samples become microseconds a move, by module and line."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from benchmarks.where import Profile, report


def test_the_time_of_a_move_is_divided_by_samples(capsys: pytest.CaptureFixture[str]) -> None:
    profile, root = Profile(), Path(__file__).parents[1]
    for _ in range(3):
        profile.sample(0, sys._getframe())
    profile.samples[str(root / "server" / "play.py"), "turn", 7] = 9
    profile.moves = 100
    report(8, profile, 0.004)
    told = capsys.readouterr().out.splitlines()
    assert told[1:] == [
        "8 matches at once: 40.0 µs of processor time a move, 12 samples",
        "  30.0 µs  server/play.py",
        "             30.0 µs  turn, line 7",
        "  10.0 µs  tests/test_where_benchmark.py",
        f"{'':12} 10.0 µs  {test_the_time_of_a_move_is_divided_by_samples.__name__}, line 16",
    ]
