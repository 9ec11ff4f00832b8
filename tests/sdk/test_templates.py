"""The bots that ``getstep new`` writes play whole games against each engine."""

from __future__ import annotations

import ast
import sys
from importlib import resources
from pathlib import Path
from random import Random, seed

import pytest

from getstep._bot import load
from getstep._games import GAMES as INFOS
from getstep._games import start_board
from getstep._turn import Turn
from getstep.wire import Connection, Role, State, Step
from getstep_engines import GAMES

TEMPLATES = Path(str(resources.files("getstep"))) / "_templates"


def test_there_is_one_for_each_game() -> None:
    assert {path.stem for path in TEMPLATES.glob("*.py")} == set(GAMES) == set(INFOS)


@pytest.mark.parametrize("name", GAMES)
def test_it_needs_nothing_but_the_standard_library_and_getstep(name: str) -> None:
    tree = ast.parse((TEMPLATES / f"{name}.py").read_text(encoding="utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom))]
    names = {alias.name for node in imports if isinstance(node, ast.Import) for alias in node.names}
    assert all(isinstance(node, ast.Import) for node in imports)
    assert names <= {"getstep"} | sys.stdlib_module_names


@pytest.mark.parametrize("name", GAMES)
def test_the_first_board_is_the_games_own(name: str) -> None:
    game = GAMES[name]
    assert start_board(name, {}) == game.start().board()
    for option in game.options.values():
        for value in range(option.lowest, option.highest + 1, option.step):
            assert start_board(name, {option.name: value}) == game.start(**{option.name: value}).board()


def test_no_board_for_a_game_or_size_that_cannot_be() -> None:
    assert start_board("a new game", {}) is None
    assert start_board("pseudo_tonga", {"size": 2**31 - 1}) is None
    assert start_board("pseudo_tonga", {"size": -4}) is None


def as_sent(move: object) -> object:
    """What the server gets of a move."""
    client, server = Connection(Role.CLIENT), Connection(Role.SERVER)
    for end in (client, server):
        end.state, end.question = State.TURN, 1
    server.receive_data(client.send(Step(id=1, move=move)))
    step = server.next_event()
    assert isinstance(step, Step)
    return step.move


@pytest.mark.parametrize("template_is_black", [True, False, None], ids=["black", "white", "both"])
@pytest.mark.parametrize("name", GAMES)
def test_it_makes_legal_moves_through_whole_games(name: str, template_is_black: bool | None) -> None:
    callback = load(TEMPLATES / f"{name}.py")
    dice = Random(f"{name} {template_is_black}")
    seed(f"{name} {template_is_black}")
    for _ in range(3):
        state = GAMES[name].start()
        while state.outcome is None:
            is_black = state.to_move == 0
            if template_is_black in (is_black, None):
                turn = Turn(name, 1, 1, "opponent", None, 5000)
                thought = callback.think(state.board(), is_black, turn)
                assert not thought.complaint
                state.play(as_sent(thought.move))  # IllegalMove would fail the test
            else:
                state.play(dice.choice(list(state.legal_moves())))
        assert state.outcome.scores is not None


def test_pseudo_tonga_on_every_size() -> None:
    callback = load(TEMPLATES / "pseudo_tonga.py")
    for size in (6, 10, 16):
        state = GAMES["pseudo_tonga"].start(size=size)
        while state.outcome is None:
            turn = Turn("pseudo_tonga", 1, 1, "opponent", None, 5000, {"size": size})
            state.play(callback.think(state.board(), state.to_move == 0, turn).move)
