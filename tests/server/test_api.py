"""The HTTP API: each address against its type, refusals, and the feed from any token."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
import trio
import trio.testing

from getstep_engines import GAMES
from getstep_server.api.answers import Answer, FeedBatch, Problem
from getstep_server.config.contest import Contest, load_contest
from getstep_server.records.game import MatchLog, game_header, record_of_game
from getstep_server.records.result import Result
from getstep_server.storage.journal_tail import TailedLine
from getstep_server.storage.store import Store
from getstep_server.web.api_routes import ROUTES
from getstep_server.web.event_log import Batch, EventLog, Position, position_of
from getstep_server.web.feed import Feed
from getstep_server.web.host_api import HOST_ROUTES
from getstep_server.web.http import EventStream, Request
from getstep_server.web.openapi import RECORDS, description
from getstep_server.web.topics import encode
from tests.old_contests.contests import unpack
from tests.support.patience import PATIENCE_SECONDS
from tests.support.random_results import make_up
from tests.support.site import Site, following

HOP = {"game": "hop", "settings": {"legs": 1}}
NAMES = ("Ada", "Blaise", "Charles", "Dorothy", "Edsger", "Frances")


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    """The contest that is over, whose teams have made every mistake."""
    folder = tmp_path / "finished"
    unpack("0.1.0-before-settings/finished", folder)
    async with trio.open_nursery() as nursery:
        yield await following(folder, nursery)
        nursery.cancel_scope.cancel()


async def ask(
    site: Site, path: str, query: dict[str, str] | None = None, method: str = "GET", **headers: str
) -> Any:
    head = {"host": "192.0.2.7:8080", **{name.replace("_", "-"): value for name, value in headers.items()}}
    return await site.app(Request(method, path, query or {}, head, b"", "192.0.2.8"))


async def get(site: Site, path: str, query: dict[str, str] | None = None) -> Any:
    answer = await ask(site, path, query)
    assert answer.status == 200, (path, answer.body)
    return json.loads(answer.body)


async def listed(site: Site, path: str, **query: str) -> list[Any]:
    """Return the items of all pages of a list."""
    items, cursor = [], None
    while True:
        page = await get(site, path, {**query, **({} if cursor is None else {"cursor": cursor})})
        items += page["items"]
        cursor = page["next"]
        if cursor is None:
            return items


# --- resources --------------------------------------------------------------------------------------------------


async def test_each_address_answers_with_its_type(site: Site) -> None:
    """The fields, their types and their order are those of the struct: none is missing, and there are no others."""
    for route in ROUTES:
        path = route.path.format(event=1, team=1, match=3)
        query = {"follow": "false", "after": "0"} if route.answer is FeedBatch else {}
        answer = await ask(site, path, query)
        assert answer.status == 200, (path, answer.body)
        fields = json.loads(answer.body)
        fields.pop("now", None)  # the clock of a page's snapshot
        decoded = msgspec.convert(fields, route.answer, strict=True)
        assert isinstance(decoded, Answer), path
        assert json.loads(encode(decoded)) == fields, path


async def test_the_description_has_each_address_and_a_schema_for_each_answer_and_record(site: Site) -> None:
    described = await get(site, "/api/openapi.json")
    assert {*described["paths"]} == {route.path for route in (*ROUTES, *HOST_ROUTES)}
    schemas = described["components"]["schemas"]
    assert {kind.__name__ for kind in RECORDS} | {route.answer.__name__ for route in ROUTES} <= schemas.keys()
    referred = set(re.findall(r"#/components/schemas/([^\"]+)", json.dumps(described)))
    assert referred <= schemas.keys()
    validator = pytest.importorskip("jsonschema").Draft202012Validator
    for route in (route for route in ROUTES if route.answer is not FeedBatch):
        answer = await get(site, route.path.format(event=1, team=1, match=3))
        wanted = {"$ref": f"#/components/schemas/{route.answer.__name__}", "components": described["components"]}
        assert [error.message for error in validator(wanted).iter_errors(answer)] == []


async def test_each_record_fits_one_of_the_schemas(site: Site) -> None:
    described, store = description(), site.app.feed.store
    validator = pytest.importorskip("jsonschema").Draft202012Validator
    refs = [{"$ref": f"#/components/schemas/{kind.__name__}"} for kind in RECORDS]
    check = validator({"anyOf": refs, "components": described["components"]})
    assert store is not None
    for record in store.records():
        assert [error.message for error in check.iter_errors(json.loads(record.line))] == []


def test_the_page_about_the_api_has_its_addresses() -> None:
    text = (Path(__file__).parents[2] / "docs" / "api.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(/api/v1/[^`]+)` \| (.*?) \| (.*?) ?\|$", text, re.MULTILINE)
    assert rows == [
        (route.path, route.about, ", ".join(f"`{one.name}`" for one in route.parameters))
        for route in (*ROUTES, *HOST_ROUTES)
    ]


async def test_the_lists_have_everything_once_in_pages_of_any_size(site: Site) -> None:
    tournament = site.app.feed.tournament
    teams = sorted(tournament.contest.teams)
    for limit in ("1", "7", "200"):
        assert [one["match"] for one in await listed(site, "/api/v1/matches", limit=limit)] == [*tournament.matches]
        assert [one["id"] for one in await listed(site, "/api/v1/teams", limit=limit)] == teams
    event, team = tournament.contest.events[0], 1
    found = await listed(site, "/api/v1/matches", event=str(event.number), team=str(team), state="over", limit="3")
    assert [one["match"] for one in found] == [
        match.number
        for match in tournament.matches.values()
        if match.event == event.number and team in match.teams and tournament.final_result(match) is not None
    ]
    assert found
    turns = await listed(site, f"/api/v1/matches/{found[0]['match']}/turns", limit="9")
    assert [turn["n"] for turn in turns] == [*range(1, len(turns) + 1)]
    assert len(turns) >= found[0]["result"]["turns"] > 9


async def test_a_request_looks_at_so_many_matches(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """A filter that few matches pass gets short pages."""
    assert await listed(site, "/api/v1/matches", state="waiting") == []
    many = dict.fromkeys(range(1, 5000), site.app.feed.tournament.matches[1])
    monkeypatch.setattr(site.app.feed.tournament, "matches", many)
    assert await get(site, "/api/v1/matches", {"event": "99"}) == {"items": [], "next": "2000"}


async def test_an_answer_that_the_client_has_is_not_sent_again(site: Site) -> None:
    first = await ask(site, "/api/v1/events/1/standings")
    headers = dict(first.headers)
    assert headers["Access-Control-Allow-Origin"] == "*"
    again = await ask(site, "/api/v1/events/1/standings", if_none_match=f'"other", W/{headers["ETag"]}')
    assert (again.status, again.body, dict(again.headers)["ETag"]) == (304, b"", headers["ETag"])
    assert (await ask(site, "/api/v1/events/1/standings", if_none_match='"other"')).status == 200


REFUSALS: list[tuple[str, dict[str, str], int, str]] = [
    ("/api/v1/nothing", {}, 404, "/api has all of them"),
    ("/api/v1/events/99", {}, 404, "there is no event 99"),
    ("/api/v1/teams/4000000000", {}, 404, "there is no team"),
    ("/api/v1/matches/9999/turns", {}, 404, "there is no match 9999"),
    ("/api/v1/matches", {"limit": "0"}, 400, "limit is 0; expected a number from 1 to 200"),
    ("/api/v1/matches", {"state": "lost"}, 400, "expected one of: waiting, playing"),
    ("/api/v1/matches", {"cursor": "x\n"}, 400, "cursor is"),
    ("/api/v1/matches", {"page": "2"}, 400, "this address knows: event, team, state, limit, cursor"),
    ("/api/v1/feed", {"after": "7.1"}, 400, "expected the token of a batch"),
    ("/api/v1/feed", {"after": "999999"}, 410, "begin again without a token"),
]


async def test_a_refusal_is_json_with_a_reason(site: Site) -> None:
    for path, query, status, why in REFUSALS:
        answer = await ask(site, path, query)
        assert (answer.status, answer.content_type) == (status, "application/problem+json"), path
        problem = msgspec.json.decode(answer.body, type=Problem)
        assert problem.status == status
        assert why in problem.detail


async def test_another_method_is_refused_with_those_that_there_are(site: Site) -> None:
    answer = await ask(site, "/api/v1/contest", method="POST")
    assert (answer.status, dict(answer.headers)["Allow"]) == (405, "GET")
    assert (await ask(site, "/api/v1/contest", method="HEAD")).status == 200


@pytest.fixture
def half(tmp_path: Path) -> Contest:
    """Ten of fifteen matches are played."""
    return make_up(tmp_path / "half", [HOP], NAMES, most=10)


@pytest.fixture
def twins(tmp_path: Path) -> list[Contest]:
    """Two contests that are the same up to the freeze after ten matches."""
    return [make_up(tmp_path / str(fate), [HOP], NAMES, freeze=10, fate=fate) for fate in (1, 2)]


# --- the feed ---------------------------------------------------------------------------------------------------


async def told(log: EventLog, start: Position, *, with_turns: bool) -> tuple[list[Any], list[str]]:
    """Return all events that follow a position, and the tokens of their batches."""
    events, tokens = list[Any](), list[str]()
    while (batch := await log.next(start, with_turns=with_turns)) is not None:
        start = batch.after
        if batch.text:
            decoded = msgspec.json.decode(batch.text, type=FeedBatch)
            assert decoded.token == start.token
            events += decoded.events
            tokens.append(decoded.token)
    return events, tokens


def at(token: str) -> Position:
    found = position_of(token)
    assert found is not None
    assert found.token == token
    return found


@pytest.mark.parametrize("with_turns", [False, True])
async def test_the_feed_goes_on_from_any_token(
    site: Site, monkeypatch: pytest.MonkeyPatch, with_turns: bool
) -> None:
    monkeypatch.setattr(
        "getstep_server.web.event_log.FEED_EVENTS", 40
    )  # a match is longer: some tokens are inside one
    log = EventLog(site.app.feed)
    events, tokens = await told(log, Position(), with_turns=with_turns)
    assert len(tokens) > (3 if with_turns else 0)
    assert any("." in token for token in tokens) == with_turns
    for number, token in enumerate(tokens):
        rest, later = await told(EventLog(site.app.feed), at(token), with_turns=with_turns)
        assert later == tokens[number + 1 :]
        assert rest == events[len(events) - len(rest) :]
    ended = [event for event in events if event.__struct_config__.tag == "ended"]
    played = [(one.match, one.attempt) for one in ended]
    assert sorted(played) == sorted(site.app.feed.tournament.recorded)
    turns = [event for event in events if event.__struct_config__.tag == "turn"]
    assert len({(one.match, one.attempt, one.turn.n) for one in turns}) == len(turns)
    assert bool(turns) == with_turns


async def test_a_batch_has_so_many_events(site: Site) -> None:
    """A long match may add as many again."""
    batch = await site.app.api.log.next(Position(), with_turns=True)
    assert batch is not None
    assert 256 <= len(msgspec.json.decode(batch.text, type=FeedBatch).events) <= 520


def test_so_many_bytes_of_batches_are_kept(half: Contest) -> None:
    log = EventLog(Feed(half.folder))
    for number in range(9):
        log._keep((str(number), True), Batch(bytes(1 << 20), Position(number)))
    assert [token for token, _ in log._batches] == ["5", "6", "7", "8"]


def moves_of_hop(count: int) -> list[bytes]:
    state, turns = GAMES["hop"].start(), []
    for number in range(count):
        move = next(iter(state.legal_moves()))
        state.play(move)
        turns.append(encode({"player": number % 2, "move": move, "ms": 1.0, "timed": "kernel"}))
    return turns


def append(site: Site, number: int, entries: Sequence[bytes], first: int) -> None:
    """Write lines of a running match's journal, as the page reads them."""
    for line, entry in enumerate(entries, start=first):
        site.app.feed.live.add(TailedLine(number, 1, line, entry), 1.7e9)
    site.app.api.log.note()


async def test_nothing_is_lost_or_told_twice_when_a_match_ends_while_the_page_is_away(half: Contest) -> None:
    """The turns come from the journal first, and from the record after the restart."""
    contest = half
    turns = moves_of_hop(6)
    async with trio.open_nursery() as nursery:
        site = await following(contest.folder, nursery)
        match = site.app.feed.tournament.open()[0]
        head = game_header(load_contest(contest.folder), match, 1, 1.7e9)
        start = site.app.api.log.now(with_turns=True)
        append(site, match.number, [encode(head), *turns[:2]], 1)
        before, tokens = await told(site.app.api.log, start, with_turns=True)
        append(site, match.number, turns[2:4], 4)
        more, later = await told(site.app.api.log, at(tokens[-1]), with_turns=True)
        nursery.cancel_scope.cancel()
    assert [event.__struct_config__.tag for event in (*before, *more)] == ["started", *["turn"] * 4]
    result = Result(match, 0, "finished", "Black is home", (6, 5), 6, (1.0, 1.0), (0, 0), 1.7e9, 2.0)
    with Store(contest.database) as store:
        await store.save(record_of_game(head, result, MatchLog(turns)))
    async with trio.open_nursery() as nursery:
        site = await following(contest.folder, nursery)
        rest, _ = await told(site.app.api.log, at(later[-1]), with_turns=True)
        nursery.cancel_scope.cancel()
    assert [event.turn.n for event in (*before, *more, *rest) if hasattr(event, "turn")] == [1, 2, 3, 4, 5, 6]
    assert [event.__struct_config__.tag for event in rest] == ["turn", "turn", "ended", "standings"]


async def test_readers_at_one_position_share_the_bytes(half: Contest) -> None:
    contest = half
    async with trio.open_nursery() as nursery:
        site = await following(contest.folder, nursery)
        match = site.app.feed.tournament.open()[0]
        got = list[bytes]()

        async def send(data: bytes) -> None:
            got.append(data)

        for accept in ("text/event-stream", "text/event-stream", ""):
            answer = await ask(site, "/api/v1/feed", {"turns": "true"}, accept=accept)
            assert isinstance(answer, EventStream)
            nursery.start_soon(partial(answer.follow, send))
        await trio.testing.wait_all_tasks_blocked()
        head = game_header(load_contest(contest.folder), match, 1, 1.7e9)
        append(site, match.number, [encode(head), *moves_of_hop(2)], 1)
        with trio.fail_after(PATIENCE_SECONDS):
            while len(got) < 3:
                await trio.sleep(0.005)
        assert len(site.app.api.log._batches) == 1
        assert site.app.api.readers.size == 3
        nursery.cancel_scope.cancel()
    first, second, line = sorted(got)
    assert first == second
    assert first.startswith(b"id: 1")
    assert first.partition(b"data: ")[2].strip() == line.strip()
    assert line.endswith(b"}\n")


async def test_a_freeze_holds_the_feed_until_the_reveal(twins: list[Contest]) -> None:
    seen = []
    for contest in twins:
        async with trio.open_nursery() as nursery:
            site = await following(contest.folder, nursery)
            events, tokens = await told(site.app.api.log, Position(), with_turns=True)
            nursery.cancel_scope.cancel()
        seen.append((events, tokens))
        assert [event.__struct_config__.tag for event in events].count("ended") == 10
        assert events[-1].__struct_config__.tag == "decision"
    assert seen[0] == seen[1]


@pytest.mark.parametrize("token", ["", "x", "-1", "01", "1.2-3", "1.2-3-4.", "1" * 11, "1" + ".1-1-1" * 513])
def test_what_is_no_token_is_refused(token: str) -> None:
    assert position_of(token) is None
