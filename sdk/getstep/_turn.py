"""One turn on the contestant's side: the callback, what it is given, what it gives back, what went wrong."""

from __future__ import annotations

import inspect
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

from ._errors import BotError
from ._games import Board, info
from ._text import sendable_text, shown
from .wire import MAX_ARRAY, MAX_DEPTH, MAX_ID, Connection, Role, State, Step

_HOST_PACKAGE = (
    "{name} is part of the host's package, not of getstep: in a clone of the project"
    " type pip install -e ./sdk -e . or use its .venv"
)

GetStepFunction = Callable[..., Any]

_WRONG_PARAMETERS = (
    "get_step{signature} has the wrong parameters, expected def get_step(board, is_black)\n"
    "or, to know more about the turn, def get_step(board, is_black, turn)."
)


@dataclass(frozen=True)
class Turn:
    """What ``get_step(board, is_black, turn)`` gets as its third argument.

    ``game`` is the game's name, such as ``"hop"``. ``match`` is the match number. ``move_number`` is 1 for the
    match's first turn; both players' turns count, passed and skipped ones too. ``opponent`` is the other team's
    name. ``last_move`` is the opponent's last move as ``get_step`` would return it, or None if there was none.
    ``time_left_ms`` is the time for this move in milliseconds; if the limit is for all moves of a match
    together, it is what is left of it. ``options`` are the game's options, such as ``{"size": 8}``.
    """

    game: str
    match: int
    move_number: int
    opponent: str
    last_move: Any
    time_left_ms: int
    options: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Thought:
    """What came of calling the callback once.

    ``move`` can go onto the wire as it is, unless ``error`` says why there is none. ``complaint`` is what the
    bot's author should read, or an empty string. ``ms`` is how long it took.
    """

    move: Any
    error: str | None
    complaint: str
    ms: float


class Callback:
    """A contestant's ``get_step``, its parameters checked.

    It gets ``turn`` if it takes a third parameter. Two exceptions, because a surprise here costs every turn: a
    third parameter with a default other than None (``depth=3``) is the contestant's own, and ``*args`` alone,
    as in a decorator's wrapper, gets what everybody gets.

    Raises:
        BotError: it cannot be called with a board and a colour.
    """

    def __init__(self, function: GetStepFunction) -> None:
        self._function = function
        self.takes_turn = _takes_turn(function)

    def think(self, board: Board, is_black: bool, turn: Turn) -> Thought:
        """Ask for a move. Whatever the callback does, this returns, except on Ctrl-C."""
        arguments = (board, is_black, turn) if self.takes_turn else (board, is_black)
        started = time.perf_counter()
        try:
            value = self._function(*arguments)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # a SystemExit, too, costs this turn and no more
            return _raised(error, _since(started))
        return _returned(value, turn.game, _since(started))


def as_move(value: Any) -> Any:
    """A move from the wire as ``get_step`` would return it: squares are tuples, so is what begins with a colour."""
    if not isinstance(value, list):
        return value
    if not any(isinstance(item, list) for item in value):
        return tuple(value)
    items = [as_move(item) for item in value]
    return tuple(items) if isinstance(items[0], str) else items


def author_trace(error: BaseException, start: TracebackType | None) -> str:
    """The traceback of ``error`` from the frame ``start`` on; if even that fails, its type's name."""
    try:
        return "".join(traceback.format_exception(type(error), error, start)).rstrip()
    except Exception:  # the contestant's own __str__ or __repr__
        return type(error).__name__


def summary(error: BaseException) -> str:
    """The error without its traceback: ``"ValueError: no move left"``."""
    name = type(error).__name__
    try:
        text = str(error)
    except Exception:  # the contestant's own __str__
        return name
    return f"{name}: {text}" if text else name


def missing_package(error: BaseException) -> str:
    """What to do when the host's package is what ``error`` could not import, in one line; else nothing."""
    name = error.name if isinstance(error, ModuleNotFoundError) else ""
    return _HOST_PACKAGE.format(name=name) if name in ("getstep_engines", "getstep_bots") else ""


def _takes_turn(function: GetStepFunction) -> bool:
    if not callable(function):
        raise BotError(f"get_step is {shown(function)}, expected a function: def get_step(board, is_black)")
    if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function):
        raise BotError("get_step is an async function or a generator, expected a plain def that returns a move.")
    try:
        signature = inspect.signature(function)
    except ValueError:  # some functions written in C do not tell
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


def _raised(error: BaseException, ms: float) -> Thought:
    tail = error.__traceback__.tb_next if error.__traceback__ else None  # without our own frame
    complaint = f"get_step raised:\n{author_trace(error, tail)}\n{missing_package(error)}".rstrip()
    return Thought(None, sendable_text(summary(error)), complaint, ms)


def _returned(value: Any, game: str, ms: float) -> Thought:
    expected = f"Expected for {game}: {info(game).move}"
    if value is None:
        complaint = f"get_step returned None: is a return missing? It counts as an illegal move.\n{expected}"
        return Thought(None, None, complaint, ms)
    try:
        move = _plain(value, MAX_DEPTH)
        _try_to_say(move)
    except Exception as problem:  # the codec's refusal, or whatever somebody's tolist raises
        reason = summary(problem).removeprefix("LocalProtocolError: ").removeprefix("cannot be sent: ")
        error = f"get_step returned {shown(value)}, which cannot be sent: {reason}"
        return Thought(None, sendable_text(error), f"{error}\n{expected}", ms)
    return Thought(move, None, "", ms)


def _plain(value: Any, depth: int) -> Any:
    """Lists and numbers in place of tuples and numpy's things, which are not imported for that.

    What is too deep or too long stays as it is; the codec refuses it.
    """
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, (list, tuple)) and depth and len(value) <= MAX_ARRAY:
        return [_plain(item, depth - 1) for item in value]
    return value


def _try_to_say(move: Any) -> None:
    """Let a codec try, so that what is sendable is decided in one place.

    Raises:
        LocalProtocolError: ``move`` cannot be sent.
    """
    scratch = Connection(Role.CLIENT)
    scratch.state, scratch.question = State.TURN, MAX_ID
    scratch.send(Step(id=MAX_ID, move=move))


def _since(started: float) -> float:
    return (time.perf_counter() - started) * 1000
