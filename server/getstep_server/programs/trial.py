"""Trial games: a program plays a sample bot under the judge's rules, before anybody relies on it.

The referee of the SDK decides, as in practice at home, and the program is asked as in a contest. Only a fault of
the program counts, not the result. The first fault ends the trial, and its author is told what happened on which
board.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from getstep.drawing import draw_text
from getstep.local_matches.match import PlayedMatch, PlayedTurn, play_match, tried_text
from getstep.local_matches.players import Answer, called
from getstep.local_matches.players import Player as Opponent
from getstep.local_matches.series import Plan as Series
from getstep.local_matches.series import entrant
from getstep.referee import EndCode, FaultCode
from getstep.turn import Turn, as_move
from getstep_engines import Game, TimeControl
from getstep_server.config.event import game_heading
from getstep_server.errors import ProgramRefused
from getstep_server.limits import TRIAL_SECOND_SECONDS, TRIAL_SECONDS
from getstep_server.sandbox import NotExecutableError, SandboxError
from getstep_server.text import escape_control_chars

from .playing import ProgramJob, ProgramSession
from .protection import no_sandbox
from .version import GETSTEP

_HOUSE_BOT = "random"
_MOST_LINES = 12  # of a traceback: its end says most


@dataclass(frozen=True)
class TrialGame:
    """A game that the program has to play, with the options and the limit of an event."""

    game: Game
    options: dict[str, int]
    control: TimeControl


class _TimeIsUp(Exception):  # noqa: N818 - not an error
    """The trial has taken all its time."""


class _Fault(Exception):  # noqa: N818 - it is reported as a refusal
    """The program has made a fault in a turn."""

    def __init__(self, match: PlayedMatch, turn: PlayedTurn) -> None:
        super().__init__(turn.reason)
        self.match, self.turn = match, turn


def try_program(
    job: ProgramJob, games: Sequence[TrialGame], startup_seconds: float, tick: Callable[[str], None]
) -> str:
    """Play trial games, and return their results in words.

    Args:
        job: the program.
        games: at least one game of each kind that the program has to play.
        startup_seconds: the time in which it has to be ready before a game.
        tick: called after each move with what is going on.

    Raises:
        ProgramRefused: the program has made a fault; the message says which, for its author.
    """
    until = time.monotonic() + TRIAL_SECONDS
    told: list[str] = []
    for game in games:
        try:
            told.append(_Trial(job, game, startup_seconds, until, tick).play())
        except _Fault as fault:
            is_file = job.convention == GETSTEP
            raise ProgramRefused("\n".join(_fault_lines(fault.match, fault.turn, is_file=is_file))) from None
        except NotExecutableError as error:
            raise ProgramRefused(escape_control_chars(str(error))) from error
        except SandboxError as error:
            raise no_sandbox(str(error)) from error
    return "; ".join(told)


class _Trial:
    def __init__(
        self, job: ProgramJob, game: TrialGame, startup_seconds: float, until: float, tick: Callable[[str], None]
    ) -> None:
        self._job = job
        self._startup_seconds = startup_seconds
        self._until = until
        self._tick = tick
        self._series = Series(game.game, 2, options=dict(game.options))
        self._series.control = game.control

    def play(self) -> str:
        """Return the results, such as ``Longest Path: won, lost``."""
        results: list[str] = []
        began = time.monotonic()
        try:
            for number in (1, 2):
                # The first game finds most faults; the one with the other colour is played if that was quick.
                if number == 1 or time.monotonic() - began < TRIAL_SECOND_SECONDS:
                    results.append(self._play_one(number))
        except _TimeIsUp:
            results.append(f"not over after {TRIAL_SECONDS:g} s, without a fault")
        return f"{game_heading(self._series.game)}: {', '.join(results)}"

    def _play_one(self, number: int) -> str:
        match = self._series.match(number, ("the program", _HOUSE_BOT))
        other = entrant(_HOUSE_BOT).start(str(number))
        try:
            with ProgramSession(self._job, number, match.bot) as program:
                self._tick(f"trial game {number} of {game_heading(match.game)}: starting the program")
                asked = _Asked(program, number, self._until)
                if not program.prepare(self._startup_seconds):
                    raise ProgramRefused(f"it does not start: {asked.failure(match)}")
                players = (asked, other) if match.bot == 0 else (other, asked)
                play_match(match, players, number, self._on_turn)
        finally:
            other.close()
        last = match.turns[-1]
        if last.player == match.bot and last.code == EndCode.RESIGNED:
            return f"given up: {last.problem}".removesuffix(": ")
        return match.result

    def _on_turn(self, match: PlayedMatch, turn: PlayedTurn) -> None:
        self._tick(f"trial game {match.number} of {game_heading(match.game)}: move {turn.number}")
        # To give up is no fault: a bot of one game does so in a contest that has others, too.
        if turn.player == match.bot and turn.kind in ("fault", "end") and turn.code != EndCode.RESIGNED:
            raise _Fault(match, turn)
        if time.monotonic() > self._until:
            raise _TimeIsUp


class _Asked(Opponent):
    """The program, as a player of a practice match. It is asked in the match's thread: it has its own limits."""

    def __init__(self, program: ProgramSession, match: int, until: float) -> None:
        super().__init__("the program")
        self._program = program
        self._match = match
        self._until = until

    def failure(self, match: PlayedMatch) -> str:
        """Return why the program was not ready, which its first turn tells."""
        turn = Turn(match.game.name, self._match, 1, _HOUSE_BOT, None, 0, dict(match.options))
        call = self._program.call(match.position.board(), match.bot == 0, turn)
        return call.error or "no reason known"

    def ask(self, question: dict[str, Any], _seconds: float) -> Answer | None:
        fields = question["turn"]
        # what is left of the trial; a game's own limit may be longer
        left = max(0, round(1000 * (self._until - time.monotonic())))
        limit = min(left, fields["time_left_ms"])
        changed = {"last_move": as_move(fields["last_move"]), "match": self._match, "time_left_ms": limit}
        call = self._program.call(question["board"], question["is_black"], Turn(**{**fields, **changed}))
        if time.monotonic() > self._until:
            raise _TimeIsUp
        seconds = call.ms / 1000
        if call.error is None and seconds > _seconds:
            return None
        message = called(question, call.move, call.error, call.resigns)
        return Answer(seconds, message, call.problem)


def _fault_lines(match: PlayedMatch, turn: PlayedTurn, *, is_file: bool) -> list[str]:
    """Return what happened; ``is_file`` is True for a Python file with ``get_step``."""
    game, colour = game_heading(match.game), "first" if match.bot == 0 else "second"
    trace = turn.problem.strip().splitlines()
    lines = [f"in a trial game of {game}, as the {colour} player, at move {turn.number}: {turn.reason}"]
    if turn.code == FaultCode.RAISED and is_file and len(trace) > 1:
        lines += [f"  {line}" for line in trace[-_MOST_LINES:]]
    elif tried := tried_text(turn):
        lines.append(f"  it played {tried}")
    if turn.kind == "fault":
        lines += [f"  {line}" for line in draw_text(turn.picture).splitlines()]
    if turn.kind == "fault" and is_file:
        more = f" and {turn.legal_count - len(turn.legal)} more" if turn.legal_count > len(turn.legal) else ""
        lines.append(f"  legal: {'  '.join(turn.legal)}{more}")
    return [escape_control_chars(line) for line in lines]
