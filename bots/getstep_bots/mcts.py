"""Plays every game by Monte Carlo tree search, through the engines' interface alone.

Try it: ``getstep play mcts.py --team 7``
It needs the host's package too: see README.md, "Take part".

It plays a few thousand games in its head and then the move that it tried most often. Each of them starts in
the present position, follows the *tree* of what is known so far, adds one move to it and goes on with random
moves (a *playout*). The result is written down for each move on the way. In the tree the next move is the one
that promises most:

- its results so far, as an average;
- what happened in the games in which the same player played the same move *later*, which is not quite the
  same but is known much sooner ("all moves as first"); it counts as much as ``BORROWED`` results of its own;
- a bonus for moves tried seldom, so that no good one is overlooked.

Where moves run out, as on a board that fills up, a playout goes to the end of the game, and random moves tell
quite well who stands better. Where they do not, as in hop, random moves lead nowhere: the playout stops after
a few of them, and the engine estimates who is ahead.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import sqrt
from random import Random
from time import perf_counter
from typing import Any

from getstep import Turn
from getstep_engines import GAMES, State

LONGEST_THINK = 1.0
"""Seconds for a move, at most."""

SHARES = {"move": 1 / 5, "budget": 1 / 40}
"""How much of the time left to use for a move, by whether it is the time for a move or for all of them."""

BORROWED = 20
"""How many results of its own outweigh what is known of a move from being played later."""


@dataclass(frozen=True)
class Style:
    """How to search: the random moves after which a playout stops, and the bonus for a move never tried.

    The bonus is of the size in which results differ: they are -1 and 1 in the end, and much closer before.
    """

    longest_playout: int | None
    bonus: float


TO_THE_END = Style(None, bonus=0.2)
A_FEW_MOVES = Style(6, bonus=0.02)


def get_step(board: list[list[int]], is_black: bool, turn: Turn) -> Any:
    share = SHARES[GAMES[turn.game].time_control.kind]
    seconds = min(LONGEST_THINK, share * turn.time_left_ms / 1000)
    position = GAMES[turn.game].from_board(board, is_black)
    return search(position, seconds, TO_THE_END if moves_run_out(turn.game) else A_FEW_MOVES)


@cache
def moves_run_out(game: str) -> bool:
    """Whether in the end of a random game there are few moves left to choose from."""
    dice = Random(game)
    state = GAMES[game].start()
    at_first = at_last = len(list(state.legal_moves()))
    while state.outcome is None:
        moves = list(state.legal_moves())
        at_last = len(moves)
        state.play(dice.choice(moves))
    return at_last < at_first / 4


def search(position: State, seconds: float, style: Style) -> Any:
    """The best move found in so many seconds."""
    deadline = perf_counter() + seconds
    dice = Random()
    root = Node(position)
    while len(root.moves) > 1 and perf_counter() < deadline:
        state = position.copy()
        game: Played = ([], [])
        path = descend(root, state, game)
        play_out(state, game, style.longest_playout, dice)
        result = state.estimate()
        for node, number in path:
            node.learn(number, result, game, style.bonus)
    return root.moves[root.visits.index(max(root.visits))]


Played = tuple[list[Any], list[Any]]
"""The moves of both players in one game."""


class Node:
    """A position in the tree: for each legal move what is known of it, from its player's point of view."""

    def __init__(self, state: State) -> None:
        self.player = state.to_move
        self.moves = list(state.legal_moves())
        self.numbers = {tuple(move): number for number, move in enumerate(self.moves)}
        self.children: dict[int, Node] = {}
        self.visits = [0] * len(self.moves)
        self.totals = [0.0] * len(self.moves)
        self.later_visits = [0] * len(self.moves)
        self.later_totals = [0.0] * len(self.moves)
        self.promises = [1.0] * len(self.moves)  # at first each promises a win

    def learn(self, number: int, result: float, game: Played, bonus: float) -> None:
        """Write a result down, for the move played here and for all that its player played from here on."""
        if self.player == 1:
            result = -result
        self.visits[number] += 1
        self.totals[number] += result
        for move in game[self.player]:
            later = self.numbers.get(move)
            if later is not None:
                self.later_visits[later] += 1
                self.later_totals[later] += result
                borrowed = BORROWED * self.later_totals[later] / self.later_visits[later]
                visits = self.visits[later]
                average = (self.totals[later] + borrowed) / (visits + BORROWED)
                self.promises[later] = average + bonus / sqrt(visits + 1)


def descend(node: Node, state: State, game: Played) -> list[tuple[Node, int]]:
    """Play from the tree's root to a move that is new to it; what was played, node by node."""
    path = []
    while True:
        number = node.promises.index(max(node.promises))
        path.append((node, number))
        game[node.player].append(tuple(node.moves[number]))
        state.play(node.moves[number])
        if state.outcome or not node.visits[number]:
            return path
        if number not in node.children:
            node.children[number] = Node(state)
        node = node.children[number]


def play_out(state: State, game: Played, longest: int | None, dice: Random) -> None:
    """Play random moves to the end of the game, or ``longest`` of them."""
    played = 0
    while state.outcome is None and played != longest:
        moves = list(state.legal_moves())
        move = moves[int(dice.random() * len(moves))]
        game[state.to_move].append(tuple(move))
        state.play(move)
        played += 1
