"""The functions that Dask calls in a worker. They connect `worker` with Dask, and do nothing else.

They are a module of their own, because a worker finds them by its name, and because `worker` needs no Dask.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from distributed import get_worker

from .worker import play_order, prove_worker

STOP_SECONDS = 0.5
"""The interval at which a match that is played finds out that it was cancelled: Dask tells no running task."""


def prove() -> bytes:
    """Return the proof of the worker that calls this."""
    return prove_worker()


def play(number: int, order: bytes, files: Mapping[str, bytes], topic: str) -> bytes:
    """Play a match, and return the report. During the match its turns go to the subscriber of a topic."""
    here, stop, over = get_worker(), threading.Event(), threading.Event()
    key = here.get_current_task()

    def is_cancelled() -> bool:
        task = here.state.tasks.get(key)
        return task is None or task.state == "cancelled"

    # Dask cannot stop a task that runs: it has to look itself
    threading.Thread(target=_watch, args=(is_cancelled, stop, over), daemon=True).start()
    try:
        return play_order(order, files, partial(_pass_on, here, topic, number), stop)
    finally:
        over.set()


def _watch(is_cancelled: Callable[[], bool], stop: threading.Event, over: threading.Event) -> None:
    while not over.wait(STOP_SECONDS):
        if is_cancelled():
            stop.set()
            return


def _pass_on(here: Any, topic: str, number: int, progress: bytes) -> None:
    here.log_event(topic, (number, progress))


def end_worker() -> None:
    """End the process of the worker at once, from its event loop: its threads may hang."""
    os._exit(1)  # not `sys.exit`: it would wait for those threads
