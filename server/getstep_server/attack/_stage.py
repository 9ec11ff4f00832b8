"""Where the cases play: it puts the sender in place, lets it act, and tidies up."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count

import trio

from getstep.wire import RemoteProtocolError
from getstep_server.formats import berger
from getstep_server.limits import LOGIN_WINDOW_SECONDS

from ._case import Case, NotAsExpected, NotRun, Times, Who
from ._line import ClassicLine, Line, ints, message
from ._match import Actor, Player, there, turn_of
from ._verdict import compare

MATCHES_OF_A_PAIR = 2

STALE_SECONDS = 1.0
"""A question that has waited so long is passed over: a case is to have time for the next one."""

_SOURCES = count()
"""For all stages of this process, which may be at the same server."""


@dataclass(frozen=True)
class Address:
    """Where a server listens: a loopback address and a port."""

    host: str
    port: int


@dataclass(frozen=True)
class Credential:
    """A team that the attack may play for."""

    team: int
    token: str


class Stage:
    """Connections to one server, and the teams it may play for.

    Pairs of teams are used up one after the other: each plays two matches, and a hostile act loses one.

    Args:
        server: its main port.
        teams: credentials; without any, only strangers can be put in place.
        classic: its classic port, if it has one.
        times: how long the server waits for what.
        rounds: how often all pairs meet for two matches.
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
        self._pairs = rounds * [pair for pairs in berger(list(self.teams)) for pair in pairs] if teams else []
        self._ended: set[int] = set()
        self._players: dict[int, Player] = {}
        self._rest_until: dict[int, float] = {}
        self._open: list[Line] = []
        self._logins = count()

    async def run(self, case: Case) -> None:
        """Put the sender in place, let it act, and compare.

        Raises:
            NotAsExpected: something else came of it.
            NotRun: it takes what is not there.
        """
        actor = None
        try:
            with trio.fail_after(10 * self.times.slack):
                actor = await self._enter(case)
            began = trio.current_time()
            with trio.fail_after(self.times.login + 10 * self.times.slack):
                await case.attack(actor)
            await compare(actor, case, self.times, began)
            await self._greet_newcomer()
        except Exception as error:
            raise self._as_verdict(error, actor) from error
        finally:
            await self._tidy()

    async def aclose(self) -> None:
        """Close everything."""
        for line in [*self._open, *(player.line for player in self._players.values())]:
            await line.close()
        self._open.clear()
        self._players.clear()

    # --- connections, for the cases too ---

    def strange_source(self) -> str:
        """A loopback address of its own, where there are some: for what one stranger does, another does not pay."""
        number = next(_SOURCES)
        return f"127.{number // 62500 % 250 + 1}.{number // 250 % 250}.{number % 250 + 2}"

    async def connect(self, source: str | None = None, *, narrow: bool = False) -> Line:
        """A fresh connection to the main port, closed after the case.

        Args:
            source: connect from this address.
            narrow: take in as little as the system allows before the server has to wait.
        """
        line = Line(await _stream(self.server, source, narrow=narrow))
        self._open.append(line)
        return line

    async def connect_classic(self, source: str | None = None) -> ClassicLine:
        """A fresh connection to the classic port, closed after the case."""
        if self.classic is None:
            raise NotRun("it takes the classic port (--classic)")
        line = ClassicLine(await _stream(self.classic, source, narrow=False))
        self._open.append(line)
        return line

    async def login(self, team: int, line: Line | None = None, **fields: object) -> Player:
        """A connection that has logged in; a team that has done so too often waits first."""
        while True:
            line = line or await self.connect()
            await line.join(team, self.teams[team].token, **fields)
            said = await line.hear()
            if said is not None and said["type"] == "welcome":
                return self.player(team, line)
            reason = "no answer" if said is None else said.get("reason")
            if said is None or reason != "too_many_logins":
                raise NotAsExpected(f"team {team} could not log in: {reason}")
            line = None
            await trio.sleep(said["retry_ms"] / 1000)

    @contextlib.contextmanager
    def promptly(self, what: str) -> Iterator[None]:
        """See that the block, which does ``what``, takes no longer than `Times.prompt`."""
        try:
            with trio.fail_after(self.times.prompt):
                yield
        except trio.TooSlowError:
            raise NotAsExpected(f"{what} took more than {self.times.prompt:g} s") from None

    def player(self, team: int, line: Line) -> Player:
        """A team at a line that has logged in."""
        return Player(team, line, self._ended)

    def take_place(self, player: Player) -> None:
        """Let a case's own login be its team's from now on."""
        if player.team in self._players:
            self._open.append(self._players[player.team].line)
        self._players[player.team] = player
        if player.line in self._open:
            self._open.remove(player.line)

    async def back(self, player: Player) -> Player:
        """A player whose connection has ended, back in the same match."""
        classic = isinstance(player.line, ClassicLine)
        again = await self._seated(player.team, classic=classic)
        if not classic and not (await again.until("start"))["resumed"]:
            raise NotAsExpected("another match has begun, expected the same one")
        return again

    def let_rest(self, team: int) -> None:
        """A team has logged in as often as it may: play with others for a while, if there are any."""
        self._rest_until[team] = trio.current_time() + LOGIN_WINDOW_SECONDS

    # --- putting somebody in place ---

    async def _enter(self, case: Case) -> Actor:
        who = case.who
        if who.logs_in and len(self.teams) < 2:
            raise NotRun("it takes the credentials of two teams (--contest)")
        if who is Who.STRANGER:
            return Actor(self, await self.connect(self.strange_source()))
        if who is Who.CLASSIC_STRANGER:
            return Actor(self, await self.connect_classic(self.strange_source()))
        if who is Who.LOBBY:
            return await self._in_lobby()
        if who.classic and self.classic is None:
            raise NotRun("it takes the classic port (--classic)")
        return await self._in_match(case)

    async def _in_lobby(self) -> Actor:
        await self._settle()
        rested = [team for team in self.teams if not self._resting(team)] or list(self.teams)
        player = await self.login(rested[next(self._logins) % len(rested)])
        self.take_place(player)
        await player.catch_up()
        if player.line.goodbye is not None:
            raise NotRun(f"the server says goodbye at once: {player.line.goodbye['reason']}")
        if player.start is not None:
            raise NotRun(f"team {player.team} is in the middle of a match")
        return Actor(self, player.line, player)

    async def _in_match(self, case: Case) -> Actor:
        while self._pairs:
            if not await self._pair_is_fit():
                continue
            first, second = self._pairs[0]
            await self._send_away(set(self._players) - {first, second})  # or one of them would play with those
            players = [await self._seated(first, classic=case.who.classic), await self._seated(second)]
            wanted = {Who.CLASSIC: players[0], Who.CLASSIC_OUT_OF_TURN: players[1]}.get(case.who)
            turn = await turn_of(players, self.times.grace, wanted, STALE_SECONDS)
            if turn is None:
                await self._next_pair()
                continue
            return self._cast(case, turn)
        raise NotRun("no match is left to play: n teams have n(n-1), and most cases take one")

    def _cast(self, case: Case, turn: tuple[Player, Player]) -> Actor:
        on, off = turn
        start = on.start or off.start
        if case.game is not None and there(start)["game"] != case.game:
            raise NotRun(f"it can be done in {case.game} only")
        on.end = off.end = None
        actor, opponent = (on, off) if case.who in (Who.ON_TURN, Who.CLASSIC) else (off, on)
        return Actor(self, actor.line, actor, opponent)

    async def _pair_is_fit(self) -> bool:
        """Whether the pair has matches left and need not rest; else others come first."""
        pair = self._pairs[0]
        if len(self._ended) >= MATCHES_OF_A_PAIR:
            await self._next_pair()
            return False
        if self._resting(*pair) and not all(self._resting(*others) for others in self._pairs):
            self._pairs.append(pair)
            await self._next_pair()
            return False
        return True

    async def _next_pair(self) -> None:
        await self._settle()
        self._ended.clear()
        self._pairs.pop(0)

    def _resting(self, *teams: int) -> bool:
        return any(self._rest_until.get(team, 0.0) > trio.current_time() for team in teams)

    async def _seated(self, team: int, *, classic: bool = False) -> Player:
        player = self._players.get(team)
        if player is not None and not player.line.closed and classic == isinstance(player.line, ClassicLine):
            return player
        await self._hang_up(team)
        if classic:
            line = await self.connect_classic()
            await line.send(ints(team))
            player = self.player(team, line)
        else:
            player = await self.login(team)
        self.take_place(player)
        return player

    async def _greet_newcomer(self) -> None:
        with self.promptly("greeting a newcomer"):
            line = await self.connect("127.0.0.3")
            if await line.hear() is None:
                raise NotAsExpected("the server does not greet a newcomer")
            await line.close()
            self._open.remove(line)

    # --- tidying up ---

    async def _settle(self) -> None:
        """End the match that may be going on, and hang up."""
        pair = self._pairs[0] if self._pairs and len(self._ended) < MATCHES_OF_A_PAIR else ()
        players = [self._players[team] for team in pair if team in self._players]
        modern = [player for player in players if not isinstance(player.line, ClassicLine)]
        if len(players) == 2 and modern and not any(player.line.closed for player in players):
            turn = await turn_of(players, self.times.grace, modern[0])  # a classic client has no word for giving up
            if turn is not None:
                on, off = turn
                await off.line.part()  # first, or the next match would begin
                await on.line.send(message(type="resign", id=there(on.question)["id"]))
                await on.until("end")
        await self._send_away(set(self._players))

    async def _send_away(self, teams: set[int]) -> None:
        for team in teams:
            await self._hang_up(team)

    async def _hang_up(self, team: int) -> None:
        player = self._players.pop(team, None)
        if player is not None:
            await player.line.part()

    async def _tidy(self) -> None:
        for team in [team for team, player in self._players.items() if player.line.closed]:
            self._open.append(self._players.pop(team).line)
        for line in self._open:
            await line.close()
        self._open.clear()

    def _as_verdict(self, error: Exception, actor: Actor | None) -> Exception:
        """What an exception in a case says about the server."""
        while isinstance(error, ExceptionGroup):
            error = error.exceptions[0]
        if isinstance(error, ConnectionRefusedError) and self.teams and not self._pairs:
            return NotRun("the contest is over, and the server gone")
        if isinstance(error, trio.TooSlowError):
            if actor is None:
                return NotRun("nobody could be put in place: is the contest under way? (run it with --now)")
            return NotAsExpected(f"nothing more came of it; {actor.summary()}")
        if isinstance(error, (OSError, RemoteProtocolError, trio.BrokenResourceError, trio.ClosedResourceError)):
            return NotAsExpected(f"{type(error).__name__}: {error}")
        return error


async def _stream(address: Address, source: str | None, *, narrow: bool) -> trio.SocketStream:
    """Connect, from another loopback address if the system has more than one."""
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
