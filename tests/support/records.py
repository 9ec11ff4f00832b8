"""Two matches, and the records that the store keeps of them."""

from __future__ import annotations

from typing import Any

from getstep_server.records.game import MatchLog, record_of_game
from getstep_server.records.match import Match
from getstep_server.records.record import Record
from getstep_server.records.result import Result
from getstep_server.text import utc_time
from tests.support.servers import round_robin

SCHEDULE = round_robin([1, 2, 3], "pseudo_tonga", size=8)
PAIRINGS = {"record": 1, "type": "pairings", "matches": [{"number": match.number} for match in SCHEDULE]}


def result_of(match: Match, scores: Any = (3, 2)) -> Result:
    return Result(
        match=match,
        winner=0,
        reason="finished",
        detail="Black ‘wins’",
        scores=scores,
        turns=9,
        thought=(0.25, 1.5),
        faults=(0, 2),
        started=1.7e9,
        seconds=3.5,
    )


def record_of(result: Result, happened: MatchLog | None = None) -> Record:
    match = result.match
    head = {
        "contest": "Test",
        "seed": 1,
        "match": match.number,
        "attempt": result.attempt,
        **{name: getattr(match, name) for name in ("event", "round", "pairing", "leg", "game", "options")},
        "teams": [{"id": team, "name": f"Team {team}"} for team in match.teams],
        "time": {"kind": "move", "ms": 1000.0, "lag_ms": 100.0},
        "started": utc_time(result.started),
        "software": "getstep-server 0.1.0",
    }
    return record_of_game(head, result, happened)
