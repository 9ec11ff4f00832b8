"""A program of an original contest as a ``get_step``: it runs the program and talks to it by its convention."""

from __future__ import annotations

import atexit
import contextlib
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from ._bot import find
from ._games import Board
from ._turn import Turn
from .conventions import (
    CONVENTIONS,
    MAX_OUTPUT,
    SILENCE_SECONDS,
    Input,
    Output,
    Question,
    Talk,
    topcoder_wrapper,
)

KEPT_OUTPUT = 64 * MAX_OUTPUT
"""Bytes of output that wait to be read. A program that writes more has to wait: its pipe is full."""

_END_SECONDS = 0.5  # for a program to end by itself once its input has ended
_LATE_SECONDS = 0.5  # after the limit, in which the program is still waited for: the judge's clock decides
_POLL_SECONDS = 0.005

_running: set[subprocess.Popen[bytes]] = set()


@atexit.register
def kill_running() -> None:
    """Kill all programs that still run. A process that ends by `os._exit` has to call it itself."""
    for process in list(_running):
        process.kill()


class ProgramBot:
    """A program that plays by a convention. A program that fails raises an exception in that turn.

    Args:
        convention: a name of `CONVENTIONS`.
        program: the program's file: an executable, a ``.py`` file or a ``.jar`` file.

    Raises:
        BotError: there is no such file.
    """

    def __init__(self, convention: str, program: Path) -> None:
        self._name = convention
        self._convention = CONVENTIONS[convention]
        self._program = find(program)
        self._match: int | None = None
        self._talk: Talk | None = None
        self._process: _Process | None = None

    def get_step(self, board: Board, is_black: bool, turn: Turn) -> Any:
        """Return the program's move.

        Raises:
            RuntimeError: the program does not play this game, has ended, or has written no move in time.
            ConventionError: its output is not a move.
        """
        if turn.game != self._convention.game:
            plays = self._convention.game
            raise RuntimeError(f"a {self._name} program plays {plays}, and this match is {turn.game}")
        talk = self._begin(turn, is_black) if self._talk is None or turn.match != self._match else self._talk
        question = Question(board, turn.last_move)
        deadline = time.monotonic() + turn.time_left_ms / 1000 + _LATE_SECONDS
        try:
            move = self._ask(talk, question, deadline)
        except BaseException:
            self.close()
            raise
        if self._process is not None:
            self._process.send(talk.after(question, move))
        return move

    def close(self) -> None:
        """End the program, if it runs."""
        if self._process is not None:
            self._process.end()
            self._process = None

    def _begin(self, turn: Turn, is_black: bool) -> Talk:
        self.close()
        self._match, self._talk = turn.match, None
        if turn.move_number > 2 and not self._convention.from_any_board:
            at = turn.move_number
            raise RuntimeError(f"the match is at move {at}, and a {self._name} program cannot begin in mid-game")
        self._talk = talk = self._convention(0 if is_black else 1)
        return talk

    def _ask(self, talk: Talk, question: Question, deadline: float) -> Any:
        text = talk.ask(question)
        if talk.process_per_turn:
            output = self._program.parent / str(talk.output_file)
            output.unlink(missing_ok=True)  # an answer to an earlier question
            _write_files(self._program.parent, text)
            self._process = self._start(talk)
        elif self._process is None:
            self._process = self._start(talk)
            self._process.send(talk.begin())
            self._process.send(text)
        else:
            self._process.send(text)
        move = self._process.read(talk, deadline)
        if talk.process_per_turn:
            self.close()
        return move

    def _start(self, talk: Talk) -> _Process:
        command = _command(self._name, self._program, talk)
        return _Process(command, self._program.parent, keeps_output=talk.output_file is None)


class _Process:
    """A running program, and the output that was not read yet."""

    def __init__(self, command: list[str], folder: Path, *, keeps_output: bool) -> None:
        self._folder = folder
        self._keeps_output = keeps_output
        self._output = bytearray()
        self._changed = threading.Condition()
        self._last = time.monotonic()
        self._closed = False
        try:
            self._process = subprocess.Popen(  # noqa: S603 - the program is the user's own
                command,
                cwd=folder,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            )
        except OSError as error:
            raise RuntimeError(f"{command[0]} cannot be started: {error.strerror or error}") from None
        _running.add(self._process)
        self._reader = threading.Thread(target=self._collect, name="getstep program", daemon=True)
        self._reader.start()

    def send(self, text: Input) -> None:
        """Write to standard input and into the folder. A program that has ended is noticed by `read`."""
        _write_files(self._folder, text)
        if text.stdin and self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.write(text.stdin)
                self._process.stdin.flush()

    def read(self, talk: Talk, deadline: float) -> Any:
        """Return the next move.

        Raises:
            RuntimeError: there is none before the deadline (of `time.monotonic`), or the program has ended.
            ConventionError: the output is not a move.
        """
        before, changed = b"", 0.0
        while True:
            with self._changed:
                ended = self._closed
                output, last = bytes(self._output), self._last
            now = time.monotonic()
            if talk.output_file is not None:
                output = _file(self._folder / talk.output_file)
                if output != before:
                    before, changed = output, now
                last = changed
            found = talk.read(Output(output, now - last >= SILENCE_SECONDS, ended))
            if found is not None:
                with self._changed:
                    del self._output[: found[1] if self._keeps_output else 0]
                    self._changed.notify_all()
                return found[0]
            if ended:
                code = self._process.wait()
                raise RuntimeError(f"the program has ended with exit code {code} and has written no move")
            if now >= deadline:
                raise RuntimeError("the program has written no move in time; it was ended")
            with self._changed:
                if not self._closed:
                    self._changed.wait(_POLL_SECONDS)

    def end(self) -> None:
        """Close its input, wait a moment, and kill it."""
        if self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_SECONDS)
        self._process.kill()
        self._process.wait()
        _running.discard(self._process)
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._reader.join(_END_SECONDS)
        if self._process.stdout is not None and not self._reader.is_alive():
            self._process.stdout.close()

    def _collect(self) -> None:
        pipe = self._process.stdout
        while True:
            data = b"" if pipe is None else os.read(pipe.fileno(), 4096)
            with self._changed:
                if self._keeps_output:
                    self._output += data
                self._last = time.monotonic()
                self._closed = self._closed or not data
                self._changed.notify_all()
                if self._closed:
                    return
                self._changed.wait_for(lambda: self._closed or len(self._output) < KEPT_OUTPUT)


def _command(name: str, program: Path, talk: Talk) -> list[str]:
    """Return the command that starts the program."""
    starters = {".py": [sys.executable], ".jar": ["java", "-jar"], ".js": ["node"], ".mjs": ["node"]}
    start = starters.get(program.suffix.lower(), [])
    if name == "topcoder" and program.suffix.lower() == ".py":
        start = [sys.executable, str(topcoder_wrapper.__file__)]
    return [*start, str(program), *talk.arguments()]


def _write_files(folder: Path, text: Input) -> None:
    """Replace files as a whole: a program that polls one never sees a part of it."""
    for name, content in text.files.items():
        new = folder / f"{name}.new"
        new.write_bytes(content)
        deadline = time.monotonic() + _END_SECONDS
        while True:
            try:
                new.replace(folder / name)
                break
            except PermissionError:  # Windows, while the program has the file open
                if time.monotonic() > deadline:
                    raise
                time.sleep(_POLL_SECONDS)


def _file(path: Path) -> bytes:
    """Return the beginning of a file; empty if it is not there or is being written."""
    try:
        with path.open("rb") as file:
            return file.read(KEPT_OUTPUT)
    except OSError:
        return b""
