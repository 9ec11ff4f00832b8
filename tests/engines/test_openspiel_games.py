"""Games of OpenSpiel as games of ours: they pass the checks of all games, and OpenSpiel alone has the rules."""

from __future__ import annotations

import sys
from functools import lru_cache, partial
from pathlib import Path
from random import Random
from typing import Any

import pytest

from getstep.games import named_move, read_move
from getstep.llm.player import position_text, read_answer
from getstep.turn import Turn
from getstep_bots import greedy
from getstep_conformance import games as checks
from getstep_conformance.games import CHECKS
from getstep_engines import GAMES, OPENSPIEL, Game, IllegalMove, UnknownGameError, openspiel
from getstep_server.reports.notation import move_text
from getstep_server.web.choices import choices
from getstep_training.batch import batch_of
from getstep_training.turns import RecordedGame, TurnFiles

pyspiel = pytest.importorskip("pyspiel", reason="the extra `open_spiel` is not installed")

OFFERED = [
    *("amazons", "antichess", "breakthrough", "checkers", "chess", "chinese_checkers", "clobber", "connect_four"),
    *("crazyhouse", "cursor_go", "dots_and_boxes", "go", "gomoku", "havannah", "hex", "hive", "lines_of_action"),
    *(
        "mancala",
        "mnk",
        "nim",
        "nine_mens_morris",
        "othello",
        "oware",
        "pentago",
        "quoridor",
        "shogi",
        "tic_tac_toe",
    ),
    *("twixt", "ultimate_tic_tac_toe", "xiangqi", "y"),
]
"""Of OpenSpiel 2.0; a later one may have more."""


def game(name: str) -> Game:
    return GAMES[OPENSPIEL + name]


# --- which games --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", OFFERED)
def test_a_game_for_two_in_turns_is_a_game_of_ours(name: str) -> None:
    found, dice = game(name), Random(name)
    state = found.start()
    spiel, steps = state.spiel.clone(), 0  # type: ignore[attr-defined]  # of OpenSpielState
    while state.outcome is None and steps < 40:
        legal = {spiel.action_to_string(action): action for action in spiel.legal_actions()}
        assert list(state.legal_moves()) == list(legal)
        move = dice.choice([*legal])
        spiel.apply_action(legal[move])
        state.play(move)
        steps += 1
    assert (state.outcome is not None) == spiel.is_terminal()
    again = found.from_board(state.board(), state.to_move == 0)
    assert again.board() == state.board()
    assert str(again.spiel) == str(spiel)  # type: ignore[attr-defined]  # as above


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("backgammon", "backgammon: it has chance; expected a game for two players in turns"),
        ("phantom_ttt", "phantom_ttt: it has hidden information; expected"),
        ("goofspiel", "goofspiel: its players do not act in turns; expected"),
        ("pathfinding", "pathfinding: its players do not act in turns; expected"),
        ("misere", "misere: "),
        ("no_such_game", "OpenSpiel has no game 'no_such_game'"),
        ("getstep_hop", "OpenSpiel has no game 'getstep_hop'"),
        ("", "OpenSpiel has no game ''"),
    ],
)
def test_any_other_game_is_refused_with_the_reason(name: str, reason: str) -> None:
    with pytest.raises(UnknownGameError) as refusal:
        game(name)
    assert str(refusal.value).startswith(f"unknown game 'openspiel_{name}': {reason}")


def test_each_game_is_offered_or_refused() -> None:
    for kind in pyspiel.registered_games():
        if kind.short_name not in OFFERED:
            with pytest.raises(UnknownGameError):
                game(kind.short_name)


def test_they_are_not_listed_but_can_be_asked_for() -> None:
    assert "openspiel_chess" in GAMES
    assert "openspiel_chess" not in list(GAMES)


def test_without_openspiel_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspiel", None)
    monkeypatch.setattr(openspiel, "openspiel_game", openspiel.openspiel_game.__wrapped__)
    with pytest.raises(UnknownGameError, match=r"install 'getstep-engines\[open_spiel\]'"):
        game("chess")


# --- the interface ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_a_small_game_passes_the_checks(check: Any) -> None:
    check(game("tic_tac_toe"))


@pytest.mark.long
@pytest.mark.parametrize(
    "name", ["breakthrough", "chess", "clobber", "connect_four", "dots_and_boxes", "nim", "oware"]
)
def test_large_ones_do_as_well(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "GAMES_EACH", 1)
    monkeypatch.setattr(checks, "_playout", lru_cache(maxsize=256)(checks._playout.__wrapped__))
    for check in CHECKS:
        check(game(name))


def test_the_player_who_moves_first_is_player_0() -> None:
    """White is OpenSpiel's player 1 in chess."""
    state = game("chess").start()
    assert state.spiel.current_player() == 1  # type: ignore[attr-defined]  # of OpenSpielState
    assert state.to_move == 0
    for move in ("f3", "e5", "g4", "Qh4#"):
        state.play(move)
    assert state.outcome is not None
    assert (state.outcome.winner, state.outcome.scores, state.outcome.reason) == (1, (-1, 1), "Player 1 wins")
    assert state.estimate() == -1


def test_a_player_who_acts_again_does_so_at_once() -> None:
    state = game("dots_and_boxes").start(num_rows=1, num_cols=2)
    turns = []
    while state.outcome is None:
        turns.append((state.to_move, state.passed))
        state.play(next(state.legal_moves()))
    assert (0, (1,)) in turns or (1, (0,)) in turns
    assert all(passed in ((), (1 - player,)) for player, passed in turns)


def test_options_are_the_parameters_of_openspiel() -> None:
    state = game("breakthrough").start(rows=6, columns=5)
    assert str(state).splitlines()[0] == "6bbbbb"
    with pytest.raises(ValueError, match="rows is 99; expected a whole number from 4 to 12"):
        game("breakthrough").start(rows=99)


def test_a_game_without_an_end_is_a_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openspiel, "MOST_ACTIONS", 3)
    state = game("connect_four").start()
    for move in ("x0", "o0", "x1"):
        assert state.outcome is None
        state.play(move)
    assert state.outcome is not None
    assert (state.outcome.winner, state.outcome.reason) == (None, "no end after 3 moves")


@pytest.mark.parametrize("move", ["x7", "o3", "X3", "3", 3, ["x3"], None])
def test_only_the_text_of_a_legal_action_is_a_move(move: Any) -> None:
    state = game("connect_four").start()
    with pytest.raises(IllegalMove, match="is not one of the moves x0, x1, x2, x3, x4, x5, x6"):
        state.play(move)
    assert state.board() == game("connect_four").start().board()


def test_a_board_that_no_game_has_is_refused() -> None:
    connect_four = game("connect_four")
    state = connect_four.start()
    state.play("x3")
    board = state.board()
    assert [cell for row in board for cell in row if cell < 0] == [-7, -8, -5, -4]  # 6 rows, 7 columns, 4, action 3
    other = [list(row) for row in board]
    other[0][0] = ord("x")
    illegal = [[cell if cell != -4 else -8 for cell in row] for row in board]
    for wrong, says in (
        (other, "the board is not the one after its actions"),
        (illegal, "the board has an action that is not legal: 7 is not one of the legal actions"),
        ([[0] * 7] * 13, "the board has 0 numbers"),
        ([[-1] * 128] * 128, "the board has 16384 numbers"),
        (board[1:], "the board is not the one after its actions"),
    ):
        with pytest.raises(ValueError, match=says):
            connect_four.from_board(wrong, False)
    with pytest.raises(ValueError, match="it is the turn of Player 1"):
        connect_four.from_board(board, True)


# --- what people and programs see -------------------------------------------------------------------------------


def test_the_pieces_of_the_players_are_told_from_random_games() -> None:
    def owners(name: str) -> dict[str, int]:
        return {piece.text: piece.player for piece in game(name).look.pieces.values() if piece.player is not None}

    assert owners("connect_four") == owners("othello") == {"x": 0, "o": 1}
    assert owners("go") == {"X": 0, "O": 1}
    assert owners("checkers") == {"o": 0, "+": 1, "*": 1}
    assert owners("breakthrough") == {"b": 0, "w": 1}
    assert owners("chess") == {**dict.fromkeys("KQRBNP", 0), **dict.fromkeys("kqrbnp", 1)}
    assert owners("mancala") == {}


def test_a_position_of_chess_is_shown_on_squares() -> None:
    state = game("chess").start()
    state.play("e4")
    assert str(state).splitlines()[3:5] == ["........", "....P..."]
    assert [len(row) for row in game("chess").view(state)] == [8] * 8


def test_people_pick_the_text_of_a_move() -> None:
    connect_four = game("connect_four")
    state = connect_four.start()
    assert choices(state, connect_four.move_form, []).words == tuple(state.legal_moves())
    assert choices(state, connect_four.move_form, ["x3"]).complete
    with pytest.raises(IllegalMove, match="'x9' is not one of the moves"):
        choices(state, connect_four.move_form, ["x9"])
    assert named_move(connect_four, state, "x3") == read_move(connect_four, "x3") == "x3"


def test_a_record_shows_a_move_as_text_and_anything_else_as_json() -> None:
    amazons = game("amazons")
    move = next(amazons.start().legal_moves())
    assert move == "X From (7, 1)"
    assert move_text(move, amazons) == move
    assert move_text([7, "1"], amazons) == '[7,"1"]'


def test_a_language_model_gets_the_board_as_text_and_the_legal_moves() -> None:
    connect_four = game("connect_four")
    state = connect_four.start()
    asked = position_text(connect_four, state, Turn("openspiel_connect_four", 1, 1, "x", None, 5000))
    assert f"The board:\n{state}\nThe legal moves: x0; x1; x2; x3; x4; x5; x6.\n" in asked
    assert read_answer(connect_four, state, "The middle.\nmove: x3") == ("x3", "")
    assert read_answer(connect_four, state, "move: 3")[1].startswith("illegal: '3' is not one of the moves x0")


def test_the_greedy_bot_wins_in_one_move() -> None:
    """Boards of OpenSpiel say whose turn it is, so the bot cannot ask what the opponent would like."""
    state = game("connect_four").start()
    for move in ("x0", "o1", "x0", "o1", "x0", "o2"):
        state.play(move)
    turn = Turn("openspiel_connect_four", 1, 7, "x", None, 5000)
    assert greedy.get_step(state.board(), True, turn) == "x0"


def test_learning_programs_are_told_that_the_moves_have_no_numbers(tmp_path: Path) -> None:
    played = RecordedGame(1, 1, 1, (1, 2), None, [])
    with TurnFiles(tmp_path, "npz") as files:
        for ask in (partial(batch_of, "openspiel_nim", 2), partial(files.add, "openspiel_nim", {}, played)):
            with pytest.raises(ValueError, match=r"openspiel_nim: the (moves have no numbers|board is 3×12)"):
                ask()


def test_estimates_prefer_a_position_that_is_won() -> None:
    state = game("connect_four").start()
    for move in ("x2", "o2", "x3", "o3", "x4"):  # three in a row with two open ends
        state.play(move)
    assert state.estimate() == state.copy().estimate() > 0
