"""The analysis of a game: exact near the end, with intervals before, and the planted blunder comes first."""

from __future__ import annotations

import time
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from getstep_bots.analysis import (
    Interval,
    JudgedMove,
    OutOfTimeError,
    TurnKind,
    judge,
    prove,
    solve,
    turning_points,
)
from getstep_bots.mcts import moves_run_out
from getstep_engines import GAMES, State

LATER = 3600.0


def random_game(name: str, seed: object, **options: int) -> list[tuple[State, Any]]:
    """Return the positions of a random game, each with the move that follows."""
    dice, state = Random(f"{name} {seed}"), GAMES[name].start(**options)
    played: list[tuple[State, Any]] = []
    while state.outcome is None:
        move = dice.choice(list(state.legal_moves()))
        played.append((state.copy(), move))
        state.play(move)
    return played


def after(state: State, move: Any) -> State:
    later = state.copy()
    later.play(move)
    return later


def minimax(state: State, player: int) -> int:
    """The result for a player, by the definition: without pruning and without an order."""
    if state.outcome is not None:
        return 0 if state.outcome.winner is None else 1 if state.outcome.winner == player else -1
    results = [minimax(after(state, move), player) for move in state.legal_moves()]
    return max(results) if state.to_move == player else min(results)


@pytest.mark.parametrize("name", [name for name in GAMES if moves_run_out(name)])
@pytest.mark.parametrize("search", [solve, prove])
def test_near_the_end_the_value_is_that_of_the_whole_tree(name: str, search: Callable[..., Any]) -> None:
    for seed in range(4):
        for state, _ in random_game(name, seed)[-4:]:
            value, line = search(state, time.perf_counter() + LATER)
            assert value == minimax(state, state.to_move)
            for move in line:
                assert state.is_legal(move)
                state.play(move)
            assert state.outcome is not None


def wins_at_once(state: State) -> bool:
    return any(after(state, move).outcome is not None for move in state.legal_moves())


def test_wins_and_losses_are_proven_in_a_game_without_an_end_in_sight() -> None:
    found = set()
    for seed in range(30):
        for state, _ in random_game("chain_reaction", seed)[-2:]:
            if wins_at_once(state):
                value, line = prove(state, time.perf_counter() + LATER)
                assert (value, len(line)) == (1, 1)
            elif all(wins_at_once(after(state, move)) for move in state.legal_moves()):
                value, line = prove(state, time.perf_counter() + LATER)
                assert (value, len(line)) == (-1, 2)
            else:
                continue
            found.add(value)
    assert found == {1, -1}


@pytest.mark.parametrize("name", ["linkage", "longest_path", "pseudo_tonga"])
def test_positions_have_the_same_key_only_if_the_same_game_can_follow(name: str) -> None:
    keys: dict[Any, tuple[Any, ...]] = {}
    for seed in range(20):
        for state, _ in random_game(name, seed)[-3:]:
            follows = (state.board(), state.to_move, list(state.legal_moves()))
            assert keys.setdefault(state.key(), follows) == follows
    state = GAMES[name].start()
    moves = [move for state, move in random_game(name, 1) if state.to_move == 0][:2]
    assert after(state, moves[0]).key() != after(state, moves[1]).key()


def test_a_search_that_takes_too_long_is_given_up() -> None:
    with pytest.raises(OutOfTimeError):
        solve(GAMES["linkage"].start(), time.perf_counter())


def planted(name: str, seed: int) -> tuple[list[tuple[Any, Any]], int]:
    """Return a random game with a blunder near its end, a win that becomes a loss, and the number of its turn."""
    played = random_game(name, seed)
    for number in range(len(played) - 4, len(played)):
        state, _ = played[number]
        values = {move: minimax(after(state, move), state.to_move) for move in state.legal_moves()}
        losing = [move for move, value in values.items() if value == -1]
        if losing and max(values.values()) == 1:
            state = after(state, losing[0])
            rest = []
            while state.outcome is None:
                rest.append(next(iter(state.legal_moves())))
                state.play(rest[-1])
            return [
                *(("move", move) for _, move in played[:number]),
                ("move", losing[0]),
                *(("move", m) for m in rest),
            ], (number + 1)
    return [], 0


@pytest.mark.long
def test_a_blunder_near_the_end_is_exact_and_comes_first() -> None:
    turns, number = next(found for found in (planted("linkage", seed) for seed in range(100)) if found[1])
    moves = judge(GAMES["linkage"], {}, turns, seconds=10.0, seed=1)
    assert [move.number for move in moves] == list(range(1, len(turns) + 1))
    blunder = moves[number - 1]
    assert (blunder.played_value, blunder.best_value) == (Interval(-1, -1, -1), Interval(1, 1, 1))
    assert blunder.given_away == Interval(2, 2, 2)
    assert blunder.sure
    assert turning_points(moves)[0].given_away == blunder.given_away
    assert blunder in turning_points(moves)


def test_a_fault_is_part_of_the_game_and_not_judged() -> None:
    state = GAMES["hop"].start()
    turns: list[tuple[TurnKind, Any]] = []
    for kind in ("move", "fault", "move"):
        move = next(state.legal_moves()) if kind == "move" else None
        turns.append(("move", move) if kind == "move" else ("fault", None))
        state.fault() if move is None else state.play(move)
    moves = judge(GAMES["hop"], {}, turns, seconds=0.5)
    assert [move.number for move in judge(GAMES["hop"], {}, turns, seconds=0.1, only=[3])] == [3]
    assert [move.number for move in moves] == [1, 3]
    assert all(
        -1 <= move.played_value.low <= move.played_value.value <= move.played_value.high <= 1 for move in moves
    )
    assert all(move.line[0] == move.best for move in moves)


def test_a_move_that_the_rules_do_not_allow_is_named() -> None:
    with pytest.raises(ValueError, match=r"move 2: pseudo_tonga does not allow it \(\(0, 0\)\)"):
        judge(GAMES["pseudo_tonga"], {}, [("move", (0, 0)), ("move", (0, 0))], seconds=1.0)


def test_progress_is_told_to_the_end() -> None:
    told: list[tuple[int, int]] = []
    judge(GAMES["linkage"], {}, [], on_move=lambda done, of: told.append((done, of)))
    assert told == []
    judge(
        GAMES["pseudo_tonga"],
        {"size": 6},
        [("move", (0, 0))],
        seconds=0.1,
        on_move=lambda done, of: told.append((done, of)),
    )
    assert told == [(0, 2), (1, 2)]


def judged(number: int, played: Interval, best: Interval, move: object = "a") -> JudgedMove:
    return JudgedMove(number, 0, move, "b", ("b",), played, best)


def test_what_is_given_away_has_an_interval_of_both_values() -> None:
    away = judged(1, Interval(0.0, -0.3, 0.3), Interval(0.5, 0.1, 0.9)).given_away
    assert (away.value, away.low, away.high) == (0.5, 0.0, 1.0)
    assert not judged(1, Interval(0.0, -0.3, 0.3), Interval(0.5, 0.1, 0.9)).sure
    assert judged(1, Interval(0.0, -0.3, 0.3), Interval(0.6, 0.2, 1.0)).sure
    assert (
        judged(1, Interval(0.9, 0.8, 1.0), Interval(0.5, 0.4, 0.6)).given_away.value == 0
    )  # luck, not an advantage
    the_same = judged(1, Interval(0.0, -0.3, 0.3), Interval(0.5, 0.1, 0.9), move="b")
    assert the_same.given_away == Interval(0, 0, 0)


def test_moves_that_are_sure_come_first() -> None:
    lucky = judged(1, Interval(0.0, -0.9, 0.9), Interval(0.9, 0.0, 1.0))
    sure = judged(2, Interval(0.0, -0.1, 0.1), Interval(0.5, 0.4, 0.6))
    nothing = judged(3, Interval(0.5, 0.5, 0.5), Interval(0.5, 0.5, 0.5))
    assert turning_points([nothing, lucky, sure]) == [sure, lucky]
