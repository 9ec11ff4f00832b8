"""The status of a run as a file, which other processes read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from getstep_server.storage.run_status import RunStatus, read_status, write_status
from tests.support.records import compact


def test_a_status_is_read_as_it_was_written(tmp_path: Path) -> None:
    status = RunStatus("playing", {7: 2}, (8,), ("127.0.0.1", 7777), (7,), round_trip_ms={7: 3.2})
    write_status(tmp_path, status)
    assert read_status(tmp_path) == status


def test_a_server_of_an_earlier_version_names_no_address(tmp_path: Path) -> None:
    (tmp_path / "status.json").write_bytes(b'{"state": "playing", "connected": {"7": 1}, "waiting": []}')
    assert read_status(tmp_path) == RunStatus("playing", {7: 1})


@pytest.mark.parametrize("address", ["127.0.0.1", 7777, ["a"], ["a", "b"], {"host": "a"}, ["a", 1, 2]])
def test_a_status_with_another_address_is_none(tmp_path: Path, address: Any) -> None:
    fields = {"state": "playing", "connected": {}, "waiting": [], "address": address}
    (tmp_path / "status.json").write_bytes(compact(fields))
    assert read_status(tmp_path) is None
