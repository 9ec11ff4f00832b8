"""The watchdog: the time at which it reports a late call, and the place that it names."""

from __future__ import annotations

import re
import threading
from traceback import FrameSummary, StackSummary
from typing import Any

import pytest

from getstep._watchdog import Watchdog, format_calls, location
from getstep.turn import Callback, Turn
from tests.support.patience import PATIENCE_SECONDS

TURN = Turn("hop", 1, 1, "them", None, 5000)
LATE, SOON = 0.01, 60.0


class Heard:
    """The reports of the watchdog."""

    def __init__(self) -> None:
        self.stacks: list[StackSummary] = []
        self.said = threading.Event()

    def __call__(self, stack: StackSummary) -> None:
        self.stacks.append(stack)
        self.said.set()


def test_a_call_in_time_is_never_reported() -> None:
    dog, heard = Watchdog(), Heard()
    for _ in range(100):
        with dog.watch((SOON, heard)):
            pass
    assert not heard.stacks


def test_each_late_call_is_reported_once() -> None:
    dog = Watchdog()
    for _ in range(3):
        heard = Heard()
        with dog.watch((LATE, heard)):
            assert heard.said.wait(PATIENCE_SECONDS)
        assert len(heard.stacks) == 1


def test_a_call_can_be_reported_more_than_once() -> None:
    dog, first, second, never = Watchdog(), Heard(), Heard(), Heard()
    with dog.watch((LATE, first), (2 * LATE, second), (SOON, never)):
        assert second.said.wait(PATIENCE_SECONDS)
    assert (len(first.stacks), len(second.stacks), len(never.stacks)) == (1, 1, 0)
    with dog.watch((LATE, never)):
        assert never.said.wait(PATIENCE_SECONDS)


def test_a_short_limit_after_a_long_one_is_noticed() -> None:
    dog, heard = Watchdog(), Heard()
    with dog.watch((SOON, heard)):
        pass
    with dog.watch((LATE, heard)):
        assert heard.said.wait(PATIENCE_SECONDS)


def test_the_thread_ends_with_the_last_call() -> None:
    dog = Watchdog()
    before = set(threading.enumerate())
    with dog.watch((SOON, Heard())):
        [thread] = set(threading.enumerate()) - before
    thread.join(PATIENCE_SECONDS)
    assert not thread.is_alive()


def test_a_bot_that_has_used_up_all_threads_plays_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    with Watchdog().watch((LATE, Heard())):
        pass


def test_the_stack_is_the_contestants_own() -> None:
    heard = Heard()

    def search() -> None:
        while True:  # reports until one is of a call that has come here
            heard.said.clear()
            assert heard.said.wait(PATIENCE_SECONDS)
            if "search" in [call.name for call in heard.stacks[-1]]:
                return

    def get_step(board: Any, is_black: bool) -> None:
        search()

    with Watchdog().watch(*((n * LATE, heard) for n in range(1, 10_000))):
        Callback(get_step).call([[0]], True, TURN)
    stack = next(stack for stack in reversed(heard.stacks) if "search" in [call.name for call in stack])
    assert [call.name for call in stack][:2] == ["get_step", "search"]
    assert re.fullmatch(r"test_watchdog\.py line \d+", location(stack))
    own = [call for call in stack if call.name == "search"]
    assert location(stack).endswith(f" {own[-1].lineno}")
    assert "in get_step" in format_calls(stack)


def test_a_place_without_code_of_ones_own() -> None:
    library = FrameSummary(threading.__file__, 7, "wait", lookup_line=False, line="")
    assert location(StackSummary.from_list([library])) == "threading.py line 7"
    assert location(StackSummary.from_list([])) == "an unknown place"


def test_a_deep_stack_is_shown_by_its_innermost_calls() -> None:
    deep = [FrameSummary("bot.py", line, f"f{line}", lookup_line=False, line="") for line in range(900)]
    shown = format_calls(StackSummary.from_list(deep))
    assert "f899" in shown
    assert shown.count("\n") < 20
