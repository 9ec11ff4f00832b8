"""The PettingZoo environments: PettingZoo's own tests, and the same games as the engines play."""

from __future__ import annotations

import pickle
import re
import warnings
from pathlib import Path as File
from random import Random

import numpy as np
import pytest
from pettingzoo.test import api_test, parallel_api_test, seed_test
from pettingzoo.utils.conversions import aec_to_parallel, turn_based_aec_to_parallel

from getstep_engines import GAMES, Game, MoveForm, State
from getstep_training._actions import HOP_END, Path, actions_of
from getstep_training.pettingzoo import AGENTS, GetstepEnv, env

PAGE = File(__file__).parents[2] / "docs" / "training.md"
EVERY_GAME = pytest.mark.parametrize("game", GAMES)


@EVERY_GAME
def test_pettingzoo_accepts_the_environment(game: str) -> None:
    with warnings.catch_warnings():
        # It warns of observations that are no images and of spaces that it does not know; errors are assertions.
        warnings.simplefilter("ignore", UserWarning)
        api_test(env(game), num_cycles=300)


@EVERY_GAME
def test_pettingzoo_accepts_its_parallel_form(game: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # as above
        parallel_api_test(turn_based_aec_to_parallel(env(game)), num_cycles=100)


@EVERY_GAME
def test_a_game_in_parallel_form_is_the_game_of_the_environment(game: str) -> None:
    """In each step the action of the agent on turn is played, and that of the other one is ignored."""
    made, plain, dice = turn_based_aec_to_parallel(env(game)), GetstepEnv(game), Random(game)
    observations, _ = made.reset()
    plain.reset()
    rewards = {}
    while made.agents:
        agent = plain.agent_selection
        (acting,) = (each for each in made.agents if observations[each]["action_mask"].any())
        assert acting == agent
        action = int(dice.choice(np.flatnonzero(observations[agent]["action_mask"])))
        plain.step(action)
        observations, rewards, _, _, _ = made.step({each: action if each == agent else 0 for each in made.agents})
    assert all(plain.terminations.values())
    assert rewards == plain.rewards


def test_agents_do_not_act_at_the_same_time() -> None:
    with pytest.raises(AssertionError, match="is_parallelizable"):
        aec_to_parallel(env("hop"))


@EVERY_GAME
def test_the_same_seed_gives_the_same_game(game: str) -> None:
    seed_test(lambda: env(game), num_cycles=100)


@EVERY_GAME
def test_a_game_through_the_environment_is_the_game_of_the_engine(game: str) -> None:
    """Replay each completed move on an engine of its own, and compare boards, players and results."""
    for seed in range(3):
        dice = Random(seed)
        made = GetstepEnv(game)
        made.reset()
        state = GAMES[game].start()
        path: Path = ()
        actions = actions_of(GAMES[game], len(state.board()))
        while not state.outcome:
            agent = made.agent_selection
            assert agent == AGENTS[state.to_move]
            seen = made.observe(agent)
            legal = list(np.flatnonzero(seen["action_mask"]))
            assert legal == sorted(actions.legal(state, path))
            if not path:
                assert seen["observation"][..., 0].tolist() == state.board()
            action = int(dice.choice(legal))
            path, move = actions.choose(state, path, action)
            if move is not None:
                state.play(move)
            made.step(action)
        winner = state.outcome.winner
        expected = [0, 0] if winner is None else [1 - 2 * winner, 2 * winner - 1]
        assert [made.rewards[agent] for agent in AGENTS] == expected
        assert made.infos[AGENTS[0]]["scores"] == state.outcome.scores


@pytest.mark.parametrize("game", [name for name in GAMES if name != "hop"])
def test_each_legal_move_has_a_number_of_its_own(game: str) -> None:
    state = GAMES[game].start()
    actions = actions_of(GAMES[game], len(state.board()))
    dice = Random(game)
    while not state.outcome:
        moves = list(state.legal_moves())
        numbers = actions.legal(state, ())
        assert [actions.choose(state, (), number) for number in numbers] == [((), move) for move in moves]
        assert len(set(numbers)) == len(numbers)
        state.play(dice.choice(moves))


def hop_position() -> State:
    """Return a position in which Black's piece on (3, 1) can hop four times."""
    board = GAMES["hop"].start().board()
    for row, column, cell in [(3, 1, 1), (3, 2, 1), (2, 3, 2), (1, 4, 2), (2, 5, 2), (3, 3, 0), (3, 5, 0)]:
        board[row][column] = cell
    return GAMES["hop"].from_board(board, True)


def test_each_path_of_hop_can_be_chosen_hop_by_hop() -> None:
    state = hop_position()
    actions = actions_of(GAMES["hop"], 8)
    reached = set()
    open_paths: list[Path] = [()]
    while open_paths:
        path = open_paths.pop()
        for action in actions.legal(state, path):
            longer, move = actions.choose(state, path, action)
            if move is not None:
                reached.add(tuple(move))
            elif len(set(longer)) == len(longer):  # as legal_moves: a square at most once
                open_paths.append(longer)
    moves = {tuple(move) for move in state.legal_moves()}
    assert [(3, 1), (3, 3), (1, 3), (1, 5), (3, 5)] in list(state.legal_moves())
    assert moves <= reached
    assert all(state.is_legal(list(move)) for move in reached)


def test_an_unfinished_move_of_hop_is_seen_and_can_be_ended() -> None:
    made = GetstepEnv("hop")
    made.reset()
    made._state = hop_position()
    made._begin_turn()
    made.step(8 * (8 * 3 + 1) + 6)  # (3, 1) hops right
    assert made.agent_selection == "player_0"
    seen = made.observe("player_0")
    assert np.argwhere(seen["observation"][..., 2]).tolist() == [[3, 3]]
    assert seen["observation"][3, [1, 2, 3], 0].tolist() == [0, 1, 1]
    assert seen["action_mask"][HOP_END] == 1
    assert made.observe("player_1")["action_mask"].sum() == 0
    made.step(HOP_END)
    assert made.agent_selection == "player_1"
    assert not made.observe("player_1")["observation"][..., 2].any()


def test_an_action_outside_the_mask_is_a_fault() -> None:
    skipped = env("hop")
    skipped.reset()
    skipped.step(0)  # a step up from (0, 0)
    assert skipped.agent_selection == "player_1"
    assert not any(skipped.terminations.values())
    lost = env("linkage")
    lost.reset()
    lost.step(3 * 6 + 2)  # a domino on the blocked centre
    assert lost.terminations == {"player_0": True, "player_1": True}
    assert lost.rewards == {"player_0": -1.0, "player_1": 1.0}
    assert lost.infos["player_0"]["reason"] == "More made a fault"


def test_an_environment_can_be_pickled_and_takes_the_options_of_the_game() -> None:
    made = pickle.loads(pickle.dumps(GetstepEnv("pseudo_tonga", size=6)))
    made.reset()
    assert made.observe("player_0")["observation"].shape == (6, 6, 3)
    assert made.action_space("player_0").n == 36


def test_the_board_is_rendered_as_text_only() -> None:
    made = env("longest_path", render_mode="ansi")
    made.reset()
    assert made.render() == str(GAMES["longest_path"].start())
    with pytest.raises(ValueError, match="render_mode is 'human'"):
        env("longest_path", render_mode="human")


def of_form(form: MoveForm) -> Game:
    game = GAMES["longest_path"]
    return Game("checkers", game.title, game.players, game.time_control, "none", game._start, game._from_board,
                move_form=form)  # fmt: skip


def test_a_game_from_outside_is_numbered_by_the_form_of_its_moves() -> None:
    actions = actions_of(of_form(MoveForm("(word, square, square)", (("a", "b"), "square", "square"))), 3)
    assert actions.count == 2 * 9 * 9
    assert actions.choose(GAMES["hop"].start(), (), 81 + 9 + 2) == ((), ("b", (0, 1), (0, 2)))
    with pytest.raises(ValueError, match="checkers: the moves have no numbers"):
        actions_of(of_form(MoveForm("a path", ("path",))), 8)


@pytest.mark.parametrize("number", [0, 1])
def test_the_programs_in_the_docs_play_a_game(number: int) -> None:
    program = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)[number]
    names: dict[str, GetstepEnv] = {}
    exec(program, names)
    assert names["game"].agents == []
