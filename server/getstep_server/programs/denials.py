"""The rule behind an error that the sandbox has caused, for the program's author.

What the sandbox denies fails as on a system that lacks it: "Operation not permitted", and nothing says why.
"""

from __future__ import annotations

from getstep.wire import MAX_TEXT
from getstep_server.sandbox import Limits

_MIB = 1 << 20


def with_rule(error: str, limits: Limits) -> str:
    """Return an error with the rule of the sandbox that it may come from, in at most `MAX_TEXT` characters."""
    rule = _rule(error, limits)
    return f"{error[: MAX_TEXT - len(rule)]}{rule}" if rule else error


def _rule(error: str, limits: Limits) -> str:
    rules = {
        f"a program may not start processes or use the network, and runs at most {limits.tasks} threads": (
            *("Operation not permitted", "error=1,", "Cannot fork", "Resource temporarily unavailable"),
            *("can't start new thread", "unable to create native thread"),
        ),
        f"a program has {limits.memory_bytes // _MIB} MB of memory, with its files": (
            *("MemoryError", "OutOfMemoryError", "bad_alloc", "OutOfMemoryException", "Cannot allocate memory"),
        ),
        f"the files of a program have {limits.file_bytes // _MIB} MB, and it has at most {limits.files} of them": (
            *("No space left on device", "File too large"),
        ),
        f"a program has at most {limits.descriptors} files and pipes open": ("Too many open files",),
        "a program writes files in its own folder only": ("Read-only file system", "Permission denied"),
    }
    found = next((rule for rule, signs in rules.items() if any(sign in error for sign in signs)), None)
    return f" (in the sandbox, {found})" if found else ""
