"""The decision of a turn that was answered by a message of the wire.

A module of its own: who only reads records, such as the command `standings`, does not load the messages.
"""

from __future__ import annotations

from typing import TypeAlias

from getstep.wire import MalformedAnswer, Raised, Resign, Step

from .decision import Timing, Turn, malformed, moved, raised, resigned
from .match_state import MatchState

Answer: TypeAlias = Step | Raised | Resign | MalformedAnswer
"""The answers of a player to a question."""


def answered(state: MatchState, answer: Answer, timing: Timing) -> Turn:
    """Decide a turn that was answered in time by a message of the wire."""
    if type(answer) is Step:  # nearly always
        return moved(state, answer.move, timing)
    if type(answer) is Raised:
        return raised(state, answer.error, timing)
    if type(answer) is MalformedAnswer:
        return malformed(state, answer.detail, timing)
    return resigned(state, timing)
