"""Challenges: friendly matches of an arena, which count nowhere; who may ask for one, and what becomes of it."""

from __future__ import annotations

import json
import re
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
import trio

from getstep.wire import End, Start
from getstep_server.config.contest import Contest
from getstep_server.config.names import UnknownTeam, event_named, find_team
from getstep_server.errors import UsageError
from getstep_server.events import FriendlyStarted, MatchEnded
from getstep_server.records.challenge import record_of_challenge
from getstep_server.records.reasons import DecisionKind
from getstep_server.records.record import Record, parse
from getstep_server.runtime import friendlies
from getstep_server.storage.run_status import RunStatus
from getstep_server.storage.store import Store
from getstep_server.storage.verify import VerifyError
from getstep_server.text import utc_time
from getstep_server.tournament.challenges import Challenges
from getstep_server.tournament.tournament import Tournament
from getstep_server.web.challenges import ChallengeForm
from getstep_server.web.feed import Feed
from getstep_server.web.http import Request
from getstep_server.web.parts import friendlies as friendly_pairs
from tests.support.arenas import arena
from tests.support.contests import make_contest
from tests.support.director import DecidedStage


def wish(contest: Contest, team: int, opponent: int, at: float | None = None) -> Any:
    return record_of_challenge(contest, team, opponent, 1, utc_time(time.time() if at is None else at))


def make_empty(folder: Path) -> Path:
    """Return a folder without the database of an earlier check."""
    (folder / "again").mkdir()
    return folder / "again"


class ArenaStage(DecidedStage):
    """A stage whose teams challenge each other."""

    def challenge(self, team: int, opponent: int) -> None:
        self.store.decide(wish(self.tournament.contest, team, opponent))

    def friendlies(self) -> list[Any]:
        """Return the fields of the records of friendly matches."""
        found = [parse(record.content()) for record in self.store.chain]
        return [fields for fields in found if fields["type"] == "friendly"]


@pytest.fixture
def contest(tmp_path: Path) -> Contest:
    return arena(tmp_path, 4, matches=6, pause_seconds=30, house_bots=[])


# --- played -----------------------------------------------------------------------------------------------------


async def test_a_challenge_is_played_at_once_and_counts_nowhere(
    contest: Contest, autojump_clock: Any, tmp_path: Path
) -> None:
    stage = ArenaStage(contest)
    asked = 0.0

    async def ask() -> None:
        nonlocal asked
        await trio.sleep(20)  # the first pairings are over, and the next ones are due at 30 s
        asked = trio.current_time()
        stage.challenge(1, 2)

    await stage.play(1, 2, 3, 4, during=ask)
    (game,) = stage.friendlies()
    began = next(at for at, event in stage.events if isinstance(event, FriendlyStarted))
    assert began - asked < 10
    assert {team["id"] for team in game["teams"]} == {1, 2}
    starts = [start for start in stage.said(1, Start) if start.friendly]
    assert [start.match for start in starts] == [game["match"]]
    assert [end.match for end in stage.said(2, End)].count(game["match"]) == 1
    assert all(start.friendly is None for start in stage.said(3, Start))
    assert len(game["turns"]) == game["turns_played"] > 0
    stage.check(tmp_path)  # `verify` replays it
    place = next(place for place, record in enumerate(stage.store.chain) if record.fields["type"] == "friendly")
    honest = stage.store.chain[place]
    stage.store.chain[place] = Record(
        {**honest.fields, "winner": 0 if honest.fields["winner"] is None else None}, honest.turns
    )
    with pytest.raises(VerifyError, match="winner is"):
        stage.check(make_empty(tmp_path))
    stage.store.chain[place] = honest
    others = [record for record in stage.store.chain if record.fields["type"] not in ("challenge", "friendly")]
    without = Tournament(contest, [parse(record.header) for record in others])
    assert without.tables() == stage.tournament.tables()
    assert stage.tournament.total == 6
    assert {event.result.match.number for event in stage.of(MatchEnded)} == set(range(1, 7))


async def test_a_match_of_the_arena_comes_first_and_none_is_paired_meanwhile(
    contest: Contest, autojump_clock: Any, tmp_path: Path
) -> None:
    stage = ArenaStage(contest)

    async def ask() -> None:
        await trio.sleep(3)  # all four are playing
        stage.challenge(1, 2)

    await stage.play(1, 2, 3, 4, seconds={1: 2.0}, during=ask)
    assert len(stage.friendlies()) == 1
    taken: dict[int, int] = {}
    for team in (1, 2):
        for message in [one for peer in stage.peers[team] for one in peer.said]:
            if isinstance(message, Start):
                assert team not in taken, "two matches at one seat"
                taken[team] = message.match
            elif isinstance(message, End):
                assert taken.pop(team) == message.match
    stage.check(tmp_path)


async def test_a_challenge_lapses_and_one_during_a_freeze_or_of_an_absent_team_does_not_begin(
    contest: Contest, autojump_clock: Any, tmp_path: Path
) -> None:
    stage = ArenaStage(contest)

    async def ask() -> None:
        await trio.sleep(20)
        stage.store.decide(wish(contest, 1, 2, time.time() - 61))
        await trio.sleep(2)
        stage.challenge(3, 4)
        stage.go(4)
        await trio.sleep(3)
        stage.decide(DecisionKind.FREEZE)
        stage.challenge(1, 2)

    await stage.play(1, 2, 3, 4, during=ask)
    assert stage.friendlies() == []
    assert len(stage.tournament.challenges.made) == 3
    stage.check(tmp_path)


async def test_a_challenge_waits_while_the_contest_is_paused(contest: Contest, autojump_clock: Any) -> None:
    stage = ArenaStage(contest)
    resumed = 0.0

    async def ask() -> None:
        nonlocal resumed
        await trio.sleep(20)
        stage.decide(DecisionKind.PAUSE)
        stage.challenge(1, 2)
        await trio.sleep(20)
        resumed = trio.current_time()
        stage.decide(DecisionKind.RESUME)

    await stage.play(1, 2, 3, 4, during=ask)
    assert len(stage.friendlies()) == 1
    assert next(at for at, event in stage.events if isinstance(event, FriendlyStarted)) >= resumed


async def test_a_failure_in_a_friendly_match_ends_only_that(
    contest: Contest, autojump_clock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fails(*_: Any, **__: Any) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(friendlies, "play_match", fails)
    stage = ArenaStage(contest)

    async def ask() -> None:
        await trio.sleep(20)
        stage.challenge(1, 2)

    await stage.play(1, 2, 3, 4, during=ask)
    assert stage.friendlies() == []
    assert len(stage.tournament.results) == 6


# --- asked for on the page --------------------------------------------------------------------------------------


class Page:
    """The form of a contest on disk, whose server runs with these teams connected. It reads back its records."""

    def __init__(self, contest: Contest, nursery: trio.Nursery, connected: tuple[int, ...] = (1, 2, 3)) -> None:
        self.feed = Feed(contest.folder)
        self.feed.server_runs = True
        self.feed.status = RunStatus("playing", dict.fromkeys(connected, 1))
        self.form = ChallengeForm(self.feed)
        with Store(contest.database):
            pass
        nursery.start_soon(self._follow)

    async def ask(self, team: int, opponent: str) -> tuple[int, str]:
        body = urlencode({"opponent": opponent}).encode()
        answer = await self.form.take(team, Request("POST", "/own/challenge", {}, {}, body, "192.0.2.8"))
        return answer.status, answer.body.decode()

    def stored(self) -> int:
        with Store(self.feed.contest.database, reading=True) as store:
            return store.chain()[0]

    async def _follow(self) -> None:
        with Store(self.feed.contest.database, reading=True) as store:
            while True:
                for header in await store.tail(self.feed.whole.place):
                    self.feed.whole.apply(parse(header))
                await trio.sleep(0.01)


@pytest.fixture
def named(tmp_path: Path) -> Contest:
    event = {"format": "arena", "settings": {"house_bots": ["random"]}}
    names = ["Ada Lovelace", "Ada Yonath", "Grace Hopper", "Kurt"]
    quotas = {"made_per_day": 2, "received_per_day": 1}
    return make_contest(tmp_path / "arena", names, event, on_disk=True, challenges=quotas)


@pytest.fixture
async def page(named: Contest) -> AsyncIterator[Page]:
    async with trio.open_nursery() as nursery:
        yield Page(named, nursery)
        nursery.cancel_scope.cancel()


async def test_a_challenge_is_stored_and_shown_to_both(page: Page) -> None:
    status, body = await page.ask(1, "GRACE")
    assert (status, json.loads(body)["opponent"]) == (202, "Grace Hopper")
    for team, other, ours in ((1, 3, True), (3, 1, False)):
        (shown,) = page.form.state(team).latest
        assert (shown.opponent.id, shown.ours, shown.state) == (other, ours, "waiting")
    assert page.form.state(1).left == 1
    assert [team.id for team in page.form.state(2).here] == [1, 3]
    page.feed.status = RunStatus("playing", {1: 1, 3: 1}, friendly=(shown.number,))
    assert page.form.state(3).latest[0].state == "playing"
    assert [one.id for one in friendly_pairs(page.feed)[0].teams] == [1, 3]


@pytest.mark.parametrize(
    ("opponent", "status", "words"),
    [
        ("Ada", 409, "2 teams have such a name: Ada Lovelace (1), Ada Yonath (2)"),
        ("Nobody", 409, "no team has this name"),
        ("", 409, "no team has this name"),
        ("99", 409, "no team has this id"),
        ("Ada L", 409, "your own team"),
        ("kurt", 409, "Kurt has no bot connected"),
        ("random", 403, "plays in the arena only"),
    ],
)
async def test_a_refusal_has_its_reason(page: Page, opponent: str, status: int, words: str) -> None:
    found = await page.ask(1, opponent)
    assert found[0] == status
    assert words in found[1]
    assert page.stored() == 0


async def test_nobody_is_challenged_without_an_arena_a_server_or_results_that_are_shown(
    page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page.feed.whole, "frozen_at", 1)
    assert "results are hidden" in (await page.ask(1, "3"))[1]
    monkeypatch.undo()
    page.feed.server_runs = False
    assert "its server does not run" in (await page.ask(1, "3"))[1]
    page.feed.server_runs = True
    async with trio.open_nursery() as nursery:
        other = Page(make_contest(tmp_path / "swiss", 3, on_disk=True), nursery)
        assert "no arena" in (await other.ask(1, "3"))[1]
        nursery.cancel_scope.cancel()


async def test_ten_thousand_challenges_at_once_are_one(page: Page) -> None:
    """Each team asks everybody, again and again: the quotas hold, and refusals do not touch the disk."""
    answers: list[int] = []

    async def ask(team: int, opponent: int) -> None:
        answers.append((await page.ask(team, str(opponent)))[0])

    async with trio.open_nursery() as nursery:
        for n in range(10_000):
            nursery.start_soon(ask, 1 + n % 2, 3)
    assert answers.count(202) == 1
    assert page.stored() == 1


def test_quotas_count_24_hours(named: Contest) -> None:
    contest, challenges, now = named, Challenges(), 2e9
    day = 86_400.0

    def made(*challenged: tuple[int, int, float]) -> None:
        challenges.made.clear()
        for place, (team, opponent, ago) in enumerate(challenged, start=1):
            challenges.apply(wish(contest, team, opponent, now - ago).fields, place, contest)

    made((1, 2, day - 9), (1, 2, 3600.0))
    assert "your team has made 2 challenges" in str(challenges.objection(contest, 1, 3, now))
    assert "Ada Yonath was challenged 1 times" in str(challenges.objection(contest, 3, 2, now))
    made((1, 2, day + 9), (1, 2, day + 5))
    assert challenges.objection(contest, 1, 2, now) is None
    made((1, 2, 59.0))
    assert "is open" in str(challenges.objection(contest, 2, 3, now))
    assert "has an open challenge" in str(challenges.objection(contest, 3, 2, now))


# --- names typed by hand ----------------------------------------------------------------------------------------


def test_a_team_is_found_by_the_beginning_of_a_word_of_its_name(named: Contest) -> None:
    found = {"1": 1, "Ada Lovelace": 1, "ada l": 1, "yonath": 2, "KURT": 4, "hop": 3}
    assert {text: find_team(named, text) for text in found} == found
    for text in ("Ada", "ace", " ", ""):
        with pytest.raises(UnknownTeam):
            find_team(named, text)


def test_an_event_is_found_by_the_beginning_of_its_title(tmp_path: Path) -> None:
    chosen = [("longest_path", None), ("linkage", None), ("hop", "Light"), ("hop", "Hopscotch")]
    tables = [{"game": game, **({} if name is None else {"name": name})} for game, name in chosen]
    contest = make_contest(tmp_path, 2, *tables)
    found = {"linkage": 2, "Longest Path": 1, "longest": 1, "PATH": 1, "lin": 2, "light": 3, "hop": 4}
    assert {text: event_named(contest, text).number for text in found} == found
    for text, problem in (
        ("li", ": 2 events have such a name: linkage, Light; give the whole name"),
        ("ath", ", expected one of: longest_path, linkage, Light, Hopscotch"),
    ):
        with pytest.raises(UsageError, match=re.escape(f"--event {text!r}{problem}")):
            event_named(contest, text)
