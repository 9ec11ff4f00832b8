"""The output of ``python my_bot.py`` when `play` raises: the lines of ``getstep play`` and no traceback."""

from __future__ import annotations

import sys
from types import TracebackType

from ._errors import GetstepError
from .text import Console


def error_text(error: GetstepError) -> str:
    """Return the lines about an error for the bot's author."""
    return f"{getattr(error, 'trace', '')}\ngetstep: {error}".lstrip()


def print_plainly_if_uncaught() -> None:
    """Print an uncaught `GetstepError` without its traceback, unless the program has its own excepthook.

    The program can catch the error as before, and its exit code stays Python's, 1.
    """
    if sys.excepthook is sys.__excepthook__:
        sys.excepthook = _print_plainly


def _print_plainly(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if isinstance(error, GetstepError):
        Console().warn(error_text(error))
    else:
        sys.__excepthook__(kind, error, trace)
