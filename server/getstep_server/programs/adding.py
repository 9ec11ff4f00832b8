"""From the source of a program to a version: plan, build, trial games, store. A failure leaves nothing behind.

If several conventions fit a program, it plays its trial games by each of them. By a wrong one it usually waits for
what never comes, so it gets less time there. The one by which it plays is its convention; if it plays by two, its
sender is asked.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from getstep.conventions import CONVENTIONS, no_opening
from getstep.wire import MAX_NAME
from getstep_engines import TimeControl
from getstep_server.config.contest import Contest
from getstep_server.errors import ProgramRefused, UsageError
from getstep_server.limits import TRIAL_MOVE_SECONDS, TRIAL_RIVAL_SECONDS
from getstep_server.sandbox import Protections
from getstep_server.text import escape_control_chars, utc_time

from .build import Built, build
from .disk import disk_errors
from .plan import SETTINGS, Plan, plans_of
from .playing import ProgramJob, id_line_of
from .protection import require_protections
from .source import Source
from .store import ProgramStore
from .trial import TrialGame, try_program
from .version import Description, ProgramVersion


@dataclass(frozen=True)
class NewProgram:
    """A program for a team.

    Attributes:
        team: the team's id.
        source: the program.
        added_by: who gives it, for people.
        convention: of the program; None: it is found.
        use: whether it plays from the team's next match on.
        entry: the path of the file that starts it; None: it is found.
    """

    team: int
    source: Source
    added_by: str
    convention: str | None = None
    use: bool = True
    entry: str | None = None


@dataclass(frozen=True)
class Added:
    """A program that is stored. ``notes`` are what was found out about it, in sentences without a full stop."""

    version: ProgramVersion
    notes: tuple[str, ...] = ()


def add_program(contest: Contest, program: NewProgram, tick: Callable[[str], None]) -> Added:
    """Build and try a program, and store it as a new version of its team.

    It takes some seconds to some minutes, and bounded memory. An exception, a KeyboardInterrupt too, leaves nothing
    behind.

    Args:
        contest: the contest.
        program: the program.
        tick: called a few times a second with what is going on.

    Raises:
        ProgramRefused: the program cannot be taken; the message tells its author why.
        UsageError: the team plays no game, or another program of it is being added.
        ConfigError: the sandbox, a compiler or the disk does not work.
    """
    team, source = program.team, program.source
    games = _games_of(contest, team)
    plans = plans_of(source, [one.game.name for one in games], program.convention, program.entry)
    settings = contest.file.programs
    protections = Protections(settings.sandbox)
    store = ProgramStore(contest.folder)
    with store.adding(team) as new:
        if protections is Protections.ALL:
            require_protections(store.folder, tick)
        with disk_errors(new):
            (new / "source").mkdir()
        source.write(new / "source")
        trials = _Trials(source, new, games, protections, settings.startup_seconds, tick)
        for plan in plans:
            trials.play(plan, alone=len(plans) == 1)
        chosen = trials.chosen()
        plan, job = chosen.plan, chosen.job
        if (objection := opening_objection(contest, team, plan.convention)) is not None:
            raise ProgramRefused(objection)
        with disk_errors(new):
            job.files.rename(new / "files")
            trials.delete_others()
        job = replace(job, files=new / "files")
        id_line = id_line_of(job) if plan.convention == "linkage" else ""
        tick("storing it")
        description = Description(
            team=team,
            number=1,  # the store gives the number
            sha256=source.sha256,
            convention=plan.convention,
            command=job.command,
            language=plan.language,
            added=utc_time(time.time()),
            added_by=escape_control_chars(program.added_by)[:MAX_NAME],
            trial=chosen.result,
            id_line=id_line,
        )
        version = store.store(team, new, description, use=program.use)
    found = [escape_control_chars(chosen.built.note)] if chosen.built.note else []
    if len(plans) > 1:
        others = " or ".join(one.convention for one in plans if one is not plan)
        what = f"found by trial games: it plays by the convention {plan.convention}, and not by {others}"
        found.append(f"{what}; --as names another one")
    return Added(version, tuple(found))


@dataclass(frozen=True)
class _Playable:
    plan: Plan
    job: ProgramJob
    built: Built
    result: str


class _Trials:
    """The trial games of a program by each convention that fits it."""

    def __init__(
        self,
        source: Source,
        home: Path,
        games: Sequence[TrialGame],
        protections: Protections,
        startup_seconds: float,
        tick: Callable[[str], None],
    ) -> None:
        self._source, self._home, self._games, self._tick = source, home, games, tick
        self._protections, self._startup_seconds = protections, startup_seconds
        self._built: list[tuple[Plan, Path, Built]] = []
        self._played: list[_Playable] = []
        self._refused: list[tuple[str, str]] = []

    def play(self, plan: Plan, *, alone: bool) -> None:
        """Build a program by a plan, unless that is done, and play its trial games.

        Args:
            plan: one of the program's.
            alone: whether no other convention fits: then it has the time of the contest.

        Raises:
            ProgramRefused: it cannot be built.
        """
        files, built = self._files(plan)
        job = ProgramJob(plan.convention, built.command, files, self._protections, home=self._home)
        games, startup, tick = self._games, self._startup_seconds, self._tick
        if not alone:
            seconds = TRIAL_RIVAL_SECONDS if self._played else TRIAL_MOVE_SECONDS
            games = [_shortened(game, seconds) for game in games]
            startup = min(startup, seconds)
            tick = lambda what: self._tick(f"as {plan.convention}: {what}")  # noqa: E731 - it is one with this plan
        try:
            self._played.append(_Playable(plan, job, built, try_program(job, games, startup, tick)))
        except ProgramRefused as refused:
            self._refused.append((plan.convention, str(refused)))

    def chosen(self) -> _Playable:
        """Return the program as it plays.

        Raises:
            ProgramRefused: it plays by no convention, or by more than one.
        """
        if len(self._played) == 1:
            return self._played[0]
        if self._played:
            names = [one.plan.convention for one in self._played]
            raise ProgramRefused(
                f"it plays by the conventions {' and '.join(names)}: which one is it? Say it with"
                f" {' or '.join(f'--as {name}' for name in names)}, or with"
                f' convention = "{names[0]}" in a file {SETTINGS}'
            )
        (first, reason), *others = self._refused
        lines = [f"tried by the convention {first}: {reason}"]
        for name, why in others:
            lines.append(f"tried by the convention {name}: {why.partition(chr(10))[0]}")
        if others:
            lines.append(f"with --as {first}, it is tried by this one only, with the time of the contest")
        raise ProgramRefused("\n".join(lines))

    def delete_others(self) -> None:
        """Delete what was built and is not used."""
        for _, folder, _ in self._built:
            shutil.rmtree(folder, ignore_errors=True)

    def _files(self, plan: Plan) -> tuple[Path, Built]:
        """Return the folder with the program, and how it is started. Plans may differ in the convention only."""
        for other, folder, built in self._built:
            if replace(other, convention=plan.convention) == plan:
                return folder, built
        folder = self._home / f"files-{plan.convention}"
        with disk_errors(folder):
            folder.mkdir()
        tell = f"building it ({plan.language})"
        self._tick(tell)
        built = build(plan, self._source, folder, self._protections, lambda: self._tick(tell))
        self._built.append((plan, folder, built))
        return folder, built


def opening_objection(contest: Contest, team: int, convention: str) -> str | None:
    """Return why a team's program of this convention cannot play its events: they have openings; None if it can."""
    talk = CONVENTIONS.get(convention)
    if talk is None or talk.from_any_board:
        return None
    events = [event.name for event in contest.events if event.book is not None and team in event.teams]
    if not events:
        return None
    return f"{no_opening(f'the program of {contest.team_name(team)}', convention)}, and {events[0]} has openings"


def _shortened(game: TrialGame, seconds: float) -> TrialGame:
    control = game.control
    return game if control.seconds <= seconds else replace(game, control=TimeControl("move", seconds))


def _games_of(contest: Contest, team: int) -> list[TrialGame]:
    """Return the games that a team plays, each kind once."""
    found: list[TrialGame] = []
    for event in contest.events:
        for options in event.extreme_options():
            game = TrialGame(event.game, options, event.time_control)
            if team in event.teams and game not in found:
                found.append(game)
    if not found:
        raise UsageError(f"team {team} takes part in no event; name it in the teams of one in contest.toml")
    return found
