"""What can go wrong for a contestant. Each message says what is wrong and what to do."""

from __future__ import annotations


class GetstepError(Exception):
    """Base of the errors below: ``except getstep.GetstepError`` catches them all."""


class SetupError(GetstepError):
    """The team, the token, the host or the port is missing or cannot be right."""


class BotError(GetstepError):
    """The bot cannot be used: no such file, no ``get_step``, wrong parameters, or an error while importing it.

    Args:
        message: one or two lines for the bot's author.
        trace: the author's own traceback, or an empty string.
    """

    def __init__(self, message: str, trace: str = "") -> None:
        super().__init__(message)
        self.trace = trace


class Unreachable(GetstepError):  # noqa: N818 - reads better where it is caught
    """The host's name does not resolve."""


class NotGetstep(GetstepError):  # noqa: N818
    """Something listens there, but it does not speak as a getstep server does."""


class Refused(GetstepError):  # noqa: N818
    """The server does not let this bot play, or no longer.

    Args:
        reason: the goodbye code of protocol.md: ``"bad_token"``, ``"unknown_team"``,
            ``"unsupported_version"`` or ``"replaced"``.
        message: what is wrong and what to do.
    """

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason
