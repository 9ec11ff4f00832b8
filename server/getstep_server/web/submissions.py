"""Programs that teams submit: from `getstep submit`, or from the form in a team's area.

Theory of operation
-------------------

The page only takes the bytes. A process of its own unpacks, builds and tries them, as ``programs add`` does, and
prints its progress as lines of JSON (`getstep_server.programs.submission`). Its building and trying take minutes
of processor time, so one submission is worked on at a time, at the page's low priority, and the others wait in
order. A team has one submission at a time, so nobody fills the queue alone.

The result is kept in memory for the team's browser and terminal. What matters afterwards is on disk: the version.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NoReturn

import msgspec
import trio

from getstep_server.children.process import kill, run, start
from getstep_server.config.contest import Contest
from getstep_server.errors import ConfigError
from getstep_server.limits import (
    MAX_PROGRAM_BYTES,
    MAX_PROGRAM_PATH_BYTES,
    MAX_SUBMISSIONS_WAITING,
    SUBMISSION_LINES,
    SUBMISSION_SECONDS,
    SUBMISSIONS_WAITING_BYTES,
)
from getstep_server.login_limits import Quota
from getstep_server.programs.store import ProgramStore
from getstep_server.programs.submission_status import FAILED, SubmissionStatus
from getstep_server.programs.version import ALL_CONVENTIONS, ProgramVersion
from getstep_server.text import pluralize
from getstep_server.tournament.challenges import DAY_SECONDS

from .http import JSON, Request, Response, problem, retry_later
from .jobs import Jobs
from .topics import encode

CLOSED = (
    "this contest takes no submitted programs; its host can allow them in contest.toml:"
    " submissions = true in the table [programs]"
)
_TOO_LONG = f"It took more than {SUBMISSION_SECONDS / 60:g} minutes in all, and was ended."

State = Literal["waiting", "working", "stored", "refused", "failed"]
_WORDS: dict[State, str] = {
    "waiting": "Waiting",
    "working": "Built and tried now",
    "stored": "Stored",
    "refused": "Refused",
    "failed": "Failed",
}


@dataclass(eq=False)
class SentProgram:
    """A program that a team has sent, and what has become of it.

    ``lines`` are the latest lines about its progress, of ``said`` in all; ``text`` is the result in words.
    """

    team: int
    name: str
    convention: str
    entry: str
    data: bytes
    state: State = "waiting"
    lines: deque[str] = field(default_factory=lambda: deque(maxlen=SUBMISSION_LINES))
    said: int = 0
    text: str = ""

    @property
    def open(self) -> bool:
        """True until there is a result."""
        return self.state in ("waiting", "working")


class Submissions:
    """The submissions of all teams, and the process that works on one of them.

    Args:
        contest: returns the contest with its current files.
        command: returns the command that works on a submission, which comes on its standard input.
    """

    def __init__(
        self, contest: Callable[[], Contest], command: Callable[[Contest, SentProgram], Sequence[str]] | None = None
    ) -> None:
        self._contest = contest
        self._command = command or _command
        self._latest: dict[int, SentProgram] = {}
        self._jobs = Jobs(self._try)
        self._most = contest().file.quotas.submissions_per_day
        self._quota = Quota(self._most, DAY_SECONDS)

    # --- what comes in ---

    def objection(self, team: int) -> Response | None:
        """Return why the team cannot submit a program now; None if it can."""
        if not self._contest().file.programs.submissions:
            return problem(403, CLOSED)
        latest = self._latest.get(team)
        if latest is not None and latest.open:
            return problem(409, "your team's last program is not tried yet; wait for its result")
        waiting = sum(len(one.data) for one in self._jobs.waiting)
        if len(self._jobs.waiting) >= MAX_SUBMISSIONS_WAITING or waiting > SUBMISSIONS_WAITING_BYTES:
            return problem(503, "too many programs are waiting; try again in some minutes")
        if wait := self._quota.seconds_left(team):
            text = f"your team has submitted {pluralize(self._most, 'program')} in 24 hours, which is the most"
            return retry_later(text, wait)
        return None

    def take(self, team: int, request: Request) -> Response:
        """Put the program in the body of a request at the end of the queue."""
        if (objection := self.objection(team)) is not None:
            return objection
        if not request.body:
            return problem(400, "the file is empty")
        name, convention, entry = (request.query.get(key, "") for key in ("name", "as", "entry"))
        # All are arguments of a process, which cannot have every character.
        if not 0 < len(name) <= 200 or len(convention) > 50 or not (name + convention + entry).isprintable():
            return problem(400, "expected the file's name in ?name=, of at most 200 visible characters")
        if len(entry) > MAX_PROGRAM_PATH_BYTES:
            return problem(
                400, f"expected a file's path in ?entry=, of at most {MAX_PROGRAM_PATH_BYTES} characters"
            )
        if convention and convention not in ALL_CONVENTIONS:
            return problem(
                400,
                f"?as= names no convention ({convention!r}); it is one of {', '.join(ALL_CONVENTIONS)},"
                " and without ?as= it is found by trial games",
            )
        submission = SentProgram(team, name, convention, entry, request.body)
        self._latest[team] = submission
        self._quota.count(team)
        self._jobs.put(submission)
        return Response(encode({"state": "waiting"}), JSON, 202)

    # --- what goes out ---

    async def state(self, team: int) -> dict[str, Any]:
        """Return the state of a team's latest submission, and its versions."""
        store = ProgramStore(self._contest().folder)

        def read() -> tuple[list[ProgramVersion], int | None]:
            current = store.current(team)
            return store.versions(team), None if current is None else current.number

        try:
            versions, in_use = await trio.to_thread.run_sync(read)
        except ConfigError:
            versions, in_use = [], None  # the host sees the reason in `programs list`
        return {
            "open": self._contest().file.programs.submissions,
            "most_bytes": MAX_PROGRAM_BYTES,
            "latest": self._shown(self._latest.get(team)),
            "versions": _table(versions[::-1], in_use),
        }

    def _shown(self, submission: SentProgram | None) -> dict[str, Any] | None:
        if submission is None:
            return None
        text = submission.text
        if submission.state == "waiting":
            before = self._jobs.waiting.index(submission)
            text = f"{before} before it" if before else ""
        # A list of lines: `encode` escapes line ends, as all control characters.
        return {
            "name": submission.name,
            "state": submission.state,
            "words": _WORDS[submission.state],
            "busy": submission.open,
            "bad": submission.state in ("refused", "failed"),
            "text": text.split("\n"),
            "lines": list(submission.lines),
            "said": submission.said,
        }

    # --- the work ---

    async def run(self) -> NoReturn:
        """Work on the submissions in order until cancelled."""
        await self._jobs.run()

    async def _try(self, submission: SentProgram) -> None:
        submission.state = "working"
        with trio.move_on_after(SUBMISSION_SECONDS):  # a build that hangs must not hold up the queue
            await self._work(submission)
        if submission.open:
            submission.state, submission.text = "refused", _TOO_LONG
        submission.data = b""

    async def _work(self, submission: SentProgram) -> None:
        """Build and try a program in a process of its own, which prints its progress."""

        def follow(line: bytes) -> None:
            try:
                _apply(submission, line)
            except msgspec.DecodeError:  # also if it is not a `SubmissionStatus`
                kill(process)

        try:
            process = await start(self._command(self._contest(), submission), stderr=None)
        except OSError:  # no memory or no process left
            submission.state, submission.text = "failed", FAILED
            return
        # The input stays open: the process ends when it closes, so with this one.
        first = b"%d\n" % len(submission.data) + submission.data
        await run(process, on_line=follow, first=first, end_seconds=0)
        if submission.open:
            submission.state, submission.text = "failed", FAILED


def _apply(submission: SentProgram, line: bytes) -> None:
    status = msgspec.json.decode(line, type=SubmissionStatus)
    if status.state == "working":
        submission.lines.append(status.text)
        submission.said += 1
    else:
        submission.state, submission.text = status.state, status.text


def _command(contest: Contest, submission: SentProgram) -> list[str]:
    arguments = [str(Path(contest.folder).absolute()), str(submission.team), submission.name]
    arguments += [submission.convention, submission.entry]
    return [sys.executable, "-m", "getstep_server.programs.submission", *arguments]


def _table(versions: Sequence[ProgramVersion], in_use: int | None) -> dict[str, Any]:
    headings = ("version", "", "language", "convention", "SHA-256", "added", "trial game")
    rows = [
        [
            str(version.number),
            "in use" if version.number == in_use else "removed" if version.removed else "",
            version.language,
            version.convention,
            version.sha256[:12],  # enough to compare by eye
            version.added[:16].replace("T", " ") + " UTC",
            version.trial,
        ]
        for version in versions
    ]
    columns = [{"heading": heading, "left": bool(place)} for place, heading in enumerate(headings)]
    return {"columns": columns, "rows": rows, "teams": [], "out": [False] * len(rows)}
