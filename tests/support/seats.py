"""Contests in which teams have several seats."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace
from msgspec.structs import replace as replace_fields

from getstep_server.config.contest import Contest
from getstep_server.storage.journal import read, segments, tag_of


def with_seats(contest: Contest, seats: dict[int, int]) -> Contest:
    """Return the contest with this many seats for these teams."""
    teams = {n: replace_fields(team, seats=seats.get(n, 1)) for n, team in contest.teams.items()}
    return replace(contest, teams=teams)


def incidents_noted(folder: Path, match: int) -> list[str]:
    """Return the codes of the incidents that the journal has of a running match."""
    lines = [line for path in segments(folder / "running") for line in read(path).lines]
    return [
        line.entry["incident"]["code"]
        for line in lines
        if line.tag == tag_of(match, 1) and "incident" in line.entry
    ]
