"""Play one match with a program of a team: start it, wait until it is ready, and ask it by its convention.

Theory of operation. A `ProgramSession` is one program in one match. `ProgramSession.prepare` starts the program and
waits until it waits for its first input (`sandbox.proc.WaitWatch`), so that the start of a virtual machine is not
thinking time. `ProgramSession.call` asks it for a move. From then on it is suspended except while it is asked. A
program that ends, hangs or writes nonsense costs its author a turn, and is started again in the next one: the
session raises nothing for that.

The program may be hostile. It gets a fresh copy of its files, and only bounded parts of its output are kept. The
sandbox decides what else it may do.

This is blocking code for a process, or a thread, of its own.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import re
import shutil
import sys
import sysconfig
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any

from getstep.conventions import CONVENTIONS, ConventionError, Talk, topcoder_wrapper
from getstep.games import Board
from getstep.notes import Collector
from getstep.programs.printed import Printed
from getstep.programs.program import ProgramBot, ProgramCallback, identity_of
from getstep.text import sendable_text
from getstep.turn import Callback, CallResult, Turn
from getstep.wire import MAX_TEXT, checked_notes
from getstep_engines import Player
from getstep_server.config.packages import PACKAGES
from getstep_server.limits import (
    PROGRAM_ERROR_BYTES,
    PROGRAM_ERROR_BYTES_PER_SECOND,
    PROGRAM_ERROR_CHARS,
    PROGRAM_ERROR_FREE_BYTES,
    PROGRAM_ERROR_LINES,
    PROGRAM_LATE_REPLIES,
    PROGRAM_REPLIES,
    PROGRAM_REPLY_BYTES,
)
from getstep_server.sandbox import (
    MIB,
    PLAYING,
    Folder,
    Limits,
    Protections,
    SandboxedProcess,
    SandboxError,
    start,
)
from getstep_server.sandbox.proc import WaitWatch
from getstep_server.text import escape_control_chars

from . import kept
from .disk import is_of_the_disk
from .languages import VIRTUAL_MACHINES
from .version import GETSTEP

TOPCODER = replace(PLAYING, memory_bytes=64 * MIB)
"""The limits of a program of the TopCoder match."""

SETTLE_SECONDS = 3.0
"""The time after which a program is ready that polls a file: it never waits for its input, and may compute."""

POLL_SECONDS = 0.02  # 20 ms: hardly a delay for a program, and hardly a load
LATE_SECONDS = 0.5  # after the limit, in which an answer is still waited for: the judge's clock decides


@dataclass(frozen=True)
class ProgramJob:
    """A program to play with: the ``convention`` and ``command`` of a version, and a folder of ``files``.

    ``protections`` are `Protections.NONE` only if the host has said so. ``core`` is the processor core that it runs
    on; None: any.
    """

    convention: str
    command: tuple[str, ...]
    files: Path
    protections: Protections = Protections.ALL
    core: int | None = None
    home: Path | None = None
    """The folder for the copy of its files; None: the system's for temporary files."""
    keep: Path | None = None
    """The folder for the files that it leaves after each turn, as `kept` has them; None: they are not kept.

    Only a convention that starts a process in each turn has such files.
    """


def limits_of(job: ProgramJob) -> Limits:
    """Return the limits of a program.

    The TopCoder match gave a program 64 MB. No virtual machine starts with that: there the heap has 64 MB, by the
    command that `plan` makes.
    """
    small = job.convention == "topcoder" and job.command[0] not in VIRTUAL_MACHINES
    return TOPCODER if small else PLAYING


class _Files:
    """The files that the next process of a program begins with, in a folder that only the host writes to."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self, name: str, most: int) -> bytes | None:
        path = self.path / name
        return path.read_bytes()[:most] if path.is_file() else None

    def write(self, name: str, content: bytes) -> None:
        (self.path / name).write_bytes(content)

    def remove(self, name: str) -> None:
        (self.path / name).unlink(missing_ok=True)  # the program may have deleted it


class HostedProgram:
    """A program as `ProgramBot` takes it, with a copy of its files. A context manager that deletes the copy.

    ``failure`` is set if the host has failed, and not the program. The first process cannot be started: the files
    are as they were built and tried, so the sandbox does not work; later the program itself may have changed or
    deleted them. Or its files cannot be kept, because of the disk. ``show_errors`` gets what it writes to standard
    error.
    """

    def __init__(self, job: ProgramJob, show_errors: Callable[[bytes], object] | None = None) -> None:
        self._job = job
        self._started = False
        self._closed = False
        self.turn = 0
        """The number of the turn that it is asked in."""
        self.failure: SandboxError | None = None
        self.errors = ErrorTail()
        shows = [self.errors.add, *([show_errors] if show_errors else [])]
        self.printed = Printed(
            lambda data: [show(data) for show in shows],
            free=PROGRAM_ERROR_FREE_BYTES,
            per_second=PROGRAM_ERROR_BYTES_PER_SECOND,
        )
        self._home = Path(tempfile.mkdtemp(prefix="getstep-program-", dir=job.home))
        self.folder = _Files(self._home / "program")
        shutil.copytree(job.files, self.folder.path, symlinks=True)

    def __enter__(self) -> HostedProgram:
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self._home, ignore_errors=True)

    def close(self) -> None:
        """Keep no files any more: the process that is ended next has played no whole turn."""
        self._closed = True

    def start(self, talk: Talk) -> HostedProcess:
        """Start it with the arguments of its convention. Raises OSError."""
        return self.run(talk.arguments(), keep_files=talk.process_per_turn)

    def run(self, arguments: Sequence[str] = (), *, keep_files: bool = False) -> HostedProcess:
        """Start it with ``arguments``; ``keep_files``: the next process begins with the files that it leaves.

        Raises:
            OSError: it cannot be started; see ``failure``.
        """
        job = self._job
        python = job.command[0] == "python"
        try:
            process = start(
                [*command_of(job), *arguments],
                self.folder.path,
                limits_of(job),
                job.core,
                job.protections,
                environment={"PYTHONPATH": os.pathsep.join(map(str, _python_path()))} if python else None,
                readable=_readable() if python else (),
            )
        except SandboxError as error:
            if not self._started:
                self.failure = error
            raise OSError(str(error)) from error
        self._started = True
        self.printed.follow(process.stderr)
        return HostedProcess(process, self._save if keep_files else None)

    def _save(self, process: SandboxedProcess) -> None:
        """Save the files of a process that has ended for the next one. Raises RuntimeError."""
        job = self._job
        if self._closed:
            return
        try:
            if job.protections is not Protections.NONE:  # without them it works in the folder itself
                _replace_files(self.folder.path, process.folder)
            if job.keep is not None:
                kept.keep(self.folder.path, job.keep, self.turn, limits_of(job))
        except OSError as error:
            why = f"its files cannot be kept for its next turn: {error.strerror or error}"
            if is_of_the_disk(error):
                self.failure = SandboxError(why)
            raise RuntimeError(why) from error


@cache
def _readable() -> tuple[Path, ...]:
    """Return the folders of the packages that a Python program may import: those that the server can."""
    specs = [find_spec(name) for name in PACKAGES]
    packages = [Path(spec.origin).parent for spec in specs if spec and spec.origin]
    installed = Path(sysconfig.get_path("purelib"))
    return (installed, *(package for package in packages if not package.is_relative_to(installed)))


def _python_path() -> list[Path]:
    installed, *packages = _readable()
    return [installed, *(package.parent for package in packages)]


class HostedProcess:
    """A running program; see `RunningProgram`. ``save`` is called once, with the process, after its end."""

    def __init__(self, process: SandboxedProcess, save: Callable[[SandboxedProcess], None] | None) -> None:
        self._process = process
        self._save = save
        self.stdin, self.stdout, self.folder = process.stdin, process.stdout, process.folder
        self.pid, self.poll, self.wait, self.kill = process.pid, process.poll, process.wait, process.kill
        self.suspend, self.resume, self.describe_end = process.suspend, process.resume, process.describe_end

    def close(self) -> None:
        """Release what is left of it after its end, and save its files if they are needed. Raises RuntimeError."""
        save, self._save = self._save, None
        try:
            if save is not None:
                save(self._process)
        finally:
            self._process.close()


def _replace_files(old: Path, left: Folder) -> None:
    """Replace the files in ``old`` by those that a program has left. After an OSError nothing has changed."""
    new = old.with_name("new")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir()
    left.save(new)
    shutil.rmtree(old)
    new.rename(old)


def command_of(job: ProgramJob) -> list[str]:
    """Return the command that starts a program, without the arguments of its convention.

    ``python`` as its first word is the Python that runs the server. Then a file with get_step, or a class of the
    TopCoder match, gets a small program around it that talks to the host.
    """
    first, *rest = job.command
    if first != "python":
        return [first, *rest]
    around = {GETSTEP: ["-m", "getstep.bot_process"], "topcoder": [str(topcoder_wrapper.__file__)]}
    return [sys.executable, *around.get(job.convention, []), *rest]


def id_line_of(job: ProgramJob) -> str:
    """Return the id line of a program of linkage, or an empty text if it prints none."""
    with HostedProgram(job) as program:
        try:
            return escape_control_chars(identity_of(program).text)[:MAX_TEXT]
        except (RuntimeError, ConventionError):
            return ""


_OF_THE_RUNTIME = re.compile(r"at (javax?|jdk|sun|System|Mono)\b|\.\.\. \d+ more$")
"""A line of a stack trace of Java or C# that is not a place in the program. The exception is above those lines."""


class ErrorTail:
    """The end of what the processes of a program write to standard error, which is told with its failures."""

    def __init__(self) -> None:
        self._kept: deque[int] = deque(maxlen=PROGRAM_ERROR_BYTES)

    def add(self, data: bytes) -> None:
        self._kept.extend(data[-PROGRAM_ERROR_BYTES:])

    def take(self) -> str:
        """Return the last lines as one line, and forget them."""
        text = bytes(self._kept).decode("utf-8", "replace")
        self._kept.clear()
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        lines = [line for line in lines if not _OF_THE_RUNTIME.match(line)] or lines
        return escape_control_chars(" / ".join(lines[-PROGRAM_ERROR_LINES:]))[-PROGRAM_ERROR_CHARS:]


class ProgramSession:
    """A program in one match; a context manager that ends it and deletes its folder.

    Args:
        job: the program.
        match: the number of the match.
        player: the one that it is, 0 for the first.
        show_errors: called in a thread with all that the program writes to standard error.
    """

    def __init__(
        self, job: ProgramJob, match: int, player: Player, show_errors: Callable[[bytes], object] | None = None
    ) -> None:
        self._job = job
        self._program = HostedProgram(job, show_errors)
        self._match, self._player = match, player
        self.silent = False
        """True if the latest call ended the program, or saw its end, with its time up and nothing said.

        It has nothing to send then: the host's own words about it are not a sign of life.
        """
        self._failure = ""
        """The reason why the program was not ready, which its first turn tells."""
        self._bot: _FileBot | _ConventionBot = (
            _FileBot(self._program) if job.convention == GETSTEP else _ConventionBot(job.convention, self._program)
        )

    def __enter__(self) -> ProgramSession:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the program, and delete its folder."""
        self._program.close()
        self._bot.close()
        self._program.printed.finish()  # the program has ended: its last words are complete
        self._program.__exit__()

    def prepare(self, seconds: float) -> bool:
        """Start the program, and wait until it is ready for its first turn, or for ``seconds``.

        Returns:
            False if it has failed. Its first turn then tells the reason.

        Raises:
            SandboxError: the sandbox does not work. This is not a fault of the program.
        """
        try:
            self._bot.prepare(self._match, self._player, seconds)
        except RuntimeError as error:
            self._check_sandbox()
            self._failure = self._told(str(error))
            self._bot.close()
        return not self._failure

    def call(self, board: Board, is_black: bool, turn: Turn) -> CallResult:
        """Ask for a move; see `Callback.call`.

        Raises:
            SandboxError: the sandbox does not work, or the disk. This is not a fault of the program.
        """
        self.silent = False
        if self._failure:
            failure, self._failure = self._failure, ""
            return CallResult(None, sendable_text(failure), failure, 0.0)
        self._program.turn = turn.move_number
        time_is_up = time.monotonic() + turn.time_left_ms / 1000
        call = _with_dropped(self._bot.call(board, is_black, turn), board)
        self._check_sandbox()
        if call.error is None:
            return call
        # it was ended for its time, and says nothing: the judge counts the silence
        self.silent = time.monotonic() >= time_is_up and not self._bot.running
        return replace(call, error=self._told(call.error))

    def _check_sandbox(self) -> None:
        if self._program.failure is not None:
            raise self._program.failure

    def _told(self, error: str) -> str:
        """Return an error with what the program wrote to standard error, and with the rule that it has broken."""
        self._program.printed.settle()  # it may have ended just now
        written = self._program.errors.take()
        told = f"{error}; it wrote to standard error: {written}" if written else error
        if self._job.protections is Protections.ALL and (rule := limits_of(self._job).rule_behind(told)):
            rule = f" (in the sandbox, {rule})"
            told = f"{told[: MAX_TEXT - len(rule)]}{rule}"  # `sendable_text` would cut off the rule
        return sendable_text(told)


def _with_dropped(call: CallResult, board: Board) -> CallResult:
    """Return the result with the lines about dropped notes below the output: nobody sees a terminal here."""
    if not call.dropped:
        return call
    noted = dict(call.notes or {})
    lines = Collector(board)
    lines.print("\n".join([*filter(None, [noted.pop("output", "")]), *call.dropped]))
    return replace(call, notes={**noted, **(lines.take() or {})})


class _ConventionBot:
    """A program of an original contest's convention."""

    def __init__(self, convention: str, program: HostedProgram) -> None:
        self._bot = ProgramBot(convention, program)
        self._convention = CONVENTIONS[convention]
        self._callback = ProgramCallback(self._bot.get_step)

    def prepare(self, match: int, player: Player, seconds: float) -> None:
        """Start it and wait until it waits for its input, or has written something. Raises RuntimeError.

        After ``seconds`` it counts as ready anyway: it may poll for input while it computes. If it has
        not ended its start by then, the rest of that is thinking time.
        """
        process: Any = self._bot.prepare(match, player)
        if process is None:
            return
        watch = WaitWatch(process.pid, os.fstat(process.stdin.fileno()).st_ino)
        polls_a_file = self._convention.output_file is not None
        until = time.monotonic() + (min(SETTLE_SECONDS, seconds) if polls_a_file else seconds)
        while not (watch.is_waiting() or self._bot.has_written) and time.monotonic() < until:
            if process.poll() is not None:
                raise RuntimeError(f"the program {process.describe_end()} before its first turn")
            time.sleep(POLL_SECONDS)
        process.suspend()

    @property
    def running(self) -> bool:
        """True if a process of it runs that can be asked again."""
        return self._bot.running

    def call(self, board: Board, is_black: bool, turn: Turn) -> CallResult:
        return self._callback.call(board, is_black, turn)

    def close(self) -> None:
        self._bot.close()


class _FileBot:
    """A Python file with ``get_step``, which `getstep.bot_process` serves over its pipes."""

    def __init__(self, program: HostedProgram) -> None:
        self._program = program
        self._process: HostedProcess | None = None
        self._replies: queue.Queue[bytes] = queue.Queue(PROGRAM_REPLIES)

    @property
    def running(self) -> bool:
        """True if a process of it runs that can be asked again."""
        return self._process is not None

    def prepare(self, match: int, player: Player, seconds: float) -> None:  # noqa: ARG002 - each question says both
        """Start it and wait until it has loaded the file. Raises RuntimeError."""
        self._start(time.monotonic() + seconds, f"the file was not loaded within {seconds:g} s")

    def call(self, board: Board, is_black: bool, turn: Turn) -> CallResult:
        call = self._call(board, is_black, turn)
        written = Collector(board)
        self._program.printed.move_on(written)
        return replace(call, notes={**(written.take() or {}), **(call.notes or {})})

    def _call(self, board: Board, is_black: bool, turn: Turn) -> CallResult:
        began = time.monotonic()
        # a bit later: the judge decides what is late, by its own clock
        deadline = began + turn.time_left_ms / 1000 + LATE_SECONDS
        try:
            if self._process is None:
                self._start(deadline, "the file was not loaded in time; its process was ended")
            reply = self._ask(board, is_black, turn, deadline)
        except RuntimeError as error:
            self.close()
            return CallResult(None, sendable_text(str(error)), str(error), 0.0)
        ms = (time.monotonic() - began) * 1000
        if (raised := reply.get("error")) is not None:
            call = CallResult(None, sendable_text(str(raised)), str(reply.get("problem")), ms)
        elif reply.get("resigns") is True:
            call = CallResult(None, None, str(reply.get("problem")), ms, resigns=True)
        else:
            move = reply.get("move")
            call = Callback(lambda *_: move).call(board, is_black, turn)
        dropped = reply.get("dropped")
        lines = [escape_control_chars(str(line)) for line in dropped] if isinstance(dropped, list) else []
        return replace(call, ms=ms, notes=checked_notes(reply.get("notes")), dropped=lines)

    def close(self) -> None:
        """End its process, if it runs."""
        process, self._process = self._process, None
        if process is None:
            return
        # not asked: it may be in an endless loop
        process.kill()
        process.wait()
        while not self._replies.empty():  # its reader may wait for room, and keeps the pipe open until it ends
            self._replies.get()
        process.close()

    def _start(self, deadline: float, late: str) -> None:
        try:
            self._process = process = self._program.run()
        except OSError as error:
            raise RuntimeError(str(error)) from None
        self._replies = queue.Queue(PROGRAM_REPLIES)
        # a daemon: a process that the program has left behind may hold the pipe
        threading.Thread(target=_read_lines, args=(process.stdout, self._replies), daemon=True).start()
        reply = self._reply(deadline, late)
        if reply.get("type") != "ready":
            what = str(reply.get("error")).removesuffix("; the error is above.")
            raise RuntimeError(f"{what}: {_last_line(reply.get('trace'))}")
        process.suspend()

    def _ask(self, board: Board, is_black: bool, turn: Turn, deadline: float) -> dict[str, Any]:
        process = self._process
        if process is None:
            raise TypeError("it was not started")
        fields = {"seconds": turn.time_left_ms / 1000, "turn": vars(turn)}
        question = {"id": turn.move_number, "board": board, "is_black": is_black, **fields}
        process.resume()
        with contextlib.suppress(OSError):  # a process that has ended is noticed by `_reply`
            process.stdin.write(json.dumps(question).encode() + b"\n")
            process.stdin.flush()
        late = "get_step has returned no move in time; its process was ended"
        for _ in range(PROGRAM_LATE_REPLIES):
            reply = self._reply(deadline, late)
            if reply.get("type") != "late":
                process.suspend()
                return reply
        raise RuntimeError("the process of get_step has written no answer")

    def _reply(self, deadline: float, late: str) -> dict[str, Any]:
        try:
            # 0 looks once: a negative timeout is an error
            line = self._replies.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            raise RuntimeError(late) from None
        if not line and self._process is not None:
            raise RuntimeError(f"the process of get_step {self._process.describe_end()}")
        try:
            reply = json.loads(line)
        except (ValueError, RecursionError):
            reply = None
        if not isinstance(reply, dict):
            raise RuntimeError("the process of get_step has written no answer")  # noqa: TRY004 - the program is at fault, not this code
        return reply


def _read_lines(stream: IO[bytes] | None, lines: queue.Queue[bytes]) -> None:
    """Put all lines in a queue, and an empty one at the end."""
    if stream is not None:
        with contextlib.suppress(OSError, ValueError), stream:  # closed during the read
            for line in iter(lambda: stream.readline(PROGRAM_REPLY_BYTES), b""):
                lines.put(line)
    lines.put(b"")


def _last_line(trace: object) -> str:
    lines = str(trace or "").strip().splitlines()
    return escape_control_chars(lines[-1]) if lines else "no traceback"
