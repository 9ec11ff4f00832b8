"""The Universal Game Interface (UGI) of kz04px: UCI, the interface of chess programs, for other games. Every game.

The program reads and writes lines. It is sent ``ugi`` and answers ``ugiok``, after its ``id`` and ``option`` lines.
``setoption`` names the game and the game's options, if the program has options of these names. Then it is sent
``uginewgame``. In each turn ``isready`` comes first, which it answers with ``readyok``: what it has written
before that is no answer to this turn. Then it gets the position and ``go``, and writes ``bestmove MOVE``. Lines
that begin with ``info`` may come before that. At the end it is sent ``quit``.

A position is ``startpos moves ...`` if the moves that this program knows, the opening's among them, lead from the
game's default start to the board, and ``fen ...`` otherwise: after a fault, or for a board of another size. `fen`
and the game's notation are all that the lines have.
"""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

from getstep.games import Board, game_named, named_move
from getstep.turn import Turn, as_move
from getstep_engines import Game, IllegalMove, Player, State

from ._convention import ConventionError, Input, Output, Question, Talk, shown

MAX_LINE = 8000
"""Bytes of a line. The longest principal variation of a path game has some 2,000."""

MAX_LINES = 1_000_000
"""Bytes of all lines before a move. A chess program writes some 100 kB of ``info`` in ten seconds."""

MARGIN_MS = 50
"""``movetime`` is shorter by this, or by a tenth of the time if that is less: a program uses all of it."""

_MAX_OPTIONS = 256
_MAX_STRINGS = 4  # texts of ``info string`` that a move keeps, the last ones
_MAX_TEXT = 160  # characters of each
_MAX_VARIATION = 300  # characters of a principal variation: with the texts they fit into a note of 1,000
_VARIANT = "ugi_variant"
_PER_CENT_PAWN = 0.00184104
"""The usual curve from hundredths of a pawn to a probability of winning (lichess.org/page/accuracy)."""

_SCORE = re.compile(rb"\bscore (?:(cp|mate) ([+-]?\d{1,9})|wdl (\d{1,9}) (\d{1,9}) (\d{1,9}))\b")
_OTHER_LINE = re.compile(rb"\bmultipv (?!1\b)\d")
_VARIATION = re.compile(rb"\bpv (.+)")
_OPTION = re.compile(rb"option\s+name\s+(.{1,100}?)\s+type\b")


def fen(board: Board, player: Player, turns: int) -> str:
    """Return a position: the board, ``p1`` or ``p2`` for the player on turn, and the number of turns before it.

    Rows are separated by ``/``, from the top, and the cells of a row by commas. A cell has the number that
    ``get_step`` gets. So it is the same form for every game.
    """
    return f"{'/'.join(','.join(map(str, row)) for row in board)} p{player + 1} {turns}"


class Ugi(Talk):
    """One game of a program that speaks UGI."""

    game = None

    def __init__(self, player: Player) -> None:
        super().__init__(player)
        self.awaits = "ugiok"
        self._options: set[str] = set()
        self._turn: Turn | None = None
        self._game: Game | None = None
        self._lines = b""  # the position and ``go``, for when the program is ready
        self._read = 0
        self._root = ""
        self._moves: list[str] = []
        self._state: State | None = None
        self._forget_info()

    def begin(self) -> Input:
        self.awaits = "ugiok"
        self._options.clear()
        return Input(b"ugi\n")

    def ask(self, question: Question) -> Input:
        if question.turn is None:
            raise ConventionError("a program of ugi is asked with the turn: its game and its time")
        self._game = game_named(question.turn.game)
        if self._game is None:
            raise ConventionError(
                f"{question.turn.game} is not installed here, so no position of it can be written"
            )
        self._turn, self._read = question.turn, 0
        self._forget_info()
        position = self._position(self._game, question.board, question.turn)
        self._lines = f"position {position}\n{self._go(question.turn)}\n".encode()
        if self.awaits == "ugiok":
            return Input()
        self.awaits = "readyok"
        return Input(b"isready\n")

    def reply(self, output: Output) -> tuple[Input, int] | None:
        said, length = bytearray(), 0
        for line in _lines(output):
            word = line.split(None, 1)[:1]
            if word == [b"bestmove"] and self.awaits == "bestmove":
                break
            length += len(line)
            if word == [b"info"]:
                self._note(line.strip())
            elif word == [b"option"]:
                self._add_option(line)
            elif word == [b"ugiok"] and self.awaits == "ugiok":
                self.awaits = "readyok"
                said += b"".join(self._set_options()) + b"uginewgame\nisready\n"
            elif word == [b"readyok"] and self.awaits == "readyok":
                self.awaits = "bestmove"
                said += self._lines
            # As in UCI, any other line is left out: it may be one of a newer version.
        self._read += length
        if self._read > MAX_LINES:
            raise ConventionError(f"more than {MAX_LINES} bytes without a move")
        return (Input(bytes(said)), length) if length else None

    def read(self, output: Output) -> tuple[Any, int] | None:
        line = next(_lines(output), None)
        if line is None:
            if len(output.data) > MAX_LINE:
                raise ConventionError(f"more than {MAX_LINE} bytes without the end of a line")
            return None
        words = line.split()
        if words[:1] != [b"bestmove"] or self.awaits != "bestmove" or self._game is None:
            return None
        text = b"".join(words[1:2]).decode("utf-8", "replace")
        move = named_move(self._game, self._state, text)
        if move is None:
            example = self._game.notation(next(iter(self._known_state().legal_moves())))
            raise ConventionError(f"wrote {shown(line)}; expected a legal move, such as bestmove {example}")
        return as_move(move), len(line)

    def after(self, question: Question, move: Any) -> Input:  # noqa: ARG002 - the position is known
        self._play(move)
        return Input()

    def end(self) -> Input:
        return Input(b"quit\n")

    def notes(self) -> Sequence[str]:
        found = [f"say {text}" for text in self._strings]
        if self._variation:
            found.append(f"say pv {self._variation}")
        if self._estimate is not None:
            found.append(f"estimate {self._estimate:.4f}")
        return found

    # --- the position ---

    def _position(self, game: Game, board: Board, turn: Turn) -> str:
        """Return the position, and set ``_state`` to it."""
        if self._state is None:
            self._root, self._moves, self._state = "startpos", [], game.start()
            for move in turn.opening:
                self._play(move)
        if not self._shows(board):  # then the opponent has moved
            self._play(turn.last_move)
        if not self._shows(board):
            self._root, self._moves = f"fen {fen(board, self.player, turn.move_number - 1)}", []
            self._state = game.from_board(board, self.player == 0)
        return f"{self._root} moves {' '.join(self._moves)}" if self._moves else self._root

    def _shows(self, board: Board) -> bool:
        state = self._state
        return (
            state is not None
            and state.outcome is None
            and state.to_move == self.player
            and state.board() == [list(row) for row in board]
        )

    def _play(self, move: Any) -> None:
        if self._state is not None and self._game is not None and move is not None:
            try:
                self._state.play(move)
            except IllegalMove:
                return  # the judge says so
            self._moves.append(self._game.notation(move))

    def _known_state(self) -> State:
        if self._state is None:
            raise TypeError("a position is known once the program was asked")
        return self._state

    def _go(self, turn: Turn) -> str:
        left = turn.time_left_ms
        if turn.time_kind == "move":
            return f"go movetime {max(1, left - min(MARGIN_MS, left // 10))}"
        # A bot is told its own time only; programs compare the two clocks, and equal ones change nothing.
        each = [f"p{n}time {max(1, left - MARGIN_MS)}" for n in (1, 2)]
        return " ".join(["go", *each, *(f"p{n}inc {turn.increment_ms}" for n in (1, 2))])

    # --- what the program says ---

    def _add_option(self, line: bytes) -> None:
        found = _OPTION.match(line.strip())
        if found and len(self._options) < _MAX_OPTIONS:
            self._options.add(found[1].decode("utf-8", "replace"))

    def _set_options(self) -> Iterator[bytes]:
        """Yield the lines that set the game, and the game's options, where the program has options for them."""
        if self._turn is None:
            return
        values = {_VARIANT: self._turn.game, **{name.lower(): value for name, value in self._turn.options.items()}}
        for name in sorted(self._options):
            if name.lower() in values:
                yield f"setoption name {name} value {values[name.lower()]}\n".encode()

    def _forget_info(self) -> None:
        self._strings: deque[str] = deque(maxlen=_MAX_STRINGS)
        self._variation = ""
        self._estimate: float | None = None

    def _note(self, line: bytes) -> None:
        if line[4:].lstrip().startswith(b"string "):
            text = line[4:].lstrip()[len(b"string ") :]
            self._strings.append(text[: 4 * _MAX_TEXT].decode("utf-8", "replace").strip()[:_MAX_TEXT])
            return
        if _OTHER_LINE.search(line):
            return  # not the best variation
        score = _SCORE.search(line)
        if score:
            self._estimate = _estimate(score)
        variation = _VARIATION.search(line)
        if variation:
            text = variation[1][: 4 * _MAX_VARIATION]
            self._variation = text.decode("utf-8", "replace").strip()[:_MAX_VARIATION]


def _estimate(score: re.Match[bytes]) -> float:
    """Return a score, which is from the program's own side, as a number from -1 to 1."""
    kind, number, *wdl = score.groups()
    if kind == b"cp":
        return math.tanh(_PER_CENT_PAWN * int(number))
    if kind == b"mate":  # 0 says that the side on turn is mated
        return 1.0 if int(number) > 0 else -1.0
    won, drawn, lost = map(int, wdl)
    return (won - lost) / (won + drawn + lost or 1)


def _lines(output: Output) -> Iterator[bytes]:
    """Yield the complete lines with their ends; the last one needs none if nothing can follow."""
    *lines, rest = output.data.split(b"\n")
    yield from (line + b"\n" for line in lines)
    if output.ended and rest:
        yield rest
