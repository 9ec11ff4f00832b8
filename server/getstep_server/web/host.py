"""The host's console at ``/host``: what the host decides, with a preview of each decision before it is made.

Theory of operation
-------------------

*A decision goes the way of a command.* A form makes the same `decisions.requests.Request` as a command does.
`decisions.making` previews it and puts it on record, in a thread, and a server that runs the contest reads it from
there. So nothing here talks to the judge.

*Only from this computer.* The page comes over plain HTTP. So the console answers requests from a loopback address
only, and only if the browser has typed one: a web site that lets its own name resolve to 127.0.0.1 gets nothing.

*A session is a random key in a cookie*, as in `own`. It is opened by a link that works once, and ends when the host
replaces the key (`config.host_key`). Each form has a random word of its session, besides the checks of ``Origin``
and ``SameSite``. Wrong links are delayed as wrong logins are. There is no script on these pages. Other pages ask
for the session, too (`HostConsole.is_open_in`): with ``notes = "live"`` the host sees the notes of a running match.
"""

from __future__ import annotations

import hmac
import secrets
import shutil
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import trio
from msgspec.structs import fields

from getstep_server.config.contest import Team
from getstep_server.config.host_key import host_key, spend_link
from getstep_server.decisions import making, messages, requests
from getstep_server.errors import ConfigError, UsageError
from getstep_server.limits import TEAM_SESSION_SECONDS, TEAM_SESSIONS
from getstep_server.login_limits import LoginLimiter
from getstep_server.records.decision import describe_decision
from getstep_server.records.record import RecordError
from getstep_server.storage.database import StoreError
from getstep_server.tournament.tournament import Tournament

from .feed import Feed
from .http import AnyResponse, Request, Response, is_loopback, redirect

COOKIE = "getstep_host"
HOST = "the host"
LATEST = 30
"""Decisions in the list of the page; `export` has all."""

CATCH_UP_SECONDS = 3.0
"""The longest wait for the page to read a record of its own; the record counts without it."""

Kind: TypeAlias = type[requests.Request]

KINDS: Mapping[str, list[Kind]] = {
    "Matches": [requests.Pause, requests.Resume, requests.Adjudicate, requests.Forfeit, requests.Rematch],
    "Teams": [
        requests.AddTeams,
        requests.RenameTeam,
        requests.NewToken,
        requests.ChangeSeats,
        requests.Withdraw,
        requests.Disqualify,
        requests.Reinstate,
    ],
    "Spectators": [requests.Freeze, requests.Reveal],
}
"""The decisions that have a form, by the heading above them."""

_BY_TAG = {str(kind.__struct_config__.tag): kind for kinds in KINDS.values() for kind in kinds}
_NOT_ASKED = ("by", "roster", "classic")
"""Fields without a place in a form: the author is that of the session, a class list is a file."""

_LABELS = {
    "match": ("Match number", "number"),
    "matches": ("Match numbers, with spaces between them", "text"),
    "team": ("Team: its name or its id", "team"),
    "teams": ("Names of the new teams, one a line", "lines"),
    "event": ("Event (empty: all)", "event"),
    "winner": ("Winner: a team, or draw", "team"),
    "scores": ("Scores of both players, with a space between them (may be empty)", "text"),
    "no_shows": ("Only matches that were forfeited because a team was missing", "check"),
    "at_once": ("At once; else at the end of each turn", "check"),
    "name": ("New name", "text"),
    "seats": ("Seats", "number"),
    "why": ("Reason", "text"),
}
"""How a field is called in a form, and how it is typed."""


@dataclass(frozen=True, slots=True)
class Input:
    """A field of a form."""

    name: str
    label: str
    kind: str
    default: str = ""
    required: bool = False


@dataclass(frozen=True, slots=True)
class Form:
    """The form of a kind of decision."""

    tag: str
    summary: str
    text: str
    inputs: list[Input]


@dataclass(slots=True)
class _Session:
    key: str
    word: str
    """In each form of the session."""
    until: float
    done: str = ""
    """What was done last, for the next page. A form is answered by a redirection: a reload sends nothing again."""
    teams: Sequence[Team] = ()
    """Those that it has changed, with their tokens."""


class HostConsole:
    """The pages under ``/host``.

    Args:
        feed: the contest.
        render: makes a page from a template.
    """

    def __init__(self, feed: Feed, render: Callable[..., Response]) -> None:
        self._feed = feed
        self._render = render
        self._limiter = LoginLimiter()
        self._delayed: set[str] = set()
        self._sessions: dict[str, _Session] = {}  # the oldest first

    async def __call__(self, request: Request) -> AnyResponse:
        """Answer a request for an address under ``/host``."""
        if not _is_here(request):
            return self._refuse(403, "The console is open on the host's own computer only, at http://127.0.0.1.")
        if link := request.query.get("key", ""):
            return await self._log_in(request, link)
        session = await self._session(request)
        if session is None:
            return self._refuse(401, "Open the console by its link: getstep-server host-key FOLDER prints it.")
        if request.method != "POST":
            return await self._page(session) if request.path == "/host" else self._missing()
        view = _POST.get(request.path)
        if view is None:
            return self._missing()
        try:
            form = request.form()
        except ValueError:
            return self._refuse(400, "Too many fields in a form.")
        if not request.is_own or not hmac.compare_digest(session.word.encode(), form.get("word", "").encode()):
            return self._refuse(403, "This form is not from this page. Load the page again.")
        try:
            return await view(self, session, form)
        except (UsageError, ConfigError, StoreError, RecordError, msgspec.DecodeError) as error:
            return await self._page(session, problem=str(error), status=409)

    # --- sessions ---

    async def _log_in(self, request: Request, link: str) -> AnyResponse:
        if request.address in self._delayed:
            return self._refuse(429, "A wrong link has just been tried. Wait some seconds.")
        self._delayed.add(request.address)  # before the first wait: guesses come one after another
        try:
            key = await trio.to_thread.run_sync(spend_link, self._feed.folder, link)
            if key is None:
                await trio.sleep(self._limiter.record_failure(request.address))
                return self._refuse(
                    403, "This link is spent or wrong. getstep-server host-key FOLDER prints another one."
                )
        finally:
            self._delayed.discard(request.address)
        now = trio.current_time()
        kept = [(name, one) for name, one in self._sessions.items() if one.until > now]
        self._sessions = dict(kept[max(0, len(kept) + 1 - TEAM_SESSIONS) :])  # the oldest makes room
        name = secrets.token_urlsafe(24)
        self._sessions[name] = _Session(key, secrets.token_urlsafe(24), now + TEAM_SESSION_SECONDS)
        # The link leaves the address line, so it is in no picture and no history.
        return redirect("/host", ("Set-Cookie", f"{COOKIE}={name}; Path=/; HttpOnly; SameSite=Strict"))

    async def is_open_in(self, request: Request) -> bool:
        """Return True if a request for any page comes from a browser in which the console is open.

        Its session counts, and not its address: bots of teams may run on the host's computer, too.
        """
        return _is_here(request) and await self._session(request) is not None

    async def _session(self, request: Request) -> _Session | None:
        session = self._sessions.get(request.cookie(COOKIE))
        if session is None or session.until <= trio.current_time():
            return None
        found = await trio.to_thread.run_sync(host_key, self._feed.folder)
        return session if found is not None and hmac.compare_digest(found.key, session.key) else None

    # --- what a browser sends ---

    async def preview(self, session: _Session, form: Mapping[str, str]) -> AnyResponse:
        """Show what a decision would change."""
        asked = _request(form)
        made = await trio.to_thread.run_sync(making.preview, self._feed.folder, asked)
        return self._render(
            "host_preview",
            title="Confirm",
            word=session.word,
            # as JSON, which has no line ends: those in a form field would be shown escaped
            request=msgspec.json.encode(asked).decode(),
            summary=made.preview.summary("Would be on record"),
            lines=list(made.preview.lines(made.after.contest)),
            seen=made.preview.place if made.begun else None,
        )

    async def decide(self, session: _Session, form: Mapping[str, str]) -> AnyResponse:
        """Put a decision on record that the host has seen the preview of."""
        asked: requests.Request = msgspec.json.decode(form.get("request", ""), type=requests.AnyRequest)
        asked, text = msgspec.structs.replace(asked, by=HOST), form.get("seen", "")
        seen = int(text) if text.isdecimal() and len(text) < 10 else None
        decide = partial(making.decide, seen=seen)
        made = await trio.to_thread.run_sync(decide, self._feed.folder, asked)
        what = "On record" if made.begun else "In teams.toml, for the start"
        session.teams = made.teams
        return await self._done(session, made.preview.summary(what), made.after)

    async def announce(self, session: _Session, form: Mapping[str, str]) -> AnyResponse:
        """Say something to everybody."""
        after = await trio.to_thread.run_sync(messages.announce, self._feed.folder, form.get("text", ""), HOST)
        return await self._done(session, "The announcement is on record. Each bot shows it in its terminal.", after)

    async def answer(self, session: _Session, form: Mapping[str, str]) -> AnyResponse:
        """Answer a question of a team."""
        number = form.get("question", "")
        if not number.isdecimal() or len(number) > 9:
            raise UsageError(f"question {number!r}, expected its number")
        reply = partial(messages.answer, to_all="to_all" in form)
        after = await trio.to_thread.run_sync(reply, self._feed.folder, int(number), form.get("text", ""), HOST)
        return await self._done(session, f"The answer to question {number} is on record.", after)

    async def _done(self, session: _Session, what: str, after: Tournament) -> Response:
        """Answer a form, once the page has read the new record itself: the next page shows it."""
        session.done = what
        with trio.move_on_after(CATCH_UP_SECONDS):
            while self._feed.whole.place < after.place:
                await trio.sleep(0.02)  # the feed looks at the records several times in a second
        return redirect("/host")

    # --- pages ---

    async def _page(self, session: _Session, *, status: int = 200, problem: str = "") -> AnyResponse:
        feed = self._feed
        tournament = feed.whole
        free = await trio.to_thread.run_sync(_free_bytes, feed.folder)
        done, teams = session.done, session.teams
        session.done, session.teams = "", ()
        return self._render(
            "host",
            status=status,
            title="Host's console",
            word=session.word,
            problem=problem,
            done=done,
            added=teams,
            health=_health(feed, free),
            questions=tournament.messages.open_questions,
            team_name=tournament.contest.team_name,
            forms={heading: [_form(kind) for kind in kinds] for heading, kinds in KINDS.items()},
            names=[team.name for team in tournament.contest.teams.values()],
            contest_events=[event.name for event in tournament.contest.events],
            decisions=_latest(tournament),
        )

    def _missing(self) -> Response:
        return self._refuse(404, "There is no page at this address.")

    def _refuse(self, status: int, text: str) -> Response:
        return self._render("error", status=status, title="Host's console", text=text)


_TYPED = ("127.0.0.1", "localhost", "::1")


def _is_here(request: Request) -> bool:
    return is_loopback(request.address) and request.typed_host in _TYPED


_POST: dict[str, Callable[[HostConsole, _Session, Mapping[str, str]], Awaitable[AnyResponse]]] = {
    "/host/preview": HostConsole.preview,
    "/host/decide": HostConsole.decide,
    "/host/announce": HostConsole.announce,
    "/host/answer": HostConsole.answer,
}


def _form(kind: Kind) -> Form:
    inputs = []
    for field in fields(kind):
        if field.name in _NOT_ASKED:
            continue
        label, how = _LABELS[field.name]
        default = field.default if isinstance(field.default, str) else ""
        inputs.append(Input(field.name, label, how, default, field.required))
    inputs.sort(key=lambda one: one.name == "why")  # the reason comes last; the sort keeps the others in order
    return Form(str(kind.__struct_config__.tag), kind.summary, " ".join(kind.text.split()), inputs)


def _request(form: Mapping[str, str]) -> requests.Request:
    """Return what a form asks for.

    Raises:
        UsageError: there is no such kind of decision.
        msgspec.ValidationError: a field is missing or of another type.
    """
    kind = _BY_TAG.get(form.get("decision", ""))
    if kind is None:
        raise UsageError("this form has no decision that the console knows; load the page again")
    asked: dict[str, Any] = {"decision": form["decision"], "by": HOST}
    for field in fields(kind):
        text = form.get(field.name, "").strip()
        if not text or field.name in _NOT_ASKED:
            continue
        if field.name in ("matches", "scores"):
            asked[field.name] = text.replace(",", " ").split()
        elif field.name == "teams":
            asked[field.name] = [{"name": line.strip()} for line in text.splitlines() if line.strip()]
        elif _LABELS[field.name][1] == "check":
            asked[field.name] = True
        else:
            asked[field.name] = text
    # not strict: all that a form sends is text
    return msgspec.convert(asked, kind, strict=False)


def _latest(tournament: Tournament) -> list[tuple[str, str, str, str]]:
    """Return the latest decisions, the newest first: when, what, by whom and why."""
    found = []
    for one in tournament.decisions[: -LATEST - 1 : -1]:
        match = tournament.matches.get(one.match or 0)
        found.append((one.at, describe_decision(one, tournament.contest, match), one.by, one.why))
    return found


def _free_bytes(folder: Path) -> int:
    return shutil.disk_usage(folder).free


def _health(feed: Feed, free: int) -> list[tuple[str, str]]:
    """Return how the contest is, as names and values."""
    status, tournament = feed.status, feed.whole
    name = tournament.contest.team_name
    lines = [("Matches", f"{tournament.done} of {tournament.total} are over")]
    if not feed.server_runs or status is None:
        lines.append(("Server", "no server runs this contest now"))
    else:
        missing = [name(team) for team in tournament.contest.contestants if not status.connected.get(team)]
        states = {"gathering": "waits for the teams", "over": "the contest is over"}
        lines += [
            ("Server", states.get(status.state, "plays")),
            ("Event loop", f"woken {status.lag_ms:.1f} ms late"),
            ("Not connected", ", ".join(missing) or "nobody: all teams are here"),
            ("Connected, but silent", ", ".join(map(name, status.hanging)) or "none"),
        ]
    lines.append(("Questions", f"{tournament.messages.unanswered} without an answer"))
    lines.append(("Free disk", f"{free / 1e9:.1f} GB"))
    return lines
