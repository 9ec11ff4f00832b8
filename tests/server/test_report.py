"""The html report: its content, that it needs no other file, and that names are escaped."""

from __future__ import annotations

import os
import re
import sqlite3
import subprocess
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
import trio

from getstep_server.config.contest import Contest, database_path
from getstep_server.records.decision import Decision, record_of_decision
from getstep_server.records.reasons import DecisionKind
from getstep_server.records.record import RecordError
from getstep_server.reports import report
from getstep_server.reports.report import CROSSTABLE_TEAMS, as_html, load_report_data
from getstep_server.storage.store import Store
from getstep_server.storage.verify import verify
from getstep_server.tournament.crosstable import Crosstable
from tests.support.command import Command
from tests.support.contests import token_of
from tests.support.html_page import Page
from tests.support.patience import PATIENCE_SECONDS
from tests.support.played_contests import Scene, clumsy, play_scenes, scenes_of_decisions
from tests.support.random_results import HOSTILE_NAMES, each_format, make_up
from tests.support.tampering import Forged

NAMES = [f"Team {letter}" for letter in "ABCDEFGHI"]
EVENTS = ("hop", "paths", "chain_reaction", "pseudo_tonga", "linkage")


# --- reading a page -----------------------------------------------------------------------------------------------


def html_of(contest: Contest) -> str:
    with Store(contest.database) as store:
        return as_html(load_report_data(contest, store))


@pytest.fixture(scope="module")
def contest(tmp_path_factory: pytest.TempPathFactory) -> Contest:
    """Five events, in every format, with every scoring, played to their ends."""
    return make_up(tmp_path_factory.mktemp("played") / "all", each_format(), NAMES)


@pytest.fixture(scope="module")
def text(contest: Contest) -> str:
    return html_of(contest)


@pytest.fixture(scope="module")
def page(text: str) -> Page:
    return Page(text)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Names with markup, also of the contest and its events."""
    events = [{**event, "name": f"<h1>{event['game']}</h1>{{{{ page }}}}"} for event in each_format()]
    folder = tmp_path_factory.mktemp("hostile") / "all"
    return html_of(make_up(folder, events, HOSTILE_NAMES, contest="</title><script>1</script>"))


# --- a page of its own --------------------------------------------------------------------------------------------


def assert_it_needs_nothing(text: str) -> None:
    everything = Page(text).root.all()
    assert not {"script", "link", "img", "iframe", "object", "embed", "base"} & {one.tag for one in everything}
    for element in everything:
        for name, value in element.attributes.items():
            assert not name.startswith("on")
            assert name not in ("src", "srcset", "data", "action", "xmlns")
            assert name != "href" or value.startswith("#")
            assert name in ("title", "aria-label") or not re.search(r"(?i)https?:|url\(|javascript:", value)
    (style,) = [one.text for one in everything if one.tag == "style"]
    assert not re.search(r"(?i)url\(|@import|expression|https?:|</", style)


def test_it_needs_no_other_file_and_no_script(text: str, hostile: str) -> None:
    assert_it_needs_nothing(text)
    assert_it_needs_nothing(hostile)


def test_every_referenced_id_exists_once(page: Page) -> None:
    everything = page.root.all()
    ids = Counter(one.attributes["id"] for one in everything if "id" in one.attributes)
    assert set(ids.values()) == {1}
    wanted = {one.attributes["href"][1:] for one in everything if "href" in one.attributes}
    wanted |= {one.attributes["aria-labelledby"] for one in everything if "aria-labelledby" in one.attributes}
    assert wanted <= ids.keys()
    assert {f"event-{n}" for n in range(1, 6)} | {"combined", "incidents"} <= wanted


def test_it_has_landmarks_and_headings_in_order(page: Page) -> None:
    assert [len(page.root.all(tag)) for tag in ("header", "nav", "main", "h1")] == [1, 1, 1, 1]
    levels = [int(one.tag[1]) for one in page.root.all("h1", "h2", "h3", "h4")]
    assert levels[0] == 1
    assert all(lower <= upper + 1 for upper, lower in pairwise(levels))
    (root,) = page.root.all("html")
    assert root.attributes["lang"] == "en"


def test_table_headings_have_scopes(page: Page) -> None:
    for table in page.root.all("table"):
        heads = [one for head in table.all("thead") for one in head.all("th")]
        assert {one.attributes["scope"] for one in heads} == {"col"}
        (body,) = table.all("tbody")
        for row in body.all("tr"):
            assert [one.attributes["scope"] for one in row.all("th")] == ["row"]
            assert len(row.all("th", "td")) == len(heads)


def test_plots_have_labels(page: Page) -> None:
    labels = [one.attributes["aria-label"] for one in page.root.all("svg")]
    assert labels[:2] == ["Hop: ratings", "Hop: ratings over time"]
    assert all(one.attributes["role"] == "img" for one in page.root.all("svg"))


def test_every_colour_is_defined_for_light_and_dark(text: str) -> None:
    used = set(re.findall(r"var\((--[\w-]+)\)", text)) - {"--letters"}
    palettes = re.findall(r":root \{(.*?)\}", text, re.DOTALL)
    assert [set(re.findall(r"(--[\w-]+):", palette)) for palette in palettes] == [used, used]
    svg = "".join(re.findall(r"<svg.*?</svg>", text, re.DOTALL))
    assert not re.search(r"#[0-9a-f]{6}|rgb\(", svg)


# --- text from outside --------------------------------------------------------------------------------------------


def test_names_are_escaped(hostile: str) -> None:
    page = Page(hostile)
    assert not {"script", "b", "i", "raw"} & {one.tag for one in page.root.all()}
    (head,) = page.root.all("head")
    (title,) = head.all("title")
    assert title.text == page.root.all("h1")[0].text == "</title><script>1</script>"
    assert {row[1] for row in page.table("event-1-standings").cells()} == set(HOSTILE_NAMES)
    assert page.root.all("h2")[1].text == "<h1>hop</h1>{{ page }}"
    shown = {one.text for one in page.section("event-1").all("text")}
    assert {name for name in HOSTILE_NAMES if len(name) < 20} <= shown
    assert any(re.fullmatch("a{10,}…a{5,}", name) for name in shown)
    assert {one.text for one in page.section("event-1").all("title")} == set(HOSTILE_NAMES)


def test_text_in_records_is_escaped(contest: Contest, tmp_path: Path) -> None:
    evil = "<b>\x1b[2J\u202egnp.exe\u2028"
    forged = Forged(database_path(contest.folder), tmp_path / "contest.db")
    forged.head(forged.place(1), lambda fields: fields.update(reason=evil))
    forged.sql("UPDATE incidents SET code = ?", evil)
    forged.close()
    with Store(forged.path) as store:
        text = as_html(load_report_data(contest, store))
    page = Page(text)
    assert "<b>\\u001b[2J\\u202egnp.exe\\u2028" in {row[0] for row in page.table("event-1-endings").cells()}
    assert not page.root.all("b")
    assert not re.search("[\x00-\x09\x0b-\x1f\u2028\u202e]", text)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"incidents": [{"team": 1}]}, "incidents"),
        ({"reason": ["finished"]}, "reason"),
        ({"seconds": "1"}, "seconds"),
        ({"started": "yesterday"}, "started"),
        ({"seconds": 1e308}, "seconds"),
        ({"started": "9999-12-31T23:59:59.999Z"}, "started"),
    ],
)
def test_a_damaged_record_is_named(
    contest: Contest, tmp_path: Path, change: dict[str, object], complaint: str
) -> None:
    forged = Forged(database_path(contest.folder), tmp_path / "contest.db")
    forged.head(forged.place(1), lambda fields: fields.update(change))
    forged.close()
    with Store(forged.path) as store, pytest.raises(RecordError, match=complaint):
        load_report_data(contest, store)


def test_no_secret_is_in_it(text: str, contest: Contest) -> None:
    assert not [team for team in contest.teams if token_of(team) in text]
    assert "10.0.0." not in text


# --- content ------------------------------------------------------------------------------------------------------


def test_the_hash_of_the_chain_and_the_counts_are_shown(page: Page, contest: Contest) -> None:
    with Store(contest.database) as store:
        length, head = store.chain()
        done = load_report_data(contest, store).tournament.done
    facts = dict(
        zip((one.text for one in page.root.all("dt")), (one.text for one in page.root.all("dd")), strict=True)
    )
    assert facts["Hash of the last record"] == head
    assert facts["Records"] == str(length)
    assert facts["Matches"] == f"{done} played of {done} paired"
    assert facts["Played"].startswith("2023-11-14 22:13 to 2023-11-14 22:")


def test_void_and_overruled_attempts_are_counted_apart(tmp_path: Path) -> None:
    """Three attempts were aborted. The played ones are replaced, and then annulled with all matches of a team."""
    contest = play_scenes(tmp_path / "decided", "hop", scenes_of_decisions, teams=3)
    with Store(contest.database) as store:
        seen, verified = load_report_data(contest, store), verify(contest, store)
    text = as_html(seen)
    assert (verified.void, verified.overruled) == (3, 3)
    assert "<dt>Void attempts</dt><dd>3: " in text
    assert "<dt>Overruled attempts</dt><dd>3: " in text
    assert (verified.played, verified.cancelled, verified.annulled) == (2, 1, 3)


def test_the_crosstable_of_a_ladder_has_percentages_not_points(tmp_path: Path) -> None:
    ladder = play_scenes(tmp_path / "ladder", "linkage", lambda _: [Scene(1, clumsy, clumsy)], ladder=True)
    with Store(ladder.database) as store:
        text = as_html(load_report_data(ladder, store))
    assert "Percentage of matches won by the row's team against the column's team." in text
    assert "Points of the team" not in text


def test_the_standings_are_those_of_the_tournament(page: Page, contest: Contest) -> None:
    with Store(contest.database) as store:
        tables = load_report_data(contest, store).tournament.tables()
    for event in contest.events:
        rows = page.table(f"event-{event.number}-standings").cells()
        expected = [[str(row.rank), contest.team_name(row.team)] for row in tables.events[event.number]]
        assert [row[:2] for row in rows] == expected
    combined = page.table("combined")
    assert [row[1] for row in combined.cells()] == [contest.team_name(row.team) for row in tables.combined]
    assert [one.text for one in combined.all("th")][2:7] == [event.heading for event in contest.events]


def test_every_tie_break_has_a_column(page: Page, contest: Contest) -> None:
    headings = {
        event.name: {one.text for one in page.table(f"event-{event.number}-standings").all("th")}
        for event in contest.events
    }
    assert all({"won", "diff", "DE"} <= found for found in headings.values())
    assert "Buchholz" in headings["paths"]
    assert "place" in headings["chain_reaction"]
    assert {"%", "% More", "% Fewer"} <= headings["linkage"]


def test_the_crosstable_has_points_colours_and_matches(page: Page, contest: Contest) -> None:
    event = contest.events[0]
    with Store(contest.database) as store:
        tournament = load_report_data(contest, store).tournament
    rows = tournament.table(event)
    table = Crosstable(event, rows, tournament.results)
    (body,) = page.table("event-1-crosstable").all("tbody")
    for one, shown in zip(rows, body.all("tr"), strict=True):
        for other, square in zip(rows, shown.all("td")[1:], strict=True):
            if one is other:
                assert square.attributes == {"class": "own"}
                continue
            points, theirs = table.points(one.team, other.team), table.points(other.team, one.team)
            assert points is not None and theirs is not None  # noqa: PT018 - for mypy: neither is None below
            assert float(square.text) == points
            kind = {True: "win", False: "loss", None: "draw"}[None if points == theirs else points > theirs]
            assert square.attributes["class"] == kind
            legs, numbers = table.legs(one.team, other.team), table.numbers(one.team, other.team)
            hint = ", ".join(f"{leg} in match {number}" for leg, number in zip(legs, numbers, strict=True))
            assert square.attributes["title"].endswith(f": {hint}")


def test_the_ratings_are_in_order_and_drawn(page: Page) -> None:
    table = page.table("event-1-ratings").cells()
    elos = [int(row[3]) for row in table]
    assert elos == sorted(elos, reverse=True)
    assert {row[1] for row in table} == set(NAMES)
    assert {row[6] for row in table if re.fullmatch("[5-8][0-9] %", row[5])} == {"not separable"}
    assert {row[6] for row in table if re.fullmatch("> 99 %|9[6-9] %|", row[5])} == {""}
    ratings, course = page.section("event-1").all("svg")
    names = [one.text for one in ratings.all("text") if one.text.startswith("Team")]
    assert names == [row[1] for row in table]
    assert [one.text for one in course.all("text") if one.text.startswith("Team")] == names
    shown = [one.text for one in ratings.all("text") if one.text.endswith(" %")]
    assert shown == [row[5] for row in table[:-1]]


def test_how_matches_ended_adds_up(page: Page, contest: Contest) -> None:
    with Store(contest.database) as store:
        results = load_report_data(contest, store).tournament.results
    for event in contest.events:
        expected = Counter(result.reason for result in results if result.match.event == event.number)
        rows = page.table(f"event-{event.number}-endings").cells()
        assert {reason: int(count) for reason, count, _ in rows} == expected
        assert sum(float(share) for *_, share in rows) == pytest.approx(100, abs=0.3)


def test_incidents_are_counted_by_team(page: Page) -> None:
    assert page.table("incidents").cells() == [
        ["Team B", "12", "flood 12"],
        ["no team", "3", "unknown_team 3"],
    ]
    in_matches = {row[0]: row for row in page.table("event-1-faults").cells()}
    lost = {name: dict(re.findall(r"(\w+) (\d+)", row[2])) for name, row in in_matches.items()}
    for name, row in in_matches.items():
        assert int(row[3]) == 2 * int(lost[name].get("hostile", 0))


def test_decisions_are_listed_and_applied(tmp_path: Path) -> None:
    contest = make_up(tmp_path / "decided", [{"game": "hop"}], NAMES[:4])
    at, host = "2023-11-14T22:30:00.000Z", "<i>Grace</i>"
    for decision in (
        Decision(DecisionKind.DISQUALIFY, host, "two bots & one team", at, team=3),
        Decision(DecisionKind.ADJUDICATE, host, "the <b>cable</b>", at, match=1, winner=None),
    ):
        with Store(contest.database) as store:
            trio.run(store.save, record_of_decision(contest, decision))
    page = Page(html_of(contest))
    with Store(contest.database) as store:
        first, second = map(contest.team_name, load_report_data(contest, store).tournament.matches[1].teams)
    assert page.table("decisions").cells() == [
        ["2023-11-14 22:30", "Team C is disqualified", "two bots & one team", host],
        ["2023-11-14 22:30", f"match 1 ({first} – {second}) is a draw", "the <b>cable</b>", host],
    ]
    assert page.table("event-1-standings").cells()[-1][1:3] == ["Team C (disqualified)", "0"]
    assert {row[1] for row in page.table("event-1-ratings").cells() if row[3]} == {"Team A", "Team B", "Team D"}
    (body,) = page.table("event-1-crosstable").all("tbody")
    assert {one.attributes["class"] for one in body.all("tr")[-1].all("td")[1:]} == {"none", "own"}


# --- other contests -----------------------------------------------------------------------------------------------


def test_it_can_be_made_while_a_server_stores_a_record(small: Contest) -> None:
    before = html_of(small)
    server = sqlite3.connect(database_path(small.folder), isolation_level=None)
    server.execute("BEGIN IMMEDIATE")
    server.execute("DELETE FROM records")
    assert html_of(small) == before
    server.close()


def test_a_contest_without_matches_has_a_page(tmp_path: Path) -> None:
    page = Page(html_of(make_up(tmp_path / "new", [{"game": "hop"}], NAMES, most=0)))
    assert len(page.table("event-1-standings").cells()) == len(NAMES)
    assert not page.has("event-1-crosstable")
    assert not page.root.all("svg")
    assert not page.root.all("nav")


@pytest.mark.parametrize("most", [1, 2, 5, 20])
def test_a_running_contest_has_a_page(tmp_path: Path, most: int) -> None:
    text = html_of(make_up(tmp_path / "begun", each_format(), NAMES, most=most))
    assert_it_needs_nothing(text)
    assert Page(text).section("event-1").all("svg")


def test_two_that_never_played_are_not_compared(tmp_path: Path) -> None:
    event = {"game": "hop", "format": "knockout", "settings": {"best_of": 1}}
    page = Page(html_of(make_up(tmp_path / "apart", [event], NAMES[:8], most=4, seed=4)))
    assert "" in [row[5] for row in page.table("event-1-ratings").cells()][:-1]
    assert len(page.section("event-1").all("svg")) == 1
    assert "Not comparable: no chain" in page.section("event-1").text


def test_many_teams_have_no_crosstable_and_their_plot_shows_the_best(tmp_path: Path) -> None:
    names = [f"Team {n}" for n in range(CROSSTABLE_TEAMS + 1)]
    page = Page(html_of(make_up(tmp_path / "many", [{"game": "hop"}], names, most=400)))
    assert not page.root.all("table")[1].attributes
    assert f"of {CROSSTABLE_TEAMS + 1} teams (more than {CROSSTABLE_TEAMS})" in page.section("event-1").text
    ratings, course = page.section("event-1").all("svg")
    assert len([one for one in ratings.all("text") if one.text.startswith("Team")]) == len(names)
    assert len([one for one in course.all("text") if one.text.startswith("Team")]) == report.PLOTTED_TEAMS


@pytest.mark.long
def test_forty_teams_make_a_page_of_reasonable_size(tmp_path: Path) -> None:
    contest = make_up(tmp_path / "forty", [{"game": "hop"}], [f"Team {n}" for n in range(40)])
    text = html_of(contest)
    assert len(text.encode()) < 1_000_000
    assert "1560 played of 1560" in text


def test_progress_is_reported(contest: Contest) -> None:
    said: list[tuple[int, int]] = []
    with Store(contest.database) as store:
        as_html(load_report_data(contest, store), lambda done, total: said.append((done, total)))
    assert said == sorted(said)
    assert {total for _, total in said} == {said[-1][0]}
    assert len(said) > 100


# --- the same bytes -----------------------------------------------------------------------------------------------


def test_the_same_records_make_the_same_bytes(text: str, contest: Contest, tmp_path: Path) -> None:
    """Also in another process and another time zone."""
    out = tmp_path / "report.html"
    program = [sys.executable, "-W", "error", "-m", "getstep_server"]
    run = [*program, "report", str(contest.folder), "--output", str(out), "--no-replays"]
    outside = {**os.environ, "PYTHONHASHSEED": "7", "TZ": "Asia/Tokyo"}
    done = subprocess.run(run, env=outside, capture_output=True, text=True, check=True, timeout=PATIENCE_SECONDS)
    assert done.stderr == ""
    assert out.read_text(encoding="utf-8") == text


# --- the command --------------------------------------------------------------------------------------------------


@pytest.fixture
def small(tmp_path: Path) -> Contest:
    return make_up(tmp_path / "small", [{"game": "hop"}], NAMES[:3])


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    monkeypatch.chdir(tmp_path)
    return Command(capsys)


def test_the_command_writes_into_the_folder(command: Command, small: Contest) -> None:
    ran = command("report", "small", "--no-replays")
    path = Path("small", "report.html")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith(str(path))
    assert path.read_text(encoding="utf-8") == html_of(small)
    assert {file.name for file in Path("small").iterdir() if file.name.startswith("report")} == {"report.html"}


def test_the_command_writes_elsewhere_and_over_an_old_one(command: Command, small: Contest) -> None:
    Path("page.html").write_text("old")
    assert command("report", "small", "--output", "page.html", "--no-replays").code == 0
    assert Path("page.html").read_text(encoding="utf-8") == html_of(small)


@pytest.mark.parametrize(
    ("where", "why"),
    [
        ("nowhere/page.html", "No such file or directory; write it somewhere else with --output"),
        ("small", "a folder or a device, expected the name of a file"),
    ],
)
def test_a_place_that_cannot_be_written(command: Command, small: Contest, where: str, why: str) -> None:
    assert command.complaint("report", "small", "--output", where) == f"{where}: {why}"


def test_a_report_that_could_not_be_written_leaves_the_old_one(
    command: Command, small: Contest, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("page.html").write_text("old")

    def full(self: Path, *_: object, **__: object) -> int:
        self.touch()
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    assert command.complaint("report", "small", "--output", "page.html", "--no-replays") == (
        "page.html: No space left on device; write it somewhere else with --output"
    )
    assert Path("page.html").read_text() == "old"
    assert not Path("page.html.new").exists()


def test_help_and_a_contest_without_records(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    ran = command("report", "--help")
    assert max(map(len, ran.out.splitlines())) < 81
    command("init", "autumn")
    ran = command("report", "autumn")
    assert (ran.code, ran.out) == (1, "")
    assert "nothing has been played yet" in ran.err
