"""The benchmark of the SDKs plays with Python's; a language that cannot be measured is left out with a reason."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import clients
from benchmarks.clients import LANGUAGES, measure, missing, p99


def test_python_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clients, "WARM_UP", 1)
    times = measure(LANGUAGES["python"], 40)
    assert (len(times.back_to_back), len(times.apart)) == (40, 10)
    assert 0 < min(times.back_to_back) <= p99(times.back_to_back)
    assert times.start_seconds > 0


def test_what_is_missing_is_named() -> None:
    assert missing(LANGUAGES["python"]) == ""
    assert missing(replace(LANGUAGES["python"], tools=["no-such-compiler"])) == "no-such-compiler is not installed"
    nowhere = clients.ROOT / "nowhere"
    assert missing(replace(LANGUAGES["python"], needs=nowhere)) == f"{Path('nowhere')} does not exist"
