"""Illegal moves of every game: any object is refused, and changes nothing."""

from __future__ import annotations

from itertools import islice
from math import nan
from typing import Any

import msgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks import plain
from getstep_conformance.games import as_lists, seen
from getstep_engines import GAMES, IllegalMove, State
from tests.support.games import EVERY_GAME, EVERY_START, playout_of
from tests.support.quick import each

DEEP: list[Any] = []
for _ in range(900):  # msgpack's own limit is 1024
    DEEP = [DEEP]

LEAVES: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 20),
    st.integers(-(2**63), 2**64 - 1),
    st.floats(),
    st.sampled_from("RBGY"),
    st.text(max_size=5),
    st.binary(max_size=5),
    st.builds(msgpack.ExtType, st.integers(0, 127), st.binary(max_size=3)),
    st.builds(msgpack.Timestamp, st.integers(0, 2**32)),
)
DECODABLE: st.SearchStrategy[Any] = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=5),
        st.tuples(inner, inner),
        st.dictionaries(LEAVES.filter(lambda key: key == key), inner, max_size=4),
    ),
    max_leaves=12,
)
"""Whatever msgpack can decode, the use of tuples for arrays and any key for maps included."""


@st.composite
def near_misses(draw: st.DrawFn, move: Any) -> Any:
    """Return a move as lists, changed in one place; now and then that is a legal move again."""
    if not isinstance(move, list) or not move or draw(st.integers(0, 9)) == 0:
        near = [move + 1, move - 1, -move, float(move), bool(move), str(move), [move]] if type(move) is int else []
        return draw(st.sampled_from(near) if near else DECODABLE)
    at = draw(st.integers(0, len(move) - 1))
    match draw(st.sampled_from(["inside", "inside", "inside", "drop", "double", "insert", "reverse"])):
        case "inside":
            return [*move[:at], draw(near_misses(move[at])), *move[at + 1 :]]
        case "drop":
            return move[:at] + move[at + 1 :]
        case "double":
            return move[: at + 1] + move[at:]
        case "insert":
            return [*move[:at], draw(DECODABLE), *move[at:]]
        case _:
            return move[::-1]


def is_really_legal(name: str, state: State, move: Any) -> bool:
    """Return True if ``move`` is listed, or is legal by the rules beyond the list, types included."""
    if state.outcome:
        return False
    if name == "hop":
        path = as_lists(move)
        return (
            isinstance(move, (list, tuple))
            and 2 <= len(path) <= 100
            and all(type(pair) is list and [type(x) for x in pair] == [int, int] for pair in path)
            and all(0 <= x < 8 for pair in path for x in pair)
            and plain.hop_is_legal(state.board(), state.to_move, [(r, c) for r, c in path])
        )
    listed = [as_lists(legal) for legal in state.legal_moves()]
    if name == "linkage":
        listed += [[colour, second, first] for colour, first, second in listed]
    return repr(as_lists(move)) in {repr(legal) for legal in listed}


def check(name: str, state: State, move: Any) -> None:
    """Play ``move``, and see that it is refused, without a trace, unless it is really legal."""
    before, trial = seen(state), state.copy()
    legal = is_really_legal(name, state, move)
    assert state.is_legal(move) == legal
    if legal:
        trial.play(move)
        assert seen(trial) != before
    else:
        with pytest.raises(IllegalMove) as refusal:
            trial.play(move)
        assert str(refusal.value)
        assert seen(trial) == before
    assert seen(state) == before


@EVERY_START
@each(
    "move",
    [
        *(None, True, 0, -1, 2**64 - 1, nan, "", "Skip", b"", {}, {0: 0, 1: 1}, [], [[]], [[[]]]),
        *((True, 0), (0, False), (0.0, 0), ("0", "0"), (0,), (0, 0, 0), (-1, 0), (0, -1), (0, 2**64 - 1), {0: 0}),
        *([[0, 0]], [[0, 0], [0, 0]], [[0, 0], [0.0, 1]], [[0, 0]] * 101, "01", b"\x00\x01"),
        *(("R",), ("R", (0, 0)), ("R", (0, 0), (0, 0)), ("RB", (0, 0), (0, 1)), (b"R", (0, 0), (0, 1))),
        *((1, (0, 0), (0, 1)), ("", (0, 0), (0, 1)), (["R"], (0, 0), (0, 1)), ("R", (0, 6), (1, 0))),
    ],
)
def test_nonsense_is_an_illegal_move(name: str, options: dict[str, int], move: Any) -> None:
    for state, _ in playout_of(name, 6, **options).sample(most=3):
        check(name, state, move)


@EVERY_GAME
@pytest.mark.parametrize(
    "move", [DEEP, (0, DEEP), [DEEP, DEEP], ("R", DEEP, (0, 1)), (DEEP, (0, 0), (0, 1)), {"a": DEEP}]
)
def test_deep_nesting_is_an_illegal_move(name: str, move: Any) -> None:
    state = GAMES[name].start()
    before = seen(state)
    assert not state.is_legal(move)
    with pytest.raises(IllegalMove) as refusal:
        state.play(move)
    assert len(str(refusal.value)) < 500
    assert seen(state) == before


@EVERY_GAME
@settings(max_examples=100)
@given(data=st.data())
def test_any_object_is_judged_without_another_exception(name: str, data: st.DataObject) -> None:
    state, _ = data.draw(st.sampled_from(playout_of(name, 7).sample()))
    check(name, state, data.draw(DECODABLE))


@EVERY_GAME
@settings(max_examples=200)
@given(data=st.data())
def test_near_misses_of_legal_moves_are_illegal(name: str, data: st.DataObject) -> None:
    state, _ = data.draw(st.sampled_from(playout_of(name, 8).sample()))
    listed = list(islice(state.legal_moves(), 500)) or playout_of(name, 8).moves
    check(name, state, data.draw(near_misses(as_lists(data.draw(st.sampled_from(listed))))))
