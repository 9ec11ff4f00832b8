"""The board of a running match in the live view: one match at a time, replayed from its turns.

The event loop only notes which matches start and end. The thread that draws reads the turns that the scoresheet has
already, and replays them. So a board costs the matches nothing but that thread's share of the processor.
"""

from __future__ import annotations

import textwrap
import threading
import time
from collections.abc import Callable

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from getstep.drawing import Picture
from getstep_server.config.contest import Contest
from getstep_server.config.event import game_heading
from getstep_server.events import Event, MatchCalledOff, MatchEnded, MatchStarted
from getstep_server.json_text import decode
from getstep_server.records.game import match_state_of
from getstep_server.records.match import Match
from getstep_server.records.turns import Moved, Passed, validate_turn
from getstep_server.text import escape_control_chars

from .notation import turn_text
from .text_table import truncate_middle
from .transcript import picture_after

END_SECONDS = 1.5
"""The final board stays for so long: enough to see who has won."""

TURNS_AT_ONCE = 100
"""Turns that are replayed for one frame: about 10 ms, in which the thread keeps the event loop waiting at times."""

SIDE_CELLS = 18
"""Terminal cells of the text next to the board; with fewer it is left out."""


class _Replay:
    """A match replayed up to some turn."""

    def __init__(self, started: MatchStarted) -> None:
        self.match: Match = started.match
        self.state = match_state_of(started.head)
        self.game = self.state.game
        self.picture = Picture(self.game.look, self.game.view(self.state.state))
        self.last = "the first position"
        self.turns_read = 0
        self._turns_from = started.turns_from

    def advance(self, most: int) -> bool:
        """Replay at most ``most`` further turns; return False if there is none yet."""
        lines = self._turns_from(self.turns_read)[:most]
        for line in lines:
            self._take(decode(line))
        return bool(lines)

    def _take(self, fields: dict[str, object]) -> None:
        # A copy: `apply` changes the state, and `trace` needs the one before the move.
        before, turn = self.state.state.copy(), validate_turn(fields)
        self.state.apply(fields)
        self.turns_read += 1
        if isinstance(turn, Passed):  # a pass changes nothing: the move before it stays marked
            return
        self.picture = picture_after(self.game, turn, before, self.state.state)
        text = turn_text(fields, self.game)
        name = self.game.players[turn.player]
        self.last = f"{name} {text}" if isinstance(turn, Moved) else f"{name}: {text}"


class LiveBoard:
    """One of the running matches as a board.

    Args:
        contest: for the names of the teams.
        draw: draws a picture for the terminal.
        move_seconds: show every match, in order, with so many seconds for each turn. None shows the
            current position of a running match, and another match when that one is over.
        clock: in seconds.
    """

    def __init__(
        self,
        contest: Contest,
        draw: Callable[[Picture], str],
        *,
        move_seconds: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._contest = contest
        self._draw = draw
        self._move_seconds = move_seconds
        self._clock = clock
        self._started: dict[int, MatchStarted] = {}
        """Matches that may be shown next, by number, in the order of their start."""
        self._ended: set[int] = set()
        self._replay: _Replay | None = None
        self._next_turn_at = 0.0
        self._over_at: float | None = None
        self._closed = False
        self.all_shown = threading.Event()
        """Set as soon as nothing is left to show after `close`."""

    def note(self, event: Event) -> None:
        """Note the start or the end of a match. The event loop calls this."""
        match event:
            case MatchStarted(match):
                self._started[match.number] = event
                self._ended.discard(match.number)
            case MatchEnded():
                self._end(event.result.match)
            case MatchCalledOff(match):
                self._end(match)

    def _end(self, match: Match) -> None:
        self._ended.add(match.number)
        if self._move_seconds is None:
            self._started.pop(match.number, None)

    def close(self) -> None:
        """Expect no further match."""
        self._closed = True

    def view(self, columns: int, lines: int) -> RenderableType | None:
        """Return the board at this moment, or a line if it does not fit; None if no match has started."""
        self._advance()
        replay = self._replay
        if replay is None:
            return None
        board = [Text.from_ansi(line, no_wrap=True) for line in self._draw(replay.picture).splitlines()]
        width = max(line.cell_len for line in board)
        if width > columns or len(board) > lines:
            missing = f"{len(board) - lines} more lines" if len(board) > lines else f"{width} columns"
            return Text(f"(no room for the board: {missing} needed)", no_wrap=True, overflow="ellipsis")
        # 3: the padding between the two columns of the grid
        side = self._side(replay, columns - width - 3)[: len(board)]
        grid = Table.grid(padding=(0, 3, 0, 0))  # three cells between the board and the text
        grid.add_row(Group(*board), Group(*side))
        return grid

    def _side(self, replay: _Replay, cells: int) -> list[Text]:
        """Return the text next to the board: match, players, turn, last move and score."""
        if cells < SIDE_CELLS:
            return []
        names = [self._contest.team_name(team) for team in replay.match.teams]
        sides = zip(replay.game.players, names, strict=True)
        lines = [
            f"#{replay.match.number} {game_heading(replay.game)}, turn {replay.state.turns}",
            *(f"{player}: {truncate_middle(name, max(8, cells - len(player) - 2))}" for player, name in sides),
            "",
            replay.last,
            replay.game.score_line(replay.state.state),
        ]
        if replay.state.outcome is not None:
            lines += ["", replay.state.outcome.detail]
        return [Text(part) for line in lines for part in textwrap.wrap(escape_control_chars(line), cells) or [""]]

    # --- which turn of which match ---

    def _advance(self) -> None:
        now = self._clock()
        if self._replay is None or (self._over_at is not None and now >= self._over_at + END_SECONDS):
            self._choose(now)
        replay = self._replay
        if replay is None or self._over_at is not None:
            return
        ended = replay.match.number in self._ended  # before the turns are read: then none can be missing
        if not self._replay_turns(replay, now) and (ended or replay.state.outcome is not None):
            self._over_at = now

    def _replay_turns(self, replay: _Replay, now: float) -> bool:
        """Replay the turns that are due; return False if all turns were shown."""
        if self._move_seconds is None:
            return replay.advance(TURNS_AT_ONCE)
        if now < self._next_turn_at:
            return True
        # Not before now: after a long wait the turns keep their pace, instead of catching up all at once.
        self._next_turn_at = max(self._next_turn_at + self._move_seconds, now)
        return replay.advance(1)

    def _choose(self, now: float) -> None:
        """Begin with another match: the newest one, or the next one if every match is shown."""
        waiting = list(self._started)  # a copy: the event loop may add one at any time
        if not waiting:
            if self._closed:
                self.all_shown.set()
            return
        number = waiting[-1] if self._move_seconds is None else waiting[0]
        started = self._started.pop(number, None)  # the event loop may have removed it since the copy
        if started is not None:
            self._replay, self._over_at = _Replay(started), None
            self._next_turn_at = now + (self._move_seconds or 0)
