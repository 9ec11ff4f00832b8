"""The commands that build and start programs: for people, for practice, and for a host's sandbox."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Build:
    """One way to build and start a program.

    In the commands, ``{file}`` is the source file, and ``{stem}`` its name without the ending.

    Args:
        tool: the program that it takes, such as ``g++``.
        build: the command that builds the bot; empty if nothing is built.
        run: the command that starts the bot.
        systems: the values of ``sys.platform`` for which it is meant; all if empty.
        sdk: words of ``build`` that are sources of the SDK.
        elsewhere: options of ``build`` that put what it makes into ``{folder}``. If ``build`` names ``{stem}``
            itself, that is put there, and no option is needed.
        makes: the file that is started; empty if it is to be looked for.
        debug: options of ``build`` for a program that is to be debugged.
    """

    tool: str
    build: str
    run: str
    systems: tuple[str, ...] = ()
    sdk: tuple[str, ...] = ()
    elsewhere: str = ""
    makes: str = ""
    debug: str = ""

    def commands(self, file: Path) -> list[str]:
        """Return what to type, in the folder of the bot's file."""
        quoted = {"file": _quoted(file.name), "stem": _quoted(file.stem)}
        return [command.format(**quoted) for command in (self.build, self.run) if command]

    def start(self, file: Path) -> list[str]:
        """Return the words of the command that starts the bot, in the folder of its file."""
        return [word.format(file=file.name, stem=file.stem) for word in self.run.split()]

    def command(self, sources: Sequence[str], program: str, folder: str = "") -> list[str]:
        """Return the words of the command that builds ``program`` from ``sources``, the SDK's among them.

        Args:
            sources: in place of the bot's file; they may begin with further options.
            program: the name of what is built, without an ending.
            folder: where it is put; empty for the current one.
        """
        if not self.build:
            return []
        put = {"stem": str(Path(folder, program)) if folder else program, "folder": folder or "."}
        words: list[str] = []
        for word in self.build.split():
            if word == "{file}":
                words += sources
            elif word not in self.sdk:
                words.append(word.format(**put))
        tool, *rest = words
        return [tool, *(word.format(**put) for word in self.elsewhere.split()), *rest]


def _quoted(name: str) -> str:
    return f'"{name}"' if " " in name else name


_CPP = "-std=c++17 -O2"
_GDB = "-g -O0"
GPP = Build("g++", f"g++ {_CPP} -pthread -o {{stem}} {{file}}", "./{stem}", ("linux",), makes="{stem}", debug=_GDB)
CLANG = Build(
    "clang++",
    f"clang++ {_CPP} -pthread -o {{stem}} {{file}}",
    "./{stem}",
    ("linux", "darwin"),
    makes="{stem}",
    debug=_GDB,
)
CL = Build(
    "cl",
    "cl /std:c++17 /O2 /EHsc {file}",
    ".\\{stem}",
    ("win32",),
    elsewhere="/Fe:{stem}.exe /Fo:{stem}.obj",
    makes="{stem}.exe",
    debug="/Zi /Od",
)
MINGW = Build(
    "g++",
    f"g++ {_CPP} -static -o {{stem}} {{file}} -lws2_32",
    ".\\{stem}",
    ("win32",),
    makes="{stem}.exe",
    debug=_GDB,
)
GCC = Build(
    "gcc",
    "gcc -O2 -pthread -o {stem} {file} -lm",
    ".\\{stem}" if sys.platform == "win32" else "./{stem}",
    makes="{stem}",
)
JAVAC = Build(
    "javac",
    "javac {file} Getstep.java",
    "java {stem}",
    sdk=("Getstep.java",),
    elsewhere="-encoding UTF-8 -d {folder}",
    debug="-g",
)
MCS = Build(
    "mcs",
    "mcs -optimize {file} Getstep.cs",
    "mono {stem}.exe",
    sdk=("Getstep.cs",),
    elsewhere="-out:{stem}.exe",
    makes="{stem}.exe",
    debug="-debug -optimize-",
)
DOTNET = Build("dotnet", "dotnet build -c Release -o out Bot.csproj", "dotnet out/Bot.dll", makes="out/Bot.dll")
NODE = Build("node", "", "node {file}")
