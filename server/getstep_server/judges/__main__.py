"""A judge process: ``python -m getstep_server.judges DESCRIPTOR``, which is one end of its channel."""

from __future__ import annotations

import socket
import sys

import trio

from .process import run

if __name__ == "__main__":
    trio.run(run, socket.socket(fileno=int(sys.argv[1])))
