"""The sample bots: their files, and one of them as a process that answers questions.

A sample bot is our own code, so its process has no sandbox. It has a process of its own so that a bot that thinks
blocks nobody, and can be killed.
"""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from types import TracebackType
from typing import Any

import trio

from getstep_server.errors import BotFailed

ANSWER_BYTES = 1 << 16
"""The longest answer: a path of 100 squares takes 1 kB."""


def sample_bots() -> dict[str, Path]:
    """Return the files of the sample bots, by the names of the bots."""
    paths = Path(str(files("getstep_bots"))).glob("[!_]*.py")
    return {path.stem: path for path in sorted(paths)}


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
        process.kill()
        with trio.CancelScope(shield=True):
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
            self._process = await _start(self._file)
        line = json.dumps({"board": board, "is_black": is_black, "turn": turn}).encode() + b"\n"
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:
            raise TypeError(f"{self._process!r}: its input or output is not a pipe")
        try:
            await stdin.send_all(line)
            while b"\n" not in self._unread and len(self._unread) <= ANSWER_BYTES:
                data = await stdout.receive_some(ANSWER_BYTES)
                if not data:
                    raise BotFailed(f"{self._file.stem}: the sample bot exited")
                self._unread += data
        except trio.BrokenResourceError:
            raise BotFailed(f"{self._file.stem}: the sample bot exited") from None
        answer, _, self._unread = self._unread.partition(b"\n")
        try:
            return json.loads(answer)
        except ValueError as error:
            raise BotFailed(f"{self._file.stem}: the answer {answer[:80]!r} is not JSON") from error


async def _start(file: Path) -> trio.Process:
    return await trio.lowlevel.open_process(
        [sys.executable, "-m", "getstep_server.bot_runner.sample_bot_process", str(file)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C is for the server
    )
