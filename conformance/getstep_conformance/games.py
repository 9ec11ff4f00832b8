"""Tests that every game has to pass, also one of another package.

    import pytest
    from getstep_conformance.games import CHECKS

    @pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
    def test_my_game(check):
        check(MY_GAME)

A check raises an AssertionError that says what is wrong. `check_game` runs all checks, for a package without
pytest. The checks know no rules: test those yourself, for example by the number of move sequences from the start
(*perft*).

Random games are played from a fixed seed, so a check gives the same result every time. None measures time; a game
that has too many turns or moves for a contest is reported by their numbers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, islice, pairwise
from random import Random
from typing import Any

from getstep_engines import Game, IllegalMove, Move, Option, Player, State

GAMES_EACH = 6
"""Random games for each way to start a game."""

MOST_TURNS = 2_000
"""Turns of a random game. At 5 s a turn, 2,000 turns can take three hours."""

MOST_MOVES = 20_000
"""Legal moves of a position. A bot that tries all of them needs 10 µs each, 0.2 s."""

MOST_SIDE = 128
"""Rows and columns of a board: the protocol has no longer array."""

_LONGEST_NAME = 64  # characters of a name in the protocol
_LONGEST_LINE = 110  # characters of a comment in the bot that `getstep new` writes

_DEEP: list[Any] = []
for _ in range(900):  # msgpack decodes at most 1,024 nested lists
    _DEEP = [_DEEP]

HOSTILE: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 2**64 - 1, 1.5, float("nan"), "", "Skip", "01", b"", b"\x00\x01", {}, {0: 0, 1: 1}),
    *([], [[]], [[[]]], [None], [None, None], (True, 0), (0, False), (0.0, 0), ("0", "0"), (0,), (0, 0, 0)),
    *((-1, 0), (0, -1), (0, 2**64 - 1), [[0, 0]], [[0, 0], [0, 0]], [[0, 0], [0.0, 1]], [[0, 0]] * 101),
    *(("R",), ("R", (0, 0)), ("R", (0, 0), (0, 0)), (b"R", (0, 0), (0, 1)), (["R"], (0, 0), (0, 1))),
    *(_DEEP, (0, _DEEP), [_DEEP, _DEEP], ("R", _DEEP, (0, 1)), {"a": _DEEP}, [float("inf"), 0], ["a" * 4000] * 2),
)
"""Objects that a broken or hostile client can send as a move."""

_WRONG_CELLS: tuple[Any, ...] = (9999, -9999, True, 0.0, None, "1", [1], 2**70)


@dataclass(frozen=True)
class Playout:
    """A random game: its moves, and a copy of the state before each of them and after the last."""

    moves: list[Move]
    states: list[State]

    def turns(self) -> list[int]:
        """Return for each state the turns before it, passes included."""
        return list(accumulate((1 + len(state.passed) for state in self.states[1:]), initial=0))

    def sample(self, most: int = 8) -> list[tuple[State, list[Move]]]:
        """Return some of the states, the first and the last among them, each with the moves that follow it."""
        numbers = {round(part * len(self.moves) / (most - 1)) for part in range(most)}
        return [(self.states[number], self.moves[number:]) for number in sorted(numbers)]


def ways_to_start(game: Game) -> list[dict[str, int]]:
    """Return the options' defaults, and each option's lowest and highest value."""
    extremes = [{o.name: value} for o in game.options.values() for value in (o.lowest, o.highest)]
    return [{}, *extremes]


def playouts(game: Game) -> Iterator[Playout]:
    """Yield random games from each way to start. Do not play on their states: they are shared."""
    for options in ways_to_start(game):
        for seed in range(GAMES_EACH):
            yield playout(game, seed, options)


def playout(game: Game, seed: int, options: Mapping[str, int]) -> Playout:
    """Return the random game of a seed. Do not play on its states: they are shared."""
    return _playout(_Key(game), seed, tuple(options.items()))


class _Key:
    """A game as a key of a cache: a Game cannot be hashed, because it has mappings."""

    def __init__(self, game: Game) -> None:
        self.game = game

    def __hash__(self) -> int:
        return hash(self.game.name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and other.game is self.game


@lru_cache(maxsize=256)
def _playout(key: _Key, seed: int, options: tuple[tuple[str, int], ...]) -> Playout:
    dice = Random(f"{key.game.name} {options} {seed}")
    state = key.game.start(**dict(options))
    moves: list[Move] = []
    states = [state.copy()]
    while state.outcome is None:
        legal = list(islice(state.legal_moves(), MOST_MOVES + 1))
        _expect(legal, "legal_moves() is empty although outcome is None", state)
        _expect(len(legal) <= MOST_MOVES, f"a position has more than {MOST_MOVES} legal moves", state)
        _expect(len(moves) < MOST_TURNS, f"a random game is not over after {MOST_TURNS} turns", state)
        moves.append(dice.choice(legal))
        state.play(moves[-1])
        states.append(state.copy())
    _expect(states[0].outcome is None, "playing changes a copy that was made before", states[0])
    return Playout(moves, states)


def seen(state: State) -> tuple[Any, ...]:
    """Return all that the interface shows of a state, to compare states."""
    moves = list(islice(state.legal_moves(), 500))
    return state.board(), state.to_move, state.passed, state.outcome, moves, state.estimate(), str(state)


def as_lists(move: Move) -> Any:
    """Return a move as the wire delivers it."""
    return [as_lists(item) for item in move] if isinstance(move, (list, tuple)) else move


def _expect(condition: object, problem: str, state: State | None = None) -> None:
    """Raise an AssertionError; unlike the statement, this also holds under ``python -O``."""
    if not condition:
        raise AssertionError(problem if state is None else f"{problem}; the position is\n{state}")


# --- the checks ---------------------------------------------------------------------------------------------------


def check_fields(game: Game) -> None:
    """The Game says all that people and commands need."""
    _expect(
        re.fullmatch(r"[a-z][a-z0-9_]*", game.name) and len(game.name) <= _LONGEST_NAME,
        f"name is {game.name!r}; expected at most {_LONGEST_NAME} of a-z, 0-9 and _, a letter first",
    )
    for field in ("title", "penalty", "summary", "rules"):
        _expect(getattr(game, field), f"{field} is empty")
    _expect(len(set(game.players)) == 2, f"players are {game.players!r}; expected two names")
    _expect(game.time_control.seconds > 0, f"time_control is {game.time_control}; expected more than 0 s")
    limit = game.turn_limit
    _expect(limit is None or (type(limit) is int and limit > 0), f"turn_limit is {limit!r}; expected turns or None")
    for name, option in game.options.items():
        _expect(isinstance(option, Option) and option.name == name, f"the option {name} has another name or type")
    _expect(game.scoring == "points" or game.differs, f"scoring is {game.scoring!r}, which needs differs=True")
    _expect(game.starter.goal and game.starter.board, "starter has no goal or no board")
    for hint in game.starter.hints:
        _expect(len(hint) <= _LONGEST_LINE, f"a hint of starter is longer than {_LONGEST_LINE}: {hint!r}")


def check_moves(game: Game) -> None:
    """``legal_moves``, ``is_legal`` and ``play`` agree, for tuples and lists, and a move has the game's form."""
    for played in playouts(game):
        for state, _ in played.sample():
            before, moves = seen(state), list(state.legal_moves())
            _expect(bool(moves) == (state.outcome is None), "legal_moves() must be empty at the end", state)
            _expect(len({repr(move) for move in moves}) == len(moves), "legal_moves() yields a move twice", state)
            for move in moves[:: 1 + len(moves) // 20]:
                _expect(game.move_form.fits(move), f"{move!r} does not have the form {game.move_form.parts}", state)
                _expect(state.is_legal(move), f"is_legal({move!r}) is False for a move of legal_moves()", state)
                _expect(state.is_legal(as_lists(move)), f"is_legal is False for {move!r} as lists", state)
                one, other = state.copy(), state.copy()
                one.play(move)
                other.play(as_lists(move))
                _expect(seen(one) == seen(other), f"{move!r} as lists leads to another position", state)
                _expect(seen(one) != before, f"{move!r} changes nothing", state)
            _expect(seen(state) == before, "playing on a copy changes the original", state)


def check_copies(game: Game) -> None:
    """A copy is independent, and plays on to the same end."""
    for played in playouts(game):
        for state, moves in played.sample(4):
            before, twin = seen(state), state.copy()
            for move in moves:
                twin.play(move)
            _expect(seen(twin) == seen(played.states[-1]), "a copy comes to another end", state)
            _expect(seen(state) == before, "playing on a copy changes the original", state)


def check_replays(game: Game) -> None:
    """The same moves from the start give the same positions: records are verified by that."""
    for options in ways_to_start(game):
        first = playout(game, 0, options)
        state = game.start(**options)
        for move, after in zip(first.moves, first.states[1:], strict=True):
            state.play(as_lists(move))
            _expect(seen(state) == seen(after), f"{move!r} gives another position when it is replayed", after)


def check_hostile_moves(game: Game) -> None:
    """``play`` raises nothing but IllegalMove for any object, and then changes nothing."""
    for played in playouts(game):
        for state, _ in played.sample(3):
            for move in HOSTILE:
                _check_judged(state, move)


def check_near_misses(game: Game) -> None:
    """Moves that differ in one place from a legal one are either legal for all three methods, or for none."""
    for played in playouts(game):
        dice = Random(f"near {game.name}")
        for state, following in played.sample(4):
            for move in following[:3]:
                for _ in range(20):
                    _check_judged(state, _near(as_lists(move), dice))


def _check_judged(state: State, move: Any) -> None:
    before, trial, shown = seen(state), state.copy(), f"{move!r:.80}"
    try:
        legal = state.is_legal(move)
    except Exception as error:
        raise AssertionError(f"is_legal({shown}) raises {error!r}; expected True or False") from error
    _expect(type(legal) is bool, f"is_legal({shown}) returns {legal!r}; expected True or False", state)
    try:
        trial.play(move)
    except IllegalMove as refusal:
        _expect(not legal, f"play({shown}) raises IllegalMove although is_legal is True", state)
        _expect(0 < len(str(refusal)) <= 1000, f"the message for {shown} has {len(str(refusal))} characters", state)
        _expect(seen(trial) == before, f"the illegal move {shown} changes the position", state)
    except Exception as error:
        raise AssertionError(f"play({shown}) raises {error!r}; expected IllegalMove") from error
    else:
        _expect(legal, f"play({shown}) accepts it although is_legal is False", state)
    _expect(seen(state) == before, f"is_legal({shown}) changes the position", state)


def _near(move: Any, dice: Random) -> Any:
    """Return a move as lists, changed in one place."""
    if not isinstance(move, list) or not move or dice.random() < 0.1:
        near = [move + 1, move - 1, -move, float(move), bool(move), str(move), [move]] if type(move) is int else []
        return dice.choice(near or HOSTILE)
    at = dice.randrange(len(move))
    changed = {
        "inside": [*move[:at], _near(move[at], dice), *move[at + 1 :]],
        "drop": move[:at] + move[at + 1 :],
        "double": move[: at + 1] + move[at:],
        "insert": [*move[:at], dice.choice(HOSTILE), *move[at:]],
        "reverse": move[::-1],
    }
    return changed[dice.choice(["inside", "inside", *changed])]


def check_turns(game: Game) -> None:
    """The players take turns. A player without a move is in ``passed``, and is not asked."""
    for played in playouts(game):
        for before, after in pairwise(played.states):
            _check_turn(before, after)


def _check_turn(before: State, after: State) -> None:
    if after.outcome is None:
        turns = [before.to_move, *after.passed, after.to_move]
        _expect(set(turns) <= {0, 1}, f"the turns are of {turns}; expected players 0 and 1", after)
        alternate = all(player != following for player, following in pairwise(turns))
        _expect(alternate, f"the turns are of {turns}, passes included; expected them in alternation", after)


def check_ends(game: Game) -> None:
    """An outcome is complete, and nothing happens after it."""
    for played in playouts(game):
        over = played.states[-1]
        outcome, before = over.outcome, seen(over)
        turns = played.turns()[-1]
        too_long = f"a game has {turns} turns, passes included; turn_limit is {game.turn_limit}"
        _expect(game.turn_limit is None or turns <= game.turn_limit, too_long)
        _expect(outcome and outcome.winner in (0, 1, None), f"the outcome is {outcome}; expected a winner", over)
        _expect(outcome and len(outcome.scores) == 2 and outcome.reason, f"{outcome} has no scores or reason", over)
        if game.differs and outcome:
            first, second = outcome.scores
            _expect(type(first) is int and type(second) is int, f"the scores of {outcome} are not integers", over)
            higher = None if first == second else int(second > first)
            _expect(outcome.winner == higher, f"{outcome}: with differs=True the higher score wins", over)
        for action in (_make_fault, *(_playing(move) for move in played.moves[:5])):
            _expect_refused(over.copy(), action)
        _expect(not any(over.is_legal(move) for move in played.moves), "a move is legal after the end", over)
        _expect(seen(over) == before, "the position changes after the end", over)


def _make_fault(state: State) -> None:
    state.fault()


def _playing(move: Move) -> Callable[[State], None]:
    return lambda state: state.play(move)


def _expect_refused(over: State, action: Callable[[State], None]) -> None:
    try:
        action(over)
    except IllegalMove:
        return
    raise AssertionError(f"play or fault works after the end; expected IllegalMove. The position is\n{over}")


def check_faults(game: Game) -> None:
    """A fault ends the game, or it is the other player's turn."""
    for played in playouts(game):
        for state in played.states[:-1]:
            before, after = seen(state), state.copy()
            after.fault()
            _check_turn(state, after)
            _expect(seen(state) == before, "a fault in a copy changes the original", state)
            steps = game.trace_fault(state)
            _expect(_board(steps[-1].board) == game.view(after), "trace_fault ends with another board", state)


def check_estimates(game: Game) -> None:
    """``estimate`` is between -1 and 1, changes during a game, and is exact at the end."""
    for played in playouts(game):
        *guesses, last = (state.estimate() for state in played.states)
        _expect(all(-1 <= guess <= 1 for guess in guesses), f"estimates are {guesses}; expected -1 to 1")
        _expect(len(set(guesses)) > 1, "estimate() is the same in every position of a game")
        outcome = played.states[-1].outcome
        winner = outcome.winner if outcome else None
        expected = 0 if winner is None else 1 - 2 * winner
        _expect(last == expected, f"estimate() is {last} at the end; expected {expected}", played.states[-1])


def check_boards(game: Game) -> None:
    """A board is the caller's, and has the form of the protocol."""
    for played in playouts(game):
        for state, _ in played.sample():
            before, board = seen(state), state.board()
            _check_board(board)
            rows = len(game.view(state))
            _expect(len(str(state).splitlines()) == rows, "str(state) needs one line for each row", state)
            board[0][0] = 99
            board.pop()
            _expect(seen(state) == before, "a change of the list from board() changes the state", state)


def _check_board(board: Any) -> None:
    shape = f"a board has {len(board)} rows; expected 1 to {MOST_SIDE} lists of 1 to {MOST_SIDE} integers"
    _expect(type(board) is list and 1 <= len(board) <= MOST_SIDE, shape)
    for row in board:
        _expect(type(row) is list and 1 <= len(row) == len(board[0]) <= MOST_SIDE, shape)
        _expect(all(type(cell) is int and abs(cell) < 2**31 for cell in row), f"a row is {row!r:.200}")


def check_from_board(game: Game) -> None:
    """A position that ``from_board`` makes continues as the original does: bots search in it."""
    for played in playouts(game):
        turns = played.turns()
        for number, state in enumerate(played.states[:-1]):
            _check_same(game, _rebuilt(game, state), state, turns[number])
        for state, following in played.sample(5):
            number = len(played.moves) - len(following)
            if following:
                _check_each_action(game, state, turns[number])
                twin = _rebuilt(game, state)
                for at, move in enumerate(following, number + 1):
                    twin.play(move)
                    _check_same(game, twin, played.states[at], turns[at])


def _rebuilt(game: Game, state: State) -> State:
    """Return what a bot makes of the board of ``state``."""
    twin = game.from_board(state.board(), state.to_move == 0)
    same = twin.board() == state.board() and twin.to_move == state.to_move
    _expect(same, "from_board reads another board", state)
    return twin


def _check_each_action(game: Game, state: State, turns: int) -> None:
    """Compare each legal move, 20 at most, and a fault."""
    moves = list(state.legal_moves())
    for action in (_make_fault, *(_playing(move) for move in moves[:: 1 + len(moves) // 20])):
        twin, after = _rebuilt(game, state), state.copy()
        for each in (twin, after):
            action(each)
        _check_same(game, twin, after, turns + 1 + len(after.passed))


def _check_same(game: Game, twin: State, state: State, turns: int) -> None:
    """Compare ``twin``, which comes from a board, with the original after ``turns`` turns of the game."""
    if state.outcome and turns == game.turn_limit:
        return  # a board does not have the number of turns
    for name, found, expected in (
        ("outcome", twin.outcome, state.outcome),
        ("board", twin.board(), state.board()),
        ("player on turn", *(None if each.outcome else each.to_move for each in (twin, state))),
        ("legal moves", *([*each.legal_moves()] for each in (twin, state))),
        ("key()", twin.key(), state.key()),
    ):
        _expect(
            found == expected,
            f"a game that goes on from from_board(state.board(), ...) has another {name}: {found!r:.200}; expected"
            f" {expected!r:.200}. Bots and clients know the board only, so the board has to show all that matters:"
            " give what is hidden a value of its own on the board, or a row of its own. If the game ends after a"
            " number of turns, set turn_limit. See docs/adding-a-game.md, State beyond the board",
            state,
        )


def check_wrong_boards(game: Game) -> None:
    """``from_board`` raises ValueError for a board that no game of this kind has."""
    board = game.start().board()
    shapes: list[Any] = [
        [],
        None,
        "board",
        board[1:],
        [*board, board[0]],
        [board[0][1:], *board[1:]],
        [None, *board[1:]],
    ]
    row, column = len(board) // 2, len(board[0]) // 3
    for cell in _WRONG_CELLS:
        changed = [list(cells) for cells in board]
        changed[row][column] = cell
        shapes.append(changed)
    for shape in shapes:
        try:
            game.from_board(shape, True)
        except ValueError:
            continue
        except Exception as error:
            raise AssertionError(f"from_board({shape!r:.80}) raises {error!r}; expected ValueError") from error
        raise AssertionError(f"from_board({shape!r:.80}) accepts it; expected ValueError")


def check_options(game: Game) -> None:
    """``start`` takes each value that an option allows, and no other."""
    for option in game.options.values():
        for value in range(option.lowest, option.highest + 1, option.step):
            _expect(game.start(**{option.name: value}).outcome is None, f"{option.name}={value}: over at once")
        _expect(seen(game.start(**{option.name: option.default})) == seen(game.start()), "not the default")
    for name, wrong in [("colour_of_the_board", 1), *((o.name, o.highest + o.step) for o in game.options.values())]:
        try:
            game.start(**{name: wrong})
        except ValueError:
            continue
        raise AssertionError(f"start({name}={wrong}) works; expected ValueError")


def check_look(game: Game) -> None:
    """Every value on a board has a piece, the two players' pieces differ in shape, and traces fit the moves."""
    values = set()
    for played in playouts(game):
        for state, following in played.sample():
            board = game.view(state)
            values |= {cell for row in board for cell in row}
            if following:
                after = state.copy()
                after.play(following[0])
                steps = game.trace(state, following[0])
                _expect(_board(steps[-1].board) == game.view(after), "trace ends with another board", state)
                _expect(game.notation(following[0]), f"notation of {following[0]!r} is empty")
            _expect(isinstance(game.score_line(state), str), "score_line is not text", state)
    missing = sorted(value for value in values - {0} if value not in game.look.pieces)
    _expect(not missing, f"look has no piece for the values {missing}")
    players: tuple[Player, Player] = (0, 1)
    first, second = ({p.shape for p in game.look.pieces.values() if p.player == player} for player in players)
    _expect(not first & second, f"both players have pieces of the shape {sorted(first & second)}")


def _board(rows: Any) -> list[list[int]]:
    return [list(row) for row in rows]


CHECKS: tuple[Callable[[Game], None], ...] = (
    check_fields,
    check_moves,
    check_copies,
    check_replays,
    check_hostile_moves,
    check_near_misses,
    check_turns,
    check_ends,
    check_faults,
    check_estimates,
    check_boards,
    check_from_board,
    check_wrong_boards,
    check_options,
    check_look,
)
"""All checks, in the order in which their messages help most."""


def check_game(game: Game) -> None:
    """Run all checks.

    Raises:
        AssertionError: the game does not pass a check; the message says what is wrong.
    """
    for check in CHECKS:
        check(game)
