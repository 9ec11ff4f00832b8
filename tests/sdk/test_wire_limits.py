"""Every bound of the wire with its own number: the most that may be is taken, and one more is not.

The numbers stand here as they are, and not by their names: who takes a bound away has to come by.
"""

from __future__ import annotations

import struct
from dataclasses import replace
from typing import Any

import msgpack
import pytest

from getstep.wire import (
    Goodbye,
    Hello,
    Join,
    MalformedAnswer,
    Message,
    Raised,
    RemoteProtocolError,
    Start,
    State,
    Step,
    _frames,
    checked_notes,
)
from tests.support.conversations import SAMPLES, ends, framed, hearer

QUESTION = SAMPLES[Step].to_fields()["id"]


def said(cls: type[Message], **fields: Any) -> bytes:
    """Return a frame of one of our samples, with fields changed."""
    return framed(msgpack.packb(SAMPLES[cls].to_fields() | fields))


def moved(move: Any) -> bytes:
    return framed(msgpack.packb({"type": "step", "id": QUESTION, "move": move}))


def nested(depth: int) -> Any:
    """``depth`` arrays inside each other."""
    return [nested(depth - 1)] if depth > 1 else []


def with_length(length: int) -> bytes:
    """Return a move in a frame whose body has ``length`` bytes, about 4,096 of them."""
    texts = ["x" * 1900, "y" * 1950, "z" * 100]
    texts[2] += "z" * (length - len(moved(texts)) + 4)
    return moved(texts)


def joining(length: int) -> bytes:
    """Return a join with a key of a later version, in a frame whose body has ``length`` bytes."""
    return said(Join, later="x" * (length - len(said(Join, later="x" * 300)) + 304))


BOUNDS: dict[str, tuple[type[Message], bytes, bytes, str]] = {
    # the receiver, a value at the limit, one above it, the code
    "a client's frame": (Step, with_length(4096), with_length(4097), "oversize_frame"),
    "a frame before the login": (Join, joining(512), joining(513), "oversize_frame"),
    "depth": (Step, moved(nested(7)), moved(nested(8)), "too_deep"),
    "an array": (Step, moved([0] * 128), moved([0] * 129), "too_large"),
    "a map": (
        Step,
        moved(dict.fromkeys(map(str, range(32)))),
        moved(dict.fromkeys(map(str, range(33)))),
        "too_large",
    ),
    "a string": (Step, moved("x" * 2000), moved("x" * 2001), "too_large"),
    "a name": (Join, said(Join, client="é" * 64), said(Join, client="é" * 65), "bad_field"),
    "a team": (Join, said(Join, team=2**31 - 1), said(Join, team=2**31), "bad_field"),
    "a version": (Join, said(Join, version=2**31 - 1), said(Join, version=2**31), "bad_field"),
    "a time": (Goodbye, said(Goodbye, retry_ms=86_400_000), said(Goodbye, retry_ms=86_400_001), "bad_field"),
}


@pytest.mark.parametrize(("cls", "most", "more", "code"), BOUNDS.values(), ids=BOUNDS)
def test_one_more_is_too_much(cls: type[Message], most: bytes, more: bytes, code: str) -> None:
    listener = hearer(cls)
    listener.receive_data(most)
    assert isinstance(listener.next_event(), cls)
    listener = hearer(cls)
    listener.receive_data(more)
    with pytest.raises(RemoteProtocolError) as caught:
        listener.next_event()
    assert caught.value.code == code


NOTES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {  # the most that is kept, and what is left out
    "say": ({"say": "x" * 1000}, {"say": "x" * 1001}),
    "drawings": ({"draw": [["mark", [0, 0], None, None]] * 64}, {"draw": [["mark", [0, 0], "+", None]] * 65}),
    "squares": ({"draw": [["mark", [0] * 128, None, None]]}, {"draw": [["mark", [0] * 130, None, None]]}),
    "arrow": ({"draw": [["arrow", [0] * 32, None, None]]}, {"draw": [["arrow", [0] * 34, None, None]]}),
    "coordinate": ({"draw": [["mark", [127, 0], None, None]]}, {"draw": [["mark", [128, 0], None, None]]}),
    "label": ({"draw": [["mark", [0, 0], "é" * 8, None]]}, {"draw": [["mark", [0, 0], "é" * 9, None]]}),
    "tags": ({"tags": list("abcdefgh")}, {"tags": list("abcdefghi")}),
    "tag": ({"tags": ["x" * 24]}, {"tags": ["x" * 25]}),
    "output": ({"output": "é" * 1000}, {"output": "é" * 1001}),
}


@pytest.mark.parametrize(("most", "more"), NOTES.values(), ids=NOTES)
def test_of_notes_one_more_is_left_out(most: dict[str, Any], more: dict[str, Any]) -> None:
    assert checked_notes(most) == most
    assert checked_notes(more) in ({}, {key: value[:-1] for key, value in more.items() if len(value) in (65, 9)})


def test_the_longest_join_stays_below_the_login_limit() -> None:
    longest = Join(
        version=2**31 - 1, team=2**31 - 1, mac="f" * 64, client="\U0001f3b2" * 64, purpose="check", nonce="f" * 32
    )
    client = ends(State.LOGIN)[1]
    assert len(client.send(longest)) <= 512 - 64, "there has to be room for a key of a later version"


@pytest.mark.parametrize("state", [State.LOGIN, State.DECIDING])
def test_a_long_frame_before_the_login_is_not_decoded(state: State, monkeypatch: pytest.MonkeyPatch) -> None:
    listener, _ = ends(state)
    monkeypatch.delattr(_frames, "decode")
    listener.receive_data(framed(msgpack.packb({"type": "step", "id": 1, "move": [[0] * 29] * 128})[:4096]))
    with pytest.raises(RemoteProtocolError, match=r"^oversize_frame: a frame of 4096 bytes, expected at most 512$"):
        listener.next_event()


def test_a_servers_frame_is_refused_by_its_header() -> None:
    listener = hearer(Hello)
    listener.receive_data(struct.pack(">I", 16384) + b"\x81")
    assert listener.mid_frame
    listener.next_event()
    listener = hearer(Hello)
    listener.receive_data(struct.pack(">I", 16385))
    with pytest.raises(RemoteProtocolError, match="expected at most 16384"):
        listener.next_event()


def test_a_text_of_one_character_more_is_a_fault() -> None:
    for length, kind in [(500, Raised), (501, MalformedAnswer)]:
        listener = hearer(Raised)
        listener.receive_data(said(Raised, id=listener.question, error="é" * length))
        assert isinstance(listener.next_event(), kind)


def test_an_opening_of_one_move_more_is_refused() -> None:
    start = SAMPLES[Start]
    assert isinstance(start, Start)
    assert replace(start, opening=[[0, 0]] * 20).opening
    with pytest.raises(ValueError, match=r"opening is .*, expected 1 to 20 moves"):
        replace(start, opening=[[0, 0]] * 21)
    with pytest.raises(ValueError, match="expected 1 to 20 moves"):
        replace(start, opening=[])
