"""The time to a team's bots and back, which the host's console shows."""

from __future__ import annotations

import socket
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import trio

from getstep_server.config.contest import Team
from getstep_server.events import Bus
from getstep_server.net.round_trip import round_trip_ms
from getstep_server.net.seat import seats_of
from getstep_server.runtime.status_file import StatusFile
from getstep_server.storage.run_status import RunStatus, read_status
from tests.support.contests import make_contest
from tests.support.patience import PATIENCE_SECONDS
from tests.support.servers import running, seated

needs_linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells it")


async def status_of(folder: Path, connected: dict[int, int]) -> RunStatus:
    """Wait until the status in a folder has these bots."""
    with trio.fail_after(PATIENCE_SECONDS):
        while (status := read_status(folder)) is None or status.connected != connected:
            await trio.sleep(0.01)
    return status


@needs_linux
def test_the_kernel_tells_it_of_a_connection() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.create_connection(listener.getsockname()):
        ours, _ = listener.accept()
        with ours:
            found = round_trip_ms(ours)
        assert found is not None
        assert 0 <= found < 1000 * PATIENCE_SECONDS
        assert round_trip_ms(ours) is None  # closed


def test_other_sockets_and_systems_do_not_tell_it(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        assert round_trip_ms(sock) is None

    def info(data: bytes) -> Any:
        return SimpleNamespace(getsockopt=lambda *_: data)

    known = bytes(148) + (3_249).to_bytes(4, sys.byteorder)
    if sys.platform == "linux":
        assert round_trip_ms(info(known)) == 3.2
        assert round_trip_ms(info(known[:148] + b"\xff" * 4)) is None  # nothing was acknowledged yet
        assert round_trip_ms(info(known[:104])) is None  # an older kernel
    monkeypatch.setattr(sys, "platform", "darwin")
    assert round_trip_ms(info(known)) is None


@needs_linux
async def test_the_status_of_a_run_has_it_for_connected_teams(tmp_path: Path) -> None:
    contest = make_contest(tmp_path, teams=3, on_disk=True)
    async with running(contest) as view:
        async with seated(view.port, 2):
            status = await status_of(contest.running, {2: 1})
            assert status.round_trip_ms.keys() == {2}
            assert 0 <= status.round_trip_ms[2] < 1000 * PATIENCE_SECONDS
        assert (await status_of(contest.running, {})).round_trip_ms == {}


async def test_it_is_that_of_the_farthest_bot(tmp_path: Path) -> None:
    bus = Bus()
    seats = {
        number: seats_of(Team(id=number, name=f"Team {number}", token="12345678", seats=3), bus.publish)
        for number in (1, 2)
    }
    file = StatusFile(tmp_path, bus, seats)
    for number, ms in ((1, 0.4), (1, 3.2), (1, None), (2, None)):
        free = next(seat for seat in seats[number] if not seat.connected)
        peer: Any = SimpleNamespace(address="10.0.0.1", client="test", notices=False, round_trip_ms=ms)
        free.attach(peer)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(file.run)
        status = await status_of(tmp_path, {1: 3, 2: 1})
        nursery.cancel_scope.cancel()
    assert status.round_trip_ms == {1: 3.2}
