"""The contest of `duel`: two bots in the format match, with its live view and its outcome."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console, RenderableType
from rich.text import Text

from getstep import BotError
from getstep.conventions import CONVENTIONS
from getstep.games import only_game
from getstep.programs.start import check_startable
from getstep_server.bot_runner.processes import Bot, Bots, bot_logs
from getstep_server.bot_runner.sample_bots import sample_bots
from getstep_server.children.log import last_lines
from getstep_server.config.class_list import TeamEntry
from getstep_server.config.contest import Contest, Team, load_contest, make_contest
from getstep_server.config.roster import add_teams
from getstep_server.errors import UsageError
from getstep_server.events import Event, MatchEnded
from getstep_server.formats.match import MOST_AT_ONCE, MatchOptions
from getstep_server.limits import MAX_SEATS
from getstep_server.records.record import parse
from getstep_server.reports.live_board import LiveBoard
from getstep_server.reports.progress import FRAMES_PER_SECOND, Progress
from getstep_server.storage.contest_state import games_of, tournament_of
from getstep_server.storage.store import Store
from getstep_server.text import pluralize
from getstep_server.tournament.combined import Tables
from getstep_server.tournament.match_score import Score, copies


def find_bot(text: str, convention: str | None = None) -> Bot:
    """Return the bot whose file ``text`` names, or the sample bot with that name.

    Args:
        text: a file or a name.
        convention: that of a program; it does not matter for a sample bot.

    Raises:
        UsageError: there is no such file and no such sample bot, or the program cannot be started as it is.
    """
    path = Path(text)
    if path.is_file():
        if convention is not None:
            try:
                check_startable(convention, path)
            except BotError as error:
                raise UsageError(str(error)) from None
        return Bot(path.resolve(), convention=convention)
    return sample_bot(text, "a bot's file")


def sample_bot(name: str, expected: str) -> Bot:
    """Return the sample bot with this name.

    Raises:
        UsageError: there is none; the message says that ``expected`` could be given, too.
    """
    known = sample_bots()
    if name not in known:
        raise UsageError(f"{name!r}, expected {expected} or one of the sample bots: {', '.join(known)}")
    return Bot(known[name])


def _game_of_sample(bot: Bot) -> str | None:
    """Return the only game of a sample bot; None if it plays all games, or is not a sample bot."""
    return only_game(bot.file.stem) if bot.file in sample_bots().values() else None


def check_bots(bots: Sequence[Bot], game: str, at_once: int) -> None:
    """Raise an error if the bots cannot play this duel.

    Args:
        bots: both.
        game: of the duel.
        at_once: the number of pairs with processes that share the folder of their bot.

    Raises:
        UsageError: a bot plays another game only, or two processes would talk through the same files.
    """
    folders: list[Path] = []
    for bot in bots:
        talk = None if bot.convention is None else CONVENTIONS[bot.convention]
        plays = _game_of_sample(bot) if talk is None else talk.game
        if plays not in (None, game):
            raise UsageError(f"{bot.file.name} plays {plays} only; give --game {plays}")
        if talk is not None and talk.output_file is not None:
            folders += [bot.file.parent] * at_once
    shared = next((folder for folder in folders if folders.count(folder) > 1), None)
    if shared is not None:
        why = "with --at-once, several" if at_once > 1 else "both"
        raise UsageError(f"{shared}: {why} programs would talk through the same file here; use several folders")


def duel_contest(
    folder: Path,
    pair: Sequence[Bot],
    event: Mapping[str, Any],
    programs: Mapping[str, Any] | None = None,
    *,
    at_once: int = 1,
    seed: int,
) -> tuple[Contest, Bots]:
    """Make a contest folder for two bots, on a free port of the loopback interface.

    Args:
        folder: the new folder.
        pair: the bots; both may be the same.
        event: the event's table of contest.toml, without its format.
        programs: the table ``[programs]``, if a cluster plays with the bots. None: they are processes of this
            machine, two for each match.
        at_once: the number of pairs played at the same time.
        seed: of the contest.

    Returns:
        The contest, and its bots by team id.

    Raises:
        UsageError: a setting is not valid, or there is a contest already.
    """
    one, other = (bot.file.stem for bot in pair)
    names = (one, other if other != one else f"{other} (2)")
    tables = {
        "contest": {"name": " – ".join(names), "seed": seed},
        "event": [{**event, "format": "match", "settings": {**event["settings"], "at_once": at_once}}],
        "server": {"host": "127.0.0.1", "port": 0},
    }
    most = MAX_SEATS // 2 if programs is None else MOST_AT_ONCE
    if not 1 <= at_once <= most:
        raise UsageError(f"--at-once {at_once}, expected 1 to {most}")
    make_contest(folder, tables if programs is None else {**tables, "programs": programs})
    seats = 2 * at_once if at_once > 1 and programs is None else 1
    entries = [TeamEntry(name, bot.file.name, seats=seats) for name, bot in zip(names, pair, strict=True)]
    added = add_teams(folder, entries)
    return load_contest(folder), {team.id: bot for team, bot in zip(added, pair, strict=True)}


def score_of(contest: Contest) -> Score:
    """Return the score of the two bots from the matches on record."""
    one, other = contest.teams.values()
    options = contest.events[0].format.options
    if not isinstance(options, MatchOptions):
        raise TypeError(f"the format of {contest.events[0]!r}, expected a match")
    score = Score(options, (one.id, one.name), other.name)
    for result in tournament_of(contest).results:
        score.take(result)
    return score


class DuelProgress(Progress):
    """The live view of a duel: a line for each pair, and the score in place of a table."""

    def __init__(
        self,
        contest: Contest,
        console: Console,
        *,
        live: bool,
        board: LiveBoard | None = None,
        frames_per_second: float = FRAMES_PER_SECOND,
    ) -> None:
        super().__init__(contest, console, live=live, board=board, frames_per_second=frames_per_second)
        self._score = score_of(contest)
        self._line_of_score = self._score.line()

    def describe(self, event: Event) -> str | None:
        """Return the score for a match that completes a pair, and nothing for other matches."""
        line = super().describe(event)
        if not isinstance(event, MatchEnded):
            return line
        if not self._score.take(event.result):
            return None
        self._line_of_score = self._score.line()  # for the thread that draws
        return self._line_of_score

    def remaining(self) -> str:
        """Return nothing: the sequential test may reach its verdict at any time."""
        return ""

    def bar(self) -> RenderableType:
        """Return the most pairs that may be played, in place of a bar."""
        return Text(f"at most {pluralize(self._score.options.pairs, 'pair')}")

    def table(self, tables: Tables, lines: int) -> list[RenderableType]:  # noqa: ARG002 - the score is one line
        """Return the score."""
        return [Text(self._line_of_score)]


def outcome_lines(contest: Contest) -> list[str]:
    """Return the lines to print after a duel has ended or was stopped."""
    score = score_of(contest)
    lines = [score.line(), score.verdict()]
    warning = copies(games_of(contest.database), tournament_of(contest).matches)
    if warning is not None:
        lines.append(f"! {warning}")
    return [*lines, *(line for team in contest.teams.values() for line in _faults(contest, score, team))]


def _faults(contest: Contest, score: Score, team: Team) -> list[str]:
    """Return how a team's bot came to make faults: the end of what it printed, or of a program its first fault."""
    count = score.faults[team.id]
    if not count:
        return []
    logs = [path for path in bot_logs(contest, team) if path.exists()]
    told = f"! {team.name} made {pluralize(count, 'fault')} (see rules.md)."
    if not logs:
        return [f"{told} The first one:", *_first_fault(contest, team)]
    log = max(logs, key=lambda path: path.stat().st_size)  # of several processes, the one that printed most
    return [f"{told} The end of what it printed:", *last_lines(log)]


def _first_fault(contest: Contest, team: Team) -> list[str]:
    with Store(contest.database, reading=True) as store:
        for fields in (parse(record.line) for record in store.records()):
            if fields["type"] != "game":
                continue
            player = [entry["id"] for entry in fields["teams"]].index(team.id)
            for number, turn in enumerate(fields["turns"], start=1):
                if "fault" in turn and turn["player"] == player:
                    return [f"match {fields['match']}, turn {number}: {turn['fault']}: {turn['detail']}"]
    return []
