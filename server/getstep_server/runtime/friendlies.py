"""The friendly matches of an arena: challenges on record, which are played beside its own matches.

Theory of operation. A challenge is a record that the live page's process stores; the recorder applies it like a
decision of the host. In each of its rounds the director lets `FriendlyDesk` begin the challenges whose teams both
have a free seat. Such a seat is marked, so that the tournament's part of a run does not count with it until it is
free. A match of the tournament comes first: a team with open matches of its own needs a further seat.

A friendly match is judged like any other, with two differences. Its events are published to nobody, so no table,
view or statistic of the contest sees it. And its turns are in memory only: if the server dies, the match is lost,
which costs nobody anything, and the journal has no match that the tournament does not know. Its end is one record.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Mapping, Sequence

import trio

from getstep.wire import End
from getstep_server.config.contest import Contest
from getstep_server.events import FriendlyEnded, FriendlyStarted, Publish, ServerFault
from getstep_server.net.seat import Seat
from getstep_server.play.deadlines import DeadlineScheduler
from getstep_server.play.judge import end_message, play_match
from getstep_server.play.scoresheet import Scoresheet, UnwrittenJournal
from getstep_server.records.challenge import Challenge, friendly_match, friendly_record
from getstep_server.records.game import game_header
from getstep_server.records.match import Match
from getstep_server.records.reasons import VoidReason
from getstep_server.records.result import PLAYERS
from getstep_server.storage.disk import Disk
from getstep_server.tournament.tournament import Tournament

from .recorder import Recorder


class FriendlyDesk:
    """Begins and ends the friendly matches of a run.

    Args:
        contest: its teams and lag.
        tournament: has the challenges.
        seats: the seats of each team.
        recorder: stores the results.
        disk: says whether there is room for another match.
        scheduler: wakes the judge at deadlines.
        publish: told when a match begins and ends.
        changed: called when seats are free again.
    """

    def __init__(
        self,
        contest: Contest,
        tournament: Tournament,
        seats: Mapping[int, Sequence[Seat]],
        recorder: Recorder,
        disk: Disk,
        scheduler: DeadlineScheduler,
        publish: Publish,
        changed: Callable[[], None],
    ) -> None:
        self._contest = contest
        self._tournament = tournament
        self._seats = seats
        self._recorder = recorder
        self._disk = disk
        self._scheduler = scheduler
        self._publish = publish
        self._changed = changed
        self._begun: set[int] = set()
        """The challenges of this run that have begun: each is tried once."""
        self._playing: set[int] = set()

    def __bool__(self) -> bool:
        """Return True if a friendly match is being played."""
        return bool(self._playing)

    def begin(self, nursery: trio.Nursery, running: Mapping[int, int]) -> None:
        """Begin the matches that can begin now.

        Args:
            nursery: the tasks of the matches.
            running: how many matches of the tournament each team plays now.
        """
        # the wall clock: the records have the times of the challenges
        waiting = self._tournament.challenges.waiting(time.time())
        due = [challenge for challenge in waiting if challenge.number not in self._begun]
        if not due or self._tournament.frozen_at is not None or not self._disk.writable:
            return
        open_matches = self._tournament.open_by_team()
        for challenge in due:
            status = [self._tournament.status(team, challenge.event) for team in challenge.teams]
            if any(status) or self._tournament.pauses.of_event(challenge.event) is not None:
                continue
            found = [self._free_seat(t, open_matches.get(t, 0) - running.get(t, 0)) for t in challenge.teams]
            seats = [seat for seat in found if seat is not None]
            if len(seats) == len(challenge.teams):
                self._begun.add(challenge.number)
                self._playing.add(challenge.number)
                for seat in seats:
                    seat.taken = seat.friendly = True
                nursery.start_soon(self._conduct, challenge, seats)

    def _free_seat(self, team: int, needed: int) -> Seat | None:
        """Return a seat with a bot that is left over if ``needed`` matches of the tournament begin now."""
        free = [seat for seat in self._seats.get(team, ()) if seat.connected and not seat.taken]
        # a bot that hangs gets no further match to lose time with
        return next((seat for seat in free[max(0, needed) :] if seat.silent_since is None), None)

    async def _conduct(self, challenge: Challenge, found: Sequence[Seat]) -> None:
        match = friendly_match(self._contest, challenge)
        first = challenge.teams.index(match.first)
        seats = found[first], found[1 - first]
        self._publish(FriendlyStarted(match))
        try:
            await self._play(match, seats)
        except Exception:  # a failure of a friendly match must not end the contest
            self._publish(ServerFault(f"friendly match {match.number}", traceback.format_exc()))
        finally:
            for seat in seats:
                if seat.in_match:
                    broken_off = "the friendly match was broken off; it counts nowhere"
                    seat.end(End(match.number, "void", str(VoidReason.SERVER_FAULT), broken_off, None))
                seat.taken = seat.friendly = False
            self._playing.discard(match.number)
            result = self._tournament.challenges.results.get(match.number)
            self._publish(FriendlyEnded(match, "" if result is None else result.detail))
            self._changed()

    async def _play(self, match: Match, seats: tuple[Seat, Seat]) -> None:
        head = game_header(self._contest, match, 1, time.time())
        sheet = Scoresheet(head, UnwrittenJournal(), self._disk)
        result = await play_match(sheet, seats, self._scheduler, lambda _: None, friendly=True)
        await self._recorder.put_friendly(friendly_record(sheet.record(result)), match.number)
        for player in PLAYERS:
            seats[player].end(end_message(result, player))
