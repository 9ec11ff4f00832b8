"""What was decided about a match after it was played: who, why, when, and what counts instead."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .decisions import Decision
from .game_record import VOIDS
from .record_shape import GameShape
from .results import ADJUDICATED, ROUND_LOST, Result
from .schedule import Match
from .standings import DISQUALIFIED
from .tables import winner_text
from .tournament import Tournament

ANNULLED, REPLAYED = "annulled", "replayed"


@dataclass(frozen=True, slots=True)
class Overruled:
    """Why a game's own result does not count.

    ``how`` is "adjudicated", "replayed", "annulled" or "round_lost"; that follows from a rule, the others from the
    host's ``decision``. ``why`` is a sentence.
    """

    how: str
    why: str
    decision: Decision | None = None


def counts(tournament: Tournament, game: GameShape) -> bool:
    """Whether a game that is on record is what its match comes to."""
    result = tournament.comes_to(tournament.matches[game.match])
    if result is None or result.reason in (ADJUDICATED, ROUND_LOST):
        return False
    return result.attempt == game.attempt


def overruled(tournament: Tournament, game: GameShape) -> Overruled | None:
    """What was decided about a game that is on record; None if it counts, or had no result in the first place."""
    if game.reason in VOIDS or counts(tournament, game):
        return None
    match = tournament.matches[game.match]
    result = tournament.comes_to(match)
    if result is not None and result.reason == ROUND_LOST:
        return Overruled(ROUND_LOST, result.detail)
    how = ANNULLED if tournament.is_cancelled(match) else ADJUDICATED if _by_host(result) else REPLAYED
    decision = next((one for one in reversed(tournament.decisions) if _makes(one, how, tournament, match)), None)
    return None if decision is None else Overruled(how, decision.why, decision)


def _by_host(result: Result | None) -> bool:
    return result is not None and result.decided_by_host


def _makes(decision: Decision, how: str, tournament: Tournament, match: Match) -> bool:
    if how == ANNULLED:
        out = tournament.status(decision.team or 0, match.event) == DISQUALIFIED
        return decision.kind == "disqualify" and decision.is_about(match) and out
    return decision.kind == {ADJUDICATED: "adjudicate", REPLAYED: "replay"}[how] and decision.match == match.number


def amendments(tournament: Tournament, game: GameShape) -> Iterator[tuple[str, str]]:
    """Facts of a game that does not count, each with its name: what was decided, and what counts instead."""
    if counts(tournament, game):
        return
    if decided := overruled(tournament, game):
        one = decided.decision
        who = f" by {one.by}, {one.at}" if one else ""
        yield "decision", f"{decided.how}{who}: {decided.why}"
    yield "counts", _what_counts(tournament, tournament.matches[game.match])


def _what_counts(tournament: Tournament, match: Match) -> str:
    if tournament.is_cancelled(match):
        return "nothing: the match is annulled" if tournament.result(match) else "nothing: the match is cancelled"
    result = tournament.comes_to(match)
    if result is None:
        return "nothing so far: the match is open"
    which = "" if result.reason in (ADJUDICATED, ROUND_LOST) else f"attempt {result.attempt}: "
    return f"{which}{winner_text(result, tournament.contest.team_name)} ({result.reason})"
