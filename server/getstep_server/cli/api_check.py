"""The command `api-check`: tests the HTTP API of a running page against its description."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode, urlsplit
from urllib.request import Request, urlopen

import msgspec

from getstep_server.api.answers import FeedBatch, MatchPageAnswer, Played, Problem, TeamPageAnswer
from getstep_server.errors import UsageError
from getstep_server.text import escape_control_chars, pluralize
from getstep_server.web.api_routes import ROUTES, VERSION, Route
from getstep_server.web.host_api import HOST_ROUTES
from getstep_server.web.http import PROBLEM

from ._parser import EXIT_FAILED, EXIT_OK

SECONDS = 10.0
"""The time for one answer."""

MOST_BYTES = 1 << 25
"""The bytes of an answer that are read: a replay of a long match takes 1 MB."""

SAMPLES = 5
"""The matches, teams and events that are asked for one by one."""

BATCHES = 50
"""The batches of the feed that are read."""

_DESCRIPTION = """\
Test the HTTP API of a running page: each address against the type of its
answer, lists in pages of any size, ETags, refusals, and the feed from its
tokens. The addresses for the host are asked without a key, and must refuse. It
only reads, and asks some hundred times.

examples:
  getstep-server api-check http://lab-pc:8080
  getstep-server api-check http://127.0.0.1:8080 --passed   # also what passed

exit codes:
  0  the API is as described
  1  a check failed
  2  a wrong command line, or there is no page at this address
"""


def add_api_check(parser: argparse.ArgumentParser) -> None:
    parser.description = _DESCRIPTION
    parser.add_argument("url", metavar="URL", help="the address of the page, such as http://lab-pc:8080")
    parser.add_argument("--passed", action="store_true", help="print the checks that passed, too")
    parser.set_defaults(command=_api_check)


def _api_check(args: argparse.Namespace) -> int:
    url = urlsplit(args.url)
    if url.scheme not in ("http", "https") or not url.netloc:
        raise UsageError(f"{args.url!r:.200}: expected the address of a page, such as http://lab-pc:8080")
    checks = list(ApiCheck(f"{url.scheme}://{url.netloc}").run())
    for check in checks:
        if args.passed or check.wrong:
            outcome = f"FAILED: {check.wrong}" if check.wrong else "ok"
            print(escape_control_chars(f"{check.name}: {outcome}"))
    failed = sum(bool(check.wrong) for check in checks)
    print(f"{pluralize(len(checks), 'check')}, {failed} failed.")
    return EXIT_FAILED if failed else EXIT_OK


@dataclass(frozen=True, slots=True)
class Check:
    """A check that was made: its name, and what is wrong; "" if nothing is."""

    name: str
    wrong: str = ""


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes


class ApiCheck:
    """The checks of one page.

    Args:
        base: the address of the page, without a path.
    """

    def __init__(self, base: str) -> None:
        self._base = base

    def run(self) -> Iterator[Check]:
        """Make all checks.

        Raises:
            UsageError: there is no page at this address.
        """
        yield self._description()
        for name, kind in (("teams", TeamPageAnswer), ("matches", MatchPageAnswer)):
            yield self._list(name, kind)
        for route in ROUTES:
            if route.answer is FeedBatch:
                yield from self._feed(route)
            else:
                yield from self._resource(route)
        yield from self._refusals()
        yield from self._closed()

    # --- the checks ---

    def _description(self) -> Check:
        name, answer = "GET /api/openapi.json", self._ask("/api/openapi.json")
        if answer.status != 200:
            return Check(name, f"status {answer.status}; this page is of a version without the API")
        described = json.loads(answer.body)
        missing = {route.path for route in (*ROUTES, *HOST_ROUTES)} - set(described.get("paths", {}))
        if described.get("info", {}).get("version", "").partition(".")[0] != VERSION.partition(".")[0]:
            return Check(name, f"version {described.get('info')!r:.80}, expected {VERSION}")
        return Check(name, f"it does not have {', '.join(sorted(missing))}" if missing else "")

    def _list(self, name: str, kind: type[TeamPageAnswer | MatchPageAnswer]) -> Check:
        path, title = f"/api/v1/{name}", f"GET /api/v1/{name} in pages of 3 and 200"
        found: dict[str, list[Any]] = {}
        for limit in ("3", "200"):
            items, cursor = found.setdefault(limit, []), "0"
            for _ in range(SAMPLES * 4):
                answer = self._ask(path, {"limit": limit, "cursor": cursor})
                if answer.status != 200:
                    return Check(title, f"status {answer.status}")
                page = _decoded(answer.body, kind)
                if isinstance(page, str):
                    return Check(title, page)
                keys = [getattr(item, "match", None) or getattr(item, "id", None) for item in page.items]
                items += keys
                if page.next is None:
                    break
                cursor = page.next
        short = found["3"]
        if short != found["200"][: len(short)]:
            return Check(title, f"{short!r:.80}, and {found['200']!r:.80}: expected the same items")
        return Check(title)

    def _resource(self, route: Route) -> Iterator[Check]:
        for path in self._paths(route):
            answer, name = self._ask(path), f"GET {path}"
            if answer.status == 404 and route.path.endswith(("/turns", "/replay", "/ratings")):
                yield Check(name, _problem(answer, 404))  # nothing was played, or it is hidden
                continue
            yield Check(name, self._wrong_answer(answer, route, path))

    def _wrong_answer(self, answer: _Answer, route: Route, path: str) -> str:
        if answer.status != 200:
            return f"status {answer.status}, expected 200"
        if not answer.headers.get("content-type", "").startswith(route.media[0]):
            return f"Content-Type {answer.headers.get('content-type')!r}, expected {route.media[0]}"
        if answer.headers.get("access-control-allow-origin") != "*":
            return "no Access-Control-Allow-Origin: another page's script may not read it"
        body = json.loads(answer.body)
        if "/pages/" in path:
            body.pop("now", None)
        try:
            msgspec.convert(body, route.answer, strict=True)
        except msgspec.ValidationError as error:
            return str(error)
        if "/pages/" in path:
            return ""
        tag = answer.headers.get("etag")
        if tag is None:
            return "no ETag"
        again = self._ask(path, headers={"If-None-Match": tag})
        # the contest may have gone on in between
        if again.status != 304 and again.headers.get("etag") == tag:
            return f"status {again.status} for If-None-Match {tag}, expected 304"
        return "a body with status 304" if again.status == 304 and again.body else ""

    def _paths(self, route: Route) -> list[str]:
        """Return the address, once for each of some things that it may name."""
        if not route.names:
            return [route.path]
        (name,) = route.names
        return [route.path.format(**{name: number}) for number in self._known(name)]

    def _known(self, name: str) -> list[int]:
        if name == "event":
            contest = json.loads(self._ask("/api/v1/contest").body)
            return [event["number"] for event in contest["events"]][:SAMPLES]
        key = {"team": "id", "match": "match"}[name]
        path = {"team": "/api/v1/teams", "match": "/api/v1/matches"}[name]
        return [item[key] for item in json.loads(self._ask(path, {"limit": str(SAMPLES)}).body)["items"]]

    def _feed(self, route: Route) -> Iterator[Check]:
        for turns in ("false", "true"):
            name = f"GET {route.path}, from the beginning, turns={turns}"
            token, batches = "0", list[FeedBatch]()
            wrong = ""
            while len(batches) < BATCHES and not wrong:
                answer = self._ask(route.path, {"after": token, "turns": turns, "follow": "false"})
                if answer.status != 200 or not answer.body.strip():
                    wrong = "" if answer.status == 200 else f"status {answer.status}"
                    break
                batch = _decoded(answer.body, FeedBatch)
                if isinstance(batch, str):
                    wrong = batch
                elif not batch.events or batch.token == token:
                    wrong = f"a batch without events, or with the token before it: {token!r:.80}"
                else:
                    batches.append(batch)
                    token = batch.token
            yield Check(name, wrong or _told_twice(batches))

    def _refusals(self) -> Iterator[Check]:
        for path, query, status in (
            ("/api/v1/nothing", {}, 404),
            ("/api/v1/events/999999", {}, 404),
            ("/api/v1/matches", {"limit": "0"}, 400),
            ("/api/v1/matches", {"colour": "red"}, 400),
            ("/api/v1/feed", {"after": "x"}, 400),
        ):
            yield Check(f"GET {path} {query or ''}".rstrip(), _problem(self._ask(path, query), status))
        head = self._ask("/api/v1/contest", method="HEAD")
        yield Check(
            "HEAD /api/v1/contest", "" if (head.status, head.body) == (200, b"") else f"status {head.status}"
        )
        yield Check("POST /api/v1/contest", _problem(self._ask("/api/v1/contest", method="POST"), 405))

    def _closed(self) -> Iterator[Check]:
        """Check that no address for the host answers without its key."""
        for route in HOST_ROUTES:
            answer = self._ask(route.path, method=route.method)
            # 403: the console answers another computer than this one, or nowhere
            wrong = _problem(answer, 403 if answer.status == 403 else 401)
            yield Check(f"{route.method} {route.path}, without a key", wrong)

    # --- requests ---

    def _ask(
        self,
        path: str,
        query: Mapping[str, str] | None = None,
        *,
        method: str = "GET",
        headers: Mapping[str, str] | None = None,
    ) -> _Answer:
        url = f"{self._base}{path}{'?' + urlencode(query) if query else ''}"
        request = Request(url, method=method, headers=dict(headers or {}))  # noqa: S310 - http or https: see `_api_check`
        try:
            with urlopen(request, timeout=SECONDS) as answer:  # noqa: S310 - as above
                return _Answer(answer.status, _lower(answer.headers), answer.read(MOST_BYTES))
        except HTTPError as error:
            with error:
                return _Answer(error.code, _lower(error.headers), error.read(MOST_BYTES))
        except (URLError, HTTPException, OSError) as error:
            raise UsageError(f"{url}: {error}; expected the address of a page that runs") from error


def _lower(headers: Any) -> dict[str, str]:
    return {str(name).lower(): str(value) for name, value in headers.items()}


def _decoded(body: bytes, kind: type[Any]) -> Any:
    """Return an answer, or what is wrong with it."""
    try:
        return msgspec.json.decode(body, type=kind, strict=True)
    except msgspec.DecodeError as error:
        return str(error)


def _problem(answer: _Answer, status: int) -> str:
    """Return what is wrong with a refusal that should have this status."""
    if answer.status != status:
        return f"status {answer.status}, expected {status}"
    if not answer.headers.get("content-type", "").startswith(PROBLEM):
        return f"Content-Type {answer.headers.get('content-type')!r}, expected {PROBLEM}"
    decoded = _decoded(answer.body, Problem)
    return decoded if isinstance(decoded, str) else "" if decoded.detail else "no detail"


def _told_twice(batches: list[FeedBatch]) -> str:
    """Return which turn was told twice, or before the one that precedes it."""
    latest: dict[tuple[int, int], int] = {}
    for event in (event for batch in batches for event in batch.events):
        if not isinstance(event, Played):
            continue
        key, number = (event.match, event.attempt), event.turn.n
        if number != latest.get(key, 0) + 1:
            return f"match {key[0]}, attempt {key[1]}: turn {number} after turn {latest.get(key, 0)}"
        latest[key] = number
    return ""
