"""A game's record played again: do its turns follow the rules and the clocks, and come to what it says?

Times are recorded in milliseconds with three decimals. Two of them that were rounded can be wrong by a thousandth
together, and by no more: that much is tolerated where times are compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .course import Course, WrongTurn, forfeit_scores
from .game_record import SOFTWARE, VOIDS, RecordError
from .limits import ABSENT_MISSES
from .record_shape import (
    Absent,
    Broke,
    Faulted,
    GameShape,
    Illegal,
    Missed,
    Moved,
    Passed,
    Resigned,
    Turn,
    as_json,
    game_of,
    turn_of,
)
from .scoresheet import course_of

TOLERANCE_MS = 0.001


class DoesNotFit(RecordError):  # noqa: N818 - a finding
    """Something in a game's record does not fit; the message says what is there and what was expected.

    ``turn`` is its place in the record's turns, from 1; None if it is no turn.
    """

    def __init__(self, what: str, turn: int | None = None) -> None:
        super().__init__(what)
        self.turn = turn


def replay(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Play a game's record again.

    Returns:
        The keys of its result, as the turns make them; the record has the same.

    Raises:
        RecordError: it does not look like a game's record; as `DoesNotFit`: the rules, the clocks or the result are
            not what it says.
    """
    game, course = game_of(fields), course_of(fields)
    for _ in steps(game, course):
        pass
    _check_notes(game, course)
    expected = _result(game, course)
    for name, value in expected.items():
        if name == "detail" and game.software != SOFTWARE:
            continue  # another version may have said the same in other words
        if as_json(fields[name]) != as_json(value):
            raise DoesNotFit(f"{name} is {fields[name]!r:.200}, expected {value!r:.200} by its turns")
    return expected


def steps(game: GameShape, course: Course) -> Iterator[Turn]:
    """Apply the turns of ``game`` to its ``course`` and yield each, once it is applied.

    Raises:
        DoesNotFit: a turn does not follow on those before it, or is not in keeping with the clocks.
    """
    for number, fields in enumerate(game.turns, start=1):
        try:
            turn = turn_of(fields)
            _check(turn, course)
            course.apply(fields)
        except (RecordError, WrongTurn) as error:
            raise DoesNotFit(str(error), number) from error
        yield turn
    if course.passes_due:
        raise DoesNotFit(f"no turn, expected a pass of player {course.passes_due[0]}", len(game.turns) + 1)


# --- the clocks -------------------------------------------------------------------------------------------------


def _check(turn: Turn, course: Course) -> None:
    if isinstance(turn, Passed) or course.verdict is not None or course.passes_due:
        return  # whether it may follow, the course knows; there is no clock
    _check_lateness(turn, course)
    if isinstance(turn, Broke):
        if turn.ms:
            raise DoesNotFit(f"ms is {turn.ms!r}, expected 0.0: breaking the protocol takes no time")
        return
    if turn.player != course.state.to_move:
        raise DoesNotFit(f"player is {turn.player!r}, expected {course.state.to_move}, who is on turn")
    if isinstance(turn, (Missed, Absent)):
        _check_missed(turn, course)
    else:
        _check_in_time(turn, course)
    if isinstance(turn, Illegal) and course.state.is_legal(turn.tried):
        raise DoesNotFit(f"tried is {turn.tried!r:.80}, expected a move that the rules do not allow")


def _check_lateness(turn: Moved | Faulted | Missed | Resigned | Absent | Broke, course: Course) -> None:
    lag = _ms(course.clocks.lag)
    if turn.late_ms and turn.late_ms < lag - TOLERANCE_MS:
        raise DoesNotFit(f"late_ms is {turn.late_ms!r}, expected nothing, or more than the {lag} for lag")


def _check_in_time(turn: Moved | Faulted | Resigned, course: Course) -> None:
    limit = course.clocks.limit(turn.player)  # type: ignore[arg-type]
    if limit <= 0:
        raise DoesNotFit("an answer, expected a missed limit: the player's budget is spent, and it is not asked")
    allowed, sum_of = _allowed(turn, limit, course)
    if turn.ms > allowed + TOLERANCE_MS:
        raise DoesNotFit(f"ms is {turn.ms!r}, expected at most {sum_of}, or a missed limit")


def _check_missed(turn: Missed | Absent, course: Course) -> None:
    limit = course.clocks.limit(turn.player)  # type: ignore[arg-type]
    if turn.ms != _ms(limit):
        raise DoesNotFit(f"ms is {turn.ms!r}, expected the limit that was missed, {_ms(limit)}")
    if limit <= 0:
        if turn.waited_ms:
            raise DoesNotFit(f"waited_ms is {turn.waited_ms!r}, expected 0.0: the player's budget is spent")
    else:
        allowed, sum_of = _allowed(turn, limit, course)
        if turn.waited_ms < allowed - TOLERANCE_MS:
            raise DoesNotFit(f"waited_ms is {turn.waited_ms!r}, expected more than {sum_of}")
    _check_absence(turn, course)


def _check_absence(turn: Missed | Absent, course: Course) -> None:
    in_a_row = course.misses[turn.player] + 1 if turn.away else 0
    if isinstance(turn, Absent) and in_a_row < ABSENT_MISSES:
        raise DoesNotFit(
            f"end is 'absent' after {in_a_row} limits missed in a row while away, expected {ABSENT_MISSES}"
        )
    if isinstance(turn, Missed) and in_a_row >= ABSENT_MISSES:
        raise DoesNotFit(
            f"fault is 'missed_limit', expected end 'absent': {in_a_row} limits missed in a row while away"
        )


def _allowed(turn: Moved | Faulted | Missed | Resigned | Absent, limit: float, course: Course) -> tuple[float, str]:
    """What a limit comes to in milliseconds, allowances included; as a number and in words."""
    parts = {"limit": _ms(limit), "lag": _ms(course.clocks.lag), "late": turn.late_ms}
    allowed = sum(parts.values())
    return allowed, f"{allowed:.3f} ({' + '.join(f'{name} {ms}' for name, ms in parts.items() if ms)})"


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 3)


# --- the result -------------------------------------------------------------------------------------------------


def _check_notes(game: GameShape, course: Course) -> None:
    """What the record notes beside its turns has to have happened in the middle of them."""
    turns = course.turns
    for before, after in zip([0, *game.resumed], [*game.resumed, turns], strict=True):
        if before > after:
            raise DoesNotFit(f"resumed is {game.resumed!r:.80}, expected rising numbers up to {turns}, its turns")
    teams = [team.id for team in game.teams]
    for incident in game.incidents:
        if incident.team not in teams:
            raise DoesNotFit(f"an incident of team {incident.team}, expected one of {teams}")
        if incident.after_turn > turns:
            raise DoesNotFit(f"an incident after turn {incident.after_turn}, expected at most {turns}")


def _result(game: GameShape, course: Course) -> dict[str, Any]:
    if game.reason in VOIDS:
        return {"winner": None, "scores": None, **_so_far(course)}
    if game.reason == "never_arrived":
        return _walkover(game, course)
    verdict = course.verdict
    if verdict is None:
        raise DoesNotFit(
            f"reason is {game.reason!r:.80}, expected more turns: after {course.turns} the match is not over"
        )
    return {
        "winner": verdict.winner,
        "scores": verdict.scores,
        "reason": verdict.reason,
        "detail": verdict.detail,
        **_so_far(course),
    }


def _so_far(course: Course) -> dict[str, Any]:
    """What was played, whether it came to an end or not."""
    return {"turns_played": course.turns, "thought_ms": course.clocks.thought_ms, "faults": course.faults}


def _walkover(game: GameShape, course: Course) -> dict[str, Any]:
    if game.turns:
        raise DoesNotFit(f"reason is 'never_arrived' and there are {len(game.turns)} turns, expected none")
    if game.winner is None:
        return _unplayed(None, None)
    loser = 1 - game.winner
    return _unplayed(game.winner, forfeit_scores(course.state, loser))  # type: ignore[arg-type]


def _unplayed(winner: int | None, scores: object) -> dict[str, Any]:
    nothing = {"turns_played": 0, "thought_ms": [0.0, 0.0], "faults": [0, 0]}
    return {"winner": winner, "scores": scores, **nothing}
