"""The log of a child's output: bounded in size, and escaped when it is shown."""

from __future__ import annotations

import errno
import os
import re
from pathlib import Path

import pytest

from getstep_server.children.log import BEGINNING_BYTES, END_BYTES, LINE_CHARS, ChildLog, last_lines

KEPT = BEGINNING_BYTES + END_BYTES
NOTE = re.compile(rb"\n\[(\d+) bytes of output were dropped here\]\n")


@pytest.mark.parametrize("size", [0, 1, BEGINNING_BYTES, BEGINNING_BYTES + 1, KEPT])
@pytest.mark.parametrize("chunk", [4096, 65536, 3 * KEPT])
def test_short_output_is_kept_whole(tmp_path: Path, size: int, chunk: int) -> None:
    printed = text(size)
    assert kept(tmp_path, printed, chunk) == printed


@pytest.mark.parametrize("size", [KEPT + 1, KEPT + END_BYTES, KEPT + END_BYTES + 1, 5 * KEPT + 17])
@pytest.mark.parametrize("chunk", [4096, 65536, 3 * KEPT])
def test_the_beginning_and_the_end_of_long_output_are_kept(tmp_path: Path, size: int, chunk: int) -> None:
    printed = text(size)
    head, surplus, tail = NOTE.split(kept(tmp_path, printed, chunk))
    assert (head, tail) == (printed[:BEGINNING_BYTES], printed[-END_BYTES:])
    assert int(surplus) == size - KEPT


def test_memory_is_bounded(tmp_path: Path) -> None:
    with ChildLog(tmp_path / "log") as output:
        for _ in range(200):
            output.append(b"x" * 65536)
            assert len(output._end) <= 2 * END_BYTES


def test_a_full_disk_is_ignored(tmp_path: Path) -> None:
    class Full:
        def write(self, _: bytes) -> int:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        def close(self) -> None:
            pass

    with ChildLog(tmp_path / "log") as output:
        output._file.close()
        output._file = Full()  # type: ignore[assignment]  # a stand-in for a file on a full disk
        output.append(text(3 * KEPT))


def test_the_last_lines_are_short_and_escaped(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"first\n" * 30 + b"\x1b[31mred \xff\n" + b"x" * (3 * END_BYTES) + b"\nlast")
    *some, long, last = last_lines(path)
    assert (some, last) == ([], "last")
    assert re.fullmatch(rf"x{{{LINE_CHARS}}} \[and \d+ more characters\]", long)
    path.write_bytes(b"first\n" * 30 + b"\x1b[31mred \xff\n")
    assert last_lines(path) == ["first"] * 19 + ["\\u001b[31mred \ufffd"]
    path.write_bytes(b"")
    assert last_lines(path) == []


def text(size: int) -> bytes:
    return (b"%08d" * (size // 8 + 1) % tuple(range(size // 8 + 1)))[:size]


def kept(folder: Path, printed: bytes, chunk: int) -> bytes:
    with ChildLog(folder / "log") as output:
        for start in range(0, len(printed), chunk):
            output.append(printed[start : start + chunk])
    return (folder / "log").read_bytes()


def test_a_child_that_is_started_again_continues_its_log_up_to_the_bound(tmp_path: Path) -> None:
    path = tmp_path / "log"
    for said in (b"one\n", b"two\n"):
        with ChildLog(path, append=True) as log:
            log.append(said)
    assert path.read_bytes() == b"one\ntwo\n"
    with ChildLog(path, append=True) as log:
        log.append(text(5 * KEPT))
    assert KEPT <= path.stat().st_size <= KEPT + 100
    with ChildLog(path, append=True) as log:
        log.append(b"three\n")
    assert path.read_bytes() == b"three\n"
