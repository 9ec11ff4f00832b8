"""The files of a program in the sandbox, read and written from outside without trust in them.

The program may put a link, a pipe or another file in the place of any of its files at any moment. So each is
opened relative to a descriptor of the folder, without following links and without waiting, and only regular files
are read.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

_NO_LINK = getattr(os, "O_NOFOLLOW", 0)  # Windows has none, and no sandbox
# O_NONBLOCK: to open a pipe that a program has left there would wait for a writer
_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | _NO_LINK
# O_EXCL: never through a file that the program has put there
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINK
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | _NO_LINK
_DEEPEST = 32
_BLOCK = 1 << 16  # a copy of 64 kB at a time costs no memory


class FilesError(OSError):
    """Raised when the files of a program break a limit. Another OSError is one of the disk."""


class Folder:
    """The folder of a program. Names are those of files in the folder itself.

    Args:
        mount: a descriptor of the file system that holds the folder. This object closes it.
        inner: the folder's name there.
    """

    def __init__(
        self, mount: int, file_bytes: int | None, files: int | None, uid: int | None, *, inner: str = "program"
    ) -> None:
        self.mount = mount
        self._file_bytes, self._files, self._uid = file_bytes, files, uid
        try:
            # through the descriptor: a path could be changed by the program
            self._descriptor = os.open(inner, _FOLDER, dir_fd=mount) if inner else os.dup(mount)
        except OSError:
            os.close(mount)
            raise

    def close(self) -> None:
        """Give the memory of the files back, if the program has ended."""
        for descriptor in (self._descriptor, self.mount):
            if descriptor >= 0:
                os.close(descriptor)
        self._descriptor = self.mount = -1

    def read(self, name: str, most: int) -> bytes | None:
        """Return at most ``most`` bytes of a file. None: there is none, or it is a link, a pipe or a folder."""
        try:
            descriptor = os.open(_plain(name), _READ, dir_fd=self._descriptor)
        except OSError:
            return None
        try:
            # after opening: before, the program could still exchange it
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return None
            parts, left = [], most
            while left > 0 and (part := os.read(descriptor, min(left, _BLOCK))):
                parts.append(part)
                left -= len(part)
            return b"".join(parts)
        finally:
            os.close(descriptor)

    def write(self, name: str, content: bytes) -> None:
        """Replace a file as a whole: a program that polls it never sees a part of it.

        Raises:
            OSError: the program's files have no room for it, or it has put a folder in its place.
        """
        new = f".{_plain(name)}.new"
        with contextlib.suppress(FileNotFoundError):  # what the program has put there: O_EXCL takes no file of it
            os.unlink(new, dir_fd=self._descriptor)
        descriptor = os.open(new, _WRITE, 0o644, dir_fd=self._descriptor)
        try:
            _write_all(descriptor, content)
            if self._uid is not None:
                os.fchown(descriptor, self._uid, self._uid)
        finally:
            os.close(descriptor)
        os.rename(new, name, src_dir_fd=self._descriptor, dst_dir_fd=self._descriptor)

    def remove(self, name: str) -> None:
        # the program may have put a folder there: it stays, and the next write fails
        with contextlib.suppress(FileNotFoundError, IsADirectoryError):
            os.unlink(_plain(name), dir_fd=self._descriptor)

    def fill(self, source: Path) -> None:
        """Copy all regular files and folders into the folder.

        Raises:
            OSError: they do not fit.
        """
        # files are opened relative to it: a path could lead through a link that is new
        descriptor = os.open(source, os.O_RDONLY | os.O_DIRECTORY)
        try:
            _Copy(self._uid, self._file_bytes, self._files).copy(descriptor, self._descriptor)
        finally:
            os.close(descriptor)

    def save(self, target: Path) -> None:
        """Replace all files in ``target`` by copies of the program's. Links and pipes are left out.

        It may be called after the end of the program too, until `close`.

        Raises:
            FilesError: there are too many, they are nested too deeply, or with their holes larger than the limit.
            OSError: the disk cannot be written.
        """
        descriptor = os.open(target, os.O_RDONLY | os.O_DIRECTORY)  # as above
        try:
            _clear(descriptor)
            _Copy(None, self._file_bytes, self._files).copy(self._descriptor, descriptor)
        finally:
            os.close(descriptor)


class _Copy:
    """Copies a tree of files between two open folders.

    Args:
        uid: the owner of the copies. None: this process.
        most: the bytes that may be copied. A file with holes takes no room where it is, and all of it in its copy.
        files: the files and folders that may be copied. A program that runs could move them on, to be copied again.
    """

    def __init__(self, uid: int | None, most: int | None, files: int | None) -> None:
        self._uid = uid
        self._left = most
        self._files_left = files

    def copy(self, source: int, target: int, depth: int = 0) -> None:
        if depth > _DEEPEST:
            raise FilesError(errno.ELOOP, f"folders are nested more than {_DEEPEST} deep")
        for name in os.listdir(source):
            if self._files_left is not None:
                self._files_left -= 1
                if self._files_left < 0:
                    raise FilesError(errno.EMFILE, "there are more files than allowed")
            mode = os.stat(name, dir_fd=source, follow_symlinks=False).st_mode
            if stat.S_ISDIR(mode):
                self._folder(source, target, name, depth)
            elif stat.S_ISREG(mode):
                self._file(source, target, name)

    def _folder(self, source: int, target: int, name: str, depth: int) -> None:
        os.mkdir(name, 0o755, dir_fd=target)
        with _opened(name, _FOLDER, source) as inner, _opened(name, _FOLDER, target) as made:
            self._own(made)
            self.copy(inner, made, depth + 1)

    def _file(self, source: int, target: int, name: str) -> None:
        with _opened(name, _READ, source) as file:
            status = os.fstat(file)
            if not stat.S_ISREG(status.st_mode):  # it was replaced a moment ago
                return
            with _opened(name, _WRITE, target, 0o755 if status.st_mode & stat.S_IXUSR else 0o644) as made:
                self._own(made)
                while part := os.read(file, _BLOCK):
                    self._take(len(part))
                    _write_all(made, part)

    def _take(self, size: int) -> None:
        if self._left is not None:
            self._left -= size
            if self._left < 0:
                raise FilesError(errno.EFBIG, "the files together are larger than the limit")

    def _own(self, descriptor: int) -> None:
        if self._uid is not None:
            os.fchown(descriptor, self._uid, self._uid)


@contextlib.contextmanager
def _opened(name: str, flags: int, folder: int, mode: int = 0) -> Iterator[int]:
    descriptor = os.open(name, flags, mode, dir_fd=folder)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _clear(folder: int) -> None:
    for name in os.listdir(folder):
        if stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            shutil.rmtree(name, dir_fd=folder)
        else:
            os.unlink(name, dir_fd=folder)


def _plain(name: str) -> str:
    """Return the name of a file in the folder itself: a folder on the way could be a link.

    Raises:
        ValueError: it is a path.
    """
    if "/" in name or name in ("", ".", ".."):
        raise ValueError(f"{name!r} is not the name of a file")
    return name


def _write_all(descriptor: int, content: bytes) -> None:
    view = memoryview(content)
    while view:
        view = view[os.write(descriptor, view) :]
