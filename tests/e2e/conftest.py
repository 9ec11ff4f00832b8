"""Fixtures of the tests of the whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.support.processes import MakeContest, Programs, write_contest


@pytest.fixture
def programs(monkeypatch: pytest.MonkeyPatch) -> Iterator[Programs]:
    """Starts programs that end with the test."""
    started = Programs(monkeypatch)
    try:
        yield started
    finally:
        started.end()


@pytest.fixture
def make_contest(tmp_path: Path) -> MakeContest:
    """Makes a contest folder; see `write_contest`."""

    def make(teams: Sequence[str], **settings: Any) -> Path:
        return write_contest(tmp_path / "contest", teams, **settings)

    return make
