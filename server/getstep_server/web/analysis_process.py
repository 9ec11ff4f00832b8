"""The process that analyses one game for a team's area: `python -m getstep_server.web.analysis_process`.

It reads a `Task` as a line of JSON, and writes a `Status` for each step, and in the end one for each move. It ends
with its standard input, so it cannot outlive the page that started it. It reads no file of the contest.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from typing import Any

import msgspec

from getstep.analysis.game import JudgedMove, analyse
from getstep.replay import Replay, ReplayTurn, TurnKind
from getstep_engines import GAMES, Player, TimeControl
from getstep_server.children.parent import only_when_idle, until_parent_ends

PROGRESS_SECONDS = 0.3


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """A game to analyse: each turn is its player, its kind and its move. ``seconds`` are of one core."""

    game: str
    options: dict[str, int]
    turns: list[tuple[Player, TurnKind, Any]]
    seconds: float
    opening: int = 0
    """The first turns, which are of the opening."""


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """So many positions are ``done`` ``of`` all; in the end a line for each ``move``."""

    done: int
    of: int
    move: JudgedMove | None = None


def main() -> None:
    """Analyse the game on standard input."""
    # A search is work without a pause. It gets what is left of the processors: a match that is judged, a bot or a
    # program that plays goes on as if it were not there.
    only_when_idle()
    task = msgspec.json.decode(sys.stdin.buffer.readline(), type=Task)
    threading.Thread(target=_end_with_input, daemon=True).start()  # only now: until here this thread reads
    due = 0.0

    def tell(done: int, of: int) -> None:
        nonlocal due
        if time.monotonic() >= due:
            _write(Status(done=done, of=of))
            due = time.monotonic() + PROGRESS_SECONDS

    turns = [
        ReplayTurn(player, kind, move, given="opening" if place < task.opening else "")
        for place, (player, kind, move) in enumerate(task.turns)
    ]
    control = TimeControl("move", 0.0)  # the search does not look at the clocks
    played = Replay(GAMES[task.game], task.game, ("", ""), turns, control, task.options)
    # Of this process, whatever other programs do: a busy computer makes it slower, and not worse.
    found = analyse(played, seconds=task.seconds, on_move=tell, clock=time.process_time)
    for number, move in enumerate(found.moves, 1):
        _write(Status(done=number, of=len(found.moves), move=move))


def _write(status: Status) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(status) + b"\n")
    sys.stdout.buffer.flush()  # the page shows the progress as it comes


def _end_with_input() -> None:
    until_parent_ends()
    os._exit(1)


if __name__ == "__main__":
    main()
