"""A bot for every game that uses Monte Carlo tree search, through the public interface of the engines only.

Try it: ``getstep play mcts.py --team 7``

It simulates a few thousand games and then plays the move with the most visits. Each simulation starts in the
current position, follows the search *tree*, adds one move to it and continues with random moves (a *playout*). The
result is added to the statistics of each move on the path. The tree policy selects the move with the highest sum
of:

- the average of its results (the exploitation term), combined with
- the average result of the games in which the same player played the same move *later*: "all moves as first"
  (AMAF), as in RAVE. It is less exact but known much earlier, and has the weight of ``BORROWED`` own results;
- an exploration bonus for moves with few visits.

In games whose moves run out, such as games on a board that fills up, a playout goes to the end of the game, and
random moves show well which player is ahead. In games such as hop, random moves do not approach the end. There the
playout stops after a few moves, and the engine estimates which player is ahead.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import sqrt
from random import Random
from time import perf_counter
from typing import TYPE_CHECKING, Any

from getstep_engines import GAMES, State

if TYPE_CHECKING:
    from getstep import Turn

LONGEST_THINK = 1.0
"""The longest time for a move, in seconds."""

SHARES = {"move": 1 / 5, "budget": 1 / 40}
"""The share of the remaining time to use for a move, by the kind of time control.

A fifth of a time for each move leaves a wide margin for the network and for other programs. A fortieth of a budget
lasts for a whole game, since each share is taken from what is left."""

BORROWED = 20
"""The weight of a move's AMAF average, in own results."""


@dataclass(frozen=True)
class Style:
    """The parameters of a search: the number of random moves in a playout, and the bonus of a move without visits.

    The bonus has the scale of the differences between results: they are -1 and 1 at the end, and closer before.
    """

    longest_playout: int | None
    bonus: float


TO_THE_END = Style(None, bonus=0.2)
A_FEW_MOVES = Style(6, bonus=0.02)


def get_step(board: list[list[int]], is_black: bool, turn: Turn) -> Any:
    share = SHARES[GAMES[turn.game].time_control.kind]
    seconds = min(LONGEST_THINK, share * turn.time_left_ms / 1000)
    position = GAMES[turn.game].from_board(board, is_black)
    move, value = search(position, seconds, TO_THE_END if moves_run_out(turn.game) else A_FEW_MOVES)
    if value is not None:
        note_estimate(value)
    return move


def note_estimate(value: float) -> None:
    """Note what this bot expects: replays show it, and a duel may end a match by it."""
    from getstep.notes import current  # here: the search itself needs no client

    if (notes := current()) is not None:  # None if no judge asks, as in a test
        notes.estimate(value)


@cache
def moves_run_out(game: str) -> bool:
    """Return True if few moves are left near the end of a random game: under a quarter of those at the start."""
    dice = Random(game)
    state = GAMES[game].start()
    at_first = at_last = len(list(state.legal_moves()))
    while state.outcome is None:
        moves = list(state.legal_moves())
        at_last = len(moves)
        state.play(dice.choice(moves))
    return at_last < at_first / 4


def search(position: State, seconds: float, style: Style) -> tuple[Any, float | None]:
    """Return the best move found within ``seconds``, and its mean result for the player on turn, from -1 to 1.

    A move that is the only one is not searched: its result is None.
    """
    deadline = perf_counter() + seconds
    dice = Random()
    root = Node(position)
    while len(root.moves) > 1 and perf_counter() < deadline:
        simulate(root, position, style, dice)
    best = root.visits.index(max(root.visits))
    return root.most_visited, root.totals[best] / root.visits[best] if root.visits[best] else None


Played = tuple[list[Any], list[Any]]
"""The moves of both players in one game."""


def simulate(root: Node, position: State, style: Style, dice: Random) -> tuple[float, int]:
    """Simulate a game from the position of the root; return its result for the first player and its length."""
    state = position.copy()
    game: Played = ([], [])
    path = descend(root, state, game)
    play_out(state, game, style.longest_playout, dice)
    result = state.estimate()
    for node, number in path:
        node.learn(number, result, game, style.bonus)
    return result, len(game[0]) + len(game[1])


class Node:
    """A position in the tree, with statistics of each legal move from the view of the player on turn.

    ``moves`` are the legal moves in the order in which they are tried, if it matters.
    """

    def __init__(self, state: State, moves: list[Any] | None = None) -> None:
        self.player = state.to_move
        self.moves = list(state.legal_moves()) if moves is None else moves
        self.numbers = {tuple(move): number for number, move in enumerate(self.moves)}
        self.children: dict[int, Node] = {}
        self.visits = [0] * len(self.moves)
        self.totals = [0.0] * len(self.moves)
        self.later_visits = [0] * len(self.moves)
        self.later_totals = [0.0] * len(self.moves)
        self.values = [1.0] * len(self.moves)  # so that each move is tried once

    @property
    def most_visited(self) -> Any:
        """The move with the most visits; of several, the first."""
        return self.moves[self.visits.index(max(self.visits))]

    def expect(self, values: list[float], bonus: float) -> None:
        """Give each move a value before its first visit, as if it were a move's AMAF average."""
        self.later_visits = [BORROWED] * len(values)
        self.later_totals = [BORROWED * value for value in values]
        self.values = [value + bonus for value in values]

    def learn(self, number: int, result: float, game: Played, bonus: float) -> None:
        """Add a result to the move played here, and to the AMAF statistics of the player's moves from here on."""
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
                self.values[later] = average + bonus / sqrt(visits + 1)


def descend(node: Node, state: State, game: Played) -> list[tuple[Node, int]]:
    """Play from the root of the tree to a move that is new to it; return the path, node by node."""
    path = []
    while True:
        number = node.values.index(max(node.values))
        path.append((node, number))
        game[node.player].append(tuple(node.moves[number]))
        state.play(node.moves[number])
        if state.outcome or not node.visits[number]:
            return path
        if number not in node.children:
            node.children[number] = Node(state)
        node = node.children[number]


def play_out(state: State, game: Played, longest: int | None, dice: Random) -> None:
    """Play random moves to the end of the game, or at most ``longest`` of them."""
    played = 0
    while state.outcome is None and played != longest:
        moves = list(state.legal_moves())
        move = moves[int(dice.random() * len(moves))]
        game[state.to_move].append(tuple(move))
        state.play(move)
        played += 1
