"""Ways to tamper with turns of stalled players: as in `tampered_records`, with records of `scenes_of_stalling`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.support.tampered_records import Forgery, in_head, turns
from tests.support.tampering import Turns

HUNG, BACK, FAULTS, RESUMED, SLOW = range(1, 6)
MISSED, STALLED = "missed_limit", "stalled"

_SKIPPED = {"player": 0, "fault": STALLED, "detail": "", "ms": 0.0}
_WAITED = {"player": 0, "fault": MISSED, "detail": "", "ms": 5000.0, "waited_ms": 5100.0, "away": False}


def faults(turns: Turns, code: str) -> list[int]:
    """Return the places of the turns with this fault."""
    return [place for place, turn in enumerate(turns) if turn.get("fault") == code]


def said(match: int, code: str, number: int, found: str, **values: Any) -> Forgery:
    """Keys of one of the turns with this fault are set."""
    return turns(match, lambda t: t[faults(t, code)[number]].update(values), found)


def made(match: int, code: str, number: int, turn: dict[str, Any], found: str) -> Forgery:
    """Return the forgery that replaces one of the turns with this fault."""
    return turns(match, lambda t: t.__setitem__(faults(t, code)[number], turn), found)


def _without_heard(turns: Turns) -> None:
    for turn in turns:
        turn.pop("heard", None)


def _in_head(match: int, change: Callable[[dict[str, Any]], object], found: str) -> Forgery:
    return Forgery(lambda f: f.head(f.place(match), change), found)


FORGED: dict[str, Forgery] = {
    "stalled too soon": made(
        HUNG, MISSED, 1, _SKIPPED, r"turn \d+: fault is 'stalled' after 1 limits missed .* silence, expected 3"
    ),
    "stalled from the start": made(HUNG, MISSED, 0, _SKIPPED, "turn 1: fault is 'stalled' after 0 limits"),
    "stalled without a missed limit": made(FAULTS, "raised", 9, _SKIPPED, "fault is 'stalled' after 0 limits"),
    "stalled though it was only slow": made(SLOW, MISSED, 9, _SKIPPED, "fault is 'stalled' after 1 limits"),
    "the other one is stalled": said(HUNG, STALLED, 0, "player is 1, expected 0, who is on turn", player=1),
    "a stalled player that was waited for": made(
        HUNG, STALLED, 0, _WAITED, "fault is 'missed_limit', expected 'stalled': 3 limits missed in a row"
    ),
    "a stalled turn that took time": said(HUNG, STALLED, 0, r"ms is 5\.0, expected 0\.0", ms=5.0),
    "a stalled turn that was waited for": said(
        HUNG, STALLED, 0, r"waited_ms is 5100\.0, expected nothing", waited_ms=5100.0
    ),
    "a stalled turn with an arrival": said(HUNG, STALLED, 0, "timed is 'wake', expected nothing", timed="wake"),
    "a stalled turn of one who is away": said(HUNG, STALLED, 0, "away is True, expected nothing", away=True),
    "a stalled turn of one who was heard": said(HUNG, STALLED, 0, "heard is True, expected nothing", heard=True),
    "a stalled turn with a lateness": said(HUNG, STALLED, 0, r"late_ms is 200\.0, expected nothing", late_ms=200.0),
    "heard before anything was missed": said(
        HUNG, MISSED, 0, "turn 1: heard is True, expected nothing", heard=True
    ),
    "heard between two of three": said(HUNG, MISSED, 1, "fault is 'stalled' after 2 limits missed", heard=True),
    "heard and away": said(HUNG, MISSED, 1, "heard is True, expected nothing", heard=True, away=True),
    "heard is false": said(HUNG, MISSED, 1, "heard is False, expected true", heard=False),
    "heard left out": turns(BACK, _without_heard, "fault is 'missed_limit', expected 'stalled'"),
    "heard left out after a restart": turns(RESUMED, _without_heard, "expected 'stalled'"),
    "heard left out of late answers": turns(SLOW, _without_heard, "expected 'stalled'"),
    "an older edition": _in_head(
        HUNG, lambda head: head.pop("edition"), "fault is 'stalled' after 0 limits missed"
    ),
    "an older edition's reason": in_head(
        FAULTS, "reason is 'malformed_answer', expected 'finished'", reason="malformed_answer"
    ),
    "a reason that is too new": _in_head(
        FAULTS, lambda head: head.pop("edition"), "reason is 'finished', expected 'malformed_answer'"
    ),
    "an edition to come": in_head(HUNG, "edition is 3, expected less than or equal to 2", edition=3),
    "an edition before the first": in_head(HUNG, "edition is 0, expected greater than or equal to 1", edition=0),
    "an edition that is none": in_head(HUNG, "edition is True, expected a valid integer", edition=True),
}
