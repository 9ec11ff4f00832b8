"""Golden files are compared line by line; what differs from run to run is replaced by a word."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import golden
from tests.support.golden import UPDATE, assert_golden


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(golden, "GOLDEN", tmp_path)
    monkeypatch.delenv(UPDATE, raising=False)
    return tmp_path


def test_a_difference_is_shown_line_by_line(folder: Path) -> None:
    (folder / "screen.txt").write_text("first\nsecond\n")
    assert_golden("screen", "first \nsecond\n")
    with pytest.raises(AssertionError, match=r"-second\n\+2nd\n(?s:.*)run the test with GETSTEP_UPDATE_GOLDEN=1"):
        assert_golden("screen", "first\n2nd\n")


def test_a_missing_file_is_a_difference() -> None:
    with pytest.raises(AssertionError, match=r"\+first"):
        assert_golden("screen", "first\n")


def test_an_update_writes_the_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(UPDATE, "1")
    assert_golden("screen", "first \n\nsecond")
    assert (folder / "screen.txt").read_text() == "first\n\nsecond\n"


def test_values_that_differ_from_run_to_run_are_replaced(folder: Path) -> None:
    (folder / "screen.txt").write_text("Listening on port PORT, token TOKEN, since DATE TIME, HASH, NAME\n")
    shown = f"Listening on port 40123, token kq3m-x7fd-29pt, since 2026-03-01 10:00:00, {'0f' * 32}, Ada\n"
    assert_golden("screen", shown, {r"\bAda\b": "NAME"})
