"""The JSON of records: the bytes that are hashed, and texts that are refused."""

from __future__ import annotations

from typing import Any

import pytest

from getstep_server.json_text import JsonError, decode, encode
from tests.support.records import compact


@pytest.mark.parametrize(
    "value",
    [
        {"player": 1, "move": [[2, 2], [2, 3]], "ms": 0.123, "away": True, "scores": None},
        [0, -1, 2**63, 2**64 - 1, -(2**63), 0.1, 1.0, -0.0, 0.001, 123456.789],
        "".join(map(chr, range(0x20, 0x3000))),
        "\ud7ff\ue000\ufffe\U0001f3c6\U0010ffff",
    ],
    ids=["turn", "numbers", "letters", "beyond"],
)
def test_the_bytes_are_those_that_older_versions_have_hashed(value: Any) -> None:
    assert encode(value) == compact(value)
    assert decode(encode(value)) == value


def test_control_characters_are_escaped_as_older_versions_did() -> None:
    assert encode('\x00\x08\t\n\x0b\x0c\r\x1f"\\/\x7f') == b'"\\u0000\\b\\t\\n\\u000b\\f\\r\\u001f\\"\\\\/\x7f"'


def test_tiny_numbers_are_written_as_older_versions_did() -> None:
    assert encode([1e-5, 5e-324, 1e15]) == b"[0.00001,5e-324,1000000000000000.0]"


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_is_no_number_is_null(value: float) -> None:
    assert encode(value) == b"null"


@pytest.mark.parametrize(
    "text",
    [b"", b"[", b"[1,]", b"{'a':1}", b"nan", b"1e999", b"1 2", b'"\xff"', b'"\\ud800"', b"9" * 5000, b"[" * 60_000],
)
def test_what_is_not_json_is_refused(text: bytes) -> None:
    with pytest.raises(JsonError):
        decode(text)


@pytest.mark.parametrize(("opening", "closing"), [(b"[", b"]"), (b'{"a":', b"}")])
def test_a_text_may_be_nested_254_deep_and_no_more(opening: bytes, closing: bytes) -> None:
    for depth, wide in ((254, b""), (254, b"," + b"[]," * 300 + b"0")):
        text = b"[" * bool(wide) + opening * (depth - bool(wide)) + b"0" + closing * (depth - bool(wide))
        assert decode(text + wide + b"]" * bool(wide))
    with pytest.raises(JsonError, match="more than 254 deep"):
        decode(opening * 255 + b"0" + closing * 255)
    with pytest.raises(JsonError, match="more than 254 deep"):
        decode(b"[" + opening * 254 + closing.join([b"0"] + [b""] * 254) + b",0]")


@pytest.mark.parametrize("value", ["\ud800", object(), {None: 1}])
def test_a_value_without_json_is_refused(value: object) -> None:
    with pytest.raises((TypeError, ValueError)):
        encode(value)
