"""A bot in C++ that crashes says in which move; tests/windows has the same for Windows."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.support.languages import compile_cpp, need
from tests.support.patience import PATIENCE_SECONDS

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
    program = compile_cpp(source(tmp_path, crash), flags)
    ran = subprocess.run([str(program)], capture_output=True, text=True, timeout=PATIENCE_SECONDS)
    assert ran.stderr.startswith("getstep: the bot crashed in match 3, move 7 (SIG")
    assert ran.returncode < 0
