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
import re
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import msgspec
import trio
from msgspec.structs import fields

from getstep_server.api.answers import HostHealth, HostTeam, WallAnswer
from getstep_server.api.build import STANDBY_MISSING
from getstep_server.config.invitations import Invitation, invitations, invitations_path
from getstep_server.config.toml_file import stamp_of
from getstep_server.decisions import making, messages, requests, starting
from getstep_server.errors import ConfigError, UsageError
from getstep_server.limits import DISK_LOW_BYTES
from getstep_server.records.decision import describe_decision
from getstep_server.records.record import RecordError
from getstep_server.reports.slips import address_to_type
from getstep_server.reports.templating import template_environment
from getstep_server.storage.database import DatabaseError, StoreError
from getstep_server.text import local_minute, pluralize
from getstep_server.tournament.tournament import Tournament

from .feed import Feed
from .host_access import COOKIE, HostAccess, HostRefused, HostSession
from .host_files import FILES, GRADE_FORMATS, HostFiles
from .host_state import HostState
from .http import AnyResponse, EventStream, Request, Response, Send, problem, redirect
from .rehearsal import Rehearsal
from .sign_up import join_path
from .slip import slip_contest, slip_response
from .topics import Parts, Topics
from .wall import Wall

LATEST = 30
"""Decisions in the list of the page; `export` has all."""

HOLDS_SECONDS = 2.0
"""The interval at which a page that follows is asked whether its session still holds."""

PAUSED = "the host has paused it"
"""The reason of a pause that is asked for with one button; the preview lets the host write another one."""

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
        requests.Invite,
        requests.Revoke,
    ],
    "Spectators": [requests.Freeze, requests.Reveal],
    "Standby host": [requests.Strict, requests.NotStrict],
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
    "count": ("Links", "number"),
    "uses": ("Teams that may sign up with each link", "number"),
    "until": ("Until (empty: for a week)", "datetime-local"),
    "invitations": ("Numbers of the links, with spaces between them (empty: all that are open)", "text"),
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


@dataclass(frozen=True)
class Seen:
    """What the parts of the page show; see ``host_parts.html.j2``."""

    health: HostHealth
    facts: list[tuple[str, str]]
    pauses: list[tuple[str, str, str, dict[str, str]]]
    """What is paused but running matches: its name, why, and the button and the fields that end the pause."""
    paused: bool
    waits: bool
    questions: Sequence[QuestionAsked]
    wall: WallAnswer
    rehearsal: Rehearsal | None
    """None once the contest has begun."""
    decisions: list[tuple[str, str, str, str]]
    invited: list[tuple[int, str]]
    """The open links to sign up: the number, how many teams have used it, and its end."""
    reason: str = PAUSED

    @staticmethod
    def seconds(ms: float) -> str:
        """Return a time: 35 ms, 1.2 s."""
        return f"{ms:.0f} ms" if ms < 1000 else f"{ms / 1000:.1f} s"

    @staticmethod
    def duration(since: int) -> str:
        """Return how long ago a time is, in steps that do not change with each look: 40 s, 12 min."""
        seconds = max(0.0, time.time() - since / 1000)
        return f"{5 * int(seconds / 5)} s" if seconds < 120 else f"{int(seconds / 60)} min"

    @staticmethod
    def team_state(team: HostTeam) -> str:
        """Return the state of a team in words."""
        words = {"hanging": "does not answer", "out": "out", "unknown": "–", "missing": "missing"}
        bots = f"{team.connected} of {team.seats} bots" if team.seats > 1 else "connected"
        stalled = f", stalled in {', '.join(f'#{match}' for match in team.stalled)}" if team.stalled else ""
        return f"{words.get(team.state, bots)}{stalled}"


class QuestionAsked(NamedTuple):
    """A question that waits for its answer."""

    number: int
    team: str
    text: str


PARTS = ("state", "rehearsal", "matches", "questions", "teams", "wall", "log")
"""The macros of ``host_parts.html.j2``, each a part of the page that changes."""


class HostConsole:
    """The pages under ``/host``.

    Args:
        feed: the contest.
        render: makes a page from a template.
        access: knows the sessions.
        state: of the contest.
        health: returns the state as it is now.
        wall: what the host has chosen for it.
        rehearsal: that the host may start.
        address: returns the address of this page for others, "" if they cannot open it.
    """

    def __init__(
        self,
        feed: Feed,
        render: Callable[..., Response],
        access: HostAccess,
        state: HostState,
        health: Callable[[], HostHealth],
        wall: Wall,
        rehearsal: Rehearsal,
        address: Callable[[Request], str],
    ) -> None:
        self._feed = feed
        self._render = render
        self._access = access
        self._state = state
        self._health = health
        self._wall = wall
        self._rehearsal = rehearsal
        self._address = address
        self._files = HostFiles(feed.folder)
        self._invitations: list[Invitation] = []
        self._invitations_stamp = (0, 0)
        self._macros: Any = template_environment("getstep_server.web").get_template("host_parts.html.j2").module
        self.topics = Topics(lambda name: self._changing if name == "host" else None)
        """The parts of the page, which all sessions follow."""

    def refresh(self) -> None:
        """Build the parts again if something may have changed."""
        stamps = stamp_of(invitations_path(self._feed.folder))
        self.topics.refresh((self._feed.version.total(), self._wall.version, self._rehearsal.version, *stamps))

    async def __call__(self, request: Request) -> AnyResponse:
        """Answer a request for an address under ``/host``."""
        try:
            self._access.check_place(request)
            link = request.query.get("key", "")
            if link and request.method == "GET":  # what only looks whether there is such a page spends no link
                cookie = await self._access.log_in(request, link)
                # The link leaves the address line, so it is in no picture and no history.
                return redirect("/host", request.set_cookie(COOKIE, cookie))
            session = await self._access.session(request)
            session.page = self._address(request)
        except HostRefused as refused:
            return self._refuse(refused.status, str(refused))
        except ConfigError as error:
            return self._refuse(503, str(error))
        if request.method == "POST":
            return await self._posted(request, session)
        try:
            return await self._got(request, session)
        except _PROBLEMS as error:
            return await self._page(session, problem=str(error), status=409)

    async def _posted(self, request: Request, session: HostSession) -> AnyResponse:
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
        except _PROBLEMS as error:
            return await self._page(session, problem=str(error), status=409)

    async def _got(self, request: Request, session: HostSession) -> AnyResponse:
        if request.path == "/host":
            return await self._page(session)
        if request.path == "/host/changes":
            return self._changes(request, session)
        if found := _SLIP.fullmatch(request.path):
            return await self._slip(int(found[1]), request)
        if found := _FILE.fullmatch(request.path):
            return await self._files.make(found[1], request.query) or self._missing()
        return self._missing()

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
            why=asked.why,
            summary=made.preview.summary("Would be on record"),
            lines=list(made.preview.lines(made.after.contest)),
            seen=made.preview.place if made.begun else None,
        )

    async def decide(self, session: HostSession, form: Mapping[str, str]) -> AnyResponse:
        """Put a decision on record that the host has seen the preview of; its reason may be another one now."""
        asked: requests.Request = msgspec.json.decode(form.get("request", ""), type=requests.AnyRequest)
        why = form.get("why", "").strip() or asked.why
        asked, text = msgspec.structs.replace(asked, by=session.author, why=why), form.get("seen", "")
        seen = int(text) if text.isdecimal() and len(text) < 10 else None
        decide = partial(making.decide, seen=seen)
        made = await trio.to_thread.run_sync(decide, self._feed.folder, asked)
        what = "On record" if made.begun else "In teams.toml, for the start"
        session.teams, session.keys = made.teams, made.keys
        await self._state.caught_up(made.after.place)
        return self._done(session, made.preview.summary(what))

    async def announce(self, session: HostSession, form: Mapping[str, str]) -> AnyResponse:
        """Say something to everybody."""
        text, by = form.get("text", ""), session.author
        after = await trio.to_thread.run_sync(messages.announce, self._feed.folder, text, by)
        await self._state.caught_up(after.place)
        return self._done(session, "The announcement is on record. Each bot shows it in its terminal.")

    async def answer(self, session: HostSession, form: Mapping[str, str]) -> AnyResponse:
        """Answer a question of a team."""
        number = _number(form, "question")
        reply, text = partial(messages.answer, to_all="to_all" in form), form.get("text", "")
        after = await trio.to_thread.run_sync(reply, self._feed.folder, number, text, session.author)
        await self._state.caught_up(after.place)
        return self._done(session, f"The answer to question {number} is on record.")

    async def start(self, session: HostSession, form: Mapping[str, str]) -> AnyResponse:
        """Let a server that waits for teams start."""
        text = form.get("at") or None
        at = await trio.to_thread.run_sync(starting.start, self._feed.folder, session.author, text)
        when = "now" if at is None else f"at {at:%H:%M}"
        return self._done(session, f"The server starts {when}, without teams that are missing.")

    async def wall(self, session: HostSession, form: Mapping[str, str]) -> AnyResponse:
        """Change what the wall shows."""
        match form.get("do", ""):
            case "pin":
                number = _number(form, "match")
                if number not in self._feed.tournament.matches:
                    raise UsageError(f"there is no match {number} that spectators may see")
                self._wall.pin(number)
            case "unpin":
                self._wall.pin(None)
            case "next":
                self._wall.next()
            case "message":
                self._wall.say(form.get("text", "").strip())
            case what:
                raise UsageError(f"the wall does not know {what!r:.80}; load the page again")
        return self._done(session, "The wall shows it now.")

    async def rehearse(self, session: HostSession, form: Mapping[str, str]) -> AnyResponse:
        """Start a rehearsal, or stop it."""
        match form.get("do", ""):
            case "start":
                self._rehearsal.start()
                return self._done(session, "The rehearsal starts.")
            case "stop":
                self._rehearsal.stop()
                return self._done(session, "The rehearsal stops.")
            case what:
                raise UsageError(f"a rehearsal cannot {what!r:.80}; load the page again")

    def _done(self, session: HostSession, what: str) -> Response:
        session.done = what
        session.log(what)
        return redirect("/host")

    # --- pages ---

    async def _page(self, session: HostSession, *, status: int = 200, problem: str = "") -> AnyResponse:
        tournament = self._feed.whole
        await self._state.refresh()
        done, teams, keys = session.done, session.teams, session.keys
        session.done, session.teams, session.keys = "", (), {}
        return self._render(
            "host",
            status=status,
            title="Host's console",
            word=session.word,
            problem=problem,
            done=done,
            added=teams,
            links={one: session.page.rstrip("/") + join_path(key) for one, key in keys.items()},
            parts=self._parts(session.word),
            forms={heading: [_form(kind) for kind in kinds] for heading, kinds in KINDS.items()},
            names=[team.name for team in tournament.contest.teams.values()],
            contest_events=tournament.contest.events,
            files=FILES,
            grade_formats=GRADE_FORMATS,
        )

    def _changes(self, request: Request, session: HostSession) -> AnyResponse:
        """Return the parts of the page as they change, until the session is over."""
        topic = self.topics.get("host")
        if topic is None or self.topics.crowd.is_full(request.address):
            return problem(503, "too many pages follow the console; close some")

        async def follow(send: Send) -> None:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._until_over, session, nursery.cancel_scope)
                await self.topics.follow(topic, request.address, send)
            await send(b'data: {"over":true}\n\n')

        return EventStream(follow)

    async def _until_over(self, session: HostSession, scope: trio.CancelScope) -> None:
        while await self._access.holds(session):
            await self._state.refresh()
            await trio.sleep(HOLDS_SECONDS)  # a key is replaced by a command, which tells this process nothing
        scope.cancel()

    async def _slip(self, team: int, request: Request) -> AnyResponse:
        """Return the slip of a team, for the printer."""
        contest = await trio.to_thread.run_sync(slip_contest, self._feed, team, request)
        return self._missing() if contest is None else await slip_response(contest, address_to_type(contest))

    def _changing(self) -> Parts:
        """Return the parts for all sessions; the script puts the word of its session into each form."""
        return self._parts("")

    def _parts(self, word: str) -> dict[str, str]:
        seen = self._seen()
        # without line ends, which a topic escapes as it does in all texts
        made = {name: getattr(self._macros, name)(seen, word) for name in PARTS}
        return {name: " ".join(str(text).split()) for name, text in made.items()}

    def _seen(self) -> Seen:
        feed, whole = self._feed, self._feed.whole
        health, name = self._health(), whole.contest.team_name
        running = {match.match for match in health.matches}
        status = feed.status if feed.server_runs else None
        pauses = []
        for one in whole.pauses.decisions:
            if one.match is None:
                event = None if one.event is None else whole.contest.event(one.event)
                what = "the contest" if event is None else event.heading
                fields = {} if event is None else {"event": event.name}
            elif one.match not in running:
                what, fields = f"#{one.match}", {"match": str(one.match)}
            else:
                continue
            pauses.append((what, one.why, f"Resume {what}", {"decision": "resume", **fields}))
        if status is not None and status.standby_missing is not None:
            pauses.append(("the contest", STANDBY_MISSING, "Go on without it", {"decision": "not_strict"}))
        return Seen(
            health=health,
            facts=_facts(health, whole),
            pauses=pauses,
            paused=whole.pauses.contest is not None,
            waits=status is not None and (status.state == "gathering" or bool(status.waiting)),
            questions=[
                QuestionAsked(one.number, name(one.team), one.text) for one in whole.messages.open_questions
            ],
            wall=self._wall.answer(),
            rehearsal=None if self._rehearsal.has_begun() else self._rehearsal,
            decisions=_latest(whole),
            invited=self._invited(),
        )

    def _invited(self) -> list[tuple[int, str]]:
        path = invitations_path(self._feed.folder)
        if (stamp := stamp_of(path)) != self._invitations_stamp:
            self._invitations_stamp = stamp
            with suppress(ConfigError):
                self._invitations = invitations(self._feed.folder)
        now = time.time()
        return [
            (one.number, f"{len(one.teams)} of {pluralize(one.uses, 'team')}, until {local_minute(one.until)}")
            for one in self._invitations
            if not one.closed(now)
        ]

    def _missing(self) -> Response:
        return self._refuse(404, "There is no page at this address.")

    def _refuse(self, status: int, text: str) -> Response:
        return self._render("error", status=status, title="Host's console", text=text)


_PROBLEMS = (UsageError, ConfigError, StoreError, DatabaseError, RecordError, msgspec.DecodeError, OSError)
"""What is told on the page: the host did something wrong, or the contest cannot be read or written."""

_SLIP = re.compile(r"/host/slip/([0-9]{1,10})")
_FILE = re.compile(r"/host/files/([a-z.]{1,40})")

_POST: dict[str, Callable[[HostConsole, HostSession, Mapping[str, str]], Awaitable[AnyResponse]]] = {
    "/host/preview": HostConsole.preview,
    "/host/decide": HostConsole.decide,
    "/host/announce": HostConsole.announce,
    "/host/answer": HostConsole.answer,
    "/host/start": HostConsole.start,
    "/host/wall": HostConsole.wall,
    "/host/rehearse": HostConsole.rehearse,
}


def _number(form: Mapping[str, str], name: str) -> int:
    text = form.get(name, "")
    if not (text.isascii() and text.isdecimal()) or len(text) > 9:
        raise UsageError(f"{name} {text!r:.80}, expected its number")
    return int(text)


def _form(kind: Kind) -> Form:
    inputs = []
    for field in fields(kind):
        if field.name in _NOT_ASKED:
            continue
        label, how = _LABELS[field.name]
        default = str(field.default) if isinstance(field.default, str | int) else ""
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
        if field.name in ("matches", "scores", "invitations"):
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


_STATES = {
    "new": "has not begun",
    "waiting": "waits for the teams",
    "playing": "plays",
    "over": "the contest is over",
    "stopped": "has stopped",
}


def _facts(health: HostHealth, whole: Tournament) -> list[tuple[str, str]]:
    """Return how the contest is, as names and values."""
    state = _STATES[health.state] if health.server_runs else "no server runs this contest now"
    facts = [("Matches", f"{health.done} of {health.total} are over"), ("Server", state)]
    if health.start_at is not None:
        facts.append(("Starts", f"at {datetime.fromtimestamp(health.start_at / 1000).astimezone():%H:%M}"))
    if health.lag_ms is not None:
        missing = [team.name for team in health.teams if team.state == "missing"]
        hanging = [team.name for team in health.teams if team.state == "hanging"]
        facts += [
            ("Event loop", f"woken {health.lag_ms:.1f} ms late"),
            ("Not connected", ", ".join(missing) or "nobody: all teams are here"),
            ("Connected, but silent", ", ".join(hanging) or "none"),
        ]
    stalled = [team.name for team in health.teams if team.stalled]
    slow = max(health.teams, key=lambda team: team.move_ms or 0.0, default=None)
    if stalled:
        facts.append(("Stalled", ", ".join(stalled)))
    if slow is not None and slow.move_ms:
        facts.append(("Slowest team", f"{slow.name}, {Seen.seconds(slow.move_ms)} a move"))
    # 0: it is not counted yet
    low = ": make room in time" if 0 < health.disk_free < DISK_LOW_BYTES else ""
    incidents = ", ".join(f"{code} {count}" for code, count in sorted(health.incidents.items()))
    facts += [
        ("Questions", f"{health.questions} without an answer"),
        ("Incidents", incidents or "none"),
        ("Spectators", "results are hidden from them" if whole.frozen_at is not None else "see all results"),
        ("Page", f"{health.connections} connections, {health.followers} that follow"),
        *([("Certificate", health.certificate_problem)] if health.certificate_problem else []),
        ("Free disk", f"{health.disk_free / 1e9:.1f} GB{low}"),
    ]
    return facts
