"""The progress display: plain lines in a pipe, and a live view that no text from outside can repaint."""

from __future__ import annotations

import io
import re
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace as replace_fields
from rich.cells import cell_len
from rich.console import Console

from getstep_server.config.contest import Contest
from getstep_server.config.scoring import Scoring
from getstep_server.events import (
    ContestStarted,
    DatabaseLocked,
    DecisionTaken,
    DiskFull,
    DiskUsable,
    Event,
    IncidentsSummed,
    JournalCut,
    Listening,
    MatchCalledOff,
    MatchEnded,
    MatchStarted,
    MovePlayed,
    PlayerAskedAgain,
    PlayerStalled,
    ServerFault,
    TeamArrived,
    TeamLeft,
    Throttled,
    TurnFaulted,
    Waiting,
)
from getstep_server.incident import Incident
from getstep_server.records.decision import Decision
from getstep_server.records.match import Match
from getstep_server.records.reasons import DecisionKind
from getstep_server.reports import progress as progress_module
from getstep_server.reports.event_lines import NAME_CELLS, EventLines
from getstep_server.reports.progress import Progress
from getstep_server.reports.progress_state import ProgressState
from getstep_server.reports.tables import brief_result_line, result_line, standings_table
from getstep_server.reports.text_table import truncate_middle
from getstep_server.runtime.live_tables import LiveTables
from getstep_server.text import fold
from getstep_server.tournament.combined import Tables
from getstep_server.tournament.standings import standings
from tests.golden import assert_golden
from tests.patience import PATIENCE_SECONDS
from tests.server.hosts import Host
from tests.server.live_views import LiveView, ToScreen, ended, result_of
from tests.server.players import make_contest
from tests.server.screens import Screen
from tests.server.table_texts import contest_of

HOSTILE = "\x1b[2J\x1b]0;owned\x07\r\u202e[bold red]:boom:[/]"
"""Text that would clear the screen, set the window's title, overwrite the line, reverse the text, and is markup."""


@pytest.fixture(autouse=True)
def on_a_lan(monkeypatch: pytest.MonkeyPatch) -> None:
    """The address of this machine on the LAN is 192.0.2.7."""
    monkeypatch.setattr("getstep_server.config.handout.lan_address", lambda: "192.0.2.7")


# --- lines ---------------------------------------------------------------------------------------------------


def lines_of(contest: Contest, *events: Event) -> list[str]:
    file = io.StringIO()
    console = Console(file=file, markup=False, highlight=False, emoji=False, soft_wrap=True, width=80)
    progress = Progress(contest, console, live=False)
    with progress.shown():
        for event in events:
            progress(event)
    return file.getvalue().splitlines()


THREE = contest_of("Ada", "Blaise", "Charles")
NO_TABLES = Tables({})
FIRST = Match(1, 1, 1, 1, 1, 2, "hop")
ADA, BLAISE = TeamArrived(1, "10.0.0.1", "getstep 0.1.0", False), TeamArrived(2, "10.0.0.2", "", True)
SCENARIOS: dict[str, list[Event]] = {
    "listening": [Listening("0.0.0.0", 7777, None, stamped=True)],
    "listening with the classic wire": [Listening("::", 1, 8888, stamped=True)],
    "teams connect and disconnect": [
        ADA,
        Throttled(ADA, 1),
        BLAISE,
        Throttled(BLAISE, 2),
        TeamLeft(1, "connection lost"),
        Throttled(BLAISE, 3),
        Throttled(TeamLeft(2, "it closed the connection"), 1),
        Throttled(TeamLeft(2, "it closed the connection"), 4711),
    ],
    "a team with two bots": [
        ADA,
        two := replace(ADA, here=2),
        Throttled(two, 2),
        one := TeamLeft(1, "gone", 1),
        Throttled(one, 3),
        Throttled(ADA, 4),
    ],
    "the server says goodbye: nothing is shown": [
        Throttled(TeamLeft(2, "contest_over"), 1),
        Throttled(TeamLeft(2, "shutting_down"), 1),
    ],
    "waiting for teams": [Throttled(Waiting((1, 3)), 1), Throttled(Waiting(()), 2)],
    "a contest starts": [ContestStarted(2, 6)],
    "a contest starts, and its later pairings are estimated": [
        ContestStarted(2, 6, 30),
        ended(THREE, result_of(THREE)),
    ],
    "more matches are paired than were estimated": [
        ContestStarted(0, 6, 2),
        ended(THREE, result_of(THREE), total=12),
    ],
    "a match resumes": [MatchStarted(FIRST, 17), JournalCut("autumn/running/segment-1.journal", 11)],
    "a match ends": [ended(THREE, result_of(THREE))],
    "a match starts and a move is played: nothing is shown": [
        MatchStarted(FIRST),
        MovePlayed(FIRST, 0, [[0, 0]], 0.1, stamped=True),
    ],
    "a team withdraws during a match": [
        MatchStarted(FIRST),
        DecisionTaken(
            Decision(DecisionKind.WITHDRAW, "Grace", "ill", "2024-10-05T14:30:00.000Z", team=1),
            None,
            3,
            4,
            lambda: NO_TABLES,
        ),
        MatchCalledOff(FIRST, "ill"),
    ],
    "a fault": [Throttled(TurnFaulted(FIRST, 1, "missed_limit", "no answer within 5 s", 5.0), 10)],
    "a stalled player": [
        Throttled(PlayerStalled(FIRST, 1), 1),
        Throttled(TurnFaulted(FIRST, 1, "stalled", "nothing received", 0.0), 100),
        Throttled(PlayerAskedAgain(FIRST, 1, 17), 1),
    ],
    "incidents": [
        Throttled(Incident("bad_token", "the token", "10.0.0.9", None, "00"), 1),
        Throttled(Incident("bad_msgpack", "what", "10.0.0.9", 3, "00"), 100),
        IncidentsSummed(123, ()),
    ],
    "a server error": [Throttled(ServerFault("match 3", "Traceback:\n  File x\nKeyError: 'x'"), 1)],
    "storage trouble": [
        DiskFull("autumn", "1.0 MB are free"),
        DatabaseLocked("autumn", "database is locked"),
        DiskUsable("autumn"),
    ],
    "floods that are not throttled: nothing is shown": [
        Incident("bad_token", "raw", "10.0.0.9", None, ""),
        ServerFault("x", "y"),
        Waiting((1,)),
    ],
}


def test_plain_lines() -> None:
    parts = [f"--- {name}\n" + "\n".join(lines_of(THREE, *events)) for name, events in SCENARIOS.items()]
    assert_golden("progress-lines", "\n\n".join(parts))


@pytest.mark.parametrize("name", [name for name in SCENARIOS if name.endswith("nothing is shown")])
def test_events_without_a_line(name: str) -> None:
    assert lines_of(THREE, *SCENARIOS[name]) == []


def test_once_a_minute_a_line_gives_the_expected_end(tmp_path: Path) -> None:
    """In a ladder, whose second round is paired when the first one is over."""
    ladder = {"game": "hop", "format": "ladder", "settings": {"rounds": 2, "games": 2}}
    host, now, file = Host(make_contest(tmp_path, 4, ladder)), [100.0], io.StringIO()
    tournament = host.tournament
    progress = Progress(host.contest, Console(file=file), live=False, clock=lambda: now[0])

    def show(event: Event) -> None:
        with progress.shown():  # until it is printed
            progress(event)

    matches = host.issue_pairings()
    show(ContestStarted(0, tournament.total, tournament.remaining_estimate(host.contest.events[0])))
    while matches:
        for match in matches:
            now[0] += 20
            host.play(match)
            ended = MatchEnded(tournament.results[-1], tournament.done, tournament.total, LiveTables(tournament))
            show(ended)
        matches = host.issue_pairings()
    lines = file.getvalue().splitlines()
    assert lines[0].startswith("The contest starts: about 12 of 12 matches")
    assert [line.split()[0] for line in lines if line.startswith("[")] == [f"[{n}/12]" for n in range(1, 13)]
    said = [re.sub(r" matches played, (about .*) left, .*", r": \1", line) for line in lines if " played, " in line]
    assert said == [
        "3 of about 12: about 3 min",
        "6 of about 12: about 2 min",
        "9/12: about 1 min",
    ]


def test_the_expected_end_includes_a_slow_last_match() -> None:
    """Three matches took 10 s each. The last one has had 10 of about 31 turns in a minute."""
    now, file = [0.0], io.StringIO()
    progress = Progress(THREE, Console(file=file, width=200), live=False, clock=lambda: now[0])
    turns = 0
    tables = Tables({}, expected=4, remaining={1: 1, 2: 1})
    with progress.shown():
        progress(ContestStarted(0, 4))
        for number in (1, 2, 3):
            result = result_of(THREE, number)
            progress(MatchStarted(result.match, turns_now=lambda: 31))
            now[0] += 10
            progress(MatchEnded(result, number, 4, lambda: tables))
        progress(MatchStarted(result_of(THREE, 4).match, turns_now=lambda: turns))
    now[0] += 60
    turns = 10
    with progress.shown():
        progress(Throttled(Waiting((3,)), 1))
    last = file.getvalue().splitlines()[-1]
    assert last.startswith("3/4 matches played, about 2 min left, ")


def test_cancelled_matches_are_not_expected() -> None:
    decision = Decision(DecisionKind.WITHDRAW, "Grace", "ill", "2024-10-05T14:30:00.000Z", team=1)
    lines = lines_of(
        THREE,
        ContestStarted(0, 6),
        DecisionTaken(decision, None, 0, 2, lambda: NO_TABLES),
        ended(THREE, result_of(THREE), total=2),
    )
    assert lines[2].startswith("[1/2] ")


RESULTS: list[dict[str, Any]] = [
    {},
    {"winner": 1, "detail": "x"},
    {"winner": None, "detail": "x"},
    {"winner": 1, "reason": "hostile", "detail": "Black broke the protocol"},
    {"winner": None, "reason": "never_arrived", "detail": "x", "turns": 0, "seconds": 0.0},
    {"winner": None, "reason": "round_lost", "detail": "x"},
]


def test_a_match_in_one_line() -> None:
    results = [result_of(THREE, **changed) for changed in RESULTS]
    whole = [result_line(result, THREE.team_name) for result in results]
    brief = [brief_result_line(result, THREE.team_name, 80, NAME_CELLS) for result in results]
    assert_golden("result-lines", "\n".join([*whole, "", *brief]))


@pytest.mark.parametrize(("cells", "name_cells"), [(80, 18), (72, 14), (60, 8), (40, 18)])
def test_names_give_way_to_the_reason_of_a_result(cells: int, name_cells: int) -> None:
    contest = contest_of(*LONG[:2])
    line = brief_result_line(result_of(contest), contest.team_name, cells, NAME_CELLS)
    first, second = (truncate_middle(name, name_cells) for name in LONG[:2])
    assert line == f"#1 {first} 1–0 {second} (Black has 7 pieces home, White 5)"
    assert cell_len(line) <= cells or (cells == 40 and name_cells == NAME_CELLS)


def test_a_short_name_leaves_its_room_to_a_long_one() -> None:
    contest = contest_of("Ada", LONG[0])
    line = brief_result_line(result_of(contest), contest.team_name, 60, NAME_CELLS)
    assert line == f"#1 Ada 1–0 {truncate_middle(LONG[0], 14)} (Black has 7 pieces home, White 5)"
    assert cell_len(line) == 60


def test_a_large_class_does_not_flood_its_own_list() -> None:
    contest = contest_of(*(f"Team {n}" for n in range(1, 41)))
    (line,) = lines_of(contest, ADA, Throttled(ADA, 1))
    assert line.endswith(
        "1 of 40 teams connected, missing: " + ", ".join(f"Team {n}" for n in range(2, 10)) + " and 31 more"
    )


@pytest.mark.parametrize(
    "event",
    [
        Throttled(TeamArrived(1, HOSTILE, HOSTILE, False), 1),
        Throttled(TeamLeft(1, HOSTILE), 1),
        Throttled(Incident(HOSTILE, HOSTILE, HOSTILE, None, HOSTILE), 1),
        Throttled(ServerFault(HOSTILE, f"{HOSTILE}\n{HOSTILE}"), 1),
        ended(THREE, result_of(THREE, reason=HOSTILE, detail=HOSTILE)),
    ],
    ids=lambda event: type(getattr(event, "event", event)).__name__,
)
def test_control_characters_from_outside_are_escaped(event: Event) -> None:
    text = "\n".join(lines_of(THREE, event))
    assert r"\u001b[2J\u001b]0;owned\u0007\u000d\u202e[bold red]:boom:[/]" in text
    assert all(char.isprintable() for char in text.replace("\n", ""))


class BlockedPipe(io.StringIO):
    """A pipe that blocks until it is released, and that may be broken."""

    def __init__(self, error: OSError | None = None) -> None:
        super().__init__()
        self.released = threading.Event()
        self.error = error

    def write(self, text: str) -> int:
        assert self.released.wait(PATIENCE_SECONDS)
        if self.error is not None:
            raise self.error
        return super().write(text)


def test_a_blocked_pipe_delays_no_event() -> None:
    file = BlockedPipe()
    progress = Progress(THREE, Console(file=file, soft_wrap=True), live=False)
    with progress.shown():
        for number in range(1000):
            progress(Throttled(Waiting((number % 3 + 1,)), number))
        assert file.getvalue() == ""
        file.released.set()
    assert len(file.getvalue().splitlines()) == 1000


def test_after_ctrl_c_a_blocked_pipe_delays_the_end_for_a_bounded_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(progress_module, "READER_SECONDS", 0.05)
    file = BlockedPipe()
    progress = Progress(THREE, Console(file=file), live=False)

    def be_stopped() -> None:
        with progress.shown():
            progress(Throttled(Incident("flood", "too much", "10.0.0.9", None, ""), 1))
            progress.hurry()

    with pytest.raises(KeyboardInterrupt):
        be_stopped()
    assert file.getvalue() == ""
    file.released.set()


@pytest.mark.parametrize(("width", "hint"), [(lambda: 80, "; Enter starts without them"), (None, "")])
def test_on_a_terminal_the_host_is_told_how_to_start(width: Callable[[], int] | None, hint: str) -> None:
    lines = EventLines(ProgressState(THREE), width)
    assert lines.line(Throttled(Waiting((1,), gathering=True), 1)) == f"Waiting for Ada{hint}"
    assert lines.line(Throttled(Waiting((1,)), 1)) == "Waiting for Ada"


def test_after_ctrl_c_a_reader_gets_all_lines() -> None:
    file = BlockedPipe()
    progress = Progress(THREE, Console(file=file), live=False)
    with progress.shown():
        progress(Throttled(Waiting((1,)), 1))
        progress.hurry()
        file.released.set()
    assert file.getvalue() == "Waiting for Ada\n"


@pytest.mark.parametrize("error", [BrokenPipeError(32, "Broken pipe"), OSError(28, "No space left on device")])
def test_a_pipe_that_breaks_ends_nothing(error: OSError, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.dup2", lambda *_: None)  # rich would put /dev/null in place of this test's output
    file = BlockedPipe(error)
    file.released.set()
    progress = Progress(THREE, Console(file=file), live=False)
    with progress.shown():
        for number in range(10):
            progress(Throttled(Waiting((1,)), number))


# --- the live view -------------------------------------------------------------------------------------------


def test_the_live_view() -> None:
    view = LiveView(THREE)
    screens: list[str] = []

    def see(condition: str) -> None:
        text = view.until(lambda text: condition in text)
        screens.append(re.sub("left, expected end .*", "left, expected end TIME", text))

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


LONG = [f"Die außerordentlich lange Mannschaft aus dem letzten Winkel {n}" for n in range(10, 50)]


@pytest.mark.parametrize(("width", "height"), [(80, 24), (80, 10), (40, 24), (200, 60)])
def test_the_view_never_grows_out_of_the_terminal(width: int, height: int) -> None:
    contest = contest_of(*LONG)
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
    contest = contest_of(*LONG[:3], game="pseudo_tonga")
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
    contest = contest_of(*LONG[:2])
    view = LiveView(contest)
    with view.progress.shown():
        view.progress(ended(contest, result_of(contest)))
        text = view.until(lambda text: "diff" in text)
    (line,) = [line for line in text.splitlines() if line.startswith("[1/6] #1 ")]
    assert line.endswith("(Black has 7 pieces home, White 5)")


def test_names_are_whole_in_the_table_that_stays() -> None:
    contest = contest_of(*LONG[:3])
    screen = Screen(80, 24)
    console = Console(file=ToScreen(screen), force_terminal=True, width=80, _environ={})
    console.print(standings_table(contest, contest.events[0], standings(list(contest.teams), [result_of(contest)])))
    words = " ".join(screen.text.split())
    assert "…" not in words
    assert words.count("Die außerordentlich lange") == 3
    assert all(f"Mannschaft aus dem letzten Winkel {n}" in words for n in (10, 11, 12))


def test_the_table_shows_the_criteria_that_separate_teams() -> None:
    contest = contest_of("A", "B", "C", "D", "E", "F")
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
    contest = contest_of("[bold red]Ada[/]", ":boom:")
    view = LiveView(contest)
    with view.progress.shown():
        view.progress(ended(contest, result_of(contest)))
        text = view.until(lambda text: "diff" in text)
    assert [line.split()[1] for line in below_heading(text)] == ["[bold", ":boom:"]
    assert "[1/6] #1 [bold red]Ada[/] 1–0 :boom: (" in text
