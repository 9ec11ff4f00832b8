"""One bot against another: a contest of the two, with the format match, and what is shown of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console, RenderableType
from rich.text import Text

from ._text import counted
from ._toml import ConfigError
from .bot_output import last_lines
from .bot_processes import Bot, Bots, logs_of
from .combined import Tables
from .contest import Contest, Team, load_contest, make_contest
from .demo import sample_bots
from .demo_crash import games_of
from .events import MatchEnded
from .formats import MatchOptions
from .limits import MAX_SEATS
from .match_score import Score, copies
from .progress import Progress
from .roster import Newcomer, add_teams
from .run import tournament_of


def find_bot(text: str) -> Path:
    """The file that is named, or the sample bot of that name.

    Raises:
        ConfigError: there is neither.
    """
    if Path(text).is_file():
        return Path(text).resolve()
    known = sample_bots()
    if text not in known:
        raise ConfigError(f"{text!r}, expected a bot's file or one of the sample bots: {', '.join(known)}")
    return known[text]


def match_contest(
    folder: Path, files: Sequence[Path], event: Mapping[str, Any], *, at_once: int = 1, seed: int
) -> tuple[Contest, Bots]:
    """A contest folder for a match of two bots, on a free port of the loopback interface, and the bots for it.

    Args:
        folder: where it is made.
        files: the two bots'; it may be the same one twice.
        event: the event's table of contest.toml, besides its format.
        at_once: how many pairs are played at a time, each game of them by two processes of its own.
        seed: the contest's.

    Raises:
        ConfigError: a setting that cannot be, or there is a contest already.
    """
    one, other = (file.stem for file in files)
    names = (one, other if other != one else f"{other} (2)")
    tables = {
        "contest": {"name": " – ".join(names), "seed": seed},
        "event": [{**event, "format": "match", "settings": {**event["settings"], "at_once": at_once}}],
        "server": {"host": "127.0.0.1", "port": 0},
    }
    if not 1 <= at_once <= MAX_SEATS // 2:
        raise ConfigError(f"--at-once {at_once}, expected 1 to {MAX_SEATS // 2}")
    make_contest(folder, tables)
    seats = 2 * at_once if at_once > 1 else 1
    newcomers = [Newcomer(name, file.name, seats=seats) for name, file in zip(names, files, strict=True)]
    added = add_teams(folder, newcomers)
    return load_contest(folder), {team.id: Bot(file) for team, file in zip(added, files, strict=True)}


def score_of(contest: Contest) -> Score:
    """The score of the match that a contest is, as far as it is on record."""
    one, other = contest.teams.values()
    options = contest.events[0].format.options
    if not isinstance(options, MatchOptions):
        raise TypeError(f"the format of {contest.events[0]!r}, expected a match")
    score = Score(options, (one.id, one.name), other.name)
    for result in tournament_of(contest).results:
        score.take(result)
    return score


class MatchProgress(Progress):
    """What the host sees while a match runs: a line for each pair, the score in place of a table."""

    def __init__(self, contest: Contest, console: Console, *, live: bool) -> None:
        super().__init__(contest, console, live=live)
        self._score = score_of(contest)
        self._line_of_score = self._score.line()

    def _ended(self, event: MatchEnded) -> str | None:
        super()._ended(event)
        if not self._score.take(event.result):
            return None
        self._line_of_score = self._score.line()  # for the thread that draws
        return self._line_of_score

    def _outlook(self) -> str:
        return ""  # a test may have a verdict at any time

    def _bar(self) -> RenderableType:
        return Text(f"at most {counted(self._score.options.pairs, 'pair')}")

    def _table(self, tables: Tables, lines: int) -> list[RenderableType]:  # noqa: ARG002 - there is none
        return [Text(self._line_of_score)]


def outcome_lines(contest: Contest) -> list[str]:
    """What there is to say of a match that has ended, or was stopped."""
    score = score_of(contest)
    lines = [score.line(), score.verdict()]
    warning = copies(games_of(contest.database), tournament_of(contest).matches)
    if warning is not None:
        lines.append(f"! {warning}")
    return [*lines, *(line for team in contest.teams.values() for line in _faults(contest, score, team))]


def _faults(contest: Contest, score: Score, team: Team) -> list[str]:
    """What a team's bot has printed, of several the one that printed most, if turns got the game's penalty."""
    count = score.faults[team.id]
    if not count:
        return []
    log = max(logs_of(contest, team), key=lambda path: path.stat().st_size)
    return [f"! {team.name} made {count} faults (see rules.md). The end of what it printed:", *last_lines(log)]
