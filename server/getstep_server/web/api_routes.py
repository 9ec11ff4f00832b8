"""The addresses of the HTTP API: the table from which it is served, described, documented and checked."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from http import HTTPStatus
from typing import Any, TypeAlias, TypeVar

import trio
from msgspec import Struct

from getstep.replay import replay_data
from getstep_engines import GAMES
from getstep_server.api.answers import (
    CombinedStandings,
    ContestNow,
    Crosstable,
    EventAnswer,
    EventBracket,
    EventParts,
    EventRatings,
    EventStandings,
    FeedBatch,
    MatchDetails,
    MatchPageAnswer,
    MatchParts,
    MessagesAnswer,
    NoticesParts,
    OverviewParts,
    Problem,
    ReplayAnswer,
    RevealParts,
    TeamDetails,
    TeamPageAnswer,
    TeamParts,
    TurnPageAnswer,
)
from getstep_server.api.build import (
    combined_standings,
    contest_answer,
    crosstable,
    event_answer,
    event_bracket,
    event_ratings,
    event_standings,
    team_totals,
)
from getstep_server.api.visibility import VisibleGame
from getstep_server.config.event import ContestEvent
from getstep_server.limits import API_PAGE_ITEMS, API_SCANNED_MATCHES
from getstep_server.records.lost import is_archived
from getstep_server.records.record import parse
from getstep_server.reports.notation import ARCHIVED
from getstep_server.reports.replays import match_replays
from getstep_server.storage.store import Store

from .details import match_details, team_answer, turn_answer
from .event_log import EventLog, Position, position_of
from .feed import Feed
from .http import EVENTS, JSON, PROBLEM, AnyResponse, EventStream, Request, Response, Send, packed
from .parts import freeze_answer, notices_answer, progress_answer
from .tables import PageTables
from .topics import Crowd, Topics, encode

T = TypeVar("T")
Query: TypeAlias = Mapping[str, str]
"""The parameters of a query that were given, each as its parameter reads it."""

NDJSON = "application/x-ndjson"
VERSION = "1.1"
"""Its first number is in the addresses; the second one grows when something is added."""

OPEN = (
    ("Access-Control-Allow-Origin", "*"),  # all of it is public: pages of others may read it
    ("Access-Control-Expose-Headers", "ETag"),
)
CACHED = (*OPEN, ("Cache-Control", "no-cache"))

Built: TypeAlias = Struct | AnyResponse
"""What a view returns: an answer, or a response that is none."""


class Refused(Exception):  # noqa: N818 - the client's mistake, or nothing wrong at all
    """Raised by a view that cannot answer, with the status and the reason."""

    def __init__(self, status: int, detail: str, *headers: tuple[str, str]) -> None:
        super().__init__(detail)
        self.status = status
        self.headers = headers


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter in a query: its name, what it is, its JSON Schema, and the reader of its text."""

    name: str
    about: str
    schema: Mapping[str, Any]

    def read(self, text: str) -> str:
        """Return the text, if it is one that the schema allows.

        Raises:
            Refused: it is not.
        """
        allowed = self.schema.get("enum")
        pattern = self.schema.get("pattern") or (
            r"[0-9]{1,10}" if self.schema["type"] == "integer" else r".{0,8192}"
        )
        if allowed is not None and text not in allowed:
            raise Refused(400, f"{self.name} is {text!r:.80}; expected one of: {', '.join(allowed)}")
        if not re.fullmatch(pattern, text):
            raise Refused(400, f"{self.name} is {text!r:.80}; expected {self.about}")
        if self.schema["type"] == "integer":
            low, high = self.schema.get("minimum", 0), self.schema.get("maximum", 2**33)
            if not low <= int(text) <= high:
                raise Refused(400, f"{self.name} is {text}; expected a number from {low} to {high}")
        return text


@dataclass(frozen=True, slots=True)
class Route:
    """An address: its method, what it answers with, what for, and the function that does it.

    ``media`` are the types that it can have: the first one, unless the request asks for another. ``body`` is the
    type of the JSON that it takes.
    """

    path: str
    answer: type[Struct]
    about: str
    view: Callable[..., Built | Awaitable[Built]]
    parameters: Sequence[Parameter] = ()
    method: str = "GET"
    media: Sequence[str] = (JSON,)
    body: Any = None

    @property
    def pattern(self) -> re.Pattern[str]:
        return _pattern(self.path)

    @property
    def names(self) -> list[str]:
        """The names of the parameters in the path."""
        return re.findall(r"\{(\w+)\}", self.path)


@cache
def _pattern(path: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\{\w+\}", "([0-9]{1,10})", re.escape(path).replace(r"\{", "{").replace(r"\}", "}")))


class Api:
    """Answers requests for the addresses of `ROUTES`.

    Args:
        feed: the contest.
        tables: returns the current tables.
        topics: of the pages.
        from_host: returns True for a request from the host's own browser.
    """

    def __init__(
        self,
        feed: Feed,
        tables: Callable[[], PageTables],
        topics: Topics,
        from_host: Callable[[Request], Awaitable[bool]],
    ) -> None:
        self.feed = feed
        self.tables = tables
        self.topics = topics
        self._from_host = from_host
        self.log = EventLog(feed)
        self.readers = Crowd(feed.contest.file.quotas.page_followers_per_address)
        self._threads = trio.CapacityLimiter(1)  # a match of 400 turns takes 20 ms to read: one request at a time

    async def __call__(self, request: Request) -> AnyResponse:
        """Answer a request for an address below ``/api/v1``."""
        try:
            built = await self._built(route_of(ROUTES, request), request)
        except Refused as refused:
            return refusal(refused.status, str(refused), *OPEN, *refused.headers)
        return Response(encode(built), JSON, headers=CACHED) if isinstance(built, Struct) else built

    async def _built(self, route: Route, request: Request) -> Built:
        match = route.pattern.fullmatch(request.path)
        numbers = map(int, match.groups() if match else ())
        answer = route.view(self, request, query_of(route, request), *numbers)
        return await answer if isinstance(answer, Awaitable) else answer

    # --- the contest ---

    def contest(self, _: Request, __: Query) -> ContestNow:
        now = contest_answer(self.feed.tournament)
        return ContestNow(
            **{name: getattr(now, name) for name in now.__struct_fields__},
            version=VERSION,
            progress=progress_answer(self.feed, self.tables()),
            freeze=freeze_answer(self.feed),
        )

    def messages(self, _: Request, __: Query) -> MessagesAnswer:
        now = notices_answer(self.feed, API_PAGE_ITEMS)
        return MessagesAnswer(messages=now.messages, paused=now.paused)

    async def standings(self, _: Request, __: Query) -> CombinedStandings:
        return await self._in_thread(partial(combined_standings, self.feed.tournament))

    def event(self, _: Request, __: Query, number: int) -> EventAnswer:
        return event_answer(self.feed.tournament, self._event(number))

    async def event_standings(self, _: Request, __: Query, number: int) -> EventStandings:
        return await self._in_thread(partial(event_standings, self.feed.tournament, self._event(number)))

    async def event_crosstable(self, _: Request, __: Query, number: int) -> Crosstable:
        return await self._in_thread(partial(crosstable, self.feed.tournament, self._event(number)))

    async def event_bracket(self, _: Request, __: Query, number: int) -> EventBracket:
        return await self._in_thread(partial(event_bracket, self.feed.tournament, self._event(number)))

    async def event_ratings(self, _: Request, __: Query, number: int) -> EventRatings:
        found = await self._in_thread(partial(event_ratings, self.feed.tournament, self._event(number)))
        if found is None:
            raise Refused(404, "the event has too many teams; getstep-server ratings computes their ratings")
        return found

    def _event(self, number: int) -> ContestEvent:
        if not 1 <= number <= len(self.feed.contest.events):
            raise Refused(404, f"there is no event {number}")
        return self.feed.contest.event(number)

    # --- teams ---

    def teams(self, _: Request, query: Query) -> TeamPageAnswer:
        contest = self.feed.contest
        ids = self._event(int(query["event"])).teams if "event" in query else contest.teams
        rest = sorted(team for team in ids if team > int(query.get("cursor", 0)))
        page = rest[: _limit(query)]
        return TeamPageAnswer(
            items=[team_answer(self.feed, self.tables(), team) for team in page],
            next=str(page[-1]) if len(page) < len(rest) else None,
        )

    def team(self, _: Request, __: Query, team: int) -> TeamDetails:
        tournament = self.feed.tournament
        if team not in tournament.contest.teams and team not in tournament.contest.former_names:
            raise Refused(404, f"there is no team {team}")
        seen = team_answer(self.feed, self.tables(), team)
        own = [result for result in tournament.results if team in result.match.teams]
        fields = {name: getattr(seen, name) for name in seen.__struct_fields__}
        return TeamDetails(**fields, totals=team_totals(own, team))

    # --- matches ---

    def matches(self, _: Request, query: Query) -> MatchPageAnswer:
        known = self.feed.tournament.matches
        event, team = (int(query[name]) if name in query else None for name in ("event", "team"))
        first, last = int(query.get("cursor", 0)) + 1, next(reversed(known), 0)
        scanned, items = first - 1, list[MatchDetails]()
        for scanned in range(first, min(last, first + API_SCANNED_MATCHES - 1) + 1):
            match = known.get(scanned)
            if match is None or event not in (None, match.event) or (team is not None and team not in match.teams):
                continue
            details = match_details(self.feed, match)
            if query.get("state", details.state) == details.state:
                items.append(details)
                if len(items) == _limit(query):
                    break
        return MatchPageAnswer(items=items, next=str(scanned) if scanned < last else None)

    def match(self, _: Request, __: Query, number: int) -> MatchDetails:
        if number not in self.feed.tournament.matches:
            raise Refused(404, f"there is no match {number}")
        return match_details(self.feed, self.feed.tournament.matches[number])

    async def turns(self, _: Request, query: Query, number: int) -> TurnPageAnswer:
        self.match(_, query, number)
        first, live = int(query.get("cursor", 0)), None if self.feed.frozen else self.feed.live.find(number)
        last = first + _limit(query)
        if live is not None:
            attempt, count, game = live.attempt, live.played, live.state.game.name
            turns = list(live.turns_from(first, last))
        else:
            attempt, count, game, turns = await self._in_thread(partial(self._recorded, number, first, last))
        rules = GAMES.get(game)
        items = [turn_answer(rules, n, turn, with_move=True) for n, turn in enumerate(turns, start=first + 1)]
        return TurnPageAnswer(match=number, attempt=attempt, items=items, next=str(last) if last < count else None)

    def _recorded(self, number: int, first: int, last: int) -> tuple[int, int, str, list[Mapping[str, Any]]]:
        """Return the latest attempt that spectators may see, the number of its turns, its game and some turns."""
        store, frozen_at = self._store(), self.feed.whole.frozen_at
        seen = [record for record in store.records(number) if frozen_at is None or record.place <= frozen_at]
        if not seen:
            raise Refused(404, "nothing of this match was played, or its result is hidden")
        fields = parse(seen[-1].line)
        if is_archived(fields):
            raise Refused(410, f"the turns of this match were {ARCHIVED}")
        return fields["attempt"], len(fields["turns"]), fields["game"], fields["turns"][first:last]

    async def replay(self, request: Request, query: Query, number: int) -> Response:
        """Return the data of a match's replay: all attempts at it, as far as the reader may see them."""
        self.match(request, query, number)
        host = await self._from_host(request)
        store, tournament = self._store(), self.feed.tournament
        running = None if self.feed.frozen else self.feed.contest.running
        last = self.feed.whole.frozen_at

        def read() -> Response:
            seen = VisibleGame(tournament, host=host)
            replays = match_replays(store, number, running, tournament, seen, last)
            if not replays:
                raise Refused(404, "nothing of this match was played, or its result is hidden")
            # What only the host may see is neither kept by a browser nor open to pages of others.
            headers = (("Cache-Control", "no-store"),) if host else CACHED
            return Response(encode(replay_data(replays, title=f"match {number}")), JSON, headers=headers)

        return await self._in_thread(read)

    def _store(self) -> Store:
        if self.feed.store is None:
            raise Refused(404, "nothing was played yet")
        return self.feed.store

    async def _in_thread(self, function: Callable[[], T]) -> T:
        return await trio.to_thread.run_sync(function, limiter=self._threads)

    # --- pages and the feed ---

    def page(self, request: Request, _: Query, *__: int) -> AnyResponse:
        """Return the topic of a page, or its changes as they come."""
        name = request.path.removeprefix("/api/v1/pages/")
        streams = EVENTS in request.headers.get("accept", "")
        if streams and self.topics.crowd.is_full(request.address):
            raise Refused(503, "too many pages follow the contest, in all or from your address; close some")
        topic = self.topics.get(name)
        if topic is None:
            raise Refused(404, "there is no such page")
        if not streams:
            return Response(topic.snapshot(), JSON, headers=(*OPEN, ("Cache-Control", "no-store")))
        follow = partial(self.topics.follow, topic, request.address, is_packed=request.takes_gzip)
        return EventStream(follow, headers=OPEN, is_packed=request.takes_gzip)

    async def events(self, request: Request, query: Query) -> AnyResponse:
        """Return what has happened since a token, and go on unless the query says no."""
        with_turns, sse = query.get("turns") == "true", EVENTS in request.headers.get("accept", "")
        token = request.headers.get("last-event-id") or query.get("after")
        start = self.log.now(with_turns=with_turns) if token is None else position_of(token)
        if start is None:
            raise Refused(400, f"after is {token!r:.80}; expected the token of a batch, or 0 for the beginning")
        if not self.log.is_known(start):
            raise Refused(410, "the contest has fewer records than that: begin again without a token")
        if query.get("follow") == "false":
            return await self._some(start, with_turns=with_turns)
        if self.readers.is_full(request.address):
            raise Refused(503, "too many readers, in all or from your address; close some, or try again later")
        follow = partial(self._follow, request, start, with_turns, sse)
        return EventStream(follow, EVENTS if sse else NDJSON, OPEN, request.takes_gzip)

    async def _some(self, start: Position, *, with_turns: bool) -> Response:
        batch = await self.log.next(start, with_turns=with_turns)
        text = b"" if batch is None or not batch.text else batch.text + b"\n"
        return Response(text, NDJSON, headers=(*OPEN, ("Cache-Control", "no-store")))

    async def _follow(self, request: Request, start: Position, with_turns: bool, sse: bool, send: Send) -> None:
        async def send_packed(data: bytes) -> None:
            await send(packed(data))

        with self.readers.member(request.address):
            sender = send_packed if request.takes_gzip else send
            await self.log.follow(start, with_turns=with_turns, sse=sse, send=sender)


def _limit(query: Query) -> int:
    return int(query.get("limit", API_PAGE_ITEMS))


def route_of(routes: Sequence[Route], request: Request) -> Route:
    """Return the one of these routes that a request asks for.

    Raises:
        Refused: there is none.
    """
    method = "GET" if request.method == "HEAD" else request.method
    found = {route.method: route for route in routes if route.pattern.fullmatch(request.path)}
    if not found:
        raise Refused(404, "there is no such address; /api has all of them")
    if method not in found:
        allowed = ", ".join(found)
        raise Refused(405, f"this address takes {allowed}", ("Allow", allowed))
    return found[method]


def query_of(route: Route, request: Request) -> Query:
    """Return the parameters of a request.

    Raises:
        Refused: one is unknown, or not what it should be.
    """
    known = {parameter.name: parameter for parameter in route.parameters}
    if unknown := sorted(request.query.keys() - known.keys()):
        listed = ", ".join(known) or "none"
        raise Refused(400, f"there is no parameter {unknown[0]!r:.80} here; this address knows: {listed}")
    return {name: known[name].read(text) for name, text in request.query.items()}


def refusal(status: int, detail: str, *headers: tuple[str, str]) -> Response:
    """Return a refusal as RFC 9457 has it."""
    answer = Problem(title=HTTPStatus(status).phrase, status=status, detail=detail)
    return Response(encode(answer), PROBLEM, status, headers)


# --- the table --------------------------------------------------------------------------------------------------

_LIMIT = Parameter(
    "limit",
    f"the most items of a page; {API_PAGE_ITEMS} without it",
    {"type": "integer", "minimum": 1, "maximum": API_PAGE_ITEMS},
)
_CURSOR = Parameter("cursor", "the next of the page before", {"type": "string", "pattern": "^[0-9]{1,10}$"})
_EVENT = Parameter("event", "the number of an event", {"type": "integer", "minimum": 1, "maximum": 10**9})
_TEAM = Parameter("team", "the id of a team", {"type": "integer", "minimum": 0, "maximum": 2**32})
_STATES = ["waiting", "playing", "interrupted", "over", "cancelled", "hidden"]
_STATE = Parameter("state", "the state of a match", {"type": "string", "enum": _STATES})
_AFTER = Parameter(
    "after",
    "the token of a batch, or 0 for the beginning; without it, the feed begins now",
    {"type": "string", "pattern": r"^[0-9.-]{1,8192}$"},
)
_TURNS = Parameter("turns", "true: each turn, too", {"type": "string", "enum": ["true", "false"]})
_FOLLOW = Parameter(
    "follow", "false: what there is now, at most one batch", {"type": "string", "enum": ["true", "false"]}
)
_BOTH = (JSON, EVENTS)

ROUTES = (
    Route("/api/v1/contest", ContestNow, "The contest, and how far it is.", Api.contest),
    Route("/api/v1/messages", MessagesAnswer, "The host's latest messages to all, and pauses.", Api.messages),
    Route("/api/v1/standings", CombinedStandings, "The table of all events.", Api.standings),
    Route("/api/v1/events/{event}", EventAnswer, "An event.", Api.event),
    Route("/api/v1/events/{event}/standings", EventStandings, "The standings of an event.", Api.event_standings),
    Route("/api/v1/events/{event}/crosstable", Crosstable, "The crosstable of an event.", Api.event_crosstable),
    Route("/api/v1/events/{event}/ratings", EventRatings, "The Elo ratings in an event.", Api.event_ratings),
    Route("/api/v1/events/{event}/bracket", EventBracket, "The bracket, or the ladder.", Api.event_bracket),
    Route("/api/v1/teams", TeamPageAnswer, "The teams, by id.", Api.teams, (_EVENT, _LIMIT, _CURSOR)),
    Route("/api/v1/teams/{team}", TeamDetails, "A team, and its matches counted.", Api.team),
    Route(
        "/api/v1/matches",
        MatchPageAnswer,
        "The matches, by number. A page may have fewer items than the limit: go on until next is null.",
        Api.matches,
        (_EVENT, _TEAM, _STATE, _LIMIT, _CURSOR),
    ),
    Route("/api/v1/matches/{match}", MatchDetails, "A match, and its result.", Api.match),
    Route(
        "/api/v1/matches/{match}/turns",
        TurnPageAnswer,
        "The turns of the latest attempt at a match, also while it is played.",
        Api.turns,
        (_LIMIT, _CURSOR),
    ),
    Route("/api/v1/matches/{match}/replay", ReplayAnswer, "All attempts at a match, with boards.", Api.replay),
    Route(
        "/api/v1/feed",
        FeedBatch,
        "What happens, as NDJSON or as server-sent events: a batch for each line or event. A reader goes on with"
        " the token of its last batch, in `after` or in the header Last-Event-ID.",
        Api.events,
        (_AFTER, _TURNS, _FOLLOW),
        media=(NDJSON, EVENTS),
    ),
    Route(
        "/api/v1/pages/notices",
        NoticesParts,
        "Messages and pauses, at the top of each page.",
        Api.page,
        media=_BOTH,
    ),
    Route("/api/v1/pages/overview", OverviewParts, "The first page and the wall.", Api.page, media=_BOTH),
    Route("/api/v1/pages/reveal", RevealParts, "The page of the reveal.", Api.page, media=_BOTH),
    Route("/api/v1/pages/match/{match}", MatchParts, "The page of a match.", Api.page, media=_BOTH),
    Route("/api/v1/pages/team/{team}", TeamParts, "The page of a team.", Api.page, media=_BOTH),
    Route("/api/v1/pages/event/{event}", EventParts, "The page of an event.", Api.page, media=_BOTH),
)
"""All addresses of version 1. A page's answer as server-sent events has the parts that changed, and ``now``."""
