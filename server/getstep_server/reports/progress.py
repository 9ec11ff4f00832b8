"""The progress display of a running contest: a live view on a terminal, plain lines anywhere else.

`EventLines` words the events and `ProgressState` counts; this module prints and draws. A terminal or a pipe may
stop taking output at any time (a selection, Ctrl-S, a pager). So a thread prints, events only append to a queue,
and no error of the output ends a contest.
"""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from rich.console import Console, ConsoleOptions, ConsoleRenderable, Group, RenderableType, RenderResult
from rich.control import Control
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.segment import ControlType, Segment
from rich.table import Column, Table
from rich.text import Text

from getstep_server.config.contest import Contest
from getstep_server.events import ContestStarted, Event, Listening, MatchEnded, ServerFault, Throttled
from getstep_server.text import cell_len, escape_control_chars, fold, pluralize
from getstep_server.tournament.combined import Tables, as_shown
from getstep_server.tournament.forfeits import no_shows

from .event_lines import EventLines, address_to_play, page_line
from .live_board import LiveBoard
from .progress_state import ProgressState
from .qr_code import qr_code
from .tables import HEADING_LINES, combined_table, one_line_per_team, standings_table
from .text_table import TextTable

MESSAGE_LINES = 8
"""Lines of events in the live view: a third of a terminal of 24 lines, so that the table has room."""

MESSAGES_KEPT = 50
"""Events that the live view can show: before the first result, a high terminal has room for many."""

LINES_A_MESSAGE = 3
"""The most lines of one event: the reason of a result takes two at 60 columns."""

FRAMES_PER_SECOND = 4
"""Views drawn in a second. Each costs the thread some milliseconds."""

MOST_FRAMES_PER_SECOND = 10
"""The same if each turn of a match is to be seen."""

FAULTS_KEPT = 3
"""Tracebacks of server errors that are printed again when the live view is gone. The log has all of them."""

REMAINING_SECONDS = 60.0
"""At most once in this time a plain line says when the contest is expected to end: the minute is its precision."""

READER_SECONDS = 5.0
"""After Ctrl-C, how long a pipe without a reader may delay the end of the program. Results are on disk by then."""

BAR_LEAST, BAR_MOST = 5, 30
"""Terminal cells of the bar."""

TABLE_LINES = 6
"""Lines for the table that messages and the board leave free, heading and empty line included."""


class ProgressView:
    """A consumer of events that prints.

    A subclass may replace `describe`, `remaining`, `bar` and `table`.

    The live view has the terminal's second screen for itself, and draws all of it each time. So a new size of the
    terminal leaves no lines of the old one, and the first screen is as before when the view ends.

    Args:
        contest: for the names.
        console: where to print.
        live: redraw in place instead of printing lines.
        board: the board above the events, in the live view only.
        frames_per_second: how often the live view is drawn.
        clock: in seconds.
    """

    def __init__(
        self,
        contest: Contest,
        console: Console,
        *,
        live: bool,
        board: LiveBoard | None = None,
        frames_per_second: float = FRAMES_PER_SECOND,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.contest = contest
        self.console = console
        self.live = live
        self._board = board if live else None
        self._frames_per_second = min(frames_per_second, MOST_FRAMES_PER_SECOND)
        self._address = self._page = ""
        self._state = ProgressState(contest, clock)
        self._lines = EventLines(self._state, (lambda: console.width) if live else None)
        self._messages: deque[str] = deque(maxlen=MESSAGES_KEPT)
        self._absence = ""
        """The line about forfeits, if it was shown."""
        self._queue: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._faults: list[str] = []
        self._remaining_said = clock()
        self._reader_seconds: float | None = None
        self._unread = False
        self._over = False

    def __call__(self, event: Event) -> None:
        self._state.update(event)
        if self._board is not None:
            self._board.note(event)
        line = self.describe(event)
        match event:
            case Listening():
                self._address = address_to_play(event)
            case ContestStarted():
                self._remaining_said = self._state.clock()
            case Throttled(ServerFault(), 1) if line is not None and len(self._faults) < FAULTS_KEPT:
                self._faults.append(line)
        if line is None:
            return
        if self.live and isinstance(event, MatchEnded) and no_shows(event.result):
            self._show_absence()
        elif self.live:
            self._messages.append(escape_control_chars(line.partition("\n")[0]))
        else:
            self._queue.put(line)

    def describe(self, event: Event) -> str | None:
        """Return the line of an event, or several lines; None if it is not shown."""
        return self._lines.line(event)

    def _show_absence(self) -> None:
        """Show all forfeits in one line, the newest: hundreds come at once, and would hide everything else."""
        with suppress(ValueError):  # it is not there, or further events have pushed it out
            self._messages.remove(self._absence)
        self._absence = escape_control_chars(self._state.absence())
        self._messages.append(self._absence)

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Show events as long as the context is open.

        Raises:
            KeyboardInterrupt: the lines were not read in time, see `hurry`.
        """
        try:
            with self._live_view() if self.live else self._plain_lines():
                yield
        finally:
            if not self._unread:
                # Print what would vanish with the live view, and what was only counted.
                if self.live:
                    for fault in self._faults:
                        self.say(fault)
                if self._state.incidents:
                    self.say(f"! {self._state.incidents} refused connections or protocol violations in total")

    def hurry(self) -> None:
        """Wait at most READER_SECONDS for the reader of the lines when the context of `shown` ends.

        If the lines are not read by then, `shown` raises KeyboardInterrupt, as a second Ctrl-C would.
        """
        self._reader_seconds = READER_SECONDS

    def say(self, line: str) -> None:
        """Print one or more lines while there is no live view; a view that follows shows them, too.

        Only the terminal breaks them, so that a command in them can be copied in one piece.
        """
        lines = [escape_control_chars(part) for part in line.split("\n")]
        self.console.print("\n".join(lines), soft_wrap=True)
        self._messages.extend(lines)

    def say_page(self, address: str) -> None:
        """Print the address of the live page; the live view keeps it, with its QR code as long as there is room."""
        self._page = address
        self.console.print(page_line(address), soft_wrap=True)

    # --- plain lines ---

    @contextmanager
    def _plain_lines(self) -> Iterator[None]:
        # A daemon: if nobody reads the pipe, the thread waits in a write, and the process must still end.
        printer = threading.Thread(target=self._print_lines, name="progress", daemon=True)
        printer.start()
        try:
            yield
        finally:
            self._queue.put(None)
            printer.join(self._reader_seconds)
            self._unread = printer.is_alive()
            if self._unread:
                raise KeyboardInterrupt

    def _print_lines(self) -> None:
        while (line := self._queue.get()) is not None:
            with suppress(OSError, SystemExit):  # the reader is gone (rich would exit), or the disk is full
                self.say(line)
                if remaining := self.remaining():
                    self.say(remaining)

    def remaining(self) -> str:
        """Return when the contest is expected to end; "" if unknown, or said less than REMAINING_SECONDS ago."""
        state, now = self._state, self._state.clock()
        if now < self._remaining_said + REMAINING_SECONDS or not state.played or state.tables is None:
            return ""
        self._remaining_said = now
        state.use_estimates(state.tables())
        end = state.expected_end()
        return f"{state.count()} matches played, {end}." if end else ""

    # --- the live view ---

    @contextmanager
    def _live_view(self) -> Iterator[None]:
        # rich draws in a thread of its own
        view = _RowByRow(
            get_renderable=lambda: Text() if self._over else self._view(),
            console=self.console,
            refresh_per_second=self._frames_per_second,
            screen=True,
        )
        with view:
            try:
                yield
            finally:
                # Some terminals, such as tmux 3.3 after a new size, leave lines of the second screen on the first.
                self._over = True
                view.refresh()

    def _view(self) -> RenderableType:
        """Return the view, never higher than the terminal; the table has the lines that the rest leaves."""
        state, width, height = self._state, self.console.width, self.console.height
        tables = state.tables() if state.tables is not None else None
        if tables is not None:
            state.use_estimates(tables)
        top: list[RenderableType] = [*map(_one_line, self._heading(width))]
        over = 0 < state.expected <= state.done
        presence = "All matches are played." if over else self._lines.presence()
        bottom: list[RenderableType] = [Text(), _one_line(presence)]
        if state.total:
            bottom += [self.bar(), _one_line(self._lines.running())]
        left = height - len(top) - len(bottom)
        # Half of the messages' lines stay free, so that a big board does not hide every event.
        board = self._board_view(width, left - MESSAGE_LINES // 2)
        left -= len(board)
        # Without room for both, the newest event with its reason is more useful than two lines of a table.
        both = tables is not None and left - TABLE_LINES >= LINES_A_MESSAGE
        messages = self._message_lines(width, min(MESSAGE_LINES, left - TABLE_LINES) if both else max(1, left))
        left -= len(messages)
        code = self._code(left) if tables is None and not board else []
        parts = [*top, *code, *board, *messages, *bottom]
        room = left - 1 - HEADING_LINES - 1  # an empty line, the table's heading, and the line below the table
        if tables is not None and room > 0:
            parts += [Text(), *self.table(tables, room)]
        return Group(*parts)

    def _heading(self, width: int) -> list[str]:
        """Return the contest and the addresses that others can reach, in as few lines as they fit."""
        lines = [""]
        for part in (escape_control_chars(self.contest.name), self._address, self._page):
            joined = f"{lines[-1]} | {part}" if lines[-1] else part
            if part and lines[-1] and cell_len(joined) > width:
                lines.append(part)
            elif part:
                lines[-1] = joined
        return lines

    def _board_view(self, width: int, room: int) -> list[RenderableType]:
        """Return the lines of the board and an empty one; none if there is no board."""
        shown = self._board.view(width, room) if self._board is not None else None
        if shown is None:
            return []
        options = self.console.options.update(width=width, height=None)
        lines = self.console.render_lines(shown, options, pad=False)
        return [*(Text.assemble(*((part.text, part.style or "") for part in line)) for line in lines), Text()]

    def _message_lines(self, width: int, room: int) -> list[RenderableType]:
        """Return the newest events that fit, broken into lines where they are too long."""
        lines: list[str] = []
        # A copy: rich draws in its own thread, while the event loop appends.
        for message in reversed(list(self._messages)):
            folded = _folded(message, width, min(LINES_A_MESSAGE, room))
            if len(lines) + len(folded) > room:
                break
            lines[:0] = folded
        return list(map(_one_line, lines))

    def _code(self, room: int) -> list[RenderableType]:
        """Return the QR code of the live page if it fits; else nothing."""
        utf8 = self.console.encoding.startswith("utf")
        lines = qr_code(self._page) if self._page and utf8 else []
        return list(lines) if 0 < len(lines) <= room and lines[0].cell_len <= self.console.width else []

    def table(self, tables: Tables, lines: int) -> list[RenderableType]:
        """Return the first ``lines`` teams of the table, the combined one if there are several events."""
        contest = self.contest
        table: TextTable
        if tables.combined:
            teams, table = len(tables.combined), combined_table(contest, as_shown(tables.combined)[:lines])
        else:
            rows = tables.events[1]
            teams, table = (
                len(rows),
                standings_table(contest, contest.events[0], as_shown(rows)[:lines], elo=tables.elo),
            )
        more = [f"and {pluralize(teams - lines, 'more team')}"] if teams > lines else []
        return [one_line_per_team(table), *map(_one_line, more)]

    def bar(self) -> RenderableType:
        """Return the matches played as a number and a bar, and when the contest is expected to end."""
        state = self._state
        count, end = f"{state.count()} matches", state.expected_end()
        width = max(BAR_LEAST, min(BAR_MOST, self.console.width - len(count) - len(end) - len("    ")))
        # a wrapped line would make the block jump
        grid = Table.grid(*(Column(no_wrap=True) for _ in range(3)), padding=(0, 2))
        grid.add_row(count, ProgressBar(state.expected, state.done, width=width), end)
        return grid


class _RowByRow(Live):
    """A live view on the second screen that does not depend on how wide the terminal takes a row to be.

    Some terminals show an emoji of several code points as one character of two cells, and others as several ones.
    A row that is too wide for the terminal would be broken there, and the rows below it would move. So each row
    begins at its own place, and is cut at the edge: DECAWM is reset as long as a view is drawn.
    """

    def refresh(self) -> None:
        with self._lock:
            self.console.print(_Rows(self.get_renderable()), end="")

    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        """Add nothing to what is printed: the next view is drawn over it."""
        return renderables


class _Rows:
    """The rows of a view, each with its place."""

    def __init__(self, view: RenderableType) -> None:
        self._view = view

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        height = console.height
        rows = console.render_lines(self._view, options.update(height=None), pad=False)[:height]
        yield Control.home()
        yield _control("\x1b[?7l")
        for number, row in enumerate(rows):
            if number:
                yield Segment.line()  # rich cuts lines at the width
            yield _control(f"\x1b[{number + 1};1H\x1b[2K")
            yield from row
        if len(rows) < height:
            yield _control(f"\x1b[{len(rows) + 1};1H\x1b[J")
        yield _control("\x1b[?7h")


def _control(sequence: str) -> Segment:
    """Return an escape sequence that takes no cells; rich has no name for some of these."""
    return Segment(sequence, None, [(ControlType.ERASE_IN_LINE, 2)])


def _folded(text: str, cells: int, lines: int) -> list[str]:
    """Return the first ``lines`` lines of a text. An ellipsis at the end shows that there are more."""
    found = fold(text, cells)
    if len(found) <= lines:
        return found
    last = found[lines - 1]
    while cell_len(last) > cells - 1:
        last = last[:-1]
    return [*found[: lines - 1], f"{last}…"]


def _one_line(text: str) -> Text:
    return Text(text, overflow="ellipsis", no_wrap=True)
