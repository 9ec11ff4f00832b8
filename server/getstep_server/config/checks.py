"""Checks that need a whole contest, not one file alone; `run` makes them before it plays."""

from __future__ import annotations

from collections.abc import Iterator

from getstep_server.errors import ConfigError
from getstep_server.limits import MAX_MATCHES
from getstep_server.validation import Location

from .contest import Contest, contest_path
from .toml_file import SettingError, config_error


def check_teams(contest: Contest) -> None:
    """Check that the contest has two teams or more, and that its events name only teams of teams.toml.

    With house bots, which play contestants only, one team is enough.

    Raises:
        ConfigError: there are fewer teams, or an event names an unknown one.
    """
    contestants, least = len(contest.contestants), 1 if contest.house_bots else 2
    if contestants < least:
        raise ConfigError(
            f"{contest.folder / 'teams.toml'}: {contestants} teams, expected at least {least};"
            f" add some with: getstep-server teams add {contest.folder} NAME"
        )
    unknown = [
        ((*location, index), team, "the id of a team in teams.toml")
        for location, teams in _named_teams(contest)
        for index, team in enumerate(teams)
        if team not in contest.teams
    ]
    if unknown:
        raise config_error(contest_path(contest.folder), unknown)


def check_matches(contest: Contest) -> None:
    """Check that no event has more matches than `MAX_MATCHES`, which one record of pairings can hold.

    Raises:
        ConfigError: the settings of an event ask for more.
    """
    errors: list[SettingError] = []
    for index, event in enumerate(contest.events):
        most = event.format.max_matches(len(event.teams))
        if most > MAX_MATCHES:
            wanted = f"at most {MAX_MATCHES} matches; with {len(event.teams)} teams these are up to {most}"
            errors.append((("event", index, "settings"), contest.file.event[index].settings, wanted))
    if errors:
        raise config_error(contest_path(contest.folder), errors)


def _named_teams(contest: Contest) -> Iterator[tuple[Location, list[int]]]:
    """Yield each list of team ids in contest.toml, with its location."""
    for index, table in enumerate(contest.file.event):
        yield ("event", index, "teams"), table.teams or []
        yield ("event", index, "settings", "challengers"), table.settings.get("challengers", [])
