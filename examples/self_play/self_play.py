"""Train a small network for chain_reaction by self-play, with numpy alone: ``python self_play.py``.

The network gives a position a value from -1 (the player on turn loses) to 1 (it wins). A player that tries each
legal action and takes the one after which the opponent's value is lowest needs no more than that. Training repeats
two steps, called a round:

1. Play `STEPS` moves on each of `BOARDS` boards in that way, a few of the moves at random.
2. Give each position that occurred a target (`targets_of`), and let the network learn it.

At first the network knows nothing but won positions. From there, what it knows spreads backwards through the games.
This is temporal-difference learning: Sutton and Barto, Reinforcement Learning, chapter 12.

From time to time the network plays against the best one before it. ``weights.npz`` is the best one; ``checkpoints``
has each network that became the best one, for ``curve.py``. Ctrl-C ends the training, and both are there.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections import deque
from itertools import pairwise
from pathlib import Path
from time import process_time
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from getstep_training.batch import ChainReactionBatch

Floats: TypeAlias = NDArray[np.float32]

GAME = "chain_reaction"
HERE = Path(__file__).parent
WEIGHTS, CHECKPOINTS = HERE / "weights.npz", HERE / "checkpoints"

BOARDS = 256
STEPS = 32
KEPT_ROUNDS = 8
"""The network learns from the positions of so many rounds: the last ones, because its targets become better."""

LESSONS = 4
"""How often it learns each position, on average; playing costs eight times as much as learning once."""

BATCH = 512
RANDOM_MOVES = 0.05
"""The share of random moves: without them, the network would see only the games that it likes."""

LAMBDA = 0.8
"""The weight of the rest of the game in a target; the other part is the network's own value one move later."""

LEARNING_RATE = 0.002
COMPARED_AFTER = 10
"""The rounds between two comparisons with the best network before."""

MOVES_AHEAD, CONSIDERED = 3, 12
"""How far a bot looks ahead, and the actions of each position for which it does: those with the highest values."""

OPENING_MOVES = 4
"""Random moves before a game between two networks: without them, all would be the same game."""

LEVELS = np.array([1, 2, 3, -1, -2, -3], np.int8)
"""The cells that a board can have besides 0, as long as the game is not over."""

SQUARES = np.arange(64).reshape(8, 8)
SYMMETRIES = np.array([np.rot90(board, turns).ravel() for board in (SQUARES, SQUARES.T) for turns in range(4)])
"""For each of the 8 symmetries of the board, the square that comes to each square."""


def cells_of(observations: NDArray[np.int8]) -> NDArray[np.int8]:
    """Return the boards as the player on turn sees them, with its own orbs positive: ``(count, 64)``.

    Args:
        observations: planes of a batch or of the PettingZoo environment: ``(count, 8, 8, 3)``.
    """
    signs = 2 * observations[..., 1] - 1  # plane 1 is 1 for the first player, whose orbs are positive in plane 0
    return (observations[..., 0] * signs).reshape(-1, 64)


class Network:
    """A network of full layers: 384 inputs, two hidden layers, one value. `learn` trains it by Adam.

    Args:
        layers: a matrix and a row of biases for each layer.
    """

    def __init__(self, layers: list[Floats]) -> None:
        self.layers = layers
        self._means = [np.zeros_like(layer) for layer in layers]
        self._squares = [np.zeros_like(layer) for layer in layers]
        self._lessons = 0

    @classmethod
    def random(cls, generator: np.random.Generator, hidden: tuple[int, ...] = (128, 32)) -> Network:
        """Return an untrained network."""
        layers = []
        sizes = (64 * len(LEVELS), *hidden, 1)
        for inputs, outputs in pairwise(sizes):
            scale = np.sqrt(2 / inputs) if outputs > 1 else 0.01
            layers += [generator.normal(0, scale, (inputs, outputs)), np.zeros(outputs)]
        return cls([layer.astype(np.float32) for layer in layers])

    @classmethod
    def load(cls, path: Path) -> Network:
        with np.load(path) as file:
            return cls([file[f"layer{number}"] for number in range(len(file.files) - 2)])

    def save(self, path: Path, seconds: float, games: int) -> None:
        """Write the layers, and how much training they took."""
        layers: dict[str, Any] = {f"layer{number}": layer for number, layer in enumerate(self.layers)}
        np.savez(path, seconds=seconds, games=games, **layers)

    def values(self, cells: NDArray[np.int8]) -> Floats:
        """Return the value of each position for the player on turn, from boards as `cells_of` returns them."""
        return self._forward(cells)[-1][:, 0]

    def _forward(self, cells: NDArray[np.int8]) -> list[Floats]:
        """Return the inputs, then the outputs of each layer."""
        inputs = (cells[:, None, :] == LEVELS[:, None]).reshape(len(cells), len(self.layers[0]))
        outputs = [inputs.astype(np.float32)]
        for matrix, biases in zip(self.layers[:-2:2], self.layers[1:-2:2], strict=True):
            outputs.append(np.maximum(outputs[-1] @ matrix + biases, 0))
        outputs.append(np.tanh(outputs[-1] @ self.layers[-2] + self.layers[-1]))
        return outputs

    def learn(self, cells: NDArray[np.int8], targets: Floats, rate: float) -> float:
        """Make the values of some positions a little more like the targets; return the mean square error before."""
        outputs = self._forward(cells)
        values = outputs[-1][:, 0]
        errors = values - targets
        slopes = (2 / len(cells) * errors * (1 - values**2))[:, None].astype(np.float32)
        gradients: list[Floats] = []
        for number in range(len(self.layers) - 2, -1, -2):  # backwards, from the matrix of the last layer
            inputs = outputs[number // 2]
            gradients[:0] = [inputs.T @ slopes, slopes.sum(0)]
            if number:
                slopes = slopes @ self.layers[number].T * (inputs > 0)
        self._lessons += 1
        for layer, gradient, mean, square in zip(self.layers, gradients, self._means, self._squares, strict=True):
            mean += 0.1 * (gradient - mean)
            square += 0.001 * (gradient**2 - square)
            corrected = np.sqrt(square / (1 - 0.999**self._lessons)) + 1e-8
            layer -= rate / (1 - 0.9**self._lessons) * mean / corrected
        return float((errors**2).mean())


def action_values(network: Network, batch: ChainReactionBatch) -> Floats:
    """Return the value of each action for the player on turn, ``(count, 64)``; minus infinity if it is illegal."""
    boards, actions = np.nonzero(batch.legal())
    tried = batch.take(boards)
    tried.play(actions)
    values = np.full((len(batch), batch.actions), -np.inf, np.float32)
    # Only the player who moves can win by the move.
    values[boards, actions] = np.where(tried.over, 1, -network.values(cells_of(tried.observations())))
    return values


def values_ahead(network: Network, batch: ChainReactionBatch, moves: int) -> Floats:
    """Return the value of each action after looking so many moves ahead, in the form of `action_values`.

    Of each position, the `CONSIDERED` actions with the highest values are looked at further. The others have minus
    infinity.
    """
    values = action_values(network, batch)
    if moves == 1:
        return values
    best = values.argsort(1)[:, -CONSIDERED:]
    boards, columns = np.nonzero(np.isfinite(np.take_along_axis(values, best, 1)))
    actions = best[boards, columns]
    after = batch.take(boards)
    after.play(actions)
    ahead = np.full_like(values, -np.inf)
    ahead[boards, actions] = np.where(after.over, 1, -values_ahead(network, after, moves - 1).max(1))
    return ahead


def best_move(network: Network, board: list[list[int]], is_black: bool) -> tuple[int, int]:
    """Return the move of a network that looks `MOVES_AHEAD` moves ahead."""
    position = ChainReactionBatch(1)
    position.set_boards(np.array([board]), np.array([0 if is_black else 1]))
    row, column = divmod(int(values_ahead(network, position, MOVES_AHEAD)[0].argmax()), 8)
    return row, column


def targets_of(best: Floats, ended: NDArray[np.bool_], at_random: NDArray[np.bool_]) -> Floats:
    """Return what the values of the positions should be, from the games that were played: ``(steps, boards)``.

    Args:
        best: the highest value of an action in each position, also of those after the last step:
            ``(steps + 1, boards)``.
        ended: True if the move from there won: ``(steps, boards)``.
        at_random: True if the move was a random one: then the rest of the game does not count.
    """
    targets = np.empty_like(best)
    targets[-1] = best[-1]
    for step in range(len(ended) - 1, -1, -1):
        rest = -(LAMBDA * targets[step + 1] + (1 - LAMBDA) * best[step + 1])  # the opponent's loss is the gain
        targets[step] = np.where(ended[step], 1, np.where(at_random[step], best[step], rest))
    return targets[:-1]


class SelfPlay:
    """Games of a network against itself, and its training."""

    def __init__(self, network: Network, generator: np.random.Generator, boards: int = BOARDS) -> None:
        self.network = network
        self.games = 0
        self._generator = generator
        self._batch = ChainReactionBatch(boards)
        self._rounds: deque[tuple[NDArray[np.int8], Floats]] = deque(maxlen=KEPT_ROUNDS)

    def play(self) -> None:
        """Play `STEPS` moves on each board; the positions with their targets join those that are learned."""
        batch, generator = self._batch, self._generator
        cells, best, ended, at_random = [], [], [], []
        for _ in range(STEPS):
            values = action_values(self.network, batch)
            cells.append(cells_of(batch.observations()))
            best.append(values.max(1))
            at_random.append(generator.random(len(batch)) < RANDOM_MOVES)
            batch.play(np.where(at_random[-1], batch.random_actions(generator), values.argmax(1)))
            ended.append(batch.over)
            self.games += int(batch.over.sum())
            batch.restart(batch.over)
        best.append(action_values(self.network, batch).max(1))
        targets = targets_of(np.array(best), np.array(ended), np.array(at_random))
        self._rounds.append((np.concatenate(cells), targets.ravel()))

    def learn(self, rate: float) -> float:
        """Learn from the last rounds; return the mean square error."""
        cells, targets = (np.concatenate(arrays) for arrays in zip(*self._rounds, strict=True))
        errors = []
        for _ in range(LESSONS * len(self._batch) * STEPS // BATCH):
            some = self._generator.integers(len(cells), size=BATCH)
            turned = cells[some][:, self._generator.choice(SYMMETRIES)]
            errors.append(self.network.learn(turned, targets[some], rate))
        return float(np.mean(errors))


def share_of(network: Network, other: Network | None, pairs: int, generator: np.random.Generator) -> float:
    """Return the share of games that a network wins against another one, or against random moves.

    The two games of a pair have the same random opening, and each network begins in one of them.
    """
    openings = ChainReactionBatch(pairs)
    for _ in range(OPENING_MOVES):
        openings.play(openings.random_actions(generator))
    won = 0
    for mine in (0, 1):
        batch = openings.take(np.arange(pairs))
        player = 0
        while not batch.over.all():
            mover = network if player == mine else other
            running = np.flatnonzero(~batch.over)
            actions = batch.random_actions(generator)
            if mover:
                actions[running] = action_values(mover, batch.take(running)).argmax(1)
            batch.play(actions)
            player = 1 - player
        won += int((batch.winner == mine).sum())
    return won / (2 * pairs)


def train(rounds: int, seed: int) -> None:
    """Train a network, compare it every `COMPARED_AFTER` rounds with the best one before, and save the best one."""
    generator = np.random.default_rng(seed)
    play = SelfPlay(Network.random(generator), generator)
    shutil.rmtree(CHECKPOINTS, ignore_errors=True)
    CHECKPOINTS.mkdir()
    best = Network([layer.copy() for layer in play.network.layers])
    best.save(CHECKPOINTS / "00000.npz", 0, 0)
    print("CPU s   round   games   error   won against the best / random moves")
    for number in range(1, rounds + 1):
        play.play()
        error = play.learn(LEARNING_RATE * (1 - 0.9 * number / rounds))
        if number % COMPARED_AFTER == 0 or number == rounds:
            seconds = process_time()
            shares = [share_of(play.network, other, 64, generator) for other in (best, None)]
            if shares[0] >= 0.5:
                best = Network([layer.copy() for layer in play.network.layers])
                best.save(WEIGHTS, seconds, play.games)
                best.save(CHECKPOINTS / f"{number:05}.npz", seconds, play.games)
            print(
                f"{seconds:5.0f} {number:7} {play.games:7,} {error:7.4f}   {shares[0]:.0%} / {shares[1]:.0%}",
                flush=True,
            )


def main() -> int:
    parser = argparse.ArgumentParser(description="Train a network for chain_reaction by self-play.")
    parser.add_argument("--rounds", type=int, default=120, metavar="N", help="so many rounds (120)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="the same one gives the same network (1)")
    arguments = parser.parse_args()
    try:
        train(arguments.rounds, arguments.seed)
    except KeyboardInterrupt:
        print(f"Stopped. The best network is in {WEIGHTS.name}, if a comparison was made.")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
