"""A server that dies at a named point: ``crash_server.py POINT COUNT ...``, and then getstep-server's arguments.

When it reaches POINT for the COUNT-th time it sends itself SIGKILL: nothing more is written, said or closed. It is
the server as it is; the hooks are put into it from here.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from getstep_server.cli.main import main
from getstep_server.net.seat import Seat
from getstep_server.runtime.director import Director
from getstep_server.storage import journal
from getstep_server.storage.journal import Journal
from getstep_server.storage.store import Store
from getstep_server.tournament.tournament import Tournament


@dataclass(frozen=True)
class Point:
    """Before or after a call of ``owner``'s ``method``, of those calls for which ``which(*arguments)`` holds."""

    owner: type
    method: str
    side: str
    which: Callable[..., bool] = lambda *_, **__: True


def _lines(beginning: bytes) -> Callable[..., bool]:
    """Return a check of whether the last line to be written to the journal begins so."""
    return lambda _journal, _tag, *entries: entries[-1].startswith(beginning)


def _holds_a_turn(opened: Journal) -> bool:
    return b' {"player"' in opened._pending


def _of_a_match(_journal: Journal, tag: bytes) -> bool:
    return bool(tag)


def _of_a_game(_store: Store, record: Any, *_: object) -> bool:
    return record.match is not None


def _of_pairings(_store: Store, record: Any, *_: object) -> bool:
    return record.match is None


def _first_of_two(seat: Seat, _end: object) -> bool:
    return seat._start is not None and seat._start.is_black


POINTS = {
    "pairings-written": Point(Store, "_write_record", "after", _of_pairings),
    "pairings-stored": Point(Tournament, "apply_pairings", "before"),
    "journal-empty": Point(Journal, "_open", "after"),
    "journal-begun": Point(Journal, "append", "after", _lines(b'{"record"')),
    "journal-resumed": Point(Journal, "append", "after", _lines(b'{"resumed"')),
    "turn-decided": Point(Journal, "append", "before", _lines(b'{"player"')),
    "turn-torn": Point(Journal, "flush", "amid", _holds_a_turn),
    "turn-collected": Point(Journal, "append", "after", _lines(b'{"player"')),
    "turn-written": Point(Journal, "flush", "after", _holds_a_turn),
    "result-decided": Point(Store, "_write_record", "before", _of_a_game),
    "result-written": Point(Store, "_write_record", "after", _of_a_game),
    "result-stored": Point(Journal, "finish", "before", _of_a_match),
    "journal-removed": Point(Journal, "finish", "after", _of_a_match),
    "before-announcing": Point(Director, "_announce", "before"),
    "one-of-two-told": Point(Seat, "end", "after", _first_of_two),
    "after-announcing": Point(Director, "_announce", "after"),
}
"""On the way of a match: what is about to happen, or just has."""

AT_START = ("pairings-written", "pairings-stored", "journal-resumed")
"""Points that a server reaches before its first match, or never."""

BEFORE_LISTENING = (*AT_START, "journal-empty", "journal-begun")
"""Points that it may reach before it has said that it listens: a resumed match is written down before that, a
new one in the same moment."""

SEGMENT_BYTES = 1 << 14
"""So that a journal has several segments: some 150 turns."""


def arm(point: Point, count: int) -> None:
    """Make this process die when it reaches ``point`` for the ``count``-th time."""
    original = getattr(point.owner, point.method)
    left = count

    def hooked(*arguments: Any, **options: Any) -> Any:
        nonlocal left
        due = point.which(*arguments, **options)
        left -= due
        if due and left == 0 and point.side != "after":
            _die(arguments[0] if point.side == "amid" else None)
        value = original(*arguments, **options)
        if due and left == 0:
            _die(None)
        return value

    setattr(point.owner, point.method, hooked)


def _die(torn: Journal | None) -> None:
    """Die, with half of the journal's next line written."""
    if torn is not None:
        os.write(torn._file, torn._pending[: len(torn._pending) // 2])
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    _, name, count, *arguments = sys.argv
    journal.SEGMENT_BYTES = SEGMENT_BYTES  # type: ignore[attr-defined]  # the constant that the journal imports
    arm(POINTS[name], int(count))
    main(arguments)
