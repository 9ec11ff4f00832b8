"""The example that trains a network by self-play: it learns, keeps what it has learned, and its bot plays."""

from __future__ import annotations

import csv
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import self_play
from curve import Point, chosen, draw
from self_play import (
    LAMBDA,
    SYMMETRIES,
    Network,
    action_values,
    best_move,
    cells_of,
    share_of,
    targets_of,
    values_ahead,
)

from getstep_engines import GAMES
from getstep_training.batch import ChainReactionBatch
from tests.support.patience import PATIENCE_SECONDS

EXAMPLE = Path(__file__).parents[2] / "examples" / "self_play"


def a_network() -> Network:
    return Network.random(np.random.default_rng(1), hidden=(16, 8))


def positions(count: int, moves: int = 40) -> ChainReactionBatch:
    """Return positions of random games."""
    batch, generator = ChainReactionBatch(count), np.random.default_rng(2)
    for _ in range(moves):
        batch.play(batch.random_actions(generator))
    return batch


def test_a_target_is_the_result_of_the_game_as_far_as_it_was_not_left_to_chance() -> None:
    best = np.array([[0.1, 0.1, 0.1], [0.2, 0.2, 0.2], [0.3, 0.3, 0.3]], np.float32)
    ended = np.array([[False, False, False], [False, True, False]])
    at_random = np.array([[False, False, True], [False, False, False]])
    later = -0.3
    before = -(LAMBDA * later + (1 - LAMBDA) * 0.2)
    lost = -(LAMBDA * 1 + (1 - LAMBDA) * 0.2)
    expected = [[before, lost, 0.1], [later, 1, later]]
    assert targets_of(best, ended, at_random) == pytest.approx(np.array(expected))


def test_both_players_see_their_own_orbs_as_positive() -> None:
    batch = ChainReactionBatch(2)
    boards = np.zeros((2, 8, 8), np.int8)
    boards[:, 0, 0], boards[:, 7, 6] = 1, -2  # one orb of Red, two of Green
    batch.set_boards(boards, np.array([0, 1]))
    cells = cells_of(batch.observations())
    assert cells[:, [0, 62]].tolist() == [[1, -2], [-1, 2]]


def test_a_symmetry_of_the_board_is_one_of_the_game() -> None:
    batch = positions(8, moves=20)
    turned = ChainReactionBatch(8)
    boards = batch.boards().reshape(8, 64)
    turned.set_boards(
        np.stack([board[turn] for board, turn in zip(boards, SYMMETRIES, strict=True)]).reshape(8, 8, 8),
        batch.to_move,
    )
    actions = batch.random_actions(np.random.default_rng(3))
    batch.play(actions)
    turned.play(
        np.array([np.flatnonzero(turn == action)[0] for turn, action in zip(SYMMETRIES, actions, strict=True)])
    )
    after = batch.boards().reshape(8, 64)
    assert turned.boards().reshape(8, 64).tolist() == [
        board[turn].tolist() for board, turn in zip(after, SYMMETRIES, strict=True)
    ]
    assert len({tuple(turn) for turn in SYMMETRIES.tolist()}) == 8


def test_a_network_learns_targets() -> None:
    network = a_network()
    cells = cells_of(positions(200).observations())
    targets = np.tanh((cells > 0).sum(1) - (cells < 0).sum(1)).astype(np.float32)
    errors = [network.learn(cells, targets, 0.01) for _ in range(100)]
    assert errors[-1] < errors[0] / 10
    assert network.values(cells) == pytest.approx(targets, abs=0.9)


def test_a_network_that_is_saved_has_the_same_values(tmp_path: Path) -> None:
    network, cells = a_network(), cells_of(positions(20).observations())
    network.save(tmp_path / "weights.npz", seconds=1.5, games=3)
    assert Network.load(tmp_path / "weights.npz").values(cells).tolist() == network.values(cells).tolist()


def test_the_value_of_an_action_is_what_the_opponent_loses() -> None:
    network, batch = a_network(), positions(5)
    values = action_values(network, batch)
    assert np.array_equal(np.isfinite(values), batch.legal())
    for board, action in np.argwhere(np.isfinite(values)).tolist():
        state = batch.state(board)
        state.play(divmod(action, 8))
        sign = 1 if state.to_move == 0 else -1
        cells = np.array([state.board()], np.int8).reshape(1, 64) * sign
        expected = 1 if state.outcome else -float(network.values(cells.astype(np.int8))[0])
        assert values[board, action] == pytest.approx(expected, abs=1e-5)


def test_looking_ahead_is_the_plain_search_of_the_best_actions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(self_play, "CONSIDERED", 3)
    network, batch = a_network(), ChainReactionBatch(4)
    generator = np.random.default_rng(3)
    for _ in range(10):
        batch.play(batch.random_actions(generator))

    def plain(state: ChainReactionBatch, moves: int) -> dict[int, float]:
        values = {action: float(value) for action, value in enumerate(action_values(network, state)[0])}
        best = sorted((action for action in values if values[action] > -np.inf), key=values.__getitem__)[-3:]
        if moves == 1:
            return {action: values[action] for action in values if values[action] > -np.inf}
        found = {}
        for action in best:
            after = state.take(np.array([0]))
            after.play(np.array([action]))
            found[action] = 1.0 if after.over[0] else -max(plain(after, moves - 1).values())
        return found

    for board in range(len(batch)):
        one = batch.take(np.array([board]))
        for moves in (1, 2, 3):
            ahead = values_ahead(network, batch, moves)[board]
            expected = plain(one, moves)
            assert set(np.flatnonzero(np.isfinite(ahead)).tolist()) == expected.keys()
            assert [ahead[action] for action in expected] == pytest.approx([*expected.values()], abs=1e-5)


@pytest.mark.parametrize("is_black", [True, False])
def test_a_bot_wins_at_once_and_prevents_that_its_opponent_does(is_black: bool) -> None:
    """A corner with one orb takes the opponent's only orb beside it with the next one."""
    board = [[0] * 8 for _ in range(8)]
    board[0][0], board[0][1] = (1, -1) if is_black else (-1, 1)
    assert best_move(a_network(), board, is_black) == (0, 0)
    state = GAMES["chain_reaction"].from_board(board, not is_black)
    state.play(best_move(a_network(), board, not is_black))
    for move in state.legal_moves():
        answer = state.copy()
        answer.play(move)
        assert answer.outcome is None


def test_a_bot_moves_if_each_move_wins() -> None:
    capacities = 4 - sum((np.indices((8, 8)) == edge).any(0).astype(int) for edge in (0, 7))
    capacities[[0, 0, 7, 7], [0, 7, 0, 7]] = 2
    board = (capacities - 1).tolist()
    board[3][3] = -1
    state = GAMES["chain_reaction"].from_board(board, True)
    state.play(best_move(a_network(), board, is_black=True))
    assert state.outcome
    assert state.outcome.winner == 0


def test_the_same_network_wins_half_of_the_games_against_itself() -> None:
    network = a_network()
    assert share_of(network, network, 8, np.random.default_rng(1)) == 0.5


def test_the_curve_shows_each_bot() -> None:
    points = [
        Point(minutes, 10, bot, 4, 0.5, 0.2, 0.8) for minutes in (0.0, 1.0) for bot in ("random", "search_1000")
    ]
    picture = ElementTree.fromstring(draw(points))
    lines = picture.findall("{http://www.w3.org/2000/svg}polyline")
    assert [line.get("points") for line in lines] == ["56.0,190.0 696.0,190.0", "60.0,190.0 700.0,190.0"]
    assert [path.name for path in chosen([Path(str(number)) for number in range(13)])] == [
        "0",
        "1",
        "2",
        "4",
        "8",
        "12",
    ]


@pytest.mark.long
def test_a_training_that_is_stopped_leaves_a_bot_that_beats_random_moves(tmp_path: Path) -> None:
    """One long test: the training until it has compared once, Ctrl-C, the curve, and a duel on a real server."""
    for path in EXAMPLE.glob("*.py"):
        shutil.copy(path, tmp_path)

    def run(*command: str) -> str:
        done = subprocess.run(
            [sys.executable, *command], cwd=tmp_path, capture_output=True, text=True, timeout=4 * PATIENCE_SECONDS
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    training = subprocess.Popen(
        [sys.executable, "self_play.py", "--rounds", "1000"], cwd=tmp_path, stdout=subprocess.PIPE, text=True
    )
    with training:
        assert training.stdout
        heading, first = training.stdout.readline(), training.stdout.readline()
        training.send_signal(signal.SIGINT)
        assert "Stopped. The best network is in weights.npz" in training.stdout.read()
    assert training.returncode == 130
    assert heading.startswith("CPU s")
    assert re.search(r" 10 +[\d,]+ +0\.\d{4} ", first)

    untrained, trained = (Network.load(path) for path in sorted((tmp_path / "checkpoints").glob("*.npz")))
    generator = np.random.default_rng(5)
    assert share_of(trained, untrained, 50, generator) > 0.6  # 78 % when this was written
    assert share_of(trained, None, 50, generator) > 0.75  # 92 %

    run("curve.py", "--pairs", "1", "--last-pairs", "1", "--bots", "random")
    with (tmp_path / "curve.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [(row["bot"], row["pairs"]) for row in rows] == [("random", "1")] * 2
    assert (tmp_path / "curve.svg").is_file()

    duel = "duel trained_bot.py random_bot --game chain_reaction --openings balanced --pairs 1 --plain"
    played = run("-m", "getstep_server", *duel.split())
    assert re.search(r"1 pair: [12] won", played)
    assert "penalty" not in played
