"""The area of a team, for a browser that has logged in with its token: its penalties, its times and its games.

Wrong logins are delayed as those of bots are. While the answer to one waits, further logins of the same team from
the same address are refused unread, so a program that guesses gets one guess for each delay.

Theory of operation
-------------------

*The token stays in the browser.* The page comes over plain HTTP, so everything in a form can be read on the
network. As in `getstep.wire`, the browser signs a nonce with the token and sends the signature only. The signed
text begins with words of its own, so no signature fits both a login here and one of a bot.

*Nonces are not stored.* A nonce is the time, a random part, and an HMAC of both with a key of this process. So a
flood of requests for nonces cannot push out an honest one. A nonce is spent by a successful login: somebody who has
seen the signature on the network cannot use it again.

*A new token is masked.* A team replaces its token in its area. It proves the present one again, so a stolen cookie
is not enough, and the new one is XORed with an HMAC by the old one: reading the network is not enough either.

*A session is a random key in a cookie.* Pages, downloads and forms are ordinary requests, to which a script cannot
add a header. ``HttpOnly`` keeps the key from scripts; ``SameSite=Strict`` and the check of ``Origin`` keep it from
other sites. Hashes of the keys are kept in a file, so a page that dies logs nobody out. Sessions end with a new
token of the team, after TEAM_SESSION_SECONDS, and when a team has more than TEAM_SESSIONS of them.

*A user of a trusted proxy needs no token.* The proxy has checked a name, with a university's single sign-on for
example, and sends it with each request (`proxies`, `users`). It counts before a cookie, and there is no session:
the login ends with that of the proxy. ``Origin`` alone keeps forms of other sites away then: the proxy's cookie is
not ours.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress

import trio
from msgspec import Struct, ValidationError, convert, to_builtins
from msgspec.structs import asdict, replace

from getstep.wire import canonical_token, prove_server, sign_page_login
from getstep_server.config.contest import Team
from getstep_server.decisions import making
from getstep_server.decisions.requests import NewToken
from getstep_server.errors import ConfigError, UsageError
from getstep_server.limits import (
    MAX_PROGRAM_BYTES,
    PAGE_BODY_BYTES,
    PAGE_NONCE_SECONDS,
    TEAM_SESSION_SECONDS,
    TEAM_SESSIONS,
    TOKENS_A_DAY,
)
from getstep_server.login_limits import LoginLimiter, Quota
from getstep_server.programs.version import ALL_CONVENTIONS
from getstep_server.records.record import RecordError
from getstep_server.storage.database import DatabaseError, StoreError
from getstep_server.tournament.challenges import DAY_SECONDS

from .analyses import Analyses
from .challenges import ChallengeForm
from .feed import POLL_SECONDS, Feed
from .http import (
    HTML,
    JSON,
    TEXT,
    AnyResponse,
    Download,
    Request,
    Response,
    Upload,
    attachment,
    in_words,
    problem,
    redirect,
    retry_after,
)
from .kept import Keeper, hash_of
from .own_games import OwnGames
from .questions import READ_BACK_SECONDS, QuestionForm
from .submissions import Submissions
from .topics import encode
from .users import UserTeams

# --- logins and sessions ----------------------------------------------------------------------------------------


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
        self._key = secrets.token_bytes(32)  # of this process: after a restart the pages are loaded again
        self._spent: dict[str, float] = {}

    def new(self) -> str:
        """Return a new nonce of 32 hexadecimal digits."""
        head = f"{int(self._clock()) & 0xFFFFFFFF:08x}{secrets.token_hex(4)}"
        return head + self._seal(head)

    def is_fresh(self, nonce: str) -> bool:
        """Return True if this object has made the nonce within PAGE_NONCE_SECONDS, and it is not spent."""
        # in constant time: its duration tells nothing about the seal
        if not _NONCE.fullmatch(nonce) or not hmac.compare_digest(self._seal(nonce[:16]), nonce[16:]):
            return False
        # the time is in 32 bits: a nonce from the future is far too old
        age = (int(self._clock()) - int(nonce[:8], 16)) & 0xFFFFFFFF
        return age <= PAGE_NONCE_SECONDS and nonce not in self._spent

    def spend(self, nonce: str) -> None:
        """Accept a nonce no more. Only valid logins spend nonces, and their number in a time is limited."""
        now = self._clock()
        self._spent = {old: at for old, at in self._spent.items() if now - at <= PAGE_NONCE_SECONDS + 1}
        self._spent[nonce] = now

    def _seal(self, head: str) -> str:
        # 64 bits: a nonce lives for minutes only
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


def masked(new: str, token: str, nonce: str) -> str:
    """Return a new token as hexadecimal digits that only somebody who has the old one can read.

    It is XORed with an HMAC by the old token of a nonce that is used once, and is at most 32 bytes long.
    """
    mask = hmac.new(token.encode(), f"{_NEW_TOKEN}{nonce}".encode(), hashlib.sha256).digest()
    return bytes(one ^ other for one, other in zip(new.encode(), mask, strict=False)).hex()


_NEW_TOKEN = "getstep page new token v1:"  # noqa: S105 - the beginning of what is hashed, as in getstep.wire


class _Session(Struct, frozen=True):
    """A login. ``proof`` is a hash of the key and the team's token: with another token the login is void.

    ``until`` is monotonic; in the file it is the time of day, in seconds since the epoch.
    """

    key: str
    team: int
    proof: str
    until: float


class Sessions:
    """The browsers that are logged in, by the hash of the key in their cookie.

    Args:
        clock: monotonic, in seconds.
        keeper: keeps them for a page that is started again.
    """

    def __init__(self, clock: Callable[[], float] = trio.current_time, keeper: Keeper | None = None) -> None:
        self._clock = clock
        self._keeper = keeper or Keeper()
        self._sessions: dict[str, _Session] = {}  # the oldest first
        self._held: set[str] = set()

    def take_up(self) -> None:
        """Take up the logins that were kept."""
        now, passed = self._clock(), time.time()
        for fields in self._keeper.logins():
            with suppress(ValidationError):
                one = convert(fields, _Session)
                left = min(one.until - passed, TEAM_SESSION_SECONDS)
                self._sessions[one.key] = replace(one, until=now + left)

    def _keep(self) -> None:
        offset = time.time() - self._clock()
        self._keeper.keep_logins(
            [asdict(replace(one, until=one.until + offset)) for one in self._sessions.values()]
        )

    def open(self, team: Team) -> str:
        """Log a browser in, and return its key. If the team has too many sessions, the oldest ends."""
        now = self._clock()
        self._sessions = {key: session for key, session in self._sessions.items() if session.until > now}
        own = [key for key, session in self._sessions.items() if session.team == team.id]
        for key in own[: max(0, len(own) + 1 - TEAM_SESSIONS)]:  # the oldest first, to make room for one more
            del self._sessions[key]
        key = secrets.token_urlsafe(24)
        until = now + TEAM_SESSION_SECONDS
        self._sessions[hash_of(key)] = _Session(hash_of(key), team.id, _proof(key, team), until)
        self._keep()
        return key

    def team_of(self, key: str, teams: Mapping[int, Team]) -> Team | None:
        """Return the team of a session; None if there is none, or the team has another token by now."""
        session = self._sessions.get(hash_of(key)) if key else None
        if session is None or session.until <= self._clock():
            return None
        team = teams.get(session.team)
        holds = team is not None and (_proof(key, team) == session.proof or session.key in self._held)
        return team if holds else None

    @contextmanager
    def held(self, key: str) -> Iterator[Callable[[Team], None]]:
        """Let a session hold while its team gets another token; with the yielded function, it goes on."""
        name = hash_of(key)

        def renew(team: Team) -> None:
            if name in self._sessions:
                self._sessions[name] = replace(self._sessions[name], proof=_proof(key, team))
                self._keep()

        self._held.add(name)
        try:
            yield renew
        finally:
            self._held.discard(name)

    def close(self, key: str) -> None:
        """Log a browser out."""
        if self._sessions.pop(hash_of(key), None) is not None:
            self._keep()


def _proof(key: str, team: Team) -> str:
    return hash_of(f"{key} {team.token}")


JSON_LINES = "application/jsonl"
WRONG = "The id or the token is wrong. Both are on the slip from the host."

_PROGRAM = "/own/program"
_CHALLENGE, _CHALLENGES = "/own/challenge", "/own/challenges.json"
_QUESTION, _QUESTIONS = "/own/question", "/own/questions.json"
_ANALYSIS, _ANALYSES = "/own/analysis", "/own/analyses.json"
_ANALYSED = re.compile(r"/own/analysis/([0-9]{1,9})(\.json)?")
_FILE = re.compile(r"/own/match/([0-9]{1,9})\.(jsonl|txt|html)")
_FILES = re.compile(r"/own/matches\.(jsonl|txt)")


class TeamArea:
    """The area of each team.

    Args:
        feed: the contest.
        render: makes a page from a template.
        keeper: keeps logins for a page that is started again.
    """

    def __init__(self, feed: Feed, render: Callable[..., Response], keeper: Keeper) -> None:
        self._feed = feed
        self._render = render
        self._nonces = Nonces()
        self.sessions = Sessions(keeper=keeper)
        self.users = UserTeams(lambda: feed.whole.contest)
        self._limiter = LoginLimiter()
        self._delayed: set[tuple[str, int | None]] = set()
        """The addresses and teams for which the answer to a wrong login waits; at most one for each connection."""
        self._replaced = Quota(TOKENS_A_DAY, DAY_SECONDS)
        self._deciding = trio.CapacityLimiter(1)  # each decision reads the records: one at a time
        self.games = OwnGames(feed)
        self.submissions = Submissions(lambda: feed.contest)
        self.challenges = ChallengeForm(feed)
        self.questions = QuestionForm(feed)
        self.analyses = Analyses(feed, self.games)

    def team_of(self, request: Request) -> Team | None:
        """Return the team for which the browser is logged in, by a trusted proxy or a token; None if it is not."""
        by_proxy = self.users.team_of(request)
        return by_proxy or self.sessions.team_of(request.cookie(COOKIE), self._feed.whole.contest.teams)

    def log_in(self, request: Request, team: Team) -> tuple[str, str]:
        """Log a browser in, and return its cookie as a header."""
        return request.set_cookie(COOKIE, self.sessions.open(team))

    def body_limit(self, request: Request) -> int | Upload | Response:
        """Return the size that the body of a request may have: only a program of a logged-in team is long."""
        if (request.method, request.path) != ("POST", _PROGRAM):
            return PAGE_BODY_BYTES
        team = self.team_of(request)
        if team is None or not request.is_own:
            return problem(401, "log in first, on the page /own")
        return self.submissions.objection(team.id) or Upload(MAX_PROGRAM_BYTES, team.id)

    async def __call__(self, request: Request) -> AnyResponse:
        """Answer a request for an address under ``/own``."""
        if request.method == "POST":
            if not request.is_own:
                return problem(403, "this form is not from this page; load the page again")
            view = _POST.get(request.path)
            if view is None:
                return problem(405, "nothing can be sent to this address")
            try:
                return await view(self, request)
            except ValueError:
                return problem(400, "expected at most 16 fields in the form")
            except StoreError as error:
                return problem(503, str(error))
        team = self.team_of(request)
        if request.path == "/own/nonce.json":
            return Response(encode({"nonce": self._nonces.new()}), JSON)
        if request.path == "/own":
            return self._page(team, request)
        if team is None:
            return problem(401, "log in first, on the page /own")
        if request.path == "/own/program.json":
            return Response(encode(await self.submissions.state(team.id)), JSON)
        if request.path == _CHALLENGES:
            return Response(encode(to_builtins(self.challenges.state(team.id))), JSON)
        if request.path == _QUESTIONS:
            return Response(encode(to_builtins(self.questions.state(team.id))), JSON)
        if request.path == _ANALYSES:
            return Response(encode(to_builtins(self.analyses.state(team.id))), JSON)
        if request.path == "/own/state.json":
            return await self._state(team.id, request.query.get("seen", ""))
        try:
            return await self._file(team.id, request.path)
        except StoreError as error:
            return problem(503, str(error))

    def _page(self, team: Team | None, request: Request) -> AnyResponse:
        if team is None:
            return self._render("login", title="Your team", user=request.user)
        user = request.user if self.users.team_of(request) is not None else ""
        return self._render("own", title="Your team", team=team, user=user, conventions=ALL_CONVENTIONS)

    async def _state(self, team: int, seen: str) -> AnyResponse:
        tag, body = await self.games.state(team)
        headers = (("X-State", tag),)
        return Response(b"{}" if seen == tag else body, JSON, headers=headers)

    async def _file(self, team: int, path: str) -> AnyResponse:
        """Return a file with records of the team's own matches."""
        if found := _FILES.fullmatch(path):
            numbers = self.games.matches(team)
            pieces = self.games.records(team, numbers, text=found[1] == "txt")
            return Download(f"matches.{found[1]}", _type(found[1]), lambda: pieces)
        if found := _ANALYSED.fullmatch(path):
            return await self._analysed(team, int(found[1]), as_json=bool(found[2]))
        found = _FILE.fullmatch(path)
        if found is None or int(found[1]) not in self.games.matches(team):
            return problem(404, "your team has no such match")
        number, kind = int(found[1]), found[2]
        if kind == "html":
            body = await self.games.replay(team, number)
        else:
            body = b"".join([piece async for piece in self.games.records(team, [number], text=kind == "txt")])
        if not body:
            return problem(404, "nothing of this match is on record yet")
        return Response(body, _type(kind), headers=(attachment(f"match-{number}.{kind}"),))

    async def _analysed(self, team: int, number: int, *, as_json: bool) -> AnyResponse:
        """Return the page with the analysis of a match, or what its script loads."""
        if not as_json:
            return self._render("analysis", title=f"Analysis of match {number}", match=number)
        data = await self.analyses.replay(team, number)
        return problem(404, "there is no analysis of this match") if data is None else Response(encode(data), JSON)

    # --- what a browser sends ---

    async def login(self, request: Request) -> AnyResponse:
        form = request.form()
        text, nonce = form.get("team", ""), form.get("nonce", "")
        team = self._feed.whole.contest.teams.get(int(text)) if re.fullmatch("[0-9]{1,10}", text) else None
        token = await self._signed(request, team, form)
        if isinstance(token, Response):
            return token
        assert team is not None  # noqa: S101 - nobody signs for a team that there is not
        if not self._limiter.allow_login(team.id):
            return _refusal(429, "Your team logs in too often. Wait some seconds.")
        self._nonces.spend(nonce)
        self.sessions.close(request.cookie(COOKIE))
        cookie, asked = self.log_in(request, team), form.get("client_nonce", "")
        proof = {"proof": prove_server(token, nonce, asked)} if re.fullmatch("[0-9a-f]{32}", asked) else {}
        return Response(encode(proof), JSON, headers=(cookie,))

    async def _signed(self, request: Request, team: Team | None, form: Mapping[str, str]) -> str | Response:
        """Return the team's token if the form has a fresh nonce signed with it; else the refusal, maybe delayed."""
        who = (request.address, None if team is None else team.id)
        if who in self._delayed:
            return _refusal(429, "A wrong login of this team has just come from here. Wait some seconds.")
        if not self._nonces.is_fresh(form.get("nonce", "")):
            return _refusal(403, "The login took too long, or was sent twice. Try again.")
        token = signed_token(team, form["nonce"], form.get("mac", ""))
        return await self._refuse(who) if token is None else token

    async def token(self, request: Request) -> AnyResponse:
        """Give the team a new token, which is sent so that only the old one makes it readable."""
        team, form = self.team_of(request), request.form()
        if team is None:
            return problem(401, "log in first, on the page /own")
        token = await self._signed(request, team, form)
        if isinstance(token, Response):
            return token
        if wait := self._replaced.seconds_left(team.id):
            text = f"Your team has replaced its token {TOKENS_A_DAY} times in 24 hours"
            return _refusal(429, f"{text}; try again in {in_words(wait)}.", retry_after(wait))
        self._nonces.spend(form["nonce"])
        self._replaced.count(team.id)
        asked = NewToken(team=str(team.id), by=f"team {team.id}", why="the team replaces its token in its area")
        try:
            # A script of this page asks for the state all the time: it must not be refused between two tokens.
            with self.sessions.held(request.cookie(COOKIE)) as renew:
                made = await trio.to_thread.run_sync(
                    making.decide, self._feed.folder, asked, limiter=self._deciding
                )
                (changed,) = made.teams
                with trio.move_on_after(READ_BACK_SECONDS):
                    while self._feed.whole.contest.teams.get(team.id, team).token != changed.token:
                        await trio.sleep(POLL_SECONDS)
                renew(changed)
        except (UsageError, ConfigError, DatabaseError, RecordError) as error:
            return _refusal(503, f"The token cannot be replaced now ({error}). Try again.")
        return Response(encode({"masked": masked(changed.token, token, form["nonce"])}), JSON)

    async def _refuse(self, who: tuple[str, int | None]) -> Response:
        self._delayed.add(who)
        try:
            # the browser waits; others at this address and for this team do not
            await trio.sleep(self._limiter.record_failure(who[0]))
        finally:
            self._delayed.discard(who)
        return _refusal(403, WRONG)

    async def program(self, request: Request) -> AnyResponse:
        team = self.team_of(request)
        return (
            problem(401, "log in first, on the page /own")
            if team is None
            else self.submissions.take(team.id, request)
        )

    async def challenge(self, request: Request) -> AnyResponse:
        team = self.team_of(request)
        if team is None:
            return problem(401, "log in first, on the page /own")
        return await self.challenges.take(team.id, request)

    async def question(self, request: Request) -> AnyResponse:
        team = self.team_of(request)
        if team is None:
            return problem(401, "log in first, on the page /own")
        return await self.questions.take(team.id, request)

    async def analysis(self, request: Request) -> AnyResponse:
        team = self.team_of(request)
        if team is None:
            return problem(401, "log in first, on the page /own")
        return await self.analyses.take(team.id, request)

    async def logout(self, request: Request) -> AnyResponse:
        """Log a browser out."""
        self.sessions.close(request.cookie(COOKIE))
        return redirect("/own", request.set_cookie(COOKIE, "", "/", "Max-Age=0"))


def _type(kind: str) -> str:
    return {"jsonl": JSON_LINES, "txt": TEXT, "html": HTML}[kind]


def _refusal(status: int, text: str, *headers: tuple[str, str]) -> Response:
    return Response(encode({"problem": text}), JSON, status, headers)


_POST: dict[str, Callable[[TeamArea, Request], Awaitable[AnyResponse]]] = {
    "/own/login": TeamArea.login,
    "/own/logout": TeamArea.logout,
    _PROGRAM: TeamArea.program,
    _CHALLENGE: TeamArea.challenge,
    _QUESTION: TeamArea.question,
    _ANALYSIS: TeamArea.analysis,
    "/own/token": TeamArea.token,
}
