"""Pauses of a match: the clocks of the judge, what the players are told, and what goes on record."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import trio
import trio.testing

from getstep.wire import GetStep, Notice, Start
from getstep_engines import TimeControl
from getstep_server.play.pause import MatchPause
from getstep_server.play.scoresheet import Scoresheet
from getstep_server.records.pause import Pause
from tests.support.memory_peers import MemoryPeer, after, at_move, honest, play

NOW, AT_TURN_END = Pause("the fire alarm", at_once=True), Pause("the fire alarm")
CONTROLS = [TimeControl("move", 5.0), TimeControl("budget", 60.0, 1.0)]


class KeptSheet(Scoresheet):
    """A scoresheet whose turns a test can read."""

    kept: list[dict[str, Any]]

    def write(self, turn: Any) -> Any:
        type(self).kept.append(dict(turn))
        return super().write(turn)


@pytest.fixture
def turns() -> list[dict[str, Any]]:
    KeptSheet.kept = []
    return KeptSheet.kept


def paused(pause: MatchPause, *times: tuple[float, Pause | None]) -> Callable[[list[MemoryPeer]], Any]:
    """Return a task that pauses and resumes a match at these times."""

    async def host(peers: list[MemoryPeer]) -> None:
        began = trio.current_time()
        for at, order in times:
            await trio.sleep_until(began + at)
            pause.set(order)

    return host


@pytest.mark.parametrize("control", CONTROLS, ids=["move", "budget"])
async def test_the_time_of_a_pause_is_given_back_exactly(
    control: TimeControl, turns: list[dict[str, Any]], autojump_clock: trio.testing.MockClock
) -> None:
    """The player answers 2 s after the question, and 3 s of its thinking are in two pauses of 100 s together."""
    pause = MatchPause()
    host = paused(pause, (1.0, NOW), (41.0, None), (42.0, NOW), (102.0, None))
    played = await play(at_move(1, after(104.5)), honest, "hop", control, host, KeptSheet, pause=pause)
    assert played.result.faults == (0, 0)
    first, second = turns[0], turns[1]
    assert (first["ms"], first["paused_ms"]) == (pytest.approx(4500), pytest.approx(100_000))
    assert "paused_ms" not in second
    if control.kind == "budget":
        left = [question.time_left_ms for question in played.peers[0].of(GetStep)][:2]
        assert left == [60_000, 60_000 - 4500 + 1000]


async def test_an_answer_in_a_pause_counts_and_the_next_question_waits(
    turns: list[dict[str, Any]], autojump_clock: trio.testing.MockClock
) -> None:
    pause, asked = MatchPause(), []

    def second(peer: MemoryPeer, question: GetStep) -> Any:
        asked.append(trio.current_time() - began)
        return honest(peer, question)

    began = trio.current_time()
    host = paused(pause, (1.0, NOW), (50.0, None))
    await play(at_move(1, after(30.0)), second, during=host, sheet=KeptSheet, pause=pause)
    assert (turns[0]["ms"], turns[0]["paused_ms"]) == (pytest.approx(1000), pytest.approx(29_000))
    assert asked[0] == pytest.approx(50.0)


async def test_a_limit_that_runs_out_after_the_pause_is_missed_then(
    turns: list[dict[str, Any]], autojump_clock: trio.testing.MockClock
) -> None:
    pause = MatchPause()
    host = paused(pause, (3.0, NOW), (100.0, None))
    await play(at_move(1, lambda *_: None), honest, during=host, sheet=KeptSheet, pause=pause)
    missed = turns[0]
    assert (missed["fault"], missed["ms"]) == ("missed_limit", 5000)
    assert missed["waited_ms"] == pytest.approx(5100, abs=1)
    assert missed["paused_ms"] == pytest.approx(97_000)


async def test_without_now_the_turn_is_played_to_its_end(
    turns: list[dict[str, Any]], autojump_clock: trio.testing.MockClock
) -> None:
    pause = MatchPause()
    host = paused(pause, (1.0, AT_TURN_END), (100.0, None))
    played = await play(at_move(1, lambda *_: None), honest, during=host, sheet=KeptSheet, pause=pause)
    assert turns[0]["waited_ms"] == pytest.approx(5100, abs=1)
    assert "paused_ms" not in turns[0]
    assert "paused_ms" not in turns[1]
    for peer in played.peers:
        told = [(notice.kind, notice.match, notice.text) for notice in peer.of(Notice)]
        assert told == [
            ("paused", 5, "The host has paused the match: the fire alarm"),
            ("resumed", 5, "The match goes on."),
        ]


async def test_a_pause_of_a_match_that_is_going_to_pause_can_still_stop_at_once(
    turns: list[dict[str, Any]], autojump_clock: trio.testing.MockClock
) -> None:
    pause = MatchPause()
    host = paused(pause, (1.0, AT_TURN_END), (2.0, NOW), (50.0, AT_TURN_END), (60.0, None))
    await play(at_move(1, after(49.0)), honest, during=host, sheet=KeptSheet, pause=pause)
    assert (turns[0]["ms"], turns[0]["paused_ms"]) == (pytest.approx(2000), pytest.approx(47_000))


async def test_a_lost_connection_in_a_pause_costs_nothing(
    turns: list[dict[str, Any]], autojump_clock: trio.testing.MockClock
) -> None:
    """The new connection is told of the pause and gets the question with the time that was left."""
    pause, back = MatchPause(), []

    async def host(peers: list[MemoryPeer]) -> None:
        await trio.sleep(1.0)
        pause.set(NOW)
        peers[0].seat.detach(peers[0], "lost")
        await trio.sleep(50.0)
        back.append(MemoryPeer(peers[0].nursery, peers[0].seat, at_move(1, after(53.0))))
        await trio.sleep(50.0)
        pause.set(None)

    played = await play(at_move(1, lambda *_: None), honest, during=host, sheet=KeptSheet, pause=pause)
    assert played.result.faults == (0, 0)
    assert [type(message) for message in back[0].said[:3]] == [Start, Notice, GetStep]
    assert back[0].of(GetStep)[0].time_left_ms == 4000
    assert turns[0]["ms"] == pytest.approx(1000 + 3000)


async def test_a_suspended_server_in_a_pause_gives_nothing_twice(
    turns: list[dict[str, Any]], autojump_clock: trio.testing.MockClock
) -> None:
    pause = MatchPause()

    async def host(peers: list[MemoryPeer]) -> None:
        await trio.sleep(1.0)
        pause.set(NOW)
        await trio.sleep(1.0)
        autojump_clock.jump(3600.0)
        await trio.sleep(1.0)
        pause.set(None)

    await play(at_move(1, lambda *_: None), honest, during=host, sheet=KeptSheet, pause=pause)
    assert "late_ms" not in turns[0]
    assert turns[0]["waited_ms"] == pytest.approx(5100, abs=1)


async def test_a_violation_in_a_pause_loses_the_match(autojump_clock: trio.testing.MockClock) -> None:
    for order in (NOW, AT_TURN_END):
        pause = MatchPause()

        async def host(peers: list[MemoryPeer], pause: MatchPause = pause, order: Pause = order) -> None:
            pause.set(order)
            await trio.sleep(20.0)
            peers[1].seat.violation(peers[1], "oversize_frame", "a frame of 5000 bytes")

        played = await play(after(1.0), after(1.0), during=host, pause=pause)
        assert (played.result.winner, played.result.reason) == (0, "hostile")


async def test_a_match_that_begins_in_a_pause_asks_nothing_before_its_end(
    autojump_clock: trio.testing.MockClock,
) -> None:
    pause = MatchPause()
    pause.set(AT_TURN_END)
    asked = []

    def first(peer: MemoryPeer, question: GetStep) -> Any:
        asked.append(trio.current_time() - began)
        return honest(peer, question)

    began = trio.current_time()
    await play(first, honest, during=paused(pause, (70.0, None)), pause=pause)
    assert asked[0] == pytest.approx(70.0)
