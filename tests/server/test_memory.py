"""The memory that a match leaves behind: an arena runs for months, and standings need all results."""

from __future__ import annotations

import gc
import json
import tracemalloc
from pathlib import Path

from getstep_server.config.contest import load_contest
from getstep_server.storage.store import Store
from getstep_server.tournament.tournament import Tournament
from tests.support.random_results import make_up

MATCHES = 600
BYTES = 1150
"""Python 3.11 takes 985 bytes for a match with its pairing, result and standings; it was 1,450 once."""


def test_a_match_takes_a_kilobyte(tmp_path: Path) -> None:
    events = [{"game": "hop", "settings": {"legs": MATCHES // 6}}]
    contest = make_up(tmp_path / "hop", events, ["Ada", "Blaise", "Charles", "Dorothy"])
    with Store(contest.database, reading=True) as store:
        lines = list(store.lines())
    tracemalloc.start()
    try:
        tournament = Tournament(load_contest(contest.folder))
        before, _ = tracemalloc.get_traced_memory()
        for line in lines:
            tournament.apply(json.loads(line))
        tournament.tables()
        gc.collect()
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert tournament.done == MATCHES
    assert (after - before) / MATCHES < BYTES


def test_results_share_what_is_equal(tmp_path: Path) -> None:
    contest = make_up(tmp_path / "hop", [{"game": "hop", "settings": {"legs": 20}}], ["Ada", "Blaise"])
    with Store(contest.database, reading=True) as store:
        tournament = Tournament(contest, [json.loads(line) for line in store.lines()])
    assert len(tournament.results) == 20
    assert all(result.match is tournament.matches[result.match.number] for result in tournament.results)
    for part in ("reason", "detail", "faults"):
        values = [getattr(result, part) for result in tournament.results]
        assert len({id(value) for value in values}) == len(set(values)), part
