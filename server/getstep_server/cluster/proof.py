"""The proof of a worker: what its machine is, how fast it computes, and whether its sandbox holds."""

from __future__ import annotations

import contextlib
import os
import platform
import socket
import statistics
import time
from hashlib import sha256
from pathlib import Path

import msgspec

from getstep.wire import MAX_TEXT
from getstep_server.bot_runner.program_seats import available_cores
from getstep_server.programs.protection import machine_key, try_protections
from getstep_server.records.record import SOFTWARE
from getstep_server.sandbox.check import Finding, missing
from getstep_server.text import escape_control_chars

from .machine import own_file
from .order import SandboxRow, WorkerProof

CALIBRATION_RUNS = 7
_ROUNDS = 200_000

WAIT_SECONDS = 300.0
"""The time to wait for another worker on this machine that tries the sandbox."""


def prove(folder: Path) -> WorkerProof:
    """Return the proof of this machine. To try the sandbox takes 6 s; the result is kept until a restart.

    Args:
        folder: of the workers on this machine.

    Raises:
        OSError: the folder cannot be used.
    """
    rows, problem = _sandbox_of(folder)
    return WorkerProof(
        host=escape_control_chars(socket.gethostname())[:200],
        cores=len(available_cores()),
        software=SOFTWARE,
        python=platform.python_version(),
        platform=platform.platform()[:500],
        calibration_ms=calibrate(),
        sandbox=rows,
        sandbox_problem=problem,
    )


def calibrate() -> float:
    """Return the time of a fixed computation in milliseconds, the median of some runs.

    It is the processor time of this thread, so other programs that run meanwhile disturb it little.
    """
    return round(1000 * statistics.median(_compute() for _ in range(CALIBRATION_RUNS)), 3)


def _compute() -> float:
    """Run a loop of Python with arithmetic, a list, a dictionary and hashes, as bots do; return its seconds."""
    began = time.thread_time()
    digest, counts, total = sha256(), dict[int, int](), 1
    for number in range(_ROUNDS):
        total = (total * 1103515245 + number) % 2147483648
        counts[total % 512] = counts.get(total % 512, 0) + 1
        if number % 16 == 0:
            digest.update(bytes(sorted(value % 256 for value in (total, number, len(counts)))))
    return time.thread_time() - began


def _sandbox_of(folder: Path) -> tuple[tuple[SandboxRow, ...], str]:
    """Return the table of the sandbox; or an empty one, and the reason why no program can be started in it."""
    if not hasattr(os, "sched_getaffinity"):
        return (), "the sandbox needs Linux"
    if (reason := missing()) is not None:
        return (), escape_control_chars(reason)[:MAX_TEXT]
    kept = folder / f"sandbox-{machine_key()}.json"
    with own_file([folder / "sandbox.lock"], time.monotonic() + WAIT_SECONDS):
        with contextlib.suppress(OSError, msgspec.DecodeError):
            return msgspec.json.decode(kept.read_bytes(), type=tuple[SandboxRow, ...]), ""
        rows = tuple(map(_row, try_protections()))
        if all(row.held for row in rows):
            new = kept.with_suffix(".new")
            new.write_bytes(msgspec.json.encode(rows))
            new.replace(kept)
    return rows, ""


def _row(finding: Finding) -> SandboxRow:
    detail = escape_control_chars(finding.detail)[:MAX_TEXT]
    return SandboxRow(probe=finding.probe.name, held=finding.held, detail=detail)
