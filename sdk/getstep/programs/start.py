"""The file of a program: how it is started, and what to do first if it is source code."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from getstep._errors import BotError, SetupError
from getstep.conventions import topcoder_wrapper
from getstep.languages.builds import GCC, GPP, MINGW
from getstep.text import Console

from .java_class import class_in, files_with_main

WRAPPERS_FOLDER = Path(topcoder_wrapper.__file__).parent


@dataclass(frozen=True)
class Source:
    """A language whose source files are compiled. In the commands, ``{file}`` and ``{name}`` are replaced.

    Args:
        build: the command that compiles a program.
        wrapped: the command that compiles a class of the TopCoder match with its wrapper.
        program: the file to play afterwards.
        wrapper: the wrapper's file, which is in `WRAPPERS_FOLDER`; empty if there is none for this language.
        wrapped_program: the file to play afterwards; empty if it is ``program``.
    """

    build: str
    program: str
    wrapper: str = ""
    wrapped: str = ""
    wrapped_program: str = ""


def _sources() -> dict[str, Source]:
    """Return the languages by the suffix of their source files, with the commands for this system."""
    exe, way = ("{name}.exe", MINGW) if sys.platform == "win32" else ("{name}", GPP)
    compiler = "csc" if sys.platform == "win32" and not shutil.which("mcs") else "mcs"
    cpp = Source(
        " ".join(way.command(["{file}"], "{name}")),
        exe,
        "topcoder_wrapper.cpp",
        " ".join(way.command(["-include", "{file}", "topcoder_wrapper.cpp"], "{name}")),
    )
    return {
        ".c": Source(" ".join(GCC.command(["{file}"], "{name}")), exe),
        ".cpp": cpp,
        ".cc": cpp,
        ".cxx": cpp,
        ".java": Source(
            "javac {file}",
            "{name}.class",
            "TopCoderWrapper.java",
            "javac {file} TopCoderWrapper.java",
            "TopCoderWrapper.class",
        ),
        ".cs": Source(
            f"{compiler} -out:{{name}}.exe {{file}}",
            "{name}.exe",
            "TopCoderWrapper.cs",
            f"{compiler} -out:{{name}}.exe {{file}} TopCoderWrapper.cs",
        ),
    }


SOURCES = _sources()

STARTERS: dict[str, Callable[[Path], list[str]]] = {
    ".py": lambda file: [sys.executable, str(file)],
    ".jar": lambda file: ["java", "-jar", str(file)],
    ".class": lambda file: ["java", "-cp", str(start_folder(file)), _class_name(file)],
    ".js": lambda file: ["node", str(file)],
    ".mjs": lambda file: ["node", str(file)],
    ".dll": lambda file: ["dotnet", str(file)],
    **({} if sys.platform == "win32" else {".exe": lambda file: ["mono", str(file)]}),
}
"""How a file is started, by its suffix. A file with another one is an executable."""

RUNTIMES = {
    "java": "install a JDK, such as https://adoptium.net or apt install default-jdk-headless",
    "node": "install Node.js, such as https://nodejs.org or apt install nodejs",
    "dotnet": "install .NET, https://dot.net",
    "mono": "install mono, such as https://www.mono-project.com or apt install mono-runtime",
}
"""The programs of `STARTERS` that may be missing, and where to get them."""


def start_folder(file: Path) -> Path:
    """Return the folder in which a program is started: its own, or that of the packages of a Java class."""
    found = class_in(file) if file.suffix.lower() == ".class" else None
    if found is None:
        return file.parent
    folder = file.parents[found.name.count(".")] if found.name.count(".") < len(file.parents) else file.parent
    return folder if folder / found.path == file else file.parent


def _class_name(file: Path) -> str:
    found = class_in(file)
    return file.stem if found is None else found.name


def start_command(convention: str, file: Path) -> list[str]:
    """Return the command that starts a program, without the arguments of its convention."""
    suffix = file.suffix.lower()
    if convention == "topcoder" and suffix == ".py":
        return [sys.executable, str(topcoder_wrapper.__file__), str(file)]
    start = STARTERS.get(suffix)
    return [str(file)] if start is None else start(file)


def check_startable(convention: str, file: Path) -> None:
    """Raise an error if a file cannot be started as it is, with what to do. Otherwise its first match would tell.

    Raises:
        BotError: the file is source code that must be compiled first, a class without its wrapper, or not an
            executable; or the program that runs it, such as Java, is not installed.
    """
    source = SOURCES.get(file.suffix.lower())
    if source is not None:
        raise BotError(f"{file.name} is source code; compile it first. Type:\n{_steps(convention, file, source)}")
    wrapper = SOURCES[".java"]
    if convention == "topcoder" and file.suffix.lower() == ".class" and file.name != wrapper.wrapped_program:
        steps = _steps(convention, file.with_suffix(".java"), wrapper)
        raise BotError(f"{file.name} has no main method; play it through its wrapper. Type:\n{steps}")
    if file.suffix.lower() == ".class" and (found := class_in(file)) is not None and not found.has_main:
        others = [other.name for other in files_with_main(file.parent)]
        hint = f"did you mean {', '.join(others[:5])}?" if others else "name the class that has one"
        raise BotError(f"{file.name} has no main method; {hint}")
    runtime = start_command(convention, file)[0]
    if runtime == str(file):
        if sys.platform != "win32" and not os.access(file, os.X_OK):
            raise BotError(
                f"{file.name} is not an executable file. If it is a program, type:\n  chmod +x {file.name}"
            )
    elif shutil.which(runtime) is None:
        raise BotError(f"{file.name} needs {runtime}, which is not installed: {RUNTIMES[runtime]}")


def _steps(convention: str, file: Path, source: Source) -> str:
    """Return the commands that compile a source file and play the program, a line each."""
    program, steps = source.program, [source.build]
    if convention == "topcoder" and source.wrapper:
        program = source.wrapped_program or program
        steps = [f"getstep wrapper {{file}}   (writes {source.wrapper} beside it)", source.wrapped]
    here = "" if program.endswith((".class", ".exe")) else "./"
    steps.append(f"getstep play {here}{program} --as {convention}")
    names = {"file": _quoted(file.name), "name": _quoted(file.stem)}
    return "\n".join(f"  {step.format(**names)}" for step in steps)


def _quoted(name: str) -> str:
    return f'"{name}"' if " " in name else name


def write_wrapper(file: Path, console: Console) -> None:
    """Write the wrapper of a TopCoder class beside its source file, and print how to compile both.

    Raises:
        SetupError: there is no such file, there is no wrapper for its language, or the wrapper cannot be written.
    """
    if file.suffix.lower() == ".py":
        raise SetupError(f"{file.name} needs no wrapper. Type:\n  getstep play {_quoted(file.name)} --as topcoder")
    source = SOURCES.get(file.suffix.lower())
    if source is None or not source.wrapper:
        raise SetupError(f"{file}: expected a class in C++, Java or C#: a file that ends in .cpp, .java or .cs")
    if not file.is_file():
        raise SetupError(f"There is no file {file}.")
    target, content = file.with_name(source.wrapper), (WRAPPERS_FOLDER / source.wrapper).read_bytes()
    try:
        if target.exists() and target.read_bytes() != content:
            raise SetupError(f"{target} already exists and is another file; rename or delete it.")
        target.write_bytes(content)
    except OSError as error:
        raise SetupError(f"{target} cannot be written: {error.strerror or error}.") from None
    steps = _steps("topcoder", file, source).split("\n")[1:]
    console.say(f"Wrote {target}. Next, in its folder:")
    console.say("\n".join(steps))
