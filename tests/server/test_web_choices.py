"""What a person can pick next, and why something else cannot: by the engines alone."""

from __future__ import annotations

import random
from itertools import islice
from typing import Any

import pytest

from getstep_engines import GAMES, IllegalMove, State
from getstep_server.web.choices import choices, move_of, parse_picked


def completed(state: State, form: Any, dice: random.Random) -> Any:
    """Return a move that is picked part by part, at random."""
    picked: list[Any] = []
    while True:
        found = choices(state, form, picked)
        following = [*found.squares, *found.words]
        if found.complete and (not following or dice.random() < 0.5):
            return move_of(form, picked)
        picked.append(dice.choice(following))


@pytest.mark.parametrize("name", GAMES)
def test_all_that_lights_up_leads_to_a_legal_move(name: str) -> None:
    game, dice = GAMES[name], random.Random(name)
    state = game.start()
    for _ in range(40):
        if state.outcome is not None:
            break
        move = completed(state, game.move_form, dice)
        assert state.is_legal(move)
        state.play(move)


@pytest.mark.parametrize("name", GAMES)
def test_each_legal_move_can_be_picked(name: str) -> None:
    game = GAMES[name]
    state = game.start()
    for move in islice(state.legal_moves(), 60):
        parts = move if game.move_form.parts == ("path",) else [move] if len(game.move_form.parts) == 1 else move
        for count, part in enumerate(parts):
            found = choices(state, game.move_form, list(parts)[:count])
            assert part in (*found.squares, *found.words)
        assert choices(state, game.move_form, list(parts)).complete


@pytest.mark.parametrize(
    ("name", "moves", "picked", "why"),
    [
        ("hop", [], [(0, 1)], r"^\(0, 1\) is not one of Black's pieces; a move starts at one of them$"),
        ("hop", [], [(2, 2), (5, 5)], r"\(2, 2\)"),
        ("pseudo_tonga", [(0, 0)], [(0, 0)], r"\(0, 0\)"),
        ("longest_path", [(0, 0)], [(0, 0)], r"\(0, 0\)"),
        ("linkage", [("R", (2, 2), (2, 3))], ["B", (2, 2)], r"^\(2, 2\) is already covered"),
        ("linkage", [("R", (2, 2), (2, 3))], ["B", (1, 2)], r"^\(1, 2\) touches the domino that More placed"),
        ("linkage", [], ["B", (3, 3)], r"^\(3, 3\) is the blocked centre"),
        ("linkage", [], ["B", (0, 0), (4, 4)], "not orthogonally adjacent"),
        ("linkage", [], ["X"], "the colour is 'X'"),
    ],
)
def test_the_engine_says_why_something_cannot_be_picked(
    name: str, moves: list[Any], picked: list[Any], why: str
) -> None:
    state = GAMES[name].start()
    for move in moves:
        state.play(move)
    with pytest.raises(IllegalMove, match=why):
        choices(state, GAMES[name].move_form, picked)


def test_a_domino_can_be_picked_from_either_end() -> None:
    game = GAMES["linkage"]
    state = game.start()
    assert (0, 0) in choices(state, game.move_form, ["R", (0, 1)]).squares
    assert (0, 1) in choices(state, game.move_form, ["R", (0, 0)]).squares


@pytest.mark.parametrize("value", [{}, "R", [1], [[1, 2, 3]], [[True, 1]], [["a", 1]], [[0, 0]] * 101, ["x" * 65]])
def test_nonsense_is_refused(value: object) -> None:
    with pytest.raises(IllegalMove):
        parse_picked(value)
