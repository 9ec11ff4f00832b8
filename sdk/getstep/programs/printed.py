"""What the processes of a program write beside their moves: notes, and other output.

In: their standard error, and a standard output that the convention does not use. Out: for each move, the lines that
begin with ``getstep:``, which are notes, and the end of all else. What a note means is for `getstep.notes` to say.

A program writes a note before its move, into another pipe. So whoever has read the move reads what waits in these
pipes (`Printed.move_on`), before the notes of the move are complete. A thread for each pipe reads in between: a
program that waits for room in a full pipe would play no move.
"""

from __future__ import annotations

import contextlib
import math
import os
import select
import sys
import threading
import time
from collections.abc import Callable, Mapping
from typing import IO, Any

from getstep.notes import PREFIX, Collector

_PREFIX = PREFIX.encode()
_MAX_LINE = 1 << 13  # bytes of a note: its text has at most 4,000; a longer line is cut in pieces
_MAX_NOTES = 1000  # lines of a move: 64 drawings, and texts
_KEPT_BYTES = 1 << 13  # of other output of a move; of this the end is kept, 2,000 bytes
_READ_BYTES = 1 << 16
_END_SECONDS = 1.0  # for what ended processes wrote: a slow terminal takes the 64 kB of a full pipe in that time
_WINDOWS_SECONDS = 0.01  # where a pipe cannot be looked into, for its thread to read what has been written


class Printed:
    """The output of a program beside its moves, of all its processes.

    Args:
        show: called with what is no note, as it comes.
        free: bytes of standard error that are read at once.
        per_second: bytes that are read in each second after that. To read a flood at full speed would take a core.
        notes: False if no line is a note: the program has other ways to note something.
    """

    def __init__(
        self,
        show: Callable[[bytes], object] | None = None,
        *,
        free: float = math.inf,
        per_second: float = math.inf,
        notes: bool = True,
    ) -> None:
        self._show = show
        self._has_notes = notes
        self._free, self._per_second = free, per_second
        self._lock = threading.Lock()
        self._notes: list[str] = []
        self._text = bytearray()
        self._cut = 0  # bytes before it
        self._pipes: list[_Pipe] = []

    def follow(self, stream: IO[bytes] | None) -> None:
        """Read a standard error to its end in a thread. The stream may be closed meanwhile."""
        if stream is not None:
            pipe = _Pipe(os.dup(stream.fileno()), _Lines(self._add, self._has_notes))
            self._pipes = [other for other in self._pipes if other.reader.is_alive()]  # a turn may have its process
            self._pipes.append(pipe)
            pipe.reader = threading.Thread(target=self._read, args=(pipe,), name="getstep stderr", daemon=True)
            pipe.reader.start()

    def output(self) -> Callable[[bytes], None]:
        """Return a function that takes a standard output without moves. It is not shown."""
        return _Lines(lambda data, is_note: self._add(data, is_note, shown=False)).feed

    def move_on(self, collector: Collector | None) -> None:
        """Read what was written until now, and add it to the notes of the move; without a collector, forget it."""
        self.settle()
        with self._lock:
            notes, text, cut = self._notes, bytes(self._text), self._cut
            self._notes, self._text, self._cut = [], bytearray(), 0
        if collector is not None:
            for line in notes:
                collector.from_line(line)
            collector.print(text.decode("utf-8", "replace"), cut)

    def with_output(self, notes: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
        """Return the notes of a move with its output, unless they have that already."""
        collector = Collector(())
        self.move_on(collector)
        output = collector.take()
        return {**output, **(notes or {})} if output else notes

    def settle(self) -> None:
        """Read what was written until now."""
        for pipe in self._pipes:
            pipe.settle()

    def finish(self) -> None:
        """Read all that the processes wrote, which have ended."""
        for pipe in self._pipes:
            pipe.reader.join(_END_SECONDS)

    def _read(self, pipe: _Pipe) -> None:
        while (size := pipe.wait()) is not None:
            self._free -= size
            if self._free < 0:
                time.sleep(size / self._per_second)
        pipe.close()

    def _add(self, data: bytes, is_note: bool, *, shown: bool = True) -> None:
        with self._lock:
            if is_note:
                if len(self._notes) < _MAX_NOTES:
                    self._notes.append(data.decode("utf-8", "replace"))
                return
            self._text += data
            if (excess := len(self._text) - _KEPT_BYTES) > 0:
                self._cut += excess
                del self._text[:excess]
        if shown and self._show is not None:
            with contextlib.suppress(OSError):  # nobody reads it any more
                self._show(data)


class _Lines:
    """Tells notes from other output: ``add`` gets the bytes, and True if they are a note."""

    def __init__(self, add: Callable[[bytes, bool], None], has_notes: bool = True) -> None:
        self._add = add
        self._has_notes = has_notes
        self._begun = b""  # of a line that may become a note
        self._inside = False  # the line has begun, and is none

    def feed(self, data: bytes) -> None:
        if not self._has_notes:
            self._add(data, False)
            return
        whole, end, rest = (self._begun + data).rpartition(b"\n")
        other = bytearray()
        if end and _PREFIX not in whole:  # a flood has millions of lines
            other += whole + end
        elif end:
            for number, line in enumerate(whole.split(b"\n")):
                if line.startswith(_PREFIX) and not (number == 0 and self._inside):
                    self._add(line.strip(), True)
                else:
                    other += line + b"\n"
        self._inside = self._inside and not end
        may_be_note = not self._inside and rest[: len(_PREFIX)] == _PREFIX[: len(rest)] and len(rest) <= _MAX_LINE
        self._begun = rest if may_be_note else b""
        if not may_be_note:
            other += rest
            self._inside = True
        if other:
            self._add(bytes(other), False)

    def end(self) -> None:
        """Take the last line, which has no end."""
        if self._begun:
            self._add(self._begun, self._begun.startswith(_PREFIX))
        self._begun = b""


class _Pipe:
    """The reading end of a pipe, and the thread that waits for it."""

    def __init__(self, descriptor: int, lines: _Lines) -> None:
        self._descriptor = descriptor
        self._lines = lines
        self._lock = threading.Lock()
        self._written = False
        self._ended = False
        self.reader = threading.current_thread()
        if sys.platform != "win32":
            os.set_blocking(descriptor, False)

    def wait(self) -> int | None:
        """Wait for output, and read it. Return the number of bytes; None at the end."""
        if sys.platform != "win32":
            poll = select.poll()
            poll.register(self._descriptor, select.POLLIN)
            poll.poll()
            return self._take()
        try:
            data = os.read(self._descriptor, _READ_BYTES)
        except OSError:
            data = b""
        self._written = True
        return self._feed(data)

    def settle(self) -> None:
        """Read what has been written until now."""
        if sys.platform != "win32":
            self._take()
        elif self._written:
            self.reader.join(_WINDOWS_SECONDS)

    def _take(self) -> int | None:
        """Read what is there, but no flood."""
        with self._lock:
            try:
                return None if self._ended else self._feed(os.read(self._descriptor, _READ_BYTES))
            except BlockingIOError:  # another thread has read it
                return 0

    def _feed(self, data: bytes) -> int | None:
        if data:
            self._lines.feed(data)
            return len(data)
        self._ended = True  # only the reader closes it: meanwhile it may wait for this descriptor
        self._lines.end()
        return None

    def close(self) -> None:
        with self._lock:
            os.close(self._descriptor)
