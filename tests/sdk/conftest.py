"""Settings of the tests of the contestant's side."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from getstep.client.discovery import network


@pytest.fixture(scope="session", autouse=True)
def _no_search_of_the_network() -> Iterator[None]:
    """No test may find a contest of somebody else, nor wait for one: a search has no network to ask."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(network, "interfaces", list)
        yield
