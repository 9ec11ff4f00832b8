"""The bot's end: answers questions with a callback, in order, and reports the place of a late call.

Questions and replies are dicts of JSON values. A question has ``id``, ``board``, ``is_black``, ``seconds`` (the
limit) and ``turn`` (the fields of `Turn`). A reply has ``type``: ``"ready"`` (with the ``games`` that the bot
names), ``"broken"`` (the bot cannot be loaded), ``"late"`` (the call has reached its limit and still runs) or
``"answer"``, with the ``notes`` of the move, and with lines for the author about ``dropped`` ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from traceback import StackSummary
from typing import Any

from getstep._watchdog import Watchdog, format_calls, location
from getstep.turn import Callback, CallResult, Turn, as_move

Message = dict[str, Any]

LONGEST_TEXT = 4000
"""Characters of a traceback or a list of calls that are passed on; the end says most, so the beginning is cut."""


def serve(callback: Callback, questions: Iterable[Message], send: Callable[[Message], None]) -> None:
    """Answer all questions; ``send`` is also called from another thread."""
    watchdog = Watchdog()
    for question in questions:
        _answer(callback, question, send, watchdog)


def call_with(callback: Callback, question: Message) -> CallResult:
    """Return the result of calling the callback with a question."""
    fields = question["turn"]
    opening = tuple(map(as_move, fields.get("opening", ())))
    turn = Turn(**{**fields, "last_move": as_move(fields["last_move"]), "opening": opening})
    return callback.call(question["board"], question["is_black"], turn)


def _answer(callback: Callback, question: Message, send: Callable[[Message], None], watchdog: Watchdog) -> None:
    def tell_late(stack: StackSummary) -> None:
        calls = format_calls(stack)[-LONGEST_TEXT:]
        send({"type": "late", "id": question["id"], "where": location(stack), "calls": calls})

    with watchdog.watch((question["seconds"], tell_late)):
        call = call_with(callback, question)
    send(
        {
            "type": "answer",
            "id": question["id"],
            "move": call.move,
            "error": call.error,
            "problem": call.problem[-LONGEST_TEXT:],
            "resigns": call.resigns,
            "notes": call.notes,
            "dropped": list(call.dropped),
        }
    )
