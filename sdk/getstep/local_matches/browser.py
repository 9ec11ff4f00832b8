"""A person in the browser as a player.

The page is the host's, so that there is only one. The package ``getstep-server`` offers it as an entry point of the
group ``getstep.browser``: getstep does not depend on it, and imports it only here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from getstep._errors import SetupError
from getstep.bot_process.serve import Message
from getstep.wire import Resign, Step
from getstep_engines import Game, State, Touched
from getstep_engines import Player as Colour

from .human import PersonPlayer, Quit
from .match import PlayedMatch, PlayedTurn
from .players import Answer
from .screen import turn_text

GROUP = "getstep.browser"
"""The entry points whose object makes a `Page`."""


class Page(Protocol):
    """A board in the browser, open until `close`. `getstep_server.web.practice` describes the methods."""

    address: str

    def begin(self, game: Game, names: tuple[str, str], me: Colour, position: State) -> bool: ...
    def show(self, game: Game, position: State, touched: Touched, note: str, number: int) -> None: ...
    def ask(self, game: Game, position: State) -> tuple[str, Any]: ...
    def end(self, won: bool | None, text: str) -> None: ...
    def close(self) -> None: ...


def find_page() -> Callable[[], Page]:
    """Return what opens a page.

    Raises:
        SetupError: no installed package has one, or it cannot be loaded.
    """
    from importlib.metadata import entry_points  # here: it takes long to import

    found = list(entry_points(group=GROUP))
    if not found:
        raise SetupError(
            "--browser needs the host's package on this computer, getstep-server: install its file, which the host"
            " has. Without it, leave out --browser: you then type your moves here."
        )
    try:
        page: Callable[[], Page] = found[0].load()
    except (ImportError, AttributeError) as error:
        raise SetupError(f"--browser: {found[0].value} cannot be loaded ({error}); install it again.") from None
    return page


class BrowserPlayer(PersonPlayer):
    """Asks a person in the browser. The move that it returns is legal, and takes no time.

    Args:
        page: the open page; it is closed with the player.
    """

    def __init__(self, page: Page) -> None:
        super().__init__("you")
        self._page = page

    def begin(self, match: PlayedMatch) -> None:
        """Show the game."""
        self._match = match
        first, second = match.names
        names = (first, "You") if match.bot == 0 else ("You", second)
        if not self._page.begin(match.game, names, 1 if match.bot == 0 else 0, match.position):
            raise Quit

    def watch(self, turn: PlayedTurn) -> None:
        """Show a turn."""
        match = self._match
        note = turn_text(match, turn)
        if turn.kind == "move":
            who = match.names[turn.player] if turn.player == match.bot else "You"
            note = f"{who}: {match.game.notation(turn.move)}"
        self._page.show(match.game, match.position, turn.picture.touched, note, turn.number)

    def end(self, match: PlayedMatch) -> None:
        """Show the result."""
        if match.outcome is not None:
            winner = match.outcome.winner
            self._page.end(None if winner is None else winner != match.bot, match.outcome.detail)

    def ask(self, question: Message, _seconds: float) -> Answer | None:
        """Return the move that the person picks."""
        kind, move = self._page.ask(self._match.game, self._match.position)
        if kind == "leave":
            raise Quit
        if kind == "resign":
            return Answer(0.0, Resign(question["id"]))
        return Answer(0.0, Step(question["id"], move))

    def close(self) -> None:
        """Close the page."""
        self._page.close()
