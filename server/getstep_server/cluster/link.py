"""Keeps the process that talks to Dask, and exchanges messages with it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import trio

from getstep_server.pauses import Pauses

from .messages import LENGTH_BYTES, FromProcess, MessageError, ToProcess, frame, from_process, length_of

END_SECONDS = 6.0
"""The time for the process to end its workers and itself: then it is killed."""

LOG_BYTES = 1_000_000
"""The size of the log at which it is begun again."""


class ProcessLink:
    """The process, which is started again whenever it ends.

    Args:
        command: starts it.
        log: the file that gets what it prints as errors.
    """

    def __init__(self, command: Sequence[str], log: Path) -> None:
        self._command = command
        self._log = log
        self._outbox: list[bytes] = []
        self._send = trio.Event()

    def tell(self, message: ToProcess) -> None:
        """Send a message; it is lost if the process ends."""
        self._outbox.append(frame(message))
        self._send.set()

    async def run(self, receive: Callable[[FromProcess], None], lost: Callable[[str], None]) -> None:
        """Keep the process until cancelled.

        Args:
            receive: called with each message.
            lost: called with the reason whenever the process has ended.
        """
        pauses = Pauses()
        while True:
            pauses.begin()
            try:
                code = await self._run_once(receive)
                why = f"the process that talks to Dask has ended with code {code}; see {self._log}"
            except OSError as error:
                why = f"the process that talks to Dask cannot be started: {error}"
            except MessageError as error:
                why = f"the process that talks to Dask is out of step: {error}"
            lost(why)
            await trio.sleep(pauses.next())

    async def _run_once(self, receive: Callable[[FromProcess], None]) -> int:
        """Run the process until it ends, and return its exit code. If this is cancelled, end it.

        Raises:
            OSError: it cannot be started.
            MessageError: what it says is no message.
        """
        self._outbox.clear()
        process = await self._start()
        if process.stdin is None or process.stdout is None:
            raise TypeError(f"{process!r}: its input and output are not pipes")
        problem: MessageError | None = None
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._write, process.stdin)
                try:
                    await self._read(process.stdout, receive)
                except MessageError as error:
                    problem = error
                nursery.cancel_scope.cancel()
            if problem is not None:
                raise problem
            return await process.wait()
        finally:
            with trio.move_on_after(END_SECONDS, shield=True):
                await process.stdin.aclose()
                await process.wait()
            if process.returncode is None:
                process.kill()
                with trio.CancelScope(shield=True):
                    await process.wait()

    async def _start(self) -> trio.Process:
        await trio.to_thread.run_sync(self._begin_log)
        with self._log.open("ab") as log:
            return await trio.lowlevel.open_process(
                list(self._command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                process_group=None if sys.platform == "win32" else 0,  # Ctrl-C is for the server
            )

    def _begin_log(self) -> None:
        """Begin the log again if it is long."""
        if self._log.exists() and self._log.stat().st_size > LOG_BYTES:
            self._log.unlink()

    async def _write(self, stream: trio.abc.SendStream) -> None:
        while True:
            self._send = trio.Event()
            while self._outbox:
                data = b"".join(self._outbox)
                self._outbox.clear()
                try:
                    await stream.send_all(data)
                except trio.BrokenResourceError:  # it has ended, which `_read` notices, too
                    return
            await self._send.wait()

    async def _read(self, stream: trio.abc.ReceiveStream, receive: Callable[[FromProcess], None]) -> None:
        """Pass on messages until the process closes its output.

        Raises:
            MessageError: they are none.
        """
        buffer = bytearray()
        while data := await stream.receive_some():
            buffer += data
            while len(buffer) >= LENGTH_BYTES:
                length = LENGTH_BYTES + length_of(bytes(buffer[:LENGTH_BYTES]))
                if len(buffer) < length:
                    break
                message = from_process(bytes(buffer[LENGTH_BYTES:length]))
                del buffer[:length]
                receive(message)
