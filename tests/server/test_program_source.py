"""The source of programs: what is read, and what is refused of files, folders and archives from anybody."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import random
import stat
import subprocess
import sys
import tarfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from getstep_server.errors import ConfigError, ProgramRefused
from getstep_server.programs.source import Source, source_in, source_of
from tests.support.archives import bomb, overlapping_bomb, tar_bomb, tarred, tarred_entry, zipped, zipped_entry

FILES = {"bot.py": b"print(1)\n", "lib/table.txt": b"\xff\x00", "lib/Ä \u4e2d.py": b""}
PACKERS = {"zip": zipped, "tar.gz": tarred}


def content(source: Source) -> dict[str, bytes]:
    return {file.path: file.data for file in source.files}


def refusal(name: str, data: bytes) -> str:
    with pytest.raises(ProgramRefused) as caught:
        source_of(name, data)
    return str(caught.value)


def link(name: str, target: str, kind: bytes = tarfile.SYMTYPE) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.type, entry.linkname = kind, target
    return entry


# --- what is taken ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", PACKERS)
def test_an_archive_is_unpacked(kind: str) -> None:
    assert content(source_of(f"bot.{kind}", PACKERS[kind](FILES))) == FILES


@pytest.mark.parametrize("format_", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT, tarfile.USTAR_FORMAT])
def test_every_usual_format_of_tar_is_read_with_long_names(format_: int) -> None:
    files = {f"{'folder/' * 12}{'long' * 12}.py": b"1" * 513, "short.py": b"2"}
    assert content(source_of("x.tgz", tarred(files, format_))) == files


def test_the_tar_of_this_system_is_read(tmp_path: Path) -> None:
    Source("", source_of("x.zip", zipped(FILES)).files).write(tmp_path)
    packed = subprocess.run(["tar", "cz", "-C", tmp_path, "."], capture_output=True, check=True).stdout
    assert content(source_of("x.tar.gz", packed)) == FILES


@pytest.mark.parametrize("kind", PACKERS)
def test_a_folder_around_everything_is_left_out(kind: str) -> None:
    around = {f"my-bot-main/{name}": data for name, data in FILES.items()}
    assert content(source_of("x", PACKERS[kind](around))) == FILES


@pytest.mark.parametrize("kind", PACKERS)
def test_what_tools_leave_is_ignored(kind: str) -> None:
    left = {"__MACOSX/._bot.py": b"1", ".git/HEAD": b"2", "lib/__pycache__/x.cpython-311.pyc": b"3", "a.pyc": b"4"}
    assert content(source_of("x", PACKERS[kind](FILES | left))) == FILES


def test_one_file_is_a_source_by_itself() -> None:
    source = source_of("C:\\Users\\Ada\\bot.py", b"print(1)\n")
    assert content(source) == {"bot.py": b"print(1)\n"}
    assert source.sha256 == hashlib.sha256(b"print(1)\n").hexdigest()


def test_a_jar_file_is_not_unpacked() -> None:
    jar = zipped(FILES)
    assert content(source_of("Bot.jar", jar)) == {"Bot.jar": jar}


def test_a_folder_is_read_as_its_archive_is(tmp_path: Path) -> None:
    source = source_of("x.zip", zipped(FILES))
    source.write(tmp_path)
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "link").symlink_to("/etc/passwd")
    read = source_in(tmp_path)
    assert (read.files, read.sha256) == (source.files, source.sha256)


@pytest.mark.skipif(os.name == "nt", reason="it is made with the tools of POSIX")
def test_the_hash_of_several_files_is_that_of_sha256sum(tmp_path: Path) -> None:
    source = source_of("x.zip", zipped(FILES))
    source.write(tmp_path)
    command = "find . -type f -printf '%P\\0' | LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum"
    printed = subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True, check=True).stdout
    assert printed.split()[0].decode() == source.sha256


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such mode")
def test_programs_and_scripts_are_executable(tmp_path: Path) -> None:
    files = {"bot": b"\x7fELF...", "run.sh": b"#!/bin/sh", "bot.py": b"pass"}
    source_of("x.zip", zipped(files)).write(tmp_path)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert modes == {"bot": 0o755, "run.sh": 0o755, "bot.py": 0o644}


# --- what is refused --------------------------------------------------------------------------------------------

NAMES = {
    "/etc/passwd": "an absolute path",
    "C:/bot.py": "an absolute path",
    "../bot.py": "leaves the program's folder",
    "lib/../../bot.py": "leaves the program's folder",
    "lib\\bot.py": "not every system can store",
    "bot\x1b[2J.py": "not every system can store",
    "bot\u202eyp.exe": "not every system can store",
    "what?.py": "not every system can store",
    "bot.py.": "ends in a full stop",
    "lib /bot.py": "ends in a full stop or a space",
    "x" * 201: "too long",
    "d/" * 17 + "bot.py": "too long",
}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", PACKERS)
def test_a_dangerous_name_is_refused(kind: str, name: str) -> None:
    message = refusal("x", PACKERS[kind]({"ok.py": b"", name: b""}))
    assert NAMES[name] in message
    assert message.isprintable()


@pytest.mark.parametrize("kind", PACKERS)
@pytest.mark.parametrize(
    ("files", "message"),
    [
        (["bot.py", "Bot.py"], "not every system tells these names apart"),
        (["lib/a.py", "LIB/b.py"], "not every system tells these names apart"),
        (["\u00e9.py", "e\u0301.py"], "not every system tells these names apart"),
        (["lib", "lib/a.py"], "a file and a folder"),
        (["lib/a.py", "lib"], "a file and a folder"),
        (["./a.py", "a.py"], "there twice"),
    ],
)
def test_names_that_collide_are_refused(kind: str, files: list[str], message: str) -> None:
    assert message in refusal("x", PACKERS[kind](dict.fromkeys(files, b"")))


LINKS = {
    "a link in a zip file": zipped_entry("bot.py", b"/etc/passwd", stat.S_IFLNK | 0o777),
    "a link to a folder in a zip file": zipped_entry("lib/", b"/etc", stat.S_IFLNK | 0o777),
    "a link in a tar file": tarred_entry(link("bot.py", "/etc/passwd")),
    "a hard link": tarred_entry(link("bot.py", "other.py", tarfile.LNKTYPE)),
    "a link with a long target": tarred_entry(link("bot.py", "x" * 300), tarfile.GNU_FORMAT),
}


@pytest.mark.parametrize("kind", LINKS)
def test_a_link_is_refused(kind: str) -> None:
    assert ": a link" in refusal("x", LINKS[kind])


DEVICES = {
    "a device in a zip file": zipped_entry("bot.py", b"", stat.S_IFCHR | 0o666),
    "a pipe in a zip file": zipped_entry("bot.py", b"", stat.S_IFIFO | 0o666),
    "a device": tarred_entry(link("bot.py", "", tarfile.CHRTYPE)),
    "a pipe": tarred_entry(link("bot.py", "", tarfile.FIFOTYPE)),
    "a sparse file": tarred_entry(link("bot.py", "", tarfile.GNUTYPE_SPARSE)),
    "an unknown kind": tarred_entry(link("bot.py", "", b"V")),
}


@pytest.mark.parametrize("kind", DEVICES)
def test_all_but_files_and_folders_is_refused(kind: str) -> None:
    message = refusal("x", DEVICES[kind])
    assert "expected a file" in message or "not a regular file" in message


def test_a_bomb_is_refused_before_it_fills_the_memory() -> None:
    began = time.process_time()
    for data in (bomb(40_000_000), tar_bomb(40_000_000)):
        assert len(data) < 100_000
        assert "more than 10 MB" in refusal("x", data)
    assert time.process_time() - began < 5


def test_parts_of_a_zip_file_that_overlap_are_refused() -> None:
    assert "overlap" in refusal("x", overlapping_bomb())


def test_source_of_more_than_10_mb_is_refused(tmp_path: Path) -> None:
    assert "more than 10 MB" in refusal("bot.py", bytes(10_000_001))
    half = bytes(5_000_001)
    assert "more than 10 MB" in refusal("x", tarred({"a": half, "b": half}))
    for name in "ab":
        (tmp_path / name).write_bytes(half)
    with pytest.raises(ProgramRefused, match="more than 10 MB"):
        source_in(tmp_path)


@pytest.mark.parametrize("kind", PACKERS)
def test_a_thousand_files_are_the_most(kind: str) -> None:
    files = {f"{number}.py": b"" for number in range(1000)}
    assert len(source_of("x", PACKERS[kind](files)).files) == 1000
    assert "more than 1000" in refusal("x", PACKERS[kind](files | {"one.py": b""}))


def test_a_long_list_of_entries_is_refused_before_it_is_read() -> None:
    files = {f"{number:06}.py": b"" for number in range(9100)}
    assert "too many entries" in refusal("x", zipped(files))


def test_a_tar_file_of_headers_only_is_refused() -> None:
    assert "more than 10 MB" in refusal("x", gzip.compress(bytes(13_000_001), 1))


def test_the_larger_kind_of_zip_file_is_refused() -> None:
    data = zipped(FILES)
    at = data.rindex(b"PK\x05\x06")
    assert "too many entries" in refusal("x", data[:at] + b"PK\x06\x07" + bytes(16) + data[at:])


def test_an_unusual_method_is_refused() -> None:
    """The memory that it needs depends on the archive."""
    assert "use deflate" in refusal("x", zipped(FILES, zipfile.ZIP_LZMA))


def test_an_encrypted_file_is_refused() -> None:
    data = bytearray(zipped({"bot.py": b"1"}))
    data[data.index(b"PK\x01\x02") + 8] |= 1
    assert "password" in refusal("x", bytes(data))


def test_a_name_that_ends_early_is_refused() -> None:
    data = zipped({"bot.pyX.txt": b"1"}).replace(b"bot.pyX", b"bot.py\0")
    assert "no system can store" in refusal("x", data)


def test_a_name_that_is_not_utf_8_is_refused() -> None:
    assert "not UTF-8" in refusal("x", tarred({"b\udcff.py": b""}, tarfile.GNU_FORMAT))


@pytest.mark.parametrize("pack", PACKERS.values())
def test_an_empty_archive_is_refused(pack: Callable[[dict[str, bytes]], bytes]) -> None:
    assert "no files" in refusal("x.zip", pack({}))


def outcome(data: bytes) -> str:
    """Return "read", or the reason of the refusal. Nothing else may be raised."""
    try:
        source_of("x", data)
    except ProgramRefused as error:
        return str(error)
    return "read"


def test_damaged_archives_are_read_or_refused() -> None:
    lots = random.Random(1)
    outcomes = set()
    for data in (zipped(FILES), tarred(FILES), gzip.decompress(tarred(FILES, tarfile.GNU_FORMAT))):
        is_tar = data[:2] not in (b"PK", b"\x1f\x8b")
        for _ in range(150):
            damaged = bytearray(data[: lots.randrange(4, len(data))] if lots.random() < 0.2 else data)
            for _ in range(lots.randrange(4)):
                damaged[lots.randrange(2, len(damaged))] = lots.randrange(256)
            outcomes.add(outcome(gzip.compress(bytes(damaged), 1) if is_tar else bytes(damaged)))
    assert all(map(str.isprintable, outcomes))
    assert "read" in outcomes
    assert len(outcomes) > 5


@pytest.mark.parametrize(
    "size", ["-1", "7777777777777", "0x10", "\x80\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xfe"]
)
def test_a_made_up_size_in_a_tar_file_is_refused(size: str) -> None:
    header = bytearray(gzip.decompress(tarred({"bot.py": b"1"}, tarfile.GNU_FORMAT)))
    header[124:136] = size.encode("latin-1").ljust(12, b"\0")[:12]
    header[148:156] = b"%06o\0 " % (sum(header[:148]) + sum(header[156:512]) + 256)
    message = refusal("x", gzip.compress(bytes(header)))
    assert "damaged" in message or "not complete" in message


def test_an_extended_header_cannot_name_a_sparse_file_or_run_away() -> None:
    for line in (b"19 size=9999999999\n", b"30 GNU.sparse.major=1\nxxxxxxxx", b"99 path=x\n", b"0 path=x\n"):
        memory = io.BytesIO()
        with tarfile.open(fileobj=memory, mode="w", format=tarfile.GNU_FORMAT) as archive:
            entry = tarfile.TarInfo("head")
            entry.type, entry.size = b"x", len(line)
            archive.addfile(entry, io.BytesIO(line))
        assert refusal("x", gzip.compress(memory.getvalue()))


@pytest.mark.skipif(os.name == "nt", reason="they are made with the calls of POSIX")
def test_a_folder_with_links_and_pipes_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bot.py").symlink_to("/etc/passwd")
    with pytest.raises(ProgramRefused, match=r"bot\.py: a link"):
        source_in(tmp_path)
    (tmp_path / "bot.py").unlink()
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ProgramRefused, match="a pipe"):
        source_in(tmp_path)
    with pytest.raises(ProgramRefused, match="a pipe"):
        source_in(tmp_path / "pipe")


def test_a_file_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"gone\.py"):
        source_in(tmp_path / "gone.py")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/dev/full exists on Linux only")
def test_a_disk_that_is_full_is_told(tmp_path: Path) -> None:
    (tmp_path / "lib").symlink_to("/dev/full")
    with pytest.raises(ConfigError, match="lib"):
        source_of("x.zip", zipped(FILES)).write(tmp_path)
