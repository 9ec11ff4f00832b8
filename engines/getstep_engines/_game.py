"""What a game is: the interface that the judge, the bots and outside tools rely on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

Player: TypeAlias = Literal[0, 1]
"""0 is the first player (``is_black=True`` in the callback), 1 the second."""

Move: TypeAlias = Any
"""A move as the wire delivers it; each game's module says what its canonical form is."""


class IllegalMove(ValueError):  # noqa: N818 - the interface's fixed name
    """The rules do not allow this move. The message tells the bot's author why."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a game ended.

    ``winner`` is 0, 1, or None for a draw. ``scores`` are the first and the second player's, in the
    game's own measure. ``reason`` is a short sentence for people, such as ``"Black has 7 pieces home, White 5"``.
    """

    winner: Player | None
    scores: tuple[Any, Any]
    reason: str


@dataclass(frozen=True, slots=True)
class TimeControl:
    """How long a player may think.

    ``kind`` is ``"move"`` (``seconds`` for each move) or ``"budget"`` (``seconds`` for all of one
    player's moves in a game together).
    """

    kind: Literal["move", "budget"]
    seconds: float

    def __str__(self) -> str:
        each = "a move" if self.kind == "move" else "for all of one's moves in a game"
        return f"{self.seconds:g} s {each}"


@dataclass(frozen=True, slots=True)
class Option:
    """A whole number that a game can be started with: one of ``range(lowest, highest + 1, step)``."""

    name: str
    default: int
    lowest: int
    highest: int
    step: int
    help: str

    def check(self, value: object) -> int:
        """Return ``value`` if this option allows it.

        Raises:
            ValueError: it is not one of the whole numbers allowed.
        """
        if type(value) is int and value in range(self.lowest, self.highest + 1, self.step):
            return value
        raise ValueError(
            f"{self.name} is {value!r}, expected a whole number from {self.lowest} to {self.highest}"
            f" in steps of {self.step}"
        )


class State(ABC):
    """A position of a game in progress.

    ``to_move`` is the player who is asked next (0 or 1); its value once ``outcome`` is set means nothing.
    ``passed`` holds the players, in order, who had no move and were passed over since the last
    ``play`` or ``fault``: they are never asked.
    ``outcome`` is None until the game has ended.
    """

    __slots__ = ()

    to_move: Player
    passed: tuple[Player, ...]
    outcome: Outcome | None

    @abstractmethod
    def board(self) -> list[list[int]]:
        """The board as the player on turn gets it, row 0 at the top: fresh lists, the caller's to keep."""

    @abstractmethod
    def legal_moves(self) -> Iterator[Move]:
        """The moves of the player on turn, in canonical form; never empty while ``outcome`` is None."""

    @abstractmethod
    def is_legal(self, move: Move) -> bool:
        """Whether ``play`` would accept ``move``, whatever object it is."""

    @abstractmethod
    def play(self, move: Move) -> None:
        """Apply ``move`` for the player on turn, and the passes that follow from it.

        Raises:
            IllegalMove: the rules do not allow it, or the game is over; the state is unchanged. No
                other exception is ever raised, whatever object ``move`` is.
        """

    @abstractmethod
    def fault(self) -> None:
        """Apply the game's own penalty: the player on turn made an illegal move or missed its limit.

        Raises:
            IllegalMove: the game is over; the state is unchanged.
        """

    @abstractmethod
    def copy(self) -> State:
        """An independent state in the same position; cheap enough to search with."""

    def estimate(self) -> float:
        """How well the first player stands, from -1 (has lost) over 0 (level) to 1 (has won).

        Exact once the game is over. Before that it is a cheap guess, for bots that cannot play every game
        out to its end: the difference of ``_measures`` over their sum.
        """
        if self.outcome:
            return 0.0 if self.outcome.winner is None else 1.0 - 2.0 * self.outcome.winner
        first, second = self._measures()
        return (first - second) / (first + second) if first or second else 0.0

    @abstractmethod
    def _measures(self) -> tuple[float, float]:
        """What each player has of what wins this game, neither below 0, while the game goes on."""

    @abstractmethod
    def __str__(self) -> str:
        """The board as text, a line a row, for people."""


@dataclass(frozen=True, slots=True)
class Game:
    """One game of the registry.

    Args:
        name: what contest.toml and the wire call it.
        title: what people call it.
        players: the names of the first and the second player in this game.
        time_control: the default one.
        penalty: what an illegal move or a missed limit costs, as half a sentence for people.
        options: the whole numbers that ``start`` takes, by name.
        differs: scores are whole numbers, of which the winner has more unless a fault decided: their difference
            says by how much it has won.
    """

    name: str
    title: str
    players: tuple[str, str]
    time_control: TimeControl
    penalty: str
    _start: Callable[..., State] = field(repr=False)
    _from_board: Callable[..., State] = field(repr=False)
    options: Mapping[str, Option] = field(default_factory=dict)
    differs: bool = False

    def start(self, **options: int) -> State:
        """The first position of a new game.

        Raises:
            ValueError: an option that this game does not have, or a value it does not take.
        """
        unknown = sorted(set(options) - set(self.options))
        if unknown:
            allowed = ", ".join(self.options) or "none"
            raise ValueError(f"{self.name} has no option {unknown[0]!r}, expected one of: {allowed}")
        return self._start(**{n: o.check(options.get(n, o.default)) for n, o in self.options.items()})

    def from_board(self, board: Sequence[Sequence[int]], is_black: bool) -> State:
        """The position that a player sees in ``get_step(board, is_black)``, for bots that search.

        What the board does not show is taken as at the game's start: hop's count of turns is 0.

        Raises:
            ValueError: no board of this game looks like that.
        """
        return self._from_board(board, 0 if is_black else 1)
