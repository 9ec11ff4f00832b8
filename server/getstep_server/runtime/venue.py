"""Venues: the places where matches are played. One is this process; others are other processes or machines.

The director chooses a venue for each attempt at a match. The director does the rest wherever the match is
played: the seats, the scoresheet, the record, the end, and the decisions of the host.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from getstep_server.events import Publish
from getstep_server.net.seat import Seat
from getstep_server.play.deadlines import DeadlineScheduler
from getstep_server.play.judge import play_match
from getstep_server.play.scoresheet import Scoresheet
from getstep_server.records.game import Programs
from getstep_server.records.match import Match
from getstep_server.records.result import Result

from .attempt import Attempt
from .hosted import HostedPrograms


class Venue(Protocol):
    """A place where matches are played."""

    def takes(self, attempt: Attempt) -> bool:
        """Return True if this match, which starts or is resumed, can be played here."""

    def prepare(self, attempt: Attempt, is_due: Callable[[], bool]) -> AbstractAsyncContextManager[Programs | None]:
        """Prepare what the match needs, from before the block until after it; see `HostedPrograms.playing`."""

    async def play(self, attempt: Attempt, sheet: Scoresheet) -> Result:
        """Play the match, or the rest of it, in the block of `prepare`; each turn goes to ``sheet``.

        Cancelled if a decision supersedes the attempt. An exception is the server's fault, and makes it void.

        Raises:
            MatchLost: it was lost with the process or the machine that played it; that is not a reason to stop.
        """


class ClusterProtocol(Venue, Protocol):
    """Other machines, on which a hosted program can play many matches at once."""

    @property
    def most(self) -> int:
        """The matches that the director may start, besides those that are played in other venues."""

    def is_for(self, match: Match) -> bool:
        """Return True if a match that begins now is played here."""

    def seat(self, team: int) -> Seat:
        """Return a seat for one match: nobody ever connects to it."""


class LocalVenue:
    """The venue of all matches that no other venue takes: this process judges them.

    Args:
        hosted: the programs that this machine runs.
        scheduler: wakes the judge at deadlines, and knows when the server itself stalled.
        publish: called with each move and fault.
    """

    def __init__(self, hosted: HostedPrograms, scheduler: DeadlineScheduler, publish: Publish) -> None:
        self._scheduler = scheduler
        self._publish = publish
        self.prepare = hosted.playing

    def takes(self, _: Attempt) -> bool:
        return True

    async def play(self, attempt: Attempt, sheet: Scoresheet) -> Result:
        return await play_match(sheet, attempt.seats, self._scheduler, self._publish, attempt.pause)
