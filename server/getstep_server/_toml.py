"""TOML files that people write, checked against a model; errors name file, line, value and what was expected.

The parser is the standard library's and the checks are pydantic's. Neither knows the line of a value that is
well-formed and wrong: `line_of` finds it by asking the parser, so that it is right about strings, comments and
every way to write a key.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from ._text import printable
from .limits import MAX_CONFIG_BYTES

M = TypeVar("M", bound=BaseModel)

Location: TypeAlias = tuple[str | int, ...]
"""Where a value is: ``("team", 2, "id")`` is the id of the third ``[[team]]``."""

Mistake: TypeAlias = tuple[Location, object, str]
"""Where a wrong value is, the value, and what was expected instead."""

SHOWN = 120
"""Characters of a wrong value or line that an error repeats."""

_CLOSERS = ("", "]", "]]", '"""', "'''")
"""What may be open at the end of a line, closed. (An inline table ends on its line.)"""

_EXPECTED = {
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "string_type": "text in quotes",
    "model_type": "a table",
    "dict_type": "a table",
    "list_type": "a table in double brackets for each",
    "greater_than": "more than {gt}",
    "greater_than_equal": "at least {ge}",
    "less_than_equal": "at most {le}",
    "finite_number": "a number that is not infinite",
    "string_too_short": "at least {min_length} characters",
    "string_too_long": "at most {max_length} characters",
    "too_short": "at least {min_length}, not {actual_length}",
    "too_long": "at most {max_length}, not {actual_length}",
}
"""pydantic's kinds of mistakes, in the host's words."""


class ConfigError(Exception):
    """A file of the contest folder cannot be used; the message is for the host, a line for each mistake."""


class Misfit(ValueError):  # noqa: N818 - mistakes, not one error
    """What a model's own validator raises.

    Args:
        mistakes: at least one, each located from the value that the validator looked at.
    """

    def __init__(self, *mistakes: Mistake) -> None:
        super().__init__("; ".join(expected for _, _, expected in mistakes))
        self.mistakes = mistakes


def load(path: Path, model: type[M]) -> M:
    """Read ``path`` as ``model``.

    Raises:
        ConfigError: it is not there, not readable, not TOML, or does not fit the model.
    """
    return parse(path, read_text(path), model)


def parse(path: Path, text: str, model: type[M]) -> M:
    """Read ``text`` as ``model``; ``path`` is for the messages.

    Raises:
        ConfigError: it is not TOML, or does not fit the model.
    """
    try:
        data = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # the latter, and a plain ValueError, as `_not_toml` says
        raise ConfigError(_not_toml(path, text, error)) from error
    try:
        return model.model_validate(data)
    except ValidationError as error:
        lines = [_described(path, text, *mistake) for mistake in mistakes_in(error, model)]
        raise ConfigError("\n".join(lines)) from error


def described(path: Path, mistakes: Sequence[Mistake]) -> ConfigError:
    """What is wrong with a file that fits its model, but not what is elsewhere; a line for each mistake."""
    text = read_text(path)
    lines = [_described(path, text, location, _wrong(value, expected)) for location, value, expected in mistakes]
    return ConfigError("\n".join(lines))


def read_text(path: Path) -> str:
    """The file's text.

    Raises:
        ConfigError: it is not there, not readable, too large or not UTF-8.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MAX_CONFIG_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror or error}") from error
    if len(data) > MAX_CONFIG_BYTES:
        raise ConfigError(f"{path}: larger than {MAX_CONFIG_BYTES} bytes, which is the most that is read")
    try:
        text = data.decode("utf-8-sig")  # spreadsheets like to put a byte order mark first
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{path}:{line}: not UTF-8; save the file as UTF-8 and try again") from error
    return text.replace("\r\n", "\n")


# --- lines --------------------------------------------------------------------------------------------------


def line_of(text: str, location: Location) -> int | None:
    """The line, from 1, on which the value at ``location`` begins in a TOML document.

    Of what is missing it is the line of the nearest table around it; None if that is the whole document.
    """
    lines, whole = text.split("\n"), tomllib.loads(text)
    while location and not _contains(whole, location):
        location = location[:-1]
    return _first_line_with(lines, location) if location else None


def _first_line_with(lines: list[str], location: Location) -> int:
    """The fewest lines from the top that hold ``location``: more lines never take anything away."""
    low, high = 1, len(lines)
    while low < high:
        middle = (low + high) // 2
        if _contains(_beginning(lines, middle), location):
            high = middle
        else:
            low = middle + 1
    return low


def _beginning(lines: list[str], count: int) -> dict[str, Any]:
    """The first ``count`` lines as a document, or a few more if those end in the middle of something."""
    for end in range(count, len(lines)):
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
        return f"{path}: not valid TOML: a number with too many digits, or brackets inside too many brackets"
    lines = text.split("\n")
    message, found, rest = (
        str(error).replace("Cannot overwrite a value", "this setting is there already").partition(" (at line ")
    )
    # Otherwise "(at end of document)": something was opened and never closed
    number = int(re.match(r"\d+", rest)[0]) if found else len(text.rstrip().split("\n"))  # type: ignore[index]
    line = printable(lines[number - 1].strip())
    return f"{path}:{number}: not valid TOML: {message}: {line:.{SHOWN}}"


def mistakes_in(error: ValidationError, model: type[BaseModel]) -> list[tuple[Location, str]]:
    """For each mistake where it is, and half a sentence that goes on from the setting's name."""
    return [mistake for item in error.errors() for mistake in _mistakes(item, model)]


def _mistakes(item: Any, model: type[BaseModel]) -> list[tuple[Location, str]]:
    location, kind = item["loc"], item["type"]
    misfit = item.get("ctx", {}).get("error")
    if isinstance(misfit, Misfit):
        return [((*location, *below), _wrong(value, expected)) for below, value, expected in misfit.mistakes]
    if kind == "missing":
        return [(location, " is missing")]
    if kind == "extra_forbidden":
        known = ", ".join(_settings_beside(model, location))
        return [(location, f"{_wrong(item['input'])}: no such setting, expected one of: {known}")]
    template = _EXPECTED.get(kind)
    plain = item["msg"].removeprefix("Value error, ").removeprefix("Input should be ")
    expected = template.format(**item.get("ctx", {})).removesuffix(".0") if template else plain
    return [(location, _wrong(item["input"], expected))]


def _settings_beside(model: type[BaseModel], location: Location) -> list[str]:
    """The names that the model knows where ``location`` is."""
    for part in location[:-1]:
        if isinstance(part, str):
            kind: Any = model.model_fields[part].annotation
            model = (*get_args(kind), kind)[0]  # of a list, what is in it
    return list(model.model_fields)


def _wrong(value: object, expected: str = "") -> str:
    try:
        shown = f"{value!r:.{SHOWN}}"
    except ValueError:
        shown = "a number with too many digits"
    return f" = {shown}" + (f", expected {expected}" if expected else "")


def _described(path: Path, text: str, location: Location, what: str) -> str:
    line = line_of(text, location)
    name = printable(".".join(str(part) for part in location if isinstance(part, str)))
    return f"{path}:{line}: {name}{what}" if line else f"{path}: {name}{what}"
