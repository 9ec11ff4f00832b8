"""The settings on record: their effect after an edit of contest.toml or teams.toml, and the messages about it."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from getstep_server.config.contest import Contest, contest_path, database_path, load_contest, teams_path
from getstep_server.storage.store import Store
from getstep_server.storage.verify import Verified, VerifyError, verify
from getstep_server.tournament.settings_record import contest_on_record, settings_of
from tests.old_contests.contests import unpack
from tests.support.command import Command
from tests.support.played_contests import Scene, play_scenes
from tests.support.random_results import make_up
from tests.support.tampering import Forged

EVENTS: list[dict[str, Any]] = [
    {"game": "hop", "move_seconds": 5.0, "tie_breaks": ["won", "difference"]},
    {"game": "linkage", "name": "Dominoes", "settings": {"legs": 4}, "move_seconds": 2.0},
    {"game": "pseudo_tonga", "budget_seconds": 10.0},
]
NAMES = ("Ada", "Blaise", "Charles", "Dorothy")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Contest:
    """A contest of three events that is over."""
    return make_up(tmp_path_factory.mktemp("made") / "autumn", EVENTS, NAMES)


@pytest.fixture
def contest(made: Contest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nobody_returns: None) -> Contest:
    """A copy of it, to be changed."""
    shutil.copytree(made.folder, tmp_path / "autumn")
    monkeypatch.chdir(tmp_path)
    return load_contest(Path("autumn"))


@pytest.fixture(scope="module")
def two_matches(tmp_path_factory: pytest.TempPathFactory) -> Contest:
    """A contest of two matches with all their moves."""
    folder = tmp_path_factory.mktemp("played") / "autumn"
    return play_scenes(folder, "linkage", lambda _: [Scene(1), Scene(2)])


@pytest.fixture
def played(two_matches: Contest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nobody_returns: None) -> Contest:
    """A copy of it, to be changed."""
    shutil.copytree(two_matches.folder, tmp_path / "autumn")
    monkeypatch.chdir(tmp_path)
    return load_contest(Path("autumn"))


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(capsys)


def edit(path: Path, *changes: tuple[str, str]) -> None:
    """Change lines of a file, each of which has to be there."""
    text = path.read_text(encoding="utf-8")
    for before, now in changes:
        assert before in text, before
        text = text.replace(before, now, 1)
    path.write_text(text, encoding="utf-8")


def edit_all(contest: Contest) -> None:
    """Change every kind of setting that may be changed in mid-contest."""
    edit(
        contest_path(contest.folder),
        ('name = "Test contest"', 'name = "Spring contest"'),
        ("move_seconds = 5.0", "move_seconds = 0.5\nscoring = {win = 5}"),
        ('tie_breaks = ["won", "difference"]', 'tie_breaks = ["difference"]'),
        ('name = "Dominoes"', 'name = "Stones"'),
        ("budget_seconds = 10.0", "move_seconds = 3.0"),
        ("port = 0", "port = 0\nweb_port = 0"),  # not on record
    )
    with contest_path(contest.folder).open("a", encoding="utf-8") as file:
        file.write("\n[time]\nlag_ms = 250\n[start]\nabsent_seconds = 0.25\n")
    edit(teams_path(contest.folder), ('name = "Blaise"', 'name = "Bruno"'), ('name = "Ada"', 'name = "Blaise"'))


CHANGES = [
    'contest.toml: contest.name is "Spring contest", on record "Test contest"',
    "contest.toml: time.lag_ms is 250, on record 100",
    "contest.toml: start.absent_seconds is 0.25, on record 60",
    'teams.toml: team 1, name is "Blaise", on record "Ada"',
    'teams.toml: team 2, name is "Bruno", on record "Blaise"',
    "contest.toml: event 1 (hop), scoring.win is 5, on record 2",
    'contest.toml: event 1 (hop), tie_breaks is ["difference"], on record ["won","difference"]',
    'contest.toml: event 1 (hop), time limit is {"move_seconds":0.5}, on record {"move_seconds":5}',
    'contest.toml: event 2 (Stones), name is "Stones", on record "Dominoes"',
    'contest.toml: event 3 (pseudo_tonga), time limit is {"move_seconds":3}, on record {"budget_seconds":10}',
]
NOTES = [f"getstep-server: autumn/{change}: what is on record counts until the next run" for change in CHANGES]

READING = [
    "standings autumn",
    "standings autumn --event Dominoes",
    "crosstable autumn",
    "ratings autumn --event hop",
    "matches list autumn",
    "decisions autumn",
    "show autumn 3 --moves",
    "export autumn --standings",
    "export autumn --standings --event hop --format csv",
    "export autumn --crosstable --event Dominoes --format markdown",
    "export autumn --ratings --event hop",
]


@pytest.mark.parametrize("words", READING)
def test_recorded_settings_count_and_changes_are_reported(command: Command, contest: Contest, words: str) -> None:
    before = command(*words.split())
    assert (before.code, before.err) == (0, "")
    edit_all(contest)
    ran = command(*words.split())
    assert ran.code == 0
    assert ran.out == before.out
    assert ran.err.splitlines() == NOTES


def test_the_report_shows_the_recorded_settings(command: Command, contest: Contest) -> None:
    assert command("report", "autumn", "--no-replays", "--output", "before.html").err == ""
    edit_all(contest)
    ran = command("report", "autumn", "--no-replays", "--output", "after.html")
    assert (ran.code, ran.err.splitlines()) == (0, NOTES)
    assert Path("before.html").read_bytes() == Path("after.html").read_bytes()


CONTEST = "getstep-server: autumn/contest.toml"
SMALL_EDITS = [
    ('name = "Test contest"', 'name = "Spring contest"'),
    ("# scoring.win = 2", "scoring.win = 3"),
    ("move_seconds = 5", "move_seconds = 4"),
]


def test_a_head_that_was_kept_still_fits_and_the_difference_is_said(command: Command, played: Contest) -> None:
    before = command("verify", "autumn").out
    edit(contest_path(played.folder), *SMALL_EDITS)
    ran = command("verify", "autumn", "--head", before.split()[-1])
    assert ran.code == 0
    assert ran.out.replace("The expected hash is in the chain, as its last.\n", "") == before
    counts = "what is on record counts until the next run"
    assert ran.err.splitlines() == [
        f'{CONTEST}: contest.name is "Spring contest", on record "Test contest": {counts}',
        f"{CONTEST}: event 1 (linkage), scoring.win is 3, on record 2: {counts}",
        f"{CONTEST}: event 1 (linkage), time limit is {LIMITS[1]}, on record {LIMITS[0]}: {counts}",
    ]


LIMITS = '{"move_seconds":5}', '{"move_seconds":4}'


def test_verify_says_what_was_changed_and_when(command: Command, played: Contest) -> None:
    edit(contest_path(played.folder), *SMALL_EDITS, ("port = 7777", "port = 0"))
    assert command("run", "autumn", "--now").code == 0
    ran = command("verify", "autumn")
    assert (ran.code, ran.err) == (0, "")
    found = [re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z", "WHEN", line) for line in ran.out.splitlines()[1:-1]]
    assert found == [
        'Changed setting: place 5, WHEN: contest.name: "Test contest" -> "Spring contest"',
        "Changed setting: place 5, WHEN: event 1 (linkage), scoring.win: 2 -> 3",
        f"Changed setting: place 5, WHEN: event 1 (linkage), time limit: {LIMITS[0]} -> {LIMITS[1]}",
    ]


def test_the_next_run_says_what_was_changed_and_records_it(command: Command, contest: Contest) -> None:
    table = command("standings", "autumn", "--event", "hop").out
    edit_all(contest)
    ran = command("run", "autumn", "--now")
    assert (ran.code, ran.err) == (0, "")
    said = re.findall("^Changed since the contest began: (.*)$", ran.out, re.MULTILINE)
    expected = [re.fullmatch(r"\w+\.toml: (.*) is (.*), on record (.*)", change) for change in CHANGES]
    assert [line.rpartition("; the change counts ")[0] for line in said] == [
        f"{change[1]}: {change[3]} -> {change[2]}" for change in expected if change
    ]
    assert [line.rpartition("; the change counts ")[2] for line in said] == [
        "in all tables",
        "for matches that have not begun",
        "for matches that have not begun",
        "in all tables",
        "in all tables",
        "for all matches of the event, those that were played too",
        "for all matches of the event, those that were played too",
        "for matches that have not begun",
        "in all tables",
        "for matches that have not begun",
    ]
    now = command("standings", "autumn", "--event", "hop")
    assert (now.code, now.err) == (0, "")
    assert now.out.startswith("Spring contest, Hop")
    assert now.out != table
    again = command("run", "autumn", "--now")
    assert "Changed" not in again.out


def test_a_run_without_a_change_records_nothing(command: Command, played: Contest) -> None:
    edit(contest_path(played.folder), ("port = 7777", "port = 0"), ("# scoring.win = 2", "scoring.win = 2.0"))
    before = command("verify", "autumn").out
    assert command("run", "autumn", "--now").code == 0
    assert command("verify", "autumn").out == before


def test_teams_and_events_may_come_and_go(command: Command, contest: Contest) -> None:
    edit(teams_path(contest.folder), ('id = 4\nname = "Dorothy"', 'id = 7\nname = "Edsger"'))
    with contest_path(contest.folder).open("a", encoding="utf-8") as file:
        file.write('\n[[event]]\ngame = "hop"\nname = "More"\n[start]\nabsent_seconds = 0.1\n')
    ran = command("standings", "autumn")
    assert ran.code == 0
    assert "Dorothy" in ran.out
    assert "Edsger" not in ran.out
    assert [
        line.removeprefix("getstep-server: autumn/").partition(": what is")[0] for line in ran.err.splitlines()
    ] == [
        "contest.toml: start.absent_seconds is 0.1, on record 60",
        'teams.toml: team 4 is nothing, on record "Dorothy"',
        'teams.toml: team 7 is "Edsger", on record nothing',
        'contest.toml: event 4 is "More", on record nothing',
    ]
    assert command("run", "autumn", "--now").code == 0
    ran = command("standings", "autumn")
    assert (ran.code, ran.err) == (0, "")
    assert "Dorothy (withdrawn)" in ran.out
    assert "Edsger" in ran.out


def test_many_changes_are_shortened(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    contest = make_up(Path("autumn"), EVENTS[:1], [f"Team {n}" for n in range(1, 31)], most=1)
    path = teams_path(contest.folder)
    path.write_text(path.read_text(encoding="utf-8").replace("Team ", "Group "), encoding="utf-8")
    lines = command("standings", "autumn").err.splitlines()
    assert len(lines) == 21
    assert lines[0].startswith('getstep-server: autumn/teams.toml: team 1, name is "Group 1", on record "Team 1": ')
    assert lines[20] == "getstep-server: and 10 settings more"


# --- contests of an earlier version ------------------------------------------------------------------------------


def test_the_files_count_for_a_contest_of_an_earlier_version(
    command: Command, tmp_path: Path, nobody_returns: None
) -> None:
    folder = tmp_path / "finished"
    unpack("0.1.0-before-settings/finished", folder)
    edit(contest_path(folder), ("scoring.win = 3", "scoring.win = 30"), ("lag_ms = 50", "lag_ms = 75"))
    edit(teams_path(folder), ('"Ada"', '"Eve"'))
    ran = command("standings", str(folder))
    assert ran.code == 0
    assert "Eve" in ran.out
    assert [line.removeprefix(f"getstep-server: {folder}/") for line in ran.err.splitlines()] == [
        "contest.db: no settings on record, an earlier version wrote it: names, scoring and tie-breaks are those of"
        " contest.toml and teams.toml",
        'teams.toml: team 1, name is "Eve", was "Ada"',
        "contest.toml: event 3 (Cascade Cup), scoring.win is 30, was 3",
    ]
    run = command("run", str(folder), "--now", "--host", "127.0.0.1")
    assert re.findall("^Changed since the contest began: (.*); the change counts", run.out, re.MULTILINE) == [
        "time.lag_ms: 50 -> 75",
        'start.no_show: "final" -> "provisional"',
        'team 1, name: "Ada" -> "Eve"',
        "event 3 (Cascade Cup), scoring.win: 3 -> 30",
    ]
    assert command("standings", str(folder)).err == ""
    checked = command("verify", str(folder))
    assert (checked.code, checked.err) == (0, "")


# --- what verify finds --------------------------------------------------------------------------------------------


@pytest.fixture
def forged(played: Contest) -> Iterator[Forged]:
    copy = Forged(database_path(played.folder), Path("forged.db"))
    yield copy
    copy.close()


def verified(contest: Contest, path: Path) -> Verified:
    with Store(path) as store:
        return verify(contest, store)


def stated(key: str, value: object) -> Callable[[dict[str, Any]], None]:
    """Return a change: the record of settings states something else."""
    return lambda fields: fields.update({key: value})


def of_event(key: str, value: object) -> Callable[[dict[str, Any]], None]:
    """Return a change: the record of settings states something else of its event."""
    return lambda fields: fields["events"][0].update({key: value})


SCORING = {"kind": "points", "win": 9, "draw": 1, "loss": 0}
LIMIT = {"kind": "move", "ms": 4000.0, "lag_ms": 100.0}
NONE_CAN = "place 1: settings that no contest can have: event.0"
FORGERIES: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "no name": (stated("contest", ""), "place 1: contest is '', expected visible characters"),
    "another seed": (stated("seed", 7), r"place 2: seed is 5, expected 7 by the settings"),
    "another name": (stated("contest", "X"), "place 2: contest is 'Test contest', expected 'X' by the settings"),
    "another scoring": (
        of_event("scoring", SCORING),
        r"place 2: scoring is \{.*, expected \{.*'win': 9, .* by the set",
    ),
    "no scoring": (
        of_event("scoring", {"win": 0, "draw": 1}),
        rf"{NONE_CAN}.scoring.draw is 1, expected .* from loss, 0, to win, 0",
    ),
    "another format": (
        of_event("format", "swiss"),
        "place 2: format is .round_robin., expected .swiss. by",
    ),
    "no game": (of_event("game", "chess"), rf"{NONE_CAN}.game"),
    "other legs": (
        of_event("settings", {"legs": 6}),
        r"place 2: settings is \{'legs': 2\}, expected \{'legs': 6\}",
    ),
    "no tie-break": (of_event("tie_breaks", ["luck"]), rf"{NONE_CAN}.tie_breaks"),
    "another limit": (
        of_event("time", LIMIT),
        r"match 1, attempt 1: time is \{.*'ms': 5000.0.*\}, expected one that is in the settings before it",
    ),
    "no limit": (of_event("time", {**LIMIT, "ms": 0}), "place 1: events.0.time.ms is 0"),
    "no first event": (of_event("event", 2), r"place 1: events have the numbers \[2\], expected 1 to 1"),
    "no event": (stated("events", []), r"place 1: events is \[\]"),
    "another name of a team": (
        lambda fields: fields["teams"][0].update(name="Eve"),
        "match 1, attempt 1: name of team 1 is 'Ada', expected one that is in the settings before it",
    ),
    "a team twice": (
        lambda fields: fields["teams"].append(fields["teams"][0]),
        r"place 1: teams have the ids \[1, 2, 1\], expected each of them once",
    ),
    "no teams": (lambda fields: fields.pop("teams"), "place 1: teams is missing"),
    "no time": (stated("at", "yesterday"), "place 1: at is 'yesterday', expected a time in UTC"),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_settings_that_do_not_fit_are_found(played: Contest, forged: Forged, name: str) -> None:
    change, found = FORGERIES[name]
    forged.head(1, change).reseal()
    forged.close()
    with pytest.raises(VerifyError, match=found):
        verified(played, forged.path)


def test_settings_may_not_change_what_was_begun(command: Command, contest: Contest) -> None:
    edit(contest_path(contest.folder), ("seed = 1", "seed = 2"))
    ran = command("run", "autumn", "--now")
    assert (ran.code, ran.out) == (2, "")
    assert "contest.toml: seed = 2, expected 1 as in the recorded pairings; put it back, or" in ran.err
    assert command("standings", "autumn").code == 0


def test_the_settings_name_teams_and_events(contest: Contest) -> None:
    with Store(contest.database) as store:
        first = json.loads(next(iter(store.lines())))
    assert first["type"] == "settings"
    assert first["teams"] == [{"id": number, "name": name} for number, name in enumerate(NAMES, start=1)]
    assert [event["name"] for event in first["events"]] == ["hop", "Dominoes", "pseudo_tonga"]
    assert first["events"][2]["scoring"] == {"kind": "signed_roots", "win": 2, "draw": 1, "loss": 0}
    assert first["events"][1]["time"] == {"kind": "move", "ms": 2000.0, "lag_ms": 100.0}


def test_settings_that_no_record_has_are_those_of_the_files(contest: Contest) -> None:
    edit(contest_path(contest.folder), ("port = 0", "port = 0\nweb_port = 8123"))
    with contest_path(contest.folder).open("a") as file:
        file.write("\n[start]\nabsent_seconds = 7\n[page]\nfreeze_minutes = 5\n")
        file.write("[programs]\nsubmissions = true\nstartup_seconds = 3\nsandbox = 'none'\n")
    now = load_contest(contest.folder)
    on_record = contest_on_record(now, settings_of(now))
    tables = [name for name in now.file.__struct_fields__ if name != "event"]
    assert {name: getattr(on_record.file, name) for name in tables} == {
        name: getattr(now.file, name) for name in tables
    }
