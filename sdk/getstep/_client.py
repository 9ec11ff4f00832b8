"""Playing: the conversation of protocol.md from the client's side, with reconnecting around it."""

from __future__ import annotations

import contextlib
import os
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from traceback import StackSummary

from . import _bot
from ._errors import BotError, NotGetstep, Refused, Unreachable
from ._link import Link, connect, explain, greet, join, speaks_our_version
from ._match import Match, Result, ending, lateness, penalty_text, waiting
from ._settings import Address, Login, find_address, find_login
from ._text import Console, printable
from ._turn import Callback, GetStepFunction, Thought
from ._version import __version__
from ._watchdog import Watchdog, place
from .wire import (
    VERSION,
    End,
    GetStep,
    Goodbye,
    Hello,
    Message,
    Penalty,
    Raised,
    RemoteProtocolError,
    Start,
    Step,
    Welcome,
)

FIRST_PAUSE_SECONDS = 0.2
LONGEST_PAUSE_SECONDS = 5.0
"""Between attempts to connect; doubled each time (protocol.md, "Reconnecting")."""

JITTER = 0.1
"""The part of a pause that is drawn, so that a room full of bots does not come back in one instant."""

_UPDATE = "Bring your getstep up to date: python -m pip install --upgrade getstep"
_ADVICE = {
    "bad_token": "Copy the token again from the slip from the host, dashes included.",
    "unknown_team": "Ask the host for your team's id, or look at the slip with the token.",
    "replaced": "Is a second copy of your bot running? The newest one plays, this one stops.",
    "unsupported_version": _UPDATE,
}


def play(
    get_step: GetStepFunction,
    team: int | str | None = None,
    token: str | None = None,
    host: str | None = None,
    port: int | str | None = None,
    *,
    token_file: str | os.PathLike[str] | None = None,
    quiet: bool = False,
) -> list[Result]:
    """Play in a contest until it is over; the one call a bot needs.

    ``get_step(board, is_black)`` is called whenever it is this bot's turn and returns a move. ``board`` is a
    fresh list of rows of ints; ``is_black`` is True for the first player. With a third parameter it also gets
    a `Turn`. An exception in it costs that turn only. After a lost connection this connects again and carries
    on, in the middle of a match too; a server that is not there yet is waited for. Ctrl-C ends the program
    with exit code 130.

    Args:
        get_step: the bot.
        team: the team id, 0 to 2147483647; else the variable GETSTEP_TEAM.
        token: the team's token; else ``token_file``, GETSTEP_TOKEN, or the file GETSTEP_TOKEN_FILE.
        host: the server's name or address; else GETSTEP_HOST, else 127.0.0.1.
        port: the server's port; else GETSTEP_PORT, else 7777.
        token_file: a text file that holds the token alone.
        quiet: print problems only.

    Returns:
        The matches that ended while the bot was connected, in order.

    Raises:
        SetupError: the team, the token, the host or the port is missing or cannot be right.
        BotError: ``get_step`` cannot be called with a board and a colour.
        Unreachable: the host's name does not resolve.
        Refused: the server does not let this bot play: a wrong token or team, a server of another version,
            or a newer login of the same team.
    """
    if _bot.loading:
        raise BotError(
            'getstep.play is called while the file is loaded; put it under if __name__ == "__main__":\n'
            "or remove it: getstep play calls it for you."
        )
    callback = Callback(get_step)
    client = Client(callback, find_address(host, port), find_login(team, token, token_file), Console(quiet=quiet))
    try:
        return client.run()
    except KeyboardInterrupt:
        client.console.say("Stopped.")
        raise SystemExit(130) from None


class Pauses:
    """How long to wait before connecting again, in seconds: growing, with a little chance in it."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """A login held: the next pause is short again."""
        self._next = FIRST_PAUSE_SECONDS

    def next(self) -> float:
        """The pause to make now."""
        pause = self._next
        self._next = min(2 * pause, LONGEST_PAUSE_SECONDS)
        return pause * random.uniform(1 - JITTER, 1)


@dataclass
class Question:
    """A question, what the callback made of it, and whether that has been said."""

    ask: GetStep
    thought: Thought | None = None
    answered: bool = False

    def same_as(self, ask: GetStep) -> bool:
        """Whether the server repeats this question after a reconnect; the time that is left has changed."""
        return replace(ask, time_left_ms=self.ask.time_left_ms) == self.ask


class Client:
    """A bot's way through a contest, over as many connections as it takes.

    Args:
        callback: the bot.
        address: where the server is.
        login: who plays.
        console: where the lines go.
        sleep: makes the pauses, in seconds; tests pass their own.
    """

    def __init__(
        self,
        callback: Callback,
        address: Address,
        login: Login,
        console: Console,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.console = console
        self._callback = callback
        self._address = address
        self._login = login
        self._sleep = sleep
        self._pauses = Pauses()
        self._watchdog = Watchdog()
        self._results: list[Result] = []
        self._match: Match | None = None
        self._question: Question | None = None  # the newest
        self._goodbye: Goodbye | None = None
        self._welcomed = False  # on this connection
        self._ever_welcomed = False
        self._said: set[str] = set()  # the troubles since the last welcome

    def run(self) -> list[Result]:
        """Play until the server says not to come back; raises as `play` does."""
        self.console.say(f"Connecting to {self._address} as team {self._login.team} ...")
        while True:
            try:
                goodbye = self._one_connection()
            except Unreachable as error:
                if not self._ever_welcomed:
                    raise
                pause = self._in_trouble(str(error))
            except (OSError, NotGetstep, RemoteProtocolError) as error:
                pause = self._in_trouble(explain(error))
            else:
                if goodbye.retry_ms is None:
                    return self._over(goodbye)
                pause = self._sent_away(goodbye, goodbye.retry_ms)
            self._sleep(pause)

    # --- one connection ---

    def _one_connection(self) -> Goodbye:
        self._welcomed, self._goodbye = False, None
        with connect(self._address) as link:
            hello = greet(link)
            if isinstance(hello, Goodbye):
                return hello
            if not speaks_our_version(hello):
                raise Refused("unsupported_version", version_text(hello.versions))
            answer = join(link, hello, self._login)
            if isinstance(answer, Goodbye):
                return answer
            self._enter(hello, answer)
            return self._stay(link)

    def _enter(self, hello: Hello, welcome: Welcome) -> None:
        if self._ever_welcomed:
            self.console.say("Connected again.")
        else:
            who = f"{printable(welcome.name)} (team {welcome.team})"
            self.console.say(f"Connected to {printable(hello.contest)} as {who}.")
        self._welcomed = self._ever_welcomed = True
        self._said.clear()
        self._pauses.reset()

    def _stay(self, link: Link) -> Goodbye:
        while self._goodbye is None:
            self._note(link.wait())
            while link.open_question is not None:
                self._answer(link)
        return self._goodbye

    def _answer(self, link: Link) -> None:
        """Think; read what has arrived meanwhile; answer, unless that has closed the question."""
        match, question = self._running()
        try:
            thought = question.thought or self._think(match, question)
        except KeyboardInterrupt:
            self._note_the_last(link)
            raise
        self._note(link.arrived())
        if link.open_question != question.ask.id:
            late = lateness(match.number, question.ask, thought.ms)
            self.console.warn(f"{late}; the question was closed meanwhile, so the answer was not sent")
            return
        if thought.error is not None:
            link.say(Raised(id=question.ask.id, error=thought.error))
        else:
            link.say(Step(id=question.ask.id, move=thought.move))
            match.moved(question.ask.id)
        question.answered = True

    def _think(self, match: Match, question: Question) -> Thought:
        ask = question.ask
        board = [list(row) for row in ask.board]  # the bot may scribble on it
        limit_ms = ask.time_left_ms + match.lag_ms

        def late(stack: StackSummary) -> None:
            self.console.warn(waiting(match.number, ask, limit_ms, place(stack)))

        with self._watchdog.over(limit_ms / 1000, late):
            thought = self._callback.think(board, ask.is_black, match.turn(ask))
        question.thought = thought
        match.thought(thought)
        if thought.complaint:
            self.console.warn(f"Match {match.number}, move {ask.move_number}: {thought.complaint}")
        return thought

    def _running(self) -> tuple[Match, Question]:
        """The match and the question that are open."""
        if self._match is None or self._question is None:  # the codec lets no question in without a match
            raise RuntimeError("a question is open without a match")
        return self._match, self._question

    # --- what the server says ---

    def _note_the_last(self, link: Link) -> None:
        """Tell what get_step has missed, before the contestant who stopped it is left alone."""
        with contextlib.suppress(OSError, RemoteProtocolError):
            self._note(link.arrived())

    def _note(self, messages: list[Message]) -> None:
        for message in messages:
            if isinstance(message, Start):
                self._begin(message)
            elif isinstance(message, GetStep):
                self._take(message)
            elif isinstance(message, Penalty):
                self._punish(message)
            elif isinstance(message, End):
                self._finish(message)
            elif isinstance(message, Goodbye):
                self._goodbye = message

    def _begin(self, start: Start) -> None:
        before = self._match
        if before is not None and before.number == start.match:
            self.console.say(f"Match {start.match} goes on.")
            return
        if before is not None:
            self.console.warn(f"Match {before.number} ended while this bot was not connected; ask the host how.")
        self._match, self._question = Match(start), None
        self.console.say(self._match.beginning())

    def _take(self, ask: GetStep) -> None:
        """A question; one that is repeated on a new connection need not be thought about twice."""
        if self._question is None or not self._question.same_as(ask):
            self._question = Question(ask)

    def _punish(self, penalty: Penalty) -> None:
        match, question = self._match, self._question
        if match is None or question is None or question.ask.id != penalty.id:
            self.console.warn(penalty_text(penalty, match.number if match else None))
            return
        self.console.warn(penalty_text(penalty, match.number, question.ask, question.thought))
        if penalty.reason == "missed_limit" and question.answered and question.thought:
            late = lateness(match.number, question.ask, question.thought.ms)
            self.console.warn(f"{late}; the answer came too late")

    def _finish(self, end: End) -> None:
        if self._match is not None:
            result = self._match.result(end)
            self._results.append(result)
            self.console.say(ending(result))
        self._match = None

    # --- no connection ---

    def _in_trouble(self, why: str) -> float:
        """Say once what is wrong; how long to wait."""
        what = "Connection lost" if self._welcomed else f"No connection to {self._address}"
        self._warn_once(f"{what}: {why}. Trying again until it works; Ctrl-C stops.")
        return self._pauses.next()

    def _sent_away(self, goodbye: Goodbye, retry_ms: int) -> float:
        self._warn_once(f"{_spoken(goodbye)}. Coming back.")
        return retry_ms / 1000 * random.uniform(1, 1 + JITTER)

    def _warn_once(self, line: str) -> None:
        if line not in self._said:
            self._said.add(line)
            self.console.warn(line)

    def _over(self, goodbye: Goodbye) -> list[Result]:
        if goodbye.reason in _ADVICE or not (self._welcomed or goodbye.reason == "contest_over"):
            raise refusal(goodbye, self._login.team)
        self.console.say(printable(goodbye.detail or goodbye.reason))
        return self._results


def refusal(goodbye: Goodbye, team: int) -> Refused:
    """What a goodbye that wants no retry means to the bot's author."""
    text = f"Team {team} may not play: {_spoken(goodbye)}."
    advice = _ADVICE.get(goodbye.reason)
    return Refused(goodbye.reason, f"{text}\n{advice}" if advice else text)


def version_text(versions: list[int]) -> str:
    """What to do about a server that speaks other versions of the protocol."""
    theirs = ", ".join(str(version) for version in versions) or "none"
    ours = f"this getstep {__version__} speaks {VERSION}"
    return f"The server speaks version {theirs} of the protocol, {ours}.\n{_UPDATE}"


def _spoken(goodbye: Goodbye) -> str:
    return f"{printable(goodbye.reason)}: {printable(goodbye.detail).rstrip('.')}"
