"""Books of openings, how they are made, and practice with them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import getstep
from getstep._errors import SetupError
from getstep.conventions import CONVENTIONS, Output, Question
from getstep.local_matches.screen import Screen
from getstep.local_matches.series import Plan, entrant, run
from getstep.openings import BALANCED, BookError, book_of, book_text, find_book, read_book, state_after
from getstep.openings.making import Making, make_book, mirrored, random_lines, searched
from getstep.turn import Turn
from getstep_engines import GAMES

FIVE = ("hop", "linkage", "longest_path", "pseudo_tonga", "chain_reaction")
TONGA = GAMES["pseudo_tonga"]


def first_legal(board: Any, is_black: bool, turn: Turn) -> Any:
    return next(iter(GAMES[turn.game].from_board(board, is_black).legal_moves()))


@pytest.mark.parametrize("name", FIVE)
def test_each_game_has_a_book_of_positions_that_differ(name: str) -> None:
    game = GAMES[name]
    book = find_book(BALANCED, game, {}, "", Path())
    assert len(book.lines) >= 30
    states = [state_after(game, {}, line) for line in book.lines]
    assert len({mirrored(game, state) for state in states}) == len(states)
    assert len({len(line) for line in book.lines}) == 1


def test_random_openings_depend_on_the_seed_alone() -> None:
    one, same, other = (random_lines(TONGA, {"size": 6}, 3, seed, 40) for seed in ("a", "a", "b"))
    assert one == same != other
    assert len({json.dumps(line) for line in one}) == 40
    few = random_lines(TONGA, {"size": 6}, 1, "a", 1000)
    assert 30 <= len(few) <= 36, "the game has no more first moves"


def test_a_game_that_is_over_before_the_last_move_has_no_openings() -> None:
    with pytest.raises(BookError, match="no game of pseudo_tonga lasts 40 moves"):
        random_lines(TONGA, {"size": 6}, 40, "a", 5)


def test_a_book_leaves_out_decided_positions_and_mirror_images() -> None:
    looked: list[float] = []
    values = iter([0.9, 0.1, -0.9, -0.2, *[0.0] * 1000])
    making = Making(plies=1, count=4, most=0.2)
    lines = make_book(
        TONGA, {"size": 6}, making, lambda _: next(values), lambda _o, value, _k: looked.append(value)
    )
    assert looked[:4] == [0.9, 0.1, -0.9, -0.2]
    assert len(lines) == 4
    assert len(looked) == 6, "two were decided"
    keys = {mirrored(TONGA, state_after(TONGA, {"size": 6}, line)) for line in lines}
    assert len(keys) == 4
    with pytest.raises(BookError, match=r"no position of pseudo_tonga after 1 moves is within 0\.2"):
        make_book(TONGA, {"size": 6}, making, lambda _: 1.0)


def test_a_board_that_is_turned_is_the_same() -> None:
    corners = [[[0, 0]], [[0, 5]], [[5, 0]], [[5, 5]]]
    assert len({mirrored(TONGA, state_after(TONGA, {"size": 6}, line)) for line in corners}) == 1
    other = mirrored(TONGA, state_after(TONGA, {"size": 6}, [[0, 1]]))
    assert other != mirrored(TONGA, state_after(TONGA, {"size": 6}, corners[0]))


def test_the_search_finds_what_is_won() -> None:
    """Linkage favours the first player; more so the fewer moves are left to change it."""
    linkage = GAMES["linkage"]
    value = searched(linkage, Making(seconds=0.05))
    assert value(linkage.start()) > 0.3


def test_of_several_candidates_the_most_equal_one_is_played() -> None:
    linkage = GAMES["linkage"]
    seen: dict[int, list[float]] = {}
    for candidates in (1, 12):
        making = Making(plies=8, count=12, most=1.0, candidates=candidates)
        lines = make_book(linkage, {}, making, lambda _: 0.0)
        seen[candidates] = [abs(state_after(linkage, {}, line).estimate()) for line in lines]
    assert sum(seen[12]) < sum(seen[1])


def test_a_book_reads_back(tmp_path: Path) -> None:
    lines = random_lines(TONGA, {"size": 6}, 2, "a", 7)
    path = tmp_path / "book.json"
    path.write_text(book_text(TONGA, {"size": 6}, lines, {"plies": 2}), encoding="utf-8")
    assert list(read_book(path, TONGA, {"size": 6}).lines) == lines
    assert find_book("book.json", TONGA, {"size": 6}, "", tmp_path).name == "book.json"
    with pytest.raises(BookError, match="is for the options"):
        read_book(path, TONGA, {})
    with pytest.raises(BookError, match="is a book of 'pseudo_tonga', and the game is hop"):
        read_book(path, GAMES["hop"], {})
    path.write_bytes(b"[" * 500_001)
    with pytest.raises(BookError, match="more than 500000 bytes"):
        read_book(path, TONGA, {"size": 6})
    path.write_text("[]")
    with pytest.raises(BookError, match="is no book of openings"):
        read_book(path, TONGA, {"size": 6})


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ("no list", "a list of 1 to 2000 openings"),
        ([[[0, 0]]] * 2001, "a list of 1 to 2000 openings"),
        ([[]], "opening 1: expected a list of 1 to 20 moves"),
        ([[[0, 0]] * 21], "opening 1: expected a list of 1 to 20 moves"),
        ([[[0, 0]], [[0, 0]]], "opening 2: it is in the book twice"),
        ([[[0, 0], [0, 0]]], "opening 1: move 2 of .*: pseudo_tonga does not allow it"),
        ([["x" * 4000]], "opening 1: .* bytes; expected at most 4000"),
    ],
)
def test_a_wrong_book_is_refused(lines: object, why: str) -> None:
    with pytest.raises(BookError, match=why):
        book_of("mine", lines, TONGA, {})


def test_practice_begins_each_two_games_with_the_same_moves() -> None:
    seen: list[Turn] = []

    def bot(board: Any, is_black: bool, turn: Turn) -> Any:
        seen.append(turn)
        return first_legal(board, is_black, turn)

    results = getstep.practice(bot, "pseudo_tonga", first_legal, 4, openings=3, quiet=True, seed=1)
    openings = [match.opening for match in results.matches]
    assert [len(opening) for opening in openings] == [3] * 4
    assert openings[0] == openings[1] != openings[2] == openings[3]
    assert [match.bot for match in results.matches] == [0, 1, 0, 1]
    assert {len(match.turns) for match in results.matches} == {64 - 3}
    begins = {turn.match: turn for turn in reversed(seen)}
    for turn, opening in zip(dict(sorted(begins.items())).values(), openings, strict=True):
        assert turn.opening == tuple(tuple(move) for move in opening)
        assert turn.move_number in (4, 5)
    assert results.html().count('"r": 2') + results.html().count('"r":2') == 12


def test_a_program_that_keeps_its_own_position_is_refused() -> None:
    plan = Plan(TONGA, 2, openings=2)
    program, bot = (entrant(name) for name in ("random", "greedy"))
    program = replace(program, name="old", convention="topcoder")
    with pytest.raises(
        SetupError, match=r"openings: old is a topcoder program: .* it cannot begin after an opening"
    ):
        run(plan, program, bot, Screen(None, 2))


def test_openings_and_what_does_not_go_with_them() -> None:
    with pytest.raises(SetupError, match="openings: they are for one board"):
        Plan(TONGA, 2, options={"size": "6-8"}, openings=2)
    with pytest.raises(SetupError, match="openings: nobooks cannot be read"):
        Plan(TONGA, 2, openings="nobooks")


def test_ugi_is_told_the_moves_of_the_opening() -> None:
    opening = ((3, 4), (0, 0), (5, 5))
    state = state_after(TONGA, {}, opening)
    talk = CONVENTIONS["ugi"](1)
    talk.begin()
    turn = Turn("pseudo_tonga", 1, 4, "x", (5, 5), 1000, {"size": 8}, opening=opening)
    talk.ask(Question(state.board(), (5, 5), turn))
    answer, _ = talk.reply(Output(b"ugiok\nreadyok\n")) or (None, 0)
    assert answer is not None
    assert b"position startpos moves 3,4 0,0 5,5\n" in answer.stdin
