"""Judge each move of a game that was played: how much did it give away against the best move that a search finds?

Near the end a position is searched exhaustively (`solve`): its value is exact. In games without an end in sight, a
search to a growing depth looks for a proof instead (`prove`). Before that, Monte Carlo tree search
(`getstep_bots.mcts`) looks for the best move. The positions after the best move and after the played one are then
searched for equally long, and their values are compared. Both have an interval, because simulated games are random.

In: a game of any kind with the interface of `getstep_engines`, and its turns. Out: a `JudgedMove` for each move. It
must not know replays, records or terminals: the commands that show an analysis read and write those.

A value is the expected result from -1 (lost) over 0 (equal) to 1 (won). Where playouts stop early (see
`getstep_bots.mcts`), it is the engine's estimate in place of a result.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Iterable, Sequence
from dataclasses import dataclass
from math import inf, sqrt
from operator import itemgetter
from random import Random
from time import perf_counter
from typing import Any, Literal

from getstep_engines import Game, Player, State

from .mcts import A_FEW_MOVES, TO_THE_END, Node, moves_run_out, simulate

SECONDS = 60.0
"""The default time for a game, on one core."""

TURNING_POINTS = 3

Clock = Callable[[], float]
_OTHER: tuple[Player, Player] = (1, 0)

_Z = 1.96  # of the normal distribution, for 95 %
_MOST_NODES = 100_000
"""An exhaustive search is only tried if it will look at about so many positions: some 30 µs each."""
_SOLVE_SHARE = 0.4  # of a position's time: if the search does not end, the rest is left for playouts
_SEARCH_SHARE = (
    0.4  # of the time that is left without a solution, to find the best move; the rest compares two positions
)
_REFUTE_SHARE = 0.1  # of a position's time, to look for a winning reply to the moves that were visited most
_CANDIDATES = 4
_FIRST_PASS = 0.5  # of all time: equal shares; the rest goes to the positions where most seems to be given away
_SECOND_PASS_MOVES = 8
_LINE_MOVES = 6
_FEWEST_RESULTS = 8  # under this, an interval from the results' own spread would be far too narrow


@dataclass(frozen=True)
class Interval:
    """A value with the bounds between which it lies with 95 % confidence; all three are equal if it is exact."""

    value: float
    low: float
    high: float

    @property
    def exact(self) -> bool:
        """True if the value is known, not estimated."""
        return self.low == self.high

    def __neg__(self) -> Interval:
        return Interval(-self.value, -self.high, -self.low)


@dataclass(frozen=True)
class JudgedMove:
    """A move that was played, beside the best one that was found. Values are for the player who moved.

    Args:
        number: of the turn, from 1.
        player: 0 for the first player, 1 for the second.
        played: the move.
        best: the best move that was found.
        line: ``best`` and the moves that follow it in the search, at most 6.
        played_value: the value of the position after ``played``.
        best_value: the value of the position after ``best``.
    """

    number: int
    player: Player
    played: Any
    best: Any
    line: tuple[Any, ...]
    played_value: Interval
    best_value: Interval

    @property
    def given_away(self) -> Interval:
        """How much better ``best`` is, from 0 to 2."""
        if _same(self.played, self.best):
            return Interval(0.0, 0.0, 0.0)
        best, played = self.best_value, self.played_value
        difference = best.value - played.value
        spread = sqrt((best.high - best.low) ** 2 + (played.high - played.low) ** 2) / 2
        return Interval(max(0.0, difference), max(0.0, difference - spread), max(0.0, difference + spread))

    @property
    def sure(self) -> bool:
        """True if the interval of `given_away` does not reach 0: the best move is better, not only luckier."""
        return self.given_away.low > 0 or _same(self.played, self.best)


def turning_points(moves: Sequence[JudgedMove], most: int = TURNING_POINTS) -> list[JudgedMove]:
    """Return the moves that gave away most, the largest first: those that are sure before those that are not."""
    found = [move for move in moves if move.given_away.value > 0]
    return sorted(found, key=lambda move: (-move.given_away.low, -move.given_away.value))[:most]


TurnKind = Literal["move", "fault"]


def judge(
    game: Game,
    options: dict[str, int],
    turns: Iterable[tuple[TurnKind, Any]],
    *,
    seconds: float = SECONDS,
    on_move: Callable[[int, int], None] = lambda _done, _all: None,
    seed: object = None,
    only: Container[int] | None = None,
    clock: Clock = perf_counter,
) -> list[JudgedMove]:
    """Judge each move of a game, or some of them.

    Args:
        game: the rules.
        options: of the game.
        turns: the moves and the faults in order; passes are left out.
        seconds: the time for all moves together. Much less than 10 ms for each makes every interval wide.
        on_move: called before each position with the positions that are done, and with all of them; a position may
            come twice.
        seed: of the random numbers; the same time still gives other results on a faster computer.
        only: the numbers of the turns to judge, from 1; None for all.
        clock: measures the time, in seconds. ``time.process_time`` gives the same values on a busy computer.

    Raises:
        ValueError: the rules do not allow one of the turns; IllegalMove is one of them.
    """
    state = game.start(**options)
    positions: dict[int, tuple[State, Any]] = {}
    for number, (kind, move) in enumerate(turns, 1):
        if kind == "fault":
            state.fault()
            continue
        if not state.is_legal(move):
            raise ValueError(f"move {number}: {game.name} does not allow it ({move!r:.80})")
        if only is None or number in only:
            positions[number] = (state.copy(), move)
        state.play(move)
    judges = _Judge(moves_run_out(game.name), Random(repr(seed) if seed else None), clock)
    steps = len(positions) + min(_SECOND_PASS_MOVES, len(positions))
    judged: dict[int, JudgedMove] = {}
    for done, (number, (position, move)) in enumerate(positions.items()):
        on_move(done, steps)
        judged[number] = judges.judge(number, position, move, seconds * _FIRST_PASS / len(positions))
    # Where the search is not sure yet, and much may have been given away, a longer look pays most.
    doubtful = [found for found in judged.values() if not (found.best_value.exact and found.played_value.exact)]
    doubtful.sort(key=lambda found: -found.given_away.high)
    for done, found in enumerate(doubtful[:_SECOND_PASS_MOVES], len(positions)):
        on_move(done, steps)
        share = seconds * (1 - _FIRST_PASS) / min(_SECOND_PASS_MOVES, len(doubtful))
        judged[found.number] = judges.judge(found.number, *positions[found.number], share)
    return list(judged.values())


def evaluate(
    game: Game, state: State, *, seconds: float, seed: object = None, clock: Clock = perf_counter
) -> Interval:
    """Return the value of a position, which is not over, for the player on turn.

    Args:
        game: the rules.
        state: the position; it is not changed.
        seconds: the time for the search.
        seed: of the random numbers; the same time still gives other results on a faster computer.
        clock: as for `judge`.
    """
    return _Judge(moves_run_out(game.name), Random(repr(seed) if seed else None), clock).evaluate(state, seconds)


class OutOfTimeError(Exception):
    """The exhaustive search of a position has not ended in time."""


def solve(state: State, deadline: float, clock: Clock = perf_counter) -> tuple[int, tuple[Any, ...]]:
    """Return the result of a position for the player on turn (-1, 0 or 1), and the moves that lead to it.

    The position is searched to all its ends, with alpha-beta pruning.

    Args:
        state: a position that is not over.
        deadline: by ``clock``.
        clock: in seconds.

    Raises:
        OutOfTimeError: the search has not ended by then.
    """
    return _Solver(deadline, clock).best(state)


def prove(state: State, deadline: float, clock: Clock = perf_counter) -> tuple[int, tuple[Any, ...]]:
    """Return what `solve` does, if so few moves settle it that a search with a growing depth finds the proof.

    This is for games without an end in sight: it proves a win in some moves, and does not look at the rest.

    Raises:
        OutOfTimeError: there is no proof by then.
    """
    solver = _Solver(deadline, clock)
    while True:
        found = solver.deepened(state)
        if found is not None:
            return found


class _Solver:
    """Searches with alpha-beta pruning: to all ends, or to a horizon, behind which it assumes a result."""

    def __init__(self, deadline: float, clock: Clock) -> None:
        self._deadline = deadline
        self._clock = clock
        self._table: dict[Hashable, tuple[int, int, tuple[Any, ...]]] = {}
        """The least and the greatest result of positions that were searched to all ends, and their line."""
        self._depth = 0
        self._loser: Player | None = None
        """The player who is assumed to lose behind the horizon; None if there is no horizon."""
        self._cut = False

    def deepened(self, state: State) -> tuple[int, tuple[Any, ...]] | None:
        """Search one move deeper than before; return the result if it is the same whatever follows, else None."""
        self._depth += 1
        at_least = self._assuming(state.to_move, state)
        if at_least[0] == 1 or not self._cut:
            return at_least
        at_most = self._assuming(_OTHER[state.to_move], state)
        return at_most if at_most[0] in (-1, at_least[0]) else None

    def _assuming(self, loser: Player, state: State) -> tuple[int, tuple[Any, ...]]:
        self._loser, self._cut = loser, False
        return self.best(state, depth=self._depth)

    def best(self, state: State, alpha: int = -1, beta: int = 1, depth: float = inf) -> tuple[int, tuple[Any, ...]]:
        if self._clock() > self._deadline:
            raise OutOfTimeError
        player = state.to_move
        if not depth:
            self._cut = True
            return (-1 if player == self._loser else 1), ()
        key = state.key() if depth == inf else None  # to another depth, the result may be another one
        least, greatest, line = self._table.get(key, (-1, 1, ())) if key is not None else (-1, 1, ())
        if least >= beta or least == greatest:
            return least, line
        if greatest <= alpha:
            return greatest, line
        found: tuple[int, tuple[Any, ...]] = (-2, ())
        highest = alpha
        for move, later in _ordered(state):
            value, line = self._value(later, player, highest, beta, depth - 1)
            if value > found[0]:
                found = (value, (move, *line))
            highest = max(highest, value)
            if highest >= beta:
                break
        if key is not None:
            value = found[0]
            self._table[key] = (value if value > alpha else least, value if value < beta else greatest, found[1])
        return found

    def _value(
        self, later: State, player: Player, alpha: int, beta: int, depth: float
    ) -> tuple[int, tuple[Any, ...]]:
        """Return the result of a position for the player who has just moved, and the moves that follow."""
        if later.outcome is not None:
            return _result(later, player), ()
        if later.to_move == player:  # the other player has passed
            return self.best(later, alpha, beta, depth)
        value, line = self.best(later, -beta, -alpha, depth)
        return -value, line


def _ordered(state: State) -> list[tuple[Any, State]]:
    """Return the moves with the positions after them, the likely best first: then most others are cut off."""
    sign = 1 if state.to_move == 0 else -1
    found = []
    for move in state.legal_moves():
        later = state.copy()
        later.play(move)
        found.append((sign * later.estimate(), move, later))
    found.sort(key=itemgetter(0), reverse=True)
    return [(move, later) for _, move, later in found]


def _result(state: State, player: Player) -> int:
    winner = state.outcome.winner if state.outcome else None
    return 0 if winner is None else 1 if winner == player else -1


class _Judge:
    """Judges one position after another."""

    def __init__(self, moves_run_out: bool, dice: Random, clock: Clock) -> None:
        self._moves_run_out = moves_run_out
        self._style = TO_THE_END if moves_run_out else A_FEW_MOVES
        self._dice = dice
        self._clock = clock

    def judge(self, number: int, state: State, played: Any, seconds: float) -> JudgedMove:
        began = self._clock()
        found = self._known(state, seconds * _SOLVE_SHARE)
        if found is None:
            root, _ = self._search(state, (seconds - (self._clock() - began)) * _SEARCH_SHARE)
            best = self._choice(state, root, seconds * _REFUTE_SHARE)
            share = (seconds - (self._clock() - began)) / (1 if _same(best, played) else 2)
            best_value, following = self._value(state, best, share)
            line = (best, *following)
        else:
            best_value, line = found
        if _same(line[0], played):
            played_value, following = best_value, line[1:]
        else:
            played_value, following = self._value(state, played, seconds - (self._clock() - began))
        if played_value == best_value and best_value.exact:  # as good as any: then it is the best move, too
            line = (played, *following)
        return JudgedMove(number, state.to_move, played, line[0], line[:_LINE_MOVES], played_value, best_value)

    def evaluate(self, state: State, seconds: float) -> Interval:
        """Return the value of a position for the player on turn."""
        began = self._clock()
        found = self._known(state, seconds * _SOLVE_SHARE)
        return found[0] if found else self._sampled(state, seconds - (self._clock() - began))[0]

    def _choice(self, state: State, root: Node, seconds: float) -> Any:
        """Return the move that was visited most among those to which no winning reply is found."""
        by_visits = sorted(range(len(root.moves)), key=root.visits.__getitem__, reverse=True)
        for number in by_visits[:_CANDIDATES]:
            later = state.copy()
            later.play(root.moves[number])
            if later.outcome is None:
                found = self._known(later, seconds / _CANDIDATES)
                if found is not None and found[0].value == (1 if later.to_move != state.to_move else -1):
                    continue
            return root.moves[number]
        return root.moves[by_visits[0]]

    def _known(self, state: State, seconds: float) -> tuple[Interval, tuple[Any, ...]] | None:
        """Return the exact value of a position for the player on turn, and the moves that lead to it.

        None if the search has not found it in time, or would certainly not.
        """
        if self._moves_run_out and self._nodes(state) > _MOST_NODES:
            return None
        search = solve if self._moves_run_out else prove
        try:
            value, line = search(state, self._clock() + seconds, self._clock)
        except OutOfTimeError:
            return None
        return Interval(value, value, value), line

    def _nodes(self, state: State) -> float:
        """Guess how many positions an exhaustive search looks at, from one random game; infinity for very many.

        Pruning leaves about the square root of the whole tree.
        """
        state, nodes = state.copy(), 1.0
        while state.outcome is None and nodes <= _MOST_NODES:
            moves = list(state.legal_moves())
            nodes *= sqrt(len(moves))
            state.play(self._dice.choice(moves))
        return inf if state.outcome is None else nodes

    def _value(self, state: State, move: Any, seconds: float) -> tuple[Interval, tuple[Any, ...]]:
        """Return the value of a move for the player who makes it, and the moves that follow in the search."""
        deadline = self._clock() + seconds
        later = state.copy()
        later.play(move)
        if later.outcome is not None:
            result = float(_result(later, state.to_move))
            return Interval(result, result, result), ()
        value, line = self._known(later, seconds * _SOLVE_SHARE) or self._sampled(later, deadline - self._clock())
        return (value if later.to_move == state.to_move else -value), line

    def _sampled(self, state: State, seconds: float) -> tuple[Interval, tuple[Any, ...]]:
        root, results = self._search(state, seconds)
        # The first half of the simulated games only finds out which moves are good.
        value = _interval(results[len(results) // 2 :])
        return (value if state.to_move == 0 else -value), tuple(_line(root))

    def _search(self, state: State, seconds: float) -> tuple[Node, list[float]]:
        """Simulate games from ``state``; return the tree, and the results for the first player in their order."""
        deadline = self._clock() + seconds
        root = Node(state)
        results: list[float] = []
        while not results or self._clock() < deadline:
            results.append(simulate(root, state, self._style, self._dice)[0])
        return root, results


def _line(root: Node) -> list[Any]:
    """Return the moves that the search looked at most, one after the other."""
    line: list[Any] = []
    node: Node | None = root
    while node is not None and any(node.visits) and len(line) < _LINE_MOVES:
        chosen = node.visits.index(max(node.visits))
        line.append(node.moves[chosen])
        node = node.children.get(chosen)
    return line


def _interval(results: Sequence[float]) -> Interval:
    count = len(results)
    mean = sum(results) / count
    if count < _FEWEST_RESULTS:
        return Interval(mean, -1.0, 1.0)
    # One more win and one more loss than there were: else ten wins in a row would have no spread at all.
    squares = sum((result - mean) ** 2 for result in results) + (1 - mean) ** 2 + (1 + mean) ** 2
    spread = _Z * sqrt(squares / (count + 1)) / sqrt(count)
    return Interval(mean, max(-1.0, mean - spread), min(1.0, mean + spread))


def _same(one: Any, other: Any) -> bool:
    """Return True if two moves are the same, be they lists as from the wire or tuples."""
    return bool(_tuples(one) == _tuples(other))


def _tuples(move: Any) -> Any:
    return tuple(map(_tuples, move)) if isinstance(move, (list, tuple)) else move
