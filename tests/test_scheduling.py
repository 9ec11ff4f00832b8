"""Which tests run in one process when there are several."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import APART, TOGETHER, scope_of

ROOT = Path(__file__).parents[1]


def test_the_modules_that_stay_together_exist() -> None:
    for module in TOGETHER:
        assert (ROOT / module).is_file()
        assert scope_of(f"{module}::test_one[a::b]") == scope_of(f"{module}::test_other") == module


def test_the_parameters_of_other_tests_run_in_one_process() -> None:
    assert scope_of("tests/test_waits.py::test_a[::1]") == scope_of("tests/test_waits.py::test_a[b]")
    assert scope_of("tests/test_waits.py::test_a[::1]") != scope_of("tests/test_waits.py::test_b[::1]")


@pytest.mark.parametrize("place", APART)
def test_parameters_that_take_long_run_wherever_there_is_time(place: str) -> None:
    assert (ROOT / place).exists()
    assert scope_of(f"{place}::test_a[1]") != scope_of(f"{place}::test_a[2]")
