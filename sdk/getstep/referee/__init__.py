"""The pure part of judging: position, clocks, penalties and outcome of one match.

In: a player's answer (`moved`, `raised`, `malformed`, `resigned`, or `answers.answered` for a message), that there
was none (`missed`, `stalled`), or a broken protocol (`violated`), with the time of the turn. Out: the turn as it
goes on record; the `MatchState` has changed. It must not know sockets or processes, and reads no clock: the caller
measures the time of each turn. The server's judge, friendly matches and practice at home decide with it, so all of
them have the same rules of time and penalty.
"""

from .agreement import Agreement, Estimates
from .codes import AGREED, FINISHED, EndCode, FaultCode
from .decision import (
    Timing,
    Turn,
    malformed,
    missed,
    moved,
    penalty_text,
    raised,
    resigned,
    stalled,
    violated,
)
from .limits import ABSENT_MISSES, STALLED_MISSES
from .match_state import (
    EDITION,
    UNANSWERED,
    Clocks,
    MatchOutcome,
    MatchState,
    WrongTurn,
    forfeit_scores,
)

__all__ = [
    "ABSENT_MISSES",
    "AGREED",
    "EDITION",
    "FINISHED",
    "STALLED_MISSES",
    "UNANSWERED",
    "Agreement",
    "Clocks",
    "EndCode",
    "Estimates",
    "FaultCode",
    "MatchOutcome",
    "MatchState",
    "Timing",
    "Turn",
    "WrongTurn",
    "forfeit_scores",
    "malformed",
    "missed",
    "moved",
    "penalty_text",
    "raised",
    "resigned",
    "stalled",
    "violated",
]
