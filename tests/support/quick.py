"""Parameters that are many: of some the quick tests take a few, and a table of cheap ones is one test."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable
from functools import wraps
from typing import Any, TypeAlias

import pytest

Test: TypeAlias = Callable[..., None]


def quick(values: Iterable[Any], chosen: Collection[Any]) -> list[Any]:
    """Return the values as parameters; those that are not ``chosen`` are for `make test-long`.

    Raises:
        ValueError: a chosen one is not among the values, so that the quick tests would miss it.
    """
    values = list(values)
    if missing := [value for value in chosen if value not in values]:
        raise ValueError(f"{missing} are not among {values}")
    return [value if value in chosen else pytest.param(value, marks=pytest.mark.long) for value in values]


def each(names: str | tuple[str, ...], cases: Iterable[Any], ids: Iterable[Any] = ()) -> Callable[[Test], Test]:
    """Run a test for all cases of a table, as one test; all failures are shown, each with its case.

    Use it in place of `pytest.mark.parametrize`, which takes the same arguments, for dozens of cheap cases: a test
    of its own takes 4 ms for each case, in the process that runs it, in that which hands it out, and in all that
    collect it. Fixtures are shared by the cases.
    """
    keys = (names,) if isinstance(names, str) else names
    table = [case if len(keys) > 1 else (case,) for case in cases]
    labels = [str(label) for label in ids]

    def decorate(test: Test) -> Test:
        @wraps(test)
        def run_all(**fixtures: Any) -> None:
            failures: list[BaseException] = []
            for number, case in enumerate(table):
                try:
                    test(**fixtures, **dict(zip(keys, case, strict=True)))
                except (Exception, pytest.fail.Exception) as error:
                    error.add_note(f"case {number}: {labels[number] if labels else repr(case)[:500]}")
                    failures.append(error)
            assert table, "the table has no cases"
            if failures:
                raise BaseExceptionGroup(f"{len(failures)} of {len(table)} cases failed", failures)

        # pytest gives values to the parameters that are left: fixtures, and those of other tables.
        signature = inspect.signature(test)
        left = [parameter for name, parameter in signature.parameters.items() if name not in keys]
        run_all.__signature__ = signature.replace(parameters=left)  # type: ignore[attr-defined]  # pytest reads it
        return run_all

    return decorate
