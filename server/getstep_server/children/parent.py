"""The child's side: how it finds out that it has to end. Without trio, whose import takes 50 ms."""

from __future__ import annotations

import os


def until_parent_ends(descriptor: int = 0) -> None:
    """Wait until standard input ends: the parent has closed it, or has died. Blocks the thread.

    Args:
        descriptor: where the input is, if the child has put something else in its place.
    """
    # Not by `sys.stdin`: Python cannot end while an abandoned thread holds its lock.
    while os.read(descriptor, 1 << 12):
        pass


def only_when_idle() -> None:
    """Let this process, and what it starts, have a processor only when nobody else wants it. Linux only."""
    if hasattr(os, "SCHED_IDLE"):
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
