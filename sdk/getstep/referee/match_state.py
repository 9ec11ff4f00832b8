"""The state of a match, as a pure function of its turns.

The server's judge, the check of a record, and practice at home share it. The judge decides each turn and applies it
here. Reading a record back applies the same turns to the same code. So a match that is resumed after a crash, or
verified a year later, has the same state as when it was played.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from getstep.wire import MAX_MS, MAX_TEXT
from getstep_engines import Game, IllegalMove, Outcome, Player, State, TimeControl
from getstep_engines.value import Value

from .agreement import Agreement, Estimates
from .codes import AGREED, FINISHED, EndCode, FaultCode
from .limits import ABSENT_MISSES, STALLED_MISSES

_OTHER: tuple[Player, Player] = (1, 0)

EDITION = 2
"""Edition of the judge's rules. One edition judges a match from its first turn to its last, and verifies it.

1: no player is stalled; a game that ends by its own rules with a skipped turn has that fault's code as its reason.
2: the rules in rules.md.
"""

UNANSWERED = (FaultCode.MISSED_LIMIT, FaultCode.STALLED)
"""Faults without an answer: they earn no increment."""

_LONGEST = MAX_MS / 1000
"""Upper limit of a turn in seconds: the wire cannot express more, however many increments were saved up."""


class Clocks:
    """Both players' time in one match.

    Times are charged in milliseconds with three decimals, as they are recorded, and added up as whole microseconds:
    the sum of a record's times is the clock to the last digit.

    Args:
        control: a limit for each move, or a budget for all of a player's moves, perhaps with an increment.
        lag: seconds added to each limit for the network. In a budget it adds no thinking time: a turn is
            charged in full.
    """

    def __init__(self, control: TimeControl, lag: float) -> None:
        self.control = control
        self.lag = lag
        self._thought_us = [0, 0]
        self._budget_us = [_us(control.seconds)] * 2
        """The whole budget of each player, with the increments earned."""
        self._increment_us = _us(control.increment)

    @property
    def thought_ms(self) -> list[float]:
        """The time that each player has used."""
        return [microseconds / 1000 for microseconds in self._thought_us]

    @property
    def thought(self) -> tuple[float, float]:
        """The time that each player has used, in seconds."""
        first, second = self.thought_ms
        return first / 1000, second / 1000

    def limit(self, player: Player) -> float:
        """Return the seconds that the player has for its next answer, without the lag compensation."""
        if self.control.kind == "move":
            return self.control.seconds
        left_us = self._budget_us[player] - self._thought_us[player]
        return min(_LONGEST, max(0, left_us) / 1_000_000)

    def charge(self, player: Player, ms: float) -> None:
        """Charge the player for a turn's thinking time."""
        self._thought_us[player] += round(ms * 1000)

    def earn(self, player: Player) -> None:
        """Add the increment to the player's budget, after a turn that it answered in time."""
        self._budget_us[player] += self._increment_us

    def set_left(self, player: Player, seconds: float) -> None:
        """Set the rest of the player's budget, for a match that begins in the middle."""
        self._budget_us[player] = self._thought_us[player] + _us(seconds)


def _us(seconds: float) -> int:
    """Return seconds as whole microseconds: their sums are exact, and a record's times have no more digits."""
    return round(seconds * 1_000_000)


class MatchOutcome(Value):
    """The end of a match: by the game's rules (``scores`` set) or by a rule beside them."""

    winner: Player | None
    reason: str
    detail: str
    scores: tuple[Any, Any] | None = None


class WrongTurn(ValueError):  # noqa: N818 - named for what is wrong
    """Raised when a recorded turn cannot follow the turns before it.

    Unlike `IllegalMove`, which the judge turns into a fault, it means that the record is wrong.
    """


class MatchState:
    """The current state of a match: position, clocks, faults and outcome.

    Args:
        game: the rules, with their ``options``.
        control: the time control, with the ``lag`` compensation in seconds.
        edition: the edition of the judge's rules, see `EDITION`.
        opening: the moves that the host plays before the first turn. No clock runs, and they are no turns.
        agreement: when the estimates of both bots end the match; None if they decide nothing.

    Raises:
        IllegalMove: the rules do not allow a move of the opening.
    """

    def __init__(
        self,
        game: Game,
        options: Mapping[str, int],
        control: TimeControl,
        lag: float,
        edition: int = EDITION,
        opening: Sequence[Any] = (),
        agreement: Agreement | None = None,
    ) -> None:
        self.game = game
        self.edition = edition
        self._estimates = None if agreement is None else Estimates(agreement)
        self.state: State = game.start(**options)
        self.clocks = Clocks(control, lag)
        self.turns = 0
        self.move_number = 1
        self.last_moves: list[object] = [None, None]
        self.faults = [0, 0]
        self.misses = [0, 0]
        """Per player: consecutive missed limits while disconnected."""
        self.silences = [0, 0]
        """Per player: consecutive missed limits while connected, without any message in between."""
        self.outcome: MatchOutcome | None = None
        self.passes_due: tuple[Player, ...] = ()
        """Passes that a record has to name next; only `apply` sets it."""
        for move in opening:
            player = self.state.to_move
            self.state.play(move)
            self._moved(player, move)

    def is_stalled(self, player: Player) -> bool:
        """Return True if the player's turn is skipped unless a message from it has arrived."""
        return self.silences[player] >= STALLED_MISSES

    def absence(self, player: Player) -> str | None:
        """Return why the player loses if it misses one more limit while away; None if it does not lose yet."""
        if self.misses[player] + 1 < ABSENT_MISSES:
            return None
        return f"{self.game.players[player]} missed {ABSENT_MISSES} limits in a row while away"

    def move(self, move: object, ms: float) -> None:
        """Play a move of the player on turn.

        Raises:
            IllegalMove: the rules do not allow the move; the state is unchanged.
        """
        player = self.state.to_move
        self.state.play(move)
        self._moved(player, move)
        self.misses[player] = self.silences[player] = 0
        self.clocks.charge(player, ms)
        self.clocks.earn(player)
        self._after(FINISHED)

    def _moved(self, player: Player, move: object) -> None:
        """Note a move that was just played, and the passes that follow from it."""
        self.last_moves[player] = move
        self._next_number()

    def _next_number(self) -> None:
        """Count the turn that has just ended, and the passes that follow from it."""
        self.move_number += 1 + len(self.state.passed)
        for passed in self.state.passed:
            self.last_moves[passed] = None

    def fault(self, code: str, ms: float, *, away: bool = False, heard: bool = False) -> None:
        """Give the player on turn the game's own penalty for ``code``.

        Args:
            code: a turn code of protocol.md.
            ms: the thinking time that is charged.
            away: True if the player was disconnected.
            heard: True if a message of the player arrived after the limit that it missed before this one.
        """
        player = self.state.to_move
        self.state.fault()  # first: if it raises, the rest of the state is unchanged
        self._count_silence(player, code, away=away, heard=heard)
        self.clocks.charge(player, ms)
        if code not in UNANSWERED:
            self.clocks.earn(player)
        self.misses[player] = self.misses[player] + 1 if away else 0
        self.faults[player] += 1
        self.last_moves[player] = None
        self._next_number()
        skipped = self.edition > 1 and not _fault_ends(self.game)
        self._after(FINISHED if skipped else code)

    def _count_silence(self, player: Player, code: str, *, away: bool, heard: bool) -> None:
        """Count a limit that was missed in silence; an answer or a lost connection resets the count.

        A player whose budget is spent was not asked, so its silence is not counted.
        """
        if away or code not in UNANSWERED:
            self.silences[player] = 0
        elif code == FaultCode.MISSED_LIMIT and self.edition > 1 and self.clocks.limit(player) > 0:
            self.silences[player] = 1 if heard else self.silences[player] + 1

    def lose(self, loser: Player, reason: str, detail: str, ms: float) -> None:
        """End the match: ``loser`` loses by a rule beside the game's own."""
        scores = forfeit_scores(self.state, loser)
        self.clocks.charge(loser, ms)
        self.turns += reason != EndCode.HOSTILE  # a protocol violation is not a turn
        self.outcome = MatchOutcome(_OTHER[loser], reason, detail[:MAX_TEXT], scores)

    def note(self, turn: Mapping[str, Any]) -> None:
        """End the match if the estimates of both bots agree after a turn that was just decided, with its notes.

        Without an `Agreement`, this does nothing.
        """
        if self._estimates is None or self.outcome is not None:
            return
        agreed = self._estimates.note(turn)
        if agreed is not None:
            winner = "" if agreed.winner is None else self.game.players[agreed.winner]
            scores = None if agreed.winner is None else forfeit_scores(self.state, _OTHER[agreed.winner])
            self.outcome = MatchOutcome(agreed.winner, AGREED, agreed.why.format(winner=winner), scores)

    def apply(self, turn: Mapping[str, Any]) -> None:
        """Apply a recorded turn (docs/records.md); passes follow from the moves and are only checked.

        Raises:
            WrongTurn: the turn cannot follow the turns before it.
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
        if "end" in turn and self.outcome is None:
            self.lose(player, turn["end"], turn["detail"], turn["ms"])
            return
        if self.outcome is not None or player != self.state.to_move:
            due = "nothing: the match is over" if self.outcome is not None else f"player {self.state.to_move}"
            raise WrongTurn(f"{turn!r:.200}, expected {due}")
        if "move" in turn:
            self.move(turn["move"], turn["ms"])
        else:
            away, heard = turn.get("away", False), turn.get("heard", False)
            self.fault(turn["fault"], turn["ms"], away=away, heard=heard)
        self.note(turn)
        self.passes_due = self.state.passed

    def _check_pass(self, turn: Mapping[str, Any]) -> None:
        if "pass" not in turn or self.passes_due[:1] != (turn["player"],):
            due = f"a pass of player {self.passes_due[0]}" if self.passes_due else "no pass"
            raise WrongTurn(f"{turn!r:.200}, expected {due}")
        self.passes_due = self.passes_due[1:]

    def _after(self, reason: str) -> None:
        self.turns += 1
        outcome: Outcome | None = self.state.outcome
        if outcome is not None:
            self.outcome = MatchOutcome(outcome.winner, reason, outcome.reason, outcome.scores)


def _fault_ends(game: Game) -> bool:
    """Return True if a fault ends this game, False if it only skips the turn."""
    state = game.start()
    state.fault()
    return state.outcome is not None


def forfeit_scores(state: State, loser: Player) -> tuple[object, object] | None:
    """Return the scores of a match that ``loser`` loses by a rule beside the game; None if the game has none.

    If the game's own penalty ends the game (pseudo_tonga fills the board), those scores count here too. Otherwise
    a player could do better by resigning, staying away or breaking the protocol than by a fault.
    """
    if state.outcome is not None:
        return None
    rest = state.copy()
    rest.to_move = loser  # type: ignore[misc]  # every game has a slot for it
    rest.fault()
    return rest.outcome.scores if rest.outcome is not None and rest.outcome.winner != loser else None
