"""The matches that are being played, read from the journal."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from datetime import datetime
from itertools import islice
from math import inf
from typing import Any

from getstep.referee.match_state import MatchState, WrongTurn
from getstep_engines import Player, State
from getstep_engines.look import Square, Touched
from getstep_server.json_text import JsonError, decode, encode
from getstep_server.records.game import match_of, match_state_of
from getstep_server.records.match import Match
from getstep_server.records.pause import Pause
from getstep_server.records.record import RecordError
from getstep_server.records.result import PLAYERS, Result
from getstep_server.storage.journal_tail import TailedLine

_TURN = b'{"player":'
_PASS = b'"pass":true}'
_DROPPED = b'{"dropped"'


def code_of(entry: bytes) -> str:
    """Return what a line of the journal tells of a turn: "move", "pass", or the code of a fault or an end; "" of
    another line."""
    if not entry.startswith(_TURN):
        return ""
    if entry.startswith(b'"move":', len(_TURN) + 2):  # most of them: {"player":0,"move":...
        return "move"
    if entry.endswith(_PASS):
        return "pass"
    turn = decode(entry)
    return str(turn.get("fault") or turn.get("end") or "move")


class LiveMatch:
    """A match that is being played. Its lines are kept as they come, and applied when somebody looks.

    Fast bots play more moves than a spectator can see, and to apply one takes 30 to 80 µs. So `catch_up` has a time
    limit, and a board that nobody follows costs nothing.

    Args:
        head: the first fields of the match's record.
        attempt: at this match.
        at: when the head was written, in seconds since the epoch.

    Raises:
        RecordError: the head is not the head of a match.
    """

    def __init__(self, head: Mapping[str, Any], attempt: int, at: float) -> None:
        try:
            self.match: Match = match_of(head)
            self.state: MatchState = match_state_of(head)
            self.began_at: float = datetime.fromisoformat(head["started"]).timestamp()
        except (KeyError, TypeError, ValueError) as error:
            raise RecordError(f"the head of match {head.get('match')!r:.20}: {error}") from error
        self.head = head
        self.attempt = attempt
        self.lines = 1
        """The lines of the journal, the head included: the number of the next one is one higher."""
        self.played = 0
        """The turns in the journal, applied or not."""
        self.turns: list[dict[str, Any]] = []
        """The turns that were applied, passes included."""
        self.asked_at = at
        """The time of the open question, in seconds since the epoch: the time when the latest turn was seen."""
        self.pause: Pause | None = None
        self._paused_at = 0.0
        self.result: Result | None = None
        self.over_at = 0.0
        self._pending: deque[bytes] = deque()
        self._before: tuple[State, Mapping[str, Any]] | None = None
        """The position before the latest move or fault, and that turn."""

    def add(self, entry: bytes, at: float) -> None:
        """Take the next line of the journal."""
        self.lines += 1
        if entry.startswith(_TURN):
            self.played += 1
            self._pending.append(entry)
            self.asked_at = at

    def set_pause(self, pause: Pause | None, at: float) -> None:
        """Take the host's pause of this match, or its end (None), at the Unix time ``at``."""
        stopped = self.stopped_at
        if pause is None:
            if stopped is not None:
                self.asked_at += max(0.0, at - stopped)
        elif stopped is None:
            self._paused_at = at
        self.pause = pause

    @property
    def stopped_at(self) -> float | None:
        """The Unix time since which a pause stops the clock; None if the clock runs."""
        if self.pause is None:
            return None
        if self.pause.at_once:
            return max(self.asked_at, self._paused_at)
        return self.asked_at if self.asked_at > self._paused_at else None  # the open turn is played to its end

    def catch_up(self, seconds: float) -> None:
        """Apply what has been played, for at most so many seconds of this thread's processor time.

        Of a clock's time, another process may take all.
        """
        until = time.thread_time() + seconds
        while self._pending and time.thread_time() < until:
            turn = decode(self._pending.popleft())
            if "pass" not in turn and all(entry.endswith(_PASS) for entry in self._pending):
                # Only the latest turn is drawn with its squares, so only its position is copied.
                self._before = (self.state.state.copy(), turn)
            try:
                self.state.apply(turn)
            except WrongTurn:  # the server that wrote it has other rules: show the position before
                self._pending.clear()
                return
            self.turns.append(turn)

    def turns_from(self, first: int, last: int) -> Iterator[Mapping[str, Any]]:
        """Yield the turns from ``first`` (counted from 0) up to ``last``, whether they were applied or not."""
        applied = len(self.turns)
        yield from self.turns[first:last]
        pending = islice(self._pending, max(0, first - applied), max(0, last - applied))
        yield from [decode(entry) for entry in pending]

    def board(self) -> list[list[int]]:
        """Return the absolute board."""
        return self.state.game.view(self.state.state)

    def touched(self) -> dict[str, list[Square]]:
        """Return the squares that the latest move touched, by what happened on them."""
        if self._pending or self._before is None or "move" not in self._before[1]:
            return {}
        before, turn = self._before
        steps = self.state.game.trace(before, turn["move"])
        found = {}
        for part in fields(Touched):
            squares = list(dict.fromkeys(square for step in steps for square in getattr(step.touched, part.name)))
            if squares:
                found[part.name] = squares
        if len(steps) > 1 and "path" in found:  # a chain of hops ends on the last square
            found["to"] = list(steps[-1].touched.to)
        return found

    @property
    def current(self) -> bool:
        """True if all turns were applied."""
        return not self._pending

    @property
    def stalled(self) -> list[int]:
        return [self.match.teams[player] for player in PLAYERS if self.state.is_stalled(player)]

    @property
    def to_move(self) -> Player | None:
        """The player whose clock runs; None if the match is over."""
        over = self.result is not None or self.state.outcome is not None
        return None if over else self.state.state.to_move

    def balance(self) -> float:
        """Return how one-sided the position is, from 0 (level) to 1, by the engine's own estimate."""
        return abs(self.state.state.estimate())


def ended_match(fields: Mapping[str, Any], result: Result) -> LiveMatch:
    """Return the match of a record, with the position at its end.

    Raises:
        RecordError: it has no position, because its game is not installed.
    """
    live = LiveMatch(fields, result.attempt, result.started)
    for turn in fields["turns"]:
        live.add(encode({"player": turn["player"], **turn}), result.started)
    live.catch_up(inf)
    live.result = result
    return live


class LiveMatches:
    """The matches that are being played, by number, and those that ended a moment ago.

    Args:
        recorded: returns True if an attempt (match and attempt) is on record: its lines are old.
    """

    def __init__(self, recorded: Callable[[tuple[int, int]], bool]) -> None:
        self._recorded = recorded
        self.running: dict[int, LiveMatch] = {}
        self.ended: deque[LiveMatch] = deque(maxlen=64)  # more than the boards that are shown at once

    def add(self, line: TailedLine, at: float) -> LiveMatch | None:
        """Take a line of the journal, written ``at`` this time; return the match if the line begins it."""
        live = self.running.get(line.match)
        if line.number == 1:
            return self._begin(line, at)
        if live is None or live.attempt != line.attempt or line.number <= live.lines:
            return None
        if line.entry.startswith(_DROPPED) or line.number != live.lines + 1:
            del self.running[line.match]
            return None
        live.add(line.entry, at)
        return None

    def find(self, match: int) -> LiveMatch | None:
        """Return a match that is being played, or ended a moment ago; None if it is neither."""
        # the latest attempt at the match
        ended = (live for live in reversed(self.ended) if live.match.number == match)
        return self.running.get(match) or next(ended, None)

    def end(self, result: Result) -> LiveMatch | None:
        """Take a result that is on record; return the match that it ended."""
        live = self.running.get(result.match.number)
        if live is None or live.attempt > result.attempt:
            return None
        del self.running[result.match.number]
        live.result, live.over_at = result, time.monotonic()
        self.ended.append(live)
        return live

    def _begin(self, line: TailedLine, at: float) -> LiveMatch | None:
        if self._recorded((line.match, line.attempt)):
            return None
        try:
            live = LiveMatch(decode(line.entry), line.attempt, at)
        except (RecordError, JsonError):
            return None
        self.running[line.match] = live
        return live
