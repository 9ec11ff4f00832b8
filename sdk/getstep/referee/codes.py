"""The codes of turns: on the wire, in records, and in a game at home.

Each value is the recorded string. An enum member compares and serializes as its value. The messages of
`getstep.wire` check for a plain string: pass ``str(code)`` to them.
"""

from __future__ import annotations

from enum import Enum


class _StrEnum(str, Enum):
    """Python 3.11's `enum.StrEnum`, for Python 3.10: members print as their value."""

    __str__ = str.__str__

    def __format__(self, spec: str) -> str:
        return str.__format__(self, spec)


class FaultCode(_StrEnum):
    """The cause of a turn with the game's own penalty; also the reason of a match that the penalty ended."""

    ILLEGAL_MOVE = "illegal_move"
    MALFORMED_ANSWER = "malformed_answer"
    RAISED = "raised"
    MISSED_LIMIT = "missed_limit"
    STALLED = "stalled"


class EndCode(_StrEnum):
    """The cause of a loss by a rule beside the game's own.

    The code of the last turn and the reason of the match.
    """

    RESIGNED = "resigned"
    ABSENT = "absent"
    HOSTILE = "hostile"


FINISHED = "finished"
"""The reason of a match that ended by the game's own rules."""

AGREED = "agreed"
"""The reason of a match that the estimates of both bots have ended."""
