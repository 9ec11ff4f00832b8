"""What outlives the process of the page: logins to the areas of teams, and the games of people.

The server starts a page that has died again within seconds. The browsers still have their cookies, and connect
again. So each login and each game that goes on has a file in the folder ``page`` beside the journal. A game's file
has a line about the game, and then a line for each turn, as in docs/records.md.

The keys of the cookies are not in the files, only their hashes. A game whose file is old is over: nobody has been
at its board for PERSON_AWAY_SECONDS. A thread writes the files, in the order of the changes. They are not synced:
they outlive the process, and need not outlive the machine.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import trio

from getstep_server.json_text import JsonError, decode, encode
from getstep_server.limits import PERSON_AWAY_SECONDS

KEPT_FOLDER = "page"
"""The folder with the files, beside the journal."""

TOUCH_SECONDS = 10.0
"""The interval at which the files of games say that somebody is at the board."""

_MOST_BYTES = 1 << 20  # a game has 400 turns of 100 bytes; anything may be there under the name
_MOST_GAMES = 256  # more than people can play at a time
_GAME = re.compile(r"game-([0-9a-f]{64})\.jsonl")
_LOGINS = "logins.json"


def hash_of(key: str) -> str:
    """Return what is kept of the key in a cookie."""
    return hashlib.sha256(key.encode()).hexdigest()


class KeptGame:
    """A game that goes on: what it is, and its turns.

    Args:
        about: what is needed to begin it again, as JSON.
        turns: those that were played before, as on record.
        write: replaces the file, or with ``append`` adds to it.
    """

    def __init__(
        self,
        about: Mapping[str, Any],
        turns: Sequence[Mapping[str, Any]] = (),
        write: Callable[..., None] = lambda *_, **__: None,
    ) -> None:
        self.about = dict(about)
        self.turns = list(turns)
        self._write = write

    def note(self, **facts: object) -> None:
        """Keep more about the game, which has no turns yet."""
        self.about |= facts
        self._write(encode(self.about) + b"\n")

    def add(self, turns: Sequence[Mapping[str, Any]]) -> None:
        """Keep the next turns."""
        self._write(b"".join(encode(turn) + b"\n" for turn in turns), append=True)


class Keeper:
    """The files of one page.

    Args:
        folder: where they are; None to keep nothing.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._jobs: deque[Callable[[], object]] = deque()
        self._news = trio.Event()

    async def run(self) -> None:
        """Write what is to be kept, until cancelled."""
        while True:
            await self._news.wait()
            self._news = trio.Event()
            jobs, self._jobs = self._jobs, deque()
            await trio.to_thread.run_sync(_do, jobs)

    # --- logins ---

    def logins(self) -> list[Any]:
        """Return the logins that were kept, as JSON."""
        found = self._read(_LOGINS)
        with suppress(JsonError):
            logins = decode(found)
            return logins if isinstance(logins, list) else []
        return []

    def keep_logins(self, logins: Sequence[Mapping[str, Any]]) -> None:
        self._write(_LOGINS, encode(list(logins)))

    # --- games ---

    def games(self) -> dict[str, KeptGame]:
        """Return the games that went on a moment ago, by the hash of their key; forget all others."""
        if self._folder is None or not self._folder.is_dir():
            return {}
        found: dict[str, KeptGame] = {}
        for path in sorted(self._folder.iterdir())[: 2 * _MOST_GAMES]:
            name = _GAME.fullmatch(path.name)
            if name is None:
                continue
            lines = self._read(path.name).split(b"\n")[:-1]  # the last line may be cut
            try:
                is_old = time.time() > path.stat().st_mtime + PERSON_AWAY_SECONDS
                about, *turns = [dict(decode(line)) for line in lines]
            except (OSError, JsonError, ValueError, TypeError):
                is_old = True
            if is_old or len(found) >= _MOST_GAMES:
                self.forget_game(name[1])
            else:
                found[name[1]] = KeptGame(about, turns, partial(self._write, path.name))
        return found

    def keep_game(self, key: str, about: Mapping[str, Any]) -> KeptGame:
        """Keep a game that begins; ``key`` is the hash of its key."""
        game = KeptGame(about, (), partial(self._write, _file_of(key)))
        game.note()
        return game

    def touch_game(self, key: str) -> None:
        """Say that somebody is at the board."""
        self._put(lambda folder: os.utime(folder / _file_of(key)))

    def forget_game(self, key: str) -> None:
        self._put(lambda folder: (folder / _file_of(key)).unlink(missing_ok=True))

    # --- files ---

    def _read(self, name: str) -> bytes:
        if self._folder is None:
            return b""
        try:
            with (self._folder / name).open("rb") as file:
                return file.read(_MOST_BYTES)
        except OSError:
            return b""

    def _write(self, name: str, data: bytes, *, append: bool = False) -> None:
        self._put(lambda folder: _append(folder / name, data) if append else _replace(folder / name, data))

    def _put(self, job: Callable[[Path], object]) -> None:
        if self._folder is not None:
            self._jobs.append(partial(job, self._folder))
            self._news.set()


def _file_of(key: str) -> str:
    return f"game-{key}.jsonl"


def _do(jobs: Sequence[Callable[[], object]]) -> None:
    for job in jobs:
        with suppress(OSError):  # a full disk: the page goes on, and keeps less
            job()


def _replace(path: Path, data: bytes) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    new = path.with_suffix(".new")
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(data)
    new.replace(path)


def _append(path: Path, data: bytes) -> None:
    with path.open("r+b") as file:  # not "a": a game that was forgotten has no file
        file.seek(0, os.SEEK_END)
        file.write(data)
