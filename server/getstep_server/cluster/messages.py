"""The messages between the host and its process that talks to Dask, on a `children.channel`.

Both sides are programs of this machine and of this version. The parts that come from workers are bytes here:
`order` checks them, on the host's side.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from getstep_server.children.channel import frame
from getstep_server.limits import MAX_REPORT_BYTES

MAX_MESSAGE_BYTES = MAX_REPORT_BYTES + (1 << 16)
"""The size of a message: that of a report, and of its other texts."""

TEXT_CHARS = 2000
"""The length of a reason. The traceback of a worker may be longer."""


# --- to the process ---


class Play(msgspec.Struct, tag=True, array_like=True, frozen=True):
    """Give an order to a worker, with the files of programs that the worker does not have: their hashes."""

    id: int
    worker: str
    order: bytes
    files: list[str]


class Stop(msgspec.Struct, tag=True, array_like=True, frozen=True):
    """Cancel an order; no word of it is wanted any more."""

    id: int


class GiveUp(msgspec.Struct, tag=True, array_like=True, frozen=True):
    """End a worker that hangs, as far as possible, and forget it. It is a new one if it comes back."""

    worker: str


# --- from the process ---


class Connected(msgspec.Struct, tag=True, array_like=True, frozen=True):
    """The process is connected to the scheduler; ``where`` it is."""

    where: str


class Disconnected(msgspec.Struct, tag=True, array_like=True, frozen=True):
    """There is no scheduler, and all workers are gone; ``why`` for people. The process tries again."""

    why: str


class NotSubmitted(msgspec.Struct, tag=True, array_like=True, frozen=True):
    """A job of SLURM that has ended cannot be submitted again: ``why`` for people. The process tries again."""

    why: str


class Joined(msgspec.Struct, tag=True, array_like=True, frozen=True):
    """A worker has proved what it is. ``worker`` is its address, ``name`` for people, ``slots`` its threads."""

    worker: str
    name: str
    slots: int
    proof: bytes


class Unfit(msgspec.Struct, tag=True, array_like=True, frozen=True):
    """A worker cannot prove anything: ``why`` for people."""

    name: str
    why: str


class Left(msgspec.Struct, tag=True, array_like=True, frozen=True):
    """A worker is gone, and its orders with it."""

    worker: str


class TurnsPlayed(msgspec.Struct, tag=True, array_like=True, frozen=True):
    """A part of the turns of a match that was ordered: a `MatchProgress`."""

    id: int
    data: bytes


class Reported(msgspec.Struct, tag=True, array_like=True, frozen=True):
    """The `MatchReport` on an order."""

    id: int
    data: bytes


class Lost(msgspec.Struct, tag=True, array_like=True, frozen=True):
    """There is no report on an order: ``why`` for people."""

    id: int
    why: str


ToProcess: TypeAlias = Play | Stop | GiveUp
FromProcess: TypeAlias = (
    Connected | Disconnected | NotSubmitted | Joined | Unfit | Left | TurnsPlayed | Reported | Lost
)


def framed(message: FromProcess) -> bytes:
    """Return a message to the host as it travels. Raises ChannelError: it is too long."""
    return frame(message, MAX_MESSAGE_BYTES)


def shortened(text: str) -> str:
    """Return a reason that is not too long: its end says most."""
    return text if len(text) <= TEXT_CHARS else f"... {text[-TEXT_CHARS:]}"


def described(error: BaseException) -> str:
    """Return an error as a reason, on one line."""
    return shortened(" ".join(f"{type(error).__name__}: {error}".split()))
