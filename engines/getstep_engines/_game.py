"""The interface of a game, which the judge, the bots and external tools use."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from .look import DEFAULT_LOOK, Look, Step, bounded, coordinates, difference
from .value import Value

Player: TypeAlias = Literal[0, 1]
"""0 is the first player (``is_black=True`` in the callback), 1 the second."""

Move: TypeAlias = Any
"""A move as the wire delivers it; each game's module defines its canonical form."""


class IllegalMove(ValueError):  # noqa: N818 - the interface's fixed name
    """Raised when the rules do not allow a move, or the game is over. The message tells the bot's author why.

    Unlike a plain `ValueError`, which reports a board or an option that no game of this kind has.
    """


class Outcome(Value):
    """The end of a game.

    ``winner`` is 0, 1, or None for a draw. ``scores`` are the scores of the first and the second player, in the
    game's own measure. ``reason`` is a short sentence for people, such as ``"Black has 7 pieces home, White 5"``.
    """

    winner: Player | None
    scores: tuple[Any, Any]
    reason: str


class TimeControl(Value):
    """The time limits of a player.

    ``kind`` is ``"move"`` (``seconds`` for each move) or ``"budget"`` (``seconds`` for all moves of one player in
    a game). ``increment`` is the number of seconds added to a player's budget after each turn that the player
    answered in time: a Fischer clock, as in chess.

    Raises:
        ValueError: the increment is negative, or is not 0 for the kind ``"move"``.
    """

    kind: Literal["move", "budget"]
    seconds: float
    increment: float = 0.0

    def _check(self) -> None:
        if self.increment < 0 or (self.increment and self.kind != "budget"):
            raise ValueError(
                f"increment is {self.increment!r} with kind {self.kind!r}; expected 0, or more with kind 'budget'"
            )

    def __str__(self) -> str:
        if self.increment:
            return f"{self.seconds:g} s a game + {self.increment:g} s a move"
        each = "a move" if self.kind == "move" else "for all of one's moves in a game"
        return f"{self.seconds:g} s {each}"


class Option(Value):
    """An integer setting of a game's start: one of ``range(lowest, highest + 1, step)``."""

    name: str
    default: int
    lowest: int
    highest: int
    step: int
    help: str

    @property
    def allowed(self) -> str:
        """The allowed values, as text for people."""
        return f"a whole number from {self.lowest} to {self.highest} in steps of {self.step}"

    def check(self, value: object) -> int:
        """Return ``value`` if this option allows it.

        Raises:
            ValueError: ``value`` is not one of the allowed integers.
        """
        if type(value) is int and value in range(self.lowest, self.highest + 1, self.step):
            return value
        raise ValueError(f"{self.name} is {value!r}; expected {self.allowed}")

    def values(self, setting: object) -> range:
        """Return the values that a setting allows: itself, or those of a range such as ``"6-16"``.

        Raises:
            ValueError: ``setting`` is neither an allowed integer nor a range of them.
        """
        low, high = _range_ends(setting) if isinstance(setting, str) else (setting, setting)
        try:
            values = range(self.check(low), self.check(high) + 1, self.step)
        except ValueError:
            values = range(0)
        if values:
            return values
        example = f'"{self.lowest}-{self.highest}"'
        raise ValueError(f"{self.name} is {setting!r}; expected {self.allowed}, or a range such as {example}")


def _range_ends(text: str) -> tuple[int | None, int | None]:
    """Return the ends of a range such as ``6-16`` or ``-4--2``; None for an end that is not an integer."""
    dash = text.find("-", 1)  # the first character may be a sign
    ends = (text[:dash], text[dash + 1 :]) if dash > 0 else ("", "")
    low, high = (int(end) if len(end) < 10 and _is_integer(end) else None for end in ends)
    return low, high


def _is_integer(text: str) -> bool:
    return text.isascii() and text.removeprefix("-").isdecimal()


class MoveForm(Value):
    """The form of a move as data: for messages, for starter bots, and for people who type or click a move.

    Args:
        text: the form for people, such as ``"(row, column)"``.
        parts: the items of a move, in order. ``"square"`` is ``(row, column)``, ``"path"`` is a list of two
            squares or more, ``"text"`` is any text, and a tuple of words is one of these words. A single part is
            the move itself; several parts are a tuple of them.
    """

    text: str
    parts: tuple[Literal["square", "path", "text"] | tuple[str, ...], ...]

    def fits(self, move: Move) -> bool:
        """Return True if ``move``, which may be any object, has this form. A move of this form may be illegal."""
        if len(self.parts) == 1:
            return _fits(self.parts[0], move)
        return (
            isinstance(move, (list, tuple))
            and len(move) == len(self.parts)
            and all(_fits(part, item) for part, item in zip(self.parts, move, strict=True))
        )


def _fits(part: str | tuple[str, ...], item: object) -> bool:
    if isinstance(part, tuple):
        return isinstance(item, str) and item in part
    if part == "text":
        return isinstance(item, str)
    if part == "path":
        return isinstance(item, (list, tuple)) and len(item) > 1 and all(_fits("square", at) for at in item)
    return isinstance(item, (list, tuple)) and [type(number) for number in item] == [int, int]


SQUARE = MoveForm("(row, column)", ("square",))
"""The form of a move that names one square."""


class Starter(Value):
    """The comments in the bot that ``getstep new`` writes for this game. Lines have at most 110 characters.

    Args:
        goal: how a game is won, in two or three sentences.
        board: what a number on the board means, such as ``"0 for empty, 1 for Black, 2 for White"``.
        hints: what to try next, a line each.
    """

    goal: str
    board: str
    hints: tuple[str, ...] = ()


class State(ABC):
    """A position of a game in progress.

    ``to_move`` is the player on turn (0 or 1). It has no meaning once ``outcome`` is set.
    ``passed`` holds, in order, the players without a legal move that were passed over since the last
    ``play`` or ``fault``. They are not asked for a move.
    ``outcome`` is None until the game has ended.
    """

    __slots__ = ()

    to_move: Player
    passed: tuple[Player, ...]
    outcome: Outcome | None

    @abstractmethod
    def board(self) -> list[list[int]]:
        """Return the board as the player on turn gets it, row 0 at the top, in new lists."""

    @abstractmethod
    def legal_moves(self) -> Iterator[Move]:
        """Yield the legal moves of the player on turn, in canonical form; at least one until the game is over."""

    @abstractmethod
    def is_legal(self, move: Move) -> bool:
        """Return True if ``play`` would accept ``move``, which may be any object."""

    @abstractmethod
    def play(self, move: Move) -> None:
        """Apply ``move`` for the player on turn, and the passes that follow from it.

        Raises:
            IllegalMove: the rules do not allow ``move``, or the game is over; the state is unchanged. No
                other exception is raised, for any object ``move``.
        """

    @abstractmethod
    def fault(self) -> None:
        """Apply the game's penalty for an illegal move or a missed time limit of the player on turn.

        Raises:
            IllegalMove: the game is over; the state is unchanged.
        """

    @abstractmethod
    def copy(self) -> State:
        """Return an independent state in the same position; fast enough for a search."""

    def key(self) -> Hashable:
        """Return what two states share only if the same game can follow from both; None, the default, says nothing.

        With it, a search looks only once at a position to which several orders of moves lead.
        """
        return None

    def estimate(self) -> float:
        """Return an evaluation for the first player, from -1 (lost) over 0 (equal) to 1 (won).

        The value is exact once the game is over. Before that it is a fast heuristic, for bots that cannot play
        every game to its end: the difference of ``_measures`` divided by their sum.
        """
        if self.outcome:
            return 0.0 if self.outcome.winner is None else 1.0 - 2.0 * self.outcome.winner
        first, second = self._measures()
        return (first - second) / (first + second) if first or second else 0.0

    @abstractmethod
    def _measures(self) -> tuple[float, float]:
        """Return how much each player has of the quantity that wins this game, 0 or more, before the end."""

    @abstractmethod
    def __str__(self) -> str:
        """Return the board as text for people, one line for each row."""


_NOTHING: Mapping[str, Any] = {}


class Game(Value):
    """One game of the registry.

    Args:
        name: the identifier in contest.toml and on the wire.
        title: the name for people.
        players: the names of the first and the second player in this game.
        time_control: the default time control.
        penalty: the penalty for an illegal move or a missed limit, as a clause for people.
        options: the options of ``start``, by name.
        differs: True if scores are integers and the winner has the higher one, unless a fault decided the game.
            Then the score difference is the margin of the win.
        look: how a board and a move are drawn.
        summary: the game in a few words, for lists.
        rules: the rules for people, as ``getstep rules`` prints them: the docstring of the game's module.
        move_form: the form of a move.
        starter: the comments for a first bot.
        scoring: the default table of a contest. ``"signed_roots"`` sums the signed square roots of the score
            differences, and needs ``differs``.
        settings: default settings of a contest by format, where they differ from the format's own.
        turn_limit: a game ends after this number of turns of both players, passes and faults included. It is all
            that a position may know and its board does not show.
    """

    name: str
    title: str
    players: tuple[str, str]
    time_control: TimeControl
    penalty: str
    _start: Callable[..., State]
    _from_board: Callable[..., State]
    options: Mapping[str, Option] = _NOTHING
    differs: bool = False
    look: Look = DEFAULT_LOOK
    summary: str = ""
    rules: str = ""
    move_form: MoveForm = MoveForm("as the rules say", ())
    starter: Starter = Starter("", "")
    scoring: Literal["points", "signed_roots"] = "points"
    settings: Mapping[str, Mapping[str, Any]] = _NOTHING
    turn_limit: int | None = None

    def __repr__(self) -> str:
        return f"<game {self.name}>"

    def start(self, **options: int) -> State:
        """Return the first position of a new game.

        Raises:
            ValueError: the game does not have one of the options, or does not allow its value.
        """
        self._expect_known(options)
        return self._start(**{n: o.check(options.get(n, o.default)) for n, o in self.options.items()})

    def values(self, settings: Mapping[str, object]) -> dict[str, range]:
        """Return the values of each option that ``settings`` allow, see `Option.values`.

        Raises:
            ValueError: the game does not have one of the options, or does not allow its value.
        """
        self._expect_known(settings)
        return {name: self.options[name].values(setting) for name, setting in settings.items()}

    def draw(self, settings: Mapping[str, object], chance: Callable[[], float]) -> dict[str, int]:
        """Return options for `start`: a value of each range in ``settings``, and all other settings as they are.

        Args:
            settings: the options, of which some may be ranges.
            chance: returns a random number from 0 to less than 1; called once for each range.

        Raises:
            ValueError: as `values`.
        """
        found = self.values(settings)
        return {name: each[int(chance() * len(each))] if len(each) > 1 else each[0] for name, each in found.items()}

    def _expect_known(self, options: Iterable[str]) -> None:
        unknown = sorted(set(options) - set(self.options))
        if unknown:
            allowed = ", ".join(self.options) or "none"
            raise ValueError(f"{self.name} has no option {unknown[0]!r}; its options are: {allowed}")

    def from_board(self, board: Sequence[Sequence[int]], is_black: bool) -> State:
        """Return the position of the call ``get_step(board, is_black)``, for bots that search.

        The count of turns, if the game has a ``turn_limit``, begins at 0. The board shows everything else.

        Raises:
            ValueError: ``board`` is not a board of this game.
        """
        return self._from_board(board, 0 if is_black else 1)

    def view(self, state: State) -> list[list[int]]:
        """Return the absolute board: the values as the first player gets them, also on the other player's turn."""
        return self.look.view(state) if self.look.view else state.board()

    def trace(self, state: State, move: Move) -> tuple[Step, ...]:
        """Return the steps of ``move``, at least one and at most `MOST_STEPS`; ``state`` is not changed.

        Each step has the absolute board after it. The last one is the board after ``state.play(move)``.

        Raises:
            IllegalMove: the rules do not allow ``move``, or the game is over.
        """
        after = state.copy()
        after.play(move)
        if self.look.trace:
            return bounded(self.look.trace(state, move))
        return (difference(self.view(state), self.view(after)),)

    def trace_fault(self, state: State) -> tuple[Step, ...]:
        """Return, as ``trace`` does, the one step of the penalty for a fault of the player on turn.

        Raises:
            IllegalMove: the game is over.
        """
        after = state.copy()
        after.fault()
        return (difference(self.view(state), self.view(after)),)

    def measures(self, state: State) -> tuple[int, int] | None:
        """Return the two players' numbers in the score line; None if the game has no score line."""
        return self.look.measures(state) if self.look.measures else None

    def score_line(self, state: State) -> str:
        """Return the score line, such as ``"orbs: Red 12, Green 3"``; empty if the game has none."""
        first, second = self.measures(state) or (0, 0)
        return self.look.score.replace("{0}", str(first)).replace("{1}", str(second))

    def notation(self, move: Move) -> str:
        """Return the text of a legal move: the game's own notation, or else the coordinates."""
        return self.look.notation(move) if self.look.notation else coordinates(move)
