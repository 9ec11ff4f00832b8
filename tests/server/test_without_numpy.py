"""A server without the extra ``ratings``: everything but ratings works, and each place of ratings says why."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from getstep_server.cli.main import run_command
from getstep_server.reports.progress import Progress
from getstep_server.runtime.live_tables import LiveTables
from getstep_server.tournament import _bradley_terry, _numpy, _superiority, ratings
from tests.patience import PATIENCE_SECONDS
from tests.server.command_line import Command
from tests.server.hosts import Host
from tests.server.players import make_contest

MISSING = 'ratings need numpy; pip install "getstep-server[ratings]"'
STORED = Path(__file__).with_name("stored") / "finished"


@pytest.fixture
def no_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulate the import of numpy where numpy is not installed."""
    for module in (_numpy, _bradley_terry, _superiority, ratings):
        monkeypatch.setattr(module, "np", _numpy.MissingNumpy())


@pytest.fixture
def finished(tmp_path: Path) -> str:
    """A copy of a contest that an earlier version has left."""
    return str(shutil.copytree(STORED, tmp_path / "finished"))


WITHOUT_NUMPY = """\
import sys
sys.modules["numpy"] = None  # each import of it raises ModuleNotFoundError
from getstep_server.cli.main import run_command
from getstep_server.formats.match import MatchOptions
from getstep_server.tournament.match_score import Score
for command in sys.argv[2:]:
    print("exit", run_command([*command.split(), sys.argv[1]]), flush=True)
test = Score(MatchOptions(elo0=0, elo1=50), (1, "one"), "other").test()
assert test is not None and test.verdict is None
"""


def test_every_module_can_be_imported_without_numpy(finished: str) -> None:
    """The import itself fails here; the other tests use the stand-in that it leaves."""
    commands = ["standings", "crosstable", "matches list", "verify", "report", "ratings"]
    program = [sys.executable, "-c", WITHOUT_NUMPY, finished, *commands]
    ran = subprocess.run(program, capture_output=True, text=True, check=True, timeout=PATIENCE_SECONDS)
    exits = [line for line in ran.stdout.splitlines() if line.startswith("exit ")]
    assert exits == [*["exit 0"] * 5, "exit 2"]
    assert ran.stderr.splitlines()[-1] == f"getstep-server: {MISSING}"
    assert MISSING.replace('"', "&#34;") in (Path(finished) / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "arguments", [["ratings"], ["export", "--ratings", "--event", "hop", "--output", "ratings.csv"]]
)
def test_a_command_for_ratings_says_what_is_missing(
    command: Command, finished: str, no_numpy: None, arguments: list[str]
) -> None:
    Path("ratings.csv").write_text("of yesterday", encoding="utf-8")
    assert command.complaint(*arguments, finished).splitlines()[-1] == MISSING
    assert Path("ratings.csv").read_text(encoding="utf-8") == "of yesterday"


def report_of(folder: str) -> str:
    assert run_command(["report", folder]) == 0
    return (Path(folder) / "report.html").read_text(encoding="utf-8")


def test_a_report_has_a_line_in_place_of_the_ratings(finished: str, no_numpy: None) -> None:
    page = report_of(finished)
    assert page.count("<p>ratings need numpy; ") == 4, "one in each event"
    assert 'id="event-1-ratings"' not in page
    assert 'id="event-1-standings"' in page


def test_a_report_with_numpy_has_ratings_and_no_such_line(finished: str) -> None:
    page = report_of(finished)
    assert "need numpy" not in page
    assert 'id="event-1-ratings"' in page


@pytest.mark.usefixtures("no_numpy")
def test_the_live_tables_have_everything_but_ratings(tmp_path: Path) -> None:
    host = Host(make_contest(tmp_path, 4, {"game": "hop"}))
    host.play_all()
    tables = LiveTables(host.tournament)()
    assert (tables.elo, tables.elo_missing) == ({}, MISSING)
    assert tables.events == host.tournament.tables().events
    assert tables.expected == host.tournament.total


@pytest.mark.usefixtures("no_numpy")
def test_several_events_have_no_ratings_that_could_be_missing(tmp_path: Path) -> None:
    host = Host(make_contest(tmp_path, 4, {"game": "hop"}, {"game": "linkage"}))
    assert LiveTables(host.tournament)().elo_missing == ""


@pytest.mark.parametrize("shown", [2, 4])
def test_the_live_view_has_a_line_below_the_table(tmp_path: Path, no_numpy: None, shown: int) -> None:
    host = Host(make_contest(tmp_path, 4, {"game": "hop"}))
    console = Console(width=80, height=24)
    view = Progress(host.contest, console, live=True)
    with console.capture() as captured:
        console.print(*view.table(LiveTables(host.tournament)(), shown), sep="\n")
    lines = [line.strip() for line in captured.get().splitlines()]
    assert lines[-1] == MISSING
    assert ("and 2 more teams" in lines) == (shown == 2)


def test_the_line_leaves_the_view_within_the_terminal(tmp_path: Path, no_numpy: None) -> None:
    host, console = Host(make_contest(tmp_path, 30, {"game": "hop"})), Console(width=80, height=24)
    view = Progress(host.contest, console, live=True)
    view._state.tables = LiveTables(host.tournament)
    with console.capture() as captured:
        console.print(view._view())
    assert len(captured.get().splitlines()) < 24
    assert MISSING in captured.get()
