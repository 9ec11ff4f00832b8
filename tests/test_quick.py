"""A table that is one test: it runs every case, and a failure names its cases."""

from __future__ import annotations

import inspect

import pytest

from tests.support.quick import each


def test_tables_may_be_inside_each_other_and_leave_the_fixtures() -> None:
    seen: list[tuple[int, int, str]] = []

    @each("extra", [0, 1])
    @each(("left", "right"), [(2, 3), (0, 5)])
    def checks(left: int, right: int, extra: int, fixture: str) -> None:
        seen.append((left * right, extra, fixture))

    assert list(inspect.signature(checks).parameters) == ["fixture"]
    checks(fixture="f")
    assert seen == [(6, 0, "f"), (0, 0, "f"), (6, 1, "f"), (0, 1, "f")]


def test_each_case_is_run_and_each_failure_is_named() -> None:
    run: list[int] = []

    @each("number", [4, -1, 0, -2], ids=["four", "minus one", "zero", "minus two"])
    def checks(number: int) -> None:
        run.append(number)
        if number == 0:
            with pytest.raises(ValueError, match="nothing"):
                pass
        assert number > 0

    with pytest.raises(BaseExceptionGroup, match="3 of 4 cases failed") as caught:
        checks()
    assert run == [4, -1, 0, -2]
    assert [error.__notes__ for error in caught.value.exceptions] == [
        ["case 1: minus one"],
        ["case 2: zero"],
        ["case 3: minus two"],
    ]


def test_a_table_without_cases_fails() -> None:
    @each("number", [])
    def checks(number: int) -> None: ...

    with pytest.raises(AssertionError, match="no cases"):
        checks()
