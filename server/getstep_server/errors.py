"""The errors that a command reports to the host without a traceback."""

from __future__ import annotations


class ConfigError(Exception):
    """Raised when a file of the contest folder, or a class list, cannot be used.

    The message has a line for each mistake. Unlike after a `UsageError`, the host edits a file. Exit code 2.
    """


class UsageError(Exception):
    """Raised when what the command line asks for cannot be done: an unknown team, a wrong value, a busy port.

    The files are in order, unlike with a `ConfigError`; the host types another command. Exit code 2.
    """


class ContestInUse(UsageError):  # noqa: N818 - nothing is wrong
    """Raised when another server runs the contest, whichever folder it was started from. Exit code 2."""


class ContestStopped(Exception):  # noqa: N818 - an end with a reason
    """Raised when a contest cannot continue: a bot ended, or the server failed in the same match again and again.

    Nothing stored is lost, and the same command resumes the contest. Unlike the errors above, this one comes
    while the contest runs. Exit code 1.
    """


class BotFailed(Exception):  # noqa: N818 - named for the cause
    """Raised when a process that the server has started to play a game exits or answers nonsense.

    Unlike a `ContestStopped`, it ends that one game: of a person against a sample bot, or of a hosted program.
    """


class MatchLost(Exception):  # noqa: N818 - named for the cause
    """Raised when a match is lost with the machine or the process that played it.

    Unlike other failures, it is expected, and does not stop the contest: the match is played again.
    """


class ProgramRefused(Exception):  # noqa: N818 - named for the decision
    """Raised when a contestant's program cannot be taken: its source, its build or its trial game has a mistake.

    The message is for its author, in lines of plain text. Nothing is stored. Exit code 1.
    """
