"""The package `getstep`: its public names, which are imported when they are first used."""

from __future__ import annotations

import subprocess
import sys

import pytest

import getstep
from tests.support.patience import PATIENCE_SECONDS


def test_the_wire_loads_no_client() -> None:
    program = "import sys, getstep.wire; print(*sys.modules)"
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=PATIENCE_SECONDS
    )
    assert "getstep.client.client" not in ran.stdout.split()


@pytest.mark.parametrize("name", getstep.__all__)
def test_every_public_name_is_there_and_listed(name: str) -> None:
    assert getattr(getstep, name) is not None
    assert name in dir(getstep)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"^module 'getstep' has no attribute 'paly'$"):
        getstep.paly  # type: ignore[attr-defined]  # noqa: B018 - the attribute is what is tested
