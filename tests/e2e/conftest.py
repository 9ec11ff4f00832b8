"""Fixtures of the tests of the whole."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.contests import MakeContest, make_contest
from tests.support.processes import Programs


@pytest.fixture
def programs(monkeypatch: pytest.MonkeyPatch) -> Iterator[Programs]:
    """Starts programs that end with the test."""
    started = Programs(monkeypatch)
    try:
        yield started
    finally:
        started.end()


@pytest.fixture(name="make_contest")
def _make_contest(tmp_path: Path) -> MakeContest:
    """Makes a contest folder for bots that are processes; see `make_contest`."""

    def make(*arguments: Any, **tables: Any) -> Path:
        return make_contest(tmp_path / "contest", *arguments, on_disk=True, patient=True, **tables).folder

    return make
