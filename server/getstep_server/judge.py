"""The judge: one function plays one match.

The engine knows the rules and the game's penalty for a fault; the judge knows time and hostility. It sees seats,
not sockets, and says nothing about a result before that is on disk: telling the players is the director's work.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import trio

from getstep.wire import MAX_TEXT, MalformedAnswer, Raised, Resign, Start
from getstep_engines import Game, IllegalMove, Outcome, Player, State, TimeControl

from .events import MovePlayed, Publish, ServerLate, TurnFaulted
from .limits import ABSENT_MISSES
from .results import Result
from .schedule import Match
from .seats import Answer, Arrival, Hostile, Seat, Table
from .timekeeper import Timekeeper

_OTHER: tuple[Player, Player] = (1, 0)


class Clocks:
    """Both players' time in one match.

    Args:
        control: a limit for each move, or a budget for all of a player's moves.
        lag: seconds added to each limit for the network. In a budget it is no extra thinking time: a turn is
            charged in full.
    """

    def __init__(self, control: TimeControl, lag: float) -> None:
        self.control = control
        self.lag = lag
        self.thought = [0.0, 0.0]

    def limit(self, player: Player) -> float:
        """Seconds the player has for its next answer, the allowance for lag not included."""
        if self.control.kind == "move":
            return self.control.seconds
        return max(0.0, self.control.seconds - self.thought[player])

    def charge(self, player: Player, seconds: float) -> None:
        """Take a turn's thinking time off."""
        self.thought[player] += seconds


@dataclass(frozen=True, slots=True)
class _Verdict:
    """The end of a match: by the game's rules (``scores`` set) or by a rule beside them."""

    winner: Player | None
    reason: str
    detail: str
    scores: tuple[object, object] | None = None


@dataclass
class _Progress:
    """A match under way."""

    match: Match
    game: Game
    state: State
    seats: tuple[Seat, Seat]
    clocks: Clocks
    table: Table
    timekeeper: Timekeeper
    publish: Publish
    turns: int = 0
    move_number: int = 1
    last_moves: list[object] = field(default_factory=lambda: [None, None])
    faults: list[int] = field(default_factory=lambda: [0, 0])
    misses: list[int] = field(default_factory=lambda: [0, 0])  # in a row, without a connection


async def play_match(
    match: Match,
    game: Game,
    seats: tuple[Seat, Seat],
    control: TimeControl,
    lag: float,
    timekeeper: Timekeeper,
    publish: Publish,
) -> Result:
    """Play one match to its end.

    Args:
        match: which one; its options start the game.
        seats: the first player's and the second's. Either may come and go; the clock runs on.
        control: the time control, ``lag`` the allowance added to each limit in seconds.
        timekeeper: wakes the judge, and knows when the server itself stood still.
        publish: called with each move and fault.

    Returns:
        The result. The seats still hold the match: end it there once the result is stored.
    """
    started, began = time.time(), trio.current_time()
    state = game.start(**match.options)
    table = sit_down(match, seats, control, lag, timekeeper)
    progress = _Progress(match, game, state, seats, Clocks(control, lag), table, timekeeper, publish)
    verdict = None
    while verdict is None:
        verdict = await _turn(progress)
    return Result(
        match=match,
        winner=verdict.winner,
        reason=verdict.reason,
        detail=verdict.detail,
        scores=verdict.scores,
        turns=progress.turns,
        thought=(progress.clocks.thought[0], progress.clocks.thought[1]),
        faults=(progress.faults[0], progress.faults[1]),
        started=started,
        seconds=trio.current_time() - began,
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


async def _turn(p: _Progress) -> _Verdict | None:
    player = p.state.to_move
    limit = p.clocks.limit(player)
    if limit <= 0:  # a budget that is spent: not even the allowance is left to play on with
        await trio.lowlevel.checkpoint()
        return _missed(p, player, limit)
    asked = p.seats[player].ask(p.move_number, p.state.board(), p.last_moves[1 - player], limit)
    arrival = await _wait(p, player, asked, asked + limit + p.clocks.lag)
    if arrival is None:
        return _missed(p, player, limit)
    if isinstance(arrival.what, Hostile):
        return _forfeit(p, arrival, arrival.what)
    p.misses[player] = 0
    thought = max(0.0, arrival.at - asked)
    p.clocks.charge(player, thought)
    return _judge(p, player, arrival.what, thought, stamped=arrival.stamped)


async def _wait(p: _Progress, player: Player, asked: float, deadline: float) -> Arrival | None:
    """What arrives by ``deadline``, or None.

    It is the arrival that counts, not who woke up first: an answer that was here in time and is read late is in
    time, and one that came late is late even if it is read before the deadline fires. Time in which the server
    itself stood still, if it is more than the allowance for lag, is given back to the player.
    """
    arrival = await p.table.get(deadline)
    if arrival is None:
        p.seats[player].look()
        arrival = p.table.take()
    if arrival is not None and (isinstance(arrival.what, Hostile) or arrival.at <= deadline):
        return arrival
    late = p.timekeeper.stood_still(asked, deadline)
    if late <= p.clocks.lag:
        return None
    p.publish(ServerLate(p.match, player, late))
    if arrival is not None:
        return arrival if arrival.at <= deadline + late else None
    return await p.table.get(deadline + late)


def _judge(p: _Progress, player: Player, answer: Answer, thought: float, *, stamped: bool) -> _Verdict | None:
    if isinstance(answer, Resign):
        p.turns += 1
        return _lost(p, player, "resigned", f"{p.game.players[player]} resigned")
    if isinstance(answer, Raised):
        return _fault(p, player, "raised", answer.error or "no reason given", thought)
    if isinstance(answer, MalformedAnswer):
        return _fault(p, player, "malformed_answer", answer.detail, thought)
    try:
        p.state.play(answer.move)
    except IllegalMove as error:
        return _fault(p, player, "illegal_move", str(error), thought)
    p.last_moves[player] = answer.move
    p.publish(MovePlayed(p.match, player, answer.move, thought, stamped))
    return _after_turn(p, "finished")


def _missed(p: _Progress, player: Player, limit: float) -> _Verdict | None:
    p.clocks.charge(player, limit)
    connected = p.seats[player].connected
    p.misses[player] = 0 if connected else p.misses[player] + 1
    if p.misses[player] >= ABSENT_MISSES:
        p.turns += 1
        name = p.game.players[player]
        return _lost(p, player, "absent", f"{name} missed {ABSENT_MISSES} limits in a row while away")
    detail = f"no answer within {limit:g} s" + ("" if connected else ", and no connection")
    return _fault(p, player, "missed_limit", detail, limit)


def _fault(p: _Progress, player: Player, code: str, detail: str, thought: float) -> _Verdict | None:
    p.state.fault()
    p.faults[player] += 1
    p.last_moves[player] = None
    p.seats[player].penalize(code, f"{detail}: {p.game.penalty}"[:MAX_TEXT])
    p.publish(TurnFaulted(p.match, player, code, detail, thought))
    return _after_turn(p, code)


def _after_turn(p: _Progress, reason: str) -> _Verdict | None:
    p.turns += 1
    p.move_number += 1 + len(p.state.passed)
    for passed in p.state.passed:
        p.last_moves[passed] = None
    outcome: Outcome | None = p.state.outcome
    if outcome is None:
        return None
    return _Verdict(outcome.winner, reason, outcome.reason, outcome.scores)


def forfeit_scores(state: State, loser: Player) -> tuple[object, object] | None:
    """The scores of a match that ``loser`` loses by a rule beside the game, or None if the game has none for it.

    Where the game's own penalty ends it (pseudo_tonga fills the board), nobody is better off by resigning, staying
    away or breaking the protocol than by a fault.
    """
    if state.outcome is not None:
        return None
    rest = state.copy()
    rest.to_move = loser  # type: ignore[misc]  # every game has a slot for it
    rest.fault()
    return rest.outcome.scores if rest.outcome is not None and rest.outcome.winner != loser else None


def _lost(p: _Progress, loser: Player, reason: str, detail: str) -> _Verdict:
    return _Verdict(_OTHER[loser], reason, detail[:MAX_TEXT], forfeit_scores(p.state, loser))


def _forfeit(p: _Progress, arrival: Arrival, hostile: Hostile) -> _Verdict:
    player: Player = 0 if arrival.seat is p.seats[0] else 1
    name = p.game.players[player]
    return _lost(p, player, "hostile", f"{name} broke the protocol ({hostile.code}): {hostile.detail}")
