"""Contests with hosted programs: their records, and the kill of a server with all its programs."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import getstep_bots
from getstep_server.config.contest import load_contest
from getstep_server.storage.store import Store
from getstep_server.storage.verify import verify
from tests.support.interrupted_contest import wait_until
from tests.support.records import games_of

if TYPE_CHECKING:
    from tests.support.processes import Server


LOOP = "def get_step(board, is_black):\n    while True: pass\n"
RANDOM = Path(str(getstep_bots.__file__)).with_name("random_bot.py").read_text(encoding="utf-8")
"""Files of get_step: one that hangs, and one that plays any game."""


def game_heads(folder: Path) -> list[dict[str, Any]]:
    """Return the headers of the records of games."""
    with Store(folder / "contest.db", reading=True) as store:
        return [fields for fields in store.record_headers() if fields["type"] == "game"]


def turns_of(folder: Path) -> list[list[dict[str, Any]]]:
    """Return the turns of all games."""
    return [fields["turns"] for fields in games_of(folder)]


def limits_of_a_hung_program(folder: Path) -> list[dict[str, Any]]:
    """Return the turns of team 1, whose program hangs, in the only game."""
    (turns,) = turns_of(folder)
    with Store(folder / "contest.db", reading=True) as store:
        assert verify(load_contest(folder), store).played == 1
    teams = [team["id"] for team in game_heads(folder)[0]["teams"]]
    return [turn for turn in turns if turn["player"] == teams.index(1)]


def wait_for(path: Path) -> None:
    """Wait until a file is there."""
    wait_until(path.exists)


def descendants(pid: int) -> set[int]:
    """Return all processes below a process."""
    found = set()
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            for child in map(int, path.read_text().split()):
                found |= {child, *descendants(child)}
    return found


def _is_alive(pid: int) -> bool:
    """Return True unless a process has ended; an orphan may stay a zombie where nothing reaps it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_for_end(pids: Iterable[int]) -> None:
    """Wait until none of these processes is left."""
    left = set(pids)
    wait_until(lambda: not any(map(_is_alive, left)))


def kill(server: Server) -> None:
    """Kill a server, and wait until none of its processes is left."""
    below = descendants(server.pid)
    server.signal(signal.SIGKILL)
    assert server.wait() == -signal.SIGKILL
    wait_for_end(below)
