"""JSON as records have it, from the standard library: what the server writes is compared with it."""

from __future__ import annotations

import json


def compact(value: object) -> bytes:
    """Return a value as one line of JSON without spaces."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
