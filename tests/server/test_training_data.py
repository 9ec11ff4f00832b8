"""Turns for learning programs: rows agree with the environment that replays the records move by move."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from getstep_engines import GAMES
from getstep_server.config.contest import Contest, database_path
from getstep_server.records.reasons import VOID_REASONS
from getstep_server.reports.training_data import write_turns
from getstep_server.storage.database import StoreError
from getstep_server.storage.store import Store
from getstep_training import turns as turns_module
from getstep_training._actions import actions_of
from getstep_training.pettingzoo import GetstepEnv
from getstep_training.turns import RecordedGame, RecordedTurn, TurnError, encode
from tests.support.command import Command
from tests.support.played_contests import Scene, clumsy, play_scenes, scenes_of_stalling, silent
from tests.support.tampering import Forged

pq = pytest.importorskip("pyarrow.parquet", reason="the extra `data` is not installed")


def games(contest: Contest) -> list[dict[str, Any]]:
    with Store(contest.database) as store:
        records = [json.loads(line) for line in store.lines()]
    return [one for one in records if one["type"] == "game" and one["reason"] not in VOID_REASONS]


def expected_rows(game: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the rows of a record, from the environment: another way than the batch."""
    env = GetstepEnv(game["game"], None, **game["options"])
    env.reset()
    opening = game.get("opening", [])
    numbers = actions_of(GAMES[game["game"]], len(env._state.board()))
    teams = [team["id"] for team in game["teams"]]
    for action in (action for move in opening for action in numbers.numbers(move)):
        env.step(action)
    for number, turn in enumerate(game["turns"], start=1):
        if "pass" in turn:
            continue
        player, code = turn["player"], turn.get("fault", turn.get("end", ""))
        for step, action in enumerate([-1] if code else numbers.numbers(turn["move"])):
            if env._state.to_move != player or (step and not env._path):
                continue  # the rules ended the move
            seen = env.observe(f"player_{player}")
            result = 0 if game["winner"] is None else 1 if game["winner"] == player else -1
            if code not in ("stalled", "hostile"):
                yield {
                    "place": game["place"],
                    "turn": number,
                    "step": step,
                    "player": player,
                    "team": teams[player],
                    "opponent": teams[1 - player],
                    "observation": seen["observation"].tolist(),
                    "mask": seen["action_mask"].tolist(),
                    "action": action,
                    "code": code,
                    "ms": turn["ms"],
                    "result": result,
                }
            if not code:
                env.step(action)
            elif "fault" in turn:
                env.step(-1)


def rows_of(folder: Path, form: str) -> list[dict[str, Any]]:
    """Return all rows of the files in a folder, in order."""
    rows = []
    for path in sorted(folder.iterdir()):
        if form == "npz":
            with np.load(path) as file:
                columns = {name: file[name] for name in file if file[name].ndim}
        else:
            table = pq.read_table(path)
            columns = {
                name: column.combine_chunks().to_numpy_ndarray()
                if hasattr(column.type, "shape")
                else column.to_numpy()
                for name, column in zip(table.column_names, table.columns, strict=True)
            }
        lists = {name: values.tolist() for name, values in columns.items()}
        rows += [dict(zip(lists, row, strict=True)) for row in zip(*lists.values(), strict=True)]
    return sorted(rows, key=lambda row: (row["place"], row["turn"], row["step"]))


@pytest.fixture(scope="module")
def contests(tmp_path_factory: pytest.TempPathFactory, hop_contest: Contest) -> dict[str, Contest]:
    """Two matches in every game; in hop all that can happen."""
    folder = tmp_path_factory.mktemp("turns")
    others = [game for game in GAMES if game != "hop"]
    made = {game: play_scenes(folder / game, game, lambda _: [Scene(1), Scene(2)]) for game in others}
    made["faulty"] = play_scenes(folder / "faulty", "pseudo_tonga", lambda _: [Scene(1, clumsy), Scene(2, silent)])
    openings = {f"{game} with openings": game for game in GAMES}
    for name, game in openings.items():
        made[name] = play_scenes(folder / name, game, lambda _: [Scene(1), Scene(2)], openings=4)
    made["stalling"] = play_scenes(folder / "stalling", "hop", scenes_of_stalling, teams=4)
    return {**made, "hop": hop_contest}


@pytest.mark.parametrize("form", ["parquet", "npz"])
@pytest.mark.parametrize("game", [*GAMES, "faulty", "stalling", *(f"{game} with openings" for game in GAMES)])
def test_each_row_is_what_the_environment_shows(
    game: str, form: Any, contests: dict[str, Contest], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns_module, "BLOCK_ROWS", 100)  # several groups of rows, several files
    with Store(contests[game].database) as store:
        files = write_turns(store, tmp_path, form)
    rows = rows_of(tmp_path, form)
    assert len(rows) == files.rows > 0
    expected = [row for one in games(contests[game]) for row in expected_rows(one)]
    assert [{name: row[name] for name in expected[0]} for row in rows] == expected
    if game == "hop":
        assert {"illegal_move", "missed_limit"} <= {row["code"] for row in rows}
        assert max(row["step"] for row in rows) > 0


def a_game(*turns: tuple[int, Any, str], estimate: float = float("nan")) -> RecordedGame:
    made = [
        RecordedTurn(number, player, move, code, code == "resigned", True, 1.5, estimate)
        for number, (player, move, code) in enumerate(turns, start=1)
    ]
    return RecordedGame(9, 1, 1, (4, 7), 1, made)


def test_estimates_and_results_are_those_of_the_player_on_turn() -> None:
    rows = encode(
        "chain_reaction", {}, [a_game((0, [0, 0], ""), (1, [0, 1], ""), (0, None, "resigned"), estimate=0.5)]
    )
    assert rows["estimate"].tolist() == [0.5] * 3
    assert rows["result"].tolist() == [-1, 1, -1]
    assert rows["team"].tolist() == [4, 7, 4]
    assert rows["action"].tolist() == [0, 1, -1]
    assert rows["code"].tolist() == ["", "", "resigned"]


@pytest.mark.parametrize(
    ("game", "turns", "message"),
    [
        ("chain_reaction", [(0, [0, 0], ""), (1, [0, 0], "")], "place 9, turn 2: it is against the rules"),
        ("chain_reaction", [(1, [0, 0], "")], "place 9, turn 1: it is against the rules"),
        ("chain_reaction", [(0, None, "missed_limit"), (1, [0, 0], "")], "turn 2: it is against the rules"),
        ("chain_reaction", [(0, [8, 0], "")], r"turn 1: \[8, 0\] is not a move"),
        ("chain_reaction", [(0, {"a": [[1]]}, "")], "is not a move"),
        ("chain_reaction", [(0, 7, "")], "7 is not a move"),
        ("linkage", [(0, ["R", [3, 3], [3, 4]], "")], "turn 1: it is against the rules"),
        ("linkage", [(0, ["R", [[0]], [3, 4]], "")], "is not a move"),
        ("hop", [(0, [[0, 0], [1, 1]], "")], "is not a move of hop"),
        ("hop", [(0, [[0, 0]], "")], "is not a move of hop"),
        ("hop", [(0, [[10**30, 0], [10**30, 1]], "")], "is not a move of hop"),
        ("hop", [(0, [["a", 0], [0, 0]], "")], "is not a move of hop"),
        ("hop", [(0, [[0, 0], [0, 1], [0, 2]], "")], "against the rules"),
    ],
)
def test_a_game_against_the_rules_is_refused_by_its_place(game: str, turns: list[Any], message: str) -> None:
    good = a_game((0, [1, 1] if game == "chain_reaction" else [[0, 0], [0, 1]], ""))
    games = [a_game(*turns)] if game == "linkage" else [good, a_game(*turns)]
    with pytest.raises(TurnError, match=message):
        encode(game, {}, games)


def test_a_domino_has_one_number_in_either_order() -> None:
    turned = encode("linkage", {}, [a_game((0, ["B", [0, 1], [0, 0]], ""))])
    assert turned["action"].tolist() == [84]


def test_a_damaged_record_is_refused(contests: dict[str, Contest], tmp_path: Path) -> None:
    with closing(Forged(database_path(contests["linkage"].folder), tmp_path / "contest.db")) as forged:
        forged.turns(1, lambda turns: turns[0].update(ms=3.25))
    (tmp_path / "out").mkdir()
    with Store(forged.path) as store, pytest.raises(StoreError, match="is not what was written"):
        write_turns(store, tmp_path / "out", "npz")


def test_the_command_writes_a_new_folder(contests: dict[str, Contest], command: Command) -> None:
    contest = str(contests["linkage"].folder)
    ran = command("export", contest, "--parquet", "--output", "turns")
    assert (ran.code, ran.err) == (0, "")
    assert re.fullmatch(r"\d+ rows in 1 file in turns: linkage\.parquet\n", ran.out)
    metadata = pq.read_schema("turns/linkage.parquet").metadata
    assert (metadata[b"schema"], metadata[b"game"], metadata[b"options"]) == (b"1", b"linkage", b"{}")
    assert "the folder is not empty" in command.complaint("export", contest, "--npz", "--output", "turns")
    assert "--npz without --output" in command.complaint("export", contest, "--npz")


def test_without_pyarrow_the_command_says_what_to_install(
    contests: dict[str, Contest], command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    contest = str(contests["linkage"].folder)
    said = command.complaint("export", contest, "--parquet", "--output", "turns")
    assert "pip install 'getstep-server[data]'" in said
    assert not any(Path("turns").iterdir())
    assert command("export", contest, "--npz", "--output", "turns").code == 0
    monkeypatch.delitem(sys.modules, "getstep_server.reports.training_data")
    monkeypatch.setitem(sys.modules, "getstep_training.turns", None)
    said = command.complaint("export", contest, "--npz", "--output", "others")
    assert "pip install 'getstep-server[data]'" in said
