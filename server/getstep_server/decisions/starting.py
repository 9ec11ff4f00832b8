"""The start of a contest that waits for its teams, asked for from outside of its server."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

from getstep_server.config.contest import load_contest
from getstep_server.config.fields import check_visible
from getstep_server.errors import UsageError
from getstep_server.storage.lock import server_of
from getstep_server.storage.run_status import read_status
from getstep_server.storage.start_request import StartRequest, ask_for_start
from getstep_server.text import shell_command


def time_of_day(text: str, parameter: str) -> datetime:
    """Return the next moment with this time of day on this computer.

    Raises:
        UsageError: the text is no time of day.
    """
    try:
        clock = datetime.strptime(text, "%H:%M").time()
    except ValueError:
        raise UsageError(f"{parameter} {text!r:.80}, expected a time of day such as 14:30") from None
    now = datetime.now().astimezone()
    at = now.replace(hour=clock.hour, minute=clock.minute, second=0, microsecond=0)
    return at if at > now else at + timedelta(days=1)


def start(folder: Path, by: str, at: str | None = None) -> datetime | None:
    """Let the server that runs a contest start it without the teams that are missing.

    Args:
        folder: of the contest.
        by: who asks.
        at: a time of day such as 14:30; None: now.

    Returns:
        The time of the start; None: now.

    Raises:
        UsageError: no server waits for the start, or an argument cannot be used.
        ConfigError: the contest cannot be read, or the request cannot be written.
    """
    try:
        check_visible(by)
    except ValueError as error:
        raise UsageError(f"by {by!r:.80}, expected {error}") from None
    when = None if at is None else time_of_day(at, "at")
    contest = load_contest(folder)
    if server_of(folder) is None:
        raise UsageError(f"no server runs the contest; start one with: {shell_command('run', folder)}")
    status = read_status(contest.running)
    if status is not None and status.state != "gathering" and not status.waiting:
        raise UsageError("the server does not wait for the start: matches are played, or the contest is over")
    ask_for_start(contest.running, StartRequest(by, None if when is None else when.timestamp()))
    return when
