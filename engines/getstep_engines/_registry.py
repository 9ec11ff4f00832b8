"""The registry of games. A new game is one module and one line here, or an entry point of another package."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module

from ._game import Game
from ._plugins import Plugin, load_plugins

_OWN = ("longest_path", "chain_reaction", "pseudo_tonga", "hop", "linkage")
"""The games of this package. Each is a module of its name, with the `Game` under its name in capital letters."""

OPENSPIEL = "openspiel_"
"""What the names of OpenSpiel's games begin with: see the module `openspiel`."""


@cache
def _own_game(name: str) -> Game:
    game: Game = getattr(import_module(f"getstep_engines.{name}"), name.upper())
    return game


class UnknownGameError(KeyError, ValueError):
    """Raised when no game of a name is installed. The message names those that are, and what could not be loaded.

    A `KeyError`, as a mapping raises it, and a `ValueError`, as a wrong name is one.
    """

    def __str__(self) -> str:
        """Return the message without the quotes that a KeyError puts around it."""
        return str(self.args[0])


def _openspiel_game(name: str) -> Game:
    """Return a game of OpenSpiel.

    Raises:
        UnknownGameError: OpenSpiel is not installed, or does not have such a game.
    """
    openspiel = import_module("getstep_engines.openspiel")
    try:
        game: Game = openspiel.openspiel_game(name)
    except openspiel.NotOffered as error:
        raise UnknownGameError(f"unknown game {name!r:.80}: {error}") from error
    return game


class Registry(Mapping[str, Game]):
    """The games by name: those of this package, then the installed ones of other packages.

    A game is imported when it is needed: the tables of linkage take 3 ms. The installed packages are searched when
    they are needed: for a name that is not one of ours, or to list all games. That takes some milliseconds as well.
    A bot that plays hop waits for neither.

    The games of OpenSpiel (see the module `openspiel`) can be had by name as well. They are not listed.
    """

    def __init__(self, own: tuple[str, ...]) -> None:
        self._own = own
        self._loaded: tuple[Plugin, ...] | None = None

    def plugins(self) -> tuple[Plugin, ...]:
        """Return the installed games of other packages, the broken ones too."""
        if self._loaded is None:
            self._loaded = tuple(load_plugins(self._own))
        return self._loaded

    def problems(self) -> list[str]:
        """Return, for each installed game that cannot be used, a sentence that names its package and the reason."""
        return [plugin.problem for plugin in self.plugins() if plugin.problem]

    def refresh(self) -> None:
        """Look for the games of other packages again, after packages were installed or removed."""
        self._loaded = None

    def _others(self) -> dict[str, Game]:
        return {plugin.name: plugin.game for plugin in self.plugins() if plugin.game}

    def __getitem__(self, name: str) -> Game:
        if isinstance(name, str) and name.startswith(OPENSPIEL):
            return _openspiel_game(name)
        game = _own_game(name) if name in self._own else self._others().get(name)
        if game is None:
            broken = [plugin.problem for plugin in self.plugins() if plugin.problem and plugin.name == name]
            raise UnknownGameError("; ".join([f"unknown game {name!r:.80}; installed: {', '.join(self)}", *broken]))
        return game

    def __iter__(self) -> Iterator[str]:
        return iter([*self._own, *self._others()])

    def __len__(self) -> int:
        return len(self._own) + len(self._others())

    def __repr__(self) -> str:
        return f"<games: {', '.join(self)}>"


GAMES = Registry(_OWN)
"""All games by name. Other packages add theirs by an entry point of the group ``getstep.games``."""
