"""A team with several bots, against the real server.

Matches at once, and a connection that is lost and restored.
"""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from typing import TYPE_CHECKING

import pytest
import trio

from getstep.wire import GetStep, Start, Step, Welcome
from getstep_server.bot_runner.sample_bots import sample_bots
from getstep_server.config.contest import load_contest
from getstep_server.storage.contest_state import results_of
from tests.support.contests import token_of
from tests.support.servers import Player, first_legal

if TYPE_CHECKING:
    from tests.support.contests import MakeContest
    from tests.support.processes import Programs, Server

SEATS = 3
BOT = sample_bots()["random_bot"]


async def arrived(server: Server) -> Player:
    """Return a bot of team 1 that has logged in."""
    player = Player(await trio.open_tcp_stream("127.0.0.1", server.port))
    await player.join(1, token_of(1))
    await player.expect(Welcome)
    return player


async def answer(player: Player, start: Start, question: GetStep) -> None:
    await player.say(Step(question.id, first_legal(start, question)))


async def lose_one_connection(server: Server) -> None:
    """Play with three bots, each in a match of its own; one loses its connection and reconnects."""
    players = [await arrived(server) for _ in range(SEATS)]
    starts = [await player.until(Start) for player in players]
    assert len({start.match for start in starts}) == SEATS
    questions = [await player.until(GetStep) for player in players]  # nobody has answered: all of them play now
    for place in range(SEATS):
        await answer(players[place], starts[place], questions[place])
        questions[place] = await players[place].until(GetStep)

    await players[1].close()
    await trio.to_thread.run_sync(partial(server.expect, r"^- Team 1: a bot disconnected, 2 bots still connected"))
    players[1] = await arrived(server)
    resumed = await players[1].expect(Start)
    assert (resumed.match, resumed.resumed) == (starts[1].match, True)
    again = await players[1].expect(GetStep)
    assert (again.id, again.board) == (questions[1].id, questions[1].board)

    async with trio.open_nursery() as nursery:
        for player, start, question in zip(players, starts, [questions[0], again, questions[2]], strict=True):
            await answer(player, start, question)
            nursery.start_soon(play_on, player, start)


async def play_on(player: Player, start: Start) -> None:
    """Play the match that has begun, and those that come after it, until goodbye."""
    goodbye = await player.play(first_legal, start)
    assert goodbye is not None
    assert goodbye.reason == "contest_over"
    await player.close()


@pytest.mark.long
def test_three_bots_of_a_team_play_at_once_and_one_returns_to_its_match(
    programs: Programs, make_contest: MakeContest
) -> None:
    folder = make_contest([{"seats": SEATS}, {}, {}, {}], event={"game": "linkage"})
    server = programs.serve(folder)
    for team in (2, 3, 4):
        programs.play(server, BOT, team)
    trio.run(lose_one_connection, server)
    assert server.wait() == 0
    assert server.complaints == []
    results = results_of(load_contest(folder))
    assert [result.reason for result in results] == ["finished"] * 12
    assert [result.faults for result in results] == [(0, 0)] * 12
    verify = [sys.executable, "-m", "getstep_server", "verify", str(folder)]
    assert subprocess.run(verify, check=False, capture_output=True).returncode == 0
