"""Transcripts and exports: they agree with the records, and their text cannot harm a reader."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from getstep_engines import GAMES
from getstep_server.config.contest import Contest, database_path
from getstep_server.reports.export import GAME_COLUMNS, WRITERS
from getstep_server.reports.notation import move_list, move_text, score_text, turn_text
from getstep_server.storage.store import Store
from tests.support.command import Command
from tests.support.played_contests import (
    INCREMENT,
    NAMES,
    Scene,
    clumsy,
    play_scenes,
    scenes_of_decisions,
    scenes_of_increments,
    silent,
)
from tests.support.tampering import Forged

HOP = GAMES["hop"]
RECORDS_MD = Path(__file__).parents[2] / "docs" / "records.md"


@pytest.fixture
def contest(hop_contest: Contest) -> Contest:
    return hop_contest


@pytest.fixture(scope="module", params=GAMES)
def each(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Contest:
    """Two matches between two teams, in every game."""
    folder = tmp_path_factory.mktemp("each") / request.param
    return play_scenes(folder, request.param, lambda _: [Scene(1), Scene(2)])


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(capsys)


def records(contest: Contest) -> list[dict[str, Any]]:
    with Store(contest.database) as store:
        return [json.loads(line) for line in store.lines()]


def games(contest: Contest) -> list[dict[str, Any]]:
    return [record for record in records(contest) if record["type"] == "game"]


def out(command: Command, *arguments: object) -> str:
    ran = command(*map(str, arguments))
    assert (ran.code, ran.err) == (0, "")
    return ran.out


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


# --- notation -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("game", "move", "text"),
    [
        ("longest_path", [3, 4], "3,4"),
        ("hop", [[2, 2], [2, 4], [4, 4]], "2,2-2,4-4,4"),
        ("linkage", ["R", [0, 0], [1, 0]], "RA1A2"),
        ("linkage", ["Y", [6, 5], [6, 6]], "YF7G7"),
        ("hop", {"to": "e4\u202e"}, '{"to":"e4\\u202e"}'),
        ("linkage", {"to": "e4\u202e"}, '{"to":"e4\\u202e"}'),
        ("hop", [True, 1], "[true,1]"),
        ("hop", [], "[]"),
        ("linkage", ["R", [0, 0]], '["R",[0,0]]'),
        ("linkage", ["R", [0, 7], [0, 8]], '["R",[0,7],[0,8]]'),
        ("linkage", ["R", [0, "1"], [0, 2]], '["R",[0,"1"],[0,2]]'),
        ("linkage", 5, "5"),
    ],
)
def test_a_move_as_text(game: str, move: object, text: str) -> None:
    assert move_text(move, GAMES[game]) == text


def test_a_turn_as_text() -> None:
    assert turn_text({"player": 0, "move": [3, 4]}, HOP) == "3,4"
    assert turn_text({"player": 0, "pass": True}, HOP) == "Skip"
    assert turn_text({"player": 0, "fault": "missed_limit", "detail": "x"}, HOP) == "(missed_limit)"
    assert turn_text({"player": 0, "end": "resigned", "detail": "x"}, HOP) == "(resigned)"


def test_a_move_list_has_both_players_side_by_side() -> None:
    turns = [{"player": player, "move": [player, player]} for player in (0, 1, 0, 0, 1, 1, 0)]
    assert [line.split() for line in move_list(turns, HOP)] == [
        ["1.", "0,0", "1,1"],
        ["2.", "0,0", "..."],
        ["3.", "0,0", "1,1"],
        ["4.", "...", "1,1"],
        ["5.", "0,0"],
    ]


def test_a_score_as_text() -> None:
    assert (score_text([1, 1, 0, 1]), score_text(7)) == ("1-1-0-1", "7")


# --- games ----------------------------------------------------------------------------------------------------


def test_games_as_json_lines_are_the_records_untouched(command: Command, contest: Contest) -> None:
    with Store(contest.database) as store:
        lines = b"".join(line + b"\n" for line in store.lines())
    assert out(command, "export", contest.folder, "--matches").encode() == lines


def test_an_export_to_a_file_is_the_same(command: Command, contest: Contest, tmp_path: Path) -> None:
    for form in WRITERS:
        for what in ("--matches", "--standings", "--crosstable", "--ratings"):
            if form == ("markdown" if what == "--matches" else "headed"):
                continue
            arguments = ("export", contest.folder, what, "--format", form)
            assert out(command, *arguments, "--output", tmp_path / "out") == ""
            assert (tmp_path / "out").read_bytes() == out(command, *arguments).encode()


def test_games_cannot_be_exported_as_markdown(command: Command, contest: Contest) -> None:
    complaint = command.complaint("export", str(contest.folder), "--matches", "--format", "markdown")
    assert complaint == "--format markdown with --matches, expected jsonl, csv or text"


def test_a_file_that_cannot_be_written(command: Command, contest: Contest, tmp_path: Path) -> None:
    path = tmp_path / "nowhere" / "out"
    complaint = command.complaint("export", str(contest.folder), "--matches", "--output", str(path))
    assert complaint == f"{path}: No such file or directory"


def test_games_as_csv_say_what_the_records_say(command: Command, contest: Contest) -> None:
    table = rows(out(command, "export", contest.folder, "--matches", "--format", "csv"))
    for row, game in zip(table, games(contest), strict=True):
        for name in ("place", "match", "attempt", "turns_played", "seconds", "reason", "started", "game"):
            assert row[name] == str(game[name]), name
        assert row["winner"] == ("" if game["winner"] is None else str(game["winner"]))
        assert [float(row["first_thought_ms"]), float(row["second_thought_ms"])] == game["thought_ms"]
        assert int(row["second_team"]) == game["teams"][1]["id"]
        assert row["counts"] == str(int(game["reason"] != "server_fault"))
    assert sum(int(row["incidents"]) for row in table) == 3
    assert sum(int(row["resumed"]) for row in table) == 1


def test_csv_and_text_name_the_increment(command: Command, contest: Contest, tmp_path: Path) -> None:
    played = play_scenes(tmp_path / "increments", "hop", scenes_of_increments, limit=INCREMENT)
    times = {played.folder: ("budget", "1000.0", "500.0"), contest.folder: ("move", "5000.0", "")}
    for folder, time in times.items():
        for row in rows(out(command, "export", folder, "--matches", "--format", "csv")):
            assert (row["time_kind"], row["time_ms"], row["increment_ms"]) == time
    text = out(command, "export", played.folder, "--matches", "--format", "text")
    assert text.count("\nlimit     1 s a game + 0.5 s a move, and 100 ms for lag\n") == 2


def test_the_standings_can_be_computed_from_the_csv(command: Command, tmp_path: Path) -> None:
    """In a contest with every kind of decision about a match."""
    scenes = lambda clock: scenes_of_decisions(clock)[:-1]  # noqa: E731 - the last one annuls them
    decided = play_scenes(tmp_path / "decided", "hop", scenes, teams=3)
    table = rows(out(command, "export", decided.folder, "--matches", "--format", "csv"))
    played = Counter[str]()
    points = Counter[str]()
    for row in table:
        if row["counts"] == "1":
            teams = (row["first_team"], row["second_team"])
            played.update(teams)
            for player, team in enumerate(teams):
                points[team] += {"": 1, str(player): 2}.get(row["winner"], 0)
    expected = [json.loads(line) for line in out(command, "export", decided.folder, "--standings").splitlines()]
    assert [(played[str(row["team"])], points[str(row["team"])]) for row in expected] == [
        (row["played"], row["points"]) for row in expected
    ]
    assert decisions_in(table) == {
        ("1", "1", "0"): "adjudicated",
        ("1", "", "1"): "adjudicated",
        ("3", "1", "0"): "replayed",
        ("4", "", "1"): "adjudicated",
    }


def decisions_in(table: list[dict[str, str]]) -> dict[tuple[str, str, str], str]:
    return {(row["match"], row["attempt"], row["counts"]): row["decision"] for row in table if row["decision"]}


def test_a_game_that_was_annulled(command: Command, tmp_path: Path) -> None:
    decided = play_scenes(tmp_path / "decided", "hop", scenes_of_decisions, teams=3)
    table = rows(out(command, "export", decided.folder, "--matches", "--format", "csv"))
    assert decisions_in(table) == dict.fromkeys([("1", "1", "0"), ("3", "1", "0"), ("3", "2", "0")], "annulled")


def test_results_of_a_lost_round_have_rows(command: Command, tmp_path: Path) -> None:
    """The second player of match 1 has missed a limit there, and won match 2 before."""
    scenes = [Scene(2, clumsy, clumsy), Scene(1, clumsy, silent)]
    lost = play_scenes(tmp_path / "lost", "linkage", lambda _: scenes, teams=3, ladder=True)
    table = rows(out(command, "export", lost.folder, "--matches", "--format", "csv"))
    assert [row["reason"] for row in table[:2]] == ["finished", "missed_limit"]
    loser = table[1]["second_team"]
    decided = {row["match"]: row for row in table if row["decision"] == "round_lost" and row["counts"] == "1"}
    assert len(decided) >= 2
    for row in decided.values():
        assert loser in (row["first_team"], row["second_team"])
        assert row[("first_team", "second_team")[int(row["winner"])]] != loser
        assert row["detail"] == f"team {loser} missed a limit in this round, and loses all games of it"
        assert (row["place"], row["attempt"], row["turns_played"]) == ("", "", "")
    text = out(command, "export", lost.folder, "--matches", "--format", "text")
    won = table[0][("first_team", "second_team")[int(table[0]["winner"])]] == loser
    assert (table[0]["decision"] == "round_lost") == won == ("\ncorrected round_lost: team " in text)
    assert won


def test_no_cell_is_a_formula(command: Command, contest: Contest) -> None:
    """A team is called =1+1."""
    for what in ("--matches", "--standings", "--crosstable", "--ratings"):
        text = out(command, "export", contest.folder, what, "--format", "csv")
        cells = [cell for row in csv.reader(io.StringIO(text)) for cell in row]
        assert "'=1+1" in cells
        assert [cell for cell in cells if cell[:1] in tuple("=+@\t\r") and cell] == []
        negative = [cell for cell in cells if cell.startswith("-")]
        assert all(re.fullmatch(r"-\d+(\.\d+)?", cell) for cell in negative)  # numbers stay numbers
        assert set(NAMES) - {"=1+1"} <= set(cells)


def test_the_columns_are_in_the_manual() -> None:
    section = RECORDS_MD.read_text(encoding="utf-8").partition("**CSV.**")[2].partition("The crosstable has")[0]
    cells = [line.split("|")[1] for line in section.splitlines() if line.startswith("|")]
    named = [name for cell in cells for name in re.findall(r"`(\w+)`", cell)]
    assert sorted(named) == sorted(GAME_COLUMNS)


def test_games_as_text_can_be_played_again(command: Command, each: Contest) -> None:
    text = out(command, "export", each.folder, "--matches", "--format", "text")
    listed = [part for part in text.split("\n\n") if re.match(r" +1\. ", part)]
    played = games(each)
    assert len(listed) == len(played) == 2
    for lines, game in zip(listed, played, strict=True):
        turns = [word for line in lines.splitlines() for word in line.split()[1:]]
        assert len(turns) == len(game["turns"])
        state = GAMES[game["game"]].start(**game["options"])
        for word in turns:
            if word != "Skip":
                state.play(read(word))
        assert state.outcome is not None
        assert state.outcome.winner == game["winner"]


def read(text: str) -> Any:
    """Return the move that a text is the notation of."""
    if text[0] in "RBGY":
        return [text[0], *([int(text[n + 1]) - 1, ord(text[n]) - ord("A")] for n in (1, 3))]
    squares = [[int(part) for part in square.split(",")] for square in text.split("-")]
    return squares[0] if len(squares) == 1 else squares


def test_games_as_text_begin_with_their_facts(command: Command, contest: Contest) -> None:
    text = out(command, "export", contest.folder, "--matches", "--format", "text")
    parts = text.split("\n\n\n")
    assert parts[0].split("\n")[:2] == ["contest   Test contest", "match     1, attempt 1"]
    assert "\nround     1, pairing 1, leg 1\ngame      Hop\nfirst     " in parts[0]
    assert "second    =1+1 (team 2), White\nlimit     5 s a move, and 100 ms for lag\n" in text
    assert "result    void: this attempt does not count\nbecause   server_fault: " in text
    assert "result    nobody came\n" in text
    assert re.search(r"\n +2\. \(illegal_move\) +\d,\d-", text)
    assert re.search(r"\n +5\. \(resigned\)\n", text)
    assert " Skip\n" in text


# --- standings and crosstable ---------------------------------------------------------------------------------


def test_standings_are_the_same_in_every_form(command: Command, contest: Contest) -> None:
    export = ("export", contest.folder, "--standings", "--format")
    objects = [json.loads(line) for line in out(command, *export, "jsonl").splitlines()]
    table = rows(out(command, *export, "csv"))
    assert [row["team"] for row in objects] == [2, 3, 1, 4]
    cells = [{name: "" if value is None else str(value) for name, value in row.items()} for row in objects]
    assert cells == [{**row, "name": row["name"].removeprefix("'")} for row in table]
    shown = out(command, "standings", contest.folder)
    text = out(command, *export, "text").splitlines()
    assert [line.split() for line in shown.splitlines()[1:]] == [line.split() for line in text]


def test_the_crosstable_has_the_results_of_every_match(command: Command, contest: Contest) -> None:
    export = ("export", contest.folder, "--crosstable", "--format")
    objects = [json.loads(line) for line in out(command, *export, "jsonl").splitlines()]
    assert [row["team"] for row in objects] == [2, 3, 1, 4]
    for row in objects:
        assert sum(one["points"] for one in row["against"]) == row["points"]
        assert [len(one["legs"]) for one in row["against"]] == [2, 2, 2]
    table = list(csv.reader(io.StringIO(out(command, *export, "csv"))))
    assert table[0] == ["rank", "team", "name", "'=1+1", "Charles, and Co.", "Ada", "Дороти", "points"]
    assert [row[3 + n] for n, row in enumerate(table[1:])] == [""] * 4  # nobody plays itself
    assert [float(cell or 0) for cell in table[1][3:7]] == [0.0, *(one["points"] for one in objects[0]["against"])]
    letters = {"win": "W", "draw": "D", "loss": "L"}
    *lines, note = out(command, *export, "text").splitlines()[1:]
    assert note == "Cells: a letter for each match: W won, D drawn, L lost; . not played."
    for number, (line, row) in enumerate(zip(lines, objects, strict=True)):
        expected = ["".join(letters[leg] for leg in one["legs"]) for one in row["against"]]
        expected.insert(number, "×")
        assert line.split()[-5:-1] == expected


def test_the_crosstable_of_a_contest_that_is_not_over(command: Command, tmp_path: Path) -> None:
    begun = play_scenes(tmp_path / "begun", "pseudo_tonga", lambda _: [Scene(1)], teams=3)
    objects = [json.loads(line) for line in out(command, "export", begun.folder, "--crosstable").splitlines()]
    assert sorted(len(row["against"]) for row in objects) == [0, 1, 1]
    assert sum(row["points"] for row in objects) == pytest.approx(0.0)
    text = out(command, "export", begun.folder, "--crosstable", "--format", "text")
    assert sorted(re.findall(r"\b[WL]\b", text.partition("Cells:")[0])) == ["L", "W"]


# --- records that are none ------------------------------------------------------------------------------------


@pytest.fixture
def broken(tmp_path: Path) -> Contest:
    """A contest whose first record has a turn that is not valid."""
    played = play_scenes(tmp_path / "played", "linkage", lambda _: [Scene(1), Scene(2)])
    forged = Forged(database_path(played.folder), tmp_path / "forged.db")
    forged.turns(1, lambda turns: turns.pop(4)).head(4, lambda head: head.pop("teams")).reseal().close()
    (tmp_path / "forged.db").replace(database_path(played.folder))
    return played


@pytest.mark.parametrize("form", ["csv", "text"])
def test_an_invalid_record_ends_an_export(command: Command, broken: Contest, form: str) -> None:
    ran = command("export", str(broken.folder), "--matches", "--format", form)
    assert ran.code == 1
    assert "getstep-server: " in ran.err
