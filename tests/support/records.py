"""Records: two matches and what the store keeps of them, the inside of a store, and the lines of a log."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

from getstep_server.records.game import MatchLog, record_of_game
from getstep_server.records.match import Match
from getstep_server.records.record import Record, parse
from getstep_server.records.result import Result
from getstep_server.storage.sqlite import SqliteDatabase
from getstep_server.storage.store import Store
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


def games_of(folder: Path) -> list[dict[str, Any]]:
    """Return the records of the games in the database of a contest, with their turns."""
    with Store(folder / "contest.db", reading=True) as store:
        records = [parse(stored.line) for stored in store.records()]
    return [fields for fields in records if fields["type"] == "game"]


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


# --- JSON as records have it, from the standard library: what the server writes is compared with it -------------


def compact(value: object) -> bytes:
    """Return a value as one line of JSON without spaces."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


# --- the inside of a store in a file of SQLite ------------------------------------------------------------------


def connection_of(store: Store) -> sqlite3.Connection:
    """Return the store's own connection, for `Store._run`."""
    database = store._db
    assert isinstance(database, SqliteDatabase)
    return database.connection


# --- the lines of a contest's log -------------------------------------------------------------------------------


def lines_of(folder: Path) -> list[dict[str, Any]]:
    """Return every line of the log, oldest file first."""
    files = sorted(folder.glob("contest.log*"), key=lambda path: path.name, reverse=True)
    return [json.loads(line) for path in files for line in path.read_text("ascii").splitlines()]
