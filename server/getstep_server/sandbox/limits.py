"""What a program in the sandbox may use."""

from __future__ import annotations

from dataclasses import dataclass

MIB = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits of one program. All sizes are bytes."""

    memory_bytes: int = 1024 * MIB
    """Memory of all its processes together, with the files that it has written."""

    file_bytes: int = 64 * MIB
    """All files in its folder and in its temporary folder together, with those it starts from."""

    files: int = 10_000
    """Files and folders that it may have. Each costs the kernel about 1 KiB, which no size of a file counts."""

    children: bool = False
    """Whether it may start processes, and replace itself by another program. Threads are always allowed."""

    tasks: int = 100
    """Threads and processes at the same time. A Java virtual machine on two cores has 20, node 11."""

    descriptors: int = 256
    """Open files at the same time. A Java virtual machine starts with 10."""

    cpu_seconds: int = 3600
    """Processor time of one process, after which it is killed."""


PLAYING = Limits()
"""For a program that plays."""

BUILDING = Limits(memory_bytes=2048 * MIB, file_bytes=512 * MIB, children=True, cpu_seconds=120, descriptors=1024)
"""For compilers, which start other programs and write more than a game needs."""
