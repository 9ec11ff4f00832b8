"""Bots that stay when their host is lost, and find the one that takes over.

    standby_bots.py PORT LEDGER TEAMS SECONDS FIRST [ADDRESS...]

As those of `crash_bots`, with a saved login for the host FIRST. Without an ADDRESS they search the network as all
bots do. With some, these are what they find: the SDK tries them in turn, and plays where the proof is right.
"""

from __future__ import annotations

import sys
from pathlib import Path

from getstep.client.discovery import Finder, FoundServer, SearchResult
from getstep.client.saved_login import SavedLogin, Seen
from getstep.client.settings import Address
from getstep.text import Console
from tests.support.contests import token_of
from tests.support.scripts.crash_bots import Ledger, Witness, play_all

CONTEST = "Test"


def finder(port: int, team: int, first: str, others: list[str]) -> Finder:
    """Return what finds other hosts than the first one."""
    servers = tuple(FoundServer(CONTEST, (Address(host, port),)) for host in (first, *others))
    saved = SavedLogin(first, port, team, token_of(team), Seen(CONTEST, 0.0))
    find = (lambda: SearchResult(servers)) if others else None
    return Finder(Address(first, port), saved, None, Console(quiet=True), find)


def main(port: int, path: Path, teams: int, seconds: float, first: str, others: list[str]) -> None:
    """Play until every team has the goodbye of the contest."""
    ledger = Ledger(path)
    play_all(
        [
            Witness(port, team, ledger, seconds, 0, None, finder(port, team, first, others), first)
            for team in range(1, teams + 1)
        ]
    )


if __name__ == "__main__":
    _, port, path, teams, seconds, first, *others = sys.argv
    main(int(port), Path(path), int(teams), float(seconds), first, others)
