"""The limits of a program in the sandbox, and the words that tell its author of them."""

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

    def killed_for_memory(self) -> str:
        """Return how a program that exceeded its memory has ended, as the end of a sentence."""
        return f"was killed: it used more than {self.memory_bytes // MIB} MB of memory"

    def rule_behind(self, error: str) -> str:
        """Return the rule of the sandbox that a program's error may come from; empty if no rule fits.

        What the sandbox denies fails as on a system that lacks it: "Operation not permitted", and nothing says why.
        """
        rules = {
            f"a program may not start processes or use the network, and runs at most {self.tasks} threads": (
                *("Operation not permitted", "error=1,", "Cannot fork", "Resource temporarily unavailable"),
                *("can't start new thread", "unable to create native thread"),
            ),
            f"a program has {self.memory_bytes // MIB} MB of memory, with its files": (
                *("MemoryError", "OutOfMemoryError", "bad_alloc", "OutOfMemoryException", "Cannot allocate memory"),
            ),
            f"the files of a program have {self.file_bytes // MIB} MB, and it has at most {self.files} of them": (
                *("No space left on device", "File too large"),
            ),
            f"a program has at most {self.descriptors} files and pipes open": ("Too many open files",),
            "a program writes files in its own folder only": ("Read-only file system", "Permission denied"),
        }
        return next((rule for rule, signs in rules.items() if any(sign in error for sign in signs)), "")


PLAYING = Limits()
"""For a program that plays."""

BUILDING = Limits(
    memory_bytes=2048 * MIB, file_bytes=512 * MIB, children=True, tasks=256, cpu_seconds=120, descriptors=1024
)
"""For compilers, which start other programs and write more than a game needs."""
