"""Settings that all tests share."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from importlib.util import cache_from_source
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.support.languages import BUILDS, install, missing

# Keep compiled modules, even where the environment (often that of a container) says not to. Without them each
# process of the tests compiles the assertions of 200 modules (8 s), and each of hundreds of servers its own (0.2).
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# A shell starts what it puts into the background with SIGINT ignored, and programs inherit that. Ctrl-C has to
# reach the programs of the tests nevertheless.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# No test may read the login that a developer has saved, nor change it.
os.environ["GETSTEP_LOGIN_FILE"] = str(Path(__file__).with_name("no-login.json"))

# No test may depend on how fast the machine is: hypothesis would fail an example that takes over 200 ms (its
# deadline), and examples that are slow to draw (`too_slow`). In CI every run draws the same examples, so that a
# change is never blamed for what another one has broken.
settings.register_profile(
    "getstep",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize="CI" in os.environ,
    print_blob=True,
)
settings.load_profile("getstep")


def pytest_configure(config: pytest.Config) -> None:
    """Make a folder for what tests compile. All processes of a run, and those that they start, share it."""
    if BUILDS not in os.environ:
        builds = TemporaryDirectory(prefix="getstep-builds-")
        os.environ[BUILDS] = builds.name
        config.add_cleanup(builds.cleanup)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Keep the garbage collector from the collected tests: it would walk through thousands of them again and again.

    Without this it takes a tenth of the processor time of the quick tests.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say which programs are untested because their compilers are not installed."""
    if tools := missing():
        terminalreporter.section("programs in other languages were left out")
        terminalreporter.line(f"There is no {', '.join(tools)}: {install(tools)}")


TOGETHER = (
    "tests/e2e/test_packages.py",
    "tests/e2e/test_readme.py",
    "tests/server/test_replays.py",
    "tests/server/test_report.py",
    "tests/server/test_verify.py",
    "tests/test_architecture.py",
    "tests/windows/test_windows.py",
)
"""Modules whose tests run in one process, since they share something that takes seconds to make."""

APART = (
    "tests/bots/test_example_programs.py",
    "tests/e2e/",
    "tests/server/test_attack.py",
    "tests/server/test_decisions_at_any_time.py",
    "tests/server/test_director_decisions.py",
)
"""Where the parameters of one test function take seconds each."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes() -> None:
    """Compile the tests of a fresh checkout once: each of the processes would compile all, for 10 s."""
    folders = sorted(path for path in Path(__file__).parent.iterdir() if list(path.glob("test_*.py")))
    largest = Path(__file__).with_name("server")
    if any(Path(cache_from_source(str(largest / "any.py"))).parent.glob("test_*")):
        return
    command = [sys.executable, "-m", "pytest", "--collect-only", "-qq", "-p", "no:cacheprovider"]
    parts = [[largest], [folder for folder in folders if folder != largest]]
    with ExitStack() as compiling:
        for part in parts:
            compiling.enter_context(subprocess.Popen([*command, *map(str, part)], stdout=subprocess.DEVNULL))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give each process the tests of one function at a time, those of a module in `TOGETHER` at once.

    The main process takes 1 ms for each unit that it gives out, and the others wait for it: with a unit for each of
    8,000 tests that is half a minute.

    The mark ``xdist_group`` has no effect with pytest 9.2 and pytest-xdist 3.8.
    """
    from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]  # plain pytest runs without it

    scheduling = LoadScopeScheduling(config, log)
    scheduling._split_scope = scope_of
    return scheduling


def scope_of(nodeid: str) -> str:
    """Return the name of the tests that run in one process with this one."""
    module = nodeid.partition("::")[0]
    if module in TOGETHER:
        return module
    return nodeid if module.startswith(APART) else nodeid.partition("[")[0]
