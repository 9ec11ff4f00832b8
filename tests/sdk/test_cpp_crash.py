"""A bot in C++ that crashes says in which move, on Linux and, where Wine and mingw are installed, on Windows."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from getstep.languages import LANGUAGES
from tests.support.languages import compile_cpp, need
from tests.support.patience import PATIENCE_SECONDS

MINGW = "x86_64-w64-mingw32-g++"
CRASHES = {
    "memory": "return *static_cast<volatile int*>(nullptr);",
    "recursion": "volatile char block[4096]; block[0] = 1; return crash(depth + 1) + block[0];",
    "abort": "std::abort();",
}
PROGRAM = """
#include "getstep.hpp"
static int crash(int depth) {{ {crash} }}
int main() {{
    getstep::detail::install_signal_handlers(false);
    std::strcpy(getstep::detail::current_turn(), "match 3, move 7");
    return crash(1);
}}
"""


def source(folder: Path, crash: str) -> Path:
    path = folder / f"{crash}.cpp"
    path.write_text(PROGRAM.format(crash=CRASHES[crash]))
    return path


@pytest.mark.long
@pytest.mark.parametrize("crash", CRASHES)
def test_a_crash_names_the_move(crash: str, tmp_path: Path) -> None:
    need("g++")
    flags = ["-O0", "-Wno-unused-parameter", "-Wno-infinite-recursion", "-Wno-return-type", "-Wno-null-dereference"]
    program = compile_cpp(source(tmp_path, crash), tmp_path / "bot", flags)
    ran = subprocess.run([str(program)], capture_output=True, text=True, timeout=PATIENCE_SECONDS)
    assert ran.stderr.startswith("getstep: the bot crashed in match 3, move 7 (SIG")
    assert ran.returncode < 0


@pytest.fixture
def wine(tmp_path: Path) -> Iterator[dict[str, str]]:
    """An environment for programs of Windows; its processes end with the test."""
    if not all(map(shutil.which, (MINGW, "wine", "wineserver"))):
        pytest.skip("needs a compiler for Windows, and Wine: apt install g++-mingw-w64-x86-64 wine64")
    environment = {**os.environ, "WINEPREFIX": str(tmp_path / "wine"), "WINEDEBUG": "-all"}
    yield environment
    subprocess.run(["wineserver", "-k"], env=environment, timeout=PATIENCE_SECONDS)


@pytest.mark.long
@pytest.mark.parametrize("crash", CRASHES)
def test_a_crash_on_windows_names_the_move(crash: str, tmp_path: Path, wine: dict[str, str]) -> None:
    program = tmp_path / "bot.exe"
    include = f"-I{LANGUAGES['cpp'].folder}"
    build = [
        MINGW,
        "-std=c++17",
        "-O0",
        "-static",
        include,
        "-o",
        str(program),
        str(source(tmp_path, crash)),
        "-lws2_32",
    ]
    subprocess.run(build, check=True, capture_output=True)
    ran = subprocess.run(["wine", str(program)], env=wine, capture_output=True, text=True, timeout=PATIENCE_SECONDS)
    assert "getstep: the bot crashed in match 3, move 7 (" in ran.stderr
