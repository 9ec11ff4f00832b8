"""The benchmark in slices: its figures, and slices in which the machine stood still."""

from __future__ import annotations

import pytest

from benchmarks.slices import Sample, report

BUSY = (Sample(100, 0.02, 0.4), Sample(100, 0.01, 0.4))
IDLE = (Sample(0, 0.0, 0.4), Sample(100, 0.01, 0.4))


def test_a_slice_without_moves_is_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    report(("judge", "floor"), [BUSY, IDLE, BUSY], 0.0)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["judge", "200.0", "µs", "CPU", "a", "move,", "250", "moves/s"]
    assert lines[2] == "ratio 2.000 (quartiles 2.000 to 2.000, 2 pairs of 0.5 s)"


def test_too_few_slices_with_moves_are_no_result() -> None:
    with pytest.raises(SystemExit, match="2 of 3 pairs have a slice without a move"):
        report(("judge", "floor"), [BUSY, IDLE, IDLE], 0.0)


def test_steal_time_is_shown_with_its_share(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    report(("judge", "floor"), [BUSY, BUSY], 0.04)  # of 2 s on 2 cores
    assert capsys.readouterr().out.splitlines()[-1] == "2 cores, steal time 0.04 s (1.0 %)"
