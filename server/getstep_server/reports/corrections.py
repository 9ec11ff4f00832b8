"""Corrections: the reasons why the official result of a match is not the result of its game."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from getstep_server.records.decision import Decision
from getstep_server.records.game import GameRecord
from getstep_server.records.match import Match
from getstep_server.records.reasons import VOID_REASONS, DecisionKind, Reason, TeamStatus
from getstep_server.records.result import Result, winner_text
from getstep_server.tournament.tournament import Tournament


class CorrectionKind(StrEnum):
    """A way in which a game loses its official result. Exports write the value."""

    ADJUDICATED = Reason.ADJUDICATED
    """The host has set another result."""

    REPLAYED = "replayed"
    """The host, or a team that arrived late, has opened the match again."""

    ANNULLED = "annulled"
    """The host has disqualified a team of the match."""

    ROUND_LOST = Reason.ROUND_LOST
    """A rule has set another result: a team missed a limit in another match of the round."""


@dataclass(frozen=True, slots=True)
class Correction:
    """The reason why the result of a game is not official.

    ``why`` is a sentence. ``decision`` is the host's; it is None if the correction follows from a rule.
    """

    kind: CorrectionKind
    why: str
    decision: Decision | None = None


def is_official(tournament: Tournament, game: GameRecord) -> bool:
    """Return True if the result of a recorded game is the official result of its match."""
    result = tournament.final_result(tournament.matches[game.match])
    if result is None or result.reason in (Reason.ADJUDICATED, Reason.ROUND_LOST):
        return False
    return result.attempt == game.attempt


def correction_of(tournament: Tournament, game: GameRecord) -> Correction | None:
    """Return why the result of a recorded game is not official; None if it is, or if the game has no result."""
    if game.reason in VOID_REASONS or is_official(tournament, game):
        return None
    match = tournament.matches[game.match]
    result = tournament.final_result(match)
    if result is not None and result.reason == Reason.ROUND_LOST:
        return Correction(CorrectionKind.ROUND_LOST, result.detail)
    kind = _kind_of_decision(tournament, match, result)
    # The latest decision of this kind overrules the earlier ones.
    decision = next((one for one in reversed(tournament.decisions) if _causes(one, kind, tournament, match)), None)
    return None if decision is None else Correction(kind, decision.why, decision)


def _kind_of_decision(tournament: Tournament, match: Match, result: Result | None) -> CorrectionKind:
    if tournament.is_cancelled(match):
        return CorrectionKind.ANNULLED
    if result is not None and result.decided_by_host:
        return CorrectionKind.ADJUDICATED
    return CorrectionKind.REPLAYED


def _causes(decision: Decision, kind: CorrectionKind, tournament: Tournament, match: Match) -> bool:
    if kind is CorrectionKind.ANNULLED:
        disqualified = tournament.status(decision.team or 0, match.event) == TeamStatus.DISQUALIFIED
        return decision.kind == DecisionKind.DISQUALIFY and decision.is_about(match) and disqualified
    if kind is CorrectionKind.REPLAYED:
        return match.number in decision.reopened
    return decision.kind == DecisionKind.ADJUDICATE and decision.match == match.number


def correction_facts(tournament: Tournament, game: GameRecord) -> Iterator[tuple[str, str]]:
    """Yield the correction of a game and the official result, each with its name; nothing for an official game."""
    if is_official(tournament, game):
        return
    if correction := correction_of(tournament, game):
        decision = correction.decision
        by = f" by {decision.by}, {decision.at}" if decision else ""
        yield "corrected", f"{correction.kind}{by}: {correction.why}"
    yield "official", _official_result(tournament, tournament.matches[game.match])


def _official_result(tournament: Tournament, match: Match) -> str:
    if tournament.is_cancelled(match):
        return "no result: the match is " + ("annulled" if tournament.played_result(match) else "cancelled")
    result = tournament.final_result(match)
    if result is None:
        return "no result yet: the match is open"
    attempt = "" if result.reason in (Reason.ADJUDICATED, Reason.ROUND_LOST) else f"attempt {result.attempt}: "
    return f"{attempt}{winner_text(result, tournament.contest.team_name)} ({result.reason})"
