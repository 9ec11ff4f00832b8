"""The publication rule: the source of a program that has led a ladder for long enough is published.

This is the rule of the original `linkage` ladder, so that the others can learn from the best one. It holds with
``publish_after_weeks`` in contest.toml, for each team once in each event. The version is the one that plays the
latest round. The decision is a record, so a restart or another leader changes nothing; its file is written after
it, and again if it is missing.
"""

from __future__ import annotations

import math
import time
from collections.abc import Awaitable, Callable, Iterator

import trio

from getstep_server.config.contest import Contest
from getstep_server.config.event import ContestEvent
from getstep_server.events import Publish, ServerFault
from getstep_server.formats.ladder import Ladder
from getstep_server.programs.publication import published_path, write_publication
from getstep_server.programs.store import ProgramStore
from getstep_server.records.decision import Decision, publication_by_rule, publications
from getstep_server.text import utc_time
from getstep_server.tournament.tournament import Tournament

CHECK_SECONDS = 60.0
"""The interval of the checks, which look at all results of a ladder: 10 ms for each thousand matches."""

_WEEK_SECONDS = 7 * 24 * 3600


class PublicationRule:
    """Publishes programs.

    Args:
        contest: its setting, and its folder.
        tournament: the state after all records.
        decide: records a decision of the rule.
        publish: called with failures.
        clock: the time of day, in seconds since 1970.
    """

    def __init__(
        self,
        contest: Contest,
        tournament: Tournament,
        decide: Callable[[Decision], Awaitable[None]],
        publish: Publish,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._contest = contest
        self._tournament = tournament
        self._decide = decide
        self._publish = publish
        self._clock = clock
        self._store = ProgramStore(contest.folder)

    async def run(self) -> None:
        """Check until cancelled.

        Raises:
            ContestStopped: a decision could not be recorded.
        """
        if self._contest.file.programs.publish_after_weeks is None:
            return
        while True:
            await self.check()
            await trio.sleep(CHECK_SECONDS)  # weeks on the top end by the clock, with no event

    async def check(self) -> None:
        """Publish the programs that are due, and write the files that are missing."""
        for decision in await trio.to_thread.run_sync(lambda: list(self._due())):
            await self._decide(decision)
        try:
            await trio.to_thread.run_sync(self._write_files)
        except Exception as error:  # a full disk, or a version that was removed; the next check tries again
            self._publish(ServerFault("publishing a program", str(error)))

    def _due(self) -> Iterator[Decision]:
        weeks = self._contest.file.programs.publish_after_weeks
        for event in self._contest.events:
            found = leader_of(self._tournament, event)
            if weeks is None or found is None:
                continue
            team, since = found
            number = self._tournament.round_programs(event.number).get(team)
            if self._clock() < since + weeks * _WEEK_SECONDS or number is None:
                continue
            published = publications(self._tournament.decisions)
            if any((one.event, one.team) == (event.number, team) for one in published):
                continue
            version = next((one for one in self._store.versions(team) if one.number == number), None)
            if version is not None:
                at = utc_time(self._clock())
                yield publication_by_rule(team, number, version.sha256, event.number, weeks, at)

    def _write_files(self) -> None:
        for one in publications(self._tournament.decisions):
            path = published_path(self._contest.folder, one.team, one.version)
            if not path.exists():
                write_publication(self._store, one.team, one.version, path)


# --- the leader of a ladder -------------------------------------------------------------------------------------


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
    for began, team in reversed(changes):  # back to the round in which the leader took the top
        if team != leader:
            break
        since = began
    return leader, since
