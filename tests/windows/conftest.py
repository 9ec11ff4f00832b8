"""One Windows for all tests of this folder; see tests/support/windows.py."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from pathlib import Path

import pytest

from getstep_server.config.contestants_package import write_contestants_package
from tests.support.contests import make_contest
from tests.support.languages import need
from tests.support.windows import COMPILER, Windows

LOG = "GETSTEP_WINDOWS_LOG"
"""The variable with the file for the log of the whole run."""


@pytest.fixture(scope="session")
def windows(tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config) -> Iterator[Windows]:
    """A Windows with Python and the contestants' package, as a contestant installs it."""
    need("wine", COMPILER)
    if platform.machine() != "x86_64":
        # Wine runs programs of its own processor only, and the package index has this CPython for no other one.
        pytest.skip("the Python that carries CPython for Windows is for x86_64")
    folder = tmp_path_factory.mktemp("windows")
    cache = Path(str(pytestconfig.cache.mkdir("windows"))) if pytestconfig.cache else folder
    made = Windows(folder, cache)
    with made.running():
        package = write_contestants_package(make_contest(folder / "contest", on_disk=True))
        done = made.run(
            made.python, "-m", "pip", "install", "--no-index", "--no-warn-script-location", str(package)
        )
        assert done.code == 0, done.output
        yield made
    if os.environ.get(LOG):
        Path(os.environ[LOG]).write_text("\n".join(made.log), encoding="utf-8")
