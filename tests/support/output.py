"""The output of a program, line by line, and waiting for a line of it."""

from __future__ import annotations

import re
import threading
import time

from tests.support.patience import PATIENCE_SECONDS


class Output:
    """Text that grows until it is closed, and can be waited for."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._changed = threading.Condition()
        self._closed = False

    @property
    def output(self) -> str:
        """All of it up to now."""
        with self._changed:
            return "".join(self._parts)

    def add(self, text: str) -> None:
        """Append ``text``."""
        with self._changed:
            self._parts.append(text)
            self._changed.notify_all()

    def close(self) -> None:
        """Say that nothing more comes."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def expect(self, pattern: str, *, seconds: float = PATIENCE_SECONDS) -> re.Match[str]:
        """Wait until the output has ``pattern`` (a line's ``^`` and ``$`` count).

        Raises:
            AssertionError: the line is missing after ``seconds``, or at the end of the output.
        """
        deadline = time.monotonic() + seconds
        with self._changed:
            while True:
                text = "".join(self._parts)
                found = re.search(pattern, text, re.MULTILINE)
                if found:
                    return found
                left = deadline - time.monotonic()
                if left <= 0 or self._closed:
                    raise AssertionError(f"no {pattern!r} in the output:\n{text}")
                self._changed.wait(left)


class ServerOutput(Output):
    """The output of a server about its contest."""

    def _listening(self) -> re.Match[str]:
        return self.expect(r"^Listening on \S+, port (\d+)(?:, classic wire on port (\d+))?\.$")

    @property
    def port(self) -> int:
        """The port on which it listens."""
        return int(self._listening()[1])

    @property
    def classic_port(self) -> int | None:
        """The port on which it listens for classic clients; None if it does not."""
        port = self._listening()[2]
        return None if port is None else int(port)

    @property
    def complaints(self) -> list[str]:
        """The lines about refused connections, violations of the protocol and failures of the server itself."""
        return [line for line in self.output.splitlines() if line.startswith("!")]
