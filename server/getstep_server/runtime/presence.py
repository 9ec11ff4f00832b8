"""Which teams are present: how many matches each of them can play at once, and which matches wait for a team."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from getstep_server.net.seat import Seat
from getstep_server.records.match import Match

from .hosted import HostedPrograms

PATIENCES = 10
"""The longest wait of a new round, and of a resumed contest, in no-show times: 10 minutes by default.

Without a limit, one missing team would stop a contest that runs unattended.
"""

RESUME_SECONDS = 60.0
"""The least time for which a resumed contest waits: clients that lost their server try again within seconds."""


RECOVERY_SECONDS = 12.0
"""A team whose bot has missed a limit in silence gets its next match so much later, or at the bot's sign of life.

A client starts a bot again that hangs, 10 s after the limit (protocol.md, "The conversation"). Without the wait,
the bot would lose ten more matches with a limit of 1 s.
"""

RECOVERIES = 3
"""The number of such waits of a seat in a run: a bot that is only too slow must not delay the others each time."""

RECOVERY_CHECK_SECONDS = 0.5
"""The time between two looks at a bot that is waited for: a late answer wakes nobody."""


class Presence:
    """The presence of the teams: which have a bot connected, and since when the others are missing.

    A team is *ready* if no match has to wait for it: it is present, or it has been missing for longer than the host
    allows, so that its matches are forfeited.

    Args:
        seats: the seats of each team.
        patience: the seconds for which a match waits for a missing team; infinity in an arena.
        hosted: the teams whose programs this machine runs, which are always present.
    """

    def __init__(self, seats: Mapping[int, Sequence[Seat]], patience: float, hosted: HostedPrograms) -> None:
        self._seats = seats
        self._patience = patience
        self._hosted = hosted
        self._missing_since: dict[int, float] = {}
        self._recoveries: dict[Seat, list[float]] = {}
        """The hangs of each seat that were waited for, by the time of their first miss."""

    @property
    def present(self) -> set[int]:
        """The teams with at least one bot connected, and the hosted ones."""
        connected = {team for team, seats in self._seats.items() if any(seat.connected for seat in seats)}
        return connected.union(self._hosted.teams)

    @property
    def taking_part(self) -> set[int]:
        """The teams that are present or in a match, but those whose bots are all in friendly matches."""
        playing = {team for team, seats in self._seats.items() if any(seat.taken for seat in seats)}
        return (playing | self.present) - self._in_friendlies

    @property
    def _in_friendlies(self) -> set[int]:
        """The teams with a friendly match and no seat beside it that is connected or taken."""
        return {
            team
            for team, seats in self._seats.items()
            if any(seat.friendly for seat in seats)
            and not any((seat.taken or seat.connected) and not seat.friendly for seat in seats)
        }

    @property
    def absent(self) -> set[int]:
        return self._seats.keys() - self.present

    @property
    def missing(self) -> list[int]:
        """The teams that were absent at the latest `update`."""
        return list(self._missing_since)

    def update(self, now: float) -> None:
        """Note which teams are absent, and since when."""
        self._missing_since = {team: self._missing_since.get(team, now) for team in self.absent}

    def restart(self, teams: Iterable[int]) -> None:
        """Let the patience with ``teams`` begin again at the next `update`."""
        for team in teams:
            self._missing_since.pop(team, None)

    def capacity(self, now: float) -> dict[int, int]:
        """Return how many matches each team can play at once, running ones included.

        Teams that cannot play are left out. A team has a bot for each of its matches, or had one when the match
        began. A team that is ready but absent can forfeit its matches one at a time. A hosted team plays one.
        """
        counts = {
            team: len([seat for seat in seats if not seat.friendly and self._can_play(seat, now)])
            or int(not any(seat.connected or seat.friendly for seat in seats) and self._is_ready(team, now))
            for team, seats in self._seats.items()
        }
        counts |= dict.fromkeys(self._hosted.pending, 0) | dict.fromkeys(self._hosted.teams, 1)
        return {team: count for team, count in counts.items() if count}

    def _can_play(self, seat: Seat, now: float) -> bool:
        return seat.taken or (seat.connected and not self._recovers(seat, now))

    def take_seat(self, team: int) -> Seat:
        """Take a free seat of a team, one with a bot if possible."""
        free = [seat for seat in self._seats[team] if not seat.taken]
        seat = max(free, key=lambda seat: (seat.connected, seat.silent_since is None))
        seat.taken = True
        return seat

    def are_absent(self, seats: Iterable[Seat]) -> list[bool]:
        """Return for each seat whether its team has no bot there, and no hosted program."""
        return [not seat.connected and seat.team.id not in self._hosted.teams for seat in seats]

    def next_forfeit(self, now: float) -> float:
        """Return when the patience with the next team ends, of those with which it has not ended ``now``."""
        ends = [since + self._patience for since in self._missing_since.values()]
        return min((end for end in ends if end > now), default=float("inf"))

    def next_recovery(self, now: float) -> float:
        """Return when to look again at the bots that are waited for; infinity if there are none."""
        free = [seat for seats in self._seats.values() for seat in seats if seat.connected and not seat.taken]
        return now + RECOVERY_CHECK_SECONDS if any(self._recovers(seat, now) for seat in free) else float("inf")

    def _recovers(self, seat: Seat, now: float) -> bool:
        since = seat.silent_since
        if since is None or now >= since + RECOVERY_SECONDS:
            return False
        waits = self._recoveries.setdefault(seat, [])
        if since not in waits and len(waits) < RECOVERIES:
            waits.append(since)
        return since in waits

    def _is_ready(self, team: int, now: float) -> bool:
        since = self._missing_since.get(team)
        return since is None or now >= since + self._patience


# --- matches that wait ---


def resume_patience(absent_seconds: float) -> float:
    """Return the seconds for which a resumed contest waits for its teams."""
    return max(PATIENCES * absent_seconds, RESUME_SECONDS)


@dataclass(slots=True)
class _Group:
    """A group of matches, by number, that begin together: at the latest at the time ``until``."""

    matches: dict[int, Match]
    until: float

    @property
    def teams(self) -> set[int]:
        return {team for match in self.matches.values() for team in match.teams}


class Gathering:
    """Matches that wait until all their teams are here: of a resumed contest, or of a new round of a ladder."""

    def __init__(self) -> None:
        self._groups: list[_Group] = []
        self._entered = False
        self._given_up: set[int] = set()  # teams that a group has begun without, and that were not here since

    def __bool__(self) -> bool:
        return bool(self._groups)

    def __contains__(self, match: Match) -> bool:
        return any(match.number in group.matches for group in self._groups)

    @property
    def numbers(self) -> set[int]:
        return {number for group in self._groups for number in group.matches}

    @property
    def teams(self) -> set[int]:
        return {team for group in self._groups for team in group.teams}

    @property
    def ends(self) -> float:
        """The time at which the next group begins, even if teams are missing."""
        return min((group.until for group in self._groups), default=float("inf"))

    def add(self, matches: Iterable[Match], until: float = float("inf")) -> None:
        """Let these matches wait until all their teams are here, but not after ``until``."""
        group = _Group({match.number: match for match in matches}, until)
        if group.matches:
            self._groups.append(group)

    def discard(self, match: Match) -> None:
        """Remove a match that will not be played."""
        for group in self._groups:
            group.matches.pop(match.number, None)

    def give_up(self, teams: Iterable[int]) -> None:
        """Stop waiting for these teams, until they have been present again."""
        self._given_up.update(teams)

    def enter(self) -> None:
        """Begin with the teams that are present: the host has pressed Enter. No effect if no match waits."""
        self._entered = bool(self._groups)

    def release(self, here: Collection[int], now: float) -> list[Match]:
        """Return the matches that need not wait any longer.

        If a group begins without a team, later groups do not wait for that team until it has been present again.
        """
        self._given_up.difference_update(here)
        over = [
            group
            for group in self._groups
            if self._entered or now >= group.until or group.teams <= {*here, *self._given_up}
        ]
        self._entered = False
        self._groups = [group for group in self._groups if group not in over]
        for group in over:
            self.give_up(group.teams.difference(here))
        return [match for group in over for match in group.matches.values()]
