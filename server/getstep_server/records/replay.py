"""Replay of a game's record: check its turns against the rules and the clocks, and its result against its turns.

Times are recorded in milliseconds with three decimals. The sum of two rounded times can be off by 0.001 ms, so
comparisons of times tolerate that much.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from getstep.referee import ABSENT_MISSES, STALLED_MISSES, MatchState, WrongTurn, forfeit_scores
from getstep_server.limits import MATCH_NOTES_BYTES

from .game import GameRecord, match_state_of, validate_game
from .reasons import VOID_REASONS, Reason
from .record import SOFTWARE, RecordError, as_json
from .turns import Absent, Broke, Faulted, Illegal, Missed, Moved, Passed, Resigned, Stalled, Turn, validate_turn

TOLERANCE_MS = 0.001  # the rounding error of a sum of two recorded times


class DoesNotFit(RecordError):  # noqa: N818 - a finding
    """Raised when a game's record contradicts the rules, the clocks or its own turns.

    Unlike a plain `RecordError`, the record has the right form. ``turn`` is the number of the wrong turn in the
    record, from 1; None if the error is not in a turn.
    """

    def __init__(self, what: str, turn: int | None = None) -> None:
        super().__init__(what)
        self.turn = turn


def replay(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Replay a game's record.

    Returns:
        The fields of the result, computed from the turns; they are equal to those in the record.

    Raises:
        DoesNotFit: the record contradicts the rules, the clocks or its own turns.
        RecordError: the record does not have the form of a game's record.
    """
    game, match = validate_game(fields), match_state_of(fields)
    for _ in steps(game, match):  # each step checks its turn
        pass
    _check_log(game, match)
    _check_notes(game)
    expected = _result(game, match)
    for name, value in expected.items():
        if name == "detail" and game.software != SOFTWARE:
            continue  # another version may word the same detail differently
        if as_json(fields[name]) != as_json(value):
            raise DoesNotFit(f"{name} is {fields[name]!r:.200}, expected {value!r:.200} by its turns")
    return expected


def steps(game: GameRecord, match: MatchState) -> Iterator[Turn]:
    """Apply the turns of ``game`` to ``match`` and yield each after it was applied.

    Raises:
        DoesNotFit: a turn cannot follow the turns before it, or contradicts the clocks.
    """
    for number, fields in enumerate(game.turns, start=1):
        try:
            yield step(fields, match)
        except RecordError as error:
            raise DoesNotFit(str(error), number) from error
    if match.passes_due:
        raise DoesNotFit(f"no turn, expected a pass of player {match.passes_due[0]}", len(game.turns) + 1)


def step(fields: Mapping[str, Any], match: MatchState) -> Turn:
    """Check one turn or pass, apply it to ``match``, and return it.

    Raises:
        RecordError: it cannot follow the turns before it, contradicts the clocks, or is not a turn.
    """
    try:
        turn = validate_turn(fields)
        _check(turn, match)
        match.apply(fields)
    except WrongTurn as error:
        raise RecordError(str(error)) from error
    return turn


# --- the clocks -------------------------------------------------------------------------------------------------


def _check(turn: Turn, match: MatchState) -> None:
    if isinstance(turn, Passed) or match.outcome is not None or match.passes_due:
        return  # `MatchState.apply` checks whether it may follow; there is no clock
    if isinstance(turn, Stalled):
        _check_stalled(turn, match)
        return
    lag = _ms(match.clocks.lag)
    if turn.late_ms and turn.late_ms < lag - TOLERANCE_MS:
        raise DoesNotFit(f"late_ms is {turn.late_ms!r}, expected nothing, or more than the {lag} for lag")
    if isinstance(turn, Broke):
        if turn.ms:
            raise DoesNotFit(f"ms is {turn.ms!r}, expected 0.0: breaking the protocol takes no time")
        return
    if turn.player != match.state.to_move:
        raise DoesNotFit(f"player is {turn.player!r}, expected {match.state.to_move}, who is on turn")
    if isinstance(turn, (Missed, Absent)):
        _check_missed(turn, match)
    else:
        _check_in_time(turn, match)
    if isinstance(turn, Illegal):
        # A move that was cut is illegal: no legal move is longer than the limit.
        if turn.tried_bytes:
            if not isinstance(turn.tried, str):
                raise DoesNotFit(f"tried is {turn.tried!r:.80}, expected a text: by tried_bytes the move was cut")
        elif match.state.is_legal(turn.tried):
            raise DoesNotFit(f"tried is {turn.tried!r:.80}, expected a move that the rules do not allow")


def _check_in_time(turn: Moved | Faulted | Resigned, match: MatchState) -> None:
    limit = match.clocks.limit(turn.player)  # type: ignore[arg-type]  # validated as 0 or 1
    if limit <= 0:
        raise DoesNotFit("an answer, expected a missed limit: the player's budget is spent, and it is not asked")
    allowed, sum_of = _allowed(turn, limit, match)
    if turn.ms > allowed + TOLERANCE_MS:
        raise DoesNotFit(f"ms is {turn.ms!r}, expected at most {sum_of}, or a missed limit")


def _check_missed(turn: Missed | Absent, match: MatchState) -> None:
    limit = match.clocks.limit(turn.player)  # type: ignore[arg-type]  # validated as 0 or 1
    if turn.ms != _ms(limit):
        raise DoesNotFit(f"ms is {turn.ms!r}, expected the limit that was missed, {_ms(limit)}")
    if limit <= 0:
        if turn.waited_ms:
            raise DoesNotFit(f"waited_ms is {turn.waited_ms!r}, expected 0.0: the player's budget is spent")
    else:
        allowed, sum_of = _allowed(turn, limit, match)
        if turn.waited_ms < allowed - TOLERANCE_MS:
            raise DoesNotFit(f"waited_ms is {turn.waited_ms!r}, expected more than {sum_of}")
    _check_absence(turn, match)
    if isinstance(turn, Missed):
        _check_silence(turn, match)


def _check_stalled(turn: Stalled, match: MatchState) -> None:
    player = turn.player
    if player != match.state.to_move:
        raise DoesNotFit(f"player is {player!r}, expected {match.state.to_move}, who is on turn")
    if not match.is_stalled(player):
        raise DoesNotFit(
            f"fault is 'stalled' after {match.silences[player]} limits missed in a row in silence,"
            f" expected {STALLED_MISSES}"
        )
    if match.clocks.limit(player) <= 0:
        raise DoesNotFit("fault is 'stalled', expected 'missed_limit': the player's budget is spent")
    if turn.ms:
        raise DoesNotFit(f"ms is {turn.ms!r}, expected 0.0: a stalled player is not asked")


def _check_silence(turn: Missed, match: MatchState) -> None:
    """Check that a stalled player is asked again only if the record says that a message of it arrived."""
    silences, asked = match.silences[turn.player], match.clocks.limit(turn.player) > 0  # type: ignore[arg-type]  # validated as 0 or 1
    if turn.heard and (turn.away or not asked or not silences):
        raise DoesNotFit("heard is True, expected nothing: no limit was missed in silence before this one")
    if asked and silences >= STALLED_MISSES and not (turn.heard or turn.away):
        raise DoesNotFit(
            f"fault is 'missed_limit', expected 'stalled': {silences} limits missed in a row in silence before it"
        )


def _check_absence(turn: Missed | Absent, match: MatchState) -> None:
    in_a_row = match.misses[turn.player] + 1 if turn.away else 0
    if isinstance(turn, Absent) and in_a_row < ABSENT_MISSES:
        raise DoesNotFit(
            f"end is 'absent' after {in_a_row} limits missed in a row while away, expected {ABSENT_MISSES}"
        )
    if isinstance(turn, Missed) and in_a_row >= ABSENT_MISSES:
        raise DoesNotFit(
            f"fault is 'missed_limit', expected end 'absent': {in_a_row} limits missed in a row while away"
        )


def _allowed(
    turn: Moved | Faulted | Missed | Resigned | Absent, limit: float, match: MatchState
) -> tuple[float, str]:
    """Return a limit in milliseconds, allowances included: as a number and in words."""
    parts = {"limit": _ms(limit), "lag": _ms(match.clocks.lag), "late": turn.late_ms}
    allowed = sum(parts.values())
    return allowed, f"{allowed:.3f} ({' + '.join(f'{name} {ms}' for name, ms in parts.items() if ms)})"


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 3)  # as the judge writes it, to the microsecond


# --- the result -------------------------------------------------------------------------------------------------


def _check_notes(game: GameRecord) -> None:
    """Check that the notes of each player take no more than they may."""
    for player in (0, 1):
        noted = [turn["notes"] for turn in game.turns if "notes" in turn and turn["player"] == player]
        if (size := sum(len(as_json(notes)) for notes in noted)) > MATCH_NOTES_BYTES:
            raise DoesNotFit(f"notes of player {player} take {size} bytes, expected at most {MATCH_NOTES_BYTES}")


def _check_log(game: GameRecord, match: MatchState) -> None:
    """Check that restarts and incidents lie within the turns, and that incidents name a team of the match."""
    turns = match.turns
    for before, after in zip([0, *game.resumed], [*game.resumed, turns], strict=True):
        if before > after:
            raise DoesNotFit(f"resumed is {game.resumed!r:.80}, expected rising numbers up to {turns}, its turns")
    teams = [team.id for team in game.teams]
    for incident in game.incidents:
        if incident.team not in teams:
            raise DoesNotFit(f"an incident of team {incident.team}, expected one of {teams}")
        if incident.after_turn > turns:
            raise DoesNotFit(f"an incident after turn {incident.after_turn}, expected at most {turns}")


def _result(game: GameRecord, match: MatchState) -> dict[str, Any]:
    if game.reason in VOID_REASONS:
        return {"winner": None, "scores": None, **_totals(match)}
    if game.reason == Reason.NO_SHOW:
        return _walkover(game, match)
    outcome = match.outcome
    if outcome is None:
        raise DoesNotFit(
            f"reason is {game.reason!r:.80}, expected more turns: after {match.turns} the match is not over"
        )
    return {
        "winner": outcome.winner,
        "scores": outcome.scores,
        "reason": str(outcome.reason),
        "detail": outcome.detail,
        **_totals(match),
    }


def _totals(match: MatchState) -> dict[str, Any]:
    """Return the totals of the turns played, whether or not the match ended."""
    return {"turns_played": match.turns, "thought_ms": match.clocks.thought_ms, "faults": match.faults}


def _walkover(game: GameRecord, match: MatchState) -> dict[str, Any]:
    if game.turns:
        raise DoesNotFit(f"reason is 'never_arrived' and there are {len(game.turns)} turns, expected none")
    if game.winner is None:
        return _unplayed(None, None)
    loser = 1 - game.winner
    return _unplayed(game.winner, forfeit_scores(match.state, loser))  # type: ignore[arg-type]  # a winner is 0 or 1


def _unplayed(winner: int | None, scores: object) -> dict[str, Any]:
    nothing = {"turns_played": 0, "thought_ms": [0.0, 0.0], "faults": [0, 0]}  # one number for each player
    return {"winner": winner, "scores": scores, **nothing}
