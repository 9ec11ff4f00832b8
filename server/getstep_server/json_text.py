"""JSON: records, the journal, and what processes tell each other.

msgspec reads and writes it, because it reads contest.toml, too: a second library, orjson, took 10 ms to import and
was no faster for a turn (0.2 µs to write, 0.3 µs to read). Both write the same bytes, which are hashed, but for
floats from 1e16 on: ``1e16`` was ``1e+16``. A stored record is never written again, so its hash stays.
"""

from __future__ import annotations

from typing import Any

import msgspec

from getstep_server.limits import MAX_JSON_DEPTH

encode = msgspec.json.Encoder().encode
"""Return a value as JSON text, without spaces.

Raises:
    TypeError: JSON has nothing for the value.
    ValueError: a text has a surrogate.
    RecursionError: it is nested too deep.
"""


class JsonError(ValueError):
    """Raised when a text is not JSON, or is nested too deep."""


def decode(text: bytes) -> Any:
    """Return the value of a JSON text.

    Raises:
        JsonError: it is not JSON, not UTF-8, or containers are nested more than `MAX_JSON_DEPTH` deep.
    """
    try:
        value = msgspec.json.decode(text)
    except (ValueError, RecursionError) as error:  # ValueError: a DecodeError, or a UnicodeDecodeError
        raise JsonError(str(error)) from error
    # Most texts have fewer brackets than that: to count them takes less than 1 µs.
    if text.count(b"[") + text.count(b"{") > MAX_JSON_DEPTH and _is_deep(value):
        raise JsonError(f"containers are nested more than {MAX_JSON_DEPTH} deep")
    return value


def _is_deep(value: object) -> bool:
    level = [value]
    for _ in range(MAX_JSON_DEPTH):
        level = [inner for one in level for inner in _inner(one)]
        if not level:
            return False
    return any(isinstance(one, (dict, list)) for one in level)


def _inner(value: object) -> Any:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
