"""How the program of each language is built and started."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from getstep.languages import LANGUAGES

HERE = Path(__file__).parent
CPP_FLAGS = ("-std=c++17", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror", "-pthread")
SANITIZED = ("-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")


@dataclass(frozen=True)
class Driver:
    """The program of one language.

    Args:
        language: a name in `LANGUAGES`.
        tool: the program that it needs, and what to install for it.
        build: builds it in a folder, and returns its command.
    """

    language: str
    tool: tuple[str, str]
    build: Callable[[Path], list[str]]

    def need(self) -> None:
        """Skip the test if the tool is missing; fail in CI, where it must not be left out."""
        need(*self.tool)


def need(tool: str, package: str) -> None:
    """Skip the test if a program is missing; fail in CI, where it must not be left out."""
    if shutil.which(tool) is None:
        reason = f"needs {tool}: apt install {package}"
        if os.environ.get("GETSTEP_REQUIRE_BROWSER"):
            pytest.fail(reason)
        pytest.skip(reason)


def compile_cpp(source: Path, program: Path, flags: Sequence[str] = SANITIZED) -> Path:
    """Compile a program in C++, with the SDK's header in its path, and return it."""
    include = f"-I{LANGUAGES['cpp'].folder}"
    ran = subprocess.run(
        ["g++", *CPP_FLAGS, *flags, include, "-o", str(program), str(source)], capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr
    return program


def _cpp(folder: Path) -> list[str]:
    return [str(compile_cpp(HERE / "vectors.cpp", folder / "vectors"))]


def _javascript(_: Path) -> list[str]:
    return ["node", str(HERE / "vectors.mjs"), str(LANGUAGES["javascript"].folder / "getstep.mjs")]


DRIVERS = [
    pytest.param(Driver("javascript", ("node", "nodejs"), _javascript), id="javascript"),
    pytest.param(Driver("cpp", ("g++", "g++"), _cpp), id="cpp", marks=pytest.mark.long),  # 10 s to compile
]
