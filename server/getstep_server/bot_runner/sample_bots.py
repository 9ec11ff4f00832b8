"""The sample bots: their files, and one of them as a process that answers questions.

A sample bot is our own code, so its process has no sandbox. It has a process of its own so that a bot that thinks
blocks nobody, and can be killed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from types import TracebackType
from typing import Any

import trio

from getstep_server.children.process import kill, start
from getstep_server.errors import BotFailed

REPLY_BYTES = 1 << 16
"""The longest reply: a path of 100 squares takes 1 kB, a traceback up to 24 kB."""

_LOWEST_PRIORITY = ("nice", "-n", "19") if os.name == "posix" else ()
"""Starts a program that way: the matches come first, and the page that answers the person."""


def sample_bots() -> dict[str, Path]:
    """Return the files of the sample bots, by the names of the bots."""
    paths = Path(str(files("getstep_bots"))).glob("[!_]*.py")
    # not all modules there are bots; read as text, because an import would run them
    return {path.stem: path for path in sorted(paths) if "\ndef get_step(" in path.read_text(encoding="utf-8")}


class SampleBot:
    """A sample bot in a process of its own, as an async context manager; it is killed at the end.

    Args:
        file: of the bot.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._process: trio.Process | None = None
        self._unread = b""

    async def __aenter__(self) -> SampleBot:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def stop(self) -> None:
        """Kill the process; the next question starts another one."""
        process, self._process, self._unread = self._process, None, b""
        if process is None:
            return
        kill(process)  # not asked first: it may be deep in a search, and keeps nothing
        with trio.CancelScope(shield=True):  # stopped by a cancellation, too; after SIGKILL the wait is short
            await process.wait()
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    await trio.aclose_forcefully(stream)

    async def move(self, board: list[list[int]], is_black: bool, turn: dict[str, Any]) -> Any:
        """Return the bot's move.

        Args:
            board: as the callback gets it.
            is_black: True for the first player.
            turn: the fields of `getstep.Turn`.

        Raises:
            BotFailed: the bot raised an exception or exited.
        """
        if self._process is None:
            command = [*_LOWEST_PRIORITY, sys.executable, "-m", "getstep.bot_process", str(self._file)]
            self._process = await start(command, stderr=subprocess.DEVNULL)
            await self._reply()  # it is ready
        seconds = turn["time_left_ms"] / 1000
        question = {"id": 1, "board": board, "is_black": is_black, "seconds": seconds, "turn": turn}
        await self._send(json.dumps(question).encode() + b"\n")
        while (reply := await self._reply())["type"] == "late":
            pass  # the caller has the limit
        return reply["move"]

    async def _send(self, line: bytes) -> None:
        if self._process is None or self._process.stdin is None:
            raise TypeError(f"{self._process!r}: its input is not a pipe")
        try:
            await self._process.stdin.send_all(line)
        except trio.BrokenResourceError:
            raise BotFailed(f"{self._file.stem}: the sample bot exited") from None

    async def _reply(self) -> dict[str, Any]:
        """Return the next reply, as `getstep.bot_process.serve` describes it.

        Raises:
            BotFailed: the bot raised an exception, cannot be loaded or exited.
        """
        if self._process is None or self._process.stdout is None:
            raise TypeError(f"{self._process!r}: its output is not a pipe")
        while b"\n" not in self._unread and len(self._unread) <= REPLY_BYTES:
            data = await self._process.stdout.receive_some(REPLY_BYTES)
            if not data:
                raise BotFailed(f"{self._file.stem}: the sample bot exited")
            self._unread += data
        line, _, self._unread = self._unread.partition(b"\n")
        try:
            reply: dict[str, Any] = json.loads(line)
        except ValueError as error:
            raise BotFailed(f"{self._file.stem}: the reply {line[:80]!r} is not JSON") from error
        if reply.get("error") is not None:
            raise BotFailed(f"{self._file.stem}: {reply['error']}")
        return reply
