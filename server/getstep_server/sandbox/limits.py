"""The limits of a program in the sandbox."""

from __future__ import annotations

from dataclasses import dataclass

from getstep_server.limits import (
    PROGRAM_ADDRESS_BYTES,
    PROGRAM_CPU_SECONDS,
    PROGRAM_DESCRIPTORS,
    PROGRAM_FILE_BYTES,
    PROGRAM_FILES,
    PROGRAM_MEMORY_BYTES,
    PROGRAM_THREADS,
)

MIB = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits of one program. All sizes are bytes."""

    memory_bytes: int = PROGRAM_MEMORY_BYTES
    """Memory of all its processes together, with the files that it has written."""

    address_bytes: int = PROGRAM_ADDRESS_BYTES
    """Addresses of one process, whether there is memory behind them or not."""

    file_bytes: int = PROGRAM_FILE_BYTES
    """All files in its folder and in its temporary folder together, with those it starts from."""

    files: int = PROGRAM_FILES
    """Files and folders that it may have."""

    children: bool = False
    """True if it may start processes, and replace itself by another program. Threads are always allowed."""

    tasks: int = PROGRAM_THREADS
    """Threads and processes at the same time."""

    descriptors: int = PROGRAM_DESCRIPTORS
    """Open files at the same time."""

    cpu_seconds: int = PROGRAM_CPU_SECONDS
    """Processor time of one process, after which it is killed."""


PLAYING = Limits()
"""For a program that plays."""

BUILDING = Limits(
    memory_bytes=2048 * MIB, file_bytes=512 * MIB, children=True, tasks=256, cpu_seconds=120, descriptors=1024
)
"""For compilers, which start other programs and write more than a game needs."""
