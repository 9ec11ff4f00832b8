"""Bots that stay when their host is lost, and find the one that takes over.

    standby_bots.py PORT LEDGER TEAMS SECONDS ADDRESS...

As those of `crash_bots`; in place of a search on the network there is a list of the ADDRESSES at which a host may
be, all with the same port and the contest's name. The SDK chooses among them as among those that it finds: it tries
them in turn, and plays where the proof is right.
"""

from __future__ import annotations

import sys
import threading
from pathlib import Path

from getstep.client.discovery import Finder, FoundServer, SearchResult
from getstep.client.saved_login import SavedLogin, Seen
from getstep.client.settings import Address
from getstep.text import Console
from tests.support.scripts.crash_bots import Ledger, Witness

CONTEST = "Test"


def finder(port: int, team: int, hosts: list[str]) -> Finder:
    """Return what finds a host at each of these addresses, after the first one."""
    servers = tuple(FoundServer(CONTEST, (Address(host, port),)) for host in hosts)
    saved = SavedLogin("127.0.0.1", port, team, f"test-token-{team}", Seen(CONTEST, 0.0))
    return Finder(Address("127.0.0.1", port), saved, None, Console(quiet=True), lambda: SearchResult(servers))


def main(port: int, path: Path, teams: int, seconds: float, hosts: list[str]) -> None:
    """Play until every team has the goodbye of the contest."""
    ledger = Ledger(path)
    bots = [
        Witness(port, team, ledger, seconds, 0, None, finder(port, team, hosts)) for team in range(1, teams + 1)
    ]
    threads = [threading.Thread(target=bot.run) for bot in bots]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print("all done", flush=True)


if __name__ == "__main__":
    _, port, path, teams, seconds, *hosts = sys.argv
    main(int(port), Path(path), int(teams), float(seconds), hosts)
