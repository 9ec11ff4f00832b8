"""The errors that a contestant sees, and how they are printed. Each message says what is wrong and what to do."""

from __future__ import annotations

import sys
from types import TracebackType

from .text import Console


class GetstepError(Exception):
    """The base of the errors below: ``except getstep.GetstepError`` catches them all."""


class SetupError(GetstepError):
    """The team, the token, the host or the port is missing or not valid."""


class BotError(GetstepError):
    """The bot cannot be used: no such file, no ``get_step``, wrong parameters, or an error during its import.

    Args:
        message: one or two lines for the bot's author.
        trace: the author's own traceback, or an empty string.
    """

    def __init__(self, message: str, trace: str = "") -> None:
        super().__init__(message)
        self.trace = trace


class Unreachable(GetstepError):  # noqa: N818 - reads better where it is caught
    """The host's name does not resolve."""


class NotGetstep(GetstepError):  # noqa: N818 - reads better where it is caught
    """A program listens there, but it is not a getstep server."""


class NotProved(GetstepError):  # noqa: N818 - reads better where it is caught
    """The server accepted the login, but did not prove that it knows the token, or its proof is wrong."""


class Refused(GetstepError):  # noqa: N818 - reads better where it is caught
    """The server refused the login, or gave the bot's seat to a newer login.

    Args:
        reason: the goodbye code of protocol.md, such as ``"bad_token"``, ``"unknown_team"``,
            ``"unsupported_version"`` or ``"replaced"``.
        message: what is wrong and what to do.
    """

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


def error_text(error: GetstepError) -> str:
    """Return the lines about an error for the bot's author."""
    return f"{getattr(error, 'trace', '')}\ngetstep: {error}".lstrip()


def print_plainly_if_uncaught() -> None:
    """Print an uncaught `GetstepError` without its traceback, unless the program has its own excepthook.

    The program can catch the error as before, and its exit code stays Python's, 1.
    """
    if sys.excepthook is sys.__excepthook__:
        sys.excepthook = _print_plainly


def _print_plainly(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if isinstance(error, GetstepError):
        Console().warn(error_text(error))
    else:
        sys.__excepthook__(kind, error, trace)
