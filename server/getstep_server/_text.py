"""Text from outside, made safe to show: a team may not repaint the host's terminal or forge a log line."""

from __future__ import annotations

import unicodedata
from datetime import UTC, datetime

LATEST_TIME = datetime(3000, 1, 1, tzinfo=UTC).timestamp()
"""Times of a contest are before this one, in seconds since the epoch: so there is room to reckon with them."""


def printable(text: str) -> str:
    """``text`` with control, format (bidi included), surrogate and private characters as ``\\uXXXX`` escapes."""
    if text.isprintable():  # nothing but the space has to do with C or Z
        return text
    return "".join(char if _harmless(char) else _escaped(char) for char in text)


def _harmless(char: str) -> bool:
    category = unicodedata.category(char)
    return category[0] != "C" and category not in ("Zl", "Zp")


def _escaped(char: str) -> str:
    code = ord(char)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def counted(count: int, what: str) -> str:
    """``count`` things: ``"1 match"``, ``"2 matches"``, ``"0 pairs"``."""
    return f"{count} {what}" if count == 1 else f"{count} {what}{'es' if what.endswith('ch') else 's'}"


def sentence(text: str) -> str:
    """``text`` with a full stop, unless it ends in one, as a team's name may."""
    return text if text.endswith(".") else f"{text}."


def local_minute(seconds: float) -> str:
    """Seconds since the epoch in the host's own time, to the minute."""
    return f"{datetime.fromtimestamp(seconds).astimezone():%Y-%m-%d %H:%M}"


def utc_time(seconds: float) -> str:
    """Seconds since the epoch as ISO 8601 in UTC, to the millisecond."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
