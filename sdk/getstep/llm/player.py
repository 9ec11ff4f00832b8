"""A language model as a ``get_step``: the words of a question, the move in an answer, tries and tokens.

Each move is a conversation of its own: the rules, the position, and what was wrong with the answers to this
question. So the tokens of a move do not grow during a game.

The tokens of a run are bounded. Before a question is asked, its tokens and those of the longest answer must be
left. What the endpoint has not counted is counted here, as one token for two bytes: boards are mostly digits. An
answer that does not arrive counts as the longest one.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import chain, islice
from typing import Any

from getstep import notes
from getstep.games import Board, named_move
from getstep.text import escape_control_chars, sendable_text
from getstep.turn import Callback, CallResult, Turn
from getstep.wire import MAX_SAY
from getstep_engines import GAMES, Game, IllegalMove, State, UnknownGameError
from getstep_engines.look import coordinates

from .endpoint import Answer, Endpoint, EndpointError, Messages

MARGIN_SECONDS = 0.3
"""The question ends so long before the limit, or a tenth of the time if that is less: the move has to travel."""

BUDGET_SHARE = 0.1
"""The part of what is left of a limit for a whole match that one move may take."""

_PAUSES = (0.5, 1.0, 2.0, 4.0)
"""Seconds before a question is asked again that the endpoint did not answer; then the turn is given up."""

_BYTES_OF_A_TOKEN = 2
_PREFIX = "move:"
_MAX_SHOWN = 200  # characters of an answer in a message
_MAX_REPEATED = 2000  # characters of its own answer that a model is shown again
_MOST_LISTED = 400  # legal moves of a position in a question, of games whose moves are texts
_MAX_LAST_LINE = 1000  # a path of 99 hops has 399


class NoMove(RuntimeError):  # noqa: N818 - reads better where it is caught
    """The model has given no legal move. The text says why."""


class NoTokens(NoMove):
    """The tokens of the run are used up."""


class LanguageModel:
    """A language model that plays every game that is installed here.

    Args:
        endpoint: where it is asked.
        max_tokens: the tokens that an answer may have.
        most_tokens: the tokens of the whole run, questions and answers together.
        tries: how often it is told why an answer was no legal move, in one turn.
        sleep: waits; for tests.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        max_tokens: int,
        most_tokens: int,
        tries: int,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        self._endpoint = endpoint
        self._max_tokens, self._most_tokens, self._tries = max_tokens, most_tokens, tries
        self._sleep = sleep
        self._ratio = 1.0  # the tokens of a question as the endpoint counts them, to those that are counted here
        self.used = 0
        """The tokens of the run until now."""
        self.used_up = False
        """True once a question was not asked, because there were not enough tokens left."""

    @property
    def name(self) -> str:
        """The name of the model."""
        return self._endpoint.model

    def get_step(self, board: Board, is_black: bool, turn: Turn) -> Any:
        """Return the model's move. It and each answer are noted.

        Raises:
            NoMove: it has given no legal move in time, or the tokens of the run are used up.
        """
        try:
            game = GAMES[turn.game]
        except UnknownGameError:
            raise NoMove(f"{turn.game} is not installed here, so its rules cannot be told to a model") from None
        state = game.from_board(board, is_black)
        conversation = [_message("system", rules_text(game)), _message("user", position_text(game, state, turn))]
        began, before = time.monotonic(), self.used
        deadline = began + _seconds(turn)
        tried: list[str] = []
        try:
            for _ in range(self._tries + 1):
                answer = self._answer(conversation, deadline)
                move, wrong = read_answer(game, state, answer.text)
                tried.append(f"{_shown(answer.text)} ({wrong})" if wrong else _shown(answer.text))
                if not wrong:
                    return move
                said = answer.text[-_MAX_REPEATED:]
                conversation += [_message("assistant", said), _message("user", _again(wrong))]
            raise NoMove(f"the model has answered {len(tried)} times without a legal move; the last time: {wrong}")
        finally:
            seconds = time.monotonic() - began
            spent = f"{self.name}: {self.used - before} tokens, {seconds:.1f} s, {len(tried)} answers"
            self._note([spent, *(f"answer: {text}" for text in tried)], conversation)

    def _answer(self, conversation: Messages, deadline: float) -> Answer:
        """Return the next answer; ask again where the endpoint has failed and there is time for it."""
        for pause in chain(_PAUSES, (None,)):
            counted = _tokens("".join(message["content"] for message in conversation))
            prompt = math.ceil(counted * self._ratio)
            if self.used + prompt + self._max_tokens > self._most_tokens:
                self.used_up = True
                raise NoTokens(
                    f"{self.used} of {self._most_tokens} tokens are used, and too few are left for a question."
                    " The model is asked no more; --most-tokens allows more"
                )
            try:
                answer = self._endpoint.ask(conversation, self._max_tokens, deadline)
            except EndpointError as error:
                self.used += prompt + self._max_tokens if error.counted else 0
                wait = None if error.again_after is None or pause is None else max(pause, error.again_after)
                if wait is None:
                    raise NoMove(f"the endpoint has not answered: {error}") from None
                if time.monotonic() + wait >= deadline:
                    asked = f"; it asks to wait {error.again_after:.0f} s" if error.again_after else ""
                    raise NoMove(f"the endpoint has not answered in the time of the move: {error}{asked}") from None
                self._sleep(wait)
            else:
                if answer.prompt_tokens is not None:
                    self._ratio = max(self._ratio, answer.prompt_tokens / counted)
                    prompt = answer.prompt_tokens
                self.used += prompt
                self.used += _tokens(answer.text) if answer.answer_tokens is None else answer.answer_tokens
                return answer
        raise AssertionError("the last attempt returns or raises")

    def _note(self, lines: list[str], conversation: Messages) -> None:
        """Note what was said, as far as notes allow: the cost and the last answers, then the question."""
        while len(lines) > 2 and sum(map(len, lines)) + len(lines) > MAX_SAY:
            del lines[1]  # the first answer
        said = "\n".join(lines)[: MAX_SAY - 1]
        room = MAX_SAY - len(said) - 1
        question = f"question: {conversation[1]['content']}"
        if room > len("question: "):
            said = f"{said}\n{question[:room]}"
        notes.say(said[:MAX_SAY])


class ModelCallback(Callback):
    """The ``get_step`` of a model. Once its tokens are used up, it gives up each match without a question."""

    def __init__(self, model: LanguageModel) -> None:
        super().__init__(model.get_step)
        self.stem = "llm"
        self.model = model

    def call(self, board: Board, is_black: bool, turn: Turn) -> CallResult:
        """Ask for a move; see `Callback.call`."""
        result = super().call(board, is_black, turn)
        return replace(result, error=None, resigns=True) if self.model.used_up else result

    def after_exception(self, error: BaseException, ms: float) -> CallResult:
        """Return the reason alone, if the model has given no move."""
        if not isinstance(error, NoMove):
            return super().after_exception(error, ms)
        reason = sendable_text(str(error))
        return CallResult(None, reason, reason, ms)


# --- the words of a question ------------------------------------------------------------------------------------


def rules_text(game: Game) -> str:
    """Return the instructions of a game: its rules, as rules.md has them, and how a move is written."""
    start = game.start()
    example = next(iter(start.legal_moves()))
    return (
        f"You play the board game {game.title}. These are its rules, for programs. board[row][column] is a number,"
        f" and rows and columns are counted from 0.\n\n{game.rules.strip()}\n\n"
        f"How to answer: you may think first, briefly. The last line of your answer is '{_PREFIX}' and your move,"
        f" and nothing else. {_notation_text(game)} An example from the start of a game:\n"
        f"{_PREFIX} {game.notation(example)}"
    )


def _notation_text(game: Game) -> str:
    if game.look.notation is not None:
        example = next(iter(game.start().legal_moves()))
        written, meant = game.notation(example), coordinates(example)
        return f"Write the move in the notation of the game: {written} is {meant}, a square being row,column."
    if game.move_form.parts == ("text",):
        return "Write the text of one of the legal moves, exactly as it is listed."
    paths = " A path is its squares, joined by -: 2,2-2,4." if "path" in game.move_form.parts else ""
    return f"Write a square as row,column: 3,4.{paths}"


def position_text(game: Game, state: State, turn: Turn) -> str:
    """Return the question of a turn: the board, who is on turn, and the last move."""
    me = state.to_move
    last = "The opponent has not moved yet."
    if turn.last_move is not None:
        last = f"The opponent's last move: {game.notation(turn.last_move)}."
    order = ("first", "second")[me]
    return (
        f"You are {game.players[me]}, the {order} player. This is turn {turn.move_number} of the game. {last}\n"
        f"{_shown_position(game, state)}\n"
        f"What is your move? End with a line '{_PREFIX} ...'."
    )


def _shown_position(game: Game, state: State) -> str:
    """Return the board with the numbers of its rows and columns, or as text if moves are texts, with the moves."""
    if game.move_form.parts != ("text",):
        return f"The board, with the numbers of its rows and columns:\n{board_text(state.board())}"
    return f"The board:\n{state}\nThe legal moves: {'; '.join(islice(state.legal_moves(), _MOST_LISTED))}."


def board_text(board: Board) -> str:
    """Return a board as ``get_step`` gets it, a line for each row, with the numbers of rows and columns."""
    width = max(len(str(cell)) for row in board for cell in row)
    width = max(width, len(str(len(board[0]) - 1)))
    head = " ".join(f"{column:>{width}}" for column in range(len(board[0])))
    rows = [f"row {number:>2}: " + " ".join(f"{cell:>{width}}" for cell in row) for number, row in enumerate(board)]
    return "\n".join([f"column: {head}", *rows])


# --- the move in an answer --------------------------------------------------------------------------------------


def read_answer(game: Game, state: State, text: str) -> tuple[Any, str]:
    """Return the move of an answer, and what is wrong with it; the text is empty if the move is legal."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    last = lines[-1] if lines else ""
    if len(last) > _MAX_LAST_LINE or last[: len(_PREFIX)].lower() != _PREFIX:
        return None, f"the last line is not '{_PREFIX}' and a move"
    move = named_move(game, state, last[len(_PREFIX) :].strip())
    if move is None:
        return None, f"{_shown(last)} is not a legal move in the notation that was asked for"
    try:
        state.copy().play(move)
    except IllegalMove as error:
        return None, f"illegal: {error}"
    return move, ""


def _again(wrong: str) -> str:
    return f"This is no answer: {wrong}. Give another move, with a last line '{_PREFIX} ...'."


# --- small parts ------------------------------------------------------------------------------------------------


def _message(role: str, content: str) -> dict[str, str]:
    return {"role": role, "content": content}


def _seconds(turn: Turn) -> float:
    """Return the seconds that a move may take."""
    seconds = turn.time_left_ms / 1000
    if turn.time_kind == "budget":
        seconds *= BUDGET_SHARE
    return seconds - min(MARGIN_SECONDS, seconds / 10)


def _tokens(text: str) -> int:
    return len(text.encode("utf-8", "replace")) // _BYTES_OF_A_TOKEN + 1


def _shown(text: str) -> str:
    """Return the end of an answer on one line."""
    line = " ".join(text.split())
    return escape_control_chars(line if len(line) <= _MAX_SHOWN else f"... {line[-_MAX_SHOWN:]}")
