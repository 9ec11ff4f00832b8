"""The decision of a turn: from what a player answered to the turn on record.

Each function decides a turn, changes the state of the match, and returns the turn as it goes on record
(docs/records.md). ``timing`` has the ``ms`` that are charged, and anything else that the caller knows about the
time; its keys stand in the turn as they are. The callers differ in everything else: how they wait for an answer,
where they write the turn, and whom they tell.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from getstep.wire import MAX_TEXT
from getstep_engines import IllegalMove, Player

from .codes import EndCode, FaultCode
from .limits import STALLED_MISSES
from .match_state import MatchState

Timing: TypeAlias = Mapping[str, Any]
Turn: TypeAlias = dict[str, Any]


def moved(state: MatchState, move: object, timing: Timing) -> Turn:
    """Decide a turn that was answered by a move, which may be illegal. The move may be any object."""
    player = state.state.to_move
    try:
        state.move(move, timing["ms"])
    except IllegalMove as error:
        return _fault(state, FaultCode.ILLEGAL_MOVE, str(error), timing)
    return {"player": player, "move": move, **timing}


def raised(state: MatchState, error: str, timing: Timing) -> Turn:
    """Decide a turn in which the player's program failed; ``error`` is its last line, or empty."""
    return _fault(state, FaultCode.RAISED, error or "no reason given", timing)


def malformed(state: MatchState, detail: str, timing: Timing) -> Turn:
    """Decide a turn that was answered by something that is not a move."""
    return _fault(state, FaultCode.MALFORMED_ANSWER, detail, timing)


def resigned(state: MatchState, timing: Timing) -> Turn:
    """End the match: the player on turn resigned."""
    player = state.state.to_move
    return _lose(state, player, EndCode.RESIGNED, f"{state.game.players[player]} resigned", timing)


def missed(
    state: MatchState,
    limit: float,
    timing: Timing,
    *,
    away: bool = False,
    heard: bool = False,
    away_why: str = ", and no connection",
) -> Turn:
    """Decide a turn without an answer in time.

    Args:
        state: the match.
        limit: the seconds that the player had; 0 or less if its budget was spent, so that it was not asked.
        timing: see above.
        away: True if the player was disconnected when the limit expired.
        heard: True if it gave a sign of life since the limit that it missed before this one.
        away_why: added to the detail if the player was away.
    """
    player = state.state.to_move
    timing = {**timing, "away": away}
    if heard and not away and limit > 0 and state.silences[player]:
        timing["heard"] = True
    if away and (why := state.absence(player)):
        return _lose(state, player, EndCode.ABSENT, why, timing)
    detail = f"no answer within {limit:g} s" + (away_why if away else "")
    return _fault(state, FaultCode.MISSED_LIMIT, detail, timing)


def stalled(state: MatchState) -> Turn:
    """Skip the turn of a stalled player, which is not asked."""
    detail = f"nothing heard since {STALLED_MISSES} missed limits"
    return _fault(state, FaultCode.STALLED, detail, {"ms": 0.0})


def violated(state: MatchState, player: Player, code: str, detail: str) -> Turn:
    """End the match: ``player``, who need not be on turn, broke the protocol; ``code`` is one of protocol.md."""
    name = state.game.players[player]
    return _lose(state, player, EndCode.HOSTILE, f"{name} broke the protocol ({code}): {detail}", {"ms": 0.0})


def penalty_text(state: MatchState, turn: Turn) -> str:
    """Return what a player is told about its fault: the detail, and the game's penalty."""
    return f"{turn['detail']}: {state.game.penalty}"[:MAX_TEXT]


def _fault(state: MatchState, code: FaultCode, detail: str, timing: Timing) -> Turn:
    player = state.state.to_move
    state.fault(code, timing["ms"], away=timing.get("away", False), heard=timing.get("heard", False))
    return {"player": player, "fault": code, "detail": detail[:MAX_TEXT], **timing}


def _lose(state: MatchState, loser: Player, reason: EndCode, detail: str, timing: Timing) -> Turn:
    detail = detail[:MAX_TEXT]
    state.lose(loser, reason, detail, timing["ms"])
    return {"player": loser, "end": reason, "detail": detail, **timing}
