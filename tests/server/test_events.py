"""Whole contests of every format, over real loopback sockets, to their ends; and what stays in the records."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import trio

from getstep_server.config.contest import Contest
from getstep_server.events import ContestStarted, MatchEnded, MatchStarted
from getstep_server.records.result import Result
from getstep_server.runtime.run import RunOutcome
from getstep_server.storage.contest_state import results_of, tournament_of
from getstep_server.storage.store import Store
from getstep_server.storage.verify import Verified, verify
from tests.support.contests import make_contest
from tests.support.servers import Running, connected, running, seated
from tests.support.tournament_host import with_teams

SMALL = {"game": "pseudo_tonga", "options": {"size": 6}}
"""A game has 36 moves, with any players."""


async def play(contest: Contest, *, stop_after: int | None = None) -> Running:
    """Play with a bot for each team, to the end, or until this many matches are over."""
    async with running(contest) as server, trio.open_nursery() as nursery:
        for team in contest.teams:
            nursery.start_soon(_bot, server.port, team)
        if stop_after is None:
            await server.finished()
        else:
            await server.recorder.wait_for(MatchEnded, stop_after)
            nursery.cancel_scope.cancel()
    return server


async def _bot(port: int, team: int) -> None:
    async with seated(port, team) as player:
        await player.play()


def verified(contest: Contest) -> Verified:
    with Store(contest.database) as store:
        return verify(contest, store)


def teams_of(results: list[Result]) -> list[set[int]]:
    return [set(result.match.teams) for result in results]


FORMATS: dict[str, tuple[int, dict[str, Any], int]] = {
    "round robin": (4, {"settings": {"legs": 1}}, 6),
    "gauntlet": (4, {"format": "gauntlet", "settings": {"challengers": [2, 4], "legs": 1}}, 4),
    "swiss, even": (6, {"format": "swiss", "settings": {"rounds": 3, "legs": 1}}, 9),
    "swiss, odd": (5, {"format": "swiss", "settings": {"rounds": 3, "legs": 2}}, 12),
    "knockout": (6, {"format": "knockout", "settings": {"best_of": 1, "extra_pairs": 0}}, 6),
    "ladder": (4, {"format": "ladder", "settings": {"rounds": 2, "games": 2}}, 12),
    "match": (3, {"format": "match", "settings": {"pairs": 4, "at_once": 2}}, 8),
    "match, tested": (2, {"format": "match", "settings": {"pairs": 30, "elo0": 0, "elo1": 400}}, 4),
}


@pytest.mark.parametrize("name", FORMATS)
async def test_a_contest_of_every_format(tmp_path: Path, name: str) -> None:
    teams, event, matches = FORMATS[name]
    contest = make_contest(tmp_path, teams, {**SMALL, **event})
    server = await play(contest)
    assert server.ending is RunOutcome.FINISHED
    results = results_of(contest)
    assert [result.reason for result in results] == ["finished"] * matches
    ended = server.recorder.of(MatchEnded)
    assert (ended[-1].done, ended[-1].total) == (matches, matches)
    assert ended[-1].tables() == tournament_of(contest).tables()
    found = verified(contest)
    assert (found.matches, found.played, found.void) == (matches, matches, 0)
    playing: set[int] = set()
    for one in server.recorder.events:
        if isinstance(one, MatchStarted):
            assert playing.isdisjoint(one.match.teams)
            playing.update(one.match.teams)
        elif isinstance(one, MatchEnded):
            playing.difference_update(one.result.match.teams)


async def test_no_match_begins_before_its_pairing_is_on_record(tmp_path: Path) -> None:
    contest = make_contest(tmp_path, 4, {**SMALL, "format": "swiss", "settings": {"rounds": 3, "legs": 1}})
    await play(contest)
    with Store(contest.database) as store:
        given: set[int] = set()
        for fields in store.record_headers():
            if fields["type"] == "pairings":
                given.update(entry["number"] for entry in fields["matches"])
            assert fields["type"] in ("settings", "pairings") or fields["match"] in given
    assert given == set(range(1, 7))


async def test_two_events_at_once_and_a_combined_table(tmp_path: Path) -> None:
    swiss = {"game": "linkage", "name": "L", "format": "swiss", "settings": {"rounds": 2, "legs": 1}}
    contest = make_contest(tmp_path, 5, {**SMALL, "settings": {"legs": 1}, "teams": [1, 2, 3]}, swiss)
    server = await play(contest)
    games = [event.match.game for event in server.recorder.of(MatchStarted)]
    assert sorted(games) == ["linkage"] * 4 + ["pseudo_tonga"] * 3
    tables = server.recorder.of(MatchEnded)[-1].tables()
    assert [len(tables.events[number]) for number in (1, 2)] == [3, 5]
    assert {row.team for row in tables.combined} == {1, 2, 3, 4, 5}
    assert [row.rank for row in tables.combined] == [1, 2, 3, 4, 5]
    assert sum(row.total for row in tables.combined) == pytest.approx(150 + 250)
    assert verified(contest).played == 7


async def test_a_ladder_over_three_runs_with_a_joining_and_a_leaving_team(tmp_path: Path) -> None:
    def rounds(count: int) -> dict[str, Any]:
        return {**SMALL, "format": "ladder", "settings": {"rounds": count, "games": 2}}

    await play(make_contest(tmp_path, 3, rounds(1)))
    second = with_teams(make_contest(tmp_path, 3, rounds(2)), 1, 2, 3, 4)
    server = await play(second)
    assert server.recorder.of(ContestStarted) == [ContestStarted(4, 4 + 6)]
    third = with_teams(make_contest(tmp_path, 3, rounds(3)), 2, 3, 4)
    server = await play(third)
    assert server.recorder.of(ContestStarted) == [ContestStarted(10, 10 + 4)]
    results = results_of(third)
    by_round = [[result for result in results if result.match.round == number] for number in (1, 2, 3)]
    assert [set().union(*teams_of(each)) for each in by_round] == [{1, 2, 3}, {1, 2, 3, 4}, {2, 3, 4}]
    table = tournament_of(third).table(third.events[0])
    assert [row.place for row in table] == [1, 2, 3, None]
    assert table[-1].team == 1
    assert verified(third).played == 14


@pytest.mark.parametrize("done", [1, 3])
async def test_a_stopped_swiss_is_resumed(tmp_path: Path, done: int) -> None:
    contest = make_contest(tmp_path, 5, {**SMALL, "format": "swiss", "settings": {"rounds": 3, "legs": 1}})
    await play(contest, stop_after=done)
    assert len(results_of(contest)) >= done
    server = await play(contest)
    assert server.ending is RunOutcome.FINISHED
    results = results_of(contest)
    assert len(results) == 6
    assert len({frozenset(pair) for pair in teams_of(results)}) == 6  # nobody met twice
    assert verified(contest).played == 6


async def test_a_team_that_left_during_its_match(tmp_path: Path) -> None:
    contest = make_contest(tmp_path, 3, {"game": "hop", "settings": {"legs": 1}})
    async with running(contest) as server, trio.open_nursery() as nursery:
        for team in (1, 2, 3):
            nursery.start_soon(_bot_that_waits, server.port, team)
        started = await server.recorder.wait_for(MatchStarted)
        nursery.cancel_scope.cancel()
    gone, left = started.match.first, [team for team in (1, 2, 3) if team != started.match.first]
    assert list(contest.running.iterdir())
    smaller = with_teams(contest, *left)
    server = await play(smaller)
    assert server.ending is RunOutcome.FINISHED
    assert teams_of(results_of(smaller)) == [set(left)]
    assert list(contest.running.iterdir()) == []
    assert gone in {row.team for row in tournament_of(smaller).table(smaller.events[0])}
    found = verified(smaller)
    assert (found.matches, found.played) == (3, 1)


async def _bot_that_waits(port: int, team: int) -> None:
    async with seated(port, team):
        await trio.sleep_forever()


async def test_a_team_in_no_event_is_welcome_and_has_nothing_to_play(tmp_path: Path) -> None:
    contest = make_contest(tmp_path, 3, {**SMALL, "teams": [1, 2]})
    server = await play(contest)
    assert server.ending is RunOutcome.FINISHED
    assert teams_of(results_of(contest)) == [{1, 2}] * 2


async def test_welcome_lists_the_games_of_the_team(tmp_path: Path) -> None:
    again = {"game": "hop", "name": "again"}
    contest = make_contest(tmp_path, 3, {"game": "hop"}, again, {"game": "linkage", "teams": [1, 2]})
    async with running(contest) as server:
        for team, games in ((1, ["hop", "linkage"]), (3, ["hop"])):
            async with connected(server.port) as player:
                assert [game["game"] for game in (await player.login(team)).games] == games
