"""Debugging: a bot that plays without a clock, where a debugger reaches it.

A bot in Python runs in the thread that plays, with the terminal's own streams: ``breakpoint()`` works, and so do
the debuggers of editors. A program in another language is started by the person, under its own debugger.
"""

from __future__ import annotations

import contextlib
import random
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType

from getstep.bot_process.serve import Message, call_with
from getstep.programs.debuggers import under_debugger
from getstep.programs.wire import WireBot
from getstep.turn import Callback

from .human import Quit
from .players import Answer, Player, called
from .wire_players import AwaitedPlayer


class _Interrupted(BaseException):
    """Raised by Ctrl-C in a bot. At a KeyboardInterrupt pdb's prompt would only begin a new line."""


class DebugPlayer(Player):
    """A function in the thread that plays, asked as often and as long as it takes.

    Args:
        load: returns the function; it may be debugged, too.
        name: the bot's name for people.
        seed: for ``random``; empty for none.

    Raises:
        BotError: it cannot be loaded.
    """

    timed = False

    def __init__(self, load: Callable[[], Callback], name: str, seed: str = "") -> None:
        super().__init__(name)
        if seed:
            random.seed(seed)
        self._interrupted = False
        with self._interruptible():
            self._callback = load()
        self._quit_if(self._interrupted)

    def ask(self, question: Message, _seconds: float) -> Answer:
        """Call the function. Raises `Quit` if the person ends the debugger, or presses Ctrl-C."""
        with self._interruptible():
            call = call_with(self._callback, question)
        self._quit_if(self._interrupted or call.left_debugger)
        self.dropped += call.dropped
        return Answer(0.0, called(question, call.move, call.error, call.resigns, call.notes), call.problem)

    @contextlib.contextmanager
    def _interruptible(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():  # no other one may have signals
            yield
            return
        before = signal.signal(signal.SIGINT, self._interrupt)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)  # pdb's command c has one of its own

    def _interrupt(self, _number: int, _frame: FrameType | None) -> None:
        self._interrupted = True  # whatever the bot does with the exception
        raise _Interrupted

    def _quit_if(self, ends: bool) -> None:
        if ends:
            raise Quit


def awaited(bot: WireBot, say: Callable[[str], None]) -> AwaitedPlayer:
    """Return a program once the person has started it, as ``say`` tells.

    Raises:
        KeyboardInterrupt: the person does not start it.
    """
    return AwaitedPlayer(bot.name, lambda login: say(_start_text(bot, login)))


def _start_text(bot: WireBot, login: dict[str, str]) -> str:
    set_variable, quoted = ("set", subprocess.list2cmdline) if sys.platform == "win32" else ("export", shlex.join)
    command, hint = under_debugger(bot.command)
    folder = [f"cd {quoted([str(bot.folder)])}"] if bot.folder is not None else []
    variables = [f"{set_variable} {name}={value}" for name, value in login.items()]
    lines = "\n".join(f"  {line}" for line in [*folder, *variables, quoted(command)])
    return (
        f"Start {bot.name} yourself in another terminal, or in your editor with these variables:\n{lines}\n{hint}\n"
        "Practice waits for it, as long as it takes. Ctrl-C ends practice."
    )
