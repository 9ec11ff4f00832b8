"""What the host sees while a contest runs: a live view on a terminal, plain lines anywhere else."""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Column, Table
from rich.text import Text

from ._text import counted, printable
from .combined import Tables
from .contest import Contest
from .decisions import described
from .events import (
    ContestStarted,
    DatabaseHeld,
    DecisionTaken,
    DiskFull,
    DiskUsable,
    Event,
    Incident,
    IncidentsSummed,
    JournalCut,
    Listening,
    MatchCalledOff,
    MatchEnded,
    MatchStarted,
    Noted,
    Repeatable,
    ServerFault,
    TeamArrived,
    TeamLeft,
    TurnFaulted,
    Waiting,
)
from .limits import NOTED_PER_MINUTE
from .live import expected_end
from .schedule import Match
from .tables import combined_table, in_lines, result_line, standings_table
from .text_table import listed, shortened

MESSAGES_KEPT = 8
FAULTS_KEPT = 3
"""Tracebacks of the server's own failures that are shown again when the live view is gone."""

OUR_GOODBYES = ("contest_over", "shutting_down")
"""When it is the server that ends a run, nobody needs to read that each team has left."""

OUTLOOK_SECONDS = 60.0
"""How long plain lines say nothing new of when it will be over."""

NAMES_SHOWN = 8
"""Teams named one by one in a line; further ones are counted."""


NAME_IN_VIEW = 18
"""Terminal cells of a team's name in a line of the live view, so that a result, with three of them, fits 80 columns
as far as it says who wins."""


HURRY_SECONDS = 5.0
"""After Ctrl-C, how long a pipe that nobody reads may hold up the end; results are on disk by then."""


BAR_LEAST, BAR_MOST = 5, 30
"""Terminal cells of the bar."""


class Progress:
    """A consumer of events that prints.

    Nothing here waits for the terminal or the pipe (which may stand still: a selection, Ctrl-S, a pager), and
    nothing that becomes of them ends a contest: a thread prints. Of what can come in floods, only what is `Noted`
    is shown.

    Args:
        contest: for the names.
        console: where to.
        live: redraw in place instead of printing lines.
        clock: in seconds.
    """

    def __init__(
        self, contest: Contest, console: Console, *, live: bool, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.contest = contest
        self.console = console
        self.live = live
        self._here: set[int] = set()
        self._running: dict[int, Match] = {}
        self._tables: Callable[[], Tables] | None = None
        self._messages: deque[str] = deque(maxlen=MESSAGES_KEPT)
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._faults: list[str] = []
        self._clock = clock
        self._done = self._total = self._expected = 0
        self._began = self._said_when = clock()
        self._done_before = 0
        self._incidents = 0
        self._patience: float | None = None
        self._unread = False

    @contextmanager
    def shown(self) -> Iterator[None]:
        """A context in which the view is on the screen."""
        try:
            with self._live_view() if self.live else self._plain_lines():
                yield
        finally:
            if not self._unread:
                self._sum_up()

    def hurry(self) -> None:
        """The host wants to be gone: who reads the lines is waited for no longer than HURRY_SECONDS.

        If they are not read by then, `shown` raises KeyboardInterrupt, as a second Ctrl-C would.
        """
        self._patience = HURRY_SECONDS

    def _sum_up(self) -> None:
        """Say what must not vanish with the live view, and what was counted only."""
        if self.live:
            for fault in self._faults:
                self.say(fault)
        if self._incidents:
            self.say(f"! {self._incidents} refused connections or breaches of the protocol in all")

    def _live_view(self) -> Live:
        # rich draws in a thread of its own, four times a second
        return Live(get_renderable=self._view, console=self.console, refresh_per_second=4, transient=True)

    @contextmanager
    def _plain_lines(self) -> Iterator[None]:
        printer = threading.Thread(target=self._print_lines, name="progress", daemon=True)
        printer.start()
        try:
            yield
        finally:
            self._lines.put(None)
            printer.join(self._patience)
            self._unread = printer.is_alive()
            if self._unread:
                raise KeyboardInterrupt

    def _print_lines(self) -> None:
        while (line := self._lines.get()) is not None:
            with suppress(OSError, SystemExit):  # nobody reads any more (rich would exit), or the disk is full
                self.say(line)
                if outlook := self._outlook():
                    self.say(outlook)

    def _outlook(self) -> str:
        """How far the contest is and when it will be over, after a line and at most once a minute; else nothing."""
        now = self._clock()
        if now < self._said_when + OUTLOOK_SECONDS or self._done == self._done_before or self._tables is None:
            return ""
        self._said_when = now
        self._expect(self._tables().expected)
        left = self._expected_end()
        return f"{self._count()} matches are over, {left}." if left else ""

    def __call__(self, event: Event) -> None:
        """Take note of an event."""
        line = self._line(event)
        if line is None:
            return
        if self.live:
            self._messages.append(printable(line.partition("\n")[0]))
        else:
            self._lines.put(line)

    def say(self, line: str) -> None:
        """Print a line, or a few, while there is no live view; broken by the terminal alone: one may copy them."""
        self.console.print("\n".join(map(printable, line.split("\n"))), soft_wrap=True)

    # --- events as lines ---

    def _line(self, event: Event) -> str | None:
        match event:
            case Listening():
                return self._listening(event)
            case Noted(what, count):
                return self._noted(what, count)
            case TeamArrived(team):
                self._here.add(team)
                return None
            case TeamLeft(team, here=here):
                if not here:
                    self._here.discard(team)
                return None
            case IncidentsSummed(total):
                self._incidents = total
                return None
            case ContestStarted():
                return self._started(event)
            case MatchStarted(match, turns):
                self._running[match.number] = match
                return f"{self._pair(match)} goes on after turn {turns}." if turns else None
            case JournalCut(path, line):
                return f"! {path}: line {line} was torn when the server died; that turn is played again"
            case DiskFull():
                return self._disk_full(event)
            case DatabaseHeld():
                return self._database_held(event)
            case DiskUsable():
                return "Everything can be written again, and goes on."
            case MatchEnded():
                return self._ended(event)
            case MatchCalledOff(match):
                self._running.pop(match.number, None)
                return f"{self._pair(match)} is called off."
            case DecisionTaken():
                return self._decided(event)
            case _:
                return None

    def _started(self, event: ContestStarted) -> str:
        self._done, self._done_before, self._total = event.done, event.done, event.total
        self._expect(event.total + event.to_come)
        self._began = self._said_when = self._clock()
        about = "about " if event.to_come else ""
        left, matches = self._expected - event.done, counted(self._expected, "match")
        return f"The contest begins: {about}{left} of {matches} to play."

    def _noted(self, event: Repeatable, count: int) -> str | None:
        match event:
            case TeamArrived():
                return self._arrived(event) + _this_minute(count)
            case TeamLeft(_, why) if why in OUR_GOODBYES:
                return None
            case TeamLeft(team, why, 0):
                return f"- {self._name(team)} has left: {why}{_this_minute(count)}"
            case TeamLeft(team, why, here):
                return f"- {self._name(team)} has lost a bot, {here} still here: {why}{_this_minute(count)}"
            case Waiting(teams) if teams:
                return f"Waiting for {self._names(teams)}"
            case Incident():
                return self._incident(event) + _so_far(count)
            case ServerFault():
                return self._fault(event, count)
            case TurnFaulted(match, player, code, detail):
                who = f"#{match.number} {self._name(match.teams[player])}"
                return f"{who}: {code}: {detail}{_so_far(count)}"
            case _:
                return None

    def _listening(self, event: Listening) -> str:
        classic = f", classic wire on port {event.classic_port}" if event.classic_port is not None else ""
        return f"Listening on {event.host}, port {event.port}{classic}."

    def _arrived(self, event: TeamArrived) -> str:
        verb = "is back" if event.again else "has arrived"
        where = f"{event.address} ({event.client or 'no name given'})"
        bots = f", {event.here} bots now" if event.here > 1 else ""
        who = f"+ {self._name(event.team)} {verb} from {where}{bots}"
        return who if self.live else f"{who}; {self._who_is_here()}"  # the live view has a line for that

    def _who_is_here(self) -> str:
        missing = sorted(set(self.contest.teams) - self._here)
        here = f"{len(self._here)} of {len(self.contest.teams)} teams are here"
        return f"{here}, missing: {self._names(missing, len(here))}" if missing else here

    def _incident(self, event: Incident) -> str:
        why = f"{event.code}: {event.detail}"
        if event.team is None:
            return f"! refused {event.address}: {why}"
        return f"! {self._name(event.team)}, from {event.address}, broke the protocol: {why}"

    def _fault(self, event: ServerFault, count: int) -> str:
        what = f"! the server failed in {event.where}; this costs no bot anything{_so_far(count)}"
        report = f"{what}\n{event.trace}"
        if count == 1 and len(self._faults) < FAULTS_KEPT:
            self._faults.append(report)
        return report

    def _disk_full(self, event: DiskFull) -> str:
        wait = "no match starts, and matches wait between two turns, until there is room"
        return f"! The disk of {event.folder} is full ({event.why}): {wait}. Nothing is lost; delete something."

    def _database_held(self, event: DatabaseHeld) -> str:
        wait = "no match starts, and no result counts, until it lets go. Nothing is lost; end it"
        return f"! Another program holds the database in {event.folder} ({event.why}): {wait}."

    def _pair(self, match: Match) -> str:
        return f"#{match.number} {' – '.join(map(self._name, match.teams))}"

    def _ended(self, event: MatchEnded) -> str | None:
        self._running.pop(event.result.match.number, None)
        self._done, self._total, self._tables = event.done, event.total, event.tables
        self._expect(self._expected)
        return f"[{event.done}/{self._expected}] {result_line(event.result, self._name)}"

    def _decided(self, event: DecisionTaken) -> str:
        expected = self._expected + event.total - self._total  # what is cancelled is not to come either
        self._done, self._total, self._tables = event.done, event.total, event.tables
        self._expect(expected)
        decision = event.decision
        return f"The host: {described(decision, self.contest, event.match)} ({decision.by}: {decision.why})"

    # --- how far it is ---

    def _expect(self, matches: int) -> None:
        """So many there will be in all, those to come included; not fewer than were given out."""
        self._expected = max(matches, self._total)

    def _count(self) -> str:
        exact = self._expected == self._total
        return f"{self._done}/{self._total}" if exact else f"{self._done} of about {self._expected}"

    def _expected_end(self) -> str:
        played, left = self._done - self._done_before, self._expected - self._done
        if not played or not left:
            return ""
        seconds = (self._clock() - self._began) / played * left
        return expected_end(seconds, datetime.now())

    def _name(self, team: int) -> str:
        """The team's name; in the live view, where a line has no second one, its beginning and its end."""
        name = self.contest.team_name(team)
        return shortened(name, NAME_IN_VIEW) if self.live else name

    def _names(self, teams: Sequence[int], behind: int = 0) -> str:
        """In the live view what fits a line, after so many characters."""
        names = [self._name(team) for team in teams]
        if self.live:
            return listed(names, ", ", self.console.width - behind - len(", missing: "))
        more = f" and {len(teams) - NAMES_SHOWN} more" if len(teams) > NAMES_SHOWN else ""
        return ", ".join(names[:NAMES_SHOWN]) + more

    # --- the live view ---

    def _view(self) -> RenderableType:
        """No more lines than the terminal has: rich could not take away again what has scrolled off.

        The first line is blank because the Enter that starts a contest is echoed: all moves down by a line, and
        the first one stays.
        """
        tables = self._tables() if self._tables is not None else None
        messages = list(self._messages)[-max(1, self.console.height - 8) :]
        parts: list[RenderableType] = [Text(), *map(_one_line, messages), Text(), _one_line(self._who_is_here())]
        if tables is not None:
            self._expect(tables.expected)
        if self._total:
            parts += [self._bar(), _one_line(self._playing())]
        left = self.console.height - len(parts) - 4  # a blank line, the table's header, a count, the cursor's line
        if tables is not None and left > 0:
            parts += [Text(), *self._table(tables, left)]
        return Group(*parts)

    def _table(self, tables: Tables, lines: int) -> list[RenderableType]:
        """The top of the table, the combined one if there are several events."""
        contest = self.contest
        if tables.combined:
            teams, table = len(tables.combined), combined_table(contest, tables.combined[:lines])
        else:
            rows = tables.events[1]
            teams, table = len(rows), standings_table(contest, contest.events[0], rows[:lines], elo=tables.elo)
        return [in_lines(table), *([Text(f"and {teams - lines} more teams")] if teams > lines else [])]

    def _bar(self) -> RenderableType:
        """How far the contest is: by the matches given out, and those that formats will give out."""
        count, left = f"{self._count()} matches", self._expected_end()
        width = max(BAR_LEAST, min(BAR_MOST, self.console.width - len(count) - len(left) - len("    ")))
        grid = Table.grid(*(Column(no_wrap=True) for _ in range(3)), padding=(0, 2))
        grid.add_row(count, ProgressBar(self._expected, self._done, width=width), left)
        return grid

    def _playing(self) -> str:
        pairs = [self._pair(match) for match in list(self._running.values())]
        return (
            f"playing: {listed(pairs, '; ', self.console.width - len('playing: '))}" if pairs else "playing: nobody"
        )


def _this_minute(count: int) -> str:
    return f" ({count} arrivals and departures in a minute)" if count > NOTED_PER_MINUTE else ""


def _so_far(count: int) -> str:
    return f" ({count} times so far)" if count > 1 else ""


def _one_line(text: str) -> Text:
    return Text(text, overflow="ellipsis", no_wrap=True)
