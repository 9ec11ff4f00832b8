"""Every game as a PettingZoo environment, for programs that learn; needs ``getstep-training[pettingzoo]``.

>>> from getstep_training.pettingzoo import env
>>> hop = env("hop")
>>> hop.reset(seed=1)
>>> for agent in hop.agent_iter():
...     observation, reward, termination, truncation, info = hop.last()
...     done = termination or truncation
...     hop.step(None if done else hop.action_space(agent).sample(observation["action_mask"]))

- **Agents.** ``player_0`` is the first player of the game, ``player_1`` the second.
- **Actions** are the numbers of `_actions`. An action that the mask does not allow is a fault, and costs what a
  fault costs in a contest: hop skips the turn, other games end.
- **Observations.** ``action_mask`` has a 1 for each legal action; it is all 0 for the agent that is not on turn.
  ``observation`` is an array ``(size, size, 3)`` of int8. Plane 0 is the board as ``get_step`` gets it, with the
  hops that an unfinished move of hop has made. Plane 1 is 1 for ``player_0``, and 0 for ``player_1``. Plane 2 is 1
  on the square of the piece that may hop on, and 0 elsewhere.
- **Rewards.** At the end of the game 1 for the winner and -1 for the loser; 0 for a draw and before the end. The
  infos of the end have the ``scores`` and the ``reason``.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from gymnasium import spaces
from gymnasium.utils import EzPickle
from numpy.typing import NDArray
from pettingzoo import AECEnv
from pettingzoo.utils import wrappers

from getstep_engines import GAMES

from ._actions import Path, actions_of, side_of
from .batch._base import cells_of

AGENTS = ["player_0", "player_1"]

Observation: TypeAlias = dict[str, NDArray[np.int8]]


def env(game: str, render_mode: str | None = None, **options: int) -> AECEnv:
    """Return the environment of ``game``, with PettingZoo's checks of the order of calls and of the actions.

    Args:
        game: a name in `GAMES`.
        render_mode: ``"ansi"``, with which ``render()`` returns the board as text, or None.
        options: the options of the game's start, such as ``size=6`` for pseudo_tonga.

    Raises:
        UnknownGameError: there is no such game.
        ValueError: the game does not have one of the options, its moves cannot be numbered, or its board is not
            square.
    """
    checked = wrappers.AssertOutOfBoundsWrapper(GetstepEnv(game, render_mode, **options))
    return wrappers.OrderEnforcingWrapper(checked)


class GetstepEnv(AECEnv, EzPickle):  # type: ignore[misc]  # PettingZoo has no types
    """A game as an agent-environment cycle. `env` adds the usual checks."""

    def __init__(self, game: str, render_mode: str | None = None, **options: int) -> None:
        EzPickle.__init__(self, game, render_mode, **options)
        AECEnv.__init__(self)
        if render_mode not in (None, "ansi"):
            raise ValueError(f"render_mode is {render_mode!r}; expected 'ansi' or None")
        self._game = GAMES[game]
        self._options = options
        self._state = self._game.start(**options)
        size = side_of(self._game, self._state)
        self._actions = actions_of(self._game, size)
        self._path: Path = ()
        self.metadata = {"name": f"{game}_v0", "render_modes": ["ansi"], "is_parallelizable": False}
        self.render_mode = render_mode
        self.possible_agents = list(AGENTS)
        self.agents = list(AGENTS)
        cells = cells_of(self._game)
        low = np.array([cells[0], 0, 0], np.int8)
        high = np.array([cells[-1], 1, 1], np.int8)
        shape = (size, size, 3)
        observation: dict[str, spaces.Space[Any]] = {
            "observation": spaces.Box(np.broadcast_to(low, shape), np.broadcast_to(high, shape), shape, np.int8),
            "action_mask": spaces.Box(0, 1, (self._actions.count,), np.int8),
        }
        self.observation_spaces = {agent: spaces.Dict(observation) for agent in AGENTS}
        self.action_spaces = {agent: spaces.Discrete(self._actions.count) for agent in AGENTS}

    def observation_space(self, agent: str) -> spaces.Dict:
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Discrete:
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:  # noqa: ARG002 - the parameters of PettingZoo's API
        """Start a new game. No game has chance in it, so ``seed`` changes nothing; neither do ``options``."""
        self._state = self._game.start(**self._options)
        self.agents = list(AGENTS)
        self.rewards: dict[str, float] = dict.fromkeys(AGENTS, 0.0)
        self._cumulative_rewards: dict[str, float] = dict.fromkeys(AGENTS, 0.0)
        self.terminations = dict.fromkeys(AGENTS, False)
        self.truncations = dict.fromkeys(AGENTS, False)
        self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in AGENTS}
        self._begin_turn()

    def observe(self, agent: str) -> Observation:
        """Return the position as ``agent`` sees it: see the docstring of the module."""
        board = self._state.board()
        planes = np.zeros((len(board), len(board), 3), np.int8)
        if self._path:
            row, column = self._path[-1]
            planes[row, column, 2] = 1
            planes[..., 0] = self._game.trace(self._state, list(self._path))[-1].board
        else:
            planes[..., 0] = board
        planes[..., 1] = agent == AGENTS[0]
        mask = np.zeros(self._actions.count, np.int8)
        if agent == self.agent_selection:
            mask[self._legal] = 1
        return {"observation": planes, "action_mask": mask}

    def step(self, action: int | None) -> None:
        """Apply an action of the agent on turn; ``None`` removes an agent whose game is over."""
        agent = self.agent_selection
        if self.terminations[agent]:
            self._was_dead_step(action)
            return
        self._cumulative_rewards[agent] = 0.0
        self._clear_rewards()
        self._apply(action)
        self._accumulate_rewards()

    def render(self) -> str | None:
        """Return the board as text, if the render mode is ``"ansi"``."""
        return str(self._state) if self.render_mode == "ansi" else None

    def close(self) -> None:
        """Do nothing: the environment has no window."""

    def _apply(self, action: int | None) -> None:
        if action not in self._legal:
            self._state.fault()
            self._begin_turn()
            return
        path, move = self._actions.choose(self._state, self._path, int(action))
        if move is not None:
            self._state.play(move)
        self._begin_turn(path)

    def _begin_turn(self, path: Path = ()) -> None:
        """Select the agent that acts next, and list its legal actions; end the game if it is over."""
        self._path = path
        outcome = self._state.outcome
        self._legal: list[int] = [] if outcome else self._actions.legal(self._state, path)
        self.agent_selection = AGENTS[self._state.to_move]
        if outcome:
            self.terminations = dict.fromkeys(AGENTS, True)
            self.infos = {agent: {"scores": outcome.scores, "reason": outcome.reason} for agent in AGENTS}
            if outcome.winner is not None:
                self.rewards = {AGENTS[outcome.winner]: 1.0, AGENTS[1 - outcome.winner]: -1.0}
