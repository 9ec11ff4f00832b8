"""The freeze and the reveal on the page: what spectators can learn, and who can steer."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio

from getstep_engines import Player
from getstep_server.api.answers import FeedBatch
from getstep_server.config.contest import Contest, load_contest
from getstep_server.decisions import messages
from getstep_server.records.decision import Decision, record_of_decision
from getstep_server.records.reasons import DecisionKind
from getstep_server.storage.contest_state import tournament_of
from getstep_server.storage.store import Store
from getstep_server.tournament.tournament import Tournament
from getstep_server.web.api_routes import ROUTES
from getstep_server.web.feed import Feed
from getstep_server.web.http import EventStream, Request
from getstep_server.web.reveal import Steering
from getstep_server.web.tables import main_table
from getstep_server.web.topics import encode
from tests.support.patience import PATIENCE_SECONDS
from tests.support.random_results import make_up
from tests.support.site import Site, following
from tests.support.tournament_host import AT

NAMES = ("Ada", "Blaise", "Charles", "Dorothy", "Edsger", "Frances")
EVENTS: dict[str, list[dict[str, Any]]] = {
    "round_robin": [{"game": "hop", "settings": {"legs": 1}}],
    "swiss": [{"game": "hop", "format": "swiss", "settings": {"rounds": 3, "legs": 1}}],
    "knockout": [{"game": "hop", "format": "knockout", "settings": {"best_of": 1}}],
    "ladder": [{"game": "linkage", "format": "ladder", "settings": {"rounds": 2, "games": 2}}],
    "two events": [{"game": "hop", "settings": {"legs": 1}}, {"game": "hop", "format": "knockout", "name": "cup"}],
}


def reveal_decision() -> Decision:
    return Decision(DecisionKind.REVEAL, "Grace", "now", AT)


def steering(feed: Feed) -> Steering:
    return Steering(feed, lambda: store_decision(feed.contest, reveal_decision()))


def store_decision(contest: Contest, decision: Decision) -> None:
    with Store(contest.database) as store:
        trio.from_thread.run(store.save, record_of_decision(contest, decision))


async def everything(site: Site) -> dict[str, bytes]:
    """Return the answers at all addresses that tell of results, without the time of day."""
    tournament = tournament_of(load_contest(site.app.feed.folder))
    paths = ["/api/v1/pages/overview", "/api/v1/pages/reveal", "/", "/wall", "/reveal"]
    for number in range(1, max(tournament.matches) + 10):
        paths += [f"/api/v1/pages/match/{number}", f"/match/{number}", f"/api/v1/matches/{number}/replay"]
    paths += [path for team in tournament.contest.teams for path in (f"/api/v1/pages/team/{team}", f"/team/{team}")]
    teams = sorted(tournament.contest.teams)
    paths += [f"/team/{team}/against/{other}" for team in teams for other in teams if team < other]
    for event in tournament.contest.events:
        paths += [f"/api/v1/pages/event/{event.number}", f"/event/{event.number}"]
    paths += [route.path for route in ROUTES if not route.names and route.answer is not FeedBatch]
    for route in (route for route in ROUTES if route.names):
        numbers = {"event": 1, "team": teams[0], "match": 1}
        paths += [route.path.format(**numbers | {name: n}) for name in route.names for n in range(1, 12)]
    paths += [f"/orders/round-{round_}.txt" for round_ in range(1, 4)]
    answers = {}
    for path in paths:
        answer = await site.get(path)
        body = answer.body
        if path.startswith("/api/v1/pages/") and answer.status == 200:
            body = json.dumps({**json.loads(body), "now": 0}).encode()
        answers[path] = b"%d %b" % (answer.status, body)
    return answers


@pytest.fixture(params=EVENTS)
def twins(tmp_path: Path, request: pytest.FixtureRequest) -> list[Contest]:
    """Two contests that are the same up to the freeze."""
    events = EVENTS[request.param]
    return [make_up(tmp_path / str(fate), events, NAMES, freeze=3, fate=fate) for fate in (1, 2)]


async def test_the_page_is_the_same_whatever_is_hidden(twins: list[Contest]) -> None:
    seen, finals = [], []
    for contest in twins:
        finals.append([(r.match.number, r.winner) for r in tournament_of(contest).results])
        async with trio.open_nursery() as nursery:
            site = await following(contest.folder, nursery)
            site.app.tables().want_ratings(1)
            seen.append(await everything(site))
            nursery.cancel_scope.cancel()
    assert finals[0] != finals[1]
    common = seen[0].keys() & seen[1].keys()
    assert {path for path in common if seen[0][path] != seen[1][path]} == set()
    assert len(common) > 60
    assert json.loads(seen[0]["/api/v1/pages/overview"][4:])["freeze"]["hidden"] > 0


@pytest.fixture
def round_robin(tmp_path: Path) -> Contest:
    """Fifteen matches, of which five are hidden."""
    return make_up(tmp_path / "hidden", EVENTS["round_robin"], NAMES, freeze=10)


@pytest.fixture
def half(tmp_path: Path) -> Contest:
    """Ten of fifteen matches are played, and the contest is not frozen."""
    return make_up(tmp_path / "open", EVENTS["round_robin"], NAMES, most=10)


async def test_the_page_shows_what_was_played_and_not_how(round_robin: Contest) -> None:
    async with trio.open_nursery() as nursery:
        site = await following(round_robin.folder, nursery)
        overview = await site.json("/api/v1/pages/overview")
        assert overview["progress"]["done"] == overview["progress"]["total"] == 15
        assert overview["progress"]["state"] == "over"
        assert overview["freeze"]["hidden"] == len(overview["freeze"]["latest"]) == 5
        assert sum(overview["freeze"]["by_team"].values()) == 10
        assert len(overview["results"]) == 10
        assert overview["next"] == []
        hidden = overview["freeze"]["latest"][0]
        match = await site.json(f"/api/v1/pages/match/{hidden['match']}")
        assert (match["state"], match["result"], match["board"]) == ("hidden", None, None)
        assert (await site.get(f"/api/v1/matches/{hidden['match']}/replay")).status == 404
        team = await site.json(f"/api/v1/pages/team/{hidden['teams'][0]['id']}")
        assert hidden["match"] in [one["match"] for one in team["hidden"]]
        assert team["next"] == []
        one, other = (team["id"] for team in hidden["teams"])
        against = (await site.get(f"/team/{one}/against/{other}")).body.decode()
        assert "Played after the freeze, with hidden results: 1." in against
        assert "have finished no match against each other yet" in against
        nursery.cancel_scope.cancel()


async def test_a_page_that_is_open_follows_the_freeze_and_its_end(half: Contest) -> None:
    contest = half
    async with trio.open_nursery() as nursery:
        site = await following(contest.folder, nursery)
        feed = site.app.feed
        assert feed.whole is feed.tournament
        before = (await site.json("/api/v1/pages/overview"))["results"]
        freeze = Decision(DecisionKind.FREEZE, "Grace", "the last round", AT)
        await trio.to_thread.run_sync(store_decision, contest, freeze)
        match = next(match for match in feed.whole.open())
        adjudicated = Decision(DecisionKind.ADJUDICATE, "Grace", "why", AT, match=match.number, winner=0)
        await trio.to_thread.run_sync(store_decision, contest, adjudicated)
        with trio.fail_after(PATIENCE_SECONDS):
            while [one.number for one in feed.hidden] != [match.number]:
                await trio.sleep(0.01)
        assert feed.tournament.final_result(match) is None
        site.app.topics.clear()
        overview = await site.json("/api/v1/pages/overview")
        assert (overview["results"], overview["freeze"]["hidden"]) == (before, 1)
        await trio.to_thread.run_sync(store_decision, contest, reveal_decision())
        with trio.fail_after(PATIENCE_SECONDS):
            while feed.tournament is not feed.whole:
                await trio.sleep(0.01)
        site.app.topics.clear()
        overview = await site.json("/api/v1/pages/overview")
        assert overview["freeze"] is None
        assert overview["results"][0]["reason"] == "adjudicated"
        assert not feed.frozen
        nursery.cancel_scope.cancel()


@pytest.fixture
def cup(tmp_path: Path) -> Contest:
    """A cup that has begun after a freeze: nobody may know yet who plays in it."""
    return make_up(tmp_path / "cup", EVENTS["knockout"], NAMES, freeze=1, most=5)


async def test_messages_and_pauses_are_seen_during_a_freeze_but_no_match_that_is_hidden(cup: Contest) -> None:
    contest, hidden = cup, next(iter(tournament_of(cup).open()))
    async with trio.open_nursery() as nursery:
        site = await following(contest.folder, nursery)
        assert hidden.number not in site.app.feed.tournament.matches
        await trio.to_thread.run_sync(messages.announce, contest.folder, "Lunch at noon", "Grace")
        for match, why in ((None, "lunch"), (hidden.number, "the cup waits")):
            pause = Decision(DecisionKind.PAUSE, "Grace", why, AT, match=match)
            await trio.to_thread.run_sync(store_decision, contest, pause)
        with trio.fail_after(PATIENCE_SECONDS):
            while len(site.app.feed.whole.pauses.decisions) < 2:
                await trio.sleep(0.01)
        for found in (
            await site.json("/api/v1/messages"),
            (await site.json("/api/v1/pages/overview"))["notices"],
        ):
            assert [one["text"] for one in found["messages"]] == ["Lunch at noon"]
            assert [one["why"] for one in found["paused"]] == ["lunch"]
        nursery.cancel_scope.cancel()


# --- the reveal ------------------------------------------------------------------------------------------------


@pytest.fixture
async def nursery() -> AsyncIterator[trio.Nursery]:
    async with trio.open_nursery() as one:
        yield one
        one.cancel_scope.cancel()


@pytest.fixture
def frozen(tmp_path: Path) -> Contest:
    """A round robin of six, a cup behind it, frozen after ten matches."""
    return make_up(tmp_path / "frozen", EVENTS["two events"], NAMES, freeze=10, moves=12)


class Host:
    """The host's browser."""

    def __init__(self, site: Site) -> None:
        self.site = site
        assert site.app.steering is not None
        self.steering = site.app.steering

    async def state(self) -> dict[str, Any]:
        self.site.app.topics.clear()
        return dict(await self.site.json("/api/v1/pages/reveal"))

    async def press(self, what: str = "next", **form: str) -> int:
        seen = str((await self.state())["reveal"]["step"])
        body = {"key": self.steering.key, "what": what, "seen": seen, **form}
        return (await self.site.post("/reveal/step", body)).status


async def host_of(contest: Contest, nursery: trio.Nursery) -> Host:
    site = await following(contest.folder, nursery, steering)
    host = Host(site)
    await host.steering.prepare()
    return host


def final_table(contest: Contest) -> Any:
    return json.loads(encode(main_table(tournament_of(contest))))


async def test_the_last_step_shows_the_final_table_and_ends_the_freeze(
    frozen: Contest, nursery: trio.Nursery
) -> None:
    host = await host_of(frozen, nursery)
    state = await host.state()
    left = state["reveal"]["left"]
    assert left > 5
    while not state["reveal"]["over"]:
        assert tournament_of(frozen).frozen_at is not None
        assert state["table"] != final_table(frozen) or left > 0
        places = state["table"]["teams"]
        below = places[places.index(state["reveal"]["focus"]) + 1 :]
        assert [team for team in below if str(team) in state["reveal"]["by_team"]] == []
        following = state["reveal"]["next"]
        assert await host.press() == 200
        state = await host.state()
        left -= 1
        assert state["reveal"]["latest"][0]["match"] == following["match"]
        board = state["reveal"]["board"]
        walkover = state["reveal"]["latest"][0]["turns"] == 0
        assert (board is None) == walkover
        if board is not None:
            assert (board["match"], board["turn"], board["to_move"]) == (following["match"], 12, None)
            assert board["result"] == state["reveal"]["latest"][0]
        assert (state["reveal"]["left"], len(state["reveal"]["latest"])) == (left, 1)
    assert left == 0
    assert state["table"] == final_table(frozen)
    assert tournament_of(frozen).frozen_at is None
    assert not (frozen.folder / "reveal.json").exists()
    assert await host.press() == 200  # once more than needed


async def test_a_step_of_a_team_and_of_all(frozen: Contest, nursery: trio.Nursery) -> None:
    host = await host_of(frozen, nursery)
    before = (await host.state())["reveal"]
    assert await host.press("team") == 200
    after = (await host.state())["reveal"]
    assert after["board"] is None  # of many matches there is none
    assert before["left"] - after["left"] == before["by_team"][str(before["focus"])] == len(after["latest"])
    assert await host.press("all") == 200
    assert (await host.state())["reveal"]["over"] is True
    assert (await host.state())["table"] == final_table(frozen)


async def test_a_key_that_is_pressed_twice_reveals_one_result(frozen: Contest, nursery: trio.Nursery) -> None:
    host = await host_of(frozen, nursery)
    before = (await host.state())["reveal"]["left"]
    statuses = [await host.press(seen="0") for _ in range(3)]
    assert statuses == [200, 200, 200]
    assert (await host.state())["reveal"]["left"] == before - 1


async def test_the_reveal_goes_on_after_its_process_was_killed(frozen: Contest, nursery: trio.Nursery) -> None:
    host = await host_of(frozen, nursery)
    for _ in range(3):
        await host.press()
    before = await host.state()
    again = await (await host_of(frozen, nursery)).state()
    assert (again["table"], again["reveal"]["left"]) == (before["table"], before["reveal"]["left"])
    assert again["reveal"]["step"] == 3


@pytest.mark.parametrize("text", ["", "{", "[]", '{"freeze": 1, "revealed": [1]}', '{"revealed": 7}', "null"])
async def test_a_damaged_file_begins_the_reveal_anew(frozen: Contest, nursery: trio.Nursery, text: str) -> None:
    (frozen.folder / "reveal.json").write_text(text)
    assert (await (await host_of(frozen, nursery)).state())["reveal"]["step"] == 0


async def test_nobody_else_steers(frozen: Contest, nursery: trio.Nursery) -> None:
    host = await host_of(frozen, nursery)
    before = await host.state()
    key = host.steering.key
    for wrong in ("", "x", key[:-1], key + "=", key.swapcase(), "ö" * 40):
        assert await host.press(key=wrong) == 403
    form = {"key": key, "what": "all", "seen": "0"}
    assert (await host.site.post("/reveal/step", form, origin="http://elsewhere.example")).status == 403
    assert (await host.site.post("/reveal/step", {})).status == 403
    many = {f"field{number}": "x" for number in range(17)}
    assert (await host.site.post("/reveal/step", many)).status == 400
    assert (await host.site.get("/reveal/step")).status == 404
    assert await host.press("everything") == 400
    statuses = [await host.press(key=f"{number}") for number in range(200)]
    assert set(statuses) == {403}
    assert {**await host.state(), "now": 0} == {**before, "now": 0}
    for path in ("/reveal", "/api/v1/pages/reveal", "/api/v1/pages/overview"):
        assert key.encode() not in (await host.site.get(path)).body


async def test_many_steps_at_once_are_one(frozen: Contest, nursery: trio.Nursery) -> None:
    host = await host_of(frozen, nursery)
    left = (await host.state())["reveal"]["left"]
    statuses: list[int] = []

    async def press() -> None:
        statuses.append(await host.press(seen="0"))

    async with trio.open_nursery() as pressing:
        for _ in range(20):
            pressing.start_soon(press)
    assert set(statuses) <= {200, 409}
    assert (await host.state())["reveal"]["left"] == left - 1


async def test_other_pages_only_look_on(frozen: Contest, nursery: trio.Nursery) -> None:
    site = await following(frozen.folder, nursery)
    host = await host_of(frozen, nursery)
    before = (await site.json("/api/v1/pages/reveal"))["table"]
    await host.press()
    answer = await site.post("/reveal/step", {"key": host.steering.key, "what": "all", "seen": "1"})
    assert answer.status == 405
    site.app.topics.clear()
    state = await site.json("/api/v1/pages/reveal")
    assert (state["reveal"]["step"], state["table"]) == (None, before)
    await host.press("all")
    with trio.fail_after(PATIENCE_SECONDS):
        while site.app.feed.frozen:
            await trio.sleep(0.01)
    site.app.topics.clear()
    assert (await site.json("/api/v1/pages/reveal"))["reveal"]["over"] is True


async def test_the_stream_tells_what_the_snapshot_does(frozen: Contest, nursery: trio.Nursery) -> None:
    host = await host_of(frozen, nursery)
    request = Request(
        "GET",
        "/api/v1/pages/reveal",
        {},
        {"host": "192.0.2.7:8080", "accept": "text/event-stream"},
        b"",
        "192.0.2.8",
    )
    answer = await host.site.app(request)
    assert isinstance(answer, EventStream)
    send, receive = trio.open_memory_channel[bytes](0)
    nursery.start_soon(partial(answer.follow, send.send))
    with trio.fail_after(PATIENCE_SECONDS):
        frame = await receive.receive()
    assert host.steering.key.encode() not in frame
    assert json.loads(frame.removeprefix(b"data: "))["table"] == (await host.state())["table"]


async def test_records_that_come_during_the_reveal_are_revealed_too(frozen: Contest, nursery: trio.Nursery) -> None:
    host = await host_of(frozen, nursery)
    await host.press()
    tournament: Tournament = tournament_of(frozen)
    match = next(iter(tournament.matches.values()))
    winner: Player = 1 if getattr(tournament.played_result(match), "winner", None) == 0 else 0
    late = Decision(DecisionKind.ADJUDICATE, "Grace", "why", AT, match=match.number, winner=winner)
    await trio.to_thread.run_sync(store_decision, frozen, late)
    with trio.fail_after(PATIENCE_SECONDS):
        while host.site.app.feed.whole.place != tournament.place + 1:
            await trio.sleep(0.01)
    await host.press("all")
    assert (await host.state())["table"] == final_table(frozen)
