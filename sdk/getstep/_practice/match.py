"""One match at home: it asks the players, measures their time, and lets the referee decide.

It follows the server's judge turn by turn. Two things differ, because both are known at once here. A bot whose
process has ended cannot come back, so its limits are not waited for. And a person has no clock.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from getstep._text import short_repr
from getstep._turn import as_move
from getstep.draw import Picture
from getstep.referee import STALLED_MISSES, EndCode, FaultCode, MatchOutcome, MatchState
from getstep_engines import Game, IllegalMove, State, TimeControl
from getstep_engines import Player as Colour

from .players import Answer, Player

LAG_SECONDS = 0.1
"""Added to each limit, as a contest's ``lag_ms`` is by default."""

MOST_LEGAL = 5
"""Legal moves that a fault shows as examples."""


@dataclass(frozen=True)
class PlayedTurn:
    """A turn. ``kind`` is as in `getstep.replay.ReplayTurn`, ``legal`` are examples of legal moves.

    ``where`` is the line where the bot was when its limit ended, ``problem`` its traceback or another text for its
    author. ``picture`` is the board after the turn; the squares of an illegal move are marked.
    """

    number: int
    player: Colour
    kind: str
    picture: Picture
    move: Any = None
    code: str = ""
    reason: str = ""
    seconds: float = 0.0
    left: float | None = None
    where: str = ""
    problem: str = ""
    legal: tuple[str, ...] = ()
    legal_count: int = 0


@dataclass
class PlayedMatch:
    """A match, played to its end or stopped. ``number`` counts from 1 in a series.

    ``bot`` is the colour of the bot that practises.
    """

    number: int
    game: Game
    options: dict[str, int]
    control: TimeControl
    names: tuple[str, str]
    bot: Colour
    start: Picture
    turns: list[PlayedTurn] = field(default_factory=list)
    outcome: MatchOutcome | None = None
    position: State = field(init=False, repr=False, compare=False)
    """After the latest turn; it changes while the match is played."""

    def __post_init__(self) -> None:
        self.position = self.game.start(**self.options)

    @property
    def result(self) -> str:
        """``"won"``, ``"drawn"`` or ``"lost"`` for the bot; ``"stopped"`` if the match is not over."""
        if self.outcome is None:
            return "stopped"
        if self.outcome.winner is None:
            return "drawn"
        return "won" if self.outcome.winner == self.bot else "lost"


OnTurn = Callable[[PlayedMatch, PlayedTurn], None]


def play_match(match: PlayedMatch, players: tuple[Player, Player], turn_match: int, on_turn: OnTurn) -> None:
    """Play ``match`` to its end; its turns and its outcome are added as they happen.

    Args:
        match: the match, without turns.
        players: the first player and the second.
        turn_match: the match number that the bots get in `Turn`.
        on_turn: called after each turn; an exception in it, such as a KeyboardInterrupt, stops the match.
    """
    _Match(match, players, turn_match, on_turn).play()


class _Match:
    def __init__(
        self, match: PlayedMatch, players: tuple[Player, Player], turn_match: int, on_turn: OnTurn
    ) -> None:
        self._match = match
        self._players = players
        self._turn_match = turn_match
        self._on_turn = on_turn
        self._state = MatchState(match.game, match.options, match.control, LAG_SECONDS)

    def play(self) -> None:
        while self._state.outcome is None:
            self._turn()
        self._match.outcome = self._state.outcome

    def _turn(self) -> None:
        state = self._state
        colour = state.state.to_move
        player = self._players[colour]
        limit = state.clocks.limit(colour)
        if limit <= 0:
            self._missed(colour, limit, heard=False)
            return
        heard = bool(state.silences[colour]) and player.take_sign_of_life()
        if state.is_stalled(colour) and not heard:
            self._fault(colour, FaultCode.STALLED, f"nothing heard since {STALLED_MISSES} missed limits", 0.0)
            return
        answer = player.ask(self._question(colour, limit), limit + LAG_SECONDS) if player.alive else None
        if answer is None:
            heard = player.take_sign_of_life() or heard
            self._missed(colour, limit, heard=heard)
        else:
            self._judge(colour, answer)

    def _question(self, colour: Colour, limit: float) -> dict[str, Any]:
        state, control = self._state, self._match.control
        return {
            # Ids of one series never repeat: an answer may still come when the next match has begun.
            "id": self._turn_match * 100_000 + state.move_number,
            "board": state.state.board(),
            "is_black": colour == 0,
            "seconds": limit,
            "turn": {
                "game": self._match.game.name,
                "match": self._turn_match,
                "move_number": state.move_number,
                "opponent": self._match.names[1 - colour],
                "last_move": _as_wire(state.last_moves[1 - colour]),
                "time_left_ms": round(limit * 1000),
                "options": dict(self._match.options),
                "increment_ms": round(control.increment * 1000),
            },
        }

    def _judge(self, colour: Colour, answer: Answer) -> None:
        ms = round(answer.seconds * 1000, 3) if self._players[colour].timed else 0.0
        if answer.error == EndCode.RESIGNED:
            self._lose(colour, EndCode.RESIGNED, f"{self._match.game.players[colour]} resigned", ms)
        elif answer.error is not None:
            self._fault(colour, FaultCode.RAISED, answer.error, ms, answer)
        else:
            self._move(colour, answer, ms)

    def _move(self, colour: Colour, answer: Answer, ms: float) -> None:
        game, state, number = self._match.game, self._state, self._state.move_number
        before = state.state.copy()
        try:
            state.move(answer.move, ms)
        except IllegalMove as error:
            self._fault(colour, FaultCode.ILLEGAL_MOVE, str(error), ms, answer)
            return
        picture = Picture.after(game, game.trace(before, answer.move))
        self._add(number, colour, "move", picture, ms, move=answer.move)

    def _missed(self, colour: Colour, limit: float, *, heard: bool) -> None:
        state, player = self._state, self._players[colour]
        away, ms = not player.alive, round(limit * 1000, 3)
        if away and (why := state.absence(colour)):
            self._lose(colour, EndCode.ABSENT, why, ms)
            return
        detail = f"no answer within {limit:g} s" + (f": {player.ended}" if away else "")
        self._fault(colour, FaultCode.MISSED_LIMIT, detail, ms, away=away, heard=heard)

    def _fault(
        self,
        colour: Colour,
        code: FaultCode,
        detail: str,
        ms: float,
        answer: Answer | None = None,
        *,
        away: bool = False,
        heard: bool = False,
    ) -> None:
        game, state, player = self._match.game, self._state, self._players[colour]
        number, picture = state.move_number, Picture(game.look, game.view(state.state))
        illegal = code == FaultCode.ILLEGAL_MOVE and answer is not None
        moves = list(state.state.legal_moves())
        state.fault(code, ms, away=away, heard=heard)
        self._add(
            number,
            colour,
            "fault",
            picture.with_fault(answer.move) if illegal and answer else picture,
            ms,
            move=answer.move if illegal and answer else None,
            code=str(code),
            reason=detail,
            where=player.late_at if answer is None else "",
            problem=(answer.problem if answer else "") or (player.late_calls if not answer else ""),
            legal=tuple(short_repr(as_move(_as_wire(move))) for move in moves[:MOST_LEGAL]),
            legal_count=len(moves),
        )

    def _lose(self, colour: Colour, code: EndCode, detail: str, ms: float) -> None:
        game, state = self._match.game, self._state
        number, picture = state.move_number, Picture(game.look, game.view(state.state))
        state.lose(colour, code, detail, ms)
        self._add(number, colour, "end", picture, ms, code=str(code), reason=detail)

    def _add(self, number: int, colour: Colour, kind: str, picture: Picture, ms: float, **more: Any) -> None:
        left = self._state.clocks.limit(colour) if self._match.control.kind == "budget" else None
        passed = self._state.state.passed if kind in ("move", "fault") else ()
        turns = [PlayedTurn(number, colour, kind, picture, seconds=ms / 1000, left=left, **more)]
        turns += [PlayedTurn(number + 1 + n, who, "pass", picture) for n, who in enumerate(passed)]
        self._match.position = self._state.state
        for turn in turns:
            self._match.turns.append(turn)
            self._on_turn(self._match, turn)


def tried_text(turn: PlayedTurn) -> str:
    """Return the illegal move of a fault as text, or an empty string."""
    return short_repr(as_move(turn.move)) if turn.kind == "fault" and turn.code == FaultCode.ILLEGAL_MOVE else ""


def _as_wire(move: Any) -> Any:
    """Return a move with lists in place of tuples, as it would travel."""
    return [_as_wire(item) for item in move] if isinstance(move, (list, tuple)) else move
