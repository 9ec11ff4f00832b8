"""A contestant's file and its get_step: loading it, calling it, and what may come back."""

from __future__ import annotations

import enum
import pickle
import sys
from collections.abc import Callable, Iterator
from functools import partial, wraps
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import getstep
from getstep import BotError, Turn
from getstep._bot import load
from getstep.turn import Callback, CallResult, as_move
from getstep.wire import CLIENT_MESSAGES, State, Step
from tests.support.conversations import ends

TURN = Turn("hop", 12, 2, "Grashüpfer", None, 5000)


def thought(value: Any, game: str = "hop") -> CallResult:
    """Return the result of a callback that returns ``value``."""
    turn = Turn(game, 12, 2, "Grashüpfer", None, 5000)
    return Callback(lambda board, is_black: value).call([[0]], True, turn)


# --- loading -----------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder for bots; what loading them leaves in this process is taken away again."""
    path, modules = list(sys.path), set(sys.modules)
    yield tmp_path
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        del sys.modules[name]


def write(folder: Path, source: str | bytes, name: str = "my_bot.py") -> Path:
    path = folder / name
    path.write_bytes(source if isinstance(source, bytes) else source.encode())
    return path


def refused(path: Path) -> BotError:
    with pytest.raises(BotError) as caught:
        load(path)
    return caught.value


def test_a_bot_with_a_helper_module(folder: Path) -> None:
    write(folder, "MOVE = (1, 2)", "my_helper.py")
    path = write(folder, "from my_helper import MOVE\ndef get_step(board, is_black): return [MOVE, __name__]")
    assert load(path).call([[0]], True, TURN).move == [[1, 2], "my_bot"]


def test_the_main_part_does_not_run(folder: Path) -> None:
    path = write(folder, "def get_step(b, i): pass\nif __name__ == '__main__': raise RuntimeError")
    assert not load(path).takes_turn


def test_an_edit_within_the_same_second_counts(folder: Path) -> None:
    path = write(folder, "def get_step(b, i): return 1")
    assert load(path).call([[0]], True, TURN).move == 1
    write(folder, "def get_step(b, i): return 2")
    assert load(path).call([[0]], True, TURN).move == 2
    assert [entry.name for entry in folder.iterdir()] == ["my_bot.py"]


def test_a_bots_classes_can_be_pickled(folder: Path) -> None:
    path = write(folder, "class Plan: pass\ndef get_step(b, i): return Plan()")
    load(path)
    assert isinstance(pickle.loads(pickle.dumps(sys.modules["my_bot"].Plan())), sys.modules["my_bot"].Plan)


@pytest.mark.parametrize("name", ["random.py", "getstep.py", "my-bot.py", "bot"])
def test_any_file_name_will_do(folder: Path, name: str) -> None:
    import random

    assert load(write(folder, "def get_step(b, i): return 5", name)).call([[0]], True, TURN).move == 5
    assert sys.modules["random"] is random
    assert sys.modules["getstep"] is getstep


def test_no_such_file(folder: Path) -> None:
    assert "There is no file" in str(refused(folder / "nothing.py"))
    assert "There is no file" in str(refused(folder))
    write(folder, "")
    assert f"Did you mean {folder / 'my_bot.py'}?" in str(refused(folder / "my_bot"))


def test_no_get_step(folder: Path) -> None:
    said = str(refused(write(folder, "")))
    assert "has no get_step; expected a function: def get_step(board, is_black)" in said
    assert "needs --as" in said, "a program of an original contest may be a Python file, too"
    assert "get_step is 3, expected a function" in str(refused(write(folder, "get_step = 3")))


def test_a_compiled_program_needs_its_convention(folder: Path) -> None:
    program = folder / "my_bot"
    program.write_bytes(b"\x7fELF\2\1\1\0")
    with pytest.raises(BotError, match=r"my_bot is not a Python file\.\nA program .* needs --as"):
        load(program)


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("import json\ndef f():\n    return json.loads('{')\nf()\n", "in f"),
        ("def get_step(board, is_black)\n    return 1\n", "expected ':'"),
        (b"x = '\xff'", "utf-8"),
        (b"x = 1\0", "null bytes"),
        ("import sys\nsys.exit('I leave')", "SystemExit: I leave"),
        ("import no_such_module", "No module named 'no_such_module'"),
        ("def f(): f()\nf()", "RecursionError"),
    ],
)
def test_an_error_while_loading_is_shown_as_the_authors_own(folder: Path, source: str | bytes, says: str) -> None:
    error = refused(write(folder, source))
    assert says in error.trace
    assert "does not load" in str(error)
    assert "my_bot" not in sys.modules
    files = [line.split('"')[1] for line in error.trace.splitlines() if line.startswith('  File "')]
    assert not any("_bot.py" in file and "my_bot.py" not in file for file in files)
    assert not any("importlib" in file for file in files)


def test_ctrl_c_while_loading_is_no_error_of_the_bot(folder: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        load(write(folder, "raise KeyboardInterrupt"))


def test_play_without_a_main_part(folder: Path) -> None:
    error = refused(write(folder, "import getstep\ndef get_step(b, i): pass\ngetstep.play(get_step)"))
    assert 'put it under if __name__ == "__main__":' in error.trace


# --- parameters --------------------------------------------------------------------------------------------


class Bot:
    def get_step(self, board: Any, is_black: Any) -> Any:
        return "method"

    def __call__(self, board: Any, is_black: Any, turn: Any) -> Any:
        return turn.game


def wrapper(function: Any) -> Any:
    return lambda *args: function(*args)


def honest_wrapper(function: Any) -> Any:
    @wraps(function)
    def inner(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return inner


def two(board: Any, is_black: Any) -> Any: ...
def three(board: Any, is_black: Any, turn: Any) -> Any: ...
def optional(board: Any, is_black: Any, turn: Any = None) -> Any: ...
def own(board: Any, is_black: Any, depth: Any = 3) -> Any: ...
def array(board: Any, is_black: Any, weights: Any = np.zeros(3)) -> Any: ...  # noqa: B008 - a default that is an object, as bots have it
def star(board: Any, is_black: Any, *more: Any) -> Any: ...
def starred(*everything: Any) -> Any: ...
def fourth(board: Any, is_black: Any, turn: Any, more: Any = 4) -> Any: ...
def keyword(board: Any, is_black: Any, *, depth: Any = 3) -> Any: ...


@pytest.mark.parametrize(
    ("function", "takes_turn"),
    [
        (two, False),
        (three, True),
        (optional, True),
        (own, False),
        (array, False),
        (star, False),
        (starred, False),
        (fourth, True),
        (keyword, False),
        (Bot().get_step, False),
        (Bot(), True),
        (partial(three, turn=1), False),
        (partial(fourth, 0), False),
        (wrapper(two), False),
        (honest_wrapper(two), False),
        (honest_wrapper(three), True),
        (max, False),
    ],
)
def test_functions_that_get_the_turn(function: Callable[..., Any], takes_turn: bool) -> None:
    callback = Callback(function)
    assert callback.takes_turn is takes_turn
    assert "positional argument" not in (callback.call([[0]], True, TURN).error or "")


async def waits(board: Any, is_black: Any) -> Any: ...
def yields(board: Any, is_black: Any) -> Any:
    yield 1


@pytest.mark.parametrize(
    "function",
    [
        lambda: None,
        lambda board: None,
        lambda board, is_black, turn, more: None,
        lambda board, is_black, *, must: None,
        waits,
        yields,
        None,
        "get_step",
        Bot,
    ],
)
def test_functions_that_cannot_be_called_with_a_board_and_a_colour(function: Any) -> None:
    with pytest.raises(BotError, match=r"expected (a function: |a plain )?def"):
        Callback(function)


# --- what comes back ---------------------------------------------------------------------------------------


class Side(enum.IntEnum):
    LEFT = 3


@pytest.mark.parametrize(
    ("value", "move"),
    [
        ((3, 4), [3, 4]),
        ([(3, 4), [3, 5]], [[3, 4], [3, 5]]),
        (("R", (0, 0), (0, 1)), ["R", [0, 0], [0, 1]]),
        (np.array([[3, 4], [3, 5]]), [[3, 4], [3, 5]]),
        (np.int64(3), 3),
        ((np.int8(3), np.uint64(4)), [3, 4]),
        ([(np.int64(3), 4), np.array([3, 5])], [[3, 4], [3, 5]]),
        ((np.str_("R"), (np.int32(0), 0), (0, 1)), ["R", [0, 0], [0, 1]]),
        (np.array([3, None], dtype=object), [3, None]),
        (np.float32(0.5), 0.5),
        ((Side.LEFT, 4), [3, 4]),
        ("e4", "e4"),
        (False, False),
        ({}, {}),
    ],
)
def test_moves_that_can_be_sent(value: Any, move: Any) -> None:
    result = thought(value)
    assert (result.move, result.error, result.problem) == (move, None, "")
    assert type(result.move) is type(move)


class Broken:
    def __repr__(self) -> str:
        raise ValueError

    def tolist(self) -> Any:
        raise ValueError("no list of me")


class Endless:
    def tolist(self) -> Any:
        return [self]


_itself: list[Any] = []
_itself.append(_itself)
_deep: list[Any] = []
for _ in range(5000):
    _deep = [_deep]


def test_a_move_may_fill_a_frame_of_the_contest() -> None:
    """It is longer than what a client may send before the login, 512 bytes."""
    path = [[0, 0]] * 100
    assert thought(path).move == path
    assert thought([*path, "x" * 1800, "y" * 1800]).error is None
    assert "bytes, expected at most 4096" in str(thought([*path, "x" * 1900, "y" * 1900]).error)


@pytest.mark.parametrize(
    "value",
    [
        {(1, 2)},
        {1: 2},
        b"(1, 2)",
        range(3),
        (n for n in (1, 2)),
        2**70,
        "\ud800",
        "x" * 5000,
        [0] * 129,
        [[1000] * 100] * 100,
        np.zeros((1000, 1000)),
        np.datetime64("2020-01-01"),
        1j,
        _itself,
        _deep,
        Broken(),
        Endless(),
        Broken,
        two,
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_value_that_cannot_be_sent_is_reported_with_the_expected_form(value: Any) -> None:
    result = thought(value)
    assert result.move is None
    assert result.error is not None
    assert result.error.startswith("get_step returned ")
    assert "which cannot be sent: " in result.error
    assert len(result.error) <= 500
    told, expected = result.problem.splitlines()
    assert result.error in told
    assert expected == ("Expected for hop: a list of squares, the piece's own first, for example [(0, 0), (0, 1)]")


@pytest.mark.parametrize(
    ("game", "example"),
    [
        ("longest_path", "(0, 0)"),
        ("chain_reaction", "(0, 0)"),
        ("pseudo_tonga", "(0, 0)"),
        ("linkage", "('R', (0, 0), (0, 1))"),
        ("a new game", "the contest's rules"),
    ],
)
def test_each_game_has_its_form(game: str, example: str) -> None:
    assert example in thought(None, game).problem


plain = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary()
anything = st.recursive(
    plain, lambda inner: st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(plain, inner), max_leaves=40
)


@given(anything)
def test_nothing_a_bot_returns_makes_its_client_hostile(value: Any) -> None:
    result = thought(value)
    server, client = ends(State.TURN)
    message = getstep.wire.Raised(31, result.error) if result.error else Step(31, result.move)
    server.receive_data(client.send(message))
    assert type(server.next_event()) in CLIENT_MESSAGES


@pytest.mark.parametrize(
    ("wire", "move"),
    [
        (None, None),
        ([3, 4], (3, 4)),
        ([[2, 2], [2, 4]], [(2, 2), (2, 4)]),
        (["R", [0, 0], [0, 1]], ("R", (0, 0), (0, 1))),
        ([], ()),
        ("pass", "pass"),
    ],
)
def test_a_move_from_the_wire_looks_like_one_of_the_bots_own(wire: Any, move: Any) -> None:
    assert as_move(wire) == move
