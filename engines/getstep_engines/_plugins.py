"""Games of other packages: entry points of the group `GROUP`, each the name of a game and the `Game` itself.

    [project.entry-points."getstep.games"]
    othello = "getstep_othello:OTHELLO"

A package that cannot be loaded, or whose game is incomplete, costs that game only. The reason is kept as a sentence
that names the package, for its author and for the host who installed it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from ._game import Game, MoveForm, Option, Starter, State, TimeControl
from .look import Look
from .value import Value

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "getstep.games"


_TYPES: Mapping[str, type] = {
    "time_control": TimeControl,
    "move_form": MoveForm,
    "look": Look,
    "starter": Starter,
    "options": Mapping,
    "settings": Mapping,
}


class Plugin(Value):
    """An installed game: its name, the package that it comes from, and the game, or why there is none.

    ``value`` is the object that the entry point names, such as ``"getstep_othello:OTHELLO"``.
    """

    name: str
    package: str
    value: str
    game: Game | None
    problem: str = ""

    @property
    def module(self) -> str:
        """The module of the game."""
        return self.value.partition(":")[0].strip()


class _Incomplete(Exception):  # noqa: N818 - a reason for people, which never leaves this module
    """Raised when an entry point does not give a complete game."""


def load_plugins(taken: Iterable[str]) -> Iterator[Plugin]:
    """Yield the installed games, ordered by name and package. ``taken`` are the names of the games of getstep."""
    from importlib.metadata import entry_points  # takes longer to import than all games together

    owners = dict.fromkeys(taken, "getstep-engines")
    for point in sorted(entry_points(group=GROUP), key=lambda point: (point.name, _package(point), point.value)):
        plugin = _load(point, owners)
        if plugin.game:
            owners[plugin.name] = plugin.package
        yield plugin


def _load(point: EntryPoint, owners: Mapping[str, str]) -> Plugin:
    package, value = _package(point), point.value
    try:
        return Plugin(point.name, package, value, _game_of(point, owners))
    except _Incomplete as problem:
        return Plugin(point.name, package, value, None, f"game {point.name!r} of the package {package}: {problem}")


def _game_of(point: EntryPoint, owners: Mapping[str, str]) -> Game:
    if point.name in owners:
        raise _Incomplete(f"the package {owners[point.name]} has a game of this name already")
    return _complete(point.name, _import(point))


def _package(point: EntryPoint) -> str:
    return point.dist.name if point.dist else "(unknown)"


def _import(point: EntryPoint) -> object:
    try:
        return point.load()
    except (Exception, SystemExit) as error:  # whatever another package raises when it is imported
        raise _Incomplete(f"{point.value} cannot be imported: {type(error).__name__}: {error}") from error


def _complete(name: str, game: object) -> Game:
    """Return ``game`` if it has all that a game needs.

    Raises:
        _Incomplete: it does not; the message says what is missing.
    """
    if not isinstance(game, Game):
        raise _Incomplete(f"the entry point names a {type(game).__name__}; expected a getstep_engines.Game")
    if game.name != name:
        raise _Incomplete(f"the Game's name is {game.name!r}; expected the entry point's name")
    for field, problem in _wrong_fields(game):
        raise _Incomplete(f"the field {field} of the Game is {problem}")
    try:
        state = game.start()
    except Exception as error:  # whatever the game's own code raises
        raise _Incomplete(f"it does not start: {type(error).__name__}: {error}") from error
    if not isinstance(state, State):
        raise _Incomplete(f"start() returns a {type(state).__name__}; expected a getstep_engines.State")
    missing = [field for field in ("to_move", "passed", "outcome") if not hasattr(state, field)]
    if missing:
        raise _Incomplete(f"a new {type(state).__name__} has no {' and no '.join(missing)}")
    return game


def _wrong_fields(game: Game) -> Iterator[tuple[str, str]]:
    """Yield each field that has a wrong type, with what is wrong: a Value does not check its fields."""
    for field in ("name", "title", "penalty", "summary", "rules"):
        value = getattr(game, field)
        if not isinstance(value, str) or not value:
            yield field, f"{value!r:.80}; expected a text"
    players: object = game.players
    if not isinstance(players, tuple) or [type(player) for player in players] != [str, str]:
        yield "players", f"{players!r:.80}; expected the names of two players"
    for field, kind in _TYPES.items():
        if not isinstance(getattr(game, field), kind):
            yield field, f"{getattr(game, field)!r:.80}; expected a {kind.__name__}"
    if not all(isinstance(option, Option) for option in game.options.values()):
        yield "options", "not a mapping of names to Option"
