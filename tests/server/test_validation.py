"""Models: strict types, every mistake with its place, and the second walk finds what the conversion refuses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET, Meta, UnsetType

from getstep_server.validation import Check, Mistake, Model, ValidationError, mistakes_in, validated, wrong


def _check_small(text: str) -> None:
    if text != text.lower():
        raise ValueError("small letters")


class Part(Model, frozen=True, kw_only=True, forbid_unknown_fields=True):
    n: Annotated[int, Meta(ge=1, lt=9, multiple_of=2)]
    name: Annotated[str, Check(_check_small, min_length=1, max_length=3)] | None = None


class Whole(Model, frozen=True, kw_only=True):
    parts: Annotated[list[Part], Meta(min_length=1, max_length=2)]
    kind: Literal["a", "b"] = "a"
    share: Annotated[float, Meta(gt=0, le=1)] = 1
    on: bool = False
    counts: dict[str, int] = msgspec.field(default_factory=dict)
    pair: tuple[int, str] | None = None
    late: int | UnsetType = UNSET
    more: Any = None

    @classmethod
    def mistakes(cls, fields: Mapping[str, Any]) -> Iterator[Mistake]:
        if fields.get("kind") == "b" and fields.get("share", 0) == 1:
            yield wrong(("share",), fields["share"], "less than 1 with the kind 'b'")


def refusal(data: object) -> list[str]:
    with pytest.raises(ValidationError) as caught:
        validated(Whole, data)
    return list(map(str, caught.value.mistakes))


def test_valid_values_are_converted() -> None:
    whole = validated(Whole, {"parts": [{"n": 2, "name": "x"}], "share": 1, "pair": [1, "x"], "unknown": 5})
    assert whole == Whole(parts=[Part(n=2, name="x")], share=1.0, pair=(1, "x"))
    assert (type(whole.share), whole.late, whole.counts) == (float, UNSET, {})


def test_every_mistake_is_reported_with_its_place() -> None:
    parts: list[object] = [{"n": True, "name": "ABC", "x": 1}, {"name": "long"}, 7]
    assert refusal({"parts": parts, "kind": "c", "share": "1", "on": 1, "counts": {"k": 1.0}, "pair": [1]}) == [
        "parts.0.n is True, expected a valid integer",
        "parts.0.name is 'ABC', expected small letters",
        "parts.0.x is 1, expected no such key",
        "parts.1.n is missing",
        "parts.1.name is 'long', expected a string of at most 3 characters",
        "parts.2 is 7, expected a valid dictionary",
        "parts is [{'n': True, 'name': 'ABC', 'x': 1}, {'name': 'long'}, 7], expected at most 2 items, not 3",
        "kind is 'c', expected 'a' or 'b'",
        "share is '1', expected a valid number",
        "on is 1, expected a valid boolean",
        "counts.k is 1.0, expected a valid integer",
        "pair is [1], expected at least 2 items, not 1",
    ]


@pytest.mark.parametrize(
    ("n", "expected"),
    [(0, "greater than or equal to 1"), (9, "less than 9"), (3, "a multiple of 2"), (None, "a valid integer")],
)
def test_a_bound_is_named(n: object, expected: str) -> None:
    assert refusal({"parts": [{"n": n}]}) == [f"parts.0.n is {n!r}, expected {expected}"]


def test_a_rule_of_several_fields_repeats_the_value_as_it_was_written() -> None:
    assert refusal({"parts": [{"n": 2}], "kind": "b", "share": 1}) == [
        "share is 1, expected less than 1 with the kind 'b'"
    ]


def test_one_mistake_hides_no_rule() -> None:
    assert refusal({"kind": "b"}) == ["parts is missing", "share is 1, expected less than 1 with the kind 'b'"]


def test_checks_and_rules_hold_for_a_model_that_is_built() -> None:
    with pytest.raises(ValueError, match="small letters"):
        Part(n=2, name="ABC")
    with pytest.raises(ValidationError, match=r"^share is 1, expected less than 1"):
        Whole(parts=[], kind="b")
    with pytest.raises(ValidationError, match=r"^share is 1, expected less than 1"):
        msgspec.structs.replace(Whole(parts=[]), kind="b")


def test_an_endless_value_is_shortened() -> None:
    (told,) = refusal({"parts": [{"n": "x" * 10**6}]})
    assert len(told) < 150
    (told,) = refusal({"parts": [{"n": 10**5000}]})
    assert told == "parts.0.n is a number with too many digits, expected less than 9"


NUMBERS = st.integers(-1, 10) | st.sampled_from([0.0, 0.5, 1.0, 2.0])
PLAIN = st.none() | st.booleans() | NUMBERS | st.text("abB", max_size=4)
PARTS = st.dictionaries(st.sampled_from(["n", "name", "x"]), PLAIN, max_size=3)
TABLES = st.dictionaries(st.sampled_from(["k", "n"]), PLAIN, max_size=2)
VALUES = PLAIN | st.lists(PARTS | PLAIN, max_size=3) | TABLES


@given(st.dictionaries(st.sampled_from(Whole.__struct_fields__), VALUES, max_size=5) | VALUES)
def test_the_second_walk_finds_a_mistake_if_and_only_if_the_conversion_does(data: object) -> None:
    try:
        msgspec.convert(data, Whole)
    except msgspec.ValidationError:
        assert mistakes_in(Whole, data)
    else:
        assert mistakes_in(Whole, data) == []
