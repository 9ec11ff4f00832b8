"""The host's command `getstep-server`, with one module for each group of subcommands.

In: a command line. Out: text for a person, and an exit code. A command's module is imported when the command is
called, so that `--help` and `standings` start quickly. Logic that a second caller could use belongs further down.
"""

__all__ = [
    "main",
]
