"""A bot that speaks the wire as a player: a program in any language, with its private server."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from getstep._errors import BotError
from getstep.bot_process.serve import LONGEST_TEXT, Message
from getstep.languages import Language
from getstep.local_server import CONNECT_SECONDS, Ended, LocalProgram, LocalServer, Received, SignOfLife, Violation
from getstep.programs.build import sdk_advice
from getstep.wire import MAX_MS, End, GetStep, MalformedAnswer, Raised, Start

from .players import Answer, Player

_PRINTING_SECONDS = 0.5  # for what a bot prints about an exception to come through its pipe
_MOST_WAITS = 10  # faults whose output is waited for: that costs the time of a game, not of the bot
_QUIET_SECONDS = 0.05  # without a further line of it
_MATCH_AND_MOVE = re.compile(r"^Match \d+, move \d+: ")


class WirePlayer(Player):
    """A program that connects over TCP. It is started here, and logged in when this returns.

    Args:
        command: starts it.
        name: the bot's name for people.
        folder: where it starts; None for the current one.
        language: of its source, if that uses an SDK.

    Raises:
        BotError: it cannot be started, ends at once, or does not log in.
    """

    def __init__(
        self, command: Sequence[str], name: str, folder: Path | None = None, language: Language | None = None
    ) -> None:
        super().__init__(name)
        self._source = (language, folder) if language and folder else None  # what its advice depends on
        self._take(LocalProgram(command, folder=folder))
        try:
            logged_in = self._program.wait_for_login()
        except BaseException:
            self.close()
            raise
        if not logged_in:
            why = self._not_logged_in(command)
            self.close()
            raise BotError(why)

    def _take(self, program: LocalServer, waits_for_output: int = _MOST_WAITS) -> None:
        self._program = program
        self.output, self._written = program.output, program.printed
        self._printed = 0  # lines when it was asked
        self._problems: dict[str, str] = {}  # what was printed about each exception
        self._waits_left = waits_for_output

    def _not_logged_in(self, command: Sequence[str]) -> str:
        received = self._program.receive(0)
        lines = self.output.since(0)[-20:]
        printed = "\n".join(f"  {line}" for line in lines)
        if received is not None and isinstance(received.what, Ended):
            text = f"{self.name} has not connected: {received.what.how.partition(';')[0]}."
        elif self._program.refused:
            text = f"{self.name} has not logged in: {self._program.refused}"
        else:
            text = f"{self.name} has not connected within {CONNECT_SECONDS:g} s."
        more = f"It printed:\n{printed}" if printed else "It printed nothing."
        advice = self._advice(lines)
        return "\n".join([f"{text} {more}", f"It was started with: {' '.join(command)}", *advice])

    def _advice(self, lines: list[str]) -> list[str]:
        if self._source is None:
            return [
                "A bot connects to GETSTEP_HOST and GETSTEP_PORT, as the SDK does. A program of an original contest"
                " needs --as, such as --as linkage."
            ]
        language, folder = self._source
        if not lines:
            return [f"A bot in {language.title} calls play when it starts, as what getstep new writes does."]
        return sdk_advice(language, folder, lines)

    # --- what the match tells ---

    @property
    def busy(self) -> bool:
        """True if the bot owes an answer, or is not connected: then the next match needs a fresh one."""
        self._drain()
        return self._open is not None or not self._program.connected

    @property
    def away(self) -> str:
        """Why the bot cannot answer now."""
        return super().away or ("" if self._program.connected else ", and no connection")

    def begin_match(self, start: Start) -> None:
        """Tell the bot that a match begins."""
        self.violation = None
        self._program.begin(start)

    def penalize(self, code: str, detail: str) -> None:
        """Tell the bot what its latest question has cost."""
        self._program.penalize(code, detail)

    def end_match(self, end: End) -> None:
        """Tell the bot that the match is over."""
        self._program.end(end)

    def ask(self, question: Message, _seconds: float) -> Answer | None:
        """Ask the bot and wait for its answer. Return None if there is none in time, or if the bot has ended."""
        self._drain()
        if self._open is None:  # else it is still where it was when the limit of that question ended
            self.late_calls = ""
        self._written.move_on(None)
        self._printed = self.output.lines
        turn = question["turn"]
        asked = time.perf_counter()
        self._open = question["id"]
        self._program.ask(
            GetStep(
                id=1,
                move_number=turn["move_number"],
                board=question["board"],
                is_black=question["is_black"],
                time_left_ms=min(MAX_MS, turn["time_left_ms"]),
                last_move=turn["last_move"],
            )
        )
        deadline = asked + _seconds
        while self.alive and self.violation is None:
            received = self._program.receive(deadline)
            if received is None:
                break
            what = received.what
            if isinstance(what, (SignOfLife, Violation, Ended)):
                self._note(received)
            elif received.at > deadline:
                self._note(received)
                break
            else:
                self._open = None
                problem = self._problem(what.error) if isinstance(what, Raised) else ""
                if not isinstance(what, MalformedAnswer):
                    what = replace(what, notes=self._written.with_output(what.notes))
                return Answer(received.at - asked, what, problem)
        if self.alive and not self.late_calls and self._waits_left:
            self._waits_left -= 1
            self._wait_for_output()  # the SDK says at the limit where the function is
            self.late_calls = self._latest_output()
        return None

    def _note(self, received: Received) -> None:
        """Note what is no answer in time to the open question."""
        what = received.what
        if isinstance(what, Ended):
            self.alive, self.ended, self._open = False, what.how, None
        elif isinstance(what, Violation):
            self.violation, self._open = (what.code, what.detail), None
        else:
            self._heard = True
            if not isinstance(what, SignOfLife):
                self._open = None

    def _drain(self) -> None:
        while (received := self._program.receive(0)) is not None:
            self._note(received)

    def _problem(self, error: str) -> str:
        """Return what the bot has printed about an exception. It may print no trace for the same one again."""
        if error not in self._problems and self._waits_left:
            self._waits_left -= 1
            self._wait_for_output()
            self._problems[error] = self._latest_output()
        return self._problems.get(error, "")

    def _wait_for_output(self) -> None:
        """Wait for what comes through another pipe than the answer: until it is quiet, or nothing has come."""
        lines = changed = 0.0
        until = time.perf_counter() + _PRINTING_SECONDS
        while (now := time.perf_counter()) < until:
            if self.output.lines - self._printed != lines:
                lines, changed = self.output.lines - self._printed, now
            elif lines and now - changed > _QUIET_SECONDS:
                return
            time.sleep(0.002)

    def _latest_output(self) -> str:
        """Return what the bot has printed since it was asked, but not about the penalty before, which is told."""
        kept, in_penalty = [], False
        for line in self.output.since(self._printed):
            text = _MATCH_AND_MOVE.sub("", line)
            in_penalty = text.startswith("penalty for ") or (in_penalty and line.startswith("    "))
            if not in_penalty:
                kept.append(text)
        return "\n".join(kept)[-LONGEST_TEXT:]

    def close(self) -> None:
        """End the bot, with all that it has started."""
        self._program.close()


class AwaitedPlayer(WirePlayer):
    """A program that a person starts, such as in a debugger. It may take any time, also to connect again.

    Args:
        name: the bot's name for people.
        told: called with the variables for its login before it is waited for.
    """

    def __init__(self, name: str, told: Callable[[dict[str, str]], None]) -> None:
        Player.__init__(self, name)
        self._take(LocalServer(), waits_for_output=0)  # the person sees its output
        told(self._program.login)
        try:
            self._program.wait_for_login(math.inf)
        except BaseException:
            self.close()
            raise

    @property
    def busy(self) -> bool:
        """Whether it is connected or not, the next match waits for it."""
        return False
