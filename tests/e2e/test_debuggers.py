"""Real debuggers: a bot stops at a breakpoint in its function for longer than its limit, and no game is lost."""

from __future__ import annotations

import re
import shlex
import socket
import struct
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import pytest

from getstep import cli
from tests.support.dap import Debugger
from tests.support.languages import need
from tests.support.patience import PATIENCE_SECONDS
from tests.support.processes import free_port
from tests.support.scripts import SCRIPTS
from tests.support.terminal import OnTerminal

if TYPE_CHECKING:
    from tests.support.processes import Program, Programs

pytestmark = pytest.mark.long  # compilers, and programs that stop

T = TypeVar("T")

LIMIT = 0.2
"""Seconds for a move of the bot."""

STOPPED_SECONDS = 1.0
"""How long the bot stops: longer than its limit, and the time for the network that is added to it."""


class Practice:
    """``getstep practice --debug`` with a first bot, which waits for a person to start it.

    Args:
        programs: starts it.
        name: the file of the bot.
        folder: where it is written.
    """

    def __init__(self, programs: Programs, name: str, folder: Path) -> None:
        self.folder = folder
        self._programs = programs
        options = ["--debug", "--game", "linkage", "--against", "random", "--limit", str(LIMIT)]
        command = [sys.executable, "-m", "getstep", "practice", name, *options]
        self._running = programs.start(*command, cwd=folder)
        self._running.expect("Ctrl-C ends practice")
        lines = [line.strip() for line in self._running.output.splitlines() if line.startswith("  ")]
        *exports, command_line = [line for line in lines if not line.startswith("cd ")]
        self._variables = [shlex.split(line)[1] for line in exports]
        self._command = command_line

    def under_debugger(self, *changes: tuple[str, str]) -> list[str]:
        """Return the command that practice has printed, with some words changed."""
        line = self._command
        for before, after in changes:
            assert before in line, line
            line = line.replace(before, after)
        return ["env", *self._variables, *shlex.split(line)]

    def start(self, *changes: tuple[str, str]) -> Program:
        """Start the bot as practice says, with some words of the command changed."""
        return self._programs.start(*self.under_debugger(*changes), cwd=self.folder)

    def check(self) -> None:
        """Check that the game was played to its end without a fault."""
        assert self._running.wait() == 0, self._running.output
        output = self._running.output
        assert "Game 1 of 1: " in output
        assert "The time of the moves is not measured." in output
        assert "Faults of" not in output


def written(name: str, folder: Path) -> str:
    """Write a first bot, and return its source."""
    assert cli.main(["new", str(folder / name), "--game", "linkage"]) == 0
    return (folder / name).read_text(encoding="utf-8")


def once_it_listens(program: Program, connect: Callable[[], T]) -> T:
    """Connect to a program that does not say when it listens."""
    until = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            return connect()
        except ConnectionRefusedError:
            assert program.running, program.output
            assert time.monotonic() < until
            time.sleep(0.05)


def test_gdb(programs: Programs, tmp_path: Path) -> None:
    need("g++", "gdb")
    written("my_bot.cpp", tmp_path)
    practice = Practice(programs, "my_bot.cpp", tmp_path)
    orders = ["break GetStep", "run", "info breakpoints", f"shell sleep {STOPPED_SECONDS}", "delete", "continue"]
    words = shlex.join(["gdb", "-nx", "-batch", *(word for order in orders for word in ("-ex", order)), "--args"])
    gdb = practice.start(("gdb --args", words))
    assert gdb.wait() == 0, gdb.output
    assert re.search(r"^Thread .* hit Breakpoint 1, GetStep", gdb.output, re.MULTILINE), gdb.output
    practice.check()


def test_jdb(programs: Programs, tmp_path: Path) -> None:
    need("javac", "java", "jdb")
    written("MyBot.java", tmp_path)
    practice, port = Practice(programs, "MyBot.java", tmp_path), free_port()
    bot = practice.start(("127.0.0.1:5005", f"127.0.0.1:{port}"))
    bot.expect("Listening for transport dt_socket")
    with OnTerminal(["jdb", "-attach", f"127.0.0.1:{port}"], cwd=tmp_path) as jdb:
        # Before its prompt jdb is still at the event: "cont" would take the thread away from under it.
        jdb.expect(r"VM Started(?s:.*)main\[1\]")
        jdb.type("stop in MyBot.getStep\n")
        jdb.expect(r"Deferring breakpoint")
        jdb.type("cont\n")
        jdb.expect(r"Breakpoint hit.*MyBot\.getStep(?s:.*)\[1\]")
        time.sleep(STOPPED_SECONDS)
        jdb.type("clear MyBot.getStep\n")
        jdb.expect("Removed")
        jdb.type("cont\n")
        practice.check()
    assert bot.wait() == 0, bot.output


def test_the_inspector_of_node(programs: Programs, tmp_path: Path) -> None:
    need("node")
    source = written("my_bot.mjs", tmp_path).splitlines()
    line = 1 + next(number for number, text in enumerate(source) if text.startswith("function getStep("))
    practice = Practice(programs, "my_bot.mjs", tmp_path)
    bot = practice.start(("--inspect-brk", "--inspect-brk=127.0.0.1:0"))
    url = bot.expect(r"Debugger listening on (ws://\S+)")[1]
    script = str(SCRIPTS / "node_debugger.mjs")
    words = [url, "my_bot.mjs", str(line), str(int(1000 * STOPPED_SECONDS))]
    debugger = programs.start("node", "--experimental-websocket", "--no-warnings", script, *words)
    debugger.expect("stopped in getStep")
    debugger.expect("goes on")
    practice.check()
    assert bot.wait() == 0, bot.output
    assert debugger.wait() == 0


class MonoDebugger:
    """The few packets of mono's debugger protocol that a stop at ``Debugger.Break()`` needs."""

    _RESUME, _SET_EVENT = (1, 4), (15, 1)
    _USER_BREAK, _SUSPEND_ALL = 15, 2

    def __init__(self, port: int) -> None:
        self._sock = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_SECONDS)
        self._sent = 0
        assert self._read(13) == b"DWP-Handshake"
        self._sock.sendall(b"DWP-Handshake")

    def stop_at_breaks(self) -> None:
        """Stop the program wherever it calls ``Debugger.Break()``."""
        self._send(self._SET_EVENT, bytes([self._USER_BREAK, self._SUSPEND_ALL, 0]))

    def wait_for_break(self) -> None:
        """Wait until the program has stopped there."""
        while True:
            kinds = self._event()
            if self._USER_BREAK in kinds:
                return

    def resume(self) -> None:
        """Let the program go on."""
        self._send(self._RESUME)

    def close(self) -> None:
        self._sock.close()

    def _send(self, command: tuple[int, int], data: bytes = b"") -> None:
        self._sent += 1
        self._sock.sendall(struct.pack(">IIBBB", 11 + len(data), self._sent, 0, *command) + data)

    def _event(self) -> list[int]:
        """Return the kind of the next packet's event; none of a reply."""
        size, _, flags = struct.unpack(">IIB", self._read(9))
        rest = self._read(size - 9)
        is_reply = flags == 0x80
        return [] if is_reply else [rest[7]]  # after the command, the suspend policy and the number of events

    def _read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            piece = self._sock.recv(size - len(data))
            assert piece, "the program has ended"
            data += piece
        return data


def test_the_debugger_of_mono(programs: Programs, tmp_path: Path) -> None:
    need("mcs", "mono")
    source = written("MyBot.cs", tmp_path)
    head = "public static int[][] GetStep(int[][] board, bool isBlack)\n    {\n"
    assert head in source
    once = "    private static bool stopped;\n\n"
    stop = "        if (!stopped)\n        {\n            stopped = true;\n"
    stop += "            System.Diagnostics.Debugger.Break();\n        }\n"
    text = source.replace(f"    {head}", f"{once}    {head}{stop}")
    (tmp_path / "MyBot.cs").write_text(text, encoding="utf-8")
    practice, port = Practice(programs, "MyBot.cs", tmp_path), free_port()
    bot = practice.start(("127.0.0.1:55555", f"127.0.0.1:{port}"))
    debugger = once_it_listens(bot, lambda: MonoDebugger(port))
    debugger.stop_at_breaks()
    debugger.resume()
    debugger.wait_for_break()
    time.sleep(STOPPED_SECONDS)
    debugger.resume()
    practice.check()
    assert bot.wait() == 0, bot.output
    debugger.close()


def test_debugpy_is_noticed_without_the_option(programs: Programs, tmp_path: Path) -> None:
    """As an editor's button does it: debugpy runs practice, and the bot stops at a breakpoint of the editor."""
    source = written("my_bot.py", tmp_path).splitlines()
    line = 1 + next(number for number, text in enumerate(source) if "legal_moves()" in text)
    port, limit = free_port(), str(LIMIT)
    listen = ["--listen", f"127.0.0.1:{port}", "--wait-for-client", "--configure-subProcess", "False"]
    command = ["-m", "getstep", "practice", "my_bot.py", "--game", "linkage", "--against", "random"]
    practice = programs.start(
        sys.executable, "-Xfrozen_modules=off", "-m", "debugpy", *listen, *command, "--limit", limit, cwd=tmp_path
    )
    with once_it_listens(practice, lambda: Debugger(port)) as editor:
        editor.attach({tmp_path / "my_bot.py": [line]})
        stopped = editor.event("stopped")
        frames = editor.ask("stackTrace", threadId=stopped["threadId"])["stackFrames"]
        assert (stopped["reason"], frames[0]["name"], frames[0]["line"]) == ("breakpoint", "get_step", line)
        time.sleep(STOPPED_SECONDS)
        editor.ask("setBreakpoints", source={"path": str(tmp_path / "my_bot.py")}, breakpoints=[])
        editor.ask("continue", threadId=stopped["threadId"])
        editor.event("terminated")  # its adapter ends after the editor
    assert practice.wait() == 0, practice.output
    assert "The clocks are stopped: a debugger is attached (debugpy)." in practice.output
    assert "Game 1 of 1: " in practice.output
    assert "Faults of" not in practice.output
