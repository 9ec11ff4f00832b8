"""The pure part of judging: position, clocks, penalties and outcome of one match.

It knows neither sockets nor processes and reads no clock: the caller measures the time of each turn. The server's
judge and practice at home decide with it, so a game at home has the contest's rules of time and penalty.
"""

from .codes import FINISHED, EndCode, FaultCode
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
    "EDITION",
    "FINISHED",
    "STALLED_MISSES",
    "UNANSWERED",
    "Clocks",
    "EndCode",
    "FaultCode",
    "MatchOutcome",
    "MatchState",
    "WrongTurn",
    "forfeit_scores",
]
