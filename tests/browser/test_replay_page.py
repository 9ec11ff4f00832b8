"""Replay pages from a disk, in a real browser."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from getstep.replay import SCRIPT_FILE, STYLE_FILE, Replay, ReplayTurn, replay_data, replay_page, script, style
from getstep_engines import GAMES, TimeControl
from tests.support.browser import LAPTOP, PHONE, WALL, Visitor, barriers, expect_text, no_sideways_scrolling
from tests.support.patience import PATIENCE_SECONDS
from tests.support.quick import quick
from tests.support.replays import noted, played_replay

HOSTILE = "</script><img src=x onerror=\"document.title='taken'\"><b>&"
LONG = "a" * 64
PATIENCE_MS = 1000 * PATIENCE_SECONDS


def written(folder: Path, *replays: Replay, name: str = "replay.html") -> str:
    """Write a page and return its address."""
    path = folder / name
    path.write_text(replay_page(replay_data(replays, title="Replays", links=[("Home", "replay.html")])), "utf-8")
    return path.as_uri()


def hops() -> Replay:
    return played_replay("hop", 5, faults=0.02)[0]


def board_of(page: Any) -> str:
    return str(page.locator(".rp-board svg").evaluate("svg => svg.outerHTML"))


def at(page: Any, move: int, last: int) -> None:
    """Wait until this move is shown."""
    expect_text(page, ".rp-count", rf"^{move} / {last}$")


@pytest.mark.long
def test_keys_and_buttons_step_through_the_game(tmp_path: Path, visitor: Visitor) -> None:
    replay = noted(hops())
    last = len(replay.turns)
    page = visitor.open(written(tmp_path, replay))
    at(page, last, last)
    for key, move in (("Home", 0), ("ArrowRight", 1), ("ArrowRight", 2), ("ArrowLeft", 1), ("End", last)):
        page.keyboard.press(key)
        at(page, move, last)
    for button, move in (("start", 0), ("forward", 1), ("back", 0), ("end", last)):
        page.locator(f".rp-{button}").click()
        at(page, move, last)
    page.locator(".rp-track input").fill("12")
    at(page, 12, last)
    page.locator(".rp-moves a").nth(36).click()
    at(page, 37, last)
    assert page.url.endswith("#move=37")
    expect_text(page, "a[aria-current=step] .rp-n", "37$")
    expect_text(page, ".rp-notes", r"move 37.*I have looked at .*printed.*depth.*move 36")
    page.keyboard.press("D")
    page.locator(".rp-draws[aria-pressed=false]").wait_for()
    assert page.locator(".gs-notes").count() == 0
    page.locator(".rp-draws").click()
    page.locator(".rp-board .gs-notes text").first.wait_for()
    curve = page.locator(".rp-values")
    curve.click(position={"x": curve.bounding_box()["width"] / 2, "y": 4})
    expect_text(page, ".rp-count", rf"^({last // 2}|{last // 2 + 1}) / {last}$")
    assert "estimates" in page.locator(".rp-track input").get_attribute("aria-valuetext")
    expect_text(page, ".rp-facts", r"tags of Black.*opening, middle-game")


@pytest.mark.long
def test_a_link_leads_to_a_move_of_a_game(tmp_path: Path, visitor: Visitor) -> None:
    url = written(tmp_path, hops(), played_replay("linkage", 1)[0])
    page = visitor.open(f"{url}#game=2&move=7")
    last = len(played_replay("linkage", 1)[0].turns)
    at(page, 7, last)
    page.evaluate("location.hash = 'game=1&move=3'")
    at(page, 3, 400)
    page.locator("#rp-game").select_option("1")
    at(page, last, last)
    for wrong in ("game=9&move=99999", "game=-1&move=x", "%", "move=1e9"):
        other = visitor.open(f"{url}#{wrong}")
        expect_text(other, ".rp-count", r"^(\d+) / \1$")


@pytest.mark.long
def test_it_plays_to_the_end_and_pauses(tmp_path: Path, visitor: Visitor) -> None:
    page = visitor.open(written(tmp_path, played_replay("linkage", 1)[0]))
    last = int(page.locator(".rp-track input").get_attribute("max"))
    page.locator("#rp-speed").fill("20")
    page.locator("h1").click()
    page.keyboard.press("Space")
    page.get_by_label("Pause (Space)").wait_for()
    at(page, last, last)
    page.get_by_label("Play (Space)").wait_for()
    page.locator("#rp-speed").fill("10000")
    page.locator(".rp-play").click()
    page.get_by_label("Pause (Space)").click()
    page.get_by_label("Play (Space)").wait_for()


BOARDS = """move => new Promise(done => {
  const seen = new Set();
  const look = () => seen.add(document.querySelector(".rp-board svg").outerHTML);
  new MutationObserver(look).observe(document.querySelector(".rp-board"), { childList: true });
  const live = document.querySelector("[aria-live]");
  new MutationObserver(() => live.textContent.startsWith(`${move}.`) && done(seen.size)).observe(live, {
    childList: true,
  });
  document.querySelector(".rp-forward").click();
})"""


@pytest.mark.parametrize("motion", quick(["no-preference", "reduce"], ["no-preference"]))
def test_the_steps_of_a_chain_are_shown_unless_motion_is_unwanted(
    tmp_path: Path, visitor: Visitor, motion: str
) -> None:
    replay = hops()
    move = 1 + max(range(len(replay.turns)), key=lambda n: len(replay.turns[n].move or ()))
    page = visitor.open(f"{written(tmp_path, replay)}#move={move - 1}", reduced_motion=motion)
    hops_made = len(replay.turns[move - 1].move) - 1
    assert hops_made > 2
    boards = page.evaluate(BOARDS, move)
    # The last board is that of the last hop, with the marks of the whole move.
    assert boards == (1 if motion == "reduce" else hops_made)


@pytest.mark.parametrize("seen", quick([*(f"{name}-light" for name in GAMES), "hop-dark"], []))
def test_every_game_on_a_phone_and_for_everybody(tmp_path: Path, visitor: Visitor, seen: str) -> None:
    name, _, scheme = seen.partition("-")
    replay = replace(noted(played_replay(name, 3)[0]), names=(LONG, "B"), title="match 7", reason=LONG)
    url = written(tmp_path, replay)
    page = visitor.open(url, PHONE, color_scheme=scheme)
    page.locator(".gs-board[role=img]").wait_for()
    assert no_sideways_scrolling(page)
    assert barriers(page) == []


@pytest.mark.parametrize("size", quick([PHONE, (768, 1024), LAPTOP, WALL], [PHONE]))
def test_the_board_and_the_controls_are_in_view(tmp_path: Path, visitor: Visitor, size: tuple[int, int]) -> None:
    page = visitor.open(written(tmp_path, hops()), size)
    page.locator(".gs-board[role=img]").wait_for()
    assert no_sideways_scrolling(page)
    for part in (".rp-board", ".rp-play"):
        box = page.locator(part).bounding_box()
        assert box["y"] + box["height"] <= size[1] + (120 if size == PHONE else 0), part


def test_hostile_texts_are_shown_and_do_nothing(tmp_path: Path, visitor: Visitor) -> None:
    draw = [["mark", [0, 0], HOSTILE[:8], HOSTILE]]
    notes = {"say": HOSTILE, "output": HOSTILE, "tags": [HOSTILE], "estimate": 0, "draw": draw}
    turn = ReplayTurn(0, "fault", code=HOSTILE, tried=HOSTILE, reason=HOSTILE, remarks=[HOSTILE], notes=notes)
    limit = GAMES["hop"].time_control
    hostile = Replay(
        GAMES["hop"], "hop", (HOSTILE, HOSTILE), [turn], limit, {}, HOSTILE, HOSTILE, HOSTILE, [(HOSTILE, HOSTILE)]
    )
    page = visitor.open(written(tmp_path, hostile, hostile))
    expect_text(page, "h1", "</script><img")
    expect_text(page, ".rp-say", "</script><img")
    assert page.locator("img").count() == 0
    assert page.title() == "Replays"


def test_the_policy_stops_foreign_scripts(tmp_path: Path, visitor: Visitor) -> None:
    visitor.tolerated = ("error: ",)
    page = visitor.open(written(tmp_path, hops()))
    page.locator(".gs-board[role=img]").wait_for()
    page.evaluate("""() => {
      const script = document.createElement("script");
      script.textContent = "document.title = 'taken'";
      document.body.append(script);
    }""")
    assert page.title() == "Replays"
    assert any("Content Security Policy" in text for text in visitor.complaints)


@pytest.mark.long
def test_without_rules_and_without_turns(tmp_path: Path, visitor: Visitor) -> None:
    gone = Replay(None, "othello", ("Ada", "Blaise"), [ReplayTurn(0, move=[3, 4])], TimeControl("move", 5.0))
    empty = Replay(GAMES["hop"], "hop", ("Ada", "Blaise"), [], GAMES["hop"].time_control, result="Ada wins")
    page = visitor.open(written(tmp_path, gone, empty))
    expect_text(page, ".rp-problem", "The rules of othello are not installed")
    assert page.locator(".rp-board svg").count() == 0
    page.locator("#rp-game").select_option("1")
    expect_text(page, ".rp-moves", "No turn was played")
    at(page, 0, 0)
    page.keyboard.press("Space")
    page.get_by_label("Play (Space)").wait_for()


@pytest.mark.long
def test_paper_has_the_final_board_and_all_moves(tmp_path: Path, visitor: Visitor) -> None:
    replay = hops()
    page = visitor.open(f"{written(tmp_path, replay)}#move=3")
    last = len(replay.turns)
    final = page.evaluate("() => { dispatchEvent(new Event('beforeprint')); return 0; }")
    assert final == 0
    at(page, last, last)
    page.emulate_media(media="print")
    assert page.locator(".rp-moves li").last.is_visible()
    assert page.locator(".rp-moves").evaluate("list => list.scrollHeight <= list.clientHeight + 1")
    assert not page.locator(".rp-play").is_visible()
    page.evaluate("() => dispatchEvent(new Event('afterprint'))")
    at(page, 3, last)


@pytest.mark.long
def test_pages_that_share_a_script_work_from_a_disk(tmp_path: Path, visitor: Visitor) -> None:
    (tmp_path / SCRIPT_FILE).write_text(script(), "utf-8")
    (tmp_path / STYLE_FILE).write_text(style(), "utf-8")
    path = tmp_path / "7.html"
    path.write_text(replay_page(replay_data([hops()], title="Match 7"), assets=""), "utf-8")
    page = visitor.open(path.as_uri())
    page.locator(".gs-board[role=img]").wait_for(timeout=PATIENCE_MS)
    assert page.locator(".rp-plate").first.evaluate("plate => getComputedStyle(plate).display") == "flex"
