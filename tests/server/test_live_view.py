"""The live view of `run` on a terminal."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

import pytest
from msgspec.structs import replace
from msgspec.structs import replace as replace_fields
from rich.cells import cell_len
from rich.console import Console

from getstep_server.config.event import Scoring
from getstep_server.events import (
    Announced,
    AnnouncedAsAnother,
    ContestStarted,
    Event,
    IncidentsSummed,
    Listening,
    MatchEnded,
    MatchStarted,
    NotAnnounced,
    PlayerAskedAgain,
    PlayerStalled,
    ServerFault,
    TeamArrived,
    TeamLeft,
    Throttled,
    TurnFaulted,
)
from getstep_server.records.match import Match
from getstep_server.reports.event_lines import NAME_CELLS, EventLines
from getstep_server.reports.progress_state import ProgressState
from getstep_server.reports.tables import standings_table
from getstep_server.reports.text_table import truncate_middle
from getstep_server.runtime.live_tables import LiveTables
from getstep_server.text import fold
from getstep_server.tournament.combined import Tables
from getstep_server.tournament.standings import standings
from tests.support.contests import make_contest
from tests.support.golden import assert_golden
from tests.support.progress import ADA, FIRST, HOSTILE, LONG, THREE, LiveView, ToScreen, ended, result_of
from tests.support.terminal import Screen
from tests.support.tournament_host import Host

pytestmark = pytest.mark.usefixtures("on_a_lan")


def test_the_live_view() -> None:
    view = LiveView(THREE)
    screens: list[str] = []

    def see(condition: str) -> None:
        text = view.until(lambda text: condition in text)
        screens.append(re.sub(r"about \d+ s left, expected end .*", "about 6 s left, expected end TIME", text))

    view.progress.say("before")
    with view.progress.shown():
        for event in (Listening("0.0.0.0", 7777, None, stamped=True), ADA, Throttled(ADA, 1), ContestStarted(0, 6)):
            view.progress(event)
        view.progress(MatchStarted(FIRST))
        see("#1")
        view.progress(PlayerStalled(FIRST, 1))
        see("stalled")
        view.progress(PlayerAskedAgain(FIRST, 1, 17))
        view.until(lambda text: "stalled" not in text)
        view.progress(PlayerStalled(FIRST, 1))
        view.progress(ended(THREE, result_of(THREE)))
        see("1/6 matches")
    view.progress.say("after")
    screens.append(view.screen.text)
    assert_golden("live-view", f"\n{'=' * 80}\n".join(screens))
    assert view.screen.cursor_shown
    assert view.screen.unknown == []


def shows(part: str, text: str) -> bool:
    return part in text


def test_names_that_are_wider_than_counted_leave_no_rows_behind(tmp_path: Path) -> None:
    """The screen shows each emoji for itself, in 8 cells for a family; rich counts 2, as terminals of today do."""
    family = "👨\u200d👩\u200d👧\u200d👦"
    names = [family * n + "!" for n in range(1, 10)]
    contest = make_contest(tmp_path, names)
    view = LiveView(contest, width=60, height=24)
    tables = Tables({1: tuple(standings(range(1, 10), [result_of(contest)]))})
    view.progress.say("before")
    with view.progress.shown():
        view.progress(ContestStarted(0, 72))
        for number in range(1, 4):
            match = Match(number, 1, 1, 1, 1 + number % 9, 1 + (number + 1) % 9, "hop")
            view.progress(MatchStarted(match))
            view.progress(MatchEnded(result_of(contest, match=match), number, 72, lambda: tables))
            rows = view.until(partial(shows, f"{number}/72")).split("\n")
            assert len(rows) <= 24
            assert [row for row in rows if "/72 matches" in row] == [row for row in rows if "━" in row]
            assert [row[:6] for row in rows].count("# team") == 1
            ranks = [int(row[0]) for row in rows if row[1:3] == " 👨"]
            assert ranks == list(range(1, len(ranks) + 1))
    assert view.screen.text == "before"
    assert view.screen.unknown == []
    assert view.screen.wraps


def test_server_errors_are_printed_again_after_the_live_view() -> None:
    view = LiveView(THREE)
    with view.progress.shown():
        for count in (1, 10):
            view.progress(Throttled(ServerFault("match 3", f"KeyError: '{HOSTILE}'"), count))
        view.progress(IncidentsSummed(7, ()))
        view.until(lambda text: "(10 times)" in text)
    lines = view.screen.text.splitlines()
    assert lines[0].startswith("! server error in match 3;")
    assert r"KeyError: '\u001b[2J" in lines[1]
    assert lines[-1].startswith("! 7 refused connections")
    assert view.screen.unknown == []


def test_a_long_fault_leaves_room_for_results() -> None:
    """A bot writes the texts of its faults. Each takes two lines, and the end of the text is still there."""
    lines = EventLines(ProgressState(THREE, float), lambda: 80)
    line = lines.line(Throttled(TurnFaulted(FIRST, 1, "raised", f"ValueError: {'寿限無 ' * 90}the end", 5.0), 10))
    assert line is not None
    assert line.endswith("the end (10 times)")
    assert len(fold(line, 80)) <= 2
    whole = EventLines(ProgressState(THREE, float)).line(
        Throttled(TurnFaulted(FIRST, 1, "raised", "寿限無 " * 90, 5.0), 1)
    )
    assert (whole or "").count("寿限無") == 90


@pytest.mark.parametrize("event", [Announced("寿" * 64), NotAnnounced("x" * 300)])
def test_the_announcement_takes_one_line(event: Event) -> None:
    line = EventLines(ProgressState(THREE, float), lambda: 80).line(event)
    assert line is not None
    assert len(fold(line, 80)) == 1


def test_a_computer_that_announces_the_same_name_is_told() -> None:
    line = EventLines(ProgressState(THREE, float), lambda: 80).line(AnnouncedAsAnother("Autumn (ada)", "10.0.0.66"))
    assert line is not None
    assert line.startswith("! Another computer (10.0.0.66) announces a contest with this name.")
    assert "'Autumn (ada)'" in line


def test_a_message_that_is_cut_has_an_ellipsis() -> None:
    view = LiveView(THREE)
    with view.progress.shown():
        view.progress.say("word " * 100)
        text = view.until(lambda text: "…" in text)
    folded = next(line for line in text.splitlines() if "…" in line)
    assert folded.endswith("word…")
    assert view.screen.unknown == []


def below_heading(text: str) -> list[str]:
    """Return the lines of the table."""
    lines = text.splitlines()
    return lines[1 + next(n for n, line in enumerate(lines) if line.lstrip().startswith("#")) :]


def test_a_large_contest_in_a_small_terminal(tmp_path: Path) -> None:
    """40 teams with long names and ten matches at a time: presence, matches and the top of the table fit."""
    event = {"game": "hop", "format": "swiss", "settings": {"rounds": 5, "legs": 2}}
    contest = make_contest(tmp_path, 40, event)
    teams = {n: replace_fields(team, name=LONG[n - 1]) for n, team in contest.teams.items()}
    host = Host(replace(contest, teams=teams))
    view = LiveView(host.contest)
    progress, tournament = view.progress, host.tournament
    with progress.shown():
        for team in range(1, 38):
            progress(TeamArrived(team, "10.0.0.1", "", False))
        matches = host.issue_pairings()
        progress(ContestStarted(0, tournament.total))
        for match in matches[:12]:
            progress(MatchStarted(match, 0))
        for match in matches[:2]:
            host.play(match)
            result = tournament.results[-1]
            progress(MatchEnded(result, tournament.done, tournament.total, LiveTables(tournament)))
        text = view.until(lambda text: "[2/40]" in text and "+" in text)
    lines = text.splitlines()
    assert len(lines) < 24
    assert max(map(cell_len, lines)) <= 80
    connected = next(line for line in lines if "teams connected" in line)
    assert connected == f"37 of 40 teams connected, missing: {truncate_middle(LONG[37], NAME_CELLS)} and 2 more"
    bar = next(line for line in lines if "of about" in line)
    assert re.fullmatch(r"2 of about 200 matches  \S+  about \d+ s left, expected end (\w+ )?\d\d:\d\d", bar)
    playing = next(line for line in lines if line.startswith("playing: "))
    assert re.search(r" and \d more$", playing)
    heading = next(line for line in lines if line.startswith("#") or line.lstrip().startswith("#"))
    assert heading.split()[-3:] == ["Elo", "95", "%"]
    assert re.fullmatch(r" *1 .* \+\d+ +[+-]\d+ to \+\d+", below_heading(text)[0])
    assert re.fullmatch(r"and \d+ more teams", lines[-1])
    assert view.file.highest <= 24
    assert view.screen.unknown == []


@pytest.mark.parametrize(("width", "height"), [(80, 24), (80, 10), (40, 24), (200, 60)])
def test_the_view_never_grows_out_of_the_terminal(width: int, height: int) -> None:
    contest = make_contest(Path("test"), LONG)
    view = LiveView(contest, width=width, height=height)
    with view.progress.shown():
        view.progress(ContestStarted(0, 1560))
        for number in range(1, 21):
            view.progress(MatchStarted(result_of(contest, number).match))
            view.progress(Throttled(TeamLeft(number, "connection lost"), 1))
            results = [result_of(contest, n) for n in range(1, number + 1)]
        view.progress(ended(contest, *results, total=1560))
        text = view.until(lambda text: "[20/1560]" in text)
        assert len(text.splitlines()) <= height
    assert view.screen.text == ""
    assert view.file.highest <= height
    assert view.screen.unknown == []


def test_numbers_are_whole_and_names_are_cut_at_80_columns() -> None:
    contest = make_contest(Path("test"), LONG[:3], event={"game": "pseudo_tonga"})
    view = LiveView(contest)
    results = [result_of(contest, n, scores=(400000, 6)) for n in (1, 2)]
    with view.progress.shown():
        table = standings(list(contest.teams), results, scoring=Scoring(kind="signed_roots"))
        view.progress(MatchEnded(results[-1], 2, 6, lambda: Tables({1: tuple(table)})))
        text = view.until(lambda text: "diff" in text)
    lines = below_heading(text)
    assert all(len(line) <= 80 and "…" in line for line in lines)
    assert lines[0].split()[-6:] == ["2", "2", "0", "0", "1264.90", "+799988"]
    assert lines[2].split()[-2:] == ["-1264.90", "-799988"]


def test_a_result_of_long_names_fits_a_line_with_its_reason() -> None:
    contest = make_contest(Path("test"), LONG[:2])
    view = LiveView(contest)
    with view.progress.shown():
        view.progress(ended(contest, result_of(contest)))
        text = view.until(lambda text: "diff" in text)
    (line,) = [line for line in text.splitlines() if line.startswith("[1/6] #1 ")]
    assert line.endswith("(Black has 7 pieces home, White 5)")


def test_names_are_whole_in_the_table_that_stays() -> None:
    contest = make_contest(Path("test"), LONG[:3])
    screen = Screen(80, 24)
    console = Console(file=ToScreen(screen), force_terminal=True, width=80, _environ={})
    console.print(standings_table(contest, contest.events[0], standings(list(contest.teams), [result_of(contest)])))
    words = " ".join(screen.text.split())
    assert "…" not in words
    assert words.count("Die außerordentlich lange") == 3
    assert all(f"Mannschaft aus dem letzten Winkel {n}" in words for n in (10, 11, 12))


def test_the_table_shows_the_criteria_that_separate_teams() -> None:
    contest = make_contest(Path("test"), "ABCDEF")
    pairs = [(1, 2), (2, 3), (4, 1)]  # the first player has won: A and B are tied, but A has beaten B
    results = [result_of(contest, match=Match(n, 1, n, 1, *pair, "hop")) for n, pair in enumerate(pairs, start=1)]
    screen = Screen(80, 24)
    console = Console(file=ToScreen(screen), force_terminal=True, width=80, _environ={})
    console.print(standings_table(contest, contest.events[0], standings(contest.teams, results)))
    heading, *lines, order = screen.text.splitlines()
    assert heading.split()[-3:] == ["diff", "DE", "lot"]
    assert order == "Order: points, won, diff, direct encounter (DE), lot."
    cells = {line.split()[1]: line.split()[6:] for line in lines}
    assert cells == {
        "D": ["2", "+2"],
        "A": ["2", "+0", "2"],
        "B": ["2", "+0", "0"],
        "C": ["0", "-2"],
        **{
            name: ["0", "+0", lot] for name, lot in zip([line.split()[1] for line in lines[3:5]], "12", strict=True)
        },
    }


def test_names_are_no_markup() -> None:
    contest = make_contest(Path("test"), ["[bold red]Ada[/]", ":boom:"])
    view = LiveView(contest)
    with view.progress.shown():
        view.progress(ended(contest, result_of(contest)))
        text = view.until(lambda text: "diff" in text)
    assert [line.split()[1] for line in below_heading(text)] == ["[bold", ":boom:"]
    assert "[1/6] #1 [bold red]Ada[/] 1–0 :boom: (" in text
