"""One turn on the contestant's side: the callback, its arguments, its result, and errors in it."""

from __future__ import annotations

import inspect
import itertools
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from . import notes
from ._errors import BotError, SetupError
from .games import Board, move_text
from .text import escape_control_chars, sendable_text, short_repr
from .wire import (
    MAX_ARRAY,
    MAX_CLIENT_FRAME,
    MAX_DEPTH,
    MAX_ID,
    Connection,
    LocalProtocolError,
    Raised,
    Resign,
    Role,
    State,
    Step,
    with_notes,
)

GetStepFunction = Callable[..., Any]
_Function = TypeVar("_Function", bound=GetStepFunction)

_PLAYS = "getstep_plays"  # the attribute of a function that `plays` sets

_DEBUG = "To debug it in this terminal, without a clock, type: getstep practice --debug my_bot.py"

_WRONG_PARAMETERS = (
    "get_step{signature} has the wrong parameters, expected def get_step(board, is_black)\n"
    "or, with more about the turn, def get_step(board, is_black, turn)."
)


@dataclass(frozen=True)
class Turn:
    """The third argument of ``get_step(board, is_black, turn)``.

    ``game`` is the game's name, such as ``"hop"``. ``match`` is the match number. ``move_number`` is 1 for the
    match's first turn; both players' turns count, passed and skipped ones too. ``opponent`` is the other team's
    name. ``last_move`` is the opponent's last move as ``get_step`` would return it, or None if there was none.
    ``time_left_ms`` is the time for this move in milliseconds; if the limit is for all moves of a match
    together, it is the rest of that limit. ``options`` are the game's options, such as ``{"size": 8}``.
    ``increment_ms`` is added to such a limit after each turn that was answered in time; 0 if nothing is.
    ``time_kind`` is ``"move"`` for a limit for each move, ``"budget"`` for one limit for all moves of a match.
    ``opening`` are the moves that the server has played from the start of the game before it asked anybody, for
    both players in turn, as ``get_step`` would return them; usually there are none. ``move_number`` counts them.
    """

    game: str
    match: int
    move_number: int
    opponent: str
    last_move: Any
    time_left_ms: int
    options: dict[str, int] = field(default_factory=dict)
    increment_ms: int = 0
    time_kind: str = "move"
    opening: tuple[Any, ...] = ()


@dataclass(frozen=True)
class CallResult:
    """The result of calling the callback once.

    ``move`` can be sent as it is, unless ``error`` says why there is no move. ``problem`` is the text that the
    bot's author should read, or an empty string. ``ms`` is the time that the call took. If ``resigns`` is True, the
    bot gives up the match. If ``left_debugger`` is True, a person or the end of the input has ended pdb in it.
    ``notes`` are what the bot noted, None if nothing; ``dropped`` are lines for its author about what was dropped.
    """

    move: Any
    error: str | None
    problem: str
    ms: float
    resigns: bool = False
    left_debugger: bool = False
    notes: dict[str, Any] | None = None
    dropped: Sequence[str] = ()


def plays(*games: str) -> Callable[[_Function], _Function]:
    """Name the games that a ``get_step`` plays. It gives up each match of another game, and plays the next ones.

    >>> @plays("hop")
    ... def get_step(board, is_black):
    ...     return [(2, 2), (2, 3)]

    Raises:
        SetupError: no name is given, or one is not a text.
    """
    if not games or not all(isinstance(game, str) for game in games):
        raise SetupError(f'plays{games}: expected the names of games, such as plays("hop")')

    def name_them(function: _Function) -> _Function:
        setattr(function, _PLAYS, games)
        return function

    return name_them


class Callback:
    """A contestant's ``get_step`` with valid parameters.

    A function with a third parameter also gets ``turn``. There are two exceptions, because a wrong guess costs
    every turn. A third parameter with a default other than None (``depth=3``) belongs to the contestant. A function
    with ``*args`` alone, such as a decorator's wrapper, gets the board and the colour only.

    Raises:
        BotError: ``function`` cannot be called with a board and a colour.
    """

    def __init__(self, function: GetStepFunction) -> None:
        self._function = function
        self.games: tuple[str, ...] = getattr(function, _PLAYS, ())
        """The games that it plays, as `plays` names them; empty if it does not say so."""
        self.takes_turn = _takes_turn(function)
        file = getattr(getattr(function, "__code__", None), "co_filename", "")
        self.stem = "bot" if not file or file.startswith("<") else Path(file).stem
        """The name of the bot's file without its ending, for files beside it; "bot" in a notebook."""

    def call(self, board: Board, is_black: bool, turn: Turn) -> CallResult:
        """Ask for a move. No exception of the callback escapes, except KeyboardInterrupt."""
        if self.games and turn.game not in self.games:
            return CallResult(None, None, not_played_text(self.games, turn.game), 0.0, resigns=True)
        arguments = (board, is_black, turn) if self.takes_turn else (board, is_black)
        collector = notes.Collector(board)
        with notes.collected(collector):
            started = time.perf_counter()
            try:
                value = self._function(*arguments)
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # even a SystemExit costs this turn only
                result = self.after_exception(error, _ms_since(started))
            else:
                result = _after_return(value, turn.game, _ms_since(started))
        noted = collector.take()
        if noted or collector.dropped:
            return replace(result, notes=noted, dropped=collector.dropped)
        return result

    def after_exception(self, error: BaseException, ms: float) -> CallResult:
        """Return the result of a call that has raised ``error``."""
        tail = error.__traceback__.tb_next if error.__traceback__ else None  # without our own frame
        problem = f"get_step raised:\n{author_trace(error, tail)}"
        left = _left_debugger(error)
        if left and tail is not None:  # the trace would end with ten lines of the debugger
            place = f"{Path(tail.tb_frame.f_code.co_filename).name} line {tail.tb_lineno}"
            problem = f"get_step has left a debugger, at {place}.\n{_DEBUG}"
        return CallResult(None, sendable_text(summary(error)), problem, ms, left_debugger=left)


def _left_debugger(error: BaseException) -> bool:
    """Return True if pdb has raised the error, at its command q or the end of its input."""
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    module = place.tb_frame.f_globals.get("__name__") if place is not None else None
    return module in ("bdb", "pdb") and type(error).__name__ in ("BdbQuit", "SystemExit")  # that: from 3.14 on


def not_played_text(games: Iterable[str], game: str) -> str:
    """Return why a bot that plays ``games`` gives up a match of ``game``."""
    played = ", ".join(games)
    return f"this bot plays {played}; the match is {game}. It gives up this match, and plays the next ones."


def answer_to(question: int, call: CallResult, *, output: bool = False) -> Step | Raised | Resign:
    """Return the message that answers the question with this id by the result of a call.

    ``output``: also send what a program printed. A contestant's own client does not: it stays on that machine.
    """
    noted = {key: value for key, value in (call.notes or {}).items() if output or key != "output"}
    if call.resigns:
        return with_notes(Resign(id=question), noted)
    if call.error is not None:
        return with_notes(Raised(id=question, error=call.error), noted)
    return with_notes(Step(id=question, move=call.move), noted)


def as_move(value: Any) -> Any:
    """Return a move from the wire in the form that ``get_step`` returns: squares and dominoes are tuples."""
    if not isinstance(value, list):
        return value
    if not any(isinstance(item, list) for item in value):
        return tuple(value)
    items = [as_move(item) for item in value]
    return tuple(items) if isinstance(items[0], str) else items


def author_trace(error: BaseException, start: TracebackType | None) -> str:
    """Return the traceback of ``error`` from the frame ``start`` on, or the type's name if that fails.

    What a terminal would obey is escaped: the text of an error may have the opponent's name in it.
    """
    try:
        text = "".join(traceback.format_exception(type(error), error, start)).rstrip()
        return "\n".join(map(escape_control_chars, text.split("\n")))
    except Exception:  # raised by the contestant's own __str__ or __repr__
        return type(error).__name__


def summary(error: BaseException) -> str:
    """Return the error without its traceback, such as ``"ValueError: no move left"``."""
    name = type(error).__name__
    try:
        text = str(error)
    except Exception:  # raised by the contestant's own __str__
        return name
    return f"{name}: {text}" if text else name


def _takes_turn(function: GetStepFunction) -> bool:
    if not callable(function):
        raise BotError(f"get_step is {short_repr(function)}, expected a function: def get_step(board, is_black)")
    if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function):
        raise BotError("get_step is an async function or a generator, expected a plain def that returns a move.")
    try:
        signature = inspect.signature(function)
    except ValueError:  # some functions written in C have no signature
        return False
    third = _third_parameter(signature)
    with_turn = third is not None and (third.default is inspect.Parameter.empty or third.default is None)
    try:
        signature.bind(*range(3 if with_turn else 2))
    except TypeError:
        raise BotError(_WRONG_PARAMETERS.format(signature=signature)) from None
    return with_turn


def _third_parameter(signature: inspect.Signature) -> inspect.Parameter | None:
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    positional = [parameter for parameter in signature.parameters.values() if parameter.kind in kinds]
    return positional[2] if len(positional) > 2 else None


def _expected(game: str) -> str:
    return f"Expected for {game}: {move_text(game)}"


def _after_return(value: Any, game: str, ms: float) -> CallResult:
    if value is None:
        problem = f"get_step returned None: is a return missing? It counts as an illegal move.\n{_expected(game)}"
        return CallResult(None, None, problem, ms)
    try:
        move = _plain(value, MAX_DEPTH, itertools.count(1))
        _check_sendable(move)
    except Exception as refusal:  # the codec's, or any exception of a foreign tolist
        reason = summary(refusal).removeprefix("LocalProtocolError: ").removeprefix("cannot be sent: ")
        error = f"get_step returned {short_repr(value)}, which cannot be sent: {reason}"
        return CallResult(None, sendable_text(error), f"{error}\n{_expected(game)}", ms)
    return CallResult(move, None, "", ms)


def _plain(value: Any, depth: int, parts: Iterator[int]) -> Any:
    """Replace tuples and numpy's types by lists and numbers, without importing numpy.

    A value that is too deep or too long stays as it is; the codec refuses it. ``parts`` counts the values: a list
    that holds itself ten times has 100 million of them within the greatest depth.

    Raises:
        LocalProtocolError: there are more values than a frame has bytes.
    """
    if next(parts) > MAX_CLIENT_FRAME:
        raise LocalProtocolError(f"more than {MAX_CLIENT_FRAME} values, which no frame holds")
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, (list, tuple)) and depth and len(value) <= MAX_ARRAY:
        return [_plain(item, depth - 1, parts) for item in value]
    return value


class _Scratch(threading.local):
    """A conversation on turn that sends to nobody. It serves all moves of a thread: a new one takes some µs."""

    def __init__(self) -> None:
        self.connection = Connection(Role.CLIENT)
        # After the login: before it, a client's frames are shorter.
        self.connection.restore(
            {"state": State.TURN.name, "question": None, "notices": False, "unanswered": (), "received": b""}
        )


_scratch = _Scratch()


def _check_sendable(move: Any) -> None:
    """Encode ``move`` with the codec: only the codec decides what can be sent.

    Raises:
        LocalProtocolError: ``move`` cannot be sent.
    """
    connection = _scratch.connection
    connection.state, connection.question = State.TURN, MAX_ID
    connection.send(Step(id=MAX_ID, move=move))


def _ms_since(started: float) -> float:
    return (time.perf_counter() - started) * 1000
