"""The program of a bot whose get_step does not return: the client starts it again, or ends it.

Python cannot end a call in another thread. So the watchdog's thread starts the whole program again, with the same
command line, in the same folder (protocol.md, "The conversation"). This costs a normal move nothing. On Windows,
where a program cannot be replaced, the old process starts a new one, waits for it and ends with its exit code.

The login and what the client knows about the server are handed over in the variable `HANDOVER_VARIABLE`: other
users can read the arguments of a process, but not its environment. The new process removes the variable, so the
processes that a bot starts do not get it.
"""

from __future__ import annotations

import _thread
import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import FrameType
from typing import Any, NoReturn

from getstep import _program
from getstep._errors import SetupError
from getstep.text import short_repr

from .connection import NO_FENCE, Fence
from .settings import Address, Login

RESTART_SECONDS = 10.0
"""The default of `restart_after`: a computer that is only busy is not so late."""

RESTART_VARIABLE = "GETSTEP_RESTART_AFTER"
HANDOVER_VARIABLE = "GETSTEP_RESTARTED"

LONGEST_RESTART_SECONDS = 86400.0
LONGEST_PAUSE_SECONDS = 60.0
"""The longest pause before a program connects that hangs each time it is started (protocol.md, as above)."""

_HANGS_KEPT = 9
_RESTART_CODES = range(240, 240 + _HANGS_KEPT + 1)
"""Exit codes by which a process on Windows asks the one that has started it to start another; 240 and its hangs."""

_FLUSH_SECONDS = 0.5
"""A thread that hangs in a write holds the lock of its stream: flushing it would wait forever."""


def find_restart_after(value: float | str | None = None) -> float:
    """Return after how many seconds a program is started again: the argument, GETSTEP_RESTART_AFTER, or 10.

    Raises:
        SetupError: the value is not a number of seconds.
    """
    given = value if value is not None else os.environ.get(RESTART_VARIABLE) or RESTART_SECONDS
    try:
        seconds = float(given)
    except (TypeError, ValueError):
        seconds = -1.0
    if not 0 <= seconds <= LONGEST_RESTART_SECONDS:  # also for NaN
        raise SetupError(
            f"The restart-after is {short_repr(given)}, expected a number of seconds from 0 to"
            f" {LONGEST_RESTART_SECONDS:g}; 0 is never."
        )
    return seconds


@dataclass(frozen=True)
class Handover:
    """What a program that is started again gets from the one before.

    ``hangs`` counts how often in a row the program was started again without an answer in between. ``proved`` and
    ``located`` are those of `ServerConnection`, of any connection since the first start. ``supervised`` is True on
    Windows if the first process waits for this one, and starts the next. ``fence`` is the highest that was proved.
    """

    address: Address
    login: Login
    hangs: int
    proved: bool
    located: bool
    supervised: bool = False
    fence: Fence = NO_FENCE

    def to_json(self) -> str:
        """Return it as the value of `HANDOVER_VARIABLE`."""
        address, login = self.address, self.login
        return json.dumps(
            [
                *(address.host, address.port, address.tls, login.team, login.token),
                *(self.hangs, self.fence.number, self.fence.certificate),
                *(self.proved, self.located, self.supervised),
            ]
        )

    @property
    def pause(self) -> float:
        """The seconds to wait before the program connects: none at first, then twice as many each time."""
        return min(LONGEST_PAUSE_SECONDS, 2.0 ** min(self.hangs, 10) / 2) if self.hangs > 1 else 0.0


def take_handover(environment: dict[str, str] | os._Environ[str] = os.environ) -> Handover | None:
    """Return what the program before has handed over, and remove it from the environment; None at first."""
    text = environment.pop(HANDOVER_VARIABLE, None)
    if text is None:
        return None
    try:
        host, port, tls, team, token, hangs, number, shown, *flags = json.loads(text)
        proved, located, supervised = map(bool, flags)
        address, login = Address(str(host), int(port), str(tls)), Login(int(team), str(token))
        fence = Fence(int(number), str(shown))
        return Handover(address, login, int(hangs), proved, located, supervised, fence)
    except (TypeError, ValueError):  # somebody else has set the variable
        return None


def command_of_this_program() -> list[str] | None:
    """Return the command that starts this program again; None if it is no program of its own.

    That is so in a notebook, in a shell such as that of IDLE, in a thread beside the main one, and in a process
    that a program has made of itself.
    """
    main = sys.modules.get("__main__")
    words = sys.orig_argv[1:]
    as_script = bool(sys.argv) and sys.argv[0] in words
    as_module = getattr(main, "__spec__", None) is not None and "-m" in words
    if not sys.executable or getattr(main, "__file__", None) is None or not (as_script or as_module):
        return None
    if threading.current_thread() is not threading.main_thread() or sys.flags.interactive:
        return None
    if os.getpid() != _program.PID or _is_worker():
        return None
    return [sys.executable, *words]


def _is_worker() -> bool:
    """Return True in a process of the module multiprocessing: its command line is that of another program."""
    module: Any = sys.modules.get("multiprocessing.process")
    return module is not None and module.parent_process() is not None


@dataclass(frozen=True)
class Program:
    """This process, as the program of one bot in the main thread.

    Args:
        command: starts the program again.
        restart_after: so many seconds after the limit of a question the program is started again; 0 for never.
    """

    command: Sequence[str]
    restart_after: float

    def start_again(self, handover: Handover) -> str:
        """Start the program again in place of this one. Return only if that fails: the reason."""
        end_others()
        flush()
        environment = {**os.environ, HANDOVER_VARIABLE: handover.to_json()}
        try:
            if sys.platform == "win32":
                self._start_on_windows(environment, handover)
            else:
                self._replace(environment)
        except OSError as error:
            return str(error)

    def _replace(self, environment: Mapping[str, str]) -> NoReturn:
        command = list(self.command)
        if _program.FOLDER is not None:
            os.chdir(_program.FOLDER)
        os.execve(command[0], command, environment)  # noqa: S606 - the user's own command; it closes all sockets

    def _start_on_windows(self, environment: dict[str, str], handover: Handover) -> NoReturn:
        if handover.supervised:
            os._exit(_RESTART_CODES[min(handover.hangs, _HANGS_KEPT)])
        os._exit(supervise(list(self.command), environment, handover))


def supervise(command: list[str], environment: dict[str, str], handover: Handover) -> int:
    """Start the program, and start it again each time it asks for that. Return its last exit code.

    The thread of this process that hangs would take a core, so it is told to end, again and again.
    """
    while True:
        environment[HANDOVER_VARIABLE] = replace(handover, supervised=True).to_json()
        process = subprocess.Popen(  # noqa: S603 - the user's own command
            command,
            env=environment,
            cwd=_program.FOLDER,
            close_fds=sys.platform != "win32",  # else it would not inherit an output that is a pipe
        )
        while process.poll() is None:
            end_call(threading.main_thread())
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(1)
        if process.returncode not in _RESTART_CODES:
            return process.returncode
        handover = replace(handover, hangs=_RESTART_CODES.index(process.returncode))


def end_call(thread: threading.Thread) -> None:
    """Raise SystemExit in a thread that is in Python code; it may catch it."""
    import ctypes  # here: no other system and no other program needs it

    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident or 0), ctypes.py_object(SystemExit))


def leave(code: int) -> NoReturn:
    """End this process although its main thread hangs."""
    end_others()
    flush()
    os._exit(code)


def end_others() -> None:
    """End the program of an original contest that this process has started: it may hang, and go on forever."""
    if (programs := sys.modules.get("getstep.programs.program")) is not None:
        programs.kill_running()


def flush() -> None:
    """Write what is left in the output streams, if that takes no time."""

    def write() -> None:
        for stream in (sys.__stdout__, sys.__stderr__):
            with contextlib.suppress(OSError, ValueError, AttributeError):  # closed, or a program without a console
                stream.flush()  # type: ignore[union-attr]  # None is caught

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    writer.join(_FLUSH_SECONDS)


# --- Ctrl-C ------------------------------------------------------------------------------------------------------


class CtrlC:
    """Notes when Ctrl-C was pressed: a bot may catch KeyboardInterrupt, and go on."""

    def __init__(self) -> None:
        self.pressed_at: float | None = None

    @contextlib.contextmanager
    def noted(self) -> Iterator[None]:
        """Note it in the block, unless the bot handles Ctrl-C itself."""
        if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
            yield
            return
        signal.signal(signal.SIGINT, self._handle)
        try:
            yield
        finally:
            if signal.getsignal(signal.SIGINT) == self._handle:
                signal.signal(signal.SIGINT, signal.default_int_handler)

    def interrupt_main(self) -> None:
        """Raise KeyboardInterrupt in the main thread, also while it waits in the system."""
        if signal.getsignal(signal.SIGINT) != self._handle:
            return
        if sys.platform == "win32":
            _thread.interrupt_main()
        else:
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self.pressed_at = self.pressed_at or time.monotonic()
        signal.default_int_handler(number, frame)
