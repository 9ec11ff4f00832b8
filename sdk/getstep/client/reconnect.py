"""Pauses between connections (protocol.md, "Reconnecting"), and goodbyes to believe (docs/proofs.md, "Trust")."""

from __future__ import annotations

import os
import random

from getstep.wire import Goodbye

FIRST_PAUSE_SECONDS = 0.2
LONGEST_PAUSE_SECONDS = 5.0
"""The longest pause between attempts to connect; pauses double each time (protocol.md, "Reconnecting")."""

SHORTEST_RETRY_SECONDS = 1.0
LONGEST_RETRY_SECONDS = 60.0
"""Bounds for the `retry_ms` of a server that has not proved itself. Without them, any computer in the host's place
could make the bot connect 40 times a second, or wait for a day."""

STEADY_SECONDS = 10.0
"""A connection to a server that has not proved itself resets the pauses only if it lasted that long. A server that
accepts the login and closes gets one connection every 5 s."""

SCALE_VARIABLE = "GETSTEP_TIME_SCALE"
"""The variable by which tests shorten all pauses between connections (docs/conformance.md)."""

SHORTEST_SCALE = 0.01
"""A smaller scale would let a client connect 500 times a second."""

JITTER = 0.1
"""The random part of a pause, so that a room full of bots does not connect in the same instant."""


class Backoff:
    """The pauses between attempts to connect: exponential, with jitter."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Make the next pause short again."""
        self._next = FIRST_PAUSE_SECONDS

    @property
    def is_long(self) -> bool:
        """True once several attempts in a row have failed: a server that was restarted would be back."""
        return self._next >= LONGEST_PAUSE_SECONDS / 2

    def next(self) -> float:
        """Return the next pause, in seconds."""
        pause = self._next
        self._next = min(2 * pause, LONGEST_PAUSE_SECONDS)
        return pause * random.uniform(1 - JITTER, 1)


def time_scale() -> float:
    """Return the factor of all pauses: that of GETSTEP_TIME_SCALE if it is from 0.01 to 1, else 1."""
    try:
        scale = float(os.environ.get(SCALE_VARIABLE, ""))
    except ValueError:
        return 1.0
    return scale if SHORTEST_SCALE <= scale <= 1 else 1.0


def ends_the_run(goodbye: Goodbye, *, proved: bool, welcomed: bool, ever_proved: bool) -> bool:
    """Return True if the bot stops after ``goodbye``.

    Args:
        goodbye: what the server said.
        proved: the server has proved on this connection that it knows the token.
        welcomed: the server has accepted the login on this connection.
        ever_proved: a server has proved itself since the bot was started.
    """
    if goodbye.retry_ms is not None:
        return False
    if proved:
        return True
    if ever_proved or goodbye.reason == "contest_over":
        return False
    # A refused login cannot be proved, and the author has to read at once that the token is wrong. Two copies of
    # a bot that ignored `replaced` would take the seat from each other without end.
    return not welcomed or goodbye.reason == "replaced"


def retry_seconds(goodbye: Goodbye, backoff: Backoff, *, proved: bool) -> float:
    """Return how long to wait after ``goodbye``, in seconds."""
    if goodbye.retry_ms is None:  # a goodbye that is not believed
        return max(backoff.next(), SHORTEST_RETRY_SECONDS)
    seconds = goodbye.retry_ms / 1000
    if proved:
        return seconds * random.uniform(1, 1 + JITTER)
    return min(max(seconds, SHORTEST_RETRY_SECONDS) * random.uniform(1, 1 + JITTER), LONGEST_RETRY_SECONDS)
