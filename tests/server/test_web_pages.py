"""What the pages show of a stored contest, without a browser and without a socket."""

from __future__ import annotations

import re
import threading
from collections.abc import AsyncIterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from getstep.conventions import CONVENTIONS
from getstep.languages import LANGUAGES, Language, starter
from getstep.replay import MODULES, source
from getstep_engines import GAMES
from getstep_server.config.contest import init_contest
from getstep_server.config.contestants_package import NAME, write_contestants_package
from getstep_server.formats.arena import HOUSE_TEAMS
from getstep_server.storage.database import DatabaseError, DatabaseProblem, ServerAwayError, StoreError
from getstep_server.storage.store import Store
from getstep_server.web import feed as feed_module
from getstep_server.web.app import App
from getstep_server.web.assets import static_files
from getstep_server.web.feed import Feed
from getstep_server.web.http import EventStream, Request
from getstep_server.web.listener import open_page_listener
from getstep_server.web.process import TableMaker, serve
from tests.old_contests.contests import unpack
from tests.support.contests import make_contest
from tests.support.patience import PATIENCE_SECONDS
from tests.support.random_results import make_up
from tests.support.site import Site, following

EXAMPLES = Path(__file__).parents[2] / "bots" / "programs"
MOST_SCRIPT_BYTES = 100_000


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    """The contest that is over, whose teams have made every mistake."""
    folder = tmp_path / "finished"
    unpack("0.1.0-before-settings/finished", folder)
    async with trio.open_nursery() as nursery:
        yield await following(folder, nursery)
        nursery.cancel_scope.cancel()


async def test_the_overview_of_a_contest_that_is_over(site: Site) -> None:
    overview = await site.json("/api/v1/pages/overview")
    assert overview["progress"]["state"] == "over"
    assert overview["progress"]["done"] == overview["progress"]["total"] > 0
    assert [board for name, board in overview.items() if name.startswith("board")] == [None] * 12
    assert overview["teams"]["known"] is False
    assert len(overview["table"]["rows"]) == len(overview["table"]["teams"]) == 5
    assert {"match", "why", "reason", "points"} <= overview["results"][0].keys()


async def test_each_match_team_and_event_has_a_page(site: Site) -> None:
    tournament = site.app.feed.tournament
    for number in tournament.matches:
        page = await site.json(f"/api/v1/pages/match/{number}")
        assert page["match"]["match"] == number
        assert page["state"] in ("over", "cancelled")
    for team in tournament.contest.teams:
        page = await site.json(f"/api/v1/pages/team/{team}")
        own = [result for result in tournament.results if team in result.match.teams]
        assert page["totals"]["played"] == len(own) == len(page["results"])
        assert sum(page["totals"][outcome] for outcome in ("won", "drawn", "lost")) == len(own)
    for event in tournament.contest.events:
        page = await site.json(f"/api/v1/pages/event/{event.number}")
        size = len(page["crosstable"]["teams"])
        assert [len(row) for row in page["crosstable"]["rows"]] == [size] * size
        assert (page["bracket"] is None) == (event.format.name != "knockout")
        assert (page["ladder"] is None) == (event.format.name != "ladder")


async def test_a_played_match_has_its_replay(site: Site) -> None:
    played = next(result for result in site.app.feed.tournament.results if result.turns)
    data = await site.json(f"/api/v1/matches/{played.match.number}/replay")
    assert len(data["games"][-1]["turns"]) >= played.turns
    assert data["games"][-1]["result"]


async def test_the_page_of_two_teams_has_all_their_matches(site: Site) -> None:
    tournament = site.app.feed.tournament
    for team, other in ((1, 2), (2, 1), (1, 3)):
        page = (await site.get(f"/team/{team}/against/{other}")).body.decode()
        own = [result for result in tournament.results if {team, other} == set(result.match.teams)]
        linked = set(re.findall(r'href="/match/(\d+)"', page))
        assert {str(result.match.number) for result in own} <= linked
        counted = re.findall(r"<strong>(\d+) won, (\d+) drawn, (\d+) lost \(\d+ % \[\d+, \d+\]\)</strong>", page)
        assert sum(int(count) for counts in counted for count in counts) == len(own) > 0
        assert sum(int(won) for won, _, _ in counted) == sum(
            result.winner is not None and result.match.teams[result.winner] == team for result in own
        )
    assert await site.get("/team/1/against/3") is await site.get("/team/1/against/3")


def test_the_page_of_two_teams_escapes_their_names(tmp_path: Path) -> None:
    contest = make_up(tmp_path / "names", [{"game": "hop", "settings": {"legs": 1}}], ["<b>Ada", "Blaise"])

    async def check() -> None:
        async with trio.open_nursery() as nursery:
            site = await following(contest.folder, nursery)
            page = (await site.get("/team/1/against/2")).body.decode()
            assert "<bdi>&lt;b&gt;Ada</bdi>" in page
            assert "<b>" not in page
            nursery.cancel_scope.cancel()

    trio.run(check)


@pytest.mark.parametrize(
    "path",
    [
        *("/team/1/against/1", "/team/1/against/999", "/team/1/against", "/team/1/against/x"),
        *("/match/0", "/match/9999", "/team/999", "/event/0", "/event/99", "/overview/1", "/nothing", "//"),
        *("/api/v1/pages/match/9999", "/api/v1/pages/nothing", "/api/v1/matches/9999/replay", "/look/chess.json"),
        *(
            "/static/nothing.js",
            "/static/../app.py",
            "/static/..%2fapp.py",
            "/starters/chess.py",
            "/languages/logo/hop.logo",
            "/languages/cpp/..",
            "/languages/cpp/starters/hop.cpp",
        ),
        *("/wheels/nothing.whl", "/wheels/..", "/wheels/../contest.db", "/teams.toml"),
    ],
)
async def test_there_is_nothing_at_other_addresses(site: Site, path: str) -> None:
    assert (await site.get(path)).status == 404


async def test_the_page_of_a_house_bot(tmp_path: Path) -> None:
    """Its id has ten digits, as the wire allows. It is a team like any other, and its name says what it is."""
    init_contest(tmp_path / "lab", name="lab", games=["hop"], format_="arena")
    team = HOUSE_TEAMS["greedy"]
    feed = Feed(tmp_path / "lab")
    tables = TableMaker(feed)
    tables.reset()
    site = Site(App(feed, tables))
    assert (await site.get(f"/team/{team}")).status == 200
    assert "greedy (house bot)" in str(await site.json(f"/api/v1/pages/team/{team}"))


async def test_an_address_that_follows_many_pages_gets_no_further_events(site: Site) -> None:
    site.app.topics.crowd._addresses["192.0.2.8"] = 250
    answer = await site.get("/api/v1/pages/overview", accept="text/event-stream")
    assert (answer.status, b"too many pages follow" in answer.body) == (503, True)
    site.app.topics.crowd._addresses["192.0.2.8"] = 249
    request = Request(
        "GET", "/api/v1/pages/overview", {}, {"host": "192.0.2.7", "accept": "text/event-stream"}, b"", "192.0.2.8"
    )
    assert isinstance(await site.app(request), EventStream)


async def test_nothing_can_be_posted(site: Site) -> None:
    assert (await site.get("/", method="POST")).status == 405


@pytest.mark.parametrize(
    "path", ["/", "/wall", "/match/1", "/team/1", "/event/1", "/start", "/rules", "/guide", "/x"]
)
async def test_a_page_has_no_script_or_style_in_it(site: Site, path: str) -> None:
    text = (await site.get(path)).body.decode()
    assert re.findall(r"<script(?![^>]* src=\"/static/)", text) == []
    assert re.findall(r"<style|\sstyle=|\son\w+=|javascript:", text) == []
    assert re.findall(r"(?:src|href)=\"(?:https?:)?//(?!192\.0\.2\.7)[^\"]*\.(?:js|css)", text) == []


def test_no_template_string_of_a_script_has_another_one_inside() -> None:
    """rjsmin would take spaces of the inner one away."""
    folder = Path(__file__).parents[2] / "server/getstep_server/web/static"
    scripts = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.js")}
    for name, script in (scripts | {name: source(name) for name in MODULES}).items():
        assert re.findall(r"`[^`]*\$\{[^}`]*`", script) == [], name


def test_all_script_together_is_small() -> None:
    sizes = {name: len(text) for name, text in static_files().items() if name.endswith(".js")}
    assert {"page.js", "board.js", "viewer.js"} <= sizes.keys()
    assert sum(sizes.values()) <= MOST_SCRIPT_BYTES


async def test_a_file_that_the_browser_has_is_not_sent_again(site: Site) -> None:
    first = await site.get("/static/page.js")
    tag = dict(first.headers)["ETag"]
    again = await site.get("/static/page.js", **{"if-none-match": tag})
    assert (again.status, again.body) == (304, b"")


async def test_every_game_has_a_look_and_a_starter(site: Site) -> None:
    for name in GAMES:
        assert (await site.json(f"/look/{name}.json"))["game"] == name
        assert b"def get_step" in (await site.get(f"/starters/{name}.py")).body


@pytest.mark.parametrize("language", LANGUAGES.values(), ids=LANGUAGES)
async def test_every_language_has_its_files_and_a_page(site: Site, language: Language) -> None:
    page = (await site.get(f"/{language.name}")).body.decode()
    assert f">A bot in {language.title}</h1>" in page
    start = (await site.get("/start")).body.decode()
    assert f'href="/{language.name}"' in start
    for name, content in language.sdk_files():
        address = f"/languages/{language.name}/{name}"
        assert (await site.get(address)).body == content
        assert f'href="{address}" download' in start
    for game in language.games():
        bot = (await site.get(f"/languages/{language.name}/{game}{language.suffix}")).body
        assert bot == starter(language, [GAMES[game]], game).encode()
    several = (await site.get(f"/languages/{language.name}/several{language.suffix}")).body.decode()
    python = (await site.get("/starters/several.py")).body.decode()
    assert "A bot for several games" in several
    assert "A bot for several games" in python
    for path in (f"/languages/{language.name}/chess{language.suffix}", f"/languages/{language.name}/starters"):
        assert (await site.get(path)).status == 404


@pytest.mark.parametrize("convention", CONVENTIONS)
async def test_every_convention_has_a_page_and_its_examples(site: Site, convention: str) -> None:
    page = (await site.get(f"/{convention}")).body.decode()
    assert f">Programs for {convention}</h1>" in page
    assert 'href="/programs"' in page
    assert f'href="/{convention}"' in (await site.get("/programs")).body.decode()
    examples = re.findall(r'href="(/examples/[^"]+)"', page)
    assert len(examples) == 4
    for address in examples:
        folder, name = address.split("/")[2:]
        assert (await site.get(address)).body == (EXAMPLES / folder / name).read_bytes()


@pytest.mark.parametrize("path", ["prodrive/README.md", "programs/README.md", "prodrive/x.py", "prodrive/.."])
async def test_nothing_else_is_an_example(site: Site, path: str) -> None:
    assert (await site.get(f"/examples/{path}")).status == 404


async def test_contestants_are_shown_the_conventions_of_their_games(site: Site) -> None:
    start = (await site.get("/start")).body.decode()
    games = {event.game.name for event in site.app.feed.contest.events}
    shown = {name for name in CONVENTIONS if f'href="/{name}"' in start}
    assert shown == {name for name, talk in CONVENTIONS.items() if talk.game in (None, *games)}
    assert len(re.findall(r'href="/examples/[^"]+" download', start)) == 4 * len(shown)
    assert "getstep submit" not in start


async def test_contestants_are_told_that_they_may_submit(tmp_path: Path) -> None:
    init_contest(tmp_path / "club", name="club", games=["linkage"])
    file = tmp_path / "club" / "contest.toml"
    file.write_text(file.read_text().replace("# submissions = true", "submissions = true"))
    feed = Feed(tmp_path / "club")
    tables = TableMaker(feed)
    tables.reset()
    start = (await Site(App(feed, tables)).get("/start")).body.decode()
    assert "getstep submit my_bot.py" in start
    assert start.count('href="/linkage"') == 1
    assert 'href="/prodrive"' not in start


async def test_the_documents_are_whole(site: Site) -> None:
    paths = ("/rules", "/protocol", "/guide")
    rules, protocol, guide = [(await site.get(path)).body.decode() for path in paths]
    assert 'id="chain_reaction"' in rules
    assert 'id="step-5-grow-a-tree"' in guide
    assert guide.count("def get_step") == 5
    assert 'href="/start"' in guide
    assert b'href="/guide"' in (await site.get("/start")).body
    assert "<table" in rules
    assert 'href="/rules' in protocol
    assert "](" not in re.sub(r"<(pre|code).*?</\1>", "", rules + protocol + guide, flags=re.DOTALL)


async def test_the_contestants_package(site: Site) -> None:
    assert f"pip install {NAME}" in (await site.get("/start")).body.decode()
    missing = await site.get("/pip")
    assert (missing.status, b"getstep-server teams slips" in missing.body) == (404, True)
    contest = site.app.feed.contest
    content = write_contestants_package(contest).read_bytes()  # as `teams slips` does
    assert (await site.get(f"/wheels/{NAME}")).body == content
    assert "pip install -r http://192.0.2.7:8080/pip" in (await site.get("/start")).body.decode()
    for written in (content, content + b"newer"):
        (contest.folder / NAME).write_bytes(written)
        direct = f"getstep @ http://192.0.2.7:8080/wheels/{NAME}#sha256={sha256(written).hexdigest()}\n"
        assert (await site.get("/pip")).body.decode() == direct


async def test_a_request_waits_until_the_records_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page that is loaded while its process starts must not tell a spectator that there is no match."""
    folder = tmp_path / "finished"
    unpack("0.1.0-before-settings/finished", folder)
    asked, project = threading.Event(), feed_module._project

    def late(*arguments: Any) -> Any:
        assert asked.wait(PATIENCE_SECONDS)
        return project(*arguments)

    monkeypatch.setattr(feed_module, "_project", late)
    listener = open_page_listener("127.0.0.1", 0)
    with trio.fail_after(PATIENCE_SECONDS):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(serve, folder, listener)
            async with await trio.open_tcp_stream(*listener.getsockname()) as stream:
                await stream.send_all(b"GET /match/3 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
                await trio.testing.wait_all_tasks_blocked(0.01)
                asked.set()
                assert (await stream.receive_some()).startswith(b"HTTP/1.1 200")
            nursery.cancel_scope.cancel()


async def test_a_contest_that_has_not_begun(tmp_path: Path) -> None:
    folder = make_contest(tmp_path / "contest", on_disk=True, patient=True).folder
    feed = Feed(folder)
    tables = TableMaker(feed)
    tables.reset()
    overview = await Site(App(feed, tables)).json("/api/v1/pages/overview")
    assert overview["progress"] == {"state": "new", "done": 0, "total": 0, "expected": 0, "end": None}


@pytest.mark.usefixtures("autojump_clock")
@pytest.mark.parametrize(
    ("error", "waits"),
    [
        (ServerAwayError("no answer"), True),
        (DatabaseError("the connection was lost", DatabaseProblem.AWAY), True),
        (DatabaseError("no such table"), False),
        (StoreError("damaged"), False),
    ],
)
async def test_only_a_database_server_that_is_away_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, *, waits: bool
) -> None:
    class FollowedAgainError(Exception):
        pass

    errors = iter([error, FollowedAgainError()])

    async def follow(*_: object) -> None:
        await trio.lowlevel.checkpoint()
        raise next(errors)

    monkeypatch.setattr(Feed, "_follow", follow)
    folder = make_contest(tmp_path / "contest", on_disk=True, patient=True).folder
    with Store(folder / "contest.db"), pytest.raises(FollowedAgainError if waits else type(error)):
        await Feed(folder).run(lambda: None)


async def test_a_match_that_was_interrupted_keeps_its_board(tmp_path: Path) -> None:
    folder = tmp_path / "killed"
    unpack("0.1.0-before-settings/killed", folder)
    async with trio.open_nursery() as nursery:
        site = await following(folder, nursery)
        with trio.fail_after(PATIENCE_SECONDS):
            while not site.app.feed.live.running:
                await trio.sleep(0.01)
        (number,) = site.app.feed.live.running
        page = await site.json(f"/api/v1/pages/match/{number}")
        assert page["state"] == "interrupted"
        assert page["board"]["turn"] > 0
        assert len(page["moves"]) >= page["board"]["turn"]
        assert page["board"]["touched"]["to"]
        nursery.cancel_scope.cancel()
