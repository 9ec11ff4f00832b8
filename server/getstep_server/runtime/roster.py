"""The list of teams of a run, which changes while it goes on: new teams, names, tokens and seats.

Theory of operation. The host's command changes teams.toml, and puts the change on record if the contest has begun.
This module follows both:

- Before anything is on record, teams.toml is what the contest begins with. It is read again when it has changed.
- Afterwards the records count. A decision about a team lets this module read the team's token in teams.toml, where
  it stands before the record is stored. A file that was only edited counts from the next run on, as always.

All parts of a run share one `Contest` and one mapping of seats. Both are changed in place: the next login, the next
pairings and the next capacity see them. A team that has lost its token loses its connections, too.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import trio
from msgspec.structs import replace

from getstep.wire import Goodbye
from getstep_server.config.contest import Contest, Team, load_contest, teams_path
from getstep_server.config.toml_file import stamp_of
from getstep_server.errors import ConfigError
from getstep_server.events import Bus, DecisionTaken, TeamLeft, TeamsChanged, TeamsUnreadable
from getstep_server.net.seat import Seat, resized, seats_of
from getstep_server.records.reasons import ROSTER_KINDS
from getstep_server.tournament.tournament import Tournament

FILE_SECONDS = 0.5
"""The interval at which teams.toml is looked at before the contest begins."""

NEW_TOKEN = Goodbye("bad_token", "The host gave this team a new token. It is on the new slip from the host.", None)


class Roster:
    """Keeps the teams and seats of a run as the host wants them.

    Args:
        contest: of the run; its teams are changed in place.
        tournament: the state on record.
        seats: of all teams; changed in place.
        bus: tells of decisions, and is told of changes.
        seat_publish: called with what new seats publish.
    """

    def __init__(
        self,
        contest: Contest,
        tournament: Tournament,
        seats: dict[int, tuple[Seat, ...]],
        bus: Bus,
        seat_publish: Callable[..., None],
    ) -> None:
        self._contest = contest
        self._tournament = tournament
        self._seats = seats
        self._bus = bus
        self._seat_publish = seat_publish
        self._decided: dict[int, None] = {}
        """The teams about which something was decided, and not yet done."""
        self._woken = trio.Event()
        self._stamp = stamp_of(teams_path(self._contest.folder))
        bus.subscribe(self._note, [DecisionTaken])
        bus.subscribe(self._left, [TeamLeft])

    async def run(self, changed: Callable[[], None]) -> None:
        """Follow the changes until cancelled.

        Args:
            changed: called after each change: there may be new pairings.
        """
        while True:
            with trio.move_on_after(FILE_SECONDS if not self._tournament.place else float("inf")):
                await self._woken.wait()
            self._woken = trio.Event()
            if await self.refresh():
                changed()

    async def refresh(self) -> bool:
        """Take up the changes since the last call; return True if there were any."""
        if self._tournament.place:
            teams = list(self._decided)
            if not teams:
                return False
        elif (stamp := stamp_of(teams_path(self._contest.folder))) != self._stamp:
            self._stamp, teams = stamp, []
        else:
            return False
        self._decided.clear()
        try:
            # in a thread: 1,024 teams take a tenth of a second to read
            files = await trio.to_thread.run_sync(partial(load_contest, self._contest.folder))
        except ConfigError as error:
            self._bus.publish(TeamsUnreadable(str(error)))
            self._decided |= dict.fromkeys(teams)  # with the next decision, when the host has mended the file
            return False
        found = teams or [one for one, team in files.teams.items() if self._differs(team)]
        self._take({number: self._team(number, files) for number in found if number not in files.house_bots})
        return bool(found)

    def _differs(self, team: Team) -> bool:
        return team.id not in self._contest.house_bots and team != self._contest.teams.get(team.id)

    def _team(self, number: int, files: Contest) -> Team:
        """Return a team with its token from the file; once something is on record, with its name from there."""
        on_record = self._tournament.contest.teams.get(number)
        team = files.teams.get(number)
        if team is None:  # it was deleted from the file after the decision: it cannot log in any more
            return on_record or Team(id=number, name=f"team {number}", token="")
        return replace(team, name=on_record.name) if on_record is not None and self._tournament.place else team

    def _take(self, teams: dict[int, Team]) -> None:
        before = self._contest.teams
        self._contest.take_teams({**before, **teams})
        for number, team in teams.items():
            if number in self._seats:
                self._seats[number] = resized(self._seats[number], team, self._seat_publish)
            else:
                self._seats[number] = seats_of(team, self._seat_publish)
            if number in before and before[number].token != team.token:
                for seat in self._seats[number]:
                    seat.expel(NEW_TOKEN)
        if self._tournament.place:
            self._tournament.due |= {event.number for event in self._contest.events}
        self._bus.publish(TeamsChanged(tuple(teams)))

    def _note(self, event: object) -> None:
        if isinstance(event, DecisionTaken) and event.decision.kind in ROSTER_KINDS:
            self._decided[event.decision.team or 0] = None
            self._woken.set()

    def _left(self, event: object) -> None:
        """Take away a seat that a bot has left, if its team has too many."""
        if isinstance(event, TeamLeft) and len(self._seats[event.team]) > self._contest.teams[event.team].seats:
            team = self._contest.teams[event.team]
            self._seats[event.team] = resized(self._seats[event.team], team, self._seat_publish)
