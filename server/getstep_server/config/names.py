"""Teams and events by what a person typed, in a command or on a page."""

from __future__ import annotations

from getstep.wire import MAX_TEAM
from getstep_server.errors import UsageError
from getstep_server.text import shell_command

from .contest import Contest
from .event import ContestEvent


def event_named(contest: Contest, name: str, what: str = "--event") -> ContestEvent:
    """Return the event with this name; ``what`` is the option or parameter that has it, for messages.

    Raises:
        UsageError: no event has this name.
    """
    by_name = {event.name: event for event in contest.events}
    if name not in by_name:
        raise UsageError(f"{what} {name!r}, expected one of: {', '.join(by_name)}")
    return by_name[name]


def team_named(contest: Contest, text: str, what: str) -> int:
    """Return the id of the team that ``text`` names, by its id or its name. Former teams are found, too.

    Args:
        contest: the contest, with the names of its former teams.
        text: what was typed.
        what: the argument or option that has ``text``, for messages.

    Raises:
        UsageError: no team has this name, or it is the name of one team and the id of another.
    """
    # Former teams first: if two have had one name, it means the team of today.
    by_name = {contest.team_name(number): number for number in (*contest.former_names, *contest.teams)}
    number, named = _number(text), by_name.get(text)
    if named is None:
        if number is None:
            listing = shell_command("teams", "list", contest.folder)
            raise UsageError(f"{what} {text!r:.80}: no team has this name; see {listing}")
        return number
    if number in (None, named) or number not in by_name.values():
        return named
    raise UsageError(
        f"{what} {text!r}: {contest.team_name(number)!r} has this id, and team {named} has this name;"
        f" expected {contest.team_name(number)!r} or {named}"
    )


def _number(text: str) -> int | None:
    """Return a team's id, or None if ``text`` is not a number or has more digits than any id."""
    return int(text) if text.isdecimal() and len(text) <= len(str(MAX_TEAM)) else None
