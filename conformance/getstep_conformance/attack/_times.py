"""The time limits of cases: those of protocol.md, which a server keeps, and our own."""

from __future__ import annotations

from dataclasses import dataclass

LOGIN_SECONDS = 10.0
FRAME_SECONDS = 5.0
LINGER_SECONDS = 2.0
CLASSIC_REFUSAL_SECONDS = 1.0
BAD_LOGIN_FIRST_SECONDS = 0.25
LOGINS_PER_WINDOW = 20
LOGIN_WINDOW_SECONDS = 10.0
MAX_STALE_ANSWERS = 16
"""The limits of protocol.md: getstep's server has the same names in its `limits`, and a test compares them."""


@dataclass(frozen=True)
class Times:
    """Time limits in seconds. The first four are the server's: those of protocol.md, unless a test changes them."""

    login: float = LOGIN_SECONDS
    frame: float = FRAME_SECONDS
    linger: float = LINGER_SECONDS
    refusal: float = CLASSIC_REFUSAL_SECONDS
    grace: float = 4.0
    """Additional time for everything, because the machine may be busy."""
    prompt: float = 2.0
    """The most that a client that keeps the rules may wait for a greeting or a login while a case runs."""

    @property
    def slack(self) -> float:
        """The most between a case, or the time limit that it lets expire, and the last of its effects."""
        return self.linger + self.grace
