"""Files on the disk: errors that name the file, and writing that survives a power cut."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from getstep_server.errors import ConfigError

_OF_THE_DISK = frozenset(
    getattr(errno, name) for name in ("ENOSPC", "EDQUOT", "EIO", "EROFS") if hasattr(errno, name)
)


def is_of_the_disk(error: OSError) -> bool:
    """Return True unless a program can cause the error by the names and modes of its files."""
    return error.errno in _OF_THE_DISK


def disk_error(error: OSError, path: Path) -> ConfigError:
    """Return the error for the host: the file, or else ``path``, and what is wrong."""
    return ConfigError(f"{error.filename or path}: {error.strerror or error}")


@contextlib.contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """Turn an OSError of the body into a ConfigError, which names the file, or else ``path``."""
    try:
        yield
    except OSError as error:
        raise disk_error(error, path) from error


def write_durably(path: Path, data: bytes) -> None:
    """Replace a file as a whole; it is on disk afterwards.

    Raises:
        ConfigError: the disk cannot be written.
    """
    new = path.with_name(f"{path.name}.new")
    with disk_errors(path):
        new.write_bytes(data)
        sync(new)  # before the rename: else a power cut could leave an empty file under the name
        new.replace(path)
        sync(path.parent)  # the rename itself


def sync_tree(folder: Path) -> None:
    """Wait until all files below a folder are on disk. Raises OSError."""
    for home, _, files in os.walk(folder):
        for name in files:
            sync(Path(home, name))
        sync(Path(home))


def sync(path: Path) -> None:
    """Wait until a file or a folder's list of files is on disk. Raises OSError."""
    if os.name == "nt" and path.is_dir():
        return  # Windows cannot open a folder
    # Windows syncs only what is open for writing
    file = os.open(path, os.O_RDONLY if os.name != "nt" else os.O_RDWR)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def tree_bytes(folder: Path) -> int:
    """Return the size of all files below a folder; no link is followed. Raises OSError."""
    return sum(Path(home, name).lstat().st_size for home, _, files in os.walk(folder) for name in files)


def make_empty(folder: Path) -> None:
    """Make a folder, in place of one that an earlier process has left. Raises OSError."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)


def delete_tree(folder: Path) -> None:
    """Delete a folder that may be missing. A build may have taken away its own permissions."""
    if not folder.exists():
        return
    for home, folders, _ in os.walk(folder):
        for name in folders:
            path = Path(home, name)
            with contextlib.suppress(OSError):  # a program may nest folders until a path is too long for this call
                if not path.is_symlink():
                    path.chmod(0o700)  # a build may leave folders that not even the owner can delete from
    shutil.rmtree(folder, ignore_errors=True)
