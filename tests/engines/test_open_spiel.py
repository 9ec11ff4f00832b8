"""Our games in OpenSpiel: its own tests of a game pass, and its searches play them."""

from __future__ import annotations

import copy
import re
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from getstep_engines import GAMES, Game
from getstep_training._actions import HOP_END
from getstep_training.pettingzoo import AGENTS, GetstepEnv

pyspiel = pytest.importorskip("pyspiel", reason="the extra `open_spiel` is not installed")
from getstep_training import open_spiel  # noqa: E402 - it needs pyspiel

PAGE = Path(__file__).parents[2] / "docs" / "training.md"
EVERY_GAME = pytest.mark.parametrize("game", GAMES)


def load(game: str) -> Any:
    assert open_spiel.PREFIX + game in open_spiel.register()
    return pyspiel.load_game(open_spiel.PREFIX + game)


@pytest.mark.parametrize(
    "game",
    [pytest.param(game, marks=[pytest.mark.long] if game in ("hop", "longest_path") else []) for game in GAMES],
)
def test_the_tests_of_openspiel_accept_the_game(game: str) -> None:
    pyspiel.random_sim_test(load(game), num_sims=1, serialize=True, verbose=False)


@EVERY_GAME
def test_openspiel_sees_what_pettingzoo_shows(game: str) -> None:
    loaded, environment, dice = load(game), GetstepEnv(game), Random(game)
    environment.reset()
    state, observer = loaded.new_initial_state(), loaded.make_py_observer()
    hopped = False
    while not state.is_terminal():
        player = state.current_player()
        assert environment.agent_selection == AGENTS[player]
        seen = environment.observe(AGENTS[player])
        observer.set_from(state, player)
        assert np.array_equal(observer.dict["observation"], seen["observation"])
        legal = state.legal_actions()
        assert legal == np.flatnonzero(seen["action_mask"]).tolist()
        assert state.legal_actions(1 - player) == []
        hopped |= HOP_END in legal and game == "hop"
        action = dice.choice(legal)
        assert state.action_to_string(player, action)
        state.apply_action(action)
        environment.step(action)
    assert state.returns() == [environment.rewards[agent] for agent in AGENTS]
    assert hopped == (game == "hop")


def test_a_copy_goes_its_own_way() -> None:
    state = load("chain_reaction").new_initial_state()
    state.apply_action(5)
    for twin in (state.clone(), copy.deepcopy(state)):
        twin.apply_action(6)
        assert str(twin) != str(state)
        assert state.current_player() == 1


def test_a_game_takes_its_options() -> None:
    load("pseudo_tonga")
    small = pyspiel.load_game("getstep_pseudo_tonga(size=6)")
    assert small.num_distinct_actions() == 36
    assert load("pseudo_tonga").num_distinct_actions() == 64


def test_the_search_of_openspiel_finds_a_win() -> None:
    """Green has one orb, which Red captures with its corner."""
    mcts = pytest.importorskip("open_spiel.python.algorithms.mcts")
    game = load("chain_reaction")
    state = game.new_initial_state()
    for action in (0, 1):
        state.apply_action(action)
    dice = np.random.RandomState(1)
    bot = mcts.MCTSBot(game, 2, 80, mcts.RandomRolloutEvaluator(1, dice), solve=True, random_state=dice)
    assert bot.step(state) == 0
    state.apply_action(0)
    assert state.is_terminal()
    assert state.returns() == [1, -1]


def run_program(word: str) -> dict[str, Any]:
    """Run the only program on the page that has this word, and return its names."""
    programs = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    (program,) = (program for program in programs if word in program)
    names: dict[str, Any] = {}
    exec(program, names)
    return names


def test_the_program_in_the_docs_plays_a_game() -> None:
    pytest.importorskip("open_spiel.python.algorithms.mcts")
    assert run_program("MCTSBot")["state"].is_terminal()


@pytest.mark.long
def test_a_learner_of_openspiel_learns() -> None:
    """It wins 54 % of its games before and 94 % after: the same each time, by its seeds."""
    pytest.importorskip("open_spiel.python.algorithms.tabular_qlearner")
    names = run_program("QLearner")
    assert names["before"] < 0.65
    assert names["after"] > 0.85


def test_a_game_whose_moves_have_no_numbers_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    hop = GAMES["hop"]
    paths = Game("paths", hop.title, hop.players, hop.time_control, "none", hop._start, hop._from_board,
                 move_form=hop.move_form)  # fmt: skip
    monkeypatch.setattr(open_spiel, "GAMES", {"paths": paths})
    assert open_spiel.register() == []
