"""The leader of a ladder, and since when: the program of a team that leads for long enough is published."""

from __future__ import annotations

from collections import defaultdict

from getstep_server.config.event import ContestEvent
from getstep_server.formats.ladder import Ladder
from getstep_server.records.decision import Decision
from getstep_server.records.reasons import DecisionKind

from .tournament import Tournament


def leader_of(tournament: Tournament, event: ContestEvent) -> tuple[int, float] | None:
    """Return the team at the top of a ladder, and since when in seconds since 1970; None if there is none.

    Teams change places at the end of a round, which is when its last match ended, by the machine's clock.
    """
    if not isinstance(event.format, Ladder):
        return None
    tops: dict[int, int] = {}
    """The team at the top when each round began."""
    teams, games = tournament.played(event)
    for game in games:
        if game.pairing.leg == 1:
            tops.setdefault(game.pairing.round, game.pairing.first)
    ends: defaultdict[int, float] = defaultdict(float)
    begins: list[float] = []
    for result in tournament.results:
        if result.match.event == event.number:
            ends[result.match.round] = max(ends[result.match.round], result.started + result.seconds)
            begins.append(result.started)
    if not begins:
        return None
    changes = [(min(begins), tops[1]), *((ends[round_ - 1], tops[round_]) for round_ in sorted(tops)[1:])]
    if not any(game.open for game in games) and (order := event.format.order(teams, games)):
        changes.append((ends[max(tops)], order[0]))
    leader = changes[-1][1]
    since = changes[-1][0]
    for time, team in reversed(changes):
        if team != leader:
            break
        since = time
    return leader, since


def is_published(decisions: list[Decision], event: int, team: int) -> bool:
    """Return True if a program of a team was published in this event."""
    return any(
        (decision.kind, decision.event, decision.team) == (DecisionKind.PUBLISH, event, team)
        for decision in decisions
    )
