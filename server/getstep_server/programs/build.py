"""Compiles a program in the sandbox, and checks what came out of it.

The compiler is as little trusted as the program: a source file may include /dev/zero or the host's own files, and
``build`` in program.toml runs anything. So it runs in the sandbox, has a time limit, and its output is read within
bounds. What it made is copied out of the sandbox as plain files only.
"""

from __future__ import annotations

import contextlib
import shutil
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from getstep.programs.build import java_advice
from getstep.programs.java_class import JavaClass, class_in
from getstep_server.errors import ConfigError, ProgramRefused
from getstep_server.limits import (
    BUILD_OUTPUT_BYTES,
    BUILD_SECONDS,
    BUILD_SHOWN_LINES,
    MAX_BUILT_BYTES,
    MAX_BUILT_FILES,
)
from getstep_server.sandbox import BUILDING, Protections, SandboxError, start
from getstep_server.text import escape_control_chars, join_limited

from .disk import disk_error, disk_errors, is_of_the_disk
from .languages import missing
from .plan import SETTINGS, Plan, entry_hint, java_class
from .protection import no_sandbox
from .source import Source

_SHOWN_CHARS = 200  # of a line
_TICK_SECONDS = 0.1
_REST_SECONDS = 1.0


@dataclass(frozen=True)
class Built:
    """A program that can be started: its command, and what was found out about it, for people."""

    command: tuple[str, ...]
    note: str = ""


def build(plan: Plan, source: Source, folder: Path, protections: Protections, tick: Callable[[], None]) -> Built:
    """Make the files of a version from its source.

    Args:
        plan: how.
        source: what.
        folder: an empty folder for the files.
        protections: of the sandbox.
        tick: called a few times a second.

    Raises:
        ProgramRefused: it does not compile, or takes more than it may. The message has the compiler's first lines.
        ConfigError: this machine lacks a compiler, or the sandbox or the disk does not work.
    """
    if gone := missing(plan.tools):
        what = "; ".join(f"{tool.name} ({tool.install})" for tool in gone)
        raise ConfigError(f"a program in {plan.language} needs {what}; install it on this machine and try again")
    source.write(folder)
    for name, path in plan.wrappers.items():
        with disk_errors(folder):
            shutil.copyfile(path, folder / name)
    if plan.build:
        _compile(plan, folder, protections, tick)
        _delete_sources(plan, folder)
    check_files(folder)
    command, note = _with_java_class(plan, folder)
    return Built(_checked_command(command, folder, after_build=bool(plan.build)), note)


class _Output:
    """The first bytes of what a process prints. It is read to its end, so that no process waits for a full pipe."""

    def __init__(self, *pipes: IO[bytes]) -> None:
        self._kept = bytearray()
        self.size = 0
        # a thread for each pipe: a compiler that fills one must not wait for the other
        self._threads = [threading.Thread(target=self._read, args=(pipe,), daemon=True) for pipe in pipes]
        for thread in self._threads:
            thread.start()

    def _read(self, pipe: IO[bytes]) -> None:
        with contextlib.suppress(OSError, ValueError):  # it is closed when the process is killed
            while data := pipe.read(1 << 16):
                self.size += len(data)
                self._kept += data[: max(0, BUILD_OUTPUT_BYTES - len(self._kept))]

    def join(self) -> None:
        """Wait for the rest. Without a sandbox, a process that is left over may keep the pipe open."""
        for thread in self._threads:
            thread.join(_REST_SECONDS)

    def check(self) -> None:
        """Raise an error if there was too much output."""
        if self.size > BUILD_OUTPUT_BYTES:
            raise ProgramRefused(
                "\n".join(["the compiler printed too much; it began with:", *_shown(self.lines())])
            )

    def lines(self) -> list[str]:
        """Return the lines without those that are empty, each with a bounded number of harmless characters."""
        # compilers indent with tabs, and point at columns
        text = bytes(self._kept).decode("utf-8", "replace").expandtabs(4)
        return [escape_control_chars(line.rstrip())[:_SHOWN_CHARS] for line in text.splitlines() if line.strip()]


def _compile(plan: Plan, folder: Path, protections: Protections, tick: Callable[[], None]) -> None:
    try:
        first, *rest = plan.build
        command = [sys.executable if first == "python" else first, *rest]
        process = start(command, folder, BUILDING, None, protections)
    except SandboxError as error:
        raise no_sandbox(str(error)) from error
    with process:
        process.stdin.close()  # a build that asks something must not wait
        output = _Output(process.stdout, process.stderr)
        until = time.monotonic() + BUILD_SECONDS
        code: int | None = None
        while code is None:
            if time.monotonic() > until:
                raise ProgramRefused(f"it was not compiled within {BUILD_SECONDS:g} s")
            output.check()
            tick()
            with contextlib.suppress(subprocess.TimeoutExpired):  # not over yet: `tick` shows that it goes on
                code = process.wait(_TICK_SECONDS)
        output.join()
        output.check()
        if code:
            failure = f"it does not compile: {_named(plan)} {process.describe_end()}"
            lines = output.lines()
            raise ProgramRefused("\n".join([failure, *_shown(lines), *java_advice(lines)]))
        if protections is not Protections.NONE:
            with _build_errors(folder):
                process.folder.save(folder)


@contextlib.contextmanager
def _build_errors(folder: Path) -> Iterator[None]:
    """Turn an OSError about files of a build into an error of its author, unless it is of the host's disk."""
    try:
        yield
    except OSError as error:
        if is_of_the_disk(error):
            raise disk_error(error, folder) from error
        raise ProgramRefused(f"what the compiler wrote cannot be kept: {error.strerror or error}") from error


def _named(plan: Plan) -> str:
    return plan.build[0] if plan.build[0] != "/bin/sh" else "the command build"


def _shown(lines: list[str]) -> list[str]:
    shown = [f"  {line}" for line in lines[:BUILD_SHOWN_LINES]]
    left = len(lines) - len(shown)
    return [*shown, f"  and {left} more lines"] if left > 0 else shown


def _delete_sources(plan: Plan, folder: Path) -> None:
    """Delete the files that only the compiler needs: each game starts with a copy of the rest."""
    with _build_errors(folder):
        for path in folder.rglob("*"):
            if plan.sources and path.name.lower().endswith(plan.sources) and path.is_file():
                path.unlink()


def check_files(folder: Path) -> None:
    """Raise an error for links and devices, and for more than a game may start with."""
    size = count = 0
    with _build_errors(folder):
        for path in folder.rglob("*"):
            count += 1
            status = path.lstat()  # not `stat`: a link must not pass for what it leads to
            if not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):
                name = escape_control_chars(str(path.relative_to(folder)))
                raise ProgramRefused(f"{name}: the build made a link or a device; expected files")
            size += status.st_size
            if size > MAX_BUILT_BYTES or count > MAX_BUILT_FILES:
                raise ProgramRefused(
                    f"the built program has more than {MAX_BUILT_BYTES >> 20} MB or {MAX_BUILT_FILES} files"
                )


def _with_java_class(plan: Plan, folder: Path) -> tuple[tuple[str, ...], str]:
    """Return the command with the class that ``java`` starts, and what was found out.

    Raises:
        ProgramRefused: no class, or not one alone, can be started.
    """
    command, note = plan.command, plan.note
    if plan.java_main is not None:
        found = _main_class(plan.java_main, folder)
        return (*command, found.name), f"class {found.name}{_in(found.source)} has main"
    wanted = java_class(command) if command[0] == "java" and plan.build and plan.build[0] == "javac" else ""
    if wanted:
        classes = _main_classes(folder)
        if wanted not in [one.name for one in classes]:
            raise ProgramRefused(
                escape_control_chars(
                    f"{SETTINGS}: run starts the class {wanted}, and there is none of this name with main;"
                    f" classes with main: {_named_classes(classes)}"
                )
            )
    return command, note


def _main_class(entry: str, folder: Path) -> JavaClass:
    """Return the class of the file ``entry`` that has ``main``; without an entry, the only one that has it."""
    classes = _main_classes(folder)
    home, _, name = entry.rpartition("/")
    found = [one for one in classes if not entry or one.source == name]
    if entry and len(found) > 1:  # sources of one name in several folders
        found = [one for one in found if f"/{home}".endswith(_folder_of(one))]
    if len(found) == 1:
        return found[0]
    if found:
        which = f"several have one: {_named_classes(found)}"
        which += f"; name its file: {entry_hint(found[0].source)}" if not entry else ""
    else:
        which = (
            f"none in {entry} has one; classes with main: {_named_classes(classes)}" if entry else "none has one"
        )
    wanted = "expected a class with: public static void main(String[] arguments)"
    raise ProgramRefused(escape_control_chars(f"{wanted}; {which}"))


def _main_classes(folder: Path) -> list[JavaClass]:
    """Return the classes in a folder that ``java`` can start there, by their names.

    A class in the folder of another build is left out: it is not where its name says.
    """
    found = []
    for path in folder.rglob("*.class"):
        one = class_in(path) if path.is_file() and not path.is_symlink() else None
        if one is not None and one.has_main and path == folder / one.path:
            found.append(one)
    return sorted(found, key=lambda one: one.name)


def _folder_of(one: JavaClass) -> str:
    """Return the end of the path of a class's source: the folders of its package."""
    package = one.name.rpartition(".")[0].replace(".", "/")
    return f"/{package}" if package else ""


def _named_classes(classes: list[JavaClass]) -> str:
    # some lines of a terminal
    return join_limited([f"{one.name}{_in(one.source)}" for one in classes], ", ", 200) if classes else "none"


def _in(source: str) -> str:
    return f" (in {source})" if source else ""


def _checked_command(command: tuple[str, ...], folder: Path, *, after_build: bool) -> tuple[str, ...]:
    """Return the command; raise an error if it names a file that is not there, and make that file executable."""
    first, *rest = command
    if "/" not in first and (folder / first).is_file():
        first = f"./{first}"
    names = [first] if "/" in first else []
    names += [word for word in rest if word.endswith((".py", ".exe"))][:1]
    for name in names:
        path = folder / name
        # a link may lead out of the folder
        if not path.is_file() or not path.resolve().is_relative_to(folder.resolve()):
            after = " after the build" if after_build else ""
            raise ProgramRefused(f"there is no file {escape_control_chars(name)}{after}, which starts the program")
        with disk_errors(path):
            path.chmod(0o755)  # a zip file from Windows does not say which files are programs
    return (first, *rest)
