"""The search of the bots `search_100` to `search_100000`, the levels 3 to 6: it counts positions instead of time.

A search with a time limit is stronger on a faster computer, and weaker while other programs run. These bots visit
the same number of positions on each computer, so a level has the same strength everywhere, and its rating can be
measured once. The same turn gives the same move again. The numbers are those that take about 1, 10, 100 and 1,000
ms on a laptop.

The search is that of `getstep_bots.mcts`. Two things differ:

- Before the search, each move has the value that `greedy` gives it: a short search then looks at good moves first.
- In all games a playout stops after a few moves, and a short search has no playouts: the value of a new position is
  the game's own estimate. So it sees more positions, and there is no chance in their values. A long search would be
  weaker that way: the mean of many playouts is better than a single estimate.

Only the time limit of a match comes first: a search stops when it has taken a share of the time left. On a computer
that is too slow, or too busy, the bot then plays weaker than its level, but does not lose on time.
"""

from __future__ import annotations

from random import Random
from time import perf_counter
from typing import TYPE_CHECKING, Any

from getstep_bots.greedy import value_after
from getstep_bots.mcts import A_FEW_MOVES, Node, Style, simulate
from getstep_engines import GAMES, State

if TYPE_CHECKING:
    from getstep import Turn

SHORT = 1_000
"""The positions of the longest search without playouts.

In 12 pairs each of four games, 1,000 without playouts were 90 to 230 Elo above 1,000 with them: surely so in hop
and chain_reaction. But in 20 pairs of longest_path, 10,000 without playouts were 147 Elo below 1,000."""

NO_PLAYOUT = Style(longest_playout=0, bonus=A_FEW_MOVES.bonus)

SHARES = {"move": 1 / 2, "budget": 1 / 25}
"""The largest share of the remaining time for a move, by the kind of time control."""


def counted_move(board: list[list[int]], is_black: bool, turn: Turn, positions: int) -> Any:
    """Return the best move that a search finds which visits this number of positions.

    Each simulation visits the position of the turn and those on its path, up to a new one or the end of a playout.
    The last simulation is finished, so a few positions more may be visited.
    """
    game = GAMES[turn.game]
    deadline = perf_counter() + SHARES[game.time_control.kind] * turn.time_left_ms / 1000
    dice = Random(f"{turn.match} {turn.move_number} {board}")  # the same turn gives the same move again
    position = game.from_board(board, is_black)
    found = _ranked(position, game.from_board(board, not is_black))
    root = Node(position, [move for _, move in found])
    style = NO_PLAYOUT if positions <= SHORT else A_FEW_MOVES
    root.expect([value for value, _ in found], style.bonus)
    while len(found) > 1 and positions > 0 and perf_counter() < deadline:
        positions -= 1 + simulate(root, position, style, dice)[1]
    return root.most_visited


def _ranked(mine: State, theirs: State) -> list[tuple[float, Any]]:
    """Return the moves with their values, in the order in which `greedy` prefers them."""

    def taken(move: Any) -> float:
        return value_after(theirs, move) if theirs.is_legal(move) else -1

    found = [(value_after(mine, move), move) for move in mine.legal_moves()]
    return sorted(found, key=lambda one: (one[0], taken(one[1])), reverse=True)
