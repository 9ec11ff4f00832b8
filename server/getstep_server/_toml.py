"""TOML files that people write, checked against a model; errors name file, line, value and what was expected.

The parser is the standard library's and the checks are pydantic's: both say more about a mistake than our own
would. Neither knows the line of a value that is well-formed and wrong, so `line_of` looks it up.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from .limits import MAX_CONFIG_BYTES

M = TypeVar("M", bound=BaseModel)


class ConfigError(Exception):
    """A file of the contest folder cannot be used; the message is for the host, a line for each mistake."""


def load(path: Path, model: type[M]) -> M:
    """Read ``path`` as ``model``.

    Raises:
        ConfigError: it is not there, not readable, not TOML, or does not fit the model.
    """
    text = read_text(path)
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: not valid TOML: {error}") from error
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise ConfigError("\n".join(_described(path, text, item) for item in error.errors())) from error


def read_text(path: Path) -> str:
    """The file's text.

    Raises:
        ConfigError: it is not there, not readable, too large or not UTF-8.
    """
    try:
        if path.stat().st_size > MAX_CONFIG_BYTES:
            raise ConfigError(f"{path}: {path.stat().st_size} bytes, expected at most {MAX_CONFIG_BYTES}")
        return path.read_text(encoding="utf-8-sig")  # spreadsheets like to put a byte order mark first
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not UTF-8 at byte {error.start}; save the file as UTF-8") from error


def line_of(text: str, location: Sequence[str | int]) -> int | None:
    """The line, from 1, of the value at ``location`` in a TOML document, or of its table if it is missing."""
    tables, key, found = _table_path(location), str(location[-1]) if location else "", None
    seen: dict[tuple[str, ...], int] = {}
    here: tuple[str | int, ...] = ()
    for number, line in enumerate(text.splitlines(), start=1):
        header = re.match(r"\s*\[(\[)?\s*([^\[\]]+?)\s*\]", line)
        if header:
            names = tuple(part.strip().strip("\"'") for part in header[2].split("."))
            seen[names] = seen.get(names, -1) + 1
            here = (*names, seen[names]) if header[1] else names
            if here == tables or (*here, *location[len(here) :]) == tuple(location):
                found = number
        elif here == tables and re.match(rf"\s*[\"']?{re.escape(key)}[\"']?\s*=", line):
            return number
    return found


def _table_path(location: Sequence[str | int]) -> tuple[str | int, ...]:
    """``("team", 2, "id")`` is in table ``("team", 2)``."""
    return tuple(location[:-1])


def _described(path: Path, text: str, item: Any) -> str:
    location = item["loc"]
    line = line_of(text, location)
    where = f"{path}:{line}" if line else f"{path}"
    name = ".".join(str(part) for part in location if not isinstance(part, int))
    if item["type"] == "missing":
        return f"{where}: {name} is missing"
    if item["type"] == "extra_forbidden":
        return f"{where}: {name} = {item['input']!r}: no such setting"
    message = item["msg"].removeprefix("Value error, ").removeprefix("Input should be ")
    return f"{where}: {name} = {item['input']!r:.120}, expected {message.removeprefix('expected ')}"
