"""Archives as contestants and attackers make them."""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile
from collections.abc import Mapping


def zipped(files: Mapping[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w", method) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return memory.getvalue()


def zipped_entry(name: str, data: bytes = b"", mode: int = 0) -> bytes:
    """Return a zip file with an entry of any mode, such as a link."""
    memory = io.BytesIO()
    entry = zipfile.ZipInfo(name)
    entry.external_attr = mode << 16
    with zipfile.ZipFile(memory, "w") as archive:
        archive.writestr(entry, data)
    return memory.getvalue()


def tarred(files: Mapping[str, bytes], format_: int = tarfile.PAX_FORMAT) -> bytes:
    memory = io.BytesIO()
    with tarfile.open(fileobj=memory, mode="w:gz", format=format_) as archive:
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return memory.getvalue()


def tarred_entry(entry: tarfile.TarInfo, format_: int = tarfile.PAX_FORMAT) -> bytes:
    """Return a tar.gz file with an entry of any kind."""
    memory = io.BytesIO()
    with tarfile.open(fileobj=memory, mode="w:gz", format=format_) as archive:
        archive.addfile(entry)
    return memory.getvalue()


def bomb(size: int) -> bytes:
    """Return a zip file of a thousandth of ``size`` whose only entry unpacks to that many zeros."""
    return zipped({"zeros.txt": bytes(size)})


def overlapping_bomb() -> bytes:
    """Return a zip file whose 500 entries are all the same 200,000 bytes."""
    data = zipped({"a.py": bytes(200_000)}, zipfile.ZIP_STORED)
    at = data.rindex(b"PK\x01\x02")
    end = data.rindex(b"PK\x05\x06")
    entry = data[at:end]
    entries = b"".join(entry.replace(b"a.py", b"%04d" % number) for number in range(500))
    counts = (500).to_bytes(2, "little") * 2 + len(entries).to_bytes(4, "little")
    return data[:at] + entries + data[end : end + 8] + counts + data[end + 16 :]


def tar_bomb(size: int) -> bytes:
    return gzip.compress(bytes(size))
