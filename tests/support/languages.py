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
        build: builds it in a folder, and returns its command.
    """

    language: str
    tools: tuple[str, ...]
    build: Callable[[Path], list[str]]

    def need(self) -> None:
        """Skip the test if a tool is missing; fail in CI, where it must not be left out."""
        need(*self.tools)


def compile_cpp(source: Path, program: Path, flags: Sequence[str] = SANITIZED) -> Path:
    """Compile a program in C++, with the SDK's header in its path, and return it."""
    include = f"-I{LANGUAGES['cpp'].folder}"
    ran = subprocess.run(
        ["g++", *CPP_FLAGS, *flags, include, "-o", str(program), str(source)], capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr
    return program


def compile_java(source: Path, folder: Path) -> None:
    """Compile a program in Java, with the SDK, into a folder."""
    sdk = str(LANGUAGES["java"].folder / "Getstep.java")
    command = ["javac", "-Xlint:all", "-Werror", "--release", "11", "-d", str(folder), sdk, str(source)]
    ran = subprocess.run(command, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr


def compile_csharp(source: Path, program: Path) -> Path:
    """Compile a program in C#, with the SDK, and return it. mcs knows most of C# 7.3, which it calls 7.2."""
    sdk = str(LANGUAGES["csharp"].folder / "Getstep.cs")
    command = [
        "mcs",
        "-langversion:7.2",
        "-warn:4",
        "-warnaserror",
        "-optimize",
        f"-out:{program}",
        str(source),
        sdk,
    ]
    ran = subprocess.run(command, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return program


def _cpp(folder: Path) -> list[str]:
    return [str(compile_cpp(HERE / "vectors.cpp", folder / "vectors"))]


def _javascript(_: Path) -> list[str]:
    return ["node", str(HERE / "vectors.mjs"), str(LANGUAGES["javascript"].folder / "getstep.mjs")]


def _java(folder: Path) -> list[str]:
    compile_java(HERE / "Vectors.java", folder)
    return ["java", *QUICK_START, "-cp", str(folder), "Vectors"]


def _csharp(folder: Path) -> list[str]:
    return ["mono", str(compile_csharp(HERE / "Vectors.cs", folder / "vectors.exe"))]


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


def of_sdk(name: str, bot: str, folder: Path) -> list[str]:
    """Build a bot of the SDK's folder ``bots``, and return the command that starts it."""
    need(*COMPILERS[name])
    if name in ("java", "csharp"):  # whose files have the names of their classes
        bot = bot.title().replace("_", "")
    source = Path(str(LANGUAGES[name].folder)) / "bots" / f"{bot}{LANGUAGES[name].suffix}"
    if name == "javascript":
        return ["node", str(source)]
    if name == "csharp":
        return ["mono", str(compile_csharp(source, folder / f"{bot}.exe"))]
    if name == "java":
        compile_java(source, folder / "classes")
        return ["java", *QUICK_START, "-cp", str(folder / "classes"), bot]
    return [str(compile_cpp(source, folder / bot, ["-O2", "-Wno-conversion", "-Wno-sign-conversion"]))]


# --- the example programs of the conventions, and the tools that each language needs ----------------------------

EXAMPLES = Path(__file__).parents[2] / "bots" / "programs"
TOOLS = {".cpp": ("g++",), ".java": ("javac", "java"), ".cs": ("mcs", "mono")}
SUFFIXES = (".py", *TOOLS)
STEM = {"topcoder": {".py": "pseudo_tonga"} | dict.fromkeys(TOOLS, "PseudoTonga")}


def example(convention: str, language: str) -> Path:
    folder = EXAMPLES / convention.replace("-", "_")
    stem = "Example" if language in (".java", ".cs") else "example"
    return folder / f"{STEM.get(convention, {}).get(language, stem)}{language}"
