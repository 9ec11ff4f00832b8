"""Recorded games as rows of arrays, one for each turn, in files for learning programs.

>>> with TurnFiles(Path("autumn"), "npz") as files:
...     files.add("hop", {}, RecordedGame(place=3, match=1, attempt=1, teams=(4, 7), winner=0, turns=turns))

In: games with their moves, as records have them. Out: Parquet files or numpy's npz files, as docs/training.md
describes them. The games are played again in a batch, so observations, masks and actions are those of `batch` and
`pettingzoo`, and each move is checked by the rules. It must not know where the games are stored.

Memory is bounded: `BLOCK_ROWS` rows of each game and its options are encoded and written together.
Parquet needs ``getstep-training[parquet]``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from getstep_engines import GAMES, Move

from ._actions import Actions, actions_of
from .batch import Batch, batch_of

if TYPE_CHECKING:
    import pyarrow as pa

SCHEMA = "1"
"""The version of the columns; a program that reads the files can check it."""

BLOCK_ROWS = 32_768
"""Rows that are written together: a group of rows, or an npz file. The widest row, of pseudo_tonga with size 16,
takes 1 kB, so a block takes 34 MB; with fewer games at once, the calls of numpy cost more than their work."""

Format: TypeAlias = Literal["parquet", "npz"]
Columns: TypeAlias = dict[str, NDArray[Any]]

_FAULT, _RESIGNATION = -1, -2


class RecordedTurn(NamedTuple):
    """One turn of a game.

    ``move`` counts if ``code`` is empty; otherwise ``code`` says why there is none. ``ends`` is True if that ended
    the game: a resignation, an absence, a violation of the protocol. ``asked`` is False if the player was not
    asked, or was not on turn: then the turn has no row. ``estimate`` is NaN if the player gave none.
    """

    number: int
    player: int
    move: Move
    code: str
    ends: bool
    asked: bool
    ms: float
    estimate: float


class RecordedGame(NamedTuple):
    """A game, without the passes of players that had no legal move. ``winner`` is None for a draw."""

    place: int
    match: int
    attempt: int
    teams: tuple[int, int]
    winner: int | None
    turns: Sequence[RecordedTurn]


class TurnError(ValueError):
    """Raised when a recorded game does not follow the rules. The message names its place."""


# --- rows ---------------------------------------------------------------------------------------------------------


def encode(game: str, options: Mapping[str, int], games: Sequence[RecordedGame]) -> Columns:
    """Return the rows of ``games``, in order, by the names of the columns in docs/training.md.

    Raises:
        TurnError: a turn is against the rules.
        ValueError: the moves of the game have no numbers.
    """
    batch = batch_of(game, len(games), **options)
    script = _Script(actions_of(GAMES[game], batch.size), games)
    count = len(script.actions)
    observations = np.zeros((count, batch.size, batch.size, 3), np.int8)
    masks = np.zeros((count, batch.actions), np.uint8)
    played = script.rows.copy()
    for boards, at in script.play(batch, played):
        observations[at] = batch.observations()[boards]
        masks[at] = batch.legal()[boards]
    rows = np.flatnonzero(played)
    turns, of = script.turns[rows], script.games[rows]
    player = script.players[rows]
    winner = np.array([-1 if one.winner is None else one.winner for one in games])[of]
    teams = np.array([one.teams for one in games]).reshape(-1, 2)
    listed = [turn for one in games for turn in one.turns]
    ids = np.array([[one.place, one.match, one.attempt] for one in games]).reshape(-1, 3)
    return {
        "place": ids[of, 0].astype(np.int64),
        "match": ids[of, 1].astype(np.int32),
        "attempt": ids[of, 2].astype(np.int32),
        "turn": np.array([turn.number for turn in listed], np.int32)[turns],
        "step": script.steps[rows],
        "player": player.astype(np.int8),
        "team": teams[of, player].astype(np.int32),
        "opponent": teams[of, 1 - player].astype(np.int32),
        "observation": observations[rows],
        "mask": masks[rows],
        "action": np.maximum(script.actions[rows], -1).astype(np.int32),
        "code": np.array([turn.code for turn in listed], np.str_)[turns],
        "ms": np.array([turn.ms for turn in listed], np.float64)[turns],
        "estimate": np.array([turn.estimate for turn in listed], np.float32)[turns],
        "result": np.where(winner < 0, 0, np.where(winner == player, 1, -1)).astype(np.int8),
    }


class _Script:
    """The actions of games, one game after the other in arrays; a fault and a resignation are negative numbers.

    ``games`` and ``turns`` are the game and the turn of each action, ``steps`` its number in the turn, ``rows`` if
    it may have a row. ``starts`` and ``ends`` are where the actions of each game begin and end.
    """

    def __init__(self, numbering: Actions, games: Sequence[RecordedGame]) -> None:
        self._numbering = numbering
        self._games = games
        self._listed = [turn for one in games for turn in one.turns]
        actions: list[int] = []
        turns: list[int] = []
        ends: list[int] = []
        listed = self._listed
        numbers = numbering.numbers
        total = 0
        for one in games:
            for number, turn in enumerate(one.turns, total):
                if turn.code:
                    actions.append(_RESIGNATION if turn.ends else _FAULT)
                    turns.append(number)
                    continue
                try:
                    found = numbers(turn.move)
                except ValueError as error:
                    raise _turn_error(one, turn, str(error)) from error
                actions += found
                turns += [number] * len(found)
            total += len(one.turns)
            ends.append(len(actions))
        self.actions = np.array(actions, np.int64)
        self.turns = np.array(turns, np.intp)
        self.ends = np.array(ends, np.intp)
        self.starts = np.concatenate([np.zeros(1, np.intp), self.ends[:-1]])
        self.games = np.repeat(np.arange(len(games)), self.ends - self.starts)
        self.players = np.array([turn.player for turn in listed], np.intp)[self.turns]
        self.rows = np.array([turn.asked for turn in listed], np.bool_)[self.turns]
        first = np.searchsorted(self.turns, self.turns)  # `turns` rise: the first action of the same turn
        self.steps = (np.arange(len(actions)) - first).astype(np.int8)

    def play(self, batch: Batch, played: NDArray[np.bool_]) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """Play the games, one on each board; yield boards that are on turn, and the numbers of their actions.

        ``played`` becomes False for the end of a move that the rules have ended.

        Raises:
            TurnError: an action is against the rules.
        """
        at, end = self.starts.copy(), self._numbering.end
        while len(boards := np.flatnonzero(at < self.ends)):
            actions = self.actions[at[boards]]
            # A batch plays a move on all boards, or none: the boards with a fault come first.
            if (special := actions < 0).any():
                boards, actions = boards[special], actions[special]
            now = at[boards]
            self._check(batch, boards, now, actions)
            yield boards, now
            if special.any():
                batch.fault(_flags(boards[actions == _FAULT], batch))
                batch.resign(_flags(boards[actions == _RESIGNATION], batch))
            else:
                every = np.zeros(len(batch), np.intp)
                every[boards] = actions
                batch.play(every)
            at[boards] += 1
            if end is not None:
                going = boards[at[boards] < self.ends[boards]]
                done = going[(self.actions[at[going]] == end) & ~batch.hopping[going]]
                played[at[done]] = False
                at[done] += 1
            batch.resign(at >= self.ends)  # no turns are left: the game is over for the record

    def _check(
        self, batch: Batch, boards: NDArray[np.intp], at: NDArray[np.intp], actions: NDArray[np.int64]
    ) -> None:
        over = batch.over[boards]
        other = self.rows[at] & (batch.to_move[boards] != self.players[at])
        moving = np.flatnonzero(actions >= 0)
        illegal = np.zeros(len(boards), np.bool_)
        illegal[moving] = ~batch.legal()[boards[moving], actions[moving]]
        unfinished = (actions == _FAULT) & batch.hopping[boards]
        wrong = np.flatnonzero(over | other | illegal | unfinished)
        if len(wrong):
            place = at[wrong[0]]
            one, turn = self._games[self.games[place]], self._listed[self.turns[place]]
            raise _turn_error(one, turn, "it is against the rules")


def _flags(boards: NDArray[np.intp], batch: Batch) -> NDArray[np.bool_]:
    flags = np.zeros(len(batch), np.bool_)
    flags[boards] = True
    return flags


def _turn_error(one: RecordedGame, turn: RecordedTurn, what: str) -> TurnError:
    return TurnError(f"the record at place {one.place}, turn {turn.number}: {what}")


# --- files --------------------------------------------------------------------------------------------------------


class TurnFiles:
    """Files in a folder: for each game and its options one Parquet file, or numbered npz files.

    Attributes:
        rows: the number of rows that are written.
        files: the names of the files that are written.

    Args:
        folder: where the files are written; it exists.
        form: ``"parquet"`` or ``"npz"``.

    Raises:
        ImportError: pyarrow is not installed, and the form is ``"parquet"``.
    """

    def __init__(self, folder: Path, form: Format) -> None:
        if form == "parquet":
            import pyarrow  # noqa: F401 - to fail before any work
        self._folder = folder
        self._form = form
        self._groups: dict[str, _Group] = {}
        self.rows = 0
        self.files: list[str] = []

    def __enter__(self) -> TurnFiles:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for group in self._groups.values():
            if kind is None:
                self._write(group)
            if group.parquet is not None:
                group.parquet.close()

    def add(self, game: str, options: Mapping[str, int], played: RecordedGame) -> None:
        """Add a game. It is in the files at the latest when the context ends.

        Raises:
            TurnError: this game, or one before it, is against the rules.
            ValueError: the moves of the game have no numbers.
            OSError: a file cannot be written.
        """
        name = "-".join([game, *(f"{option}-{value}" for option, value in sorted(options.items()))])
        group = self._groups.get(name)
        if group is None:
            batch_of(game, 0, **options)  # called for its checks only
            group = self._groups[name] = _Group(name, game, dict(options))
        group.games.append(played)
        group.rows += sum(_most_rows(turn.move) for turn in played.turns) if group.paths else len(played.turns)
        if group.rows >= BLOCK_ROWS:
            self._write(group)

    def _write(self, group: _Group) -> None:
        if not group.rows:
            return
        columns = encode(group.game, group.options, group.games)
        group.games, group.rows = [], 0
        about = {"schema": SCHEMA, "game": group.game, "options": json.dumps(group.options)}
        self.rows += len(columns["place"])
        group.blocks += 1
        if self._form == "npz":
            name = f"{group.name}-{group.blocks:05}.npz"
            np.savez_compressed(
                self._folder / name, allow_pickle=False, **columns, **{key: np.array(v) for key, v in about.items()}
            )
            self.files.append(name)
            return
        import pyarrow.parquet as pq

        table = to_arrow(columns, about)
        if group.parquet is None:
            name = f"{group.name}.parquet"
            group.parquet = pq.ParquetWriter(
                self._folder / name, table.schema, compression="zstd", use_dictionary=["code"]
            )
            self.files.append(name)
        group.parquet.write_table(table)


class _Group:
    """The games of one kind and its options that are not written yet, and what is written."""

    def __init__(self, name: str, game: str, options: dict[str, int]) -> None:
        self.name = name
        self.game = game
        self.options = options
        self.games: list[RecordedGame] = []
        self.rows = 0
        self.paths = GAMES[game].move_form.parts == ("path",)
        self.blocks = 0
        self.parquet: Any = None


def _most_rows(path: Move) -> int:
    """Return the most rows that a path has: one for each step or hop, and one for its end."""
    return max(1, len(path)) if isinstance(path, (list, tuple)) else 1


def to_arrow(columns: Columns, about: Mapping[str, str]) -> pa.Table:
    """Return the rows as a table of Arrow. Arrays of several dimensions are of its type ``fixed_shape_tensor``."""
    import pyarrow as pa

    made = {}
    for name, values in columns.items():
        if values.ndim > 1:
            shape = values.shape[1:]
            flat = pa.array(np.ascontiguousarray(values).reshape(-1))
            kind = pa.fixed_shape_tensor(flat.type, shape)
            stored = pa.FixedSizeListArray.from_arrays(flat, int(np.prod(shape)))
            made[name] = pa.ExtensionArray.from_storage(kind, stored)
        else:
            made[name] = pa.array(values, pa.string() if values.dtype.kind == "U" else None)
    return pa.table(made).replace_schema_metadata(dict(about))
