"""Builds a bot's source on its author's computer, by the commands that its page has, and keeps what was built.

What is built is kept in the folder ``.getstep`` beside the source, by the content of all source files there: a
second game with the same source begins at once. The compiler of C++ takes some seconds.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from getstep._errors import BotError
from getstep.languages import Language
from getstep.languages.builds import Build
from getstep.processes import ProcessTree, own_group

from .folder import is_made_by_tools
from .java_class import JavaClass, class_in

KEPT = ".getstep"
"""The folder with what was built. `getstep submit` leaves it out."""

BUILD_SECONDS = 120.0
"""For a compiler. On a busy computer, g++ takes half a minute for the SDK's header."""

_MOST_FILES = 1000  # source files whose content is compared; with more, everything is built each time
_MOST_LINES = 40  # of a compiler's errors
_KEPT_BUILDS = 2  # of one source: two terminals may have an older and a newer one


def build(language: Language, file: Path, say: Callable[[str], None], debug: bool = False) -> Path:
    """Build a bot, unless that was done before, and return the file to start.

    Args:
        language: of the file.
        file: its whole path.
        say: prints a line.
        debug: build it for a debugger.

    Raises:
        BotError: the compiler is missing, or has found errors, which are the error's ``trace``.
    """
    way = language.build_here()
    if way is None:
        tools = " nor ".join(dict.fromkeys(one.tool for one in language.builds_here()))
        install = language.install.get(sys.platform, language.install["linux"])
        raise BotError(
            f"This computer has no {tools}, which a bot in {language.title} needs. To install it:\n  {install}"
        )
    if not way.build:
        return file
    options = way.debug.split() if debug else []
    source = [
        *options,
        file.name,
        *(name for name in way.sdk if file.with_name(name).is_file()),
    ]
    if way.elsewhere == "" and "{stem}" not in way.build:  # it has a folder of its own
        say(f"Building: {' '.join([way.commands(file)[0], *options])}")
        _run(language, way.command(source, file.stem), file.parent)
        return _made(way, file, file.parent)
    kept = _kept_folder(file)
    folder = kept / f"{file.name}-{_key(way, language, file, debug)}"
    if not folder.is_dir():
        new = Path(tempfile.mkdtemp(prefix="new-", dir=kept))
        try:
            say(f"Building: {' '.join([way.commands(file)[0], *options])}")
            _run(language, way.command(source, file.stem, str(new)), file.parent)
            with contextlib.suppress(OSError):  # another process has built it meanwhile
                new.rename(folder)
        finally:
            shutil.rmtree(new, ignore_errors=True)
        _remove_older(kept, file.name)
    return _made(way, file, folder)


def _kept_folder(file: Path) -> Path:
    folder = file.parent / KEPT
    try:
        folder.mkdir(exist_ok=True)
        (folder / ".gitignore").write_text("*\n", encoding="utf-8")
    except OSError:  # a folder of somebody else: build it for this time only
        folder = Path(tempfile.mkdtemp(prefix="getstep-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _key(way: Build, language: Language, file: Path, debug: bool) -> str:
    """Return digits that change with the command, the compiler, and each source file in the folder."""
    options = [way.debug] if debug else []
    digest = hashlib.sha256(f"{way.command([*options, '{file}'], '', '.')} {shutil.which(way.tool)}".encode())
    suffixes = (language.suffix, *language.other_suffixes, *language.headers)
    for number, path in enumerate(sorted(_sources(file.parent, suffixes))):
        if number == _MOST_FILES:
            digest.update(os.urandom(16))
            break
        digest.update(f"\n{path.relative_to(file.parent)}\n".encode("utf-8", "surrogateescape"))
        with contextlib.suppress(OSError):
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:16]


def _sources(folder: Path, suffixes: tuple[str, ...]) -> Iterator[Path]:
    for path in folder.rglob("*"):
        if path.suffix.lower() in suffixes and not is_made_by_tools(path.relative_to(folder).parts):
            yield path


def _remove_older(kept: Path, name: str) -> None:
    with contextlib.suppress(OSError):
        builds = [path for path in kept.iterdir() if path.name.rpartition("-")[0] == name]
        for path in sorted(builds, key=lambda path: path.stat().st_mtime)[:-_KEPT_BUILDS]:
            shutil.rmtree(path, ignore_errors=True)  # Windows removes no program that runs


def _run(language: Language, command: list[str], folder: Path) -> None:
    process = subprocess.Popen(  # noqa: S603 - a compiler, for the user's own source
        command,
        executable=shutil.which(command[0]),  # on Windows, a tool may be a .bat or .cmd file
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        **own_group(),
    )
    tree = ProcessTree(process, ends_with_us=True)
    try:
        printed, _ = process.communicate(timeout=BUILD_SECONDS)
    except subprocess.TimeoutExpired:
        raise BotError(f"{command[0]} has not ended within {BUILD_SECONDS:g} s.") from None
    finally:
        tree.kill()
        process.wait()
    if process.returncode:
        lines = printed.decode("utf-8", "replace").splitlines()
        more = [f"... and {len(lines) - _MOST_LINES} more lines"] if len(lines) > _MOST_LINES else []
        raise BotError(_advice(language, folder, lines), "\n".join([*lines[:_MOST_LINES], *more]))


_JAVA_FILE_NAME = "is public, should be declared in a file named"
JAVA_ADVICE = "Write that class without public, or give its file that name."


def java_advice(lines: list[str]) -> list[str]:
    """Return what to do about errors of the Java compiler that its text does not say."""
    return [JAVA_ADVICE] if any(_JAVA_FILE_NAME in line for line in lines) else []


def _advice(language: Language, folder: Path, lines: list[str]) -> str:
    text = ["It does not compile; the compiler's errors are above."]
    text += java_advice(lines)
    return "\n".join([*text, *sdk_advice(language, folder, lines)])


def sdk_advice(language: Language, folder: Path, lines: list[str]) -> list[str]:
    """Return where to get the SDK's file, if it is not in the bot's folder and ``lines`` of an error name it."""
    main = language.files[0]
    if (folder / main).is_file() or not any(main.partition(".")[0] in line for line in lines):
        return []
    return [
        f"{main} is not in {folder}. It is on the live page of the contest, at /{language.name};"
        f" getstep new Other{language.suffix} --game hop writes it, too."
    ]


def _made(way: Build, file: Path, folder: Path) -> Path:
    if way.makes:
        return folder / way.makes.format(stem=file.stem)
    return _java_main(file, folder)


def _java_main(file: Path, folder: Path) -> Path:
    """Return the compiled class that the source file's bot starts with: its name may be any."""
    classes = [found for path in sorted(folder.rglob("*.class")) if (found := _runnable(path, folder)) is not None]
    mine = [one for one in classes if one.source == file.name]
    named = [one for one in mine if one.name.rpartition(".")[2].lower() == file.stem.lower()]
    for those in (named, mine):
        if len(those) == 1:
            return folder / those[0].path
    listed = ", ".join(one.name for one in mine or classes)
    wanted = "Expected one class with: public static void main(String[] args)"
    raise BotError(
        f"{file.name}: {f'several classes have main: {listed}' if mine else 'no class has main'}. {wanted}"
    )


def _runnable(path: Path, folder: Path) -> JavaClass | None:
    found = class_in(path)
    return found if found is not None and found.has_main and path == folder / found.path else None
