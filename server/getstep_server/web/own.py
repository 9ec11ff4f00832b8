"""The area of a team, for a browser that has logged in with its token: its penalties, its times and its games.

`sessions` says how a login is proved, and why the key of a session is in a cookie. Wrong logins are delayed as
those of bots are. While the answer to one waits, further logins of the same team from the same address are refused
unread, so a program that guesses gets one guess for each delay.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable

import trio

from getstep.wire import prove_server
from getstep_server.config.contest import Team
from getstep_server.limits import MAX_PROGRAM_BYTES, PAGE_BODY_BYTES
from getstep_server.login_limits import LoginLimiter
from getstep_server.programs.version import ALL_CONVENTIONS
from getstep_server.storage.database import StoreError

from .feed import Feed
from .http import HTML, JSON, TEXT, Answer, Download, Request, Response, attachment, problem, redirect
from .own_games import OwnGames
from .sessions import COOKIE, Nonces, Sessions, signed_token
from .submissions import Submissions
from .topics import encode

JSON_LINES = "application/jsonl"
WRONG = "The id or the token is wrong. Both are on the slip from the host."

_PROGRAM = "/own/program"
_FILE = re.compile(r"/own/match/([0-9]{1,9})\.(jsonl|txt|html)")
_FILES = re.compile(r"/own/matches\.(jsonl|txt)")


class TeamArea:
    """The area of each team.

    Args:
        feed: the contest.
        render: makes a page from a template.
    """

    def __init__(self, feed: Feed, render: Callable[..., Response]) -> None:
        self._feed = feed
        self._render = render
        self._nonces = Nonces()
        self._sessions = Sessions()
        self._limiter = LoginLimiter()
        self._delayed: set[tuple[str, int | None]] = set()
        """The addresses and teams for which the answer to a wrong login waits; at most one for each connection."""
        self.games = OwnGames(feed)
        self.submissions = Submissions(lambda: feed.contest)

    def team_of(self, request: Request) -> Team | None:
        """Return the team for which the browser is logged in; None if it is not."""
        return self._sessions.team_of(request.cookie(COOKIE), self._feed.contest.teams)

    def body_limit(self, request: Request) -> int | Response:
        """Return the size that the body of a request may have: only a program of a logged-in team is long."""
        if (request.method, request.path) != ("POST", _PROGRAM):
            return PAGE_BODY_BYTES
        team = self.team_of(request)
        if team is None or not request.is_own:
            return problem(401, "log in first, on the page /own")
        return self.submissions.objection(team.id) or MAX_PROGRAM_BYTES

    async def __call__(self, request: Request) -> Answer:
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
        team = self.team_of(request)
        if request.path == "/own/nonce.json":
            return Response(encode({"nonce": self._nonces.new()}), JSON)
        if request.path == "/own":
            return self._page(team)
        if team is None:
            return problem(401, "log in first, on the page /own")
        if request.path == "/own/program.json":
            return Response(encode(await self.submissions.state(team.id)), JSON)
        if request.path == "/own/state.json":
            return await self._state(team.id, request.query.get("seen", ""))
        try:
            return await self._file(team.id, request.path)
        except StoreError as error:
            return problem(503, str(error))

    def _page(self, team: Team | None) -> Answer:
        if team is None:
            return self._render("login", title="Your team")
        return self._render("own", title="Your team", team=team, conventions=ALL_CONVENTIONS)

    async def _state(self, team: int, seen: str) -> Answer:
        tag, body = await self.games.state(team)
        headers = (("X-State", tag),)
        return Response(b"{}" if seen == tag else body, JSON, headers=headers)

    async def _file(self, team: int, path: str) -> Answer:
        """Return a file with records of the team's own matches."""
        if found := _FILES.fullmatch(path):
            numbers = self.games.matches(team)
            pieces = self.games.records(team, numbers, text=found[1] == "txt")
            return Download(f"matches.{found[1]}", _type(found[1]), lambda: pieces)
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

    # --- what a browser sends ---

    async def login(self, request: Request) -> Answer:
        """Log a browser in."""
        form = request.form()
        text, nonce = form.get("team", ""), form.get("nonce", "")
        team = self._feed.contest.teams.get(int(text)) if re.fullmatch("[0-9]{1,10}", text) else None
        who = (request.address, None if team is None else team.id)
        if who in self._delayed:
            return _refusal(429, "A wrong login of this team has just come from here. Wait some seconds.")
        if not self._nonces.is_fresh(nonce):
            return _refusal(403, "The login took too long, or was sent twice. Try again.")
        token = signed_token(team, nonce, form.get("mac", ""))
        if token is None or team is None:
            return await self._refuse(who)
        if not self._limiter.allow_login(team.id):
            return _refusal(429, "Your team logs in too often. Wait some seconds.")
        self._nonces.spend(nonce)
        self._sessions.close(request.cookie(COOKIE))
        key, asked = self._sessions.open(team), form.get("client_nonce", "")
        proof = {"proof": prove_server(token, nonce, asked)} if re.fullmatch("[0-9a-f]{32}", asked) else {}
        return Response(encode(proof), JSON, headers=(_cookie(key),))

    async def _refuse(self, who: tuple[str, int | None]) -> Answer:
        self._delayed.add(who)
        try:
            await trio.sleep(self._limiter.record_failure(who[0]))
        finally:
            self._delayed.discard(who)
        return _refusal(403, WRONG)

    async def program(self, request: Request) -> Answer:
        """Take a program that the team submits."""
        team = self.team_of(request)
        return (
            problem(401, "log in first, on the page /own")
            if team is None
            else self.submissions.take(team.id, request)
        )

    async def logout(self, request: Request) -> Answer:
        """Log a browser out."""
        self._sessions.close(request.cookie(COOKIE))
        return redirect("/own", _cookie("", "; Max-Age=0"))


def _type(kind: str) -> str:
    return {"jsonl": JSON_LINES, "txt": TEXT, "html": HTML}[kind]


def _refusal(status: int, text: str) -> Response:
    return Response(encode({"problem": text}), JSON, status)


def _cookie(key: str, more: str = "") -> tuple[str, str]:
    return "Set-Cookie", f"{COOKIE}={key}; Path=/; HttpOnly; SameSite=Strict{more}"


_POST: dict[str, Callable[[TeamArea, Request], Awaitable[Answer]]] = {
    "/own/login": TeamArea.login,
    "/own/logout": TeamArea.logout,
    _PROGRAM: TeamArea.program,
}
