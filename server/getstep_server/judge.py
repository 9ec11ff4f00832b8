"""The judge: one function plays one match.

The engine knows the rules and the game's penalty for a fault; the judge knows time and hostility. It sees seats,
not sockets, and says nothing about a result before that is on disk: telling the players is the director's work.

Its turns are generators: where they wait for an answer they yield, and `Table` has them go on where the answer is
read.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import trio

from getstep.wire import MAX_TEXT, MalformedAnswer, Raised, Resign, Start
from getstep_engines import IllegalMove, Player, TimeControl

from .course import ABSENT, HOSTILE, MISSED, Course
from .events import MovePlayed, Publish, ServerLate, TurnFaulted
from .limits import ABSENT_MISSES
from .results import Result
from .schedule import Match
from .scoresheet import Scoresheet
from .seats import Answer, Arrival, Errand, Held, Hostile, Seat, Table, Turns
from .timekeeper import Timekeeper


@dataclass
class _Progress:
    """A match under way."""

    match: Match
    seats: tuple[Seat, Seat]
    sheet: Scoresheet
    course: Course
    table: Table
    timekeeper: Timekeeper
    publish: Publish
    held: Held
    """Its turn, where the turns of many are written at once."""
    late: float = 0.0
    """Seconds of the server's own lateness that were given back in this turn."""


async def play_match(
    sheet: Scoresheet, seats: tuple[Seat, Seat], timekeeper: Timekeeper, publish: Publish
) -> Result:
    """Play one match to its end.

    Args:
        sheet: which match, as far as it has come; each turn is written on it before anybody hears of it.
        seats: the first player's and the second's. Either may come and go; the clock runs on.
        timekeeper: wakes the judge, and knows when the server itself stood still.
        publish: called with each move and fault.

    Returns:
        The result. The seats still hold the match: end it there once the result is stored.
    """
    began = trio.current_time()
    course, clocks = sheet.course, sheet.course.clocks
    table = sit_down(sheet.match, seats, clocks.control, clocks.lag, timekeeper)
    progress = _Progress(sheet.match, seats, sheet, course, table, timekeeper, publish, Held(sheet.until_commit))
    await table.play(_turns(progress))
    verdict = course.verdict
    if verdict is None:
        raise RuntimeError("the turns are over, and the match is not")
    return Result(
        match=sheet.match,
        winner=verdict.winner,
        reason=verdict.reason,
        detail=verdict.detail,
        scores=verdict.scores,
        turns=course.turns,
        thought=clocks.thought,
        faults=(course.faults[0], course.faults[1]),
        started=datetime.fromisoformat(sheet.head["started"]).timestamp(),
        seconds=round(trio.current_time() - began, 3),
        attempt=sheet.attempt,
    )


def sit_down(
    match: Match, seats: tuple[Seat, Seat], control: TimeControl, lag: float, timekeeper: Timekeeper
) -> Table:
    """Seat both players at a fresh table and tell them what is played."""
    table = Table(timekeeper)
    for player, seat in enumerate(seats):
        start = Start(
            match=match.number,
            game=match.game,
            options=match.options,
            is_black=player == 0,
            opponent=seats[1 - player].team.name,
            time_kind=control.kind,
            time_ms=round(control.seconds * 1000),
            lag_ms=round(lag * 1000),
            resumed=False,
        )
        seat.begin(table, start)
    return table


def _turns(p: _Progress) -> Turns:
    while p.course.verdict is None:
        yield from _turn(p)


def _turn(p: _Progress) -> Turns:
    course = p.course
    player = course.state.to_move
    clocks = course.clocks
    limit = clocks.limit(player)
    p.late = 0.0
    if limit <= 0:  # a budget that is spent: not even the allowance is left to play on with
        yield trio.lowlevel.checkpoint
        yield from _missed(p, player, limit, 0.0)
        return
    asked = p.seats[player].ask(course.move_number, course.state.board(), course.last_moves[1 - player], limit)
    deadline = asked + limit + clocks.lag
    arrival = yield deadline
    if arrival is None or arrival.at > deadline:
        arrival = yield from _overdue(p, player, asked, deadline, arrival)
    if arrival is None:
        yield from _missed(p, player, limit, trio.current_time() - asked)
    elif isinstance(arrival.what, Hostile):
        yield from _forfeit(p, arrival, arrival.what)
    else:
        yield from _judge(p, player, arrival.what, _ms(max(0.0, arrival.at - asked)), stamped=arrival.stamped)


def _overdue(
    p: _Progress, player: Player, asked: float, deadline: float, arrival: Arrival | None
) -> Generator[float | Errand | Held, Any, Arrival | None]:
    """What arrives in time all the same, or None: ``arrival`` was not here at ``deadline``.

    It is the arrival that counts, not who woke up first: an answer that was here in time and is read late is in
    time, and one that came late is late even if it is read before the deadline fires. Time in which the server
    itself stood still, if it is more than the allowance for lag, is given back to the player.
    """
    arrival = arrival or _look(p, player)
    while arrival is None or not (isinstance(arrival.what, Hostile) or arrival.at <= deadline + p.late):
        late = p.timekeeper.stood_still(asked, deadline + p.late)
        if late <= max(p.late, p.course.clocks.lag):  # not at all, or not once more
            return None
        p.late = late
        p.publish(ServerLate(p.match, player, late))
        arrival = arrival or (yield deadline + late) or _look(p, player)
    return arrival


def _look(p: _Progress, player: Player) -> Arrival | None:
    """What is there and was not read yet."""
    p.seats[player].look()
    return p.table.take()


def _judge(p: _Progress, player: Player, answer: Answer, ms: float, *, stamped: bool) -> Turns:
    timed: dict[str, Any] = {"ms": ms, "timed": "kernel" if stamped else "wake"}
    if isinstance(answer, Resign):
        yield from _lose(p, player, "resigned", f"{p.course.game.players[player]} resigned", timed)
    elif isinstance(answer, Raised):
        yield from _fault(p, player, "raised", answer.error or "no reason given", timed)
    elif isinstance(answer, MalformedAnswer):
        yield from _fault(p, player, "malformed_answer", answer.detail, timed)
    else:
        try:
            p.course.move(answer.move, ms)
        except IllegalMove as error:
            yield from _fault(p, player, "illegal_move", str(error), {**timed, "tried": answer.move})
            return
        if not (_written(p, {"player": player, "move": answer.move, **timed}) or (yield p.held)):
            yield p.sheet.insist
        p.publish(MovePlayed(p.match, player, answer.move, ms / 1000, stamped))


def _missed(p: _Progress, player: Player, limit: float, waited: float) -> Turns:
    away = not p.seats[player].connected
    timed = {"ms": _ms(limit), "waited_ms": _ms(waited), "away": away}
    if away and p.course.misses[player] + 1 >= ABSENT_MISSES:
        name = p.course.game.players[player]
        yield from _lose(p, player, ABSENT, f"{name} missed {ABSENT_MISSES} limits in a row while away", timed)
        return
    detail = f"no answer within {limit:g} s" + (", and no connection" if away else "")
    yield from _fault(p, player, MISSED, detail, timed)


def _fault(p: _Progress, player: Player, code: str, detail: str, timed: dict[str, Any]) -> Turns:
    detail = detail[:MAX_TEXT]
    p.course.fault(code, timed["ms"], away=timed.get("away", False))
    if not (_written(p, {"player": player, "fault": code, "detail": detail, **timed}) or (yield p.held)):
        yield p.sheet.insist
    p.seats[player].penalize(code, f"{detail}: {p.course.game.penalty}"[:MAX_TEXT])
    p.publish(TurnFaulted(p.match, player, code, detail, timed["ms"] / 1000))


def _lose(p: _Progress, loser: Player, reason: str, detail: str, timed: dict[str, Any]) -> Turns:
    p.course.lose(loser, reason, detail, timed["ms"])
    if not (_written(p, {"player": loser, "end": reason, "detail": detail[:MAX_TEXT], **timed}) or (yield p.held)):
        yield p.sheet.insist


def _forfeit(p: _Progress, arrival: Arrival, hostile: Hostile) -> Turns:
    player: Player = 0 if arrival.seat is p.seats[0] else 1
    name = p.course.game.players[player]
    detail = f"{name} broke the protocol ({hostile.code}): {hostile.detail}"
    yield from _lose(p, player, HOSTILE, detail, {"ms": 0.0})


def _written(p: _Progress, turn: dict[str, Any]) -> bool:
    """Whether what was decided stands on the sheet: nobody may hear of it before."""
    if p.late:
        turn["late_ms"] = _ms(p.late)
    return p.sheet.write(turn)


def _ms(seconds: float) -> float:
    return round(seconds * 1_000_000) / 1000  # rounding to decimals takes twice as long
