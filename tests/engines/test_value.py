"""Values: immutable objects with named fields, which the games, their looks and their outcomes are."""

from __future__ import annotations

import copy
import pickle
from dataclasses import asdict, fields, replace

import pytest

from getstep_engines import GAMES, Option, Outcome, Region, TimeControl, Touched
from getstep_engines.value import Value


class Point(Value):
    x: int
    y: int = 0


class Named(Point):
    name: str = "origin"


def test_fields_are_given_by_place_and_by_name() -> None:
    assert (Point(1).x, Point(1).y, Point(1, 2).y, Point(y=3, x=1).y) == (1, 0, 2, 3)
    assert (Named(1, 2, "p").name, Named(x=1).name) == ("p", "origin")


@pytest.mark.parametrize(
    ("values", "named", "message"),
    [
        ((), {}, "Point is missing values: x$"),
        ((), {"y": 1}, "Point is missing values: x$"),
        ((1, 2, 3), {}, "Point got 3 values, expected at most 2$"),
        ((1,), {"x": 1}, "Point got a value twice, or one that it does not have: x$"),
        ((1,), {"z": 1}, "Point got a value twice, or one that it does not have: z$"),
    ],
)
def test_wrong_arguments_are_refused(values: tuple[int, ...], named: dict[str, int], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        Point(*values, **named)


def test_a_value_cannot_be_changed() -> None:
    point = Point(1)
    with pytest.raises(AttributeError, match="Point is immutable"):
        point.x = 2  # type: ignore[misc]  # that it cannot is the test
    with pytest.raises(AttributeError, match="Point is immutable"):
        del point.x
    assert point == Point(1)


def test_equal_values_are_of_one_class_with_equal_fields() -> None:
    assert Point(1) == Point(1, 0) != Point(1, 1)
    assert hash(Point(1)) == hash(Point(1, 0))
    assert Point(1) != Named(1)
    assert Point(1) != (1, 0)


def test_a_value_shows_its_fields() -> None:
    assert repr(Outcome(None, (1, 2), "draw")) == "Outcome(winner=None, scores=(1, 2), reason='draw')"
    assert repr(GAMES["hop"]) == "<game hop>"


def test_values_are_copied_and_pickled() -> None:
    for value in (Point(1, 2), TimeControl("budget", 5.0, 1.0), Option("size", 8, 4, 16, 2, "rows")):
        assert pickle.loads(pickle.dumps(value)) == value == copy.deepcopy(value)


def test_values_are_dataclasses_for_the_functions_of_that_module() -> None:
    assert [field.name for field in fields(Touched)] == [*Touched.__match_args__]
    assert fields(Touched)[0] is fields(Touched)[0], "made anew, which takes 0.5 ms"
    assert asdict(Point(1, 2)) == {"x": 1, "y": 2}
    assert replace(Named(1), name="p") == Named(1, 0, "p")
    with pytest.raises(TypeError, match="does not have: z"):
        replace(Point(1), z=1)  # type: ignore[call-arg]  # that it is refused is the test


def test_a_value_may_check_its_fields() -> None:
    with pytest.raises(ValueError, match="increment is -1"):
        TimeControl("budget", 5.0, -1)
    with pytest.raises(ValueError, match="name is ''"):
        Region("", None, ())


def test_patterns_match_the_fields_in_order() -> None:
    match Outcome(1, (0, 3), "won"):
        case Outcome(winner, (_, score), _):
            assert (winner, score) == (1, 3)
