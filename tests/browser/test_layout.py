"""What must be in view on each page, at the sizes of phones, tablets, laptops and projectors."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.old_contests.contests import unpack
from tests.support.browser import LAPTOP, PHONE, TABLET, WALL, Visitor, barriers, expect_text, no_sideways_scrolling
from tests.support.open_boards import OpenBoards, open_boards
from tests.support.processes import Program
from tests.support.random_results import make_up

LONG = "A team whose name has just as many letters as a name may have ..."[:64]
NAMES = ("Ada", LONG, "B", *(f"Team {n}" for n in range(4, 13)))
FORTY = (*NAMES, *(f"Team {n}" for n in range(13, 41)))
FIVE = [{"game": game} for game in ("longest_path", "chain_reaction", "pseudo_tonga", "hop", "linkage")]
AGAIN = 10
"""The last moves of a game that are played again."""

MOVING = (
    "document.getAnimations().map((one) => one.effect.target.closest('.board') && one.effect.getTiming().duration)"
)
"""The times of the pieces that move, in ms."""

SIZES = (PHONE, TABLET, LAPTOP, WALL)

pytestmark = pytest.mark.long  # each serves a contest of its own: 2 to 4 s


@contextmanager
def shown(folder: Path, boards: int = 0, moves: int = 30) -> Iterator[tuple[str, OpenBoards]]:
    """Serve a contest with so many boards that are being played; yield its address and the boards."""
    with open_boards(folder, boards, moves) as found:
        command = [sys.executable, "-m", "getstep_server", "web", str(folder), "--host", "127.0.0.1", "--port", "0"]
        program = Program(command)
        try:
            yield program.expect(r"^Live page .*: (http://\S+)/$")[1], found
        finally:
            program.end()


@pytest.fixture(scope="module")
def five_events(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Forty teams in five events, of which eight matches are being played."""
    made = make_up(tmp_path_factory.mktemp("five") / "contest", FIVE, FORTY, most=800)
    with shown(made.folder, 8) as (url, _):
        yield url


def box(page: Any, selector: str, place: int = 0) -> dict[str, float]:
    """Return where an element is in the window: x, y, width and height."""
    found: dict[str, float] = page.locator(selector).nth(place).bounding_box()
    return found


def is_inside(page: Any, selector: str, place: int = 0) -> bool:
    """True if the whole element is in the window, without scrolling."""
    where, size = box(page, selector, place), page.viewport_size
    right, bottom = where["x"] + where["width"], where["y"] + where["height"]
    return where["x"] >= 0 and where["y"] >= 0 and right <= size["width"] and bottom <= size["height"]


def cut_columns(page: Any, selector: str) -> list[str]:
    """Return the headings of tables that are outside of their place, or not shown although they are needed."""
    found: list[str] = page.locator(selector).evaluate_all("""boxes => boxes.flatMap((box) => {
      const edge = box.getBoundingClientRect().right + 1;
      const heads = [...box.querySelectorAll("thead th")];
      const shown = heads.filter((head) => head.offsetWidth);
      const needed = heads.filter((head) => ["#", "team", "points", "total"].includes(head.textContent));
      return [...shown.filter((head) => head.getBoundingClientRect().right > edge),
              ...needed.filter((head) => !head.offsetWidth)].map((head) => head.textContent);
    })""")
    return found


def test_rank_team_and_total_are_in_view_at_each_width(five_events: str, visitor: Visitor) -> None:
    page = visitor.open(five_events, WALL)
    page.locator(".large .board svg").wait_for()
    assert box(page, ".large .board")["width"] > 500
    assert box(page, ".columns")["width"] > 0.95 * WALL[0]
    assert page.locator(".fit thead th:visible").all_inner_texts()[2:7] == [
        *("Longest Path", "Chain Reaction", "Pseudo-Tonga", "Hop", "Linkage"),
    ]
    for path in ("/", "/event/1"):
        page.goto(five_events + path)
        page.locator(".fit tbody tr").first.wait_for()
        for width, height in SIZES:
            page.set_viewport_size({"width": width, "height": height})
            assert cut_columns(page, ".fit") == [], (path, width)
            assert no_sideways_scrolling(page), (path, width)
    page.set_viewport_size(dict(zip(("width", "height"), PHONE, strict=True)))
    page.get_by_role("button", name="more columns").first.click()  # the crosstable below may have one, too
    standings = page.locator(".fit").first
    assert standings.locator("thead th:visible").count() == standings.locator("thead th").count()
    assert barriers(page) == []


def test_the_page_of_an_event_uses_the_width(five_events: str, visitor: Visitor) -> None:
    page = visitor.open(f"{five_events}/event/1", WALL, color_scheme="dark")
    page.locator(".crosstable tbody tr").nth(39).wait_for()
    standings, ratings = (box(page, f"[aria-label={caption}]") for caption in ("Table", "Ratings"))
    assert standings["y"] == ratings["y"]  # beside each other
    assert ratings["x"] + ratings["width"] - standings["x"] > 0.95 * WALL[0]
    assert page.locator(".more:visible").count() == 0  # and with all their columns
    for size in (LAPTOP, WALL):
        page.set_viewport_size({"width": size[0], "height": size[1]})
        assert cut_columns(page, "[aria-label=Crosstable]") == [], size
        assert box(page, "[aria-label=Crosstable]")["width"] > 0.95 * size[0], size
        notes = page.locator(".note:visible")
        assert all(box(page, ".note:visible", place)["width"] < 800 for place in range(notes.count())), size
    assert barriers(page) == []
    page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
    page.locator("[aria-label=Crosstable]").evaluate("box => box.scrollLeft = box.scrollWidth")
    page.locator(".crosstable tbody td:last-child").first.scroll_into_view_if_needed()
    for part in ("td:last-child", "th"):  # a result at the end of its row, and the team
        assert is_inside(page, f".crosstable tbody {part}"), part
    assert no_sideways_scrolling(page)


def test_the_foremost_board_is_large_and_in_view(five_events: str, visitor: Visitor) -> None:
    page = visitor.open(five_events, LAPTOP, color_scheme="dark")
    page.locator(".large .board svg").wait_for()
    assert is_inside(page, ".large .plate", 0)
    assert is_inside(page, ".large .plate", 1)
    widths = [box(page, ".card .board", place)["width"] for place in range(8)]
    assert page.locator(".large").count() == 1
    assert box(page, ".large .board")["width"] > 1.8 * min(widths)
    expect_text(page, ".card-head .event", "Longest Path|Chain Reaction|Pseudo-Tonga|Hop|Linkage")
    assert barriers(page) == []
    page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
    assert box(page, ".fit")["y"] < 1.2 * PHONE[1]  # the boards do not push the table down


# --- a match ----------------------------------------------------------------------------------------------------


def audible(page: Any) -> None:
    """Count the tones that a page plays, in ``window.tones``."""
    page.add_init_script("""
      window.tones = 0;
      const start = OscillatorNode.prototype.start;
      OscillatorNode.prototype.start = function (...when) { window.tones++; return start.apply(this, when); };
    """)


def arriving(page: Any, boards: OpenBoards, move: str, ms: int | None = None) -> list[float]:
    """Let one move be played; return the times in which pieces arrive with it, after choosing one of ``ms``."""
    if ms is not None:
        page.get_by_label("ms a move").fill(str(ms))
    page.get_by_label("ms a move").blur()
    drawn = page.locator(".card .board svg").element_handle()
    boards.play(1)
    expect_text(page, ".moves li:last-child", f"^{move}")
    page.wait_for_function("svg => !svg.isConnected", arg=drawn)
    found: list[float] = page.evaluate(MOVING)
    return found


def test_a_running_match_fits_the_screen_and_can_be_heard(tmp_path: Path, visitor: Visitor) -> None:
    hop = {"game": "hop", "settings": {"legs": 6}}
    made = make_up(tmp_path / "contest", [hop], [LONG, "X" * 64], most=2, moves=40)
    with shown(made.folder, 1) as (url, boards):
        page = visitor.open(url, LAPTOP)
        audible(page)
        page.goto(f"{url}/match/{boards.sheets[0].match.number}")
        page.locator(".card svg.gs-board").first.wait_for()
        for place in range(2):
            assert is_inside(page, ".plate .clock", place)
        assert box(page, ".card .board")["height"] > 0.5 * LAPTOP[1]
        assert is_inside(page, ".moves li", 29)  # the list is at its end
        assert page.locator(".gs-lead path").count() == 2
        cells = page.locator(".card table td").all_inner_texts()
        assert (cells.count("black piece") + cells.count("white piece"), len(cells)) == (18, 65)
        assert barriers(page) == []
        boards.play(1)
        expect_text(page, ".moves li:last-child", "^31")
        assert page.evaluate("tones") == 0  # off by default
        page.get_by_role("button", name="Sound is off").click()
        page.get_by_role("button", name="Sound is on").wait_for()
        before = page.evaluate("tones")
        boards.play(1)
        expect_text(page, ".moves li:last-child", "^32")
        assert page.evaluate("tones") == before + 1
        expect_text(page, "[aria-live]", "Move 3[12], (Black|White): .*pieces home")
        assert len(arriving(page, boards, "33", 5000)) == 1
        page.get_by_label("ms a move").fill("0")
        assert arriving(page, boards, "34") == []
        page.emulate_media(reduced_motion="reduce")
        assert arriving(page, boards, "35", 5000) == []
        for size in (PHONE, TABLET, WALL):
            page.set_viewport_size({"width": size[0], "height": size[1]})
            assert no_sideways_scrolling(page)
            assert all(is_inside(page, ".plate", place) for place in range(2)), size
        page.goto(f"{url}/match/1")
        for size in SIZES:
            page.set_viewport_size({"width": size[0], "height": size[1]})
            expect_text(page, ".rp-count", "^40 / 40$")
            assert all(is_inside(page, ".rp-clock", place) for place in range(2)), size


def test_a_replay_shows_where_one_is_and_leads_others_there(tmp_path: Path, visitor: Visitor) -> None:
    folder = tmp_path / "finished"
    unpack("0.1.0-before-settings/finished", folder)
    with shown(folder) as (url, _):
        page = visitor.open(url, LAPTOP)
        played = page.request.get(f"{url}/api/v1/matches").json()["items"]
        long = max((one for one in played if one["result"]), key=lambda one: one["result"]["turns"])["match"]
        audible(page)
        page.goto(f"{url}/match/{long}")
        expect_text(page, ".rp-count", r"^(\d+) / \1$")
        page.locator("a[aria-current=step]").wait_for()
        last = int(page.locator(".rp-track input").get_attribute("max"))
        assert last > AGAIN
        assert is_inside(page, "a[aria-current=step]")
        for place in range(2):
            assert is_inside(page, ".rp-clock", place)
        page.keyboard.press("Home")
        table = page.locator(".rp-game table").inner_text()
        page.keyboard.press("End")
        assert page.locator(".rp-game table").inner_text() != table
        page.get_by_role("button", name="Sound is off").click()
        tones = page.evaluate("tones")
        page.locator("#rp-speed").fill("20")
        page.get_by_role("button", name="moves again").click()
        page.get_by_label("Play (Space)").wait_for()
        expect_text(page, ".rp-count", rf"^{last} / {last}$")
        assert page.evaluate("tones") == tones + AGAIN + 1  # the end has two tones
        page.keyboard.press("ArrowLeft")
        page.context.grant_permissions(["clipboard-read"])
        page.get_by_role("button", name="Copy the link").click()
        expect_text(page, ".rp-now", "The link is copied")
        assert page.evaluate("navigator.clipboard.readText()") == f"{url}/match/{long}#move={last - 1}"
        page.get_by_role("button", name="Full screen").click()
        page.wait_for_function("document.fullscreenElement?.matches('.rp')")
        assert barriers(page) == []


# --- the wall and the bracket -----------------------------------------------------------------------------------

KNOCKOUT = {"game": "linkage", "format": "knockout", "settings": {"best_of": 1}}


def test_the_wall_and_the_page_of_a_knockout_show_its_bracket(tmp_path: Path, visitor: Visitor) -> None:
    made = make_up(tmp_path / "contest", [KNOCKOUT], NAMES, most=8)
    with shown(made.folder, 2) as (url, _):
        page = visitor.open(f"{url}/wall", WALL)
        expect_text(page, ".wall-table h2", "^Linkage: Semifinals$")
        assert page.locator(".wall-table .pairing").count() == 8  # from the quarterfinals on, with the third place
        for selector in (".card .plate .clock", ".wall-table .pairing", ".wall-results .pair b"):
            assert all(is_inside(page, selector, place) for place in range(page.locator(selector).count())), (
                selector
            )
        assert page.evaluate("document.documentElement.scrollHeight <= innerHeight")
        assert box(page, ".wall-side")["x"] + box(page, ".wall-side")["width"] > 0.95 * WALL[0]
        assert barriers(page) == []
        for size in (PHONE, TABLET):
            page.set_viewport_size({"width": size[0], "height": size[1]})
            assert no_sideways_scrolling(page)
            assert page.locator(".wall-table").is_visible()
        assert is_inside(page, ".wall-table .pairing")  # below the board of a tablet
        page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
        page.reload()
        page.locator(".wall-table .pairing").first.wait_for()
        assert page.locator(".wall-table .bracket > li").count() == 2  # with names that can be read

        page.goto(f"{url}/event/1")
        page.locator(".bracket").wait_for()
        page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
        for column in range(2):
            assert is_inside(page, ".bracket > li > h3", column)
        columns = [
            page.locator(f".bracket > li:nth-child({n}) .pairing").evaluate_all(
                "all => all.map(one => [...one.querySelectorAll('.side')].map(side => side.firstChild.textContent))"
            )
            for n in (1, 2)
        ]
        first = [{*names} for names in columns[0]]
        # The upper team of a pairing comes from the upper one of its two feeders.
        assert all(
            name in first[2 * n + side] for n, names in enumerate(columns[1]) for side, name in enumerate(names)
        )
        assert no_sideways_scrolling(page)
        assert barriers(page) == []
        for size in (TABLET, LAPTOP, WALL):
            page.set_viewport_size({"width": size[0], "height": size[1]})
            assert all(is_inside(page, ".bracket > li > h3", column) for column in range(4)), size
            assert box(page, ".bracket")["width"] > 0.95 * size[0], size


def test_the_bracket_of_forty_teams_is_not_cut_on_the_wall(tmp_path: Path, visitor: Visitor) -> None:
    made = make_up(tmp_path / "begun", [KNOCKOUT], FORTY, most=4)
    with shown(made.folder) as (url, _):
        page = visitor.open(f"{url}/wall", LAPTOP)
        expect_text(page, ".wall-table h2", "^Linkage: Last 64$")
        # All that is played of the round, and no bye.
        assert all(is_inside(page, ".wall-table .pairing", place) for place in range(8))
        assert page.locator(".wall-table .pairing").count() == 8
        assert page.locator(".wall-table .won").count() == 4
        page.close()  # before its server ends
    made = make_up(tmp_path / "later", [KNOCKOUT], FORTY, most=26)
    with shown(made.folder, 1) as (url, _):
        page = visitor.open(f"{url}/wall", LAPTOP)
        expect_text(page, ".wall-table h2", "^Linkage: Last 16$")
        cut = "box => [...box.querySelectorAll('.side')].filter((side) => side.getBoundingClientRect().bottom"
        for size in (LAPTOP, WALL):
            page.set_viewport_size({"width": size[0], "height": size[1]})
            page.reload()
            expect_text(page, ".wall-table h2", "^Linkage: Last 16$")
            assert page.locator(".wall-table .side").count() >= 8, size
            table = page.locator(".wall-table")
            assert table.evaluate(f"{cut} > box.getBoundingClientRect().bottom + 1).length") == 0, size
            assert table.evaluate("box => box.scrollWidth <= box.clientWidth"), size
        assert barriers(page) == []


def test_the_wall_has_the_address_for_phones_and_at_the_end_the_winner(tmp_path: Path, visitor: Visitor) -> None:
    made = make_up(tmp_path / "contest", [{"game": "hop", "settings": {"legs": 1}}], NAMES)
    command = [sys.executable, "-m", "getstep_server", "web", str(made.folder), "--host", "0.0.0.0", "--port", "0"]
    program = Program(command)
    try:
        address = urlsplit(program.expect(r"^Live page .*: (http://\S+)/$")[1])
        page = visitor.open(f"http://127.0.0.1:{address.port}/wall", LAPTOP)
        expect_text(page, ".winners strong", "★")
        assert page.locator(".wall-address a").inner_text().strip("/") == address.netloc
        assert is_inside(page, ".wall-address .qr")
        rows = page.locator(".wall-table tbody tr").count()
        assert rows > 1
        assert all(is_inside(page, ".wall-table tbody tr", row) for row in range(rows))
        assert barriers(page) == []
    finally:
        program.end()
