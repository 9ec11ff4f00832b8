"""How the program of each language is built and started."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from tempfile import mkdtemp

import pytest

from getstep.languages import LANGUAGES
from getstep_server.file_lock import lock

HERE = Path(__file__).parents[1] / "sdk" / "languages"
CPP_FLAGS = ("-std=c++17", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror", "-pthread")
QUICK_START = ("-Xshare:auto", "-XX:TieredStopAtLevel=1")
"""Options of a Java program that ends soon: less compiling."""

SANITIZED = ("-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")


@dataclass(frozen=True)
class Driver:
    """The program of one language.

    Args:
        language: a name in `LANGUAGES`.
        tools: the programs that it needs.
        build: builds it, and returns its command.
    """

    language: str
    tools: tuple[str, ...]
    build: Callable[[], list[str]]

    def need(self) -> None:
        """Skip the test if a tool is missing; fail in CI, where it must not be left out."""
        need(*self.tools)


BUILDS = "GETSTEP_TEST_BUILDS"
"""The variable with the folder of what this run of the tests has compiled; see tests/conftest.py."""


def compile_cpp(source: Path, flags: Sequence[str] = SANITIZED, libraries: Sequence[str] = ()) -> Path:
    """Compile a program in C++, with the SDK's header in its path, and return it."""
    sdk = Path(str(LANGUAGES["cpp"].folder))
    command = ["g++", *CPP_FLAGS, *flags, f"-I{sdk}", "-o", "{made}/program", str(source), *libraries]
    return _compiled(command, source, sdk / "getstep.hpp") / "program"


def compile_java(source: Path) -> Path:
    """Compile a program in Java, with the SDK, and return the folder of its classes."""
    sdk = Path(str(LANGUAGES["java"].folder), "Getstep.java")
    command = ["javac", "-Xlint:all", "-Werror", "--release", "11", "-d", "{made}", str(sdk), str(source)]
    return _compiled(command, source, sdk)


def compile_csharp(source: Path) -> Path:
    """Compile a program in C#, with the SDK, and return it. mcs knows most of C# 7.3, which it calls 7.2."""
    sdk = Path(str(LANGUAGES["csharp"].folder), "Getstep.cs")
    options = ["-langversion:7.2", "-warn:4", "-warnaserror", "-optimize", "-out:{made}/program.exe"]
    return _compiled(["mcs", *options, str(source), str(sdk)], source, sdk) / "program.exe"


def _compiled(command: Sequence[str], *files: Path) -> Path:
    """Return the folder ``{made}`` of a command that compiles files, which runs once in a run of the tests.

    Each compiler takes 3 to 9 s, and tests of the same bot are spread over all processes.
    """
    words = [word for word in command if Path(word) not in files]  # tests write the same source into many folders
    parts = [
        json.dumps(words).encode(),
        *(part for file in files for part in (file.name.encode(), file.read_bytes())),
    ]
    made = Path(os.environ[BUILDS], sha256(b"".join(sha256(part).digest() for part in parts)).hexdigest())
    with made.with_suffix(".lock").open("w") as held:
        while not _locked(held.fileno()):
            time.sleep(0.05)
        if not made.exists():
            folder = mkdtemp(dir=made.parent)
            ran = subprocess.run(
                [word.replace("{made}", folder) for word in command], capture_output=True, text=True
            )
            assert ran.returncode == 0, ran.stdout + ran.stderr
            Path(folder).rename(made)
    return made


def _locked(file: int) -> bool:
    try:
        lock(file)
    except OSError:
        return False
    return True


def _cpp() -> list[str]:
    return [str(compile_cpp(HERE / "vectors.cpp"))]


def _javascript() -> list[str]:
    return ["node", str(HERE / "vectors.mjs"), str(LANGUAGES["javascript"].folder / "getstep.mjs")]


def _java() -> list[str]:
    return ["java", *QUICK_START, "-cp", str(compile_java(HERE / "Vectors.java")), "Vectors"]


def _csharp() -> list[str]:
    return ["mono", str(compile_csharp(HERE / "Vectors.cs"))]


DRIVERS = [
    pytest.param(Driver("javascript", ("node",), _javascript), id="javascript"),
    pytest.param(Driver("cpp", ("g++",), _cpp), id="cpp", marks=pytest.mark.long),  # 10 s to compile
    pytest.param(Driver("java", ("javac",), _java), id="java", marks=pytest.mark.long),
    pytest.param(Driver("csharp", ("mcs", "mono"), _csharp), id="csharp", marks=pytest.mark.long),
]


# --- compilers and runtimes of other languages, which a machine may lack ----------------------------------------

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
    "wine": "wine wine64",
    "x86_64-w64-mingw32-g++": "g++-mingw-w64-x86-64-posix",
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


COMPILERS = {
    "cpp": ("g++",),
    "java": ("javac",),
    "csharp": ("mcs", "mono"),
    "javascript": ("node",),
}
"""The tools that a bot of each SDK needs."""


def of_sdk(name: str, bot: str, *, optimized: bool = False, tls: bool = False) -> list[str]:
    """Build a bot of the SDK's folder ``bots``, and return the command that starts it; ``tls``: with OpenSSL."""
    need(*COMPILERS[name])
    if name in ("java", "csharp"):  # whose files have the names of their classes
        bot = bot.title().replace("_", "")
    source = Path(str(LANGUAGES[name].folder)) / "bots" / f"{bot}{LANGUAGES[name].suffix}"
    if name == "javascript":
        return ["node", str(source)]
    if name == "csharp":
        return ["mono", str(compile_csharp(source))]
    if name == "java":
        return ["java", *QUICK_START, "-cp", str(compile_java(source)), bot]
    level = "-O2" if optimized else "-O0"  # 8 s of compiling, or 4
    flags = [level, "-Wno-conversion", "-Wno-sign-conversion", *(["-DGETSTEP_TLS"] if tls else [])]
    return [str(compile_cpp(source, flags, ["-lssl", "-lcrypto"] if tls else []))]


# --- the example programs of the conventions, and the tools that each language needs ----------------------------

EXAMPLES = Path(__file__).parents[2] / "bots" / "programs"
TOOLS = {".cpp": ("g++",), ".java": ("javac", "java"), ".cs": ("mcs", "mono")}
SUFFIXES = (".py", *TOOLS)
STEM = {"topcoder": {".py": "pseudo_tonga"} | dict.fromkeys(TOOLS, "PseudoTonga")}


def example(convention: str, language: str) -> Path:
    folder = EXAMPLES / convention.replace("-", "_")
    stem = "Example" if language in (".java", ".cs") else "example"
    return folder / f"{STEM.get(convention, {}).get(language, stem)}{language}"
