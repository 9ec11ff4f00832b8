"""The host's command, run in the process of the test."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from getstep_server.cli._parser import EXIT_USAGE
from getstep_server.cli.main import run_command


class Ran(NamedTuple):
    """The result of a command."""

    code: int
    out: str
    err: str


class Command:
    """Runs the command in this process, in a folder of its own."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: str) -> Ran:
        if arguments[:1] == ("run",) and "--help" not in arguments:
            # The live page and the announcement are processes, which other tests watch.
            arguments = (*arguments, "--no-web", "--no-announce")
        try:
            code = run_command(arguments)
        except SystemExit as end:
            code = int(end.code or 0)
        return Ran(code, *self._capsys.readouterr())

    def complaint(self, *arguments: str, code: int = EXIT_USAGE) -> str:
        """Return the error message of a mistake: an exit code, nothing on standard output."""
        ran = self(*arguments)
        assert (ran.code, ran.out) == (code, "")
        lines = ran.err.splitlines()
        assert all(line.startswith("getstep-server: ") for line in lines)
        return "\n".join(line.removeprefix("getstep-server: ") for line in lines)
