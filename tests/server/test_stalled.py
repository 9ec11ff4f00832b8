"""Bots that hang in an endless loop, over real connections: what they cost, and how they come back."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
import trio

from getstep.wire import End, GetStep, Penalty, Start, Step
from getstep.wire.classic import FRAME
from getstep_server.config.contest import Contest
from getstep_server.events import BotHangs, MatchEnded, PlayerAskedAgain, PlayerStalled, TurnFaulted
from getstep_server.incident import Incident
from getstep_server.storage.store import Store
from getstep_server.storage.verify import verify
from tests.support.contests import make_contest
from tests.support.patience import PATIENCE_SECONDS
from tests.support.servers import Recorder, first_legal, running, seated

LIMIT = 0.1


@pytest.fixture(autouse=True)
def _next_match_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin the next match of a bot that hangs without waiting for it: that is tested with another clock."""
    monkeypatch.setattr("getstep_server.runtime.presence.RECOVERY_SECONDS", 0.0)


def hop(folder: Path) -> Contest:
    """Return a contest of two matches with a short limit."""
    return make_contest(folder, event={"game": "hop", "move_seconds": LIMIT}, time={"lag_ms": 20})


def faults_of(recorder: Recorder, team: int, match: int) -> list[str]:
    faults = recorder.of(TurnFaulted)
    return [f.code for f in faults if f.match.teams[f.player] == team and f.match.number == match]


async def test_an_endless_loop_costs_three_limits_a_match(tmp_path: Path) -> None:
    contest = hop(tmp_path)
    async with (
        running(contest) as server,
        seated(server.port, 1),  # it does not even read
        seated(server.port, 2) as honest,
        trio.open_nursery() as nursery,
    ):
        nursery.start_soon(honest.play)
        for match in (1, 2):
            ended = await server.recorder.wait_for(MatchEnded, match)
            assert ended.result.reason == "finished"
            codes = faults_of(server.recorder, 1, match)
            assert codes == ["missed_limit"] * 3 + ["stalled"] * (len(codes) - 3)
            assert len(codes) > 3
        assert server.recorder.of(BotHangs) == [BotHangs(1, 1, 3)]
        await server.finished()
        assert server.recorder.of(Incident) == []
    with Store(contest.database) as store:
        assert verify(contest, store).played == 2


async def test_an_answer_to_a_stalled_question_is_followed_by_a_new_one(tmp_path: Path) -> None:
    contest = hop(tmp_path)
    async with (
        running(contest) as server,
        seated(server.port, 1) as hung,
        seated(server.port, 2) as honest,
        trio.open_nursery() as nursery,
    ):
        nursery.start_soon(honest.play)
        start = await hung.expect(Start)
        questions = [await hung.expect(GetStep)]
        for _ in range(2):
            penalty = await hung.expect(Penalty)
            assert (penalty.id, penalty.reason) == (questions[-1].id, "missed_limit")
            questions.append(await hung.expect(GetStep))
        await server.recorder.wait_for(PlayerStalled)
        await hung.say(Step(questions[-1].id, first_legal(start, questions[-1])))
        closed = await hung.until(Penalty)
        again = await server.recorder.wait_for(PlayerAskedAgain)
        assert closed.id == questions[-1].id
        assert closed.reason == ("stalled" if again.skipped else "missed_limit")
        question = await hung.expect(GetStep)
        assert question.move_number > questions[-1].move_number + 2 * again.skipped
        assert question.time_left_ms == round(LIMIT * 1000)
        await hung.say(Step(question.id, first_legal(start, question)))
        await hung.play(start=start)
        await server.finished()
    with Store(contest.database) as store:
        assert verify(contest, store).played == 2


async def test_a_stale_answer_of_a_classic_client_is_a_sign_of_life(tmp_path: Path) -> None:
    contest = make_contest(
        tmp_path,
        event={"game": "hop", "move_seconds": LIMIT},
        time={"lag_ms": 20},
        server={"classic_port": 0},
    )
    async with (
        running(contest) as server,
        seated(server.port, 2) as honest,
        await trio.open_tcp_stream("127.0.0.1", server.classic_port or 0) as hung,
        trio.open_nursery() as nursery,
    ):
        nursery.start_soon(honest.play)
        await hung.send_all(struct.pack("<i", 1))
        first = await question_of(hung)
        await server.recorder.wait_for(PlayerStalled)
        await hung.send_all(struct.pack("<4i", 1, first, 0, 0))  # one square is no move; and it is late
        await server.recorder.wait_for(PlayerAskedAgain)
        assert [await question_of(hung) for _ in range(3)] == [first + 1, first + 2, first + 3]
        nursery.cancel_scope.cancel()


async def question_of(stream: trio.SocketStream) -> int:
    """Return the move id of the next question to a classic client."""
    data = b""
    with trio.fail_after(PATIENCE_SECONDS):
        while len(data) < FRAME.size:
            data += await stream.receive_some(FRAME.size - len(data))
    return int(FRAME.unpack(data)[1])


async def test_the_end_of_a_match_reports_the_skipped_turns(tmp_path: Path) -> None:
    async with (
        running(hop(tmp_path)) as server,
        seated(server.port, 1) as hung,
        seated(server.port, 2) as honest,
        trio.open_nursery() as nursery,
    ):
        nursery.start_soon(honest.play)
        *_, last = [await hung.until(Penalty) for _ in range(3)]
        skipped = faults_of(server.recorder, 1, 1).count("stalled")
        assert (last.reason, f"{skipped} more" in last.detail) == ("stalled", True)
        await hung.expect(End)
        nursery.cancel_scope.cancel()
