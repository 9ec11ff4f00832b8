"""Text from outside, made safe to show: a team may not repaint the host's terminal or forge a log line."""

from __future__ import annotations

import unicodedata


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
