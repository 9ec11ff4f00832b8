"""Nobody reads what a bot thinks before the host allows it: the opponent listens to all that leaves the machine."""

from __future__ import annotations

import http.client
import re
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any, get_args
from urllib.parse import urlencode, urlsplit

import pytest
import trio

from getstep.wire import GetStep, Goodbye, Start, Step, sign_page_login
from getstep_server.config.contest import NotesSetting
from getstep_server.config.host_key import new_link
from getstep_server.decisions.making import decide
from getstep_server.decisions.requests import Freeze, Reveal
from getstep_server.web import app, own
from getstep_server.web.api_routes import ROUTES
from getstep_server.web.assets import static_files
from tests.support.command import Command
from tests.support.contests import token_of
from tests.support.patience import PATIENCE_SECONDS
from tests.support.servers import Player, connected, first_legal
from tests.support.site import Browser, following

if TYPE_CHECKING:
    from tests.support.contests import MakeContest
    from tests.support.processes import Programs

WORDS = {1: ("adasays", "adatag", "adadraw"), 2: ("blaisesays", "blaisetag", "bladraws")}
PRINTED = {1: "adaprints", 2: "blaiseprints"}
HELD = (4, 10)
"""The moves of team 1 before which the match is held: to begin to listen, and to ask for everything."""

VIEWS = [
    *("/", "/wall", "/reveal", "/match/1", "/team/1", "/team/2", "/event/1", "/team/1/against/2", "/start", "/pip"),
    *(
        "/look/linkage.json",
        "/api/openapi.json",
        "/rules",
        "/starters/linkage.py",
        "/languages/java/Getstep.java",
        "/play",
    ),
    *("/examples/linkage/linkage.py", "/orders/round-1.txt", "/programs/1-1.zip", "/wheels/getstep.whl"),
]


class NotingPlayer(Player):
    """A bot that notes its own words at each move, and keeps all that the server sends it."""

    def __init__(self, stream: trio.SocketStream, team: int, gates: dict[int, Gate]) -> None:
        super().__init__(stream)
        self.heard = b""
        self._team = team
        self._gates = gates

    async def _receive(self) -> bytes:
        data = await super()._receive()
        self.heard += data
        return data

    async def play_on(self) -> None:
        say, tag, label = WORDS[self._team]
        start: Start | None = None
        while (message := await self.next()) is not None:
            if isinstance(message, Start):
                start = message
            elif isinstance(message, GetStep):
                assert start is not None
                if message.move_number in self._gates:
                    await self._gates[message.move_number].wait()
                drawing = ["mark", [0, 0], label, None]
                notes = {"say": f"{say} {message.move_number}", "tags": [tag], "draw": [drawing], "estimate": 0.5}
                notes["output"] = PRINTED[self._team]
                await self.say(Step(message.id, first_legal(start, message), notes))
            elif isinstance(message, Goodbye):
                return


class Gate:
    """A move before which a match is held."""

    def __init__(self) -> None:
        self.reached, self._open = trio.Event(), trio.Event()

    async def wait(self) -> None:
        self.reached.set()
        await self._open.wait()

    def open(self) -> None:
        self._open.set()


class Listener:
    """A browser and programs, at the page of the host's machine: of a team, or of the host."""

    def __init__(self, url: str) -> None:
        self._netloc = urlsplit(url).netloc
        self._cookie = ""
        self.streams: list[bytearray] = []
        self._threads: list[Thread] = []

    def log_in(self, team: int) -> None:
        """Log in to the team's own area."""
        nonce = self.get("/own/nonce.json").rpartition(b'"nonce":"')[2][:-2].decode()
        self.get("/own/login", {"team": str(team), "nonce": nonce, "mac": sign_page_login(token_of(team), nonce)})
        assert self._cookie

    def open_console(self, folder: Path) -> None:
        """Open the host's console by its link."""
        self.get(f"/host?key={new_link(folder)}")
        assert self._cookie

    def get(self, path: str, form: dict[str, str] | None = None) -> bytes:
        """Return the head and the body of an answer."""
        connection = http.client.HTTPConnection(self._netloc, timeout=PATIENCE_SECONDS)
        with closing(connection), self._ask(connection, path, form) as answer:
            if cookie := answer.headers.get("Set-Cookie"):
                self._cookie = cookie.partition(";")[0]
            return str(answer.headers).encode() + answer.read()

    def follow(self, path: str) -> None:
        """Keep what comes at an address, until the page ends."""
        connection, kept = http.client.HTTPConnection(self._netloc, timeout=PATIENCE_SECONDS), bytearray()
        answer = self._ask(connection, path, accept="text/event-stream")
        assert answer.status == 200, path
        self.streams.append(kept)

        def read() -> None:
            with closing(connection), answer:
                while data := answer.read1(65536):
                    kept.extend(data)

        self._threads.append(Thread(target=read, daemon=True))
        self._threads[-1].start()

    def end(self) -> None:
        """Wait for the end of all streams."""
        for thread in self._threads:
            thread.join(PATIENCE_SECONDS)
            assert not thread.is_alive()

    def _ask(
        self,
        connection: http.client.HTTPConnection,
        path: str,
        form: dict[str, str] | None = None,
        accept: str = "*/*",
    ) -> http.client.HTTPResponse:
        headers = {"Cookie": self._cookie, "Accept": accept, "Origin": f"http://{self._netloc}"}
        if form is None:
            connection.request("GET", path, headers=headers)
        else:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
            connection.request("POST", path, urlencode(form), headers)
        return connection.getresponse()


def addresses() -> list[str]:
    """Return the addresses of all views of the page, as far as possible from its own tables."""
    api = [re.sub(r"\{\w+\}", "1", route.path) for route in ROUTES]
    scripts = [f"/static/{name}" for name in static_files()]
    area = set(re.findall(r'"(/own[a-z/.]*)"', Path(own.__file__).read_text(encoding="utf-8")))
    files = [f"/own/match{many}.{kind}" for many in ("/1", "es") for kind in ("jsonl", "txt", "html")]
    found = [*VIEWS, *scripts, *api, "/api/v1/feed?after=0&turns=true&follow=false", *sorted(area), *files]
    return [path for path in found if path not in ("/api/v1/feed", "/own/logout")]


def streams() -> list[str]:
    pages = [re.sub(r"\{\w+\}", "1", route.path) for route in ROUTES if "text/event-stream" in route.media]
    return [f"{path}?after=0&turns=true" if path.endswith("/feed") else path for path in pages]


def told(data: bytes, words: tuple[str, ...]) -> list[str]:
    return [word for word in words if word.encode() in data]


def test_the_opponent_asks_each_view_of_the_page() -> None:
    """A view that is new needs an address in `VIEWS`."""
    for pattern, view in app._VIEWS:
        assert any(map(pattern.fullmatch, addresses())), view


@pytest.mark.long
@pytest.mark.parametrize("setting", get_args(NotesSetting))
async def test_an_opponent_that_listens_to_everything_hears_no_note_before_the_host_allows_it(
    setting: NotesSetting, programs: Programs, make_contest: MakeContest, capsys: pytest.CaptureFixture[str]
) -> None:
    """The opponent's programs run on the host's computer, as bots of teams may do."""
    folder = make_contest(event={"game": "linkage", "settings": {"legs": 1}}, notes=setting)
    after = set() if setting == "never" else {1, 2}
    server = programs.serve(folder, "--web-port", "0")
    url = server.expect(r"(http://127\.0\.0\.1:\d+)/")[1]
    gates = {move: Gate() for move in HELD}
    in_thread: Callable[..., Any] = trio.to_thread.run_sync
    async with connected(server.port) as one, connected(server.port) as other, trio.open_nursery() as nursery:
        players = {team: NotingPlayer(player.stream, team, gates) for team, player in ((1, one), (2, other))}
        for team, player in players.items():
            await player.login(team)
            nursery.start_soon(player.play_on)
        begin, middle = gates.values()
        await begin.reached.wait()
        spy, mate, host = Listener(url), Listener(url), Listener(url)
        await in_thread(spy.log_in, 2)
        await in_thread(mate.log_in, 1)
        await in_thread(host.open_console, folder)
        for path in streams():
            await in_thread(spy.follow, path)
        begin.open()
        await middle.reached.wait()

        # The opponent, which is a spectator as well, asks for everything in the middle of the match.
        for path in addresses():
            data = await in_thread(spy.get, path)
            assert told(data, (*WORDS[1], PRINTED[1])) == [], path
            if not path.startswith("/own"):
                assert told(data, (*WORDS[2], PRINTED[2])) == [], path
        for page, team in ((spy, 2), (mate, 1)):  # each team has its own, with what its bot printed
            data = await in_thread(page.get, "/own/match/1.html")
            assert told(data, (*WORDS[team], PRINTED[team])) == [*WORDS[team], PRINTED[team]]
            assert told(data, (*WORDS[3 - team], PRINTED[3 - team])) == []
        assert await published(folder, Command(capsys)) == set()
        replay = await in_thread(host.get, "/api/v1/matches/1/replay")
        assert noted(replay, None) == ({1, 2} if setting == "live" else set())
        assert (b"no-store" in replay, b"Access-Control-Allow-Origin" in replay) == (True, False)
        await in_thread(decide, folder, Freeze(by="Grace", why="the last match"))
        middle.open()
    assert await in_thread(server.wait) == 0
    await in_thread(spy.end)
    for kept in spy.streams:
        assert kept
        assert told(bytes(kept), (*WORDS[1], *WORDS[2], *PRINTED.values())) == []
    assert told(players[2].heard, (*WORDS[1], PRINTED[1])) == told(players[1].heard, WORDS[2]) == []

    # The match is over. Spectators see no note of it in a freeze; after that it is as the host has set.
    assert await seen(folder) == {None: set(), 1: {1}, 2: {2}}
    assert await published(folder, Command(capsys)) == set()
    await in_thread(decide, folder, Reveal(by="Grace", why="it is over"))
    assert await seen(folder) == {None: after, 1: {1} | after, 2: {2} | after}
    assert await published(folder, Command(capsys)) == after


async def seen(folder: Path) -> dict[int | None, set[int]]:
    """Return whose notes spectators (None) and each team can read."""
    found: dict[int | None, set[int]] = {}
    async with trio.open_nursery() as nursery:
        site = await following(folder, nursery)
        found[None] = noted((await site.get("/api/v1/matches/1/replay")).body, None)
        pair = (await site.get("/team/1/against/2")).body  # it counts results by tag
        assert {team for team, words in WORDS.items() if told(pair, words)} <= found[None]
        for team in WORDS:
            browser = Browser(site.app, f"192.0.2.{team}")
            await browser.log_in(team, token_of(team))
            found[team] = noted((await browser.get("/own/match/1.html")).body, team)
            record = await browser.get("/own/match/1.jsonl")
            assert record.status == 404 or noted(record.body, team) == found[team]
        nursery.cancel_scope.cancel()
    return found


def noted(data: bytes, reader: int | None) -> set[int]:
    """Return whose notes are in what a reader gets; what a bot printed is for its own team only."""
    assert [team for team in PRINTED if PRINTED[team].encode() in data] == ([reader] if reader else [])
    return {team for team, words in WORDS.items() if told(data, words) == list(words)}


async def published(folder: Path, command: Command) -> set[int]:
    """Return whose notes are in the files of the site."""
    ran = await trio.to_thread.run_sync(command, "site", str(folder))
    assert ran.code == 0, ran.err
    files = [path.read_bytes() for path in (folder / "public").rglob("*") if path.is_file()]
    return noted(b"".join(files), None)
