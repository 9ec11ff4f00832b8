"""The bots that teams have connected for friendly matches, on a port of the page's own.

They log in as to the contest, by protocol.md, and the same rooms serve them: `net` bounds what they send, their
connections and their logins. Their seats are none of the contest, which does not notice them.
"""

from __future__ import annotations

import socket
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import trio

from getstep_server.config.contest import Contest, Team
from getstep_server.events import Event, ServerFault, TeamLeft
from getstep_server.limits import MAX_FRIENDLY_CONNECTIONS, MAX_FRIENDLY_CONNECTIONS_PER_ADDRESS
from getstep_server.net.listener import accept_forever, open_listener
from getstep_server.net.registry import ConnectionRegistry
from getstep_server.net.seat import Seat
from getstep_server.net.wire_connection import FriendlyConnection

from .friendly_game import BotMailbox, FriendlyGame, FriendlySettings
from .kept import KeptGame
from .listener import first_free
from .person import Person
from .person_game import play_game

RETURN_SECONDS = 30.0
"""The longest wait for a bot whose match goes on: it connects again after pauses of some seconds."""

CONTEST_SECONDS = 1.0
"""The interval at which new teams get a seat."""


class FriendlyBots:
    """The bots that play friendly matches, one for each team.

    Args:
        contest: returns the contest as it is now; its teams may log in.
    """

    def __init__(self, contest: Callable[[], Contest]) -> None:
        self._contest = contest
        self._seats: dict[int, tuple[Seat, ...]] = {}
        self._games: dict[int, BotMailbox] = {}
        """The messages of the bot of a team in the game that it plays."""
        self._played = 0
        self.port: int | None = None
        """The port on which bots connect; None if there is none."""

    async def run(self, host: str, port: int) -> None:
        """Listen on a port, or on the next free one, and serve the bots until cancelled."""
        try:
            listener = first_free(port, lambda tried: open_listener(host, tried))
        except OSError as error:  # the page is more important than friendly matches
            print(f"no friendly matches: cannot listen on {host} port {port}: {error}", file=sys.stderr)
            return
        with listener:
            await self._serve(listener)

    async def _serve(self, listener: socket.socket) -> None:
        registry = ConnectionRegistry(
            self._contest(),
            self._seats,
            self._on_event,
            most=MAX_FRIENDLY_CONNECTIONS,
            most_per_address=MAX_FRIENDLY_CONNECTIONS_PER_ADDRESS,
        )
        self._take(registry)
        async with registry.poller.open(), trio.open_nursery() as nursery:
            nursery.start_soon(accept_forever, listener, FriendlyConnection, registry, nursery)
            self.port = listener.getsockname()[1]
            try:
                while True:
                    # a team may be added, or its token changed, while the page runs
                    await trio.sleep(CONTEST_SECONDS)
                    self._take(registry)
            finally:
                self.port = None

    def _take(self, registry: ConnectionRegistry) -> None:
        """Let the teams of the contest as it is now log in."""
        registry.contest = contest = self._contest()
        for team in contest.teams.values():
            if team.id not in self._seats:
                self._seats[team.id] = (Seat(team, self._on_event),)

    def _on_event(self, event: Event) -> None:
        """End the game of a bot that has left. Incidents are not kept: a refused client is told the reason."""
        if isinstance(event, TeamLeft) and event.team in self._games:
            self._games[event.team].left.set()
        elif isinstance(event, ServerFault):
            print(event.trace, file=sys.stderr)

    # --- for the people ---

    def present(self) -> list[tuple[Team, bool]]:
        """Return the teams whose bot is connected, and whether it is free to play."""
        teams = self._contest().teams.values()
        return [(team, self.is_free(team.id)) for team in teams if self._is_connected(team.id)]

    def is_free(self, team: int) -> bool:
        """Return True if the bot of a team is connected, and plays with nobody."""
        return self._is_connected(team) and not self._seats[team][0].taken

    def _is_connected(self, team: int) -> bool:
        return team in self._seats and self._seats[team][0].connected

    async def play(self, person: Person, team: int, settings: FriendlySettings, kept: KeptGame) -> None:
        """Play a match of a person against the bot of a team; say so if it is no longer free.

        If the match has begun before, the bot has lost its connection, too: wait for it.
        """
        if kept.turns:
            person.show(text="Waiting for the bot to come back.")
            with trio.move_on_after(RETURN_SECONDS):
                while not self.is_free(team):
                    await trio.sleep(0.1)  # the poller of the bots tells nobody
        if not self.is_free(team):
            person.show(text=None, result={"won": None, "text": GONE, "reason": "void"})
            return
        async with self._held(team) as (seat, mailbox):
            self._played += 1
            lag = self._contest().lag
            game = FriendlyGame(person, settings, seat, mailbox, self._played, lag, kept)
            await play_game(person, game)

    @asynccontextmanager
    async def _held(self, team: int) -> AsyncIterator[tuple[Seat, BotMailbox]]:
        seat = self._seats[team][0]
        self._games[team] = mailbox = BotMailbox()
        seat.taken = True
        try:
            yield seat, mailbox
        finally:
            seat.taken = False
            del self._games[team]


GONE = "This bot has just left, or plays with somebody else. Choose again on the page Play."
