"""The one way to make a contest: in memory, or as a folder of files that commands and servers open."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import pytest
import tomlkit
from msgspec.structs import asdict, replace
from msgspec.structs import replace as replace_fields

from getstep_engines import GAMES
from getstep_server.config.contest import Contest, ContestFile, Team, contest_path, load_contest, teams_path
from getstep_server.errors import ConfigError
from getstep_server.storage.journal import read, segments, tag_of
from getstep_server.validation import validated
from tests.support.patience import PATIENCE_SECONDS

Table: TypeAlias = Mapping[str, Any]
"""A table of contest.toml or teams.toml."""

LIMITS = {"move_seconds", "budget_seconds"}


def token_of(team: int) -> str:
    """Return the token that `make_contest` gives a team."""
    return f"test-token-{team}"


ON_DISK_SEED = 2019
"""The seed of contests that processes play. Some of their tests know who is the first player by it."""


def make_contest(
    folder: Path,
    teams: int | Sequence[str | Table | Team] = 2,
    *events: Table,
    on_disk: bool = False,
    patient: bool = False,
    **tables: Any,
) -> Contest:
    """Return a contest on a free loopback port.

        make_contest(tmp_path)                                          # two teams play hop
        make_contest(tmp_path, 4, event={"game": "linkage"})            # another game
        make_contest(tmp_path, 4, {"game": "hop"}, {"format": "swiss"}) # two events
        make_contest(tmp_path, ["Ada", {"seats": 2}], start={"absent_seconds": 1})

    Args:
        folder: where it is, or would be.
        teams: their number, or for each its name, or what it has beside, or instead of, its id, name and token.
        events: what each event has; without any there is one.
        on_disk: write contest.toml and teams.toml, and read them.
        patient: no honest bot misses a limit or comes too late, however busy the machine is.
        tables: the tables of contest.toml; ``event`` is what each event has unless it says something else.
    """
    shared = {"game": "hop", **tables.pop("event", {})}
    played = [{**shared, **event} for event in events or ({},)]
    if patient:
        played = [event if LIMITS & {*event} else {**event, "move_seconds": PATIENCE_SECONDS} for event in played]
    file = {
        "contest": {"name": "Test", "seed": ON_DISK_SEED if on_disk else 1, **tables.pop("contest", {})},
        "event": played,
        "server": {"host": "127.0.0.1", "port": 0, **tables.pop("server", {})},
        **tables,
    }
    if patient:
        file["start"] = {"absent_seconds": 4 * PATIENCE_SECONDS, **tables.get("start", {})}
    roster = _roster([{"classic": True}] * teams if isinstance(teams, int) else teams)
    if on_disk:
        folder.mkdir(parents=True, exist_ok=True)
        contest_path(folder).write_text(tomlkit.dumps(file), encoding="utf-8")
        rows = [{key: value for key, value in asdict(team).items() if value is not None} for team in roster]
        teams_path(folder).write_text(tomlkit.dumps({"team": rows}), encoding="utf-8")
        return load_contest(folder)
    return Contest(folder, validated(ContestFile, file), {team.id: team for team in roster})


def _roster(teams: Sequence[str | Table | Team]) -> Iterator[Team]:
    for number, team in enumerate(teams, start=1):
        if isinstance(team, Team):
            yield team
        else:
            own = {"id": number, **({"name": team} if isinstance(team, str) else team)}
            yield Team(**{"name": f"Team {own['id']}", "token": token_of(own["id"]), **own})


MakeContest: TypeAlias = Callable[..., Path]
"""The fixture that makes a patient contest on disk, and returns its folder."""


# --- contest folders with any text in their files, and the message about the first mistake ----------------------

CONTEST = '[contest]\nname = "Autumn"\n'
HOP = '[[event]]\ngame = "hop"\n'
TEAM = '[[team]]\nid = 1\nname = "Ada"\ntoken = "12345678"\n'
OTHER = '[[team]]\nid = 2\nname = "Blaise"\ntoken = "12345678"\n'
ALL_GAMES = ", ".join(GAMES)
NOT_INSTALLED = f"an installed game (unknown game 'chess'; installed: {ALL_GAMES})"


def folder_with(tmp_path: Path, contest: str = CONTEST + HOP, teams: str = TEAM + OTHER) -> Path:
    (tmp_path / "contest.toml").write_text(contest, encoding="utf-8")
    (tmp_path / "teams.toml").write_text(teams, encoding="utf-8")
    return tmp_path


def complaint(folder: Path) -> list[str]:
    """Return the error's lines, without the folder's name."""
    with pytest.raises(ConfigError) as caught:
        load_contest(folder)
    return str(caught.value).replace(f"{folder}/", "").split("\n")


# --- contests in which teams have several seats -----------------------------------------------------------------


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
