"""The judge: one function plays one match.

`getstep.referee` decides each turn. The judge asks, measures the time, writes and tells: it works on seats, not on
sockets, and announces nothing before it is written: a turn before the next question, a result not at all.
Telling the players the result is the director's work, once the record is in the database.

The judge is a generator: it yields where it waits, and `mailbox` resumes it in the task that reads the answer
("Theory of operation" there).
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field, replace
from typing import Any

import trio

from getstep import referee
from getstep.referee import STALLED_MISSES, FaultCode, MatchState
from getstep.referee.answers import answered
from getstep.wire import MAX_TEXT, End, MalformedAnswer, Notice, Start, Step
from getstep_engines import Player, TimeControl
from getstep_server.events import MovePlayed, PlayerAskedAgain, PlayerStalled, Publish, ServerLate, TurnFaulted
from getstep_server.net.seat import ProtocolViolation, Received, Seat
from getstep_server.records.game import tried_fields
from getstep_server.records.match import Match
from getstep_server.records.result import Result
from getstep_server.storage.journal import WriteResult

from .deadlines import DeadlineScheduler
from .mailbox import AwaitCommit, Effect, MatchMailbox, MatchScript, Run, WaitUntil
from .pause import MatchPause
from .scoresheet import Scoresheet

_NEVER = float("inf")
# In Python 3.11, looking up a member of an Enum takes longer than a call.
_PENDING, _FAILED = WriteResult.PENDING, WriteResult.FAILED


@dataclass(slots=True)
class _MatchInPlay:
    match: Match
    seats: tuple[Seat, Seat]
    sheet: Scoresheet
    state: MatchState
    mailbox: MatchMailbox
    scheduler: DeadlineScheduler
    publish: Publish
    commit: AwaitCommit
    pause: MatchPause
    late: float = 0.0
    """Seconds of the server's own lateness that were given back in this turn."""
    paused: float = 0.0
    """Seconds of pauses while the question of this turn was open; they are given back exactly."""
    pauses: list[tuple[float, float]] = field(default_factory=list)
    """The same pauses: from, to, on trio's clock."""
    pause_told: bool = False
    """True if the players know of the pause."""
    skipped: dict[Player, int] = field(default_factory=dict)
    """By stalled player whose latest question is still open: its turns that were skipped since."""


async def play_match(
    sheet: Scoresheet,
    seats: tuple[Seat, Seat],
    scheduler: DeadlineScheduler,
    publish: Publish,
    pause: MatchPause | None = None,
    *,
    friendly: bool = False,
) -> Result:
    """Play one match to its end.

    Args:
        sheet: the match, with the turns of an earlier run; each turn is written on it before anybody hears of it.
        seats: the first player's and the second's. Players may disconnect and come back; the clock runs on.
        scheduler: wakes the judge at deadlines, and knows when the server itself was stalled.
        publish: called with each move and fault.
        pause: the host's pauses of this match; None if there can be none.
        friendly: tell the players that the match counts nowhere.

    Returns:
        The result. The seats still hold the match: end it there once the result is stored.
    """
    began = trio.current_time()
    state, clocks = sheet.match_state, sheet.match_state.clocks
    mailbox = seat_players(sheet.match, seats, clocks.control, clocks.lag, scheduler, friendly=friendly)
    commit = AwaitCommit(sheet.on_commit)
    pause = pause or MatchPause()
    m = _MatchInPlay(sheet.match, seats, sheet, state, mailbox, scheduler, publish, commit, pause)
    m.pause.follow(mailbox.interrupt)
    try:
        await mailbox.play(_turns(m))
    finally:
        m.pause.unfollow(mailbox.interrupt)
    return sheet.result(round(trio.current_time() - began, 3))  # milliseconds, as every time on record


def seat_players(
    match: Match,
    seats: tuple[Seat, Seat],
    control: TimeControl,
    lag: float,
    scheduler: DeadlineScheduler,
    *,
    friendly: bool = False,
) -> MatchMailbox:
    """Begin the match at both seats with a fresh mailbox, and send both players its start."""
    mailbox = MatchMailbox(scheduler)
    for player, seat in enumerate(seats):
        start = start_message(match, seats[1 - player].team.name, control, lag, is_black=player == 0)
        seat.begin(mailbox, replace(start, friendly=True) if friendly else start)
    return mailbox


def start_message(match: Match, opponent: str, control: TimeControl, lag: float, *, is_black: bool) -> Start:
    return Start(
        match=match.number,
        game=match.game,
        options=match.options,
        is_black=is_black,
        opponent=opponent,
        time_kind=control.kind,
        time_ms=round(control.seconds * 1000),
        lag_ms=round(lag * 1000),
        resumed=False,
        # clients of older versions do not know the key, so it is sent only if it matters
        increment_ms=round(control.increment * 1000) or None,
        opening=list(match.opening) or None,
    )


def _turns(m: _MatchInPlay) -> MatchScript:
    while m.state.outcome is None:
        if m.pause.on:
            yield from _between_turns(m)
        else:
            yield from _turn(m)
    for player in list(m.skipped):
        _close_question(m, player)


def _turn(m: _MatchInPlay) -> MatchScript:
    """Ask the player on turn, wait for its answer, and decide the turn."""
    state = m.state
    player = state.state.to_move
    clocks = state.clocks
    limit = clocks.limit(player)
    m.late = m.paused = 0.0  # the server's lateness and the pauses are counted for each turn anew
    if limit <= 0:  # the budget is spent: the player is not asked, and has no network allowance left to play on
        yield Run(trio.lowlevel.checkpoint)  # both budgets may be spent: the remaining turns must not run in one go
        yield from _missed(m, player, limit, 0.0)
        return
    if state.is_stalled(player) and ((yield from _skipped(m, player)) or m.pause.on):
        return
    asked = m.seats[player].ask(state.move_number, state.state.board(), state.last_moves[1 - player], limit)
    deadline = asked + limit + clocks.lag
    received = yield WaitUntil(deadline)
    if received is None or received.at > deadline:
        received = yield from _overdue(m, player, asked, deadline, received)
    if received is None:
        yield from _missed(m, player, limit, trio.current_time() - asked - m.paused)
    elif isinstance(received.what, ProtocolViolation):
        yield from _forfeit(m, received, received.what)
    else:
        ms, answer = _ms(received.at - asked - m.paused), received.what
        turn = answered(state, answer, {"ms": ms, "timed": "kernel" if received.stamped else "wake"})
        if "fault" in turn and turn["fault"] == FaultCode.ILLEGAL_MOVE and type(answer) is Step:
            turn |= tried_fields(answer.move)
        if type(answer) is not MalformedAnswer and answer.notes:
            m.sheet.add_notes(turn, answer.notes)
        if "fault" in turn:
            yield from _fault(m, turn)
            return
        yield from _write(m, turn)
        if "move" in turn:
            m.publish(MovePlayed(m.match, player, turn["move"], ms / 1000, received.stamped))


def _overdue(
    m: _MatchInPlay, player: Player, asked: float, deadline: float, received: Received | None
) -> Generator[Effect, Any, Received | None]:
    """Return an answer that still counts as on time, or None. Called when none had been read by ``deadline``.

    The receive timestamp decides, not the order in which tasks woke up. An answer that arrived in time and is read
    late is on time. An answer that arrived late is late, even if it is read before the deadline fires. Time in
    which the server itself was stalled is given back to the player if it is more than the network allowance. The
    time of a pause is always given back.
    """
    m.pauses.clear()
    while True:
        if received is None and m.pause.at_once:
            received = yield from _clock_stopped(m, player, asked)
        received = received or _poll(m, player)
        due = deadline + m.late + m.paused
        if received is None and trio.current_time() < due:  # a pause has begun or ended
            received = yield WaitUntil(due)
            continue
        if received is not None and (isinstance(received.what, ProtocolViolation) or received.at <= due):
            return received
        late = m.scheduler.stalls.stall_since(asked, due, m.pauses)
        if late <= max(m.late, m.state.clocks.lag):  # no stall, or no further one
            if received is not None:
                m.seats[player].note_sign_of_life()
            return None
        m.late = late
        m.publish(ServerLate(m.match, player, late))
        received = received or (yield WaitUntil(deadline + late + m.paused))


def _clock_stopped(m: _MatchInPlay, player: Player, asked: float) -> Generator[Effect, Any, Received | None]:
    """Wait while the match is paused and the player's question is open; return an answer that arrives."""
    began = max(asked, m.pause.since)
    m.seats[player].stop_clock(began)
    _tell_pause(m)
    received: Received | None = None
    while received is None and m.pause.at_once:
        received = yield WaitUntil(_NEVER)
    # An answer from before the pause may be read in it: it has used all of its time.
    ended = trio.current_time() if received is None else max(began, received.at)
    m.paused += ended - began
    m.pauses.append((began, ended))
    m.seats[player].continue_clock(ended - began)
    if not m.pause.on:
        _tell_pause(m)
    return received


def _between_turns(m: _MatchInPlay) -> MatchScript:
    """Wait until the pause is over. A violation of the protocol loses the match in a pause, too."""
    _tell_pause(m)
    while m.pause.on:
        received = yield WaitUntil(_NEVER)
        if received is not None and isinstance(received.what, ProtocolViolation):
            yield from _forfeit(m, received, received.what)
            return
    _tell_pause(m)


def _tell_pause(m: _MatchInPlay) -> None:
    """Tell both players that the match is paused, or that it goes on; each once."""
    if m.pause_told == m.pause.on:
        return
    m.pause_told = m.pause.on
    order = m.pause.order
    text = "The match goes on." if order is None else f"The host has paused the match: {order.why}"
    notice = Notice("resumed" if order is None else "paused", m.match.number, text[:MAX_TEXT])
    for seat in m.seats:
        seat.set_pause(notice)


def _skipped(m: _MatchInPlay, player: Player) -> Generator[Effect, Any, bool]:
    """Skip the turn of a stalled player, or prepare to ask it again.

    A stalled player is sent nothing: it does not read, and 200 penalties and questions would fill its buffers. Its
    latest question stays open instead, so that every client has something to answer when it comes back.

    Returns:
        True if the turn is over.
    """
    yield Run(trio.lowlevel.checkpoint)  # both may be stalled: other tasks run between any two of their turns
    seat, received = m.seats[player], m.mailbox.take()
    if received is not None and isinstance(received.what, ProtocolViolation):
        yield from _forfeit(m, received, received.what)
        return True
    if not seat.is_silent:
        if player in m.skipped:
            m.publish(PlayerAskedAgain(m.match, player, m.skipped[player]))
            _close_question(m, player)
        return False
    m.skipped[player] = m.skipped.get(player, 0) + 1
    yield from _fault(m, referee.stalled(m.state))
    return True


def _close_question(m: _MatchInPlay, player: Player) -> None:
    """Close the question that a stalled player was left with."""
    skipped = m.skipped.pop(player)
    detail = f"nothing heard for {STALLED_MISSES} limits: {m.state.game.penalty}"
    more = f", and {skipped} more of yours since" if skipped else ""
    m.seats[player].penalize(FaultCode.STALLED if skipped else FaultCode.MISSED_LIMIT, f"{detail}{more}")


def _poll(m: _MatchInPlay, player: Player) -> Received | None:
    """Read the player's socket and return the oldest unread answer, if there is one."""
    m.seats[player].poll()
    return m.mailbox.take()


def _missed(m: _MatchInPlay, player: Player, limit: float, waited: float) -> MatchScript:
    seat = m.seats[player]
    seat.time_is_up()
    away, heard = not seat.connected, seat.take_sign_of_life()
    timing = {"ms": _ms(limit), "waited_ms": _ms(waited)}
    turn = referee.missed(m.state, limit, timing, away=away, heard=heard)
    if "fault" in turn:
        yield from _fault(m, turn)
    else:
        yield from _write(m, turn)


def _fault(m: _MatchInPlay, turn: dict[str, Any]) -> MatchScript:
    """Write a turn with a penalty, and tell the player, unless it is stalled."""
    player, code = turn["player"], turn["fault"]
    yield from _write(m, turn)
    m.publish(TurnFaulted(m.match, player, code, turn["detail"], turn["ms"] / 1000))
    if code == FaultCode.STALLED:
        return
    if m.state.is_stalled(player) and m.state.outcome is None:
        m.skipped[player] = 0
        m.publish(PlayerStalled(m.match, player))
    else:
        m.seats[player].penalize(code, referee.penalty_text(m.state, turn))


def _forfeit(m: _MatchInPlay, received: Received, violation: ProtocolViolation) -> MatchScript:
    player: Player = 0 if received.seat is m.seats[0] else 1
    yield from _write(m, referee.violated(m.state, player, violation.code, violation.detail))


def _write(m: _MatchInPlay, turn: dict[str, Any]) -> MatchScript:
    """Write a turn to the scoresheet, and return when it is written: nobody may hear of it before."""
    if m.late:
        turn["late_ms"] = _ms(m.late)
    if m.paused:
        turn["paused_ms"] = _ms(m.paused)
    m.state.note(turn)  # with the notes that are on record: it is verified with them
    result = m.sheet.write(turn)
    if result is _PENDING:
        result = yield m.commit
    if result is _FAILED:
        yield Run(m.sheet.retry_until_written)


def _ms(seconds: float) -> float:
    """Return milliseconds with three decimals, at least 0; `round(..., 3)` takes twice as long."""
    return round(seconds * 1_000_000) / 1000 if seconds > 0 else 0.0


def end_message(result: Result, player: Player) -> End:
    scores = None if result.scores is None else list(result.scores)
    return End(result.match.number, result.outcome_for(player), str(result.reason), result.detail, scores)
