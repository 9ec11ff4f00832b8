"""The text files with all orders of a round of linkage."""

from __future__ import annotations

import re
from pathlib import Path

import trio

from getstep_engines import GAMES
from getstep_server.api.visibility import VisibleGame
from getstep_server.reports.linkage_orders import order_files, order_texts
from getstep_server.reports.report import load_report_data
from getstep_server.reports.site import site_pages
from getstep_server.storage.contest_state import tournament_of
from getstep_server.storage.store import Store
from tests.support.played_contests import Scene, clumsy, play_scenes, silent
from tests.support.random_results import make_up
from tests.support.site import Site, following

LADDER = {"game": "linkage", "format": "ladder", "settings": {"rounds": 2, "games": 2}}
LINE = re.compile(r" *\d+ [MF] (?:[RBGY][A-G][1-7][A-G][1-7]|Skip|\(\w+\))")


def test_each_round_has_all_orders_also_of_games_that_were_lost_afterwards(tmp_path: Path) -> None:
    scenes = [Scene(2, clumsy, clumsy), Scene(1, clumsy, silent)]
    contest = play_scenes(tmp_path / "lost", "linkage", lambda _: scenes, teams=2, ladder=True)
    with Store(contest.database, reading=True) as store:
        ((name, text),) = order_texts(tournament_of(contest), store)
        data = load_report_data(contest, store)
        pages = {page.name: page.content() for page in site_pages(data, store, VisibleGame(data.tournament))}
    assert name == "orders/round-1.txt"
    assert pages[name] == text
    assert f'<a href="{name}">round 1</a>' in str(pages["index.html"])
    games = [block.splitlines() for block in text.strip().split("\n\n")][1:]
    assert [head.partition(":")[0] for head, *_ in games] == ["Match 2", "Match 1"]
    assert all(LINE.fullmatch(line) for _, *lines in games for line in lines)
    state, colours = GAMES["linkage"].start(), dict(zip("MF", (0, 1), strict=True))
    for line in games[0][1:]:
        number, player, order = line.split()
        if order != "Skip":
            assert state.to_move == colours[player], number
            first, second = ((int(order[n + 1]) - 1, "ABCDEFG".index(order[n])) for n in (1, 3))
            state.play((order[0], first, second))
    assert state.outcome is not None


def test_a_round_is_published_when_it_is_over(tmp_path: Path) -> None:
    contest = make_up(tmp_path / "a", [LADDER], ["A", "B", "C"], most=6)
    assert list(order_files(tournament_of(contest)).values()) == ["orders/round-1.txt"]
    several = make_up(tmp_path / "b", [LADDER, {**LADDER, "name": "other"}, {"game": "hop"}], ["A", "B", "C"])
    names = [f"orders/event-{event}-round-{round_}.txt" for event in (1, 2) for round_ in (1, 2)]
    assert sorted(order_files(tournament_of(several)).values()) == names


async def offered(site: Site) -> dict[int, str]:
    """Return the rounds that the event's page offers, and check that the site would have the same texts."""
    page = await site.json("/api/v1/pages/event/1")
    addresses = {one["round"]: one["address"] for one in page["orders"] or []}
    tournament, store = site.app.feed.tournament, site.app.feed.store
    assert store is not None
    texts = await trio.to_thread.run_sync(lambda: dict(order_texts(tournament, store)))
    for address in addresses.values():
        assert (await site.get(address)).body.decode() == texts[address.removeprefix("/")]
    assert len(texts) == len(addresses)
    return addresses


async def test_the_live_page_offers_each_round_that_is_over(tmp_path: Path) -> None:
    contest = await trio.to_thread.run_sync(lambda: make_up(tmp_path / "a", [LADDER], ["A", "B", "C"], most=6))
    async with trio.open_nursery() as nursery:
        site = await following(contest.folder, nursery)
        assert await offered(site) == {1: "/orders/round-1.txt"}
        assert (await site.get("/orders/round-2.txt")).status == 404
        nursery.cancel_scope.cancel()


async def test_the_live_page_hides_the_orders_that_a_freeze_hides(tmp_path: Path) -> None:
    """The freeze comes in the middle of the second round, which is over on record."""
    contest = await trio.to_thread.run_sync(lambda: make_up(tmp_path / "a", [LADDER], ["A", "B", "C"], freeze=6))
    assert list(order_files(tournament_of(contest))) == [(1, 1), (1, 2)]
    async with trio.open_nursery() as nursery:
        site = await following(contest.folder, nursery)
        assert await offered(site) == {1: "/orders/round-1.txt"}
        assert (await site.get("/orders/round-2.txt")).status == 404
        nursery.cancel_scope.cancel()


async def test_a_game_without_orders_offers_none(tmp_path: Path) -> None:
    contest = await trio.to_thread.run_sync(lambda: make_up(tmp_path / "a", [{"game": "hop"}], ["A", "B"]))
    async with trio.open_nursery() as nursery:
        assert await offered(await following(contest.folder, nursery)) == {}
        nursery.cancel_scope.cancel()
