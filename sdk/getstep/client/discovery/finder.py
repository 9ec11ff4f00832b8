"""The choice among found servers, and the order in which a client tries them."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import replace

from getstep._errors import SetupError
from getstep.client import saved_login
from getstep.client.saved_login import SavedLogin
from getstep.client.settings import Address
from getstep.text import Console

from .limits import MAX_LISTED, MAX_TRIED, MAX_WARNED
from .network import FoundServer, SearchResult, search

NONE_FOUND = "No contest was found on this network."
NOT_ASKED = "This computer has no network on which contests could be found (no multicast)."


class NoneChosen(SetupError):  # noqa: N818 - as the other errors of this package
    """Several servers were found, and nothing says which one is meant."""

    def __init__(self, servers: tuple[FoundServer, ...]) -> None:
        super().__init__(f"{listing(servers)}\n{how_to_choose(servers[0])}")
        self.servers = servers[:MAX_LISTED]


def listing(servers: tuple[FoundServer, ...]) -> str:
    """Return a numbered line for each server, with what tells them apart, and a warning about equal names."""
    shown = enumerate(servers[:MAX_LISTED], start=1)
    lines = [f"  {number:>2}  {server}{_known(server)}" for number, server in shown]
    if len(servers) > MAX_LISTED:
        lines.append(f"  and {len(servers) - MAX_LISTED} more: somebody may want to hide the right one")
    names = Counter(server.contest for server in servers)
    lines += [
        f"Careful: {count} of them are called {name!r}, and one may be false. Compare the address with your slip."
        for name, count in names.most_common(MAX_WARNED)
        if count > 1
    ]
    return "\n".join([f"{len(servers)} contests were found on this network:", *lines])


def _known(server: FoundServer) -> str:
    """Return what is known about a server from earlier: one at the saved address has proved itself there."""
    for address in server.addresses:
        saved = saved_login.saved_for(address.host, address.port)
        if saved is not None and saved.seen is not None:
            day = time.strftime("%Y-%m-%d", time.localtime(saved.seen.at))
            return f", where your host was on {day} ({saved.seen.contest!r})"
    return ""


def how_to_choose(server: FoundServer) -> str:
    """Return how to name a server, with one as the example."""
    address = server.addresses[0]
    return f"Choose one with its address, for example --host {address.host} --port {address.port}"


def none_found(result: SearchResult) -> str:
    """Return the line for a search without any server."""
    return NONE_FOUND if result.asked else NOT_ASKED


def chosen(servers: tuple[FoundServer, ...], contest: str | None) -> tuple[FoundServer, ...]:
    """Return the servers to try: those with the name of the contest that was seen before, else the only one.

    Anybody can announce that name. So all of them are tried, and the proof tells which one is the host's. The one
    with the highest fencing number is tried first: a computer that was lost may still be announced.
    """
    same = tuple(server for server in servers if server.contest == contest)
    same = tuple(sorted(same, key=lambda server: -server.fence))
    return same or (servers if len(servers) == 1 else ())


def find_one(
    console: Console, port: int | None = None, find: Callable[[], SearchResult] | None = None
) -> FoundServer | None:
    """Search, and return the only server, or None if there is none; say what was found.

    Raises:
        NoneChosen: several were found.
    """
    result = (find or search)()
    servers = with_port(result.servers, port)
    if len(servers) > 1:
        raise NoneChosen(servers)
    console.say(f"Found {servers[0]} on this network." if servers else none_found(result))
    return servers[0] if servers else None


def with_port(servers: tuple[FoundServer, ...], port: int | None) -> tuple[FoundServer, ...]:
    """Return the servers with a port; all of them if ``port`` is None."""
    return tuple(server for server in servers if port in (None, server.addresses[0].port))


class Finder:
    """The addresses at which a client tries to connect while its own address does not answer.

    Args:
        own: the saved address, or the default one.
        saved: the saved login; its contest is preferred.
        port: the port that the user has given, or None.
        console: prints what is found.
        find: searches.
    """

    def __init__(
        self,
        own: Address,
        saved: SavedLogin | None,
        port: int | None,
        console: Console,
        find: Callable[[], SearchResult] | None = None,
    ) -> None:
        self.own = own
        self.saved = saved
        self._port = port
        self._console = console
        self._find = find or search
        self._waiting: deque[Address] = deque()
        self._tried: set[Address] = set()
        self._told: set[str] = set()
        self._settled = False

    def is_found(self, address: Address) -> bool:
        """Return True if an address comes from the network, and nothing was proved there yet."""
        return address != self.own

    def knows(self, token: str) -> bool:
        """Return True if a server has proved before that it knows this token, so that the token is right."""
        return self.saved is not None and self.saved.seen is not None and self.saved.token == token

    def next(self, failed: Address) -> Address | None:
        """Return where to connect at once after a failure; None to wait, and then to connect to ``own`` again.

        Raises:
            NoneChosen: several servers were found, and there is no saved login to wait for.
        """
        if failed == self.own:
            self._waiting.extend(self._search())
        return self._waiting.popleft() if self._waiting else None

    def _search(self) -> list[Address]:
        if len(self._tried) >= MAX_TRIED:
            return []
        result = self._find()
        servers = with_port(result.servers, self._port)
        trying = chosen(servers, self.saved.seen.contest if self.saved and self.saved.seen else None)
        if not trying:
            self._choose_none(servers, result)
        for server in trying:
            if set(server.addresses) != {replace(self.own, tls="")}:
                self._tell(f"Found {server} on this network.")
        found = [replace(address, tls=self.own.tls) for server in trying for address in server.addresses]
        addresses = [address for address in found if address != self.own]
        self._tried.update(addresses[:MAX_TRIED])
        return addresses[:MAX_TRIED]

    def _choose_none(self, servers: tuple[FoundServer, ...], result: SearchResult) -> None:
        several = NoneChosen(servers) if servers else None
        if several is not None and self.saved is None and not self._settled:
            raise several
        self._tell(none_found(result) if several is None else str(several))

    def _tell(self, text: str) -> None:
        if text not in self._told and len(self._told) < MAX_TRIED:
            self._told.add(text)
            self._console.say(text)

    def settle(self, address: Address) -> None:
        """Make ``address``, whose server has proved itself, the own one."""
        self.own, self._settled = address, True
        self._waiting.clear()
        if self.saved is not None:
            self.saved = replace(self.saved, host=address.host, port=address.port)
