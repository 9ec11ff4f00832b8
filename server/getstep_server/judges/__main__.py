"""A judge process: ``python -m getstep_server.judges DESCRIPTOR``, which is one end of its channel."""

from __future__ import annotations

import gc
import socket
import sys

import trio

from .process import run

THREAD_TURN_SECONDS = 0.0005
"""As in the server; see `runtime.run`."""

if __name__ == "__main__":
    sys.setswitchinterval(THREAD_TURN_SECONDS)  # here, before the first thread
    gc.freeze()  # as the server does when it begins
    trio.run(run, socket.socket(fileno=int(sys.argv[1])))
