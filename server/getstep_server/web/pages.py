"""The live pages and the topics behind them."""

from __future__ import annotations

import re
from collections.abc import Callable

from .details import EventPage, MatchPage, TeamPage
from .feed import Feed
from .parts import Overview
from .reveal import RevealPage, Steering
from .tables import PageTables
from .topics import Build

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
    """

    def __init__(self, feed: Feed, tables: Callable[[], PageTables], steering: Steering | None = None) -> None:
        self._feed = feed
        self._tables = tables
        self._overview = Overview(feed, tables)
        self._reveal = RevealPage(feed, tables, steering)

    def find(self, name: str) -> Build | None:
        """Return the function that builds a topic, such as "overview" or "match/7"; None if there is none now."""
        kind, _, text = name.partition("/")
        number, tournament = int(text or 0), self._feed.tournament
        match kind:
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

    def view_of(self, path: str) -> tuple[str, str, str] | None:
        """Return the view, the topic and the title of the page at an address; None if there is no such page."""
        for view, pattern, title in ADDRESSES:
            if pattern.fullmatch(path):
                topic = "overview" if view in ("overview", "wall") else path.strip("/")
                return (view, topic, title) if self.find(topic) else None
        return None
