"""Pauses: the matches that the host has stopped, a single one, those of an event, or all of them.

A pause lasts until the host resumes what was paused: a match, an event or the contest. They are independent: a
match that was paused on its own stays so when the contest is resumed.
"""

from __future__ import annotations

from getstep_server.records.decision import Decision
from getstep_server.records.match import Match
from getstep_server.records.pause import Pause
from getstep_server.records.reasons import DecisionKind


class Pauses:
    """The pauses that are not over, by the decisions on record."""

    def __init__(self) -> None:
        self._decisions: dict[tuple[int | None, int | None], Decision] = {}
        """By event and match; (None, None) is the contest."""

    def __bool__(self) -> bool:
        return bool(self._decisions)

    @property
    def decisions(self) -> list[Decision]:
        """The decisions that pause something now, in the order in which they were made."""
        return list(self._decisions.values())

    def apply(self, decision: Decision) -> None:
        """Apply a decision to which `objection` has none."""
        place = decision.event, decision.match
        if decision.kind == DecisionKind.PAUSE:
            self._decisions = {**self._decisions, place: decision}
        else:
            self.forget(*place)

    def forget(self, event: int | None, match: int | None) -> None:
        """End the pause of a match that is over, or of whatever was resumed."""
        # replaced, not changed: a thread may iterate over it
        self._decisions = {key: one for key, one in self._decisions.items() if key != (event, match)}

    def objection(self, decision: Decision) -> str | None:
        """Return why a decision to pause or to resume is not possible now; None if it is."""
        place = decision.event, decision.match
        known, what = self._decisions.get(place), _name(*place)
        if decision.kind == DecisionKind.RESUME:
            paused = ", ".join(_name(*place) for place in self._decisions) or "nothing"
            return (
                None if known is not None else f"{what} is not paused, expected one that is; paused now: {paused}"
            )
        if known is None or (decision.at_once and not known.at_once):
            return None
        return (
            f"{what} is paused already, expected one that is not; resume it first, or pause it at once with --now"
        )

    @property
    def contest(self) -> Pause | None:
        """The pause of the whole contest; None if there is none."""
        found = self._decisions.get((None, None))
        return None if found is None else Pause(found.why, found.at_once)

    def of(self, match: Match) -> Pause | None:
        """Return the pause of a match; None if it is played."""
        if not self._decisions:  # nearly always
            return None
        places = ((None, None), (match.event, None), (None, match.number))
        found = [self._decisions[place] for place in places if place in self._decisions]
        if not found:
            return None
        return Pause(found[0].why, any(decision.at_once for decision in found))

    def of_event(self, number: int) -> Pause | None:
        """Return the pause of an event or of the contest; None if there is none."""
        found = self._decisions.get((number, None))
        return self.contest or (None if found is None else Pause(found.why, found.at_once))


def _name(event: int | None, match: int | None) -> str:
    if match is not None:
        return f"match {match}"
    return "the contest" if event is None else f"event {event}"
