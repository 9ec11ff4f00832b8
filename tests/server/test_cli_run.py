"""The command `run`: wrong arguments, ports that are taken, and contests that may not be played."""

from __future__ import annotations

import contextlib
import gc
import re
import socket
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from getstep_server.addresses import lan_address
from getstep_server.cli import run as run_command
from getstep_server.config.contest import Contest, load_contest
from getstep_server.storage.contest_state import results_of, tournament_of
from getstep_server.storage.database import DatabaseError, DatabaseProblem, ServerAwayError
from getstep_server.tournament.tournament import Tournament
from tests.support.command import Command


@contextmanager
def taken_port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


# --- run -----------------------------------------------------------------------------------------------------


def test_a_contest_without_any_client(command: Command, autumn: Path) -> None:
    ran = command("run", "autumn", "--now")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith(
        "Autumn contest: 3 teams\n  Hop, round robin, 5 s a move and 100 ms for lag\n"
        "Starts at once. Ctrl-C stops cleanly.\n"
    )
    assert re.search(rf"^Listening on {re.escape(lan_address())}, port \d+\.$", ran.out, re.MULTILINE)
    assert len(re.findall(r"^\[\d/6\] #\d \w+ – \w+: nobody came \(never_arrived: ", ran.out, re.MULTILINE)) == 6
    assert "Standings after 6 matches" in ran.out
    assert "\x1b" not in ran.out
    assert len(results_of(load_contest(autumn))) == 6


def test_the_objects_of_the_start_are_collected_no_more(
    command: Command, autumn: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frozen: list[int] = []
    monkeypatch.setattr(gc, "freeze", lambda: frozen.append(len(results_of(load_contest(autumn)))))
    assert command("run", "autumn", "--now").code == 0
    assert frozen == [0]  # once, before the first match


def test_a_contest_that_is_over_stays_as_it_is(command: Command, autumn: Path) -> None:
    first = command("run", "autumn", "--now").out.partition("Standings after")[2]
    again = command("run", "autumn")
    assert again.code == 0
    assert "\nThe contest is over: all 6 matches are played.\n" in again.out
    assert "Resumes" not in again.out
    assert "starts" not in again.out.lower()
    assert again.out.partition("Standings after")[2] == first
    assert len(results_of(load_contest(autumn))) == 6


@pytest.mark.parametrize(
    "error", [ServerAwayError("it restarts"), DatabaseError("it is killed", DatabaseProblem.AWAY)]
)
def test_a_database_that_goes_away_after_the_last_result_is_waited_for(
    command: Command, autumn: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    errors = [error]

    def fails_once(contest: Contest) -> Tournament:
        if errors:
            raise errors.pop()
        return tournament_of(contest)

    monkeypatch.setattr(run_command, "tournament_of", fails_once)
    monkeypatch.setattr(run_command, "_RETRY_SECONDS", 0)
    ran = command("run", str(autumn), "--now")
    assert (ran.code, ran.err) == (0, "")
    assert "Standings after 6 matches" in ran.out
    assert errors == []


def test_too_few_files_for_the_seats_are_said_at_the_start(
    command: Command, autumn: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_command, "file_limit", lambda: 402)
    said = (
        "! This system lets the server open 402 files, and 3 bots may connect; raise the limit first: ulimit -n 403"
    )
    assert said in command("run", "autumn", "--now").out
    monkeypatch.setattr(run_command, "file_limit", lambda: 403)
    assert "ulimit" not in command("run", "autumn", "--now").out


@pytest.mark.parametrize("teams", [0, 1])
def test_a_contest_needs_two_teams(command: Command, teams: int) -> None:
    command("init", "autumn")
    for n in range(teams):
        command("teams", "add", "autumn", f"Team {n}")
    ran = command("run", "autumn")
    assert ran.code == 2
    assert f"autumn/teams.toml: {teams} teams, expected at least 2; add some with: getstep-server teams" in ran.err


def test_a_port_that_is_taken(command: Command, autumn: Path) -> None:
    with taken_port() as port:
        ran = command("run", "autumn", "--host", "127.0.0.1", "--port", str(port))
    assert ran.code == 2
    assert f"cannot listen on 127.0.0.1 port {port}: Address already in use" in ran.err
    assert "Is another server running? Stop it, or change port (or host) under [server]" in ran.err
    assert "change port (or host) under [server] in autumn/contest.toml" in ran.err


def test_a_page_that_moves_to_another_port_says_that_the_slips_are_wrong(
    autumn: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of `run` only the part that opens the page: the page is a process of its own."""

    def opened(wanted: int) -> tuple[int, str]:
        contest = load_contest(autumn).listening_on(host="127.0.0.1", web_port=wanted)
        listener = run_command._page_listener(contest, run_command._progress(contest, plain=True))
        assert listener is not None
        with listener:
            return listener.getsockname()[1], capsys.readouterr().out

    with taken_port() as taken:
        port, said = opened(taken)
    assert port != taken
    assert f"\n! Port {taken} is taken: the live page is on port {port}. " in said
    assert f"or set web_port = {port} in autumn/contest.toml and print the slips again\n" in said
    assert "is taken" not in opened(0)[1]  # the system chooses it, and the slips name no page


def test_a_classic_port_that_is_taken(command: Command, autumn: Path) -> None:
    with taken_port() as port:
        ran = command("run", "autumn", "--host", "127.0.0.1", "--classic-port", str(port))
    assert ran.code == 2
    assert "change classic_port (or host) under [server] in autumn/contest.toml" in ran.err


def test_an_address_that_is_not_this_machines(command: Command, autumn: Path) -> None:
    ran = command("run", "autumn", "--host", "192.0.2.77")
    assert ran.code == 2
    assert "cannot listen on 192.0.2.77 port 0: " in ran.err
    assert "This machine has no such address. Give one of its own as --host, or change host under [serv" in ran.err
    assert "another server" not in ran.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--port 99999", "--port = 99999, expected at most 65535"),
        ("--port -1", "--port = -1, expected at least 0"),
        ("--classic-port 65536", "--classic-port = 65536, expected at most 65535"),
        ("--host a..b", "--host = 'a..b', expected a host name or an IP address"),
        ("--at 25:00", "--at '25:00', expected a time of day such as 14:30"),
        ("--at soon", "--at 'soon', expected a time of day such as 14:30"),
    ],
)
def test_wrong_arguments_of_run(command: Command, autumn: Path, arguments: str, message: str) -> None:
    assert command.complaint("run", "autumn", *arguments.split()) == message
    assert not (autumn / "contest.db").exists()


def test_a_classic_port_for_another_game(command: Command, autumn: Path) -> None:
    command("init", "spring", "--game", "linkage")
    message = command.complaint("run", "spring", "--classic-port", "8888")
    assert message.startswith("--classic-port = 8888, expected no classic_port: the classic wire plays hop only")


def test_a_late_team_plays_after_the_others(command: Command, autumn: Path) -> None:
    command("run", "autumn", "--now")
    command("teams", "add", "autumn", "Dorothy")
    ran = command("run", "autumn", "--now")
    assert ran.code == 0
    assert "\nResumes after 6 matches. Starts at once. Ctrl-C stops cleanly.\n" in ran.out
    results = results_of(load_contest(autumn))
    assert [4 in result.match.teams for result in results] == [False] * 6 + [True] * 6


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("teams = [1, 2, 7]", "event.teams = 7, expected the id of a team in teams.toml"),
        (
            'format = "gauntlet"\nsettings.challengers = [9]',
            "event.settings.challengers = 9, expected the id of a team in teams.toml",
        ),
    ],
)
def test_an_event_with_a_team_that_is_not_there(command: Command, autumn: Path, line: str, message: str) -> None:
    path = autumn / "contest.toml"
    text = path.read_text(encoding="utf-8")
    assert 'format = "round_robin"' in text
    kept = [row for row in text.split("\n") if not row.startswith(("format", "settings"))]
    kept.insert(kept.index("[[event]]") + 1, line)
    path.write_text("\n".join(kept), encoding="utf-8")
    number = path.read_text(encoding="utf-8").split("\n").index(line.split("\n")[-1]) + 1
    ran = command("run", "autumn", "--now")
    assert (ran.code, ran.err) == (2, f"getstep-server: autumn/contest.toml:{number}: {message}\n")


def test_the_game_may_not_change_once_matches_are_played(command: Command, autumn: Path) -> None:
    command("run", "autumn", "--now")
    path = autumn / "contest.toml"
    path.write_text(path.read_text(encoding="utf-8").replace('"hop"', '"linkage"', 1), encoding="utf-8")
    ran = command("run", "autumn")
    assert ran.code == 2
    assert "autumn/contest.toml: event 1: game = 'linkage', expected 'hop' as in the recorded pairings" in ran.err


def test_the_seed_may_not_change_once_matches_are_played(command: Command, autumn: Path) -> None:
    command("run", "autumn", "--now")
    path = autumn / "contest.toml"
    path.write_text(re.sub(r"seed = \d+", "seed = 1000001", path.read_text(encoding="utf-8")), encoding="utf-8")
    ran = command("run", "autumn")
    assert ran.code == 2
    assert re.search(r"autumn/contest.toml: seed = 1000001, expected \d+ as in the recorded pairings", ran.err)


def test_matches_that_run_without_a_database(command: Command, autumn: Path) -> None:
    (autumn / "running").mkdir()
    (autumn / "running" / "segment-1.journal").touch()
    ran = command("run", "autumn", "--now")
    assert ran.code == 2
    assert "contest.db: no records in it, and matches were played: running in autumn says so" in ran.err
    assert "Starts" not in ran.out


@pytest.mark.parametrize("change", ["UPDATE chain SET length = length + 5", "DELETE FROM chain"])
def test_a_damaged_chain_stops_the_start(command: Command, autumn: Path, change: str) -> None:
    command("run", "autumn", "--now")
    with contextlib.closing(sqlite3.connect(autumn / "contest.db", isolation_level=None)) as database:
        assert database.execute(change).rowcount
    for arguments in (["run", "autumn"], ["matches", "rematch", "autumn", "1", "--why", "again"]):
        ran = command(*arguments)
        assert (ran.code, ran.out) == (1, "")
        assert ran.err.startswith("getstep-server: autumn/contest.db: ")


def test_a_command_that_ends_leaves_all_in_one_file(command: Command, autumn: Path) -> None:
    for arguments in (
        ["run", "autumn", "--now"],
        ["matches", "rematch", "autumn", "1", "--why", "again"],
        ["verify", "autumn"],
    ):
        assert command(*arguments).code == 0
        assert [path.name for path in autumn.glob("contest.db*")] == ["contest.db"]


def test_a_time_of_day_that_is_past_is_tomorrows(command: Command, autumn: Path) -> None:
    past = (datetime.now() - timedelta(minutes=1)).strftime("%H:%M")
    with taken_port() as port:  # so that nobody has to wait for tomorrow
        ran = command("run", "autumn", "--at", past, "--host", "127.0.0.1", "--port", str(port))
    assert ran.code == 2
    assert f"Starts at {past} tomorrow. Ctrl-C stops cleanly.\n" in ran.out or past == "23:59"


def test_a_database_of_something_else(command: Command, autumn: Path) -> None:
    (autumn / "contest.db").write_bytes(b"this is no database" * 100)
    for arguments in (["standings", "autumn"], ["run", "autumn", "--now"]):
        ran = command(*arguments)
        assert ran.code == 1
        assert ran.err.startswith("getstep-server: autumn/contest.db: ")
        assert ran.err.count("\n") == 1
