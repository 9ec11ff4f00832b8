"""The source of a program as it comes: a file, a folder, or an archive from an unknown sender.

Theory of operation
-------------------

All source is in memory before anything is written: it has at most `MAX_PROGRAM_BYTES`. So an archive is checked as
a whole first, and a wrong one leaves nothing behind. Only regular files and folders count. Names are checked once,
in `_Collected`, for all three ways. Modes, owners and times of an archive are ignored: `Source.write` makes a file
executable if its content is.

Archives are read within bounds that hold whatever their headers say: the bytes that come out are counted while they
come out, and the compressed parts of a zip file may not overlap. Only the methods "stored" and "deflate" are
accepted, because their memory does not depend on the archive. Tar files are read here, in 50 lines: the standard
library's module also reads sparse files, links and numbers of any size, and some versions can be made to loop.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import stat
import struct
import unicodedata
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from getstep.programs.folder import is_made_by_tools
from getstep_server.errors import ProgramRefused
from getstep_server.limits import (
    MAX_PROGRAM_BYTES,
    MAX_PROGRAM_DEPTH,
    MAX_PROGRAM_FILES,
    MAX_PROGRAM_PATH_BYTES,
    MAX_TAR_BYTES,
    MAX_ZIP_DIRECTORY_BYTES,
)
from getstep_server.text import escape_control_chars

from .disk import disk_errors

_PIECE = 1 << 16  # unpacked in parts, so that a bomb is noticed before it is in memory
_SHOWN_CHARS = 100


@dataclass(frozen=True)
class SourceFile:
    """A file of a program: its path with ``/`` between the folders, and its content."""

    path: str
    data: bytes


@dataclass(frozen=True)
class Source:
    """All files of a program, in the order of their paths. ``name`` is what the sender called it, for people."""

    name: str
    files: tuple[SourceFile, ...]

    @property
    def sha256(self) -> str:
        """The SHA-256 of the source in hexadecimal digits.

        For one file it is the file's own. For several it is that of the list which ``sha256sum`` prints for them,
        in the order of the bytes of their paths.
        """
        if len(self.files) == 1:
            return _sha256(self.files[0].data)
        return _sha256("".join(f"{_sha256(file.data)}  {file.path}\n" for file in self.files).encode())

    def write(self, folder: Path) -> None:
        """Write all files below a folder, which must exist and be empty.

        Raises:
            ConfigError: the disk cannot be written.
        """
        with disk_errors(folder):
            for file in self.files:
                path = folder.joinpath(*file.path.split("/"))
                path.parent.mkdir(parents=True, exist_ok=True)
                with path.open("xb") as new:
                    new.write(file.data)
                # ELF programs and scripts; archives do not say it reliably
                path.chmod(0o755 if file.data.startswith((b"\x7fELF", b"#!")) else 0o644)


def source_in(path: Path) -> Source:
    """Read the file, the archive or the folder at a path.

    Raises:
        ProgramRefused: it is not a program that can be taken.
        ConfigError: it cannot be read.
    """
    with disk_errors(path):
        if path.is_dir():
            return _source_of(path.resolve().name, _walk(path))
        return source_of(path.name, _read(path))


def source_of(name: str, data: bytes) -> Source:
    """Return the source that a file has: itself, or all files of a zip or tar.gz archive.

    It takes bounded time and memory for any input: about a second, and four times `MAX_PROGRAM_BYTES`.

    Args:
        name: of the file. Folders before it do not count.
        data: its content.

    Raises:
        ProgramRefused: it is too large, empty, or not an archive that can be unpacked.
    """
    if len(data) > MAX_PROGRAM_BYTES:
        raise ProgramRefused(f"{_shown(name)}: more than {MAX_PROGRAM_BYTES // 10**6} MB")
    base = re.split(r"[/\\]", name)[-1]
    if data.startswith((b"PK\x03\x04", b"PK\x05\x06")) and not base.lower().endswith(".jar"):
        return _source_of(base, _unzipped(data), strip=True)
    if data.startswith(b"\x1f\x8b"):
        return _source_of(base, _untarred(_gunzipped(data)), strip=True)
    return _source_of(base, iter([(base, data)]))


def unzipped_source(name: str, data: bytes) -> Source:
    """Return all files of a zip archive with their own paths, in bounded time and memory.

    Raises:
        ProgramRefused: it cannot be unpacked.
    """
    return _source_of(name, _unzipped(data))


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


# --- names ------------------------------------------------------------------------------------------------------


def _source_of(name: str, files: Iterator[tuple[str, bytes]], *, strip: bool = False) -> Source:
    """Return the source with these paths and contents.

    Args:
        name: for people.
        files: paths as they came, each with its content. A folder has a path that ends in ``/``.
        strip: whether a folder around everything is left out, as archives have one.
    """
    collected = _Collected()
    for path, data in files:
        collected.add(path, data)
    found = collected.files
    if strip and len({path.partition("/")[0] for path in found}) == 1 and all("/" in path for path in found):
        found = {path.partition("/")[2]: data for path, data in found.items()}
    if not found:
        raise ProgramRefused(f"{_shown(name)}: no files in it")
    # by bytes: the hash must not depend on the order in the archive
    ordered = sorted(found.items(), key=lambda item: item[0].encode())
    return Source(name, tuple(SourceFile(path, data) for path, data in ordered))


class _Collected:
    """Files whose names were checked, within the bounds of a program."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self._bytes = 0
        self._entries = 0
        self._kinds: dict[str, tuple[str, bool]] = {}
        """The paths that were seen, as a system that ignores case sees them: the path, and whether it is a file."""

    def add(self, name: str, data: bytes) -> None:
        """Add a file, or a folder if its name ends in ``/``."""
        self._entries += 1
        if self._entries > MAX_PROGRAM_FILES:
            raise ProgramRefused(
                f"more than {MAX_PROGRAM_FILES} files and folders; leave out what is not part of the program"
            )
        parts = _parts(name)
        if not parts or is_made_by_tools(parts):
            return
        is_file = not name.endswith("/")
        for depth in range(1, len(parts) + 1):
            self._note("/".join(parts[:depth]), is_file=is_file and depth == len(parts))
        if is_file:
            self._bytes += len(data)
            if self._bytes > MAX_PROGRAM_BYTES:
                raise _too_large()
            self.files["/".join(parts)] = data

    def _note(self, path: str, *, is_file: bool) -> None:
        # macOS and Windows ignore case, macOS the normal form, too. Folding the case may undo the normal form.
        key = unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())
        before = self._kinds.setdefault(key, (path, is_file))
        if before[0] != path:
            raise ProgramRefused(
                f"{_shown(before[0])} and {_shown(path)}: not every system tells these names apart; rename one"
            )
        if before[1] != is_file:
            raise ProgramRefused(f"{_shown(path)}: a file and a folder have this name")
        if path in self.files:
            raise ProgramRefused(f"{_shown(path)}: this name is there twice")


def _parts(name: str) -> list[str]:
    """Return the parts of a path.

    Raises:
        ProgramRefused: it does not stay in the folder, or not every system can store it.
    """
    shown = _shown(name)
    if name.startswith("/") or re.match("[A-Za-z]:", name):
        raise ProgramRefused(f"{shown}: an absolute path; expected paths inside the program's folder")
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise ProgramRefused(f"{shown}: the path leaves the program's folder")
    if escape_control_chars(name) != name or re.search(r'[\\:*?"<>|]', name):
        raise ProgramRefused(f"{shown}: the name has a character that not every system can store; rename it")
    if any(part.endswith((".", " ")) for part in parts):
        raise ProgramRefused(f"{shown}: the name ends in a full stop or a space; rename it")
    if len(name.encode()) > MAX_PROGRAM_PATH_BYTES or len(parts) > MAX_PROGRAM_DEPTH:
        raise ProgramRefused(
            f"{shown}: the path is too long; expected at most {MAX_PROGRAM_PATH_BYTES} bytes"
            f" and {MAX_PROGRAM_DEPTH} folders"
        )
    return parts


def _shown(name: str) -> str:
    text = escape_control_chars(name)
    return text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}..."


def _too_large() -> ProgramRefused:
    return ProgramRefused(f"more than {MAX_PROGRAM_BYTES // 10**6} MB of files; leave out what is not needed")


# --- a folder ---------------------------------------------------------------------------------------------------


def _walk(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the files below a folder. The bounds of `_Collected` end the walk."""
    read = 0
    waiting = [(folder, "")]
    while waiting:
        home, prefix = waiting.pop()
        for entry in sorted(home.iterdir()):
            path = f"{prefix}{entry.name}"
            if is_made_by_tools([entry.name]):
                continue
            kind = stat.S_IFMT(entry.lstat().st_mode)  # not `stat`: a link may lead anywhere on the host's disk
            if kind == stat.S_IFDIR:
                yield f"{path}/", b""
                waiting.append((entry, f"{path}/"))
                continue
            _check_kind(path, kind)
            data = _read(entry)
            read += len(data)
            if read > MAX_PROGRAM_BYTES:
                raise _too_large()
            yield path, data


def _check_kind(path: str, kind: int) -> None:
    """Raise an error for a file that is not a regular one. A kind of 0 is not known, and regular."""
    if kind == stat.S_IFLNK:
        raise ProgramRefused(f"{_shown(path)}: a link; put the file itself there")
    if kind not in (0, stat.S_IFREG):
        raise ProgramRefused(f"{_shown(path)}: a device, a pipe or a socket; expected a file")


def _read(path: Path) -> bytes:
    """Return the content of a file, at most one byte more than `MAX_PROGRAM_BYTES`; a pipe is not waited for."""
    # O_NONBLOCK: to open a pipe would wait for a writer
    flags = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
    with open(os.open(path, flags), "rb") as file:  # noqa: PTH123 - a Path cannot open a descriptor
        _check_kind(path.name, stat.S_IFMT(os.fstat(file.fileno()).st_mode))
        return file.read(MAX_PROGRAM_BYTES + 1)


# --- zip --------------------------------------------------------------------------------------------------------

_END = struct.Struct("<4s4H2LH")
"""The end of central directory record of a zip file; its field 5 is the size of the directory in bytes."""

_REASONS = (
    *(zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError, ValueError),
    *(struct.error, LookupError, OverflowError),
)
"""The exceptions of `zipfile` for archives that are damaged or made up."""


def _unzipped(data: bytes) -> Iterator[tuple[str, bytes]]:
    try:
        _check_directory(data)
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = archive.infolist()
            if sum(entry.compress_size for entry in entries) > len(data):
                raise ProgramRefused("the zip file is not valid: its parts overlap")
            left = MAX_PROGRAM_BYTES
            for entry in entries:
                found = _entry(archive, entry, left)
                left -= len(found)
                yield entry.filename, found
    except _REASONS as error:
        raise ProgramRefused(
            f"the zip file cannot be unpacked: {escape_control_chars(str(error))[:200]}"
        ) from error


def _check_directory(data: bytes) -> None:
    """Check the size of the zip file's list of entries, before `zipfile` makes an object of each."""
    at = data.rfind(b"PK\x05\x06", max(0, len(data) - _END.size - 0xFFFF))  # a comment may follow the record
    if at < 0 or at + _END.size > len(data):
        raise ProgramRefused("the zip file is not complete: its end is missing")
    size = _END.unpack_from(data, at)[5]
    # PK 6 7: the 20 bytes before are a locator of zip64, by which `zipfile` would find another directory.
    if size > MAX_ZIP_DIRECTORY_BYTES or data[max(0, at - 20) : at].startswith(b"PK\x06\x07"):
        raise ProgramRefused(f"the zip file has too many entries; expected at most {MAX_PROGRAM_FILES} files")


def _entry(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, left: int) -> bytes:
    """Return the content of an entry, of at most ``left`` bytes."""
    if entry.orig_filename != entry.filename:  # `zipfile` ends it at a NUL
        raise ProgramRefused(f"{_shown(entry.orig_filename)}: the name has a character that no system can store")
    kind = stat.S_IFMT(entry.external_attr >> 16)  # the mode, if it was packed on Unix; else 0
    if entry.is_dir() and kind in (0, stat.S_IFDIR):
        return b""
    _check_kind(entry.filename, kind)
    if entry.flag_bits & 1:
        raise ProgramRefused(f"{_shown(entry.filename)}: encrypted; pack the files without a password")
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ProgramRefused(f"{_shown(entry.filename)}: packed by an unusual method; use deflate")
    content = bytearray()
    with archive.open(entry) as file:
        while piece := file.read(_PIECE):
            content += piece
            if len(content) > left:
                raise _too_large()
    return bytes(content)


# --- tar.gz -----------------------------------------------------------------------------------------------------

_BLOCK = 512  # of a tar file
_MAGIC = slice(257, 265)  # only with that of POSIX, a name has a prefix


def _gunzipped(data: bytes) -> bytes:
    """Return the content of a gzip file, of at most `MAX_TAR_BYTES`.

    Only its first part counts: to read thousands of tiny ones would take hours.
    """
    unpacker = zlib.decompressobj(31)  # 16 for the header of gzip, 15 for its largest window
    try:
        content = unpacker.decompress(data, MAX_TAR_BYTES + 1)  # bounded while it unpacks: 10 kB can become 10 MB
    except zlib.error as error:
        raise ProgramRefused(f"the tar.gz file cannot be unpacked: {error}") from error
    if len(content) > MAX_TAR_BYTES:
        raise _too_large()
    if not unpacker.eof:
        raise ProgramRefused("the tar.gz file is not complete")
    return content


def _untarred(data: bytes) -> Iterator[tuple[str, bytes]]:
    at, long_name = 0, None
    while at + _BLOCK <= len(data) and any(header := data[at : at + _BLOCK]):
        # The sum of the header's bytes, with its own 8 taken as spaces.
        # the checksum is made with spaces in its own place
        if sum(header[:148]) + sum(header[156:]) + 8 * 32 != _octal(header[148:156]):
            raise ProgramRefused("not a tar.gz file, or it is damaged")
        size, kind = _octal(header[124:136]), header[156:157]
        at += _BLOCK
        content = data[at : at + size]
        if len(content) < size:
            raise ProgramRefused("the tar.gz file is not complete")
        at += -(-size // _BLOCK) * _BLOCK  # whole blocks
        if kind == b"L":
            long_name = content.rstrip(b"\0")
        elif kind == b"x":
            long_name = _pax_path(content) or long_name
        elif kind not in b"gK":  # settings for all files, and the target of a link that follows
            name = _decoded(long_name or _tar_name(header))
            long_name = None
            yield _tar_entry(name, kind, content)


def _tar_entry(name: str, kind: bytes, content: bytes) -> tuple[str, bytes]:
    if kind in b"12":
        raise ProgramRefused(f"{_shown(name)}: a link; put the file itself there")
    # old programs write a folder as a file whose name ends in a slash
    if kind == b"5" or (kind in b"0\0" and name.endswith("/")):
        return name.rstrip("/") + "/", b""
    if kind not in b"0\0":
        raise ProgramRefused(f"{_shown(name)}: not a regular file or a folder")
    return name, content


def _tar_name(header: bytes) -> bytes:
    # the fields of the ustar header (POSIX.1-1988)
    name, prefix = (header[start:end].partition(b"\0")[0] for start, end in ((0, 100), (345, 500)))
    return prefix + b"/" + name if prefix and header[_MAGIC] == b"ustar\x0000" else name


def _octal(field: bytes) -> int:
    digits = field.strip(b" \0")
    if not re.fullmatch(rb"[0-7]{0,12}", digits):
        raise ProgramRefused("not a tar.gz file, or it is damaged")
    return int(digits or b"0", 8)  # numbers in tar headers are octal text


def _pax_path(content: bytes) -> bytes | None:
    """Return the path in the extended header of the next entry: lines of ``LENGTH KEY=VALUE``."""
    at, path = 0, None
    while at < len(content):
        length = re.compile(rb"(\d{1,8}) ").match(content, at)
        end = at + int(length[1]) if length else 0
        if length is None or not length.end() < end <= len(content):
            raise ProgramRefused("the tar.gz file is damaged")
        key, _, value = content[length.end() : end - 1].partition(b"=")
        if key == b"path":
            path = value
        elif key == b"size" or key.startswith(b"GNU.sparse"):
            raise ProgramRefused("the tar.gz file has a sparse file; pack the files again without")
        at = end
    return path


def _decoded(name: bytes) -> str:
    try:
        return name.decode()
    except UnicodeDecodeError:
        raise ProgramRefused(f"{_shown(repr(name)[2:-1])}: the name is not UTF-8; rename it") from None
