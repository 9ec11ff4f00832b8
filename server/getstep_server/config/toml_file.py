"""TOML files that people write, checked against a model; each error names file, line, value and what was expected.

The standard library parses and msgspec checks. Neither knows the line of a value that is well-formed but wrong.
`line_of` finds it by parsing beginnings of the file: the value is on the last line of the shortest beginning that
contains it. So it is right about strings, comments and every way to write a key. A binary search makes that about
10 parses for a file of 1,000 lines, and only if there is an error.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from msgspec import Struct

from getstep_server.errors import ConfigError
from getstep_server.limits import MAX_CONFIG_BYTES
from getstep_server.text import escape_control_chars
from getstep_server.validation import Location, Mistake, ValidationError, validated

M = TypeVar("M", bound=Struct)

SettingError: TypeAlias = tuple[Location, object, str]
"""The location of a wrong value, the value, and what was expected instead."""

MAX_SHOWN_CHARS = 120
"""Characters of a wrong value or line that a message repeats: a line of a terminal and a half."""

_CLOSERS = ("", "]", "]]", '"""', "'''")
"""Endings that complete a document which is cut off after any line. (An inline table ends on its line.)"""

_LONGEST_VALUE_LINES = 20
"""Lines of a value whose own line is found. Each takes five attempts, and the file may have any number."""

_EXPECTED = {
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "string_type": "text in quotes",
    "table_type": "a table",
    "list_type": "a table in double brackets for each",
    "gt": "more than {gt}",
    "ge": "at least {ge}",
    "le": "at most {le}",
    "finite": "a number that is not infinite",
    "string_too_short": "at least {min_length} characters",
    "string_too_long": "at most {max_length} characters",
    "too_short": "at least {min_length}, not {length}",
    "too_long": "at most {max_length}, not {length}",
}
"""Texts for mistakes in the terms of contest.toml, where they differ from those for other data."""


def load(path: Path, model: type[M]) -> M:
    """Read ``path`` as ``model``.

    Raises:
        ConfigError: the file is missing, not readable, not TOML, or does not fit the model.
    """
    return parse(path, read_text(path), model)


def parse(path: Path, text: str, model: type[M]) -> M:
    """Read ``text`` as ``model``; ``path`` is for the messages.

    Raises:
        ConfigError: the text is not TOML, or does not fit the model.
    """
    try:
        data = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # a plain ValueError and a RecursionError: see `_not_toml`
        raise ConfigError(_not_toml(path, text, error)) from error
    try:
        return validated(model, data)
    except ValidationError as error:
        lines = [_message(path, text, *found) for found in errors_of(error)]
        raise ConfigError("\n".join(lines)) from error


def config_error(path: Path, errors: Sequence[SettingError]) -> ConfigError:
    """Return the error for values that fit their model, but contradict other files; with a line for each."""
    text = read_text(path)
    lines = [_message(path, text, location, _wrong(value, expected)) for location, value, expected in errors]
    return ConfigError("\n".join(lines))


def read_text(path: Path) -> str:
    """Return the text of a file, with ``\\n`` at the ends of lines.

    Raises:
        ConfigError: the file is missing, not readable, too large or not UTF-8.
    """
    data = read_bytes(path)
    try:
        text = data.decode("utf-8-sig")  # spreadsheets write a byte order mark
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{path}:{line}: not UTF-8; save the file as UTF-8 and try again") from error
    return text.replace("\r\n", "\n")


def read_bytes(path: Path) -> bytes:
    """Return the content of a file.

    Raises:
        ConfigError: the file is missing, not readable or too large.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MAX_CONFIG_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror or error}") from error
    if len(data) > MAX_CONFIG_BYTES:
        raise ConfigError(f"{path}: the file is too large; expected at most {MAX_CONFIG_BYTES} bytes")
    return data


# --- lines --------------------------------------------------------------------------------------------------


def line_of(text: str, location: Location) -> int | None:
    """Return the line, from 1, on which the value at ``location`` begins in a TOML document.

    For a missing value it is the line of the nearest table around it; None if that is the whole document.
    """
    lines, whole = text.split("\n"), tomllib.loads(text)
    while location and not _contains(whole, location):
        location = location[:-1]
    return _first_line_with(lines, location) if location else None


def _first_line_with(lines: list[str], location: Location) -> int:
    """Return the least number of lines from the top of the file that contain ``location``."""
    low, high = 1, len(lines)
    while low < high:
        middle = (low + high) // 2
        if _contains(_parse_beginning(lines, middle), location):
            high = middle
        else:
            low = middle + 1
    return low


def _parse_beginning(lines: list[str], count: int) -> dict[str, Any]:
    """Parse the first ``count`` lines, or a few more if those end inside a value; or all, if that is a long one."""
    for end in range(count, min(count + _LONGEST_VALUE_LINES, len(lines))):
        for closer in _CLOSERS:
            try:
                return tomllib.loads("\n".join([*lines[:end], closer]))
            except tomllib.TOMLDecodeError:
                continue
    return tomllib.loads("\n".join(lines))


def _contains(value: Any, location: Location) -> bool:
    for part in location:
        if isinstance(part, int):
            if not isinstance(value, list) or part >= len(value):
                return False
        elif not isinstance(value, dict) or part not in value:
            return False
        value = value[part]
    return True


# --- messages -----------------------------------------------------------------------------------------------


def _not_toml(path: Path, text: str, error: Exception) -> str:
    if not isinstance(error, tomllib.TOMLDecodeError):
        # int() refuses more than 4,300 digits, and tomllib calls itself for each bracket
        return f"{path}: not valid TOML: a number with too many digits, or too many brackets inside each other"
    lines = text.split("\n")
    message, found, rest = (
        str(error).replace("Cannot overwrite a value", "this setting is there already").partition(" (at line ")
    )
    # Otherwise the message ends in "(at end of document)": something was opened and never closed.
    number = int(rest.partition(",")[0]) if found else len(text.rstrip().split("\n"))
    line = escape_control_chars(lines[number - 1].strip())
    return f"{path}:{number}: not valid TOML: {message}: {line:.{MAX_SHOWN_CHARS}}"


def errors_of(error: ValidationError) -> list[tuple[Location, str]]:
    """Return the location of each mistake, and the rest of a message that begins with the setting's name."""
    return [(mistake.location, _what(mistake)) for mistake in error.mistakes]


def _what(mistake: Mistake) -> str:
    if mistake.code == "missing":
        return " is missing"
    if mistake.code == "unknown":
        return f"{_wrong(mistake.value)}: no such setting, expected one of: {', '.join(mistake.context['known'])}"
    return _wrong(mistake.value, mistake.expected(_EXPECTED))


def _wrong(value: object, expected: str = "") -> str:
    try:
        shown = f"{value!r:.{MAX_SHOWN_CHARS}}"
    except ValueError:
        shown = "a number with too many digits"
    except RecursionError:
        shown = "tables inside tables"
    return f" = {shown}" + (f", expected {expected}" if expected else "")


def _message(path: Path, text: str, location: Location, what: str) -> str:
    line = line_of(text, location)
    name = escape_control_chars(".".join(str(part) for part in location if isinstance(part, str)))
    return f"{path}:{line}: {name}{what}" if line else f"{path}: {name}{what}"


def stamp_of(path: Path) -> tuple[int, int]:
    """Return what changes with each change of a file that people or commands write; (0, 0) if it is not there."""
    try:
        status = path.stat()
    except OSError:
        return (0, 0)  # an editor may be replacing it
    return status.st_mtime_ns, status.st_ino


def replace_text(path: Path, text: str) -> None:
    """Replace the file in one step: a reader sees the old text or the new one.

    Raises:
        ConfigError: it cannot be written.
    """
    new = path.resolve().with_suffix(".toml.new")
    try:
        new.write_text(text, encoding="utf-8")
        new.chmod(path.stat().st_mode & 0o7777)  # before the file has its name: it holds secrets
        new.replace(path.resolve())
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror or error}") from error
