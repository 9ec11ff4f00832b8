"""Records as files for learning programs: a row for each turn. Needs the extra ``data``.

The arrays and files are those of `getstep_training.turns`, which the contestants' side of learning knows, too; this
module reads the records for it. Void attempts are left out: they have no result.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from getstep_engines import GAMES
from getstep_server.errors import UsageError
from getstep_server.records.reasons import VOID_REASONS
from getstep_server.records.record import RecordError, hash_of
from getstep_server.records.values import Who
from getstep_server.storage.database import damaged
from getstep_server.storage.store import Store, StoredRecord

_INSTALL = "pip install 'getstep-server[data]'"

try:
    from getstep_training.turns import Format, RecordedGame, RecordedTurn, TurnError, TurnFiles
except ImportError as error:
    raise UsageError(f"a package is missing ({error}); install it: {_INSTALL}") from error

_NAN = float("nan")


class _Turn(msgspec.Struct):
    """What a row needs of a turn; the record has more."""

    player: Who
    move: Any = None
    pass_: bool = msgspec.field(name="pass", default=False)
    fault: str = ""
    end: str = ""
    ms: float = _NAN
    notes: dict[str, Any] = {}


class _Team(msgspec.Struct):
    id: int


class _Game(msgspec.Struct):
    """What the rows need of a game's record."""

    match: int
    attempt: int
    game: str
    options: dict[str, int]
    teams: tuple[_Team, _Team]
    winner: Who | None
    reason: str
    turns: list[_Turn]
    opening: list[Any] = []


_decode = msgspec.json.Decoder(_Game).decode


def write_turns(store: Store, folder: Path, form: Format, event: int | None = None) -> TurnFiles:
    """Write the turns of all games, or of those of one event, into files in ``folder``.

    Args:
        store: the records; read one after the other, so that memory is bounded.
        folder: made if it is missing; it must be empty.
        form: the form of the files.
        event: the number of the event; None for all.

    Returns:
        The files, which are written and closed.

    Raises:
        UsageError: the folder is not empty, or pyarrow is not installed.
        StoreError: a record is damaged.
        RecordError: a game is against the rules, or its moves have no numbers.
        OSError: a file cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise UsageError(f"{folder}: the folder is not empty; expected a new or an empty one")
    try:
        files = TurnFiles(folder, form)
    except ImportError as error:
        raise UsageError(f"Parquet needs pyarrow ({error}); install it, or use --npz: {_INSTALL}") from error
    with files:
        for stored in store.records():
            if stored.number is None or event not in (None, stored.event):
                continue
            if stored.hash != hash_of(stored.line):
                raise damaged(store.path, f"the record at place {stored.place} is not what was written")
            game = _read(stored)
            if game.reason in VOID_REASONS or not game.turns:  # or they are in an archive
                continue
            teams = game.teams[0].id, game.teams[1].id
            played = RecordedGame(stored.place, game.match, game.attempt, teams, game.winner, list(_turns(game)))
            try:
                files.add(game.game, game.options, played)
            except TurnError as error:
                raise RecordError(f"{error}; run verify") from error
            except ValueError as error:
                raise RecordError(f"the record at place {stored.place}: {error}") from error
    return files


def _read(stored: StoredRecord) -> _Game:
    try:
        game = _decode(stored.line)
        GAMES[game.game].start(**game.options)  # called for its checks only
    except (ValueError, RecursionError) as error:
        raise RecordError(f"the record at place {stored.place}: {error}") from error
    return game


def _turns(game: _Game) -> Iterator[RecordedTurn]:
    for move in game.opening:
        yield RecordedTurn(0, 0, move, "", False, False, _NAN, _NAN)  # the host's: played, and without a row
    for number, turn in enumerate(game.turns, start=1):
        if turn.pass_:
            continue
        estimate = turn.notes.get("estimate", _NAN) if turn.notes else _NAN
        yield RecordedTurn(
            number,
            turn.player,
            turn.move,
            turn.fault or turn.end,
            bool(turn.end),
            # a stalled player is not asked; who breaks the protocol need not be on turn
            turn.fault != "stalled" and turn.end != "hostile",
            turn.ms,
            estimate if isinstance(estimate, (int, float)) else _NAN,
        )
