"""The table of all attempts, and what they share."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from typing import Any

ATTEMPTS: dict[str, Callable[[dict[str, Any]], object]] = {}
"""Each returns what it achieved, or raises what stopped it. False, None or []: it achieved nothing."""

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long


def attempt(function: Callable[[dict[str, Any]], object]) -> Callable[[dict[str, Any]], object]:
    """Add an attempt to the table, by the name of its function."""
    ATTEMPTS[function.__name__] = function
    return function


def call(aim: dict[str, Any], name: str, *arguments: Any) -> int:
    """Make a system call.

    Raises:
        OSError: it failed.
    """
    numbers = [ctypes.c_long(value) if isinstance(value, int) else value for value in arguments]
    result: int = libc.syscall(ctypes.c_long(aim["calls"][name]), *numbers)
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
