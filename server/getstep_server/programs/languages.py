"""The languages of programs: their files, and the tools that a machine needs for them."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from dataclasses import dataclass

OUTPUT = "getstep_program"
"""The name of a compiled program, which no file of its source should have."""


@dataclass(frozen=True)
class Tool:
    """A command that has to be installed. ``install`` is what a host types on Debian or Ubuntu."""

    name: str
    install: str


@dataclass(frozen=True)
class Language:
    """A language.

    Attributes:
        name: for people.
        suffixes: of its source files, in small letters.
        headers: suffixes of files that its source files include.
        tools: the compiler, and what runs its output.
        runs: the first word of a command that runs its programs; empty if they run by themselves.
        wrapper: the file of `getstep.conventions` that calls a class of the TopCoder match, if one is needed.
    """

    name: str
    suffixes: tuple[str, ...]
    headers: tuple[str, ...] = ()
    tools: tuple[Tool, ...] = ()
    runs: str = ""
    wrapper: str = ""


GPP = Tool("g++", "apt install g++")
GCC = Tool("gcc", "apt install gcc libc6-dev")
JAVAC = Tool("javac", "apt install default-jdk-headless")
JVM = Tool("java", "apt install default-jre-headless")
MCS = Tool("mcs", "apt install mono-mcs")
MONO = Tool("mono", "apt install mono-runtime")
NODE = Tool("node", "apt install nodejs")
VIRTUAL_MACHINES = frozenset(["java", "mono", "node", "dotnet"])
"""Commands that need more than 64 MB to start."""

TOOLS = (GPP, GCC, JAVAC, JVM, MCS, MONO, NODE)

PYTHON = Language("Python", (".py",), runs="python")
CPP = Language("C++", (".cpp", ".cc", ".cxx"), (".h", ".hpp", ".hh"), (GPP,), wrapper="topcoder_wrapper.cpp")
C = Language("C", (".c",), (".h",), (GCC,))
JAVA = Language("Java", (".java",), (), (JAVAC, JVM), runs="java", wrapper="TopCoderWrapper.java")
CSHARP = Language("C#", (".cs",), (), (MCS, MONO), runs="mono", wrapper="TopCoderWrapper.cs")
EXECUTABLE = Language("executable", ())
JAR = Language("Java (jar)", (), (), (JVM,))
DOTNET = Language("C# (exe)", (), (), (MONO,))

LANGUAGES = (CPP, C, CSHARP, JAVA, PYTHON)
COMPILED = (CPP, C, CSHARP, JAVA)


def missing(tools: Iterable[Tool]) -> list[Tool]:
    """Return the tools that are not installed on this machine."""
    return [tool for tool in tools if shutil.which(tool.name) is None]
