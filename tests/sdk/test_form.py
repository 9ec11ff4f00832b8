"""The form of a first move: every legal one has it, and what has not is illegal."""

from __future__ import annotations

from typing import Any

import pytest

from getstep._form import misfit
from getstep._games import GAMES as INFOS
from getstep._games import start_board
from getstep_engines import GAMES


def as_wire(move: Any) -> Any:
    return [as_wire(item) for item in move] if isinstance(move, (list, tuple)) else move


def wrong(game: str, move: Any) -> str:
    board = start_board(game, {})
    assert board is not None
    return misfit(game, board, move)


@pytest.mark.parametrize("name", INFOS)
def test_every_legal_first_move_has_it(name: str) -> None:
    for move in GAMES[name].start().legal_moves():
        assert wrong(name, as_wire(move)) == ""


SQUARES: list[Any] = [7, "e4", None, [], [3], [3, 4, 5], [3.0, 4.0], [True, 1], ["3", "4"], [-1, 0], [0, 99], {}]
MISFITS: list[tuple[str, Any, str]] = [
    *((game, square, "") for game in ("longest_path", "chain_reaction", "pseudo_tonga") for square in SQUARES),
    *(("hop", [[2, 2], square], "") for square in SQUARES),
    *(("hop", [square, [2, 3]], "") for square in SQUARES),
    *(("hop", [[2, 2], [2, 3], square], "") for square in SQUARES),
    *(("linkage", ["R", [0, 0], square], "") for square in SQUARES),
    ("pseudo_tonga", [8, 0], "(8, 0) is not on the board of 8 rows and 8 columns"),
    ("longest_path", [[3, 4]], "[[3, 4]] is no square, expected two ints: (row, column)"),
    ("hop", 5, "5 is no list of at least two squares"),
    ("hop", [[2, 2]], "[[2, 2]] is no list of at least two squares"),
    ("hop", [0, 0], "0 is no square, expected two ints: (row, column)"),
    ("hop", [[0, 1], [0, 2]], "there is no piece of the first player on (0, 1)"),
    ("hop", [[1, 7], [1, 6]], "there is no piece of the first player on (1, 7)"),
    ("hop", [[0, 0], [2, 0]], "(2, 0) is not empty"),
    ("linkage", "R00", "'R00' is not a colour and two squares"),
    ("linkage", ["R", [0, 0]], "['R', [0, 0]] is not a colour and two squares"),
    ("linkage", ["r", [0, 0], [0, 1]], "'r' is no colour, expected one of R B G Y"),
    ("linkage", [[], [0, 0], [0, 1]], "[] is no colour, expected one of R B G Y"),
    ("linkage", ["R", [0, 0], [0, 0]], "the squares (0, 0) and (0, 0) are not side by side"),
    ("linkage", ["R", [0, 0], [1, 1]], "the squares (0, 0) and (1, 1) are not side by side"),
    ("linkage", ["R", [3, 2], [3, 3]], "(3, 3) is not empty"),
]


@pytest.mark.parametrize(("game", "move", "says"), MISFITS)
def test_what_has_it_not_is_illegal(game: str, move: Any, says: str) -> None:
    assert not GAMES[game].start().is_legal(move)
    told = wrong(game, move)
    assert told == says if says else told


def test_nothing_is_known_of_a_new_game() -> None:
    assert misfit("go", [[0]], "anything") == ""
