"""Bots that stay when their server dies.

    crash_bots.py PORT LEDGER TEAMS SECONDS FAULTS [GATE COUNT MOVE [MATCH]...]

They play teams 1 to TEAMS, or those of a range such as 4-5, through the SDK, each in a thread, and come back
whenever they are cut off. They think SECONDS about each move, and answer by the match and the position alone, in
FAULTS of a hundred turns with a move that is none. What they are asked and told goes into LEDGER, a line of JSON
each, in the order in which it happens.

In its COUNT-th match and all after it, or only in matches MATCH of these, each answers from move MOVE on only once
there is a file GATE, so that a test finds a match in its middle however slow it is itself.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from getstep import Turn
from getstep.client.client import Client
from getstep.client.discovery import Finder
from getstep.client.settings import find_address, find_login
from getstep.text import Console
from getstep.turn import Callback
from getstep.wire import End
from getstep_bots import random_bot

LONGEST_PAUSE_SECONDS = 0.1
"""Between attempts to connect; the SDK's own pauses grow up to 5 s."""

GATE_SECONDS = 0.01
"""Between two looks at a gate."""


class Ledger:
    """A file to which threads append lines."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)

    def write(self, **fields: Any) -> None:
        """Write a line, with one call."""
        os.write(self._file, json.dumps(fields).encode() + b"\n")


@dataclass(frozen=True)
class Gate:
    """A gate at which answers wait for a file: from a ``move`` of a bot's ``count``-th match on, and in later ones.

    If there are ``matches``, only in these.
    """

    path: Path
    count: int
    move: int
    matches: frozenset[int]

    def wait(self, turn: Turn, begun: int) -> None:
        """Wait, unless the file is there or it is too early; ``begun`` matches were begun."""
        if (
            begun >= self.count
            and turn.move_number >= self.move
            and (not self.matches or turn.match in self.matches)
        ):
            while not self.path.exists():
                time.sleep(GATE_SECONDS)


class Witness(Client):
    """A client that writes down how its matches ended."""

    def __init__(
        self,
        port: int,
        team: int,
        ledger: Ledger,
        seconds: float,
        faults: int,
        gate: Gate | None,
        finder: Finder | None = None,
        host: str = "127.0.0.1",
    ) -> None:
        self._team = team
        self._ledger = ledger
        self._gate = gate
        self._begun: set[int] = set()
        self._seconds = seconds
        self._faults = faults
        login = find_login(team, f"test-token-{team}")
        address = find_address(host, port)
        super().__init__(Callback(self.get_step), address, login, Console(quiet=True), pause, finder)

    def get_step(self, board: list[list[int]], is_black: bool, turn: Turn) -> Any:
        """Return the sample bot's move, or a fault."""
        position = f"{turn.match} {turn.move_number} {board}"
        self._ledger.write(
            asked=self._team,
            match=turn.match,
            move_number=turn.move_number,
            time_left_ms=turn.time_left_ms,
            position=zlib.crc32(f"{position} {turn.last_move}".encode()),
        )
        time.sleep(self._seconds)
        if self._gate is not None:
            self._begun.add(turn.match)
            self._gate.wait(turn, len(self._begun))
        if zlib.crc32(position.encode()) % 100 < self._faults:
            return (-1, -1)
        return random_bot.get_step(board, is_black, turn)

    def _on_end(self, end: End) -> None:
        self._ledger.write(told=self._team, **end.to_fields())
        super()._on_end(end)


def pause(seconds: float) -> None:
    """Wait before connecting again."""
    time.sleep(min(seconds, LONGEST_PAUSE_SECONDS))


def main(port: int, path: Path, teams: range, seconds: float, faults: int, gate: Gate | None) -> None:
    """Play until every team has the goodbye of the contest."""
    ledger = Ledger(path)
    play_all([Witness(port, team, ledger, seconds, faults, gate) for team in teams])


def play_all(bots: Sequence[Witness]) -> None:
    """Run the bots until all have ended, and say so."""
    threads = [threading.Thread(target=bot.run) for bot in bots]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print("all done", flush=True)


if __name__ == "__main__":
    _, port, path, teams, seconds, faults, *gate = sys.argv
    gated = Gate(Path(gate[0]), int(gate[1]), int(gate[2]), frozenset(map(int, gate[3:]))) if gate else None
    lowest, _, highest = teams.rpartition("-")
    main(int(port), Path(path), range(int(lowest or 1), int(highest) + 1), float(seconds), int(faults), gated)
