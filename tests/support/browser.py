"""Pages in a real browser, watched for everything that must not happen in them."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlsplit

from tests.support.patience import PATIENCE_SECONDS

PHONE, LAPTOP, WALL = (360, 740), (1366, 768), (1920, 1080)

SCREENS = {
    f"{scheme}-{name}": (size, scheme)
    for name, size in (("phone", PHONE), ("laptop", LAPTOP))
    for scheme in ("light", "dark")
}
"""The screens on which a page must be readable: size and colour scheme by name."""

GONE = ("error: Failed to load resource: net::ERR_", "error: Failed to load resource: the server responded with")
"""The complaints of a page whose server is gone for a moment."""

SERIOUS = ("serious", "critical")
"""The findings of axe that fail a test."""


class Visitor:
    """A person with a browser. What the console says, and requests to other hosts, are kept as complaints."""

    def __init__(self, browser: Any) -> None:
        self._browser = browser
        self._contexts: list[Any] = []
        self.complaints: list[str] = []
        self.tolerated: tuple[str, ...] = ()
        """Beginnings of complaints that a test expects, such as those of a server that is gone."""

    def open(self, url: str, size: tuple[int, int] = LAPTOP, **settings: Any) -> Any:
        """Open a page in a context of its own; settings are Playwright's, such as ``color_scheme``."""
        width, height = size
        context = self._browser.new_context(viewport={"width": width, "height": height}, **settings)
        context.set_default_timeout(1000 * PATIENCE_SECONDS)
        self._contexts.append(context)
        page = context.new_page()
        host = urlsplit(url).netloc
        page.on("console", lambda message: self._console(message))
        page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        page.on("request", lambda request: self._request(request, host))
        page.goto(url)
        return page

    def leave(self) -> None:
        """Close all pages.

        Raises:
            AssertionError: a page complained.
        """
        for context in self._contexts:
            context.close()
        unexpected = [text for text in self.complaints if not text.startswith(self.tolerated)]
        assert unexpected == [], unexpected

    def _console(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(f"{message.type}: {message.text} ({message.location.get('url')})")

    def _request(self, request: Any, host: str) -> None:
        parts = urlsplit(request.url)
        if parts.scheme in ("http", "https") and parts.netloc != host:
            self.complaints.append(f"a request to {request.url}")


def expect_text(page: Any, selector: str, pattern: str) -> None:
    """Wait until the first such element has a text that contains the pattern."""
    from playwright.sync_api import expect

    expect(page.locator(selector).first).to_have_text(
        re.compile(pattern, re.DOTALL), timeout=1000 * PATIENCE_SECONDS
    )


def no_sideways_scrolling(page: Any) -> bool:
    """True if the page is not wider than its window."""
    return bool(page.evaluate("document.documentElement.scrollWidth <= innerWidth"))


def barriers(page: Any) -> list[str]:
    """Return the serious and critical findings of axe, each with its first element."""
    from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]  # the package has no types

    found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
    return [
        f"{finding['id']}: {finding['help']}: {finding['nodes'][0]['html'][:200]}"
        for finding in found
        if finding["impact"] in SERIOUS
    ]
