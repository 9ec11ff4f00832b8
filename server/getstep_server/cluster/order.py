"""The messages between the host and a worker: an order to play a match, its report, and the proof of a worker.

They are JSON with a bounded length. Each side checks what it gets, once, with `decode_order`, `decode_report`,
`decode_progress` or `decode_proof`: a worker may be a computer that anybody uses, and a host may have another
version.

*Heads.* The ``head`` of an order is the beginning of the game's record, as the host made it. Both sides compute
the limits from it with `records.game.match_state_of`. So a time factor belongs into the head, and nowhere else.

*Lines.* The turns and passes of a match travel as the JSON objects that its journal has. The sender has applied
them to its `MatchState`, and so does the receiver. `check_lines` checks them as the verification of a record does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta

from getstep.referee import MatchState
from getstep_engines import UnknownGameError
from getstep_server.json_text import decode
from getstep_server.limits import (
    GAME_INCIDENTS_KEPT,
    MAX_ORDER_BYTES,
    MAX_ORDER_SECONDS,
    MAX_PROGRAM_COMMAND_CHARS,
    MAX_PROGRESS_BYTES,
    MAX_REPORT_BYTES,
    MAX_TURN_CHARS,
)
from getstep_server.programs.version import ALL_CONVENTIONS
from getstep_server.records.game import GameHeader, IncidentEntry, match_state_of
from getstep_server.records.record import RecordError, read
from getstep_server.records.replay import step
from getstep_server.records.values import TWO, BoundedText, Count, Number, Seconds, Sha256, Who
from getstep_server.validation import Check, Mistake, Model, ValidationError, validated, wrong

FAILURE_CHARS = 4000
"""Characters of the text of a failure, such as a traceback."""


class OrderError(ValueError):
    """Raised when a message between host and worker is not valid; the text says why."""


def _check_convention(name: str) -> None:
    if name not in ALL_CONVENTIONS:
        raise ValueError(f"one of: {', '.join(ALL_CONVENTIONS)}")


class ProgramSpec(Model, frozen=True, kw_only=True):
    """A program that plays: the version's number, and its convention, command and language.

    ``files`` is the SHA-256 of its packed files: see `program_files.pack`.
    """

    number: Number
    convention: Annotated[str, Check(_check_convention)]
    command: Annotated[
        # 256 words: far more than any plan makes
        tuple[Annotated[str, Meta(max_length=MAX_PROGRAM_COMMAND_CHARS)], ...], Meta(min_length=1, max_length=256)
    ]
    language: Annotated[str, Meta(max_length=100)]
    files: Sha256


class ProgramSettings(Model, frozen=True, kw_only=True):
    """The settings of ``[programs]`` in contest.toml that a worker needs."""

    sandbox: Literal["required", "none"] = "required"
    startup_seconds: Annotated[float, Meta(gt=0, le=600)] = 10.0  # as in contest.toml


class MatchOrder(Model, frozen=True, kw_only=True):
    """The order to play one match between two programs.

    ``head`` is the beginning of the record, as `records.game.game_header` makes it. The worker ends the match
    after ``deadline_seconds``.
    """

    head: dict[str, Any]
    programs: Annotated[tuple[ProgramSpec, ...], TWO]
    settings: ProgramSettings = ProgramSettings()
    deadline_seconds: Annotated[float, Meta(gt=0, le=MAX_ORDER_SECONDS)]

    @classmethod
    def mistakes(cls, fields: Mapping[str, Any]) -> Iterator[Mistake]:
        head = fields.get("head")
        if head is None:
            return
        try:
            read(GameHeader, head)
            match_state_of(head)
        except (RecordError, UnknownGameError, ValueError, KeyError, TypeError) as error:
            yield wrong(("head",), head, f"the head of a game's record: {error}")


class ReportedResult(Model, frozen=True, kw_only=True):
    """The result of a match. The host compares it with that of the turns. Only the ``seconds`` are new to it."""

    winner: Who | None
    reason: Annotated[str, Meta(max_length=64)]
    turns: Count
    seconds: Seconds


class MatchReport(Model, frozen=True, kw_only=True):
    """The report on an order: the match was ``played``, or programs are ``missing``, or there was a ``failure``.

    A ``failure`` is one of the worker, never of a program: the match can be played elsewhere. ``missing`` has the
    SHA-256 of each program whose files the worker does not have. ``lines`` are the turns and passes.
    """

    played: ReportedResult | None = None
    missing: Annotated[tuple[Sha256, ...], Meta(max_length=2)] = ()
    failure: Annotated[str, Meta(max_length=FAILURE_CHARS)] = ""
    lines: list[str] = []  # noqa: RUF012 - msgspec copies an empty list
    incidents: Annotated[list[IncidentEntry], Meta(max_length=GAME_INCIDENTS_KEPT)] = []  # noqa: RUF012 - likewise

    @classmethod
    def mistakes(cls, fields: Mapping[str, Any]) -> Iterator[Mistake]:
        given = [name for name in ("played", "missing", "failure") if fields.get(name)]
        if len(given) != 1:
            told = " and ".join(given) or None
            yield wrong(("played",), told, "one of: played, missing, failure")
        yield from _wrong_lines(fields.get("lines", ()))


class MatchProgress(Model, frozen=True, kw_only=True):
    """The turns and passes of a match that is being played, from line number ``start`` on."""

    start: Count
    lines: list[str]

    @classmethod
    def mistakes(cls, fields: Mapping[str, Any]) -> Iterator[Mistake]:
        yield from _wrong_lines(fields.get("lines", ()))


def _wrong_lines(lines: Sequence[str]) -> Iterator[Mistake]:
    for index, line in enumerate(lines):
        if len(line) > MAX_TURN_CHARS:
            yield wrong(("lines", index), line, f"a turn of at most {MAX_TURN_CHARS} characters")
            return


class SandboxRow(Model, frozen=True, kw_only=True):
    """A row of the sandbox's table: whether the protection holds against the ``probe``."""

    probe: Annotated[str, Meta(max_length=100)]
    held: bool
    detail: BoundedText = ""


class WorkerProof(Model, frozen=True, kw_only=True):
    """The description of a worker: its machine, its versions, how fast it computes, and whether its sandbox holds.

    ``sandbox`` has a row for each probe; it is empty if no program can be started in a sandbox, and
    ``sandbox_problem`` says why. ``calibration_ms`` is the time of a fixed computation: less is faster.
    ``cores`` are those that the worker may use.
    """

    # The bounds are those of `records.worker`: the host writes these into a record.
    host: Annotated[str, Meta(max_length=200)]
    cores: Annotated[int, Meta(ge=1, le=4096)]
    software: Annotated[str, Meta(max_length=200)]
    python: Annotated[str, Meta(max_length=200)]
    platform: Annotated[str, Meta(max_length=500)]
    calibration_ms: Annotated[float, Meta(gt=0, le=1e9)]
    sandbox: Annotated[tuple[SandboxRow, ...], Meta(max_length=256)] = ()
    sandbox_problem: BoundedText = ""

    @property
    def is_protected(self) -> bool:
        """True if every protection holds."""
        return bool(self.sandbox) and not self.sandbox_problem and all(row.held for row in self.sandbox)


M = TypeVar("M", bound=Model)


def encode(message: MatchOrder | MatchReport | MatchProgress | WorkerProof) -> bytes:
    return msgspec.json.encode(message)


def decode_order(data: bytes) -> MatchOrder:
    """Return an order. Raises OrderError."""
    return _decode(MatchOrder, data, MAX_ORDER_BYTES)


def decode_report(data: bytes) -> MatchReport:
    """Return a report, without a check of its lines against the game: see `check_lines`. Raises OrderError."""
    return _decode(MatchReport, data, MAX_REPORT_BYTES)


def decode_progress(data: bytes) -> MatchProgress:
    """Return a part of the turns of a match, as `decode_report` does. Raises OrderError."""
    return _decode(MatchProgress, data, MAX_PROGRESS_BYTES)


def decode_proof(data: bytes) -> WorkerProof:
    """Return the proof of a worker. Raises OrderError."""
    return _decode(WorkerProof, data, MAX_ORDER_BYTES)


def _decode(model: type[M], data: bytes, most: int) -> M:
    what = model.__name__
    if len(data) > most:
        raise OrderError(f"{what}: {len(data)} bytes, expected at most {most}")
    try:
        return validated(model, msgspec.json.decode(data))
    # msgspec raises RecursionError for deep nesting
    except (ValidationError, msgspec.DecodeError, RecursionError) as error:
        raise OrderError(f"{what}: {error!s:.500}") from error


def check_lines(state: MatchState, lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Yield turns and passes after they have been checked and applied to ``state``.

    Raises:
        OrderError: a line is not a turn, cannot follow on those before it, or contradicts the clocks.
    """
    for line in lines:
        try:
            # JSON may hold half of a surrogate pair, which no UTF-8 has
            fields = decode(line.encode(errors="replace"))
            step(fields, state)
        except (RecordError, ValueError, KeyError, TypeError) as error:
            raise OrderError(f"{line!r:.80}: {error}") from error
        yield fields
