"""The answer to a team that logs in: the games that it plays here, or why its bots cannot play."""

from __future__ import annotations

from typing import Any

from getstep.wire import Goodbye, Welcome
from getstep_server.config.contest import Contest
from getstep_server.config.event import ContestEvent


def hosted_program(team: int) -> Goodbye:
    """Return the goodbye to a bot of a team whose program the host runs."""
    return Goodbye("hosted_program", f"The host runs the program of team {team}, so its bots cannot log in.", None)


def welcome(contest: Contest, team: int) -> Welcome:
    """Return the answer to an accepted login; a game that two events play in the same way is in it once.

    If an option is drawn for each match, the game is in it with the smallest and with the largest value.
    """
    games: list[dict[str, Any]] = []
    for event in contest.events:
        for options in event.extreme_options():
            if team in event.teams and (game := _game(event, options)) not in games:
                games.append(game)
    return Welcome(team=team, name=contest.team_name(team), lag_ms=round(contest.lag * 1000), games=games)


def _game(event: ContestEvent, options: dict[str, int]) -> dict[str, Any]:
    control = event.time_control
    game = {
        "game": event.game.name,
        "options": options,
        "time_kind": control.kind,
        "time_ms": round(control.seconds * 1000),
    }
    return {**game, "increment_ms": round(control.increment * 1000)} if control.increment else game
