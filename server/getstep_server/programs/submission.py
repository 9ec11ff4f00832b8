"""The process that adds a submitted program: it unpacks, builds and tries what comes on its standard input.

    python -m getstep_server.programs.submission CONTEST TEAM NAME CONVENTION ENTRY < length, line end, bytes

It prints its progress and its result as lines of JSON, a `SubmissionStatus` each. It ends with its standard
input, so it cannot outlive the page that started it.
"""

from __future__ import annotations

import os
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path

import msgspec

from getstep_server.children.parent import only_when_idle, until_parent_ends
from getstep_server.config.contest import load_contest
from getstep_server.errors import ProgramRefused, UsageError

from .adding import NewProgram, add_program
from .source import source_of
from .submission_status import FAILED, SubmissionStatus


def main() -> None:
    """Add the program on standard input to the contest; the arguments are those in the module's text."""
    # A build may have 256 tasks, which take most of a core from a program that plays if they only have the page's
    # niceness, the highest there is.
    only_when_idle()
    folder, team, name, convention, entry = sys.argv[1:]
    data = sys.stdin.buffer.read(int(sys.stdin.buffer.readline(20)))
    threading.Thread(target=_end_with_input, daemon=True).start()  # only now: until here this thread reads
    try:
        source = source_of(name, data)
        program = NewProgram(int(team), source, "the team", convention or None, entry=entry or None)
        added = add_program(load_contest(Path(folder)), program, _ticker())
    except (ProgramRefused, UsageError) as error:
        _print(SubmissionStatus("refused", str(error)))
    except Exception:  # the page's log has the reason: it may name folders of the host
        traceback.print_exc()
        _print(SubmissionStatus("failed", FAILED))
    else:
        version = added.version
        kind = f"{version.language}, convention {version.convention}"
        trial = f"; trial games: {version.trial}" if version.trial else ""
        when = "which plays from your team's next match on"
        notes = "".join(f"; {note}" for note in added.notes)
        _print(SubmissionStatus("stored", f"version {version.number} ({kind}), {when}{trial}{notes}"))


def _ticker() -> Callable[[str], None]:
    """Return a function that prints what is going on whenever it changes."""
    last = ""

    def tick(what: str) -> None:
        nonlocal last
        step = what.partition(": move ")[0]  # a line for each move would be too many
        if step != last:
            _print(SubmissionStatus("working", step))
            last = step

    return tick


def _print(status: SubmissionStatus) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(status) + b"\n")
    sys.stdout.buffer.flush()  # the server shows each step as it comes


def _end_with_input() -> None:
    until_parent_ends()
    os._exit(1)  # what it has started ends with it, see `getstep_server.sandbox`


if __name__ == "__main__":
    main()
