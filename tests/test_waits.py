"""No test depends on how fast the machine is: hypothesis has no deadline, and every wait has the one bound.

A wait for what has to come ends with it; only a test that hangs reaches the bound (`tests.support.patience`). A
number instead of the bound fails on a machine that is busy for so long.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

TESTS = Path(__file__).parent
FILES = sorted(TESTS.rglob("*.py"))
WAITS = ("fail_after", "wait", "settimeout", "create_connection")
"""Calls that take a bound as an argument."""


def test_no_example_fails_because_it_is_slow() -> None:
    for chosen in (settings(), settings(max_examples=5)):
        assert chosen.deadline is None
        assert HealthCheck.too_slow in chosen.suppress_health_check


def bounds(source: str) -> Iterator[str]:
    """Yield the calls with a number for a bound, and those that give hypothesis a deadline of their own."""
    for call in ast.walk(ast.parse(source)):
        if not isinstance(call, ast.Call):
            continue
        name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        given = [word.value for word in call.keywords if word.arg in ("timeout", "deadline")]
        given += call.args if name in WAITS else []
        if any(isinstance(value, ast.Constant) and type(value.value) in (int, float) for value in given):
            yield f"line {call.lineno}: {ast.unparse(call)}"


def test_no_wait_is_bounded_by_a_number() -> None:
    found = {str(path.relative_to(TESTS)): list(bounds(path.read_text(encoding="utf-8"))) for path in FILES}
    assert {name: calls for name, calls in found.items() if calls} == {}


@pytest.mark.parametrize(
    "line",
    [
        "trio.fail_after(5)",
        "process.wait(0.5)",
        "subprocess.run(command, timeout=30)",
        "settings(deadline=200)",
        "thread.join(timeout=1)",
    ],
)
def test_a_number_is_found(line: str) -> None:
    assert list(bounds(line)) == [f"line 1: {line}"]


@pytest.mark.parametrize(
    "line", ["trio.fail_after(PATIENCE_SECONDS)", "process.wait()", "' '.join(words)", "trio.sleep(5)"]
)
def test_durations_that_are_no_bound_are_ignored(line: str) -> None:
    assert list(bounds(line)) == []
