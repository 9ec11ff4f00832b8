"""Logins to the area of a team: nonces that a browser signs, and sessions of browsers that are logged in.

Theory of operation
-------------------

*The token stays in the browser.* The page comes over plain HTTP, so everything in a form can be read on the
network. As in `getstep.wire`, the browser signs a nonce with the token and sends the signature only. The signed
text begins with words of its own, so no signature fits both a login here and one of a bot.

*Nonces are not stored.* A nonce is the time, a random part, and an HMAC of both with a key of this process. So a
flood of requests for nonces cannot push out an honest one. A nonce is spent by a successful login: somebody who has
seen the signature on the network cannot use it again.

*A session is a random key in a cookie.* Pages, downloads and forms are ordinary requests, to which a script cannot
add a header. ``HttpOnly`` keeps the key from scripts; ``SameSite=Strict`` and the check of ``Origin`` keep it from
other sites. Sessions are in memory only. They end with this process, with a new token of the team, after
TEAM_SESSION_SECONDS, and when a team has more than TEAM_SESSIONS of them.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import trio

from getstep.wire import canonical_token, sign_page_login
from getstep_server.config.contest import Team
from getstep_server.limits import PAGE_NONCE_SECONDS, TEAM_SESSION_SECONDS, TEAM_SESSIONS

COOKIE = "getstep_team"

_NONCE = re.compile("[0-9a-f]{32}")
_MAC = re.compile("[0-9a-f]{64}")
_NOBODY = "no team has this token"
"""Signed for a team that does not exist: the time of the answer does not tell which teams there are."""


class Nonces:
    """Makes nonces, and recognizes those that are fresh and not spent.

    Args:
        clock: monotonic, in seconds.
    """

    def __init__(self, clock: Callable[[], float] = trio.current_time) -> None:
        self._clock = clock
        self._key = secrets.token_bytes(32)
        self._spent: dict[str, float] = {}

    def new(self) -> str:
        """Return a new nonce of 32 hexadecimal digits."""
        head = f"{int(self._clock()) & 0xFFFFFFFF:08x}{secrets.token_hex(4)}"
        return head + self._seal(head)

    def is_fresh(self, nonce: str) -> bool:
        """Return True if this object has made the nonce within PAGE_NONCE_SECONDS, and it is not spent."""
        if not _NONCE.fullmatch(nonce) or not hmac.compare_digest(self._seal(nonce[:16]), nonce[16:]):
            return False
        age = (int(self._clock()) - int(nonce[:8], 16)) & 0xFFFFFFFF
        return age <= PAGE_NONCE_SECONDS and nonce not in self._spent

    def spend(self, nonce: str) -> None:
        """Accept a nonce no more. Only valid logins spend nonces, and their number in a time is limited."""
        now = self._clock()
        self._spent = {old: at for old, at in self._spent.items() if now - at <= PAGE_NONCE_SECONDS + 1}
        self._spent[nonce] = now

    def _seal(self, head: str) -> str:
        return hmac.new(self._key, head.encode(), hashlib.sha256).hexdigest()[:16]


def signed_token(team: Team | None, nonce: str, mac: str) -> str | None:
    """Return the team's token, as in teams.toml or canonical, if ``mac`` is the nonce signed with it; else None.

    The time taken depends neither on the token nor on whether there is such a team.
    """
    if not _MAC.fullmatch(mac):
        return None
    known = team is not None and team.token != ""  # a team that is no longer in teams.toml has no token
    token = team.token if team is not None and known else _NOBODY
    forms = (token, canonical_token(token))
    fitting = [form for form in forms if hmac.compare_digest(sign_page_login(form, nonce), mac)]
    return fitting[0] if known and fitting else None


@dataclass(frozen=True, slots=True)
class _Session:
    team: int
    token: str
    until: float


class Sessions:
    """The browsers that are logged in, by the key in their cookie.

    Args:
        clock: monotonic, in seconds.
    """

    def __init__(self, clock: Callable[[], float] = trio.current_time) -> None:
        self._clock = clock
        self._sessions: dict[str, _Session] = {}  # the oldest first

    def open(self, team: Team) -> str:
        """Log a browser in, and return its key. If the team has too many sessions, the oldest ends."""
        now = self._clock()
        self._sessions = {key: session for key, session in self._sessions.items() if session.until > now}
        own = [key for key, session in self._sessions.items() if session.team == team.id]
        for key in own[: max(0, len(own) + 1 - TEAM_SESSIONS)]:
            del self._sessions[key]
        key = secrets.token_urlsafe(24)
        self._sessions[key] = _Session(team.id, team.token, now + TEAM_SESSION_SECONDS)
        return key

    def team_of(self, key: str, teams: Mapping[int, Team]) -> Team | None:
        """Return the team of a session; None if there is none, or the team has another token by now."""
        session = self._sessions.get(key)
        if session is None or session.until <= self._clock():
            return None
        team = teams.get(session.team)
        return team if team is not None and team.token == session.token else None

    def close(self, key: str) -> None:
        """Log a browser out."""
        self._sessions.pop(key, None)
