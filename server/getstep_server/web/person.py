"""A person at a board: the data that the browser shows, and the question that waits for a move.

The one side of it is a game, in which the person is a player (`person_game`). It asks for moves and
shows the position. The other side is the person's browser, whose requests come through `people`. A browser that is
loaded again shows the same board: all that it needs is a topic.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

import trio

from getstep.drawing.picture import merge
from getstep_engines import Game, IllegalMove, State

from .choices import Choices, choices, move_of
from .topics import Topic

MOST_FOLLOWERS = 4
"""The windows of a browser that follow one board."""

NOTES = 500
"""The lines about the game that are kept: hop has at most 400 turns."""

RESIGNED: Final = object()
"""The answer of a person who gives up the game."""


class Refusal(Exception):  # noqa: N818 - it is an answer, no error
    """Raised when a browser's request does not fit the game; the message is for the person."""


@dataclass(eq=False)
class _Question:
    number: int
    game: Game
    state: State
    first: Choices
    answered: trio.Event
    answer: Any = None


class Person:
    """A person at a board.

    Args:
        asked: the number before that of the first question.
    """

    def __init__(self, asked: int = 0) -> None:
        self.topic = Topic(dict)
        self.active = trio.Event()
        """Set when the person has done something; a game that waits for it puts a new event here."""
        self.touched_at = -math.inf
        """When the person did something last."""
        self._parts: dict[str, Any] = {"question": None, "result": None, "notes": [], "clock": None, "board": None}
        self._notes: deque[tuple[str, int]] = deque(maxlen=NOTES)
        self._question: _Question | None = None
        self._count = asked
        self.last_seen = trio.current_time()

    @property
    def here(self) -> bool:
        """True if a browser follows the board."""
        if self.topic.subscribers:
            self.last_seen = trio.current_time()
        return self.topic.subscribers > 0

    @property
    def away_seconds(self) -> float:
        """The time since a browser last followed the board."""
        return 0.0 if self.here else trio.current_time() - self.last_seen

    @property
    def asked(self) -> bool:
        """True while a question waits for the person."""
        return self._question is not None

    # --- the game's side ---

    def show(self, **parts: object) -> None:
        """Change parts of what the browser shows."""
        self._parts.update(parts)
        self.topic.update(self._parts)

    def note(self, line: str, number: int = 0) -> None:
        """Add a line about the game; ``number`` is that of the turn that it tells of, 0 if it tells of none."""
        self._notes.append((line, number))
        self.show(notes=[text for text, _ in self._notes], numbers=[turn for _, turn in self._notes])

    def clear_notes(self) -> None:
        """Remove the lines about the game: another one begins."""
        self._notes.clear()
        self.show(notes=[], numbers=[])

    def show_board(self, game: Game, state: State, touched: Mapping[str, Any] | None = None) -> None:
        """Show a position, and the squares that the latest move touched."""
        self.show(
            board={
                "board": game.view(state),
                "touched": touched or {},
                "measures": game.measures(state),
            }
        )

    async def ask(self, game: Game, state: State) -> Any:
        """Wait for the person's move in a position; return it, or `RESIGNED`."""
        self._count += 1
        question = _Question(self._count, game, state, choices(state, game.move_form, ()), trio.Event())
        self._question = question
        self.show(question={"id": question.number, **question.first.to_json()})
        try:
            await question.answered.wait()
        finally:
            if self._question is question:
                self._question = None
                self.show(question=None)
        return question.answer

    # --- the browser's side ---

    def pick(self, number: int, picked: list[Any]) -> dict[str, Any]:
        """Return what can be picked next, as JSON.

        Raises:
            Refusal: the question is closed, or no legal move begins like this.
        """
        question = self._open(number)
        try:
            return choices(question.state, question.game.move_form, picked).to_json()
        except IllegalMove as error:
            raise Refusal(_sentence(error)) from None

    def play(self, number: int, picked: list[Any]) -> None:
        """Answer the open question by a legal move.

        Raises:
            Refusal: the question is closed, or the move is illegal.
        """
        question = self._open(number)
        form = question.game.move_form
        try:
            if not choices(question.state, form, picked).complete:
                raise Refusal("The move is not complete.")
        except IllegalMove as error:
            raise Refusal(_sentence(error)) from None
        self._answer(question, move_of(form, picked))

    def resign(self, number: int) -> None:
        """Give up the game.

        Raises:
            Refusal: it is not the person's turn.
        """
        self._answer(self._open(number), RESIGNED)

    def touch(self) -> None:
        self.touched_at = trio.current_time()
        self.active.set()

    def _open(self, number: int) -> _Question:
        self.touch()
        question = self._question
        if question is None or question.number != number:
            raise Refusal("It is not your turn now.")
        return question

    def _answer(self, question: _Question, answer: object) -> None:
        question.answer = answer
        self._question = None
        self.show(question=None)
        question.answered.set()


def touched_by(game: Game, before: State, move: object) -> dict[str, Any]:
    """Return the squares that a move touches, by what happens on them; empty if it is not legal."""
    try:
        return asdict(merge(step.touched for step in game.trace(before, move)))
    except IllegalMove:
        return {}


def clock_json(limit: float, left: list[float | None], running: int | None) -> dict[str, Any]:
    """Return clocks for the browser, which starts them.

    Args:
        limit: the whole time, in seconds.
        left: of each player, in seconds; None if it is not known.
        running: the player whose clock runs.
    """
    ms = [None if one is None or math.isinf(one) else round(1000 * one) for one in left]
    # JSON has no infinity: an unlimited clock is null
    return {"limit": round(1000 * limit), "left": ms, "running": running, "asked": round(1000 * time.time())}


def _sentence(error: IllegalMove) -> str:
    text = str(error)
    return f"{text[:1].upper()}{text[1:]}."
