"""The steps of cases on the classic wire (docs/classic.md), for the clients of 2019. They play hop only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from msgspec import Meta

from getstep.wire import RemoteProtocolError
from getstep.wire.classic import ClassicReader, question_bytes, stop_bytes
from getstep_engines import GAMES, IllegalMove

from ._line import Cut
from ._outcome import NotAsRequired
from ._play import TEAM, Play
from ._steps import Ended, Seconds, Step

Board = list[list[int]]

_BOARDS: tuple[Board, ...] = tuple(
    [list(map(int, row)) for row in rows]
    for rows in (
        ("10000000", "01000002", "10100020", "01000202", "10100020", "01000202", "10000020", "00000002"),
        ("10000000", "01000002", "10010020", "01000202", "10010020", "01002002", "10000020", "00000002"),
        ("00000010", "00000201", "02000000", "00102000", "00000001", "20000000", "00001000", "02000010"),
        ("00000000", "00100000", "00000000", "00000000", "00000000", "00000200", "00000000", "00000000"),
    )
)
"""Boards on which both players have moves; the questions use them in turn."""


class ClassicLogin(Step, frozen=True):
    """Accept, and read the team id."""

    least: Seconds = 0

    async def run(self, play: Play) -> None:
        await play.accept(self.least)
        play.classic_reader = ClassicReader()
        data = await play.receive_bytes(4)
        team = int.from_bytes(data, "little", signed=True)
        if len(data) < 4 or team != TEAM:
            raise NotAsRequired(f"it sent {data.hex(' ')!r} first, expected the team id {TEAM}")
        play.classic_reader.feed(data)


class Ask(Step, frozen=True):
    """Send a question.

    Attributes:
        white: the client is the second player.
        move_id: of the question; 0 for the one after the last.
        hold: deliver it together with the next one.
        times: how often, each time with the next move id.
    """

    white: bool = False
    move_id: Annotated[int, Meta(ge=0, le=2**31 - 1)] = 0
    again: bool = False
    cut: Cut = "whole"
    hold: bool = False
    times: Annotated[int, Meta(ge=1, le=100)] = 1

    async def run(self, play: Play) -> None:
        data = b""
        for _ in range(self.times):
            number = self.move_id or play.asked["id"] + (0 if self.again else 1)
            board = _BOARDS[number % len(_BOARDS)]
            play.asked = {"id": number}
            play.boards[number] = "hop", board, not self.white
            play.note("S", f"asks for move {number}, the client is {'White' if self.white else 'Black'}")
            data += question_bytes(number, board, is_black=not self.white)
        if self.hold:
            play.hold(data)
        else:
            await play.line.send(play.released(data), self.cut)


class Path(Step, frozen=True):
    """Expect a legal path as the answer to the last question, or to one that many questions before it."""

    back: Annotated[int, Meta(ge=0, le=100)] = 0

    async def run(self, play: Play) -> None:
        move_id, squares = await _next_answer(play)
        play.note("C", f"answers move {move_id} with {squares}")
        wanted = play.asked["id"] - self.back
        if move_id != wanted:
            raise NotAsRequired(f"it answered move {move_id}, expected {wanted}")
        _, board, is_black = play.boards[wanted]
        state = GAMES["hop"].from_board(board, is_black)
        try:
            state.play(squares)
        except IllegalMove as error:
            raise NotAsRequired(f"its move {squares} is not legal: {error}", "should") from error


class Stop(Step, frozen=True):
    """Send code 0, and expect that the client ends with exit code 0."""

    async def run(self, play: Play) -> None:
        play.note("S", "code 0: the contest is over")
        await play.line.send(stop_bytes())
        await Ended(code="zero").run(play)


async def _next_answer(play: Play) -> tuple[int, list[tuple[int, int]]]:
    reader = play.classic_reader
    try:
        while (answer := reader.next_answer()) is None:
            data = await play.receive_bytes(1)
            if not data:
                raise NotAsRequired(f"it closed the connection, expected an answer{play.exit_text()}")
            reader.feed(data)
    except RemoteProtocolError as error:
        raise NotAsRequired(f"it broke the protocol: {error}") from error
    return answer


CLASSIC_STEPS: Mapping[str, type[Step]] = {
    "classic_login": ClassicLogin,
    "ask": Ask,
    "path": Path,
}
"""The steps by the value of their key ``do``; `Stop` ends each case."""
