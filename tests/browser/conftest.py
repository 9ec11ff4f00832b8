"""A real browser for the tests of the live page: the system's Chromium, driven by Playwright.

Without a browser these tests are left out, and the end of the run says so. CI sets `GETSTEP_REQUIRE_BROWSER`, which
makes that an error.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.conftest import programs  # noqa: F401 - a fixture of these tests, too
from tests.support.browser import Visitor

REQUIRED = "GETSTEP_REQUIRE_BROWSER"
NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
_left_out = 0


def browser_path() -> str | None:
    """Return the path of the system's Chromium; `GETSTEP_BROWSER` names another one."""
    named = os.environ.get("GETSTEP_BROWSER")
    return named or next((found for name in NAMES if (found := shutil.which(name))), None)


def missing() -> str:
    """Return the missing requirement of these tests; "" if there is none."""
    try:
        import playwright.sync_api  # noqa: F401 - to see whether it is there
    except ImportError:
        return "the package playwright"
    return "" if browser_path() else f"a browser ({', '.join(NAMES)} on the path)"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests in this folder if there is no browser."""
    here = [item for item in items if Path(__file__).parent in item.path.parents]
    what = missing() if here else ""
    if not what:
        return
    if os.environ.get(REQUIRED):
        raise pytest.UsageError(f"{REQUIRED} is set, and there is not {what}; install it")
    items[:] = [item for item in items if item not in here]
    config.hook.pytest_deselected(items=here)
    global _left_out
    _left_out = len(here)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say which tests were left out."""
    if _left_out or (missing() and not os.environ.get(REQUIRED)):
        terminalreporter.section("tests in the browser were left out")
        terminalreporter.line(f"There is not {missing()}: the live page is untested.")


@pytest.fixture(scope="session")
def chromium() -> Iterator[object]:
    """One browser for all tests of a process."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # A container has no user namespaces for Chromium's sandbox, and the pages are our own.
        browser = playwright.chromium.launch(executable_path=browser_path(), args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def rooms() -> list[object]:
    """The browser's contexts that no visitor uses."""
    return []


@pytest.fixture
def visitor(chromium: object, rooms: list[object]) -> Iterator[Visitor]:
    """Opens pages, and fails the test if one of them complains or asks another host."""
    one = Visitor(chromium, rooms)
    yield one
    one.leave()
