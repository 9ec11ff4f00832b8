"""Games of OpenSpiel as games of getstep; needs ``getstep-engines[open_spiel]``.

>>> from getstep_engines import GAMES
>>> state = GAMES["openspiel_tic_tac_toe"].start()
>>> state.play("x(1,1)")
>>> print(state)
...
.x.
...

A game of OpenSpiel for two players in turns, without chance and without hidden information, has the name
``openspiel_NAME``. OpenSpiel knows the rules: `OpenSpielState.spiel` is its state, from which boards, moves and
results are made.

- **Players.** Player 0 moves first, also where OpenSpiel gives that player the number 1, as in chess. If the same
  player acts again, as in dots_and_boxes, the opponent is in ``passed``.
- **Moves** are OpenSpiel's texts of the actions, such as ``"x(1,1)"``.
- **Boards** have OpenSpiel's text of the state, in a frame of the same size for all positions: a cell is the code
  of its character, but 0 for ``.``. Rows of numbers below have the options of the start, then all actions of the
  game; a number n is ``-1 - n`` there. By them a position is made again from its board, with its history.
- **The look** has the text only. A character is a piece of a player if it appears when that player moves, or
  disappears when the opponent does, in random games.
- **The end.** The player with the higher return wins. After 1,000 actions the game is a draw.
- **Estimates** are results of a few random games. They are drawn from the history: a position has always the same.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache, partial
from itertools import chain
from random import Random
from typing import Any

from ._game import Game, IllegalMove, Move, MoveForm, Option, Outcome, Player, Starter, State, TimeControl
from ._registry import OPENSPIEL
from .look import Look, Piece

MOST_ACTIONS = 1_000
"""After this many actions a game is a draw. Random games of chess have about 400."""

_PLAYERS = ("Player 0", "Player 1")
_MOST_COLUMNS, _MOST_LINES = 64, 60  # of the text: longer lines are wrapped, further ones left out
_MOST_ROWS = 64  # of numbers; the protocol has 128 rows for both
_SAMPLES, _SAMPLE_ACTIONS = 4, 200  # random games, for the size of the text and for the pieces
_PLAYOUTS, _PLAYOUT_ACTIONS = 4, 400  # random games of an estimate, and the actions of all of them
_CLEAR = 0.5  # the part of a character's changes that have to point to its owner, more than to the other player
_STATUS = ":=;"  # a line with one of these tells whose turn it is, for example
_NO_PIECES = " .0123456789[]()"
_MOST_SHOWN = 20  # moves in a message
_OTHERS = 28  # characters beside those of ASCII
_OURS = "getstep_"  # our own games in OpenSpiel: see getstep_training.open_spiel
_COLOUR = r"\x1b\[[0-9;]*m"  # an escape sequence of terminals
_BLANK, _UNKNOWN = ord(" "), ord("?")

_BOARD_SIZE = "the fields along a side of the board"
_ROWS, _COLUMNS = "the rows of the board", "the columns of the board"
_RANGES: Mapping[str, Mapping[str, tuple[int, int, str]]] = {
    "breakthrough": {"rows": (4, 12, _ROWS), "columns": (2, 12, _COLUMNS)},
    "clobber": {"rows": (2, 10, _ROWS), "columns": (2, 10, _COLUMNS)},
    "connect_four": {"rows": (4, 12, _ROWS), "columns": (4, 12, _COLUMNS), "x_in_row": (3, 6, "discs in a row")},
    "dots_and_boxes": {"num_rows": (1, 6, "the rows of boxes"), "num_cols": (1, 6, "the columns of boxes")},
    "go": {"board_size": (5, 19, _BOARD_SIZE)},
    "gomoku": {"size": (5, 19, _BOARD_SIZE)},
    "havannah": {"board_size": (3, 10, _BOARD_SIZE)},
    "hex": {"board_size": (3, 19, _BOARD_SIZE)},
    "mnk": {"m": (3, 19, _COLUMNS), "n": (3, 19, _ROWS), "k": (3, 6, "pieces in a row")},
    "y": {"board_size": (3, 19, _BOARD_SIZE)},
}
"""The parameters that are options: OpenSpiel does not say which values it allows. Others have their defaults."""


class NotOffered(Exception):  # noqa: N818 - a reason for people
    """Raised for a game of OpenSpiel that cannot be one of ours. The message says why."""


# --- OpenSpiel's text --------------------------------------------------------------------------------------------


def _lines(spiel: Any) -> list[str]:
    """Return OpenSpiel's text of a state, at most `_MOST_LINES` lines of `_MOST_COLUMNS` characters."""
    text = re.sub(_COLOUR, "", str(spiel)).expandtabs().rstrip()
    lines = (line.rstrip() for line in _squares_of_fen(text) or text.splitlines())
    wrapped = [line[at : at + _MOST_COLUMNS] for line in lines for at in range(0, len(line) or 1, _MOST_COLUMNS)]
    return wrapped[:_MOST_LINES] or [""]


def _squares_of_fen(text: str) -> list[str]:
    """Return the rows of a position of chess or shogi in Forsyth-Edwards notation; none for any other text."""
    rows = text.partition(" ")[0].split("/")
    if len(rows) < 5 or "\n" in text or ";" in text:
        return []
    return [re.sub("[0-9]+", lambda number: "." * min(int(number[0]), _MOST_COLUMNS), row) for row in rows]


class _Rules:
    """A game of OpenSpiel with the values of its options.

    ``first`` is OpenSpiel's number of the player who moves first, ``limit`` the most actions of a game. The text
    has ``lines`` of ``width`` characters, the board has ``columns``, and ``tail`` is the number of rows of numbers.
    ``owners`` are the players of the characters that are pieces, and ``codes`` the cells of all characters.
    """

    def __init__(self, name: str, options: Mapping[str, int]) -> None:
        import pyspiel

        try:
            self.game = pyspiel.load_game(name, dict(options))
        except pyspiel.SpielError as error:
            raise ValueError(f"OpenSpiel has no {name} with {dict(options)!r:.200}: {error!s:.200}") from error
        self.options = tuple(options.values())
        self.limit = min(self.game.max_game_length(), MOST_ACTIONS)
        self.first: int = self.game.new_initial_state().current_player()
        self.lines, self.width, used, self.owners = self._seen_in_random_games()
        self.columns = max(self.width, -(-self.limit // _MOST_ROWS))
        self.tail = -(-(len(self.options) + self.limit) // self.columns)
        others = sorted(used - {*map(chr, range(128))})[:_OTHERS]
        self.codes = {character: ord(character) for character in [*map(chr, range(32, 127)), *others]} | {".": 0}

    def _seen_in_random_games(self) -> tuple[int, int, set[str], dict[str, Player]]:
        """Return the lines and the columns that the texts need, all their characters, and who owns which."""
        rows = columns = 1
        used: set[str] = set()
        votes: Counter[str] = Counter()  # above 0: of player 0
        changes: Counter[str] = Counter()
        for seed in range(_SAMPLES):
            dice, spiel, before, sign = Random(seed), self.game.new_initial_state(), Counter[str](), 0
            for _ in range(_SAMPLE_ACTIONS):
                lines = _lines(spiel)
                rows, columns = max(rows, len(lines)), max(columns, *map(len, lines))
                used.update(*lines)
                if spiel.is_terminal():
                    break
                now = Counter(
                    chain.from_iterable(line for line in lines if not any(map(line.__contains__, _STATUS)))
                )
                for character in now.keys() | before.keys() if sign else ():
                    change = now[character] - before[character]
                    votes[character] += sign * change
                    changes[character] += abs(change)
                before, sign = now, 1 if spiel.current_player() == self.first else -1
                spiel.apply_action(dice.choice(spiel.legal_actions()))
        if _squares_of_fen(str(self.game.new_initial_state())):  # capitals are the pieces of the first player
            return rows, columns, used, {c: 0 if c.isupper() else 1 for c in used if c.isalpha()}
        owners: dict[str, Player] = {
            character: 0 if votes[character] > 0 else 1
            for character, count in changes.items()
            if count and abs(votes[character]) >= _CLEAR * count and character not in _NO_PIECES
        }
        return rows, columns, used, owners

    def text(self, spiel: Any) -> list[list[int]]:
        """Return the text in its frame, as cells; what does not fit is left out."""
        lines = _lines(spiel)[: self.lines]
        lines += [""] * (self.lines - len(lines))
        return [[self.codes.get(c, _UNKNOWN) for c in f"{line:<{self.width}.{self.width}}"] for line in lines]

    def board(self, spiel: Any) -> list[list[int]]:
        """Return the text, and the rows with the options and the actions of the game."""
        margin = [_BLANK] * (self.columns - self.width)
        cells = [-1 - number for number in chain(self.options, spiel.history())]
        cells += [0] * (self.tail * self.columns - len(cells))
        tail = [cells[at : at + self.columns] for at in range(0, len(cells), self.columns)]
        return [row + margin for row in self.text(spiel)] + tail


@lru_cache(maxsize=64)
def _rules(name: str, options: tuple[tuple[str, int], ...]) -> _Rules:
    return _Rules(name, dict(options))


# --- the position -------------------------------------------------------------------------------------------------


class OpenSpielState(State):
    """A position of a game of OpenSpiel; ``spiel`` is OpenSpiel's own, which is not to be changed."""

    __slots__ = ("_moves", "_rules", "outcome", "passed", "spiel", "to_move")

    def __init__(self, rules: _Rules) -> None:
        self._rules = rules
        self.spiel = rules.game.new_initial_state()
        self.to_move: Player = 0
        self.passed: tuple[Player, ...] = ()
        self.outcome: Outcome | None = None
        self._moves: dict[str, int] | None = None  # the legal moves with OpenSpiel's numbers, once they are needed

    def board(self) -> list[list[int]]:
        return self._rules.board(self.spiel)

    def text(self) -> list[list[int]]:
        """Return the cells of the board that have the text."""
        return self._rules.text(self.spiel)

    def legal_moves(self) -> Iterator[str]:
        yield from self._legal()

    def is_legal(self, move: Move) -> bool:
        return isinstance(move, str) and move in self._legal()

    def play(self, move: Move) -> None:
        self._expect_running()
        if not self.is_legal(move):
            legal = list(self._legal())
            more = f" and {len(legal) - _MOST_SHOWN} more" if len(legal) > _MOST_SHOWN else ""
            raise IllegalMove(f"{move!r:.80} is not one of the moves {', '.join(legal[:_MOST_SHOWN])}{more}"[:1000])
        self.play_action(self._legal()[move])

    def play_action(self, action: int) -> None:
        """Apply a legal action by OpenSpiel's number.

        Raises:
            IllegalMove: it is not legal, or the game is over.
        """
        self._expect_running()
        if action not in self.spiel.legal_actions():
            raise IllegalMove(f"{action!r:.80} is not one of the legal actions")
        player = self.to_move
        self.spiel.apply_action(action)
        self._moves = None
        self.passed = ()
        if self.spiel.is_terminal():
            self.outcome = self._result()
        elif self.spiel.move_number() >= MOST_ACTIONS:
            self.outcome = Outcome(None, (0, 0), f"no end after {MOST_ACTIONS} moves")
        else:
            self.to_move = 0 if self.spiel.current_player() == self._rules.first else 1
            self.passed = (_other(player),) if self.to_move == player else ()

    def fault(self) -> None:
        self._expect_running()
        low, high = _whole(self._rules.game.min_utility()), _whole(self._rules.game.max_utility())
        scores = (high, low) if self.to_move else (low, high)
        self.outcome = Outcome(_other(self.to_move), scores, f"{_PLAYERS[self.to_move]} made a fault")

    def copy(self) -> OpenSpielState:
        twin = object.__new__(OpenSpielState)
        twin._rules, twin._moves, twin.spiel = self._rules, self._moves, self.spiel.clone()
        twin.to_move, twin.passed, twin.outcome = self.to_move, self.passed, self.outcome
        return twin

    def __str__(self) -> str:
        characters = {code: character for character, code in self._rules.codes.items()}
        return "\n".join("".join(map(characters.__getitem__, row)) for row in self.text())

    def _legal(self) -> dict[str, int]:
        if self._moves is None:
            actions = () if self.outcome else self.spiel.legal_actions()
            self._moves = {self.spiel.action_to_string(action): action for action in actions}
        return {} if self.outcome else self._moves

    def _measures(self) -> tuple[float, float]:
        """Return how many of some random games each player wins; a game that is not over counts half for both."""
        dice = Random(repr(self.spiel.history()))
        points, left = [0.0, 0.0], _PLAYOUT_ACTIONS
        for _ in range(_PLAYOUTS):
            spiel = self.spiel.clone()
            while left and not spiel.is_terminal():
                spiel.apply_action(dice.choice(spiel.legal_actions()))
                left -= 1
            returns = spiel.returns()
            lead = returns[self._rules.first] - returns[1 - self._rules.first] if spiel.is_terminal() else 0
            points[0] += (lead > 0) + 0.5 * (lead == 0)
            points[1] += (lead < 0) + 0.5 * (lead == 0)
            if not left:
                break
        return points[0], points[1]

    def _result(self) -> Outcome:
        returns = self.spiel.returns()
        first, second = returns[self._rules.first], returns[1 - self._rules.first]
        winner: Player | None = None if first == second else 0 if first > second else 1
        return Outcome(
            winner, (_whole(first), _whole(second)), "a draw" if winner is None else f"{_PLAYERS[winner]} wins"
        )

    def _expect_running(self) -> None:
        if self.outcome:
            raise IllegalMove(f"the game is over: {self.outcome.reason}")


def _other(player: Player) -> Player:
    return 0 if player else 1


def _whole(number: float) -> float:
    return int(number) if number == int(number) else number


# --- the game -----------------------------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def openspiel_game(name: str) -> Game:
    """Return the game ``name``, which begins with `OPENSPIEL`.

    Raises:
        NotOffered: OpenSpiel is not installed, or has no such game, or it is not a game for two players in turns,
            without chance and hidden information.
    """
    own = name.removeprefix(OPENSPIEL)
    kind = _kind_of(own)
    options = {
        parameter: Option(parameter, kind.parameter_specification[parameter], low, high, 1, about)
        for parameter, (low, high, about) in _RANGES.get(own, {}).items()
    }
    try:
        rules = _rules(own, tuple((option.name, option.default) for option in options.values()))
    except ValueError as error:
        raise NotOffered(str(error)) from error
    if rules.game.num_players() != 2:
        raise NotOffered(f"{own} is for {rules.game.num_players()} players; expected 2")
    start = OpenSpielState(rules)
    board = "text: a cell is the code of a character, 0 is a dot; below it numbers"
    return Game(
        name=name,
        title=f"{kind.long_name} of OpenSpiel",
        players=_PLAYERS,
        time_control=TimeControl("move", 5.0),
        penalty="the player loses the game",
        options=options,
        look=_look(rules),
        summary=f"{kind.long_name} as OpenSpiel plays it",
        rules=_rules_text(own, kind.long_name, start),
        move_form=MoveForm("the text of a legal move", ("text",)),
        starter=Starter("OpenSpiel has the rules. The player with the higher return wins.", board),
        _start=partial(_start, own),
        _from_board=partial(_from_board, own, options),
    )


def _kind_of(name: str) -> Any:
    """Return OpenSpiel's description of a game that is offered."""
    try:
        import pyspiel
    except ImportError as error:
        raise NotOffered("it needs OpenSpiel: python -m pip install 'getstep-engines[open_spiel]'") from error
    kinds = {kind.short_name: kind for kind in pyspiel.registered_games()}
    if name not in kinds or name.startswith(_OURS):
        raise NotOffered(f"OpenSpiel has no game {name!r:.80}")
    kind, about = kinds[name], pyspiel.GameType
    for wrong, reason in (
        (kind.dynamics != about.Dynamics.SEQUENTIAL, "its players do not act in turns"),
        (kind.chance_mode != about.ChanceMode.DETERMINISTIC, "it has chance"),
        (kind.information != about.Information.PERFECT_INFORMATION, "it has hidden information"),
        (not kind.min_num_players <= 2 <= kind.max_num_players, "it is not for two players"),
        (not kind.default_loadable, "it needs parameters"),
    ):
        if wrong:
            raise NotOffered(
                f"{name}: {reason}; expected a game for two players in turns, without chance and hidden information"
            )
    return kind


def _start(name: str, **options: int) -> OpenSpielState:
    return OpenSpielState(_rules(name, tuple(options.items())))


def _from_board(
    name: str, options: Mapping[str, Option], board: Sequence[Sequence[int]], to_move: Player
) -> OpenSpielState:
    if not isinstance(board, (list, tuple)) or not all(_is_row(row) for row in board):
        raise ValueError("expected rows of whole numbers")
    numbers = [-1 - cell for row in board for cell in row if cell < 0]
    if len(numbers) < len(options) or len(numbers) > len(options) + MOST_ACTIONS:
        raise ValueError(f"the board has {len(numbers)} numbers; expected the options and the actions of the game")
    values = {option.name: option.check(value) for option, value in zip(options.values(), numbers, strict=False)}
    state = _start(name, **values)
    try:
        for action in numbers[len(values) :]:
            state.play_action(action)
    except IllegalMove as error:
        raise ValueError(f"the board has an action that is not legal: {error}") from error
    if [list(row) for row in board] != state.board():
        raise ValueError("the board is not the one after its actions")
    if state.outcome is None and state.to_move != to_move:
        raise ValueError(f"it is the turn of {_PLAYERS[state.to_move]}")
    return state


def _is_row(row: object) -> bool:
    return isinstance(row, (list, tuple)) and all(type(cell) is int for cell in row)


def _look(rules: _Rules) -> Look:
    pieces = {
        0: Piece("empty", "blank", text=".", colour="grey"),
        _BLANK: Piece("space", "blank", text=" ", colour="grey"),
    }
    for character, code in rules.codes.items():
        owner = rules.owners.get(character)
        if owner is not None:
            shape = ("disc", "diamond")[owner]
            pieces[code] = Piece(f"{character} of {_PLAYERS[owner]}", shape, owner, character, character)
        elif code not in pieces:
            pieces[code] = Piece(f"character {character}", "tile", label=character, text=character, colour="white")
    return Look(pieces, view=OpenSpielState.text)


def _rules_text(name: str, title: str, start: OpenSpielState) -> str:
    moves = list(start.legal_moves())
    drawn = "\n".join(f"    {line}".rstrip() for line in str(start).splitlines())
    return f"""{title}, a game of OpenSpiel.

- **Game.** ``{name}`` of OpenSpiel, whose documentation has the rules.
- **Board.** OpenSpiel's text of the position. Each cell is the code of a character, but 0 stands for a dot. Below
  the text are rows of numbers: the options of the game, then the actions played, each number n as -1 - n. A bot in
  Python gets OpenSpiel's state from them: ``GAMES["{OPENSPIEL}{name}"].from_board(board, is_black).spiel``.
- **Move.** OpenSpiel's text of the action, for example {moves[0]!r} or {moves[-1]!r}.
- **Turns.** {_PLAYERS[0]} begins. A player who acts again does so at once; the opponent is not asked.
- **End.** The player with the higher return wins. After {MOST_ACTIONS} actions the game is a draw.
- **Time.** 5 s a move.
- **Faults.** An illegal move or a missed limit: the player loses the game.

The first position:

{drawn}
"""
