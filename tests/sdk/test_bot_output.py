"""What a contestant's terminal shows of a bot that prints, or fails again and again."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from getstep.client import _bot_output
from getstep.client._bot_output import SHOWN_LINES, BotOutput, OutputLog, RepeatedProblems
from tests.support.patience import PATIENCE_SECONDS


def test_the_first_lines_of_a_match_are_shown_and_the_others_counted(capsys: pytest.CaptureFixture[str]) -> None:
    output, before = BotOutput(), sys.stdout
    for number in range(900):
        with output.counted():
            print("line", number, flush=True)
    assert sys.stdout is before
    assert capsys.readouterr().out.splitlines() == [f"line {number}" for number in range(SHOWN_LINES)]
    assert output.end_match() == "get_step printed 880 more lines; the last: line 899"
    assert output.end_match() == ""
    with output.counted():
        print("the next match")
    assert capsys.readouterr().out == "the next match\n"


def test_the_log_has_all_lines_with_match_and_move_in_front(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "my_bot-output.log"
    output = BotOutput(OutputLog(path))
    with output.counted("match 3, move 7"):
        pass
    assert not path.exists()
    for move in range(1, 31):
        with output.counted(f"match 3, move {move}"):
            print("plan", move)
            print("two\nlines", end="" if move < 30 else "\n")
    with contextlib.suppress(KeyboardInterrupt), output.counted("match 3, move 31"):
        print("it hangs")
        raise KeyboardInterrupt
    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines[:3] == ["match 3, move 1: plan 1", "match 3, move 1: two", "match 3, move 1: lines"]
    assert lines[-1] == "match 3, move 31: it hangs"
    assert len(lines) == 91
    assert output.end_match() == f"get_step printed 42 more lines, all in {path}; the last: it hangs"
    output.close_log()
    capsys.readouterr()

    monkeypatch.setattr(_bot_output, "LOG_CHARACTERS", 4000)
    again = BotOutput(OutputLog(path))
    for move in range(1000):
        with again.counted(f"match 4, move {move}"):
            print("x" * 70)
    again.close_log()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["my_bot-output.log", "my_bot-output.log.1"]
    assert sum(file.stat().st_size for file in tmp_path.iterdir()) < 12_000
    assert path.read_text().splitlines()[-1].startswith("match 4, move 999: xxx")


def test_a_log_that_cannot_be_written_costs_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = BotOutput(OutputLog(tmp_path / "missing" / "my_bot-output.log"))
    with output.counted("match 1, move 1"):
        print("shown")
        print("shown")
    assert capsys.readouterr().out == "shown\nshown\n"


def test_bots_in_other_threads_leave_the_output_alone(capsys: pytest.CaptureFixture[str]) -> None:
    before = sys.stdout

    def two_bots_one_of_which_ends_first() -> None:
        first, second = BotOutput().counted(), BotOutput().counted()
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        print("shown")
        second.__exit__(None, None, None)

    thread = threading.Thread(target=two_bots_one_of_which_ends_first)
    thread.start()
    thread.join()
    assert sys.stdout is before
    assert capsys.readouterr().out == "shown\n"


def test_the_output_ends_with_an_exception(capsys: pytest.CaptureFixture[str]) -> None:
    before = sys.stdout

    def stop() -> None:
        assert sys.stdout.encoding == before.encoding
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), BotOutput().counted():
        stop()
    assert sys.stdout is before
    assert capsys.readouterr().out == ""


def test_a_program_without_a_console(monkeypatch: pytest.MonkeyPatch) -> None:
    output = BotOutput()
    with monkeypatch.context() as without:
        without.setattr(sys, "stdout", None)
        with output.counted():
            print("nowhere")
    assert output.end_match() == ""


def test_the_same_problem_is_shown_once_and_then_counted() -> None:
    problems = RepeatedProblems()
    trace = "get_step raised:\n  File x\nValueError: no idea"
    assert [problems.is_new(trace) for _ in range(4)] == [True, False, False, False]
    assert problems.is_new("another")
    assert problems.end_match() == ["the same problem as before occurred 3 more times: ValueError: no idea"]
    assert problems.end_match() == []
    assert not problems.is_new(trace)
    assert problems.end_match() == ["the same problem as before occurred 1 more time: ValueError: no idea"]


def test_a_file_started_by_python_says_what_getstep_play_says(tmp_path: Path) -> None:
    bot = tmp_path / "my_bot.py"
    bot.write_text(
        "import getstep\ndef get_step(board, is_black): pass\n"
        "if __name__ == '__main__':\n    getstep.play(get_step, host='a:b')\n",
        encoding="utf-8",
    )

    def said(*words: str) -> tuple[str, int]:
        done = subprocess.run(
            [sys.executable, *words], capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False
        )
        return done.stderr, done.returncode

    by_python, code = said(str(bot))
    by_getstep, _ = said("-m", "getstep", "play", str(bot), "--host", "a:b")
    assert by_python == by_getstep
    assert by_python.startswith("getstep: The host is 'a:b'")
    assert code == 1
