"""A match that is being played, as the page follows it: the marks on the board are those of the latest move."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from getstep_server.records.record import parse
from getstep_server.storage.store import Store
from getstep_server.web.live import LiveMatch
from getstep_server.web.parts import catch_up
from tests.old_contests.contests import unpack

FOREVER = float("inf")


def games_with_passes(tmp_path: Path) -> list[Mapping[str, Any]]:
    folder = unpack("0.1.0-before-settings/finished", tmp_path / "finished")
    with Store(folder / "contest.db", reading=True) as store:
        games = [parse(record.line) for record in store.records() if record.number]
    return [game for game in games if any("pass" in turn for turn in game["turns"])]


def followed(game: Mapping[str, Any], batches: Sequence[Sequence[Mapping[str, Any]]]) -> LiveMatch:
    """Return the match after its turns, which come in batches."""
    live = LiveMatch(game, 1, 0.0)
    for batch in batches:
        for turn in batch:
            live.add(json.dumps(turn, separators=(",", ":")).encode(), 0.0)
        live.catch_up(FOREVER)
    return live


def test_the_marks_are_those_of_the_latest_move_if_a_pass_came_with_it(tmp_path: Path) -> None:
    games = games_with_passes(tmp_path)
    assert games
    for game in games:
        turns = game["turns"]
        end = next(place for place, turn in enumerate(turns) if "pass" in turn) + 1
        one_by_one = followed(game, [[turn] for turn in turns[:end]])
        together = followed(game, [turns[: end - 3], turns[end - 3 : end]])
        assert together.board() == one_by_one.board()
        assert together.touched() == one_by_one.touched() != {}


def test_a_board_that_is_behind_has_no_marks(tmp_path: Path) -> None:
    (game, *_) = games_with_passes(tmp_path)
    live = followed(game, [game["turns"][:1]])
    assert live.touched()
    live.add(json.dumps(game["turns"][1]).encode(), 0.0)
    assert live.touched() == {}


def test_each_board_moves_though_there_is_no_time_for_all_turns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (game, *_) = games_with_passes(tmp_path)
    lives = [followed(game, []) for _ in range(3)]
    for live in lives:
        for turn in game["turns"]:
            live.add(json.dumps(turn).encode(), 0.0)
    clock = count()
    monkeypatch.setattr(time, "thread_time", lambda: next(clock))  # a turn takes a second
    catch_up(lives, seconds=30)
    assert all(1 <= len(live.turns) < len(game["turns"]) for live in lives)
