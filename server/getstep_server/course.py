"""The course of a match: what its turns so far come to, as a pure function of them.

The judge decides each turn and applies it here; reading a record back applies the same turns again. So a match that
goes on after a crash, and one that is verified a year later, come to what they came to when they were played.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from getstep.wire import MAX_TEXT
from getstep_engines import Game, IllegalMove, Outcome, Player, State, TimeControl

_OTHER: tuple[Player, Player] = (1, 0)

MISSED = "missed_limit"
ABSENT = "absent"
HOSTILE = "hostile"


class Clocks:
    """Both players' time in one match.

    Times are charged in milliseconds with three decimals, as they are recorded, and added up as whole microseconds:
    the sum of a record's times is the clock to the last digit.

    Args:
        control: a limit for each move, or a budget for all of a player's moves.
        lag: seconds added to each limit for the network. In a budget it is no extra thinking time: a turn is
            charged in full.
    """

    def __init__(self, control: TimeControl, lag: float) -> None:
        self.control = control
        self.lag = lag
        self._thought_us = [0, 0]

    @property
    def thought_ms(self) -> list[float]:
        """What both have used."""
        return [microseconds / 1000 for microseconds in self._thought_us]

    @property
    def thought(self) -> tuple[float, float]:
        """The same in seconds."""
        first, second = self.thought_ms
        return first / 1000, second / 1000

    def limit(self, player: Player) -> float:
        """Seconds the player has for its next answer, the allowance for lag not included."""
        if self.control.kind == "move":
            return self.control.seconds
        return max(0.0, self.control.seconds - self._thought_us[player] / 1_000_000)

    def charge(self, player: Player, ms: float) -> None:
        """Take a turn's thinking time off."""
        self._thought_us[player] += round(ms * 1000)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The end of a match: by the game's rules (``scores`` set) or by a rule beside them."""

    winner: Player | None
    reason: str
    detail: str
    scores: tuple[Any, Any] | None = None


class WrongTurn(ValueError):  # noqa: N818 - what it is
    """A recorded turn cannot have happened; the message says why."""


class Course:
    """A match as far as it has come.

    Args:
        game: what is played, with its ``options``.
        control: the time control, and the allowance for ``lag`` in seconds.
    """

    def __init__(self, game: Game, options: Mapping[str, int], control: TimeControl, lag: float) -> None:
        self.game = game
        self.state: State = game.start(**options)
        self.clocks = Clocks(control, lag)
        self.turns = 0
        self.move_number = 1
        self.last_moves: list[object] = [None, None]
        self.faults = [0, 0]
        self.misses = [0, 0]
        """Limits missed in a row without a connection."""
        self.verdict: Verdict | None = None
        self.passes_due: tuple[Player, ...] = ()
        """Passes that a record has to name next; only `apply` keeps it."""

    def move(self, move: object, ms: float) -> None:
        """The player on turn makes a move.

        Raises:
            IllegalMove: the rules do not allow it; nothing has changed.
        """
        player = self.state.to_move
        self.state.play(move)
        self.last_moves[player] = move
        self.misses[player] = 0
        self.clocks.charge(player, ms)
        self._after("finished")

    def fault(self, code: str, ms: float, *, away: bool = False) -> None:
        """The player on turn gets the game's own penalty for ``code``; ``away``: it had no connection."""
        player = self.state.to_move
        self.state.fault()  # first: where it fails, the turn has not happened
        self.clocks.charge(player, ms)
        self.misses[player] = self.misses[player] + 1 if away else 0
        self.faults[player] += 1
        self.last_moves[player] = None
        self._after(code)

    def lose(self, loser: Player, reason: str, detail: str, ms: float) -> None:
        """``loser`` loses by a rule beside the game's own."""
        scores = forfeit_scores(self.state, loser)
        self.clocks.charge(loser, ms)
        self.turns += reason != HOSTILE  # that comes between two turns
        self.verdict = Verdict(_OTHER[loser], reason, detail[:MAX_TEXT], scores)

    def apply(self, turn: Mapping[str, Any]) -> None:
        """Apply a turn as it is recorded (records.md); passes follow from the moves and are only checked.

        Raises:
            WrongTurn: it cannot follow on those before it.
        """
        try:
            self._apply(turn)
        except (KeyError, TypeError, OverflowError, IllegalMove) as error:
            raise WrongTurn(f"{turn!r:.200}: {error!s:.300}") from error

    def _apply(self, turn: Mapping[str, Any]) -> None:
        player: Player = turn["player"]
        if "pass" in turn or self.passes_due:
            self._check_pass(turn)
            return
        if "end" in turn and self.verdict is None:
            self.lose(player, turn["end"], turn["detail"], turn["ms"])
            return
        if self.verdict is not None or player != self.state.to_move:
            due = "nothing: the match is over" if self.verdict is not None else f"player {self.state.to_move}"
            raise WrongTurn(f"{turn!r:.200}, expected {due}")
        if "move" in turn:
            self.move(turn["move"], turn["ms"])
        else:
            self.fault(turn["fault"], turn["ms"], away=turn.get("away", False))
        self.passes_due = self.state.passed

    def _check_pass(self, turn: Mapping[str, Any]) -> None:
        if "pass" not in turn or self.passes_due[:1] != (turn["player"],):
            due = f"a pass of player {self.passes_due[0]}" if self.passes_due else "no pass"
            raise WrongTurn(f"{turn!r:.200}, expected {due}")
        self.passes_due = self.passes_due[1:]

    def _after(self, reason: str) -> None:
        state = self.state
        self.turns += 1
        self.move_number += 1 + len(state.passed)
        for passed in state.passed:
            self.last_moves[passed] = None
        outcome: Outcome | None = state.outcome
        if outcome is not None:
            self.verdict = Verdict(outcome.winner, reason, outcome.reason, outcome.scores)


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
