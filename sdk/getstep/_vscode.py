"""The files of ``getstep new --vscode``: tasks and launch configurations of VS Code for one bot.

They are for this computer: its Python, its compiler and its debugger. A task is a process with its arguments, not a
line of a shell, so names need no quotes.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .languages import Language
from .languages.builds import Build

FOLDER = ".vscode"
_HERE = "${workspaceFolder}"
_TERMINAL = {"cwd": _HERE, "console": "integratedTerminal"}
_PATIENT = ["--games", "1", "--limit", "3600"]
"""Options of practice in a debugger: its user takes more time than a bot has."""

_PORT = 5005
"""The usual port on which a Java program waits for a debugger; here also for Mono."""

_PICK = {"processId": "${command:pickProcess}"}


@dataclass(frozen=True)
class _Debugger:
    """The debugger for what one `Build` makes.

    In ``launch`` and ``attach``, ``{stem}`` is the name of the bot's file without its ending.

    Args:
        type: its name in VS Code.
        launch: what says which program it starts.
        attach: what says which program it joins, while that runs in practice.
        build: options of the compiler, after the others.
        listen: options of the program's runtime, with which the program lets a debugger join.
    """

    type: str
    launch: Mapping[str, Any]
    attach: Mapping[str, Any] = field(default_factory=lambda: _PICK)
    build: tuple[str, ...] = ()
    listen: tuple[str, ...] = ()


def _native(mode: str, ending: str = "") -> _Debugger:
    program = {"program": f"{_HERE}/{{stem}}{ending}", "MIMode": mode}
    return _Debugger("cppdbg", {**program, "cwd": _HERE}, {**program, **_PICK}, ("-g", "-O0"))


_LISTEN = f"transport=dt_socket,server=y,suspend=n,address=127.0.0.1:{_PORT}"
_CL = _Debugger("cppvsdbg", {"program": f"{_HERE}/{{stem}}.exe", **_TERMINAL}, build=("/Zi", "/Od"))
_JAVA = _Debugger(
    "java",
    {"mainClass": "{stem}", "classPaths": [_HERE], **_TERMINAL},
    {"hostName": "127.0.0.1", "port": _PORT},
    ("-g",),
    (f"-agentlib:jdwp={_LISTEN}",),
)
_MONO = _Debugger(
    "mono",
    {"program": f"{_HERE}/{{stem}}.exe", "cwd": _HERE},
    {"address": "127.0.0.1", "port": _PORT},
    ("-debug",),
    ("--debug", f"--debugger-agent={_LISTEN}"),
)
_DOTNET = _Debugger(
    "coreclr",
    {"program": f"{_HERE}/out/Bot.dll", **_TERMINAL},
    build=("-p:Optimize=false", "-p:DebugType=portable"),
)


def _debugger_of(build: Build) -> _Debugger:
    if build.tool in ("g++", "clang++"):
        return _native("lldb" if sys.platform == "darwin" else "gdb", ".exe" if sys.platform == "win32" else "")
    return {"cl": _CL, "javac": _JAVA, "mcs": _MONO, "dotnet": _DOTNET}[build.tool]


def vscode_files(path: Path, language: Language | None, games: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return the content of each file in `FOLDER` by its name.

    Args:
        path: the bot's file; its folder is the one that is opened in VS Code.
        language: of the bot; None for Python.
        games: that it plays; with several, VS Code asks which one to practise.
    """
    several = len(games) > 1
    bot = _Bot(path, ["--game", "${input:game}"] if several else [])
    if language is None:
        tasks, launches = _for_python(bot)
    else:
        build = language.build_here(sys.platform) or language.builds_here(sys.platform)[0]
        if build.build:
            tasks, launches = _for_program(bot, build, ["--game", "${input:game}" if several else games[0]])
        else:
            tasks, launches = _for_node(bot, build)
    asked = {"id": "game", "type": "pickString", "description": "Which game?", "options": list(games)}
    inputs = {"inputs": [{**asked, "default": games[0]}]} if several else {}
    return {
        "tasks.json": {"version": "2.0.0", "tasks": tasks, **inputs},
        "launch.json": {"version": "0.2.0", "configurations": launches, **inputs},
    }


@dataclass(frozen=True)
class _Bot:
    """A bot's file, and the options that name the game of practice."""

    path: Path
    game: list[str]

    def task(self, does: str, command: Sequence[str], **more: Any) -> dict[str, Any]:
        """Return a task that starts a command in the bot's folder."""
        tool, *arguments = command
        words = {"type": "process", "command": tool, "args": arguments, "options": {"cwd": _HERE}}
        return {"label": self.named(does), **words, "problemMatcher": [], **more}

    def getstep(self, does: str, *words: str, **more: Any) -> dict[str, Any]:
        """Return a task that starts ``getstep``."""
        return self.task(does, [sys.executable, "-m", "getstep", *words], **more)

    def practice(self) -> dict[str, Any]:
        return self.getstep("practise", "practice", self.path.name, *self.game, group="test")

    def launch(self, does: str, kind: str, request: str = "launch", **more: Any) -> dict[str, Any]:
        return {"name": self.named(does), "type": kind, "request": request, **more}

    def named(self, does: str) -> str:
        """Return the name of a task: a folder may have several bots."""
        return f"getstep: {does} {self.path.name}"


_Entries = tuple[list[dict[str, Any]], list[dict[str, Any]]]


def _for_python(bot: _Bot) -> _Entries:
    """Return tasks and launch configurations; the debugger follows practice into the bot's process."""
    play = ["play", bot.path.name]
    python = {"module": "getstep", "python": sys.executable, **_TERMINAL}
    return [bot.practice(), bot.getstep("play", *play)], [
        bot.launch("practise", "debugpy", **python, args=["practice", bot.path.name, *bot.game, *_PATIENT]),
        bot.launch("play", "debugpy", **python, args=play),
    ]


def _for_node(bot: _Bot, build: Build) -> _Entries:
    """Return tasks and launch configurations; the debugger follows each process of node that practice starts."""
    practice = ["-m", "getstep", "practice", bot.path.name, *bot.game, *_PATIENT]
    return [bot.practice(), bot.task("play", build.start(bot.path))], [
        bot.launch("practise", "node", runtimeExecutable=sys.executable, runtimeArgs=practice, **_TERMINAL),
        bot.launch("play", "node", program=f"{_HERE}/{bot.path.name}", **_TERMINAL),
    ]


def _for_program(bot: _Bot, build: Build, game: list[str]) -> _Entries:
    """Return tasks and launch configurations for a program that is built.

    Practice starts the program, so a debugger joins it. A game against a person waits for the debugger.
    """
    debugger, stem = _debugger_of(build), bot.path.stem
    compile_it = build.command([bot.path.name, *build.sdk], stem)
    tool, *rest = build.start(bot.path)
    for_debugger = "build for the debugger"
    played = f"{_HERE}/{build.makes.format(stem=stem)}" if tool.startswith(".") else tool
    by_hand = ["practice", "--human", *game, *_PATIENT, "--", tool, *debugger.listen, *rest]

    def filled(values: Mapping[str, Any]) -> dict[str, Any]:
        return {
            key: value.replace("{stem}", stem) if isinstance(value, str) else value for key, value in values.items()
        }

    return [
        bot.task("build", compile_it, group={"kind": "build", "isDefault": True}),
        bot.task(for_debugger, [*compile_it, *debugger.build], group="build"),
        bot.practice(),
        bot.getstep("play against", *by_hand, dependsOn=bot.named(for_debugger)),
        bot.task("play", [played, *rest], dependsOn=bot.named("build")),
    ], [
        bot.launch("play", debugger.type, **filled(debugger.launch), preLaunchTask=bot.named(for_debugger)),
        bot.launch("join the task that plays against", debugger.type, "attach", **filled(debugger.attach)),
    ]
