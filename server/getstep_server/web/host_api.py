"""The part of the HTTP API with which a program of the host decides: a bearer key instead of a session.

The bodies are the requests of the commands and of the console (`decisions.requests`), and go the same way.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, TypeVar, cast

import msgspec
import trio
from msgspec import Struct

from getstep_server.api.answers import (
    HostHealth,
    HostLink,
    HostMessage,
    HostMessages,
    HostStart,
    HostStartAt,
    HostTeamToken,
)
from getstep_server.decisions import making, messages, starting
from getstep_server.decisions.making import Made
from getstep_server.decisions.preview import Preview
from getstep_server.decisions.requests import AnyRequest
from getstep_server.errors import ConfigError, UsageError
from getstep_server.records.record import RecordError
from getstep_server.storage.database import DatabaseError, StoreError

from .api_routes import Parameter, Query, Refused, Route, query_of, refusal, route_of
from .host_access import HostAccess, HostRefused
from .host_state import HostState
from .http import JSON, AnyResponse, Request, Response
from .sign_up import join_path
from .topics import encode

T = TypeVar("T")


class HostMade(Struct, frozen=True, kw_only=True):
    """A decision: what it changes, as data and in words. ``seen`` is for `decide`; ``teams`` have new tokens.
    ``links`` are new ones to sign up.

    ``begun`` is false before the first record: then teams.toml alone has changed. Only a preview compares tables.
    """

    summary: str
    lines: list[str]
    preview: Preview
    begun: bool
    seen: int | None
    teams: list[HostTeamToken]
    links: list[HostLink]


class HostApi:
    """Answers requests for the addresses of `HOST_ROUTES`.

    Args:
        state: of the contest.
        access: knows the key.
        health: returns the state as it is now.
    """

    def __init__(self, state: HostState, access: HostAccess, health: Callable[[], HostHealth]) -> None:
        self._state = state
        self._access = access
        self._health = health
        self._deciding = trio.CapacityLimiter(1)  # each decision reads the records: one at a time

    async def __call__(self, request: Request) -> AnyResponse:
        """Answer a request for an address below ``/api/v1/host``."""
        try:
            route = route_of(HOST_ROUTES, request)
            self._access.check_place(request)
            await self._access.check_key(request)
            answer = await self._answer(route, request)
        except HostRefused as refused:
            asked = (("WWW-Authenticate", "Bearer"),) if refused.status == 401 else ()
            return refusal(refused.status, str(refused), *asked)
        except Refused as refused:
            return refusal(refused.status, str(refused), *refused.headers)
        except msgspec.DecodeError as error:
            return refusal(400, str(error))
        except UsageError as error:
            return refusal(409, str(error))
        except (ConfigError, StoreError, DatabaseError, RecordError) as error:
            return refusal(503, str(error))
        return Response(encode(answer), JSON)

    async def _answer(self, route: Route, request: Request) -> Struct:
        query = query_of(route, request)
        body = None if route.body is None else msgspec.json.decode(request.body, type=route.body)
        return await cast("Awaitable[Struct]", route.view(self, query, body))

    # --- views ---

    async def preview(self, _: Query, asked: Any) -> HostMade:
        return _answer_of(await self._in_thread(partial(making.preview, self._state.folder, asked)), teams=False)

    async def decide(self, query: Query, asked: Any) -> HostMade:
        seen = int(query["seen"]) if "seen" in query else None
        made = await self._in_thread(partial(making.decide, self._state.folder, asked, seen=seen))
        await self._state.caught_up(made.after.place)
        return _answer_of(made, teams=True)

    async def messages(self, _: Query, message: HostMessage) -> HostMessages:
        folder = self._state.folder
        if message.question is None:
            put = partial(messages.announce, folder, message.text, message.by)
        else:
            put = partial(
                messages.answer, folder, message.question, message.text, message.by, to_all=message.to_all
            )
        after = await self._in_thread(put)
        await self._state.caught_up(after.place)
        return HostMessages(unanswered=after.messages.unanswered)

    async def start(self, _: Query, asked: HostStart) -> HostStartAt:
        at = await self._in_thread(partial(starting.start, self._state.folder, asked.by, asked.at))
        return HostStartAt(at=None if at is None else round(1000 * at.timestamp()))

    async def health(self, _: Query, __: None) -> HostHealth:
        await self._state.refresh()
        return self._health()

    async def _in_thread(self, function: Callable[[], T]) -> T:
        return await trio.to_thread.run_sync(function, limiter=self._deciding)


def _answer_of(made: Made, *, teams: bool) -> HostMade:
    """Return the answer; the tokens of a preview are not those of the decision, so it has none."""
    return HostMade(
        summary=made.preview.summary("On record" if teams else "Would be on record"),
        lines=[line.strip() for line in made.preview.lines(made.after.contest)],
        preview=made.preview,
        begun=made.begun,
        seen=made.preview.place if made.begun else None,
        teams=[HostTeamToken(id=one.id, name=one.name, token=one.token) for one in made.teams] if teams else [],
        links=[HostLink(invitation=one, path=join_path(key)) for one, key in made.keys.items()] if teams else [],
    )


_SEEN = Parameter(
    "seen",
    "the seen of a preview: what has come since then and concerns the decision is a refusal",
    {"type": "integer", "minimum": 0, "maximum": 10**9},
)
_HOST = "/api/v1/host"

HOST_ROUTES = (
    Route(f"{_HOST}/health", HostHealth, "Running matches, teams, health.", HostApi.health),
    Route(
        f"{_HOST}/preview",
        HostMade,
        "What a decision would change.",
        HostApi.preview,
        method="POST",
        body=AnyRequest,
    ),
    Route(
        f"{_HOST}/decide",
        HostMade,
        "Put a decision on record.",
        HostApi.decide,
        (_SEEN,),
        method="POST",
        body=AnyRequest,
    ),
    Route(
        f"{_HOST}/messages",
        HostMessages,
        "Announce something, or answer a question.",
        HostApi.messages,
        method="POST",
        body=HostMessage,
    ),
    Route(
        f"{_HOST}/start",
        HostStartAt,
        "Let a server that waits for teams start.",
        HostApi.start,
        method="POST",
        body=HostStart,
    ),
)
"""The addresses of version 1 for the host. They need the host's key, and answer where the console does."""
