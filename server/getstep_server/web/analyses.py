"""Why was a game lost? A team asks in its area, and a process of its own searches the game.

Theory of operation
-------------------

The search takes a minute of a core. So one game is analysed at a time, by a process that runs only when nobody else
wants the processor (`analysis_process`); the others wait in order. A team has one analysis at a time, and
few of them in a day. The process ends with the page, and so with the server.

What the search found is kept as a file in the folder ``analyses`` of the contest, by the hash of the game's record.
It has moves and values, and nothing that only one of the two teams may see. So both teams share it, and each gets
the replay that it may see anyway, with these values. No record says anything of it, and no result depends on it.
"""

from __future__ import annotations

import contextlib
import re
import sys
from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NoReturn

import msgspec
import trio

from getstep.analysis.game import SECONDS, Analysis, JudgedMove
from getstep.replay import Replay, replay_data
from getstep_server.api.answers import AnalysesAnswer, AnalysisState
from getstep_server.children.process import kill, run, start
from getstep_server.limits import ANALYSES_KEPT, ANALYSIS_SECONDS, MAX_ANALYSES_WAITING
from getstep_server.reports.notation import ARCHIVED
from getstep_server.tournament.challenges import DAY_SECONDS

from .analysis_process import Status, Task
from .feed import Feed
from .http import JSON, Request, Response, problem
from .jobs import Jobs
from .own_games import OwnGames
from .topics import encode

FOLDER = "analyses"
COMMAND = (sys.executable, "-m", "getstep_server.web.analysis_process")

_NAME = re.compile(r"match-([0-9]{1,9})-[0-9a-f]{16}\.json")


@dataclass(eq=False)
class AskedAnalysis:
    """A game that a team wants analysed, and how far that is."""

    team: int
    number: int
    path: Path
    task: Task
    state: Literal["waiting", "working", "done", "failed"] = "waiting"
    done: int = 0
    of: int = 0
    moves: list[JudgedMove] = field(default_factory=list)

    @property
    def open(self) -> bool:
        """True until there is a result."""
        return self.state in ("waiting", "working")


class Analyses:
    """The analyses of all teams.

    Args:
        feed: the contest.
        games: what each team may see of its games.
        command: of the process that analyses a game.
    """

    def __init__(self, feed: Feed, games: OwnGames, command: Sequence[str] = COMMAND) -> None:
        self._feed = feed
        self._games = games
        self._most = feed.contest.file.quotas.analyses_per_day
        self._command = command
        self._folder = Path(feed.folder) / FOLDER
        self._jobs = Jobs(self._analyse)
        self._reading = trio.CapacityLimiter(1)  # a replay with three lines takes some 50 ms: one request at a time
        self._latest: dict[int, AskedAnalysis] = {}
        self._begun: defaultdict[int, deque[float]] = defaultdict(deque)
        """When the latest analyses of each team were asked for, by trio's clock: a restart forgets it."""

    # --- what comes in ---

    async def take(self, team: int, request: Request) -> Response:
        """Answer a team that asks for the analysis of the match in the field ``match``.

        Raises:
            ValueError: the form has too many fields.
            StoreError: there are no records now.
        """
        text = request.form().get("match", "")
        number = int(text) if re.fullmatch("[0-9]{1,9}", text) else 0
        found = await self._games.latest(team, number) if number in self._over(team) else None
        if found is None:
            return problem(404, "your team has no such match that is over")
        head, game = found
        path = self._path(number, head)
        if path.exists():
            return Response(encode({"state": "done"}), JSON)
        if game.game is None:
            return problem(409, f"the rules of {game.rules} are not installed; ask the host")
        if not game.turns:
            return problem(409, f"this match has no turns, or they were {ARCHIVED}")
        if (refused := self._refusal(team)) is not None:
            return refused
        turns = [(turn.player, turn.kind, turn.move if turn.kind == "move" else None) for turn in game.turns]
        opening = sum(turn.given == "opening" for turn in game.turns)
        task = Task(game=game.rules, options=dict(game.options), turns=turns, seconds=SECONDS, opening=opening)
        asked = self._latest[team] = AskedAnalysis(team, number, path, task)
        self._begun[team].append(trio.current_time())
        self._jobs.put(asked)
        return Response(encode({"state": "waiting"}), JSON, 202)

    def _refusal(self, team: int) -> Response | None:
        latest = self._latest.get(team)
        if latest is not None and latest.open:
            return problem(409, "your team's last analysis is not done yet; wait for it")
        if not self._left(team):
            text = f"your team may have {self._most} analyses in 24 hours; getstep analyse does it at home"
            return problem(429, text)
        if len(self._jobs.waiting) >= MAX_ANALYSES_WAITING:
            return problem(503, "too many analyses are waiting; try again in some minutes")
        return None

    # --- what goes out ---

    def state(self, team: int) -> AnalysesAnswer:
        """Return how far the team's latest analysis is, and which of its matches have one."""
        latest, over = self._latest.get(team), self._over(team)
        ready = {int(found[1]) for name in self._names() if (found := _NAME.fullmatch(name))}
        shown = None
        if latest is not None:
            before = self._jobs.waiting.index(latest) if latest in self._jobs.waiting else 0
            shown = AnalysisState(
                match=latest.number, state=latest.state, before=before, done=latest.done, of=latest.of
            )
        return AnalysesAnswer(latest=shown, ready=sorted(ready & over), left=self._left(team))

    async def replay(self, team: int, number: int) -> dict[str, Any] | None:
        """Return the data of the replay with the values and the better moves; None if there is no analysis.

        Raises:
            StoreError: there are no records now.
        """
        found = await self._games.latest(team, number) if number in self._over(team) else None
        if found is None:
            return None
        head, game = found
        return await trio.to_thread.run_sync(self._read, self._path(number, head), game, limiter=self._reading)

    def _read(self, path: Path, game: Replay) -> dict[str, Any] | None:
        try:
            moves = msgspec.json.decode(path.read_bytes(), type=list[JudgedMove])
        except (OSError, msgspec.DecodeError):  # deleted, or damaged: it can be asked for again
            return None
        if game.game is None:
            return None
        found = Analysis(game, game.game, moves)
        return replay_data(found.replays(), title=f"{' – '.join(game.names)}: analysis", links=found.links)

    def _over(self, team: int) -> set[int]:
        # A freeze hides nothing here: see `own_games`.
        return {result.match.number for result in self._feed.whole.results if team in result.match.teams}

    def _left(self, team: int) -> int:
        begun = self._begun[team]
        while begun and begun[0] <= trio.current_time() - DAY_SECONDS:
            begun.popleft()
        return max(0, self._most - len(begun))

    # --- the work ---

    async def run(self) -> NoReturn:
        """Analyse the games in order until cancelled."""
        await self._jobs.run()

    async def _analyse(self, asked: AskedAnalysis) -> None:
        asked.state = "working"
        with trio.move_on_after(ANALYSIS_SECONDS):
            if await self._search(asked) and asked.moves:
                await trio.to_thread.run_sync(self._keep, asked)
        if asked.open:
            asked.state = "failed"
        asked.moves = []

    async def _search(self, asked: AskedAnalysis) -> bool:
        """Search in a process of its own; return True if it has ended well."""

        def follow(line: bytes) -> None:
            try:
                status = msgspec.json.decode(line, type=Status)
            except msgspec.DecodeError:
                kill(process)
                return
            asked.done, asked.of = status.done, status.of
            if status.move is not None:
                asked.moves.append(status.move)

        try:
            process = await start(self._command, stderr=None)
        except OSError:  # no memory or no process left
            return False
        # The input stays open: the process ends when it closes, so with this one.
        first = msgspec.json.encode(asked.task) + b"\n"
        return await run(process, on_line=follow, first=first, end_seconds=0) == 0

    def _keep(self, asked: AskedAnalysis) -> None:
        part = asked.path.with_suffix(".part")
        with contextlib.suppress(OSError):  # the disk is full: then it has failed
            self._folder.mkdir(exist_ok=True)
            names = [name for name in self._names() if _NAME.fullmatch(name)]
            paths = sorted((self._folder / name for name in names), key=lambda path: path.stat().st_mtime)
            for old in paths[: max(0, len(paths) + 1 - ANALYSES_KEPT)]:
                old.unlink()
            part.write_bytes(msgspec.json.encode(asked.moves))
            part.replace(asked.path)
            asked.state = "done"

    def _names(self) -> list[str]:
        try:
            return [path.name for path in self._folder.iterdir()]
        except OSError:  # there is none yet
            return []

    def _path(self, number: int, head: str) -> Path:
        return self._folder / f"match-{number}-{head[:16]}.json"
