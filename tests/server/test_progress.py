"""What the host sees: lines where there is no terminal, and a view on one that nobody from outside can repaint."""

from __future__ import annotations

import io
import re
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console

from getstep_server import progress as progress_module
from getstep_server.combined import Tables
from getstep_server.contest import Contest, ContestFile, Team
from getstep_server.decisions import Decision
from getstep_server.events import (
    ContestStarted,
    DatabaseHeld,
    DecisionTaken,
    DiskFull,
    DiskUsable,
    Event,
    Incident,
    IncidentsSummed,
    Listening,
    MatchCalledOff,
    MatchEnded,
    MatchStarted,
    MovePlayed,
    Noted,
    ServerFault,
    TeamArrived,
    TeamLeft,
    TurnFaulted,
    Waiting,
)
from getstep_server.live import LiveTables
from getstep_server.progress import NAME_IN_VIEW, Progress
from getstep_server.results import Result
from getstep_server.schedule import Match
from getstep_server.standings import Scoring, standings
from getstep_server.tables import result_line, standings_table
from getstep_server.text_table import shortened
from tests.server.players import make_contest
from tests.server.screens import Screen
from tests.server.test_tournament import Host

HOSTILE = "\x1b[2J\x1b]0;owned\x07\r\u202e[bold red]:boom:[/]"
"""Clears a screen, sets a window's title, writes over the line, turns the reading direction, and is markup."""


def contest_of(*names: str, game: str = "hop") -> Contest:
    file = ContestFile.model_validate({"contest": {"name": "Test"}, "event": [{"game": game}]})
    teams = {n: Team(id=n, name=name, token="12345678") for n, name in enumerate(names, start=1)}
    return Contest(Path("test"), file, teams)


def result_of(contest: Contest, number: int = 1, **changed: Any) -> Result:
    facts: dict[str, Any] = {
        "match": Match(number, 1, 1, 1, 1, 2, contest.events[0].game.name),
        "winner": 0,
        "reason": "finished",
        "detail": "Black has 7 pieces home, White 5",
        "scores": (7, 5),
        "turns": 31,
        "thought": (1.0, 2.0),
        "faults": (0, 0),
        "started": 0.0,
        "seconds": 12.34,
    }
    return Result(**facts | changed)


def ended(contest: Contest, *results: Result, total: int = 6) -> MatchEnded:
    return MatchEnded(
        results[-1], len(results), total, lambda: Tables({1: tuple(standings(list(contest.teams), results))})
    )


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
LINES: list[tuple[list[Event], list[str]]] = [
    ([Listening("0.0.0.0", 7777, None, stamped=True)], ["Listening on 0.0.0.0, port 7777."]),
    ([Listening("::", 1, 8888, stamped=True)], ["Listening on ::, port 1, classic wire on port 8888."]),
    (
        [ADA, Noted(ADA, 1), BLAISE, Noted(BLAISE, 2), TeamLeft(1, "connection lost"), Noted(BLAISE, 3)],
        [
            "+ Ada has arrived from 10.0.0.1 (getstep 0.1.0); 1 of 3 teams are here, missing: Blaise, Charles",
            "+ Blaise is back from 10.0.0.2 (no name given); 2 of 3 teams are here, missing: Charles",
            "+ Blaise is back from 10.0.0.2 (no name given); 1 of 3 teams are here, missing: Ada, Charles",
        ],
    ),
    (
        [
            MatchStarted(FIRST),
            DecisionTaken(
                Decision("withdraw", "Grace", "ill", "2024-10-05T14:30:00.000Z", team=1),
                None,
                3,
                4,
                lambda: NO_TABLES,
            ),
            MatchCalledOff(FIRST, "ill"),
        ],
        ["The host: Ada has withdrawn (Grace: ill)", "#1 Ada – Blaise is called off."],
    ),
    (
        [DiskFull("autumn", "1.0 MB are free"), DatabaseHeld("autumn", "database is locked"), DiskUsable("autumn")],
        [
            "! The disk of autumn is full (1.0 MB are free): no match starts, and matches wait between two turns,"
            " until there is room. Nothing is lost; delete something.",
            "! Another program holds the database in autumn (database is locked): no match starts, and no result"
            " counts, until it lets go. Nothing is lost; end it.",
            "Everything can be written again, and goes on.",
        ],
    ),
    ([Noted(TeamLeft(2, "it closed the connection"), 1)], ["- Blaise has left: it closed the connection"]),
    (
        [Noted(TeamLeft(2, "it closed the connection"), 4711)],
        ["- Blaise has left: it closed the connection (4711 arrivals and departures in a minute)"],
    ),
    (
        [
            ADA,
            two := replace(ADA, here=2),
            Noted(two, 2),
            one := TeamLeft(1, "gone", 1),
            Noted(one, 3),
            Noted(ADA, 4),
        ],
        [
            "+ Ada has arrived from 10.0.0.1 (getstep 0.1.0), 2 bots now; 1 of 3 teams are here, missing:"
            " Blaise, Charles",
            "- Ada has lost a bot, 1 still here: gone",
            "+ Ada has arrived from 10.0.0.1 (getstep 0.1.0); 1 of 3 teams are here, missing: Blaise, Charles",
        ],
    ),
    ([Noted(TeamLeft(2, "contest_over"), 1), Noted(TeamLeft(2, "shutting_down"), 1)], []),
    (
        [Noted(Incident("bad_token", "the token", "10.0.0.9", None, "00"), 1)],
        ["! refused 10.0.0.9: bad_token: the token"],
    ),
    (
        [Noted(Incident("bad_msgpack", "what", "10.0.0.9", 3, "00"), 100), IncidentsSummed(123, ())],
        [
            "! Charles, from 10.0.0.9, broke the protocol: bad_msgpack: what (100 times so far)",
            "! 123 refused connections or breaches of the protocol in all",
        ],
    ),
    (
        [Noted(TurnFaulted(FIRST, 1, "missed_limit", "no answer within 5 s", 5.0), 10)],
        ["#1 Blaise: missed_limit: no answer within 5 s (10 times so far)"],
    ),
    (
        [Noted(ServerFault("match 3", "Traceback:\n  File x\nKeyError: 'x'"), 1)],
        [
            "! the server failed in match 3; this costs no bot anything",
            "Traceback:",
            "  File x",
            "KeyError: 'x'",
        ],
    ),
    ([ContestStarted(2, 6)], ["The contest begins: 4 of 6 matches to play."]),
    (
        [ContestStarted(2, 6, 30), ended(THREE, result_of(THREE))],
        [
            "The contest begins: about 34 of 36 matches to play.",
            "[1/36] #1 Ada – Blaise: Ada wins (Black has 7 pieces home, White 5; 31 turns, 12.3 s)",
        ],
    ),
    (
        [ContestStarted(0, 6, 2), ended(THREE, result_of(THREE), total=12)],  # settings.rounds was raised, say
        [
            "The contest begins: about 8 of 8 matches to play.",
            "[1/12] #1 Ada – Blaise: Ada wins (Black has 7 pieces home, White 5; 31 turns, 12.3 s)",
        ],
    ),
    ([Noted(Waiting((1, 3)), 1), Noted(Waiting(()), 2)], ["Waiting for Ada, Charles"]),
    (
        [ended(THREE, result_of(THREE))],
        ["[1/6] #1 Ada – Blaise: Ada wins (Black has 7 pieces home, White 5; 31 turns, 12.3 s)"],
    ),
    (
        [Incident("bad_token", "raw", "10.0.0.9", None, ""), ServerFault("x", "y"), Waiting((1,))],
        [],  # what can come in floods is shown when it is noted
    ),
    (
        [MatchStarted(result_of(THREE).match), MovePlayed(result_of(THREE).match, 0, [[0, 0]], 0.1, stamped=True)],
        [],
    ),
]


@pytest.mark.parametrize(("events", "lines"), LINES, ids=[type(events[0]).__name__ for events, _ in LINES])
def test_lines(events: list[Event], lines: list[str]) -> None:
    assert lines_of(THREE, *events) == lines


def test_once_a_minute_a_line_says_when_it_will_be_over(tmp_path: Path) -> None:
    """Of a ladder whose second round is given out when the first one is over."""
    ladder = {"game": "hop", "format": "ladder", "settings": {"rounds": 2, "games": 2}}
    host, now, file = Host(make_contest(tmp_path, 4, ladder)), [100.0], io.StringIO()
    tournament = host.tournament
    progress = Progress(host.contest, Console(file=file), live=False, clock=lambda: now[0])

    def show(event: Event) -> None:
        with progress.shown():  # until it is printed
            progress(event)

    matches = host.give_out()
    show(ContestStarted(0, tournament.total, tournament.to_come(host.contest.events[0])))
    while matches:
        for match in matches:
            now[0] += 20
            host.play(match)
            ended = MatchEnded(tournament.results[-1], tournament.done, tournament.total, LiveTables(tournament))
            show(ended)
        matches = host.give_out()
    lines = file.getvalue().splitlines()
    assert lines[0] == "The contest begins: about 12 of 12 matches to play."
    assert [line.split()[0] for line in lines if line.startswith("[")] == [f"[{n}/12]" for n in range(1, 13)]
    said = [re.sub("until .*", "", line) for line in lines if " are over" in line]
    assert said == [
        "3 of about 12 matches are over, about 3 min left, ",
        "6 of about 12 matches are over, about 2 min left, ",
        "9/12 matches are over, about 1 min left, ",
    ]


def test_what_is_called_off_by_the_host_is_not_to_come() -> None:
    decision = Decision("withdraw", "Grace", "ill", "2024-10-05T14:30:00.000Z", team=1)
    lines = lines_of(
        THREE,
        ContestStarted(0, 6),
        DecisionTaken(decision, None, 0, 2, lambda: NO_TABLES),
        ended(THREE, result_of(THREE), total=2),
    )
    assert lines[2].startswith("[1/2] ")


RESULTS = [
    ({}, "#1 Ada – Blaise: Ada wins (Black has 7 pieces home, White 5; 31 turns, 12.3 s)"),
    ({"winner": 1, "detail": "x"}, "#1 Ada – Blaise: Blaise wins (x; 31 turns, 12.3 s)"),
    ({"winner": None, "detail": "x"}, "#1 Ada – Blaise: draw (x; 31 turns, 12.3 s)"),
    (
        {"winner": 1, "reason": "hostile", "detail": "Black broke the protocol"},
        "#1 Ada – Blaise: Blaise wins (hostile: Black broke the protocol; 31 turns, 12.3 s)",
    ),
    (
        {"winner": None, "reason": "never_arrived", "detail": "x", "turns": 0, "seconds": 0.0},
        "#1 Ada – Blaise: nobody came (never_arrived: x; 0 turns, 0.0 s)",
    ),
]


@pytest.mark.parametrize(("changed", "line"), RESULTS)
def test_a_match_in_one_line(changed: dict[str, Any], line: str) -> None:
    assert result_line(result_of(THREE, **changed), THREE.team_name) == line


def test_a_large_class_does_not_flood_its_own_list() -> None:
    contest = contest_of(*(f"Team {n}" for n in range(1, 41)))
    (line,) = lines_of(contest, ADA, Noted(ADA, 1))
    assert line.endswith(
        "1 of 40 teams are here, missing: " + ", ".join(f"Team {n}" for n in range(2, 10)) + " and 31 more"
    )


@pytest.mark.parametrize(
    "event",
    [
        Noted(TeamArrived(1, HOSTILE, HOSTILE, False), 1),
        Noted(TeamLeft(1, HOSTILE), 1),
        Noted(Incident(HOSTILE, HOSTILE, HOSTILE, None, HOSTILE), 1),
        Noted(ServerFault(HOSTILE, f"{HOSTILE}\n{HOSTILE}"), 1),
        ended(THREE, result_of(THREE, reason=HOSTILE, detail=HOSTILE)),
    ],
    ids=lambda event: type(getattr(event, "event", event)).__name__,
)
def test_what_comes_from_outside_is_shown_and_not_obeyed(event: Event) -> None:
    text = "\n".join(lines_of(THREE, event))
    assert r"\u001b[2J\u001b]0;owned\u0007\u000d\u202e[bold red]:boom:[/]" in text
    assert all(char.isprintable() for char in text.replace("\n", ""))


class Standstill(io.StringIO):
    """A pipe that takes nothing until it is let go, and can be broken."""

    def __init__(self, error: OSError | None = None) -> None:
        super().__init__()
        self.let_go = threading.Event()
        self.error = error

    def write(self, text: str) -> int:
        assert self.let_go.wait(30)
        if self.error is not None:
            raise self.error
        return super().write(text)


def test_a_pipe_that_stands_still_holds_nothing_up() -> None:
    file = Standstill()
    progress = Progress(THREE, Console(file=file, soft_wrap=True), live=False)
    with progress.shown():
        for number in range(1000):
            progress(Noted(Waiting((number % 3 + 1,)), number))
        assert file.getvalue() == ""
        file.let_go.set()
    assert len(file.getvalue().splitlines()) == 1000


def test_after_ctrl_c_a_pipe_that_stands_still_holds_up_the_end_for_a_moment_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(progress_module, "HURRY_SECONDS", 0.05)
    file = Standstill()
    progress = Progress(THREE, Console(file=file), live=False)

    def be_stopped() -> None:
        with progress.shown():
            progress(Noted(Incident("flood", "too much", "10.0.0.9", None, ""), 1))
            progress.hurry()

    with pytest.raises(KeyboardInterrupt):
        be_stopped()
    assert file.getvalue() == ""
    file.let_go.set()


def test_after_ctrl_c_who_reads_gets_all() -> None:
    file = Standstill()
    progress = Progress(THREE, Console(file=file), live=False)
    with progress.shown():
        progress(Noted(Waiting((1,)), 1))
        progress.hurry()
        file.let_go.set()
    assert file.getvalue() == "Waiting for Ada\n"


@pytest.mark.parametrize("error", [BrokenPipeError(32, "Broken pipe"), OSError(28, "No space left on device")])
def test_a_pipe_that_breaks_ends_nothing(error: OSError, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.dup2", lambda *_: None)  # rich would put /dev/null in place of this test's output
    file = Standstill(error)
    file.let_go.set()
    progress = Progress(THREE, Console(file=file), live=False)
    with progress.shown():
        for number in range(10):
            progress(Noted(Waiting((1,)), number))


# --- the live view -------------------------------------------------------------------------------------------


class ToScreen(io.StringIO):
    """A file that is a terminal."""

    def __init__(self, screen: Screen) -> None:
        super().__init__()
        self.screen = screen
        self.highest = 0
        self.drawing = threading.Lock()

    def write(self, text: str) -> int:
        with self.drawing:
            self.screen.write(text.replace("\n", "\r\n"))  # as the kernel's terminals do
            self.highest = max(self.highest, len(self.screen.lines))
        return len(text)

    def isatty(self) -> bool:
        return True


class LiveView:
    """A progress view on a screen."""

    def __init__(self, contest: Contest, *, width: int = 80, height: int = 24) -> None:
        self.screen = Screen(width, height)
        self.file = ToScreen(self.screen)
        console = Console(
            file=self.file,
            force_terminal=True,
            width=width,
            height=height,
            markup=False,
            highlight=False,
            emoji=False,
            legacy_windows=False,
            _environ={},
        )
        self.progress = Progress(contest, console, live=True)

    def until(self, condition: Callable[[str], bool]) -> str:
        """The screen as soon as it fits."""
        deadline = time.monotonic() + 10
        while True:
            with self.file.drawing:  # rich writes a whole view at once
                text = self.screen.text
            if condition(text):
                return text
            assert time.monotonic() < deadline, text
            time.sleep(0.01)


def test_the_live_view() -> None:
    view = LiveView(THREE)
    view.progress.say("before")
    with view.progress.shown():
        for event in (Listening("0.0.0.0", 7777, None, stamped=True), ADA, Noted(ADA, 1), ContestStarted(0, 6)):
            view.progress(event)
        view.progress(MatchStarted(result_of(THREE).match))
        text = view.until(lambda text: "playing:" in text)
        assert text.splitlines()[:5] == [
            "before",
            "",
            "Listening on 0.0.0.0, port 7777.",
            "+ Ada has arrived from 10.0.0.1 (getstep 0.1.0)",
            "The contest begins: 6 of 6 matches to play.",
        ]
        assert "\n1 of 3 teams are here, missing: Blaise, Charles\n0/6 matches" in text
        assert text.endswith("playing: #1 Ada – Blaise")
        view.progress(ended(THREE, result_of(THREE)))
        text = view.until(lambda text: "1/6 matches" in text)
        assert "[1/6] #1 Ada – Blaise: Ada wins (Black has 7" in text
        assert "playing: nobody" in text
        assert text.splitlines()[-3].split() == ["1", "Ada", *"11002", "+2"]
    view.progress.say("after")
    assert view.screen.text == "before\nafter"
    assert view.screen.cursor_shown
    assert view.screen.unknown == []


def test_what_must_not_vanish_with_the_view() -> None:
    view = LiveView(THREE)
    with view.progress.shown():
        for count in (1, 10):
            view.progress(Noted(ServerFault("match 3", f"KeyError: '{HOSTILE}'"), count))
        view.progress(IncidentsSummed(7, ()))
        view.until(lambda text: "10 times so far" in text)
    lines = view.screen.text.splitlines()
    assert lines[0] == "! the server failed in match 3; this costs no bot anything"
    assert r"KeyError: '\u001b[2J" in lines[1]
    assert lines[-1] == "! 7 refused connections or breaches of the protocol in all"
    assert view.screen.unknown == []


def below_heading(text: str) -> list[str]:
    """The lines of the table."""
    lines = text.splitlines()
    return lines[1 + next(n for n, line in enumerate(lines) if line.lstrip().startswith("#")) :]


def test_a_large_contest_in_a_small_terminal(tmp_path: Path) -> None:
    """40 teams, ten matches at a time, names that are long: who plays, who is missing, the top of the table."""
    event = {"game": "hop", "format": "swiss", "settings": {"rounds": 5, "legs": 2}}
    contest = make_contest(tmp_path, 40, event)
    teams = {n: team.model_copy(update={"name": LONG[n - 1]}) for n, team in contest.teams.items()}
    host = Host(replace(contest, teams=teams))
    view = LiveView(host.contest)
    progress, tournament = view.progress, host.tournament
    with progress.shown():
        for team in range(1, 38):
            progress(TeamArrived(team, "10.0.0.1", "", False))
        matches = host.give_out()
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
    here = next(line for line in lines if "teams are here" in line)
    assert here == f"37 of 40 teams are here, missing: {shortened(LONG[37], NAME_IN_VIEW)} and 2 more"
    bar = next(line for line in lines if "of about" in line)
    assert re.fullmatch(r"2 of about 200 matches  \S+  about \d+ s left, until (\w+ )?\d\d:\d\d", bar)
    playing = next(line for line in lines if line.startswith("playing: "))
    assert re.search(r" and \d more$", playing)
    heading = next(line for line in lines if line.startswith("#") or line.lstrip().startswith("#"))
    assert heading.split()[-1] == "Elo"
    top = below_heading(text)[0].split()
    assert top[0] == "1"
    assert re.fullmatch(r"\+\d+", top[-1])
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
            view.progress(Noted(TeamLeft(number, "connection lost"), 1))
            results = [result_of(contest, n) for n in range(1, number + 1)]
        view.progress(ended(contest, *results, total=1560))
        text = view.until(lambda text: "[20/1560]" in text)
        assert len(text.splitlines()) < height
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


def test_a_result_of_long_names_fits_a_line() -> None:
    contest = contest_of(*LONG[:2])
    view = LiveView(contest)
    with view.progress.shown():
        view.progress(ended(contest, result_of(contest)))
        text = view.until(lambda text: "diff" in text)
    assert "[1/6] #1 Die außeror…kel 10 – Die außeror…kel 11: Die außeror…kel 10 wins (" in text


def test_names_are_whole_in_the_table_that_stays() -> None:
    contest = contest_of(*LONG[:3])
    screen = Screen(80, 24)
    console = Console(file=ToScreen(screen), force_terminal=True, width=80, _environ={})
    console.print(standings_table(contest, contest.events[0], standings(list(contest.teams), [result_of(contest)])))
    words = " ".join(screen.text.split())
    assert "…" not in words
    assert words.count("Die außerordentlich lange") == 3
    assert all(f"Mannschaft aus dem letzten Winkel {n}" in words for n in (10, 11, 12))


def test_the_table_shows_what_has_separated_teams() -> None:
    contest = contest_of("A", "B", "C", "D", "E", "F")
    pairs = [(1, 2), (2, 3), (4, 1)]  # whoever is first has won: A and B are level, but A has beaten B
    results = [result_of(contest, match=Match(n, 1, n, 1, *pair, "hop")) for n, pair in enumerate(pairs, start=1)]
    screen = Screen(80, 24)
    console = Console(file=ToScreen(screen), force_terminal=True, width=80, _environ={})
    console.print(standings_table(contest, contest.events[0], standings(contest.teams, results)))
    heading, *lines, order = screen.text.splitlines()
    assert heading.split()[-3:] == ["diff", "direct", "lot"]
    assert order == "Order: points, won, diff, direct, lot."
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
    assert "[1/6] #1 [bold red]Ada[/] – :boom:: [bold red]Ada[/] wins" in text
