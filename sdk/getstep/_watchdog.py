"""The watchdog: it reports a call that does not return in time, with the line where it is."""

from __future__ import annotations

import contextlib
import os
import sys
import sysconfig
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from traceback import FrameSummary, StackSummary, extract_stack

from .turn import Callback

_LONGEST_SLEEP_SECONDS = 0.25
"""The thread ends that soon after the last call. A limit shorter than the one before is noticed that late."""

_STOPPED_SECONDS = 1.0
"""If the thread wakes up so much too late, the whole process was stopped."""

_MAX_CALLS = 8

OnLate = Callable[[StackSummary], None]


@dataclass(eq=False)
class _Watched:
    """A call in ``thread``, and its alarms: a time (``time.perf_counter()``) and a function each, soonest first."""

    thread: int
    alarms: deque[tuple[float, OnLate]]
    meanwhile: Callable[[], object] | None
    postponed: bool = False


class Watchdog:
    """Reports that a call is late and still running. The call itself is not changed.

    One sleeping thread serves many calls: a bot often answers within a millisecond, and starting a thread for
    each call would take as long.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._watched: _Watched | None = None
        self._running = False

    @contextlib.contextmanager
    def watch(self, *alarms: tuple[float, OnLate], meanwhile: Callable[[], object] | None = None) -> Iterator[None]:
        """Watch the block: if it still runs after some seconds, call a function with its stack from another thread.

        When the block is left, each function has returned or will not be called. If the whole process was stopped
        for a while, as by Ctrl-Z, the alarms that are due come a second later, so that the block may still end.

        Args:
            alarms: pairs of seconds and function, in ascending order.
            meanwhile: called in that thread about four times a second, as long as the block runs. It must not wait.
        """
        now = time.perf_counter()
        due = deque((now + seconds, on_late) for seconds, on_late in alarms)
        with self._lock:
            self._watched = _Watched(threading.get_ident(), due, meanwhile)
            if not self._running:
                self._start_thread()
        try:
            yield
        finally:
            with self._lock:
                self._watched = None

    def _start_thread(self) -> None:
        with contextlib.suppress(RuntimeError):  # a bot that has used up all threads plays without a watchdog
            threading.Thread(target=self._run, name="getstep watchdog", daemon=True).start()
            self._running = True

    def _run(self) -> None:
        while seconds := self._check():
            until = time.perf_counter() + seconds
            time.sleep(seconds)
            if time.perf_counter() - until > _STOPPED_SECONDS:
                self._postpone()

    def _postpone(self) -> None:
        """Let alarms that are due come a little later: once for each call, which may stop this thread itself."""
        with self._lock:
            if self._watched is None or self._watched.postponed:
                return
            self._watched.postponed, soonest = True, time.perf_counter() + _STOPPED_SECONDS
            alarms = [(max(until, soonest), on_late) for until, on_late in self._watched.alarms]
            self._watched.alarms = deque(alarms)

    def _check(self) -> float:
        """Report the call if it is late. Return how long to sleep, 0 if there is nothing to watch."""
        with self._lock:
            watched = self._watched
            if watched and watched.meanwhile:
                watched.meanwhile()
            while watched and watched.alarms:
                until, on_late = watched.alarms[0]
                left = until - time.perf_counter()
                if left > 0:
                    return min(left, _LONGEST_SLEEP_SECONDS)
                watched.alarms.popleft()
                on_late(_stack(watched.thread))
            if watched and watched.meanwhile:
                return _LONGEST_SLEEP_SECONDS
            self._watched, self._running = None, False
        return 0.0


def location(stack: StackSummary) -> str:
    """Return the innermost call outside libraries, such as ``"my_bot.py line 12"``."""
    call = next((call for call in reversed(stack) if _is_own(call)), stack[-1] if stack else None)
    return f"{Path(call.filename).name} line {call.lineno}" if call else "an unknown place"


def format_calls(stack: StackSummary) -> str:
    """Return the innermost calls as in a traceback."""
    return "".join(StackSummary.from_list(stack[-_MAX_CALLS:]).format()).rstrip()


def _stack(thread: int) -> StackSummary:
    """Return the calls in ``thread`` inside the callback, get_step first."""
    frame = sys._current_frames().get(thread)
    stack = extract_stack(frame) if frame else StackSummary()
    ours = Callback.call.__code__
    begin = [n for n, call in enumerate(stack) if (call.filename, call.name) == (ours.co_filename, ours.co_name)]
    return StackSummary.from_list(stack[begin[-1] + 1 :] if begin else stack)


def _is_own(call: FrameSummary) -> bool:
    paths = sysconfig.get_paths()
    libraries = tuple(paths[name] + os.sep for name in ("stdlib", "platstdlib", "purelib", "platlib"))
    return not call.filename.startswith((*libraries, "<"))
