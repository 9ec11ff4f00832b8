"""Grades: equal results share one, and the class list comes back with all its columns."""

from __future__ import annotations

import csv
import io
import json
import stat
from pathlib import Path

import pytest

from getstep_server.config.class_list import keep, kept_lists, kept_path, read_roster
from getstep_server.config.contest import load_contest
from getstep_server.errors import ConfigError
from getstep_server.reports.grades import GradeLine, Grades, Scale, grade_lines, scale_named
from getstep_server.tournament.standings import Standing
from getstep_server.tournament.tournament import Tournament
from tests.support.command import Command
from tests.support.contests import make_contest
from tests.support.decisions import import_teams
from tests.support.random_results import make_up

CLASS = """\
Nachname;Vorname;E-Mail;Gruppe;Telefon
Lovelace;Ada;ada@example.org;Enigma;+49 30 1
Hopper;Grace;grace@example.org;Enigma;-
Gödel;Kurt;=kurt@example.org;Solo;007
"""


def standing(rank: int, team: int, points: float, lot: int | None = None, status: str = "") -> Standing:
    return Standing(rank, team, 3, 0, 0, 0, points, 0, lot=lot, status=status)


@pytest.fixture
def tied(tmp_path: Path) -> Tournament:
    """A table in which a lot has separated the second and the third team, and the last one is disqualified."""
    tournament = Tournament(make_contest(tmp_path, 5))
    rows = [standing(1, 3, 6), standing(2, 1, 4, lot=1), standing(3, 4, 4, lot=2), standing(4, 2, 1)]
    tournament.table = lambda _: [*rows, standing(5, 5, 9, status="disqualified")]  # type: ignore[method-assign, assignment]  # the table is made up
    return tournament


def grades(tournament: Tournament, text: str, best: float = 100, worst: float = 0) -> dict[int, object]:
    lines = grade_lines(tournament, tournament.contest.events[0], scale_named(text, best, worst))
    return {line.team: line.grade for line in lines}


def test_equal_results_have_equal_grades_by_each_scale(tied: Tournament) -> None:
    assert grades(tied, "place") == {3: 100, 1: 75, 4: 75, 2: 25, 5: 0}
    assert grades(tied, "score", 20, 5) == {3: 20, 1: 14, 4: 14, 2: 5, 5: 5}
    assert grades(tied, "1.0=6,2.0=4,5.0=2") == {3: "1.0", 1: "2.0", 4: "2.0", 2: "", 5: ""}


def test_teams_without_a_result_are_equal(tmp_path: Path) -> None:
    tournament = Tournament(make_contest(tmp_path, 4))
    assert set(grades(tournament, "place").values()) == {100}


@pytest.mark.parametrize("text", ["", "places", "A", "A=", "A=x", "=3", "A=1,,B=0", "A=nan", "A=1e999"])
def test_a_wrong_scale_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="expected place, score, or the least score of each grade"):
        scale_named(text, 100, 0)


def test_the_class_list_is_kept_for_its_owner_only(tmp_path: Path) -> None:
    make_contest(tmp_path / "autumn", 1, on_disk=True)
    (tmp_path / "class.csv").write_text(CLASS, encoding="cp1252")
    import_teams(tmp_path / "autumn", tmp_path / "class.csv")
    (kept,) = kept_lists(tmp_path / "autumn")
    assert [kept.columns, *(row.cells for row in kept.rows)] == [line.split(";") for line in CLASS.splitlines()]
    assert [row.team for row in kept.rows] == [2, 2, 3]
    path = kept_path(tmp_path / "autumn")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    (tmp_path / "more.csv").write_text("name,E-Mail\nNoether,emmy@example.org\n", encoding="utf-8")
    import_teams(tmp_path / "autumn", tmp_path / "more.csv")
    lines = [GradeLine(1, 1, 2.0, 100.0), GradeLine(4, 2, 1.0, 50.0)]
    contest = load_contest(tmp_path / "autumn")
    merged = Grades(Tournament(contest), lines, kept_lists(contest.folder))
    rows = [row for row in merged.objects() if row["team"] in (1, 4)]
    assert [(row["name"], row["E-Mail"], row["Telefon"], row["grade"]) for row in rows] == [
        ("Noether", "emmy@example.org", "", 50.0),
        ("", "", "", 100.0),
    ]
    path.write_text("{}")
    with pytest.raises(ConfigError, match="not the lists that teams import has kept"):
        import_teams(tmp_path / "autumn", tmp_path / "class.csv")
    assert len(load_contest(tmp_path / "autumn").teams) == 4, "no team was added"


# --- files ------------------------------------------------------------------------------------------------------


@pytest.fixture
def graded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A contest whose matches are over, with a class list of two of its three teams."""
    monkeypatch.setenv("LC_ALL", "C")
    folder = tmp_path / "autumn"
    make_up(folder, [{"game": "hop"}], ["Enigma", "Solo", "Other"])
    (tmp_path / "class.csv").write_text(CLASS, encoding="utf-8")
    keep(folder, read_roster(tmp_path / "class.csv"), {"Enigma": 1, "Solo": 2})
    return folder


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(capsys)


def exported(command: Command, folder: Path, *arguments: str) -> bytes:
    target = folder / "grades"
    assert command("export", str(folder), "--grades", *arguments, "--output", str(target)).code == 0
    return target.read_bytes()


def test_moodle_gets_the_class_list_with_a_grade_for_each_pupil(command: Command, graded: Path) -> None:
    text = exported(command, graded, "--format", "moodle").decode()
    head, *rows = csv.reader(io.StringIO(text))
    assert head == [*CLASS.splitlines()[0].split(";"), "Grade", "Feedback comments"]
    assert [row[:5] for row in rows[:3]] == [line.split(";") for line in CLASS.splitlines()[1:]]
    assert rows[0][5] == rows[1][5]
    assert all(0 <= float(row[5]) <= 100 for row in rows)
    assert rows[0][6].startswith("Enigma: place ")
    assert len(rows) == 4, "the team of no class list is last"


def test_excel_gets_semicolons_where_the_class_list_has_them(command: Command, graded: Path) -> None:
    data = exported(command, graded, "--format", "excel", "--scale", "score", "--best", "1.5", "--worst", "1.5")
    assert data.startswith(b"\xef\xbb\xbfNachname;Vorname;E-Mail;Gruppe;Telefon;place;")
    rows = list(csv.reader(io.StringIO(data.decode("utf-8-sig")), delimiter=";"))
    assert {row[-1] for row in rows[1:]} == {"1,5"}
    kept_path(graded).unlink()
    assert exported(command, graded, "--format", "excel").startswith(b"\xef\xbb\xbfplace,team,")


def test_gradescope_gets_a_file_for_each_team(command: Command, graded: Path) -> None:
    folder = graded / "results"
    ran = command(
        "export", str(graded), "--grades", "--format", "gradescope", "--best", "20", "--output", str(folder)
    )
    assert (ran.code, ran.err) == (0, "")
    found = {int(path.parent.name): json.loads(path.read_text()) for path in folder.glob("*/results.json")}
    assert found.keys() == {1, 2, 3}
    assert all(result["max_score"] == 20 and 0 <= result["score"] <= 20 for result in found.values())
    text = ["--format", "gradescope", "--scale", "A=-99", "--output", str(folder)]
    assert "'A' is no number" in command.complaint("export", str(graded), "--grades", *text)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--grades", "--format", "gradescope"), "--format gradescope without --output"),
        (("--standings", "--format", "moodle"), "--format moodle, expected --grades"),
        (("--grades", "--scale", "best"), "--scale 'best', expected place, score"),
        (("--grades", "--best", "nan"), "--best nan --worst 0, expected two numbers"),
    ],
)
def test_what_does_not_fit_is_refused(
    command: Command, graded: Path, arguments: tuple[str, ...], complaint: str
) -> None:
    assert command.complaint("export", str(graded), *arguments).startswith(complaint)


def test_a_name_of_a_team_is_no_formula(tmp_path: Path) -> None:
    """It may come from a pupil. The class list's own cells are the host's, and stay as they were."""
    tournament = Tournament(make_contest(tmp_path, ["=1+1", "B"]))
    lines = grade_lines(tournament, tournament.contest.events[0], Scale())
    for made in (Grades(tournament, lines).moodle(), Grades(tournament, lines).excel(decimal_comma=False)):
        cells = [cell for row in csv.reader(io.StringIO(b"\n".join(made).decode("utf-8-sig"))) for cell in row]
        assert "'=1+1" in cells
        assert not [cell for cell in cells if cell.startswith("=")]
