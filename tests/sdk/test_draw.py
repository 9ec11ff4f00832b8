"""The renderers: every game drawn as text, for a terminal and as SVG, from the look that the game describes."""

from __future__ import annotations

import doctest
import re
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from getstep import drawing
from getstep.drawing import Picture, colour_depth, describe, draw_svg, draw_terminal, draw_text, legend, svg_style
from getstep.drawing.picture import LARGEST_BOARD, squares_of
from getstep.drawing.terminal import (
    GLYPHS,
    ThemeName,
    can_show_glyphs,
    contrast,
    mix,
    nearest_256,
    rgb,
    theme_name,
)
from getstep_engines import GAMES, Look, Piece, Touched
from getstep_engines.look import PALETTE, SHAPES, THEMES
from tests.support.games import picture, played
from tests.support.golden import assert_golden

EVERY_GAME = pytest.mark.parametrize("name", GAMES)
SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "</title><script>alert(1)</script>&\"'\x00\x1b[31m\u202e\ud800"


def plain(terminal: str) -> str:
    """Return a drawing for a terminal without its colours."""
    return re.sub(r"\x1b\[[0-9;]*m", "", terminal)


# --- pictures ---------------------------------------------------------------------------------------------------


def test_the_examples_are_true() -> None:
    assert doctest.testmod(drawing).failed == 0


def test_a_hop_of_several_squares_arrives_on_the_last_one_only() -> None:
    board = [[0] * 8 for _ in range(8)]
    board[5][3], board[5][4], board[5][6], board[0][0] = 1, 2, 1, 2
    state = GAMES["hop"].from_board(board, True)
    found = Picture.after(GAMES["hop"], GAMES["hop"].trace(state, [(5, 3), (5, 5), (5, 7)]))
    assert draw_text(found).splitlines()[6] == " 5   :  :  . ( )( )( ) B [B]"


def test_a_board_that_is_too_large_or_ragged_is_refused() -> None:
    look = GAMES["hop"].look
    assert draw_text(Picture(look, [[0] * LARGEST_BOARD] * LARGEST_BOARD)).count("\n") == LARGEST_BOARD
    for board in ([[0] * (LARGEST_BOARD + 1)], [[0]] * (LARGEST_BOARD + 1), [[0], [0, 0]]):
        with pytest.raises(ValueError, match="expected at most 128"):
            Picture(look, board)


def test_a_board_without_squares_can_be_drawn() -> None:
    empty = Picture(GAMES["hop"].look, [])
    assert draw_text(empty) == ""
    assert ET.fromstring(draw_svg(empty, title="nothing")) is not None


DEEP: list[Any] = []
for _ in range(900):
    DEEP = [DEEP]


@pytest.mark.parametrize(
    ("move", "squares"),
    [
        ((3, 4), [(3, 4)]),
        ([[2, 2], [2, 4]], [(2, 2), (2, 4)]),
        (["R", [0, 0], [0, 1]], [(0, 0), (0, 1)]),
        ([[2, 2], [2, 99]], [(2, 2)]),
        ((True, 0), []),
        ((-1, 0), []),
        (None, []),
        ("34", []),
        ({"row": 3}, []),
        ([[0, 0]] * 1000, [(0, 0)]),
        (DEEP, []),
    ],
)
def test_the_squares_of_an_illegal_move_are_found_in_any_object(move: Any, squares: list[Any]) -> None:
    assert squares_of(move, 8, 8) == squares
    assert Picture(GAMES["hop"].look, GAMES["hop"].start().board()).with_fault(move).fault == tuple(squares)


def test_a_picture_is_described_in_words() -> None:
    found = picture("hop")
    assert describe(found).startswith("9 × black piece, 9 × white piece; the last move on ")
    assert describe(found.with_fault((3, 4))).endswith("; the illegal move on 3,4")
    assert describe(Picture(Look(), [[0]])) == "empty board"
    state = GAMES["pseudo_tonga"].start()
    filled = Picture.after(GAMES["pseudo_tonga"], GAMES["pseudo_tonga"].trace_fault(state))
    assert describe(filled) == "64 × white stone"


# --- plain text -------------------------------------------------------------------------------------------------


@EVERY_GAME
def test_a_board_as_text(name: str) -> None:
    found = picture(name)
    state, moves = played(name, 12)
    game = GAMES[name]
    shown = [
        f"{game.title}: after {game.notation(moves[-1])}",
        draw_text(found),
        legend(found),
        describe(found),
        game.score_line(state),
        "",
        "the same move is illegal now:",
        draw_text(found.with_fault(moves[-1])),
    ]
    assert_golden(f"board-{name.replace('_', '-')}", "\n".join(shown))


@EVERY_GAME
def test_plain_text_is_ascii_and_fits_80_columns_at_the_largest_size(name: str) -> None:
    game = GAMES[name]
    largest = game.start(**{option.name: option.highest for option in game.options.values()})
    for text in (draw_text(Picture(game.look, largest.board())), draw_text(picture(name))):
        assert text.isascii()
        assert max(map(len, text.splitlines())) <= 80


@EVERY_GAME
def test_each_row_and_column_is_labelled_and_each_square_has_its_piece(name: str) -> None:
    found = picture(name)
    head, *lines = draw_text(found).splitlines()
    assert head.split() == [str(column) for column in range(found.columns)]
    for number, (line, (_, row)) in enumerate(zip(lines, found.rows(), strict=True)):
        assert line[:3].strip() == str(number)
        cells = [cell for cell in re.split(r"[ \[\]()]+", line[3:]) if cell]
        expected = [piece.text if piece else ":" if at in found.shaded else "." for at, piece in row]
        left = [at for at, piece in row if piece is None and at in found.marks]
        assert cells == [text for text, (at, _) in zip(expected, row, strict=True) if at not in left]


def test_the_columns_stand_above_their_squares_with_two_digits() -> None:
    game = GAMES["pseudo_tonga"]
    state = game.start(size=16)
    state.play((3, 12))
    head, *lines = draw_text(Picture(game.look, state.board())).splitlines()
    assert lines[3].index("B") == head.index("12") + 1


# --- terminal ---------------------------------------------------------------------------------------------------


@EVERY_GAME
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("depth", ["256", "true"])
def test_a_board_in_a_terminal_has_the_lines_and_marks_of_plain_text(name: str, theme: Any, depth: Any) -> None:
    found = picture(name)
    shown = draw_terminal(found, depth=depth, theme=theme)
    lines = plain(shown).splitlines()
    assert len(lines) == len(draw_text(found).splitlines())
    assert lines[0].split() == [str(column) for column in range(found.columns)]
    assert [plain(shown).count(mark) for mark in "[]"] == [draw_text(found).count(mark) for mark in "[]"]
    assert max(map(len, lines)) <= 80
    assert all(line.endswith("\x1b[0m") for line in shown.splitlines()[1:]), "no colour runs on"


@EVERY_GAME
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_pieces_differ_in_a_terminal_by_more_than_colour(name: str, theme: ThemeName) -> None:
    look = GAMES[name].look
    contents = []
    for value in look.pieces:
        one = draw_terminal(Picture(look, [[value]]), theme=theme)
        contents.append(plain(one).splitlines()[1][3:].strip())
    assert len(set(contents)) == len(contents), contents


@EVERY_GAME
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_glyph_has_contrast_to_its_ground(name: str, theme: ThemeName) -> None:
    look = GAMES[name].look
    for value in look.pieces:
        shown = draw_terminal(Picture(look, [[value]], fault=((0, 0),)), theme=theme)
        colours = re.findall(r"\x1b\[38;2;(\d+);(\d+);(\d+);48;2;(\d+);(\d+);(\d+)m", shown)
        assert colours
        for levels in colours:
            ink, ground = (
                "#" + "".join(f"{int(level):02x}" for level in part) for part in (levels[:3], levels[3:])
            )
            assert contrast(ink, ground) >= 3, (value, ink, ground)


def test_without_colours_or_glyphs_a_board_is_letters() -> None:
    found = picture("hop")
    assert draw_terminal(found, depth="none") == draw_text(found)
    assert plain(draw_terminal(found, glyphs=False)).isascii()


@pytest.mark.parametrize(
    ("environ", "is_terminal", "depth"),
    [
        ({}, False, "none"),
        ({"COLORTERM": "truecolor"}, False, "none"),
        ({"COLORTERM": "truecolor", "TERM": "xterm"}, True, "true"),
        ({"COLORTERM": "24bit"}, True, "true"),
        ({"WT_SESSION": "1"}, True, "true"),
        ({"TERM": "xterm-256color"}, True, "256"),
        ({"COLORTERM": "truecolor", "NO_COLOR": "1"}, True, "none"),
        ({"COLORTERM": "truecolor", "NO_COLOR": ""}, True, "true"),
        ({"TERM": "dumb"}, True, "none"),
    ],
)
def test_the_number_of_colours(environ: dict[str, str], is_terminal: bool, depth: str) -> None:
    assert colour_depth(environ, is_terminal=is_terminal) == depth


def test_the_theme_follows_the_terminal_if_it_says_something() -> None:
    assert theme_name({}) == "dark"
    assert [theme_name({"COLORFGBG": value}) for value in ("15;0", "0;15", "0;default;7", "x")] == [
        "dark",
        "light",
        "light",
        "dark",
    ]


def test_glyphs_need_an_encoding_that_has_them() -> None:
    assert can_show_glyphs("utf-8")
    assert not any(can_show_glyphs(encoding) for encoding in ("cp1252", "ascii", None, "no-such-encoding"))


def test_colours_of_a_terminal_with_256() -> None:
    assert nearest_256("#000000") == 16
    assert nearest_256("#ffffff") == 231
    assert nearest_256("#ff0000") == 196
    assert nearest_256("#808080") == 244
    assert rgb(mix("#000000", "#ffffff", 0.5)) == (128, 128, 128)
    assert contrast("#000000", "#ffffff") == pytest.approx(21)


def test_every_shape_has_a_glyph_or_fills_its_square() -> None:
    assert set(SHAPES) - set(GLYPHS) == {"tile", "block"}
    assert all(len(glyph) == 1 for pair in GLYPHS.values() for glyph in pair)


# --- svg --------------------------------------------------------------------------------------------------------


@EVERY_GAME
def test_a_board_as_svg(name: str) -> None:
    svg = draw_svg(picture(name), title=f"{GAMES[name].title}, after move 12", style=False)
    assert_golden(f"svg-{name.replace('_', '-')}", svg)


@EVERY_GAME
def test_an_svg_has_a_layer_for_each_kind_and_an_element_for_each_piece(name: str) -> None:
    found = picture(name)
    root = ET.fromstring(draw_svg(found, title="a board"))
    assert root.tag == f"{SVG}svg"
    assert root.get("role") == "img"
    assert root.get("aria-label") == f"a board: {describe(found)}"
    assert root.findtext(f"{SVG}title") == "a board"
    layers = {group.get("class"): group for group in root.findall(f"{SVG}g")}
    assert list(layers) == ["gs-squares", "gs-regions", "gs-pieces", "gs-marks", "gs-labels"]
    pieces = {at: piece for _, row in found.rows() for at, piece in row if piece}
    drawn = list(layers["gs-pieces"])
    assert len(drawn) == len(pieces)
    for group, ((row, column), piece) in zip(drawn, pieces.items(), strict=True):
        assert group.get("transform") == f"translate({100 * column} {100 * row})"
        assert group.get("class") == f"gs-piece gs-{found.look.colour(piece)}"
        assert group[0].get("d") == SHAPES[piece.shape]
        assert [text.text for text in group[1:]] == ([piece.label] if piece.label else [])
    assert len(layers["gs-regions"]) == len(found.shaded)
    assert len(layers["gs-marks"].findall(f"{SVG}rect")) == len(found.marks)
    assert [text.text for text in layers["gs-labels"]] == [str(n) for n in (*range(found.columns),) * 2]


@EVERY_GAME
def test_every_class_and_variable_of_an_svg_is_defined_for_light_and_dark(name: str) -> None:
    svg = draw_svg(picture(name), title="a board")
    style = svg_style(GAMES[name].look)
    assert style in svg
    used = set(re.findall(r"var\((--[\w-]+)\)", style))
    for block in re.findall(r"\.gs-board(?::not\(.*?\))?\{(--.*?)\}", style):
        assert used <= set(re.findall(r"(--[\w-]+):", block))
    assert len(re.findall(r"\{--gs-ground", style)) == 3
    for theme in THEMES.values():
        assert theme.ground in style
    colours = {f"gs-{colour}" for colour in re.findall(r'gs-piece gs-(\w+)"', svg)}
    assert all(f".{colour} path{{" in style for colour in colours)


def test_hostile_text_is_only_text_in_an_svg() -> None:
    look = Look(pieces={1: Piece("<b>&\"'", "disc", 0, "<&", "&<")})
    svg = draw_svg(Picture(look, [[1]]), title=HOSTILE)
    root = ET.fromstring(svg)
    assert {element.tag.removeprefix(SVG) for element in root.iter()} <= {
        *("svg", "title", "style", "g", "rect", "path", "text", "polyline")
    }
    assert (root.findtext(f"{SVG}title") or "").startswith("</title><script>")
    assert "\\x1b" in (root.findtext(f"{SVG}title") or "")
    assert "<script" not in svg
    assert next(text.text for text in root.iter(f"{SVG}text")) == "<&"


def test_a_style_sheet_for_several_games_names_each_colour_once() -> None:
    style = svg_style(*(game.look for game in GAMES.values()))
    for colour in PALETTE:
        assert style.count(f".gs-{colour} path{{") == (colour != "purple")


def test_a_board_is_small() -> None:
    """The largest board, full: a report may have hundreds of boards."""
    game = GAMES["pseudo_tonga"]
    (step,) = game.trace_fault(game.start(size=16))
    assert len(draw_svg(Picture(game.look, step.board), title="full", style=False)) < 50_000


def test_marks_of_a_path_are_joined_by_a_line() -> None:
    found = replace(picture("hop"), touched=Touched(path=((2, 2), (2, 4), (4, 4)), to=((4, 4),), source=((2, 2),)))
    assert 'points="250,250 450,250 450,450"' in draw_svg(found, title="a path")
