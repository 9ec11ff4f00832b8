"""A second pair of eyes on a call of the contestant's: where it is, when it does not come back in time."""

from __future__ import annotations

import contextlib
import os
import sys
import sysconfig
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from traceback import FrameSummary, StackSummary, extract_stack

from ._turn import Callback

_LONGEST_SLEEP_SECONDS = 0.25
"""After the last call the thread is gone that soon, and a limit shorter than the one before is seen that late."""

_MOST_CALLS = 8

Late = Callable[[StackSummary], None]


@dataclass(eq=False)
class _Watched:
    """A call: the thread that makes it, when it is late (``time.perf_counter()``), and who is told."""

    thread: int
    until: float
    late: Late


class Watchdog:
    """Tells, once for each call, when it is late and still running. It changes nothing about the call.

    One sleeping thread serves many calls: a bot answers within a millisecond, and starting a thread for each
    would take as long.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._watched: _Watched | None = None
        self._awake = False

    @contextlib.contextmanager
    def over(self, seconds: float, late: Late) -> Iterator[None]:
        """Watch what runs inside: after ``seconds``, ``late`` is called with its calls, from another thread.

        ``late`` has returned, or is never called, once this is left.
        """
        with self._lock:
            self._watched = _Watched(threading.get_ident(), time.perf_counter() + seconds, late)
            if not self._awake:
                self._wake()
        try:
            yield
        finally:
            with self._lock:
                self._watched = None

    def _wake(self) -> None:
        with contextlib.suppress(RuntimeError):  # a bot that has used up all threads plays on, unwatched
            threading.Thread(target=self._watch, name="getstep watchdog", daemon=True).start()
            self._awake = True

    def _watch(self) -> None:
        while seconds := self._look():
            time.sleep(seconds)

    def _look(self) -> float:
        """Tell if it is time to; how long to sleep then, 0 if there is nothing left to watch."""
        with self._lock:
            watched = self._watched
            left = watched.until - time.perf_counter() if watched else 0.0
            if left > 0:
                return min(left, _LONGEST_SLEEP_SECONDS)
            self._watched, self._awake = None, False
            if watched:
                watched.late(_stack(watched.thread))
        return 0.0


def place(stack: StackSummary) -> str:
    """Where the contestant's code is: ``"my_bot.py line 12"``, the innermost call that is no library's."""
    call = next((call for call in reversed(stack) if _is_own(call)), stack[-1] if stack else None)
    return f"{Path(call.filename).name} line {call.lineno}" if call else "an unknown place"


def calls(stack: StackSummary) -> str:
    """The innermost calls as a traceback shows them."""
    return "".join(StackSummary.from_list(stack[-_MOST_CALLS:]).format()).rstrip()


def _stack(thread: int) -> StackSummary:
    """What the callback has called in ``thread``, get_step first."""
    frame = sys._current_frames().get(thread)
    stack = extract_stack(frame) if frame else StackSummary()
    ours = Callback.think.__code__
    begin = [n for n, call in enumerate(stack) if (call.filename, call.name) == (ours.co_filename, ours.co_name)]
    return StackSummary.from_list(stack[begin[-1] + 1 :] if begin else stack)


def _is_own(call: FrameSummary) -> bool:
    paths = sysconfig.get_paths()
    libraries = tuple(paths[name] + os.sep for name in ("stdlib", "platstdlib", "purelib", "platlib"))
    return not call.filename.startswith((*libraries, "<"))
