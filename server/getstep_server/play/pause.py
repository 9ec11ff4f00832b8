"""The pause of one match, between the host and the judge.

The director sets it, in its own task, and the judge looks at it before each question. A pause at once also wakes
the judge while a question is open. Other processes that judge the match follow it by messages (`judges`).
"""

from __future__ import annotations

from collections.abc import Callable

import trio

from getstep_server.records.pause import Pause


class MatchPause:
    """Whether a match is paused now."""

    __slots__ = ("_followers", "at_once", "on", "order", "since")

    def __init__(self) -> None:
        self.order: Pause | None = None
        self.on = False
        """True if no further question is asked. An attribute: the judge looks at it in every turn."""
        self.at_once = False
        """True if the clock of an open question stands still, too."""
        self.since = 0.0
        """The time on trio's clock at which that clock stopped."""
        self._followers: list[Callable[[], None]] = []

    def set(self, order: Pause | None) -> None:
        """Pause the match, or let it go on; None: it is not paused."""
        if order == self.order:
            return
        stopped = order is not None and order.at_once
        if stopped and not self.at_once:
            self.since = trio.current_time()
        self.order, self.on, self.at_once = order, order is not None, stopped
        for follow in list(self._followers):
            follow()

    def follow(self, changed: Callable[[], None]) -> None:
        """Call ``changed`` after each change."""
        self._followers.append(changed)

    def unfollow(self, changed: Callable[[], None]) -> None:
        self._followers.remove(changed)
