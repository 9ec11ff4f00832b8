"""The requests of people who play: against a sample bot, a friendly match, or for a team in the contest.

A browser has a cookie with a random key to its `Person`. A reload shows the same board, and a page that was started
again takes up a game when its browser comes back (`kept`). Only forms and scripts of this page may change anything:
other sites are refused by their ``Origin``, and the cookie is not sent with their requests.
"""

from __future__ import annotations

import secrets
import sys
import traceback
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import ClassVar, TypeAlias

import trio

from getstep_engines import GAMES, Game, Player
from getstep_server.bot_runner.sample_bots import sample_bots
from getstep_server.config.contest import FRIENDLY_PORT, Team
from getstep_server.config.event import ContestEvent
from getstep_server.limits import (
    MAX_FINISHED_GAMES,
    MAX_FRIENDLY_GAMES,
    MAX_FRIENDLY_GAMES_PER_ADDRESS,
    MAX_SAMPLE_GAMES,
    MAX_SAMPLE_GAMES_PER_ADDRESS,
    MAX_TEAM_PLAYERS,
    PERSON_AWAY_SECONDS,
)

from .boards import BOARD_GET, BOARD_POST, Boards
from .feed import Feed
from .friendly_bots import GONE, FriendlyBots
from .friendly_game import FriendlySettings
from .http import AnyResponse, Request, Response, problem, redirect
from .kept import TOUCH_SECONDS, Keeper, KeptGame, hash_of
from .own_games import program_in_use
from .person import Person
from .person_game import PATIENT, play_game
from .sample_game import SampleGame, SampleSettings
from .team_game import ServerAddress, play_for_team

Render: TypeAlias = Callable[..., Response]
Play: TypeAlias = Callable[[Person, KeptGame], Awaitable[None]]
"""Plays a game to its end."""

BOTS = {
    "random_bot": "random: any legal move",
    "greedy": "greedy: looks one move ahead",
    "mcts": "mcts: simulates thousands of games",
}
"""The sample bots that people play against, the weakest first."""

MOST_THINKING = 2
"""The bots that think at the same time."""

IDLE_SECONDS = 10.0
"""The time without a browser after which a game makes room for another person, if all places are taken."""

_COOKIE = "getstep_play"


@dataclass(eq=False)
class _Place:
    """A person's game: what plays it, and the scope that ends it."""

    person: Person
    kind: str
    address: str
    form: dict[str, str] = field(default_factory=dict)
    """What the person has chosen."""
    team: int | None = None
    scope: trio.CancelScope = field(default_factory=trio.CancelScope)
    over: bool = False


class People(Boards):
    """All people who play.

    Args:
        feed: the contest.
        render: makes a page from a template.
        team_of: returns the team for which a browser is logged in.
        friendly: the bots that play friendly matches.
        keeper: keeps the games for a page that is started again.
    """

    def __init__(
        self,
        feed: Feed,
        render: Render,
        team_of: Callable[[Request], Team | None],
        friendly: FriendlyBots,
        keeper: Keeper,
    ) -> None:
        self._feed = feed
        self._render = render
        self._team_of = team_of
        self._friendly = friendly
        self._keeper = keeper
        self._places: dict[str, _Place] = {}
        """By the hash of the key in the cookie."""
        self._kept: dict[str, KeptGame] = {}
        """The games of the page before this one whose browsers have not come back yet."""
        self._thinking = trio.CapacityLimiter(MOST_THINKING)
        self._nursery: trio.Nursery | None = None

    async def run(self) -> None:
        """Play the games until cancelled."""
        async with trio.open_nursery() as self._nursery:
            for second in count(1):
                await trio.sleep(1)  # a person who leaves says nothing
                self._forget()
                if second % TOUCH_SECONDS == 0:
                    self._touch()
                if second == PERSON_AWAY_SECONDS:
                    for key in list(self._kept):
                        self._drop(key)

    def take_up(self) -> None:
        """Take up the games that were kept; each goes on when its browser comes back."""
        self._kept = self._keeper.games()

    def person(self, request: Request) -> Person | None:
        """Return the person whose game this browser has; None if it has none."""
        place = self._place(request)
        return None if place is None else place.person

    # --- pages ---

    def start(self, request: Request, *, text: str = "", status: int = 200) -> AnyResponse:
        """Return the page on which a person chooses a game."""
        team = self._team_of(request)
        return self._render(
            "play",
            status=status,
            title="Play",
            games=list(self._sample_games().values()),
            bots=BOTS,
            text=text,
            place=self._place(request),
            team=team,
            connected=0 if team is None else self._connected(team),
            program=None if team is None else program_in_use(self._feed.folder, team.id),
            address=self._address(),
            friendly=self._friendly.present(),
            friendly_port=self._friendly.port,
            friendly_command=self._friendly_command(request),
            friendly_events=self._friendly_events(),
        )

    def board(self, request: Request) -> AnyResponse:
        if self._place(request) is None:
            return redirect("/play")
        return self._render("board", title="Your game")

    # --- what a person sends ---

    def sample(self, request: Request) -> AnyResponse:
        """Begin a game against a sample bot."""
        return self._sample(request, request.form())

    def _sample(self, request: Request, form: dict[str, str]) -> AnyResponse:
        game, bot = self._sample_games().get(form.get("game", "")), form.get("bot", "")
        if game is None or bot not in BOTS or form.get("me") not in ("0", "1"):
            return self.start(request, text="Choose a game, a bot and a side.", status=400)
        if not self._has_room(request, "sample", MAX_SAMPLE_GAMES, MAX_SAMPLE_GAMES_PER_ADDRESS):
            return self.start(request, text=_FULL, status=503)
        return self._begin(request, "sample", self._sample_game(form), form)

    def _sample_games(self) -> dict[str, Game]:
        """Return the games that a person can play by clicking: those of the contest first, then all others."""
        games = [event.game for event in self._feed.contest.events] + list(GAMES.values())
        return {game.name: game for game in games if game.move_form.parts}

    def _sample_game(self, form: Mapping[str, str]) -> Play:
        game, bot = GAMES[form["game"]], form["bot"]
        control = game.time_control if form.get("time") == "contest" else PATIENT
        me: Player = 0 if form["me"] == "0" else 1
        settings = SampleSettings(game, bot, sample_bots()[bot], me, control)
        return lambda person, kept: play_game(person, SampleGame(person, settings, self._thinking, kept))

    def friendly(self, request: Request) -> AnyResponse:
        """Begin a friendly match against the bot of a team."""
        return self._friendly_match(request, request.form())

    def _friendly_match(self, request: Request, form: dict[str, str]) -> AnyResponse:
        events = {str(event.number): event for event in self._friendly_events()}
        teams = {str(team.id): team for team, _ in self._friendly.present()}
        event, team = events.get(form.get("event", "")), teams.get(form.get("team", ""))
        if event is None or form.get("me") not in ("0", "1"):
            return self.start(request, text="Choose a game, a team and a side.", status=400)
        if team is None or not self._friendly.is_free(team.id):
            return self.start(request, text=GONE, status=409)
        if team.id not in event.teams:
            text = f"{team.name} does not take part in {event.heading}. Choose another game for its bot."
            return self.start(request, text=text, status=409)
        if not self._has_room(request, "friendly", MAX_FRIENDLY_GAMES, MAX_FRIENDLY_GAMES_PER_ADDRESS):
            return self.start(request, text="Too many people play friendly matches on this page.", status=503)
        return self._begin(request, "friendly", self._friendly_game(form), form)

    def _friendly_game(self, form: Mapping[str, str]) -> Play:
        event = self._feed.contest.event(int(form["event"]))
        settings = FriendlySettings(event, 0 if form["me"] == "0" else 1, form.get("time") != "contest")
        return lambda person, kept: self._friendly.play(person, int(form["team"]), settings, kept)

    def _friendly_events(self) -> list[ContestEvent]:
        """Return the events whose games a person can play by clicking."""
        return [event for event in self._feed.contest.events if event.game.move_form.parts]

    def _friendly_command(self, request: Request) -> str:
        """Return the command by which a team connects its bot for friendly matches."""
        port = self._friendly.port
        command = f"getstep play my_bot.py --friendly --host {request.typed_host}"
        return command if port == FRIENDLY_PORT else f"{command} --port {port}"

    def team(self, request: Request) -> AnyResponse:
        """Take a seat of the browser's team in the contest."""
        team = self._team_of(request)
        if team is None:
            return redirect("/own")
        if self._address() is None:
            return self.start(request, text="No server runs this contest now.", status=409)
        if program_in_use(self._feed.folder, team.id) is not None:
            return self.start(request, text="The host plays with your team's program.", status=409)
        place = self._place(request)
        seats = [one for one in self._places.values() if one.team == team.id and not one.over and one is not place]
        if len(seats) >= team.seats:
            text = "Somebody plays for your team on another page already. Leave that game first."
            return self.start(request, text=text, status=409)
        if self._connected(team) >= team.seats and "take" not in request.form():
            text = "Your team's bot is connected. To take its seat, say so in the form."
            return self.start(request, text=text, status=409)
        if not self._has_room(request, "team", MAX_TEAM_PLAYERS, MAX_TEAM_PLAYERS):
            return self.start(request, text="Too many people play for their teams on this page.", status=503)
        return self._begin(request, "team", self._team_game(team), request.form(), team.id)

    def _team_game(self, team: Team) -> Play:
        return lambda person, _: play_for_team(person, team, self._address, self._feed.live.find)

    def _connected(self, team: Team) -> int:
        """Return how many bots or people of a team are connected to the contest."""
        status = self._feed.status
        return status.connected.get(team.id, 0) if self._feed.server_runs and status is not None else 0

    def _address(self) -> ServerAddress | None:
        """Return where the contest's server listens; None if none runs, or the contest is over."""
        status = self._feed.status
        if not self._feed.server_runs or status is None or status.state == "over":
            return None
        return status.address

    def rematch(self, request: Request) -> AnyResponse:
        """Begin the game that is over once more, with the other side."""
        place = self._place(request)
        begin = (
            None if place is None else {"sample": self._sample, "friendly": self._friendly_match}.get(place.kind)
        )
        if place is None or begin is None or not place.over:
            return redirect("/play/board")
        return begin(request, {**place.form, "me": "1" if place.form["me"] == "0" else "0"})

    def leave(self, request: Request) -> AnyResponse:
        """End the game, and go back to the first page."""
        self._end(request)
        return redirect("/play")

    # --- inside ---

    def _has_room(self, request: Request, kind: str, most: int, most_per_address: int) -> bool:
        """Return True if a game of this kind may begin, perhaps in place of one that nobody follows."""
        own = self._place(request)
        playing = [place for place in self._places.values() if place.kind == kind and not place.over]
        here = [place for place in playing if place.address == request.address]
        if own in playing:
            return True
        if len(here) >= most_per_address:  # only a game from there may make room
            playing = here
        elif len(playing) < most:
            return True
        idle = max(playing, key=lambda place: place.person.away_seconds)
        if idle.person.away_seconds < IDLE_SECONDS:
            return False
        idle.over = True
        idle.scope.cancel()
        return True

    def _begin(
        self,
        request: Request,
        kind: str,
        play: Play,
        form: dict[str, str],
        team: int | None = None,
    ) -> AnyResponse:
        """Begin a game in place of the one that this browser has."""
        if self._nursery is None:
            return problem(503, "the page has just started; load it again")
        self._end(request)
        self._forget()
        # 192 bits: the key is all that proves whose game it is
        place, key = _Place(Person(), kind, request.address, form, team), secrets.token_urlsafe(24)
        about = {"kind": kind, "form": form, "team": team}
        self._start(hash_of(key), place, play, self._keeper.keep_game(hash_of(key), about))
        return redirect("/play/board", request.set_cookie(_COOKIE, key, "/play"))

    def _start(self, key: str, place: _Place, play: Play, kept: KeptGame) -> None:
        assert self._nursery is not None  # noqa: S101 - the callers know
        self._places[key] = place
        self._nursery.start_soon(self._play, key, place, play, kept)

    async def _play(self, key: str, place: _Place, play: Play, kept: KeptGame) -> None:
        """Play a game. Whatever fails in it, the page and the other games go on."""
        try:
            with place.scope:
                await play(place.person, kept)
        except Exception:  # a broken game must not end the page
            traceback.print_exc(file=sys.stderr)
            place.person.show(result={"won": None, "text": _FAILED, "reason": "void"})
        finally:
            place.over = True
        # not if the page ends: then the game goes on with the next one
        self._keeper.forget_game(key)

    def _place(self, request: Request) -> _Place | None:
        key = hash_of(request.cookie(_COOKIE))
        if key in self._kept and self._nursery is not None:
            self._go_on(key, request)
        return self._places.get(key)

    def _go_on(self, key: str, request: Request) -> None:
        """Begin a game again that a page before this one has begun; forget it if that is not possible."""
        kept, team = self._kept.pop(key), self._team_of(request)
        try:
            kind, form, number = kept.about["kind"], dict(kept.about["form"]), kept.about["team"]
            if kind == "team" and team is not None and team.id == number:
                play = self._team_game(team)
            else:
                play = {"sample": self._sample_game, "friendly": self._friendly_game}[kind](form)
        except (LookupError, TypeError, ValueError):  # of another version, or no longer logged in
            self._drop(key)
            return
        # an answer to a question of the page before must not be taken for one to a new question
        person = Person(secrets.randbelow(10**8))
        self._start(key, _Place(person, kind, request.address, form, number), play, kept)

    def _end(self, request: Request) -> None:
        place = self._places.pop(hash_of(request.cookie(_COOKIE)), None)
        if place is not None:
            place.scope.cancel()

    def _drop(self, key: str) -> None:
        self._kept.pop(key, None)
        self._keeper.forget_game(key)

    def _touch(self) -> None:
        """Note which games go on."""
        for key, place in self._places.items():
            if not place.over:
                self._keeper.touch_game(key)

    def _forget(self) -> None:
        """Forget finished games that nobody looks at any more, and the oldest ones if there are too many."""
        left = {key: place.person for key, place in self._places.items() if place.over and not place.person.here}
        for number, (key, person) in enumerate(left.items()):
            if person.away_seconds > PERSON_AWAY_SECONDS or number < len(left) - MAX_FINISHED_GAMES:
                del self._places[key]

    GET: ClassVar = {**BOARD_GET, "/play": start, "/play/board": board}
    POST: ClassVar = {
        **BOARD_POST,
        "/play/sample": sample,
        "/play/friendly": friendly,
        "/play/team": team,
        "/play/rematch": rematch,
        "/play/leave": leave,
    }


_FAILED = "The page failed; its log has the reason."
_FULL = (
    f"{MAX_SAMPLE_GAMES} people are playing already, or {MAX_SAMPLE_GAMES_PER_ADDRESS} at your address;"
    " try again when one of them has finished."
)
