"""The announcements of a contest, written down by other programs than the server, and compared with its records."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from getstep_server.config.contest import Contest, load_contest
from getstep_server.records.game import is_void, result_of
from getstep_server.records.record import parse
from getstep_server.records.result import PLAYERS, Result
from getstep_server.reports.tables import result_line
from getstep_server.storage.store import Store
from getstep_server.storage.verify import verify

ANNOUNCED = re.compile(r"^\[(\d+)/\d+\] (.*)$", re.MULTILINE)
"""The server's line about a match that is over: the number of matches that are, and the result."""

TIMES = ("ms", "timed", "waited_ms", "late_ms", "paused_ms")
"""The keys of a turn that differ from run to run."""


@dataclass(frozen=True)
class OnRecord:
    """The contents of a contest's folder: each attempt's record in the order of the chain, and the last hash."""

    contest: Contest
    games: list[dict[str, Any]]
    head: str

    @property
    def results(self) -> dict[int, Result]:
        """The result of each match that is over."""
        results = [result_of(game) for game in self.games]
        return {result.match.number: result for result in results if not is_void(result)}

    @property
    def played(self) -> dict[int, Any]:
        """Return all that does not depend on time, of each match that is over."""
        return {game["match"]: _timeless(game) for game in self.games if not is_void(result_of(game))}


def on_record(folder: Path, *, head: str | None = None) -> OnRecord:
    """Verify and read what is on record in a folder.

    A copy of a database in the folder is read: a resumed server has to find the state of the last one.

    Args:
        folder: the contest's. No server is writing to a database in it.
        head: the hash that the chain ended with before.

    Raises:
        VerifyError: something does not fit, or the records of ``head`` are no longer its beginning.
    """
    contest = load_contest(folder)
    with tempfile.TemporaryDirectory() as scratch, _readable(contest, Path(scratch)) as store:
        verified = verify(contest, store, expected_hash=head)
        records = [parse(line) for line in store.lines()]
    return OnRecord(contest, [record for record in records if record["type"] == "game"], verified.tip)


def _readable(contest: Contest, scratch: Path) -> Store:
    if not isinstance(contest.database, Path):
        return Store(contest.database, reading=True)
    for path in contest.folder.glob("contest.db*"):
        if not path.name.endswith("-shm"):  # SQLite makes it again when no program has the database open
            shutil.copy(path, scratch)
    return Store(scratch / "contest.db")


def _timeless(game: dict[str, Any]) -> Any:
    turns = [{key: turn[key] for key in turn if key not in TIMES} for turn in game["turns"]]
    return turns, *(game[key] for key in ("teams", "winner", "reason", "detail", "scores", "faults"))


def read_ledger(path: Path) -> list[dict[str, Any]]:
    """Return the lines that the bots have written yet; they may be writing another."""
    text = path.read_bytes() if path.exists() else b""
    return [json.loads(line) for line in text[: text.rfind(b"\n") + 1].splitlines()]


@dataclass(frozen=True)
class Audit:
    """The findings of an audit: the matches that were ``announced``, and a line for each error."""

    announced: set[int]
    lost: list[str]
    double: list[str]
    gone_back: list[str]

    @property
    def complaints(self) -> list[str]:
        """All that is wrong."""
        return [*self.lost, *self.double, *self.gone_back]


def audit(record: OnRecord, ledger: Sequence[dict[str, Any]], printed: str) -> Audit:
    """Hold what the bots were told, and what the server has ``printed`` in all its runs, against the record."""
    told = [line for line in ledger if "told" in line]
    lines = ANNOUNCED.findall(printed)
    results = record.results
    matches = {result_line(result, record.contest.team_name): number for number, result in results.items()}
    counted = Counter(game["match"] for game in record.games if not is_void(result_of(game)))
    double = [f"match {number} has {times} records that count" for number, times in counted.items() if times > 1]
    double += _repeated("told", [(line["told"], line["match"]) for line in told])
    double += _repeated("printed", [text for _, text in lines]) + _repeated("printed", [done for done, _ in lines])
    lost = [f"printed and not on record: {text!r}" for _, text in lines if text not in matches]
    lost += [f"told and not on record: {line!r}" for line in told if not _stands(line, results)]
    announced = {line["match"] for line in told} | {matches[text] for _, text in lines if text in matches}
    return Audit(announced, lost, double, list(_gone_back(ledger)))


def _repeated(what: str, values: Iterable[Any]) -> list[str]:
    return [f"{what} {times} times: {value!r}" for value, times in Counter(values).items() if times > 1]


def _stands(told: dict[str, Any], results: dict[int, Result]) -> bool:
    """Return True if a team's message agrees with the record."""
    result = results.get(told["match"])
    if result is None or told["told"] not in result.match.teams:
        return False
    player = PLAYERS[result.match.teams.index(told["told"])]
    scores = None if result.scores is None else json.loads(json.dumps(result.scores))
    expected = (result.outcome_for(player), result.reason, result.detail, scores)
    return (told["result"], told["reason"], told["detail"], told["scores"]) == expected


def _gone_back(ledger: Sequence[dict[str, Any]]) -> Iterable[str]:
    """Yield an error for each turn that was played again: only the open question may be asked twice, unchanged."""
    latest: dict[int, dict[str, Any]] = {}
    for line in ledger:
        before = latest.get(line["match"], {"move_number": 0})
        if "told" in line:
            latest[line["match"]] = {"move_number": float("inf")}
        elif line["move_number"] < before["move_number"]:
            yield f"asked {line!r} after {before!r}"
        elif line["move_number"] == before["move_number"] and line["position"] != before["position"]:
            yield f"asked {line!r}, and before that {before!r}"
        else:
            latest[line["match"]] = line
