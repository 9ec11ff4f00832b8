"""How a program is compiled and started: by its ``program.toml``, or by the files it has.

A plan is made of the source alone: nothing is run for it. So a program may have several, one for each convention
that fits its language and its game; `adding` tries which one it plays by. Files of unknown senders are searched
with expressions whose time grows with the length of a line, and only in lines that are not too long.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from getstep.conventions import CONVENTIONS, topcoder_wrapper
from getstep.languages.builds import GCC, GPP, JAVAC, MCS
from getstep_server.config.fields import TomlTable
from getstep_server.config.toml_file import parse
from getstep_server.errors import ConfigError, ProgramRefused
from getstep_server.limits import MAX_PROGRAM_COMMAND_CHARS, MAX_PROGRAM_PATH_BYTES, MAX_PROGRAM_SETTINGS_BYTES
from getstep_server.text import join_limited
from getstep_server.validation import Check, Mistake, wrong

from .languages import (
    COMPILED,
    CPP,
    CSHARP,
    DOTNET,
    EXECUTABLE,
    JAR,
    JAVA,
    LANGUAGES,
    OUTPUT,
    PYTHON,
    TOOLS,
    C,
    Language,
    Tool,
)
from .source import Source, SourceFile
from .version import ALL_CONVENTIONS, GETSTEP

SETTINGS = "program.toml"

_WRAPPERS = Path(str(topcoder_wrapper.__file__)).parent


class _Pattern(NamedTuple):
    """An expression for one line, and a word that each such line has: most files are dismissed by the word."""

    word: bytes
    expression: bytes


_TOPCODER_CLASS = _Pattern(b"PseudoTonga", rb"\bclass\s+PseudoTonga\b")
_TOPCODER_PYTHON = _Pattern(b"init", rb"^def\s+init\b")
_GET_STEP = _Pattern(
    b"get_step", rb"^(async\s+)?def\s+get_step\b|^get_step\s*=|^from\s.{1,200}\simport\s.{0,200}\bget_step\b"
)
_MAIN = _Pattern(b"main", rb"\bmain\s*\(")
_MAIN_CSHARP = _Pattern(b"Main", rb"\bstatic\b.{0,100}\bMain\s*\(")
_CHECK = """\
import sys, traceback
for name in sys.argv[1:]:
    try:
        compile(open(name, "rb").read(), name[2:], "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        traceback.print_exception(error, limit=0)
        sys.exit(1)
"""
"""Finds mistakes of syntax, in the sandbox: the server parses no Python of unknown senders."""

_JAVA = ("java", "-XX:+UseSerialGC", "-Xmx640m")
"""It has one core, and 1 GB of memory for all that it needs."""

_LONGEST_LINE = 1000  # longer lines are generated
_NAMES = ("bot", "main", "program", "my_bot")  # the usual names of the file that is run


@dataclass(frozen=True)
class Plan:
    """The steps from a program's source to its start.

    Attributes:
        language: for people.
        convention: a name of `ALL_CONVENTIONS`.
        build: the command that compiles it; empty if there is none.
        command: starts it, as in `version.Description`. If ``java_main`` is set, the class is still missing.
        tools: what the machine needs for both.
        wrappers: files that are put next to the source, by their names.
        sources: suffixes of files that only the compiler needs.
        java_main: the name of the file whose class is started, or an empty text for the only class with ``main``.
            It is found in the compiler's output: a class may be in a file of another name. None: ``command`` is
            complete.
        note: what its author may not expect, for people.
    """

    language: str
    convention: str
    build: tuple[str, ...]
    command: tuple[str, ...]
    tools: tuple[Tool, ...] = ()
    wrappers: Mapping[str, Path] = field(default_factory=dict)
    sources: tuple[str, ...] = ()
    java_main: str | None = None
    note: str = ""


def plans_of(
    source: Source, games: Sequence[str], convention: str | None = None, entry: str | None = None
) -> list[Plan]:
    """Return the plans for a program, one for each convention that fits. The likeliest one comes first.

    Args:
        source: the program.
        games: the games of the events that its team takes part in.
        convention: of the program, if its sender says so.
        entry: the path of the file that starts the program, if its sender says so.

    Raises:
        ProgramRefused: the program says wrong things about itself, or too little; the message has every mistake.
    """
    settings = _settings(source) or ProgramSettings()
    convention = convention or settings.convention
    run = settings.run if entry is None else None  # what is named on the command line counts more
    entry = entry or settings.entry
    first = None if entry is None else _entry_file(source, entry)
    language, files = (None, ()) if run is not None else _language(source, first)
    conventions = [convention] if convention else _conventions(files or source.files, games, language)
    plans, refusals = [], []
    for one in conventions:
        try:
            _check_games(one, games)
            if run is not None:
                plans.append(_written_plan(source, settings, run, one))
            elif language is not None:
                plans.append(_Planner(source, files, one, first).plan(language))
        except ProgramRefused as refused:
            refusals.append(refused)
    if not plans:
        raise refusals[0]
    return plans


# --- program.toml -----------------------------------------------------------------------------------------------


def _check_words(value: str) -> None:
    try:
        words = shlex.split(value)
    except ValueError as error:
        raise ValueError(f"words as in a shell ({error})") from None
    if not words:
        raise ValueError("a command")


def _check_text(value: str) -> None:
    if not value.strip() or "\0" in value:
        raise ValueError("a command")


def _check_convention(value: str) -> None:
    if value not in ALL_CONVENTIONS:
        raise ValueError(f"one of: {', '.join(ALL_CONVENTIONS)}")


class ProgramSettings(TomlTable, frozen=True, kw_only=True):
    """The content of program.toml.

    ``entry`` is the path of the file that starts the program, if it is built and run in the usual way. ``run``
    starts it in its folder; the words are separated as in a shell, but there is none. ``build`` is a line for the
    shell, in the same folder, before the first game.
    """

    entry: Annotated[str, Check(_check_text, max_length=MAX_PROGRAM_PATH_BYTES)] | None = None
    run: Annotated[str, Check(_check_words, max_length=MAX_PROGRAM_COMMAND_CHARS)] | None = None
    build: Annotated[str, Check(_check_text, max_length=MAX_PROGRAM_COMMAND_CHARS)] | None = None
    convention: Annotated[str, Check(_check_convention)] | None = None

    @classmethod
    def mistakes(cls, fields: Mapping[str, Any]) -> Iterator[Mistake]:
        if fields.get("build") is not None and "run" in fields and fields["run"] is None:
            yield wrong(("build",), fields["build"], "run as well: the command that starts what was built")
        if fields.get("entry") is not None and fields.get("run") is not None:
            yield wrong(("entry",), fields["entry"], "either entry or run, not both: run names the file, too")


def _settings(source: Source) -> ProgramSettings | None:
    file = next((file for file in source.files if file.path == SETTINGS), None)
    if file is None:
        return None
    if len(file.data) > MAX_PROGRAM_SETTINGS_BYTES:
        raise ProgramRefused(f"{SETTINGS}: more than {MAX_PROGRAM_SETTINGS_BYTES} bytes; expected some lines")
    try:
        text = file.data.decode("utf-8-sig").replace("\r\n", "\n")  # Windows' Notepad writes a byte order mark
        return parse(Path(SETTINGS), text, ProgramSettings)
    except UnicodeDecodeError:
        raise ProgramRefused(f"{SETTINGS}: not UTF-8; save the file as UTF-8 and try again") from None
    except ConfigError as error:
        raise ProgramRefused(str(error)) from None


def _written_plan(source: Source, settings: ProgramSettings, run: str, convention: str) -> Plan:
    first, *rest = shlex.split(run)
    if first in ("python3", "py"):
        first = "python"
    if convention == GETSTEP and (first != "python" or len(rest) != 1 or not rest[0].endswith(".py")):
        raise ProgramRefused(
            f'{SETTINGS}: run = "{run:.80}", expected "python FILE.py" with a file that has get_step:'
            " the convention getstep is a Python file"
        )
    plan = Plan(
        language=next((one.name for one in LANGUAGES if one.runs == first), first.rpartition("/")[2]),
        convention=convention,
        build=("/bin/sh", "-c", settings.build) if settings.build else (),
        command=(first, *rest),
        tools=tuple(tool for tool in TOOLS if tool.name == first),
        wrappers=_wrappers(LANGUAGES) if convention == "topcoder" else {},
    )
    return plan if settings.build else _built_as_usual(source, plan)


def _built_as_usual(source: Source, plan: Plan) -> Plan:
    """Return a plan of a command without ``build`` for what the usual compiler makes, if that is not there yet."""
    first, *rest = plan.command
    if first == "java":
        languages, made = [JAVA], f"{java_class(plan.command).replace('.', '/')}.class"
        made = made if made != ".class" else next((word for word in rest if word.endswith(".jar")), "")
    elif first == "mono":
        languages, made = [CSHARP], next((word for word in rest if not word.startswith("-")), "")
    elif "/" in first and not first.startswith("/"):
        languages, made = [CPP, C], first
    else:
        return plan  # Python, or a program of the system
    found = _by_language(source.files)
    language = next((one for one in languages if one.name in found), None)
    if language is None:
        return plan
    if any(f"/{file.path}".endswith(f"/{made.removeprefix('./')}") for file in source.files):
        note = f"nothing was compiled: {made} is among its files, and {SETTINGS} has run without build"
        return replace(plan, note=note)
    usual = _Planner(source, found[language.name], plan.convention, None).plan(language)
    output = OUTPUT if language is not CSHARP else f"{OUTPUT}.exe"
    build = tuple(word.replace(output, made) if word.endswith(output) else word for word in usual.build)
    return replace(usual, build=build, command=plan.command, java_main=None)


def java_class(command: Sequence[str]) -> str:
    """Return the class that a command with ``java`` starts; an empty text if it starts a jar file."""
    words = iter(command[1:])
    for word in words:
        if word in ("-cp", "-classpath", "--class-path", "-p", "--module-path"):
            next(words, None)
        elif word == "-jar":
            return ""
        elif not word.startswith("-"):
            return word.replace("/", ".")
    return ""


# --- the convention ---------------------------------------------------------------------------------------------


def _conventions_for(games: Sequence[str]) -> list[str]:
    return [GETSTEP, *(name for name, talk in CONVENTIONS.items() if talk.game is None or talk.game in games)]


def _conventions(files: Sequence[SourceFile], games: Sequence[str], language: Language | None) -> list[str]:
    """Return the conventions that fit a language and the games of the team, the likeliest one first.

    The text decides nothing but the order: a function that is never called may name a convention's file. There are
    two exceptions: a Python file that has the word get_step nowhere cannot have the function, and a program that
    has the word ugiok nowhere cannot answer ``ugi``. Such a program would wait for the whole time of a trial.

    Args:
        files: those in the program's language.
        games: of its team.
        language: None if program.toml has the command that starts it.
    """
    found = _conventions_for(games)[1:]
    if any(b"shared_file.txt" in file.data for file in files):
        found.sort(key=lambda name: name != "csefest-file")  # the file that only this convention has: try it first
    found.remove("ugi")
    if any(b"ugiok" in file.data for file in files):
        found.insert(0, "ugi")
    python = [file for file in files if file.path.endswith(".py")] if language in (PYTHON, None) else []
    if any(_has(file, _GET_STEP) for file in python):
        return [GETSTEP, *found]
    if any(_GET_STEP.word in file.data for file in python):
        return [*found, GETSTEP]
    if not found:
        raise ProgramRefused(
            f"{_listed(sorted(set(games)))} is played by a Python file with get_step(board, is_black), and by a"
            " program that answers ugi with ugiok, and no file here has either;"
            " bots in other languages connect over the network"
        )
    return found


def _check_games(convention: str, games: Sequence[str]) -> None:
    """Raise an error if a program of this convention cannot play all games of its team."""
    if convention == GETSTEP:
        return
    game = CONVENTIONS[convention].game
    if game is None:
        return
    others = sorted(set(games) - {game})
    if game not in games:
        raise ProgramRefused(
            f"a {convention} program plays {game}, and the team's events are {_listed(others)};"
            f" expected one of the conventions {_listed(_conventions_for(games))}"
        )
    if others:
        raise ProgramRefused(
            f"a {convention} program plays {game} only, and other events of the team play {_listed(others)};"
            " a Python file with get_step plays every game, or the host can name the teams of each event"
        )


# --- the language -----------------------------------------------------------------------------------------------


def _entry_file(source: Source, entry: str) -> SourceFile:
    """Return the file that ``entry`` names, by its path or, if no other file ends so, by a part of it."""
    name = entry.replace("\\", "/").removeprefix("./")
    for fits in (
        lambda path: path == name,
        lambda path: path.endswith(f"/{name}"),
        lambda path: name.endswith(f"/{path}"),  # with the folder that was sent
    ):
        found = [file for file in source.files if fits(file.path)]
        if len(found) == 1:
            return found[0]
    files = _listed([file.path for file in source.files])
    raise ProgramRefused(f"entry {entry!r:.200}: expected one of the program's files: {files}")


def _by_language(files: Sequence[SourceFile]) -> dict[str, list[SourceFile]]:
    """Return the source files by the names of their languages. C together with C++ counts as C++."""
    found: dict[str, list[SourceFile]] = {}
    for file in files:
        for language in LANGUAGES:
            if file.path.lower().endswith(language.suffixes):
                found.setdefault(language.name, []).append(file)
    if C.name in found and CPP.name in found:
        found[CPP.name] += found.pop(C.name)
    return found


def _language(source: Source, entry: SourceFile | None) -> tuple[Language, list[SourceFile]]:
    found = _by_language(source.files)
    if entry is not None:
        found = {name: files for name, files in found.items() if entry in files}
    if not found:
        for built, fits in _BUILT.items():
            files = [file for file in source.files if fits(file) and entry in (file, None)]
            if len(files) == 1:
                return built, files
        if any(file.data.startswith(b"MZ") for file in source.files):
            raise ProgramRefused("a program for Windows, which this machine cannot run; give its source code")
    if len(found) > 1:
        kinds = " and ".join(f"{name} ({_listed([file.path for file in found[name]])})" for name in sorted(found))
        hint = entry_hint(found[min(found)][0].path)
        raise ProgramRefused(
            f"files in {kinds}, expected one language; name the file that starts the program: {hint}"
        )
    if not found:
        what = "no file in a known language" if entry is None else f"{entry.path} is in no known language"
        expected = f"a program in {_listed([one.name for one in LANGUAGES])}, or an executable"
        raise ProgramRefused(f"{what}, expected {expected}; otherwise write a {SETTINGS} with run and build")
    ((name, files),) = found.items()
    return next(one for one in LANGUAGES if one.name == name), files


def entry_hint(path: str) -> str:
    """Return what the sender types to name the file that starts the program."""
    return f'--entry {shlex.quote(path)}, or entry = "{path}" in a file {SETTINGS}'


def _is_executable(file: SourceFile) -> bool:
    return file.data.startswith((b"\x7fELF", b"#!"))


def _is_jar(file: SourceFile) -> bool:
    return file.path.lower().endswith(".jar")


def _is_dotnet(file: SourceFile) -> bool:
    return file.data.startswith(b"MZ") and b"BSJB" in file.data  # the signature of its metadata


_BUILT = {EXECUTABLE: _is_executable, JAR: _is_jar, DOTNET: _is_dotnet}
"""Kinds of programs that are compiled already."""


@dataclass(frozen=True)
class _Planner:
    """Makes the plan of a program that has no ``run`` in program.toml."""

    source: Source
    files: Sequence[SourceFile]
    convention: str
    entry: SourceFile | None

    def plan(self, language: Language) -> Plan:
        if self.convention == GETSTEP and language is not PYTHON:
            raise ProgramRefused(
                f"the convention getstep is a Python file with get_step, and this is {language.name}"
            )
        build, command = {
            PYTHON.name: self._python,
            CPP.name: self._cpp,
            C.name: self._c,
            JAVA.name: self._java,
            CSHARP.name: self._csharp,
            EXECUTABLE.name: self._executable,
            JAR.name: self._jar,
            DOTNET.name: self._dotnet,
        }[language.name]()
        return Plan(
            language=language.name,
            convention=self.convention,
            build=tuple(build),
            command=tuple(command),
            tools=language.tools,
            wrappers=_wrappers([language]) if self.convention == "topcoder" else {},
            sources=(*language.suffixes, *language.headers) if language in COMPILED else (),
            java_main=self._java_main() if language is JAVA else None,
        )

    def _python(self) -> tuple[Sequence[str], Sequence[str]]:
        # With an entry, another program in its folder may be of Python 2.
        checked = self._paths() if self.entry is None else [f"./{self.entry.path}"]
        return ("python", "-c", _CHECK, *checked), ("python", f"./{self._python_file().path}")

    def _python_file(self) -> SourceFile:
        if self.entry is not None:
            return self.entry
        wanted = {GETSTEP: (_GET_STEP,), "topcoder": (_TOPCODER_CLASS, _TOPCODER_PYTHON)}.get(self.convention)
        what = {GETSTEP: "get_step", "topcoder": "the class PseudoTonga"}.get(self.convention, "the program")
        having = [file for file in self.files if wanted is None or any(_has(file, one) for one in wanted)]
        if self.convention == GETSTEP and not having:  # there are more ways to make a function than `_GET_STEP` has
            having = [file for file in self.files if _GET_STEP.word in file.data]
        named = [file for name in _NAMES for file in having if file.path == f"{name}.py"]
        if len(having) == 1 or named:
            return having[0] if len(having) == 1 else named[0]
        if not having:
            expected = "def get_step(board, is_black):" if self.convention == GETSTEP else "class PseudoTonga:"
            raise ProgramRefused(f"no file has {what}; expected: {expected}")
        raise ProgramRefused(
            f"which file is {what}? There are {_listed([file.path for file in having])}; name it:"
            f" {entry_hint(having[0].path)}"
        )

    def _cpp(self) -> tuple[Sequence[str], Sequence[str]]:
        if self.convention == "topcoder":
            sources = ["-include", self._topcoder_file(), f"./{CPP.wrapper}"]
        else:
            sources = self._paths(_MAIN)
        return GPP.command(sources, OUTPUT), [f"./{OUTPUT}"]

    def _c(self) -> tuple[Sequence[str], Sequence[str]]:
        if self.convention == "topcoder":
            raise ProgramRefused("C has no classes; a topcoder program is in C++, Java, C# or Python")
        return GCC.command(self._paths(_MAIN), OUTPUT), [f"./{OUTPUT}"]

    def _java(self) -> tuple[Sequence[str], Sequence[str]]:
        command = [*_JAVA, "-cp", "."]
        if self.convention == "topcoder":
            classes = ["java", "-XX:+UseSerialGC", "-Xmx64m", "-cp", "."]
            return JAVAC.command([*self._paths(), f"./{JAVA.wrapper}"], ""), [*classes, "TopCoderWrapper"]
        return JAVAC.command(self._paths(), ""), command

    def _java_main(self) -> str | None:
        if self.convention == "topcoder":
            return None  # the wrapper has it
        return "" if self.entry is None else self.entry.path

    def _csharp(self) -> tuple[Sequence[str], Sequence[str]]:
        output = f"{OUTPUT}.exe"
        sources = self._paths(_MAIN_CSHARP)
        if self.convention == "topcoder":
            sources = [*sources, f"./{CSHARP.wrapper}"]
            return MCS.command(sources, OUTPUT), ["mono", "--gc-params=max-heap-size=64m", output]
        return MCS.command(sources, OUTPUT), ["mono", output]

    def _executable(self) -> tuple[Sequence[str], Sequence[str]]:
        return (), [f"./{self.files[0].path}"]

    def _jar(self) -> tuple[Sequence[str], Sequence[str]]:
        return (), [*_JAVA, "-jar", f"./{self.files[0].path}"]

    def _dotnet(self) -> tuple[Sequence[str], Sequence[str]]:
        return (), ["mono", f"./{self.files[0].path}"]

    def _paths(self, main: _Pattern | None = None) -> list[str]:
        """Return the files for a command line: a name may begin with a hyphen.

        A repository may have several programs. With an entry, other files that match ``main`` are left out.
        """
        files = self.files
        if self.entry is not None and main is not None:
            files = [file for file in files if file == self.entry or not _has(file, main)]
        return [f"./{file.path}" for file in files]

    def _topcoder_file(self) -> str:
        files = self.files if self.entry is None else [self.entry]
        having = [file.path for file in files if _has(file, _TOPCODER_CLASS)]
        if len(having) != 1:
            found = f"it is in {_listed(having)}" if having else "no file has it"
            raise ProgramRefused(f"expected the class PseudoTonga in one file; {found}")
        return f"./{having[0]}"


def _wrappers(languages: Sequence[Language]) -> dict[str, Path]:
    return {one.wrapper: _WRAPPERS / one.wrapper for one in languages if one.wrapper}


def _has(file: SourceFile, pattern: _Pattern) -> bool:
    return any(True for _ in _matches(file, pattern))


def _matches(file: SourceFile, pattern: _Pattern) -> Iterator[re.Match[bytes]]:
    """Yield the first match in each line that has one."""
    for line in file.data.splitlines() if pattern.word in file.data else ():
        if len(line) <= _LONGEST_LINE and (found := re.search(pattern.expression, line)):
            yield found


def _listed(names: Sequence[str]) -> str:
    return join_limited(names, ", ", 200)  # some lines of a terminal: a source may have 1,000 files
