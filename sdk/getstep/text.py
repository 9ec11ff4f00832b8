"""Text for people: lines that any terminal can show, whatever text they contain."""

from __future__ import annotations

import contextlib
import os
import re
import reprlib
import shutil
import sys
import textwrap
import unicodedata
from pathlib import Path
from typing import Any, TextIO

from .wire import MAX_TEXT

_MOST_SHOWN = 200
_SHORT = reprlib.Repr()
_SHORT.maxlevel, _SHORT.maxstring, _SHORT.maxother, _SHORT.maxlong = 4, 120, 120, 40
_SHORT.maxlist = _SHORT.maxtuple = 12


JOINERS = ZWNJ, ZWJ = "\u200c\u200d"
"""Zero-width non-joiner and joiner: invisible, but some scripts and emoji need them inside of a word."""

_JOINING_SCRIPTS = ("ADLAM", "ARABIC", "HANIFI", "MANDAIC", "MANICHAEAN", "MONGOLIAN", "NKO", "PHAGS-PA", "SYRIAC")
"""Scripts whose letters join, by the names of their letters: Python has no Joining_Type of Unicode."""

_VIRAMA = 9
"""The combining class of the sign that takes the vowel from a letter of an Indic script."""

_MOST_MARKS = 4
"""Marks of a letter that may stand between it and a joiner."""

_EMOJI = [(0x2190, 0x21FF), (0x2600, 0x27BF), (0x2B00, 0x2BFF), (0x1F000, 0x1FAFF)]
"""Blocks of the emoji that stand in sequences with joiners: Python has no Extended_Pictographic of Unicode."""


def is_joiner(text: str, at: int) -> bool:
    """Return True if there is a joiner at this place, and a script or an emoji needs it there.

    These are the contexts of UAX #31 (A1, A2, B) and RFC 5892: between two letters of one script whose letters
    join, such as Arabic; beside a virama of an Indic script; between two emoji. So no joiner begins or ends a text,
    and none follows another one.
    """
    if text[at] not in JOINERS or not 0 < at < len(text) - 1:
        return False
    before, after = text[at - 1], text[at + 1]
    if _is_emoji(after):
        return text[at] == ZWJ and _is_emoji(_base(text, at, -1))
    script = _script(_base(text, at, -1))
    if unicodedata.combining(before) == _VIRAMA:  # half a letter, or a virama that is to be seen
        return script != "" and unicodedata.category(after)[0] in "LNPZ"
    if unicodedata.combining(after) == _VIRAMA:  # Bengali has ra, joiner, virama, ya
        return text[at] == ZWJ and script != "" and unicodedata.name(after).startswith(script)
    return script in _JOINING_SCRIPTS and script == _script(_base(text, at, 1))


def _base(text: str, at: int, step: int) -> str:
    """Return the character before (-1) or after (1) a place, without its marks and skin tone."""
    near = text[at + 1 :] if step > 0 else text[:at][::-1]
    bases = (char for char in near[: _MOST_MARKS + 1] if unicodedata.category(char) not in ("Mn", "Sk"))
    return next(bases, "")


def _script(char: str) -> str:
    return unicodedata.name(char, "").partition(" ")[0] if char.isalpha() else ""


def _is_emoji(char: str) -> bool:
    return char != "" and any(first <= ord(char) <= last for first, last in _EMOJI)


def escape_control_chars(text: str) -> str:
    """Return ``text`` with control, bidi and other invisible characters escaped, so that it is safe to print.

    Joiners stay where a script or an emoji needs them, see `is_joiner`.
    """
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() or is_joiner(text, at) else char.encode("unicode_escape").decode()
        for at, char in enumerate(text)
    )


def short_repr(value: Any) -> str:
    """Return ``repr(value)`` on one line and shortened. Never raises."""
    text = escape_control_chars(_SHORT.repr(value))
    return text if len(text) <= _MOST_SHOWN else text[:_MOST_SHOWN] + "..."


def sendable_text(text: str) -> str:
    """Return ``text`` as valid UTF-8 of at most ``MAX_TEXT`` characters, for a text field on the wire."""
    return text[:MAX_TEXT].encode("utf-8", "backslashreplace").decode()[:MAX_TEXT]


def duration(ms: float) -> str:
    """Return a time in milliseconds for people: ``"0.8 ms"``, ``"35 ms"``, ``"0.35 s"``, ``"20 s"``."""
    if 0 < ms < 0.1:
        return "under 0.1 ms"
    if 0 < ms < 100:
        return f"{ms:.1f} ms" if ms < 10 else f"{ms:.0f} ms"
    return f"{ms / 1000:.2f}".rstrip("0").rstrip(".") + " s"


_COMMAND = re.compile(r"\bgetstep (?=(?:new|rules|wrapper|practice|login|logout|check|play|submit)\b)")


def command_word() -> str:
    """Return how the user has started this command: ``getstep``, ``py -m getstep``, ``python3 -m getstep``."""
    if not sys.argv or Path(sys.argv[0]) != Path(__file__).with_name("__main__.py"):
        return "getstep"
    python = sys.orig_argv[0]
    if sys.platform == "win32" and Path(python).is_absolute():  # as the launcher py starts it
        in_environment = sys.prefix != sys.base_prefix and "VIRTUAL_ENV" not in os.environ
        python = sys.executable if in_environment else "py"
    return f'"{python}" -m getstep' if " " in python else f"{python} -m getstep"


def as_started(text: str) -> str:
    """Return text whose commands ``getstep ...`` begin as the user has started this one: another may not work."""
    word = command_word()
    return text if word == "getstep" else _COMMAND.sub(lambda _: f"{word} ", text)


class Console:
    """Prints progress to standard output, and problems to standard error.

    Args:
        quiet: print problems only.
    """

    def __init__(self, *, quiet: bool = False) -> None:
        self._quiet = quiet

    def say(self, line: str) -> None:
        """Print a line of progress."""
        if not self._quiet:
            _write(sys.stdout, _folded(as_started(line), sys.stdout))

    def warn(self, text: str, *, folded: bool = False) -> None:
        """Print a problem, also if ``quiet``; ``text`` may have several lines, which are broken if ``folded``."""
        text = as_started(text)
        _write(sys.stderr, _folded(text, sys.stderr) if folded else text)


def _folded(text: str, stream: TextIO | None) -> str:
    """Return text whose long lines are broken at spaces, if the stream is a terminal; a terminal breaks words."""
    columns = shutil.get_terminal_size().columns
    if stream is None or not stream.isatty() or "\x1b" in text:
        return text
    lines = text.split("\n")
    return "\n".join(
        textwrap.fill(line, columns, subsequent_indent="  ", break_on_hyphens=False, break_long_words=False)
        if len(line) > columns
        else line
        for line in lines
    )


def _write(stream: TextIO | None, text: str) -> None:
    """Print without buffering. Characters outside the stream's encoding are escaped; a closed stream is ignored."""
    if stream is None:  # a program without a console on Windows
        return
    encoding = getattr(stream, "encoding", None) or "utf-8"
    with contextlib.suppress(OSError, ValueError):
        stream.write(text.encode(encoding, "backslashreplace").decode(encoding) + "\n")
        stream.flush()
