"""A test that fails or has no turn is run once more, alone; a run that was stopped or not collected fails."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.patience import PATIENCE_SECONDS
from tests.support.twice import MOST_AGAIN

ROOT = Path(__file__).parents[1]

HEAD = "import os, pathlib, pytest\nHERE = pathlib.Path(__file__).parent\n"
GOOD = "def test_good(): pass\n"
ONCE = """
@pytest.mark.long
def test_once():
    first = not (HERE / "ran").exists()
    (HERE / "ran").touch()
    assert not first, "the machine was busy"
"""
TWICE = "@pytest.mark.long\ndef test_twice(): raise ZeroDivisionError('a mistake')\n"
DIES = "def test_dies(): os._exit(1)\n"
DIES_ONCE = """
def test_dies_once():
    if not (HERE / "died").exists():
        (HERE / "died").touch()
        os._exit(1)
def test_after(): pass
"""
FIXTURE = "@pytest.fixture(autouse=True, scope='session')\ndef end(): yield; raise RuntimeError\n"
ALL = ("-m", "long or not long")


def ran(folder: Path, source: str, *arguments: str) -> tuple[int, str]:
    """Return the exit code and the output of a suite with one module."""
    (folder / "pytest.ini").write_text("[pytest]\nmarkers =\n  long: takes long\naddopts = -m 'not long'\n")
    (folder / "test_toy.py").write_text(HEAD + source)
    # The processes of this run have told pytest's name of theirs, and its options.
    outside = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    # Each start of pytest takes a third of the time with xdist as the only plugin.
    plugins = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_PLUGINS": "xdist.plugin"}
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.twice", *(arguments or ALL), "test_toy.py"],
        cwd=folder,
        env={**outside, **plugins, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_SECONDS,
    )
    return done.returncode, done.stdout


def listed(out: str, what: str) -> list[str]:
    """Return the names below a line of the end."""
    found = re.search(rf"^=== {what}:\n((?:  .*\n)+)", out, re.MULTILINE)
    return found[1].split() if found else []


def test_a_test_that_fails_on_a_busy_machine_does_not_fail_the_run(tmp_path: Path) -> None:
    code, out = ran(tmp_path, GOOD + ONCE)
    assert code == 0
    assert listed(out, "failed once") == ["test_toy.py::test_once"]
    assert listed(out, "failed once, and passed alone") == ["test_toy.py::test_once"]
    assert listed(out, "failed twice") == []


@pytest.mark.long
def test_a_test_that_fails_twice_fails_the_run_and_both_are_shown(tmp_path: Path) -> None:
    code, out = ran(tmp_path, GOOD + ONCE + TWICE)
    assert code == 1
    assert listed(out, "failed twice") == ["test_toy.py::test_twice"]
    assert out.count("E   ZeroDivisionError: a mistake") == 2


@pytest.mark.long
def test_the_tests_of_all_parts_are_run_again_at_the_end(tmp_path: Path) -> None:
    code, out = ran(tmp_path, ONCE + GOOD, "-m", "long", "test_toy.py", "--and", "-m", "not long")
    assert code == 0
    assert listed(out, "failed once, and passed alone") == ["test_toy.py::test_once"]


@pytest.mark.long
def test_all_is_well(tmp_path: Path) -> None:
    code, out = ran(tmp_path, GOOD)
    assert (code, "===" in out.splitlines()[-1]) == (0, True)
    assert "once" not in out


@pytest.mark.parametrize(
    ("source", "arguments"),
    [
        pytest.param(ONCE + "raise RuntimeError\n", ("-m", "long", "-n", "2"), marks=pytest.mark.long),
        pytest.param(ONCE + DIES, (*ALL, "-n", "2", "--max-worker-restart", "0"), marks=pytest.mark.long),
        pytest.param(ONCE + "raise RuntimeError\n", (), marks=pytest.mark.long),
        pytest.param(ONCE + DIES, ALL, marks=pytest.mark.long),
        pytest.param(ONCE + "def test_stops(): pytest.exit('stop')\n", ALL, marks=pytest.mark.long),
        pytest.param(ONCE, (*ALL, "--unknown-option"), marks=pytest.mark.long),
        pytest.param(ONCE, ("-m", "nothing"), marks=pytest.mark.long),
        pytest.param(ONCE + FIXTURE, ALL, marks=pytest.mark.long),
    ],
    ids=["collect, several", "crash, several", "collect", "crash", "stop", "usage", "none", "teardown"],
)
def test_a_run_that_is_not_complete_fails(tmp_path: Path, source: str, arguments: tuple[str, ...]) -> None:
    code, _ = ran(tmp_path, source, *arguments)
    assert code == 1


@pytest.mark.long
@pytest.mark.parametrize("processes", ["1", "2"])  # after a crash, nobody or another one runs the rest
def test_after_a_crash_the_test_and_those_that_had_no_turn_are_run_again(tmp_path: Path, processes: str) -> None:
    code, out = ran(tmp_path, GOOD + DIES_ONCE, *ALL, "-n", processes, "--max-worker-restart", "0")
    assert (code, "test_toy.py::test_dies_once" in listed(out, "failed once, and passed alone")) == (0, True), out


@pytest.mark.long
def test_a_test_that_is_left_out_the_second_time_has_not_passed(tmp_path: Path) -> None:
    code, out = ran(tmp_path, ONCE.replace("assert not first", "if not first: pytest.skip()\n    assert not first"))
    assert code == 1
    assert listed(out, "failed twice") == ["test_toy.py::test_once"]


@pytest.mark.long
def test_many_failures_are_not_the_machine(tmp_path: Path) -> None:
    code, out = ran(
        tmp_path, f"@pytest.mark.parametrize('n', range({MOST_AGAIN + 1}))\ndef test_n(n): assert False\n"
    )
    assert code == 1
    assert "none is run again" in out


@pytest.mark.long
def test_tests_that_are_only_listed_are_no_failures(tmp_path: Path) -> None:
    code, out = ran(tmp_path, GOOD, *ALL, "--collect-only", "-q")
    assert code == 0
    assert "failed" not in out
