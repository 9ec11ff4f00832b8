"""Hosted programs: the programs of teams that this machine runs play in matches.

Theory of operation
-------------------

*Seats.* The judge knows nothing of programs. For each hosted team in a match, a process of its own
(`bot_runner.hosted_process`) starts the program in its sandbox, waits until it is ready, and logs in as an ordinary
client on this machine. `ConnectionRegistry.hosted` admits nobody else to the team's seat: the token is made for one
match and told to this process alone. So clocks, records and resumption are those of all other players.

*Presence.* A hosted team is always present, and plays one match at a time. That processes come and go with each
match is not an event. A team becomes hosted, or ceases to be, between two of its matches.

*Cores.* Each match with hosted programs has a processor core of its own, on which both programs run in turn. It
waits while no core is free. The judge, the page and the processes that log in keep the other cores.

*Versions.* A match begins with each team's version in use; in a ladder with the one that was in use when the round
began, which the record of pairings names. A resumed match goes on with the version that its record names. If that
program cannot begin in mid-game, `why_not_resumed` says so; the attempt is void, and the match is played again.
A program that is started in each turn goes on with the files that it left after its last turn (`programs.kept`). If
they are lost, the match is played again, too: the program may need them.

*Faults.* What a program does wrong, its start included, costs its turn. If the process that plays with it fails, it
is the server that has failed, and the match is void.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Literal

import trio
from msgspec import UNSET, UnsetType

from getstep.conventions import CONVENTIONS
from getstep_server.bot_runner.program_seats import ProgramSeats, SeatedProgram, available_cores
from getstep_server.config.contest import Contest
from getstep_server.config.event import ContestEvent
from getstep_server.errors import ConfigError
from getstep_server.events import Listening, Publish, ServerFault, TeamArrived, TeamLeft
from getstep_server.net.registry import HostedLogin
from getstep_server.net.seat import Seat, hosted_program
from getstep_server.play.scoresheet import Scoresheet
from getstep_server.programs import kept
from getstep_server.programs.adding import opening_objection
from getstep_server.programs.playing import ProgramJob
from getstep_server.programs.store import ProgramStore
from getstep_server.programs.version import ProgramVersion
from getstep_server.records.game import ProgramEntry, Programs
from getstep_server.records.match import Match
from getstep_server.records.pairings import TeamProgram
from getstep_server.records.result import PLAYERS
from getstep_server.sandbox import PLAYING, Protections, SandboxError, start
from getstep_server.tournament.tournament import Tournament

from .attempt import Attempt

REFRESH_SECONDS = 1.0
"""The interval at which the versions in use are read: some small files, 50 µs for each team."""

CHECK_SECONDS = 60.0
"""The time for the start of something in the sandbox: 0.1 s, on a crowded machine more."""


class HostedPrograms:
    """The hosted programs of one run. Without `open` there are none.

    Args:
        contest: the contest.
        tournament: says which versions play a round of a ladder.
        publish: called with the arrival of hosted teams, with what seats publish, and with failures.
    """

    def __init__(self, contest: Contest, tournament: Tournament, publish: Publish) -> None:
        self._contest = contest
        self._tournament = tournament
        self._publish = publish
        self._store = ProgramStore(contest.folder)
        self._versions: dict[int, ProgramVersion] = {}
        """The versions in use, as of the last refresh."""
        self._at_seats = ProgramSeats(contest.folder / "programs" / ".playing", publish)
        self.seat_publish = self._at_seats.seat_publish
        self._seats: Mapping[int, Sequence[Seat]] = {}
        self._location = "this machine"
        """Where the programs are, for people who follow the contest."""
        self._where = Listening("127.0.0.1", 0, None, stamped=False)
        self._free_cores, self._cores = trio.open_memory_channel[int | None](len(_cores(contest)))
        for core in _cores(contest):
            self._free_cores.send_nowait(core)

    @property
    def logins(self) -> dict[int, HostedLogin | None]:
        """The hosted teams; see `ConnectionRegistry.hosted`."""
        return self._at_seats.logins

    @property
    def teams(self) -> Collection[int]:
        """The hosted teams: they are always present."""
        return self.logins.keys()

    @property
    def pending(self) -> Collection[int]:
        """The teams that become hosted once their bot's match is over: they begin no further one."""
        return self._versions.keys() - self.logins.keys()

    # --- which teams are hosted ---

    async def open(
        self,
        seats: Mapping[int, Sequence[Seat]],
        where: Listening,
        unfinished: Sequence[Scoresheet],
        *,
        on_cluster: bool = False,
    ) -> None:
        """Find out which teams are hosted. Files of programs are kept for the ``unfinished`` matches only.

        ``on_cluster``: matches between two of them are played on other machines, which have a sandbox of their own.

        Raises:
            ConfigError: a version in use cannot be read, or cannot begin after an opening, or the sandbox does not
                work.
        """
        self._seats, self._where = seats, where
        if on_cluster:
            self._location = "the cluster"
        await trio.to_thread.run_sync(self._at_seats.clean)
        attempts = {(sheet.match.number, sheet.attempt) for sheet in unfinished}
        await trio.to_thread.run_sync(kept.clean, self._kept, attempts)
        self._versions = await trio.to_thread.run_sync(self._in_use)
        for team, version in self._versions.items():
            if (objection := opening_objection(self._contest, team, version.convention)) is not None:
                raise ConfigError(f"{objection}; choose another program, or leave out the openings in contest.toml")
        elsewhere = on_cluster and self._versions.keys() >= seats.keys()
        elsewhere = elsewhere and all("worker" in sheet.head for sheet in unfinished)
        if self._versions and not elsewhere and self._protections is Protections.ALL:
            await trio.to_thread.run_sync(_check_sandbox)

    def begin(self) -> None:
        """Make the teams with a program hosted ones."""
        self._update()

    async def watch(self, changed: Callable[[], None]) -> None:
        """Follow the versions in use until cancelled; call ``changed`` if other teams are hosted than before."""
        while True:
            await trio.sleep(REFRESH_SECONDS)  # `programs use` is another process and sends no signal
            before = set(self.logins)
            try:
                self._versions = await trio.to_thread.run_sync(self._in_use)
                self._update()
            except ConfigError as error:
                self._publish(ServerFault("reading the programs in use", str(error)))
            if before != set(self.logins):
                changed()

    def _update(self) -> None:
        for team in sorted(self._versions.keys() ^ self.logins.keys()):  # hosted from now on, or no longer
            if any(seat.taken for seat in self._seats[team]):
                continue  # after its match
            if team in self._versions:
                self._begin_hosting(team)
            else:
                del self.logins[team]
                self._publish(TeamLeft(team, "its program is no longer in use"))

    def _begin_hosting(self, team: int) -> None:
        again = any(seat.connected for seat in self._seats[team])
        self.logins[team] = None  # before its bots are closed: one that comes back at once is refused
        for seat in self._seats[team]:
            if seat.connection is not None:
                seat.connection.close(hosted_program(team))
        version = self._versions[team]
        what = f"program {version.number}, {version.language}"
        self._publish(TeamArrived(team, self._location, what, again))

    def _in_use(self) -> dict[int, ProgramVersion]:
        found = ((team, self._store.current(team)) for team in self._store.teams() if team in self._seats)
        return {team: version for team, version in found if version is not None}

    def for_round(self, event: ContestEvent) -> list[TeamProgram]:
        """Return the versions that play the next round of a ladder; none in another format. Any thread may call it.

        Raises:
            ConfigError: a version in use cannot be read.
        """
        if not event.format.gathers or not self.logins:
            return []
        return [
            TeamProgram(team=team, version=version.number, sha256=version.sha256)
            for team, version in self._in_use().items()
            if team in event.teams
        ]

    # --- matches ---

    async def why_not_resumed(self, sheet: Scoresheet) -> str | None:
        """Return why a match of an earlier run cannot go on; None if it can."""
        if sheet.match_state.outcome is not None or not (self.logins or "programs" in sheet.head):
            return None
        if "worker" in sheet.head:
            return f"worker {sheet.head['worker']} played it"
        return await trio.to_thread.run_sync(self._why_not_resumed, sheet)

    def _why_not_resumed(self, sheet: Scoresheet) -> str | None:
        for player, entry in zip(PLAYERS, _programs_of(sheet), strict=True):
            team = sheet.match.teams[player]
            name = self._contest.team_name(team)
            if entry is None:
                if team in self.logins:
                    return f"{name} played it from the network, and has a program on the host's machine now"
                continue
            version = self._version(team, entry.version)
            if version is None:
                return f"version {entry.version} of the program of {name} is gone"
            convention = CONVENTIONS.get(version.convention)
            if convention is not None and not convention.from_any_board and sheet.match_state.turns:
                return f"the program of {name} cannot begin in mid-game"
            if (
                _keeps_files(version.convention)
                and (turn := sheet.last_turn(player))
                and kept.find(self._kept, sheet.match.number, sheet.attempt, team, turn) is None
            ):
                return f"the files that the program of {name} has left after its turn {turn} are lost"
        return None

    @asynccontextmanager
    async def playing(self, attempt: Attempt, is_due: Callable[[], bool]) -> AsyncIterator[Programs | None]:
        """Run the hosted programs of a match, if it has any, from before the block until after it.

        Yields:
            For each player its program; empty if no program is hosted; None if the match is no longer due
            (``is_due``) once it has a core.

        Raises:
            BotFailed: a process that plays with a program has failed. The block is cancelled then.
        """
        match, sheet = attempt.match, attempt.sheet
        resumed = () if sheet is None else _programs_of(sheet)
        hosted = [player for player, team in enumerate(match.teams) if team in self.logins]
        is_over = any(attempt.absent) if sheet is None else sheet.match_state.outcome is not None
        if not hosted or is_over:
            yield ()
            return
        core = await self._cores.receive()
        try:
            versions = await trio.to_thread.run_sync(self._versions_for, match, hosted, resumed)
            if versions is None or not is_due():
                yield None
                return
            seated = [
                await trio.to_thread.run_sync(self._seated, attempt, player, version, core)
                for player, version in versions.items()
            ]
            entries = [self.entry(versions.get(player)) for player in PLAYERS]
            startup_seconds = self._contest.file.programs.startup_seconds
            async with self._at_seats.playing(match.number, seated, self._where, startup_seconds):
                yield entries
        finally:
            self._free_cores.send_nowait(core)
            if trio.current_effective_deadline() > -inf:  # else the server stops, and a later run resumes the match
                await trio.to_thread.run_sync(self._forget_files, attempt)

    def versions_for(self, match: Match) -> dict[int, ProgramVersion] | None:
        """Return the versions of both players that begin a match; None if a team has none. Any thread may call it.

        Raises:
            ConfigError: a version cannot be read.
        """
        return self._versions_for(match, PLAYERS, ())

    def _versions_for(
        self, match: Match, hosted: Sequence[int], resumed: Programs
    ) -> dict[int, ProgramVersion] | None:
        """Return the version of each hosted player; None if a team has none any more."""
        round_ = self._tournament.round_programs(match.event)
        found: dict[int, ProgramVersion] = {}
        for player in hosted:
            team = match.teams[player]
            entry = resumed[player] if resumed else None
            number = round_.get(team) if entry is None else entry.version
            version = (None if number is None else self._version(team, number)) or self._store.current(team)
            if version is None:
                return None
            found[player] = version
        return found

    def _version(self, team: int, number: int) -> ProgramVersion | None:
        versions = (version for version in self._store.versions(team) if not version.removed)
        return next((version for version in versions if version.number == number), None)

    def entry(self, version: ProgramVersion | None) -> ProgramEntry | None:
        """Return a version as the record of a game names it; None if the player has no program."""
        if version is None:
            return None
        sandbox: Literal["none"] | UnsetType = "none" if self._protections is Protections.NONE else UNSET
        return ProgramEntry(
            version=version.number, sha256=version.sha256, id_line=version.id_line or UNSET, sandbox=sandbox
        )

    def _seated(self, attempt: Attempt, player: int, version: ProgramVersion, core: int | None) -> SeatedProgram:
        """Return a program in a match. Raises OSError if its files cannot be used."""
        home = self._at_seats.home(version.team)
        program = ProgramJob(version.convention, version.command, version.files, self._protections, core, home=home)
        if _keeps_files(version.convention):
            program = self._with_files(program, attempt, player)
        return SeatedProgram(program, attempt.seats[player], first=player == 0)

    # --- the files of a program that is started in each turn ---

    def _with_files(self, program: ProgramJob, attempt: Attempt, player: int) -> ProgramJob:
        """Return a program with the place for such files, and with those of an earlier run. Raises OSError."""
        match, sheet, number = attempt.match, attempt.sheet, self._number_of(attempt)
        team = match.teams[player]
        turn = 0 if sheet is None else sheet.last_turn(player)
        if not turn:
            return replace(program, keep=kept.place(self._kept, match.number, number, team))
        found = kept.find(self._kept, match.number, number, team, turn)
        if found is None:
            raise FileNotFoundError(f"the files that the program has left after its turn {turn} are lost")
        files = kept.take_over(found)
        return replace(program, files=files, keep=files.parent)

    def _forget_files(self, attempt: Attempt) -> None:
        for team in attempt.match.teams:
            kept.forget(self._kept, attempt.match.number, self._number_of(attempt), team)

    def _number_of(self, attempt: Attempt) -> int:
        sheet = attempt.sheet
        return self._tournament.attempts[attempt.match.number] + 1 if sheet is None else sheet.attempt

    @property
    def _kept(self) -> Path:
        return self._contest.folder / "programs" / ".kept"

    # --- the machine ---

    @property
    def _protections(self) -> Protections:
        return Protections(self._contest.file.programs.sandbox)


def _cores(contest: Contest) -> Sequence[int | None]:
    """Return the cores of matches with hosted programs. The judge keeps the first one, if there are more."""
    wanted = contest.file.programs.cores
    here = available_cores()
    count = max(1, len(here) - 1) if wanted is None else min(wanted, len(here))
    return here[-count:]


def _programs_of(sheet: Scoresheet) -> Programs:
    """Return the programs that a match of an earlier run has begun with."""
    entries = sheet.head.get("programs") or (None, None)
    return [None if entry is None else ProgramEntry(**entry) for entry in entries]


def _keeps_files(convention: str) -> bool:
    """Return True if a program of a convention leaves files in a turn that it may need in the next one."""
    talk = CONVENTIONS.get(convention)
    return talk is not None and talk.process_per_turn


def _check_sandbox() -> None:
    """Start something in the sandbox.

    Raises:
        ConfigError: it does not work here.
    """
    try:
        with tempfile.TemporaryDirectory() as empty, start(["true"], Path(empty), PLAYING) as process:
            code = process.wait(CHECK_SECONDS)
    except (SandboxError, OSError, subprocess.TimeoutExpired) as error:
        raise ConfigError(_no_sandbox(str(error))) from error
    if code:
        raise ConfigError(_no_sandbox(f"a program exited with code {code}"))


def _no_sandbox(why: str) -> str:
    return (
        f"teams have programs on this machine, and the sandbox does not work: {why}; see getstep-server sandbox, or"
        ' set sandbox = "none" under [programs] in contest.toml'
    )
