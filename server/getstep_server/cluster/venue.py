"""The cluster as a venue of the director: matches between two hosted programs are played there.

Theory of operation
-------------------

*Orders.* A match waits with its order until a worker begins it. The attempt begins then, and its turns go into the
journal as they come, so that the live page shows them. The report ends the attempt.

*Trust.* Each turn is checked by the rules, as verification does, before it is written. A worker whose turns or
result do not fit has failed. What it says about time is taken as it is: a worker runs the code of this version,
on a machine that the host has chosen.

*Programs.* A version's files are packed once, and named by the SHA-256 of the packed files.

*Crashes.* A match that was played on a worker is not resumed after a crash of the host: its worker is gone. It is
void and played again. If its last turn is in the journal, its result is taken from there.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import trio

from getstep_server.config.contest import Contest
from getstep_server.errors import MatchLost
from getstep_server.events import Event, MovePlayed, Publish, TurnFaulted
from getstep_server.limits import MAX_ORDER_SECONDS
from getstep_server.net.seat import Seat
from getstep_server.play.scoresheet import Scoresheet
from getstep_server.programs.disk import make_empty, write_durably
from getstep_server.programs.version import ProgramVersion
from getstep_server.records.game import Programs, game_header
from getstep_server.records.match import Match
from getstep_server.records.record import Record
from getstep_server.records.result import PLAYERS, Result
from getstep_server.records.values import MAX_TIME_FACTOR
from getstep_server.records.worker import ProbeEntry, Workers, record_of_worker, time_factor
from getstep_server.text import escape_control_chars, utc_time

from .client import SILENCE_SECONDS, Cluster, Order, Worker
from .order import MatchOrder, MatchReport, OrderError, ProgramSettings, ProgramSpec, WorkerProof, check_lines
from .placement import Durations, Job
from .program_files import name_of, pack

DUE_SECONDS = 1.0
"""The interval at which a match that waits for a worker finds out that it is no longer due."""

LINES_AT_ONCE = 32
"""The turns that are checked and written without a pause: each takes 20 to 100 µs."""

MATCHES_AHEAD = 200
"""The matches that wait for workers besides one for each slot: so many are enough to choose the longest of them."""


class AttemptView(Protocol):
    """The part of `runtime.attempt.Attempt` that a venue needs: this room does not know the tournament."""

    match: Match
    sheet: Scoresheet | None
    absent: list[bool]
    location: Mapping[str, Any]


class HostedView(Protocol):
    """The part of `runtime.hosted.HostedPrograms` that a venue needs."""

    @property
    def teams(self) -> Collection[int]:
        """The hosted teams."""

    def versions_for(self, match: Match) -> Mapping[int, ProgramVersion] | None:
        """Return the version of each player; None if a team has none any more. Any thread may call this."""

    def entry(self, version: ProgramVersion | None) -> Any:
        """Return a version as the record of a game names it."""


class RecordsView(Protocol):
    """The part of `tournament.Tournament` that a venue needs."""

    attempts: Counter[int]
    workers: Workers

    @property
    def results(self) -> Sequence[Result]:
        """The official results."""


PutWorker = Callable[[Callable[[int], Record]], Awaitable[int]]


@dataclass(frozen=True)
class _Packed:
    """A program that a worker can play: the files are in the folder of the cluster."""

    spec: ProgramSpec
    version: ProgramVersion


class ClusterVenue:
    """Plays matches between hosted programs on the workers of a cluster.

    Args:
        cluster: the workers.
        contest: the contest.
        records: what is on record; its results say how long matches take.
        hosted: the programs.
        publish: called with each move and fault.
    """

    def __init__(
        self, cluster: Cluster, contest: Contest, records: RecordsView, hosted: HostedView, publish: Publish
    ) -> None:
        self.cluster = cluster
        self._contest = contest
        self._records = records
        self._hosted = hosted
        self._publish = publish
        self._durations = Durations(records.results)
        self._packed: dict[tuple[int, int], ProgramSpec] = {}
        """The programs that were packed, by team and version."""
        self._used: Counter[tuple[int, int]] = Counter()
        """How many matches need the packed files of a version."""
        self._packing = trio.Lock()  # two matches of a version must not pack it twice
        self._orders: dict[int, Order] = {}
        """The orders of the matches that are being played, by match."""

    async def run(self, put_worker: PutWorker, changed: Callable[[], None]) -> None:
        """Keep the cluster until cancelled.

        Args:
            put_worker: puts a worker on record; see `Recorder.put_worker`.
            changed: called when more matches can be handed out than before.
        """

        async def register(proof: WorkerProof, name: str, slots: int) -> int:
            return await put_worker(lambda number: _record_of(self._contest, number, name, slots, proof))

        await self.cluster.run(register, changed)

    # --- for the director ---

    def takes(self, attempt: AttemptView) -> bool:
        """Return True if both players are hosted programs, and the match begins now."""
        return attempt.sheet is None and not any(attempt.absent) and self.is_for(attempt.match)

    def is_for(self, match: Match) -> bool:
        """Return True if both players are hosted programs."""
        return all(team in self._hosted.teams for team in match.teams)

    def seat(self, team: int) -> Seat:
        """Return a seat for a match here: nobody ever connects to it."""
        return Seat(self._contest.teams[team], lambda _: None)

    @property
    def most(self) -> int:
        """The matches that the director may hand out at once. Those that are bound keep no slot busy."""
        return self.cluster.slots + self.cluster.bound + MATCHES_AHEAD

    @asynccontextmanager
    async def prepare(self, attempt: AttemptView, is_due: Callable[[], bool]) -> AsyncIterator[Programs | None]:
        """Wait until a worker begins the match.

        Yields:
            For each player its program; None if the match is no longer due (``is_due``).

        Raises:
            MatchLost: no worker can play it.
            OSError: the files of a program cannot be read.
        """
        used: list[tuple[int, int]] = []
        try:
            packed = await self._programs_for(attempt.match, used)
            if packed is None or not is_due():
                yield None
            else:
                async with self._ordered(attempt, packed, is_due) as programs:
                    yield programs
        finally:
            self._used.subtract(used)

    @asynccontextmanager
    async def _ordered(
        self, attempt: AttemptView, packed: Sequence[_Packed], is_due: Callable[[], bool]
    ) -> AsyncIterator[Programs | None]:
        match = attempt.match
        order = self._order(match, packed)
        self.cluster.begin(order)
        try:
            while not order.has_begun:
                with trio.move_on_after(DUE_SECONDS):  # `is_due` is asked again: it causes no event
                    await order.changed.wait()
                if not order.has_begun and not is_due():
                    yield None
                    return
            if order.worker is None or order.lost:
                raise MatchLost(order.lost)
            attempt.location = self._place_of(order.worker)
            self._orders[match.number] = order
            yield [self._hosted.entry(one.version) for one in packed]
        finally:
            self._orders.pop(match.number, None)
            self.cluster.end(order)

    async def play(self, attempt: AttemptView, sheet: Scoresheet) -> Result:
        """Write the turns of the match as they come, until it is over.

        Raises:
            MatchLost: the worker is lost, or has failed.
        """
        order, written = self._orders[attempt.match.number], 0
        try:
            while order.report is None or written < len(order.lines):
                if order.lost:
                    raise MatchLost(order.lost)
                if written < len(order.lines):
                    lines = order.lines[written : written + LINES_AT_ONCE]
                    written += len(lines)
                    await self._write(sheet, lines)
                    # a report may bring hundreds of turns: others run between two parts
                    await trio.lowlevel.checkpoint()
                else:
                    await order.changed.wait()
            result = _result_of(sheet, order.report)
        except OrderError as error:
            self.cluster.failed(order, str(error))
            raise MatchLost(order.lost) from error
        self._durations.note(result)
        return result

    # --- inside ---

    async def _write(self, sheet: Scoresheet, lines: Sequence[str]) -> None:
        """Write turns that a worker has judged, and publish them.

        Raises:
            OrderError: a turn does not fit.
        """
        turns = []
        try:
            for turn in check_lines(sheet.match_state, lines):
                turns.append(turn)
        finally:  # those before the wrong one have been applied
            await sheet.write_judged(turns)
        for turn in turns:
            if (event := _event_of(sheet.match, turn)) is not None:
                self._publish(event)

    async def _programs_for(self, match: Match, used: list[tuple[int, int]]) -> list[_Packed] | None:
        """Return the packed programs of a match, and add the versions to those that are ``used``."""
        versions = await trio.to_thread.run_sync(self._hosted.versions_for, match)
        if versions is None:
            return None
        for version in (versions[player] for player in PLAYERS):
            used.append((version.team, version.number))
            self._used[used[-1]] += 1  # at once: nobody deletes its files from here on
        return [await self._pack(versions[player]) for player in PLAYERS]

    async def _pack(self, version: ProgramVersion) -> _Packed:
        key = version.team, version.number
        if key not in self._packed:
            async with self._packing:  # once, although a round begins with many matches of a program
                if not self._packed:  # programs of an earlier run may be in use no more
                    await trio.to_thread.run_sync(make_empty, self.cluster.files)
                if key not in self._packed:
                    self._packed[key] = await trio.to_thread.run_sync(_packed_spec, version, self.cluster.files)
                    await self._forget(version.team)
        return _Packed(self._packed[key], version)

    async def _forget(self, team: int) -> None:
        """Delete the packed files of a team's versions that no match needs: a contest may run for months."""
        old = [key for key in self._packed if key[0] == team and self._used[key] <= 0]
        names = {self._packed.pop(key).files for key in old}
        for name in names - {spec.files for spec in self._packed.values()}:
            await trio.to_thread.run_sync(partial(Path.unlink, self.cluster.files / name, missing_ok=True))

    def _order(self, match: Match, packed: Sequence[_Packed]) -> Order:
        contest, control = self._contest, self._contest.event(match.event).time_control
        entries = [self._hosted.entry(one.version) for one in packed]
        attempt = self._records.attempts[match.number] + 1
        settings = ProgramSettings(
            sandbox=contest.file.programs.sandbox, startup_seconds=contest.file.programs.startup_seconds
        )
        started = round(time.time(), 3)  # the worker's; the record says when it began

        def make(worker: Worker) -> MatchOrder:
            place = self._place_of(worker)
            return MatchOrder(
                head=game_header(contest, match, attempt, started, entries, **place),
                programs=tuple(one.spec for one in packed),
                settings=settings,
                deadline_seconds=MAX_ORDER_SECONDS,
            )

        files = [one.spec.files for one in packed]
        seconds = self._durations.expected(match, control)
        turn = (control.seconds + control.increment) * MAX_TIME_FACTOR
        silence = turn + contest.lag + settings.startup_seconds + SILENCE_SECONDS
        return Order(Job(match.number, (match.event, match.pairing), seconds, tuple(files)), make, files, silence)

    def _place_of(self, worker: Worker) -> dict[str, Any]:
        if not self._contest.file.programs.normalise_time:
            return {"worker": worker.number}
        factor = time_factor(self._records.workers, worker.number)
        return {"worker": worker.number, "time_factor": factor}


def _record_of(contest: Contest, number: int, name: str, slots: int, proof: WorkerProof) -> Record:
    return record_of_worker(
        contest,
        worker=number,
        name=escape_control_chars(name)[:200],  # the record takes no longer one
        host=proof.host,
        slots=slots,
        cores=proof.cores,
        calibration_ms=proof.calibration_ms,
        python=proof.python,
        platform=proof.platform,
        sandbox=[ProbeEntry(probe=row.probe, held=row.held, detail=row.detail) for row in proof.sandbox],
        sandbox_problem=proof.sandbox_problem,
        at=utc_time(time.time()),
        software=proof.software,
    )


def _packed_spec(version: ProgramVersion, folder: Path) -> ProgramSpec:
    """Pack a program, and write the packed files into a folder. Any thread may call this.

    Raises:
        OSError: a file cannot be read, or the folder cannot be used.
    """
    packed = pack(version.files)
    name = name_of(packed)
    if not (folder / name).exists():
        write_durably(folder / name, packed)
    return ProgramSpec(
        number=version.number,
        convention=version.convention,
        command=version.command,
        language=version.language,
        files=name,
    )


def _event_of(match: Match, turn: Mapping[str, Any]) -> Event | None:
    if "move" in turn:
        return MovePlayed(match, turn["player"], turn["move"], turn["ms"] / 1000, turn.get("timed") == "kernel")
    if "fault" in turn:
        return TurnFaulted(match, turn["player"], turn["fault"], turn["detail"], turn["ms"] / 1000)
    return None


def _result_of(sheet: Scoresheet, report: MatchReport) -> Result:
    """Return the result of a match whose turns are written, and add what else the worker reports.

    Raises:
        OrderError: the report contradicts the turns.
    """
    state, played = sheet.match_state, report.played
    outcome = state.outcome
    if outcome is None or played is None or state.passes_due:
        raise OrderError("the turns are over, and the match is not")
    if (outcome.winner, outcome.reason, state.turns) != (played.winner, played.reason, played.turns):
        found, expected = f"{played.reason} after {played.turns} turns", f"{outcome.reason} after {state.turns}"
        raise OrderError(f"{found}, expected {expected} by these turns")
    if any(row.team not in sheet.match.teams for row in report.incidents):
        raise OrderError("an incident of a team that does not play, expected one of the two")
    if any(row.after_turn > state.turns for row in report.incidents):
        raise OrderError(f"an incident after more than {state.turns} turns, expected no more than were played")
    sheet.add_incidents(report.incidents)
    return sheet.result(played.seconds)
