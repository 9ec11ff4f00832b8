"""Parts of reports that are kept: a report or site that is made again costs what has changed since the last one.

A part is the value of a function, kept under the digest of all that the function reads: its arguments and the
program (`digest_of`). So nothing has to know which record, decision or name changes which part, and a report of
kept parts has the same bytes as one that is made without them. Only the parts of the latest report are kept.

The parts of the front page are in a file beside it: who reads a contest changes nothing in its folder. The page of
a match stays where it was written, see `Page`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from importlib.metadata import version
from pathlib import Path
from typing import TypeAlias

import msgspec

from getstep_engines import GAMES
from getstep_server.json_text import encode

MOST_BYTES = 1 << 28
"""The size of a file that is read. A contest of five ladders of 1,024 teams has 100 MB."""

Fit: TypeAlias = Sequence[tuple[int, float]]


@dataclass(frozen=True, slots=True)
class Page:
    """A file to write: its relative path, and a function that makes its content.

    ``digest`` is that of all that the function reads. A file that was written with the same digest is left as it
    is. Without a digest the content is made each time.
    """

    name: str
    content: Callable[[], str | bytes]
    digest: str = ""


def digest_of(*read: object) -> str:
    """Return a digest of values that JSON has, or dataclasses of them, and of the program that reads them."""
    return blake2b(encode((_program(), read)), digest_size=16).hexdigest()


class _Parts(msgspec.Struct):
    html: dict[str, str] = msgspec.field(default_factory=dict)
    fits: dict[str, list[tuple[int, float]]] = msgspec.field(default_factory=dict)


class KeptParts:
    """The parts of a report. What an earlier one made of the same is not made again."""

    def __init__(self, earlier: _Parts | None = None) -> None:
        self._earlier = earlier or _Parts()
        self.parts = _Parts()

    def html(self, read: object, make: Callable[[], str]) -> str:
        """Return the HTML that ``make`` returns, which depends on what it has ``read`` only."""
        key = digest_of("html", read)
        found = self._earlier.html.get(key)
        self.parts.html[key] = make() if found is None else found
        return self.parts.html[key]

    def fit(self, read: object, make: Callable[[], Fit]) -> Fit:
        """Return teams and ratings that ``make`` returns, which depend on what it has ``read`` only."""
        key = digest_of("fit", read)
        found = self._earlier.fits.get(key)
        self.parts.fits[key] = list(make()) if found is None else found
        return self.parts.fits[key]


@contextmanager
def kept_parts(folder: Path, name: str) -> Iterator[KeptParts]:
    """Yield the parts that the latest page of this ``name`` has left in its folder, and keep the new ones.

    A file that cannot be read or written costs the time to make all parts again, and stops nothing.
    """
    path = folder / f".getstep-{name}.json"
    earlier = None
    with suppress(OSError, msgspec.MsgspecError, ValueError):
        if path.stat().st_size <= MOST_BYTES:
            earlier = msgspec.json.decode(path.read_bytes(), type=_Parts)
    kept = KeptParts(earlier)
    yield kept
    if kept.parts == earlier:
        return
    new = path.with_name(f"{path.name}.{os.getpid()}.new")  # two commands may write at a time
    try:
        new.write_bytes(encode(kept.parts))
        new.replace(path)
    except OSError:
        with suppress(OSError):
            new.unlink(missing_ok=True)


@cache
def _program() -> str:
    """Return a digest of the installed program: paths, sizes and times of the sources, and versions of the rest.

    The sources are those of this package, of what it uses of ours, and of the games, also from other packages.
    """
    games = [type(game.start()).__module__ for game in GAMES.values()]
    packages = sorted({name.partition(".")[0] for name in ("getstep_server", "getstep", *games)})
    files = [
        (str(path), stat.st_size, stat.st_mtime_ns)
        for package in packages
        for path in _files(package)
        for stat in [path.stat()]
    ]
    others = [version(name) for name in ("jinja2", "markupsafe", "msgspec", "numpy")]
    return blake2b(encode((sys.version, others, files)), digest_size=16).hexdigest()


def _files(package: str) -> Iterator[Path]:
    """Yield the files of a package, or of a module that is one file."""
    source = Path(sys.modules[package].__file__ or "")
    if source.name != "__init__.py":
        yield source
        return
    for folder, folders, names in os.walk(source.parent):  # twice as fast as `Path.rglob`
        folders[:] = sorted(set(folders) - {"__pycache__"})
        yield from (Path(folder, name) for name in sorted(names))
