"""The rules of the games: pure, without I/O and without a clock.

>>> from getstep_engines import GAMES
>>> state = GAMES["hop"].start()
>>> state.play([(2, 2), (2, 3)])
>>> state.to_move
1
>>> state.play([(2, 3), (2, 4)])
Traceback (most recent call last):
getstep_engines._game.IllegalMove: (2, 3) is not one of White's pieces, a move starts at one

The rules of a game, and what was decided where its original leaves a question open, are in the docstring of its
module: `longest_path`, `chain_reaction`, `pseudo_tonga`, `hop`, `linkage`.

Searching
---------

A bot may search with the engines that judge it. This one plays random games for as long as it may think, and
takes the move that won most of them:

>>> import random, time
>>> def random_winner(state):
...     while state.outcome is None:
...         state.play(random.choice(list(state.legal_moves())))
...     return state.outcome.winner
>>> def best_move(state, seconds):
...     moves = list(state.legal_moves())
...     wins = [0] * len(moves)
...     deadline = time.perf_counter() + seconds
...     while time.perf_counter() < deadline:
...         number = random.randrange(len(moves))
...         trial = state.copy()
...         trial.play(moves[number])
...         wins[number] += random_winner(trial) == state.to_move
...     return moves[wins.index(max(wins))]
>>> def get_step(board, is_black):
...     return best_move(GAMES["linkage"].from_board(board, is_black), seconds=1.0)
>>> state.is_legal(best_move(state, seconds=0.01))
True

From the start it plays about 6,500 such games of linkage in a second, 2,600 of chain_reaction, 2,300 of
longest_path, 6,900 of pseudo_tonga and 250 of hop. Random games of hop lead nowhere: there, and wherever a search
stops before the game does, ``state.estimate()`` guesses who is ahead. `getstep_bots.mcts` is a stronger bot of
this kind, for every game.

Measured with ``python -m benchmarks.engines`` on one core of a shared two-core machine with Python 3.11, beside
the same rules on nested lists:

    game            operation                                             µs   plain µs  ratio
    longest_path    scoring a full random board                        76.63     2125.5   27.7
    chain_reaction  a move of a random game, cascades included          3.09      104.3   33.7
    pseudo_tonga    scoring a full random 16×16 board                  45.68      451.5    9.9
    hop             is_legal of a path of four hops                     2.32        2.3    1.0
    hop             whether a player has any legal move                 0.30        4.4   14.7
    linkage         all legal moves of a position after 10 moves        4.63       70.0   15.1

A board is a whole number with a bit for each square (`_bits`), so that what happens on all squares is one
operation; a byte of it picks its moves from a table (`_tables`); and ``copy()`` copies a few numbers.

A new game
----------

A new game is a module, with a subclass of `State` and a `Game` made of it, and a line in `_registry`. Being there
enrols it in the tests of every game, which then ask for its rules on plain lists, its penalty and a recorded
game; in the demo; and in the tournament.
"""

from ._game import Game, IllegalMove, Option, Outcome, Player, State, TimeControl
from ._registry import GAMES

__all__ = ["GAMES", "Game", "IllegalMove", "Option", "Outcome", "Player", "State", "TimeControl"]
