"""The rules of the games: pure, without I/O and without a clock.

>>> from getstep_engines import GAMES
>>> state = GAMES["hop"].start()
>>> state.play([(2, 2), (2, 3)])
>>> state.to_move
1
>>> state.play([(2, 3), (2, 4)])
Traceback (most recent call last):
getstep_engines._game.IllegalMove: (2, 3) is not one of White's pieces; a move starts at one of them

The docstring of each game's module states its rules, and the decisions where the original rules are unclear:
`longest_path`, `chain_reaction`, `pseudo_tonga`, `hop`, `linkage`.

Searching
---------

A bot may search with the engines that judge it. This bot plays random games until its time is used up, and
returns the move that won most of them:

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
longest_path, 6,900 of pseudo_tonga and 250 of hop. Random games of hop hardly ever
reach a target region. There, and wherever a search stops before the end of the game, ``state.estimate()``
guesses which player is ahead. `getstep_bots.mcts` is a stronger bot of this kind, for every game.

Measured with ``python -m benchmarks.engines`` on one core of a shared two-core machine with Python 3.11. The
column `plain µs` is the same rules on nested lists:

    game            operation                                             µs   plain µs  ratio
    longest_path    scoring a full random board                        76.63     2125.5   27.7
    chain_reaction  a move of a random game, cascades included          3.09      104.3   33.7
    pseudo_tonga    scoring a full random 16×16 board                  45.68      451.5    9.9
    hop             is_legal of a path of four hops                     2.32        2.3    1.0
    hop             whether a player has any legal move                 0.30        4.4   14.7
    linkage         all legal moves of a position after 10 moves        4.63       70.0   15.1

A board is an integer with one bit for each square (`_bits`), so an operation on all squares is one operation on
integers. Legal moves are looked up in tables, a byte at a time (`_tables`). ``copy()`` copies a few
integers.

Drawing
-------

Each game says how it looks (`look`), so that a program can draw every game without knowing one. ``game.trace``
returns what a move does, step by step:

>>> game, state = GAMES["hop"], GAMES["hop"].start()
>>> game.look.piece(1).name, game.look.piece(1).shape
('black piece', 'disc')
>>> [step.touched.path for step in game.trace(state, [(2, 2), (2, 3)])]
[((2, 2), (2, 3))]
>>> game.score_line(state)
'pieces home: Black 0, White 0'

A new game
----------

A new game is a module with a subclass of `State` and a `Game`. One line in `_registry`, or an entry point of the
group ``getstep.games`` in another package, makes it a game as all others: `GAMES` has it, and with that the
commands, the bots, contests, reports and replays. `getstep_conformance.games` checks that it is
complete; `getstep-server` brings it.
"""

from ._game import SQUARE, Game, IllegalMove, Move, MoveForm, Option, Outcome, Player, Starter, State, TimeControl
from ._look_json import look_json, trace_json
from ._plugins import GROUP
from ._registry import GAMES, OPENSPIEL, Registry, UnknownGameError
from .look import Look, Piece, Region, Step, Touched

__all__ = [
    "GAMES",
    "GROUP",
    "OPENSPIEL",
    "SQUARE",
    "Game",
    "IllegalMove",
    "Look",
    "Move",
    "MoveForm",
    "Option",
    "Outcome",
    "Piece",
    "Player",
    "Region",
    "Registry",
    "Starter",
    "State",
    "Step",
    "TimeControl",
    "Touched",
    "UnknownGameError",
    "look_json",
    "trace_json",
]
