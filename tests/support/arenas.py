"""Arenas for the server's tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from msgspec.structs import replace

from getstep_server.config.contest import Contest, house_team
from tests.support.contests import make_contest
from tests.support.director import PATIENCE, SMALL
from tests.support.servers import connected


def arena(folder: Path, teams: int = 4, **options: Any) -> Contest:
    event = {**SMALL["event"], "format": "arena", "settings": {"pause_seconds": 1, **options}}
    return make_contest(folder, teams, event=event, start={"absent_seconds": PATIENCE})


def with_house(contest: Contest) -> Contest:
    """Return a contest with the teams of its house bots, as `load_contest` does."""
    house = {number: house_team(number, bot) for number, bot in contest.house_bots.items()}
    return replace(contest, teams={**contest.teams, **house})


async def play(port: int, team: int) -> None:
    async with connected(port) as player:
        await player.login(team)
        await player.play()
