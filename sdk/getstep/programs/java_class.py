"""Reads from a compiled Java class what a command line needs: its name, whether it has a main method, its source.

Java starts a class by its name, which is neither the name of the class's file nor that of its source: ``class
playerOne`` may be in ``PlayerOne.java``, and a class of a package is named with it. The format is chapter 4 of the
Java Virtual Machine Specification. A class may be of an unknown sender: what does not fit the format is a
`ValueError`.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

_SIZES = {3: 4, 4: 4, 5: 8, 6: 8, 7: 2, 8: 2, 9: 4, 10: 4, 11: 4, 12: 4, 15: 3, 16: 2, 17: 4, 18: 4, 19: 2, 20: 2}
"""The bytes of each kind of constant after its tag (JVMS 4.4), but for texts (1)."""

_TEXT, _CLASS, _TWO_PLACES = 1, 7, (5, 6)
_PUBLIC_STATIC = 0x0001 | 0x0008
_MAIN = (b"main", b"([Ljava/lang/String;)V")
MOST_BYTES = 10_000_000
"""The size of a class that is read: a submission has as much source at most. Usual classes have some kB."""


@dataclass(frozen=True)
class JavaClass:
    """A compiled class.

    Attributes:
        name: as ``java`` takes it, such as ``a.b.Main``.
        has_main: whether it has ``public static void main(String[])``.
        source: the name of its source file without folders; empty if the compiler did not note it.
    """

    name: str
    has_main: bool
    source: str

    @property
    def path(self) -> str:
        """Where ``java`` looks for it, below the folder of its class path."""
        return f"{self.name.replace('.', '/')}.class"


def read_class(data: bytes) -> JavaClass:
    """Return what the content of a ``.class`` file says.

    Raises:
        ValueError: it is not a class.
    """
    try:
        return _Reader(data).read()
    except (struct.error, LookupError, UnicodeDecodeError) as error:
        raise ValueError(f"no Java class: {error}") from None


def class_in(file: Path) -> JavaClass | None:
    """Return the class in a file; None if it cannot be read, or is none."""
    try:
        with file.open("rb") as opened:
            return read_class(opened.read(MOST_BYTES))
    except (OSError, ValueError):
        return None


def files_with_main(folder: Path) -> list[Path]:
    """Return the files in a folder with a class that ``java`` can start."""
    classes = ((file, class_in(file)) for file in sorted(folder.glob("*.class")))
    return [file for file, found in classes if found is not None and found.has_main]


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0
        self._constants: dict[int, tuple[int, bytes]] = {}

    def read(self) -> JavaClass:
        if self._bytes(4) != b"\xca\xfe\xba\xbe":
            raise ValueError("no Java class: it does not begin with CAFEBABE")
        self._bytes(4)  # its version
        self._read_constants()
        self._number()  # flags
        name = self._text(struct.unpack(">H", self._constant(self._number(), _CLASS))[0])
        self._number()  # the class that it extends
        self._bytes(2 * self._number())  # interfaces
        self._members()  # fields
        has_main = any(
            flags & _PUBLIC_STATIC == _PUBLIC_STATIC and (method, kind) == _MAIN
            for flags, method, kind in self._members()
        )
        return JavaClass(name.decode().replace("/", "."), has_main, self._attributes().get(b"SourceFile", ""))

    def _bytes(self, count: int) -> bytes:
        data = self._data[self._at : self._at + count]
        if len(data) < count:
            raise ValueError("no Java class: it is not complete")
        self._at += count
        return data

    def _number(self, form: str = ">H") -> int:
        found: int = struct.unpack(form, self._bytes(struct.calcsize(form)))[0]
        return found

    def _read_constants(self) -> None:
        number, count = 1, self._number()
        while number < count:
            tag = self._number(">B")
            self._constants[number] = tag, self._bytes(self._number() if tag == _TEXT else _SIZES[tag])
            number += 2 if tag in _TWO_PLACES else 1

    def _constant(self, number: int, tag: int) -> bytes:
        found, data = self._constants[number]
        if found != tag:
            raise ValueError(f"no Java class: constant {number} is of kind {found}, expected {tag}")
        return data

    def _text(self, number: int) -> bytes:
        return self._constant(number, _TEXT)

    def _members(self) -> list[tuple[int, bytes, bytes]]:
        """Return the flags, the name and the type of all fields, or of all methods."""
        found = []
        for _ in range(self._number()):
            found.append((self._number(), self._text(self._number()), self._text(self._number())))
            self._attributes()
        return found

    def _attributes(self) -> dict[bytes, str]:
        """Return the names of attributes; that of the source file has its value."""
        found = {}
        for _ in range(self._number()):
            name, data = self._text(self._number()), self._bytes(self._number(">I"))
            is_source = name == b"SourceFile"
            found[name] = self._text(struct.unpack(">H", data)[0]).decode() if is_source else ""
        return found
