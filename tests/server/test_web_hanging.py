"""A bot that does not answer, as the live page names it: on the overview, the page of its team and its own area."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from getstep_server.storage.run_status import RunStatus
from getstep_server.web.details import TeamPage
from getstep_server.web.feed import Feed
from getstep_server.web.own_games import OwnGames
from getstep_server.web.parts import presence
from tests.support.contests import make_contest


@pytest.fixture
def feed(tmp_path: Path) -> Feed:
    """A contest in which the bot of team 2 hangs."""
    feed = Feed(make_contest(tmp_path, ["Ada", "Blaise"], on_disk=True).folder)
    feed.status, feed.server_runs = RunStatus("playing", {1: 1, 2: 1}, hanging=(2,)), True
    return feed


def hangs_on_its_page(feed: Feed, team: int) -> bool:
    tables: Any = SimpleNamespace(coming=[], ranks={})
    return TeamPage(feed, lambda: tables, team).parts().team.hangs


async def test_the_pages_name_a_bot_that_hangs(feed: Feed) -> None:
    assert [team.name for team in presence(feed).hanging] == ["Blaise"]
    assert [hangs_on_its_page(feed, team) for team in (1, 2)] == [False, True]
    _, body = await OwnGames(feed).state(2)
    assert json.loads(body)["team"]["hangs"] is True
    feed.status = RunStatus("playing", {1: 1, 2: 1})
    assert presence(feed).hanging == []
    assert not hangs_on_its_page(feed, 2)


def test_during_a_freeze_and_without_a_server_nobody_hangs(feed: Feed, monkeypatch: pytest.MonkeyPatch) -> None:
    feed.server_runs = False
    assert presence(feed).hanging == []
    assert not hangs_on_its_page(feed, 2)
    feed.server_runs = True
    monkeypatch.setattr(Feed, "frozen", True)
    assert presence(feed).hanging == []
    assert not hangs_on_its_page(feed, 2)
