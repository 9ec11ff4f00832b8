"""The judge, with connections in memory and a mock clock: every fault, penalty and record."""

from __future__ import annotations

from typing import Any

import pytest
import trio

from getstep.referee import Clocks
from getstep.referee.answers import Answer
from getstep.wire import GetStep, Penalty, Raised, Resign, Step
from getstep_engines import GAMES, TimeControl
from getstep_server.events import (
    MovePlayed,
    ServerLate,
    TurnFaulted,
)
from getstep_server.net.seat import Received
from getstep_server.play.deadlines import DeadlineScheduler
from getstep_server.play.mailbox import MatchMailbox, MatchScript, Run, WaitUntil
from tests.support.memory_peers import FAULTS, LAG, MemoryPeer, Reply, after, at_move, honest, play


@pytest.mark.parametrize("game", GAMES)
async def test_an_honest_match_ends_by_the_rules(game: str, autojump_clock: trio.testing.MockClock) -> None:
    played = await play(honest, honest, game)
    assert played.result.reason == "finished"
    assert played.result.faults == (0, 0)
    assert played.result.turns == len(played.of(MovePlayed))
    state = GAMES[game].start()
    for move in played.of(MovePlayed):
        assert move.player == state.to_move
        state.play(move.move)
    assert state.outcome is not None
    assert (played.result.winner, played.result.scores) == (state.outcome.winner, state.outcome.scores)


async def test_messages_to_a_player(autojump_clock: trio.testing.MockClock) -> None:
    played = await play(honest, honest)
    black, white = played.peers
    assert (black.start().is_black, white.start().is_black) == (True, False)
    assert (black.start().opponent, black.start().match, black.start().time_ms) == ("Team 2", 5, 5000)
    questions = black.of(GetStep) + white.of(GetStep)
    assert len({(q.is_black, q.id) for q in questions}) == len(questions)
    assert [q.move_number for q in sorted(questions, key=lambda q: q.move_number)] == [
        n + 1 for n in range(len(questions))
    ]
    assert black.of(GetStep)[0].last_move is None
    moves = {m.player: m.move for m in played.of(MovePlayed)[:1]}
    assert white.of(GetStep)[0].last_move == moves[0]


@pytest.mark.parametrize("code", FAULTS)
async def test_a_fault_skips_the_turn_in_hop(code: str, autojump_clock: trio.testing.MockClock) -> None:
    played = await play(at_move(3, FAULTS[code]), honest)
    assert played.result.reason == "finished"
    assert played.result.faults == (1, 0)
    (fault,) = played.of(TurnFaulted)
    assert (fault.player, fault.code) == (0, code)
    (penalty,) = played.peers[0].of(Penalty)
    assert (penalty.reason, penalty.id) == (code, played.peers[0].of(GetStep)[1].id)
    assert "skipped" in penalty.detail
    questions = played.peers[1].of(GetStep)
    assert questions[1].move_number == 4
    assert questions[1].last_move is None  # the skipped turn's
    assert questions[1].board == played.peers[0].of(GetStep)[1].board


@pytest.mark.parametrize("game", ["longest_path", "chain_reaction", "linkage"])
@pytest.mark.parametrize("code", FAULTS)
async def test_a_fault_loses_where_the_rules_say_so(
    game: str, code: str, autojump_clock: trio.testing.MockClock
) -> None:
    played = await play(honest, at_move(2, FAULTS[code]), game)
    assert (played.result.winner, played.result.reason, played.result.faults) == (0, code, (0, 1))


@pytest.mark.parametrize("code", FAULTS)
async def test_a_fault_fills_the_board_in_pseudo_tonga(code: str, autojump_clock: trio.testing.MockClock) -> None:
    played = await play(at_move(1, FAULTS[code]), honest, "pseudo_tonga")
    assert (played.result.winner, played.result.scores, played.result.reason) == (1, (0, 64 * 64), code)


async def test_resigning(autojump_clock: trio.testing.MockClock) -> None:
    played = await play(honest, at_move(2, lambda _, q: Resign(q.id)))
    assert (played.result.winner, played.result.reason, played.result.scores) == (0, "resigned", None)


async def test_the_limit_has_an_allowance_for_lag_and_no_more(autojump_clock: trio.testing.MockClock) -> None:
    in_time = await play(at_move(1, after(5.0 + LAG - 0.01)), honest)
    assert in_time.result.faults == (0, 0)
    late = await play(at_move(1, after(5.0 + LAG + 0.01)), honest)
    assert late.result.faults == (1, 0)


async def test_a_hung_bot_is_not_waited_for(autojump_clock: trio.testing.MockClock) -> None:
    played = await play(lambda _, q: None, honest, "longest_path", TimeControl("move", 3.0))
    assert played.result.seconds == pytest.approx(3.0 + LAG)
    assert played.result.winner == 1


async def test_a_late_answer_does_not_answer_the_next_question(autojump_clock: trio.testing.MockClock) -> None:
    def slow(peer: MemoryPeer, question: GetStep) -> Any:
        return after(7.0)(peer, question) if question.move_number == 1 else None

    played = await play(slow, honest, "hop", TimeControl("move", 5.0))
    assert played.result.faults[0] == 200  # all 200 turns missed: the late one counted for nothing


async def test_a_budget_is_spent_over_the_whole_match(autojump_clock: trio.testing.MockClock) -> None:
    control = TimeControl("budget", 20.0)
    played = await play(after(0.7), after(0.1), "pseudo_tonga", control)
    # 0.7 s a move: the 29th would end at 20.3 s, beyond 20 s and the allowance
    assert (played.result.reason, played.result.faults) == ("missed_limit", (1, 0))
    assert played.result.thought[0] == pytest.approx(20.0)
    left = [question.time_left_ms for question in played.peers[0].of(GetStep)]
    assert left[:3] == [20000, 19300, 18600]
    assert len(left) == 29
    enough = await play(after(0.6), after(0.6), "pseudo_tonga", control)
    assert enough.result.reason == "finished"


def test_the_allowance_is_no_extra_thinking_time_in_a_budget() -> None:
    clocks = Clocks(TimeControl("budget", 1.0), LAG)
    clocks.charge(0, 1050.0)
    assert clocks.limit(0) == 0.0
    assert clocks.limit(1) == 1.0


def test_increments_add_up_to_the_last_digit() -> None:
    clocks = Clocks(TimeControl("budget", 0.3, 0.1), LAG)
    assert clocks.limit(0) == 0.3  # the first turn has the budget alone
    for _ in range(10):
        clocks.charge(0, 0.001)
        clocks.earn(0)
    assert clocks.limit(0) == 1.29999
    assert clocks.limit(1) == 0.3
    assert clocks.thought == (0.00001, 0.0)  # what was earned is no thinking time


def test_an_overdrawn_budget_reduces_the_increment() -> None:
    clocks = Clocks(TimeControl("budget", 1.0, 0.2), LAG)
    clocks.charge(0, 1050.0)
    clocks.earn(0)
    assert clocks.limit(0) == 0.15


def test_increments_never_come_to_more_than_the_wire_can_say() -> None:
    clocks = Clocks(TimeControl("budget", 86_400.0, 86_400.0), LAG)
    clocks.earn(0)
    assert clocks.limit(0) == 86_400.0
    clocks.charge(0, 86_400_000.0)
    assert clocks.limit(0) == 86_400.0  # it was saved up, though


def test_a_limit_for_each_move_has_no_increment() -> None:
    with pytest.raises(ValueError, match=r"^increment is 0\.5 with kind 'move'; expected "):
        TimeControl("move", 5.0, 0.5)
    with pytest.raises(ValueError, match=r"^increment is -0\.5 with kind 'budget'; expected "):
        TimeControl("budget", 5.0, -0.5)


async def test_an_increment_comes_after_each_answer(autojump_clock: trio.testing.MockClock) -> None:
    control = TimeControl("budget", 1.0, 0.5)
    played = await play(after(0.6), after(0.4), "pseudo_tonga", control)
    assert played.result.reason == "missed_limit"  # 1 s + 0.5 s a move, and 0.6 s a move spent
    asked = [[question.time_left_ms for question in peer.of(GetStep)] for peer in played.peers]
    assert asked[0][:6] == [1000, 900, 800, 700, 600, 500]
    assert asked[1][:3] == [1000, 1100, 1200]
    starts = [peer.start() for peer in played.peers]
    assert [(start.time_kind, start.time_ms, start.increment_ms) for start in starts] == [("budget", 1000, 500)] * 2
    assert (await play(after(0.6), after(0.4), "pseudo_tonga", TimeControl("budget", 1.0, 0.6))).result.reason == (
        "finished"
    )


async def test_a_fault_earns_the_increment_and_a_missed_limit_does_not(
    autojump_clock: trio.testing.MockClock,
) -> None:
    def wrong(peer: MemoryPeer, question: GetStep) -> Answer:
        return Step(question.id, None) if question.move_number == 1 else Raised(question.id, "no")

    def clumsy(peer: MemoryPeer, question: GetStep) -> Any:
        if question.move_number == 7:
            return None
        return (after(0.1, wrong) if question.move_number in (1, 3) else after(0.1))(peer, question)

    played = await play(clumsy, honest, "hop", TimeControl("budget", 1.0, 0.5))
    left = [question.time_left_ms for question in played.peers[0].of(GetStep)]
    assert left == [1000, 1400, 1800, 2200]  # then it misses the limit, and is not asked again
    assert played.result.faults == (199, 0)
    assert played.result.thought[0] == pytest.approx(2.5)  # 1 s and 3 increments, all of it spent


async def test_a_violation_loses_at_once_even_out_of_turn(autojump_clock: trio.testing.MockClock) -> None:
    async def misbehave(peers: list[MemoryPeer]) -> None:
        await trio.sleep(1.5)
        peers[1].seat.violation(peers[1], "oversize_frame", "a frame of 5000 bytes")

    played = await play(after(4.0), honest, during=misbehave)
    assert (played.result.winner, played.result.reason, played.result.scores) == (0, "hostile", None)
    assert played.result.seconds == pytest.approx(1.5)
    assert "oversize_frame" in played.result.detail


async def test_three_misses_without_a_connection_lose(autojump_clock: trio.testing.MockClock) -> None:
    async def vanish(peers: list[MemoryPeer]) -> None:
        await trio.sleep(2.0)
        peers[0].seat.detach(peers[0], "gone")

    played = await play(lambda _, q: None, honest, during=vanish)
    assert (played.result.winner, played.result.reason) == (1, "absent")
    assert played.result.faults == (2, 0)
    assert played.result.seconds == pytest.approx(3 * (5.0 + LAG))


async def test_a_player_that_reconnects_in_time_gets_the_same_question(
    autojump_clock: trio.testing.MockClock,
) -> None:
    links_back: list[MemoryPeer] = []

    async def come_back(peers: list[MemoryPeer]) -> None:
        await trio.sleep(2.0)
        peers[0].seat.detach(peers[0], "gone")
        await trio.sleep(1.0)
        links_back.append(MemoryPeer(peers[0].nursery, peers[0].seat, honest))

    played = await play(at_move(1, lambda _, q: None), honest, during=come_back)
    assert played.result.faults == (0, 0)
    (asked,) = played.peers[0].of(GetStep)
    again = links_back[0].of(GetStep)[0]
    assert (again.id, again.board) == (asked.id, asked.board)
    assert again.time_left_ms == 2000
    assert links_back[0].start().resumed
    assert not played.peers[0].start().resumed
    assert played.result.thought[0] == pytest.approx(3.0)


async def test_a_miss_with_a_connection_interrupts_the_count(autojump_clock: trio.testing.MockClock) -> None:
    async def come_and_go(peers: list[MemoryPeer]) -> None:
        for _ in range(4):  # away for two limits, there for one
            peer = (
                peers[0]
                if peers[0].seat.connection
                else MemoryPeer(peers[0].nursery, peers[0].seat, lambda _, q: None)
            )
            peer.seat.detach(peer, "gone")
            await trio.sleep(2 * (5.0 + LAG))
            MemoryPeer(peers[0].nursery, peers[0].seat, lambda _, q: None)
            await trio.sleep(5.0 + LAG)

    played = await play(lambda _, q: None, honest, during=come_and_go)
    assert played.result.reason == "finished"


async def test_time_of_several_server_stalls_is_given_back(
    autojump_clock: trio.testing.MockClock,
) -> None:
    def stands_still(*seconds: float) -> Reply:
        def answer(peer: MemoryPeer, question: GetStep) -> Any:
            async def later() -> Any:
                for stall in seconds:
                    await trio.sleep(1.0)
                    autojump_clock.jump(stall)
                await trio.sleep(1.0)
                return honest(peer, question)

            return later

        return answer

    patient = await play(at_move(1, stands_still(6.0)), honest)
    assert patient.result.faults == (0, 0)
    assert [late.seconds for late in patient.of(ServerLate)] == [pytest.approx(6.0, abs=0.05)]
    twice = await play(at_move(1, stands_still(6.0, 20.0)), honest)
    assert twice.result.faults == (0, 0)
    assert [round(late.seconds) for late in twice.of(ServerLate)] == [6, 26]
    own_fault = await play(at_move(1, stands_still(6.0, 0.0, 0.0, 0.0, 0.0)), honest)
    assert own_fault.result.faults == (1, 0)


async def test_a_resignation_in_pseudo_tonga_is_scored_like_a_fault(autojump_clock: trio.testing.MockClock) -> None:
    """Else a loser would escape the match's value, and deny it to the winner, by resigning in time."""
    resigned = await play(honest, at_move(2, lambda _, q: Resign(q.id)), "pseudo_tonga")
    fault = await play(honest, at_move(2, FAULTS["raised"]), "pseudo_tonga")
    assert resigned.result.scores == fault.result.scores == (64 * 64, 0)
    assert (resigned.result.winner, resigned.result.reason) == (0, "resigned")


async def test_a_violation_out_of_turn_is_scored_against_the_violator(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async def misbehave(peers: list[MemoryPeer]) -> None:
        await trio.sleep(1.5)
        peers[1].seat.violation(peers[1], "oversize_frame", "a frame of 5000 bytes")

    played = await play(after(4.0), honest, "pseudo_tonga", during=misbehave)
    assert (played.result.winner, played.result.scores) == (0, (64 * 64, 0))


async def test_a_spent_budget_leaves_no_allowance_to_play_on_with(autojump_clock: trio.testing.MockClock) -> None:
    played = await play(at_move(1, after(2.05)), honest, "hop", TimeControl("budget", 2.0))
    assert played.result.faults == (199, 0)  # the first answer was within the allowance
    assert len(played.peers[0].of(GetStep)) == 1


# --- where the judge works ----------------------------------------------------------------------------------------


def judging(received: list[Any], *, deadline: float = 1e9) -> MatchScript:
    """A judge's script that collects three received entries, or None for a deadline."""
    for _ in range(3):
        received.append((yield WaitUntil(deadline)))


def arrival_of(number: int) -> Any:
    return Received(None, Resign(number + 1), 0.0, stamped=False)  # type: ignore[arg-type]  # no connection: the judge does not look at it


async def test_the_judge_runs_in_the_task_that_reads_the_answer(autojump_clock: trio.testing.MockClock) -> None:
    received: list[Any] = []
    table, arrivals = MatchMailbox(DeadlineScheduler()), [arrival_of(n) for n in range(3)]
    async with trio.open_nursery() as nursery:
        nursery.start_soon(table.play, judging(received))
        table.put(arrivals[0])  # before it has begun: it is there when it does
        table.wake()
        await trio.testing.wait_all_tasks_blocked()
        for number in (1, 2):
            table.put(arrivals[number])
            assert len(received) == number
            table.wake()
            assert received == arrivals[: number + 1]  # at once, and no task had its turn
    table.put(arrivals[0])
    table.wake()  # after the end nobody listens
    assert received == arrivals


async def test_only_a_deadline_that_has_passed_wakes_the_judge(autojump_clock: trio.testing.MockClock) -> None:
    received: list[Any] = []
    scheduler = DeadlineScheduler()
    table = MatchMailbox(scheduler)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(scheduler.run)
        async with trio.open_nursery() as playing:
            playing.start_soon(table.play, judging(received, deadline=trio.current_time() + 1.0))
            await trio.sleep(0.5)
            table._timer.fire()  # as when it rings while an answer is being read
            await trio.sleep(0.4)
            assert received == []
            await trio.sleep(0.2)
            assert received == [None] * 3
        nursery.cancel_scope.cancel()


async def test_coroutines_run_in_the_task_of_the_match(autojump_clock: trio.testing.MockClock) -> None:
    done: list[str] = []

    async def coroutine() -> None:
        await trio.sleep(1.0)
        done.append("coroutine")

    def turns() -> MatchScript:
        arrival = yield WaitUntil(1e9)
        assert arrival is not None
        assert (yield Run(coroutine)) is None
        done.append("move")
        arrival = yield WaitUntil(1e9)
        assert arrival is not None
        done.append("next move")

    table = MatchMailbox(DeadlineScheduler())
    async with trio.open_nursery() as nursery:
        nursery.start_soon(table.play, turns())
        await trio.testing.wait_all_tasks_blocked()
        for number in (1, 2):  # the second while the coroutine runs
            table.put(arrival_of(number))
            table.wake()
        assert done == []
    assert done == ["coroutine", "move", "next move"]


async def test_a_judge_that_fails_fails_in_its_own_match(autojump_clock: trio.testing.MockClock) -> None:
    def turns() -> MatchScript:
        yield WaitUntil(1e9)
        raise ZeroDivisionError

    table = MatchMailbox(DeadlineScheduler())
    with pytest.RaisesGroup(ZeroDivisionError):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(table.play, turns())
            await trio.testing.wait_all_tasks_blocked()
            table.put(arrival_of(1))
            table.wake()  # not here


async def test_a_match_that_is_cancelled_judges_nothing_more(autojump_clock: trio.testing.MockClock) -> None:
    received: list[Any] = []
    table = MatchMailbox(DeadlineScheduler())
    async with trio.open_nursery() as nursery:
        nursery.start_soon(table.play, judging(received))
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    table.put(arrival_of(1))
    table.wake()
    assert received == []
