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

from getstep_engines import Game, Player

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


MAX_SCORE = 1_000_000
"""Of a player in an adjudicated match: more than any game has; the largest isle of pseudo_tonga is worth 65,536."""


@dataclass(frozen=True, slots=True)
class Decision:
    """One decision of the host.

    ``by`` is who has made it, ``why`` a sentence, ``at`` the time in UTC as records have it. One about a ``team``
    holds in the ``event`` with this number, or in all (None). One about a ``match`` has its number; ``winner`` is
    what "adjudicate" makes of it: 0 or 1, or None for a draw. ``scores`` are both players' then, in the
    game's own measure, where the host has said some.
    """

    kind: TeamKind | MatchKind
    by: str
    why: str
    at: str
    team: int | None = None
    event: int | None = None
    match: int | None = None
    winner: Player | None = None
    scores: tuple[int, int] | None = None

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
            scores=self.scores,
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
        scores = None if decision.scores is None else list(decision.scores)
        about |= {"winner": decision.winner, "scores": scores}
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
    about = ["team", "event"] if kind in TEAM_KINDS else ["match"]
    if kind == "adjudicate":
        about += ["winner", "scores"]
    try:
        values = {name: fields[name] for name in (*about, "by", "why", "at")}
        if values.get("scores") is not None:
            values["scores"] = tuple(values["scores"])
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
    first, second = _winners_first(decision)
    scores = "" if decision.scores is None else f" with {first} to {second}"
    if decision.winner is None:
        return f"{which} is a draw{scores}"
    return f"{which} is won by {names[decision.winner] if names else f'player {decision.winner}'}{scores}"


def scores_objection(decision: Decision, game: Game) -> str | None:
    """Why the scores of an adjudicated match of ``game`` make no sense, for the host; None if they do."""
    scores = decision.scores
    if scores is None:
        return None
    if not game.differs:
        return f"scores {scores!r:.80}, expected none: in {game.name} no difference of scores counts"
    if len(scores) != 2 or not all(type(score) is int and 0 <= score <= MAX_SCORE for score in scores):
        return f"scores {scores!r:.80}, expected two whole numbers from 0 to {MAX_SCORE}"
    first, second = scores
    if decision.winner != (None if first == second else int(second > first)):
        wanted = "equal ones for a draw" if decision.winner is None else "more for the winner"
        return f"scores {scores!r}, expected {wanted}"
    return None


def _winners_first(decision: Decision) -> tuple[int, ...]:
    scores = decision.scores or (0, 0)
    return scores[::-1] if decision.winner == 1 else scores
