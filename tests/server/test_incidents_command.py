"""The command `incidents`: its table, JSON, and the incidents of one team."""

from __future__ import annotations

import contextlib
import io
import json
import sqlite3
from pathlib import Path

import pytest
from rich.console import Console

from getstep_server.cli._parser import EXIT_FAILED, EXIT_OK, EXIT_USAGE
from getstep_server.cli.main import run_command
from getstep_server.config.class_list import NewTeam
from getstep_server.config.contest import database_path, init_contest, load_contest
from getstep_server.config.roster import add_teams
from getstep_server.incident import Incident
from getstep_server.reports.incident_report import IncidentsView, sorted_by_sender
from getstep_server.runtime.run_log import IncidentTally
from getstep_server.storage.contest_state import incidents_of
from getstep_server.storage.store import Store
from tests.support.incidents import Clock, an_incident


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A contest that has not run."""
    folder = tmp_path / "contest"
    init_contest(folder, name="Test", games=["hop"])
    add_teams(folder, [NewTeam("Ada [bold]", "1"), NewTeam("Blaise " + "é" * 50, "2"), NewTeam("Charles", "3")])
    return folder


async def recorded(folder: Path) -> None:
    """Incidents of a run: the team with most of them is not the first, and an address has more."""
    told: list[tuple[int, Incident]] = [
        (3, an_incident("out_of_turn", 1)),
        (1, an_incident("flood", 2, detail="\x1b[31mred \u202e [bold]")),
        (7, an_incident("bad_msgpack", 2, "2001:db8:1111:2222:3333:4444:5555:6666", "x" * 400)),
        (2, an_incident("bad_token", None, "10.0.0.8")),
        (900, an_incident("oversize_frame", None, "10.0.0.9")),
        (5, an_incident("bad_token", None, "10.0.0.9")),
    ]
    tally = IncidentTally(Clock())
    for count, incident in told:
        for _ in range(count):
            tally.add(incident)
    with Store(load_contest(folder).database) as store:
        await store.count_incidents(tally.take_unsaved())


IN_ORDER = [
    (2, "bad_msgpack", 7),
    (2, "flood", 1),
    (1, "out_of_turn", 3),
    (None, "oversize_frame", 900),
    (None, "bad_token", 5),
    (None, "bad_token", 2),
]


async def test_teams_come_first_and_the_most_frequent_first(folder: Path) -> None:
    await recorded(folder)
    rows = sorted_by_sender(incidents_of(load_contest(folder)))
    assert [(row.incident.team, row.incident.code, row.count) for row in rows] == IN_ORDER


async def test_a_pipe_gets_each_incident_in_one_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    await recorded(folder)
    assert run_command(["incidents", str(folder)]) == EXIT_OK
    heading, *lines = capsys.readouterr().out.splitlines()
    assert heading.split("  ")[0] == "team, address"
    assert all(line.isprintable() for line in lines)
    assert [
        (code in line, f" {count}  " in line) for line, (_, code, count) in zip(lines, IN_ORDER, strict=True)
    ] == [(True, True)] * len(IN_ORDER)
    assert f"Blaise {'é' * 50}, 2001:db8:1111:2222:3333:4444:5555:6666" in lines[0]
    assert lines[0].rstrip().endswith(f"bad_msgpack: {'x' * 400}")
    assert lines[1].rstrip().endswith("flood: \\u001b[31mred \\u202e [bold]")


async def test_the_table_fits_80_columns_of_a_terminal(folder: Path) -> None:
    await recorded(folder)
    contest = load_contest(folder)
    screen = Console(file=io.StringIO(), width=200, record=True)
    screen.print(IncidentsView(contest, sorted_by_sender(incidents_of(contest))))
    lines = screen.export_text().splitlines()
    assert max(map(len, lines)) <= 80
    assert all(line.isprintable() for line in lines)
    assert [found for line in lines for found in line.split() if found in ("7", "1", "3", "900", "5", "2")] == [
        str(count) for _, _, count in IN_ORDER
    ]
    start = lines[0].index("what")
    who = "".join("".join(line[:24].split()) for line in lines)
    what = "".join("".join(line[start:].split()) for line in lines)
    assert "Ada[bold]10.0.0.1" in who
    assert f"Blaise{'é' * 50}2001:db8:1111:2222:3333:4444:5555:6666" in who
    for act in (f"bad_msgpack:{'x' * 400}", "flood:\\u001b[31mred\\u202e[bold]", "oversize_frame:ananswer"):
        assert act in what


async def test_json_is_a_line_each_and_whole(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    await recorded(folder)
    assert run_command(["incidents", str(folder), "--json"]) == EXIT_OK
    output = capsys.readouterr().out
    assert output.isascii()
    lines = [json.loads(line) for line in output.splitlines()]
    assert [(line["team"], line["code"], line["count"]) for line in lines] == IN_ORDER
    assert lines[1] == {
        "team": 2,
        "name": "Blaise " + "é" * 50,
        "address": "10.0.0.1",
        "code": "flood",
        "count": 1,
        "first": "1970-01-01T00:16:40.000Z",
        "last": "1970-01-01T00:16:40.000Z",
        "detail": "\\u001b[31mred \\u202e [bold]",
        "first_bytes": "00 01",
    }
    assert lines[3]["name"] is None


async def test_one_teams_incidents(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    await recorded(folder)
    assert run_command(["incidents", str(folder), "--team", "2", "--json"]) == EXIT_OK
    assert [json.loads(line)["team"] for line in capsys.readouterr().out.splitlines()] == [2, 2]
    assert run_command(["incidents", str(folder), "--team", "3"]) == EXIT_OK
    expected = "No incidents of Charles: no protocol violation and no refused login is on record.\n"
    assert capsys.readouterr().out == expected
    assert run_command(["incidents", str(folder), "--team", "4"]) == EXIT_USAGE
    assert capsys.readouterr().err.startswith("getstep-server: --team 4: no team has this id; see ")


def test_no_incidents_are_one_line_and_no_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["incidents", str(folder)]) == EXIT_OK
    assert capsys.readouterr().out == "No incidents: no protocol violation and no refused login is on record.\n"
    assert run_command(["incidents", str(folder), "--json"]) == EXIT_OK
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("column", ["first", "last"])
@pytest.mark.parametrize("seconds", [1e308, -1.0, 1e12])
async def test_a_time_that_cannot_be_is_named(
    folder: Path, capsys: pytest.CaptureFixture[str], column: str, seconds: float
) -> None:
    await recorded(folder)
    with contextlib.closing(sqlite3.connect(database_path(folder), isolation_level=None)) as database:
        assert database.execute(f"UPDATE incidents SET {column} = ? WHERE code = 'flood'", (seconds,)).rowcount == 1
    for form in ([], ["--json"]):
        assert run_command(["incidents", str(folder), *form]) == EXIT_FAILED
        said = f"getstep-server: an incident 'flood' with {column} = {seconds!r}, expected seconds from 1970 on"
        assert capsys.readouterr().err.startswith(said)
