"""The program of a bot behind a pipe.

It reads questions from standard input and writes replies to standard output, a line of JSON each. The bot's own
output must not get between them: the descriptor of standard output is moved away first, and the bot prints to
standard error instead. The bot's standard input is empty.
"""

from __future__ import annotations

import json
import os
import queue
import random
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from getstep import _bot
from getstep._errors import BotError

from .serve import LONGEST_TEXT, Message, serve


def main(file: str, seed: str = "", convention: str = "") -> None:
    """Load the bot and answer until standard input ends.

    ``seed`` is for ``random``, ``convention`` that of a program; both may be empty.
    """
    questions, replies = _take_streams()
    lock = threading.Lock()

    def send(reply: Message) -> None:
        line = json.dumps(reply).encode() + b"\n"
        with lock:
            try:
                replies.write(line)
                replies.flush()
            except (OSError, ValueError):  # the judge has gone, or the bot has closed the descriptor
                os._exit(1)

    waiting: queue.SimpleQueue[Message] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(questions, waiting), name="getstep questions", daemon=True).start()
    if seed:
        random.seed(seed)
    try:
        callback = _bot.load(Path(file), convention or None)
    except BotError as error:
        send({"type": "broken", "error": str(error), "trace": error.trace[-LONGEST_TEXT:]})
        return
    send({"type": "ready", "games": callback.games})
    serve(callback, _each(waiting), send)


def _take_streams() -> tuple[BinaryIO, BinaryIO]:
    """Return the streams to the judge, and give the bot others in their place."""
    questions, replies = os.dup(0), os.dup(1)  # not inherited by processes that the bot starts
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace", line_buffering=True)  # type: ignore[union-attr]  # both are a TextIOWrapper
    return os.fdopen(questions, "rb"), os.fdopen(replies, "wb")


def _read(questions: BinaryIO, waiting: queue.SimpleQueue[Message]) -> None:
    """Pass on the questions. When the judge has gone, end the process, even while the bot is in an endless loop."""
    for line in questions:
        waiting.put(json.loads(line))
    if (program := sys.modules.get("getstep.programs.program")) is not None:
        program.kill_running()
    os._exit(0)


def _each(waiting: queue.SimpleQueue[Message]) -> Iterator[Message]:
    while True:
        yield waiting.get()


if __name__ == "__main__":
    main(*sys.argv[1:])
