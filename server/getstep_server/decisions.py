"""What the host decides about a contest while it is under way, and the records that say so.

A decision is about a team (may it take part?) or about a match (what does it come to?). What follows from it the
tournament works out, from the records alone; here is only what it says.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, TypeAlias, cast, get_args

import orjson

from getstep_engines import Player

from .contest import Contest
from .game_record import RECORD_VERSION, SOFTWARE, Record, RecordError
from .results import ADJUDICATED, Result
from .schedule import Match
from .standings import DISQUALIFIED, WITHDRAWN

TeamKind: TypeAlias = Literal["withdraw", "disqualify", "reinstate"]
MatchKind: TypeAlias = Literal["adjudicate", "replay"]
TEAM_KINDS: tuple[TeamKind, ...] = get_args(TeamKind)
MATCH_KINDS: tuple[MatchKind, ...] = get_args(MatchKind)

STATUS: dict[str, str] = {"withdraw": WITHDRAWN, "disqualify": DISQUALIFIED, "reinstate": ""}
"""What a team is after a decision about it; "" takes part."""


@dataclass(frozen=True, slots=True)
class Decision:
    """One decision of the host.

    ``by`` is who has made it, ``why`` a sentence, ``at`` the time in UTC as records have it. One about a ``team``
    holds in the ``event`` with this number, or in all (None). One about a ``match`` has its number; ``winner`` is
    what "adjudicate" makes of it: 0 or 1, or None for a draw.
    """

    kind: TeamKind | MatchKind
    by: str
    why: str
    at: str
    team: int | None = None
    event: int | None = None
    match: int | None = None
    winner: Player | None = None

    def is_about(self, match: Match) -> bool:
        """Whether it may end a running attempt at ``match``."""
        if self.match is not None:
            return self.match == match.number
        return self.kind != "reinstate" and self.team in match.teams and self.event in (None, match.event)

    def result(self, match: Match, attempt: int) -> Result:
        """What an adjudicated match comes to; ``attempt`` is the latest at it, 0 if there was none."""
        return Result(
            match=match,
            winner=self.winner,
            reason=ADJUDICATED,
            detail=self.why,
            scores=None,
            turns=0,
            thought=(0.0, 0.0),
            faults=(0, 0),
            started=datetime.fromisoformat(self.at).timestamp(),
            seconds=0.0,
            attempt=attempt,
        )


def decision_fields(contest: Contest, decision: Decision) -> dict[str, Any]:
    """What the record of a decision says."""
    about: dict[str, Any] = {"match": decision.match}
    if decision.kind in TEAM_KINDS:
        about = {"team": decision.team, "event": decision.event}
    elif decision.kind == "adjudicate":
        about["winner"] = decision.winner
    return {
        "record": RECORD_VERSION,
        "type": "decision",
        "contest": contest.name,
        "seed": contest.file.contest.seed,
        "decision": decision.kind,
        **about,
        "by": decision.by,
        "why": decision.why,
        "at": decision.at,
        "software": SOFTWARE,
    }


def record_of_decision(contest: Contest, decision: Decision) -> Record:
    """The record of a decision."""
    return Record(orjson.dumps(decision_fields(contest, decision)))


def decision_of(fields: Mapping[str, Any]) -> Decision:
    """The decision in a record.

    Raises:
        RecordError: there is none.
    """
    kind = fields.get("decision")
    if kind not in (*TEAM_KINDS, *MATCH_KINDS):
        raise RecordError(f"decision is {kind!r:.80}, expected one of: {', '.join((*TEAM_KINDS, *MATCH_KINDS))}")
    about = ("team", "event") if kind in TEAM_KINDS else ("match", "winner") if kind == "adjudicate" else ("match",)
    try:
        values = {name: fields[name] for name in (*about, "by", "why", "at")}
        hash(tuple(values.values()))
        datetime.fromisoformat(values["at"])
    except (KeyError, TypeError, ValueError) as error:
        raise RecordError(f"a record of a decision that cannot be read: {error!r:.200}") from error
    return Decision(kind=cast(TeamKind | MatchKind, kind), **values)


def described(decision: Decision, contest: Contest, match: Match | None = None) -> str:
    """A decision in words, without who and why; ``match`` is the one it is about, if it is about one."""
    if decision.team is not None:
        what = {"withdraw": "has withdrawn", "disqualify": "is disqualified", "reinstate": "is reinstated"}
        event = decision.event
        known = event is None or event > len(contest.events)
        where = "" if known or len(contest.events) == 1 else f" in {contest.event(event or 1).name}"
        return f"{contest.team_name(decision.team)} {what[decision.kind]}{where}"
    names = [] if match is None else [contest.team_name(team) for team in match.teams]
    which = f"match {decision.match}" + (f" ({' – '.join(names)})" if names else "")
    if decision.kind == "replay":
        return f"{which} is played again"
    if decision.winner is None:
        return f"{which} is a draw"
    return f"{which} is won by {names[decision.winner] if names else f'player {decision.winner}'}"
