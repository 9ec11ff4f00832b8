"""A contest as the host runs it: stopped in the middle, killed, gone on with, started with Enter, looked at."""

from __future__ import annotations

import re
import signal
import socket
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import getstep_bots
from getstep_server.contest import load_contest
from getstep_server.progress import NAME_IN_VIEW
from getstep_server.results import Result
from getstep_server.run import results_of
from getstep_server.text_table import shortened
from tests.server.screens import OnTerminal

from .conftest import free_port, token_of

if TYPE_CHECKING:
    from .conftest import MakeContest, Program, Programs

COMMAND = [sys.executable, "-m", "getstep_server"]
BOT = Path(str(getstep_bots.__file__)).with_name("random_bot.py")
SLOW_BOT = """\
import time
from getstep_engines import GAMES

def get_step(board, is_black, turn):
    time.sleep({seconds})
    return next(GAMES[turn.game].from_board(board, is_black).legal_moves())
"""
MATCH = re.compile(r"^\[(\d+)/(\d+)\] (.*)", re.MULTILINE)


def named(folder: Path, *names: str) -> Path:
    """The contest with other names for its teams."""
    path = folder / "teams.toml"
    text = path.read_text()
    for number, name in enumerate(names, start=1):
        text = text.replace(f'"Team {number}"', f"'{name}'")
    path.write_text(text, encoding="utf-8")
    return folder


def stored(folder: Path) -> list[Result]:
    return results_of(load_contest(folder))


def table(output: str) -> list[list[str]]:
    """The last table of standings in it, row by row."""
    return [line.split() for line in output.rpartition("\n#  team")[2].splitlines() if re.match(r" *\d+ ", line)]


def slow_bot(folder: Path, seconds: float) -> Path:
    """A bot that takes so long for each move that a contest can be caught in the middle."""
    path = folder / "slow_bot.py"
    path.write_text(SLOW_BOT.format(seconds=seconds))
    return path


# --- stopped and gone on with --------------------------------------------------------------------------------

STOPS = {signal.SIGINT: 130, signal.SIGTERM: 130, signal.SIGKILL: -9}


@pytest.mark.parametrize("stop", STOPS, ids=lambda stop: stop.name)
def test_a_contest_is_stopped_and_goes_on_where_it_was(
    programs: Programs, make_contest: MakeContest, stop: signal.Signals
) -> None:
    folder = make_contest([""] * 4, game="longest_path", port=free_port())
    first = programs.serve(folder)
    bots = [programs.play(first, slow_bot(folder, 0.004), team) for team in range(1, 5)]
    first.expect(r"^\[3/12\] ")
    first.signal(stop)
    assert first.wait() == STOPS[stop]
    kept = stored(folder)
    announced = MATCH.findall(first.output)
    assert len(announced) <= len(kept) < 12
    if stop is not signal.SIGKILL:
        assert f"Stopped. Every finished match is kept; go on with: getstep-server run {folder}" in first.output
        assert sum(int(row[3]) for row in table(first.output)) == 2 * len(kept)
        assert len(announced) == len(kept)
    assert "Traceback" not in first.output

    again = programs.serve(folder)  # the same bots come back by themselves
    assert again.wait() == 0
    assert f"where it was: {len(kept)} matches played" in again.output
    assert [bot.wait() for bot in bots] == [0] * 4
    results = stored(folder)
    assert results[: len(kept)] == kept
    assert sorted(result.match.number for result in results) == list(range(1, 13))
    assert [int(number) for number, _, _ in MATCH.findall(again.output)] == list(range(len(kept) + 1, 13))
    assert Counter(team for result in results for team in result.match.teams) == dict.fromkeys(range(1, 5), 6)
    assert [row[3] for row in table(again.output)] == ["6"] * 4

    standings = programs.start(*COMMAND, "standings", str(folder))
    assert standings.wait() == 0
    assert table(standings.output) == table(again.output)


def test_the_second_ctrl_c_does_not_wait_for_anybody(programs: Programs, make_contest: MakeContest) -> None:
    server = programs.serve(make_contest(["", ""]))
    with socket.create_connection(("127.0.0.1", server.port)) as client:
        assert client.recv(4096)  # hello; it says nothing, and does not close
        server.signal(signal.SIGINT)
        while client.recv(4096):  # goodbye
            pass
        server.signal(signal.SIGINT)
        assert server.wait(seconds=1.5) == 130  # it would have waited for 2 s
    assert "Traceback" not in server.output


# --- on a terminal -------------------------------------------------------------------------------------------


def run_on_terminal(folder: Path) -> OnTerminal:
    return OnTerminal([*COMMAND, "run", str(folder)])


def play_on(programs: Programs, terminal: OnTerminal, team: int, bot: Path = BOT) -> Program:
    port = terminal.expect(r"^Listening on 127\.0\.0\.1, port (\d+)")[1]
    login = ["--team", str(team), "--token", token_of(team), "--port", port]
    return programs.start(sys.executable, "-m", "getstep", "play", str(bot), *login)


def test_enter_starts_it(programs: Programs, make_contest: MakeContest) -> None:
    folder = make_contest([""] * 3, absent_seconds=0.5)
    with run_on_terminal(folder) as terminal:
        terminal.expect("Starts when all teams are here, or when you press Enter. Ctrl-C stops cleanly.")
        bots = [play_on(programs, terminal, team) for team in (1, 2)]
        terminal.expect(r"^2 of 3 teams are here, missing: Team 3$")
        assert "matches" not in terminal.screen.text
        terminal.type("\n")
        terminal.expect(r"^[1-6]/6 matches")
        assert terminal.wait() == 0
        assert [bot.wait() for bot in bots] == [0, 0]
        words = [line.split()[0] for line in terminal.screen.text.splitlines() if line]
    # The live view is gone, and of the Enter a blank line is left
    *hello, hash_of, digest = words[: words.index("All")]  # of it as a page, with a path that fills the line
    title, header, first, second, third, order = words[words.index("Standings") :]
    assert hello == ["Test:", "hop,", "Starts"]
    assert (hash_of, len(digest), title, header) == ("Hash", 64, "Standings", "#")
    assert [first, second, third, order] == [*"123", "Order:"]
    reasons = Counter(result.reason for result in stored(folder) if 3 in result.match.teams)
    assert reasons == {"never_arrived": 4}
    assert terminal.screen.unknown == []
    assert terminal.screen.cursor_shown


def test_all_there_starts_it_while_it_waits_for_enter(programs: Programs, make_contest: MakeContest) -> None:
    folder = make_contest([""] * 2, game="chain_reaction")
    with run_on_terminal(folder) as terminal:
        bots = [play_on(programs, terminal, team) for team in (1, 2)]
        assert terminal.wait() == 0
        assert [bot.wait() for bot in bots] == [0, 0]
    assert len(stored(folder)) == 2
    assert "Fatal" not in terminal.raw


def test_ctrl_c_on_a_terminal(programs: Programs, make_contest: MakeContest) -> None:
    folder = make_contest([""] * 2, game="longest_path")
    with run_on_terminal(folder) as terminal:
        for team in (1, 2):
            play_on(programs, terminal, team, slow_bot(folder, 0.05))
        terminal.expect(r"^playing: #\d+ Team")
        terminal.interrupt()
        assert terminal.wait() == 130
    text = terminal.screen.text.replace("\n", "")
    assert text.endswith(f"Stopped. Every finished match is kept; go on with: getstep-server run {folder}")
    assert "Traceback" not in terminal.raw
    assert terminal.screen.cursor_shown


NAMES = (
    "[bold]Ada[/] [link=//x]:boom:",
    "Die außerordentlich lange Mannschaft aus dem letzten Winkel [b]",
)


def test_long_names_and_markup_on_80_columns(programs: Programs, make_contest: MakeContest) -> None:
    folder = named(make_contest([""] * 2, game="pseudo_tonga"), *NAMES)
    ada, other = (re.escape(shortened(name, NAME_IN_VIEW)) for name in NAMES)
    with run_on_terminal(folder) as terminal:
        play_on(programs, terminal, 1)
        terminal.expect(rf"^1 of 2 teams are here, missing: {other}$")
        terminal.expect(rf"^\+ {ada} has arrived")
        play_on(programs, terminal, 2)
        assert terminal.wait() == 0
    lines = terminal.screen.text.splitlines()
    assert len([line for line in lines if re.match(r"[12]  ", line)]) == 2
    assert NAMES[0] in terminal.screen.text
    assert all(word in terminal.screen.text for word in NAMES[1].split())  # on two lines
    assert max(map(len, lines)) <= 80
    assert terminal.screen.unknown == []
    assert "\x1b]8;" not in terminal.raw  # no link came of it
