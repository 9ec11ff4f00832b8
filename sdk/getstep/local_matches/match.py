"""One match at home: it asks the players, measures their time, and lets the referee decide.

It follows the server's judge turn by turn, and tells a player on the wire the same. Three things differ. A bot
whose process has ended cannot come back, so its limits are not waited for. A person has no clock. And while a bot
is debugged nobody has one: a debugger may also stop this process while the opponent thinks.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from getstep import referee
from getstep.drawing import Picture
from getstep.openings import Opening
from getstep.referee import STALLED_MISSES, Agreement, FaultCode, MatchOutcome, MatchState
from getstep.referee.answers import answered
from getstep.replay import ReplayTurn
from getstep.text import short_repr
from getstep.turn import as_move
from getstep.wire import MAX_MS, MAX_NAME, MAX_TEXT, End, Start, Step
from getstep_engines import Game, State, TimeControl
from getstep_engines import Player as Colour

from .players import Answer, Player
from .position import Position

LAG_SECONDS = 0.1
"""Added to each limit, as a contest's ``lag_ms`` is by default."""

MOST_LEGAL = 5
"""Legal moves that a fault shows as examples."""


@dataclass(frozen=True)
class PlayedTurn:
    """A turn. ``kind`` is as in `getstep.replay.ReplayTurn`, ``legal`` are examples of legal moves.

    ``where`` is the line where the bot was when its limit ended, ``problem`` its traceback or another text for its
    author. ``seconds`` is None if the time was not measured. ``picture`` is the board after the turn; the squares
    of an illegal move are marked. ``recorded`` is True if nobody was asked: the opponent made this move in the
    replay from which the match began. ``notes`` are what the bot noted, None if nothing.
    """

    number: int
    player: Colour
    kind: str
    picture: Picture
    move: Any = None
    code: str = ""
    reason: str = ""
    seconds: float | None = None
    left: float | None = None
    where: str = ""
    problem: str = ""
    legal: tuple[str, ...] = ()
    legal_count: int = 0
    recorded: bool = False
    notes: Mapping[str, Any] | None = None


@dataclass
class PlayedMatch:
    """A match, played to its end or stopped. ``number`` counts from 1 in a series.

    ``bot`` is the colour of the bot that practises. ``begins`` is the position with which it begins, None for the
    start of the game; ``turns`` are those after it. If ``recorded`` is True, the opponent first makes its moves of
    the replay, as long as they are legal. ``opening`` are the moves from the start of the game that nobody is asked
    for. ``agreement`` says when the estimates of both bots end it, None if they decide nothing.
    Without a ``clock`` no time counts; the bots are still told their limits.
    """

    number: int
    game: Game
    options: dict[str, int]
    control: TimeControl
    names: tuple[str, str]
    bot: Colour
    start: Picture
    begins: Position | None = None
    recorded: bool = False
    opening: Opening = ()
    agreement: Agreement | None = None
    clock: bool = True
    turns: list[PlayedTurn] = field(default_factory=list)
    outcome: MatchOutcome | None = None
    position: State = field(init=False, repr=False, compare=False)
    """After the latest turn; it changes while the match is played."""

    def __post_init__(self) -> None:
        self.position = self.state().state

    def state(self) -> MatchState:
        """Return the referee's state before the first turn."""
        if self.begins is not None:
            return self.begins.begin(LAG_SECONDS)
        return MatchState(
            self.game, self.options, self.control, LAG_SECONDS, opening=self.opening, agreement=self.agreement
        )

    @property
    def result(self) -> str:
        """``"won"``, ``"drawn"`` or ``"lost"`` for the bot; ``"stopped"`` if the match is not over."""
        if self.outcome is None:
            return "stopped"
        if self.outcome.winner is None:
            return "drawn"
        return "won" if self.outcome.winner == self.bot else "lost"


OnTurn = Callable[[PlayedMatch, PlayedTurn], None]

_ids = itertools.count(1)
"""Ids of questions never repeat: an answer may still come when the next match has begun."""


def play_match(match: PlayedMatch, players: tuple[Player, Player], turn_match: int, on_turn: OnTurn) -> None:
    """Play ``match`` to its end; its turns and its outcome are added as they happen.

    Args:
        match: the match, without turns.
        players: the first player and the second.
        turn_match: the match number that the bots get in `Turn`.
        on_turn: called after each turn; an exception in it, such as a KeyboardInterrupt, stops the match.
    """
    _Match(match, players, turn_match, on_turn).play()


def play_turn(match: PlayedMatch, player: Player, turn_match: int) -> PlayedTurn:
    """Ask ``player`` for one turn of ``match``, and return it; the match goes no further."""
    asked = _Match(match, (player, player), turn_match, lambda _match, _turn: None)
    player.begin_match(asked.start(asked.to_move))
    asked.turn()
    return match.turns[0]


class _Match:
    def __init__(
        self, match: PlayedMatch, players: tuple[Player, Player], turn_match: int, on_turn: OnTurn
    ) -> None:
        self._match = match
        self._players = players
        self._turn_match = turn_match
        self._on_turn = on_turn
        self._state = match.state()
        self._recorded: Iterator[ReplayTurn] = iter(())
        if match.begins is not None and match.recorded:
            self._recorded = iter(match.begins.recorded_moves(1 if match.bot == 0 else 0))

    @property
    def to_move(self) -> Colour:
        return self._state.state.to_move

    def play(self) -> None:
        for colour in (0, 1):
            self._players[colour].begin_match(self.start(colour))
        while self._state.outcome is None:
            self.turn()
        self._match.outcome = outcome = self._state.outcome
        for colour in (0, 1):
            result = "draw" if outcome.winner is None else "win" if outcome.winner == colour else "loss"
            scores = None if outcome.scores is None else list(outcome.scores)
            detail = outcome.detail[:MAX_TEXT]
            self._players[colour].end_match(End(self._match.number, result, str(outcome.reason), detail, scores))

    def start(self, colour: Colour) -> Start:
        match, control = self._match, self._match.control
        return Start(
            match=match.number,
            game=match.game.name,
            options=match.options,
            is_black=colour == 0,
            opponent=match.names[1 - colour][:MAX_NAME],
            time_kind=control.kind,
            time_ms=round(control.seconds * 1000),
            # The longest one: the SDK warns of a late call after the limit and this.
            lag_ms=round(LAG_SECONDS * 1000) if match.clock else MAX_MS,
            resumed=self._state.turns > 0,
            increment_ms=round(control.increment * 1000) or None,
            opening=list(match.opening) or None,
        )

    def turn(self) -> None:
        state = self._state
        colour = state.state.to_move
        player = self._players[colour]
        limit = state.clocks.limit(colour)
        if limit <= 0:
            self._decide(lambda: self._missed(limit, heard=False))
            return
        if (recorded := self._recorded_answer(colour, limit)) is not None:
            self._decide(lambda: self._answered(recorded), recorded, recorded=True)
            return
        # A sign of life counts once. Only after a silence does it decide something: before, it is left for later.
        heard = bool(state.silences[colour]) and player.take_sign_of_life()
        if state.is_stalled(colour) and not heard:
            self._decide(lambda: referee.stalled(state))
            return
        if state.is_stalled(colour):  # its question was left open: see `_tell`
            player.penalize(str(FaultCode.STALLED), f"nothing heard for {STALLED_MISSES} limits")
        seconds = limit + LAG_SECONDS if self._match.clock else math.inf
        answer = player.ask(self._question(colour, limit), seconds) if player.alive else None
        if self._violated():
            return
        if answer is None:
            heard = player.take_sign_of_life() or heard
            self._decide(lambda: self._missed(limit, heard=heard))
        else:
            self._decide(lambda: self._answered(answer), answer)

    def _recorded_answer(self, colour: Colour, limit: float) -> Answer | None:
        """Return the opponent's next move of the replay; None from the first one on that does not fit."""
        if colour == self._match.bot:
            return None
        turn = next(self._recorded, None)
        if turn is not None and self._state.state.is_legal(turn.move):
            return Answer(min(turn.seconds or 0.0, limit), Step(next(_ids), _as_wire(turn.move)))
        self._recorded = iter(())
        return None

    def _violated(self) -> bool:
        """End the match if a player has broken the protocol. Return True if one has."""
        colours: tuple[Colour, Colour] = (0, 1)
        guilty = next((colour for colour in colours if self._players[colour].violation is not None), None)
        if guilty is None:
            return False
        code, detail = self._players[guilty].violation or ("", "")
        self._decide(lambda: referee.violated(self._state, guilty, code, detail))
        return True

    def _question(self, colour: Colour, limit: float) -> dict[str, Any]:
        state, control = self._state, self._match.control
        return {
            "id": next(_ids),
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
                "time_kind": control.kind,
                "opening": self._match.opening,
            },
        }

    def _missed(self, limit: float, *, heard: bool) -> referee.Turn:
        away = self._players[self._state.state.to_move].away
        timing = {"ms": round(limit * 1000, 3)}
        return referee.missed(self._state, limit, timing, away=bool(away), heard=heard, away_why=away)

    def _answered(self, answer: Answer) -> referee.Turn:
        state = self._state
        timing = {"ms": round(answer.seconds * 1000, 3) if self._is_timed(state.state.to_move) else 0.0}
        return answered(state, answer.message, timing)

    def _is_timed(self, colour: Colour) -> bool:
        return self._match.clock and self._players[colour].timed

    def _decide(
        self, decide: Callable[[], referee.Turn], answer: Answer | None = None, *, recorded: bool = False
    ) -> None:
        """Let the referee decide the turn, and add it with pictures and words for the bot's author."""
        game, state, number = self._match.game, self._state, self._state.move_number
        before = state.state.copy()
        turn = decide()  # not before: it changes the position, which is drawn as it was
        colour: Colour = turn["player"]
        notes = getattr(answer.message, "notes", None) if answer is not None else None  # a malformed one has none
        state.note({**turn, "notes": notes})
        if "move" in turn:
            picture = Picture.after(game, game.trace(before, turn["move"]))
            more = {"move": turn["move"], "recorded": recorded, "notes": notes}
            self._add(number, colour, "move", picture, turn["ms"], **more)
            return
        picture = Picture(game.look, game.view(before))
        if "end" in turn:
            code, problem = str(turn["end"]), answer.problem if answer else ""
            more = {"code": code, "reason": turn["detail"], "problem": problem, "notes": notes}
            self._add(number, colour, "end", picture, turn["ms"], **more)
            return
        player, code = self._players[colour], turn["fault"]
        self._tell(player, turn)
        tried = answer.message.move if answer is not None and isinstance(answer.message, Step) else None
        moves = list(before.legal_moves())
        self._add(
            number,
            colour,
            "fault",
            picture if tried is None else picture.with_fault(tried),
            turn["ms"],
            move=tried,
            code=str(code),
            reason=turn["detail"],
            where=player.late_at if answer is None else "",
            problem=(answer.problem if answer else "") or (player.late_calls if not answer else ""),
            legal=tuple(short_repr(as_move(_as_wire(move))) for move in moves[:MOST_LEGAL]),
            legal_count=len(moves),
            notes=notes,
        )

    def _tell(self, player: Player, turn: referee.Turn) -> None:
        """Tell a player about its fault, unless it is stalled: it does not read. Its latest question stays open, so
        that it has something to answer when it comes back."""
        state = self._state
        if turn["fault"] != FaultCode.STALLED and not (state.is_stalled(turn["player"]) and state.outcome is None):
            player.penalize(str(turn["fault"]), referee.penalty_text(state, turn))

    def _add(self, number: int, colour: Colour, kind: str, picture: Picture, ms: float, **more: Any) -> None:
        left = self._state.clocks.limit(colour) if self._match.control.kind == "budget" else None
        passed = self._state.state.passed if kind in ("move", "fault") else ()
        seconds = ms / 1000 if self._is_timed(colour) else None
        turns = [PlayedTurn(number, colour, kind, picture, seconds=seconds, left=left, **more)]
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
