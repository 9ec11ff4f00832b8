"""The bots that ``getstep new`` writes play whole games against each engine, and what the client says of a game."""

from __future__ import annotations

import ast
import dataclasses
import sys
from pathlib import Path
from random import Random, seed

import pytest

from getstep._bot import load
from getstep.games import first_move_error, move_text, start_board
from getstep.starter import one_game
from getstep.turn import Callback, Turn
from getstep.wire import Connection, Role, State, Step
from getstep_engines import GAMES, Starter

EVERY_GAME = pytest.mark.parametrize("name", GAMES)


@pytest.fixture
def bot(name: str, tmp_path: Path) -> Callback:
    path = tmp_path / f"{name}_bot.py"
    path.write_text(one_game(GAMES[name]), encoding="utf-8")
    return load(path)


@EVERY_GAME
def test_it_needs_nothing_but_the_standard_library_and_getstep(name: str) -> None:
    imports = [node for node in ast.walk(ast.parse(one_game(GAMES[name]))) if isinstance(node, ast.ImportFrom)]
    assert {node.module for node in imports} == {"getstep_engines"}
    imports_alone = [node for node in ast.walk(ast.parse(one_game(GAMES[name]))) if isinstance(node, ast.Import)]
    names = {alias.name for node in imports_alone for alias in node.names}
    assert names <= {"getstep"} | sys.stdlib_module_names


@EVERY_GAME
def test_it_explains_the_game(name: str) -> None:
    game, source = GAMES[name], one_game(GAMES[name])
    words = source.split()
    for text in (game.starter.goal, move_text(name), game.starter.board, *game.starter.hints):
        assert text
        assert " ".join(text.split()) in " ".join(words)
    assert max(map(len, source.splitlines())) <= 116
    assert "$" not in source


def test_a_game_without_comments_has_a_starter_all_the_same() -> None:
    source = one_game(dataclasses.replace(GAMES["hop"], starter=Starter("", "")))
    assert "board[row][column] is as the rules say." in source
    ast.parse(source)


@EVERY_GAME
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
    assert start_board("hop", {"size": 8}) is None


def test_a_game_that_is_not_installed_has_no_wrong_move() -> None:
    assert first_move_error("go", {}, "anything") == ""
    assert move_text("go") == "as the contest's rules say"


@EVERY_GAME
def test_a_move_is_shown_with_a_legal_example(name: str) -> None:
    form, _, example = move_text(name).partition(", for example ")
    assert form == GAMES[name].move_form.text
    assert first_move_error(name, {}, ast.literal_eval(example)) == ""
    assert first_move_error(name, {}, [99, 99]) != ""


def as_sent(move: object) -> object:
    """What the server gets of a move."""
    client, server = Connection(Role.CLIENT), Connection(Role.SERVER)
    for end in (client, server):
        end.state, end.question = State.TURN, 1
    server.receive_data(client.send(Step(id=1, move=move)))
    step = server.next_event()
    assert isinstance(step, Step)
    return step.move


@pytest.mark.parametrize("bot_is_black", [True, False, None], ids=["black", "white", "both"])
@EVERY_GAME
def test_it_makes_legal_moves_through_whole_games(name: str, bot: Callback, bot_is_black: bool | None) -> None:
    dice = Random(f"{name} {bot_is_black}")
    seed(f"{name} {bot_is_black}")
    state = GAMES[name].start()
    while state.outcome is None:
        is_black = state.to_move == 0
        if bot_is_black in (is_black, None):
            turn = Turn(name, 1, 1, "opponent", None, 5000)
            thought = bot.call(state.board(), is_black, turn)
            assert not thought.problem
            state.play(as_sent(thought.move))  # IllegalMove would fail the test
        else:
            state.play(dice.choice(list(state.legal_moves())))


@pytest.mark.parametrize("name", ["pseudo_tonga"])
def test_it_plays_on_every_size(name: str, bot: Callback) -> None:
    for size in (6, 10, 16):
        state = GAMES[name].start(size=size)
        while state.outcome is None:
            turn = Turn(name, 1, 1, "opponent", None, 5000, {"size": size})
            state.play(bot.call(state.board(), state.to_move == 0, turn).move)
