"""Every game as a game of OpenSpiel, for its searches and learners; needs ``getstep-training[open_spiel]``.

>>> import pyspiel
>>> from getstep_training.open_spiel import register
>>> register()
['getstep_longest_path', 'getstep_chain_reaction', 'getstep_pseudo_tonga', 'getstep_hop', 'getstep_linkage']
>>> game = pyspiel.load_game("getstep_pseudo_tonga(size=6)")

- **Players.** 0 is the first player of the game, 1 the second. A player without a legal move is passed over.
- **Actions** are the numbers of `_actions`, as in `pettingzoo` and `batch`.
- **Observations** are the planes of the PettingZoo environment for the player on turn, as float32, in one array of
  ``size * size * 3`` numbers.
- **Returns.** At the end 1 for the winner and -1 for the loser, 0 for a draw.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
import pyspiel

from getstep_engines import GAMES

from ._actions import Path, actions_of, side_of

PREFIX = "getstep_"
_LONGEST = 100_000
"""OpenSpiel asks for a limit of actions; ours end by their rules, hop after at most 400 turns of 100."""


def register() -> list[str]:
    """Register all installed games at OpenSpiel, those that are not yet; return their names there.

    A game whose moves have no numbers, or whose board is not square, is left out.
    """
    known = set(pyspiel.registered_names())
    names = []
    for name in GAMES:
        if PREFIX + name not in known and not _register(name):
            continue
        names.append(PREFIX + name)
    return names


def _register(name: str) -> bool:
    rules = GAMES[name]
    try:
        actions_of(rules, side_of(rules, rules.start()))
    except ValueError:
        return False
    kind = pyspiel.GameType(
        short_name=PREFIX + name,
        long_name=rules.title,
        dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
        chance_mode=pyspiel.GameType.ChanceMode.DETERMINISTIC,
        information=pyspiel.GameType.Information.PERFECT_INFORMATION,
        utility=pyspiel.GameType.Utility.ZERO_SUM,
        reward_model=pyspiel.GameType.RewardModel.TERMINAL,
        max_num_players=2,
        min_num_players=2,
        provides_information_state_string=True,
        provides_information_state_tensor=False,
        provides_observation_string=True,
        provides_observation_tensor=True,
        parameter_specification={option.name: option.default for option in rules.options.values()},
    )

    class OpenSpielGame(_Game):
        """The game of this name: OpenSpiel calls the class with the parameters alone."""

        def __init__(self, params: dict[str, Any] | None = None) -> None:
            super().__init__(name, kind, params)

    pyspiel.register_game(kind, OpenSpielGame)
    return True


class _Rules:
    """The rules of one of our games with its options."""

    def __init__(self, name: str, options: Mapping[str, int]) -> None:
        self.game = GAMES[name]
        self.options = dict(options)
        self.size = side_of(self.game, self.game.start(**self.options))
        self.actions = actions_of(self.game, self.size)

    def __reduce__(self) -> Any:
        """Return how a copy is made in another process: by name, because a game has functions."""
        return _Rules, (self.game.name, self.options)


class _Game(pyspiel.Game):  # type: ignore[misc]  # pyspiel has no types
    """One of our games with its options."""

    def __init__(self, name: str, kind: Any, params: dict[str, Any] | None) -> None:
        options = {option.name: option.default for option in GAMES[name].options.values()} | (params or {})
        about = pyspiel.GameInfo(
            num_distinct_actions=_Rules(name, options).actions.count,
            max_chance_outcomes=0,
            num_players=2,
            min_utility=-1.0,
            max_utility=1.0,
            utility_sum=0.0,
            max_game_length=_LONGEST,
        )
        super().__init__(kind, about, options)

    @cached_property
    def rules(self) -> _Rules:
        """The rules: not made by the constructor, which OpenSpiel does not call for a copy."""
        return _Rules(self.get_type().short_name.removeprefix(PREFIX), self.get_parameters())

    def new_initial_state(self) -> OpenSpielState:
        """Return the start of the game."""
        return OpenSpielState(self)

    def make_py_observer(self, iig_obs_type: Any = None, params: Any = None) -> _Observer:  # noqa: ARG002 - OpenSpiel's call
        """Return what OpenSpiel asks for observations."""
        return _Observer(self.rules.size)


class _Position:
    """All that a state of OpenSpiel has of ours. OpenSpiel copies it deeply for each step of a search."""

    def __init__(self, rules: _Rules) -> None:
        self.rules = rules
        self.state = rules.game.start(**rules.options)
        self.path: Path = ()

    def __deepcopy__(self, memo: object) -> _Position:
        twin = object.__new__(_Position)
        twin.rules, twin.state, twin.path = self.rules, self.state.copy(), self.path
        return twin


class OpenSpielState(pyspiel.State):  # type: ignore[misc]  # as above
    """A position, perhaps during a move of several actions."""

    def __init__(self, game: _Game) -> None:
        super().__init__(game)
        self._at = _Position(game.rules)

    def current_player(self) -> int:
        """Return the player on turn, or OpenSpiel's number for the end of the game."""
        return int(pyspiel.PlayerId.TERMINAL) if self._at.state.outcome else self._at.state.to_move

    def _legal_actions(self, player: int) -> list[int]:
        if self._at.state.outcome or player != self._at.state.to_move:
            return []
        return sorted(self._at.rules.actions.legal(self._at.state, self._at.path))

    def _apply_action(self, action: int) -> None:
        self._at.path, move = self._at.rules.actions.choose(self._at.state, self._at.path, action)
        if move is not None:
            self._at.state.play(move)

    def _action_to_string(self, player: int, action: int) -> str:  # noqa: ARG002 - OpenSpiel's call
        path, move = self._at.rules.actions.choose(self._at.state, self._at.path, action)
        if move is None:
            return "-".join(f"{row},{column}" for row, column in path) + "-..."
        return self._at.rules.game.notation(move)

    def is_terminal(self) -> bool:
        """Return True if the game is over."""
        return self._at.state.outcome is not None

    def returns(self) -> list[float]:
        """Return 1 for the winner, -1 for the loser, 0 before the end and for a draw."""
        winner = self._at.state.outcome.winner if self._at.state.outcome else None
        return [0.0, 0.0] if winner is None else [1.0 - 2 * winner, 2.0 * winner - 1]

    def __str__(self) -> str:
        """Return the board as text, and the squares of an unfinished move."""
        return f"{self._at.state}\n{list(self._at.path)}" if self._at.path else str(self._at.state)

    def planes(self) -> Any:
        """Return the observation of the player on turn, int8 ``(size, size, 3)``."""
        planes = np.zeros((self._at.rules.size, self._at.rules.size, 3), np.int8)
        if self._at.path:
            planes[..., 0] = self._at.rules.game.trace(self._at.state, list(self._at.path))[-1].board
            planes[(*self._at.path[-1], 2)] = 1
        else:
            planes[..., 0] = self._at.state.board()
        planes[..., 1] = self._at.state.to_move == 0
        return planes


class _Observer:
    """Observations in the form of OpenSpiel."""

    def __init__(self, size: int) -> None:
        self.tensor = np.zeros(size * size * 3, np.float32)
        self.dict = {"observation": self.tensor.reshape(size, size, 3)}

    def set_from(self, state: OpenSpielState, player: int) -> None:  # noqa: ARG002 - all is seen by both
        """Fill the arrays from a position."""
        self.dict["observation"][:] = state.planes()

    def string_from(self, state: OpenSpielState, player: int) -> str:  # noqa: ARG002 - all is seen by both
        """Return the position as text."""
        return str(state)
