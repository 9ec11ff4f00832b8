"""Each limit is held by a test: it fails when the limit is taken away. See `tests.support.limits_removed`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.limits_removed import ALL_SECONDS, REMOVED, Scratch, holding

pytestmark = pytest.mark.long


@pytest.fixture(scope="session")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scratch]:
    """A copy of the project in which the tests pass: else a limit would seem to be held whatever is removed."""
    made = Scratch(tmp_path_factory.mktemp("limits-removed"))
    assert made.failing(holding(REMOVED), ALL_SECONDS) is None
    yield made
    made.close()


@pytest.mark.parametrize("name", REMOVED)
def test_a_test_fails_without_the_limit(scratch: Scratch, name: str) -> None:
    failed = scratch.without(name)
    print(f"{name}: {failed}")
    assert failed is not None
