"""A person who plays by clicking squares that light up."""

from __future__ import annotations

from typing import Any

from tests.support.patience import PATIENCE_SECONDS

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
  return say();
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
    """Click squares that light up for so many turns of either player, or to the end; return what the page says."""
    return str(page.evaluate(PLAY_ON, [turns, 1000 * PATIENCE_SECONDS]))
