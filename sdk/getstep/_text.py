"""Text for people: plain lines that any terminal can show, whatever the text in them."""

from __future__ import annotations

import contextlib
import reprlib
import sys
from typing import Any, TextIO

from .wire import MAX_TEXT

_MOST_SHOWN = 200
_SHORT = reprlib.Repr()
_SHORT.maxlevel, _SHORT.maxstring, _SHORT.maxother, _SHORT.maxlong = 4, 120, 120, 40
_SHORT.maxlist = _SHORT.maxtuple = 12


def printable(text: str) -> str:
    """``text`` with control, bidi and other invisible characters as escapes: it can do nothing but be read."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def shown(value: Any) -> str:
    """``repr(value)`` for a message: on one line, shortened, and never an error."""
    text = printable(_SHORT.repr(value))
    return text if len(text) <= _MOST_SHOWN else text[:_MOST_SHOWN] + "..."


def sendable_text(text: str) -> str:
    """``text`` as a text field of the wire takes it: valid UTF-8, at most ``MAX_TEXT`` characters."""
    return text[:MAX_TEXT].encode("utf-8", "backslashreplace").decode()[:MAX_TEXT]


def duration(ms: float) -> str:
    """A time in milliseconds as people read it: ``"0.8 ms"``, ``"35 ms"``, ``"0.35 s"``, ``"20 s"``."""
    if 0 < ms < 0.1:
        return "under 0.1 ms"
    if 0 < ms < 100:
        return f"{ms:.1f} ms" if ms < 10 else f"{ms:.0f} ms"
    return f"{ms / 1000:.2f}".rstrip("0").rstrip(".") + " s"


class Console:
    """Where the lines go: progress to standard output, problems to standard error.

    Args:
        quiet: say no progress, only problems.
    """

    def __init__(self, *, quiet: bool = False) -> None:
        self._quiet = quiet

    def say(self, line: str) -> None:
        """Print a line of progress."""
        if not self._quiet:
            _write(sys.stdout, line)

    def warn(self, text: str) -> None:
        """Print a problem, quiet or not; ``text`` may have several lines."""
        _write(sys.stderr, text)


def _write(stream: TextIO | None, text: str) -> None:
    """Print at once. What the stream's encoding lacks is escaped; a stream that is gone ends no match."""
    if stream is None:  # a program without a console on Windows
        return
    encoding = getattr(stream, "encoding", None) or "utf-8"
    with contextlib.suppress(OSError, ValueError):
        stream.write(text.encode(encoding, "backslashreplace").decode(encoding) + "\n")
        stream.flush()
