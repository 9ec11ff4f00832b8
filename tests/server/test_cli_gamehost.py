"""The command gamehost: one game of two programs, and the lines of its result."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from getstep.games import Board
from getstep.programs.program import ProgramCallback
from getstep.turn import Turn
from getstep_engines import GAMES, Player
from getstep_server.cli._parser import EXIT_NO_GAME
from getstep_server.cli.gamehost import GameOver, play
from getstep_server.cli.main import main
from getstep_server.storage.database import StoreError
from tests.support.command import Command, Ran
from tests.support.convention_programs import PRODRIVE
from tests.support.submitted_programs import needs_sandbox


def first_empty(board: Board, _is_black: bool) -> tuple[int, int]:
    return next((r, c) for r, row in enumerate(board) for c, cell in enumerate(row) if not cell)


def last_empty(board: Board, _is_black: bool) -> tuple[int, int]:
    return max((r, c) for r, row in enumerate(board) for c, cell in enumerate(row) if not cell)


def result(first: Callable[..., Any], second: Callable[..., Any]) -> list[str]:
    return play([ProgramCallback(first).call, ProgramCallback(second).call]).lines


def test_the_result_has_the_groups_by_length() -> None:
    moves: list[Any] = []

    def noted(player: Callable[..., Any]) -> Callable[..., Any]:
        def get_step(board: Board, is_black: bool, turn: Turn) -> Any:
            assert turn.last_move == (moves[-1] if moves else None)
            assert turn.time_left_ms == 3000
            moves.append(player(board, is_black))
            return moves[-1]

        return get_step

    lines = result(noted(first_empty), noted(last_empty))
    state = GAMES["longest_path"].start()
    for move in moves:
        state.play(move)
    assert state.outcome is not None
    assert [line.partition(": ")[2] for line in lines[:2]] == [
        "-".join(map(str, counts)) for counts in state.outcome.scores
    ]
    assert lines[2] == f"player {state.outcome.winner} wins"
    assert len(moves) == 121


def raises(_board: Board, _is_black: bool) -> None:
    raise RuntimeError("the program has ended")


@pytest.mark.parametrize(
    ("first", "lines"),
    [
        (raises, ["player 0: 0", "player 1: 0", "player 1 wins; fault of player 0: the program has ended"]),
        (
            lambda _board, _is_black: (11, 0),
            ["player 0: 0", "player 1: 0", "player 1 wins; fault of player 0: [11, 0] is not a square"],
        ),
    ],
)
def test_a_fault_loses_and_is_told(first: Callable[..., Any], lines: list[str]) -> None:
    *scores, winner = result(first, last_empty)
    assert (scores, winner[: len(lines[2])]) == (lines[:2], lines[2])


def test_a_late_move_loses(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([0.0, 1.0, 10.0, 13.2])  # the beginning and the end of each turn
    monkeypatch.setattr("getstep_server.cli.gamehost.time", SimpleNamespace(monotonic=lambda: next(times)))
    assert result(first_empty, last_empty)[2] == "player 0 wins; fault of player 1: no answer within 3 s"


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "my program.py"
    path.write_text("import sys\nassert sys.argv[1:] == ['-u', 'two words']\n" + PRODRIVE)
    return path


ARGUMENTS = "-u 'two words'"
LINES = re.compile(r"player 0: [0-9]+(-[0-9]+)*\nplayer 1: [0-9]+(-[0-9]+)*\nplayer ([01]) wins\n")


def assert_result(ran: Ran) -> None:
    """The exit code is the winner's number, counted from 1."""
    lines = LINES.fullmatch(ran.out)
    assert lines
    assert ran.code == int(lines[3]) + 1


def test_two_programs(command: Command, program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One is given as a file, the other one as a program on the path."""
    monkeypatch.chdir(program.parent)
    ran = command("gamehost", str(program), ARGUMENTS, "python3", f"'my program.py' {ARGUMENTS}")
    assert ran.err == ""
    assert_result(ran)
    ended = (program.parent / "ended.txt").read_text()
    assert set(re.findall(r"\d: \d+", ended)) == {"0: 121", "1: 121"}  # both by themselves, after the last move


@pytest.mark.parametrize(("winner", "code"), [(0, 1), (1, 2), (None, 0)])
def test_the_exit_code_is_the_winner(
    command: Command, program: Path, monkeypatch: pytest.MonkeyPatch, winner: Player | None, code: int
) -> None:
    monkeypatch.setattr("getstep_server.cli.gamehost.play", lambda _: GameOver(["a line"], winner))
    assert command("gamehost", str(program), "", str(program), "").code == code


@pytest.mark.parametrize("error", [ZeroDivisionError("of our own"), OSError("of the system"), StoreError("known")])
def test_no_error_has_the_exit_code_of_a_winner(
    program: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], error: Exception
) -> None:
    def play(_: object) -> None:
        raise error

    monkeypatch.setattr("getstep_server.cli.gamehost.play", play)
    monkeypatch.setattr("os.dup2", lambda *_: None)  # it would take standard output from the other tests
    with pytest.raises(SystemExit) as ended:
        main(["gamehost", str(program), "", str(program), ""])
    assert ended.value.code == EXIT_NO_GAME
    assert str(error) in capfd.readouterr().err


def test_an_unknown_option_has_no_exit_code_of_a_winner(command: Command) -> None:
    assert command("gamehost", "--sandbox").code == EXIT_NO_GAME


@needs_sandbox
def test_standard_error_is_shown_from_the_sandbox(command: Command, tmp_path: Path) -> None:
    """As without -s, while all is well; only what a terminal would obey is escaped."""
    source = (
        "import sys\nprint('begins\\nZoë \\x1b[2J', file=sys.stderr)\nprint(1, 2, flush=True)\nsys.stdin.read()\n"
    )
    (tmp_path / "first.py").write_text(source, encoding="utf-8")
    (tmp_path / "second.py").write_text("import sys\nprint('no move', flush=True)\nsys.stdin.read()\n")
    core = str(min(os.sched_getaffinity(0)))
    ran = command("gamehost", str(tmp_path / "first.py"), "", str(tmp_path / "second.py"), "", "-s", core)
    assert ran.err == "begins\nZoë \\u001b[2J\n"
    assert ran.code == 1
    assert "player 0 wins; fault of player 1: wrote 'no move'" in ran.out


@needs_sandbox
@pytest.mark.long  # starts two processes in the sandbox
def test_two_programs_in_the_sandbox(command: Command, program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(program.parent)
    core = min(os.sched_getaffinity(0))
    ran = command("gamehost", str(program), ARGUMENTS, "python3", f"'my program.py' {ARGUMENTS}", "-s", str(core))
    assert ran.err == ""
    assert_result(ran)
    assert not (program.parent / "ended.txt").exists()  # it was written in a copy of the folder


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "expected two programs with one string of arguments each: "),
        (["{p}", "", "{p}"], "expected two programs with one string of arguments each: "),
        (["{p}", "", "nobody", ""], "'nobody', expected a program's file, or a program on the path"),
        (["{p}", "'", "{p}", ""], '"\'": No closing quotation; expected the arguments of {p}'),
        (["{p}", "", "{p}", "", "-s", "x"], "-s 'x', expected a processor core: "),
        (["-s", "5000", "{p}", "", "{p}", ""], "-s '5000', expected a processor core: "),
        (["{cpp}", "", "{p}", ""], "my program.cpp is source code; compile it first. Type:"),
    ],
)
def test_wrong_arguments(command: Command, program: Path, words: list[str], message: str) -> None:
    (program.parent / "my program.cpp").touch()
    given = [word.format(p=program, cpp=program.with_suffix(".cpp")) for word in words]
    assert command.complaint("gamehost", *given, code=EXIT_NO_GAME).startswith(message.format(p=program))


def test_a_folder_that_is_too_large_for_the_sandbox(command: Command, program: Path) -> None:
    with (program.parent / "large").open("wb") as file:
        file.truncate(1 << 40)
    core = str(min(os.sched_getaffinity(0)))
    complaint = command.complaint("gamehost", str(program), "", str(program), "", "-s", core, code=EXIT_NO_GAME)
    assert complaint.endswith("too much for the sandbox; put the program into a folder of its own")
