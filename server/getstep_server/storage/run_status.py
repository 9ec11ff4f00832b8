"""The status of a run that is neither in the database nor in the journal: which teams are connected.

The server writes it as a file next to the journal, for processes that only read: the live page. It is not synced,
and the server never reads it. A file of a server that died is stale: `lock.server_of` says whether one runs.
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from getstep_server.json_text import decode, encode

STATUS_FILE = "status.json"
"""Its name in the journal's folder. The server writes it every few seconds, also if nothing changes."""

_MAX_BYTES = 1 << 20  # 1,024 teams take 20 kB; anything may be there under the name


@dataclass(frozen=True)
class RunStatus:
    """The status of a run: ``state`` is "gathering", "playing" or "over"; ``connected`` has bots by team.

    ``waiting``: teams that have matches to play and are not connected, while no match can start. ``hanging``: teams
    with a bot that is connected and does not answer (`getstep_server.events.BotHangs`). ``address``: where
    programs on this machine connect; None if it is not known. ``friendly``: the numbers of the friendly matches
    that are being played. ``lag_ms``: how late the event loop has woken a task, the last time it was looked at.
    ``start_at``: the Unix time of the start, if the host has set one and the contest waits for it.
    ``round_trip_ms``: the time to the bots of a team and back, of the farthest one; without teams of which the
    system does not know it. ``standby_missing``: the Unix time since which the contest stands still because no
    standby host has the latest records; None if it does not.
    """

    state: str = "gathering"
    connected: dict[int, int] = field(default_factory=dict)
    waiting: tuple[int, ...] = ()
    address: tuple[str, int] | None = None
    hanging: tuple[int, ...] = ()
    friendly: tuple[int, ...] = ()
    lag_ms: float = 0.0
    start_at: float | None = None
    round_trip_ms: dict[int, float] = field(default_factory=dict)
    standby_missing: float | None = None


def write_status(folder: Path, status: RunStatus) -> None:
    """Write the status into the journal's folder, in one step.

    Raises:
        OSError: the disk cannot be written.
    """
    new = folder / f"{STATUS_FILE}.new"
    new.write_bytes(encode(asdict(status)))
    new.replace(folder / STATUS_FILE)  # in one step: the page reads it at any moment


def remove_status(folder: Path) -> None:
    with contextlib.suppress(OSError):  # the page finds out by the lock that no server runs
        (folder / STATUS_FILE).unlink(missing_ok=True)


def read_status(folder: Path) -> RunStatus | None:
    """Return the status of the latest run; None if it ended cleanly, or the file cannot be read."""
    path = folder / STATUS_FILE
    try:
        if path.stat().st_size > _MAX_BYTES:
            return None
        fields = decode(path.read_bytes())
        connected = {int(team): int(bots) for team, bots in fields["connected"].items()}
        waiting = tuple(map(int, fields["waiting"]))
        hanging = tuple(map(int, fields.get("hanging", ())))  # a server of an earlier version has none
        friendly = tuple(map(int, fields.get("friendly", ())))
        address = _address(fields.get("address"))
        lag_ms = float(fields.get("lag_ms", 0.0))
        start_at = None if fields.get("start_at") is None else float(fields["start_at"])
        round_trip_ms = {int(team): float(ms) for team, ms in fields.get("round_trip_ms", {}).items()}
        missing = None if fields.get("standby_missing") is None else float(fields["standby_missing"])
        return RunStatus(
            str(fields["state"]),
            connected,
            waiting,
            address,
            hanging,
            friendly,
            lag_ms,
            start_at,
            round_trip_ms,
            missing,
        )
    # any other version, or a person, may have written it
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _address(value: Any) -> tuple[str, int] | None:
    """Return an address; None if the server that wrote the status is of an earlier version."""
    if value is None:
        return None
    host, port = value
    return str(host), int(port)


def status_stamp(folder: Path) -> tuple[int, int] | None:
    """Return a value that changes with each `write_status`; None if there is no status."""
    try:
        found = os.stat(folder / STATUS_FILE)  # noqa: PTH116 - it is called ten times a second
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns
