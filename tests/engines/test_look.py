"""Properties of the look of every game: it is drawn from data alone, and a trace ends where the move ends."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import chain, combinations
from random import Random
from typing import Any

import pytest

from getstep_engines import GAMES, Game, IllegalMove, Look, Piece, State, Step, look_json, trace_json
from getstep_engines.look import (
    DEFAULT_LOOK,
    MOST_STEPS,
    PALETTE,
    SHAPES,
    THEMES,
    Colour,
    Paint,
    coordinates,
    make_step,
)

EVERY_GAME = pytest.mark.parametrize("name", GAMES)
LARGEST_LOOK = 8_000
"""Bytes of a look as JSON. It is in every page and every replay, once for each game."""

# --- random games -----------------------------------------------------------------------------------------------


@cache
def positions(name: str, seed: int) -> tuple[tuple[State, Any], ...]:
    """Return the states of a random game, each with the move that was played in it. Nobody may play on them."""
    dice, state, found = Random(f"{name} {seed}"), GAMES[name].start(), []
    while state.outcome is None:
        move = dice.choice(list(state.legal_moves()))
        found.append((state.copy(), move))
        state.play(move)
    return tuple(found)


def traces(name: str) -> Iterator[tuple[State, State, tuple[Step, ...]]]:
    """Yield each move of some random games: the state before and after it, and its trace."""
    for state, move in chain.from_iterable(positions(name, seed) for seed in range(3)):
        steps = GAMES[name].trace(state, move)
        after = state.copy()
        after.play(move)
        yield state, after, steps


def faults(name: str) -> Iterator[tuple[State, State, tuple[Step, ...]]]:
    for state, _ in positions(name, 0):
        after = state.copy()
        after.fault()
        yield state, after, GAMES[name].trace_fault(state)


def as_lists(board: Any) -> list[list[int]]:
    return [list(row) for row in board]


# --- pieces -----------------------------------------------------------------------------------------------------


@EVERY_GAME
def test_every_value_on_a_board_has_a_piece_or_is_empty(name: str) -> None:
    game = GAMES[name]
    boards = [game.view(game.start())]
    boards += [as_lists(step.board) for _, _, steps in traces(name) for step in steps]
    boards += [as_lists(step.board) for _, _, steps in faults(name) for step in steps]
    values = {value for board in boards for row in board for value in row}
    assert len(values) > 2
    assert values - {0} <= set(game.look.pieces)


@EVERY_GAME
def test_the_players_pieces_can_be_told_apart_without_colour(name: str) -> None:
    pieces = GAMES[name].look.pieces.values()
    owned = [{piece.shape for piece in pieces if piece.player == player} for player in (0, 1)]
    assert not owned[0] & owned[1], "a shape of its own for each player"
    seen = [(piece.shape, piece.label) for piece in pieces]
    assert len(set(seen)) == len(seen), "a shape and a label of its own for each value"


@EVERY_GAME
def test_plain_text_and_names_tell_the_values_apart(name: str) -> None:
    pieces = GAMES[name].look.pieces.values()
    assert len({piece.text for piece in pieces} | {"."}) == len(pieces) + 1
    assert len({piece.name for piece in pieces}) == len(pieces)


def test_a_value_without_a_piece_is_a_labelled_tile_and_0_is_empty() -> None:
    look = Look(pieces={})
    assert look.piece(0) is None
    assert look.piece(7) == Piece("value 7", "tile", label="7", text="7", colour="grey")
    assert look.piece(-123) == Piece("value -123", "tile", label="-1", text="-1", colour="grey")


def test_a_game_that_says_nothing_has_pieces_of_two_shapes() -> None:
    first, second, signed = (DEFAULT_LOOK.piece(value) for value in (1, 2, -3))
    assert first
    assert second
    assert signed
    assert (first.player, second.player, signed.player) == (0, 1, 1)
    assert first.shape != second.shape == signed.shape
    assert signed.label == "3"


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"shape": "heart"}, "shape is 'heart'"),
        ({"player": 2}, "player is 2"),
        ({"colour": "#ff0000"}, "colour is '#ff0000'"),
        ({"player": None}, "colour is None"),
        ({"label": "100"}, "label is '100'"),
        ({"text": ""}, "text is ''"),
        ({"text": "\x1b["}, "text is"),
        ({"name": "x" * 61}, "name is"),
    ],
)
def test_a_piece_of_another_form_is_refused(fields: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        Piece(**{"name": "stone", "shape": "disc", "player": 0, "text": "o", **fields})


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"colours": ("blue", "ultraviolet")}, "colour is 'ultraviolet'"),
        ({"score": "points {0}"}, "score is"),
        ({"measures": lambda _: (0, 0)}, "score is ''"),
        ({"pieces": {n: Piece(f"{n}", "tile", 0) for n in range(129)}}, "129 pieces"),
    ],
)
def test_a_look_of_another_form_is_refused(fields: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        Look(**fields)


# --- colours ----------------------------------------------------------------------------------------------------

Rgb = tuple[float, float, float]


def linear(colour: str) -> Rgb:
    """Linear light of ``#rrggbb``."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return red, green, blue


def contrast(one: str, other: str) -> float:
    """Return the contrast ratio of WCAG 2, from 1 to 21."""
    lights = [0.2126 * r + 0.7152 * g + 0.0722 * b for r, g, b in (linear(one), linear(other))]
    return (max(lights) + 0.05) / (min(lights) + 0.05)


# How people without one kind of cones see linear light: Machado, Oliveira and Fernandes 2009, severity 1.
SIGHT = {
    "all cones": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.01182, 0.04294, 0.968881),
    ),
    "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.3039)),
}


def lab(colour: str, sight: str) -> Rgb:
    """CIE L*a*b* of a colour as somebody with that sight sees it."""
    light = linear(colour)
    r, g, b = (
        min(1.0, max(0.0, sum(a * x for a, x in zip(row, light, strict=True)))) for row in SIGHT[sight]
    )  # fmt: skip
    x = (0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.95047
    y = 0.2126 * r + 0.7152 * g + 0.0722 * b
    z = (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.08883
    fx, fy, fz = (t ** (1 / 3) if t > 0.008856 else 7.787 * t + 16 / 116 for t in (x, y, z))
    return 116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)


def distance(one: str, other: str, sight: str) -> float:
    """CIE 1976 colour difference: 2 is just noticeable, black and white differ by 100."""
    return float(sum((a - b) ** 2 for a, b in zip(lab(one, sight), lab(other, sight), strict=True)) ** 0.5)


def paints(colour: Colour) -> dict[str, Paint]:
    return {"light": colour.light, "dark": colour.dark}


@pytest.mark.parametrize("colour", PALETTE)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_each_colour_stands_out_from_the_ground_and_its_label_from_the_colour(colour: str, theme: Any) -> None:
    paint, ground = paints(PALETTE[colour])[theme], THEMES[theme].ground
    assert max(contrast(paint.fill, ground), contrast(paint.line, ground)) >= 3
    assert contrast(paint.ink, paint.fill) >= 4.5


@pytest.mark.parametrize("theme", THEMES.values(), ids=list(THEMES))
def test_labels_and_marks_stand_out_from_the_ground(theme: Any) -> None:
    assert contrast(theme.text, theme.ground) >= 4.5
    assert contrast(theme.mark, theme.ground) >= 3
    assert contrast(theme.fault, theme.ground) >= 3
    assert 1.2 < contrast(theme.line, theme.ground) < 3, "the lines between squares stay quiet"


@pytest.mark.parametrize("sight", SIGHT)
@pytest.mark.parametrize("theme", ["light", "dark"])
@EVERY_GAME
def test_colour_blind_people_can_tell_the_players_colours_apart(name: str, theme: str, sight: str) -> None:
    first, second = (paints(PALETTE[colour])[theme].fill for colour in GAMES[name].look.colours)
    assert distance(first, second, sight) > 20


def test_the_inner_circle_of_a_ring_can_be_seen() -> None:
    looks = [game.look for game in GAMES.values()]
    rings = {look.colour(piece) for look in looks for piece in look.pieces.values() if piece.shape == "ring"}
    assert rings
    for paint in (paint for colour in rings for paint in paints(PALETTE[colour]).values()):
        assert contrast(paint.fill, paint.line) >= 3


# --- traces -----------------------------------------------------------------------------------------------------


@EVERY_GAME
def test_a_trace_ends_with_the_board_after_the_move(name: str) -> None:
    for before, after, steps in traces(name):
        assert 1 <= len(steps) <= MOST_STEPS
        assert as_lists(steps[-1].board) == GAMES[name].view(after)
        shown = [GAMES[name].view(before), *(as_lists(step.board) for step in steps)]
        for earlier, later, step in zip(shown, shown[1:], steps, strict=False):
            changed = {(r, c) for r, row in enumerate(later) for c, v in enumerate(row) if earlier[r][c] != v}
            named = set(chain.from_iterable(getattr(step.touched, name) for name in step.touched.__match_args__))
            assert changed, "each step of a move changes something"
            assert named <= {(r, c) for r, row in enumerate(later) for c in range(len(row))}
            assert named & changed


@EVERY_GAME
def test_a_trace_leaves_the_state_as_it_is(name: str) -> None:
    for state, move in positions(name, 0)[::5]:
        before = (state.board(), state.to_move, state.passed, state.outcome, list(state.legal_moves())[:100])
        GAMES[name].trace(state, move)
        GAMES[name].trace_fault(state)
        assert before == (
            state.board(),
            state.to_move,
            state.passed,
            state.outcome,
            list(state.legal_moves())[:100],
        )


@EVERY_GAME
def test_the_trace_of_a_move_as_lists_is_the_same(name: str) -> None:
    for state, move in positions(name, 1):
        assert GAMES[name].trace(state, json.loads(json.dumps(move))) == GAMES[name].trace(state, move)


@EVERY_GAME
def test_the_trace_of_a_fault_ends_with_the_board_after_the_penalty(name: str) -> None:
    for _, after, steps in faults(name):
        assert [as_lists(step.board) for step in steps] == [GAMES[name].view(after)]


@EVERY_GAME
def test_an_illegal_move_and_a_game_that_is_over_have_no_trace(name: str) -> None:
    game, (state, move) = GAMES[name], positions(name, 0)[-1]
    over = state.copy()
    over.play(move)
    for illegal in (None, [[99, 99]], "x"):
        with pytest.raises(IllegalMove):
            game.trace(state, illegal)
    with pytest.raises(IllegalMove, match="over"):
        game.trace(over, move)
    with pytest.raises(IllegalMove, match="over"):
        game.trace_fault(over)


def test_a_hop_has_a_step_for_each_hop_with_its_capture() -> None:
    board = [[0] * 8 for _ in range(8)]
    board[5][3], board[4][4], board[5][4], board[5][6], board[0][0] = 1, 2, 2, 1, 2
    state = GAMES["hop"].from_board(board, True)
    first, second = GAMES["hop"].trace(state, [(5, 3), (5, 5), (5, 7)])
    assert first.touched.path == ((5, 3), (5, 5))
    assert first.touched.captured == ((5, 4),)
    assert (first.board[5][4], first.board[5][5], first.board[5][6]) == (0, 1, 1)
    assert (second.touched.captured, second.touched.source, second.touched.to) == ((), ((5, 5),), ((5, 7),))


def test_a_cascade_has_a_step_for_each_wave() -> None:
    board = [[0] * 8 for _ in range(8)]
    board[0][:3], board[1][0] = [1, 2, -1], -2
    placed, corner, last = GAMES["chain_reaction"].trace(GAMES["chain_reaction"].from_board(board, True), (0, 0))
    assert (placed.touched.to, placed.board[0][0]) == (((0, 0),), 2)
    assert (corner.touched.exploded, corner.touched.captured) == (((0, 0),), ((1, 0),))
    assert corner.board[0][:3] == (0, 3, -1)
    assert last.touched.exploded == ((0, 1), (1, 0))
    assert last.touched.captured == ((0, 2),)
    assert last.board[0][:3] == (2, 0, 2)


def test_a_domino_blocks_the_squares_around_it() -> None:
    (step,) = GAMES["linkage"].trace(GAMES["linkage"].start(), ("R", (0, 0), (0, 1)))
    assert step.touched.to == ((0, 0), (0, 1))
    assert step.touched.blocked == ((0, 2), (1, 0), (1, 1))


def test_the_penalty_of_pseudo_tonga_fills_the_board() -> None:
    game = GAMES["pseudo_tonga"]
    state = game.start(size=6)
    state.play((2, 2))
    (step,) = game.trace_fault(state)
    assert len(step.touched.to) == 35
    assert {value for row in step.board for value in row} == {1}


def steps_of(number: int) -> Iterator[Step]:
    for n in range(1, number + 1):
        yield make_step([[n]], to=[(0, 0)], path=[(0, n)])


@pytest.mark.parametrize("number", [MOST_STEPS, MOST_STEPS + 1, 5 * MOST_STEPS])
def test_a_trace_of_many_steps_is_cut_to_a_bound_and_loses_no_square(number: int) -> None:
    game = replace(GAMES["hop"], look=Look(trace=lambda *_: steps_of(number)))
    steps = game.trace(game.start(), [(2, 2), (2, 3)])
    assert len(steps) == MOST_STEPS
    assert steps[-1].board == ((number,),)
    assert {at for step in steps for at in step.touched.path} == {(0, n) for n in range(1, number + 1)}


def test_a_game_whose_board_depends_on_the_player_on_turn_has_one_view() -> None:
    """A game may say how its board looks to the first player; the difference of boards is taken on those."""

    def view(state: State) -> list[list[int]]:
        return [[cell + 10 * (cell > 0) for cell in row] for row in state.board()]

    game = replace(GAMES["longest_path"], look=Look(view=view))
    state = game.start()
    (step,) = game.trace(state, (0, 0))
    state.play((0, 0))
    assert game.view(state)[0][0] == step.board[0][0] == 11
    assert step.touched.to == ((0, 0),)


# --- text -------------------------------------------------------------------------------------------------------


@EVERY_GAME
def test_the_score_line_has_the_measures_of_the_state(name: str) -> None:
    game = GAMES[name]
    state, _ = positions(name, 0)[-1]
    measures = game.measures(state)
    assert measures is not None
    assert str(measures[0]) in game.score_line(state)
    assert "{" not in game.score_line(state)


def test_a_game_without_a_score_line_has_no_measures() -> None:
    game = replace(GAMES["hop"], look=DEFAULT_LOOK)
    assert game.measures(game.start()) is None
    assert game.score_line(game.start()) == ""


@pytest.mark.parametrize(
    ("move", "text"),
    [
        ((3, 4), "3,4"),
        ([3, 14], "3,14"),
        ([[2, 2], [2, 4], [4, 4]], "2,2-2,4-4,4"),
        (("R", (0, 0), (0, 1)), "R 0,0 0,1"),
        (5, "5"),
        ("e2e4", "e2e4"),
    ],
)
def test_the_coordinates_of_a_move(move: Any, text: str) -> None:
    assert coordinates(move) == text


def test_linkage_has_its_own_notation_and_other_games_their_coordinates() -> None:
    assert GAMES["linkage"].notation(["R", [0, 0], [0, 1]]) == "RA1B1"
    assert GAMES["hop"].notation([(2, 2), (2, 3)]) == "2,2-2,3"
    assert [name for name in GAMES if look_json(GAMES[name])["notation"]] == ["linkage"]


# --- JSON -------------------------------------------------------------------------------------------------------


@EVERY_GAME
def test_a_look_is_small_and_plain_json(name: str) -> None:
    data = look_json(GAMES[name])
    text = json.dumps(data, allow_nan=False)
    assert json.loads(text) == data
    assert len(text) < LARGEST_LOOK


@EVERY_GAME
def test_the_json_of_a_look_defines_all_that_it_names(name: str) -> None:
    game, data = GAMES[name], look_json(GAMES[name])
    assert {piece["shape"] for piece in data["pieces"].values()} | {"tile"} == set(data["shapes"])
    assert {*data["colours"], "grey", *(piece["colour"] for piece in data["pieces"].values())} == set(
        data["palette"]
    )
    assert all(data["shapes"][shape] == SHAPES[shape] for shape in data["shapes"])
    rows = len(game.start().board())
    assert all(0 <= x < rows for region in data["regions"] for at in region["squares"] for x in at)
    assert set(look_json.__doc__.split("``")) >= set(data), "each key is documented"  # type: ignore[union-attr]  # the function has a docstring


@EVERY_GAME
def test_boards_can_be_built_again_from_the_json_of_a_trace(name: str) -> None:
    for before, _, steps in traces(name):
        board = GAMES[name].view(before)
        columns = len(board[0])
        data = trace_json(board, steps)
        assert json.loads(json.dumps(data)) == data
        for part, step in zip(data, steps, strict=True):
            for number, value in part.get("set", []):
                board[number // columns][number % columns] = value
            assert board == as_lists(step.board)
            for key in step.touched.__match_args__:
                assert [divmod(number, columns) for number in part.get(key, [])] == list(getattr(step.touched, key))


def test_no_two_colours_of_the_palette_are_the_same() -> None:
    for (_, one), (_, other) in combinations(PALETTE.items(), 2):
        assert one.light.fill != other.light.fill
        assert one.dark.fill != other.dark.fill


def test_a_game_from_outside_needs_no_look() -> None:
    other = GAMES["longest_path"]
    silent = Game(
        name="silent",
        title="Silent",
        players=("One", "Two"),
        time_control=other.time_control,
        penalty="none",
        _start=other._start,
        _from_board=other._from_board,
    )
    assert look_json(silent)["pieces"]["1"]["shape"] == "disc"
    (step,) = silent.trace(silent.start(), (1, 2))
    assert step.touched.to == ((1, 2),)
