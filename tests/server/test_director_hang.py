"""The director and a bot that hangs: its next match waits until its client has started it again."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import trio
from trio.testing import MockClock

from getstep.wire import GetStep
from getstep_server.events import MatchEnded, MatchStarted
from tests.support.contests import make_contest
from tests.support.director import Stage, numbers
from tests.support.memory_peers import MemoryPeer, honest

LIMIT = 1.0


def stage(folder: Path, matches: int, *, teams: int = 2) -> Stage:
    """A contest of a game that ends with a missed limit."""
    event = {"game": "longest_path", "move_seconds": LIMIT, "settings": {"legs": matches}}
    return Stage(make_contest(folder, teams, event=event))


def pauses(played: Stage) -> list[float]:
    """Return the seconds from the end of each match to the start of the next one."""
    times = [time for time, event in played.events if isinstance(event, (MatchStarted, MatchEnded))]
    return [round(start - end, 1) for end, start in list(pairwise(times))[1::2]]


def hangs_once(peer: MemoryPeer, question: GetStep) -> Any:
    """Never answer the first question to this peer."""
    return None if len(peer.of(GetStep)) == 1 else honest(peer, question)


async def test_of_twenty_matches_nineteen_are_played(tmp_path: Path, autojump_clock: MockClock) -> None:
    """Its client starts it again 10 s after the limit, and that takes a second."""
    played = stage(tmp_path, 20)

    async def start_again() -> None:
        played.come(1, hangs_once)
        await trio.sleep(LIMIT + 10.0)
        played.go(1)
        await trio.sleep(1.0)
        played.come(1)

    await played.play(2, during=start_again)
    reasons = [event.result.reason for event in played.of(MatchEnded)]
    assert reasons == ["missed_limit"] + ["finished"] * 19
    assert 10.5 < pauses(played)[0] < 11.5
    assert set(pauses(played)[1:]) == {0.0}


async def test_a_bot_without_a_sign_of_life_is_waited_for_once(tmp_path: Path, autojump_clock: MockClock) -> None:
    played = stage(tmp_path, 4)
    played_silently: Any = lambda peer, question: None  # noqa: E731 - as short as the others

    async def come() -> None:
        played.come(1, played_silently)

    await played.play(2, during=come)
    assert [event.result.reason for event in played.of(MatchEnded)] == ["missed_limit"] * 4
    first, *others = pauses(played)
    assert 11.5 < first < 13
    assert others == [0.0, 0.0]


async def test_a_bot_that_is_too_slow_in_each_match_is_waited_for_three_times(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    played = stage(tmp_path, 6)

    def slow(peer: MemoryPeer, question: GetStep) -> Any:
        return None if question.move_number > 2 else honest(peer, question)

    async def come() -> None:
        played.come(1, slow)

    await played.play(2, during=come)
    assert [pause > 11 for pause in pauses(played)] == [True, True, True, False, False]


async def test_the_others_do_not_wait(tmp_path: Path, autojump_clock: MockClock) -> None:
    played = stage(tmp_path, 1, teams=4)

    async def come() -> None:
        played.come(1, hangs_once)

    await played.play(2, 3, 4, during=come)
    among_others = [event.result.match for event in played.of(MatchEnded) if 1 not in event.result.match.teams]
    assert len(among_others) == 3
    last_of_1 = [
        time for time, event in played.events if isinstance(event, MatchStarted) and 1 in event.match.teams
    ]
    assert sorted(numbers(among_others)) == sorted(
        event.result.match.number
        for time, event in played.events
        if isinstance(event, MatchEnded) and 1 not in event.result.match.teams and time < last_of_1[-1]
    )
