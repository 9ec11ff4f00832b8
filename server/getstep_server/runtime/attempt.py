"""An attempt at a match: started, and not over yet; and the record of its end."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import trio
from msgspec.structs import replace

from getstep.referee import forfeit_scores
from getstep_engines import GAMES, Player
from getstep_server.config.contest import Contest
from getstep_server.net.seat import Seat
from getstep_server.play.pause import MatchPause
from getstep_server.play.scoresheet import Scoresheet
from getstep_server.records.game import game_header, record_of_game
from getstep_server.records.match import Match
from getstep_server.records.reasons import Reason, VoidReason
from getstep_server.records.record import Record
from getstep_server.records.result import PLAYERS, Result, Scores, unplayed
from getstep_server.tournament.tournament import Tournament


@dataclass(slots=True)
class Attempt:
    """An attempt at a match that was started and is not over.

    ``sheet`` is None until it begins, and for a forfeit. ``absent`` says which players were not present at the
    start. ``replays`` is how often the host had reopened the match by then: if the number changes, the attempt is
    superseded. ``stored`` is True once its end is on record. ``location`` are fields of the record about where the
    match is played; the venue sets them.
    """

    match: Match
    seats: tuple[Seat, Seat]
    sheet: Scoresheet | None
    absent: list[bool]
    replays: int
    stored: bool = False
    scope: trio.CancelScope = field(default_factory=trio.CancelScope)
    began: float = field(default_factory=trio.current_time)
    location: Mapping[str, Any] = field(default_factory=dict)
    pause: MatchPause = field(default_factory=MatchPause)

    def is_accepted(self, tournament: Tournament) -> bool:
        """Return True unless a decision has superseded this attempt."""
        match = self.match
        return tournament.accepts_result(match) and tournament.replays[match.number] == self.replays

    def end(self, contest: Contest, tournament: Tournament, result: Result | None) -> tuple[Result, Record]:
        """Return the result that goes on record now, and its record.

        That is ``result``, or a called-off attempt: if there is no result, or a decision supersedes the attempt.
        """
        if result is None or not self.is_accepted(tournament):
            why = [decision.why for decision in tournament.decisions if decision.is_about(self.match)]
            result = self.void_result(tournament, VoidReason.CALLED_OFF, why[-1])
        if self.sheet is not None:
            return result, self.sheet.record(result)
        head = game_header(contest, result.match, result.attempt, result.started)
        return result, record_of_game(head, result)

    def release(self) -> None:
        """Remove the match from the journal. Any thread may call this; it may fsync and unlink."""
        if self.sheet is not None:
            self.sheet.release()

    def void_result(self, tournament: Tournament, reason: str, detail: str) -> Result:
        """Return the result of a void attempt, with the turns that were played in it."""
        result = _unplayed(tournament, self.match, None, reason, detail)
        if self.sheet is None:
            return result
        # the monotonic clock
        return replace(self.sheet.with_totals(result), seconds=round(trio.current_time() - self.began, 3))

    def no_show_result(self, contest: Contest, tournament: Tournament) -> Result:
        """Return the result of a match that absent players have forfeited."""
        match, absent = self.match, self.absent
        winner: Player | None = None
        scores = None
        if not all(absent):
            loser: Player = 0 if absent[0] else 1
            winner = PLAYERS[1 - loser]
            scores = forfeit_scores(GAMES[match.game].start(**match.options), loser)
        missing = " and ".join(contest.team_name(t) for t, a in zip(match.teams, absent, strict=True) if a)
        detail = f"{missing} did not come in {contest.file.start.absent_seconds:g} s"
        return _unplayed(tournament, match, winner, Reason.NO_SHOW, detail, scores)


def _unplayed(
    tournament: Tournament, match: Match, winner: Player | None, reason: str, detail: str, scores: Scores = None
) -> Result:
    started, attempt = round(time.time(), 3), tournament.attempts[match.number] + 1
    return unplayed(match, winner, reason, detail, scores, started=started, attempt=attempt)
