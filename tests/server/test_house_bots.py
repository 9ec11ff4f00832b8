"""House bots: their teams, the moment in which they fill in, and their processes."""

from __future__ import annotations

import os
import sys
from collections import Counter
from pathlib import Path
from typing import Any, get_args

import pytest
import trio
import trio.testing
from trio.testing import MockClock

from getstep.samples import LEVELS
from getstep_server.bot_runner.bot_process import NICENESS
from getstep_server.children import keeping
from getstep_server.cli import _helper_processes as helpers
from getstep_server.cli._helper_processes import house_bot_file, keep_house_bots
from getstep_server.config.contest import check_teams, init_contest, load_contest
from getstep_server.errors import ConfigError
from getstep_server.events import Bus, MatchEnded, MatchStarted
from getstep_server.formats.arena import HOUSE_TEAMS, HouseBot
from getstep_server.reports.slips import as_text
from getstep_server.storage.contest_state import tournament_of
from getstep_server.validation import ValidationError
from tests.support.arenas import arena, play, with_house
from tests.support.contests import make_contest
from tests.support.director import DecidedStage, slow
from tests.support.formats import make
from tests.support.patience import PATIENCE_SECONDS
from tests.support.servers import running

RANDOM, GREEDY = HOUSE_TEAMS["random"], HOUSE_TEAMS["greedy"]


def opponents(stage: DecidedStage, team: int) -> list[int]:
    """Return the opponents of a team, in the order of its results."""
    met = [set(result.match.teams) - {team} for result in stage.store.saved if team in result.match.teams]
    return [opponent for (opponent,) in met]


def folder_of(tmp_path: Path, *bots: str, team: str = 'id = 1\nname = "Ada"') -> Path:
    """Return the folder of an arena with these house bots and one team."""
    folder = tmp_path / "lab"
    init_contest(folder, name="lab", games=["hop"], format_="arena")
    path = folder / "contest.toml"
    path.write_text(path.read_text().replace('["random", "greedy"]', str(list(bots))))
    (folder / "teams.toml").write_text(f'[[team]]\n{team}\ntoken = "secret-of-ada"\n')
    return folder


def test_house_bots_are_teams_that_are_not_in_teams_toml(tmp_path: Path) -> None:
    contest, again = (load_contest(folder_of(tmp_path / n, "mcts", "greedy")) for n in "ab")
    names = {number: team.name for number, team in contest.teams.items()}
    assert names == {1: "Ada", 2_000_000_003: "greedy (house bot)", 2_000_000_004: "mcts (house bot)"}
    assert list(contest.contestants) == [1]
    assert contest.teams[GREEDY].token != again.teams[GREEDY].token
    (event,) = contest.events
    assert set(event.teams) == contest.teams.keys()
    assert event.format.house == contest.house_bots.keys()
    check_teams(contest)
    assert "secret-of-ada" in as_text(contest, "192.0.2.1")
    assert "house bot" not in as_text(contest, "192.0.2.1")


def test_every_house_bot_has_a_file() -> None:
    assert {house_bot_file(bot).exists() for bot in HOUSE_TEAMS} == {True}
    assert len(set(HOUSE_TEAMS.values())) == len(HOUSE_TEAMS)


def test_an_arena_without_house_bots_needs_two_teams(tmp_path: Path) -> None:
    contest = load_contest(folder_of(tmp_path))
    assert list(contest.teams) == [1]
    with pytest.raises(ConfigError, match="expected at least 2"):
        check_teams(contest)


@pytest.mark.parametrize("team", [f'id = {RANDOM}\nname = "Ada"', 'id = 1\nname = "random (house bot)"'])
def test_a_team_with_the_id_or_the_name_of_a_house_bot(tmp_path: Path, team: str) -> None:
    with pytest.raises(ConfigError, match=r"teams\.toml:\d: .* expected another one: the house bot 'random"):
        load_contest(folder_of(tmp_path, "random", team=team))
    load_contest(folder_of(tmp_path / "b", "greedy", team=team))


@pytest.mark.parametrize("bots", [["grady"], ["greedy", "greedy"], "greedy"])
def test_house_bots_that_there_are_not(bots: object) -> None:
    with pytest.raises(ValidationError, match="house_bots"):
        make("arena", house_bots=bots)


def test_a_boss_is_a_house_bot_of_its_level() -> None:
    assert [get_args(HouseBot).count(bot) for bot in LEVELS] == [1] * len(LEVELS)
    assert get_args(HouseBot) == tuple(HOUSE_TEAMS)
    assert make("arena", house_bots=[], bosses=[1, 3]).house == {RANDOM, HOUSE_TEAMS["search_100"]}


def test_each_arena_has_the_house_bots_of_its_own_settings(tmp_path: Path) -> None:
    event: dict[str, Any] = {"game": "hop", "format": "arena"}
    events = [
        {**event, "name": "a", "settings": {"house_bots": ["random"]}, "teams": [1, 2]},
        {**event, "name": "b", "settings": {"house_bots": ["greedy"]}},
    ]
    first, second = with_house(make_contest(tmp_path, 3, *events)).events
    assert first.teams == (1, 2, RANDOM)
    assert second.teams == (1, 2, 3, GREEDY)


@pytest.mark.usefixtures("jumping_time")
async def test_a_house_bot_plays_with_a_team_that_is_alone(tmp_path: Path, autojump_clock: MockClock) -> None:
    contest = with_house(arena(tmp_path, matches=5, pause_seconds=10))
    stage = DecidedStage(contest)
    await stage.play(1, RANDOM, GREEDY)
    assert Counter(opponents(stage, 1)) == {RANDOM: 3, GREEDY: 2}
    assert trio.current_time() < 5 * 10, "a match starts as soon as the pause is over"
    stage.check(tmp_path)


@pytest.mark.usefixtures("jumping_time")
async def test_a_team_waits_for_the_pause_until_it_gets_a_house_bot(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """Team 3 comes while 1 and 2 play for 36 s: it waits 10 s for them, and then plays with a house bot."""
    stage = DecidedStage(with_house(arena(tmp_path, matches=2, pause_seconds=10)))

    async def come() -> None:
        await trio.sleep(5)
        stage.come(3)

    await stage.play(1, 2, RANDOM, seconds=slow(1, 2), during=come)
    started = {event.match.number: when for when, event in stage.events if isinstance(event, MatchStarted)}
    assert [result.match.teams for result in sorted(stage.store.saved, key=lambda result: result.match.number)] == [
        (1, 2),
        (3, RANDOM),
    ]
    assert 15 <= started[2] < 15.1
    stage.check(tmp_path)


@pytest.mark.usefixtures("jumping_time")
async def test_a_boss_does_not_wait_until_a_team_is_alone(tmp_path: Path, autojump_clock: MockClock) -> None:
    """Team 3 comes while 1 and 2 play: it would wait 10 s for a house bot, but plays with a boss at once."""
    stage = DecidedStage(with_house(arena(tmp_path, matches=2, pause_seconds=10, house_bots=[], bosses=[2])))

    async def come() -> None:
        await trio.sleep(15)
        stage.come(3)

    await stage.play(1, 2, GREEDY, seconds=slow(1, 2), during=come)
    started = {event.match.number: when for when, event in stage.events if isinstance(event, MatchStarted)}
    assert opponents(stage, 3) == [GREEDY]
    assert 15 <= started[2] < 15.1
    stage.check(tmp_path)


async def test_the_processes_of_house_bots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A house bot plays at a low priority, is started again when it dies, and ends with the server."""
    monkeypatch.setattr(keeping, "FIRST_PAUSE_SECONDS", 0.0)
    processes = []
    start = helpers._start_house_bot

    async def noting(*args: Any) -> trio.Process:
        processes.append(await start(*args))
        return processes[-1]

    monkeypatch.setattr(helpers, "_start_house_bot", noting)
    contest = with_house(arena(tmp_path, 1, pause_seconds=0, matches=3, house_bots=["random"]))
    bus = Bus()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(keep_house_bots, contest, bus)
        await trio.testing.wait_all_tasks_blocked()
        async with running(contest, consumers=[bus.publish]) as server:
            nursery.start_soon(play, server.port, 1)
            await server.recorder.wait_for(MatchEnded)
            first = processes[0]
            if sys.platform != "win32":
                assert os.getpriority(os.PRIO_PROCESS, first.pid) == NICENESS, "the largest there is"
                assert os.getsid(first.pid) == os.getsid(0), "Linux would give a session of its own its own share"
                assert os.getpgid(first.pid) != os.getpgid(0), "Ctrl-C would end it"
            first.kill()
            await server.finished()
        assert len(processes) >= 2
        assert {result.match.teams for result in tournament_of(contest).results} <= {(1, RANDOM), (RANDOM, 1)}
        nursery.cancel_scope.cancel()
    assert all(process.returncode is not None for process in processes)


async def test_a_house_bot_ends_with_its_server(tmp_path: Path) -> None:
    """Its standard input ends, as with a server that is killed, while it tries to connect."""
    contest = with_house(arena(tmp_path, 1, house_bots=["random"]))
    process = await helpers._start_house_bot(house_bot_file("random"), contest.teams[RANDOM], "127.0.0.1", 1)
    assert process.stdin is not None
    assert process.stdout is not None
    async with process.stdout:
        with trio.fail_after(PATIENCE_SECONDS):
            await process.stdout.receive_some()
            assert process.returncode is None
            await process.stdin.aclose()
            await process.wait()
