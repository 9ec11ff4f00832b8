"""Text for people. Text from outside is escaped: a team cannot repaint the host's terminal or forge a line."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

LATEST_TIME = datetime(3000, 1, 1, tzinfo=UTC).timestamp()
"""Times of a contest are before this one, in seconds since the epoch, so that no sum of times overflows."""


def escape_control_chars(text: str) -> str:
    """Return text with control, format (bidi included), surrogate and private characters as ``\\uXXXX``.

    Joiners stay where a script or an emoji needs them.
    """
    if text.isprintable():  # the usual case: no character of the categories C and Z except the space
        return text
    from getstep.text import is_joiner  # not on top: few texts need it

    return "".join(
        char if _harmless(char) or is_joiner(text, at) else _escaped(char) for at, char in enumerate(text)
    )


def _harmless(char: str) -> bool:
    category = unicodedata.category(char)
    return category[0] != "C" and category not in ("Zl", "Zp")


def _escaped(char: str) -> str:
    code = ord(char)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


_VERSION = re.compile(r"(\d{1,6})\.(\d{1,6})\.(\d{1,6})", re.ASCII)


def version_numbers(version: str) -> tuple[int, ...] | None:
    """Return the three numbers of a version such as ``0.1.0``; None if it is written in another way."""
    return tuple(map(int, found.groups())) if (found := _VERSION.fullmatch(version)) else None


def name_key(name: str) -> str:
    """Return what tells a name from others: two names that differ only by joiners look the same."""
    return name if name.isascii() else name.translate(_NO_JOINERS)


_NO_JOINERS = dict.fromkeys(map(ord, "\u200c\u200d"))
"""Those of `getstep.text`, which takes some milliseconds to import."""


def pluralize(count: int, what: str) -> str:
    """Return a count with its noun: ``"1 match"``, ``"2 matches"``, ``"0 pairs"``."""
    return f"{count} {what}" if count == 1 else f"{count} {what}{'es' if what.endswith('ch') else 's'}"


def sentence(text: str) -> str:
    """Return ``text`` with a full stop, unless it ends in one, as a team's name may."""
    return text if text.endswith(".") else f"{text}."


def local_minute(seconds: float) -> str:
    """Return seconds since the epoch as a time in the host's time zone, to the minute."""
    return f"{datetime.fromtimestamp(seconds).astimezone():%Y-%m-%d %H:%M}"


def utc_time(seconds: float) -> str:
    """Return seconds since the epoch as ISO 8601 in UTC, to the millisecond."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


_FIRST_OF_NO_WIDTH = "\u0300"
"""The first combining character: each printable one before it takes one cell."""


def cell_len(text: str) -> int:
    """Return the number of terminal cells that a text takes."""
    if text.isprintable() and max(text, default="") < _FIRST_OF_NO_WIDTH:
        return len(text)
    from rich.cells import cell_len  # not on top: it takes 10 ms to import, and most texts are Latin

    return cell_len(text)


def join_limited(names: Sequence[str], separator: str, cells: int) -> str:
    """Return as many names as fit ``cells`` terminal cells, at least one, and how many more there are."""
    shown, width = 1, cell_len(names[0])
    for count, name in enumerate(names[1:], start=2):
        width += cell_len(separator) + cell_len(name)
        if width > cells:
            break
        if width + len(_more(len(names) - count)) <= cells:
            shown = count
    return separator.join(names[:shown]) + _more(len(names) - shown)


def _more(count: int) -> str:
    return f" and {count} more" if count > 0 else ""


def fold(text: str, cells: int, indent: int = 0) -> list[str]:
    """Return lines of at most ``cells`` terminal cells, broken at spaces, or in a word that is longer than a line.

    `textwrap` counts characters, and a Chinese one takes two cells.

    Args:
        text: one line.
        cells: room for each line, more than ``indent``.
        indent: spaces before each line but the first.
    """
    lines = [""]
    for part in re.findall(r" +|[^ ]+", text):
        if lines[-1].strip() and cell_len(lines[-1] + part) > cells:
            lines.append(" " * indent)
            if part.isspace():
                continue
        for char in part:
            if cell_len(lines[-1] + char) > cells:
                if not lines[-1].strip():
                    lines.pop()  # spaces alone need no line
                lines.append(" " * indent)
            lines[-1] += char
    return [line.rstrip() for line in lines if line.strip()]


def shell_command(*words: str | Path) -> str:
    """Return a command of `getstep-server` as one types it in this machine's shell."""
    command = ["getstep-server", *map(str, words)]
    if os.name != "nt":
        import shlex  # here and below: a table does not need them

        return shlex.join(command)
    from subprocess import list2cmdline  # here: only Windows needs it, and it takes 5 ms to import

    return list2cmdline(command)
