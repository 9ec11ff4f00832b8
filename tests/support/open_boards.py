"""Boards of matches that are being played, without a server and bots: their moves stand in the journal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

import trio

from getstep_server.config.contest import load_contest
from getstep_server.play.scoresheet import Scoresheet, ScoresheetStore
from getstep_server.records.game import game_header
from getstep_server.storage.contest_state import tournament_of
from getstep_server.storage.disk import Disk
from getstep_server.storage.lock import ContestLock
from getstep_server.storage.run_status import RunStatus, write_status
from tests.support.replays import random_move


class OpenBoards:
    """The first open matches of a contest, begun and played up to a move.

    Args:
        folder: of the contest.
        matches: how many of them are begun; each event has its share.
        moves: that are played in each, at once.
    """

    def __init__(self, folder: Path, matches: int, moves: int) -> None:
        contest = load_contest(folder)
        contest.running.mkdir(exist_ok=True)
        self._store = ScoresheetStore(contest, Disk(folder, lambda _: None))
        self._dice = Random(1)
        found = tournament_of(contest).open()
        apart = [[match for match in found if match.event == event.number] for event in contest.events]
        mixed = [one for row in range(len(found)) for queue in apart for one in queue[row : row + 1]]
        heads = [game_header(contest, match, 1, 1.7e9) for match in mixed[:matches]]
        self.sheets = [Scoresheet(head, self._store._journal, self._store.disk) for head in heads]
        for sheet in self.sheets:
            trio.run(sheet.begin)
        write_status(contest.running, RunStatus("playing", dict.fromkeys(contest.teams, 1)))
        self.play(moves)

    def play(self, moves: int) -> None:
        """Play so many moves more in each match, unless it is over."""
        for sheet in self.sheets:
            for _ in range(moves):
                state = sheet.match_state
                if state.outcome is not None:
                    break
                move = random_move(state.state, self._dice)
                turn = {"player": state.state.to_move, "move": move, "ms": 120.0, "timed": "wake"}
                state.apply(turn)
                sheet.write(turn)  # with the passes that follow
                for player in tuple(state.passes_due):
                    state.apply({"player": player, "pass": True})

    def close(self) -> None:
        self._store.close()


@contextmanager
def open_boards(folder: Path, matches: int, moves: int) -> Iterator[OpenBoards]:
    """Begin matches of a contest, whose lock is held as a server would."""
    with ContestLock(folder):
        boards = OpenBoards(folder, matches, moves)
        try:
            yield boards
        finally:
            boards.close()
