"""The classic wire (docs/classic.md): the bytes of sent frames and of received answers."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from getstep.wire import CLASSIC_MAX_SQUARES, RemoteProtocolError
from getstep.wire.classic import FRAME, ClassicReader, question_bytes, stop_bytes
from getstep_engines import GAMES
from tests.support.classic_wire import answer_bytes, ints
from tests.support.quick import each

CLASSIC = Path(__file__).parents[2] / "docs" / "classic.md"
LONGEST_ANSWER = 8 + CLASSIC_MAX_SQUARES * 8

Answer = tuple[int, list[tuple[int, int]]]


def example(side: str) -> bytes:
    """Return the bytes of the classic wire's example in docs/classic.md that ``side`` ("S" or "C") says."""
    section = CLASSIC.read_text(encoding="utf-8").partition("## Example")[2]
    block = re.search(r"```text\n(.*?)```", section, re.DOTALL)
    assert block is not None
    turns = re.findall(r"^([SC])((?: .*\n)+)", block[1], re.MULTILINE)
    comments = re.compile(r";.*")
    return b"".join(bytes.fromhex(comments.sub("", text)) for speaker, text in turns if speaker == side)


def reader(data: bytes = b"", *, team: int | None = 7) -> ClassicReader:
    """Return a reader that has taken in ``data``, after a team id unless that is None."""
    made = ClassicReader()
    if team is not None:
        made.feed(ints(team))
    if data:
        made.feed(data)
    return made


def answers(read: ClassicReader) -> Iterator[Answer]:
    """Yield all answers that are there now."""
    while (answer := read.next_answer()) is not None:
        yield answer


# --- what goes out ------------------------------------------------------------------------------------------


def test_the_question_is_the_one_on_the_page() -> None:
    assert question_bytes(1, GAMES["hop"].start().board(), is_black=True) == example("S")


def test_a_question_is_268_bytes_with_distinct_fields() -> None:
    board = [[row * 8 + column for column in range(8)] for row in range(8)]
    data = question_bytes(2**31 - 1, board, is_black=False)
    assert len(data) == FRAME.size == 268
    assert struct.unpack("<67i", data) == (1, 2**31 - 1, *range(64), 0)


def test_the_stop_is_as_long_as_a_question_and_all_zero() -> None:
    assert stop_bytes() == bytes(268)


# --- what comes in ------------------------------------------------------------------------------------------


def test_the_answer_on_the_page_is_a_legal_move() -> None:
    move_id, squares = next(answers(reader(example("C"))))
    assert (move_id, squares) == (1, [(4, 2), (4, 3)])
    assert GAMES["hop"].start().is_legal(squares)


@pytest.mark.parametrize("team", [0, 7, 2**31 - 1, -1, -(2**31)])
def test_the_team_id_comes_first_and_any_number_is_read(team: int) -> None:
    read = reader(ints(team), team=None)
    assert read.team == team
    assert not read.partial


HONEST: dict[str, tuple[bytes, list[Answer]]] = {
    "nothing": (b"", []),
    "a step": (answer_bytes(3, (4, 2), (4, 3)), [(3, [(4, 2), (4, 3)])]),
    "no squares": (answer_bytes(3), [(3, [])]),
    "one square": (answer_bytes(3, (0, 7)), [(3, [(0, 7)])]),
    "the longest path": (answer_bytes(3, *[(7, 7)] * 100), [(3, [(7, 7)] * 100)]),
    "any id": (answer_bytes(-5) + answer_bytes(0), [(-5, []), (0, [])]),
    "coalesced": (
        answer_bytes(3, (1, 1), (1, 2)) + answer_bytes(4) + answer_bytes(5, (0, 0)),
        [(3, [(1, 1), (1, 2)]), (4, []), (5, [(0, 0)])],
    ),
}


@each(("data", "expected"), HONEST.values(), ids=HONEST.keys())
@each("size", [1, 3, 4, 8, 1 << 16])
def test_answers_are_read_however_they_are_cut(data: bytes, expected: list[Answer], size: int) -> None:
    read = ClassicReader()
    found: list[Answer] = []
    stream = ints(7) + data
    for start in range(0, len(stream), size):
        read.feed(stream[start : start + size])
        found += answers(read)
    assert read.team == 7
    assert found == expected
    assert not read.partial


@pytest.mark.parametrize("length", range(1, 24))
def test_a_begun_answer_is_partial_until_its_last_byte(length: int) -> None:
    data = answer_bytes(3, (4, 2), (4, 3))
    assert len(data) == 24
    read = reader(data[:length])
    assert list(answers(read)) == []
    assert read.partial
    read.feed(data[length:])
    assert list(answers(read)) == [(3, [(4, 2), (4, 3)])]
    assert not read.partial


@pytest.mark.parametrize("length", [1, 2, 3])
def test_a_begun_team_id_is_partial_and_nothing_else(length: int) -> None:
    read = reader(ints(7)[:length], team=None)
    assert read.team is None
    assert read.next_answer() is None
    assert read.partial


HOSTILE: dict[str, tuple[bytes, str]] = {
    "a count of -1": (ints(-1, 3), "-1 squares, expected 0 to 100"),
    "the lowest count": (ints(-(2**31), 3), "-2147483648 squares"),
    "a count of 101": (ints(101, 3), "101 squares"),
    "the highest count": (ints(2**31 - 1, 3), "2147483647 squares"),
    "text": (b"GET / HTTP/1.1\r\n\r\n", "542393671 squares"),
    "a row of 8": (ints(2, 3, 8, 0, 0, 0), "the square (8, 0), expected 0 to 7"),
    "a column of 8": (ints(2, 3, 0, 0, 0, 8), "the square (0, 8), expected 0 to 7"),
    "a row of -1": (ints(1, 3, -1, 0), "the square (-1, 0)"),
    "a column of -1": (ints(1, 3, 0, -1), "the square (0, -1)"),
    "the highest column": (ints(1, 3, 0, 2**31 - 1), "the square (0, 2147483647)"),
}


@pytest.mark.parametrize(("data", "detail"), HOSTILE.values(), ids=HOSTILE.keys())
def test_numbers_out_of_range_are_a_bad_field(data: bytes, detail: str) -> None:
    with pytest.raises(RemoteProtocolError) as caught:
        list(answers(reader(data)))
    assert caught.value.code == "bad_field"
    assert detail in caught.value.detail


def test_a_count_out_of_range_is_refused_before_its_squares_come() -> None:
    read = reader(ints(101))
    assert read.next_answer() is None, "the count alone is half a header"
    read.feed(ints(3))
    with pytest.raises(RemoteProtocolError, match="101 squares"):
        read.next_answer()


def test_the_answers_before_a_hostile_one_are_not_lost() -> None:
    read = reader(answer_bytes(3, (4, 2), (4, 3)) + ints(-1, 4))
    assert read.next_answer() == (3, [(4, 2), (4, 3)])
    with pytest.raises(RemoteProtocolError, match="-1 squares"):
        read.next_answer()


junk = st.one_of(
    st.binary(max_size=64),
    st.lists(st.integers(-2, 9), max_size=40).map(lambda numbers: ints(*numbers)),  # gets past the counts
)


@given(st.lists(junk))
def test_arbitrary_bytes_give_answers_in_range_or_a_bad_field(chunks: list[bytes]) -> None:
    read = ClassicReader()
    for chunk in chunks:
        read.feed(chunk)
        if is_hostile(read):  # the connection closes, nothing more is fed
            return
        assert held(read) < LONGEST_ANSWER


def is_hostile(read: ClassicReader) -> bool:
    """Take out all answers, check that they are in range, and return True if there was a bad field."""
    try:
        found = list(answers(read))
    except RemoteProtocolError as error:
        return error.code == "bad_field" or pytest.fail(f"another code: {error}")
    for move_id, squares in found:
        assert -(2**31) <= move_id < 2**31
        assert len(squares) <= CLASSIC_MAX_SQUARES
        assert all(0 <= row < 8 and 0 <= column < 8 for row, column in squares)
    return False


path = st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=CLASSIC_MAX_SQUARES)
answer_lists = st.lists(st.tuples(st.integers(-(2**31), 2**31 - 1), path), max_size=4)


@given(answer_lists, st.data())
def test_honest_answers_come_through_every_cut(said: list[Answer], data: st.DataObject) -> None:
    stream = ints(7) + b"".join(answer_bytes(move_id, *squares) for move_id, squares in said)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    read = ClassicReader()
    found: list[Answer] = []
    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        read.feed(stream[start:end])
        found += answers(read)
        assert held(read) < LONGEST_ANSWER
    assert found == said
    assert not read.partial


def held(read: ClassicReader) -> int:
    """Return the number of bytes that a reader keeps."""
    return len(read._buffer)
