"""A duel on a cluster: the bots become programs of the contest, and workers play the pairs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import trio

from getstep_server.bot_runner.processes import Bot, Bots
from getstep_server.config.contest import Contest
from getstep_server.errors import ProgramRefused, UsageError
from getstep_server.events import Bus, Event, MatchEnded
from getstep_server.programs.adding import Submission, add_program
from getstep_server.programs.source import source_in
from getstep_server.runtime.run import MakeCluster, RunOutcome, run_contest
from getstep_server.runtime.start import StartCondition

from ._duel_contest import sample_bot, score_of


def find_program(text: str, convention: str | None = None) -> Bot:
    """Return the program that ``text`` names: a file, a folder or an archive, or a sample bot.

    Raises:
        UsageError: there is neither.
    """
    if Path(text).exists():
        return Bot(Path(text).resolve(), convention=convention)
    return sample_bot(text, "a program")


def add_programs(contest: Contest, bots: Bots, tick: Callable[[str], None]) -> None:
    """Build and try the bots, and store them as the programs of their teams.

    Args:
        contest: of the duel.
        bots: by team.
        tick: called with what goes on.

    Raises:
        UsageError: a program makes a fault in its trial game, or cannot be built.
        ConfigError: the sandbox of this machine does not work, or a compiler is missing.
    """
    for team, bot in bots.items():
        name = contest.team_name(team)
        try:
            submission = Submission(team, source_in(bot.file), "host", bot.convention)
            add_program(contest, submission, partial(_tick, tick, name))
        except ProgramRefused as refused:
            raise UsageError(f"{name} cannot be played with: {refused}") from refused


def _tick(tick: Callable[[str], None], name: str, text: str) -> None:
    tick(f"{name}: {text}")


async def run_on_cluster(contest: Contest, bus: Bus, make_cluster: MakeCluster) -> RunOutcome:
    """Play a duel on a cluster. The verdict of the sequential test ends it, in the middle of other matches.

    Args:
        contest: of the duel; both teams have a program.
        bus: gets all events.
        make_cluster: see `run_contest`.

    Raises:
        ContestStopped: a match could not be played.
    """
    score, decided = score_of(contest), trio.Event()

    def note(event: Event) -> None:
        if isinstance(event, MatchEnded) and score.take(event.result):
            test = score.test()
            if test is not None and test.verdict is not None:
                decided.set()

    bus.subscribe(note, [MatchEnded])
    outcome = await run_contest(contest, bus, StartCondition(now=True), make_cluster, decided)
    return RunOutcome.FINISHED if decided.is_set() else outcome
