"""Pages in a real browser, watched for everything that must not happen, and a person who plays by clicking."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlsplit

from tests.support.contests import token_of
from tests.support.patience import PATIENCE_SECONDS

PHONE, TABLET, LAPTOP, WALL = (360, 740), (768, 1024), (1366, 768), (1920, 1080)

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
    """A person with a browser. What the console says, and requests to other hosts, are kept as complaints.

    Args:
        browser: Playwright's.
        rooms: contexts of the browser that nobody uses, without cookies and pages. A new one takes 0.7 s of
            processor time, a page in it 0.3 s.
    """

    def __init__(self, browser: Any, rooms: list[Any]) -> None:
        self._browser = browser
        self._rooms = rooms
        self._contexts: list[Any] = []
        self._stopped: list[Any] = []
        self.complaints: list[str] = []
        self.tolerated: tuple[str, ...] = ()
        """Beginnings of complaints that a test expects, such as those of a server that is gone."""

    def open(self, url: str, size: tuple[int, int] = LAPTOP, *, clock: bool = False, **media: Any) -> Any:
        """Open a page with cookies of its own.

        Args:
            url: its address.
            size: of the window.
            clock: True if the test stops the page's clock. The clock stays with the context, and timers of the
                next page in it would never fire, so nobody else gets that context.
            media: what Playwright's `emulate_media` takes, such as ``color_scheme``.
        """
        context = self._rooms.pop() if self._rooms and not clock else self._browser.new_context()
        context.set_default_timeout(1000 * PATIENCE_SECONDS)
        (self._stopped if clock else self._contexts).append(context)
        page = context.new_page()
        page.set_viewport_size({"width": size[0], "height": size[1]})
        if media:
            page.emulate_media(**media)
        host = urlsplit(url).netloc
        page.on("console", lambda message: self._console(message))
        page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        page.on("request", lambda request: self._request(request, host))
        page.goto(url)
        return page

    def post(self, url: str) -> None:
        """Send an empty form as each of the pages would."""
        host = "{0.scheme}://{0.netloc}".format(urlsplit(url))
        for context in self._contexts:
            assert context.request.post(url, form={}, headers={"Origin": host}).ok

    def leave(self) -> None:
        """Close all pages.

        Raises:
            AssertionError: a page complained.
        """
        for context in self._contexts:
            for page in context.pages:
                page.close()
            context.clear_cookies()  # with the pages go their session storage; the pages use no other
        self._rooms += self._contexts
        for context in self._stopped:
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


# --- a person who plays by clicking squares that light up -------------------------------------------------------

PLAY_ON = """
async ([turns, patience]) => {
  const say = () => document.getElementById("say").textContent;
  const over = () => /^(You won|You lost|A draw|The game is over)/.test(say());
  const can = () => [...document.querySelectorAll(".square.can")];
  const rest = () => new Promise((done) => setTimeout(done, 5));
  let played = 0;
  const until = Date.now() + patience; // a page that hangs must fail the test, not stop it
  while (!over() && played < turns && Date.now() < until) {
    const word = document.querySelector("#words button[aria-checked=false]");
    const done = document.getElementById("done");
    const before = document.getElementById("notes").children[0];
    if (!can().length && word) word.click();
    else if (!done.hidden) done.click();
    else if (can().length) can()[Math.floor(Math.random() * can().length)].click();
    await rest();
    if (document.getElementById("notes").children[0] !== before) played += 1;
  }
  return [say(), over() || played >= turns];
}
"""


def begin(page: Any, url: str, game: str, *, bot: str = "random_bot", me: str = "0", time: str = "patient") -> None:
    """Choose a game on the page Play and begin it."""
    page.goto(f"{url}play")
    form = page.locator("form[action='/play/sample']")
    for name, value in (("game", game), ("bot", bot), ("me", me), ("time", time)):
        form.locator(f"[name={name}]").select_option(value)
    form.locator("button").click()
    page.wait_for_selector(".square")


def play_on(page: Any, turns: int = 10**6) -> str:
    """Click squares that light up for so many turns of either player, or to the end; return what the page says.

    Raises:
        AssertionError: the game was not over, and so many turns were not played, in PATIENCE_SECONDS.
    """
    said, is_done = page.evaluate(PLAY_ON, [turns, 1000 * PATIENCE_SECONDS])
    assert is_done, said
    return str(said)


def squares(page: Any) -> list[str]:
    """Return the names of all squares, which say what stands there."""
    labels = page.locator(".square").evaluate_all("all => all.map((one) => one.getAttribute('aria-label'))")
    return [str(label) for label in labels]


def log_in(page: Any, team: int) -> None:
    """Log in for a team on the page Your team, by its token in the tests."""
    page.get_by_label("Team id").fill(str(team))
    page.get_by_label("Token").fill(token_of(team))
    page.get_by_role("button", name="Log in").click()
