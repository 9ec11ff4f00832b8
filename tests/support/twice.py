"""Run tests, and those that failed once more, alone: a busy machine fails a test now and then, a mistake each time.

    python -m tests.support.twice PYTEST-ARGUMENTS [--and PYTEST-ARGUMENTS]...

Each part is a run of pytest. A test that failed in one of them is run again after all of them, in one process, one
after another. It has to pass then; both its failures are shown if it does not. No limit differs. A test that had no
turn, because a process of xdist has died, is run again like one that failed. A run that did not collect all its
tests, or that was stopped, fails.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

MOST_AGAIN = 20
"""Tests that are run again. If more have failed, the machine is not the reason, and each takes minutes."""

AND = "--and"
_RECORD = "--record"
_COMPLETE = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)


@dataclass(frozen=True)
class Run:
    """A run of pytest: its exit code, and the ids of its tests that failed (or had no turn) and that passed."""

    code: int
    failed: list[str]
    passed: list[str]

    @property
    def is_complete(self) -> bool:
        """True if each test is known, and the exit code says nothing else than what the tests do."""
        return self.code in _COMPLETE and (self.code == pytest.ExitCode.OK) == (not self.failed)


class _Recorder:
    """A plugin of pytest that notes what becomes of each test."""

    def __init__(self) -> None:
        self.failed: dict[str, None] = {}
        self.passed: dict[str, None] = {}
        self.broken = False
        self._collected: dict[str, None] = {}
        self._begun: set[str] = set()

    @property
    def missing(self) -> list[str]:
        """The tests that were to run and had no turn."""
        return [name for name in self._collected if name not in self._begun]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._begun.add(report.nodeid)
        if report.failed:
            self.failed[report.nodeid] = None
        elif report.when == "call" and report.passed:
            self.passed[report.nodeid] = None

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self.broken |= report.failed

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        if not session.config.option.collectonly:
            self._collected.update((item.nodeid, None) for item in session.items)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        """Note what a process of xdist has collected; the main process collects nothing."""
        self._collected.update(dict.fromkeys(ids))


def run(arguments: Sequence[str]) -> Run:
    """Run pytest in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "outcomes.json")
        code = subprocess.run([sys.executable, "-m", __spec__.name, _RECORD, str(path), *arguments], check=False)
        try:
            outcomes = json.loads(path.read_text())
        except FileNotFoundError:  # pytest itself has crashed
            return Run(int(pytest.ExitCode.INTERNAL_ERROR), [], [])
    broken = outcomes["broken"] and code.returncode in _COMPLETE
    return Run(
        int(pytest.ExitCode.INTERRUPTED) if broken else code.returncode, outcomes["failed"], outcomes["passed"]
    )


def run_twice(parts: Sequence[Sequence[str]]) -> int:
    """Run all parts, then the tests that failed once more; return the exit code."""
    runs = [run(part) for part in parts]
    failed = [name for each in runs for name in each.failed]
    if not all(each.is_complete for each in runs):
        _say("failed, and not run again because a run is not complete", failed)
        return 1
    if not failed:
        return 0
    _say("failed once", failed)
    if len(failed) > MOST_AGAIN:
        print(f"=== more than {MOST_AGAIN} tests have failed: none is run again")
        return 1
    # The configuration leaves out the long tests; -m "" leaves out none.
    again = run(["-v", "-n0", "-m", "", *failed])
    good = [name for name in failed if name in again.passed and name not in again.failed]
    _say("failed once, and passed alone", good)
    twice = [name for name in failed if name not in good]
    _say("failed twice", twice)
    return 0 if again.is_complete and not twice else 1


def _say(what: str, names: Sequence[str]) -> None:
    if names:
        print("\n".join([f"=== {what}:", *(f"  {name}" for name in names)]), flush=True)


def _record(path: Path, arguments: Sequence[str]) -> int:
    recorder = _Recorder()
    code = pytest.main(list(arguments), plugins=[recorder])
    failed = dict.fromkeys([*recorder.failed, *recorder.missing])
    outcomes = {"failed": [*failed], "passed": [*recorder.passed], "broken": recorder.broken}
    path.write_text(json.dumps(outcomes))
    return int(code)


def main(words: Sequence[str]) -> int:
    """Run the command line."""
    if words[:1] == [_RECORD]:
        return _record(Path(words[1]), words[2:])
    parts: list[list[str]] = [[]]
    for word in words:
        if word == AND:
            parts.append([])
        else:
            parts[-1].append(word)
    return run_twice(parts)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
