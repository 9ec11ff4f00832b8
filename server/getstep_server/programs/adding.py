"""From the source of a program to a version: plan, build, trial games, store. A failure leaves nothing behind."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from getstep.wire import MAX_NAME
from getstep_server.config.contest import Contest
from getstep_server.errors import UsageError
from getstep_server.sandbox import Protections
from getstep_server.text import escape_control_chars, utc_time

from .build import build
from .disk import disk_errors
from .plan import plan_of
from .playing import Job, id_line_of
from .protection import require_protections
from .source import Source
from .store import ProgramStore
from .trial import TrialGame, try_program
from .version import Description, ProgramVersion


@dataclass(frozen=True)
class Submission:
    """A program for a team.

    Attributes:
        team: the team's id.
        source: the program.
        added_by: who gives it, for people.
        convention: of the program; None: it is found.
        use: whether it plays from the team's next match on.
    """

    team: int
    source: Source
    added_by: str
    convention: str | None = None
    use: bool = True


def add_program(contest: Contest, submission: Submission, tick: Callable[[str], None]) -> ProgramVersion:
    """Build and try a program, and store it as a new version of its team.

    It takes some seconds to some minutes, and bounded memory. An exception, a KeyboardInterrupt too, leaves nothing
    behind.

    Args:
        contest: the contest.
        submission: the program.
        tick: called a few times a second with what is going on.

    Raises:
        ProgramRefused: the program cannot be taken; the message tells its author why.
        UsageError: the team plays no game, or another program of it is being added.
        ConfigError: the sandbox, a compiler or the disk does not work.
    """
    team, source = submission.team, submission.source
    games = _games_of(contest, team)
    plan = plan_of(source, [one.game.name for one in games], submission.convention)
    settings = contest.file.programs
    protections = Protections(settings.sandbox)
    store = ProgramStore(contest.folder)
    with store.adding(team) as new:
        if protections is Protections.ALL:
            require_protections(store.folder, tick)
        with disk_errors(new):
            (new / "source").mkdir()
            (new / "files").mkdir()
        source.write(new / "source")
        tick(f"building it ({plan.language})")
        command = build(plan, source, new / "files", protections, lambda: tick(f"building it ({plan.language})"))
        job = Job(plan.convention, command, new / "files", protections, home=new)
        result = try_program(job, games, settings.startup_seconds, tick)
        id_line = id_line_of(job) if plan.convention == "linkage" else ""
        tick("storing it")
        description = Description(
            team=team,
            number=1,  # the store gives the number
            sha256=source.sha256,
            convention=plan.convention,
            command=command,
            language=plan.language,
            added=utc_time(time.time()),
            added_by=escape_control_chars(submission.added_by)[:MAX_NAME],
            trial=result,
            id_line=id_line,
        )
        return store.store(team, new, description, use=submission.use)


def _games_of(contest: Contest, team: int) -> list[TrialGame]:
    """Return the games that a team plays, each kind once."""
    found: list[TrialGame] = []
    for event in contest.events:
        game = TrialGame(event.game, event.options, event.time_control)
        if team in event.teams and game not in found:
            found.append(game)
    if not found:
        raise UsageError(f"team {team} takes part in no event; name it in the teams of one in contest.toml")
    return found
