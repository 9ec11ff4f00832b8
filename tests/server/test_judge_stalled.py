"""The judge and stalled players: their turns are skipped without waiting."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
import trio

from getstep.wire import GetStep, Penalty, Raised
from getstep_engines import TimeControl
from getstep_server.events import (
    Event,
    PlayerAskedAgain,
    PlayerStalled,
    TurnFaulted,
)
from getstep_server.net.seat import Seat
from getstep_server.play.scoresheet import Scoresheet
from getstep_server.storage.journal import WriteResult
from tests.support.memory_peers import FAULTS, LAG, MemoryPeer, Played, Reply, after, at_move, honest, play

pytestmark = pytest.mark.usefixtures("jumping_time")

hung: Reply = lambda _, question: None  # noqa: E731 - the type of a Reply is beside its name


def skipped_turns(played: Played, player: int) -> list[str]:
    return [fault.code for fault in played.of(TurnFaulted) if fault.player == player]


async def test_an_endless_loop_costs_the_opponent_three_limits(autojump_clock: trio.testing.MockClock) -> None:
    played = await play(hung, honest)
    assert played.result.seconds == pytest.approx(3 * (5.0 + LAG))
    assert (played.result.reason, played.result.faults) == ("finished", (200, 0))
    assert skipped_turns(played, 0) == ["missed_limit"] * 3 + ["stalled"] * 197
    assert len(played.peers[0].of(GetStep)) == 3  # nothing more is sent to a client that does not read
    first, second, last = played.peers[0].of(Penalty)
    assert (first.reason, second.reason, last.reason) == ("missed_limit", "missed_limit", "stalled")
    assert last.id == played.peers[0].of(GetStep)[2].id
    assert "197 more" in last.detail
    assert played.result.thought[0] == pytest.approx(15.0)
    assert [event.player for event in played.of(PlayerStalled)] == [0]
    assert played.of(PlayerAskedAgain) == []


async def test_two_endless_loops_end_soon_and_do_not_delay_others(autojump_clock: trio.testing.MockClock) -> None:
    class Rounds(trio.abc.Instrument):
        """The number of faulted turns at each time when the event loop polls for input."""

        def before_io_wait(self, timeout: float) -> None:
            lengths.append(len(faults))

    lengths: list[int] = []
    faults: list[Event] = []

    def publish(event: Event) -> None:
        faults.extend([event] if isinstance(event, TurnFaulted) else [])

    trio.lowlevel.add_instrument(Rounds())
    played = await play(hung, hung, publish=publish)
    assert (played.result.reason, played.result.faults) == ("finished", (200, 200))
    assert played.result.seconds == pytest.approx(6 * (5.0 + LAG), abs=0.02)
    assert len(faults) == 400
    assert max(after - before for before, after in pairwise(lengths)) == 1


async def test_a_stalled_player_that_answers_is_asked_again(autojump_clock: trio.testing.MockClock) -> None:
    """The answer to the last question that it got is late: a sign of life, and no move."""
    replies = {1: hung, 3: hung, 5: after(10.0)}
    late = await play(lambda peer, q: replies.get(q.move_number, honest)(peer, q), after(1.0))
    codes = skipped_turns(late, 0)
    assert codes[:3] == ["missed_limit"] * 3
    assert set(codes[3:]) == {"stalled"}
    assert 3 <= len(codes[3:]) <= 5  # 5 s at a second each
    (again,) = late.of(PlayerAskedAgain)
    assert again.skipped == len(codes[3:])
    penalty = late.peers[0].of(Penalty)[-1]
    assert (penalty.reason, f"{again.skipped} more" in penalty.detail) == ("stalled", True)
    assert late.result.faults[0] == 3 + again.skipped  # the rest it has played
    questions = late.peers[0].of(GetStep)
    assert questions[3].time_left_ms == 5000
    assert questions[3].move_number > 5 + 2 * again.skipped


async def test_a_slow_player_is_never_stalled(autojump_clock: trio.testing.MockClock) -> None:
    played = await play(lambda peer, q: after(7.0)(peer, q), honest)
    assert set(skipped_turns(played, 0)) == {"missed_limit"}
    assert played.of(PlayerStalled) == []


async def test_a_stalled_player_that_logs_in_again_is_asked_again(autojump_clock: trio.testing.MockClock) -> None:
    async def start_it_again(peers: list[MemoryPeer]) -> None:
        await trio.sleep(4 * (5.0 + LAG))
        MemoryPeer(peers[0].nursery, peers[0].seat, honest)

    played = await play(hung, after(1.0), during=start_it_again)
    assert played.of(PlayerAskedAgain) != []
    assert played.result.faults[0] == 3 + played.of(PlayerAskedAgain)[0].skipped


async def test_a_stalled_player_that_loses_its_connection_is_waited_for(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async def vanish(peers: list[MemoryPeer]) -> None:
        await trio.sleep(4 * (5.0 + LAG))
        peers[0].seat.detach(peers[0], "gone")

    played = await play(hung, after(1.0), during=vanish)
    assert (played.result.winner, played.result.reason) == (1, "absent")
    codes = skipped_turns(played, 0)
    assert codes[-2:] == ["missed_limit"] * 2
    assert "stalled" in codes


async def test_a_violation_of_a_stalled_player_counts_without_a_question(
    autojump_clock: trio.testing.MockClock,
) -> None:
    seats: list[Seat] = []

    async def misbehave(peers: list[MemoryPeer]) -> None:
        seats.extend(peer.seat for peer in peers)

    def publish(event: Event) -> None:
        peer = seats[0].connection
        if isinstance(event, TurnFaulted) and event.code == "stalled" and peer is not None:
            seats[0].violation(peer, "bad_msgpack", "no message")

    played = await play(hung, hung, during=misbehave, publish=publish)
    assert (played.result.winner, played.result.reason) == (1, "hostile")
    assert played.result.faults == (4, 3)


async def test_an_answer_that_comes_while_the_disk_is_full_is_late(autojump_clock: trio.testing.MockClock) -> None:
    """The turn was over when it came: it is not the opponent's next move."""
    written: list[str] = []

    class Slow(Scoresheet):
        def write(self, turn: Any) -> WriteResult:
            super().write(turn)
            return WriteResult.FAILED if "fault" in turn else WriteResult.WRITTEN

        async def retry_until_written(self) -> None:
            await trio.sleep(3.0)
            written.append("at last")

    played = await play(at_move(1, after(7.0)), honest, sheet=Slow)
    assert written
    assert (played.result.faults, played.result.reason) == ((1, 0), "finished")


@pytest.mark.parametrize("game", ["longest_path", "chain_reaction", "linkage", "pseudo_tonga"])
async def test_no_player_is_stalled_where_a_missed_limit_ends_the_game(
    game: str, autojump_clock: trio.testing.MockClock
) -> None:
    played = await play(hung, honest, game)
    assert (played.result.reason, played.result.faults) == ("missed_limit", (1, 0))
    assert played.of(PlayerStalled) == []


async def test_a_spent_budget_in_hop_skips_turns_without_stalling(autojump_clock: trio.testing.MockClock) -> None:
    played = await play(hung, honest, "hop", TimeControl("budget", 2.0))
    assert skipped_turns(played, 0) == ["missed_limit"] * 200
    assert played.result.reason == "finished"
    assert played.result.seconds == pytest.approx(2.0 + LAG)


@pytest.mark.parametrize("code", FAULTS)
async def test_a_game_that_ends_with_a_skipped_turn_is_finished(
    code: str, autojump_clock: trio.testing.MockClock
) -> None:
    """Its own rule has ended it, after 200 turns each; the fault has only skipped one."""
    fails: Reply = lambda _, q: Raised(q.id, "no idea")  # noqa: E731 - the type of a Reply is beside its name
    last = FAULTS[code]
    played = await play(fails, lambda peer, q: (last if q.move_number == 400 else fails)(peer, q))
    assert (played.result.turns, played.result.faults) == (400, (200, 200))
    assert skipped_turns(played, 1)[-1] == code
    assert (played.result.reason, played.result.winner) == ("finished", None)
