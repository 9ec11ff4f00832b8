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


def test_starting_a_bot_loads_neither_practice_nor_programs_nor_conventions() -> None:
    program = "import sys, getstep.bot_process.__main__; from getstep import play; print(*sys.modules)"
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=PATIENCE_SECONDS
    )
    heavy = ("local_matches", "programs.program", "programs.start", "conventions", "draw", "replay", "referee")
    found = [name for name in ran.stdout.split() for part in heavy if name.startswith(f"getstep.{part}")]
    assert "getstep.client.client" in ran.stdout.split()
    assert found == []
