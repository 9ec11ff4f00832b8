"""Who looks when a call is late, and where it says the call is."""

from __future__ import annotations

import threading
from traceback import FrameSummary, StackSummary
from typing import Any

import pytest

from getstep._turn import Callback, Turn
from getstep._watchdog import Watchdog, calls, place

TURN = Turn("hop", 1, 1, "them", None, 5000)
LATE, SOON = 0.01, 60.0


class Heard:
    """What the watchdog says."""

    def __init__(self) -> None:
        self.stacks: list[StackSummary] = []
        self.said = threading.Event()

    def __call__(self, stack: StackSummary) -> None:
        self.stacks.append(stack)
        self.said.set()


def test_a_call_in_time_is_never_told() -> None:
    dog, heard = Watchdog(), Heard()
    for _ in range(100):
        with dog.over(SOON, heard):
            pass
    assert not heard.stacks


def test_each_late_call_is_told_once() -> None:
    dog = Watchdog()
    for _ in range(3):
        heard = Heard()
        with dog.over(LATE, heard):
            assert heard.said.wait(10)
        assert len(heard.stacks) == 1


def test_a_short_limit_after_a_long_one_is_seen() -> None:
    dog, heard = Watchdog(), Heard()
    with dog.over(SOON, heard):
        pass
    with dog.over(LATE, heard):
        assert heard.said.wait(10)


def test_the_thread_ends_with_the_last_call() -> None:
    dog = Watchdog()
    before = set(threading.enumerate())
    with dog.over(SOON, Heard()):
        [thread] = set(threading.enumerate()) - before
    thread.join(10)
    assert not thread.is_alive()


def test_a_bot_that_has_used_up_all_threads_plays_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    with Watchdog().over(LATE, Heard()):
        pass


def test_the_stack_is_the_contestants_own() -> None:
    heard = Heard()

    def search() -> None:
        assert heard.said.wait(10)

    def get_step(board: Any, is_black: bool) -> None:
        search()

    with Watchdog().over(LATE, heard):
        Callback(get_step).think([[0]], True, TURN)
    [stack] = heard.stacks
    assert [call.name for call in stack][:2] == ["get_step", "search"]
    assert place(stack) == f"test_watchdog.py line {search.__code__.co_firstlineno + 1}"
    assert "in get_step" in calls(stack)


def test_a_place_without_code_of_ones_own() -> None:
    library = FrameSummary(threading.__file__, 7, "wait", lookup_line=False, line="")
    assert place(StackSummary.from_list([library])) == "threading.py line 7"
    assert place(StackSummary.from_list([])) == "an unknown place"


def test_of_a_deep_stack_the_innermost_calls_are_shown() -> None:
    deep = [FrameSummary("bot.py", line, f"f{line}", lookup_line=False, line="") for line in range(900)]
    shown = calls(StackSummary.from_list(deep))
    assert "f899" in shown
    assert shown.count("\n") < 20
