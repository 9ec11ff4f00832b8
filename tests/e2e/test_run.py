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
from getstep_server.config.contest import load_contest
from getstep_server.records.result import Result
from getstep_server.reports.event_lines import NAME_CELLS
from getstep_server.reports.text_table import truncate_middle
from getstep_server.storage.contest_state import results_of
from tests.support.contests import token_of
from tests.support.processes import free_port
from tests.support.terminal import OnTerminal

if TYPE_CHECKING:
    from tests.support.contests import MakeContest
    from tests.support.processes import Program, Programs

COMMAND = [sys.executable, "-m", "getstep_server"]
BOT = Path(str(getstep_bots.__file__)).with_name("random_bot.py")
GATED_BOT = """\
import time
from pathlib import Path
from getstep_engines import GAMES

begun = set()

def get_step(board, is_black, turn):
    begun.add(turn.match)
    while len(begun) > {free} and not Path({gate!r}).exists():
        time.sleep(0.01)
    return next(GAMES[turn.game].from_board(board, is_black).legal_moves())
"""
FAREWELL_FOR_EVER = """\
from getstep_server.cli.main import main
from getstep_server.net import connection, registry

registry.SHUTDOWN_SECONDS = connection.LINGER_SECONDS = 1e6  # a client that never closes would hold it for ever
main()
"""
MATCH = re.compile(r"^\[(\d+)/(\d+)\] (.*)", re.MULTILINE)


def named(folder: Path, *names: str) -> Path:
    """Return the contest with other names for its teams."""
    path = folder / "teams.toml"
    text = path.read_text()
    for number, name in enumerate(names, start=1):
        text = text.replace(f'"Team {number}"', f"'{name}'")
    path.write_text(text, encoding="utf-8")
    return folder


def stored(folder: Path) -> list[Result]:
    return results_of(load_contest(folder))


def table(output: str) -> list[list[str]]:
    """Return the last table of standings in it, row by row."""
    return [line.split() for line in output.rpartition("\n#  team")[2].splitlines() if re.match(r" *\d+ ", line)]


def gated_bot(folder: Path, free: int) -> Path:
    """Return a bot that plays this many matches, and more only once the folder has a file ``gate``.

    So a contest can be caught in the middle.
    """
    path = folder / "gated_bot.py"
    path.write_text(GATED_BOT.format(free=free, gate=str(folder / "gate")))
    return path


# --- stopped and gone on with --------------------------------------------------------------------------------

STOPS = {signal.SIGINT: 130, signal.SIGTERM: 130, signal.SIGKILL: -9}
TERM = pytest.param(signal.SIGTERM, marks=pytest.mark.long)  # as SIGINT; a quick test of test_resume sends it


@pytest.mark.long
@pytest.mark.parametrize("stop", [signal.SIGINT, TERM, signal.SIGKILL], ids=lambda stop: stop.name)
def test_a_stopped_contest_is_resumed(programs: Programs, make_contest: MakeContest, stop: signal.Signals) -> None:
    folder = make_contest(4, event={"game": "longest_path"}, server={"port": free_port()})
    first = programs.serve(folder)
    bots = [programs.play(first, gated_bot(folder, 2), team) for team in range(1, 5)]
    first.expect(r"^\[3/12\] ")
    first.signal(stop)
    assert first.wait() == STOPS[stop]
    kept = stored(folder)
    announced = MATCH.findall(first.output)
    assert len(announced) <= len(kept) < 12
    if stop is not signal.SIGKILL:
        stopped = f"Stopped. Every finished match is on record; resume with: getstep-server run {folder}"
        assert stopped in first.output
        assert sum(int(row[3]) for row in table(first.output)) == 2 * len(kept)
        assert len(announced) == len(kept)
    assert "Traceback" not in first.output

    (folder / "gate").touch()
    again = programs.serve(folder)  # the same bots come back by themselves
    assert again.wait() == 0
    assert f"Resumes after {len(kept)} matches" in again.output
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
    server = programs.serve(make_contest(), server=("-c", FAREWELL_FOR_EVER))
    with socket.create_connection(("127.0.0.1", server.port)) as client:
        assert client.recv(4096)  # hello; it says nothing, and does not close
        server.signal(signal.SIGINT)
        while client.recv(4096):  # goodbye
            pass
        server.signal(signal.SIGINT)
        assert server.wait() == 130  # it would have waited for the client to close
    assert "Traceback" not in server.output


# --- on a terminal -------------------------------------------------------------------------------------------


def run_on_terminal(folder: Path) -> OnTerminal:
    return OnTerminal([*COMMAND, "run", str(folder), "--no-web", "--no-announce"])


def play_on(programs: Programs, terminal: OnTerminal, team: int, bot: Path = BOT) -> Program:
    port = terminal.expect(r"^Listening on 127\.0\.0\.1, port (\d+)")[1]
    login = ["--team", str(team), "--token", token_of(team), "--port", port]
    return programs.start(sys.executable, "-m", "getstep", "play", str(bot), *login)


@pytest.mark.long
def test_enter_starts_it(programs: Programs, make_contest: MakeContest) -> None:
    folder = make_contest(3, start={"absent_seconds": 0.5})
    with run_on_terminal(folder) as terminal:
        terminal.expect("Starts when all teams are here, or when you press Enter. Ctrl-C stops cleanly.")
        bot = gated_bot(folder, 0)
        bots = [play_on(programs, terminal, team, bot) for team in (1, 2)]
        terminal.expect(r"^2 of 3 teams connected, missing: Team 3$")
        assert "matches" not in terminal.screen.text
        terminal.type("\n")
        terminal.expect(r"^0/6 matches")  # the bots wait in the first
        (folder / "gate").touch()
        assert terminal.wait() == 0
        assert [bot.wait() for bot in bots] == [0, 0]
        words = [line.split()[0] for line in terminal.screen.text.splitlines() if line]
    # The live view is gone, and of the Enter a blank line is left
    *hello, hash_of, digest = words[: words.index("To")]  # write a page, with a path that fills the line
    title, header, first, second, third, order = words[words.index("Standings") :]
    assert hello == ["Test:", "Hop,", "Starts"]
    assert (hash_of, len(digest), title, header) == ("Hash", 64, "Standings", "#")
    assert [first, second, third, order] == [*"123", "Order:"]
    reasons = Counter(result.reason for result in stored(folder) if 3 in result.match.teams)
    assert reasons == {"never_arrived": 4}
    assert terminal.screen.unknown == []
    assert terminal.screen.cursor_shown


def test_all_there_starts_it_while_it_waits_for_enter(programs: Programs, make_contest: MakeContest) -> None:
    folder = make_contest(2, event={"game": "chain_reaction"})
    with run_on_terminal(folder) as terminal:
        bots = [play_on(programs, terminal, team) for team in (1, 2)]
        assert terminal.wait() == 0
        assert [bot.wait() for bot in bots] == [0, 0]
    assert len(stored(folder)) == 2
    assert "Fatal" not in terminal.raw


def test_ctrl_c_on_a_terminal(programs: Programs, make_contest: MakeContest) -> None:
    folder = make_contest(2, event={"game": "longest_path"})
    with run_on_terminal(folder) as terminal:
        for team in (1, 2):
            play_on(programs, terminal, team, gated_bot(folder, 0))
        terminal.expect(r"^playing: #\d+ Team")
        terminal.interrupt()
        assert terminal.wait() == 130
    text = terminal.screen.text.replace("\n", "")
    assert text.endswith(f"Stopped. Every finished match is on record; resume with: getstep-server run {folder}")
    assert "Traceback" not in terminal.raw
    assert terminal.screen.cursor_shown


NAMES = (
    "[bold]Ada[/] [link=//x]:boom:",
    "Die außerordentlich lange Mannschaft aus dem letzten Winkel [b]",
)


def test_long_names_and_markup_on_80_columns(programs: Programs, make_contest: MakeContest) -> None:
    folder = named(make_contest(2, event={"game": "pseudo_tonga"}), *NAMES)
    ada, other = (re.escape(truncate_middle(name, NAME_CELLS)) for name in NAMES)
    with run_on_terminal(folder) as terminal:
        play_on(programs, terminal, 1)
        terminal.expect(rf"^1 of 2 teams connected, missing: {other}$")
        terminal.expect(rf"^\+ {ada} connected from")
        play_on(programs, terminal, 2)
        assert terminal.wait() == 0
    lines = terminal.screen.text.splitlines()
    assert len([line for line in lines if re.match(r"[12]  ", line)]) == 2
    assert NAMES[0] in terminal.screen.text
    assert all(word in terminal.screen.text for word in NAMES[1].split())  # on two lines
    assert max(map(len, lines)) <= 80
    assert terminal.screen.unknown == []
    assert "\x1b]8;" not in terminal.raw  # the text did not become a link
