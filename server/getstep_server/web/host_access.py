"""Who may steer the contest: a browser with a session of the console, or a program with the host's key.

Theory of operation
-------------------

*Where from.* The page may come over plain HTTP. So by default only this computer is answered, and only if the
browser has typed a loopback address: a web site that lets its own name resolve to 127.0.0.1 gets nothing. What a
trusted proxy of this computer brings does not count as from here. With ``--host-page lan`` computers of the network
are answered, too, if they have typed an address, or this machine's own name; a name of ``web_names`` is enough only
over TLS, because its DNS may be another one's. The name that a proxy has logged in opens no console.

*A session is a random key in a cookie*, as in `own`. It is opened by a link that works once, and ends with this
process, or when the host replaces the key (`config.host_key`). It holds at the address that has opened it: a cookie
that somebody has read in the network opens nothing elsewhere. Each form has a random word of its session, besides
the checks of ``Origin`` and ``SameSite``. Other pages ask for the session, too (`HostAccess.is_open_in`): with
``notes = "live"`` the host sees the notes of a running match.

*A program sends the key itself.* No site can let a browser send this header without asking first, and nothing here
answers that question.

*Wrong links and wrong keys are delayed* as wrong logins are, and count together. One link of an address is tried at
a time; others are refused at once, without a look at them. The right key never waits: programs ask side by side.
"""

from __future__ import annotations

import hmac
import secrets
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import trio

from getstep.text import escape_control_chars
from getstep_server.config.contest import HostPage, Team
from getstep_server.config.host_key import HostKey, host_key, spend_link
from getstep_server.limits import TEAM_SESSION_SECONDS, TEAM_SESSIONS
from getstep_server.login_limits import LoginLimiter
from getstep_server.text import utc_time

from .http import HostCheck, Request, is_loopback

COOKIE = "getstep_host"

_TYPED = ("127.0.0.1", "localhost", "::1")
_CLOSED = {
    "off": "The host's console is switched off; see --host-page.",
    "loopback": "The console is open on the host's own computer only, at http://127.0.0.1.",
    "lan": "The console is open at this machine's address, or at its own name.",
}


class HostRefused(Exception):  # noqa: N818 - the client's mistake
    """Raised when a request may not steer the contest, with the status and the reason."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


@dataclass(slots=True)
class HostSession:
    """A browser of a host.

    Attributes:
        address: of the browser, as limits count it.
        author: who decides in it, as records say it.
        word: is in each of its forms.
        until: the time of its end.
        done: what was done last, for the next page: a form is answered by a redirection, so no reload repeats it.
        teams: those that it has changed, with their tokens, for the next page.
        page: the address of this page for others, "" if they cannot open it.
        keys: of the links to sign up that it has made, by their numbers, for the next page.
    """

    address: str
    author: str
    word: str
    until: float
    key: str
    done: str = ""
    teams: Sequence[Team] = ()
    keys: Mapping[int, str] = field(default_factory=dict)
    page: str = ""

    def log(self, what: str) -> None:
        """Write who did what to the log of the page's process, for what is no decision on record, too."""
        line = escape_control_chars(f"{self.author} at {self.address}: {what}")
        print(utc_time(time.time()), line, file=sys.stderr, flush=True)


class HostAccess:
    """Opens sessions, and finds out whether a request may steer the contest.

    Args:
        folder: of the contest.
        where: from which computers.
    """

    def __init__(self, folder: Path, where: HostPage) -> None:
        self._folder = folder
        self._where = where
        self._hosts = HostCheck()  # without web_names
        self._limiter = LoginLimiter()
        self._tried: set[str] = set()
        """The addresses from which a link is tried now."""
        self._sessions: dict[str, HostSession] = {}  # the oldest first

    def check_place(self, request: Request) -> None:
        """Check where a request comes from, and the name that was typed.

        Raises:
            HostRefused: the console does not answer there.
        """
        local = request.is_local and request.typed_host in _TYPED
        named = request.scheme == "https" or self._hosts.allows(request.headers.get("host", ""))
        on_lan = self._where == "lan" and named
        if self._where == "off" or not (local or on_lan):
            raise HostRefused(403, _CLOSED[self._where])

    async def log_in(self, request: Request, link: str) -> str:
        """Open a session by a link, and return its cookie.

        Raises:
            HostRefused: the link is wrong or spent.
            ConfigError: the key file cannot be written.
        """
        if request.address in self._tried:
            raise HostRefused(429, "A wrong link has just been tried. Wait some seconds.")
        self._tried.add(request.address)  # before the first wait: guesses come one after another
        try:
            found = await trio.to_thread.run_sync(spend_link, self._folder, link)
            if found is None:
                await self._delay(request)
                raise HostRefused(
                    403, "This link is spent or wrong. getstep-server host-key FOLDER prints another one."
                )
        finally:
            self._tried.discard(request.address)
        now = trio.current_time()
        kept = [(name, one) for name, one in self._sessions.items() if one.until > now]
        self._sessions = dict(kept[max(0, len(kept) + 1 - TEAM_SESSIONS) :])  # the oldest makes room
        name = secrets.token_urlsafe(24)
        until = now + TEAM_SESSION_SECONDS
        session = HostSession(request.address, found.author, secrets.token_urlsafe(24), until, found.key)
        self._sessions[name] = session
        session.log("opened the console")
        return name

    async def session(self, request: Request) -> HostSession:
        """Return the session of a browser.

        Raises:
            HostRefused: it has none, or the session is over.
        """
        session = self._sessions.get(request.cookie(COOKIE))
        if session is None or not await self.holds(session):
            raise HostRefused(401, "Open the console by its link: getstep-server host-key FOLDER prints it.")
        # A name such as localhost may be 127.0.0.1 now and ::1 for the next request.
        here = is_loopback(session.address) and is_loopback(request.address)
        if session.address != request.address and not here:
            moved = "This session was opened at another address. Open the console here by a link of its own:"
            raise HostRefused(401, f"{moved} getstep-server host-key FOLDER prints it.")
        return session

    async def is_open_in(self, request: Request) -> bool:
        """Return True if a request for any page comes from a browser in which the console is open.

        Its session counts, and not its address: bots of teams may run on the host's computer, too.
        """
        try:
            self.check_place(request)
            await self.session(request)
        except HostRefused:
            return False
        return True

    async def holds(self, session: HostSession) -> bool:
        """Return True unless the session has ended, or the host has replaced the key."""
        found = await self._key()
        return session.until > trio.current_time() and found is not None and _same(found.key, session.key)

    async def check_key(self, request: Request) -> None:
        """Check that a program has sent the host's key.

        Raises:
            HostRefused: it has not.
        """
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not given:
            raise HostRefused(401, "expected the header Authorization: Bearer KEY; host-key FOLDER --key prints it")
        found = await self._key()
        if found is None or not _same(found.key, given.strip()):
            await self._delay(request)
            raise HostRefused(401, "this key is not the host's; getstep-server host-key FOLDER --key prints it")

    async def _key(self) -> HostKey | None:
        return await trio.to_thread.run_sync(host_key, self._folder)

    async def _delay(self, request: Request) -> None:
        await trio.sleep(self._limiter.record_failure(request.address))


def _same(known: str, given: str) -> bool:
    return hmac.compare_digest(known.encode(), given.encode())
