"""The record of a worker: a machine of a cluster that plays matches, and the proof of its sandbox."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import Meta

from getstep_server.config.contest import Contest
from getstep_server.validation import Model

from .record import Head, Record, RecordError, as_json, plain, read
from .values import MAX_TIME_FACTOR, MIN_TIME_FACTOR, BoundedLine, BoundedText, Number, Time

MAX_PROBES = 256  # the sandbox has 97 probes; a few versions may add more


class ProbeEntry(Model, frozen=True, kw_only=True):
    """A row of the sandbox's table: whether the protection against ``probe`` ``held``."""

    probe: Annotated[str, Meta(max_length=100)]  # the name of a function here
    held: bool
    detail: BoundedText = ""


class WorkerRecord(Head, frozen=True, kw_only=True):
    """A record of a worker, without its seal.

    ``worker`` is its number, from 1, which records of games name; ``name`` is that of its process, ``host`` that of
    its machine. ``calibration_ms`` is the time of a fixed computation. Without a sandbox the table is empty.
    """

    type: str = "worker"
    worker: Number
    # this and the following: longer than any system's, and a record stays small
    name: Annotated[str, Meta(max_length=200)]
    host: Annotated[str, Meta(max_length=200)]
    slots: Number
    cores: Number
    # 1e9 ms are eleven days: so that the quotient of two stays finite
    calibration_ms: Annotated[float, Meta(gt=0, le=1e9)]
    python: Annotated[str, Meta(max_length=200)]
    platform: Annotated[str, Meta(max_length=500)]
    sandbox: Annotated[list[ProbeEntry], Meta(max_length=MAX_PROBES)]
    sandbox_problem: BoundedText = ""
    at: Time
    software: BoundedLine


class Workers(dict[int, WorkerRecord]):
    def apply(self, fields: Mapping[str, Any]) -> None:
        """Add the worker of the next record of one.

        Raises:
            RecordError: a field is missing or invalid, or its number is not the next one.
        """
        worker = worker_of(fields)
        if worker.worker != len(self) + 1:
            raise RecordError(f"worker is {worker.worker}, expected {len(self) + 1}, the next one")
        self[worker.worker] = worker


def record_of_worker(contest: Contest, **fields: Any) -> Record:
    """Return the record of a worker; ``fields`` are those of `WorkerRecord` without the contest's."""
    return Record(plain(WorkerRecord(contest=contest.name, seed=contest.file.contest.seed, **fields)))


def time_factor(workers: Mapping[int, WorkerRecord], number: int) -> float:
    """Return the factor of the limits of games on a worker: so slow is it, compared with the first one."""
    factor = workers[number].calibration_ms / workers[1].calibration_ms
    # three decimals: it is multiplied with limits in ms, and the records keep it
    return round(min(MAX_TIME_FACTOR, max(MIN_TIME_FACTOR, factor)), 3)


def worker_of(fields: Mapping[str, Any]) -> WorkerRecord:
    """Return a validated record of a worker.

    Raises:
        RecordError: a field is missing or invalid.
    """
    as_json(fields)
    return read(WorkerRecord, fields)
