"""Messages and pauses on the pages and in the API: who reads what, without a browser."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import trio

from getstep_server.api.visibility import visible_to_all
from getstep_server.decisions import messages
from getstep_server.records.message import Message
from getstep_server.records.pause import Pause
from getstep_server.web.app import App
from getstep_server.web.event_log import EventLog, Position
from getstep_server.web.live import LiveMatch
from tests.old_contests.contests import unpack
from tests.support.patience import PATIENCE_SECONDS
from tests.support.site import STORED, TOKENS, Browser, Site, following

PAGES = ("overview", "reveal", "match/1", "team/1", "event/1")
MARKUP = "<b onclick=alert(1)>Lunch</b> & more"


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[App]:
    folder = tmp_path / "finished"
    unpack(STORED, folder)
    async with trio.open_nursery() as nursery:
        yield (await following(folder, nursery)).app
        nursery.cancel_scope.cancel()


async def team(app: App, number: int) -> Browser:
    browser = Browser(app)
    assert (await browser.log_in(number, TOKENS[number])).status == 200
    return browser


async def host(app: App, text: str, question: int | None = None, *, to_all: bool = False) -> None:
    """Announce a text, or answer a question; return when the pages have read it."""
    feed = app.feed
    before = len(feed.whole.messages.sent)

    def write() -> None:
        if question is None:
            messages.announce(feed.folder, text, "Grace")
        else:
            messages.answer(feed.folder, question, text, "Grace", to_all=to_all)

    await trio.to_thread.run_sync(write)
    with trio.fail_after(PATIENCE_SECONDS):
        while len(feed.whole.messages.sent) == before:
            await trio.sleep(0.01)


async def everything_public(app: App) -> str:
    site = Site(app)
    found = [(await site.get(f"/api/v1/pages/{page}")).body for page in PAGES]
    others = ("/", "/start", "/wall", "/api/v1/messages", "/team/1/against/2")
    found += [(await site.get(path)).body for path in others]
    log = EventLog(app.feed)
    log.note()
    batch = await log.next(Position(app.feed.whole.place - 4), with_turns=False)
    return b"".join([*found, b"" if batch is None else batch.text]).decode()


async def test_an_announcement_is_on_every_page_and_has_no_markup(app: App) -> None:
    await host(app, MARKUP)
    site = Site(app)
    for page in PAGES:
        (shown,) = (await site.json(f"/api/v1/pages/{page}"))["notices"]["messages"]
        assert (shown["kind"], shown["text"], shown["by"], shown["team"]) == ("announcement", MARKUP, "Grace", None)
    for path in ("/", "/start", "/rules", "/play", "/wall", "/team/1/against/2", "/own", "/nothing"):
        text = (await site.get(path)).body.decode()
        assert "&lt;b onclick=alert(1)&gt;Lunch&lt;/b&gt; &amp; more" in text, path
        assert "<b onclick" not in text
    assert [one["text"] for one in (await site.json("/api/v1/messages"))["messages"]] == [MARKUP]


async def test_a_question_and_its_answer_are_seen_by_the_team_only(app: App) -> None:
    ada, other = await team(app, 1), await team(app, 2)
    assert (await ada.get("/own/question", {"text": " May we sit outside? "})).status == 202
    (asked,) = (await ada.json("/own/questions.json"))["questions"]
    assert (asked["number"], asked["text"], asked["answers"]) == (1, "May we sit outside?", [])
    await host(app, "Only you may", 1)
    (asked,) = (await ada.json("/own/questions.json"))["questions"]
    assert [one["text"] for one in asked["answers"]] == ["Only you may"]
    seen = await everything_public(app) + json.dumps(await other.json("/own/questions.json"))
    assert "sit outside" not in seen
    assert "Only you may" not in seen
    await host(app, "So may you all", 1, to_all=True)
    public = await everything_public(app)
    assert public.count("So may you all") == len(PAGES) + 6  # pages as JSON, five addresses, and the feed
    assert "sit outside" in public
    assert "Only you may" not in public
    assert '"type":"message"' in public


async def test_a_team_that_floods_the_host_is_refused_without_a_record(app: App) -> None:
    ada = await team(app, 1)
    answers: list[int] = []

    async def ask() -> None:
        answers.append((await ada.get("/own/question", {"text": "Why?"})).status)

    place = app.feed.whole.place
    async with trio.open_nursery() as nursery:
        for _ in range(50):
            nursery.start_soon(ask)
    assert sorted(answers) == [202] + 49 * [429]
    assert app.feed.whole.place == place + 1
    state = await ada.json("/own/questions.json")
    assert "ask again in" in state["closed"]
    assert (await (await team(app, 2)).get("/own/question", {"text": "And we?"})).status == 202


@pytest.mark.parametrize("text", ["", "   ", "x" * 501, "two\nlines", "red \x1b[31m"])
async def test_a_question_that_is_not_one_visible_line(app: App, text: str) -> None:
    ada = await team(app, 1)
    assert (await ada.get("/own/question", {"text": text})).status == 400
    assert app.feed.whole.messages.questions == {}


async def test_who_is_not_logged_in_asks_nothing(app: App) -> None:
    visitor_without_login = Browser(app)
    assert (await visitor_without_login.get("/own/question", {"text": "Hello?"})).status == 401
    assert (await visitor_without_login.get("/own/questions.json")).status == 401


def test_no_question_is_for_all() -> None:
    question = Message(kind="question", text="?", at=0.0, team=1, to_all=True)
    assert not visible_to_all(question)


def test_the_clock_of_a_paused_match_stands_still() -> None:
    live = LiveMatch.__new__(LiveMatch)
    live.pause, live.asked_at, live._paused_at = None, 100.0, 0.0  # without the head of a match
    assert live.stopped_at is None
    live.set_pause(Pause("lunch", at_once=True), 110.0)
    assert live.stopped_at == 110.0
    live.set_pause(None, 170.0)
    assert (live.asked_at, live.stopped_at) == (160.0, None)  # 10 s of thinking are used, as before
    live.set_pause(Pause("lunch", at_once=False), 165.0)
    assert live.stopped_at is None  # the turn is played to its end
    live.asked_at = 166.0
    assert live.stopped_at == 166.0
    live.set_pause(None, 200.0)
    assert live.asked_at == 200.0
    assert time.time() > live.asked_at
