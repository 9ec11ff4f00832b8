"""A position to begin matches with: that of a replay after one of its turns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from getstep._errors import SetupError
from getstep._replay_choice import chosen_game
from getstep.drawing import Picture
from getstep.referee import MatchState, Turn, WrongTurn
from getstep.replay import Replay, ReplayTurn
from getstep.text import escape_control_chars, short_repr
from getstep_engines import Game, TimeControl
from getstep_engines import Player as Colour


@dataclass(frozen=True)
class Position:
    """The position of a replay after its first turns, which ``turns`` are. Players are asked from there on.

    A move and the passes that follow from it are one step of the rules, so the passes are among ``turns``. ``text``
    says which position it is.
    """

    replay: Replay
    game: Game
    turns: tuple[ReplayTurn, ...]
    control: TimeControl
    text: str

    @property
    def rest(self) -> Sequence[ReplayTurn]:
        """The turns of the replay after the position."""
        return self.replay.turns[len(self.turns) :]

    @cached_property
    def to_move(self) -> Colour:
        """The player on turn."""
        return self.begin(0.0).state.to_move

    @cached_property
    def picture(self) -> Picture:
        """The board, with the marks of the latest move."""
        changed = [number for number, turn in enumerate(self.turns) if turn.kind in ("move", "fault")]
        if changed and (latest := self.turns[changed[-1]]).kind == "move":
            return Picture.after(self.game, self.game.trace(self.replay.position(changed[-1]), latest.move))
        return Picture(self.game.look, self.game.view(self.replay.position(len(self.turns))))

    def recorded_moves(self, player: Colour) -> list[ReplayTurn]:
        """Return the moves that a player made next, up to its first turn that is none."""
        found: list[ReplayTurn] = []
        for turn in self.rest:
            if turn.player == player and turn.kind != "pass":
                if turn.kind != "move":
                    break
                found.append(turn)
        return found

    def fresh_moves(self, player: Colour) -> int:
        """Return the number of turns after which the player has made none yet."""
        turns = self.replay.turns
        return next((n for n, turn in enumerate(turns) if turn.player == player), len(turns))

    def with_limit(self, control: TimeControl) -> Position:
        """Return the position with another time control; a player's budget is whole there."""
        left = control.seconds if control.kind == "budget" else None
        turns = tuple(replace(turn, left=None if turn.kind == "pass" else left) for turn in self.turns)
        return replace(self, turns=turns, control=control)

    def begin(self, lag: float) -> MatchState:
        """Return the state of a match that has come to the position, with the rest of both budgets.

        The limits that were missed on the way were missed by others: nobody is stalled or away.

        Raises:
            WrongTurn: the rules do not allow a turn; `position_after` has found that there is none such.
        """
        state = MatchState(self.game, self.replay.options, self.control, lag)
        for turn in self.turns:
            state.apply(_on_record(turn))
            if turn.left is not None and self.control.kind == "budget":
                state.clocks.set_left(turn.player, turn.left)
        state.misses, state.silences = [0, 0], [0, 0]
        return state


def position_after(replay: Replay, move: int, page: str) -> Position:
    """Return the position of a replay after ``move`` turns, as its page counts them; 0 is the start.

    ``page`` is the name of its file.

    Raises:
        SetupError: there is no such move, or the game is over there.
    """
    turns = replay.turns
    if replay.game is None:
        raise SetupError(f"--from: the rules of {replay.rules} are not installed.")
    if not 0 <= move <= len(turns):
        raise SetupError(
            f"--move: the game has {len(turns)} turns; expected 0, the start, to {len(turns)} ({move})."
        )
    while move < len(turns) and turns[move].kind == "pass":
        move += 1
    given = tuple(replace(turn, given="replay") for turn in turns[:move])
    names = " - ".join(map(escape_control_chars, replay.names))
    title = f"{escape_control_chars(replay.title)}: " if replay.title else ""
    text = f"move {move} of {page} ({title}{names})"
    position = Position(replay, replay.game, given, replay.limit, text)
    try:
        outcome = position.begin(0.0).outcome
    except WrongTurn as error:
        raise SetupError(f"--from: the rules do not allow a turn of the replay ({error}).") from None
    if outcome is not None:
        raise SetupError(f"--move: the game is over after turn {move}; give an earlier one, down to 0, the start.")
    return position


def position_in(
    page: Path, move: int | None, number: int | None, game: str | None, say: Callable[[str], object]
) -> Position:
    """Return the position of a replay's page that ``--from``, ``--move`` and ``--number`` name.

    ``game`` is the one that was asked for, if any. ``say`` prints that the page has further games.

    Raises:
        SetupError: there is no such position, or it is of another game.
    """
    if move is None:
        raise SetupError(
            "--from: which position? Add --move with the number that the replay shows; 0 is the start."
        )
    replay = chosen_game(page, number, say)
    if game not in (None, replay.rules):
        raise SetupError(f"--game: the replay's game is {replay.rules} ({short_repr(game)}); leave it out.")
    return position_after(replay, move, page.name)


def sides_from(side: str | None, begins: Position) -> tuple[Colour, ...]:
    """Return the bot's sides: by default the one on turn, so that its first move is the one to look at.

    Raises:
        SetupError: there is no such side.
    """
    first = begins.to_move
    second: Colour = 1 if first == 0 else 0
    sides: dict[str | None, tuple[Colour, ...]] = {
        None: (first,),
        "both": (first, second),
        "first": (0,),
        "second": (1,),
    }
    if side not in sides:
        raise SetupError(f"side: expected first, second or both ({short_repr(side)})")
    return sides[side]


def _on_record(turn: ReplayTurn) -> Turn:
    """Return a turn of a replay as a record has it."""
    common = {"player": turn.player, "ms": (turn.seconds or 0.0) * 1000}
    if turn.kind == "move":
        return {**common, "move": turn.move}
    if turn.kind == "pass":
        return {**common, "pass": True}
    return {**common, "detail": turn.reason, turn.kind: turn.code}
