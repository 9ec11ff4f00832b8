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
from msgspec import structs
from rich.cells import cell_len
from rich.console import Console

from getstep_server.config.contest import Contest
from getstep_server.events import (
    Announced,
    BotAnswers,
    BotHangs,
    ContestStarted,
    DatabaseAway,
    DatabaseLocked,
    DecisionTaken,
    DiskFull,
    DiskLow,
    DiskUsable,
    Event,
    IncidentsSummed,
    JournalCut,
    Listening,
    MatchCalledOff,
    MatchEnded,
    MatchNotResumed,
    MatchParked,
    MatchStarted,
    MovePlayed,
    NotAnnounced,
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
from getstep_server.records.reasons import DecisionKind
from getstep_server.reports import progress as progress_module
from getstep_server.reports.event_lines import NAME_CELLS, EventLines
from getstep_server.reports.progress import ProgressView
from getstep_server.reports.progress_state import ProgressState
from getstep_server.reports.tables import brief_result_line, result_line
from getstep_server.reports.text_table import truncate_middle
from getstep_server.runtime.live_tables import LiveTables
from getstep_server.tournament.combined import Tables
from tests.support.contests import make_contest
from tests.support.golden import assert_golden
from tests.support.patience import PATIENCE_SECONDS
from tests.support.progress import ADA, BLAISE, FIRST, HOSTILE, LONG, THREE, ended, result_of
from tests.support.tournament_host import Host

pytestmark = pytest.mark.usefixtures("on_a_lan")


# --- lines ---------------------------------------------------------------------------------------------------


def lines_of(contest: Contest, *events: Event) -> list[str]:
    file = io.StringIO()
    console = Console(file=file, markup=False, highlight=False, emoji=False, soft_wrap=True, width=80)
    progress = ProgressView(contest, console, live=False)
    with progress.shown():
        for event in events:
            progress(event)
    return file.getvalue().splitlines()


NO_TABLES = Tables({})
SCENARIOS: dict[str, list[Event]] = {
    "listening": [Listening("0.0.0.0", 7777, None, stamped=True)],
    "announced, or not": [Announced("Autumn"), NotAnnounced("this machine has no network with multicast")],
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
    "a match is parked": [
        MatchParked(FIRST, 3, "the process that plays with the program of Ada exited with code 1")
    ],
    "a match does not resume": [MatchNotResumed(FIRST, "the program of Ada cannot begin in mid-game")],
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
    "a bot that hangs": [
        Throttled(BotHangs(2, 7, 3), 1),
        Throttled(BotAnswers(2, 7, "it has connected again"), 40),
    ],
    "incidents": [
        Throttled(Incident("bad_token", "the token", "10.0.0.9", None, "00"), 1),
        Throttled(Incident("bad_msgpack", "what", "10.0.0.9", 3, "00"), 100),
        IncidentsSummed(123, ()),
    ],
    "a server error": [Throttled(ServerFault("match 3", "Traceback:\n  File x\nKeyError: 'x'"), 1)],
    "storage trouble": [
        DiskLow("autumn", 900_000_000, 16_000_000),
        DiskFull("autumn", "1.0 MB are free"),
        DatabaseLocked("autumn", "database is locked"),
        DatabaseAway("autumn", "connection refused"),
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
    progress = ProgressView(host.contest, Console(file=file), live=False, clock=lambda: now[0])

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
    progress = ProgressView(THREE, Console(file=file, width=200), live=False, clock=lambda: now[0])
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


def test_forfeits_are_one_line_and_no_pace(tmp_path: Path) -> None:
    """They take no time: the expected end is that of the matches that are played."""
    now, contest = [0.0], make_contest(tmp_path, 10)
    show = ProgressView(contest, Console(file=io.StringIO(), width=100), live=True, clock=lambda: now[0])
    state = show._state
    tables = Tables({}, expected=700)
    show(ContestStarted(0, 700))

    def end(number: int, teams: tuple[int, int], **changed: Any) -> None:
        result = result_of(contest, number, **changed)
        result = structs.replace(result, match=structs.replace(result.match, first=teams[0], second=teams[1]))
        show(MatchEnded(result, number, 700, lambda: tables))

    end(1, (1, 2), reason="never_arrived", turns=0)
    assert list(show._messages)[1:] == ["Team 2 absent: 1 forfeit"]
    for number in range(2, 101):
        show(MatchStarted(result_of(contest, number).match, turns_now=lambda: 31))
        now[0] += 60
        end(number, (1, 3))
    before = state.expected_end()
    assert "about 10 h" in before
    for number in range(101, 601):
        end(number, (1 + number % 2, 3 + number % 8), reason="never_arrived", turns=0)
    end(601, (1, 3))
    state.use_estimates(tables)
    shown = list(show._messages)
    assert [line for line in shown if "absent" in line] == ["9 teams absent: 501 forfeits"]
    assert shown[-2] == "9 teams absent: 501 forfeits"
    assert len(shown) == 50
    assert "about 1 h" in state.expected_end()  # 99 matches that are left, at a minute each
    end(600, (1, 3))  # a late team has come
    assert state.absence() == "9 teams absent: 500 forfeits"


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
    contest = make_contest(Path("test"), LONG[:2])
    line = brief_result_line(result_of(contest), contest.team_name, cells, NAME_CELLS)
    first, second = (truncate_middle(name, name_cells) for name in LONG[:2])
    assert line == f"#1 {first} 1–0 {second} (Black has 7 pieces home, White 5)"
    assert cell_len(line) <= cells or (cells == 40 and name_cells == NAME_CELLS)


def test_a_short_name_leaves_its_room_to_a_long_one() -> None:
    contest = make_contest(Path("test"), ["Ada", LONG[0]])
    line = brief_result_line(result_of(contest), contest.team_name, 60, NAME_CELLS)
    assert line == f"#1 Ada 1–0 {truncate_middle(LONG[0], 14)} (Black has 7 pieces home, White 5)"
    assert cell_len(line) == 60


def test_a_large_class_does_not_flood_its_own_list() -> None:
    contest = make_contest(Path("test"), 40)
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
    progress = ProgressView(THREE, Console(file=file, soft_wrap=True), live=False)
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
    progress = ProgressView(THREE, Console(file=file), live=False)

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
    most = f"Waiting for Ada for at most 10 min, then without them{hint}"
    assert lines.line(Throttled(Waiting((1,), gathering=True, seconds=600), 1)) == most
    assert lines.line(Throttled(Waiting((1,)), 1)) == "Waiting for Ada"


def test_after_ctrl_c_a_reader_gets_all_lines() -> None:
    file = BlockedPipe()
    progress = ProgressView(THREE, Console(file=file), live=False)
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
    progress = ProgressView(THREE, Console(file=file), live=False)
    with progress.shown():
        for number in range(10):
            progress(Throttled(Waiting((1,)), number))
