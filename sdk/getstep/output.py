"""What a bot prints: counted, and its latest lines kept."""

from __future__ import annotations

from collections import deque

from .text import escape_control_chars

_MAX_LINE = 1 << 16  # bytes: a line of any length takes a bounded amount of memory

_KEPT_LINES = 50
_MAX_LAST_LINE = 200  # characters of a line that are kept


class Output:
    """The output of a bot: the number of ``lines``, and the ``last`` one. Another thread may feed it."""

    def __init__(self) -> None:
        self.lines = 0
        self._last = ""
        self._begun = b""  # a line without its end
        self._recent: deque[tuple[int, str]] = deque(maxlen=_KEPT_LINES)

    @property
    def last(self) -> str:
        """The last line that is not empty."""
        return _shown(self._begun).strip()[-_MAX_LAST_LINE:] or self._last

    def __str__(self) -> str:
        """Return for example ``"900 lines; the last: move (2, 3)"``, or an empty string."""
        if not self.lines:
            return ""
        return f"{self.lines} line{'s' if self.lines > 1 else ''}; the last: {escape_control_chars(self.last)}"

    def ending(self, code: int) -> str:
        """Return how a process with this output has ended, and what it printed last.

        Args:
            code: its exit code; a negative one is that of a signal. Those of Windows are hexadecimal.
        """
        how = f"signal {-code}" if code < 0 else f"exit code {code if code < 1 << 31 else hex(code)}"
        last = f"; it printed last: {escape_control_chars(self.last)}" if self.last else ""
        return f"its process has ended with {how}{last}"

    def feed(self, data: bytes) -> None:
        """Add what was printed."""
        *lines, begun = (self._begun + data).split(b"\n")
        for line in lines:
            self._add(line)
            self.lines += 1
        if len(begun) >= _MAX_LINE:
            self._add(begun)
            begun = b""
        self._begun = begun

    def _add(self, line: bytes) -> None:
        if text := _shown(line):
            self._last = text.strip()[-_MAX_LAST_LINE:]
            self._recent.append((self.lines, text[:_MAX_LAST_LINE]))

    def since(self, lines: int) -> list[str]:
        """Return the latest lines, but not those that were printed when ``lines`` was the count of lines."""
        texts = [text for number, text in list(self._recent) if number >= lines]
        begun = _shown(self._begun)[:_MAX_LAST_LINE]
        return [escape_control_chars(text) for text in [*texts, *filter(None, [begun])]]


def _shown(line: bytes) -> str:
    return line.decode("utf-8", "replace").rstrip()
