"""A person at the terminal as a player: moves typed as coordinates, explained when they are illegal."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any

from getstep.bot_process.serve import Message
from getstep.drawing import Picture
from getstep.games import read_move
from getstep.text import short_repr
from getstep.wire import Resign, Step
from getstep_engines import Game, IllegalMove, State
from getstep_engines.look import coordinates

from .match import PlayedMatch, PlayedTurn
from .players import Answer, Player
from .results import WIDTH
from .screen import turn_text

_MOST_LISTED = 40  # legal moves that fit a terminal; hop has up to some hundred
_HELP = "? lists the legal moves, resign ends the game, quit ends practice"


class Quit(Exception):  # noqa: N818 - not an error
    """Raised when the person does not want to play on."""


class PersonPlayer(Player):
    """A person, whose moves take no time."""

    timed = False

    def begin(self, match: PlayedMatch) -> None:
        """Prepare for a match."""
        raise NotImplementedError

    def watch(self, turn: PlayedTurn) -> None:
        """Show a turn of either player."""
        raise NotImplementedError

    def end(self, match: PlayedMatch) -> None:
        """Show how a match has ended."""


class HumanPlayer(PersonPlayer):
    """Asks a person at the terminal. The move that it returns is legal, and takes no time.

    Args:
        game: the game, which explains why a move is illegal.
        read: prints a prompt and returns a line, as ``input`` does.
        say: prints a line.
        draw: returns a board as text.
    """

    def __init__(
        self, game: Game, read: Callable[[str], str], say: Callable[[str], None], draw: Callable[[Picture], str]
    ) -> None:
        super().__init__("you")
        self._game = game
        self._read = read
        self._say = say
        self._draw = draw
        self._picture: Picture | None = None
        self._asked = 0  # the number of the latest turn that the person was asked for

    def begin(self, match: PlayedMatch) -> None:
        """Prepare for a match, and say how to play."""
        self._match = match
        self._picture = match.start
        is_text = self._game.move_form.parts == ("text",)
        how = "" if is_text else "Type the numbers: row first, then column, from 0. "
        self._tell(f"A move is {self._game.move_form.text}. {how}{_HELP}. You have no clock; your bot has.")

    def watch(self, turn: PlayedTurn) -> None:
        """Say what the opponent did."""
        self._picture = turn.picture
        if turn.kind != "move" or turn.number != self._asked:  # the person's own moves are not news
            self._tell(turn_text(self._match, turn))

    def ask(self, question: Message, _seconds: float) -> Answer | None:
        """Ask until the person gives a legal move, resigns or quits."""
        self._asked = question["turn"]["move_number"]
        if self._picture is not None:
            self._say(self._draw(self._picture))
        position = self._game.from_board(question["board"], question["is_black"])
        name = self._game.players[0 if question["is_black"] else 1]
        while True:
            typed = self._line(f"Move {self._asked}, {name}: ").strip()
            if typed.lower() in ("quit", "q", "exit"):
                raise Quit
            if typed.lower() == "resign":
                return Answer(0.0, Resign(question["id"]))
            if typed == "?":
                self._list(position)
            elif typed:
                move = self._legal(position, typed)
                if move is not None:
                    return Answer(0.0, Step(question["id"], move))

    def _line(self, prompt: str) -> str:
        try:
            return self._read(prompt)
        except EOFError:
            raise Quit from None

    def _tell(self, text: str) -> None:
        self._say(textwrap.fill(text, WIDTH - 1, subsequent_indent="  ", break_on_hyphens=False))

    def _list(self, position: State) -> None:
        moves = list(position.legal_moves())
        texts = [coordinates(move) for move in moves[:_MOST_LISTED]]
        more = f", and {len(moves) - len(texts)} more" if len(moves) > len(texts) else ""
        self._tell(f"{len(moves)} legal moves: {'  '.join(texts)}{more}")

    def _legal(self, position: State, typed: str) -> Any:
        """Return the move that was typed, or say why there is none and return None."""
        move = read_move(self._game, typed)
        if move is None:
            example = coordinates(next(iter(position.legal_moves())))
            self._tell(
                f"{short_repr(typed)} is not a move; expected {self._game.move_form.text}, such as {example}"
            )
            return None
        try:
            position.copy().play(move)
        except IllegalMove as error:
            self._tell(f"Not legal: {error}. Try another move; {_HELP}.")
            return None
        return move
