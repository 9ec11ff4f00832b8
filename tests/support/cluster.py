"""A cluster without Dask: workers that play in memory, their orders, and contests with programs."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import trio

from getstep_server.cluster.client import Cluster
from getstep_server.cluster.messages import (
    Connected,
    Disconnected,
    FromProcess,
    GiveUp,
    Joined,
    Left,
    Lost,
    Play,
    Reported,
    Stop,
    ToProcess,
    TurnsPlayed,
)
from getstep_server.cluster.order import (
    MatchOrder,
    MatchProgress,
    MatchReport,
    ProgramSettings,
    ProgramSpec,
    ReportedResult,
    SandboxRow,
    WorkerProof,
    decode_order,
    encode,
)
from getstep_server.cluster.program_files import name_of, pack
from getstep_server.cluster.venue import ClusterVenue
from getstep_server.config.contest import Contest
from getstep_server.events import Publish
from getstep_server.json_text import encode as as_json
from getstep_server.programs.version import GETSTEP
from getstep_server.records.game import ProgramEntry, game_header, match_state_of
from getstep_server.records.match import Match
from getstep_server.records.record import SOFTWARE, Record
from getstep_server.runtime.hosted import HostedPrograms
from getstep_server.tournament.tournament import Tournament
from tests.support.contests import make_contest
from tests.support.director import DecidedStage, MemoryStore
from tests.support.submitted_programs import GET_STEP, add_program

Act = Callable[[Play], Iterable[FromProcess]]
"""What a worker answers to an order."""


def proof(calibration: float = 10.0, *, held: bool = True, **changes: Any) -> bytes:
    """Return the proof of a worker."""
    fields: dict[str, Any] = {
        "host": "lab",
        "cores": 2,
        "software": SOFTWARE,
        "python": "3.11.7",
        "platform": "Linux",
        "calibration_ms": calibration,
        "sandbox": (SandboxRow(probe="reads a secret", held=held, detail="" if held else "it was read"),),
    }
    return encode(WorkerProof(**{**fields, **changes}))


def report_on(order: MatchOrder) -> MatchReport:
    """Return the report on a match in which both programs make the first legal move in 1 ms."""
    state, lines = match_state_of(order.head), []
    while state.outcome is None:
        player = state.state.to_move
        move = next(iter(state.state.legal_moves()))
        state.move(move, 1.0)
        lines.append({"player": player, "move": move, "ms": 1.0, "timed": "wake"})
        if state.state.passed and state.outcome is None:
            lines += [{"player": passed, "pass": True} for passed in state.state.passed]
    outcome = state.outcome
    played = ReportedResult(
        winner=outcome.winner,
        reason=outcome.reason,
        turns=state.turns,
        seconds=0.5,
    )
    return MatchReport(played=played, lines=[as_json(line).decode() for line in lines])


def good(play: Play) -> Iterator[FromProcess]:
    """Play the match."""
    yield Reported(play.id, encode(report_on(decode_order(play.order))))


def turns(play: Play, count: int, start: int = 0) -> TurnsPlayed:
    """Return the first turns of a match."""
    order = decode_order(play.order)
    lines = report_on(order).lines[start : start + count]
    return TurnsPlayed(play.id, encode(MatchProgress(start=start, lines=lines)))


class MemoryLink:
    """A link to workers in memory. A worker is there from `join` until `leave`.

    ``told`` are the messages of the host; each worker answers an order with what its `Act` yields.
    """

    def __init__(self) -> None:
        self.told: list[ToProcess] = []
        self.begun = trio.Event()
        self._acts: dict[str, Act] = {}
        self._send, self._orders = trio.open_memory_channel[Play](1000)
        self._receive: Callable[[FromProcess], None] = lambda _: None
        self.lost: Callable[[str], None] = lambda _: None
        self.wanted: set[int] = set()

    def tell(self, message: ToProcess) -> None:
        self.told.append(message)
        if isinstance(message, Play):
            self.wanted.add(message.id)
            self._send.send_nowait(message)
        elif isinstance(message, Stop):
            self.wanted.discard(message.id)
        elif isinstance(message, GiveUp):
            del self._acts[message.worker]

    async def run(self, receive: Callable[[FromProcess], None], lost: Callable[[str], None]) -> None:
        self._receive, self.lost = receive, lost
        receive(Connected("tcp://lab:8786"))
        self.begun.set()
        async for play in self._orders:
            if play.id in self.wanted and play.worker in self._acts:
                for message in self._acts[play.worker](play):
                    receive(message)
                    await trio.lowlevel.checkpoint()

    def say(self, message: FromProcess) -> None:
        """Say something to the host."""
        self._receive(message)

    async def join(self, worker: str, act: Act = good, slots: int = 1, proved: bytes | None = None) -> None:
        """Let a worker join."""
        await self.begun.wait()
        self._acts[worker] = act
        self.say(Joined(worker, f"name of {worker}", slots, proof() if proved is None else proved))

    def leave(self, worker: str) -> None:
        """Let a worker go."""
        self._acts.pop(worker, None)
        self.say(Left(worker))

    def disconnect(self) -> None:
        """Lose the scheduler."""
        self._acts.clear()
        self.say(Disconnected("gone"))

    def plays(self) -> list[Play]:
        """Return all orders."""
        return [message for message in self.told if isinstance(message, Play)]


def failing(times: int = 10**6, why: str = "no room on the disk") -> Act:
    """Return a worker that fails its first matches."""
    count = itertools.count()

    def act(play: Play) -> Iterator[FromProcess]:
        if next(count) < times:
            yield Lost(play.id, why)
        else:
            yield from good(play)

    return act


def program_contest(folder: Path, teams: int, *events: dict[str, Any], **programs: Any) -> Contest:
    """Return a contest of longest_path in which each team has a program on the host."""
    contest = make_contest(
        folder, teams, *(events or ({"game": "longest_path"},)), programs={"sandbox": "none", **programs}
    )
    for team in contest.teams:
        add_program(folder, team, GETSTEP, GET_STEP)
    return contest


def staged(
    contest: Contest, *, store: MemoryStore | None = None, sandbox: bool = True, records: Sequence[Record] = ()
) -> tuple[DecidedStage, MemoryLink]:
    """Return a stage with a cluster, and its link."""
    link = MemoryLink()

    def make(contest: Contest, tournament: Tournament, hosted: HostedPrograms, publish: Publish) -> ClusterVenue:
        cluster = Cluster(link, contest.folder / "programs" / ".packed", publish, sandbox=sandbox)
        return ClusterVenue(cluster, contest, tournament, hosted, publish)

    return DecidedStage(contest, store=store, records=records, make_cluster=make), link


# --- orders for a worker of a cluster: matches between two small Python programs --------------------------------

NEVER = """\
import time

def get_step(board, is_black):
    time.sleep(3600)
"""
"""A program that does not answer."""


def packed(folder: Path, source: str) -> bytes:
    """Return the packed files of a program of one file."""
    files = folder / name_of(source.encode())
    files.mkdir(exist_ok=True)
    (files / "program.py").write_text(source, encoding="utf-8")
    return pack(files)


def order_of(
    folder: Path,
    *sources: str,
    convention: str = GETSTEP,
    game: str = "longest_path",
    sandbox: str = "required",
    number: int = 1,
    deadline: float = 600,
    **event: Any,
) -> tuple[bytes, dict[str, bytes]]:
    """Return the order for a match between two programs, and their files."""
    contest = make_contest(folder, 2, {"game": game, "move_seconds": 20, **event})
    programs = [packed(folder, source) for source in sources or (GET_STEP, GET_STEP)]
    entries = [ProgramEntry(version=1, sha256=name_of(files)) for files in programs]
    match = Match(number, 1, 1, 1, 1, 2, game, contest.event(1).extreme_options()[0])
    specs = [
        ProgramSpec(
            number=1,
            convention=convention,
            command=("python", "program.py"),
            language="Python",
            files=name_of(files),
        )
        for files in programs
    ]
    settings = ProgramSettings(sandbox=sandbox, startup_seconds=60)  # type: ignore[arg-type]  # a test's own text
    order = MatchOrder(
        head=game_header(contest, match, 1, 1.7e9, entries),
        programs=tuple(specs),
        settings=settings,
        deadline_seconds=deadline,
    )
    return encode(order), {name_of(files): files for files in programs}
