"""A bot that speaks the wire itself: which program a student means, and the command that starts it.

A student names a source, a built program, a folder, or a whole command. What cannot be played says what was found,
and what to type.
"""

from __future__ import annotations

import shlex
import sys
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from getstep._errors import BotError
from getstep.games import games_named
from getstep.languages import LANGUAGES, Language, language_of

from .build import build
from .folder import find
from .java_class import class_in
from .start import SOURCES, check_startable, start_command, start_folder

_MOST_LISTED = 5
_PROJECTS = (".csproj", ".sln", ".vcxproj")


@dataclass(frozen=True)
class WireBot:
    """A bot that can be started.

    ``folder`` is where it starts, None for the current one. ``named_by`` are files that may name its game, the best
    one first. ``language`` is that of the source that was named, which uses an SDK.
    """

    name: str
    command: tuple[str, ...]
    folder: Path | None = None
    named_by: tuple[Path, ...] = ()
    language: Language | None = None

    @property
    def games(self) -> list[str]:
        """The games that its source names."""
        return next((found for file in self.named_by if (found := games_named(file))), [])


def command_words(text: str) -> list[str]:
    """Return the words of a text such as ``java -cp . MyBot``; none if it is a file, or one word."""
    if " " not in text.strip() or Path(text).exists():
        return []
    try:
        words = shlex.split(text, posix=sys.platform != "win32")
    except ValueError as error:
        raise BotError(f"{text}: not a command ({error}).") from None
    return [word.strip('"') if sys.platform == "win32" else word for word in words]


def from_command(words: Sequence[str]) -> WireBot:
    """Return the bot that a command starts, in the current folder."""
    files = [Path(word) for word in words[1:] or words if not word.startswith("-")]
    last = files[-1] if files else Path(words[0])
    sources = [last.with_suffix(suffix) for suffix in _suffixes()]
    named_by = [file for file in (*files, *sources) if file.is_file() and _is_text(file)]
    return WireBot(last.name or str(last), tuple(words), None, tuple(named_by))


def plays_on_the_wire(path: Path) -> bool:
    """Return True if a bot's file is not one in Python."""
    return path.suffix.lower() != ".py" and (path.is_dir() or path.is_file() or not _found_python(path))


def _found_python(path: Path) -> bool:
    return path.with_name(f"{path.name}.py").is_file()


def from_path(path: Path, say: Callable[[str], None], debug: bool = False) -> WireBot:
    """Return the bot in a file, which is built if it is a source, or in a folder with one.

    Args:
        path: the file or the folder.
        say: prints a line.
        debug: build it for a debugger.

    Raises:
        BotError: it cannot be built or started; the text says what to type.
    """
    if path.is_dir():
        path = _only_source(path)
    file = find(path)
    language = language_of(file.suffix.lower())
    if file.suffix.lower() in _PROJECTS:
        raise BotError(_project_text(file))
    if file.name in {name for one in LANGUAGES.values() for name in one.files}:
        raise BotError(f"{file.name} is a file of the SDK, which a bot needs beside it. Name the bot's own file.")
    if language is not None:
        built = build(language, file, say, debug)
        return WireBot(file.name, tuple(_start(built)), file.parent, (file,), language)
    _check(file)
    return WireBot(file.name, tuple(_start(file)), start_folder(file), _sources_of(file))


def _start(file: Path) -> list[str]:
    return start_command("getstep", file)


def _suffixes() -> list[str]:
    return [suffix for one in LANGUAGES.values() for suffix in (one.suffix, *one.other_suffixes)]


def _sources_of(file: Path) -> tuple[Path, ...]:
    """Return the sources that a built program may come from, and a script itself."""
    found = class_in(file) if file.suffix == ".class" else None
    names = [file.with_name(found.source)] if found is not None and found.source else []
    names += [file.with_suffix(suffix) for suffix in _suffixes()]
    return tuple(one for one in (*names, file) if one.is_file() and _is_text(one))


def _is_text(file: Path) -> bool:
    try:
        with file.open("rb") as opened:
            return b"\0" not in opened.read(1024)
    except OSError:
        return False


# --- what cannot be played ---------------------------------------------------------------------------------------


def _only_source(folder: Path) -> Path:
    sdk = {name for language in LANGUAGES.values() for name in language.files}
    suffixes = (".py", *_suffixes())
    found = [file for file in sorted(folder.iterdir()) if file.suffix.lower() in suffixes and file.name not in sdk]
    if len(found) == 1:
        return found[0]
    if not found:
        raise BotError(f"{folder} is a folder without a bot's source ({', '.join(suffixes)}). Name a file.")
    lines = [f"  getstep practice {_quoted(folder / file.name)}" for file in found[:_MOST_LISTED]]
    more = [f"  and {len(found) - _MOST_LISTED} more"] if len(found) > _MOST_LISTED else []
    raise BotError("\n".join([f"{folder} is a folder with {len(found)} sources. Type one of:", *lines, *more]))


def _check(file: Path) -> None:
    suffix = file.suffix.lower()
    if suffix in SOURCES:  # C, which has no SDK
        raise BotError(
            f"{file.name} is a source in a language without an SDK. Build it, and practise with the program:\n"
            f"  {SOURCES[suffix].build.format(file=_quoted(file.name), name=_quoted(file.stem))}\n"
            f"  getstep practice ./{_quoted(file.stem)}"
        )
    if suffix == ".jar":
        _check_jar(file)
    if suffix not in (".class", ".jar", ".dll", ".exe") and _is_text(file) and not _has_interpreter(file):
        raise BotError(
            f"{file.name} is a text without a first line such as #!/usr/bin/env python3, so it cannot be started."
            " Type the command that starts it:\n  getstep practice -- COMMAND " + _quoted(file.name)
        )
    check_startable("getstep", file)


def _has_interpreter(file: Path) -> bool:
    if sys.platform == "win32":
        return file.suffix.lower() in (".bat", ".cmd")
    with file.open("rb") as opened:
        return opened.read(2) == b"#!"


def _project_text(file: Path) -> str:
    language: Language = LANGUAGES["csharp"] if file.suffix.lower() != ".vcxproj" else LANGUAGES["cpp"]
    sources = [one for one in sorted(file.parent.glob(f"*{language.suffix}")) if one.name not in language.files]
    text = f"{file.name} is a project file, not a bot."
    if not sources:
        return f"{text} There is no source in {language.title} beside it; name the bot's file."
    lines = "\n".join(f"  getstep practice {_quoted(one)}" for one in sources[:_MOST_LISTED])
    return f"{text} Name the bot's source:\n{lines}"


def _check_jar(file: Path) -> None:
    """Raise an error if a jar names no class to start, which Java says in few words."""
    try:
        with zipfile.ZipFile(file) as archive:
            names = archive.namelist()
            manifest = archive.read("META-INF/MANIFEST.MF") if "META-INF/MANIFEST.MF" in names else b""
    except (OSError, zipfile.BadZipFile) as error:
        raise BotError(f"{file.name} is no jar file: {error}") from None
    if b"Main-Class:" not in manifest:
        classes = [name[:-6].replace("/", ".") for name in names if name.endswith(".class") and "$" not in name]
        own = [name for name in classes if name != "Getstep"] or ["MyBot"]
        raise BotError(
            f"{file.name} does not say which class to start (no Main-Class in its manifest). Type:\n"
            f"  getstep practice -- java -cp {_quoted(file.name)} {own[0]}"
        )


def _quoted(path: object) -> str:
    text = str(path)
    return f'"{text}"' if " " in text else text
