"""A program that plays over the wire, with its connections, and the one loop that waits.

There is no thread for the sockets. What arrives is read while the caller waits in `LocalServer.receive`, and is
stamped then. Between two questions nobody waits; the kernel keeps what a program sends there, which is a late
answer or a new login.
"""

from __future__ import annotations

import contextlib
import math
import os
import secrets
import selectors
import socket
import subprocess
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from getstep._errors import BotError
from getstep.output import Output
from getstep.processes import ProcessTree, own_group
from getstep.programs.printed import Printed
from getstep.wire import (
    CLOSED,
    MAX_TEXT,
    NEED_DATA,
    End,
    GetStep,
    Goodbye,
    Join,
    LateAnswer,
    LocalProtocolError,
    MalformedAnswer,
    Message,
    Penalty,
    Raised,
    RemoteProtocolError,
    Resign,
    Start,
    Step,
    Welcome,
)

from .conversation import CHECKED, Conversation

CONNECT_SECONDS = 30.0
"""For a program to connect and log in. A virtual machine starts within some seconds, on a busy computer too."""

TEAM = 1

_OVER = Goodbye("contest_over", "The games are over. Thank you for playing.", None)
_REPLACED = Goodbye("replaced", "A newer login of your bot has taken this seat.", None)
_RETRY_MS = 1000
_TICK_SECONDS = 0.2  # the longest single wait: on Windows, Ctrl-C does not interrupt a wait for a socket
_LOGIN_SECONDS = 10.0  # for a connection to log in
_MAX_CONNECTIONS = 8  # a program has one, and for a moment two; others on this computer may hold some open
_RECEIVE_BYTES = 65536
_END_SECONDS = 0.5  # for a program to end by itself, before it is killed


@dataclass(frozen=True)
class Violation:
    """The program has broken the protocol; ``code`` is a hostile code of protocol.md."""

    code: str
    detail: str


@dataclass(frozen=True)
class SignOfLife:
    """A late answer, or a new login: no answer to the open question."""


@dataclass(frozen=True)
class Ended:
    """The program has ended, and ``how``: nothing more comes."""

    how: str


What: TypeAlias = Step | Raised | Resign | MalformedAnswer | Violation | SignOfLife | Ended


@dataclass(frozen=True)
class Received:
    """What has come from the program, and when, by ``time.perf_counter()``."""

    at: float
    what: What


class _Link:
    """One connection: a socket and its conversation."""

    def __init__(self, sock: socket.socket, conversation: Conversation) -> None:
        self.socket = sock
        self.conversation = conversation
        self.since = time.perf_counter()


class LocalServer:
    """A private server for a program that a person starts, such as in a debugger. It is open until `close`.

    A login may take any time, and a question stays open until the program answers it.
    """

    _waits = True

    def __init__(self) -> None:
        self._token = secrets.token_hex(8)
        self._welcome = Welcome(TEAM, "my bot", 0, [])  # which games will be played is said by each start
        self._links: dict[socket.socket, _Link] = {}
        self._player: _Link | None = None
        self._start: Start | None = None
        self._question: GetStep | None = None
        self._time_up = 0.0
        self._last_id = 0
        self._received: deque[Received] = deque()
        self.refused = ""
        """Why the latest login was refused; empty if none was."""
        self.output = Output()
        """What the program prints; nothing if a person starts it, who sees it."""
        self.printed = Printed(self.output.feed, notes=False)
        """The same for each move."""
        self._selector = selectors.DefaultSelector()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=_MAX_CONNECTIONS)
        self._listener.setblocking(False)
        self._selector.register(self._listener, selectors.EVENT_READ)

    @property
    def login(self) -> dict[str, str]:
        """The environment variables with which the program finds this server and logs in."""
        port = self._listener.getsockname()[1]
        login = {"HOST": "127.0.0.1", "PORT": str(port), "TEAM": str(TEAM), "TOKEN": self._token}
        login["RESTART_AFTER"] = "0"  # a bot that hangs is ended here, and started again for the next game
        return {f"GETSTEP_{name}": value for name, value in login.items()}

    # --- for the judge ---

    @property
    def connected(self) -> bool:
        """True if the program is logged in."""
        return self._player is not None

    @property
    def has_question(self) -> bool:
        """True if the program owes an answer."""
        return self._question is not None

    def wait_for_login(self, seconds: float = CONNECT_SECONDS) -> bool:
        """Wait until the program has logged in. Return False if it has not in time, or has ended."""
        until = time.perf_counter() + seconds
        while self._player is None and not self._has_ended() and time.perf_counter() < until:
            self._wait(min(_TICK_SECONDS, max(0.0, until - time.perf_counter())))
        return self._player is not None

    def begin(self, start: Start) -> None:
        """Tell the start of a match. What came before is forgotten."""
        self._received = deque(received for received in self._received if isinstance(received.what, Ended))
        self._start, self._question = start, None
        self._send(start)

    def ask(self, question: GetStep) -> None:
        """Ask for a move; the id of the question is replaced by the next one.

        A program that is not connected is asked when it logs in again.
        """
        self._last_id += 1
        self._question = replace(question, id=self._last_id)
        self._time_up = math.inf if self._waits else time.perf_counter() + question.time_left_ms / 1000
        self._send(self._question)

    def receive(self, until: float) -> Received | None:
        """Return the next answer, sign of life, violation or end; None if there is none by ``until``.

        ``until`` is a time of ``time.perf_counter()``. If it is over, what has arrived is still read.
        """
        while True:
            if self._received:
                return self._received.popleft()
            left = until - time.perf_counter()
            self._wait(min(_TICK_SECONDS, max(0.0, left)))
            if left <= 0 and not self._received:
                return None

    def penalize(self, code: str, detail: str) -> None:
        """Close the latest question, and tell the program what it cost."""
        self._question = None
        if self._last_id:
            self._send(Penalty(self._last_id, code, detail[:MAX_TEXT]))

    def end(self, end: End) -> None:
        """Tell the end of the match."""
        self._send(end)
        self._start = self._question = None

    def close(self) -> None:
        """Say goodbye, and close the connections."""
        self._send(_OVER)
        for link in list(self._links.values()):
            self._drop(link)
        self._listener.close()
        self._selector.close()

    # --- what is different if this process starts the program ---

    def _has_ended(self) -> bool:
        """Return True if the program cannot log in any more."""
        return False

    def _while_away(self) -> None:
        """Look after a program that is not logged in."""

    # --- the loop ---

    def _wait(self, seconds: float) -> None:
        """Read what has arrived; wait for it for at most some seconds."""
        for key, _ in self._selector.select(seconds):
            if key.fileobj is self._listener:
                self._accept()
            elif (link := key.data) is not None and link.socket in self._links:
                self._read(link)
        if self._player is None:
            self._while_away()

    def _accept(self) -> None:
        try:
            sock, _ = self._listener.accept()
        except OSError:  # it has gone already
            return
        without_login = [link for link in self._links.values() if link is not self._player]
        if len(without_login) >= _MAX_CONNECTIONS:
            self._drop(without_login[0])
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        link = self._links[sock] = _Link(sock, Conversation(self._welcome, self._token))
        self._selector.register(sock, selectors.EVENT_READ, link)
        self._send(link.conversation.hello(), link)

    def _read(self, link: _Link) -> None:
        try:
            data = link.socket.recv(_RECEIVE_BYTES)
        except BlockingIOError:
            return
        except OSError:  # it was reset
            data = b""
        at = time.perf_counter()
        link.conversation.receive(data)
        try:
            while link.socket in self._links:
                event = link.conversation.next_event()
                if event is NEED_DATA:
                    return
                if event is CLOSED:
                    self._drop(link)
                elif isinstance(event, Join):
                    self._log_in(link, event)
                elif link is self._player:
                    self._take(event, at)
        except RemoteProtocolError as error:
            if link is self._player:
                self._put(Violation(error.code, str(error)[:MAX_TEXT]), at)
            self._refuse(link, Goodbye(error.code, str(error)[:MAX_TEXT], _RETRY_MS))

    def _take(self, event: object, at: float) -> None:
        if isinstance(event, LateAnswer):
            self._put(SignOfLife(), at)
        elif isinstance(event, Step | Raised | Resign | MalformedAnswer):
            if self._question is not None and event.id == self._question.id:
                self._question = None
                self._put(event, at)
            else:
                self._put(SignOfLife(), at)

    def _log_in(self, link: _Link, join: Join) -> None:
        answer = link.conversation.decide(join)
        if isinstance(answer, Goodbye):
            self.refused = answer.detail
            self._refuse(link, answer)
            return
        self._send(answer, link)
        if not link.conversation.is_player:
            self._refuse(link, CHECKED)
            return
        older, self._player = self._player, link
        if older is not None:
            self._refuse(older, _REPLACED)
        self._put(SignOfLife())
        if self._start is not None:
            self._send(replace(self._start, resumed=True))
        left = self._time_up - time.perf_counter()
        if self._question is not None and left > 0:
            rest = self._question.time_left_ms if left == math.inf else round(left * 1000)
            self._send(replace(self._question, time_left_ms=rest))

    def _refuse(self, link: _Link, goodbye: Goodbye) -> None:
        self._send(goodbye, link)
        self._drop(link)

    def _put(self, what: What, at: float | None = None) -> None:
        self._received.append(Received(time.perf_counter() if at is None else at, what))

    def _send(self, message: Message, link: _Link | None = None) -> None:
        """Hand a message to the kernel. A program that does not read has its buffers full, and loses the link."""
        link = link or self._player
        if link is None or link.socket not in self._links:
            return
        try:
            data = link.conversation.send(message)
            if link.socket.send(data) < len(data):
                self._drop(link)
        except (OSError, LocalProtocolError):  # it has closed, or has broken the protocol meanwhile
            self._drop(link)

    # --- the end ---

    def _drop(self, link: _Link) -> None:
        if self._links.pop(link.socket, None) is None:
            return
        self._selector.unregister(link.socket)
        with contextlib.suppress(OSError):
            link.socket.shutdown(socket.SHUT_WR)  # it still reads a goodbye
        link.socket.close()
        if link is self._player:
            self._player = None


class LocalProgram(LocalServer):
    """A program with its private server. It runs from here until `close`.

    Args:
        command: starts it.
        folder: where it starts; None for the current folder.

    Raises:
        BotError: it cannot be started.
    """

    _waits = False

    def __init__(self, command: Sequence[str], *, folder: Path | None = None) -> None:
        super().__init__()
        self._ended = False
        try:
            self._process = self._started(command, folder)
        except BaseException:
            super().close()
            raise
        self._tree = ProcessTree(self._process, ends_with_us=True)
        self.printed.follow(self._process.stdout)
        if self._process.stdout is not None:
            self._process.stdout.close()  # it is read through a descriptor of its own

    def _started(self, command: Sequence[str], folder: Path | None) -> subprocess.Popen[bytes]:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("GETSTEP_TOKEN")}
        # without a buffer in Python: what it prints about a move belongs to that move
        environment |= {**self.login, "GETSTEP_QUIET": "1", "PYTHONUNBUFFERED": "1"}
        try:
            return subprocess.Popen(  # noqa: S603 - the bot is the user's own
                list(command),
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                **own_group(),
            )
        except FileNotFoundError:
            raise BotError(f"{command[0]} cannot be started: there is no such program.") from None
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or error
            raise BotError(f"{command[0]} cannot be started: {why}.") from None

    def close(self) -> None:
        """Say goodbye and end the program: it has a moment to end by itself, then all of it is killed."""
        super().close()
        if not self._ended:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_END_SECONDS)
        self._tree.kill()
        self._process.wait()
        self.printed.finish()

    def _has_ended(self) -> bool:
        return self._ended

    def _while_away(self) -> None:
        self._refuse_late_logins()
        self._note_its_end()

    def _refuse_late_logins(self) -> None:
        over = time.perf_counter() - _LOGIN_SECONDS
        for link in [link for link in self._links.values() if link is not self._player and link.since < over]:
            self._refuse(link, Goodbye("login_timeout", f"no login within {_LOGIN_SECONDS:g} s", _RETRY_MS))

    def _note_its_end(self) -> None:
        """Note the end of the program. It has not ended while a connection of it is open: it may have started
        itself again, and the first process is gone."""
        if self._ended or self._links or self._process.poll() is None:
            return
        self._ended = True
        self.printed.finish()
        self._put(Ended(self.output.ending(self._process.wait())))
