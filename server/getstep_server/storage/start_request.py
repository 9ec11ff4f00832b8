"""What the host asks of a server that waits for teams: to start now, or at a time.

The console's process writes the request as a file next to the journal; the server takes it from there, and removes
it. It is no decision: nothing follows from it when the records are read again.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct, ValidationError
from msgspec.json import decode, encode

from getstep.wire import MAX_NAME
from getstep_server.config.fields import check_visible
from getstep_server.errors import ConfigError
from getstep_server.text import LATEST_TIME

_NAME = "start.json"
_MAX_BYTES = 1000


class StartRequest(Struct, frozen=True):
    """Who asks for the start, and for when: a Unix time, or None for now."""

    by: Annotated[str, Meta(max_length=MAX_NAME)]
    at: Annotated[float, Meta(ge=0, lt=LATEST_TIME)] | None = None


def ask_for_start(folder: Path, request: StartRequest) -> None:
    """Write a request for the server that uses the journal's folder; it replaces one that was not taken yet.

    Raises:
        ConfigError: the folder cannot be written.
    """
    new = folder / f"{_NAME}.new"
    try:
        new.write_bytes(encode(request))
        new.replace(folder / _NAME)  # in one step: the server looks at any moment
    except OSError as error:
        raise ConfigError(f"{folder / _NAME}: cannot be written ({error.strerror or error})") from error


def take_start_request(folder: Path) -> StartRequest | None:
    """Return the request in the journal's folder, and remove it; None if there is none, or it cannot be read."""
    path = folder / _NAME
    try:
        with path.open("rb") as file:
            text = file.read(_MAX_BYTES)
        os.unlink(path)  # noqa: PTH108 - a request that cannot be removed must not be followed each half second
        request = decode(text, type=StartRequest)
        check_visible(request.by)
    except (OSError, ValidationError, ValueError):
        return None
    return request
