"""The case runner: it brings the sender of a case into its state, lets it send, compares, and cleans up."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count

import trio

from getstep.wire import RemoteProtocolError

from ._case import Case, SenderKind
from ._check import compare
from ._connection import ClassicConnection, RawConnection, ints, message
from ._errors import MissingOption, NotAsExpected, NotRun
from ._player import Credential, Player, Sender, required, turn_of
from ._times import LOGIN_WINDOW_SECONDS, Times

MATCHES_OF_A_PAIR = 2
"""Matches that two teams play in a contest with the default settings: each goes first once."""

STALE_SECONDS = 1.0
"""Seconds after which an open question is answered and skipped: a case needs most of the time of a turn, which is
5 s by default."""

_SOURCES = count()
"""Numbers for `CaseRunner.new_source`, shared by all runners of this process: they may use the same server."""


@dataclass(frozen=True)
class Address:
    """The address of a server: a loopback address and a port."""

    host: str
    port: int


class CaseRunner:
    """A runner of cases against one server, in order.

    Pairs of teams are used up: each pair plays two matches, and most cases of a player lose one. The two players
    stay connected from case to case as long as their pair has matches.

    Args:
        server: its main port.
        teams: credentials of the teams to play for; without them, only cases before login can run.
        classic: its classic port, if it has one.
        times: the server's time limits.
        rounds: how often each pair plays its two matches.
    """

    def __init__(
        self,
        server: Address,
        teams: Sequence[Credential] = (),
        classic: Address | None = None,
        times: Times | None = None,
        rounds: int = 1,
    ) -> None:
        self.server = server
        self.teams = {credential.team: credential for credential in teams}
        self.classic = classic
        self.times = times or Times()
        self._pairs = rounds * _pairs_of(list(self.teams))
        self._ended: set[int] = set()
        self._players: dict[int, Player] = {}
        self._rest_until: dict[int, float] = {}
        self._open: list[RawConnection] = []
        self._logins = count()

    async def run(self, case: Case) -> None:
        """Run a case, and check that the server still greets a new client afterwards.

        Raises:
            NotAsExpected: the server did something else than the case expects.
            NotRun: the case needs a team, a match or a port that is missing.
        """
        sender = None
        try:
            with trio.fail_after(10 * self.times.slack):
                sender = await self._prepare(case)
            began = trio.current_time()
            with trio.fail_after(self.times.login + 10 * self.times.slack):
                await case.attack(sender)
            await compare(sender, case, self.times, began)
            await self._check_greeting()
        except Exception as error:
            raise self._as_result(error, sender) from error
        finally:
            await self._clean_up()

    async def aclose(self) -> None:
        """Close all connections."""
        for connection in [*self._open, *(player.connection for player in self._players.values())]:
            await connection.close()
        self._open.clear()
        self._players.clear()

    # --- for cases: `_player.Server` ---

    def new_source(self) -> str:
        """Return a loopback address that no other case connects from.

        The server counts connections and failed logins by address: one case must not use up the limit of the next.
        """
        number = next(_SOURCES)
        return f"127.{number // 62500 % 250 + 1}.{number // 250 % 250}.{number % 250 + 2}"

    async def connect(self, source: str | None = None, *, narrow: bool = False) -> RawConnection:
        """Return a new connection to the main port. It is closed after the case.

        Args:
            source: the address to connect from.
            narrow: use the smallest receive buffer that the system allows.
        """
        connection = RawConnection(await _stream(self.server, source, narrow=narrow))
        self._open.append(connection)
        return connection

    async def connect_classic(self, source: str | None = None) -> ClassicConnection:
        """Return a new connection to the classic port. It is closed after the case."""
        if self.classic is None:
            raise MissingOption("needs the classic port (--classic)")
        connection = ClassicConnection(await _stream(self.classic, source, narrow=False))
        self._open.append(connection)
        return connection

    async def login(self, team: int, connection: RawConnection | None = None, **fields: object) -> Player:
        """Log in and return the player; if the team has logged in too often, wait as long as the server says."""
        while True:
            connection = connection or await self.connect()
            await connection.join(team, self.teams[team].token, **fields)
            reply = await connection.receive()
            if reply is not None and reply["type"] == "welcome":
                return self.player(team, connection)
            reason = "no answer" if reply is None else reply.get("reason")
            if reply is None or reason != "too_many_logins":
                raise NotAsExpected(f"team {team} could not log in: {reason}")
            connection = None
            await trio.sleep(reply["retry_ms"] / 1000)

    @contextlib.contextmanager
    def promptly(self, what: str) -> Iterator[None]:
        """Raise NotAsExpected if the block, which does ``what``, takes longer than `Times.prompt`."""
        try:
            with trio.fail_after(self.times.prompt):
                yield
        except trio.TooSlowError:
            raise NotAsExpected(f"{what} took more than {self.times.prompt:g} s") from None

    def player(self, team: int, connection: RawConnection) -> Player:
        """Return a player on a connection that has logged in."""
        return Player(team, connection, self._ended)

    def adopt(self, player: Player) -> None:
        """Use a player of a case's own login as its team's player from now on."""
        if player.team in self._players:
            self._open.append(self._players[player.team].connection)
        self._players[player.team] = player
        if player.connection in self._open:
            self._open.remove(player.connection)

    async def reconnect(self, player: Player) -> Player:
        """Connect a player again whose connection has ended, and return it in the same match."""
        classic = isinstance(player.connection, ClassicConnection)
        again = await self._seated(player.team, classic=classic)
        if not classic and not (await again.wait_for("start"))["resumed"]:
            raise NotAsExpected("another match has started, expected the same one")
        return again

    def rest(self, team: int) -> None:
        """Prefer other teams until this one, which has used up its logins, may log in again."""
        self._rest_until[team] = trio.current_time() + LOGIN_WINDOW_SECONDS

    # --- bringing the sender into its state ---

    async def _prepare(self, case: Case) -> Sender:
        kind = case.sender
        if kind.needs_team and len(self.teams) < 2:
            raise MissingOption("needs the credentials of two teams (--contest)")
        if kind is SenderKind.UNAUTHENTICATED:
            return Sender(self, await self.connect(self.new_source()))
        if kind is SenderKind.CLASSIC_UNAUTHENTICATED:
            return Sender(self, await self.connect_classic(self.new_source()))
        if kind is SenderKind.LOBBY:
            return await self._prepare_lobby()
        if kind.needs_classic_port and self.classic is None:
            raise MissingOption("needs the classic port (--classic)")
        return await self._prepare_match(case)

    async def _prepare_lobby(self) -> Sender:
        await self._end_match()
        rested = [team for team in self.teams if not self._is_resting(team)] or list(self.teams)
        player = await self.login(rested[next(self._logins) % len(rested)])
        self.adopt(player)
        await player.read_pending()
        if player.connection.goodbye is not None:
            raise NotRun(f"the server says goodbye at once: {player.connection.goodbye['reason']}")
        if player.start is not None:
            raise NotRun(f"team {player.team} is playing a match")
        return Sender(self, player.connection, player)

    async def _prepare_match(self, case: Case) -> Sender:
        while self._pairs:
            if not await self._pair_is_usable():
                continue
            first, second = self._pairs[0]
            others = set(self._players) - {first, second}
            await self._disconnect_all(
                others
            )  # else the server could start a match of one of them with one of the pair
            players = [
                await self._seated(first, classic=case.sender.needs_classic_port),
                await self._seated(second),
            ]
            wanted = {SenderKind.CLASSIC: players[0], SenderKind.CLASSIC_OUT_OF_TURN: players[1]}.get(case.sender)
            turn = await turn_of(players, self.times.grace, wanted, STALE_SECONDS)
            if turn is None:
                await self._next_pair()
                continue
            return self._assign(case, turn)
        raise NotRun("no match is left: n teams play n(n-1) matches, and most cases of a player use one up")

    def _assign(self, case: Case, turn: tuple[Player, Player]) -> Sender:
        on, off = turn
        start = on.start or off.start
        if case.game is not None and required(start)["game"] != case.game:
            raise NotRun(f"it is possible in {case.game} only")
        on.end = off.end = None
        sender, opponent = (on, off) if case.sender in (SenderKind.ON_TURN, SenderKind.CLASSIC) else (off, on)
        return Sender(self, sender.connection, sender, opponent)

    async def _pair_is_usable(self) -> bool:
        """Return True if the pair has matches left and both may log in; else move on to the next pair."""
        pair = self._pairs[0]
        if len(self._ended) >= MATCHES_OF_A_PAIR:
            await self._next_pair()
            return False
        if self._is_resting(*pair) and not all(self._is_resting(*others) for others in self._pairs):
            self._pairs.append(pair)
            await self._next_pair()
            return False
        return True

    async def _next_pair(self) -> None:
        await self._end_match()
        self._ended.clear()
        self._pairs.pop(0)

    def _is_resting(self, *teams: int) -> bool:
        return any(self._rest_until.get(team, 0.0) > trio.current_time() for team in teams)

    async def _seated(self, team: int, *, classic: bool = False) -> Player:
        player = self._players.get(team)
        if (
            player is not None
            and not player.connection.closed
            and classic == isinstance(player.connection, ClassicConnection)
        ):
            return player
        await self._disconnect(team)
        if classic:
            connection = await self.connect_classic()
            await connection.send(ints(team))
            player = self.player(team, connection)
        else:
            player = await self.login(team)
        self.adopt(player)
        return player

    async def _check_greeting(self) -> None:
        with self.promptly("greeting a new client"):
            connection = await self.connect("127.0.0.3")
            if await connection.receive() is None:
                raise NotAsExpected("the server does not greet a new client")
            await connection.close()
            self._open.remove(connection)

    # --- cleaning up ---

    async def _end_match(self) -> None:
        """End the match of the current pair, if there is one, and disconnect all players."""
        pair = self._pairs[0] if self._pairs and len(self._ended) < MATCHES_OF_A_PAIR else ()
        players = [self._players[team] for team in pair if team in self._players]
        modern = [player for player in players if not isinstance(player.connection, ClassicConnection)]
        if len(players) == 2 and modern and not any(player.connection.closed for player in players):
            turn = await turn_of(players, self.times.grace, modern[0])  # a classic client cannot resign
            if turn is not None:
                on, off = turn
                await (
                    off.connection.close_gracefully()
                )  # before the match ends: else the next match would start at once
                await on.connection.send(message(type="resign", id=required(on.question)["id"]))
                await on.wait_for("end")
        await self._disconnect_all(set(self._players))

    async def _disconnect_all(self, teams: set[int]) -> None:
        for team in teams:
            await self._disconnect(team)

    async def _disconnect(self, team: int) -> None:
        player = self._players.pop(team, None)
        if player is not None:
            await player.connection.close_gracefully()

    async def _clean_up(self) -> None:
        for team in [team for team, player in self._players.items() if player.connection.closed]:
            self._open.append(self._players.pop(team).connection)
        for connection in self._open:
            await connection.close()
        self._open.clear()

    def _as_result(self, error: Exception, sender: Sender | None) -> Exception:
        """Return an exception that was raised while a case ran as the outcome of the case."""
        while isinstance(error, ExceptionGroup):
            error = error.exceptions[0]
        if isinstance(error, ConnectionRefusedError) and self.teams and not self._pairs:
            return NotRun("the contest is over and the server has ended")
        if isinstance(error, trio.TooSlowError):
            if sender is None:
                return NotRun("no match started: is the contest running? (start the server with --now)")
            return NotAsExpected(f"the server did nothing more; {sender.summary()}")
        if isinstance(error, (OSError, RemoteProtocolError, trio.BrokenResourceError, trio.ClosedResourceError)):
            return NotAsExpected(f"{type(error).__name__}: {error}")
        return error


async def _stream(address: Address, source: str | None, *, narrow: bool) -> trio.SocketStream:
    """Connect, from ``source`` if the system allows it: macOS has only one loopback address by default."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    sock = trio.socket.socket(family, socket.SOCK_STREAM)
    if narrow:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 536)
    if source is not None and family is socket.AF_INET:
        with contextlib.suppress(OSError):
            await sock.bind((source, 0))
    try:
        await sock.connect((address.host, address.port))
    except BaseException:
        sock.close()
        raise
    return trio.SocketStream(sock)


def _pairs_of(teams: list[int]) -> list[tuple[int, int]]:
    """Return every two teams, round by round, so that a team rests between its matches: logins are limited."""
    ring: list[int | None] = [*teams, *[None] * (len(teams) % 2)]
    pairs = []
    for _ in range(len(ring) - 1):
        half = len(ring) // 2
        pairs += [
            (a, b)
            for a, b in zip(ring[:half], ring[: half - 1 : -1], strict=True)
            if a is not None and b is not None
        ]
        ring = [ring[0], ring[-1], *ring[1:-1]]
    return pairs
