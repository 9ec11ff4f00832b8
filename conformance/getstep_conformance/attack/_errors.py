"""The two ways in which a case can fail to pass."""

from __future__ import annotations


class NotAsExpected(Exception):  # noqa: N818 - the outcome of a case, not an error in this program
    """Raised when the server reacts differently than the case expects. Unlike `NotRun`, it is a failure."""


class NotRun(Exception):  # noqa: N818 - the outcome of a case, not an error in this program
    """Raised when something that a case needs is missing, such as a team or a match. It is not a failure."""


class MissingOption(NotRun):
    """Raised when the command line lacks teams or a port. Unlike other `NotRun`, this is known in advance."""
