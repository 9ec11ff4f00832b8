"""The judge's end of a bot: asks it, and takes its answers, their times and its output.

A thread for each bot reads its replies and stamps each when it arrives, so the time of an answer does not depend on
when the judge's thread wakes up. Pipes and threads work the same on all systems.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from getstep._errors import BotError
from getstep.bot_process.serve import Message, serve
from getstep.output import Output
from getstep.processes import ProcessTree, own_group
from getstep.programs.printed import Printed
from getstep.referee.answers import Answer as WireAnswer
from getstep.text import escape_control_chars, sendable_text
from getstep.turn import Callback, GetStepFunction
from getstep.wire import End, Raised, Resign, Start, Step

LOADING_SECONDS = 60.0
"""For a bot's process to load the bot. Importing a large library takes some seconds, on a slow disk more."""

MAX_REPLY = 1 << 16
"""Bytes of one reply. A traceback of `LONGEST_TEXT` characters has at most 24,000 as JSON, a move fewer."""

_PLACE_SECONDS = 0.5
"""For a bot to say where its call is when the limit has ended. Its limit begins when it gets the question, and a
timer of Windows is up to 16 ms late."""

_TICK_SECONDS = 60.0  # the longest single wait: a question of a match without a clock has no deadline
_END_SECONDS = 0.5  # for a process to end by itself, before it is killed
_PROGRAM = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]);"
    " from getstep.bot_process.__main__ import main; main(*sys.argv[2:])"
)
"""The process searches modules where this one does: in a notebook or a development install they are elsewhere."""


@dataclass(frozen=True)
class Answer:
    """An answer in time, as on the wire; ``problem`` is for the bot's author."""

    seconds: float
    message: WireAnswer
    problem: str = ""


def called(question: Message, move: Any, error: str | None, resigns: bool, notes: Any = None) -> WireAnswer:
    """Return the answer of a call of ``get_step``: its move, unless there is an ``error`` or it gives up."""
    if resigns:
        return Resign(question["id"], notes)
    if error is None:
        return Step(question["id"], move, notes)
    return Raised(question["id"], sendable_text(error), notes)


class Player:
    """One bot of a series of matches. It lives until `close`.

    ``name`` is shown to people. ``alive`` is False once the bot cannot answer any more: ``ended`` says why.
    """

    timed = True
    """False for a person: no limit, no time."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.alive = True
        self.ended = ""
        self.output = Output()
        self._written = Printed(self.output.feed, notes=False)
        self.games: tuple[str, ...] = ()
        """The games that the bot says it plays, as `getstep.plays` names them; empty if it does not say so."""
        self.late_at = ""
        """The place of the call when its limit had ended, such as ``"my_bot.py line 12"``; empty if not known."""
        self.late_calls = ""
        """The calls there, as in a traceback."""
        self.dropped: list[str] = []
        """Lines for the bot's author about notes that were dropped."""
        self.violation: tuple[str, str] | None = None
        """The code and the detail of what the bot did against the protocol in this match."""
        self._inbox: queue.SimpleQueue[tuple[float, Message | None]] = queue.SimpleQueue()
        self._heard = False
        self._open: int | None = None

    @property
    def busy(self) -> bool:
        """True if the bot has not answered its latest question yet."""
        self._drain()
        return self._open is not None

    @property
    def away(self) -> str:
        """Why the bot cannot answer now; empty if it can."""
        return "" if self.alive else f": {self.ended}"

    def begin_match(self, start: Start) -> None:
        """Tell the bot that a match begins."""

    def penalize(self, code: str, detail: str) -> None:
        """Tell the bot what its latest question has cost."""

    def end_match(self, end: End) -> None:
        """Tell the bot that the match is over."""

    def ask(self, question: Message, _seconds: float) -> Answer | None:
        """Ask the bot and wait for its answer. Return None if there is none in time, or if the bot has ended."""
        self._drain()
        asked = time.perf_counter()
        stalled = self._open is not None
        if not stalled:  # else it is still where it was when the limit of that question ended
            self.late_at, self.late_calls = "", ""
        self._open = question["id"]
        self._written.move_on(None)
        self._send(question)
        deadline = asked + _seconds
        while self.alive:
            left = deadline - time.perf_counter()
            try:
                at, reply = self._inbox.get(timeout=max(0.0, min(left, _TICK_SECONDS)))
            except queue.Empty:
                if left > _TICK_SECONDS:
                    continue
                if not stalled:
                    self._wait_for_place()
                return None
            if self._handle(reply) and reply is not None:
                if at > deadline:
                    self._heard = True
                    return None
                resigns, notes = reply.get("resigns") is True, self._written.with_output(reply.get("notes"))
                message = called(question, reply.get("move"), reply.get("error"), resigns, notes)
                if isinstance(dropped := reply.get("dropped"), list):
                    self.dropped += map(escape_control_chars, map(str, dropped))
                return Answer(at - asked, message, reply.get("problem", ""))
        return None

    def take_sign_of_life(self) -> bool:
        """Return True if the bot has answered an earlier question since it was asked this the last time."""
        self._drain()
        heard, self._heard = self._heard, False
        return heard

    def close(self) -> None:
        """End the bot."""

    def _send(self, question: Message) -> None:
        raise NotImplementedError

    def _wait_for_place(self) -> None:
        """Wait a moment for the place of a call that is late."""
        until = time.perf_counter() + _PLACE_SECONDS
        with contextlib.suppress(queue.Empty):
            while self.alive and self._open is not None and not self.late_at:
                _, reply = self._inbox.get(timeout=max(0.0, until - time.perf_counter()))
                if self._handle(reply):
                    self._heard = True

    def _drain(self) -> None:
        with contextlib.suppress(queue.Empty):
            while True:
                _, reply = self._inbox.get_nowait()
                if self._handle(reply):
                    self._heard = True

    def _handle(self, reply: Message | None) -> bool:
        """Note a reply. Return True if it answers the open question."""
        if reply is None:
            self.alive = False
            self._open = None
            return False
        kind = reply.get("type")
        if kind == "late":
            self.late_at, self.late_calls = str(reply.get("where")), str(reply.get("calls"))
        elif kind == "answer" and reply.get("id") == self._open:
            self._open = None
            return True
        elif kind == "answer":
            self._heard = True  # to a question that is over, or a second one
        return False


class ProcessPlayer(Player):
    """A bot file in a process of its own.

    Args:
        file: the bot's file.
        name: the bot's name for people.
        seed: for ``random`` in the process; empty for none.
        convention: that of a program, such as ``"linkage"``; empty for a bot with ``get_step``.

    Raises:
        BotError: the file cannot be loaded.
    """

    def __init__(self, file: Path, name: str, seed: str = "", convention: str = "") -> None:
        super().__init__(name)
        self._start(file, seed, convention)
        try:
            self._wait_until_loaded()
        except BaseException:
            self.close()
            raise

    def _start(self, file: Path, seed: str, convention: str) -> None:
        # The order of a set of texts depends on the hash seed, and with it the moves of many bots.
        environment = {**os.environ, **({"PYTHONHASHSEED": "0"} if seed else {})}
        self._process = subprocess.Popen(  # noqa: S603 - the bot is the user's own
            [sys.executable, "-c", _PROGRAM, json.dumps(sys.path), str(file), seed, convention],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            **own_group(),  # Ctrl-C stops practice, which then ends the bots
        )
        self._tree = ProcessTree(self._process)
        pipes = (self._process.stdin, self._process.stdout, self._process.stderr)
        self._pipes: list[IO[bytes]] = [pipe for pipe in pipes if pipe is not None]
        self._reader = threading.Thread(target=self._read_replies, name="getstep replies", daemon=True)
        self._reader.start()
        self._written.follow(self._process.stderr)
        self._pipes[2].close()  # it is read through a descriptor of its own

    def _wait_until_loaded(self) -> None:
        try:
            _, reply = self._inbox.get(timeout=LOADING_SECONDS)
        except queue.Empty:
            raise BotError(f"{self.name} has not loaded within {LOADING_SECONDS:g} s.") from None
        if reply is None:
            raise BotError(f"{self.name} does not load: {self._ending()}.")
        if reply.get("type") != "ready":
            raise BotError(str(reply.get("error")), str(reply.get("trace", "")))
        self.games = tuple(map(str, reply.get("games", ())))

    def _read_replies(self) -> None:
        for line in iter(lambda: self._pipes[1].readline(MAX_REPLY), b""):
            stamp = time.perf_counter()
            reply = _parse(line)
            if reply is None:
                break
            self._inbox.put((stamp, reply))
        self._inbox.put((time.perf_counter(), None))

    def _send(self, question: Message) -> None:
        with contextlib.suppress(OSError):  # the process has ended: the reading thread tells
            self._pipes[0].write(json.dumps(question).encode() + b"\n")
            self._pipes[0].flush()

    def _handle(self, reply: Message | None) -> bool:
        if reply is None and self.alive:
            self.ended = self._ending()
        return super()._handle(reply)

    def _ending(self) -> str:
        """Return how the process ended; one that has only closed its pipe is killed."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            code = self._process.wait(_END_SECONDS)
            self._written.finish()
            return self.output.ending(code)
        self._kill()
        return "its process has closed the connection to the judge"

    def close(self) -> None:
        """End the process, with a moment to end by itself; then kill it and the processes that it has started."""
        with contextlib.suppress(OSError):
            self._pipes[0].close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_SECONDS)
        self._kill()
        self._written.finish()
        self._reader.join(_END_SECONDS)
        # A process that the bot has left running may keep the pipe open; then its reader keeps the stream.
        if not self._reader.is_alive():
            self._pipes[1].close()

    def _kill(self) -> None:
        self._tree.kill()
        self._process.wait()


def _parse(line: bytes) -> Message | None:
    """Return a reply, or None if the line is not one: a bot may write anything to the descriptor."""
    try:
        reply = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return reply if isinstance(reply, dict) and line.endswith(b"\n") else None


class ThreadPlayer(Player):
    """A function in a thread of this process, for functions that no file holds, such as those of a notebook.

    The thread cannot be killed. `close` raises an exception in a call that still runs, which ends a loop in
    Python, but not a call of a library that does not return.
    """

    def __init__(self, function: GetStepFunction | Callback, name: str) -> None:
        super().__init__(name)
        self._questions: queue.SimpleQueue[Message | None] = queue.SimpleQueue()
        callback = function if isinstance(function, Callback) else Callback(function)
        self.games = callback.games
        self._thread = threading.Thread(target=self._run, args=(callback,), name="getstep bot", daemon=True)
        self._thread.start()

    def _run(self, callback: Callback) -> None:
        serve(callback, self._each(), lambda reply: self._inbox.put((time.perf_counter(), reply)))

    def _each(self) -> Iterator[Message]:
        while (question := self._questions.get()) is not None:
            yield question

    def _send(self, question: Message) -> None:
        self._questions.put(question)

    def close(self) -> None:
        """End the thread, or interrupt the call that still runs in it."""
        self._questions.put(None)
        if self.busy and self._thread.ident is not None:
            # `Callback.call` takes it for an error of the bot; then the thread reads None, and ends.
            ctypes.pythonapi.PyThreadState_SetAsyncExc(
                ctypes.c_ulong(self._thread.ident), ctypes.py_object(SystemExit)
            )
        self._thread.join(_END_SECONDS)
