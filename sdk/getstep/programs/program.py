"""A program of an original contest as a ``get_step``: it runs the program and talks to it by its convention.

How a process is started is up to a `Program`: on a contestant's machine as any other process (`LocalProgram`), on a
host's in a sandbox. A program gets the processor only while it is asked: between its turns it is suspended, where
its `Program` can do that.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any, Protocol

from getstep import notes
from getstep.conventions import (
    CONVENTIONS,
    MAX_OUTPUT,
    SILENCE_SECONDS,
    ConventionError,
    Identity,
    IdLine,
    Input,
    Output,
    Question,
    Talk,
)
from getstep.games import Board
from getstep.processes import ProcessTree, own_group
from getstep.text import sendable_text
from getstep.turn import Callback, CallResult, Turn
from getstep_engines import Player

from .folder import find
from .printed import Printed
from .start import check_startable, start_command, start_folder

KEPT_OUTPUT = 64 * MAX_OUTPUT
"""Bytes of output that wait to be read. A program that writes more has to wait: its pipe is full."""

_END_SECONDS = 0.5  # for a program to end by itself once its input has ended
_LATE_SECONDS = 0.5  # after the limit, in which the program is still waited for: the judge's clock decides
_POLL_SECONDS = 0.005
_OPEN_SECONDS = 0.1  # for a program to close a file that is to be replaced; a program that polls closes it at once

ID_SECONDS = 5.0
"""For a program to print its id line; as for a turn, this includes its start."""

_NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
"""Flags for a file of a program that may be hostile: a link is not followed, and a pipe is not waited for."""

_running: set[RunningProgram] = set()


@atexit.register
def kill_running() -> None:
    """Kill all programs that still run. A process that ends by `os._exit` has to call it itself."""
    for process in list(_running):  # a copy: threads that end a program remove theirs
        process.kill()


class Folder(Protocol):
    """The files of a program, which may be hostile."""

    def read(self, name: str, most: int) -> bytes | None:
        """Return at most ``most`` bytes of a file; None if there is no plain file of this name."""

    def write(self, name: str, content: bytes) -> None:
        """Replace a file as a whole: a program that polls it never sees a part of it, if it lets go of the file.

        Raises OSError.
        """

    def remove(self, name: str) -> None:
        """Remove a file, if it is there. Raises OSError."""


class RunningProgram(Protocol):
    """A process of a program, and its files; `subprocess.Popen` has most of this."""

    @property
    def stdin(self) -> IO[bytes] | None:
        """Its standard input."""

    @property
    def stdout(self) -> IO[bytes] | None:
        """Its standard output."""

    @property
    def folder(self) -> Folder:
        """Its files, until `close`."""

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit code once it has ended. Raises subprocess.TimeoutExpired."""

    def describe_end(self) -> str:
        """Return how it has ended, such as ``has ended with exit code 3``."""

    def kill(self) -> None:
        """End it at once."""

    def suspend(self) -> None:
        """Take the processor from all its threads."""

    def resume(self) -> None:
        """Give the processor back."""

    def close(self) -> None:
        """Release what is left of it after its end. Raises RuntimeError if its files cannot be kept."""


class Program(Protocol):
    """A program that can be started."""

    @property
    def folder(self) -> Folder:
        """The files that its next process begins with."""

    @property
    def printed(self) -> Printed:
        """The output of its processes beside their moves."""

    def start(self, talk: Talk) -> RunningProgram:
        """Start it with the arguments of ``talk``. Raises OSError if that fails."""


class LocalProgram:
    """A program of the user who starts it. It runs without a sandbox, and is not suspended.

    Args:
        convention: a name of `CONVENTIONS`.
        file: an executable, or a file such as ``bot.py`` or ``Bot.class``.
        arguments: come before those of the convention.
        folder: in which it starts; by default its own, or that of the packages of a Java class.

    Raises:
        BotError: there is no such file, or it cannot be started as it is.
    """

    def __init__(
        self, convention: str, file: Path, arguments: Sequence[str] = (), *, folder: Path | None = None
    ) -> None:
        self._file = find(file)
        check_startable(convention, self._file)
        self._command = [*start_command(convention, self._file), *arguments]
        self.folder = _LocalFolder(folder or start_folder(self._file))
        self.printed = Printed(_show)

    def start(self, talk: Talk) -> RunningProgram:
        """Start it in its folder. Raises OSError."""
        command = [*self._command, *talk.arguments()]
        try:
            process = _LocalProcess(command, self.folder)
        except OSError as error:
            raise OSError(f"{command[0]} cannot be started: {error.strerror or error}") from None
        self.printed.follow(process.stderr)
        return process


def _show(data: bytes) -> None:
    """Pass on what a program writes to standard error."""
    os.write(2, data)  # at once, also if `sys.stderr` is none or another one


class _LocalProcess(subprocess.Popen[bytes]):
    """A process that is never suspended."""

    def __init__(self, command: list[str], folder: _LocalFolder) -> None:
        self.folder = folder
        # Elsewhere it stays in this process's group, with which practice kills it.
        group = own_group() if sys.platform == "win32" else {}
        pipe = subprocess.PIPE
        super().__init__(command, cwd=folder.path, stdin=pipe, stdout=pipe, stderr=pipe, **group)
        self._tree: ProcessTree | None = ProcessTree(self) if sys.platform == "win32" else None

    def describe_end(self) -> str:
        """Return its exit code in words."""
        return f"has ended with exit code {self.wait()}"

    def kill(self) -> None:
        """End it; on Windows with all that it has started."""
        tree, self._tree = self._tree, None
        if tree is not None:
            tree.kill()
        super().kill()

    def suspend(self) -> None:
        """Do nothing."""

    def resume(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Close its output."""
        for stream in (self.stdout, self.stderr):
            if stream is not None:
                stream.close()


class _LocalFolder:
    """A folder on the user's disk."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self, name: str, most: int) -> bytes | None:
        """Return the beginning of a plain file. A link could show the program a file that it cannot read itself."""
        try:
            file = os.open(self.path / name, os.O_RDONLY | _NO_LINK)
        except OSError:  # also while it is being written, on Windows
            return None
        try:
            if not stat.S_ISREG(os.fstat(file).st_mode):
                return None
            with os.fdopen(file, "rb", closefd=False) as opened:
                return opened.read(most)
        finally:
            os.close(file)

    def write(self, name: str, content: bytes) -> None:
        """Replace a file, or its content: Windows replaces no file that the program has open."""
        new = self.path / f"{name}.new"
        new.unlink(missing_ok=True)  # a link of this name would have another file overwritten
        try:
            with new.open("xb") as file:
                file.write(content)
            if not _replace(new, self.path / name):
                _overwrite(self.path / name, content)
        finally:
            new.unlink(missing_ok=True)

    def remove(self, name: str) -> None:
        """Remove a file."""
        (self.path / name).unlink(missing_ok=True)


def _replace(new: Path, old: Path) -> bool:
    """Rename ``new`` to ``old``; return False if the program has ``old`` open all the time, on Windows."""
    deadline = time.monotonic() + _OPEN_SECONDS
    while True:
        try:
            new.replace(old)
        except PermissionError:
            if time.monotonic() > deadline:
                return False
            time.sleep(_POLL_SECONDS)
        else:
            return True


def _overwrite(path: Path, content: bytes) -> None:
    """Replace the content of a file by one call, without an empty file in between. Raises OSError."""
    file = os.open(path, os.O_RDWR | _NO_LINK)
    try:
        os.write(file, content)
        os.ftruncate(file, len(content))
    finally:
        os.close(file)


class ProgramBot:
    """A program that plays by a convention. A program that fails raises an exception in that turn.

    Args:
        convention: a name of `CONVENTIONS`.
        program: starts the processes; or the program's file, as `LocalProgram` takes it.

    Raises:
        BotError: there is no such file, or it cannot be started as it is.
    """

    def __init__(self, convention: str, program: Path | Program) -> None:
        self._name = convention
        self._convention = CONVENTIONS[convention]
        self._program = LocalProgram(convention, program) if isinstance(program, Path) else program
        self._match: int | None = None
        self._talk: Talk | None = None
        self._process: _Process | None = None

    @property
    def running(self) -> bool:
        """True if a process of it runs that can be asked again."""
        return self._process is not None

    @property
    def has_written(self) -> bool:
        """True if it runs, and has written to standard output what was not read yet."""
        return self._process is not None and self._process.has_output

    def get_step(self, board: Board, is_black: bool, turn: Turn) -> Any:
        """Return the program's move.

        Raises:
            RuntimeError: the program does not play this game, has ended, or has written no move in time.
            ConventionError: its output is not a move.
        """
        plays = self._convention.game
        if plays not in (None, turn.game):
            raise RuntimeError(f"a {self._name} program plays {plays}, and this match is {turn.game}")
        talk = self._begin(turn, is_black) if self._talk is None or turn.match != self._match else self._talk
        question = Question(board, turn.last_move, turn)
        deadline = time.monotonic() + turn.time_left_ms / 1000 + _LATE_SECONDS
        try:
            move = self._ask(talk, question, deadline)
        except BaseException:
            # At once: at the end of its input it would write about that, too, which hides the reason.
            self.close(at_once=True)
            raise
        finally:
            collector = notes.current()
            if collector is not None:
                for line in talk.notes():
                    collector.from_line(f"{notes.PREFIX} {line}")
            self._program.printed.move_on(collector)
        if self._process is not None:
            self._process.send(talk.after(question, move))
            self._process.running.suspend()
        return move

    def prepare(self, match: int, player: Player) -> RunningProgram | None:
        """Start the program for a match before its first turn, and return its process.

        Until then, it gets only the files with which its convention begins. Returns None if the convention starts
        a process for each turn.

        Raises:
            RuntimeError: it cannot be started.
        """
        self.close()
        self._match, self._talk = match, self._convention(player)
        if self._talk.process_per_turn:
            return None
        self._process = self._start(self._talk)
        return self._process.running

    def close(self, *, at_once: bool = False) -> None:
        """End the program, if it runs; it has a moment to end by itself unless it is killed ``at_once``."""
        process, self._process = self._process, None
        if process is not None:
            process.end(at_once=at_once)

    def _begin(self, turn: Turn, is_black: bool) -> Talk:
        self._end_beside()
        self._match, self._talk = turn.match, None
        if (turn.opening or turn.move_number > 2) and not self._convention.from_any_board:
            at = "begins with an opening" if turn.opening else f"is at move {turn.move_number}"
            raise RuntimeError(f"the match {at}, and a {self._name} program cannot begin in mid-game")
        self._talk = talk = self._convention(0 if is_black else 1)
        return talk

    def _end_beside(self) -> None:
        """End the process of an earlier match without waiting: the clock of this match runs."""
        process, self._process = self._process, None
        if process is not None:
            if self._convention.output_file is not None:
                # Its file gets the questions to the next process: it would answer them.
                process.end(at_once=True)
            else:
                threading.Thread(target=process.end, name="getstep program ends", daemon=True).start()

    def _ask(self, talk: Talk, question: Question, deadline: float) -> Any:
        if talk.process_per_turn:
            _write_files(self._program.folder, talk.ask(question))
            self._process = self._start(talk)
        else:
            if self._process is None:
                self._process = self._start(talk)
            self._process.running.resume()
            if not self._process.begun:
                self._process.begun = True
                self._process.send(Input(talk.begin().stdin))  # its files were there before the start
            self._process.send(talk.ask(question))
        move = self._process.read(talk, deadline)
        if talk.process_per_turn:
            self.close()
        return move

    def _start(self, talk: Talk) -> _Process:
        if talk.output_file is not None:  # an answer to an earlier question, or an earlier match's question
            with _file_errors(talk.output_file, "removed"):
                self._program.folder.remove(talk.output_file)
        _write_files(self._program.folder, talk.begin())
        return _Process(self._program, talk)


class ProgramCallback(Callback):
    """A program's ``get_step``. Its author reads the reason of a failure, without a traceback of our own code."""

    def after_exception(self, error: BaseException, ms: float) -> CallResult:
        """Return the reason alone, if the program is at fault."""
        if not isinstance(error, RuntimeError | ConventionError):
            return super().after_exception(error, ms)
        reason = sendable_text(str(error))
        return CallResult(None, reason, reason, ms)


def identity_of(program: Path | Program) -> Identity:
    """Run a program of the convention ``linkage`` with an argument, and return its id line.

    Raises:
        BotError: there is no such file, or it cannot be started as it is.
        RuntimeError: the program cannot be started, or does not print the line within `ID_SECONDS`.
        ConventionError: it prints something else.
    """
    talk = IdLine(0)
    process = _Process(LocalProgram("linkage", program) if isinstance(program, Path) else program, talk)
    try:
        identity: Identity = process.read(talk, time.monotonic() + ID_SECONDS)
    except _LateError:
        raise RuntimeError(f"the program has printed no id line within {ID_SECONDS:g} s") from None
    finally:
        process.end()
    return identity


class _LateError(RuntimeError):
    """The program has written nothing in time."""


class _Process:
    """A running program, and the output that was not read yet. ``begun`` is True once it was sent the beginning."""

    def __init__(self, program: Program, talk: Talk) -> None:
        self._talk = talk
        self._keeps_output = talk.output_file is None
        self._output = bytearray()
        self._changed = threading.Condition()
        self._last = time.monotonic()
        self._closed = False
        self.begun = False
        self._without_moves = None if self._keeps_output else program.printed.output()
        try:
            self.running = program.start(talk)
        except OSError as error:
            raise RuntimeError(str(error)) from None
        _running.add(self.running)
        self._reader = threading.Thread(target=self._collect, name="getstep program", daemon=True)
        self._reader.start()

    @property
    def has_output(self) -> bool:
        """True if there is output that was not read yet."""
        with self._changed:
            return bool(self._output)

    def send(self, text: Input) -> None:
        """Write to standard input and into the folder. A program that has ended is noticed by `read`."""
        _write_files(self.running.folder, text)
        if text.stdin and self.running.stdin is not None:
            with contextlib.suppress(OSError):
                self.running.stdin.write(text.stdin)
                self.running.stdin.flush()

    def read(self, talk: Talk, deadline: float) -> Any:
        """Return the next move; before that, send the program what ``talk`` replies to its output.

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
                output = self.running.folder.read(talk.output_file, KEPT_OUTPUT) or b""
                if output != before:
                    before, changed = output, now
                last = changed
            written = Output(output, now - last >= SILENCE_SECONDS, ended)
            try:
                if now < deadline and (reply := talk.reply(written)) is not None:
                    self._drop(reply[1])
                    self.send(reply[0])
                    continue
                found = talk.read(written)
            except ConventionError as error:
                end, well = self._end_of_output(deadline) if ended else ("", True)
                if well:
                    raise
                raise ConventionError(f"{error}; the program {end}") from None
            if found is not None:
                self._drop(found[1] if self._keeps_output else 0)
                return found[0]
            if ended:
                raise RuntimeError(
                    f"the program {self._end_of_output(deadline)[0]} and has written no {talk.awaits}"
                )
            if now >= deadline:
                raise _LateError(f"the program has written no {talk.awaits} in time; it was ended")
            with self._changed:
                if not self._closed:
                    self._changed.wait(_POLL_SECONDS)  # no longer: nothing tells of a file, or of silence

    def _drop(self, length: int) -> None:
        """Forget output that was read."""
        with self._changed:
            del self._output[:length]
            self._changed.notify_all()

    def _end_of_output(self, deadline: float) -> tuple[str, bool]:
        """Return how a program has ended that has closed its output, and True if it did well; it may still run."""
        try:
            code = self.running.wait(max(_END_SECONDS, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            return "has closed its output", False
        return self.running.describe_end(), code == 0

    def end(self, *, at_once: bool = False) -> None:
        """Kill it; unless ``at_once``, close its input first and wait a moment.

        Raises:
            RuntimeError: its files cannot be kept for its next process.
        """
        running = self.running
        if at_once:
            running.kill()
        else:
            self.send(self._talk.end())
        if running.stdin is not None:
            with contextlib.suppress(OSError):
                running.stdin.close()
        if not at_once:
            running.resume()  # to end by itself
            with contextlib.suppress(subprocess.TimeoutExpired):
                running.wait(_END_SECONDS)
            running.kill()
        running.wait()
        _running.discard(running)
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._reader.join(_END_SECONDS)
        if not self._reader.is_alive():  # else a process that the program has left keeps the pipe open
            running.close()

    def _collect(self) -> None:
        pipe = self.running.stdout
        while True:
            # The stream's own read would wait until there are 4096 bytes.
            data = b"" if pipe is None else os.read(pipe.fileno(), 4096)
            with self._changed:
                if self._without_moves is None:
                    self._output += data
                else:
                    self._without_moves(data)
                self._last = time.monotonic()
                self._closed = self._closed or not data
                self._changed.notify_all()
                if self._closed:
                    return
                self._changed.wait_for(lambda: self._closed or len(self._output) < KEPT_OUTPUT)


def _write_files(folder: Folder, text: Input) -> None:
    for name, content in text.files.items():
        with _file_errors(name, "written"):
            folder.write(name, content)


@contextlib.contextmanager
def _file_errors(name: str, done: str) -> Iterator[None]:
    """Turn an OSError of the body into a RuntimeError for the program's author, without the host's folders."""
    try:
        yield
    except IsADirectoryError:
        raise RuntimeError(f"{name} cannot be {done}: the program has made a folder of this name") from None
    except OSError as error:
        raise RuntimeError(f"{name} cannot be {done}: {error.strerror or error}") from None
