"""The files of programs on their way to a worker, and the folder in which a worker keeps them.

A program travels as one text of bytes, and its SHA-256 is its name. A worker unpacks it once, into a folder with
that name, and every match copies that folder, as it copies the folder of a version on the host. All workers of a
user on one machine share the folders: each is made under another name and renamed when it is complete.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import msgspec

from getstep_server.limits import CACHED_PROGRAM_SECONDS, MAX_BUILT_BYTES, MAX_BUILT_FILES, MAX_CACHED_PROGRAMS
from getstep_server.programs.disk import delete_tree

_PATH_BYTES = 1000  # paths of a submitted program have 200 bytes at most; a build may make longer ones
_MOST_BYTES = MAX_BUILT_BYTES + MAX_BUILT_FILES * (_PATH_BYTES + 16)


class PackedFilesError(ValueError):
    """Raised when packed files are not what their name says, or cannot be unpacked."""


class _PackedFile(msgspec.Struct, array_like=True, frozen=True):
    """A file, or a folder if ``data`` is None. ``path`` are the bytes of its name, with ``/`` between folders."""

    path: bytes
    data: bytes | None
    executable: bool = False


def pack(folder: Path) -> bytes:
    """Return the files below a folder; the same files give the same bytes. Links and pipes are left out.

    Raises:
        OSError: a file cannot be read.
    """
    return msgspec.msgpack.encode(list(_entries(folder, b"")))


def name_of(packed: bytes) -> str:
    """Return the SHA-256 of packed files, by which an order names them."""
    return sha256(packed).hexdigest()


def _entries(folder: Path, before: bytes) -> Iterator[_PackedFile]:
    # sorted: the hash of the files is their name in the worker's cache
    for child in sorted(folder.iterdir(), key=lambda path: os.fsencode(path.name)):
        status = child.lstat()
        path = before + os.fsencode(child.name)
        if stat.S_ISDIR(status.st_mode):
            yield _PackedFile(path, None)
            yield from _entries(child, path + b"/")
        elif stat.S_ISREG(status.st_mode):
            yield _PackedFile(path, child.read_bytes(), bool(status.st_mode & stat.S_IXUSR))


def unpack(packed: bytes, folder: Path) -> None:
    """Write packed files into an empty folder.

    Raises:
        PackedFilesError: they are too many or too long, or a path leaves the folder.
        OSError: the disk cannot take them.
    """
    entries = _decode(packed)
    for entry in entries:
        path = folder / os.fsdecode(entry.path)
        if entry.data is None:
            path.mkdir(mode=0o755)
        else:
            path.write_bytes(entry.data)
            path.chmod(0o755 if entry.executable else 0o644)  # for the sandbox, which reads it as another user


def _decode(packed: bytes) -> list[_PackedFile]:
    if len(packed) > _MOST_BYTES:
        raise PackedFilesError(f"packed files of {len(packed)} bytes, expected at most {_MOST_BYTES}")
    try:
        entries = msgspec.msgpack.decode(packed, type=list[_PackedFile])
    except (msgspec.DecodeError, RecursionError) as error:
        raise PackedFilesError(f"no packed files: {error}") from error
    if len(entries) > MAX_BUILT_FILES:
        raise PackedFilesError(f"{len(entries)} files, expected at most {MAX_BUILT_FILES}")
    folders = set[bytes]()
    for entry in entries:
        home, slash, name = entry.path.rpartition(b"/")
        there = home in folders if slash else True
        if name in (b"", b".", b"..") or b"\0" in name or not there or len(entry.path) > _PATH_BYTES:
            raise PackedFilesError(f"the path {entry.path!r:.80}, expected one below the folder")
        if os.name == "nt" and (b"\\" in name or b":" in name):
            raise PackedFilesError(f"the path {entry.path!r:.80}, expected one that Windows can have")
        if entry.data is None:
            folders.add(entry.path)
    return entries


class ProgramCache:
    """The programs that a worker has, each in a folder that is named by the SHA-256 of its packed files.

    Args:
        folder: of the cache; it is made if it is missing. Nobody else may write to it.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def find(self, name: str) -> Path | None:
        """Return the folder of a program; None if the worker does not have it."""
        path = self._folder / name
        try:
            os.utime(path)  # it is needed: see `_make_room`
        except OSError:
            return None
        return path

    def add(self, name: str, packed: bytes) -> Path:
        """Unpack a program, and return its folder.

        Raises:
            PackedFilesError: the files are not those that ``name`` promises, or cannot be unpacked.
            OSError: the disk cannot take them.
        """
        if name_of(packed) != name:
            raise PackedFilesError(f"the files have the SHA-256 {name_of(packed)}, expected {name}")
        self._folder.mkdir(parents=True, exist_ok=True)
        self._make_room()
        new = Path(tempfile.mkdtemp(prefix=".new-", dir=self._folder))
        path = self._folder / name
        try:
            new.chmod(0o755)  # `mkdtemp` makes it 0o700, and the sandbox reads it as another user
            unpack(packed, new)
            with contextlib.suppress(OSError):  # another worker was faster
                new.rename(path)
        finally:
            delete_tree(new)
        if not path.is_dir():
            raise PackedFilesError(f"{path} could not be made")
        return path

    def _make_room(self) -> None:
        """Delete what a killed worker has left, and the programs that were not needed for the longest time.

        A match copies the folder of its program at its start, so a folder that was needed a while ago is free.
        """
        now = time.time()
        aged: list[tuple[float, Path]] = []
        for path in self._folder.iterdir():
            with contextlib.suppress(OSError):  # another worker has deleted it
                aged.append((path.stat().st_mtime, path))
        aged.sort(reverse=True)
        for place, (used, path) in enumerate(aged, start=1):
            old = now - used > CACHED_PROGRAM_SECONDS
            if old and (place > MAX_CACHED_PROGRAMS or path.name.startswith(".new-")):
                shutil.rmtree(path, ignore_errors=True)
