"""A contest in memory with a journal on disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from getstep_engines import GAMES
from getstep_server.config.contest import Contest
from getstep_server.events import Event
from getstep_server.play.scoresheet import Scoresheet, ScoresheetStore
from getstep_server.records.game import game_header
from getstep_server.records.match import Match
from getstep_server.storage.disk import Disk
from getstep_server.storage.journal import read, segments
from tests.support.contests import make_contest


def match_of(game: str) -> Match:
    options = {name: option.default for name, option in GAMES[game].options.items()}
    return Match(7, 1, 3, 2, 1, 2, game, options)


class Kept:
    """A contest with a place for scoresheets."""

    def __init__(self, folder: Path, game: str = "hop") -> None:
        self.events: list[Event] = []
        self.contest: Contest = make_contest(folder, event={"game": game})
        self.disk = Disk(folder, self.events.append)
        self.sheets = ScoresheetStore(self.contest, self.disk)
        self.match = match_of(game)
        self.running = self.contest.running
        self.path = self.running / "segment-1.journal"
        self.running.mkdir()

    async def begin(self, attempt: int = 1) -> Scoresheet:
        head = game_header(self.contest, self.match, attempt, 0.0)
        sheet = Scoresheet(head, self.sheets._journal, self.disk)
        await sheet.begin()
        return sheet

    def again(self, recorded: Any = ()) -> tuple[list[Scoresheet], list[Any]]:
        """Return the scoresheets that a new run finds."""
        self.sheets.close()
        self.sheets = ScoresheetStore(self.contest, self.disk)
        return self.sheets.unfinished([self.match], set(recorded))

    def names(self) -> list[str]:
        return [path.name for path in segments(self.running)]

    def entries(self) -> list[dict[str, Any]]:
        return [line.entry for path in segments(self.running) for line in read(path).lines]

    def resumed(self) -> Scoresheet:
        (sheet,), _ = self.again()
        return sheet
