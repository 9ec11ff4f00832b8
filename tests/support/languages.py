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
    pytest.param(Driver("javascript", ("node", "nodejs"), _javascript), id="javascript"),
    pytest.param(Driver("cpp", ("g++", "g++"), _cpp), id="cpp", marks=pytest.mark.long),  # 10 s to compile
    pytest.param(Driver("java", ("javac", "default-jdk-headless"), _java), id="java", marks=pytest.mark.long),
    pytest.param(Driver("csharp", ("mcs", "mono-mcs mono-runtime"), _csharp), id="csharp", marks=pytest.mark.long),
]
