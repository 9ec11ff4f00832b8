"""The host's console at ``/host``: what the host decides, with a preview of each decision before it is made.

Theory of operation
-------------------

*A decision goes the way of a command.* A form makes the same `decisions.requests.Request` as a command does.
`decisions.making` previews it and puts it on record, in a thread, and a server that runs the contest reads it from
there. So nothing here talks to the judge.

*Who may open it*, and from where, is in `host_access`.
"""

from __future__ import annotations

import hmac
import shutil
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import trio
from msgspec.structs import fields

from getstep_server.decisions import making, messages, requests
from getstep_server.errors import ConfigError, UsageError
from getstep_server.records.decision import describe_decision
from getstep_server.records.record import RecordError
from getstep_server.storage.database import StoreError
from getstep_server.tournament.tournament import Tournament

from .feed import Feed
from .host_access import COOKIE, HostAccess, HostRefused, HostSession
from .http import AnyResponse, Request, Response, redirect

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


class HostConsole:
    """The pages under ``/host``.

    Args:
        feed: the contest.
        render: makes a page from a template.
        access: knows the sessions.
    """

    def __init__(self, feed: Feed, render: Callable[..., Response], access: HostAccess) -> None:
        self._feed = feed
        self._render = render
        self._access = access

    async def __call__(self, request: Request) -> AnyResponse:
        """Answer a request for an address under ``/host``."""
        try:
            self._access.check_place(request)
            if link := request.query.get("key", ""):
                cookie = await self._access.log_in(request, link)
                # The link leaves the address line, so it is in no picture and no history.
                kept = f"{COOKIE}={cookie}; Path=/; HttpOnly; SameSite=Strict"
                return redirect("/host", ("Set-Cookie", kept))
            session = await self._access.session(request)
        except HostRefused as refused:
            return self._refuse(refused.status, str(refused))
        except ConfigError as error:
            return self._refuse(503, str(error))
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

    # --- what a browser sends ---

    async def preview(self, session: HostSession, form: Mapping[str, str]) -> AnyResponse:
        """Show what a decision would change."""
        asked = _request(form, session.author)
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

    async def decide(self, session: HostSession, form: Mapping[str, str]) -> AnyResponse:
        """Put a decision on record that the host has seen the preview of."""
        asked: requests.Request = msgspec.json.decode(form.get("request", ""), type=requests.AnyRequest)
        asked, text = msgspec.structs.replace(asked, by=session.author), form.get("seen", "")
        seen = int(text) if text.isdecimal() and len(text) < 10 else None
        decide = partial(making.decide, seen=seen)
        made = await trio.to_thread.run_sync(decide, self._feed.folder, asked)
        what = "On record" if made.begun else "In teams.toml, for the start"
        session.teams = made.teams
        return await self._done(session, made.preview.summary(what), made.after)

    async def announce(self, session: HostSession, form: Mapping[str, str]) -> AnyResponse:
        """Say something to everybody."""
        after = await trio.to_thread.run_sync(
            messages.announce, self._feed.folder, form.get("text", ""), session.author
        )
        return await self._done(session, "The announcement is on record. Each bot shows it in its terminal.", after)

    async def answer(self, session: HostSession, form: Mapping[str, str]) -> AnyResponse:
        """Answer a question of a team."""
        number = form.get("question", "")
        if not number.isdecimal() or len(number) > 9:
            raise UsageError(f"question {number!r}, expected its number")
        reply = partial(messages.answer, to_all="to_all" in form)
        after = await trio.to_thread.run_sync(
            reply, self._feed.folder, int(number), form.get("text", ""), session.author
        )
        return await self._done(session, f"The answer to question {number} is on record.", after)

    async def _done(self, session: HostSession, what: str, after: Tournament) -> Response:
        """Answer a form, once the page has read the new record itself: the next page shows it."""
        session.done = what
        with trio.move_on_after(CATCH_UP_SECONDS):
            while self._feed.whole.place < after.place:
                await trio.sleep(0.02)  # the feed looks at the records several times in a second
        return redirect("/host")

    # --- pages ---

    async def _page(self, session: HostSession, *, status: int = 200, problem: str = "") -> AnyResponse:
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


_POST: dict[str, Callable[[HostConsole, HostSession, Mapping[str, str]], Awaitable[AnyResponse]]] = {
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


def _request(form: Mapping[str, str], author: str) -> requests.Request:
    """Return what a form asks for.

    Raises:
        UsageError: there is no such kind of decision.
        msgspec.ValidationError: a field is missing or of another type.
    """
    kind = _BY_TAG.get(form.get("decision", ""))
    if kind is None:
        raise UsageError("this form has no decision that the console knows; load the page again")
    asked: dict[str, Any] = {"decision": form["decision"], "by": author}
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
