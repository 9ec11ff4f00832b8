"""The pages and their data, by address: the live pages with the topics behind them, and all others."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import trio
from msgspec.structs import asdict

from getstep.conventions import CONVENTIONS
from getstep.languages import LANGUAGES
from getstep_engines import GAMES
from getstep_server.addresses import lan_address, web_address
from getstep_server.api.answers import HostHealth, NoticesParts
from getstep_server.api.visibility import VisibleGame
from getstep_server.config.certificate import Certificate
from getstep_server.config.contest import HostPage
from getstep_server.config.contestants_package import NAME as CONTESTANTS_PACKAGE
from getstep_server.limits import STANDBY_BODY_BYTES
from getstep_server.reports.linkage_orders import order_files, round_orders
from getstep_server.reports.match_pages import Links
from getstep_server.reports.programs import published_files
from getstep_server.reports.qr_code import qr_code_svg
from getstep_server.reports.team_pair import PARTS_HINT, pair_events
from getstep_server.reports.templating import template_environment
from getstep_server.standby.follower import ADDRESS as STANDBY

from .api_routes import CACHED, Api
from .assets import look, static, unless_known
from .details import EventPage, MatchPage, TeamPage
from .downloads import (
    DOCUMENTS,
    ServedPackage,
    document,
    example,
    example_names,
    language_file,
    starter,
    starter_stems,
)
from .feed import Feed
from .friendly_bots import FriendlyBots
from .host import HostConsole
from .host_access import HostAccess
from .host_api import HostApi
from .host_state import HostState
from .http import BINARY, JSON, TEXT, AnyResponse, Request, Response, Upload, problem
from .kept import Keeper
from .metrics import Metrics
from .own import TeamArea
from .parts import Overview, notices_answer
from .people import People
from .rehearsal import Rehearsal
from .reveal import RevealPage, Steering
from .sign_up import SignUpPage
from .slip import LOOPBACK_NAMES
from .standby import StandbyFeed
from .tables import PageTables
from .topics import Build, Parts, Topics, encode
from .wall import Wall


class PageLinks(Links):
    """The addresses of this server's pages."""

    def match(self, number: int) -> str:
        return f"/match/{number}"

    def team(self, number: int) -> str:
        return f"/team/{number}"


PAIRS_KEPT = 64
"""The pages of two teams that are kept until the next record: each may take a second to make."""

# --- pages and topics -------------------------------------------------------------------------------------------


ADDRESSES = [
    ("overview", re.compile(r"/"), "Overview"),
    ("wall", re.compile(r"/wall"), "Wall"),
    ("reveal", re.compile(r"/reveal"), "Reveal"),
    ("match", re.compile(r"/match/[0-9]{1,9}"), "Match"),
    ("team", re.compile(r"/team/[0-9]{1,10}"), "Team"),
    ("event", re.compile(r"/event/[0-9]{1,9}"), "Results"),
]
"""The live pages: the name of the script's view, the address, and the title."""


class Pages:
    """The topics of a contest.

    Args:
        feed: the contest.
        tables: returns the current tables.
        steering: the steps of a reveal, if the host steers one here.
        wall: what the host has chosen for it.
    """

    def __init__(
        self,
        feed: Feed,
        tables: Callable[[], PageTables],
        steering: Steering | None = None,
        wall: Wall | None = None,
    ) -> None:
        self._feed = feed
        self._tables = tables
        self._overview = Overview(feed, tables, wall or Wall())
        self._reveal = RevealPage(feed, tables, steering)

    def find(self, name: str) -> Build | None:
        """Return the function that builds a topic, such as "overview" or "match/7"; None if there is none now."""
        kind, _, text = name.partition("/")
        # the patterns of the addresses allow only digits here
        number, tournament = int(text or 0), self._feed.tournament
        match kind:
            case "notices" if not text:
                return self._notices
            case "overview" if not text:
                return self._overview
            case "reveal" if not text:
                return self._reveal
            case "match" if number in tournament.matches:
                return MatchPage(self._feed, number)
            case "team" if number in tournament.contest.teams or number in tournament.contest.former_names:
                return TeamPage(self._feed, self._tables, number)
            case "event" if 1 <= number <= len(tournament.contest.events):
                return EventPage(self._feed, self._tables, number)
            case _:
                return None

    def _notices(self) -> Parts:
        return asdict(NoticesParts(notices=notices_answer(self._feed)))

    def view_of(self, path: str) -> tuple[str, str, str] | None:
        """Return the view, the topic and the title of the page at an address; None if there is no such page."""
        for view, pattern, title in ADDRESSES:
            if pattern.fullmatch(path):
                topic = "overview" if view in ("overview", "wall") else path.strip("/")
                return (view, topic, title) if self.find(topic) else None
        return None


DEFAULT_PORT = 7777
"""The port that `getstep` assumes."""


class App:
    """The handler of all requests.

    Args:
        feed: the contest.
        tables: returns the current tables.
        steering: the steps of a reveal, if the host steers one here.
        keeper: keeps logins and games for a page that is started again; by default none are kept.
        host_page: where the host's console answers; None: where contest.toml says.
        certificate: of the contest, if the page speaks TLS.
    """

    def __init__(
        self,
        feed: Feed,
        tables: Callable[[], PageTables],
        steering: Steering | None = None,
        keeper: Keeper | None = None,
        host_page: HostPage | None = None,
        certificate: Certificate | None = None,
    ) -> None:
        self.feed = feed
        self.tables = tables
        self.steering = steering
        self._certificate = certificate
        self.keeper = keeper or Keeper()
        self.wall = Wall()
        self.pages = Pages(feed, tables, steering, self.wall)
        self.listens_to_all = False
        """True if the page listens on all addresses of this computer, not on one that was named."""
        self.topics = Topics(self.pages.find, feed.contest.file.quotas.page_followers_per_address)
        self.access = HostAccess(feed.folder, host_page or feed.contest.file.server.host_page)
        self.api = Api(feed, tables, self.topics, self.access.is_open_in)
        self.metrics = Metrics(feed, self.api)
        self._readers = trio.CapacityLimiter(1)  # a match of 400 turns takes 20 ms to read: one request at a time
        self.package = ServedPackage(feed.contest.folder / CONTESTANTS_PACKAGE)
        self.own = TeamArea(feed, self.render, self.keeper)
        self.sign_up = SignUpPage(feed, self.render, self.own.log_in)
        state = HostState(feed, certificate)
        health = partial(self._health, state)
        self.rehearsal = Rehearsal(feed.folder, lambda: feed.whole.place > 0)
        self.host_api = HostApi(state, self.access, health)
        self.host = HostConsole(
            feed, self.render, self.access, state, health, self.wall, self.rehearsal, self._address
        )
        self.standby = StandbyFeed(feed)
        self.friendly = FriendlyBots(lambda: feed.contest)
        self.people = People(feed, self.render, self.own.team_of, self.friendly, self.keeper)
        self._templates = template_environment("getstep_server.web")
        self._pairs: dict[tuple[int, int], Response] = {}
        self._pairs_at = 0
        """The version of the records of which the pages in `_pairs` are."""

    async def __call__(self, request: Request) -> AnyResponse:
        if request.path == "/play" or request.path.startswith("/play/"):
            return await self.people(request)
        if request.path == "/own" or request.path.startswith("/own/"):
            return await self.own(request)
        if request.path == "/join" or request.path.startswith("/join/"):
            return await self.sign_up(request)
        if request.path == "/host" or request.path.startswith("/host/"):
            return await self.host(request)
        if request.path == "/metrics":
            return await self.metrics(request)
        if request.path.startswith(STANDBY):
            return await self.standby(request)
        if request.path.startswith("/api/v1/host/"):
            return await self.host_api(request)
        if request.path.startswith("/api/v1/"):
            found = await self.api(request)
            return unless_known(request, found) if isinstance(found, Response) else found
        if request.method == "POST" and request.path == "/reveal/step" and self.steering is not None:
            return await self.steering(request)
        if request.method == "POST":
            return problem(405, "nothing can be sent to this address")
        for pattern, view in _VIEWS:
            if match := pattern.fullmatch(request.path):
                answer = view(self, request, *match.groups())
                if isinstance(answer, Awaitable):
                    answer = await answer
                return unless_known(request, answer) if isinstance(answer, Response) else answer
        return self.render("error", status=404, title="Not found", text="There is no page at this address.")

    def body_limit(self, request: Request) -> int | Upload | Response:
        """Return the size that the body of a request may have."""
        return STANDBY_BODY_BYTES if request.path == f"{STANDBY}/follow" else self.own.body_limit(request)

    def _health(self, state: HostState) -> HostHealth:
        server = self.metrics.server
        followers = self.topics.crowd.size + self.api.readers.size
        return state.answer(0 if server is None else server.connections, followers)

    def render(self, template: str, *, status: int = 200, **values: object) -> Response:
        page = self._templates.get_template(f"{template}.html.j2")
        contest = self.feed.contest
        latest = notices_answer(self.feed)
        text = page.render(contest=contest.name, events=contest.events, nav=True, notices=latest, **values)
        return Response(text.encode(), status=status)

    # --- views ---

    def page(self, request: Request, path: str) -> AnyResponse:
        """Return a live page: a frame that the script fills from its topic."""
        found = self.pages.view_of(path)
        if found is None:
            return self.render("error", status=404, title="Not found", text="There is no page at this address.")
        view, topic, title = found
        address = self._address(request) if view == "wall" else ""
        return self.render(
            "live", page=view, topic=topic, title=title, address=address, qr=address and qr_code_svg(address)
        )

    def _address(self, request: Request) -> str:
        """Return the address at which a phone finds this page, whatever the computer at the projector calls it."""
        if (known := self.feed.contest.file.server.page_address) is not None:
            return f"{known}/"
        if request.typed_host not in LOOPBACK_NAMES:
            return f"{request.page}/"
        if not self.listens_to_all:
            return ""  # no phone finds it
        found, port = lan_address(), urlsplit(request.page).port
        return web_address(found, port, request.scheme)

    def look(self, _: Request, name: str) -> AnyResponse:
        """Return how a game looks, for the script that draws boards."""
        return look(name, self._games())

    def openapi(self, _: Request) -> AnyResponse:
        """Return the description of the API."""
        from .openapi import description  # here: it makes a hundred schemas, and few ask for it

        return Response(encode(description()), JSON, headers=CACHED)

    def document(self, _: Request, name: str) -> AnyResponse:
        return self.render("document", title=DOCUMENTS[name], document=document(name))

    def start(self, request: Request) -> AnyResponse:
        """Return what a contestant has to type, with this server's addresses."""
        contest, server = self.feed.contest, self.feed.contest.file.server
        offered = self.package.digest() is not None
        games = self._games()
        return self.render(
            "start",
            title="Take part",
            offered=offered,
            install=f"{self._pip_trust(request)}-r {request.page}/pip" if offered else CONTESTANTS_PACKAGE,
            package=CONTESTANTS_PACKAGE,
            games="--game all" if len(games) == len(GAMES) else " ".join(f"--game {game}" for game in games),
            practised=f" --game {next(iter(games))}" if len(games) > 1 else "",
            published=[
                (contest.team_name(team), version, path.name) for (team, version), path in self._published().items()
            ],
            starters=starter_stems(games),
            languages=[
                (language, [f"{stem}{language.suffix}" for stem in starter_stems(language.games_of(games))])
                for language in LANGUAGES.values()
            ],
            conventions=[
                (name, name.replace("-", "_"), example_names(name))
                for name, talk in CONVENTIONS.items()
                if talk.game is None or talk.game in games
            ],
            submissions=contest.file.programs.submissions,
            host=request.typed_host,
            port="" if server.port == DEFAULT_PORT else f" --port {server.port}",
            contest_events=contest.events,
        )

    def _pip_trust(self, request: Request) -> str:
        """Return the option with which pip accepts a certificate that no authority has signed."""
        own = self._certificate is not None and self._certificate.self_signed and not request.by_proxy
        return f"--trusted-host {request.headers['host']} " if own else ""

    def _games(self) -> list[str]:
        """Return the names of the contest's games, in the order of its events."""
        return list(dict.fromkeys(event.game.name for event in self.feed.contest.events))

    def starter(self, _: Request, stem: str) -> AnyResponse:
        """Return the first bot of a game, or of all games of the contest, as a file."""
        text = starter(stem, self._games())
        return problem(404, "there is no such file") if text is None else Response(text, TEXT)

    def language(self, _: Request, name: str, file: str) -> AnyResponse:
        """Return a file of a language's SDK, or a first bot in that language."""
        content = language_file(name, file, self._games())
        return problem(404, "there is no such file") if content is None else Response(content, TEXT)

    def example(self, _: Request, folder: str, name: str) -> AnyResponse:
        """Return one of our programs for the conventions of the original contests."""
        content = example(folder, name)
        return problem(404, "there is no such file") if content is None else Response(content, TEXT)

    def requirements(self, request: Request) -> AnyResponse:
        """Return a requirements file for pip, so that the command to type is short and always right."""
        text = self.package.requirements(request.page)
        missing = "the host has not written the contestants' package; getstep-server teams slips writes it"
        return problem(404, missing) if text is None else Response(text.encode(), TEXT)

    def wheel(self, _: Request, name: str) -> AnyResponse:
        content = self.package.content() if name == CONTESTANTS_PACKAGE else None
        return problem(404, "there is no such wheel") if content is None else Response(content, BINARY)

    def program(self, _: Request, name: str) -> AnyResponse:
        found = {path.name: path for path in self._published().values()}
        return Response(found[name].read_bytes(), BINARY) if name in found else problem(404, "no such program")

    def _published(self) -> dict[tuple[int, int], Path]:
        return published_files(self.feed.contest, self.feed.tournament.decisions)

    async def against(self, _: Request, *ids: str) -> AnyResponse:
        """Return all matches between two teams, as far as spectators may see them."""
        team, other = map(int, ids)
        feed, tournament, store = self.feed, self.feed.tournament, self.feed.store
        known = {*tournament.contest.teams, *tournament.contest.former_names}
        if store is None or team == other or not {team, other} <= known:
            return self.render("error", status=404, title="Not found", text="There is no page at this address.")
        version, last = feed.version["records"], feed.whole.frozen_at
        if version != self._pairs_at or len(self._pairs) >= PAIRS_KEPT:
            self._pairs.clear()
            self._pairs_at = version
        if (team, other) in self._pairs:
            return self._pairs[team, other]
        links = PageLinks(played={number for number, _ in tournament.recorded})
        matches = [match for match in tournament.matches.values() if {team, other} == set(match.teams)]
        hidden = sum({team, other} == set(match.teams) for match in feed.hidden)
        names = [tournament.contest.team_name(one) for one in (team, other)]

        def read() -> Response:
            return self.render(
                "against",
                title=" – ".join(names),
                teams=list(zip((team, other), names, strict=True)),
                hidden=hidden,
                pair_events=pair_events(tournament, store, team, matches, links, last, VisibleGame(tournament)),
                parts_hint=PARTS_HINT,
            )

        page = await trio.to_thread.run_sync(read, limiter=self._readers)
        if feed.version["records"] == version == self._pairs_at:
            self._pairs[team, other] = page
        return page

    async def orders(self, _: Request, name: str) -> AnyResponse:
        """Return all orders of a round of linkage that is over, as far as spectators may see them."""
        store, tournament = self.feed.store, self.feed.tournament
        found = [key for key, known in order_files(tournament).items() if known == name]
        if store is None or not found:
            return problem(404, "there is no such file, the round is not over, or its results are hidden")
        ((number, round_),) = found
        event = tournament.contest.event(number)
        read = round_orders(tournament, event, round_)
        texts = tournament.cached(event, "orders", dict[int, bytes])  # of one round: that which many load now

        def text() -> bytes:
            if round_ not in texts:
                content = read(store).encode()
                texts.clear()
                texts[round_] = content
            return texts[round_]

        return Response(await trio.to_thread.run_sync(text, limiter=self._readers), TEXT)

    def static(self, _: Request, name: str) -> AnyResponse:
        """Return a script or a style sheet."""
        return static(name)


_VIEWS: list[tuple[re.Pattern[str], Callable[..., AnyResponse | Awaitable[AnyResponse]]]] = [
    (re.compile(r"/static/([a-z_-]+\.(?:js|css|svg))"), App.static),
    (re.compile(r"/team/([0-9]{1,10})/against/([0-9]{1,10})"), App.against),
    (re.compile(r"/look/([a-z0-9_]{1,64})\.json"), App.look),
    (re.compile(r"/api/openapi\.json"), App.openapi),
    (re.compile(rf"/({'|'.join(DOCUMENTS)})"), App.document),
    (re.compile(r"/start"), App.start),
    (re.compile(r"/starters/([a-z0-9_]{1,64})\.py"), App.starter),
    (re.compile(r"/languages/([a-z]{1,32})/([A-Za-z0-9_.]{1,80})"), App.language),
    (re.compile(r"/examples/([a-z_]{1,32})/([A-Za-z0-9_.]{1,80})"), App.example),
    (re.compile(r"/pip"), App.requirements),
    (re.compile(r"/(orders/[a-z0-9-]{1,40}\.txt)"), App.orders),
    (re.compile(r"/programs/([0-9-]{3,21}\.zip)"), App.program),
    (re.compile(r"/wheels/([A-Za-z0-9._+!-]{1,200})"), App.wheel),
    (re.compile(r"(/(?:[a-z]+(?:/[0-9]{1,10})?)?)"), App.page),
]
"""The views by address, in the order in which they are tried."""
