"""The leader of a ladder, and since when: the program of a team that leads for long enough is published."""

from __future__ import annotations

import math

from getstep_server.config.event import ContestEvent
from getstep_server.formats.ladder import Ladder

from .tournament import Tournament


def leader_of(tournament: Tournament, event: ContestEvent) -> tuple[int, float] | None:
    """Return the team at the top of a ladder, and since when in seconds since 1970; None if there is none.

    Teams change places at the end of a round, which is when its last match ended, by the machine's clock. If the
    host has all matches of a round replayed, its end is unknown, and the beginning of the next round counts.
    """
    if not isinstance(event.format, Ladder):
        return None
    tops: dict[int, int] = {}
    """The team at the top when each round began."""
    teams, games = tournament.played(event)
    for game in games:
        if game.pairing.leg == 1:
            tops.setdefault(game.pairing.round, game.pairing.first)
    begins: dict[int, float] = {}
    ends: dict[int, float] = {}
    for result in tournament.results:
        if result.match.event == event.number:
            round_ = result.match.round
            begins[round_] = min(begins.get(round_, math.inf), result.started)
            ends[round_] = max(ends.get(round_, 0.0), result.started + result.seconds)
    if not begins:
        return None
    changes = [(min(begins.values()), tops[1])]
    for round_ in sorted(tops)[1:]:
        changes.append((ends.get(round_ - 1, begins.get(round_, math.inf)), tops[round_]))
    if not any(game.open for game in games) and (order := event.format.order(teams, games)):
        changes.append((ends[max(tops)], order[0]))
    leader = changes[-1][1]
    since = changes[-1][0]
    for time, team in reversed(changes):
        if team != leader:
            break
        since = time
    return leader, since
