"""The replay pages of all matches on record, and the addresses by which other pages link to them and to teams."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from getstep.replay import SCRIPT_FILE, STYLE_FILE, replay_data, replay_page, script, style
from getstep_server.records.match import Match
from getstep_server.records.record import parse
from getstep_server.storage.store import Store
from getstep_server.text import escape_control_chars
from getstep_server.tournament.tournament import Tournament

from .replays import Seen, replay_of

MATCHES_LINKED = 12
"""The most other matches of the same two teams that a match's page links to: a sequential test has thousands."""

CountDone = Callable[[int, int], None]


@dataclass(frozen=True)
class Links:
    """The relative addresses of the pages that a report links to. Without any, the report links to nothing.

    Args:
        matches: the folder with the pages of matches, such as ``"matches/"``.
        teams: the folder with the pages of teams; "" if they have none.
        played: the numbers of the matches that have a page.
        orders: the files with all orders of a round, by event and round.
        programs: the teams and versions of published programs.
        pairs: the folder with the pages of two teams; "" if there are none.
        pairs_of: the team whose page this is: the names of its opponents lead to the pages of both; 0 on others.
    """

    matches: str = ""
    teams: str = ""
    played: Collection[int] = field(default=frozenset())
    orders: Mapping[tuple[int, int], str] = field(default_factory=dict)
    programs: Collection[tuple[int, int]] = ()
    pairs: str = ""
    pairs_of: int = 0

    def match(self, number: int) -> str:
        """Return the address of a match's page, or "" if it has none."""
        return f"{quote(self.matches)}{number}.html" if number in self.played else ""

    def team(self, number: int) -> str:
        """Return the address of a team's page, or "" if it has none."""
        if self.pairs_of not in (0, number):
            return self.pair(self.pairs_of, number)
        return f"{quote(self.teams)}{number}.html" if self.teams else ""

    def pair(self, team: int, other: int) -> str:
        """Return the address of the page of two teams, or "" if there is none."""
        return f"{quote(self.pairs)}{min(team, other)}-{max(team, other)}.html" if self.pairs else ""


def shared_files() -> Iterator[tuple[str, str]]:
    yield SCRIPT_FILE, script()
    yield STYLE_FILE, style()


def match_pages(
    store: Store,
    tournament: Tournament,
    home: tuple[str, str],
    seen: Seen,
    progress: CountDone = lambda *_: None,
) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of the page of each match on record, with all its attempts.

    Args:
        store: the records.
        tournament: for the corrections and the names.
        home: text and address of the page to go back to.
        seen: returns a record as the reader may see it, see `api.visibility`.
        progress: called with the number of records read, and of all of them.

    Raises:
        RecordError: a record does not have the form of a game's record.
    """
    pairs = _by_teams(tournament)
    attempts = Counter(match for match, _ in tournament.recorded)
    waiting: defaultdict[int, list[Mapping[str, Any]]] = defaultdict(list)
    total = attempts.total()
    progress(0, total)
    done = 0
    for record in store.records():
        if record.place > tournament.place:  # a freeze hides it, or it was added while this ran
            break
        if record.number is None or record.number not in attempts:
            continue
        games = waiting[record.number]
        games.append(seen(parse(record.line)))
        done += 1
        if len(games) == attempts[record.number]:
            match = tournament.matches[record.number]
            links = [home, *_other_matches(tournament, match, pairs)]
            # `pop`: the turns of a match stay in memory only until its last attempt was read.
            yield f"{match.number}.html", _page(waiting.pop(match.number), tournament, match, links)
        progress(done, total)


def _page(
    games: list[Mapping[str, Any]], tournament: Tournament, match: Match, links: list[tuple[str, str]]
) -> str:
    replays = [replay_of(game, tournament) for game in games]
    title = f"Match {match.number}: {_versus(tournament, match)} – {escape_control_chars(tournament.contest.name)}"
    return replay_page(replay_data(replays, title=title, links=links), assets="")


def _versus(tournament: Tournament, match: Match) -> str:
    return escape_control_chars(" – ".join(map(tournament.contest.team_name, match.teams)))


def _by_teams(tournament: Tournament) -> dict[tuple[int, frozenset[int]], list[int]]:
    """Return the numbers of the matches on record by event and pair of teams."""
    pairs: defaultdict[tuple[int, frozenset[int]], list[int]] = defaultdict(list)
    for number in sorted({number for number, _ in tournament.recorded}):
        match = tournament.matches[number]
        pairs[match.event, frozenset(match.teams)].append(number)
    return pairs


def _other_matches(
    tournament: Tournament, match: Match, pairs: Mapping[tuple[int, frozenset[int]], list[int]]
) -> Iterator[tuple[str, str]]:
    """Yield text and address of the other matches of the same two teams in this event, the nearest ones."""
    numbers = pairs[match.event, frozenset(match.teams)]
    at = numbers.index(match.number)
    first = max(0, min(at - MATCHES_LINKED // 2, len(numbers) - MATCHES_LINKED - 1))
    for number in numbers[first : first + MATCHES_LINKED + 1]:
        if number != match.number:
            yield f"match {number}: {_versus(tournament, tournament.matches[number])}", f"{number}.html"
