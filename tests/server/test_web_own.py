"""The area of a team: logins, sessions and what each team may see, without a browser."""

from __future__ import annotations

import hmac
import json
import re
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from operator import xor
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from getstep.referee import EndCode, FaultCode
from getstep.tags import results_text
from getstep.wire import sign, sign_page_login
from getstep_server.config.contest import Contest, Team, load_contest
from getstep_server.limits import TOKENS_A_DAY
from getstep_server.login_limits import Quota
from getstep_server.programs.store import ProgramStore
from getstep_server.storage.contest_state import tournament_of
from getstep_server.storage.database import StoreError
from getstep_server.tournament.tournament import Tournament
from getstep_server.web import own_games
from getstep_server.web.app import App
from getstep_server.web.assets import static_files
from getstep_server.web.http import AnyResponse, Download, HostCheck, HttpServer, Request, Response
from getstep_server.web.kept import Keeper
from getstep_server.web.own import Nonces, Sessions, masked, signed_token
from getstep_server.web.own_games import OwnTurns, own_turns
from tests.old_contests.contests import unpack
from tests.support.node import NEEDS_NODE, NODE, call_in_node
from tests.support.patience import PATIENCE_SECONDS
from tests.support.random_results import make_up
from tests.support.site import STORED, TOKENS, Browser, following
from tests.support.submitted_programs import stored

FAULTY = 3
"""The team that has made every mistake."""
ERROR = "ZeroDivisionError"


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[App]:
    """The pages of the contest that is over, whose teams have made every mistake."""
    folder = tmp_path / "finished"
    unpack(STORED, folder)
    async with trio.open_nursery() as nursery:
        yield (await following(folder, nursery)).app
        nursery.cancel_scope.cancel()


@pytest.fixture
def browser(app: App) -> Browser:
    return Browser(app)


# --- logins -----------------------------------------------------------------------------------------------------


async def test_a_login_opens_the_area_and_a_logout_closes_it(browser: Browser) -> None:
    assert b'id="token"' in (await browser.get("/own")).body
    answer = await browser.log_in(1, TOKENS[1])
    assert (answer.status, answer.body) == (200, b"{}")
    cookie = dict(answer.headers)["Set-Cookie"]
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(cookie.split("; "))
    assert b"<bdi>Ada</bdi>" in (await browser.get("/own")).body
    kept = browser.cookie
    assert (await browser.get("/own/logout", {"x": "y"})).status == 303
    browser.cookie = kept
    assert (await browser.get("/own/state.json")).status == 401


@pytest.mark.parametrize(
    "path", ["/own/state.json", "/own/matches.jsonl", "/own/match/3.jsonl", "/own/match/3.html", "/own/nothing"]
)
@pytest.mark.parametrize("cookie", ["", "getstep_team=", "getstep_team=" + "a" * 32, "getstep_team=../../x" * 9])
async def test_without_a_login_there_is_nothing(browser: Browser, path: str, cookie: str) -> None:
    browser.cookie = cookie
    assert (await browser.get(path)).status == 401


@pytest.mark.parametrize(
    ("team", "token", "changed"),
    [
        (1, TOKENS[2], {}),
        (99, TOKENS[1], {}),
        ("", TOKENS[1], {}),
        ("-1", TOKENS[1], {}),
        ("9" * 11, TOKENS[1], {}),
        (1, "", {}),
        (1, TOKENS[1], {"mac": ""}),
        (1, TOKENS[1], {"mac": "ä" * 64}),
        (1, TOKENS[1], {"mac": "0" * 64}),
        (1, TOKENS[1], {"nonce": ""}),
        (1, TOKENS[1], {"nonce": "0" * 32}),
        (1, TOKENS[1], {"nonce": "ä" * 32}),
    ],
)
async def test_a_wrong_login_is_refused(
    browser: Browser, team: int | str, token: str, changed: dict[str, str]
) -> None:
    answer = await browser.log_in(team, token, **changed)
    assert answer.status == 403
    assert json.loads(answer.body)["problem"]
    assert (await browser.get("/own/state.json")).status == 401


@pytest.mark.parametrize("path", ["/own/login", "/own/nothing", "/own/state.json", "/own/matches.jsonl"])
async def test_a_hostile_form_is_refused(browser: Browser, path: str) -> None:
    many = {f"field{number}": "x" for number in range(17)}
    assert (await browser.get(path, many)).status == (400 if path == "/own/login" else 405)


async def test_a_login_is_accepted_once(browser: Browser, app: App) -> None:
    """Somebody who has read the signature on the network cannot use it again."""
    nonce = await browser.nonce()
    form = {"team": "1", "nonce": nonce, "mac": sign_page_login(TOKENS[1], nonce)}
    assert (await browser.get("/own/login", form)).status == 200
    assert (await Browser(app).get("/own/login", form)).status == 403


async def test_the_signature_of_a_bot_is_none_of_a_browser(browser: Browser) -> None:
    nonce = await browser.nonce()
    form = {"team": "1", "nonce": nonce, "mac": sign(TOKENS[1], nonce)}
    assert (await browser.get("/own/login", form)).status == 403


@pytest.mark.parametrize(
    "headers", [{"origin": "http://evil.example"}, {"origin": "http://["}, {"sec-fetch-site": "cross-site"}]
)
async def test_another_site_cannot_log_in_or_out(browser: Browser, headers: dict[str, str]) -> None:
    for path in ("/own/login", "/own/logout"):
        assert (await browser.get(path, {"team": "1"}, **headers)).status == 403


async def replaced(browser: Browser, token: str) -> Response:
    nonce = await browser.nonce()
    answer = await browser.get("/own/token", {"nonce": nonce, "mac": sign_page_login(token, nonce)})
    if answer.status == 200:
        hidden = bytes.fromhex(json.loads(answer.body)["masked"])
        mask = hmac.digest(token.encode(), f"getstep page new token v1:{nonce}".encode(), "sha256")
        browser.token = bytes(map(xor, hidden, mask)).decode()
    return answer


async def test_a_team_replaces_its_token_and_the_old_one_is_dead(app: App, browser: Browser) -> None:
    other, without_session = Browser(app), Browser(app, "192.0.2.66")
    for one in (browser, other):
        assert (await one.log_in(1, TOKENS[1])).status == 200
    assert (await replaced(without_session, TOKENS[1])).status == 401
    assert (await replaced(browser, TOKENS[2])).status == 403  # a stolen cookie is not enough
    answer = await replaced(browser, TOKENS[1])
    assert answer.status == 200
    token = load_contest(app.feed.folder).teams[1].token
    assert browser.token == token != TOKENS[1]
    assert token.encode() not in answer.body
    assert (await browser.get("/own/state.json")).status == 200  # this browser stays
    assert (await other.get("/own/state.json")).status == 401
    assert (await other.log_in(1, TOKENS[1])).status == 403
    assert (await other.log_in(1, token)).status == 200
    last = tournament_of(load_contest(app.feed.folder)).decisions[-1]
    assert (last.kind, last.team, last.by) == ("token", 1, "team 1")


async def test_a_team_replaces_its_token_so_often_in_a_day(app: App, browser: Browser) -> None:
    await browser.log_in(1, TOKENS[1])
    browser.token = TOKENS[1]
    app.own._replaced = Quota(TOKENS_A_DAY - 8, 86_400)  # each takes 0.1 s
    assert [(await replaced(browser, browser.token)).status for _ in range(2)] == [200, 200]
    refused = await replaced(browser, browser.token)
    assert (refused.status, b"try again in 24 h" in refused.body) == (429, True)
    assert 86_300 < int(dict(refused.headers)["Retry-After"]) <= 86_400


async def test_wrong_logins_are_delayed_and_nobody_else_waits(app: App, autojump_clock: MockClock) -> None:
    guesser, other = Browser(app), Browser(app, "192.0.2.9")
    began = trio.current_time()
    for _ in range(4):
        assert (await guesser.log_in(1, "wrong")).status == 403
    assert trio.current_time() - began == pytest.approx(0.25 + 0.5 + 1.0)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(guesser.log_in, 1, "wrong")
        await trio.testing.wait_all_tasks_blocked()
        assert (await guesser.log_in(1, TOKENS[1])).status == 429  # unread: a guess at a time
        assert (await guesser.log_in(2, TOKENS[2])).status == 200  # another team behind the same address
        assert (await other.log_in(1, TOKENS[1])).status == 200


async def test_a_team_logs_in_so_often_and_no_more(browser: Browser) -> None:
    answers = [(await browser.log_in(1, TOKENS[1])).status for _ in range(21)]
    assert answers == [200] * 20 + [429]


def team(token: str, number: int = 1) -> Team:
    return Team(id=number, name="Ada", token=token)


def test_a_token_is_signed_as_it_is_or_in_its_canonical_form() -> None:
    nonce = "0" * 32
    for token, typed in (("KQ3M X7FD29PT", "kq3m-x7fd-29pt"), ("KQ3M X7FD29PT",) * 2, ("our own secret",) * 2):
        assert signed_token(team(token), nonce, sign_page_login(typed, nonce)) == typed
    assert not signed_token(None, nonce, sign_page_login("no team has this token", nonce))


def test_a_team_that_is_no_longer_there_cannot_log_in() -> None:
    """On record it is there without a token, and anybody can sign with none."""
    nonce = "0" * 32
    for token in ("", "no team has this token"):
        assert not signed_token(team(""), nonce, sign_page_login(token, nonce))


def test_a_nonce_is_fresh_for_a_minute() -> None:
    now = [2.0**32 - 30]
    nonces, others = Nonces(lambda: now[0]), Nonces(lambda: now[0])
    nonce = nonces.new()
    assert nonces.is_fresh(nonce)
    assert not others.is_fresh(nonce)
    now[0] += 59
    assert nonces.is_fresh(nonce)
    now[0] += 2
    assert not nonces.is_fresh(nonce)


def test_spent_nonces_are_forgotten_when_they_are_old() -> None:
    now = [0.0]
    nonces = Nonces(lambda: now[0])
    for _ in range(100):
        nonces.spend(nonces.new())
        now[0] += 10
    assert len(nonces._spent) <= 8


def test_a_session_ends_after_eight_hours() -> None:
    now = [0.0]
    sessions, one = Sessions(lambda: now[0]), team("secret-token")
    key = sessions.open(one)
    now[0] = 8 * 3600 - 1
    assert sessions.team_of(key, {1: one}) is one
    now[0] += 2
    assert sessions.team_of(key, {1: one}) is None
    sessions.open(one)
    assert len(sessions._sessions) == 1


def test_a_team_has_eight_sessions() -> None:
    sessions, teams = Sessions(lambda: 0.0), {number: team("secret-token", number) for number in (1, 2)}
    other = sessions.open(teams[2])
    keys = [sessions.open(teams[1]) for _ in range(10)]
    open_ = [sessions.team_of(key, teams) is not None for key in keys]
    assert open_ == [False] * 2 + [True] * 8
    assert sessions.team_of(other, teams) is teams[2]


def test_a_new_token_ends_the_sessions() -> None:
    sessions = Sessions(lambda: 0.0)
    key = sessions.open(team("secret-token"))
    assert sessions.team_of(key, {1: team("another-token")}) is None
    assert sessions.team_of(key, {}) is None


async def test_the_next_page_knows_who_is_logged_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the keys nor the tokens are in its file."""
    keeper, teams = Keeper(tmp_path), {1: team("secret-token")}
    sessions, path = Sessions(lambda: 5.0, keeper), tmp_path / "logins.json"
    key, closed = sessions.open(teams[1]), sessions.open(teams[1])
    sessions.close(closed)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(keeper.run)
        while not path.exists():
            await trio.sleep(0.01)  # a thread writes it
        nursery.cancel_scope.cancel()
    assert "secret-token" not in path.read_text()
    assert key not in path.read_text()
    assert path.stat().st_mode & 0o077 == 0
    now = [1000.0]
    later = Sessions(lambda: now[0], keeper)
    later.take_up()
    assert later.team_of(key, teams) is teams[1]
    assert later.team_of(closed, teams) is None
    assert later.team_of(key, {1: team("another-token")}) is None
    now[0] += 8 * 3600 + 1
    assert later.team_of(key, teams) is None
    path.write_text('[{"key": 1}, 7]')
    Sessions(keeper=keeper).take_up()


@pytest.mark.skipif(NODE is None, reason=NEEDS_NODE)
def test_the_browser_signs_as_the_server_expects() -> None:
    sources = {"sign.js": static_files()["sign.js"].decode()}
    tokens = ["KQ3M X7fd29pt", "kq3m-x7fd-29pt", "our own secret", "ä" * 80, "x" * 63, "", "kq3m-x7fd-29p0"]
    nonce = "000102030405060708090a0b0c0d0e0f"
    from getstep.wire import canonical_token

    calls = [("sign.js", "signPageLogin", [token, nonce]) for token in tokens]
    calls += [("sign.js", "canonicalToken", [token]) for token in tokens]
    expected = [*(sign_page_login(token, nonce) for token in tokens), *map(canonical_token, tokens)]
    new = "wq3m-x7fd-29pt"
    calls += [("sign.js", "unmasked", [masked(new, token, nonce), token, nonce]) for token in tokens]
    assert call_in_node(calls, sources) == [*expected, *[new] * len(tokens)]


# --- what a team sees -------------------------------------------------------------------------------------------


async def test_a_team_sees_its_penalties_with_the_boards_before_them(browser: Browser, app: App) -> None:
    teams = {}
    for number, token in TOKENS.items():
        await browser.log_in(number, token)
        teams[number] = await browser.json("/own/state.json")
        assert teams[number]["team"]["id"] == number
    assert app.feed.store is not None
    games = [json.loads(record.line) for record in app.feed.store.records() if record.number]
    for number, state in teams.items():
        own = [(game, [team["id"] for team in game["teams"]]) for game in games]
        faults = sum(game["faults"][ids.index(number)] for game, ids in own if number in ids)
        assert sum(one["count"] for one in state["penalties"]) == faults
        assert all(one["advice"] for one in state["penalties"])
        assert (faults > 0) == (number == FAULTY)
    every = teams[FAULTY]["penalties"]
    assert "Charles, and Co." not in {one["opponent"] for one in every}
    illegal = next(one for one in every if one["game"] == "hop" and one["code"] == "illegal move")
    assert illegal["tried"] == "0,0-7,7"
    assert illegal["fault"] == [[0, 0], [7, 7]]
    assert len(illegal["board"]) == 8
    raised = next(one for one in every if one["code"] == "raised")
    assert ERROR in raised["detail"]
    assert "\x1b" not in raised["detail"]


async def test_the_times_of_a_teams_moves_add_up(browser: Browser, app: App) -> None:
    await browser.log_in(1, TOKENS[1])
    state = await browser.json("/own/state.json")
    assert {one["event"] for one in state["times"]} <= {event.heading for event in app.feed.contest.events}
    for one in state["times"]:
        assert sum(one["counts"]) == one["moves"] > 0
        assert len(one["counts"]) == len(state["edges"]) + 1
        assert one["slowest"][0]["ms"] == max(move["ms"] for move in one["slowest"]) >= one["mean_ms"]


async def test_a_state_that_the_browser_has_is_not_sent_again(browser: Browser) -> None:
    await browser.log_in(1, TOKENS[1])
    tag = dict((await browser.get("/own/state.json")).headers)["X-State"]
    assert await browser.json(f"/own/state.json?seen={tag}") == {}


async def test_a_team_sees_at_once_that_the_host_plays_with_its_program(browser: Browser, app: App) -> None:
    await browser.log_in(1, TOKENS[1])
    answer = await browser.get("/own/state.json")
    assert json.loads(answer.body)["team"]["program"] is None
    store = ProgramStore(app.feed.folder)
    stored(store, 1)
    tag = dict(answer.headers)["X-State"]
    assert (await browser.json(f"/own/state.json?seen={tag}"))["team"]["program"] == 1
    (store.folder / "1" / "current").write_text("nonsense")
    assert (await browser.json("/own/state.json"))["team"]["program"] is None


async def read_all(answer: AnyResponse) -> bytes:
    assert isinstance(answer, Download)
    return b"".join([piece async for piece in answer.pieces()])


async def test_a_team_downloads_its_own_games_and_no_others(browser: Browser, app: App) -> None:
    await browser.log_in(1, TOKENS[1])
    tournament = app.feed.tournament
    own = {number for number, match in tournament.matches.items() if 1 in match.teams}
    records = [json.loads(line) for line in (await read_all(await browser.ask("/own/matches.jsonl"))).splitlines()]
    assert {record["match"] for record in records} <= own
    assert len(records) >= len([one for one in tournament.results if 1 in one.match.teams and one.turns])
    texts = (await read_all(await browser.ask("/own/matches.txt"))).decode()
    assert texts.count("\nmatch ") == len(records)
    for number in tournament.matches:
        for kind in ("jsonl", "txt", "html"):
            answer = await browser.get(f"/own/match/{number}.{kind}")
            assert answer.status == (200 if number in own else 404), (number, kind)
    for path in ("/own/match/0.jsonl", "/own/match/999.html", "/own/match/1.db", "/own/../teams.toml", "/own/x"):
        assert (await browser.get(path)).status == 404


async def test_the_record_is_unchanged_unless_it_has_an_error_of_the_opponent(browser: Browser, app: App) -> None:
    store = app.feed.store
    assert store is not None
    stored = {record.number: record.line for record in store.records() if record.number}
    await browser.log_in(1, TOKENS[1])
    records = (await read_all(await browser.ask("/own/matches.jsonl"))).splitlines()
    changed = 0
    for line in records:
        fields = json.loads(line)
        whole = stored[fields["match"]]
        others = [turn for turn in fields["turns"] if fields["teams"][turn["player"]]["id"] != 1]
        assert ERROR not in json.dumps(others)
        if line != whole:
            changed += 1
            assert "hash" not in fields
    assert 0 < changed < len(records)


async def test_nobody_else_sees_the_error_of_a_program(browser: Browser, app: App) -> None:
    seen = Counter[int]()
    for number, match in app.feed.tournament.matches.items():
        for path in (f"/api/v1/matches/{number}/replay", f"/api/v1/pages/match/{number}"):
            assert ERROR not in (await browser.get(path)).body.decode()
        for own, token in TOKENS.items():
            if own not in match.teams:
                continue
            await browser.log_in(own, token)
            for kind in ("jsonl", "html"):
                seen[own] += ERROR in (await browser.get(f"/own/match/{number}.{kind}")).body.decode()
    assert seen[FAULTY] > 0
    assert seen[1] == seen[2] == 0


def test_an_error_in_a_running_match_is_shown_at_once() -> None:
    head = {"match": 1, "attempt": 1, "game": "hop", "options": {}, "edition": 2}
    time = {"kind": "move", "ms": 1000, "lag_ms": 100}
    teams = [{"id": 7, "name": "Ada"}, {"id": 8, "name": "Blaise"}]
    fault = {"player": 0, "fault": "raised", "detail": "KeyError: 7", "ms": 3.0, "timed": "kernel"}
    summary = own_turns({**head, "time": time, "teams": teams, "turns": [fault]}, 0)
    assert [(one["detail"], one["turn"]) for one in summary.penalties] == [("KeyError: 7", 1)]
    assert own_turns({**head, "time": time, "teams": teams, "turns": [fault]}, 1).penalties == []


async def test_the_results_are_shown_by_tag(app: App, browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    def tagged(game: Mapping[str, Any], player: int) -> OwnTurns:
        return OwnTurns(tags=["opening"]) if game["match"] % 2 else OwnTurns()

    monkeypatch.setattr(own_games, "own_turns", tagged)
    await browser.log_in(1, TOKENS[1])
    state = await browser.json("/own/state.json")
    outcomes = [one["outcome"] for one in state["matches"] if one["match"] % 2 and one["turns"]]
    counts = [outcomes.count(outcome) for outcome in ("win", "draw", "loss")]
    assert state["tags"] == [["opening", results_text(*counts)]]
    turns = [{"player": player, "notes": {"tags": [f"by-{player}"]}, "ms": 1.0} for player in (0, 1)]
    game = {"match": 1, "attempt": 1, "game": "hop", "turns": turns, "teams": [{"id": 7}, {"id": 8}]}
    monkeypatch.undo()
    assert own_games.own_turns(game, 1).tags == ("by-1",)


def test_each_code_has_advice_in_one_sentence() -> None:
    codes = {*FaultCode, *EndCode} - {EndCode.RESIGNED}
    assert own_games.ADVICE.keys() == codes
    assert all(re.fullmatch(r"[A-Z][^.]*(\.\w[^.]*)*\.", text) for text in own_games.ADVICE.values())


def test_equal_penalties_of_a_match_are_one_and_the_latest_is_first() -> None:
    fault = {"player": 0, "fault": "raised", "detail": "KeyError: 7", "ms": 3.0, "timed": "kernel"}
    passed = {"player": 1, "fault": "raised", "detail": "", "ms": 3.0, "timed": "kernel"}
    game = {
        "match": 1,
        "attempt": 1,
        "game": "hop",
        "options": {},
        "time": {"kind": "move", "ms": 1000, "lag_ms": 100},
        "teams": [{"id": 7, "name": "Ada"}, {"id": 8, "name": "Blaise"}],
        "turns": [fault, passed] * 50,
    }
    summary = own_turns(game, 0)
    assert [(one["turn"], one["count"]) for one in summary.penalties] == [(99, 50)]
    assert summary.more == 0
    assert sum(summary.counts.values()) == 50
    others = [{**fault, "detail": f"KeyError: {number}"} for number in range(10) for _ in range(2)]
    turns = [turn for one in others for turn in (one, passed)]
    summary = own_turns({**game, "turns": turns}, 0)
    assert [one["detail"] for one in summary.penalties] == [f"KeyError: {number}" for number in range(9, 1, -1)]
    assert ([one["count"] for one in summary.penalties], summary.more) == ([2] * 8, 4)
    assert [one["turn"] for one in summary.penalties][:2] == [39, 35]


def test_equal_penalties_of_several_matches_are_one() -> None:
    one = {"game": "hop", "code": "raised", "detail": "KeyError: 7", "count": 2, "match": 9}
    other = {**one, "detail": "KeyError: 8"}
    found = own_games._together([one, other, {**one, "match": 3, "count": 5}, {**one, "game": "linkage"}])
    counts = [(each["match"], each["detail"], each["count"], each["game"]) for each in found]
    assert counts == [(9, "KeyError: 7", 7, "hop"), (9, "KeyError: 8", 2, "hop"), (9, "KeyError: 7", 2, "linkage")]


@pytest.fixture
def frozen(tmp_path: Path) -> Contest:
    """Six matches between four teams, of which three are hidden."""
    names = ("Ada", "Blaise", "Charles", "Dorothy")
    return make_up(tmp_path / "hidden", [{"game": "hop", "settings": {"legs": 1}}], names, freeze=3)


async def test_a_team_sees_its_own_results_in_a_freeze_and_no_others(frozen: Contest) -> None:
    async with trio.open_nursery() as nursery:
        app = (await following(frozen.folder, nursery)).app
        assert app.feed.frozen
        total = public = 0
        for number, team in frozen.teams.items():
            browser = Browser(app)
            await browser.log_in(number, team.token)
            state = await browser.json("/own/state.json")
            assert all(one["opponent"]["id"] != number for one in state["matches"])
            total += len(state["matches"])
            public += (await browser.json(f"/api/v1/pages/team/{number}"))["totals"]["played"]
            own = [
                json.loads(line) for line in (await read_all(await browser.ask("/own/matches.jsonl"))).splitlines()
            ]
            assert len(own) == 3
            assert all(number in [entry["id"] for entry in record["teams"]] for record in own)
        assert (total, public) == (12, 6)
        nursery.cancel_scope.cancel()


async def test_the_area_has_so_many_matches_and_penalties(
    browser: Browser, app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = [result for result in app.feed.tournament.results if FAULTY in result.match.teams]
    monkeypatch.setattr(Tournament, "results", own * 20)
    monkeypatch.setattr(own_games, "_together", list)  # as if all were different
    await browser.log_in(FAULTY, TOKENS[FAULTY])
    state = await browser.json("/own/state.json")
    assert (len(state["matches"]), state["older"]) == (200, 20 * len(own) - 200)
    assert len(state["penalties"]) == 60
    assert state["more"] > 60


async def test_so_many_matches_are_kept(browser: Browser, app: App) -> None:
    cache, store = app.own.games._cache, app.feed.store
    assert store is not None
    cache.update({(store, 9, number): (1, []) for number in range(3000)})
    await browser.log_in(FAULTY, TOKENS[FAULTY])
    await browser.json("/own/state.json")
    assert len(cache) == 2048
    assert any(team == FAULTY for _, team, _ in cache)


async def test_without_records_a_file_is_refused(browser: Browser, app: App) -> None:
    await browser.log_in(1, TOKENS[1])
    app.feed.store = None
    for kind in ("jsonl", "txt", "html"):
        number = app.own.games.matches(1)[0]
        assert (await browser.get(f"/own/match/{number}.{kind}")).status == 503
    with pytest.raises(StoreError):
        await read_all(await browser.ask("/own/matches.jsonl"))


async def test_a_download_that_is_not_read_keeps_no_other_team_waiting(browser: Browser, app: App) -> None:
    await browser.log_in(1, TOKENS[1])
    download = await browser.ask("/own/matches.jsonl")
    assert isinstance(download, Download)
    other = Browser(app)
    await other.log_in(2, TOKENS[2])
    async with aclosing(download.pieces()) as pieces:
        await anext(pieces)  # and no further one
        with trio.fail_after(PATIENCE_SECONDS):
            assert (await other.json("/own/state.json"))["team"]["id"] == 2


# --- a file that is made while it is sent -----------------------------------------------------------------------


async def test_a_download_is_sent_in_pieces() -> None:
    async def pieces() -> AsyncGenerator[bytes, None]:
        for number in range(3):
            yield b"piece %d\n" % number

    async def handle(_: Request) -> AnyResponse:
        return Download("all.txt", "text/plain", pieces)

    async with trio.open_nursery() as nursery:
        (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
        nursery.start_soon(HttpServer(handle, HostCheck()).serve, listener)
        stream = await trio.open_tcp_stream("127.0.0.1", listener.socket.getsockname()[1])
        text = b""
        async with stream:
            for method in (b"HEAD", b"GET"):
                await stream.send_all(method + b" / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            with trio.fail_after(PATIENCE_SECONDS):
                while not text.endswith(b"0\r\n\r\n"):
                    text += await stream.receive_some(4096)
        head, _, rest = text.rpartition(b"\r\n\r\n8\r\n")
        assert head.count(b'Content-Disposition: attachment; filename="all.txt"') == 2
        assert rest == b"piece 0\n\r\n8\r\npiece 1\n\r\n8\r\npiece 2\n\r\n0\r\n\r\n"
        nursery.cancel_scope.cancel()
