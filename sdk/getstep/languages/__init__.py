"""Bots in other languages: the SDK's files of each language, its starter bots, and how a bot is built and started.

In: the ending of a file. Out: a `Language` with its files and its commands. It must not know processes: it returns
commands, which are in `builds`, and runs none.

A language is a line of the table here, and its folder: in the archive `PACKED` in an installed package, in the
folder of the distribution (``sdk/cpp``) in a checkout. The folder has the SDK's files and ``starters/GAME.SUFFIX``
for each game. A starter is a source file that compiles as it is. `starter` fills in what is written once for all
languages: a comment line with ``@goal``, ``@board`` or ``@hints`` becomes the game's text, and the word ``MyBot``
the bot's name. What stands between the comment lines ``@body`` and ``@end`` is the game's own part.

``starters/several.SUFFIX`` is the frame of a bot for several games. What stands between ``@each`` and ``@done`` is
repeated for each game, with the game's own part in place of ``@body``.
"""

from __future__ import annotations

import gzip
import io
import re
import shutil
import sys
import textwrap
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from getstep_engines import GAMES, Game

from .builds import CL, CLANG, DOTNET, GPP, JAVAC, MCS, MINGW, NODE, Build

PACKED = "files.zip.gz"
"""The archive with the files of all languages, beside this module: unpacked they would be a quarter of the SDK.

The starters are much alike, so the archive is compressed as a whole: 0.12 MB, and 0.14 MB file by file.
"""

_INSTALLED = Path(__file__).with_name(PACKED)
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest date of a zip file: the same content gives the same file

STARTERS = "starters"
"""The folder of a language's starter bots, inside the language's folder."""

_WIDTH = 110  # characters of a line, as in the Python starter
_MARK = re.compile(r"^(\s*(?://|\*)\s*)@(goal|board|hints)$")
_PART = re.compile(r"^\s*// @(body|end|each|done)$")
_SEVERAL = "several"


@dataclass(frozen=True)
class Language:
    """A language that has an SDK here.

    Args:
        name: its name on the command line and the name of its folder, such as ``cpp``.
        title: its name for people, such as ``C++``.
        suffix: of a bot's file.
        files: of the SDK; a bot needs them beside it.
        builds: the ways to build a bot, best first.
        install: what to do if no tool of ``builds`` is there, by ``sys.platform``.
        name_of_bot: what the stem of a bot's file must match; some languages take the name of a class from it.
        other_suffixes: that a bot's file may have as well.
        headers: suffixes of files that a bot's file includes.
    """

    name: str
    title: str
    suffix: str
    files: tuple[str, ...]
    builds: tuple[Build, ...]
    install: Mapping[str, str] = field(default_factory=dict)
    name_of_bot: str = r".+"
    other_suffixes: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()

    @property
    def folder(self) -> Path | zipfile.Path:
        """The folder with the language's files."""
        if _INSTALLED.is_file():
            return zipfile.Path(_unpacked(), f"{self.name}/")
        return Path(__file__).parents[2] / self.name

    def sdk_files(self) -> Iterator[tuple[str, bytes]]:
        """Yield the names and contents of the SDK's files."""
        for name in self.files:
            yield name, (self.folder / name).read_bytes()

    def all_files(self) -> Iterator[tuple[str, bytes]]:
        """Yield the files that an installed package has of this language, by their paths in its folder."""
        yield from self.sdk_files()
        for name in (*self.games(), _SEVERAL):
            path = f"{STARTERS}/{name}{self.suffix}"
            yield path, (self.folder / path).read_bytes()

    def games(self) -> list[str]:
        """Return the names of the games that have a starter."""
        return self.games_of(list(GAMES))

    def games_of(self, games: Sequence[str]) -> list[str]:
        """Return those of ``games`` that have a starter, in their order."""
        return [game for game in games if (self.folder / STARTERS / f"{game}{self.suffix}").is_file()]

    def builds_here(self, platform: str = sys.platform) -> list[Build]:
        """Return the ways to build a bot on this system, best first."""
        return [build for build in self.builds if not build.systems or platform in build.systems]

    def build_here(
        self, platform: str = sys.platform, which: Callable[[str], str | None] = shutil.which
    ) -> Build | None:
        """Return the first way to build a bot whose tool is installed; None if none is."""
        return next((build for build in self.builds_here(platform) if which(build.tool)), None)


_CLASS = r"[A-Za-z_][A-Za-z0-9_]*"
"""The name of a class, and so of its file."""

_TABLE = (
    Language(
        "cpp",
        "C++",
        ".cpp",
        ("getstep.hpp",),
        (GPP, CLANG, CL, MINGW),
        {
            "linux": "sudo apt install g++",
            "darwin": "xcode-select --install",
            "win32": "Visual Studio with C++, or MSYS2: https://www.msys2.org",
        },
        other_suffixes=(".cc", ".cxx"),
        headers=(".h", ".hpp", ".hh"),
    ),
    Language(
        "javascript",
        "JavaScript",
        ".mjs",
        ("getstep.mjs", "getstep.d.mts"),
        (NODE,),
        {
            "linux": "sudo apt install nodejs",
            "darwin": "the installer from https://nodejs.org, or: brew install node",
            "win32": "the installer from https://nodejs.org",
        },
        other_suffixes=(".js",),
    ),
    Language(
        "java",
        "Java",
        ".java",
        ("Getstep.java",),
        (JAVAC,),
        {
            "linux": "sudo apt install default-jdk-headless",
            "darwin": "a JDK, version 11 or newer: https://adoptium.net",
            "win32": "a JDK, version 11 or newer: https://adoptium.net",
        },
        name_of_bot=_CLASS,
    ),
    Language(
        "csharp",
        "C#",
        ".cs",
        ("Getstep.cs", "Bot.csproj"),
        (DOTNET, MCS),
        {
            "linux": "sudo apt install mono-mcs mono-runtime, or .NET: https://dotnet.microsoft.com/download",
            "darwin": ".NET: https://dotnet.microsoft.com/download",
            "win32": ".NET: https://dotnet.microsoft.com/download",
        },
        name_of_bot=_CLASS,
    ),
)

LANGUAGES = {language.name: language for language in _TABLE}
"""The languages by name. Python is not one of them: it needs no file beside the bot."""


def language_of(suffix: str) -> Language | None:
    """Return the language of a bot's file by its suffix; None if it is none of `LANGUAGES`."""
    found = (language for language in LANGUAGES.values() if suffix in (language.suffix, *language.other_suffixes))
    return next(found, None)


def packed() -> bytes:
    """Return the content of `PACKED`, from an installed package or from a checkout."""
    if _INSTALLED.is_file():
        return _INSTALLED.read_bytes()
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w") as archive:
        for language in LANGUAGES.values():
            for name, content in language.all_files():
                archive.writestr(zipfile.ZipInfo(f"{language.name}/{name}", _EPOCH), content)
    return gzip.compress(memory.getvalue(), mtime=0)


@lru_cache(maxsize=1)
def _unpacked() -> zipfile.ZipFile:
    """Return the archive of an installed package, in memory: half a megabyte, unpacked in some milliseconds."""
    return zipfile.ZipFile(io.BytesIO(gzip.decompress(_INSTALLED.read_bytes())))


def suffixes() -> list[str]:
    """Return the suffixes of all languages."""
    return [suffix for language in LANGUAGES.values() for suffix in (language.suffix, *language.other_suffixes)]


def starter(language: Language, games: Sequence[Game], name: str = "MyBot") -> str:
    """Return the source of a bot for one or more games that makes legal moves, with comments.

    Args:
        language: one of `LANGUAGES`, with a starter for each of the games.
        games: at least one.
        name: the name of the bot, for languages whose files have the names of their classes.
    """
    lines = _lines_for(language, games[0]) if len(games) == 1 else list(_several(language, games))
    lines = [line for line in lines if not _PART.fullmatch(line)]
    return re.sub(r"\bMyBot\b", name, "\n".join(lines)) + "\n"


def _lines_for(language: Language, game: Game) -> list[str]:
    """Return the lines of the starter of a game, with the game's texts."""
    return [line for own in _read(language, game.name) for line in _with_texts(own, game)]


def _read(language: Language, stem: str) -> list[str]:
    return (language.folder / STARTERS / f"{stem}{language.suffix}").read_text(encoding="utf-8").splitlines()


def _with_texts(line: str, game: Game) -> list[str]:
    """Return a line, or the game's text in place of a comment that stands for it."""
    mark = _MARK.fullmatch(line)
    if mark is None:
        return [line]
    if mark[2] == "hints":
        return [f"{mark[1]}{hint}" for hint in game.starter.hints]
    board = f"board[row][column] is {game.starter.board}. Row 0 is at the top."
    text = board if mark[2] == "board" else game.starter.goal or game.summary
    return [f"{mark[1]}{part}" for part in textwrap.wrap(text, _WIDTH - 10)]


def _several(language: Language, games: Sequence[Game]) -> Iterator[str]:
    """Yield the lines of a bot for several games."""
    names = [game.name for game in games]
    words = {"@listed": ", ".join(names), "@quoted": ", ".join(f'"{name}"' for name in names)}
    repeated: list[str] | None = None
    for line in _read(language, _SEVERAL):
        part = _PART.fullmatch(line)
        if part and part[1] == "each":
            repeated = []
        elif part and part[1] == "done":
            for game in games:
                yield from (own for line in repeated or [] for own in _for_game(language, line, game))
            repeated = None
        elif repeated is not None:
            repeated.append(line)
        else:
            yield re.sub("@listed|@quoted", lambda found: words[found[0]], line)


def _for_game(language: Language, line: str, game: Game) -> Iterator[str]:
    """Yield what a repeated line is for one game: the game's own part in place of ``@body``."""
    if (part := _PART.fullmatch(line)) and part[1] == "body":
        source = _lines_for(language, game)
        marks = {found[1]: n for n, line in enumerate(source) if (found := _PART.fullmatch(line))}
        body = textwrap.dedent("\n".join(source[marks["body"] + 1 : marks["end"]])).strip("\n")
        indentation = line[: len(line) - len(line.lstrip())]
        yield from textwrap.indent(body, indentation).splitlines()
        return
    pascal = "".join(word.title() for word in game.name.split("_"))
    yield from _with_texts(line.replace("@name", game.name).replace("@Pascal", pascal), game)
