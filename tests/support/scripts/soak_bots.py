"""Honest bots that write down all they are asked and answer: ``soak_bots.py HOST PORT LOG TEAMS MATCHES SECONDS``.

They play teams 1 to TEAMS, each MATCHES matches, think SECONDS about each move, and answer by the position alone:
two runs have to give the same log. Whatever is not part of an honest match is in the log as well.
"""

from __future__ import annotations

import json
import sys
import zlib
from itertools import islice
from pathlib import Path
from typing import Any

import trio

from getstep import wire
from getstep.wire import Connection, End, GetStep, Join, Message, Role, Start, Step
from getstep_engines import GAMES

CHOICES = 8
AGAIN_SECONDS = 0.1
"""The pause before a bot that was cut off connects again."""


class Bot:
    """One team's connection, and its log: for each match by number, what was asked, answered and told."""

    def __init__(self, team: int, seconds: float, stream: trio.SocketStream) -> None:
        self.team = team
        self.log: dict[int, list[Any]] = {}
        self._seconds = seconds
        self._stream = stream
        self._wire = Connection(Role.CLIENT)

    async def join(self) -> None:
        hello = await self._hear()
        assert isinstance(hello, wire.Hello)
        mac = wire.sign(f"test-token-{self.team}", hello.nonce)
        await self._say(Join(wire.VERSION, self.team, mac, "soak bot"))
        assert isinstance(await self._hear(), wire.Welcome)

    async def play(self, matches: int) -> None:
        game, lines = "", []
        while matches:
            said = await self._hear()
            if isinstance(said, Start):
                game, lines = said.game, self.log.setdefault(said.match, [])
            elif isinstance(said, GetStep):
                move = chosen(game, said)
                await trio.sleep(self._seconds)
                await self._say(Step(said.id, move))
                lines.append([said.move_number, zlib.crc32(str(said.board).encode()), said.last_move, move])
            else:
                lines.append([said.type, *list(said.to_fields().values())[-4:]])
                matches -= isinstance(said, End)

    async def _hear(self) -> Message:
        while True:
            event = self._wire.next_event()
            if isinstance(event, Message):
                return event
            data = await self._stream.receive_some(65536)
            if not data:
                raise EOFError(f"team {self.team} was cut off")
            self._wire.receive_data(data)

    async def _say(self, message: Message) -> None:
        await self._stream.send_all(self._wire.send(message))


def chosen(game: str, question: GetStep) -> Any:
    """Return a move that depends on the position alone."""
    position = GAMES[game].from_board(question.board, question.is_black)
    moves = list(islice(position.legal_moves(), CHOICES))
    return moves[zlib.crc32(f"{question.move_number} {question.board}".encode()) % len(moves)]


async def joined(host: str, port: int, team: int, seconds: float) -> Bot:
    """Connect until a bot has joined, as clients do: a full server admits one waiting connection of an address."""
    while True:
        bot = Bot(team, seconds, await trio.open_tcp_stream(host, port))
        try:
            await bot.join()
        except EOFError:
            await trio.sleep(AGAIN_SECONDS)
        else:
            return bot


async def main(host: str, port: int, log: Path, teams: int, matches: int, seconds: float) -> None:
    bots = [await joined(host, port, team, seconds) for team in range(1, teams + 1)]
    print("all here", flush=True)
    async with trio.open_nursery() as nursery:
        for bot in bots:
            nursery.start_soon(bot.play, matches)
    log.write_text(json.dumps({bot.team: bot.log for bot in bots}))
    print("all done", flush=True)


if __name__ == "__main__":
    host, port, log, teams, matches, seconds = sys.argv[1:]
    trio.run(main, host, int(port), Path(log), int(teams), int(matches), float(seconds))
