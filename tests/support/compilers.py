"""Compilers and runtimes of other languages, which a machine may lack.

A test that needs one calls `need`. Without it the test is skipped, and the end of the run says what to install. CI
sets `GETSTEP_REQUIRE_BROWSER`, which makes that a failure.
"""

from __future__ import annotations

import os
import shutil

import pytest

REQUIRED = "GETSTEP_REQUIRE_BROWSER"
PACKAGES = {
    "g++": "g++",
    "gcc": "gcc",
    "go": "golang-go",
    "javac": "default-jdk-headless",
    "java": "default-jre-headless",
    "mcs": "mono-mcs",
    "mono": "mono-runtime",
    "node": "nodejs",
}
"""The tools, and the package of Debian and Ubuntu that has each."""


def missing() -> list[str]:
    """Return the tools that are not installed."""
    return [tool for tool in PACKAGES if shutil.which(tool) is None]


def need(*tools: str) -> None:
    """Skip this test if one of the tools is not installed; fail it in CI."""
    absent = [tool for tool in tools if shutil.which(tool) is None]
    if not absent:
        return
    why = f"needs {', '.join(absent)}: {install(absent)}"
    if os.environ.get(REQUIRED):
        pytest.fail(f"{REQUIRED} is set, and this {why}")
    pytest.skip(why)


def install(tools: list[str]) -> str:
    """Return the command that installs tools."""
    return f"apt install {' '.join(sorted({PACKAGES[tool] for tool in tools}))}"
