"""The time limits of cases."""

from __future__ import annotations

from dataclasses import dataclass

from getstep_server import limits


@dataclass(frozen=True)
class Times:
    """Time limits in seconds. The first four are the server's, as `limits` has them unless a test changes them."""

    login: float = limits.LOGIN_SECONDS
    frame: float = limits.FRAME_SECONDS
    linger: float = limits.LINGER_SECONDS
    refusal: float = limits.CLASSIC_REFUSAL_SECONDS
    grace: float = 4.0
    """Additional time for everything, because the machine may be busy."""
    prompt: float = 2.0
    """The most that a client that keeps the rules may wait for a greeting or a login while a case runs."""

    @property
    def slack(self) -> float:
        """The most between a case, or the time limit that it lets expire, and the last of its effects."""
        return self.linger + self.grace
