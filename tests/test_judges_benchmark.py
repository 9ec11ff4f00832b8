"""The benchmark of several judges: its bots in C++ play whole matches, with 1 and with 2 judges."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from benchmarks.judges import build, contest
from getstep_server.events import Bus
from tests.compilers import need
from tests.server.judges_here import judges_here


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="its bots use epoll")
@pytest.mark.parametrize("judges", [1, 2])
async def test_the_bots_play_whole_matches(tmp_path: Path, judges: int, monkeypatch: pytest.MonkeyPatch) -> None:
    need("g++")
    judges_here(monkeypatch)
    found = await contest(build(tmp_path), judges, 2, 2, Bus())
    assert found["moves"] == 2 * 2 * 400
    assert min(found.values()) >= 0
