"""Teams and events by what a person typed, in a command or on a page."""

from __future__ import annotations

from collections.abc import Sequence

from getstep.wire import MAX_TEAM
from getstep_server.errors import UsageError
from getstep_server.text import join_limited, name_key, shell_command

from .contest import Contest
from .event import ContestEvent, game_heading

NAMES_CELLS = 200
"""Terminal cells for the names that a text may mean."""


def event_named(contest: Contest, text: str, what: str = "--event") -> ContestEvent:
    """Return the event that ``text`` names.

    An event has a name and a title, and so has its game. The beginning of a name or title, or of a word in it, is
    enough if no other event has it: "path" finds "Longest Path".

    Args:
        contest: the contest.
        text: what was typed.
        what: the option or parameter that has ``text``, for messages.

    Raises:
        UsageError: no event is meant, or several may be.
    """
    by_name = {event.name: event for event in contest.events}
    if text in by_name:
        return by_name[text]
    own = [(spelling, event.number) for event in contest.events for spelling in (event.name, event.heading)]
    games = [
        (spelling, event.number)
        for event in contest.events
        for spelling in (event.game.name, game_heading(event.game))
    ]
    found = _meant(text, own) or _meant(text, games)
    if len(found) == 1:
        return contest.event(found[0])
    if not found:
        raise UsageError(f"{what} {text!r:.80}, expected one of: {', '.join(by_name)}")
    each = join_limited([contest.event(number).name for number in found], ", ", NAMES_CELLS)
    raise UsageError(f"{what} {text!r:.80}: {len(found)} events have such a name: {each}; give the whole name")


def team_named(contest: Contest, text: str, what: str) -> int:
    """Return the id of the team that ``text`` means; see `find_team`.

    Args:
        contest: the contest, with the names of its former teams.
        text: what was typed.
        what: the argument or option that has ``text``, for messages.

    Raises:
        UsageError: no team is meant, or several may be.
    """
    try:
        return find_team(contest, text)
    except UnknownTeam as error:
        raise UsageError(f"{what} {error}; see {shell_command('teams', 'list', contest.folder)}") from None


class UnknownTeam(UsageError):  # noqa: N818 - a finding
    """Raised when a text names no team, or may name several. The message begins with the text."""


def find_team(contest: Contest, text: str) -> int:
    """Return the id of the team that ``text`` names. Former teams are found, too.

    An id or a whole name is enough, and so is the beginning of a name, or of a word in it, if no other team has it:
    "ada" finds "Ada Lovelace".

    Args:
        contest: the contest, with the names of its former teams.
        text: what was typed.

    Raises:
        UnknownTeam: no team is meant, or several may be; or it is the name of one team and the id of another.
    """
    # Former teams first: if two have had one name, it means the team of today.
    by_name = {contest.team_name(number): number for number in (*contest.former_names, *contest.teams)}
    number, named = _number(text), by_name.get(text)
    if named is not None and number not in (None, named) and number in by_name.values():
        raise UnknownTeam(
            f"{text!r}: {contest.team_name(number or 0)!r} has this id, and team {named} has this name;"
            f" expected {contest.team_name(number or 0)!r} or {named}"
        )
    if named is not None:
        return named
    if number is not None:
        return number
    found = _meant(text, list(by_name.items()))
    if len(found) == 1:
        return found[0]
    if not found:
        raise UnknownTeam(f"{text!r:.80}: no team has this name")
    each = join_limited([f"{contest.team_name(team)} ({team})" for team in found], ", ", NAMES_CELLS)
    raise UnknownTeam(f"{text!r:.80}: {len(found)} teams have such a name: {each}; give the id")


def _meant(text: str, named: Sequence[tuple[str, int]]) -> list[int]:
    """Return the numbers whose name ``text`` is, in any case; else those where it begins the whole or a word."""
    wanted = _typed(text).strip()
    if not wanted:
        return []
    same = [number for name, number in named if _typed(name) == wanted]
    return list(dict.fromkeys(same or [number for name, number in named if f" {wanted}" in f" {_typed(name)}"]))


def _typed(name: str) -> str:
    """Return a name as one may type it: in any case, and without joiners."""
    return name_key(name).casefold()


def _number(text: str) -> int | None:
    """Return a team's id, or None if ``text`` is not a number or has more digits than any id."""
    return int(text) if text.isdecimal() and len(text) <= len(str(MAX_TEAM)) else None
